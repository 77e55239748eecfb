"""Confidence limits of a success probability whose questions come in clusters (instances)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike


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

    The n of Wilson's formula is replaced by the effective one, p(1−p) over the cluster-robust variance of the mean, at
    most the number of outcomes. Where all outcomes agree that variance is 0 whatever the truth, and the number of
    clusters is used.

    Parameters
    ----------
    sums, sizes : array_like, shape (clusters,)
        Sum and number of outcomes of each instance.
    level : float
        Two-sided confidence level in (0, 1).

    Raises
    ------
    ValueError
        If there is no outcome.
    """
    from scipy.special import ndtri

    total = np.asarray(sums, dtype=np.float64)
    count = np.asarray(sizes, dtype=np.float64)
    n, clusters = int(count.sum()), int(count.size)
    if n == 0:
        raise ValueError("no outcomes")
    p = float(total.sum() / n)
    if clusters < 2:
        return Proportion(p, None, None, n, clusters, None, "one instance says nothing about others")
    if 0 < p < 1:
        variance = clusters / (clusters - 1) * float(np.sum((total - p * count) ** 2)) / n**2
        effective = min(float(n), p * (1 - p) / variance) if variance > 0 else float(clusters)
    else:
        effective = float(clusters)
    z = float(ndtri(0.5 + level / 2))
    centre = (p + z * z / (2 * effective)) / (1 + z * z / effective)
    half = z * math.sqrt(p * (1 - p) / effective + z * z / (4 * effective**2)) / (1 + z * z / effective)
    lower = 0.0 if p == 0 else max(0.0, centre - half)
    upper = 1.0 if p == 1 else min(1.0, centre + half)
    return Proportion(p, lower, upper, n, clusters, effective)
