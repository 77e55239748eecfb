"""Many claims at once: adjusted p-values, e-values, and one critical value for several confidence limits.

A family is one model, one task and one contrast, with k prerequisites. Within a family use :func:`holm` for claims and
:func:`sup_t_critical` or :func:`bonferroni_level` for limits. Across tasks and models use :func:`benjamini_hochberg`
(positively dependent claims), or :func:`benjamini_yekutieli` and :func:`e_benjamini_hochberg` where nothing is known
of the dependence.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dodiag.bounds.errors import NoData, NotCounts, TooFewInstances, Undefined, UnequalPairing
from dodiag.bounds.formulas import confidence_level, probability
from dodiag.bounds.identified import Floats
from dodiag.problems import DodiagError

Adjustment = Callable[[Floats], Floats]
"""Adjusts ascending p-values of shape (families, claims) along the last axis."""


class NotAnEValue(DodiagError):
    """A value that should be an e-value is NaN or negative.

    Attributes
    ----------
    value : float
        The first offending value.
    """

    def __init__(self, value: float) -> None:
        super().__init__(f"{value} is not an e-value", "E-values are 0 or more, and may be infinite.")
        self.value = value


def bonferroni_level(level: float, k: int) -> float:
    """Return the level at which each of k limits holds if all are to hold together at `level`: 1 − (1 − level)/k.

    Parameters
    ----------
    level : float
        Joint confidence level in (0, 1).
    k : int
        Number of limits, at least 1.

    Raises
    ------
    NotAProbability
        If the level is not in (0, 1).
    NotCounts
        If k is not a whole number above 0.

    Examples
    --------
    >>> bonferroni_level(0.95, 5)
    0.99
    """
    if k != int(k) or k < 1:
        raise NotCounts("k", k, "A family has at least one claim.")
    return 1 - (1 - confidence_level(level)) / int(k)


def holm(p: ArrayLike, tested: ArrayLike | None = None) -> Floats:
    """Adjust p-values for the family-wise error rate under any dependence (Holm 1979).

    A claim whose adjusted p-value is at most α may be made; the chance that any false claim is made is then at most
    α. Never above the Bonferroni adjustment min(1, k·p).

    Parameters
    ----------
    p : array_like, shape (..., claims)
        One family per row of the last axis.
    tested : array_like of bool, optional
        Broadcasts against `p`. Claims where it is False are no part of their family, whatever `p` holds there.

    Returns
    -------
    array, shape of `p`
        Adjusted p-values; NaN where not tested.

    Raises
    ------
    NotAProbability
        If a tested p-value is NaN or outside [0, 1].
    NoData
        If there is no claim in the last axis.

    Examples
    --------
    >>> holm([0.01, 0.04, 0.03]).tolist()
    [0.03, 0.06, 0.06]
    """

    def adjust(ascending: Floats) -> Floats:
        remaining = np.arange(ascending.shape[-1], 0, -1)
        return np.minimum(np.maximum.accumulate(ascending * remaining, axis=-1), 1)

    return _along_families(p, tested, adjust)


def benjamini_hochberg(p: ArrayLike, tested: ArrayLike | None = None) -> Floats:
    """Adjust p-values for the false discovery rate of independent or positively dependent claims.

    Benjamini & Hochberg 1995; Benjamini & Yekutieli 2001 for positive dependence, such as claims that share a
    baseline arm. Parameters, result and errors as in :func:`holm`.

    Examples
    --------
    >>> benjamini_hochberg([0.01, 0.04, 0.03]).round(3).tolist()
    [0.03, 0.04, 0.04]
    """
    return _along_families(p, tested, _false_discovery("bh"))


def benjamini_yekutieli(p: ArrayLike, tested: ArrayLike | None = None) -> Floats:
    """Adjust p-values for the false discovery rate under any dependence (Benjamini & Yekutieli 2001).

    The Benjamini-Hochberg adjustment times 1 + 1/2 + … + 1/k. Parameters, result and errors as in :func:`holm`.

    Examples
    --------
    >>> benjamini_yekutieli([0.01, 0.04, 0.03]).round(4).tolist()
    [0.055, 0.0733, 0.0733]
    """
    return _along_families(p, tested, _false_discovery("by"))


def e_to_p(e: ArrayLike) -> Floats:
    """Turn e-values into p-values, min(1, 1/e) (Vovk & Wang 2021, by Markov's inequality).

    Parameters
    ----------
    e : array_like
        E-values in [0, ∞].

    Raises
    ------
    NotAnEValue
        If an entry is NaN or negative.

    Examples
    --------
    >>> e_to_p([0.0, 0.5, 40.0, float("inf")]).tolist()
    [1.0, 1.0, 0.025, 0.0]
    """
    array = np.asarray(e, dtype=np.float64)
    wrong = ~(array >= 0)
    if wrong.any():
        raise NotAnEValue(float(array[wrong].flat[0]))
    return 1 / np.maximum(array, 1)


def e_benjamini_hochberg(e: ArrayLike, tested: ArrayLike | None = None) -> Floats:
    """Adjust e-values for the false discovery rate under any dependence (e-BH, Wang & Ramdas 2022).

    The claims whose result is at most α are those that e-BH makes at α: the m with the largest e-values, m the
    largest number with e_(m) ≥ k/(m·α). This is the Benjamini-Hochberg adjustment of 1/e, but unlike for p-values it
    needs no correction when the claims depend on each other in unknown ways.

    Parameters
    ----------
    e : array_like, shape (..., claims)
        E-values in [0, ∞].
    tested : array_like of bool, optional
        As in :func:`holm`.

    Returns
    -------
    array, shape of `e`
        Levels in [0, 1] at which each claim is made; NaN where not tested.

    Raises
    ------
    NotAnEValue
        If a tested entry is NaN or negative.
    NoData
        If there is no claim in the last axis.

    Examples
    --------
    >>> e_benjamini_hochberg([100.0, 30.0, 0.2]).tolist()
    [0.03, 0.05, 1.0]
    """
    array = np.asarray(e, dtype=np.float64)
    if tested is None:
        return benjamini_hochberg(e_to_p(array))
    array, mask = np.broadcast_arrays(array, np.asarray(tested, dtype=np.bool_))
    return benjamini_hochberg(e_to_p(np.where(mask, array, 1.0)), mask)


@dataclass(frozen=True, slots=True)
class SimultaneousCritical:
    """The number of standard errors by which several limits step back from their estimates to hold together.

    Attributes
    ----------
    value : float
        The critical value.
    single : float
        What one limit alone would take, Student's t with instances − 1 degrees of freedom.
    bonferroni : float
        What k limits take when nothing is known of their dependence. single ≤ value ≤ bonferroni.
    level : float
        Joint confidence level of the one-sided limits.
    monte_carlo_error : float
        Standard error of the level that `value` attains, from the finite number of replicates.
    """

    value: float
    single: float
    bonferroni: float
    level: float
    monte_carlo_error: float


def sup_t_critical(
    influence: ArrayLike,
    level: float = 0.95,
    *,
    generator: np.random.Generator,
    replicates: int = 100_000,
) -> SimultaneousCritical:
    """Critical value of k simultaneous one-sided limits, by the studentised multiplier bootstrap.

    The limits estimate_j − value · sd_j / √instances, sd_j the standard deviation of column j, hold for all j together
    at `level` (Chernozhukov, Lee & Rosen 2013; Romano, Shaikh & Wolf 2014). Columns that move together cost less
    than k unrelated ones; the Bonferroni value is never exceeded.

    Parameters
    ----------
    influence : array_like, shape (instances, k)
        Influence values ψ_ij of the k estimates, such as (T_i − θ·Y_i)/mean Y of a ratio. They are centred here.
    level : float
        Joint level in (0, 1).
    generator : numpy.random.Generator
        Draws the multipliers.
    replicates : int
        Draws. The default places the attained level within ±0.0014 (two standard errors) at level 0.95.

    Raises
    ------
    TooFewInstances
        If there are fewer than two.
    NoData
        If there is no column.
    Undefined
        If a value is not finite, or a column does not vary: its standard error would be 0 whatever the truth. Such a
        limit needs an exact rule, and a Bonferroni share of the level of its own.

    Notes
    -----
    With normal multipliers ξ the replicate Σ_i ξ_i ψ_ij / ‖ψ_j‖ is, given the data, exactly normal with the columns'
    correlations as covariance. It is therefore drawn from the triangular factor of the QR decomposition, at a cost
    that does not grow with the instances. Each replicate is divided by √(χ²/df), df = instances − 1, so that the value
    for one column is Student's t and not the normal quantile.

    Examples
    --------
    >>> columns = np.random.default_rng(1).standard_normal((200, 4))
    >>> found = sup_t_critical(columns, generator=np.random.default_rng(2))
    >>> found.single < found.value <= found.bonferroni
    True
    """
    from scipy.special import stdtrit

    values = np.asarray(influence, dtype=np.float64)
    if values.ndim != 2:
        raise UnequalPairing({"influence (instances, k)": values.shape})
    n, k = values.shape
    if k == 0:
        raise NoData("column of influence values")
    if n < 2:
        raise TooFewInstances(n)
    if replicates != int(replicates) or replicates < 1:
        raise NotCounts("replicates", replicates)
    alpha = 1 - confidence_level(level)
    if not np.isfinite(values).all():
        raise Undefined("the critical value", "an influence value is not finite")
    centred = values - values.mean(axis=0)
    norm = np.linalg.norm(centred, axis=0)
    flat = norm <= 1e-12 * np.linalg.norm(values, axis=0)
    if flat.any():
        raise Undefined("the critical value", f"column {int(np.flatnonzero(flat)[0])} does not vary between instances")
    factor = np.asarray(np.linalg.qr(centred / norm, mode="r"), dtype=np.float64)
    draws = generator.standard_normal((int(replicates), factor.shape[0])) @ factor
    scale = np.sqrt(generator.chisquare(n - 1, int(replicates)) / (n - 1))
    single, bonferroni = float(stdtrit(n - 1, level)), float(stdtrit(n - 1, bonferroni_level(level, k)))
    found = float(np.quantile(draws.max(axis=1) / scale, level, method="higher"))
    value = min(max(found, single), bonferroni)
    return SimultaneousCritical(value, single, bonferroni, level, float(np.sqrt(level * alpha / replicates)))


def _false_discovery(method: Literal["bh", "by"]) -> Adjustment:
    def adjust(ascending: Floats) -> Floats:
        from scipy.stats import false_discovery_control

        return np.asarray(false_discovery_control(ascending, axis=-1, method=method), dtype=np.float64)

    return adjust


def _along_families(p: ArrayLike, tested: ArrayLike | None, adjust: Adjustment) -> Floats:
    """Sort each family, adjust together those with equally many tested claims, and put them back in place."""
    array = np.asarray(p, dtype=np.float64)
    mask: NDArray[np.bool_] = np.ones(array.shape, np.bool_) if tested is None else np.asarray(tested, np.bool_)
    array, mask = np.broadcast_arrays(array, mask)
    if array.ndim == 0 or array.shape[-1] == 0:
        raise NoData("claim to adjust")
    probability(array[mask])
    rows = np.where(mask, array, np.inf).reshape(-1, array.shape[-1])
    counts = np.isfinite(rows).sum(axis=-1)
    order = np.argsort(rows, axis=-1, kind="stable")
    ascending = np.take_along_axis(rows, order, axis=-1)
    adjusted = np.full(rows.shape, np.nan)
    for count in np.unique(counts[counts > 0]):
        adjusted[counts == count, :count] = adjust(ascending[counts == count, :count])
    result = np.empty(rows.shape)
    np.put_along_axis(result, order, adjusted, axis=-1)
    return result.reshape(array.shape)
