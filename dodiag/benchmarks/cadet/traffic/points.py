"""Options that are points of a frame: one on the agent that is asked about, the others surely not on it.

Wrong points are drawn like right ones, and all points of a question keep off each other's boxes alike, so that neither
a point nor how the points lie to each other tells which is right.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import permutations

import numpy as np

from dodiag.benchmarks.cadet.traffic.footage import Footage, Point
from dodiag.benchmarks.cadet.traffic.glimpses import Glimpse, Outline
from dodiag.benchmarks.cadet.traffic.staging import HEIGHT, WIDTH

OFF = 6
"""Pixels between a point and the boxes around what the other points are or might be on."""

APART = 18
"""Pixels between any two points of a question."""

OPTIONS = 4
FRAME = 5
"""Pixels between a point and the edge of the frame."""

SWAP = 12.0
"""Pixels within which another agent takes the place of a point that nothing is at."""

POINTS = (
    "A point is given as (x, y): pixels from the left edge and from the top edge of the frame, which is "
    f"{WIDTH} pixels wide and {HEIGHT} pixels high."
)
"""What a question says about points."""

Place = tuple[Point, Outline]
"""A point, and the box around what it is or might be on."""


def point_text(point: Point) -> str:
    """Return a point as an option says it."""
    return f"({point[0]}, {point[1]})"


def outside(point: Point, box: Outline, margin: float = OFF) -> bool:
    """Return whether a point is off a box by a margin."""
    left, top, right, bottom = box
    x, y = point
    return x < left - margin or x >= right + margin or y < top - margin or y >= bottom + margin


def framed(point: Point) -> bool:
    """Return whether a point is in the frame, and not at its very edge."""
    return FRAME <= point[0] < WIDTH - FRAME and FRAME <= point[1] < HEIGHT - FRAME


def localize(
    footage: Footage, agent_id: str, key: int, rng: np.random.Generator, alike: Sequence[str], stock: Sequence[Glimpse]
) -> tuple[tuple[str, ...], int] | None:
    """Draw the options of a question where an agent is at a second.

    Wrong points are where one of the same sort is at that second in another scene.

    Parameters
    ----------
    footage : Footage
    agent_id : str
        Clearly seen at that second.
    key : int
    rng : numpy.random.Generator
    alike : sequence of str
        Agents whose places may serve, where one is next to a wrong point.
    stock : sequence of Glimpse
        Of agents of its sort at that second, in other scenes.

    Returns
    -------
    (options, right) or None
        Texts, and the index of the right one; None where the draw does not fit.
    """
    seen = footage.sightings[agent_id, key]
    pool: list[Place] = [(glimpse.point, glimpse.box) for glimpse in stock]
    return draw_options((seen.point, seen.box), pool, places_of(footage, alike, agent_id, key), rng)


def places_of(footage: Footage, names: Sequence[str], but: str, key: int) -> list[Place]:
    """Return where agents, all but one of them, are seen at a second."""
    seen = [footage.sightings[name, key] for name in names if name != but and (name, key) in footage.sightings]
    return [(sighting.point, sighting.box) for sighting in seen]


def draw_options(
    right: Place, pool: Sequence[Place], others: Sequence[Place], rng: np.random.Generator
) -> tuple[tuple[str, ...], int] | None:
    """Draw three wrong points from a pool, and return all four as options in random order.

    Parameters
    ----------
    right : Place
        The right point, and the box around what it is on.
    pool : sequence of Place
        Points that could be right, had the scene been another.
    others : sequence of Place
        What is in this frame: it takes the place of a point that is within :data:`SWAP` pixels of it.
    rng : numpy.random.Generator

    Returns
    -------
    (options, right) or None
        Texts, and the index of the right one; None where the four do not keep apart. It is drawn once: to draw again
        until wrong points fit would favour those that are small and far away, and the right one would stand out.
    """
    usable = [swapped(place, others) for place in pool if framed(place[0])]
    if len(usable) < OPTIONS - 1:
        return None
    drawn = rng.choice(len(usable), size=OPTIONS - 1, replace=False)
    places = [right, *(usable[int(number)] for number in drawn)]
    if not _apart(places):
        return None
    order = rng.permutation(OPTIONS)
    return tuple(point_text(places[int(place)][0]) for place in order), int(np.flatnonzero(order == 0)[0])


def swapped(place: Place, others: Sequence[Place]) -> Place:
    """Return what of the others is next to a place; the place itself where nothing is."""
    near = [other for other in others if math.dist(other[0], place[0]) < SWAP]
    return near[0] if near else place


def _apart(places: Sequence[Place]) -> bool:
    """Return whether every point is off the box of every other; the right one is nothing special in this."""
    return all(
        math.dist(one[0], other[0]) >= APART and outside(one[0], other[1]) for one, other in permutations(places, 2)
    )
