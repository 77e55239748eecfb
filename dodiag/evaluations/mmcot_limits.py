"""The figures of MM-CoT with what they are divided by and their limits of sampling at 95 %, clustered by item."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dodiag.benchmarks.mmcot.image_scores import SINGLE, ImageScores
from dodiag.benchmarks.mmcot.video_scores import VideoScores
from dodiag.bounds.limits import Proportion, clustered_wilson

MULTI = "Multi"
ACCURACY = "accuracy, as released"
SUBSTANCE = "right in substance"


def image_figures(scores: ImageScores) -> dict[str, Proportion | None]:
    """Return Multi, Single (assumed) and the three slots; None where a figure is about nothing.

    Single has up to three chains of each item, so that its limits are clustered by item; the others have one outcome
    of each.

    Examples
    --------
    >>> found = image_figures(ImageScores(2, 1, {"A1": (2, 2), "A2": (1, 2), "A3": (1, 2)}, ((3, 3), (1, 3))))
    >>> found["Multi"].value, found["Single (assumed)"].n, found["A1"].value
    (0.5, 6, 1.0)
    """
    slots = {slot: _of_counts(*counts) for slot, counts in scores.slots.items()}
    return {MULTI: _of_counts(scores.correct, scores.total), SINGLE: _of_clusters(scores.chains), **slots}


def video_figures(scores: VideoScores) -> dict[str, Proportion | None]:
    """Return the released accuracy, the accuracy in substance, and the parts; None where nothing is counted."""
    counts = {ACCURACY: scores.correct, SUBSTANCE: scores.lenient, **scores.parts}
    return {name: _of_counts(count, scores.total) for name, count in counts.items()}


def stratum_figures(scores: VideoScores) -> dict[tuple[str, str], Proportion | None]:
    """Return the released accuracy by length and difficulty."""
    return {stratum: _of_counts(*counts) for stratum, counts in scores.strata.items()}


def limits_of(share: Proportion | None) -> dict[str, Any] | None:
    """Return a share and its limits as JSON values."""
    if share is None:
        return None
    return {
        "value": share.value,
        "lower": share.lower,
        "upper": share.upper,
        "n": share.n,
        "instances": share.clusters,
    }


def all_limits(scores: ImageScores | VideoScores) -> Mapping[str, Any]:
    """Return every figure with its limits as JSON values; strata are named ``length, difficulty``."""
    if isinstance(scores, ImageScores):
        return {name: limits_of(share) for name, share in image_figures(scores).items()}
    strata = {", ".join(stratum): share for stratum, share in stratum_figures(scores).items()}
    return {name: limits_of(share) for name, share in (video_figures(scores) | strata).items()}


def _of_counts(hits: int, total: int) -> Proportion | None:
    return _of_clusters([(1, 1)] * hits + [(0, 1)] * (total - hits))


def _of_clusters(counts: Sequence[tuple[int, int]]) -> Proportion | None:
    if not any(size for _, size in counts):
        return None
    sums, sizes = zip(*counts, strict=True)
    return clustered_wilson(sums, sizes)
