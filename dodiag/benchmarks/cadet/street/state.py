"""What is in a street at one moment: plain values that pictures are drawn from and truths are read off.

Metres and degrees. The main road runs along x; its traffic keeps to the right, so that vehicles that go towards +x have
y < 0. Headings are counter-clockwise from +x: 0 looks along +x, 90 along +y (to the left of it).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal

from dodiag.problems import UsageError, nearest

RGB = tuple[float, float, float]

COLOURS: Mapping[str, RGB] = MappingProxyType(
    {
        "red": (0.80, 0.06, 0.06),
        "orange": (0.96, 0.47, 0.05),
        "yellow": (0.97, 0.84, 0.10),
        "green": (0.07, 0.52, 0.18),
        "blue": (0.08, 0.24, 0.82),
        "purple": (0.47, 0.14, 0.62),
        "pink": (0.97, 0.52, 0.72),
        "white": (0.94, 0.94, 0.94),
        "black": (0.07, 0.07, 0.08),
    }
)
"""Colours of vehicles and clothes that a person names alike and tells from each other."""

KINDS: Mapping[str, tuple[float, float, float]] = MappingProxyType(
    {
        "car": (4.5, 1.84, 1.50),
        "van": (5.4, 2.04, 2.30),
        "truck": (7.6, 2.40, 3.30),
        "bus": (10.6, 2.50, 3.10),
        "motorcycle": (2.1, 0.80, 1.62),
    }
)
"""Kinds of vehicles: length, width, height. The motorcycle's height is its rider's; its colour is also the rider's."""

PEDESTRIAN_SIZE = (0.5, 0.62, 1.78)
OBSTACLES: Mapping[str, tuple[float, float, float]] = MappingProxyType(
    {"cone": (0.45, 0.45, 0.80), "barrier": (0.30, 2.0, 1.0), "work sign": (0.1, 1.0, 1.9)}
)
"""What a work zone is made of: depth, width, height. Barrier and sign are across their heading."""
SIGNAL_COLOURS = ("red", "amber", "green")
LIGHTS = ("day", "overcast", "dusk")

Weather = Literal["day", "overcast", "dusk"]


def _check(word: str, known: Mapping[str, object] | tuple[str, ...], what: str) -> None:
    if word not in known:
        raise UsageError(f"'{word}' is not a {what}", nearest(word, known))


@dataclass(frozen=True, slots=True)
class Vehicle:
    """A vehicle; its place is the middle of its ground plan.

    Attributes
    ----------
    id : str
        Unique in a scene.
    kind : str
        A key of :data:`KINDS`, which gives its size.
    colour : str
        A key of :data:`COLOURS`.
    x, y : float
    heading : float
        Where its front points.
    braking, left_indicator, right_indicator : bool
        Which lights are lit; both indicators are hazard lights.
    """

    id: str
    kind: str
    colour: str
    x: float
    y: float
    heading: float
    braking: bool = False
    left_indicator: bool = False
    right_indicator: bool = False

    def __post_init__(self) -> None:
        _check(self.kind, KINDS, "kind of vehicle")
        _check(self.colour, COLOURS, "colour")

    @property
    def size(self) -> tuple[float, float, float]:
        """Length, width, height."""
        return KINDS[self.kind]

    @property
    def name(self) -> str:
        """How a question calls it: ``red van``."""
        return f"{self.colour} {self.kind}"


@dataclass(frozen=True, slots=True)
class Pedestrian:
    """A person on foot; `clothing` is the colour of the jacket, `stride` the phase of the gait (0 to 1; 0 stands)."""

    id: str
    clothing: str
    x: float
    y: float
    heading: float
    stride: float = 0.0

    def __post_init__(self) -> None:
        _check(self.clothing, COLOURS, "colour")

    @property
    def size(self) -> tuple[float, float, float]:
        """Depth, width, height."""
        return PEDESTRIAN_SIZE

    @property
    def name(self) -> str:
        """How a question calls them: ``pedestrian in green``."""
        return f"pedestrian in {self.clothing}"


@dataclass(frozen=True, slots=True)
class Signal:
    """A traffic light on a pole; its lamps show towards `heading`, so traffic with heading + 180 obeys it."""

    id: str
    x: float
    y: float
    heading: float
    colour: str = "red"

    def __post_init__(self) -> None:
        _check(self.colour, SIGNAL_COLOURS, "colour of a traffic light")

    @property
    def size(self) -> tuple[float, float, float]:
        """Depth, width, height."""
        return (0.4, 0.5, 3.9)

    @property
    def name(self) -> str:
        """How a question calls it."""
        return "traffic light"


@dataclass(frozen=True, slots=True)
class Obstacle:
    """One thing of a work zone: a cone, a barrier or a work sign, across its heading."""

    id: str
    kind: str
    x: float
    y: float
    heading: float = 0.0

    def __post_init__(self) -> None:
        _check(self.kind, OBSTACLES, "kind of obstacle")

    @property
    def size(self) -> tuple[float, float, float]:
        """Depth, width, height."""
        return OBSTACLES[self.kind]

    @property
    def name(self) -> str:
        """How a question calls it."""
        return self.kind


Thing = Vehicle | Pedestrian | Signal | Obstacle


@dataclass(frozen=True, slots=True)
class Building:
    """A house with a rectangular ground plan along the axes; `x`, `y` is its middle.

    Attributes
    ----------
    id : str
    colour : str
        A key of ``town.WALLS``.
    x, y, width, depth, height : float
        `width` along x, `depth` along y.
    style : int
        Which windows it has.
    """

    id: str
    colour: str
    x: float
    y: float
    width: float
    depth: float
    height: float
    style: int = 0

    @property
    def name(self) -> str:
        """How a question calls it: ``brick-red house``."""
        return f"{self.colour} house"


@dataclass(frozen=True, slots=True)
class Tree:
    """A street tree; `crown` is the radius of its crown."""

    x: float
    y: float
    crown: float = 1.5


@dataclass(frozen=True, slots=True)
class CrossStreet:
    """A street across the main road, centred on `x`; the same lanes each way, zebra crossings on all four arms."""

    x: float
    lanes: int = 1
    crossings: bool = True


@dataclass(frozen=True, slots=True)
class Layout:
    """Everything that does not change: one straight main road along x, streets across it, and what stands beside it.

    Attributes
    ----------
    start, end : float
        Where the main road begins and ends.
    lanes : int
        Lanes each way on the main road.
    lane_width : float
    parking : float
        Width of the parking strip on either side; 0 for none.
    sidewalk : float
        Width of the pavement on either side.
    streets : tuple of CrossStreet
    zebras : tuple of float
        Where there are zebra crossings away from junctions.
    buildings, trees : tuple
    light : {"day", "overcast", "dusk"}
    """

    start: float = -120.0
    end: float = 120.0
    lanes: int = 1
    lane_width: float = 3.5
    parking: float = 2.3
    sidewalk: float = 3.5
    streets: tuple[CrossStreet, ...] = ()
    zebras: tuple[float, ...] = ()
    buildings: tuple[Building, ...] = ()
    trees: tuple[Tree, ...] = ()
    light: Weather = "day"

    @property
    def half_road(self) -> float:
        """From the middle of the main road to the kerb."""
        return self.lanes * self.lane_width + self.parking

    @property
    def half_street(self) -> float:
        """From the middle of the main road to the fronts of the houses."""
        return self.half_road + self.sidewalk

    def lane(self, number: int, heading: float = 0.0) -> float:
        """Return y of the middle of a lane of the main road; lane 0 is nearest to the middle, `heading` 0 or 180."""
        side = -1.0 if math.cos(math.radians(heading)) > 0 else 1.0
        return side * (number + 0.5) * self.lane_width

    def parking_lane(self, heading: float = 0.0) -> float:
        """Return y of the middle of the parking strip on the side of the traffic of this heading."""
        side = -1.0 if math.cos(math.radians(heading)) > 0 else 1.0
        return side * (self.lanes * self.lane_width + self.parking / 2)

    def pavement(self, heading: float = 0.0) -> float:
        """Return y of the middle of the pavement on the side of the traffic of this heading."""
        side = -1.0 if math.cos(math.radians(heading)) > 0 else 1.0
        return side * (self.half_road + self.sidewalk / 2)

    def half_cross(self, street: CrossStreet) -> float:
        """From the middle of a cross street to its kerb."""
        return street.lanes * self.lane_width


@dataclass(frozen=True, slots=True)
class Snapshot:
    """All that stands and moves at one moment.

    Attributes
    ----------
    time : float
        Seconds.
    vehicles, pedestrians, signals, obstacles : tuple
    """

    time: float = 0.0
    vehicles: tuple[Vehicle, ...] = ()
    pedestrians: tuple[Pedestrian, ...] = ()
    signals: tuple[Signal, ...] = ()
    obstacles: tuple[Obstacle, ...] = ()
    _by_id: dict[str, Thing] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        by_id = {thing.id: thing for thing in self}
        if len(by_id) < len(list(self)):
            raise UsageError("two things of a snapshot have the same id", "Give each its own.")
        object.__setattr__(self, "_by_id", by_id)

    def __iter__(self) -> Iterator[Thing]:
        """Yield vehicles, pedestrians, signals and obstacles."""
        yield from self.vehicles
        yield from self.pedestrians
        yield from self.signals
        yield from self.obstacles

    def __getitem__(self, thing_id: str) -> Thing:
        """Return the thing with this id."""
        return self._by_id[thing_id]

    def __contains__(self, thing_id: object) -> bool:
        """Return whether there is a thing with this id."""
        return thing_id in self._by_id


def corners(thing: Thing) -> tuple[tuple[float, float], ...]:
    """Return the four corners of a thing's ground plan: front left, rear left, rear right, front right."""
    length, width, _ = thing.size
    ahead = math.radians(thing.heading)
    cos, sin = math.cos(ahead), math.sin(ahead)
    return tuple(
        (thing.x + cos * along - sin * across, thing.y + sin * along + cos * across)
        for along, across in (
            (length / 2, width / 2),
            (-length / 2, width / 2),
            (-length / 2, -width / 2),
            (length / 2, -width / 2),
        )
    )
