"""Outcome tables: checked once, and turned into means per question, the one place that computes p̂."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from dodiag.bounds.pairs import PairedSums
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
        If a column is missing or stands twice; a row lacks its model, task, instance, unit or question; `solved` is not
        0, 1 or missing, or contradicts `outcome` (a failed call that was scored, a reply without a usable answer that
        was solved); `step` is not a whole number from 1 on; the same call stands twice; a unit, a configuration or an
        absent prerequisite does not belong to the task; or the task has no row.
    """
    table = _rows_of_task(outcomes, task)
    table["solved"] = _numbers(table["solved"], "Float64", "solved", "It is 1, 0 or missing.")
    _refuse(table, table["solved"].notna() & ~table["solved"].isin([0.0, 1.0]), "solved", "It is 1, 0 or missing.")
    table["step"] = _numbers(table["step"], "Int64", "step", "Steps are whole numbers from 1 on, or missing.")
    _refuse(table, (table["step"] < 1).fillna(False), "step", "Steps are whole numbers from 1 on, or missing.")
    _contradictions(table)
    if unknown := sorted(set(table["unit"]) - set(task.units)):
        raise UsageError(f"unit '{unknown[0]}' is not in task {task.name}", f"Its units are {', '.join(task.units)}.")
    if "absent" in table.columns:
        table["absent"] = _text(table["absent"])
        if unknown := sorted({name for text in table["absent"].unique() for name in _names(text)} - set(task.units)):
            cure = f"Its units are {', '.join(task.units)}."
            raise UsageError(f"absent prerequisite '{unknown[0]}' is not in task {task.name}", cure)
    table["configuration"] = _text(table["configuration"])
    keys = ["model", "instance", "unit", "question", "step", "configuration", "draw"]
    canonical = {
        (unit, step, text): _canonical(task, unit, step, text)
        for unit, step, text in table[["unit", "step", "configuration"]].drop_duplicates().itertuples(index=False)
    }
    if any(text != new for (_, _, text), new in canonical.items()):
        places = zip(table["unit"], table["step"], table["configuration"], strict=True)
        table["configuration"] = [canonical[place] for place in places]
    if (twice := table.duplicated(keys)).any():
        place = _place(table[twice].iloc[0])
        raise UsageError(f"the outcome table has the same call twice ({place})", "Keep one row per call and draw.")
    return table


IDENTITY = ("model", "task", "instance", "unit", "question")
"""Columns without which a row is nobody's."""

MISSING = tuple(outcome.value for outcome in Outcome if outcome.missing)
FAILURES = tuple(outcome.value for outcome in Outcome if not outcome.missing and outcome is not Outcome.VALUE)


def _rows_of_task(outcomes: pd.DataFrame, task: Structure) -> pd.DataFrame:
    """Return the needed columns of a task's rows, after refusing tables in which a row could be anybody's."""
    import pandas as pd

    if not isinstance(outcomes, pd.DataFrame):
        kind = type(outcomes).__name__
        raise UsageError(f"the outcome table is a {kind}", "Give a pandas DataFrame; dodiag.read_outcomes reads files.")
    names = list(outcomes.columns)
    if missing := [name for name in OUTCOME_COLUMNS if name not in names]:
        raise UsageError(f"the outcome table has no column '{missing[0]}'", f"It needs {', '.join(OUTCOME_COLUMNS)}.")
    columns = [*OUTCOME_COLUMNS, *(name for name in ("absent",) if name in names)]
    if twice := [name for name in columns if names.count(name) > 1]:
        raise UsageError(f"the outcome table has column '{twice[0]}' twice", "Keep one of them.")
    for name in IDENTITY:
        if (without := outcomes[name].isna()).any():
            row = _place(outcomes.loc[without.to_numpy()].iloc[0])
            cure = "Every row names its model, task, instance, unit and question."
            raise UsageError(f"the outcome table has a row without '{name}' ({row})", cure)
    table = outcomes.loc[(outcomes["task"] == task.name).to_numpy(dtype=bool), columns].reset_index(drop=True)
    if table.empty:
        present = ", ".join(map(str, outcomes["task"].unique()[:5])) or "none"
        raise UsageError(f"the outcome table has no row of task {task.name}", f"Its tasks are: {present}.")
    return table


def _place(row: pd.Series) -> str:
    return f"{row['model']}, instance {row['instance']}, question {row['question']}, '{row['configuration']}'"


def _text(column: pd.Series) -> pd.Series:
    """Return a column of text, empty where it is missing, whatever its type was."""
    return column.astype(object).where(column.notna(), "").astype(str)


def _numbers(column: pd.Series, dtype: Literal["Float64", "Int64"], name: str, cure: str) -> pd.Series:
    import pandas as pd

    try:
        return column.astype(dtype)
    except (TypeError, ValueError):
        numbers = pd.to_numeric(column.astype(object), errors="coerce")
        wrong = column.notna() & (numbers.isna() | (numbers % 1 != 0))
        raise UsageError(f"'{name}' holds '{column[wrong].iloc[0]}'", cure) from None


def _refuse(table: pd.DataFrame, wrong: pd.Series, name: str, cure: str) -> None:
    if wrong.any():
        raise UsageError(f"'{name}' holds {table[name][wrong].iloc[0]:g} ({_place(table[wrong].iloc[0])})", cure)


def _contradictions(table: pd.DataFrame) -> None:
    """Refuse scores of calls that came to nothing: a failure of the infrastructure is missing, never wrong."""
    for words, wrong, cure in (
        (MISSING, table["solved"].notna(), "Such a call says nothing about the model: leave 'solved' empty."),
        (FAILURES, table["solved"] == 1, "Only a reply with outcome 'value' can be solved."),
    ):
        if (rows := table["outcome"].isin(words) & wrong.fillna(False)).any():
            row = table[rows].iloc[0]
            text = f"outcome '{row['outcome']}' has solved {row['solved']:g} ({_place(row)})"
            raise UsageError(f"the outcome table contradicts itself: {text}", cure)


def _names(text: str) -> list[str]:
    """Return the names of a comma-separated list."""
    return [name.strip() for name in text.split(",") if name.strip()]


def _canonical(task: Structure, unit: str, step: Any, text: str) -> str:
    configuration = Configuration.parse(text)
    when = step if isinstance(step, int | np.integer) else None
    prerequisites = task.prerequisites(unit, None if when is None else int(when))
    states = dict(configuration.items)
    if set(states) != set(prerequisites):
        expected = ", ".join(prerequisites) or "no prerequisite"
        raise UsageError(f"configuration '{text}' of unit {unit} does not fit the task", f"It names {expected}.")
    return str(Configuration(tuple((name, states[name]) for name in prerequisites)))


class UnitOutcomes:
    """The outcomes of one model on one unit (and step) as counts over questions × configurations.

    Attributes
    ----------
    configurations : tuple of str
        Canonical texts, in order of appearance; the columns.
    instances : tuple of str
        Names, in order.
    instance : array of int, shape (questions,)
        Index of each question's instance.
    solved, scored, missing, unscored : array of int, shape (questions, configurations)
        Draws that were solved; that have a score; that are missing data; and those of them that wait for a judge.
    """

    def __init__(self, rows: pd.DataFrame) -> None:
        import pandas as pd

        names, self.instance, question = _questions(rows)
        self.instances = names
        column, texts = pd.factorize(rows["configuration"])
        self.configurations = tuple(map(str, texts))
        self._column = {text: index for index, text in enumerate(self.configurations)}
        cell = question * len(self.configurations) + column
        solved = rows["solved"].to_numpy(dtype=np.float64, na_value=np.nan)
        known = ~np.isnan(solved)
        waits = rows["outcome"].isin([Outcome.UNSCORED.value]).to_numpy(dtype=bool)
        self.solved = self._counted(cell[solved == 1])
        self.scored = self._counted(cell[known])
        self.missing = self._counted(cell[~known])
        self.unscored = self._counted(cell[~known & waits])
        self._absent = _absent(rows, question, len(self.instance))

    def _counted(self, cells: NDArray[np.int64]) -> NDArray[np.int64]:
        shape = len(self.instance), len(self.configurations)
        return np.bincount(cells, minlength=shape[0] * shape[1]).reshape(shape)

    def has(self, configuration: str) -> bool:
        """Whether any call was made under a configuration."""
        return configuration in self._column

    def lacks(self, prerequisite: str) -> NDArray[np.bool_]:
        """Which questions belong to instances that do not have a prerequisite, shape (questions,)."""
        return self._absent.get(prerequisite, np.zeros(len(self.instance), dtype=bool))

    def shared(self, configurations: Sequence[str], prerequisite: str = "") -> Shared:
        """Return the questions scored under all of these configurations, which have to be there.

        Without the instances that lack the prerequisite, where one is named.
        """
        columns = [self._column[text] for text in configurations]
        here = ~self.lacks(prerequisite)
        both = here & (self.scored[:, columns] > 0).all(axis=1)
        return Shared(
            means=(self.solved[both][:, columns] / self.scored[both][:, columns]).T,
            instance=np.unique(self.instance[both], return_inverse=True)[1].reshape(-1),
            unscored=int(self.unscored[here][:, columns].sum()),
        )

    def paired(self, active: str, reference: str, prerequisite: str) -> Paired:
        """Return the questions observed under both configurations, without the instances that lack the prerequisite."""
        if not (self.has(active) and self.has(reference)):
            return _UNPAIRED
        columns = [self._column[active], self._column[reference]]
        scored, missing = self.scored[:, columns], self.missing[:, columns]
        asked = (scored + missing > 0).any(axis=1)
        lacks = self.lacks(prerequisite)
        here = asked & ~lacks
        both = here & (scored > 0).all(axis=1)
        solved = self.solved[:, columns]
        return Paired(
            active_solved=solved[both, 0],
            active_runs=scored[both, 0],
            reference_solved=solved[both, 1],
            reference_runs=scored[both, 1],
            question=np.flatnonzero(both),
            instance=self.instance[both],
            missing=int(here.sum() - both.sum()),
            absent=int(lacks.sum()),
            unscored=int(self.unscored[here][:, columns].sum()),
            worst=_worst(solved[here], scored[here], missing[here]),
        )


@dataclass(frozen=True, slots=True)
class Shared:
    """The questions that were scored under all of several configurations.

    Attributes
    ----------
    means : array, shape (configurations, questions)
        Mean of solved over draws.
    instance : array of int, shape (questions,)
        Index of each question's instance, numbered from 0 without gaps.
    unscored : int
        Answers under any of the configurations that wait for a judge.
    """

    means: NDArray[np.float64]
    instance: NDArray[np.int64]
    unscored: int

    @property
    def n(self) -> int:
        """Number of questions."""
        return int(self.instance.size)

    def sums(self) -> NDArray[np.float64]:
        """Sum of means per instance, shape (configurations, instances)."""
        return np.stack([np.bincount(self.instance, row) for row in self.means])

    def sizes(self) -> NDArray[np.int64]:
        """Questions per instance, shape (instances,)."""
        return np.bincount(self.instance)


def _questions(rows: pd.DataFrame) -> tuple[tuple[str, ...], NDArray[np.int64], NDArray[np.int64]]:
    """Return instance names, the instance of each question, and the question of each row, in sorted order.

    The same question at two steps of a chain is two questions.
    """
    import pandas as pd

    instance, names = pd.factorize(rows["instance"], sort=True)
    question, ids = pd.factorize(rows["question"], sort=True)
    step, steps = pd.factorize(rows["step"], sort=True, use_na_sentinel=False)
    each = len(ids) * len(steps)
    codes, place = np.unique(
        instance.astype(np.int64) * each + question.astype(np.int64) * len(steps) + step, return_inverse=True
    )
    return tuple(map(str, names)), codes // max(each, 1), place.reshape(-1)


def _absent(rows: pd.DataFrame, question: NDArray[np.int64], count: int) -> dict[str, NDArray[np.bool_]]:
    import pandas as pd

    if "absent" not in rows.columns:
        return {}
    found: dict[str, NDArray[np.bool_]] = {}
    codes, texts = pd.factorize(rows["absent"])
    for code, text in enumerate(texts):
        for name in _names(str(text)):
            found.setdefault(name, np.zeros(count, dtype=bool))[question[codes == code]] = True
    return found


@dataclass(frozen=True, slots=True)
class WorstCase:
    """What the success rates can be, whatever the missing outcomes were.

    Attributes
    ----------
    active, reference : tuple of float
        Least and most under a, and under a'.
    grain : tuple of float
        The least by which a missing outcome can change the rate under a, and under a'; 0 where none is missing.
    """

    active: tuple[float, float]
    reference: tuple[float, float]
    grain: tuple[float, float]


def _worst(solved: NDArray[np.int64], scored: NDArray[np.int64], missing: NDArray[np.int64]) -> WorstCase | None:
    """Missing draws count as failed and as solved; a question without any draw in an arm can be anything there."""
    if not len(solved):
        return None
    size = scored + missing
    with np.errstate(invalid="ignore", divide="ignore"):
        least = np.where(size > 0, solved / size, 0.0).mean(axis=0)
        most = np.where(size > 0, (solved + missing) / size, 1.0).mean(axis=0)
    open_draws = np.where(missing > 0, size, np.where(size == 0, 1, 0)).max(axis=0)
    grain = np.where(open_draws > 0, 1 / np.maximum(open_draws, 1) / len(size), 0.0)
    active, reference = zip(least.tolist(), most.tolist(), strict=True)
    return WorstCase(active, reference, (float(grain[0]), float(grain[1])))


@dataclass(frozen=True, slots=True)
class Paired:
    """Two arms on the questions that were scored under both.

    Attributes
    ----------
    active_solved, active_runs, reference_solved, reference_runs : array of int, shape (pairs,)
        Draws that were solved and that were scored, by question.
    question, instance : array of int, shape (pairs,)
        Index of each question in its unit, and of its instance.
    missing : int
        Questions seen under one arm whose outcome is missing under one of them.
    absent : int
        Questions left out because the prerequisite does not exist on their instance.
    unscored : int
        Answers under either arm that wait for a judge. While there are any, the scored ones are no fair sample: the
        answers that are easy to score are scored.
    worst : WorstCase or None
        The range of both success rates over all that the missing outcomes could be; None where nothing was asked.
    """

    active_solved: NDArray[np.int64]
    active_runs: NDArray[np.int64]
    reference_solved: NDArray[np.int64]
    reference_runs: NDArray[np.int64]
    question: NDArray[np.int64]
    instance: NDArray[np.int64]
    missing: int
    absent: int
    unscored: int
    worst: WorstCase | None

    @property
    def n(self) -> int:
        """Number of pairs."""
        return int(self.instance.size)

    @property
    def active(self) -> NDArray[np.float64]:
        """Mean of solved over the draws of each question, under a."""
        return np.asarray(self.active_solved / self.active_runs)

    @property
    def reference(self) -> NDArray[np.float64]:
        """Mean of solved over the draws of each question, under a'."""
        return np.asarray(self.reference_solved / self.reference_runs)

    def sums(self, instances: int) -> PairedSums:
        """Return the pairs as sums over `instances` instances; those without a pair have size 0."""
        return PairedSums.by_instance(self.active, self.reference, self.instance, instances)

    @property
    def single(self) -> bool:
        """Whether every instance has one question with one draw under either arm, so that pairs are independent."""
        once = bool((self.active_runs == 1).all() and (self.reference_runs == 1).all())
        return once and np.unique(self.instance).size == self.n


_NONE = np.zeros(0, dtype=np.int64)
_UNPAIRED = Paired(_NONE, _NONE, _NONE, _NONE, _NONE, _NONE, 0, 0, 0, None)


def by_model(table: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    """Yield the rows of each model, in order of appearance."""
    for model, rows in table.groupby("model", sort=False, observed=True):
        yield str(model), rows


def steps_of(rows: pd.DataFrame) -> Sequence[int]:
    """Return the chain steps that rows have, in order."""
    return sorted(int(step) for step in rows["step"].dropna().unique())
