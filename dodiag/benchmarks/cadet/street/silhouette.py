"""How many pixels a thing would have if nothing hid it and the picture had no edge: its outline, filled."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from PIL import Image, ImageDraw

from dodiag.benchmarks.cadet.street import parts
from dodiag.benchmarks.cadet.street.model import LIMBS, limb_angle
from dodiag.benchmarks.cadet.street.shapes import triangles
from dodiag.benchmarks.cadet.street.state import Obstacle, Pedestrian, Signal, Thing, Vehicle
from dodiag.benchmarks.rendering import Camera, Floats

NEAR = 0.15
"""Metres before the camera: what is nearer has no outline."""
MAX_SIDE = 4000
"""Pixels: an outline that is larger is that of a thing beside the camera, and never seen whole."""


def thing_triangles(thing: Thing, height: float) -> Floats:
    """Return the triangles of a thing in the world, shape (n, 3, 3); `height` is that of the ground under it."""
    local = _local(thing)
    angle = np.radians(thing.heading)
    turn = np.array(((np.cos(angle), -np.sin(angle), 0), (np.sin(angle), np.cos(angle), 0), (0, 0, 1)))
    world: Floats = local @ turn.T + np.array((thing.x, thing.y, height))
    return world


def _local(thing: Thing) -> Floats:
    match thing:
        case Vehicle():
            return _vehicle(thing.kind)
        case Pedestrian():
            return _person(round(thing.stride, 3))
        case Signal():
            return _signal()
        case Obstacle():
            return _obstacle(thing.kind)


@lru_cache(maxsize=16)
def _vehicle(kind: str) -> Floats:
    look = parts.vehicle(kind, "white")
    return triangles((*look.body, *look.lights.head))


@lru_cache(maxsize=256)
def _person(stride: float) -> Floats:
    look = parts.person("white")
    pieces = [triangles(look.trunk)]
    for limb, (place, is_leg) in LIMBS.items():
        angle = limb_angle(limb, stride)
        turn = np.array(((np.cos(angle), 0, np.sin(angle)), (0, 1, 0), (-np.sin(angle), 0, np.cos(angle))))
        pieces.append(triangles(look.leg if is_leg else look.arm) @ turn.T + np.array(place))
    return np.concatenate(pieces)


@lru_cache(maxsize=1)
def _signal() -> Floats:
    lamps = [polygon for lamp in parts.LAMP_HEIGHTS for polygon in parts.signal_lamp(lamp)]
    return triangles((*parts.signal(), *lamps))


@lru_cache(maxsize=8)
def _obstacle(kind: str) -> Floats:
    return triangles(parts.obstacle(kind))


def silhouette_area(thing: Thing, height: float, camera: Camera) -> int:
    """Return the area of a thing's outline in pixels; of a thing that reaches behind the camera, a huge number."""
    corners = thing_triangles(thing, height)
    depth = (corners - camera.position) @ camera.axes[2]
    if depth.min() < NEAR:
        return MAX_SIDE * MAX_SIDE
    pixels = camera.project(corners)
    low, high = pixels.reshape(-1, 2).min(axis=0), pixels.reshape(-1, 2).max(axis=0)
    width, tall = (int(side) for side in np.ceil(high - low) + 3)
    if max(width, tall) > MAX_SIDE:
        return MAX_SIDE * MAX_SIDE
    # ImageDraw fills the pixels on an edge too, the renderer those whose middle is inside: hence four times finer,
    # where the edge weighs little.
    fine = 4 if max(width, tall) < 400 else 1
    canvas = Image.new("1", (fine * width, fine * tall))
    pen = ImageDraw.Draw(canvas)
    for triangle in fine * (pixels - low + 1) - 0.5:
        pen.polygon([(float(x), float(y)) for x, y in triangle], fill=1)
    return round(np.count_nonzero(np.asarray(canvas)) / fine**2)
