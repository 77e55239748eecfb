"""Whether models, contrasts or states rank the prerequisites alike."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from dodiag.bounds.aggregates.averages import Average, Floats
from dodiag.bounds.scores import Scores

LEAST = 3
"""Prerequisites below which a rank correlation says nothing."""

Column = Mapping[tuple[str, ...], float]
"""Scores by what they are of."""


@dataclass(frozen=True, slots=True)
class Agreement:
    """Spearman's rank correlation of two sets of scores, ties averaged (CADET Figure 19).

    Attributes
    ----------
    metric : {"N", "S"}
    first, second : str
        Two models, or two contrasts.
    rho : float or None
    count : int
        Prerequisites that both have.
    reason : str or None
        Why there is no correlation.
    """

    metric: str
    first: str
    second: str
    rho: float | None
    count: int
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Shift:
    """How near the scores of one contrast are to those of another (CADET Figure 22).

    Attributes
    ----------
    metric : {"N", "S"}
    first, second : str
        Contrasts.
    r : float or None
        Pearson's correlation over models and prerequisites.
    mean_absolute : float or None
        Mean of \\|second − first\\|.
    count : int
        Pairs of scores.
    reason : str or None
        Why there is no correlation.
    """

    metric: str
    first: str
    second: str
    r: float | None
    mean_absolute: float | None
    count: int
    reason: str | None = None


def model_agreement(scores: Scores, metric: str, contrast: str) -> tuple[Agreement, ...]:
    """Return the rank correlation of every pair of models over the prerequisites of all tasks.

    Scores are clipped at 0, and ties among the zeros are averaged. (The paper's printed means are lower by some 0.02
    than those of its printed scores; they agree where differences below 0 are ranked too, or ties are broken.)
    """
    columns: dict[str, dict[tuple[str, ...], float]] = {}
    for score in scores.where(metric=metric, contrast=contrast):
        if score.value is not None:
            columns.setdefault(score.model, {})[score.task, str(score.prerequisite)] = score.value
    pairs = itertools.combinations(columns, 2)
    return tuple(_agreement(metric, one, other, columns[one], columns[other]) for one, other in pairs)


def contrast_agreement(scores: Scores, metric: str, first: str, second: str) -> Agreement:
    """Return the rank correlation of two contrasts over prerequisites, each score averaged over models."""
    columns = []
    for contrast in (first, second):
        found: dict[tuple[str, ...], list[float]] = {}
        for score in scores.where(metric=metric, contrast=contrast):
            if score.value is not None:
                found.setdefault((score.task, str(score.prerequisite)), []).append(score.value)
        columns.append({key: float(np.mean(values)) for key, values in found.items()})
    return _agreement(metric, first, second, columns[0], columns[1])


def mean_agreement(agreements: Sequence[Agreement], models: Sequence[str] | None = None) -> Average:
    """Return the mean correlation, of the pairs within some models where these are named."""
    members = None if models is None else set(models)
    return Average.of(
        found.rho
        for found in agreements
        if found.rho is not None and (members is None or {found.first, found.second} <= members)
    )


def score_shift(scores: Scores, metric: str, first: str, second: str) -> Shift:
    """Return how near the scores of two contrasts are, over models and prerequisites."""
    columns: list[Column] = [
        {
            (score.model, score.task, str(score.prerequisite)): score.value
            for score in scores.where(metric=metric, contrast=contrast)
            if score.value is not None
        }
        for contrast in (first, second)
    ]
    one, other = _common(columns[0], columns[1])
    distance = float(np.abs(other - one).mean()) if len(one) else None
    reason = _reason(one, other)
    r = None if reason else float(np.corrcoef(one, other)[0, 1])
    return Shift(metric, first, second, r, distance, len(one), reason)


def _common(one: Column, other: Column) -> tuple[Floats, Floats]:
    keys = [key for key in one if key in other]
    return np.array([one[key] for key in keys], dtype=float), np.array([other[key] for key in keys], dtype=float)


def _agreement(metric: str, first: str, second: str, one: Column, other: Column) -> Agreement:
    left, right = _common(one, other)
    reason = _reason(left, right)
    if reason:
        return Agreement(metric, first, second, None, len(left), reason)
    from scipy.stats import spearmanr

    return Agreement(metric, first, second, float(spearmanr(left, right).statistic), len(left))


def _reason(one: Floats, other: Floats) -> str | None:
    if len(one) < LEAST:
        return f"{len(one)} prerequisites in common are too few to rank"
    if np.ptp(one) == 0 or np.ptp(other) == 0:
        return "all scores of one side are equal"
    return None
