"""Drives for Street-View Ordering: the ego vehicle goes straight on; a reference stands, drives, comes or crosses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from dodiag.benchmarks.cadet.street.asking import Rejected
from dodiag.benchmarks.cadet.street.cameras import mounted
from dodiag.benchmarks.cadet.street.places import WALK, fill, moved_on, swept
from dodiag.benchmarks.cadet.street.state import (
    COLOURS,
    KINDS,
    LIGHTS,
    CrossStreet,
    Layout,
    Pedestrian,
    Snapshot,
    Thing,
    Vehicle,
    Weather,
    corners,
)
from dodiag.benchmarks.cadet.street.town import draw_layout
from dodiag.benchmarks.rendering import Camera

MOTIONS = ("stands", "same direction", "opposite direction", "crosses")
REFERENCE_KINDS = ("pedestrian", *KINDS)
NEAREST = {"pedestrian": 8.0, "motorcycle": 9.0, "car": 10.5, "van": 12.0, "truck": 14.0, "bus": 15.0}
"""Metres between the ego vehicle and the reference in the nearest picture."""

MIN_HEIGHT = 20
"""Pixels that the reference is high in every picture."""
MIN_RATIO = 1.10
"""Between heights, and between distances, of the reference in two pictures."""
MIN_STEP = 3.2
"""Metres that the ego vehicle goes from picture to picture."""
SAME_LANE = 0.4
"""Share of references in the same direction that keep to the ego vehicle's lane, in the middle of every picture."""

Velocity = tuple[float, float]
Outline = tuple[float, float, float, float]
"""Left, top, right, bottom: pixels."""


@dataclass(frozen=True, slots=True)
class Drive:
    """A drive in pictures.

    Attributes
    ----------
    layout : Layout
    snapshots : tuple of Snapshot
        In order of time.
    egos : tuple of (x, y)
        Where the ego vehicle is at each; it heads along +x.
    reference : str
        Id of the thing that the questions are about.
    motion : str
        One of :data:`MOTIONS`.
    """

    layout: Layout
    snapshots: tuple[Snapshot, ...]
    egos: tuple[tuple[float, float], ...]
    reference: str
    motion: str

    def camera(self, moment: int) -> Camera:
        """Return the camera of one picture."""
        x, y = self.egos[moment]
        return mounted(x, y, 0.0, horizontal_fov=60.0, camera_height=1.6, down=1.0)

    def height(self, moment: int) -> float:
        """Return about how many pixels high the reference is in one picture."""
        size = self.snapshots[moment][self.reference].size[2]
        return size * self.camera(moment).focal / self.distance(moment)

    def in_frame(self, moment: int) -> bool:
        """Return whether the reference is wholly between the picture's left and right edges."""
        camera = self.camera(moment)
        places = np.array([(*corner, 1.0) for corner in corners(self.snapshots[moment][self.reference])])
        if ((places - camera.position) @ camera.axes[2]).min() < 1.0:
            return False
        across = camera.project(places)[:, 0]
        return bool(across.min() > 3 and across.max() < camera.width - 3)

    def distance(self, moment: int) -> float:
        """Return the metres between the camera and the middle of the reference."""
        thing, (x, y) = self.snapshots[moment][self.reference], self.egos[moment]
        return float(np.hypot(thing.x - x, thing.y - y))


@dataclass(frozen=True, slots=True)
class Route:
    """A drive before houses and others are put beside it.

    Attributes
    ----------
    drive : Drive
        Its layout has lanes and streets, its snapshots have the reference alone.
    velocity : tuple of (x, y)
        Of the reference, metres a second.
    times : tuple of float
        Seconds.
    """

    drive: Drive
    velocity: Velocity
    times: tuple[float, ...]

    def outlines(self) -> list[Outline]:
        """Return the box around the reference's block in each picture: left, top, right, bottom."""
        found = []
        for moment, snapshot in enumerate(self.drive.snapshots):
            thing = snapshot[self.drive.reference]
            block = np.array([(*corner, height) for corner in corners(thing) for height in (0.0, thing.size[2])])
            pixels = self.drive.camera(moment).project(block)
            (left, top), (right, bottom) = pixels.min(axis=0), pixels.max(axis=0)
            found.append((float(left), float(top), float(right), float(bottom)))
        return found


def route(rng: np.random.Generator, motion: str, kind: str, frames: int, pace: float) -> Route:
    """Draw how the ego vehicle and the reference go.

    Parameters
    ----------
    rng : numpy.random.Generator
    motion : str
        Of the reference, one of :data:`MOTIONS`.
    kind : str
        Of the reference.
    frames : int
        Pictures.
    pace : float
        Mean seconds from one picture to the next.

    Raises
    ------
    Rejected
        If the ego vehicle would not catch up.
    """
    steps = rng.uniform(0.85, 1.15, frames - 1) * pace
    times = (0.0, *(float(time) for time in np.cumsum(steps)))
    speed = float(rng.uniform(4.0, 6.0))
    span = speed * times[-1]
    lanes = 2 if motion == "same direction" else int(rng.integers(1, 3))
    ahead = span + NEAREST[kind] + float(rng.uniform(0.3, 4.0))
    crossing = motion == "crosses"
    layout = Layout(
        start=-40,
        end=span + 190,
        lanes=lanes,
        streets=(CrossStreet(round(ahead, 2)),) if crossing and kind != "pedestrian" else _side_street(rng, span),
        zebras=(round(ahead, 2),) if crossing and kind == "pedestrian" else (),
    )
    lane = int(rng.integers(lanes))
    ego = layout.lane(lane)
    reference, velocity = _reference(rng, layout, motion, kind, (speed, lane), times[-1], ahead)
    snapshots = tuple(_moment([(reference, velocity)], time) for time in times)
    egos = tuple((round(speed * time, 3), ego) for time in times)
    return Route(Drive(layout, snapshots, egos, reference.id, motion), velocity, times)


def furnish(rng: np.random.Generator, bare: Route, traffic: int) -> Drive:
    """Put houses, parked vehicles and people beside a route.

    Parameters
    ----------
    rng : numpy.random.Generator
    bare : Route
    traffic : int
        Parked vehicles to try; two thirds as many people.
    """
    road = bare.drive.layout
    weather: Weather = LIGHTS[int(rng.integers(len(LIGHTS)))]  # type: ignore[assignment]
    layout = draw_layout(
        rng,
        start=road.start,
        end=road.end,
        lanes=road.lanes,
        streets=road.streets,
        zebras=road.zebras,
        light=weather,
        tree_share=0.35,
    )
    reference = bare.drive.snapshots[0][bare.drive.reference]
    span, ego = bare.drive.egos[-1]
    way = (-8.0, ego - 1.6, span + 8.0, ego + 1.6)
    taken = [way, swept(reference, bare.velocity, (0.0, bare.times[-1]))]
    parked, people = fill(rng, layout, (4.0, span + 70), taken, {reference.name}, traffic, (2 * traffic) // 3)
    others: list[tuple[Thing, Velocity]] = [(thing, (0.0, 0.0)) for thing in parked]
    others += [(walker, (WALK * float(np.cos(np.radians(walker.heading))), 0.0)) for walker in people]
    snapshots = tuple(_moment([(reference, bare.velocity), *others], time) for time in bare.times)
    return replace(bare.drive, layout=layout, snapshots=snapshots)


def _side_street(rng: np.random.Generator, span: float) -> tuple[CrossStreet, ...]:
    if rng.random() < 0.5:
        return ()
    return (CrossStreet(round(span + float(rng.uniform(70, 110)), 2)),)


def _moment(moving: Sequence[tuple[Thing, Velocity]], time: float) -> Snapshot:
    things = [moved_on(thing, velocity, time) for thing, velocity in moving]
    return Snapshot(
        round(time, 3),
        tuple(thing for thing in things if isinstance(thing, Vehicle)),
        tuple(thing for thing in things if isinstance(thing, Pedestrian)),
    )


def _reference(
    rng: np.random.Generator,
    layout: Layout,
    motion: str,
    kind: str,
    ego: tuple[float, int],
    seconds: float,
    ahead: float,
) -> tuple[Thing, Velocity]:
    """Return the reference at the first moment, and its velocity; `ego` is the ego vehicle's speed and lane."""
    speed, lane = ego
    colour = str(rng.choice(list(COLOURS)))
    walks = kind == "pedestrian"
    if motion == "stands":
        side, heading = float(rng.choice((0.0, 180.0))), float(rng.choice((0.0, 180.0)))
        y = layout.pavement(side) if walks else layout.parking_lane(side)
        return _thing(kind, colour, ahead, y, heading if walks else side, 0.0), (0.0, 0.0)
    if motion == "crosses":
        way = float(rng.choice((90.0, 270.0)))
        pace = float(rng.uniform(1.1, 1.6)) if walks else float(rng.uniform(3.0, 4.5))
        sign = 1.0 if way == 90.0 else -1.0
        middle = float(rng.uniform(-1.5, 1.5))
        x = ahead if walks else ahead + sign * layout.lane_width / 2
        return _thing(kind, colour, x, middle - sign * pace * seconds / 2, way, 0.25), (0.0, sign * pace)
    if walks:
        heading = 0.0 if motion == "same direction" else 180.0
        sign = 1.0 if heading == 0.0 else -1.0
        y = layout.pavement(float(rng.choice((0.0, 180.0)))) + float(rng.uniform(-0.6, 0.6))
        return _thing(kind, colour, ahead - sign * WALK * seconds, y, heading, 0.25), (sign * WALK, 0.0)
    if motion == "opposite direction":
        pace = float(rng.uniform(2.0, 4.5))
        y = layout.lane(int(rng.integers(layout.lanes)), 180.0)
        return _thing(kind, colour, ahead + pace * seconds, y, 180.0, 0.0), (-pace, 0.0)
    y = layout.lane(lane if rng.random() < SAME_LANE else 1 - lane)
    if rng.random() < 0.5:
        pace = speed + float(rng.uniform(1.6, 3.2))
        return _thing(kind, colour, NEAREST[kind] + float(rng.uniform(0, 3)), y, 0.0, 0.0), (pace, 0.0)
    pace = max(1.0, speed - float(rng.uniform(2.2, 4.0)))
    if speed - pace < 2.0:
        raise Rejected("the ego vehicle is too slow to catch up")
    start = NEAREST[kind] + float(rng.uniform(0, 3)) + (speed - pace) * seconds
    return _thing(kind, colour, start, y, 0.0, 0.0), (pace, 0.0)


def _thing(kind: str, colour: str, x: float, y: float, heading: float, stride: float) -> Thing:
    if kind == "pedestrian":
        return Pedestrian("reference", colour, x, y, heading, stride)
    return Vehicle("reference", kind, colour, x, y, heading)


def check_drive(found: Drive) -> None:
    """Check what the plan alone tells of a drive: steps, sizes, distances, and that the frame holds the reference.

    Raises
    ------
    Rejected
        If a person could not tell the order or compare.
    """
    places = [x for x, _ in found.egos]
    if min(after - before for before, after in pairwise(places)) < MIN_STEP:
        raise Rejected("the ego vehicle hardly moves")
    if not all(found.in_frame(moment) for moment in range(len(places))):
        raise Rejected("the reference is cut")
    if min(found.height(moment) for moment in range(len(places))) < MIN_HEIGHT:
        raise Rejected("the reference is small")
    check_apart([found.distance(moment) for moment in range(len(places))], "two distances are alike")


def check_apart(values: Sequence[float], reason: str) -> None:
    """Reject values of which two are within a tenth of each other."""
    ranked = sorted(values)
    if any(after < MIN_RATIO * before for before, after in pairwise(ranked)):
        raise Rejected(reason)
