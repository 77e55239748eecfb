"""From an outcome table to means per instance: the arrays that races, repair gains and coalitions are made of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dodiag.bounds.coalitions import InstanceValues
from dodiag.bounds.errors import NoData
from dodiag.bounds.identified import Floats
from dodiag.bounds.repair_gain import AT_RANDOM, MAX_S, RepairGain, Rule, highest, lowest, repair_gain
from dodiag.bounds.table import Structure, UnitOutcomes, by_model, checked
from dodiag.problems import UsageError
from dodiag.vocabulary import Configuration, Contrast, State, arms

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class InstanceMeans:
    """Means of solved over the questions of each instance, by configuration of one unit.

    Attributes
    ----------
    configurations : tuple of str
    instances : tuple of str
    means : array, shape (instances, configurations)
        NaN where no question of the instance was scored.
    sizes : array, shape (instances, configurations)
        Questions that were scored.
    """

    configurations: tuple[str, ...]
    instances: tuple[str, ...]
    means: Floats
    sizes: Floats

    def column(self, configuration: Configuration | str) -> Floats:
        """Return the means under one configuration, shape (instances,).

        Raises
        ------
        NoData
            If it was not run.
        """
        text = str(configuration)
        if text not in self.configurations:
            raise NoData(f"outcome under '{text}'")
        return np.asarray(self.means[:, self.configurations.index(text)])

    def size(self, configuration: Configuration | str) -> Floats:
        """Return the questions that were scored under one configuration, shape (instances,); errors as `column`."""
        self.column(configuration)
        return np.asarray(self.sizes[:, self.configurations.index(str(configuration))])


def instance_means(
    outcomes: pd.DataFrame,
    task: Structure,
    unit: str | None = None,
    model: str | None = None,
    *,
    together: Sequence[Configuration | str] = (),
) -> InstanceMeans:
    """Return the means per instance of one unit of one model.

    Parameters
    ----------
    outcomes : pandas.DataFrame
        An outcome table.
    task : TaskGraph
    unit : str, optional
        The target by default.
    model : str, optional
        May be left out where the table has a single model.
    together : sequence of Configuration or str
        Take only the questions that were scored under all of these.

    Raises
    ------
    UsageError
        If the table does not fit the task, or the model is not named and there are several, or is not there.
    NoData
        If the unit has no outcome, or one of `together` was not run.
    """
    rows = _rows_of_model(checked(outcomes, task), model)
    return _means_of(rows, task.target if unit is None else unit, together)


def _rows_of_model(table: pd.DataFrame, model: str | None) -> pd.DataFrame:
    found = dict(by_model(table))
    if model is None and len(found) > 1:
        raise UsageError(f"the outcome table has {len(found)} models", f"Name one of {', '.join(found)}.")
    if model is not None and model not in found:
        raise UsageError(f"the outcome table has no model '{model}'", f"Its models are {', '.join(found)}.")
    return found[model] if model is not None else next(iter(found.values()))


def _means_of(rows: pd.DataFrame, unit: str, together: Sequence[Configuration | str] = ()) -> InstanceMeans:
    rows = rows[rows["unit"] == unit]
    if rows.empty:
        raise NoData(f"outcome of unit {unit}")
    found = UnitOutcomes(rows)
    shape = len(found.instances), len(found.configurations)
    with np.errstate(invalid="ignore"):
        share = found.solved / found.scored
    known = found.scored > 0
    if missing := [str(c) for c in together if not found.has(str(c))]:
        raise NoData(f"outcome of unit {unit} under '{missing[0]}'")
    needed = [found.configurations.index(str(c)) for c in together]
    known &= known[:, needed].all(axis=1, keepdims=True)
    sums, sizes = np.zeros(shape), np.zeros(shape)
    np.add.at(sums, found.instance, np.where(known, share, 0.0))
    np.add.at(sizes, found.instance, known.astype(np.float64))
    with np.errstate(invalid="ignore"):
        return InstanceMeans(found.configurations, found.instances, sums / sizes, sizes)


@dataclass(frozen=True)
class SuppliedAlone:
    """What supplying one prerequisite at a time does, on the instances that have all arms.

    Attributes
    ----------
    prerequisites, instances : tuple of str
    single : array, shape (instances, prerequisites)
        Mean outcome with this prerequisite in a and the others in a'.
    baseline, full : array, shape (instances,)
        Mean outcome with all in a', and with all in a.
    sizes : array, shape (instances,)
        Questions of the target.
    left_out : int
        Instances without one of the arms.
    """

    prerequisites: tuple[str, ...]
    instances: tuple[str, ...]
    single: Floats
    baseline: Floats
    full: Floats
    sizes: Floats
    left_out: int


def supplied_alone(
    outcomes: pd.DataFrame, task: Structure, contrast: Contrast | str = "1,n", model: str | None = None
) -> SuppliedAlone:
    """Return the arms of S for all prerequisites of the target, for :func:`dodiag.bounds.racing.race` and others.

    Parameters as in :func:`instance_means`; `contrast` is (a, a').

    Raises
    ------
    NoData
        If an arm was not run, or no instance has all of them.
    """
    return _supplied_alone(_rows_of_model(checked(outcomes, task), model), task, contrast)


def _supplied_alone(rows: pd.DataFrame, task: Structure, contrast: Contrast | str) -> SuppliedAlone:
    pair = Contrast.parse(contrast) if isinstance(contrast, str) else contrast
    prerequisites = task.prerequisites(task.target)
    active = [arms("S", pair, name, prerequisites).active for name in prerequisites]
    none, all_ = (Configuration.homogeneous(prerequisites, state) for state in (pair.a_prime, pair.a))
    means = _means_of(rows, task.target, [*active, none, all_])
    complete = means.size(none) > 0
    if not complete.any():
        raise NoData("question with all arms of S")
    return SuppliedAlone(
        prerequisites,
        tuple(name for name, yes in zip(means.instances, complete, strict=True) if yes),
        np.stack([means.column(c)[complete] for c in active], axis=1),
        means.column(none)[complete],
        means.column(all_)[complete],
        means.size(none)[complete],
        int((~complete).sum()),
    )


RULES = ("max S", "max N", "min NC", "min IC", "max IC-NC", "random")
"""The selection rules of CADET's Figure 8b."""


def repair_gains(
    outcomes: pd.DataFrame,
    task: Structure,
    rules: Sequence[str] = RULES,
    *,
    model: str | None = None,
    generator: np.random.Generator | None = None,
    level: float = 0.95,
) -> dict[str, RepairGain]:
    """Return the share of IC − NC that repairing one prerequisite captures, by selection rule (CADET Figure 8b).

    Cross-fitted: see :func:`dodiag.bounds.repair_gain.repair_gain`, whose errors this has. Rules that look at the
    prerequisites' own capabilities need the outcomes of those units; a root has no IC, and "min IC" and "max IC-NC"
    take its NC for it.

    Raises
    ------
    UsageError
        If a rule is unknown.
    NoData
        If the runs that a rule needs are not there.
    """
    if unknown := [rule for rule in rules if rule not in RULES]:
        raise UsageError(f"selection rule '{unknown[0]}' is unknown", f"The rules are {', '.join(RULES)}.")
    rows = _rows_of_model(checked(outcomes, task), model)
    supplied = _supplied_alone(rows, task, "1,n")
    found = {}
    for rule in rules:
        found[rule] = repair_gain(
            supplied.single,
            supplied.baseline,
            supplied.full,
            _rule(rule, rows, task, supplied),
            generator=generator,
            level=level,
            sizes=supplied.sizes,
        )
    return found


def _rule(name: str, rows: pd.DataFrame, task: Structure, supplied: SuppliedAlone) -> Rule:
    if name in ("max S", "random"):
        return MAX_S if name == "max S" else AT_RANDOM
    if name == "max N":
        pair = Contrast(State.CORRECT, State.NATURAL)
        withdrawn = [arms("N", pair, unit, supplied.prerequisites).reference for unit in supplied.prerequisites]
        target = _means_of(rows, task.target)
        values, sizes = _columns([(target, c) for c in withdrawn], supplied.instances)
        return lowest(values, name, sizes)
    natural, correct = (_own(rows, task, supplied, state) for state in (State.NATURAL, State.CORRECT))
    if name == "max IC-NC":
        return highest(correct[0] - natural[0], name, np.minimum(correct[1], natural[1]))
    values, sizes = natural if name == "min NC" else correct
    return lowest(values, name, sizes)


def _own(rows: pd.DataFrame, task: Structure, supplied: SuppliedAlone, state: State) -> tuple[Floats, Floats]:
    """Return each prerequisite's own means and sizes per instance, its own prerequisites in a state."""
    wanted = []
    for unit in supplied.prerequisites:
        names = task.prerequisites(unit)
        configuration = Configuration.homogeneous(names, state) if names else Configuration()
        wanted.append((_means_of(rows, unit), configuration))
    return _columns(wanted, supplied.instances)


def _columns(wanted: Sequence[tuple[InstanceMeans, Configuration]], instances: Sequence[str]) -> tuple[Floats, Floats]:
    """Return means and sizes at these instances, shape (instances, len(wanted)) each; NaN and 0 where there is none."""
    means = np.full((len(instances), len(wanted)), np.nan)
    sizes = np.zeros(means.shape)
    for column, (found, configuration) in enumerate(wanted):
        place = {name: index for index, name in enumerate(found.instances)}
        rows = [(row, place[name]) for row, name in enumerate(instances) if name in place]
        here, there = np.array(rows, dtype=np.int64).reshape(-1, 2).T
        means[here, column] = found.column(configuration)[there]
        sizes[here, column] = found.size(configuration)[there]
    return means, sizes


def coalition_values(outcomes: pd.DataFrame, task: Structure, model: str | None = None) -> InstanceValues:
    """Return v(T) per instance: the target's outcome with exactly the prerequisites T correct and the others natural.

    Of all configurations over {1, ∅} that were run (``--factorial --state 1 --state n`` runs all 2^k), on the questions
    that have all of them; for the functions of :mod:`dodiag.bounds.coalitions`.

    Raises
    ------
    NoData
        If no such configuration was run, or no instance has all that were.
    """
    ran = instance_means(outcomes, task, model=model).configurations
    wanted = {State.CORRECT, State.NATURAL}
    texts = [text for text in ran if set(Configuration.parse(text).states) <= wanted]
    if not texts:
        raise NoData("configuration over 1 and n")
    means = instance_means(outcomes, task, model=model, together=texts)
    complete = means.size(texts[0]) > 0
    if not complete.any():
        raise NoData("question with all its configurations over 1 and n")
    columns = {Configuration.parse(text): means.column(text)[complete] for text in texts}
    return InstanceValues.of(columns, task.prerequisites(task.target), means.size(texts[0])[complete])
