"""The identities that tie the printed figures of MM-CoT together, for checking tables. All values are percent."""

from __future__ import annotations

from collections.abc import Sequence

HALF_PRINTED = 0.005
"""Half the last printed digit of two-decimal percentages."""


def count_of(percent: float, size: int) -> int | None:
    """Return how many of `size` a two-decimal percentage stands for; None if it stands for no whole number.

    Examples
    --------
    >>> count_of(91.89, 111), count_of(50.56, 111)
    (102, None)
    """
    count = round(percent * size / 100)
    return count if abs(100 * count / size - percent) <= HALF_PRINTED + 1e-9 else None


def pooled(counts: Sequence[int], sizes: Sequence[int]) -> float:
    """Return the percentage over several strata.

    Examples
    --------
    >>> round(pooled((102, 120, 100, 0), (111, 154, 252, 484)), 2)
    32.17
    """
    return 100 * sum(counts) / sum(sizes)


def sizes_that_fit(percents: Sequence[float], largest: int) -> list[int]:
    """Return every number of videos up to `largest` of which all percentages are whole counts.

    Examples
    --------
    >>> sizes_that_fit((91.89, 42.34, 68.47, 92.79, 30.63, 51.35), 120)
    [111]
    """
    return [size for size in range(1, largest + 1) if all(count_of(p, size) is not None for p in percents)]


def chance_of_multi(steps: int = 6, outcomes: int = 6, slots: int = 3) -> float:
    """Return how often a blind assignment without repetition has all chains right.

    The paper's 25 % for K = 3 distractors does not describe the released format.

    Examples
    --------
    >>> round(1 / chance_of_multi())
    14400
    """
    total = 1
    for taken in range(slots):
        total *= (steps - taken) * (outcomes - taken)
    return 1 / total
