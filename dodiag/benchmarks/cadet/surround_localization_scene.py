"""Streets for Surround Localization: a target on a wanted hour of the clock, and something to see on every side.

Places are proposed by plane geometry as seen from the camera ring: bearings, angular widths, lines of sight. The
pictures decide in the end (``surround_localization``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from dodiag.benchmarks.cadet.street.asking import Rejected
from dodiag.benchmarks.cadet.street.cameras import RING
from dodiag.benchmarks.cadet.street.places import ground_plan, name_of, near_street, touch
from dodiag.benchmarks.cadet.street.state import (
    COLOURS,
    KINDS,
    LIGHTS,
    CrossStreet,
    Layout,
    Pedestrian,
    Signal,
    Snapshot,
    Thing,
    Vehicle,
    Weather,
    corners,
)
from dodiag.benchmarks.cadet.street.town import draw_layout

HALF_FOV = 30.0
"""Half of a ring camera's horizontal field of view, degrees."""
NEAREST, FARTHEST = 4.5, 34.0
"""Metres between the ring and a thing."""
WIDEST = 52.0
"""Degrees that a thing may take up."""
MIDDLE, MIDDLE_THINNED = 10.9, 0.6
"""Degrees from a camera's axis to the border of the middle third; share of targets in it that are given up."""
APART = 1.5
"""Degrees between two things as seen from the ring."""
EGO_CLEARANCE = 7.5
"""Metres along its own lane before and behind the ego vehicle that stay free."""
THING_KINDS = ("pedestrian", *KINDS)
TARGET_KINDS = ("pedestrian", "motorcycle", "car", "van")
"""Kinds that fit whole into one picture on every hour; long vehicles do not, so that their kind would tell the hour."""


@dataclass(frozen=True, slots=True)
class Surroundings:
    """A street, what is in it, where the ego vehicle is, and which thing is asked for."""

    layout: Layout
    snapshot: Snapshot
    ego: tuple[float, float, float]
    target: str


@dataclass(frozen=True, slots=True)
class Interval:
    """What a thing takes up as seen from the ring: from `low` to `high`, degrees counter-clockwise from ahead."""

    low: float
    high: float
    middle: float
    distance: float

    @property
    def width(self) -> float:
        """Degrees."""
        return self.high - self.low

    def overlaps(self, other: Interval) -> bool:
        """Return whether two things are, or are nearly, before one another."""
        gap = abs(wrapped(self.centre - other.centre)) - (self.width + other.width) / 2
        return gap < APART

    @property
    def centre(self) -> float:
        """The middle of the interval; `middle` is the bearing of the thing's own middle."""
        return (self.low + self.high) / 2

    def inside(self, camera: str) -> bool:
        """Return whether a camera of the ring sees the whole width, with a margin of a degree."""
        off = abs(wrapped(self.centre - RING[camera])) + self.width / 2
        return off < HALF_FOV - 1


Fits = Callable[[Interval], bool]
"""Says whether a place is wanted, from what a thing takes up there."""


def _inside(camera: str, seen: Interval) -> bool:
    return seen.inside(camera)


def wrapped(angle: float) -> float:
    """Return an angle between −180 and 180 degrees."""
    return (angle + 180.0) % 360.0 - 180.0


def interval(thing: Thing, ego: tuple[float, float, float]) -> Interval:
    """Return how wide a thing is as seen from the ring."""
    x, y, heading = ego
    middle = wrapped(float(np.degrees(np.arctan2(thing.y - y, thing.x - x))) - heading)
    offsets = [wrapped(float(np.degrees(np.arctan2(cy - y, cx - x))) - heading - middle) for cx, cy in corners(thing)]
    return Interval(middle + min(offsets), middle + max(offsets), middle, float(np.hypot(thing.x - x, thing.y - y)))


def hour_of(bearing: float) -> int:
    """Return the hour, 1 to 12, that a bearing (counter-clockwise from ahead) is nearest to."""
    return round(-bearing / 30.0) % 12 or 12


def hour_margin(bearing: float) -> float:
    """Return how many degrees a bearing is from the nearest border between two hours."""
    return 15.0 - abs(wrapped(bearing + 30.0 * hour_of(bearing)))


def surroundings(rng: np.random.Generator, hour: int, kind: str, margin: float, extra: int) -> Surroundings:
    """Draw a street with a target of this kind on this hour.

    Parameters
    ----------
    rng : numpy.random.Generator
    hour : int
        1 to 12.
    kind : str
        Of the target: ``pedestrian`` or a kind of vehicle.
    margin : float
        Degrees between the target and the border of its hour.
    extra : int
        Things beyond the target and one for each other camera.

    Raises
    ------
    Rejected
        If this street has no fitting place.
    """
    layout, ego = _draw_street(rng)
    placer = _Placer(rng, layout, ego)
    target = placer.place(kind, lambda seen: _fits_target(seen, hour, margin))
    home = next(camera for camera in RING if placer.intervals[0].inside(camera))
    off = abs(wrapped(placer.intervals[0].centre - RING[home]))
    if off < MIDDLE and hour != 12 and rng.random() < MIDDLE_THINNED:
        raise Rejected("the middle third is frequent")
    for camera in [str(name) for name in rng.permutation(list(RING))]:
        if camera != home:
            placer.place_any(partial(_inside, camera))
    for _ in range(extra):
        placer.place_any(lambda seen: seen.width < 25, needed=False)
    return Surroundings(layout, placer.snapshot(), ego, target.id)


def _fits_target(seen: Interval, hour: int, margin: float) -> bool:
    if hour_of(seen.middle) != hour or hour_of(seen.centre) != hour:
        return False
    if min(hour_margin(seen.middle), hour_margin(seen.centre)) < margin:
        return False
    return sum(seen.inside(camera) for camera in RING) == 1


def _draw_street(rng: np.random.Generator) -> tuple[Layout, tuple[float, float, float]]:
    lanes = int(rng.integers(1, 3))
    parking = bool(rng.random() < 0.6)
    where = rng.choice(("none", "here", "ahead", "behind"), p=(0.25, 0.35, 0.25, 0.15))
    place = {"none": 0.0, "here": rng.uniform(-3, 3), "ahead": rng.uniform(16, 30), "behind": rng.uniform(-28, -15)}
    streets = () if where == "none" else (CrossStreet(round(float(place[str(where)]), 2)),)
    zebras = tuple(
        z for z in (round(float(rng.uniform(12, 22)), 2), round(float(-rng.uniform(11, 20)), 2)) if not streets
    )
    light: Weather = LIGHTS[int(rng.integers(len(LIGHTS)))]  # type: ignore[assignment]
    layout = draw_layout(
        rng,
        start=-110,
        end=110,
        lanes=lanes,
        parking=parking,
        streets=streets,
        zebras=zebras,
        light=light,
        tree_share=0.45,
    )
    return layout, (0.0, layout.lane(int(rng.integers(lanes))), 0.0)


class _Placer:
    """Puts things on free places of a street, each with a name of its own."""

    def __init__(self, rng: np.random.Generator, layout: Layout, ego: tuple[float, float, float]) -> None:
        self.rng, self.layout, self.ego = rng, layout, ego
        self.things: list[Thing] = []
        self.intervals: list[Interval] = []
        self.signals = tuple(_signals(layout))

    def snapshot(self) -> Snapshot:
        vehicles = tuple(thing for thing in self.things if isinstance(thing, Vehicle))
        pedestrians = tuple(thing for thing in self.things if isinstance(thing, Pedestrian))
        return Snapshot(0.0, vehicles, pedestrians, self.signals)

    def place_any(self, fits: Fits, needed: bool = True) -> None:
        """Place a thing of any kind; where none fits, reject the street if it is needed."""
        kinds = [str(kind) for kind in self.rng.permutation(THING_KINDS)]
        for kind in kinds:
            try:
                self.place(kind, fits)
            except Rejected:
                continue
            return
        if needed:
            raise Rejected("a camera with nothing to see")

    def place(self, kind: str, fits: Fits) -> Thing:
        """Place a thing of this kind where its interval fits and nothing is before or behind it."""
        free = [colour for colour in COLOURS if name_of(kind, colour) not in {thing.name for thing in self.things}]
        colour = str(self.rng.choice(free))
        spots = list(self._spots(kind))
        for number in self.rng.permutation(len(spots)):
            thing = self._thing(kind, colour, *spots[number])
            seen = interval(thing, self.ego)
            if not (NEAREST < seen.distance < FARTHEST and seen.width < WIDEST and fits(seen)):
                continue
            if any(seen.overlaps(other) for other in self.intervals) or self._hits(thing):
                continue
            if self._hidden(thing):
                continue
            self.things.append(thing)
            self.intervals.append(seen)
            return thing
        raise Rejected(f"no place for a {kind}")

    def _thing(self, kind: str, colour: str, x: float, y: float, heading: float) -> Thing:
        number = f"thing {len(self.things)}"
        if kind == "pedestrian":
            stride = float(self.rng.choice((0.0, 0.2, 0.3, 0.7, 0.8)))
            return Pedestrian(number, colour, x, y, heading, stride)
        return Vehicle(number, kind, colour, x, y, heading)

    def _spots(self, kind: str) -> Iterator[tuple[float, float, float]]:
        layout, rng = self.layout, self.rng
        shift = float(rng.uniform(0, 1.5))
        along = [round(shift + 1.5 * step, 2) for step in range(-23, 24)]
        if kind == "pedestrian":
            yield from self._feet(along)
            return
        length = KINDS[kind][0]
        for x in along:
            for heading in (0.0, 180.0):
                for lane in range(layout.lanes):
                    y = layout.lane(lane, heading)
                    if abs(y - self.ego[1]) > 1 or abs(x) > EGO_CLEARANCE + length / 2:
                        yield x, y, heading
                if layout.parking and kind != "bus" and not near_street(layout, x, length / 2 + 3):
                    yield x, layout.parking_lane(heading), heading
        for street in layout.streets:
            for side in (-1, 1):
                reach = layout.half_road + length / 2 + (5.4 if street.crossings else 1.0)
                for step in range(8):
                    y = side * (reach + 1.5 * step)
                    offset = layout.lane_width / 2
                    yield street.x + offset, y, 90.0
                    yield street.x - offset, y, 270.0

    def _feet(self, along: Sequence[float]) -> Iterator[tuple[float, float, float]]:
        layout, rng = self.layout, self.rng
        for x in along:
            if not near_street(layout, x, 1.0):
                for heading in (0.0, 180.0):
                    y = layout.pavement(heading) + float(rng.uniform(-0.9, 0.9))
                    yield x, y, float(rng.choice((0.0, 180.0)))
        for x in self._zebras():
            y = -layout.half_road + 0.5
            while y < layout.half_road:
                yield x + float(rng.uniform(-0.8, 0.8)), y, float(rng.choice((90.0, 270.0)))
                y += 0.8

    def _zebras(self) -> Iterator[float]:
        yield from self.layout.zebras
        for street in self.layout.streets:
            for side in (-1, 1):
                yield street.x + side * (self.layout.half_cross(street) + 2.4)

    def _hits(self, thing: Thing) -> bool:
        mine = ground_plan(thing)
        ego = Vehicle("ego", "car", "white", *self.ego)
        return any(touch(mine, ground_plan(other)) for other in (*self.things, ego))

    def _hidden(self, thing: Thing) -> bool:
        """Return whether a house is between the ring and any corner of a thing."""
        steps = np.linspace(0.05, 1.0, 60)[:, None]
        start = np.array(self.ego[:2])
        for corner in corners(thing):
            points = start + steps * (np.array(corner) - start)
            for house in self.layout.buildings:
                inside = np.abs(points - (house.x, house.y)) < (house.width / 2 + 0.3, house.depth / 2 + 0.3)
                if inside.all(axis=1).any():
                    return True
        return False


def _signals(layout: Layout) -> Iterator[Signal]:
    for number, street in enumerate(layout.streets):
        half, road = layout.half_cross(street), layout.half_road
        yield Signal(f"signal {number} east", street.x - half - 4.6, -road - 0.6, 180.0, "green")
        yield Signal(f"signal {number} west", street.x + half + 4.6, road + 0.6, 0.0, "green")
        yield Signal(f"signal {number} north", street.x + half + 0.6, -road - 4.6, 270.0, "red")
        yield Signal(f"signal {number} south", street.x - half - 0.6, road + 4.6, 90.0, "red")
