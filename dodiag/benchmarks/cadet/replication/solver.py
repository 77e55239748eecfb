"""A small solver: least cost within bounds such that means and deviations of some values are as printed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import Bounds, minimize

from dodiag.benchmarks.cadet.replication.published import Spread
from dodiag.problems import DodiagError

Array = NDArray[np.float64]

MISFIT = 2e-5
"""Most that a mean or a deviation may miss what was asked for."""

ROUNDS = 40


@dataclass(frozen=True)
class Demand:
    """That linear combinations of the unknowns, shape (values, unknowns), have this mean and sample deviation."""

    combinations: Array
    spread: Spread
    tolerance: float = 0.0

    def misfits(self, x: Array) -> tuple[Array, Array]:
        """Return how far mean and deviation are off, beyond the tolerance, and the gradients, shape (2, unknowns)."""
        values = self.combinations @ x
        centred = values - values.mean()
        sd = max(float(values.std(ddof=1)), 1e-9)
        off = np.array([values.mean() - self.spread.mean, sd - self.spread.sd])
        beyond = np.sign(off) * np.maximum(0.0, np.abs(off) - self.tolerance)
        slopes = np.array([np.full(len(values), 1 / len(values)), centred / (sd * (len(values) - 1))])
        return beyond, (slopes * (beyond != 0)[:, None]) @ self.combinations


def least_cost(
    cost: Callable[[Array], tuple[float, Array]],
    start: Array,
    bounds: tuple[Array, Array],
    demands: Sequence[Demand],
    what: str,
) -> Array:
    """Return the unknowns of least cost that meet the demands (augmented Lagrangian, L-BFGS-B inside).

    Parameters
    ----------
    cost : callable
        Returns the cost and its gradient.
    start, bounds : array, shape (unknowns,)
    demands : sequence of Demand
    what : str
        Named in the error.

    Raises
    ------
    DodiagError
        If the demands cannot be met.
    """
    low, high = bounds
    x = np.clip(start, low, high)
    multipliers = np.zeros((len(demands), 2))
    weight = 1e3
    worst = np.inf

    def lagrangian(x: Array) -> tuple[float, Array]:
        value, gradient = cost(x)
        gradient = gradient.copy()
        for demand, multiplier in zip(demands, multipliers, strict=True):
            off, slopes = demand.misfits(x)
            value += float(multiplier @ off + weight / 2 * off @ off)
            gradient += (multiplier + weight * off) @ slopes
        return value, gradient

    for _ in range(ROUNDS):
        found = minimize(
            lagrangian,
            x,
            jac=True,
            method="L-BFGS-B",
            bounds=Bounds(low, high),
            options={"maxiter": 2000, "maxfun": 20_000, "ftol": 1e-13, "gtol": 1e-7},
        )
        x = np.asarray(found.x, dtype=np.float64)
        off = np.array([demand.misfits(x)[0] for demand in demands])
        if np.abs(off).max() < MISFIT:
            return x
        multipliers += weight * off
        if np.abs(off).max() > worst / 4:
            weight = min(weight * 4, 1e8)
        worst = float(np.abs(off).max())
    raise DodiagError(f"no {what} agree with all that is printed: a mean or deviation is off by {worst:.5f}")
