"""One MuJoCo model of a street from which many moments and many cameras are drawn, and what each camera sees of whom.

The model is compiled once; a snapshot only moves bodies and switches lamps. No light casts shadows (that would cost
five times as much); soft dark patches under vehicles, people and trees stand in for them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from types import TracebackType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dodiag.benchmarks.cadet.street import model as street_model
from dodiag.benchmarks.cadet.street.model import Built, build
from dodiag.benchmarks.cadet.street.silhouette import silhouette_area
from dodiag.benchmarks.cadet.street.state import Layout, Pedestrian, Signal, Snapshot, Thing, Vehicle
from dodiag.benchmarks.cadet.street.town import ground_height
from dodiag.benchmarks.rendering import Camera, Renderer, load_mujoco
from dodiag.problems import UsageError

Box = tuple[int, int, int, int]


@dataclass(frozen=True, slots=True)
class View:
    """What a camera sees of one thing.

    Attributes
    ----------
    pixels : int
        Visible pixels of it.
    whole : int
        Pixels it would have if nothing hid it and the picture had no edge.
    box : tuple of (left, top, right, bottom)
        Around the visible pixels; right and bottom are one past the last.
    """

    pixels: int
    whole: int
    box: Box

    @property
    def share(self) -> float:
        """Visible share, 0 to 1."""
        return min(1.0, self.pixels / self.whole) if self.whole else 0.0

    @property
    def centre(self) -> tuple[float, float]:
        """Middle of the box."""
        left, top, right, bottom = self.box
        return (left + right) / 2, (top + bottom) / 2

    def mirrored(self, width: int) -> View:
        """Return what a mirror shows: left for right in a picture of this width."""
        left, top, right, bottom = self.box
        return replace(self, box=(width - right, top, width - left, bottom))


def anchor(mask: NDArray[np.bool_], rng: np.random.Generator) -> tuple[int, int] | None:
    """Return a pixel (x, y) of a thing, drawn from those that are near its middle and well inside it; None without one.

    Parameters
    ----------
    mask : array of bool, shape (height, width)
        Which pixels are the thing's. Well inside is what has no other pixel beside it, above or below; near the middle
        is the middle half of its box in either direction.
    rng : numpy.random.Generator
    """
    rows, columns = np.nonzero(mask)
    if not len(rows):
        return None
    inner = mask.copy()
    for axis in (0, 1):
        inner &= np.roll(mask, 1, axis=axis) & np.roll(mask, -1, axis=axis)
    low = np.array((rows.min(), columns.min()))
    size = np.array((rows.max(), columns.max())) - low
    places = np.argwhere(inner)
    near = places[(np.abs(places - low - size / 2) <= size / 4).all(axis=1)]
    if not len(near):
        return None
    row, column = near[int(rng.integers(len(near)))]
    return int(column), int(row)


class Scene:
    """A street with everything that will ever be in it; a context manager, because GL memory has to be given back.

    Parameters
    ----------
    layout : Layout
    things : iterable of Vehicle, Pedestrian, Signal or Obstacle
        All that snapshots will show, at any place; pass ``(*snapshot,)`` of one or several moments. The same id may
        come several times if kind and colour stay the same.

    Raises
    ------
    MissingDependency
        If MuJoCo or a GL library is missing.
    UsageError
        If an id stands for two different things.
    """

    def __init__(self, layout: Layout, things: Iterable[Thing]) -> None:
        self.layout = layout
        self._built: Built = build(layout, things)
        self._data: Any = load_mujoco().MjData(self._built.model)
        self._renderers: dict[tuple[int, int], Renderer] = {}
        self._shown: Snapshot | None = None
        self._index = {name: place for place, name in enumerate(self.ids)}

    @classmethod
    def of(cls, layout: Layout, snapshots: Iterable[Snapshot]) -> Scene:
        """Return a scene of everything that is in any of the snapshots."""
        return cls(layout, [thing for snapshot in snapshots for thing in snapshot])

    def __enter__(self) -> Scene:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Give the GL memory back."""
        for renderer in self._renderers.values():
            renderer.__exit__(None, None, None)
        self._renderers.clear()

    @property
    def ids(self) -> tuple[str, ...]:
        """What the numbers of :meth:`segment` stand for: ids of things, then of houses."""
        return self._built.ids

    def render(self, snapshot: Snapshot, camera: Camera) -> NDArray[np.uint8]:
        """Return the picture, shape (height, width, 3)."""
        self._show(snapshot)
        return self._renderer(camera).picture(self._data, camera)

    def segment(self, snapshot: Snapshot, camera: Camera) -> NDArray[np.int32]:
        """Return for each pixel the place in :attr:`ids` of what it shows, −1 for anything else; (height, width)."""
        self._show(snapshot)
        geoms = self._renderer(camera).geoms(self._data, camera)
        owners: NDArray[np.int32] = np.where(geoms >= 0, self._built.owners[geoms], -1).astype(np.int32)
        return owners

    def visible(
        self, snapshot: Snapshot, camera: Camera, owners: NDArray[np.int32] | None = None
    ) -> Mapping[str, View]:
        """Return what the camera sees of each thing (not of houses); who is not seen at all is left out.

        Parameters
        ----------
        snapshot : Snapshot
        camera : Camera
        owners : array, optional
            What :meth:`segment` returned for the two, where it is at hand.
        """
        owners = self.segment(snapshot, camera) if owners is None else owners
        found = {}
        for thing in snapshot:
            rows, columns = np.nonzero(owners == self._index[thing.id])
            if len(rows):
                box = (int(columns.min()), int(rows.min()), int(columns.max()) + 1, int(rows.max()) + 1)
                height = ground_height(self.layout, thing.x, thing.y)
                found[thing.id] = View(len(rows), silhouette_area(thing, height, camera), box)
        return found

    def _renderer(self, camera: Camera) -> Renderer:
        size = (camera.width, camera.height)
        if size not in self._renderers:
            self._renderers[size] = Renderer(self._built.model, *size)
        return self._renderers[size]

    def _show(self, snapshot: Snapshot) -> None:
        if snapshot is self._shown:
            return
        data, model = self._data, self._built.model
        data.mocap_pos[:, 2] = street_model.HIDDEN_DEPTH
        for thing in snapshot:
            handle = self._built.handles.get(thing.id)
            if handle is None or handle.look != street_model.look_of(thing):
                cure = "Give the scene everything that its snapshots show."
                raise UsageError(f"the scene was not built with '{thing.id}' as it is in the snapshot", cure)
            height = ground_height(self.layout, thing.x, thing.y)
            data.mocap_pos[handle.mocap] = (thing.x, thing.y, height)
            half = np.radians(thing.heading) / 2
            data.mocap_quat[handle.mocap] = (np.cos(half), 0.0, 0.0, np.sin(half))
            if isinstance(thing, Vehicle):
                lit = {"brake": thing.braking, "left": thing.left_indicator, "right": thing.right_indicator}
                for lamp, on in lit.items():
                    model.geom_rgba[handle.lamps[lamp], 3] = float(on)
            elif isinstance(thing, Signal):
                for lamp, geom in handle.lamps.items():
                    model.geom_rgba[geom] = street_model.lamp_colour(lamp, lit=lamp == thing.colour)
                    model.geom_matid[geom] = self._built.glow if lamp == thing.colour else self._built.plain
            elif isinstance(thing, Pedestrian):
                for limb, body in handle.limbs.items():
                    turn = street_model.limb_angle(limb, thing.stride) / 2
                    model.body_quat[body] = (np.cos(turn), 0.0, np.sin(turn), 0.0)
        mujoco = load_mujoco()
        mujoco.mj_kinematics(model, data)
        mujoco.mj_camlight(model, data)
        self._shown = snapshot
