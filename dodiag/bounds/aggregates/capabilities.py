"""Capabilities averaged over units and models: the error budget, resilience, roots against the rest."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from dodiag.bounds.aggregates.averages import Average, Described, Floats, Frame, Linear, frame_of, limited
from dodiag.bounds.errors import NotAProbability
from dodiag.bounds.scores import homogeneous_state
from dodiag.bounds.table import UnitOutcomes, by_model, checked
from dodiag.problems import UsageError
from dodiag.vocabulary import State

if TYPE_CHECKING:
    import pandas as pd

Role = Literal["root", "nonroot"]
ROLES: tuple[Role, ...] = ("root", "nonroot")


@dataclass(frozen=True, slots=True)
class CapabilityRow:
    """Capabilities of the units of a category, averaged (CADET Figures 3, 4 and 13 to 16, Tables 6 to 9).

    Attributes
    ----------
    model : str or None
        None for the mean over the models of the models' means; `sd` and `count` are then over models.
    category : str or None
        None for all units of the role.
    role : {"root", "nonroot"}
        Whether the units have no prerequisite, and so NC alone.
    units : int
        Units that were asked, of any model.
    nc, ic, rc : Average or None
        Mean over the units that were asked under the state.
    cascading, residual, resilience : Average or None
        IC − NC, what is lost to the prerequisites; 1 − IC, what is lost even with them; RC − NC, what wrong
        prerequisites change. Each over the units that were asked under both states.
    cascading_share : float or None
        The cascading part of the whole error, (IC − NC) / (1 − NC), as a ratio of means over the units that have both.
    """

    model: str | None
    category: str | None
    role: Role
    units: int
    nc: Average | None
    ic: Average | None = None
    rc: Average | None = None
    cascading: Average | None = None
    residual: Average | None = None
    resilience: Average | None = None
    cascading_share: float | None = None


UnitKey = tuple[str, str, str]
"""Model, task, unit."""


@dataclass(frozen=True, slots=True)
class UnitMeans:
    """The success rate of every model's unit under every homogeneous state, with the influence of the instances."""

    frame: Frame
    means: Mapping[UnitKey, Mapping[State, Linear]]
    category: Mapping[tuple[str, str], str]
    role: Mapping[tuple[str, str], Role]

    @property
    def models(self) -> tuple[str, ...]:
        """The models, in order of appearance."""
        return tuple(dict.fromkeys(model for model, _, _ in self.means))

    @property
    def categories(self) -> tuple[str, ...]:
        """The categories, in order of appearance."""
        return tuple(dict.fromkeys(self.category[task, unit] for _, task, unit in self.means))


def unit_means(outcomes: pd.DataFrame, tasks: Sequence[Described]) -> UnitMeans:
    """Return the success rates that :func:`capability_averages` averages.

    A unit with answers that wait for a judge has no rate under that state.

    Raises
    ------
    UsageError
        If there is no task, two have one name, or the table does not fit one of them.
    """
    names = [task.name for task in tasks]
    if not names:
        raise UsageError("no task is given", "Give the task graphs that the table speaks of.")
    if twice := [name for name in names if names.count(name) > 1]:
        raise UsageError(f"two tasks are called {twice[0]}", "Give each task once.")
    tables = [checked(outcomes, task) for task in tasks]
    frame = frame_of(list(zip(names, tables, strict=True)))
    means: dict[UnitKey, dict[State, Linear]] = {}
    for task, table in zip(tasks, tables, strict=True):
        for model, of_model in by_model(table):
            for unit in task.units:
                of_unit = of_model[of_model["unit"] == unit]
                if found := dict(_by_state(task.name, of_unit, frame)):
                    means[model, task.name, unit] = found
    places = [(task, unit) for task in tasks for unit in task.units]
    return UnitMeans(
        frame,
        means,
        {(task.name, unit): str(task.units[unit].category) for task, unit in places},
        {(task.name, unit): "root" if unit in task.roots else "nonroot" for task, unit in places},
    )


def _by_state(task: str, rows: pd.DataFrame, frame: Frame) -> Iterator[tuple[State, Linear]]:
    states = {text: homogeneous_state(text) for text in rows["configuration"].unique()}
    for state in State:
        names = [text for text, found in states.items() if found is state]
        if names and (mean := _mean(task, rows[rows["configuration"].isin(names)], frame)) is not None:
            yield state, mean


def _mean(task: str, rows: pd.DataFrame, frame: Frame) -> Linear | None:
    found = UnitOutcomes(rows)
    known = found.scored > 0
    if found.unscored.any() or not known.any():
        return None
    instance = np.broadcast_to(found.instance[:, None], known.shape)[known]
    solved: Floats = found.solved[known] / found.scored[known]
    value = float(solved.mean())
    places = np.array([frame.place[task, name] for name in found.instances], dtype=np.int64)[instance]
    size = len(frame.task)
    influence: Floats = np.bincount(places, (solved - value) / solved.size, minlength=size).astype(np.float64)
    return Linear(value, influence, np.bincount(places, minlength=size) > 0)


def capability_averages(
    outcomes: pd.DataFrame, tasks: Sequence[Described], *, level: float = 0.95
) -> tuple[CapabilityRow, ...]:
    """Average NC, IC and RC over units, by model, category and role, and over models.

    Means are unweighted over units, then over models; ± is the sample standard deviation (ddof = 1) over units of one
    model, or over models. Limits hold for these units and models: only the instances are a sample.

    Parameters
    ----------
    outcomes : pandas.DataFrame
        An outcome table of any number of models and tasks.
    tasks : sequence of TaskGraph
        Those whose units are averaged; rows of other tasks are ignored.
    level : float
        Two-sided confidence level of the limits.

    Returns
    -------
    tuple of CapabilityRow
        Models in order of appearance, then None; in each the roots, then the rest; in each all categories, then each.

    Raises
    ------
    UsageError
        If there is no task, two have one name, or the table does not fit one of them.
    NotAProbability
        If the level is not in (0, 1).
    """
    if not 0 < level < 1:
        raise NotAProbability("level", level)
    found = unit_means(outcomes, tasks)
    models: tuple[str | None, ...] = (*found.models, None)
    categories: tuple[str | None, ...] = (None, *found.categories)
    rows = (_row(found, m, c, role, level) for m, role, c in itertools.product(models, ROLES, categories))
    return tuple(row for row in rows if row is not None)


def _row(found: UnitMeans, model: str | None, category: str | None, role: Role, level: float) -> CapabilityRow | None:
    keys = [
        key
        for key in found.means
        if model in (None, key[0])
        and found.role[key[1:]] == role
        and category in (None, found.category[key[1:]])
        and any(state in found.means[key] for state in (State.NATURAL, State.CORRECT, State.INCORRECT))
    ]
    if not keys:
        return None
    units = len({key[1:] for key in keys})

    def averaged(plus: State | None, minus: State | None) -> Average | None:
        return average_of(found, keys, plus, minus, level, over_models=model is None)

    natural = averaged(State.NATURAL, None)
    if role == "root":
        return CapabilityRow(model, category, role, units, natural)
    cascading = averaged(State.CORRECT, State.NATURAL)
    return CapabilityRow(
        model,
        category,
        role,
        units,
        natural,
        averaged(State.CORRECT, None),
        averaged(State.INCORRECT, None),
        cascading,
        averaged(None, State.CORRECT),
        averaged(State.INCORRECT, State.NATURAL),
        _share(found, keys, cascading, model is None),
    )


def average_of(
    found: UnitMeans,
    keys: Sequence[UnitKey],
    plus: State | None,
    minus: State | None,
    level: float,
    *,
    over_models: bool,
) -> Average | None:
    """Return the average over units of the rate under `plus` minus that under `minus`; None where no unit has both.

    Parameters
    ----------
    found : UnitMeans
    keys : sequence of UnitKey
    plus, minus : State or None
        ``plus`` alone gives a rate; ``minus`` alone gives 1 minus a rate.
    level : float
    over_models : bool
        Average over the models of their means, instead of over the units of one model.
    """
    means = {key: _difference(found.means[key], plus, minus) for key in keys}
    known = {key: mean for key, mean in means.items() if mean is not None}
    if not known:
        return None
    members = list(known.values())
    if over_models:
        by_model: dict[str, list[Linear]] = {}
        for key, mean in known.items():
            by_model.setdefault(key[0], []).append(mean)
        members = [Linear.mean(of_model) for of_model in by_model.values()]
    average = Average.of(member.value for member in members)
    return limited(average, Linear.mean(members), found.frame, level, share=plus is None or minus is None)


def _difference(states: Mapping[State, Linear], plus: State | None, minus: State | None) -> Linear | None:
    if plus is None:
        low = None if minus is None else states.get(minus)
        return None if low is None else Linear(1 - low.value, -low.influence, low.involved)
    high = states.get(plus)
    if minus is None or high is None:
        return high
    low = states.get(minus)
    return None if low is None else high - low


def _share(found: UnitMeans, keys: Sequence[UnitKey], cascading: Average | None, over_models: bool) -> float | None:
    if cascading is None or cascading.value is None:
        return None
    both = [key for key in keys if {State.NATURAL, State.CORRECT} <= set(found.means[key])]
    error = average_of(found, both, None, State.NATURAL, 0.95, over_models=over_models)
    if error is None or not error.value:
        return None
    return cascading.value / error.value
