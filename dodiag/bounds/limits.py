"""Confidence limits: of success probabilities, of N and S, of the ends of PN, PS and PNS.

Every limit is one-sided at its own `level`; a two-sided interval at 95 % takes both at 97.5 %. The unit of sampling is
the instance. Limits of ratios are clipped after bounding; that is honest at the boundary, since max(0, ·) is monotone.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from enum import StrEnum
from functools import lru_cache
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dodiag.bounds.errors import NoData, NotCounts, TooFewInstances
from dodiag.bounds.formulas import confidence_level
from dodiag.bounds.identified import Floats
from dodiag.bounds.pairs import PairedSums

FEW_DISCORDANT = 10
"""Below so many instances whose arms differ, the normal approximation gives way to the exact rule."""

BETS = np.linspace(0.02, 0.98, 49)
"""Bets over which the e-value of :func:`ratio_e_value` is averaged."""


@dataclass(frozen=True, slots=True)
class Proportion:
    """A mean of outcomes in [0, 1] with its confidence limits.

    Attributes
    ----------
    value : float
        The unweighted mean over outcomes.
    lower, upper : float or None
        Limits at the asked level; None where they cannot be had, with the reason.
    n, clusters : int
        Outcomes, and instances they come from.
    effective_n : float or None
        Number of independent outcomes that would vary as much.
    reason : str or None
        Why there are no limits.
    """

    value: float
    lower: float | None
    upper: float | None
    n: int
    clusters: int
    effective_n: float | None
    reason: str | None = None


def clustered_wilson(sums: ArrayLike, sizes: ArrayLike, level: float = 0.95) -> Proportion:
    """Wilson limits of a mean over clustered outcomes.

    As :func:`wilson_limits`, two-sided and for one mean.

    Parameters
    ----------
    sums, sizes : array_like, shape (clusters,)
        Sum and number of outcomes of each instance.
    level : float
        Two-sided confidence level in (0, 1).

    Raises
    ------
    NotAProbability
        If the level is not in (0, 1).
    NoData
        If there is no outcome.
    """
    confidence_level(level)
    total, count = np.asarray(sums, np.float64), np.asarray(sizes, np.float64)
    n, clusters = int(count.sum()), int(np.count_nonzero(count))
    if n == 0:
        raise NoData("outcome")
    p, effective = _effective(total, count)
    if clusters < 2:
        return Proportion(float(p), None, None, n, clusters, None, "one instance says nothing about others")
    side = (1 + level) / 2
    lower, upper = _wilson(*_studentised(total, count, side), side)
    return Proportion(float(p), float(lower), float(upper), n, clusters, float(effective))


class LimitMethod(StrEnum):
    """How a limit was made."""

    LOG_RATIO = "clustered log-ratio"
    BETTING = "exact betting"
    STUDENT = "clustered Student"
    WILSON = "clustered Wilson"
    NEWCOMBE = "clustered Newcombe"
    CLOPPER_PEARSON = "Clopper-Pearson"


@dataclass(frozen=True)
class Limits:
    """One-sided confidence limits, arrays of one shape (...); each of `lower` and `upper` holds at `level`.

    Together they cover with at least 2 × level − 1. Where there are fewer than two instances there is no limit: NaN,
    and `known` is False.

    Attributes
    ----------
    lower, upper : array
    level : float
    method : array of str
        How each was made; see :class:`LimitMethod`.
    """

    lower: Floats
    upper: Floats
    level: float
    method: NDArray[np.str_] = field(default_factory=lambda: np.array(LimitMethod.STUDENT.value))

    @property
    def known(self) -> NDArray[np.bool_]:
        """Where there are limits."""
        return ~np.isnan(self.lower)

    def ends(self) -> tuple[float, float]:
        """Return both limits of a single quantity as numbers.

        Raises
        ------
        TooFewInstances
            If there are none.
        ValueError
            If this holds more than one pair of limits.
        """
        if self.lower.size != 1:
            raise ValueError(f"this holds {self.lower.size} pairs of limits; read .lower and .upper")
        if not self.known.all():
            raise TooFewInstances(1)
        return self.lower.item(), self.upper.item()


def n_limits(pairs: PairedSums, level: float = 0.95, method: LimitMethod | None = None) -> Limits:
    """Limits of N = max(0, 1 − p'/p), clustered by instance.

    By default the log-ratio linearisation, and the exact betting limit where p̂ or p̂' is 0 or fewer than
    `FEW_DISCORDANT` instances differ between the arms; where instances have several questions, also where either arm's
    sum, or what the arms differ in, is spread over fewer instances than that.

    Parameters
    ----------
    pairs : PairedSums, shape (..., instances)
    level : float
        One-sided level in (0, 1).
    method : LimitMethod, optional
        Use one method throughout.

    Raises
    ------
    NotAProbability
        If the level is not in (0, 1).

    Notes
    -----
    With ȳ_i and z̄_i the sums of instance i under a and a': se² = Σ (z̄_i / Σz̄ − ȳ_i / Σȳ)², and the lower limit is
    max(0, 1 − (p̂'/p̂) exp(t se)) with t the quantile of Student's law with n − 1 degrees of freedom. With one binary
    outcome per instance se is that of the paired log risk ratio.

    Examples
    --------
    >>> pairs = PairedSums.of([1] * 60 + [0] * 40, [1] * 30 + [0] * 65 + [1] * 5)
    >>> limits = n_limits(pairs)
    >>> limits.lower.round(3).item(), limits.upper.round(3).item()
    (0.277, 0.529)
    """
    ratio = ratio_limits(pairs.reference, pairs.active, pairs.sizes, level, method)
    return Limits(np.maximum(0.0, 1 - ratio.upper), np.clip(1 - ratio.lower, 0, 1), level, ratio.method)


def s_limits(pairs: PairedSums, level: float = 0.95, method: LimitMethod | None = None) -> Limits:
    """Limits of S = max(0, p − p') / (1 − p'); S(p, p') = N(1 − p', 1 − p). Parameters as in :func:`n_limits`."""
    return n_limits(pairs.failures, level, method)


def ratio_limits(
    numerator: ArrayLike,
    denominator: ArrayLike,
    sizes: ArrayLike,
    level: float = 0.95,
    method: LimitMethod | None = None,
) -> Limits:
    """One-sided limits of the ratio of two means over the same instances, shape (..., instances) each.

    Both sums lie between 0 and `sizes`. This is what N, S and the upper ends of PN and PS share: N is one minus the
    ratio p'/p, the upper end of PN is the ratio (1 − p')/p, that of PS p/(1 − p').

    Raises
    ------
    NotAProbability
        If the level is not in (0, 1).
    """
    confidence_level(level)
    top, bottom, size = (np.asarray(v, np.float64) for v in (numerator, denominator, sizes))
    few = np.count_nonzero(np.abs(top - bottom) > 1e-9, axis=-1) < FEW_DISCORDANT
    clustered = size.max(axis=-1) > 1
    few |= clustered & (np.minimum.reduce([_spread(v) for v in (top, bottom, top - bottom)]) < FEW_DISCORDANT)
    some_top, some_bottom = top.sum(axis=-1) > 0, bottom.sum(axis=-1) > 0
    exact = np.asarray(few | ~some_top | ~some_bottom)
    if method is not None:
        exact = np.full(exact.shape, method is LimitMethod.BETTING)
    lower, upper = _log_ratio(top, bottom, size, level)
    for index in zip(*np.nonzero(exact), strict=True) if exact.ndim else ([()] if exact else []):
        lower[index], upper[index] = _betting(top[index], bottom[index], size[index], level)
    unknown = np.count_nonzero(size, axis=-1) < 2
    lower, upper = np.where(unknown, np.nan, lower), np.where(unknown, np.nan, upper)
    names = np.where(exact, LimitMethod.BETTING.value, LimitMethod.LOG_RATIO.value)
    return Limits(lower, upper, level, names)


def _spread(values: Floats) -> Floats:
    """Over how many instances a sum is spread, (Σ|v|)²/Σv² (Kish): their number if all are alike, 0 if none is."""
    total, square = np.abs(values).sum(axis=-1), np.square(values).sum(axis=-1)
    return np.asarray(np.divide(total**2, square, out=np.zeros(np.shape(total)), where=square > 0))


def _log_ratio(top: Floats, bottom: Floats, size: Floats, level: float) -> tuple[Floats, Floats]:
    from scipy.special import stdtrit

    n = np.count_nonzero(size, axis=-1)
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        sum_top, sum_bottom = top.sum(axis=-1), bottom.sum(axis=-1)
        shares = top / sum_top[..., None] - bottom / sum_bottom[..., None]
        error = np.sqrt(np.sum(shares**2, axis=-1))
        factor = np.exp(stdtrit(np.maximum(n - 1, 1), level) * error)
        ratio = sum_top / sum_bottom
        lower, upper = ratio / factor, ratio * factor
    return np.array(np.where(np.isnan(lower), 0.0, lower)), np.array(np.where(np.isnan(upper), np.inf, upper))


def _betting(top: Floats, bottom: Floats, size: Floats, level: float) -> tuple[float, float]:
    """Both one-sided betting limits of one ratio; the lower one is the inverse of the other ratio's upper one."""
    if not np.count_nonzero(size):
        return np.nan, np.nan
    counted = _distinct(top / size.max(), bottom / size.max())
    inverse = _distinct(bottom / size.max(), top / size.max())
    below = _betting_upper(*inverse, level)
    return (0.0 if below == np.inf else 1 / below if below > 0 else np.inf), _betting_upper(*counted, level)


def _distinct(top: Floats, bottom: Floats) -> tuple[tuple[float, ...], tuple[float, ...], tuple[int, ...]]:
    found, counts = np.unique(np.stack([top, bottom]), axis=1, return_counts=True)
    return tuple(found[0].tolist()), tuple(found[1].tolist()), tuple(counts.tolist())


@lru_cache(maxsize=65536)
def _betting_upper(top: tuple[float, ...], bottom: tuple[float, ...], counts: tuple[int, ...], level: float) -> float:
    """Return sup{ρ : E(ρ) < 1 / (1 − level)}, found by bisection since E increases in ρ."""
    from scipy.optimize import brentq

    z, y, count = np.array(top), np.array(bottom), np.array(counts, np.float64)
    threshold = -math.log1p(-level)
    if not (y * count).sum():
        return np.inf

    def excess(rho: float) -> float:
        return _log_e_value(z, y, count, rho) - threshold

    high = 1.0
    while excess(high) < 0:
        high *= 2
        if high > 1e9:
            return np.inf
    return float(brentq(excess, 0.0, high, xtol=1e-10))


def _log_e_value(z: Floats, y: Floats, count: Floats, rho: float) -> float:
    from scipy.special import logsumexp

    # z − ρ y is at most 1, so every factor is at least 1 − λ > 0.
    factors = np.log1p(-BETS[:, None] * (z - rho * y))
    return float(logsumexp(factors @ count) - math.log(BETS.size))


def ratio_e_value(numerator: ArrayLike, denominator: ArrayLike, rho: float = 1.0) -> float:
    """E-value against H0: mean(numerator) ≥ ρ mean(denominator), outcomes in [0, 1], one entry per instance.

    E = mean over bets λ of Π_i (1 − λ (z_i − ρ y_i)). Under H0 its expectation is at most 1 whatever the law of the
    outcomes, and at any stopping time (Ville; Waudby-Smith & Ramdas 2024), so E ≥ 1/α rejects at level α.

    Parameters
    ----------
    numerator, denominator : array_like, shape (instances,)
    rho : float

    Raises
    ------
    NotAProbability
        If an outcome is outside [0, 1].
    NoData
        If there is no instance.

    Examples
    --------
    >>> ratio_e_value([0] * 20, [1] * 20) > 20, round(ratio_e_value([1, 0], [1, 0]), 3)
    (True, 1.0)
    """
    pairs = PairedSums.of(denominator, numerator)
    return math.exp(min(700.0, _log_e_value(pairs.reference, pairs.active, np.ones(pairs.active.shape), rho)))


def end_limits(quantity: Literal["PN", "PS", "PNS"], pairs: PairedSums, level: float = 0.975) -> Limits:
    """Limits for the ends of PN, PS or PNS from paired outcomes.

    `lower` is a lower limit of the lower end and `upper` an upper limit of the upper end, so that together they cover
    the whole identified interval, and the quantity in it. The lower end of PN is N, of PS S; their upper ends are
    min(1, (1 − p')/p) and min(1, p/(1 − p')), ratios of the same kind. For PNS = [max(0, p − p'), min(p, 1 − p')] the
    lower limit is that of :func:`difference_limits`, and the upper one the smaller of the upper limits of p and 1 − p'
    (Korn & Graubard 1998) at half the error each.

    Examples
    --------
    >>> pairs = PairedSums.of([1] * 60 + [0] * 40, [1] * 30 + [0] * 65 + [1] * 5)
    >>> limits = end_limits("PN", pairs)
    >>> limits.lower.round(3).item(), limits.upper.item()
    (0.246, 1.0)
    """
    if quantity == "PN":
        upper = ratio_limits(pairs.failures.active, pairs.active, pairs.sizes, level).upper
        score = n_limits(pairs, level)
        return Limits(score.lower, np.minimum(1.0, upper), level, score.method)
    if quantity == "PS":
        upper = ratio_limits(pairs.active, pairs.failures.active, pairs.sizes, level).upper
        score = s_limits(pairs, level)
        return Limits(score.lower, np.minimum(1.0, upper), level, score.method)
    half = (1 + level) / 2
    tops = [
        _korn_graubard(*_studentised(sums, pairs.sizes, half), half) for sums in (pairs.active, pairs.failures.active)
    ]
    gap = difference_limits(pairs, level)
    return Limits(np.maximum(0.0, gap.lower), np.minimum(*tops), level, gap.method)


def difference_limits(pairs: PairedSums, level: float = 0.975) -> Limits:
    """One-sided limits of p − p', clustered by instance: Newcombe's hybrid of the Wilson limits of both arms.

    With l, u the limits of p, l', u' those of p', and φ the correlation of the arms over instances,
    lower = p − p' − √((p − l)² − 2φ (p − l)(u' − p') + (u' − p')²), the upper limit likewise (Newcombe 1998, method 10,
    with the clustered Wilson limits of :func:`wilson_limits` and his correction of φ, half an instance). It does not
    shrink to a point where all outcomes of an arm agree, as Student's limits do. Where fewer than ten instances differ
    between the arms and all in one direction, even φ leaves the limits too narrow: then the limit of that direction is
    at least Clopper and Pearson's for the share of such instances, and so is the other one where none differs.

    Examples
    --------
    >>> pairs = PairedSums.of([1] * 60 + [0] * 40, [1] * 30 + [0] * 65 + [1] * 5)
    >>> difference_limits(pairs).lower.round(3).item()
    0.14
    """
    confidence_level(level)
    with np.errstate(invalid="ignore", divide="ignore"):
        (low, high), (low_prime, high_prime) = (
            _wilson(*_studentised(sums, pairs.sizes, level), level) for sums in (pairs.active, pairs.reference)
        )
        p, p_prime = pairs.p, pairs.p_prime
        left = pairs.active - p[..., None] * pairs.sizes
        right = pairs.reference - p_prime[..., None] * pairs.sizes
        scale = np.sqrt(np.sum(left**2, axis=-1) * np.sum(right**2, axis=-1))
        correlation = np.where(scale > 0, np.sum(left * right, axis=-1) / scale, 0.0)
        instances = np.count_nonzero(pairs.sizes, axis=-1)
        half = 1 / (2 * instances) / np.sqrt(p * (1 - p) * p_prime * (1 - p_prime))
        correlation = np.where(correlation > 0, np.maximum(0.0, correlation - half), correlation)
    down = _hybrid(p - low, high_prime - p_prime, correlation)
    up = _hybrid(high - p, p_prime - low_prime, correlation)
    gains, losses = (np.count_nonzero(sign * (pairs.active - pairs.reference) > 0, axis=-1) for sign in (1, -1))
    upper = np.maximum(p - p_prime + up, _share_limit(gains, losses, instances, level))
    lower = np.minimum(p - p_prime - down, -_share_limit(losses, gains, instances, level))
    known = pairs.n >= 2
    lower, upper = (np.where(known, limit, np.nan) for limit in (lower, upper))
    return Limits(lower, upper, level, np.full(lower.shape, LimitMethod.NEWCOMBE.value))


def _share_limit(changed: Floats, against: Floats, instances: Floats, level: float) -> Floats:
    """Clopper–Pearson's upper limit of a share that is the whole difference and rests on few; else minus infinity."""
    from scipy.special import betaincinv

    few = (against == 0) & (changed < FEW_DISCORDANT) & (changed < instances)
    limit = betaincinv(changed + 1.0, np.where(few, instances - changed, 1.0), level)
    return np.where(few, limit, -np.inf)


def _hybrid(one: Floats, other: Floats, correlation: Floats) -> Floats:
    return np.asarray(np.sqrt(np.maximum(0.0, one**2 - 2 * correlation * one * other + other**2)))


def wilson_limits(sums: ArrayLike, sizes: ArrayLike, level: float = 0.975) -> Limits:
    """One-sided Wilson limits of a mean over clustered outcomes.

    The n of Wilson's formula is replaced by the effective one, p(1−p) over the cluster-robust variance of the mean
    (with one solved and one failed instance of average size added), at most the number of outcomes, and times the
    squared ratio of the normal to Student's quantile where instances have several outcomes (Korn & Graubard 1998).
    Where all outcomes agree that variance is 0 whatever the truth, and the number of clusters is used. With one outcome
    per instance these are Wilson's own limits.

    Parameters
    ----------
    sums, sizes : array_like, shape (..., instances)
        Sum and number of outcomes of each instance; instances of size 0 take no part.
    level : float
        One-sided level in (0, 1).

    Raises
    ------
    NotAProbability
        If the level is not in (0, 1).
    NoData
        If somewhere there is no outcome.
    """
    unknown = np.count_nonzero(np.asarray(sizes), axis=-1) < 2
    lower, upper = (np.where(unknown, np.nan, limit) for limit in _wilson(*_studentised(sums, sizes, level), level))
    return Limits(lower, upper, level, np.full(lower.shape, LimitMethod.WILSON.value))


def _effective(sums: ArrayLike, sizes: ArrayLike) -> tuple[Floats, Floats]:
    """Return the mean and the number of independent outcomes that would vary as much.

    Two instances of average size, one all solved and one all failed, are added for the variance: near 0 and 1 the few
    instances that deviate say too little of how much instances differ.
    """
    total, count = np.asarray(sums, np.float64), np.asarray(sizes, np.float64)
    n = count.sum(axis=-1)
    if not np.all(n > 0):
        raise NoData("outcome")
    p = np.asarray(total.sum(axis=-1) / n)
    clusters = np.count_nonzero(count, axis=-1)
    size = n / clusters
    middle = (total.sum(axis=-1) + size) / (n + 2 * size)
    residual = np.sum((total - middle[..., None] * count) ** 2, axis=-1) + size**2 * ((1 - middle) ** 2 + middle**2)
    variance = (clusters + 2) / (clusters + 1) * residual / (n + 2 * size) ** 2
    effective = np.minimum(n, middle * (1 - middle) / variance)
    return p, np.where((p > 0) & (p < 1), effective, clusters)


def _studentised(sums: ArrayLike, sizes: ArrayLike, level: float) -> tuple[Floats, Floats]:
    """Return the mean and the effective number, made smaller where few clusters show how much clusters vary.

    By the squared ratio of the normal to Student's quantile (Korn & Graubard 1998). Not where every instance has one
    outcome, since the variance of those is known from the mean.
    """
    from scipy.special import ndtri, stdtrit

    p, effective = _effective(sums, sizes)
    count = np.asarray(sizes, np.float64)
    clusters = np.count_nonzero(count, axis=-1)
    estimated = (count.max(axis=-1) > 1) & (clusters > 1) & (p > 0) & (p < 1)
    if confidence_level(level) == 0.5:
        return p, effective
    ratio = ndtri(level) / stdtrit(np.maximum(clusters - 1, 1), level)
    return p, np.where(estimated, effective * ratio**2, effective)


def _wilson(p: Floats, effective: Floats, level: float) -> tuple[Floats, Floats]:
    from scipy.special import ndtri

    confidence_level(level)
    z = float(ndtri(level))
    centre = (p + z * z / (2 * effective)) / (1 + z * z / effective)
    half = z * np.sqrt(p * (1 - p) / effective + z * z / (4 * effective**2)) / (1 + z * z / effective)
    lower = np.where(p == 0, 0.0, np.maximum(0.0, centre - half))
    return lower, np.where(p == 1, 1.0, np.minimum(1.0, centre + half))


def _korn_graubard(p: Floats, effective: Floats, level: float) -> Floats:
    """Clopper–Pearson upper limit at the effective number of outcomes; near 1 Wilson's falls short."""
    from scipy.special import betaincinv

    failures = effective * (1 - p)
    return np.where(failures > 0, betaincinv(effective * p + 1, np.maximum(failures, 1e-300), level), 1.0)


def clopper_pearson(successes: ArrayLike, trials: ArrayLike, level: float = 0.975) -> Limits:
    """Exact one-sided limits of a binomial proportion (Clopper & Pearson 1934).

    For PN and PS under deterministic decoding, where each instance is one Bernoulli draw.

    Raises
    ------
    NotCounts
        If successes are not whole numbers between 0 and trials.
    NoData
        If there are no trials.

    Examples
    --------
    >>> limits = clopper_pearson(0, 20)
    >>> limits.lower.item(), limits.upper.round(3).item()
    (0.0, 0.168)
    """
    from scipy.special import betaincinv

    confidence_level(level)
    x, n = np.broadcast_arrays(np.asarray(successes, np.float64), np.asarray(trials, np.float64))
    wrong = ~((x >= 0) & (x <= n) & (x == np.floor(x)) & (n == np.floor(n)))
    if wrong.any():
        raise NotCounts("successes", float(x[wrong].flat[0]), "They are whole numbers between 0 and the trials.")
    if (n == 0).any():
        raise NoData("trial")
    lower = np.where(x == 0, 0.0, betaincinv(np.maximum(x, 1), n - x + 1, 1 - level))
    upper = np.where(x == n, 1.0, betaincinv(x + 1, np.maximum(n - x, 1), level))
    return Limits(lower, upper, level, np.full(lower.shape, LimitMethod.CLOPPER_PEARSON.value))


def ratio_of_means_limits(
    terms: ArrayLike, weights: ArrayLike, instances: ArrayLike | None = None, level: float = 0.975
) -> Limits:
    """One-sided limits of Σ T_i / Σ W_i over instances by linearisation.

    θ = ΣT/ΣW, ψ_i = (T_i − θ W_i)/ΣW, se² = n/(n−1) Σψ_i², limits θ ∓ t se. For the instance-level scores of
    :mod:`dodiag.bounds.within_instance`, whose terms can be negative.

    Parameters
    ----------
    terms, weights : array_like, shape (..., instances)
    instances : array_like of int, shape (...), optional
        Instances that take part; all by default.

    Raises
    ------
    NoData
        If the weights sum to 0 somewhere.
    """
    from scipy.special import stdtrit

    confidence_level(level)
    t, w = np.asarray(terms, np.float64), np.asarray(weights, np.float64)
    n = np.asarray(t.shape[-1] if instances is None else instances)
    total = w.sum(axis=-1)
    if not np.all(total > 0):
        raise NoData("instance that the ratio conditions on")
    theta = t.sum(axis=-1) / total
    influence = (t - theta[..., None] * w) / total[..., None]
    with np.errstate(invalid="ignore", divide="ignore"):
        error = np.sqrt(n / (n - 1) * np.sum(influence**2, axis=-1))
    reach = np.where(n < 2, np.nan, stdtrit(np.maximum(n - 1, 1), level) * error)
    return Limits(theta - reach, theta + reach, level, np.full(reach.shape, LimitMethod.STUDENT.value))
