"""What a camera sees of dice at rest: faces, what hides them, and how each die can be named without ambiguity.

Plane geometry on rounded cubes taken as sharp ones; no renderer is asked.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from dodiag.benchmarks.cadet.dice_model import NORMALS, PIP_RADIUS, PIP_SPACING, PIPS, Body, Look
from dodiag.benchmarks.rendering import Camera, Floats, Vector

Pixel = tuple[float, float]

MARGIN = 14.0
"""Pixels between every die and the frame."""
MIN_TOP_COSINE = 0.57
"""Between the upward direction and the direction to the camera: lower, and pips become slits."""
MIN_PIP_HEIGHT = 5.0
"""Pixels across the shorter axis of a pip on a top face."""
MIN_TOP_SHARE, MIN_DIE_SHARE = 0.95, 0.65
"""Visible share of a top face (its pips must be visible wholly), and of all faces turned to the camera."""
MIN_SIDE_COSINE, MIN_SIDE_SHARE = 0.2, 0.75
"""How squarely, and how wholly, a side face is seen that questions may point at."""
SIDE_CLEARANCE = 8.0
"""Pixels between a side face's centre and the top face: nearer, a point does not tell which face it is on."""
OUTLINE = 0.92
"""Where a face's outline runs, in half edges: rounded edges lie inside the sharp cube's."""
NAMING_MARGIN = 0.6
"""Dice of one colour are told apart left from right if their centres are this share of a die's width apart."""


@dataclass(frozen=True, slots=True)
class Face:
    """One face of a die in the picture.

    Attributes
    ----------
    value : int
        Its number of pips.
    centre : tuple of 2 floats
        Pixel coordinates of its centre.
    outline : tuple of 4 points
        Its corners in order, pixel coordinates.
    share : float
        How much of it is visible, 0 to 1.
    """

    value: int
    centre: Pixel
    outline: tuple[Pixel, ...]
    share: float


@dataclass(frozen=True, slots=True)
class Die:
    """One die at rest, and how it is seen.

    Attributes
    ----------
    name : str
        How a question refers to it: ``red die``, ``left one of the two red dice``.
    colour, pip_colour : str
    edge : float
        Millimetres.
    position : tuple of 3 floats
        Its centre in metres; the table is z = 0.
    rotation : tuple of 9 floats
        Rotation matrix, row by row, from the die's frame (``dice_model.NORMALS``) to the world.
    centre : tuple of 2 floats
        Its projected centre, pixels.
    top : Face
    sides : tuple of Face
        The side faces that can be recognised as such, clearest first; at least one.
    share : float
        Visible share of the faces turned to the camera.
    body_name : str
        What the physical model calls it.
    """

    name: str
    colour: str
    pip_colour: str
    edge: float
    position: Vector
    rotation: tuple[float, ...]
    centre: Pixel
    top: Face
    sides: tuple[Face, ...]
    share: float
    body_name: str

    @property
    def value(self) -> int:
        """Pips on the top face."""
        return self.top.value

    @property
    def body(self) -> Body:
        """The cube that it is."""
        return Body(self.edge / 2000, np.array(self.position), np.array(self.rotation).reshape(3, 3))


def see(camera: Camera, bodies: Sequence[Body], look: Look) -> tuple[Die, ...] | None:
    """Return the dice as the camera sees them, without boxes, or None where one is not seen well."""
    if not _inside(camera, bodies):
        return None
    centres = [_pixel(camera.project(body.centre)) for body in bodies]
    names = _names(camera, bodies, look.colours, centres)
    if names is None:
        return None
    dice = []
    for index, body in enumerate(bodies):
        others = [other for other in bodies if other is not body]
        top = _face(camera, body, body.top, others)
        if top is None or not _countable(camera, body, others) or top.share < MIN_TOP_SHARE:
            return None
        sides = _sides(camera, body, others, top)
        share = _share(camera, body, others)
        if not sides or share < MIN_DIE_SHARE:
            return None
        die = Die(
            name=names[index],
            colour=look.colours[index],
            pip_colour=look.pip_colours[index],
            edge=look.edges[index],
            position=vector(body.centre),
            rotation=tuple(float(entry) for entry in body.rotation.ravel()),
            centre=centres[index],
            top=top,
            sides=sides,
            share=share,
            body_name=f"die{index}",
        )
        dice.append(die)
    return tuple(dice)


def _inside(camera: Camera, bodies: Sequence[Body]) -> bool:
    pixels = camera.project(np.concatenate([corners(body) for body in bodies]))
    low, high = pixels.min(axis=0), pixels.max(axis=0)
    return bool(low.min() >= MARGIN and high[0] <= camera.width - MARGIN and high[1] <= camera.height - MARGIN)


def _names(
    camera: Camera, bodies: Sequence[Body], colours: Sequence[str], centres: Sequence[Pixel]
) -> tuple[str, ...] | None:
    """Name every die by its colour, and where a colour stands twice by its place from left to right."""
    places = {2: ("left one", "right one"), 3: ("leftmost", "middle one", "rightmost")}
    names = [""] * len(bodies)
    for colour, count in Counter(colours).items():
        group = sorted((i for i, other in enumerate(colours) if other == colour), key=lambda i: centres[i][0])
        if count == 1:
            names[group[0]] = f"{colour} die"
            continue
        for place, index in zip(places[count], group, strict=True):
            names[index] = f"{place} of the {'two' if count == 2 else 'three'} {colour} dice"
        for first, second in pairwise(group):
            width = max(_width(camera, bodies[first]), _width(camera, bodies[second]))
            if centres[second][0] - centres[first][0] < NAMING_MARGIN * width:
                return None
    return tuple(names)


def _width(camera: Camera, body: Body) -> float:
    pixels = camera.project(corners(body))
    return float(np.ptp(pixels[:, 0]))


def _face(camera: Camera, body: Body, value: int, others: Sequence[Body]) -> Face | None:
    """Return a face as seen, or None where it is turned away."""
    if _cosine(camera, body, value) <= 0:
        return None
    line = np.linspace(-0.95, 0.95, 12)
    grid = np.stack(np.meshgrid(line, line), axis=-1).reshape(-1, 2)
    hidden = _hidden(camera, body.on_face(value, grid), others)
    outline = camera.project(body.on_face(value, OUTLINE * np.array(((-1, -1), (1, -1), (1, 1), (-1, 1)))))
    return Face(
        value=value,
        centre=_pixel(camera.project(body.on_face(value, np.zeros((1, 2)))[0])),
        outline=tuple(_pixel(corner) for corner in outline),
        share=float(1 - hidden.mean()),
    )


def _countable(camera: Camera, body: Body, others: Sequence[Body]) -> bool:
    """Return whether the pips of the top face are unhidden, large enough, and not seen too flat."""
    if _cosine(camera, body, body.top) < MIN_TOP_COSINE:
        return False
    turn = np.linspace(0, 2 * np.pi, 16, endpoint=False)
    rim = PIP_RADIUS * np.stack((np.cos(turn), np.sin(turn)), axis=-1)
    pips = PIP_SPACING * np.array(PIPS[body.top], dtype=float)
    points = body.on_face(body.top, pips[:, None, :] + rim)
    if _hidden(camera, points.reshape(-1, 3), others).any():
        return False
    pixels = camera.project(points)
    opposite = np.linalg.norm(pixels[:, :8] - pixels[:, 8:], axis=-1)
    return bool(opposite.min() >= MIN_PIP_HEIGHT)


def _sides(camera: Camera, body: Body, others: Sequence[Body], top: Face) -> tuple[Face, ...]:
    """Return the side faces that are seen squarely and wholly enough, and whose centre is off the top face."""
    found = []
    for value in NORMALS:
        if value in (body.top, 7 - body.top) or _cosine(camera, body, value) < MIN_SIDE_COSINE:
            continue
        face = _face(camera, body, value, others)
        centre = body.on_face(value, np.array([(x, y) for x in (-0.3, 0, 0.3) for y in (-0.3, 0, 0.3)]))
        if (
            face is not None
            and face.share >= MIN_SIDE_SHARE
            and not _hidden(camera, centre, others).any()
            and distance_outside(face.centre, top.outline) >= SIDE_CLEARANCE
        ):
            found.append(face)
    return tuple(sorted(found, key=lambda face: -_cosine(camera, body, face.value)))


def _share(camera: Camera, body: Body, others: Sequence[Body]) -> float:
    """Return the visible share of the faces turned to the camera, weighted by the area they show."""
    weighted = total = 0.0
    for value in NORMALS:
        if (face := _face(camera, body, value, others)) is not None:
            area = _cosine(camera, body, value)
            weighted += area * face.share
            total += area
    return weighted / total


def _cosine(camera: Camera, body: Body, value: int) -> float:
    """Return the cosine between a face's normal and the direction from it to the camera."""
    towards = camera.position - (body.centre + body.half * body.normal(value))
    return float(body.normal(value) @ towards / np.linalg.norm(towards))


def _hidden(camera: Camera, points: Floats, others: Sequence[Body]) -> NDArray[np.bool_]:
    """Return for each world point whether another die stands between it and the camera."""
    hidden = np.zeros(len(points), dtype=bool)
    for other in others:
        enter, leave, _ = _crossing(camera.position, points - camera.position, other)
        hidden |= (enter < leave) & (leave > 0) & (enter < 1 - 1e-9)
    return hidden


def _crossing(origin: Floats, directions: Floats, body: Body) -> tuple[Floats, Floats, NDArray[np.intp]]:
    """Return where rays enter and leave a cube, in lengths of their direction, and the axis of the face they enter."""
    start = (origin - body.centre) @ body.rotation
    along = directions @ body.rotation
    along = np.where(np.abs(along) < 1e-12, 1e-12, along)
    first, second = (-body.half - start) / along, (body.half - start) / along
    near, far = np.minimum(first, second), np.maximum(first, second)
    return near.max(axis=-1), far.min(axis=-1), near.argmax(axis=-1)


def surface_at(camera: Camera, bodies: Sequence[Body], pixel: Pixel) -> tuple[int, int] | None:
    """Return what a pixel shows: (index of a die, value of its face), or None where it shows no die."""
    direction = camera.directions(np.array(pixel))[None, :]
    nearest, found = np.inf, None
    for index, body in enumerate(bodies):
        enter, leave, axis = _crossing(camera.position, direction, body)
        if 0 < enter[0] < leave[0] and enter[0] < nearest:
            inward = float((direction[0] @ body.rotation)[axis[0]])
            side = np.zeros(3)
            side[axis[0]] = -np.sign(inward)
            value = next(value for value, normal in NORMALS.items() if np.array_equal(normal, side))
            nearest, found = float(enter[0]), (index, value)
    return found


def distance_outside(point: Pixel, outline: Sequence[Pixel]) -> float:
    """Return the distance from a point to a convex polygon, 0 inside it."""
    corners = np.array(outline)
    following = np.roll(corners, -1, axis=0)
    edges = following - corners
    to_point = np.array(point) - corners
    turns = edges[:, 0] * to_point[:, 1] - edges[:, 1] * to_point[:, 0]
    if (turns >= 0).all() or (turns <= 0).all():
        return 0.0
    along = np.clip((edges * to_point).sum(axis=1) / (edges**2).sum(axis=1), 0, 1)
    return float(np.linalg.norm(to_point - along[:, None] * edges, axis=1).min())


def corners(body: Body) -> Floats:
    """Return the eight corners of a die, in the world."""
    signs = np.array([(x, y, z) for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], dtype=float)
    corners: Floats = body.centre + body.half * signs @ body.rotation.T
    return corners


def vector(point: Floats) -> Vector:
    """Return a point as a tuple of three numbers."""
    x, y, z = (float(entry) for entry in point)
    return x, y, z


def _pixel(point: Floats) -> Pixel:
    return float(point[0]), float(point[1])
