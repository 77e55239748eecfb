"""Where the agents of a run are seen, worked out from its tracks without drawing anything.

Scenes that are only simulated cost a hundredth of those that are drawn. They tell where an agent of some sort is seen
at a second, and where it comes to: wrong points are taken from there, so that they are as likely as right ones.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dodiag.benchmarks.cadet.street.state import Obstacle, Signal, Thing, corners
from dodiag.benchmarks.cadet.traffic.agents import EGO, Driver, Walker, World
from dodiag.benchmarks.cadet.traffic.footage import LEAST_SHARE, LEAST_SIDE, LEVEL, SMALLEST, Point
from dodiag.benchmarks.cadet.traffic.rules import STEP, Run
from dodiag.benchmarks.cadet.traffic.staging import dashcam, parts_of, snapshot
from dodiag.benchmarks.rendering import Camera

FILLED = 0.7
"""About the share of its box that a thing fills."""

NEAREST = 1.0
"""Metres before the camera, below which a thing is not wholly before it."""

LAMP = 1.0
"""Pixels from the top of a traffic light to the point on its head."""

HIDES = 0.6
"""Share of a thing's box before which a nearer thing's box hides it."""

Outline = tuple[float, float, float, float]
"""Left, top, right, bottom: pixels."""


@dataclass(frozen=True, slots=True)
class Glimpse:
    """An agent at a second, as it would be clearly seen.

    Attributes
    ----------
    agent : str
        Its id.
    sort : str
        What it is called but for its colour: a kind of vehicle, ``pedestrian``, ``traffic light`` or ``work zone``.
    key : int
        The second.
    point : tuple of (x, y)
        Near its middle, as :class:`~dodiag.benchmarks.cadet.traffic.footage.Sighting` has it.
    box : tuple of (left, top, right, bottom)
        Around what is in the frame of it.
    depth : float
        Metres from the camera along its view.
    """

    agent: str
    sort: str
    key: int
    point: Point
    box: Outline
    depth: float


def sort_of(world: World, agent_id: str) -> str:
    """Return what an agent is called, but for its colour."""
    agent = world.agent(agent_id)
    if isinstance(agent, Driver):
        return agent.kind
    return "pedestrian" if isinstance(agent, Walker) else agent.name


def glimpses(run: Run, seconds: int) -> Iterator[Glimpse]:
    """Yield who would be clearly seen at every whole second from 0 on, the last included, and where."""
    names = [agent.id for agent in run.world.agents if agent.id != EGO]
    for key in range(seconds + 1):
        shown, camera = snapshot(run, round(key / STEP)), dashcam(run, round(key / STEP))
        found = [
            glimpse
            for name in names
            if (glimpse := _look(run.world, name, [shown[part] for part in parts_of(run.world, name)], camera, key))
        ]
        for glimpse in found:
            if not any(other.depth < glimpse.depth and _hides(other.box, glimpse.box) for other in found):
                yield glimpse


def _look(world: World, name: str, things: list[Thing], camera: Camera, key: int) -> Glimpse | None:
    """Return what is seen of an agent if nothing hides it; None where it is not clear."""
    outlines = [outline for thing in things if (outline := _outline(thing, camera)) is not None]
    thing = things[0]
    depth = float((np.array((thing.x, thing.y, LEVEL)) - camera.position) @ camera.axes[2])
    if len(outlines) < len(things) or depth < NEAREST:
        return None
    whole = _around(np.array(outlines))
    left, top, right, bottom = (
        float(np.clip(side, 0, limit)) for side, limit in zip(whole, (camera.width, camera.height) * 2, strict=True)
    )
    area = (right - left) * (bottom - top)
    small = area * FILLED < SMALLEST or min(right - left, bottom - top) < LEAST_SIDE
    if (small and not isinstance(thing, Signal)) or area < LEAST_SHARE * (whole[2] - whole[0]) * (whole[3] - whole[1]):
        return None
    level = float(camera.project(np.array((thing.x, thing.y, LEVEL)))[1])
    y = top + LAMP if isinstance(thing, Signal) else min(max(level, top + 2), bottom - 3)
    x = ((outlines[0][0] + outlines[0][2]) if isinstance(thing, Obstacle) else (left + right)) / 2 - 0.5
    if not 0 <= x < camera.width or not 0 <= y < camera.height:
        return None
    return Glimpse(name, sort_of(world, name), key, (round(x), round(y)), (left, top, right, bottom), depth)


def _outline(thing: Thing, camera: Camera) -> Outline | None:
    """Return the box around a thing's block in the picture; None where it reaches behind the camera."""
    block: NDArray[np.float64] = np.array([(*c, height) for c in corners(thing) for height in (0.0, thing.size[2])])
    if float(((block - camera.position) @ camera.axes[2]).min()) < NEAREST:
        return None
    return _around(camera.project(block))


def _around(points: NDArray[np.float64]) -> Outline:
    flat = points.reshape(-1, 2)
    (left, top), (right, bottom) = flat.min(axis=0), flat.max(axis=0)
    return float(left), float(top), float(right), float(bottom)


def _hides(front: Outline, back: Outline) -> bool:
    across = min(front[2], back[2]) - max(front[0], back[0])
    down = min(front[3], back[3]) - max(front[1], back[1])
    area = (back[2] - back[0]) * (back[3] - back[1])
    return across > 0 and down > 0 and across * down > HIDES * area
