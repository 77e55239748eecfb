"""Linear programs in floating point, by HiGHS; and from there the guess of an exact basis."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from dodiag.bounds.identified import Floats
from dodiag.bounds.linear.errors import NotSolved

TOLERANCE = 1e-10
"""Feasibility tolerances of HiGHS, the tightest it takes."""

AGREEMENT = 1e-9
"""Largest error that a floating-point solution may show in its own equations and between its two ends."""


@dataclass(frozen=True)
class FloatOptimum:
    """A floating-point solution that passed the checks.

    Attributes
    ----------
    value : float
    primal : array, shape (columns,)
    dual : array, shape (rows,)
    """

    value: float
    primal: Floats
    dual: Floats


def minimise_floats(matrix: Floats, right: Floats, cost: Floats) -> FloatOptimum | Literal["infeasible", "unbounded"]:
    """Minimise cost · x subject to matrix x = right, x >= 0, or return the word of HiGHS that there is no minimum.

    Raises
    ------
    NotSolved
        If HiGHS stops otherwise, or its solution and multipliers do not prove its value to 1e-9, relative to the
        largest variable.
    """
    from scipy.optimize import linprog

    options: Any = {"primal_feasibility_tolerance": TOLERANCE, "dual_feasibility_tolerance": TOLERANCE}
    result = linprog(cost, A_eq=matrix, b_eq=right, bounds=(0, None), method="highs", options=options)
    if result.status in (2, 3):
        return "infeasible" if result.status == 2 else "unbounded"
    if result.status != 0:
        raise NotSolved(result.message)
    primal, dual = np.asarray(result.x), np.asarray(result.eqlin.marginals)
    size = max(1.0, float(np.abs(primal).max()))
    error = max(
        float(np.abs(matrix @ primal - right).max()),
        -float(primal.min()),
        float((dual @ matrix - cost).max()),
        abs(float(cost @ primal - dual @ right)),
    )
    if not error <= AGREEMENT * size:
        raise NotSolved(f"its solution is off by {error:.3g}")
    return FloatOptimum(float(cost @ primal), primal, dual)


def likely_basis(matrix: Floats, cost: Floats, optimum: FloatOptimum) -> Sequence[int]:
    """Return columns that may form the optimal basis: those that are used, then those with reduced cost 0."""
    reduced = cost - optimum.dual @ matrix
    used: NDArray[np.bool_] = optimum.primal > AGREEMENT
    order = np.lexsort((np.abs(reduced), ~used))
    return [int(j) for j in order if used[j] or abs(reduced[j]) <= AGREEMENT]
