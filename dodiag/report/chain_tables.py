"""Terminal tables of Markov chains: capabilities and NS of each chain unit, step by step."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType

from rich.console import Group, RenderableType
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from dodiag.bounds.chain_steps import ChainStep, ChainSteps
from dodiag.report.style import new_table
from dodiag.report.tables import score_cell, with_limits
from dodiag.scm.graph import TaskGraph
from dodiag.vocabulary import Contrast

GIVEN = {"full": "the whole trajectory before it", "last": "its Markov parent alone"}
"""What a step is given under each history."""

FIGURE_LAST_BINS: Mapping[str, int | None] = MappingProxyType(
    {"map_navigation": 6, "maze": None, "multistep_reasoning": 16}
)
"""The open-ended last step of each task in CADET Figure 10."""

CAPABILITIES = ("NC", "IC", "RC")


def chain_report(steps: ChainSteps, task: TaskGraph, history: str | None = None) -> RenderableType:
    """Return a table per model and chain unit.

    Parameters
    ----------
    steps : ChainSteps
    task : TaskGraph
    history : {"full", "last"}, optional
        What the steps were given in the run; None where that is not known.
    """
    parts: list[RenderableType] = []
    for model in dict.fromkeys(step.model for step in steps):
        given = f" · each step given {GIVEN.get(history, history)}" if history is not None else ""
        parts.append(Text(f"{task.title} · {model}{given}", style="bold"))
        of_model = steps.where(model=model)
        parts += [chain_step_table(of_model.where(unit=unit), task) for unit in dict.fromkeys(s.unit for s in of_model)]
    parts += [Text(line) for line in reading_help(steps)]
    return Group(*parts)


def chain_step_table(steps: ChainSteps, task: TaskGraph) -> Table:
    """Return the table of one chain unit of one model: a row per step, scores with their limits."""
    unit = steps[0].unit
    contrasts = tuple(dict.fromkeys(s.contrast for step in steps for s in step.scores if s.metric == "NS"))
    table = new_table(f"{unit} {escape(task.units[unit].title)} along the chain")
    table.add_column("step", justify="right")
    for name in CAPABILITIES:
        table.add_column(name, justify="right", no_wrap=True)
    for contrast in contrasts:
        assert contrast is not None
        table.add_column(f"NS{Contrast.parse(contrast).symbol}", justify="right")
    table.add_column("n /\ninstances", justify="right", no_wrap=True)
    for step in steps:
        cells = [with_limits(step.score(name)) for name in CAPABILITIES]
        cells += [score_cell(step.score("NS", contrast)) for contrast in contrasts]
        table.add_row(step.label, *cells, f"{_questions(step)} / {step.instances:,}")
    return table


def _questions(step: ChainStep) -> str:
    """Return how many outcomes each capability rests on; several numbers where they differ."""
    return ", ".join(dict.fromkeys(f"{s.n:,}" for s in step.scores if s.metric in CAPABILITIES))


def reading_help(steps: ChainSteps) -> Iterator[str]:
    """Yield the sentences under the tables."""
    yield (
        "NS(a, a') = max(0, p under a − p under a') is the lower end of the probability that the history is necessary"
        " and sufficient; 95 % limits, the instance is the unit of sampling."
    )
    if any(step.open_ended for step in steps):
        yield "The last step, marked +, pools all later ones."
    if len({step.instances for step in steps}) > 1:
        yield "Later steps have fewer instances, and not the same ones: part of a trend may be which chains are long."
    if any(step.score("NC") is not None and step.prerequisite is None for step in steps):
        yield "A step without NS has no prerequisite, or more than one."
