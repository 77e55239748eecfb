"""Points to choose from for Street-View Ordering: one on the reference, others where one might be in another drive."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from dodiag.benchmarks.cadet.street.asking import Rejected
from dodiag.benchmarks.cadet.street.cameras import HEIGHT, WIDTH
from dodiag.benchmarks.cadet.street.scene import Box
from dodiag.benchmarks.cadet.street_view_ordering_scene import MOTIONS, REFERENCE_KINDS, check_drive, route

POINTS = 4
CLEARANCE = 12
"""Pixels between a point and the boxes around what the other points are or might be on."""

Place = tuple[tuple[int, int], tuple[float, float, float, float]]
"""A point, and the box around the thing that it is on, in a picture."""


def decoys(rng: np.random.Generator) -> Iterator[Place]:
    """Yield points where the reference of another drive would be, without end: wrong points like right ones."""
    while True:
        motion = MOTIONS[int(rng.integers(len(MOTIONS)))]
        kind = REFERENCE_KINDS[int(rng.integers(len(REFERENCE_KINDS)))]
        other = None
        while other is None:  # the same motion again, or those that are often rejected would be rarer than in packs
            try:
                candidate = route(rng, motion, kind, 5, 1.0)
                check_drive(candidate.drive)
                other = candidate
            except Rejected:
                continue
        box = other.outlines()[int(rng.integers(5))]
        left, top, right, bottom = box
        x = (left + right) / 2 + float(rng.uniform(-0.25, 0.25)) * (right - left)
        y = (top + bottom) / 2 + float(rng.uniform(-0.25, 0.25)) * (bottom - top)
        yield (round(x), round(y)), box


def options(
    right: tuple[int, int], box: Box, others: Iterator[Place], rng: np.random.Generator
) -> tuple[list[tuple[int, int]], int]:
    """Draw the four points of an X1 question: one on the reference, and three where another might be, off this one.

    All four are places of a reference in a picture of this task, and none is near the box of another, so that the
    coordinates alone do not tell which is right.

    Parameters
    ----------
    right : (x, y)
        The point on the reference.
    box : Box
        Around the reference.
    others : iterator of Place
        Candidates for wrong points; see :func:`decoys`.
    rng : numpy.random.Generator

    Returns
    -------
    (points, right) : list of (x, y), int
        In the order of the options, and the index of the right one.
    """
    places: list[Place] = [(right, box)]
    for place in others:
        if all(_off(place[0], there[1]) and _off(there[0], place[1]) for there in places):
            places.append(place)
        if len(places) == POINTS:
            break
    shuffled = [places[turn][0] for turn in rng.permutation(POINTS)]
    return shuffled, shuffled.index(right)


def _off(point: tuple[int, int], box: tuple[float, float, float, float]) -> bool:
    left, top, right, bottom = box
    off = max(left - point[0], point[0] - right, top - point[1], point[1] - bottom)
    return off >= CLEARANCE and 0 <= point[0] < WIDTH and 0 <= point[1] < HEIGHT
