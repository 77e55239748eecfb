"""How far a simulated score is from the printed one, judged by the sampling error that a run of its size has."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

from dodiag.benchmarks.cadet.replication import published
from dodiag.benchmarks.cadet.replication.published import ScoreKey


@dataclass(frozen=True, slots=True)
class Compared:
    """A simulated score beside the printed one.

    Attributes
    ----------
    key : ScoreKey
    value, printed : float
    base : int
        What the score is a share of: questions solved under a, for N; failed under a', for S.
    suppressed : bool
        Set to 0 by the denominator rule. Then sampling decides whether there is a value at all, and nothing is
        compared.
    tail : float
        Two-sided probability of a value at least as far off, if the printed one is the truth; 1 where suppressed.
    expected_outside : float
        Probability of a tail below 0.05, which is less than that, as counts are whole; 0 where 0 or 1 is printed, which
        a calibrated simulator meets exactly.
    standard_errors : float
        The difference in standard errors.
    """

    key: ScoreKey
    value: float
    printed: float
    base: int
    suppressed: bool
    tail: float
    expected_outside: float
    standard_errors: float


def compare(key: ScoreKey, value: float, questions: int, denominator: float, suppressed: bool) -> Compared:
    """Compare a simulated score with the printed one.

    Parameters
    ----------
    key : ScoreKey
    value : float
    questions : int
        Pairs of outcomes, one of each question.
    denominator : float
        What the difference was divided by: p for N, 1 - p' for S.
    suppressed : bool
        Whether the denominator rule set it to 0.

    Notes
    -----
    A tabulated model solves under the worse configuration a part of what it solves under the better one. So of the
    `base` questions that a score is a share of, the number that it counts is binomial with the score as its
    probability, exactly.

    Examples
    --------
    >>> from dodiag.vocabulary import Contrast
    >>> key = ScoreKey("dice_sum", "X3", Contrast.parse("1,n"), "S", "gpt-5.4")
    >>> found = compare(key, 0.90, questions=130, denominator=100 / 130, suppressed=False)
    >>> found.printed, found.base, round(found.tail, 2)
    (0.92, 100, 0.56)
    """
    printed = published.scores()[key]
    base = round(questions * denominator)
    if suppressed or not base:
        return Compared(key, value, printed, base, suppressed, 1.0, 0.0, 0.0)
    # What prints as 0.00 or 1.00 may be so much more or less.
    likely = min(max(printed, published.ROUNDING), 1 - published.ROUNDING)
    error = math.sqrt(likely * (1 - likely) / base)
    tail = _tails(base, likely)[round(value * base)]
    expected = _outside(base, likely) if likely == printed else 0.0
    return Compared(key, value, printed, base, suppressed, tail, expected, (value - printed) / error)


@lru_cache(maxsize=4096)
def _tails(count: int, probability: float) -> tuple[float, ...]:
    from scipy.stats import binom

    law = binom(count, probability)
    return tuple(min(1.0, 2 * min(float(law.cdf(k)), float(law.sf(k - 1)))) for k in range(count + 1))


@lru_cache(maxsize=4096)
def _outside(count: int, probability: float) -> float:
    from scipy.stats import binom

    return sum(
        float(binom.pmf(k, count, probability)) for k, tail in enumerate(_tails(count, probability)) if tail < 0.05
    )
