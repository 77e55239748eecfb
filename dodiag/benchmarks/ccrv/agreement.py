"""How far people and judges agree on labels: unanimity, kappas, and what published counts do and do not fix."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dodiag.problems import UsageError

Ratings = Sequence[Sequence[int]]
"""One row for each answer, one binary label for each rater."""


@dataclass(frozen=True, slots=True)
class RaterAgreement:
    """Agreement of several raters on binary labels.

    Attributes
    ----------
    n, raters, unanimous : int
    observed : float
        Mean share of agreeing pairs of raters.
    prevalence : float
        Share of label 1 among all labels.
    fleiss : float or None
        None where all labels are the same, so that chance agreement is complete.
    """

    n: int
    raters: int
    unanimous: int
    observed: float
    prevalence: float
    fleiss: float | None


def rater_agreement(ratings: Ratings) -> RaterAgreement:
    """Return how far raters agree (Fleiss' kappa by statsmodels).

    Raises
    ------
    UsageError
        If there is no answer, fewer than two raters, a row of another length, or a label other than 0 and 1.
    """
    table = _counts(ratings)
    raters = sum(table[0])
    observed = sum((a * (a - 1) + b * (b - 1)) / (raters * (raters - 1)) for a, b in table) / len(table)
    ones = sum(b for _, b in table)
    kappa = None
    if 0 < ones < len(table) * raters:
        from statsmodels.stats.inter_rater import fleiss_kappa

        kappa = float(fleiss_kappa(table))
    unanimous = sum(0 in row for row in table)
    return RaterAgreement(len(table), raters, unanimous, observed, ones / (len(table) * raters), kappa)


def cohen(first: Sequence[int], second: Sequence[int]) -> float | None:
    """Return Cohen's kappa of two raters on binary labels (by statsmodels); None where chance agreement is complete.

    Raises
    ------
    UsageError
        If the raters have not labelled the same number of answers, or a label is not 0 or 1.
    """
    if len(first) != len(second):
        raise UsageError(f"the raters gave {len(first)} and {len(second)} labels", "Compare the same answers.")
    _counts([(a, b) for a, b in zip(first, second, strict=True)])
    table = [[sum(a == i and b == j for a, b in zip(first, second, strict=True)) for j in (0, 1)] for i in (0, 1)]
    if (sum(table[0]) == 0 or sum(table[1]) == 0) and set(first) == set(second):
        return None
    from statsmodels.stats.inter_rater import cohens_kappa

    return float(cohens_kappa(table, return_results=False))


def majority(ratings: Ratings) -> list[int]:
    """Return the label that most raters gave to each answer.

    Raises
    ------
    UsageError
        If the number of raters is even: a tie has no majority.
    """
    table = _counts(ratings)
    if sum(table[0]) % 2 == 0:
        raise UsageError(f"{sum(table[0])} raters can tie", "Use an odd number of raters.")
    return [int(b > a) for a, b in table]


def full_chain(levels: Sequence[Sequence[int]]) -> list[int]:
    """Return, answer by answer, whether one rater passed all three levels."""
    return [int(all(labels)) for labels in zip(*levels, strict=True)]


def observed_from_unanimity(unanimous: int, n: int) -> float:
    """Return the mean pairwise agreement of three raters from the number of unanimous answers: U + (1 − U) / 3."""
    share = unanimous / n
    return share + (1 - share) / 3


def prevalence_from_kappa(observed: float, kappa: float) -> float | None:
    """Return the larger share of one label that Fleiss' kappa implies, or None where no share can give it.

    A kappa cannot be recomputed from counts of agreement alone: it needs this share, which the papers do not print.

    Examples
    --------
    >>> round(prevalence_from_kappa(observed_from_unanimity(266, 300), 0.719), 2)
    0.84
    """
    chance = (observed - kappa) / (1 - kappa)
    root = 2 * chance - 1
    return None if root < 0 or chance > 1 else (1 + root**0.5) / 2


def _counts(ratings: Ratings) -> list[tuple[int, int]]:
    sizes = {len(row) for row in ratings}
    if len(sizes) != 1 or min(sizes) < 2:
        raise UsageError("the answers do not all have the same two or more labels", "Give one label for each rater.")
    if any(label not in (0, 1) for row in ratings for label in row):
        raise UsageError("a label is neither 0 nor 1", "Labels are binary.")
    return [(sum(label == 0 for label in row), sum(label == 1 for label in row)) for row in ratings]
