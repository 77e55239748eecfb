"""Makes the calibrated presets from what was published, and writes them where the package looks for them.

    python -m dodiag.benchmarks.cadet.replication.calibrate

The presets that come with the package were written by this command. The fit is deterministic; another version of
scipy or another processor may change its last digits.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from dodiag.benchmarks.cadet.replication import published
from dodiag.benchmarks.cadet.replication.denominators import zeroed_blocks
from dodiag.benchmarks.cadet.replication.fit import Unit, fit_nonroot, fit_root
from dodiag.benchmarks.cadet.replication.readings import Readings
from dodiag.scm.files import load_task, shipped_tasks
from dodiag.scm.graph import TaskGraph
from dodiag.scm.simulator.parameters import SimulatorParameters
from dodiag.scm.simulator.responses import TaskResponses, UnitResponses
from dodiag.vocabulary import State

FOLDER = Path(__file__).parent / "presets"

SUPPRESSED = 94
"""Scores that the denominator rule set to 0 (Appendix D.2)."""

DIGITS = 4


def cadet_tasks() -> tuple[TaskGraph, ...]:
    """Return the ten tasks of CADET as they come with the package."""
    tasks = [load_task(path) for path in shipped_tasks().values() if path.parent.parent.name == "cadet"]
    return tuple(sorted(tasks, key=lambda task: task.name))


def calibrated() -> Iterator[SimulatorParameters]:
    """Yield the calibrated simulator of each published model.

    Raises
    ------
    DodiagError
        If a fit does not converge.
    """
    tasks = cadet_tasks()
    zeroed = zeroed_blocks(SUPPRESSED, tasks)
    roots = fit_root(tasks)
    for model in published.models():
        found = fit_nonroot(tasks, model.preset, zeroed)
        yield SimulatorParameters(
            name=model.preset,
            description=describe(model),
            tasks={task.name: _responses(task, model.preset, found, roots[model.preset]) for task in tasks},
        )


def describe(model: published.Model) -> str:
    """Return what people read about a calibrated simulator."""
    return (
        f"Calibrated simulator: answers as often right as the scores that {published.SOURCE} printed for "
        f"{model.full_name} say. It is not that model, which was not asked."
    )


def question_only(model: str, category: str) -> float:
    """Return how far the question of a prerequisite alone goes on the way from NC to IC, from Figure 21.

    For the two models of the figure their own share, for the others that of their mean.
    """
    accuracy = published.figure_21()
    who = model if (model, category, "q") in accuracy else "mean"
    natural, question, correct = (accuracy[who, category, state] for state in ("NC", "q", "IC"))
    return round(max(0.0, question - natural) / (correct - natural), DIGITS)


def _responses(
    task: TaskGraph, model: str, nonroot: dict[Unit, dict[str, float]], root: dict[Unit, float]
) -> TaskResponses:
    units = {}
    for unit in task.units:
        parents = task.units[unit].parents
        if unit in task.roots:
            units[unit] = UnitResponses(parents=parents, NC=round(root[task.name, unit], DIGITS))
            continue
        rates = {name: round(value, DIGITS) for name, value in nonroot[task.name, unit].items()}
        baselines = {State.NATURAL: rates["NC"], State.CORRECT: rates["IC"], State.INCORRECT: rates["RC"]}
        deviations = {}
        if unit == task.target and task.name in published.prerequisites():
            deviations = {
                name: {deviation: round(rate, DIGITS) for deviation, rate in found.items()}
                for name, found in Readings.of(task.name, task.parents(unit), model).rates(baselines).items()
            }
        share = question_only(model, task.units[unit].category)
        units[unit] = UnitResponses(parents=parents, **rates, deviations=deviations, question_only=share)
    return TaskResponses(target=task.target, chains=tuple(chain.units for chain in task.chains), units=units)


def to_json(parameters: SimulatorParameters) -> str:
    """Return a preset's file: one line per unit."""
    said: dict[str, Any] = parameters.model_dump(mode="json", exclude_defaults=True)
    tasks = said.pop("tasks")
    lines = [f'  "{name}": {json.dumps(value)},' for name, value in said.items()]
    lines.append('  "tasks": {')
    for place, (name, task) in enumerate(tasks.items(), start=1):
        units = task.pop("units")
        head = "".join(f' "{field}": {json.dumps(value)},' for field, value in task.items())
        rows = [f'      "{unit}": {json.dumps(table, separators=(",", ":"))}' for unit, table in units.items()]
        lines += [
            f'    "{name}": {{{head} "units": {{',
            ",\n".join(rows),
            "    }}" + ("," if place < len(tasks) else ""),
        ]
    return "\n".join(["{", *lines, "  }", "}", ""])


def main() -> None:
    """Write the presets."""
    FOLDER.mkdir(exist_ok=True)
    for parameters in calibrated():
        (FOLDER / f"{parameters.name}.json").write_text(to_json(parameters), encoding="utf-8")


if __name__ == "__main__":
    main()
