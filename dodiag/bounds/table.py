"""Outcome tables: checked once, and turned into means per question, the one place that computes p̂."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

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
        waits = (rows["outcome"] == Outcome.UNSCORED).to_numpy(dtype=bool)
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
            absent=int((asked & lacks).sum()),
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
    """Return instance names, the instance of each question, and the question of each row, in sorted order."""
    import pandas as pd

    instance, names = pd.factorize(rows["instance"], sort=True)
    question, ids = pd.factorize(rows["question"], sort=True)
    codes, place = np.unique(instance.astype(np.int64) * max(len(ids), 1) + question, return_inverse=True)
    return tuple(map(str, names)), codes // max(len(ids), 1), place.reshape(-1)


def _absent(rows: pd.DataFrame, question: NDArray[np.int64], count: int) -> dict[str, NDArray[np.bool_]]:
    import pandas as pd

    if "absent" not in rows.columns:
        return {}
    found: dict[str, NDArray[np.bool_]] = {}
    codes, texts = pd.factorize(rows["absent"].fillna(""))
    for code, text in enumerate(texts):
        for name in filter(None, str(text).split(",")):
            found.setdefault(name, np.zeros(count, dtype=bool))[question[codes == code]] = True
    return found


@dataclass(frozen=True, slots=True)
class WorstCase:
    """What the success rates can be, whatever the missing outcomes were: (least, most) under a and under a'."""

    active: tuple[float, float]
    reference: tuple[float, float]


def _worst(solved: NDArray[np.int64], scored: NDArray[np.int64], missing: NDArray[np.int64]) -> WorstCase | None:
    """Missing draws count as failed and as solved; a question without any draw in an arm can be anything there."""
    if not len(solved):
        return None
    size = scored + missing
    with np.errstate(invalid="ignore", divide="ignore"):
        least = np.where(size > 0, solved / size, 0.0).mean(axis=0)
        most = np.where(size > 0, (solved + missing) / size, 1.0).mean(axis=0)
    return WorstCase((float(least[0]), float(most[0])), (float(least[1]), float(most[1])))


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
