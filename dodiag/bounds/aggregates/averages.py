"""Averages over units, prerequisites and models, with their spread and, where instances are at hand, their limits."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from dodiag.bounds.table import Structure

Floats = NDArray[np.float64]


class Described(Structure, Protocol):
    """What the averages need to know of a task beyond its structure; a ``TaskGraph`` has it."""

    @property
    def roots(self) -> tuple[str, ...]: ...


@dataclass(frozen=True, slots=True)
class Average:
    """An unweighted mean.

    Attributes
    ----------
    value : float or None
        The mean; None where there is nothing to average.
    sd : float or None
        Standard deviation of what was averaged (ddof = 1), as the paper prints it; None for a single value. It says how
        much units or models differ, not how sure the mean is.
    count : int
        How many values were averaged.
    lower, upper : float or None
        Confidence limits of the mean for these units and models, the instance being the unit of sampling.
    reason : str or None
        Why there is no value, or why there are no limits.
    """

    value: float | None
    sd: float | None = None
    count: int = 0
    lower: float | None = None
    upper: float | None = None
    reason: str | None = None

    @classmethod
    def of(cls, values: Iterable[float]) -> Average:
        """Return the mean of some values, without limits.

        Examples
        --------
        >>> found = Average.of([0.2, 0.4, 0.9])
        >>> round(found.value, 3), round(found.sd, 3), found.count
        (0.5, 0.361, 3)
        """
        found = [float(value) for value in values]
        if not found:
            return cls(None, reason="there is nothing to average")
        sd = float(np.std(found, ddof=1)) if len(found) > 1 else None
        return cls(math.fsum(found) / len(found), sd, len(found))


@dataclass(frozen=True, slots=True)
class Frame:
    """The instances of all tasks, in one order.

    Attributes
    ----------
    place : dict of (str, str) to int
        Index of each (task, instance).
    task : array of int, shape (instances,)
        Index of each instance's task.
    """

    place: dict[tuple[str, str], int]
    task: NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Linear:
    """A mean with the influence that each instance has on it.

    Attributes
    ----------
    value : float
    influence : array, shape (instances,)
        By how much an instance moves the mean, to first order; the instances of a task sum to 0.
    involved : array of bool, shape (instances,)
        Which instances the mean rests on.
    """

    value: float
    influence: Floats
    involved: NDArray[np.bool_]

    def __sub__(self, other: Linear) -> Linear:
        return Linear(self.value - other.value, self.influence - other.influence, self.involved | other.involved)

    @staticmethod
    def mean(parts: Sequence[Linear]) -> Linear:
        """Return the unweighted mean of some means; `parts` is not empty."""
        return Linear(
            math.fsum(part.value for part in parts) / len(parts),
            np.mean([part.influence for part in parts], axis=0),
            np.any([part.involved for part in parts], axis=0),
        )


def limited(average: Average, mean: Linear, frame: Frame, level: float, *, share: bool) -> Average:
    """Return an average with confidence limits, by linearisation with the instance as the unit of sampling.

    The variance is the sum over tasks of m / (m − 1) times the sum of squared influences of the task's m instances;
    Student's t with sum(m − 1) degrees of freedom. A share (NC, IC, RC) has Wilson's limits at the effective sample
    size p(1 − p) / variance, a difference symmetric ones. No limits where a task has one instance only, or where no
    instance differs from another in a difference.

    Parameters
    ----------
    average : Average
    mean : Linear
    frame : Frame
    level : float
        Two-sided.
    share : bool
        Whether the mean is a share, in [0, 1], or a difference, in [−1, 1].
    """
    sizes = np.bincount(frame.task[mean.involved], minlength=int(frame.task.max()) + 1).astype(float)
    if (sizes == 1).any():
        return replace(average, reason="a task with one instance says nothing about others")
    squares = np.bincount(frame.task, mean.influence**2, minlength=len(sizes))
    used = sizes > 1
    variance = float((squares[used] * sizes[used] / (sizes[used] - 1)).sum())
    freedom = float((sizes[used] - 1).sum())
    t = float(stdtrit(freedom, (1 + level) / 2))
    p = mean.value
    if share:
        effective = p * (1 - p) / variance if variance > 0 and 0 < p < 1 else float(sizes[used].sum())
        weight = t * t / effective
        centre = (p + weight / 2) / (1 + weight)
        half = t * math.sqrt(max(0.0, p * (1 - p)) / effective + weight / (4 * effective)) / (1 + weight)
        return replace(average, lower=max(0.0, min(p, centre - half)), upper=min(1.0, max(p, centre + half)))
    if variance == 0:
        return replace(average, reason="no instance differs from another")
    half = t * math.sqrt(variance)
    return replace(average, lower=max(-1.0, p - half), upper=min(1.0, p + half))


def frame_of(tables: Sequence[tuple[str, Any]]) -> Frame:
    """Return the instances of some tasks' outcome tables, given with the tasks' names."""
    place: dict[tuple[str, str], int] = {}
    task: list[int] = []
    for index, (name, table) in enumerate(tables):
        for instance in sorted(table["instance"].astype(str).unique()):
            place[name, instance] = len(place)
            task.append(index)
    return Frame(place, np.array(task, dtype=np.int64))
