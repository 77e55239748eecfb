"""The scores and bounds of one contrast, as functions of two success probabilities.

Everywhere p = P(Y=1 | do(A_i=a, A_-i=c)) and p' = P(Y=1 | do(A_i=a', A_-i=c)), arrays broadcast against each other, and
probabilities are checked: NaN or a value outside [0, 1] is an error, never a result.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dodiag.bounds.errors import NotAProbability
from dodiag.bounds.identified import Floats

PAPER_MIN_DENOMINATOR = 0.10
"""Below this baseline the paper sets a score to 0 (CADET Appendix D.2)."""

ROUNDING = 1e-12
"""Slack of the denominator rule, so that 1 − 0.9 is not below 0.10."""


def probability(value: ArrayLike, name: str = "p") -> Floats:
    """Return a value as an array of probabilities.

    Raises
    ------
    NotAProbability
        If an entry is NaN or outside [0, 1].
    """
    array = np.asarray(value, dtype=np.float64)
    wrong = ~((array >= 0) & (array <= 1))
    if wrong.any():
        raise NotAProbability(name, float(array[wrong].flat[0]))
    return array


def confidence_level(level: float, name: str = "level") -> float:
    """Return a confidence level, which lies strictly between 0 and 1.

    Raises
    ------
    NotAProbability
        If it does not.
    """
    if not 0 < level < 1:
        raise NotAProbability(name, level)
    return float(level)


@dataclass(frozen=True)
class ScoreArray:
    """Scores with what they rest on; all fields have the same shape.

    Attributes
    ----------
    value : array
        In [0, 1].
    raw : array
        The signed ratio before it is clipped at 0; NaN where the denominator is 0.
    denominator : array
        The baseline that the difference is divided by.
    suppressed : array of bool
        Where the denominator is below the least allowed one (or 0), so that the value is 0 by convention.
    """

    value: Floats
    raw: Floats
    denominator: Floats
    suppressed: NDArray[np.bool_]


def n_score(p: ArrayLike, p_prime: ArrayLike, min_denominator: float = PAPER_MIN_DENOMINATOR) -> ScoreArray:
    """N-Score: the share of Y's success under a that is lost when X_i alone goes to a' (CADET Defs. 3.7, A.1).

    N = max(0, p − p') / p, a lower bound of PN (Theorem A.3).

    Parameters
    ----------
    p, p_prime : array_like
        Success probabilities with X_i in a and in a', the others alike.
    min_denominator : float
        Denominators below it give 0, flagged `suppressed`; 0 keeps only the convention for p = 0.

    Examples
    --------
    >>> float(n_score(0.75, 0.25).value)
    0.6666666666666666
    """
    high, low = probability(p, "p"), probability(p_prime, "p'")
    return _ratio(high - low, high, min_denominator)


def s_score(p: ArrayLike, p_prime: ArrayLike, min_denominator: float = PAPER_MIN_DENOMINATOR) -> ScoreArray:
    """S-Score: the share of Y's failure under a' that is repaired when X_i alone goes to a (CADET Defs. 3.8, A.2).

    S = max(0, p − p') / (1 − p'), a lower bound of PS (Theorem A.4). Parameters as in :func:`n_score`.

    Examples
    --------
    >>> float(s_score(0.75, 0.25).value)
    0.6666666666666666
    """
    high, low = probability(p, "p"), probability(p_prime, "p'")
    return _ratio(high - low, 1 - low, min_denominator)


def ns_score(p: ArrayLike, p_prime: ArrayLike) -> Floats:
    """NS-Score of a single-parent unit: max(0, p − p'), a lower bound of PNS (CADET Remark A.8, eq. 18)."""
    high, low = probability(p, "p"), probability(p_prime, "p'")
    return np.maximum(0.0, high - low)


@dataclass(frozen=True)
class Interval:
    """Both ends of an identified interval, arrays of one shape; NaN where the conditioning event has probability 0."""

    lower: Floats
    upper: Floats


def pns_bounds(p: ArrayLike, p_prime: ArrayLike) -> Interval:
    """Fréchet bounds of PNS = P(Y_a=1, Y_a'=0): [max(0, p − p'), min(p, 1 − p')] (Tian & Pearl 2000)."""
    high, low = probability(p, "p"), probability(p_prime, "p'")
    return Interval(np.maximum(0.0, high - low), np.minimum(high, 1 - low))


def pn_bounds(p: ArrayLike, p_prime: ArrayLike) -> Interval:
    """Bounds of PN = P(Y_a'=0 | A=a, Y=1): those of PNS divided by p; undefined (NaN) where p = 0."""
    joint = pns_bounds(p, p_prime)
    return Interval(*_divided(joint, probability(p, "p")))


def ps_bounds(p: ArrayLike, p_prime: ArrayLike) -> Interval:
    """Bounds of PS = P(Y_a=1 | A=a', Y=0): those of PNS divided by 1 − p'; undefined (NaN) where p' = 1."""
    joint = pns_bounds(p, p_prime)
    return Interval(*_divided(joint, 1 - probability(p_prime, "p'")))


def _divided(joint: Interval, denominator: Floats) -> tuple[Floats, Floats]:
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        lower = np.where(denominator > 0, joint.lower / denominator, np.nan)
        upper = np.where(denominator > 0, joint.upper / denominator, np.nan)
    return np.clip(lower, 0, 1), np.clip(upper, 0, 1)


def _ratio(difference: Floats, denominator: Floats, min_denominator: float) -> ScoreArray:
    if not 0 <= min_denominator <= 1:
        raise NotAProbability("min_denominator", min_denominator)
    difference, denominator = np.broadcast_arrays(difference, denominator)
    suppressed = (denominator < min_denominator - ROUNDING) | (denominator <= 0)
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        raw = np.where(denominator > 0, difference / denominator, np.nan)
    value = np.where(suppressed, 0.0, np.maximum(0.0, np.nan_to_num(raw)))
    return ScoreArray(value, raw, np.array(denominator), suppressed)
