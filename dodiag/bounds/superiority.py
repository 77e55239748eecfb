"""Is one arm better than another? One-sided p-values for paired outcomes that come in instances."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from dodiag.bounds.causation import exact_mcnemar
from dodiag.bounds.limits import FEW_DISCORDANT, ratio_e_value
from dodiag.bounds.pairs import PairedSums


class PairedTest(StrEnum):
    """How a p-value was made."""

    MCNEMAR = "exact McNemar"
    STUDENT = "clustered Student"
    E_VALUE = "betting e-value"


@dataclass(frozen=True, slots=True)
class Superiority:
    """A one-sided p-value of H0: p ≤ p', and the test that it comes from."""

    p_value: float
    test: PairedTest


def superiority(pairs: PairedSums, single: bool) -> Superiority:
    """Test H0: the success rate under a is at most that under a'.

    Where every instance is one pair of single outcomes, exact McNemar. Otherwise Student's test of the per-instance
    differences, and with fewer than `FEW_DISCORDANT` instances that differ the e-value of
    :func:`dodiag.bounds.limits.ratio_e_value`, valid for any outcomes: p = min(1, 1/E).

    Parameters
    ----------
    pairs : PairedSums, shape (instances,)
    single : bool
        Whether every instance that takes part is one question with one draw under either arm.

    Examples
    --------
    >>> superiority(PairedSums.of([1] * 12, [0] * 12), single=True)
    Superiority(p_value=0.000244140625, test=<PairedTest.MCNEMAR: 'exact McNemar'>)
    """
    gap = pairs.active - pairs.reference
    if single:
        wins, losses = np.count_nonzero(gap > 0), np.count_nonzero(gap < 0)
        return Superiority(float(exact_mcnemar(wins, losses)), PairedTest.MCNEMAR)
    if pairs.discordant >= FEW_DISCORDANT:
        from scipy.special import stdtr

        n = int(pairs.n)
        mean = gap.sum() / pairs.sizes.sum()
        error = np.sqrt(n / (n - 1) * np.sum((gap - mean * pairs.sizes) ** 2))
        statistic = gap.sum() / error if error > 0 else np.copysign(np.inf, gap.sum())
        return Superiority(float(stdtr(n - 1, -statistic)), PairedTest.STUDENT)
    largest = pairs.sizes.max()
    e_value = ratio_e_value(pairs.reference / largest, pairs.active / largest)
    return Superiority(min(1.0, 1 / e_value) if e_value > 0 else 1.0, PairedTest.E_VALUE)


POWER = 0.8
"""Chance of showing an effect of the observed size that :func:`instances_needed` aims at."""


FEWEST = 10
"""Instances from which a number is projected."""


def instances_needed(pairs: PairedSums, alpha: float) -> int | None:
    """Return about how many instances like these would show the observed effect, if it is the true one.

    n ((z_{1−α} + z_{0.8}) / z)², z being the observed effect over its standard error: a figure for planning, as
    uncertain as the effect itself. None where a is not observed to be better, or where fewer than ten instances, or
    fewer than two that differ, leave the standard error to chance.

    Parameters
    ----------
    pairs : PairedSums, shape (instances,)
    alpha : float
        One-sided error of the test.

    Examples
    --------
    >>> pairs = PairedSums.of([1] * 14 + [0] * 10, [1] * 10 + [0] * 12 + [1] * 2)
    >>> instances_needed(pairs, 0.05)
    226
    """
    from scipy.special import ndtri

    gap = pairs.active - pairs.reference
    n = int(pairs.n)
    mean = gap.sum() / pairs.sizes.sum()
    error = float(np.sqrt(n / (n - 1) * np.sum((gap - mean * pairs.sizes) ** 2))) if n > 1 else 0.0
    if gap.sum() <= 0 or error == 0 or pairs.discordant < 2 or n < FEWEST:
        return None
    ratio = (float(ndtri(1 - alpha)) + float(ndtri(POWER))) * error / float(gap.sum())
    return math.ceil(n * ratio**2)
