"""The bootstrap by instance, as a cross-check of other limits and never for a verdict.

Percentile limits of a ratio under-cover where its numerator or its denominator is rarely positive: one-sided 95 %
limits of N held in 79.7 % to 99.8 % of simulated data sets, at 50 and 130 instances. Where they disagree with the
limits that reports use, that is a reason to look at the data, not to prefer them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dodiag.bounds.errors import NoData, NotCounts, TooFewInstances, UnequalPairing
from dodiag.bounds.formulas import ROUNDING, confidence_level
from dodiag.bounds.identified import Floats
from dodiag.problems import UsageError

Metric = Literal["N", "S"]
Method = Literal["percentile", "basic", "bca"]

MEMORY_BUDGET = 256 * 2**20
"""Bytes of working memory by default."""


@dataclass(frozen=True)
class BootstrapLimits:
    """Scores with bootstrap limits; all arrays have the trailing shape (...) of the input.

    Attributes
    ----------
    value : array
        The score, in [0, 1].
    raw : array
        Before it is clipped at 0; NaN where undefined.
    lower, upper : array
        Limits in [0, 1], each meant to hold at `level`, which they do not always; NaN where undefined.
    undefined : array of bool
        Where there is no score (nothing to divide by), or no limit (`reason`).
    reason : array of str
        Why; empty where defined.
    undefined_share : array
        Share of replicates with nothing to divide by. They count as the worst for either limit.
    level : float
    replicates : int
    method : str
    """

    value: Floats
    raw: Floats
    lower: Floats
    upper: Floats
    undefined: NDArray[np.bool_]
    reason: NDArray[np.str_]
    undefined_share: Floats
    level: float
    replicates: int
    method: Method


def bootstrap_limits(
    active: ArrayLike,
    reference: ArrayLike,
    sizes: ArrayLike | None = None,
    *,
    generator: np.random.Generator,
    metric: Metric | Sequence[Metric] = "N",
    level: float = 0.95,
    replicates: int = 10_000,
    method: Method = "percentile",
    memory_budget: int = MEMORY_BUDGET,
) -> BootstrapLimits:
    """Resample instances, and take limits of many scores at once from the same resamples.

    N = 1 − Σ reference / Σ active; S is the same of failures, 1 − Σ (sizes − active) / Σ (sizes − reference).

    Parameters
    ----------
    active, reference : array_like, shape (instances, ...)
        Sums of outcomes over the questions of each instance, under a and a'. The trailing axes hold different scores on
        the same instances; an instance that takes no part in one of them has 0 everywhere there.
    sizes : array_like, shape (instances,) or (instances, ...), optional
        Questions per instance; 1 each by default.
    generator : numpy.random.Generator
        Draws the resamples.
    metric : {"N", "S"} or sequence of them
        One for all scores, or one for each along the last axis.
    level : float
        Of each limit, in (0, 1).
    replicates : int
        Resamples.
    method : {"percentile", "basic", "bca"}
        Efron & Tibshirani 1993, chapters 13 and 14. BCa corrects for bias and skewness.
    memory_budget : int
        Bytes of working memory. Scores are dealt with in blocks that fit.

    Raises
    ------
    UnequalPairing
        If shapes differ.
    NotCounts
        If a sum is NaN, negative or above its size, or `replicates` is not a whole number above 0.
    NoData, TooFewInstances
        If there is no instance, or only one.
    NotAProbability
        If the level is not in (0, 1).
    UsageError
        If not even one score fits into the memory budget, or the metric or method is unknown.

    Notes
    -----
    A resample is a vector of multinomial counts, so all replicates of a block are two matrix products. Limits are order
    statistics on the safe side; nothing is interpolated.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> active, reference = rng.random((2, 130)) < [[0.7], [0.3]]
    >>> found = bootstrap_limits(active, reference, generator=rng, replicates=2000)
    >>> bool(found.lower < found.value < found.upper)
    True
    """
    a, r, m = _checked(active, reference, sizes)
    n, shape = len(a), a.shape[1:]
    if replicates != int(replicates) or replicates < 1:
        raise NotCounts("replicates", replicates)
    if method not in ("percentile", "basic", "bca"):
        raise UsageError(f"bootstrap method '{method}'", "Use percentile, basic or bca.")
    confidence_level(level)
    failures = np.broadcast_to(_failures(metric, shape), shape).reshape(-1)
    a, r, m = (array.reshape(n, -1) for array in (a, r, m))
    bottom, top = np.where(failures, np.maximum(0, m - r), a), np.where(failures, np.maximum(0, m - a), r)

    per_score = 8 * (3 * replicates + 8 * n)
    weights_size = 8 * 2 * replicates * n
    block = (memory_budget - weights_size) // per_score
    if block < 1:
        raise UsageError(
            f"{replicates} resamples of {n} instances in {memory_budget} bytes",
            f"Allow at least {weights_size + per_score} bytes, or fewer replicates.",
        )
    weights = generator.multinomial(n, np.full(n, 1 / n), size=int(replicates)).astype(np.float64)
    columns = [slice(start, start + block) for start in range(0, bottom.shape[1], block)]
    parts = [_block(weights, top[:, these], bottom[:, these], level, method) for these in columns]
    raw, lower, upper, share = (
        np.concatenate([part[index] for part in parts]).reshape(shape) if parts else np.empty(shape)
        for index in range(4)
    )
    no_score, no_limit = np.isnan(raw), np.isnan(lower) | np.isnan(upper)
    reason = np.where(no_score, "nothing to divide by", np.where(no_limit, "resamples do not vary enough", ""))
    return BootstrapLimits(
        value=np.maximum(0.0, raw),
        raw=raw,
        lower=np.clip(lower, 0.0, 1.0),
        upper=np.clip(upper, 0.0, 1.0),
        undefined=no_score | no_limit,
        reason=reason,
        undefined_share=share,
        level=level,
        replicates=int(replicates),
        method=method,
    )


def _block(
    weights: Floats, top: Floats, bottom: Floats, level: float, method: Method
) -> tuple[Floats, Floats, Floats, Floats]:
    """Return raw scores, lower and upper limits, and the share of undefined replicates."""
    with np.errstate(invalid="ignore", divide="ignore"):
        raw = np.where(bottom.sum(axis=0) > 0, 1 - top.sum(axis=0) / bottom.sum(axis=0), np.nan)
        divisor = weights @ bottom
        ratios = weights @ top
        ratios /= divisor
    empty = divisor <= 0
    share = empty.mean(axis=0)
    np.subtract(1, ratios, out=ratios)
    # An undefined replicate could have been anything: the least for the lower limit, the most for the upper one.
    ratios[empty] = -np.inf
    ratios.sort(axis=0)
    blanks, replicates, take = empty.sum(axis=0), len(weights), np.arange(ratios.shape[1])
    low_rank, high_rank = _ranks(ratios, raw, top, bottom, level, method)
    # Resamples that all agree would give a limit of no width, whatever the truth.
    least = ratios[np.minimum(blanks, replicates - 1), take]
    known = ~np.isnan(low_rank) & (ratios[-1] > least + ROUNDING)
    low, high = (np.where(known, rank, 0.5) * (replicates - 1) for rank in (low_rank, high_rank))
    below = ratios[np.floor(low).astype(np.intp), take]
    # Blanks moved from the bottom to the top: what stood above them is found further up by their number.
    shifted = np.ceil(high).astype(np.intp) + blanks
    above = np.where(shifted < replicates, ratios[np.minimum(shifted, replicates - 1), take], 1.0)
    if method == "basic":
        below, above = 2 * raw - above, 2 * raw - below
    nothing = np.isnan(raw) | ~known
    return raw, np.where(nothing, np.nan, below), np.where(nothing, np.nan, above), share


def _ranks(
    ordered: Floats, raw: Floats, top: Floats, bottom: Floats, level: float, method: Method
) -> tuple[Floats, Floats]:
    """Return which quantiles of the replicates are the lower and the upper limit; NaN where BCa has none."""
    low, high = np.full(raw.shape, 1 - level), np.full(raw.shape, level)
    if method != "bca":
        return low, high
    from scipy.special import ndtr, ndtri

    with np.errstate(invalid="ignore", divide="ignore"):
        left_out = 1 - (top.sum(axis=0) - top) / (bottom.sum(axis=0) - bottom)
        away = left_out.mean(axis=0) - left_out
        acceleration = (away**3).sum(axis=0) / (6 * (away**2).sum(axis=0) ** 1.5)
        below = ((ordered < raw).mean(axis=0) + (ordered <= raw).mean(axis=0)) / 2
        bias = ndtri(below)
        corrected = [
            ndtr(bias + (bias + z) / (1 - acceleration * (bias + z))) for z in (ndtri(1 - level), ndtri(level))
        ]
    known = np.isfinite(corrected).all(axis=0)
    return np.where(known, corrected[0], np.nan), np.where(known, corrected[1], np.nan)


def _failures(metric: Metric | Sequence[Metric], shape: tuple[int, ...]) -> NDArray[np.bool_]:
    names = np.asarray(metric)
    if not np.isin(names, ("N", "S")).all():
        raise UsageError(f"score '{metric}'", "The bootstrap knows N and S.")
    if names.ndim > 1 or (names.ndim == 1 and names.shape != shape[-1:]):
        raise UnequalPairing({"metric": names.shape, "scores": shape})
    return np.asarray(names == "S")


def _checked(active: ArrayLike, reference: ArrayLike, sizes: ArrayLike | None) -> tuple[Floats, Floats, Floats]:
    a, r = np.asarray(active, dtype=np.float64), np.asarray(reference, dtype=np.float64)
    m = np.ones(a.shape) if sizes is None else np.asarray(sizes, dtype=np.float64)
    if m.ndim == 1 and a.ndim > 1:
        m = m.reshape(-1, *[1] * (a.ndim - 1))
    if a.shape != r.shape or a.ndim == 0 or m.ndim != a.ndim or m.shape[0] != a.shape[0]:
        raise UnequalPairing({"active": a.shape, "reference": r.shape, "sizes": m.shape})
    try:
        m = np.broadcast_to(m, a.shape)
    except ValueError:
        raise UnequalPairing({"active": a.shape, "reference": r.shape, "sizes": m.shape}) from None
    if len(a) == 0:
        raise NoData("instance")
    if len(a) < 2:
        raise TooFewInstances(len(a))
    wrong = ~((m >= 0) & np.isfinite(m))
    if wrong.any():
        raise NotCounts("sizes", float(m[wrong].flat[0]))
    for name, sums in (("active", a), ("reference", r)):
        wrong = ~((sums >= 0) & (sums <= m + 1e-9))
        if wrong.any():
            raise NotCounts(name, float(sums[wrong].flat[0]), "It is between 0 and the size of the instance.")
    return a, r, m
