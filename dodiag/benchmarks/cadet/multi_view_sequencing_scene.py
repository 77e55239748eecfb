"""Encounters for Multi-View Sequencing: a vehicle and the ego vehicle pass each other, seen by cameras of a ring.

The moments are chosen by how far the vehicle is ahead of the ego vehicle: from ahead to behind, or the other way round
where it overtakes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from dodiag.benchmarks.cadet.street.asking import Rejected, third
from dodiag.benchmarks.cadet.street.cameras import RING, mounted
from dodiag.benchmarks.cadet.street.places import WALK, fill, moved_on, swept
from dodiag.benchmarks.cadet.street.state import (
    COLOURS,
    LIGHTS,
    CrossStreet,
    Layout,
    Pedestrian,
    Snapshot,
    Vehicle,
    Weather,
    corners,
)
from dodiag.benchmarks.cadet.street.town import draw_layout
from dodiag.benchmarks.rendering import Camera

STANDS, MEETS, OVERTAKES, OVERTAKEN = "stands", "meets", "overtakes", "overtaken"
ENCOUNTERS = (STANDS, STANDS, MEETS, MEETS, OVERTAKES, OVERTAKEN)
"""What happens, as often as it is drawn: standing, oncoming and driving in the same direction are equally frequent."""
FOV = 62.0
FARTHEST_BEHIND, FARTHEST_AHEAD = -21.0, 26.0
"""Metres that the reference is ahead of the ego vehicle at the moments of pictures."""
MIN_GAP = 4.2
"""Metres by which that changes from picture to picture."""
MIN_RATIO = 1.12
"""Between the distances of the reference in two pictures, measured to its middle and to its nearest point."""
FACE_ROOM = 1.0
"""Metres that the ring is before the plane of a vehicle's front (or behind its rear) for that face to be seen."""
AXIS_ROOM = 25.0
"""Degrees between the reference and the axis of the camera that takes the picture."""
MIN_BOX_SHARE = 0.66
"""Share of the reference's box that has to be in the picture."""
LARGE = frozenset({"bus", "truck"})
"""Kinds that fill the picture from the next lane: they overtake and are overtaken with a lane between."""
JUNCTION_ROOM = 16.0
"""Metres between a parked reference and the middle of a junction."""
FACES = ("front", "rear", "side")


OPPOSITE = {name: next(other for other in RING if RING[other] == -turn) for name, turn in RING.items()}
"""The camera on the other side of the ring; of the front centre camera, itself."""
MIDDLE_KEPT = 0.35
"""Share of encounters that are kept for each picture, but one, with the reference in the middle third, where it is in
more than half of the pictures otherwise."""


@dataclass(frozen=True, slots=True)
class Encounter:
    """An encounter in pictures.

    Attributes
    ----------
    layout : Layout
    snapshots : tuple of Snapshot
        In order of time.
    egos : tuple of (x, y)
        Where the ego vehicle is at each; it heads along +x.
    cameras : tuple of str
        Which camera of the ring takes the picture of each moment.
    faces : tuple of str
        Which end of the reference each picture shows, of :data:`FACES`.
    kind : str
        What happens, one of :data:`ENCOUNTERS`.
    """

    layout: Layout
    snapshots: tuple[Snapshot, ...]
    egos: tuple[tuple[float, float], ...]
    cameras: tuple[str, ...]
    faces: tuple[str, ...]
    kind: str

    def mirrored(self) -> Encounter:
        """Return it as a mirror shows it, left for right: traffic keeps to the other side of the street."""
        layout = replace(
            self.layout,
            buildings=tuple(replace(house, y=-house.y) for house in self.layout.buildings),
            trees=tuple(replace(tree, y=-tree.y) for tree in self.layout.trees),
        )
        return replace(
            self,
            layout=layout,
            snapshots=tuple(_mirrored(snapshot) for snapshot in self.snapshots),
            egos=tuple((x, -y) for x, y in self.egos),
            cameras=tuple(OPPOSITE[camera] for camera in self.cameras),
        )

    def camera(self, moment: int) -> Camera:
        """Return the camera of one picture."""
        x, y = self.egos[moment]
        return mounted(x, y, 0.0, turn=RING[self.cameras[moment]], horizontal_fov=FOV)

    def reference(self, moment: int) -> Vehicle:
        """Return the vehicle that the questions are about."""
        thing = self.snapshots[moment]["reference"]
        assert isinstance(thing, Vehicle)
        return thing

    def distance(self, moment: int) -> float:
        """Return the metres between the camera ring and the middle of the reference."""
        x, y = self.egos[moment]
        thing = self.reference(moment)
        return float(np.hypot(thing.x - x, thing.y - y))

    def gap(self, moment: int) -> float:
        """Return the metres between the camera ring and the nearest point of the reference's ground plan."""
        x, y = self.egos[moment]
        thing = self.reference(moment)
        length, width, _ = thing.size
        return float(np.hypot(max(0.0, abs(thing.x - x) - length / 2), max(0.0, abs(thing.y - y) - width / 2)))


def encounter(rng: np.random.Generator, what: str, kind: str, frames: int, traffic: int) -> Encounter:
    """Draw an encounter.

    Parameters
    ----------
    rng : numpy.random.Generator
    what : str
        What happens, one of :data:`ENCOUNTERS`.
    kind : str
        Of the reference, a kind of vehicle.
    frames : int
        Pictures.
    traffic : int
        Parked vehicles to try; two thirds as many people.

    Raises
    ------
    Rejected
        If pictures would be too alike.
    """
    ahead = _draw_gaps(rng, frames)
    if what == OVERTAKES:
        ahead = ahead[::-1]
    speed = float(rng.uniform(4.0, 6.0) if what == OVERTAKES else rng.uniform(6.5, 9.0))
    velocity = {
        STANDS: 0.0,
        MEETS: -float(rng.uniform(4.0, 8.0)),
        OVERTAKES: speed + float(rng.uniform(4.0, 6.0)),
        OVERTAKEN: speed - float(rng.uniform(3.8, 5.2)),
    }[what]
    times = tuple(float(gap - ahead[0]) / (velocity - speed) for gap in ahead)
    between = 2 if kind in LARGE else 1
    lanes = 1 + between if what in (OVERTAKES, OVERTAKEN) else int(rng.integers(1, 3))
    lane, y, heading = _draw_lanes(rng, Layout(lanes=lanes), what)
    ego = Layout(lanes=lanes).lane(lane)
    reference = Vehicle("reference", kind, str(rng.choice(list(COLOURS))), float(ahead[0]), y, heading)
    egos = tuple((round(speed * time, 3), ego) for time in times)
    bare = _bare(what, [_moment(reference, velocity, [], [], time) for time in times], egos)
    middle = sum(_shown_third(bare, moment) == 1 for moment in range(frames))
    if rng.random() >= MIDDLE_KEPT ** (middle - 1):
        raise Rejected("the middle third is frequent")
    layout = _draw_layout(rng, lanes, speed * times[-1], float(ahead[0]) if what == STANDS else None)
    taken = [
        (-6.0, ego - 1.6, speed * times[-1] + 6.0, ego + 1.6),
        swept(reference, (velocity, 0.0), (0.0, times[-1])),
    ]
    span = (-20.0, speed * times[-1] + 35.0)
    parked, people = fill(rng, layout, span, taken, {reference.name}, traffic, (2 * traffic) // 3)
    snapshots = tuple(_moment(reference, velocity, parked, people, time) for time in times)
    return replace(bare, layout=layout, snapshots=snapshots)


def _bare(what: str, snapshots: list[Snapshot], egos: tuple[tuple[float, float], ...]) -> Encounter:
    """Return an encounter on a street without houses, which is checked before the costly rest is drawn."""
    bearings = [_bearing(snapshot, place) for snapshot, place in zip(snapshots, egos, strict=True)]
    cameras = tuple(min(RING, key=lambda name: abs(_turn(bearing - RING[name]))) for bearing in bearings)
    if any(abs(_turn(bearing - RING[name])) > AXIS_ROOM for bearing, name in zip(bearings, cameras, strict=True)):
        raise Rejected("the reference is between two cameras")
    faces = tuple(_face(snapshot, place) for snapshot, place in zip(snapshots, egos, strict=True))
    found = Encounter(Layout(), tuple(snapshots), egos, cameras, faces, what)
    _check(found)
    return found


def _draw_gaps(rng: np.random.Generator, frames: int) -> tuple[float, ...]:
    """Return how far the reference is ahead at each moment, falling."""
    for _ in range(1000):
        gaps = np.sort(rng.uniform(FARTHEST_BEHIND, FARTHEST_AHEAD, frames))[::-1]
        if (-np.diff(gaps) >= MIN_GAP).all() and gaps[0] > 7 and gaps[-1] < -5:
            return tuple(float(gap) for gap in gaps)
    raise Rejected("no moments that are apart")


def _draw_layout(rng: np.random.Generator, lanes: int, way: float, parked: float | None) -> Layout:
    """Draw a street of which the ego vehicle drives `way` metres; no junction is where the reference is parked."""
    light: Weather = LIGHTS[int(rng.integers(len(LIGHTS)))]  # type: ignore[assignment]
    place = round(float(rng.uniform(-45, way + 60)), 2)
    none = rng.random() < 0.4 or (parked is not None and abs(place - parked) < JUNCTION_ROOM)
    streets = () if none else (CrossStreet(place),)
    return draw_layout(rng, start=-110, end=way + 120, lanes=lanes, streets=streets, light=light, tree_share=0.3)


def _draw_lanes(rng: np.random.Generator, layout: Layout, what: str) -> tuple[int, float, float]:
    """Return the ego vehicle's lane, and the reference's y and heading."""
    outer = layout.lanes - 1
    if what == OVERTAKES:
        return outer, layout.lane(0), 0.0
    if what == OVERTAKEN:
        lane = int(rng.choice((0, outer)))
        return lane, layout.lane(outer - lane), 0.0
    lane = int(rng.integers(layout.lanes))
    if what == MEETS:
        return lane, layout.lane(int(rng.integers(layout.lanes)), 180.0), 180.0
    heading = float(rng.choice((0.0, 180.0)))
    return lane, layout.parking_lane(heading), heading


def _moment(
    reference: Vehicle, velocity: float, parked: list[Vehicle], people: list[Pedestrian], time: float
) -> Snapshot:
    moved = moved_on(reference, (velocity, 0.0), time)
    walkers = [moved_on(walker, (WALK * float(np.cos(np.radians(walker.heading))), 0.0), time) for walker in people]
    assert isinstance(moved, Vehicle)
    return Snapshot(
        round(time, 3), (moved, *parked), tuple(walker for walker in walkers if isinstance(walker, Pedestrian))
    )


def _mirrored(snapshot: Snapshot) -> Snapshot:
    return replace(
        snapshot,
        vehicles=tuple(replace(thing, y=-thing.y, heading=-thing.heading % 360) for thing in snapshot.vehicles),
        pedestrians=tuple(replace(thing, y=-thing.y, heading=-thing.heading % 360) for thing in snapshot.pedestrians),
    )


def _bearing(snapshot: Snapshot, ego: tuple[float, float]) -> float:
    thing = snapshot["reference"]
    return float(np.degrees(np.arctan2(thing.y - ego[1], thing.x - ego[0])))


def _turn(angle: float) -> float:
    return (angle + 180.0) % 360.0 - 180.0


def _face(snapshot: Snapshot, ego: tuple[float, float]) -> str:
    """Return which end of the reference is turned to the ring.

    Raises
    ------
    Rejected
        If an end is seen so flat that one cannot tell.
    """
    thing = snapshot["reference"]
    along = (ego[0] - thing.x) * (1.0 if thing.heading == 0.0 else -1.0)
    half = thing.size[0] / 2
    if along > half + FACE_ROOM:
        return "front"
    if along < -half - FACE_ROOM:
        return "rear"
    if abs(along) < half - 0.3:
        return "side"
    raise Rejected("an end of the reference is seen flat")


def _check(found: Encounter) -> None:
    moments = range(len(found.snapshots))
    for measure in (found.distance, found.gap):
        ranked = sorted(measure(moment) for moment in moments)
        if any(after < MIN_RATIO * max(before, 0.5) for before, after in pairwise(ranked)):
            raise Rejected("two distances are alike")
    if sorted(moments, key=found.distance) != sorted(moments, key=found.gap):
        raise Rejected("nearest point and middle disagree")
    if len(set(found.cameras)) < 3:
        raise Rejected("fewer than three cameras")
    for moment in moments:
        if _shown_third(found, moment) is None:
            raise Rejected("the reference is cut or on the border of a third")
        if found.faces[moment] != "side" and not _end_in_frame(found, moment):
            raise Rejected("the end of the reference is off the picture")


def _shown_third(found: Encounter, moment: int) -> int | None:
    """Return in which third of the picture the middle of what is seen of the reference is.

    None where most of its width is not in the picture, or its middle is near a border of thirds.
    """
    thing, camera = found.reference(moment), found.camera(moment)
    places = np.array([(*corner, height) for corner in corners(thing) for height in (0.3, thing.size[2])])
    if ((places - camera.position) @ camera.axes[2]).min() < 0.5:
        return None
    pixels = camera.project(places)
    low, high = pixels.min(axis=0), pixels.max(axis=0)
    shown = np.clip((low, high), 0.0, (camera.width, camera.height))
    if np.prod(shown[1] - shown[0]) < MIN_BOX_SHARE * np.prod(high - low):
        return None
    return third(float(shown[:, 0].mean()), camera.width)


def _end_in_frame(found: Encounter, moment: int) -> bool:
    """Return whether the middle of the end that is turned to the ring is in the picture."""
    thing, camera = found.reference(moment), found.camera(moment)
    plan = np.array(corners(thing))
    end = plan[[0, 3]].mean(axis=0) if found.faces[moment] == "front" else plan[[1, 2]].mean(axis=0)
    place = np.array((*end, thing.size[2] / 2))
    if (place - camera.position) @ camera.axes[2] < 0.3:
        return False
    across = camera.project(place)[0]
    return bool(6 < across < camera.width - 6)
