"""Prerequisites on the plane of N and S: what is lost without them against what is repaired with them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from dodiag.bounds.aggregates.averages import Average
from dodiag.bounds.errors import NotAProbability
from dodiag.bounds.scores import Scores

HIGH = 0.15
"""From here on a score is high (CADET Figure 5)."""

PlaceKey = tuple[str | None, str, str, str]
"""Model, task, prerequisite, contrast."""


class Quadrant(StrEnum):
    """Where a prerequisite lies; the words say N and S in this order."""

    BOTH = "high N, high S"
    SUFFICIENT = "low N, high S"
    NECESSARY = "high N, low S"
    NEITHER = "low N, low S"


@dataclass(frozen=True, slots=True)
class Placed:
    """A prerequisite's N and S under one contrast (CADET Figures 5 and 17).

    Attributes
    ----------
    model : str or None
        None for the means over the models.
    task, prerequisite, contrast : str
    n, s : float or None
    quadrant : Quadrant or None
        None where one of the two is missing.
    top : bool
        Whether S is the highest of its model, task and contrast, and above 0; of equal ones, all.
    """

    model: str | None
    task: str
    prerequisite: str
    contrast: str
    n: float | None
    s: float | None
    quadrant: Quadrant | None
    top: bool


def quadrants(scores: Scores, *, threshold: float = HIGH, over_models: bool = False) -> tuple[Placed, ...]:
    """Place every prerequisite by its N and S.

    Parameters
    ----------
    scores : Scores
        Of :func:`dodiag.contributions`, of any number of models and tasks.
    threshold : float
        From here on a score is high, in (0, 1).
    over_models : bool
        Place the means over the models instead of each model's scores.

    Raises
    ------
    NotAProbability
        If the threshold is not in (0, 1).
    """
    if not 0 < threshold < 1:
        raise NotAProbability("threshold", threshold)
    n, s = (dict(_values(scores, metric, over_models)) for metric in ("N", "S"))
    best: dict[tuple[str | None, str, str], float] = {}
    for (model, task, _, contrast), value in s.items():
        best[model, task, contrast] = max(value, best.get((model, task, contrast), 0.0))
    placed = []
    for key in dict.fromkeys((*n, *s)):
        model, task, prerequisite, contrast = key
        where = None if key not in n or key not in s else quadrant_of(n[key], s[key], threshold)
        top = key in s and s[key] > 0 and s[key] == best[model, task, contrast]
        placed.append(Placed(model, task, prerequisite, contrast, n.get(key), s.get(key), where, top))
    return tuple(placed)


def quadrant_of(n: float, s: float, threshold: float = HIGH) -> Quadrant:
    """Return the quadrant of a point.

    Examples
    --------
    >>> quadrant_of(0.02, 0.91)
    <Quadrant.SUFFICIENT: 'low N, high S'>
    """
    if n >= threshold:
        return Quadrant.BOTH if s >= threshold else Quadrant.NECESSARY
    return Quadrant.SUFFICIENT if s >= threshold else Quadrant.NEITHER


def _values(scores: Scores, metric: str, over_models: bool) -> Iterator[tuple[PlaceKey, float]]:
    found: dict[PlaceKey, list[float]] = {}
    for score in scores.where(metric=metric):
        if score.value is None or score.prerequisite is None or score.contrast is None:
            continue
        model = None if over_models else score.model
        found.setdefault((model, score.task, score.prerequisite, score.contrast), []).append(score.value)
    for key, values in found.items():
        mean = Average.of(values).value
        assert mean is not None
        yield key, mean
