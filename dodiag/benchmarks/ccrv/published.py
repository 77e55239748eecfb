"""The identities that tie the published figures together, for rescaling and for checking tables.

All values are as printed: percent and percentage points.
"""

from __future__ import annotations

from collections.abc import Sequence


def dcr_of_levels(levels: Sequence[float]) -> float:
    """Return DCR from the three cascaded pass rates: their mean.

    Examples
    --------
    >>> round(dcr_of_levels((92.6, 89.2, 86.1)), 1)
    89.3
    """
    first, second, third = levels
    return (first + second + third) / 3


def degradation(base: float, constrained: float) -> float:
    """Return CDI from a baseline DCR and a constrained DCR, or eCDI from a baseline DCR and an eDCR."""
    return base - constrained


def mean_of(groups: Sequence[float]) -> float:
    """Return the overall value from equally large groups, such as the four causal tasks."""
    return sum(groups) / len(groups)


def linked_baseline(constrained: float, cdi: float) -> float:
    """Return the baseline that was really subtracted: with available denominators it is not the one printed beside it.

    Examples
    --------
    >>> round(linked_baseline(74.7, 14.3), 1)
    89.0
    """
    return constrained + cdi


def at_fixed_denominator(available: float, n: int, size: int) -> float:
    """Return what an average over `n` available answers becomes when the missing ones of `size` count as zero.

    Examples
    --------
    >>> round(at_fixed_denominator(77.7, 197, 200), 1)
    76.5
    """
    return available * n / size
