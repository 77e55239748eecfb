"""A strategy for outcome tables: as a run of a plan writes them, complete or with data missing.

A table is drawn as a few parameters and a seed of numpy, not cell by cell, so large ones are cheap; a counterexample
shrinks in the number of models, instances, draws and steps, and in the success rates.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
from hypothesis import strategies as st

from dodiag.bounds.errors import NotAProbability
from dodiag.bounds.identified import Floats
from dodiag.interventions.design import Design
from dodiag.interventions.plan import Plan
from dodiag.problems import UsageError
from dodiag.scm.graph import TaskGraph
from dodiag.vocabulary import OUTCOME_COLUMNS, Configuration, Outcome

if TYPE_CHECKING:
    import pandas as pd

Count = int | st.SearchStrategy[int]
Success = Callable[[str, int | None, Configuration], float]
"""From the asked unit, its step and the configuration to the probability of solving it."""

IDENTITY = tuple(name for name in OUTCOME_COLUMNS if name not in ("outcome", "solved"))

FAILURES = (Outcome.VALUE, Outcome.NONE, Outcome.INVALID, Outcome.REFUSED, Outcome.TRUNCATED)
"""What an outcome that is not right may have come to."""

_HAZARDS = st.sampled_from((0.0, 0.05, 0.2, 0.5, 1.0))
_RATES = st.sampled_from((0.0, 1.0)) | st.integers(0, 20).map(lambda part: part / 20)


@dataclass(frozen=True)
class _Noise:
    """How outcomes vary: `seed`, and whether one number decides for all configurations and for all draws.

    With both, a model is deterministic and monotone in its success probability; with neither, every call is
    independent.
    """

    seed: int
    shared_by_configurations: bool
    shared_by_draws: bool


def outcome_tables(
    task: TaskGraph,
    *,
    instances: Count | None = None,
    questions: Count = 1,
    draws: Count | None = None,
    models: Count = 1,
    missing: bool = True,
    unscored: bool = False,
    absent: bool = False,
    design: Design | None = None,
    success: Success | None = None,
) -> st.SearchStrategy[pd.DataFrame]:
    """Outcome tables of a task that keep the contract, in plan order and with pandas' nullable types.

    Parameters
    ----------
    task : TaskGraph
    instances : int or strategy, optional
        Default 1 to 5.
    questions, models : int or strategy
        Questions of each unit on each instance (and step), and models, called m1, m2, …
    draws : int or strategy, optional
        Repetitions of every call; default the design's. Reruns that the design adds come on top.
    missing : bool
        Whether calls may have no row, or outcome ``error``; at least one row is left.
    unscored : bool
        Whether answers may wait for a judge; scores that read one are withheld.
    absent : bool
        Whether instances may lack units outside chains. They have no question of such a unit, and the column ``absent``
        names it where it is a prerequisite.
    design : Design, optional
        Which configurations are asked; default the paper's full design. ``make_design(quick=True)`` is smaller.
    success : callable, optional
        ``success(unit, step, configuration)``, the probability of solving a question; default drawn rates by state.

    Raises
    ------
    UsageError
        If a count is below 1.
    NotAProbability
        If `success` returns none.

    Notes
    -----
    Units of chains are asked at 1 to 3 steps, at most as many as their chain names.
    """
    chosen = Design() if design is None else design
    return _outcome_tables(
        Plan(task, chosen),
        {
            "instances": _counts("instances", st.integers(1, 5) if instances is None else instances),
            "questions": _counts("questions", questions),
            "draws": _counts("draws", chosen.draws if draws is None else draws),
            "models": _counts("models", models),
        },
        _Gaps(missing, unscored, absent),
        success,
    )


@dataclass(frozen=True)
class _Gaps:
    """What may be missing from a table, as :func:`outcome_tables` says."""

    missing: bool
    unscored: bool
    absent: bool


def _counts(name: str, count: Count) -> st.SearchStrategy[int]:
    def positive(drawn: int) -> int:
        if drawn < 1:
            raise UsageError(f"{name} is {drawn}", "Use at least 1.")
        return drawn

    return st.just(positive(count)) if isinstance(count, int) else count.map(positive)


@st.composite
def _outcome_tables(
    draw: st.DrawFn,
    plan: Plan,
    counts: Mapping[str, st.SearchStrategy[int]],
    gaps: _Gaps,
    success: Success | None,
) -> pd.DataFrame:
    import pandas as pd

    size = {name: draw(strategy) for name, strategy in counts.items()}
    plan = replace(plan, design=replace(plan.design, draws=size["draws"]))
    steps = draw(st.integers(1, 3)) if plan.task.chains else 1
    noise = _Noise(draw(st.integers(0, 2**32 - 1)), draw(st.booleans()), draw(st.booleans()))
    chosen = draw(_successes()) if success is None else success
    hazards = {"lost": gaps.missing, "error": gaps.missing, "unscored": gaps.unscored}
    rates = {name: draw(_HAZARDS) for name, asked in hazards.items() if asked}
    free = [unit for unit in plan.task.units if unit != plan.task.target and plan.task.chain_of(unit) is None]
    may_lack = draw(st.sets(st.sampled_from(free))) if gaps.absent and free else set()

    rng = np.random.default_rng(noise.seed)
    lacking = [
        frozenset(unit for unit in free if unit in may_lack and rng.random() < 0.5) for _ in range(size["instances"])
    ]
    calls = pd.DataFrame(_calls(plan, size, steps, chosen, lacking), columns=[*IDENTITY, "absent", "probability"])
    solved = _uniforms(calls, noise, rng) < calls.pop("probability").to_numpy()
    outcome = np.where(solved, Outcome.VALUE.value, rng.choice([o.value for o in FAILURES], len(calls)))
    keep = rng.random(len(calls)) >= rates.get("lost", 0.0)
    for name in ("error", "unscored"):
        outcome = np.where(rng.random(len(calls)) < rates.get(name, 0.0), name, outcome)
    keep[0] |= not keep.any()
    table = calls.assign(outcome=outcome)
    table["solved"] = pd.array(solved.astype(int), dtype="Int64")
    table.loc[np.isin(outcome, [o.value for o in Outcome if o.missing]), "solved"] = pd.NA
    table["step"] = table["step"].astype("Int64")
    columns = [*OUTCOME_COLUMNS, *(["absent"] if gaps.absent else [])]
    return table.loc[keep, columns].reset_index(drop=True)


@st.composite
def _successes(draw: st.DrawFn) -> Success:
    """A success probability that is the mean of a rate for each prerequisite's state."""
    rates = {state: draw(_RATES) for state in "1n0tq"}

    def success(unit: str, step: int | None, configuration: Configuration) -> float:
        states = [str(state) for state in configuration.states] or ["n"]
        return sum(rates[state] for state in states) / len(states)

    return success


def _calls(
    plan: Plan, size: Mapping[str, int], steps: int, success: Success, lacking: Sequence[frozenset[str]]
) -> Iterator[tuple[Any, ...]]:
    """Yield what identifies every call, the absent prerequisites, and the probability of solving it, in plan order."""
    asked = {lacks: list(_asked(plan, steps, success, lacks)) for lacks in lacking}
    questions = range(1, size["questions"] + 1)
    for model, (instance, lacks) in product(range(1, size["models"] + 1), enumerate(lacking, start=1)):
        for (unit, step, absent, configurations), number in product(asked[lacks], questions):
            question = f"{unit}.{number}" if step is None else f"{unit}.{step}.{number}"
            where = (f"m{model}", plan.task.name, f"i{instance}", unit, question, step)
            for configuration, runs, probability in configurations:
                for repetition in range(runs):
                    yield *where, configuration, repetition, absent, probability


def _asked(
    plan: Plan, steps: int, success: Success, lacks: frozenset[str]
) -> Iterator[tuple[str, int | None, str, list[tuple[str, int, float]]]]:
    """Yield the units and steps of an instance, their absent prerequisites, configurations, runs and probabilities."""
    for unit in plan.asked_units:
        for step in _steps(plan.task, unit, steps) if unit not in lacks else ():
            absent = [name for name in plan.task.prerequisites(unit, step) if name in lacks]
            yield (
                unit,
                step,
                ",".join(absent),
                [
                    (c.text, plan.runs(unit, c), _probability(success, unit, step, c))
                    for c in plan.configurations(unit, step, frozenset(absent))
                ],
            )


def _steps(task: TaskGraph, unit: str, steps: int) -> Sequence[int | None]:
    chain = task.chain_of(unit)
    return (None,) if chain is None else range(1, min(steps, chain.steps or steps) + 1)


def _probability(success: Success, unit: str, step: int | None, configuration: Configuration) -> float:
    probability = float(success(unit, step, configuration))
    if not 0 <= probability <= 1:
        raise NotAProbability(f"success({unit!r}, {step}, '{configuration}')", probability)
    return probability


def _uniforms(calls: pd.DataFrame, noise: _Noise, rng: np.random.Generator) -> Floats:
    """Return one uniform number per call, the same one for all calls that share their noise."""
    keys = ["model", "instance", "question"]
    keys += [] if noise.shared_by_configurations else ["configuration"]
    keys += [] if noise.shared_by_draws else ["draw"]
    group = calls.groupby(keys, sort=False).ngroup().to_numpy()
    return rng.random(int(group.max()) + 1)[group]
