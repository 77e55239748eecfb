"""Scenes of rolled dice: a throw at rest, a camera that sees every die well, a lamp, and the picture.

Everything that a question is made from (values, places, what hides what) comes from the rigid-body state and plane
geometry. The renderer only draws the picture and measures the boxes: with another GL library all text is the same but
for boxes, which may differ by a pixel.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dodiag.benchmarks.cadet.dice_model import RGB, Body, build_model, draw_look, lie_flat, locate, throw
from dodiag.benchmarks.cadet.dice_view import Die, Pixel, corners, see, surface_at, vector
from dodiag.benchmarks.rendering import Camera, Renderer, Vector, load_mujoco
from dodiag.problems import DodiagError

WIDTH, HEIGHT = 800, 600

LIGHT_COLOURS: dict[str, RGB] = {"neutral": (1.0, 1.0, 1.0), "warm": (1.0, 0.93, 0.82), "cool": (0.88, 0.94, 1.0)}

VIEWS_PER_ROLL = 8
MAX_ROLLS = 400

Box = tuple[int, int, int, int]


class NoScene(DodiagError):
    """No acceptable scene was found, or the renderer did not draw what the physics says."""


@dataclass(frozen=True, slots=True)
class Light:
    """The lamp and the light of the room.

    Attributes
    ----------
    position : tuple of 3 floats
        Of the lamp, metres; it points at the dice.
    colour : str
        A key of :data:`LIGHT_COLOURS`.
    intensity, ambient : float
        Of the lamp and of the room; 1 is full white.
    shadows : bool
        Whether the lamp casts shadows.
    """

    position: Vector
    colour: str
    intensity: float
    ambient: float
    shadows: bool


@dataclass(frozen=True, slots=True, eq=False)
class Arrangement:
    """Dice at rest, seen well by a camera: all that questions are made from, before anything is drawn.

    Attributes
    ----------
    dice : tuple of Die
        From left to right by projected centre.
    camera : Camera
    light : Light
    table : str
        A key of ``dice_model.TABLES``.
    rejected_rolls, rejected_views : int
        Throws that were given up, and cameras that did not see every die well, before this one.
    model, data : mujoco.MjModel, mujoco.MjData
        The rigid-body state; the die that is ``dice[i]`` is the body ``dice[i].body_name``.
    """

    dice: tuple[Die, ...]
    camera: Camera
    light: Light
    table: str
    rejected_rolls: int
    rejected_views: int
    model: Any
    data: Any

    def surface(self, pixel: Pixel) -> tuple[int, int] | None:
        """Return what a pixel shows: (index of a die, value of its face), or None for the table."""
        return surface_at(self.camera, [die.body for die in self.dice], pixel)


@dataclass(frozen=True, slots=True, eq=False)
class DiceScene:
    """An arrangement and what the renderer makes of it.

    Attributes
    ----------
    arrangement : Arrangement
    picture : array of shape (HEIGHT, WIDTH, 3)
    boxes : tuple of (left, top, right, bottom)
        Around the visible pixels of each die of the arrangement; right and bottom are one past the last pixel.
    """

    arrangement: Arrangement
    picture: NDArray[np.uint8]
    boxes: tuple[Box, ...]


def arrange(rng: np.random.Generator, count: int) -> Arrangement:
    """Throw `count` dice until they lie well and a camera sees all of them well.

    Accepted is an arrangement in which every die is at rest flat on the table, whole inside the frame with a margin,
    named without ambiguity and visible enough; all pips of all top faces must be unhidden and large enough to count.

    Parameters
    ----------
    rng : numpy.random.Generator
        The only source of chance.
    count : int
        Number of dice, 1 to 9.

    Raises
    ------
    MissingDependency
        If MuJoCo or its GL library is not there.
    NoScene
        If no throw was accepted; it has not been seen to happen.
    """
    look = draw_look(rng, count)
    model = build_model(look)
    rejected_views = 0
    for rejected_rolls in range(MAX_ROLLS):
        data = throw(model, look, rng)
        bodies = () if data is None else locate(data, look)
        if not bodies or not lie_flat(bodies):
            continue
        for _ in range(VIEWS_PER_ROLL):
            camera = _draw_camera(rng, bodies)
            dice = see(camera, bodies, look)
            if dice is not None:
                return Arrangement(
                    dice=tuple(sorted(dice, key=lambda die: die.centre)),
                    camera=camera,
                    light=_draw_light(rng),
                    table=look.table,
                    rejected_rolls=rejected_rolls,
                    rejected_views=rejected_views,
                    model=model,
                    data=data,
                )
            rejected_views += 1
    raise NoScene(f"{MAX_ROLLS} throws of {count} dice gave no scene in which all are seen well")


def draw(arrangement: Arrangement) -> DiceScene:
    """Draw the picture, and measure the boxes on a second drawing that shows which pixel is whose.

    Raises
    ------
    MissingDependency
        If no GL context can be made.
    NoScene
        If the renderer leaves out a die.
    """
    camera, model = arrangement.camera, arrangement.model
    _place_light(arrangement)
    with Renderer(model, camera.width, camera.height) as renderer:
        picture = renderer.picture(arrangement.data, camera)
        geoms = renderer.geoms(arrangement.data, camera)
    owners = np.where(geoms >= 0, model.geom_bodyid[geoms], 0)
    boxes = []
    for die in arrangement.dice:
        rows, columns = np.nonzero(owners == model.body(die.body_name).id)
        if not len(rows):
            cure = "Its GL library is broken; choose another one with MUJOCO_GL"
            raise NoScene(f"the renderer left out the {die.name}", cure)
        boxes.append((int(columns.min()), int(rows.min()), int(columns.max()) + 1, int(rows.max()) + 1))
    return DiceScene(arrangement, picture, tuple(boxes))


def _draw_camera(rng: np.random.Generator, bodies: Sequence[Body]) -> Camera:
    """Return a camera from a random direction, at the distance where the dice fill a random share of the frame."""
    centre = np.mean([body.centre for body in bodies], axis=0)
    elevation = rng.uniform(37, 66)
    azimuth = rng.uniform(0, 360)
    fov = rng.uniform(26, 48)
    share = rng.uniform(0.66, 0.92)
    shift = rng.uniform(-0.5, 0.5, size=2) * (1 - share)
    camera = Camera(vector(centre), 0.6, azimuth, elevation, fov, WIDTH, HEIGHT)
    vertices = np.concatenate([corners(body) for body in bodies])
    frame = np.array((WIDTH, HEIGHT))
    for _ in range(4):
        pixels = camera.project(vertices)
        low, high = pixels.min(axis=0), pixels.max(axis=0)
        off = ((low + high) / 2 - frame / 2) / camera.focal * camera.distance
        step = off[0] * camera.axes[0] - off[1] * camera.axes[1] / np.sin(np.radians(elevation))
        target = np.asarray(camera.target) + np.array((step[0], step[1], 0.0))
        distance = max(0.2, camera.distance * float(((high - low) / frame).max()) / share)
        camera = replace(camera, target=vector(target), distance=distance)
    off = shift * frame / camera.focal * camera.distance
    target = np.asarray(camera.target) + off[0] * camera.axes[0] + off[1] * camera.axes[1]
    return replace(camera, target=vector(np.array((target[0], target[1], camera.target[2]))))


def _draw_light(rng: np.random.Generator) -> Light:
    azimuth = rng.uniform(0, 2 * np.pi)
    elevation = np.radians(rng.uniform(38, 76))
    distance = rng.uniform(0.7, 1.2)
    across = distance * np.cos(elevation)
    position = np.array((across * np.cos(azimuth), across * np.sin(azimuth), distance * np.sin(elevation)))
    return Light(
        position=vector(position),
        colour=str(rng.choice(list(LIGHT_COLOURS))),
        intensity=float(rng.uniform(0.7, 1.0)),
        ambient=float(rng.uniform(0.31, 0.42)),
        shadows=bool(rng.random() < 0.75),
    )


def _place_light(arrangement: Arrangement) -> None:
    model, light = arrangement.model, arrangement.light
    lamp = model.light("lamp").id
    position, target = np.asarray(light.position), np.asarray(arrangement.camera.target)
    colour = np.asarray(LIGHT_COLOURS[light.colour])
    model.light_pos[lamp] = position
    model.light_dir[lamp] = (target - position) / np.linalg.norm(target - position)
    model.light_diffuse[lamp] = light.intensity * colour
    model.light_specular[lamp] = 0.3 * colour
    model.light_castshadow[lamp] = light.shadows
    model.vis.headlight.ambient[:] = light.ambient
    model.vis.headlight.diffuse[:] = 0.15
    model.vis.headlight.specular[:] = 0.0
    load_mujoco().mj_camlight(model, arrangement.data)
