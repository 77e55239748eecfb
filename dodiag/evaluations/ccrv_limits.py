"""Confidence limits of CCRV-Bench's figures, by image: its items, and their variants, move together."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dodiag.benchmarks.ccrv.data import LEVELS, ItemKey
from dodiag.benchmarks.ccrv.scores import ALL, Denominator, Figures, Record, Scores, cascade
from dodiag.bounds.limits import Limits, difference_limits, wilson_limits
from dodiag.bounds.pairs import PairedSums

Floats = NDArray[np.float64]
Ends = tuple[float, float]
Value = Callable[[Record], float]
Entries = Sequence[tuple[ItemKey, Record | None]]
"""Places of a group with their records; None is an answer that is missing."""


@dataclass(frozen=True)
class FigureLimits:
    """Limits of the figures of one group.

    Attributes
    ----------
    level : float
        Two-sided.
    images : int
        That the group's constrained answers come from, or its unconstrained ones where it has none.
    ends : mapping of str to (float, float) or None
        By figure: ``base_dcr``, ``dcr``, ``csr``, ``edcr``, ``cdi``, ``ecdi``, ``compliant_dcr``, ``L1`` to ``L3``
        and ``base_L1`` to ``base_L3``. None where the figure is not defined, and where one image alone is there.
    """

    level: float
    images: int
    ends: Mapping[str, Ends | None]

    def to_dict(self) -> dict[str, Any]:
        """Return the limits as JSON values."""
        ends = {name: None if pair is None else list(pair) for name, pair in self.ends.items()}
        return {"level": self.level, "images": self.images, "limits": ends}


def figure_limits(scores: Scores, figures: Figures, level: float = 0.95) -> FigureLimits:
    """Return confidence limits of the figures of one group, clustered by image.

    Shares are limited by Wilson's interval (:func:`dodiag.bounds.limits.wilson_limits`), CDI and eCDI by Newcombe's for
    paired means (:func:`dodiag.bounds.limits.difference_limits`).

    Under the denominator ``fixed`` a missing answer is no failure, only unknown: each end counts it as what moves the
    figure furthest to its side, so that the limits hold whatever the missing answers would have been. Under
    ``available`` and ``matched`` they are of the answers that are there. Where ``available`` averages constrained and
    unconstrained answers of different items, CDI and eCDI are limited by those of both means, each at half the error.

    Parameters
    ----------
    scores : Scores
    figures : Figures
        One of its groups, under any denominator.
    level : float
        Two-sided confidence level in (0, 1).
    """
    con, base = _entries(scores, figures)
    fixed = figures.denominator == Denominator.FIXED

    def effective(record: Record) -> float:
        return scores.dcr(record) * (record.csr or 0)

    def compliance(record: Record) -> float:
        return record.csr or 0

    shares: dict[str, tuple[Entries, Value]] = {
        "base_dcr": (base, scores.dcr),
        "dcr": (con, scores.dcr),
        "csr": (con, compliance),
        "edcr": (con, effective),
        "compliant_dcr": ([(key, record) for key, record in con if record is not None and record.csr], scores.dcr),
    }
    for place, name in enumerate(LEVELS):
        shares[name] = con, _passed(place)
        shares[f"base_{name}"] = base, _passed(place)
    ends = {name: _share(entries, value, (1 + level) / 2) for name, (entries, value) in shares.items()}
    for name, value in (("cdi", scores.dcr), ("ecdi", effective)):
        difference = _fixed_difference if fixed else _linked_difference
        ends[name] = difference(con, base, scores.dcr, value, level)
    images = ({key.image_id for key, record in entries if record is not None} for entries in (con, base))
    return FigureLimits(level, len(next(images) or next(images)), ends)


def _entries(scores: Scores, figures: Figures) -> tuple[Entries, Entries]:
    """Return the constrained and the unconstrained places that a group's figures are averaged over."""
    design = scores.design
    items = sorted(key for key in design.items if figures.x in (ALL, key.x))
    kinds = [kind for kind in design.constraints if figures.y in (ALL, kind)]
    con = [(key, scores.constrained.get((key, kind))) for key in items for kind in kinds]
    base = [(key, scores.baseline.get(key)) for key in items]
    if figures.denominator == Denominator.FIXED:
        return con, base
    there = [(key, record) for key, record in con if record is not None]
    linked = [(key, scores.baseline[key]) for key, _ in there if key in scores.baseline]
    if figures.denominator == Denominator.MATCHED:
        there = [(key, record) for key, record in there if key in scores.baseline]
    return there, linked if kinds else [(key, record) for key, record in base if record is not None]


def _passed(place: int) -> Value:
    return lambda record: cascade(record.labels)[place]


def _share(entries: Entries, value: Value, side: float) -> Ends | None:
    """Return the limits of a mean, its missing entries counted as 0 for the lower and as 1 for the upper one."""
    if all(record is None for _, record in entries):
        return None
    low, high, sizes = _sums(entries, value)
    return _both(wilson_limits(low, sizes, side), wilson_limits(high, sizes, side))


def _fixed_difference(con: Entries, base: Entries, plain: Value, value: Value, level: float) -> Ends | None:
    """Return the limits of a plain mean less a constrained one over all items, missing answers counted both ways."""
    if any(all(record is None for _, record in entries) for entries in (con, base)):
        return None
    side = (1 + level) / 2
    low, high, sizes = _sums(base, plain)
    con_low, con_high, con_sizes = _sums(con, value)
    # Every item has the same constraints, so that the mean over answers is that over items.
    scale = sizes.sum() / con_sizes.sum()
    lower = difference_limits(PairedSums.of(low, con_high * scale, sizes), side)
    upper = difference_limits(PairedSums.of(high, con_low * scale, sizes), side)
    return _both(lower, upper)


def _linked_difference(con: Entries, base: Entries, plain: Value, value: Value, level: float) -> Ends | None:
    """Return the limits of the mean of linked plain answers less that of the constrained answers that are there."""
    if not con or not base:
        return None
    if len(base) < len(con):
        half = (3 + level) / 4
        ours, theirs = _share(base, plain, half), _share(con, value, half)
        return None if ours is None or theirs is None else (ours[0] - theirs[1], ours[1] - theirs[0])
    low, _, sizes = _sums(base, plain)
    con_low, _, _ = _sums(con, value)
    found = difference_limits(PairedSums.of(low, con_low, sizes), (1 + level) / 2)
    return _both(found, found)


def _sums(entries: Entries, value: Value) -> tuple[Floats, Floats, Floats]:
    """Return sums with missing entries as 0 and as 1, and sizes, by image in the order of their ids."""
    images = {image: place for place, image in enumerate(sorted({key.image_id for key, _ in entries}))}
    low, high, sizes = np.zeros((3, len(images)))
    for key, record in entries:
        place = images[key.image_id]
        found = 0.0 if record is None else value(record)
        low[place] += found
        high[place] += 1.0 if record is None else found
        sizes[place] += 1
    return low, high, sizes


def _both(lower: Limits, upper: Limits) -> Ends | None:
    if not (lower.known.all() and upper.known.all()):
        return None
    return float(lower.lower), float(upper.upper)
