"""What the camera sees of each agent at the moments that questions are about, and the video."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from dodiag.benchmarks.cadet.street.scene import Scene
from dodiag.benchmarks.cadet.street.silhouette import silhouette_area
from dodiag.benchmarks.cadet.street.state import Layout, Signal, Thing
from dodiag.benchmarks.cadet.street.town import ground_height
from dodiag.benchmarks.cadet.traffic.agents import EGO
from dodiag.benchmarks.cadet.traffic.rules import STEP, Run
from dodiag.benchmarks.cadet.traffic.staging import CAMERA_HEIGHT, TILT_PIXELS, dashcam, parts_of, snapshot
from dodiag.benchmarks.rendering import Camera
from dodiag.benchmarks.video_files import mp4

FPS = round(1 / STEP)

SMALLEST = 110
"""Pixels of an agent, and LEAST_SHARE of what could be seen of it, from which it is clearly seen."""

LEVEL = 0.9
"""Metres above the ground of the points that are asked about, where the thing can be seen there: a point in the middle
would tell a truck from a car by its height in the frame alone."""

LEAST_SHARE = 0.5
LEAST_SIDE = 7
"""Pixels of width and of height of its box, where it is clearly seen."""

INSIDE = 2.0
"""Pixels between a point that is asked about and the edge of the thing it lies on."""

Box = tuple[int, int, int, int]
Point = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Sighting:
    """An agent in one frame.

    Attributes
    ----------
    pixels : int
        Visible pixels.
    share : float
        Visible share of it, 0 to 1.
    box : tuple of (left, top, right, bottom)
    point : tuple of (x, y)
        Well on it, near its middle.
    clear : bool
        Whether a person sees it clearly.
    depth : float
        Metres from the camera along its view.
    """

    pixels: int
    share: float
    box: Box
    point: Point
    clear: bool
    depth: float


@dataclass(frozen=True, slots=True, eq=False)
class Footage:
    """A run, drawn.

    Attributes
    ----------
    run : Run
    keys : tuple of int
        Whole seconds that questions are about.
    sightings : mapping of (agent id, second) to Sighting
        Where an agent is seen at all.
    owners : mapping of second to array of shape (height, width)
        Index in `names` of the agent that each pixel shows; −1 for none.
    names : tuple of str
        Agent ids.
    """

    run: Run
    keys: tuple[int, ...]
    sightings: Mapping[tuple[str, int], Sighting]
    owners: Mapping[int, NDArray[np.int32]]
    names: tuple[str, ...]

    def clear(self, agent_id: str, key: int) -> bool:
        """Return whether an agent is clearly seen at a whole second."""
        seen = self.sightings.get((agent_id, key))
        return seen is not None and seen.clear

    def clear_keys(self, agent_id: str) -> list[int]:
        """Return the seconds at which an agent is clearly seen."""
        return [key for key in self.keys if self.clear(agent_id, key)]

    def shows(self, point: Point, key: int) -> str:
        """Return the id of the agent that a pixel shows at a second; empty for none."""
        owner = int(self.owners[key][point[1], point[0]])
        return self.names[owner] if owner >= 0 else ""


def open_scene(run: Run, layout: Layout) -> Scene:
    """Return the street scene of a run; close it after use."""
    return Scene.of(layout, [snapshot(run, 0)])


def survey(run: Run, scene: Scene, seconds: int) -> Footage:
    """Return what is seen at every whole second from 0 on, the last included, without drawing the video."""
    keys = tuple(range(seconds + 1))
    names = tuple(agent.id for agent in run.world.agents if agent.id != EGO)
    sightings: dict[tuple[str, int], Sighting] = {}
    owners: dict[int, NDArray[np.int32]] = {}
    places = {part: names.index(name) for name in names for part in parts_of(run.world, name)}
    table = np.array([places.get(part, -1) for part in scene.ids] + [-1], dtype=np.int32)
    for key in keys:
        step = round(key / STEP)
        shown, camera = snapshot(run, step), dashcam(run, step)
        owners[key] = table[scene.segment(shown, camera)]
        for index, name in enumerate(names):
            mask = owners[key] == index
            if mask.any():
                things = [shown[part] for part in parts_of(run.world, name)]
                whole = sum(_area(scene.layout, thing, camera) for thing in things)
                sightings[name, key] = _sighting(mask, whole, things[0], camera)
    return Footage(run, keys, sightings, owners, names)


def film(run: Run, scene: Scene) -> bytes:
    """Draw every step and return the video file."""
    frames = [scene.render(snapshot(run, step), dashcam(run, step)) for step in range(len(run.times))]
    return mp4(frames, FPS)


def _area(layout: Layout, thing: Thing, camera: Camera) -> int:
    """Return how many pixels a thing would have if nothing hid it and the picture had no edge."""
    return silhouette_area(thing, ground_height(layout, thing.x, thing.y), camera)


def _sighting(mask: NDArray[np.bool_], whole: int, thing: Thing, camera: Camera) -> Sighting:
    rows, columns = np.nonzero(mask)
    pixels = len(rows)
    share = min(1.0, pixels / whole) if whole else 0.0
    box = (int(columns.min()), int(rows.min()), int(columns.max()) + 1, int(rows.max()) + 1)
    left, top, right, bottom = box
    part = mask[top:bottom, left:right]
    signal = isinstance(thing, Signal)
    if signal:  # its pole is no good place for a point
        part = part.copy()
        part[(bottom - top) // 3 :] = False
    inner = ndimage.distance_transform_edt(np.pad(part, 1))[1:-1, 1:-1]
    place = np.array((thing.x, thing.y, LEVEL))
    depth = max(0.5, float((place - camera.position) @ camera.axes[2]))
    level = camera.height / 2 + (CAMERA_HEIGHT - LEVEL) * camera.focal / depth - TILT_PIXELS
    y, x = np.mgrid[: part.shape[0], : part.shape[1]]
    columns = np.nonzero(part)[1]
    middle = float(columns.mean()) if len(columns) else 0.0
    aim = 0.0 if signal else level - top
    score = 1.5 * np.minimum(inner, 3.0) - 0.1 * np.abs(y - aim) - 0.03 * np.abs(x - middle)
    score[~part] = -np.inf
    row, column = np.unravel_index(int(score.argmax()), score.shape)
    wide = min(right - left, bottom - top) >= LEAST_SIDE or signal
    clear = pixels >= SMALLEST and share >= LEAST_SHARE and wide and float(inner[row, column]) >= INSIDE
    point = (left + int(column), top + int(row))
    return Sighting(pixels, round(share, 2), box, point, clear, round(depth, 2))
