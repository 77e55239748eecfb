"""Options that are points of a frame: one on the agent that is asked about, the others surely not on it."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from dodiag.benchmarks.cadet.traffic.agents import LANE, Driver
from dodiag.benchmarks.cadet.traffic.footage import Box, Footage, Point
from dodiag.benchmarks.cadet.traffic.staging import FIELD_OF_VIEW, HEIGHT, VANISHING, WIDTH

OFF = 6
"""Pixels between a wrong point and the box of the agent."""

APART = 18
"""Pixels between any two points of a question."""

OPTIONS = 4
TRIES = 80
NEAREST = 3.0
"""Metres from the camera below which nothing is looked for."""

FRAME = 5
"""Pixels between a point and the edge of the frame."""

SWAP = 30.0
"""Pixels within which another agent takes the place of a point that nothing is at."""

FOCAL = HEIGHT / 2 / math.tan(math.radians(FIELD_OF_VIEW / 2))

POINTS = (
    "A point is given as (x, y): pixels from the left edge and from the top edge of the frame, which is "
    f"{WIDTH} pixels wide and {HEIGHT} pixels high."
)
"""What a question says about points."""


def point_text(point: Point) -> str:
    """Return a point as an option says it."""
    return f"({point[0]}, {point[1]})"


def outside(point: Point, box: Box, margin: float = OFF) -> bool:
    """Return whether a point is off a box by a margin."""
    left, top, right, bottom = box
    x, y = point
    return x < left - margin or x >= right + margin or y < top - margin or y >= bottom + margin


def carried(point: Point, depth: float, later: float) -> Point | None:
    """Return where something at a point is seen when its depth is `later`; None where that is out of the frame."""
    if later < NEAREST:
        return None
    x, y = (middle + depth / later * (value - middle) for middle, value in zip(VANISHING, point, strict=True))
    moved = round(x), round(y)
    return moved if framed(moved) else None


def framed(point: Point) -> bool:
    """Return whether a point is in the frame, and not at its very edge."""
    return FRAME <= point[0] < WIDTH - FRAME and FRAME <= point[1] < HEIGHT - FRAME


def localize(
    footage: Footage, agent_id: str, key: int, rng: np.random.Generator, alike: tuple[str, ...]
) -> tuple[tuple[str, ...], int] | None:
    """Draw the options of a question where an agent is at a second.

    Wrong points are where it would be seen if it were nearer, further away or a lane beside, and where others of its
    sort are: the points alone do not tell which is right.

    Parameters
    ----------
    footage : Footage
    agent_id : str
        Clearly seen at that second.
    key : int
    rng : numpy.random.Generator
    alike : tuple of str
        Agents whose places may serve.

    Returns
    -------
    (options, right) or None
        Texts, and the index of the right one; None where no four points fit.
    """
    seen = footage.sightings[agent_id, key]
    others = [
        footage.sightings[name, key].point for name in alike if name != agent_id and (name, key) in footage.sightings
    ]
    # The right place is one draw among others of the same kind: the middle of the four is not more likely to be it.
    drives = isinstance(footage.run.world.agent(agent_id), Driver)
    nearer, beside = _draw_step(rng, lanes=drives)
    chosen = [seen.point]
    for _ in range(TRIES):
        other_nearer, other_beside = _draw_step(rng, lanes=drives)
        across = (other_beside - beside) * LANE * FOCAL / seen.depth
        start = round(seen.point[0] + across), seen.point[1]
        point = carried(start, seen.depth, seen.depth * math.exp(other_nearer - nearer))
        if point is None:
            continue
        near = [other for other in others if math.dist(other, point) < SWAP]
        if near:
            point = near[0]
            others.remove(point)
        _take(point, chosen, seen.box)
    return shuffled_points(chosen, rng)


def _draw_step(rng: np.random.Generator, *, lanes: bool) -> tuple[float, int]:
    """Return a step in the logarithm of the distance, and one in lanes."""
    return float(rng.normal(scale=0.35)), int(rng.choice((-1, 0, 1), p=(0.12, 0.76, 0.12))) if lanes else 0


def shuffled_points(chosen: Sequence[Point], rng: np.random.Generator) -> tuple[tuple[str, ...], int] | None:
    """Return points as options in random order, and where the first of them has come; None where they are too few."""
    if len(chosen) < OPTIONS:
        return None
    order = rng.permutation(OPTIONS)
    return tuple(point_text(chosen[int(place)]) for place in order), int(np.flatnonzero(order == 0)[0])


def _take(point: Point, chosen: list[Point], box: Box) -> None:
    if len(chosen) < OPTIONS and outside(point, box) and all(math.dist(point, other) >= APART for other in chosen):
        chosen.append(point)
