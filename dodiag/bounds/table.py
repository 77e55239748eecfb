"""Outcome tables: checked once, and turned into means per question, the one place that computes p̂."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from dodiag.problems import UsageError
from dodiag.vocabulary import OUTCOME_COLUMNS, Configuration, Outcome

if TYPE_CHECKING:
    import pandas as pd


class Structure(Protocol):
    """What the scores need to know of a task; a ``TaskGraph`` has it."""

    @property
    def name(self) -> str: ...
    @property
    def target(self) -> str: ...
    @property
    def units(self) -> Any: ...
    def prerequisites(self, unit: str, step: int | None = None) -> tuple[str, ...]: ...
    def chain_of(self, unit: str) -> Any: ...


def checked(outcomes: pd.DataFrame, task: Structure) -> pd.DataFrame:
    """Return the rows of a task, with configurations in canonical order.

    Raises
    ------
    UsageError
        If a column is missing, `solved` is not 0, 1 or missing, the same call stands twice, a unit or a configuration
        does not belong to the task, or the task has no row.
    """
    missing = [name for name in OUTCOME_COLUMNS if name not in outcomes.columns]
    if missing:
        raise UsageError(f"the outcome table has no column '{missing[0]}'", f"It needs {', '.join(OUTCOME_COLUMNS)}.")
    table = outcomes[outcomes["task"] == task.name]
    if table.empty:
        present = ", ".join(map(str, outcomes["task"].unique()[:5])) or "none"
        raise UsageError(f"the outcome table has no row of task {task.name}", f"Its tasks are: {present}.")
    columns = [*OUTCOME_COLUMNS, *(name for name in ("absent",) if name in table.columns)]
    table = table[columns].copy()
    solved = table["solved"].astype("Float64")
    wrong = solved.notna() & ~solved.isin([0.0, 1.0])
    if wrong.any():
        value = table["solved"][wrong].iloc[0]
        raise UsageError(f"'solved' holds {value}", "It is 1, 0 or missing.")
    table["solved"] = solved
    table["step"] = table["step"].astype("Int64")
    if unknown := sorted(set(table["unit"]) - set(task.units)):
        raise UsageError(f"unit '{unknown[0]}' is not in task {task.name}", f"Its units are {', '.join(task.units)}.")
    table["configuration"] = table["configuration"].fillna("").astype(str)
    keys = ["model", "instance", "unit", "question", "step", "configuration", "draw"]
    canonical = {
        (unit, step, text): _canonical(task, unit, step, text)
        for unit, step, text in table[["unit", "step", "configuration"]].drop_duplicates().itertuples(index=False)
    }
    if any(text != new for (_, _, text), new in canonical.items()):
        places = zip(table["unit"], table["step"], table["configuration"], strict=True)
        table["configuration"] = [canonical[place] for place in places]
    if (twice := table.duplicated(keys)).any():
        row = table[twice].iloc[0]
        where = f"{row['model']}, instance {row['instance']}, question {row['question']}, '{row['configuration']}'"
        raise UsageError(f"the outcome table has the same call twice ({where})", "Keep one row per call and draw.")
    return table


def _canonical(task: Structure, unit: str, step: Any, text: str) -> str:
    configuration = Configuration.parse(text)
    when = step if isinstance(step, int | np.integer) else None
    prerequisites = task.prerequisites(unit, None if when is None else int(when))
    states = dict(configuration.items)
    if set(states) != set(prerequisites):
        expected = ", ".join(prerequisites) or "no prerequisite"
        raise UsageError(f"configuration '{text}' of unit {unit} does not fit the task", f"It names {expected}.")
    return str(Configuration(tuple((name, states[name]) for name in prerequisites)))


@dataclass(frozen=True)
class Arm:
    """All outcomes of one unit under one configuration.

    Attributes
    ----------
    frame : pandas.DataFrame
        Indexed by (instance, question): ``mean`` of solved over draws, ``n`` scored draws, ``missing`` draws, how many
        of those are ``unscored``, and ``absent``.
    """

    frame: pd.DataFrame

    @property
    def usable(self) -> pd.DataFrame:
        """The questions with at least one scored outcome."""
        return self.frame[self.frame["n"] > 0]

    @property
    def missing(self) -> int:
        """Number of outcomes that are missing data."""
        return int(self.frame["missing"].sum())


class UnitOutcomes:
    """The outcomes of one model on one unit (and step), by configuration."""

    def __init__(self, rows: pd.DataFrame) -> None:
        self._rows = rows

    @cached_property
    def _grouped(self) -> dict[str, Arm]:
        rows = self._rows.assign(absent=self._rows.get("absent", ""))
        rows["absent"] = rows["absent"].fillna("")
        rows["unscored"] = rows["outcome"] == Outcome.UNSCORED
        grouped = rows.groupby(["configuration", "instance", "question"], sort=False, observed=True)
        frame = grouped.agg(
            mean=("solved", "mean"),
            n=("solved", "count"),
            size=("solved", "size"),
            unscored=("unscored", "sum"),
            absent=("absent", "first"),
        )
        frame["missing"] = frame["size"] - frame["n"]
        return {str(name): Arm(part.droplevel(0)) for name, part in frame.groupby(level=0, sort=False, observed=True)}

    @property
    def configurations(self) -> tuple[str, ...]:
        """The configurations that have an outcome, as canonical text."""
        return tuple(self._grouped)

    def arm(self, configuration: str) -> Arm | None:
        """Return the outcomes under one configuration, or None where there are none."""
        return self._grouped.get(configuration)


@dataclass(frozen=True, slots=True)
class Paired:
    """Two arms on the questions that were scored under both.

    Attributes
    ----------
    active, reference : array, shape (pairs,)
        Mean of solved over the draws of each question.
    missing : int
        Questions seen under one arm whose outcome is missing under one of them.
    absent : int
        Questions left out because the prerequisite does not exist on their instance.
    unscored : int
        Answers under either arm that wait for a judge. While there are any, the scored ones are no fair sample: the
        answers that are easy to score are scored.
    """

    active: np.ndarray[Any, np.dtype[np.float64]]
    reference: np.ndarray[Any, np.dtype[np.float64]]
    missing: int
    absent: int
    unscored: int

    @property
    def n(self) -> int:
        """Number of pairs."""
        return int(self.active.size)


def paired(active: Arm | None, reference: Arm | None, prerequisite: str) -> Paired:
    """Return the questions observed under both arms, without the instances that lack the prerequisite."""
    empty = np.empty(0)
    if active is None or reference is None:
        return Paired(empty, empty, 0, 0, 0)
    both = active.frame.merge(
        reference.frame, how="outer", left_index=True, right_index=True, suffixes=("_a", "_r"), sort=True
    )
    lacks = (both["absent_a"].fillna("") + "," + both["absent_r"].fillna("")).map(_has(prerequisite)).astype(bool)
    here = both[~lacks]
    scored = here[(here["n_a"] > 0) & (here["n_r"] > 0)]
    return Paired(
        active=scored["mean_a"].to_numpy(dtype=np.float64),
        reference=scored["mean_r"].to_numpy(dtype=np.float64),
        missing=len(here) - len(scored),
        absent=int(lacks.sum()),
        unscored=int(here["unscored_a"].sum() + here["unscored_r"].sum()),
    )


def _has(prerequisite: str) -> Callable[[str], bool]:
    return lambda names: prerequisite in names.split(",")


def by_model(table: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    """Yield the rows of each model, in order of appearance."""
    for model, rows in table.groupby("model", sort=False, observed=True):
        yield str(model), rows


def steps_of(rows: pd.DataFrame) -> Sequence[int]:
    """Return the chain steps that rows have, in order."""
    return sorted(int(step) for step in rows["step"].dropna().unique())
