"""Solids from flat polygons, coloured by name, as the triangles that MuJoCo and the silhouettes are made from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from dodiag.benchmarks.cadet.street.state import COLOURS, RGB
from dodiag.benchmarks.rendering import Floats

PALETTE: Mapping[str, RGB] = MappingProxyType(
    {
        **COLOURS,
        "glass": (0.09, 0.12, 0.16),
        "screen": (0.30, 0.40, 0.47),
        "tyre": (0.05, 0.05, 0.055),
        "rim": (0.62, 0.63, 0.66),
        "trim": (0.13, 0.13, 0.14),
        "plate": (0.97, 0.97, 0.90),
        "tail": (0.42, 0.03, 0.03),
        "lamp": (1.0, 0.99, 0.88),
        "brake": (1.0, 0.05, 0.03),
        "blinker": (1.0, 0.60, 0.05),
        "destination": (1.0, 0.62, 0.10),
        "skin": (0.86, 0.66, 0.52),
        "hair": (0.20, 0.13, 0.09),
        "trousers": (0.16, 0.18, 0.27),
        "shoe": (0.10, 0.09, 0.09),
        "cone": (0.98, 0.36, 0.04),
        "board": (0.86, 0.10, 0.08),
        "chalk": (0.95, 0.95, 0.95),
        "steel": (0.46, 0.48, 0.50),
        "housing": (0.10, 0.11, 0.11),
        "asphalt": (0.27, 0.27, 0.285),
        "strip": (0.31, 0.31, 0.32),
        "kerb": (0.66, 0.65, 0.62),
        "paving": (0.56, 0.55, 0.53),
        "line": (0.90, 0.90, 0.88),
        "centre": (0.93, 0.76, 0.12),
        "grass": (0.33, 0.46, 0.25),
        "bark": (0.34, 0.25, 0.17),
        "leaf": (0.20, 0.42, 0.17),
        "leaf2": (0.27, 0.49, 0.21),
    }
)
SIDE = 8
"""Cells along a side of the palette's texture."""
CELL = 8
"""Pixels along a side of a cell."""


@dataclass(frozen=True, slots=True, eq=False)
class Polygon:
    """A flat convex polygon: corners counter-clockwise as seen from outside, shape (n, 3), and the colour's name."""

    corners: Floats
    colour: str


Solid = tuple[Polygon, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Mesh:
    """Triangles with flat normals; `places` are texture coordinates."""

    vertices: Floats
    normals: Floats
    places: Floats
    faces: NDArray[np.int64]


def palette_texture() -> NDArray[np.uint8]:
    """Return the texture in which every colour of the palette has a cell, shape (side, side, 3)."""
    cells = np.zeros((SIDE * SIDE, 3))
    cells[: len(PALETTE)] = list(PALETTE.values())
    grid = cells.reshape(SIDE, SIDE, 3).repeat(CELL, axis=0).repeat(CELL, axis=1)
    texture: NDArray[np.uint8] = np.round(255 * grid).astype(np.uint8)
    return texture


@lru_cache(maxsize=64)
def palette_place(colour: str) -> tuple[float, float]:
    """Return the texture coordinates of the middle of a colour's cell."""
    row, column = divmod(list(PALETTE).index(colour), SIDE)
    return (column + 0.5) / SIDE, (row + 0.5) / SIDE


def mesh(solid: Iterable[Polygon]) -> Mesh:
    """Return the triangles of a solid; every polygon keeps its own vertices, so that its edges are sharp."""
    polygons = list(solid)
    counts = [len(polygon.corners) for polygon in polygons]
    starts = np.cumsum([0, *counts[:-1]])
    faces = [
        (start, start + step, start + step + 1)
        for start, count in zip(starts.tolist(), counts, strict=True)
        for step in range(1, count - 1)
    ]
    vertices = np.concatenate([polygon.corners for polygon in polygons])
    return Mesh(
        vertices=vertices,
        normals=_normals(vertices, starts).repeat(counts, axis=0),
        places=np.array([palette_place(polygon.colour) for polygon in polygons]).repeat(counts, axis=0),
        faces=np.array(faces),
    )


def _normals(vertices: Floats, starts: NDArray[np.int64]) -> Floats:
    first = vertices[starts]
    across = np.cross(vertices[starts + 1] - first, vertices[starts + 2] - first)
    units: Floats = across / np.linalg.norm(across, axis=1, keepdims=True)
    return units


def triangles(solid: Iterable[Polygon]) -> Floats:
    """Return the triangles of a solid, shape (n, 3, 3)."""
    built = mesh(solid)
    found: Floats = built.vertices[built.faces]
    return found


def normal(corners: Floats) -> Floats:
    """Return the outward unit normal of a flat polygon."""
    unit: Floats = _normals(corners, np.zeros(1, dtype=np.int64))[0]
    return unit


def quad(points: Sequence[Sequence[float]], colour: str) -> Polygon:
    """Return a polygon from its corners."""
    return Polygon(np.array(points, dtype=float), colour)


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """A block with a rectangular bottom and a rectangular top, which may be shifted and smaller.

    Sides are named as those of a vehicle that points along +x; each is (bottom left, bottom right, top right, top left)
    as seen from outside.

    Attributes
    ----------
    front, rear, left, right, top, bottom : array of shape (4, 3)
    """

    front: Floats
    rear: Floats
    left: Floats
    right: Floats
    top: Floats
    bottom: Floats

    def solid(self, colour: str) -> Solid:
        """Return all six sides in one colour."""
        sides = (self.front, self.rear, self.left, self.right, self.top, self.bottom)
        return tuple(Polygon(side, colour) for side in sides)


def block(
    x: tuple[float, float],
    half: float,
    z: tuple[float, float],
    top_x: tuple[float, float] | None = None,
    top_half: float | None = None,
    y: float = 0.0,
) -> Block:
    """Return a block from x[0] (rear) to x[1] (front), y − half to y + half, z[0] to z[1]."""
    (r0, f0), (r1, f1) = x, x if top_x is None else top_x
    w0, w1 = half, half if top_half is None else top_half
    low, high = z
    bottom = {
        "fr": (f0, y - w0, low),
        "fl": (f0, y + w0, low),
        "rr": (r0, y - w0, low),
        "rl": (r0, y + w0, low),
    }
    top = {"fr": (f1, y - w1, high), "fl": (f1, y + w1, high), "rr": (r1, y - w1, high), "rl": (r1, y + w1, high)}

    def side(first: str, second: str) -> Floats:
        return np.array((bottom[first], bottom[second], top[second], top[first]))

    return Block(
        front=side("fr", "fl"),
        rear=side("rl", "rr"),
        left=side("fl", "rl"),
        right=side("rr", "fr"),
        top=np.array((top["rl"], top["rr"], top["fr"], top["fl"])),
        bottom=np.array((bottom["fl"], bottom["fr"], bottom["rr"], bottom["rl"])),
    )


def panel(side: Floats, u: tuple[float, float], v: tuple[float, float], colour: str, lift: float = 0.015) -> Polygon:
    """Return a rectangle on a side of a block: shares of its width (from the left) and height, lifted off it."""
    bottom_left, bottom_right, top_right, top_left = side

    def at(across: float, up: float) -> Floats:
        low = bottom_left + across * (bottom_right - bottom_left)
        high = top_left + across * (top_right - top_left)
        point: Floats = low + up * (high - low)
        return point

    corners = np.array((at(u[0], v[0]), at(u[1], v[0]), at(u[1], v[1]), at(u[0], v[1])))
    return Polygon(corners + lift * normal(side), colour)


def cylinder(
    start: Sequence[float], end: Sequence[float], radii: tuple[float, float], colour: str, sides: int = 12
) -> Solid:
    """Return a cylinder, or a cut cone with two radii, from the middle of one end to the middle of the other."""
    first, last = np.asarray(start, dtype=float), np.asarray(end, dtype=float)
    axis = (last - first) / np.linalg.norm(last - first)
    helper = np.array((0.0, 0.0, 1.0)) if abs(axis[2]) < 0.9 else np.array((1.0, 0.0, 0.0))
    across = np.cross(helper, axis)
    across /= np.linalg.norm(across)
    angles = 2 * np.pi * np.arange(sides) / sides
    ring = np.cos(angles)[:, None] * across + np.sin(angles)[:, None] * np.cross(axis, across)
    low, high = first + radii[0] * ring, last + radii[1] * ring
    solid = []
    for index in range(sides):
        after = (index + 1) % sides
        corners = [low[index], low[after], high[after], high[index]]
        if radii[1] == 0:
            corners = corners[:3]
        elif radii[0] == 0:
            corners = [low[index], high[after], high[index]]
        solid.append(Polygon(np.array(corners), colour))
    if radii[1] > 0:
        solid.append(Polygon(high, colour))
    if radii[0] > 0:
        solid.append(Polygon(low[::-1], colour))
    return tuple(solid)


def ball(centre: Sequence[float], radii: Sequence[float], colour: str, rows: int = 6, sides: int = 10) -> Solid:
    """Return an ellipsoid."""
    latitudes = np.linspace(-np.pi / 2, np.pi / 2, rows + 1)
    longitudes = 2 * np.pi * np.arange(sides) / sides
    grid = np.array(
        [[(np.cos(a) * np.cos(b), np.cos(a) * np.sin(b), np.sin(a)) for b in longitudes] for a in latitudes]
    )
    points = np.asarray(centre, dtype=float) + grid * np.asarray(radii, dtype=float)
    solid = []
    for row in range(rows):
        for side in range(sides):
            after = (side + 1) % sides
            corners = [points[row, side], points[row, after], points[row + 1, after], points[row + 1, side]]
            if row == 0:
                corners = corners[1:]
            elif row == rows - 1:
                corners = corners[:3]
            solid.append(Polygon(np.array(corners), colour))
    return tuple(solid)


def moved(solid: Iterable[Polygon], by: Sequence[float]) -> Solid:
    """Return a solid at another place."""
    return tuple(Polygon(polygon.corners + np.asarray(by), polygon.colour) for polygon in solid)


def smooth_normals(solid: Solid, centre: Sequence[float]) -> Mesh:
    """Return a mesh whose normals point away from a centre, for crowns of trees and heads."""
    built = mesh(solid)
    away = built.vertices - np.asarray(centre)
    away = away / np.linalg.norm(away, axis=1, keepdims=True)
    return Mesh(built.vertices, away, built.places, built.faces)
