"""Limits of the instance-level scores: Student's where many instances differ, betting where few do.

A score is the ratio E T / E W of a term and a weight, summed over the questions of each instance. Its linearised limits
rest on the spread of T − θ W between instances. Where hardly any instance deviates from the others (three failures, all
of them repaired) that spread is near 0 whatever the truth, and Student's limits shrink to a point. Then the limits
are those of a bet, which are valid for any outcomes and any number of instances, and wider.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from dodiag.bounds.errors import UnequalPairing
from dodiag.bounds.formulas import confidence_level
from dodiag.bounds.identified import Floats
from dodiag.bounds.limits import BETS, FEW_DISCORDANT, LimitMethod, Limits, ratio_of_means_limits

ROUNDING = 1e-9
"""Deviations of an instance below this are rounding."""


def instance_limits(
    terms: Floats, weights: Floats, sizes: Floats, level: float = 0.975, *, most_lost: tuple[float, float] = (0.5, 0.5)
) -> Limits:
    """Return one-sided limits of E T / E W over the population of instances.

    Student's limits of the linearised ratio, unless fewer than ten instances lie above it or fewer than ten below:
    T > θ̂ W or T < θ̂ W. Then the limits are θ such that a mixture of bets does not reject E T ≤ θ E W (lower) or
    E T ≥ θ E W (upper): with λ from a grid and c the most that an instance can lose a bet by, the mean over λ of
    Π (1 + λ (T − θ W)/c) is an e-value (Waudby-Smith & Ramdas 2024). All limits lie in [−1, 1], as the ratio does; bets
    that do not show E T > 0 give the lower limit −1, bets that do not show E T < E W the upper limit 1.

    Parameters
    ----------
    terms, weights : array, shape (..., instances)
        T and W, sums over the questions of each instance; per question T ≤ 1 and 0 ≤ W ≤ 1.
    sizes : array, shape (..., instances)
        Questions of each instance that take part; 0 where it does not.
    level : float
        Level of each one-sided limit, in (0, 1).
    most_lost : tuple of float
        (a, b) such that whatever the outcomes of a question θ W − T ≤ a + θ b for θ in [0, 1], so that no bet loses
        more than it has, and a W + b T ≥ 0, so that bets fall in θ.

    Returns
    -------
    Limits
        Of shape (...); NaN where the weights sum to 0 or fewer than two instances take part.

    Raises
    ------
    NotAProbability
        If the level is not in (0, 1).
    UnequalPairing
        If the shapes differ.

    Examples
    --------
    Twelve failures, all repaired, are no proof that all failures of the population are; three show nothing.

    >>> failed = np.array([1.0] * 12 + [0.0] * 18)
    >>> instance_limits(failed, failed, np.ones(30)).lower.round(2).item()
    0.57
    >>> instance_limits(failed[9:], failed[9:], np.ones(21)).lower.item()
    -1.0
    """
    confidence_level(level)
    if not terms.shape == weights.shape == sizes.shape:
        raise UnequalPairing({"terms": terms.shape, "weights": weights.shape, "sizes": sizes.shape})
    total = weights.sum(axis=-1)
    taking_part = np.count_nonzero(sizes, axis=-1)
    known = (total > 0) & (taking_part >= 2)
    some = np.where((total > 0)[..., None], weights, 1.0)
    student = ratio_of_means_limits(terms, some, np.maximum(taking_part, 2), level)
    deviations = terms - (terms.sum(axis=-1) / some.sum(axis=-1))[..., None] * some
    above, below = (np.count_nonzero(sign * deviations > ROUNDING, axis=-1) for sign in (1, -1))
    few = np.asarray(known & (np.minimum(above, below) < FEW_DISCORDANT))
    lower, upper = (np.array(np.clip(end, -1.0, 1.0)) for end in (student.lower, student.upper))
    for index in np.ndindex(few.shape):
        if few[index]:
            arrays = terms[index] / sizes[index].max(), weights[index] / sizes[index].max()
            lower[index], upper[index] = _betting(*arrays, level, most_lost)
    lower, upper = np.where(known, lower, np.nan), np.where(known, upper, np.nan)
    return Limits(lower, upper, level, np.where(few, LimitMethod.BETTING.value, LimitMethod.STUDENT.value))


def _betting(terms: Floats, weights: Floats, level: float, most_lost: tuple[float, float]) -> tuple[float, float]:
    """Return the least θ that bets on T > θ W leave, and the largest that bets on T < θ W leave."""
    (t, w), counts = np.unique(np.stack([terms, weights]), axis=1, return_counts=True)
    count = counts.astype(np.float64)
    threshold = -math.log1p(-level)

    def on_more(theta: float) -> float:
        return _log_e_value((t - theta * w) / (most_lost[0] + theta * most_lost[1]), count) - threshold

    def on_less(theta: float) -> float:
        return _log_e_value(theta * w - t, count) - threshold

    lower = -1.0 if on_more(0.0) < 0 else _crossing(on_more, 0.0, 1.0)
    return lower, 1.0 if on_less(1.0) < 0 else _crossing(on_less, 1.0, 0.0)


def _log_e_value(gains: Floats, count: Floats) -> float:
    # Gains are at least −1, so every factor is at least 1 − λ > 0.
    return float(np.logaddexp.reduce(np.log1p(BETS[:, None] * gains) @ count) - math.log(BETS.size))


def _crossing(excess: Callable[[float], float], rejected: float, kept: float) -> float:
    """Return where an excess falls to 0 on the way from `rejected` to `kept`; `kept` if it does not."""
    from scipy.optimize import brentq

    return kept if excess(kept) >= 0 else float(brentq(excess, rejected, kept, xtol=1e-9))
