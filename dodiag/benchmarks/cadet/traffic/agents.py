"""What takes part in traffic on a straight road, before anything moves.

Places are road coordinates in metres: ``s`` along the road in the camera car's direction, ``d`` across it, positive to
the left of the middle line. They are x and y of the street (``street.state``). Own lanes have negative ``d``, oncoming
lanes positive. Times are seconds.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from dodiag.benchmarks.cadet.street.state import KINDS

LightColour = Literal["red", "amber", "green"]

EGO = "ego"
"""The camera car's id."""

LANE = 3.5


@dataclass(frozen=True, slots=True)
class Driver:
    """A vehicle and what its driver wants.

    Attributes
    ----------
    id : str
    kind, colour : str
        As in ``street.state``.
    s, d : float
        The middle of the vehicle at the start.
    speed, wish : float
        At the start, and what the driver keeps to where nothing hinders; m/s. A wish of 0 is a vehicle that stays.
    direction : {1, -1}
        Along or against s.
    lane : float, optional
        The ``d`` that it moves over to, at `leaves` or later, when the gap is large enough.
    leaves : float, optional
        When a lane change is wanted. Until then a vehicle with a lane to go to and no speed stands.
    gap : float
        Seconds of gap to a follower that a lane change takes; a small one makes the follower brake.
    """

    id: str
    kind: str
    colour: str
    s: float
    d: float
    speed: float
    wish: float
    direction: Literal[1, -1] = 1
    lane: float | None = None
    leaves: float | None = None
    gap: float = 1.5

    @property
    def length(self) -> float:
        """Metres."""
        return KINDS[self.kind][0]

    @property
    def width(self) -> float:
        """Metres."""
        return KINDS[self.kind][1]

    @property
    def name(self) -> str:
        """How a person calls it."""
        return "camera car" if self.id == EGO else f"{self.colour} {self.kind}"


@dataclass(frozen=True, slots=True)
class Walker:
    """A pedestrian who walks straight on between two times.

    Attributes
    ----------
    id, colour : str
        The colour is that of the clothes.
    s, d : float
        Where the walk starts.
    ds, dd : float
        Metres per second along and across the road while walking.
    starts, stops : float
        When the pedestrian walks.
    """

    id: str
    colour: str
    s: float
    d: float
    ds: float
    dd: float
    starts: float = 0.0
    stops: float = 1e9

    @property
    def name(self) -> str:
        """How a person calls the pedestrian."""
        return f"pedestrian in {self.colour}"

    def at(self, time: float) -> tuple[float, float]:
        """Return (s, d) at a time."""
        walked = min(max(time, self.starts), self.stops) - self.starts
        return self.s + self.ds * walked, self.d + self.dd * walked

    def walks(self, time: float) -> bool:
        """Return whether the pedestrian is walking at a time."""
        return self.starts <= time < self.stops


@dataclass(frozen=True, slots=True)
class Light:
    """A traffic light for the own direction.

    Attributes
    ----------
    id : str
    s : float
        Of the stop line.
    phases : tuple of (time, colour)
        Each lasts until the next; the first starts at 0 or before.
    """

    id: str
    s: float
    phases: tuple[tuple[float, LightColour], ...]

    @property
    def name(self) -> str:
        """How a person calls it."""
        return "traffic light"

    def at(self, time: float) -> LightColour:
        """Return the colour at a time."""
        return [colour for start, colour in self.phases if start <= time + 1e-9][-1]


@dataclass(frozen=True, slots=True)
class WorkZone:
    """A part of one own lane that is closed.

    Attributes
    ----------
    id : str
    d : float
        Middle of the lane.
    start, end : float
        Along the road.
    """

    id: str
    d: float
    start: float
    end: float

    @property
    def name(self) -> str:
        """How a person calls it."""
        return "work zone"


Agent = Driver | Walker | Light | WorkZone


@dataclass(frozen=True, slots=True)
class World:
    """Everything that takes part.

    Attributes
    ----------
    drivers : tuple of Driver
    walkers : tuple of Walker
    lights : tuple of Light
    zones : tuple of WorkZone
    lanes : tuple of float
        The ``d`` of the middles of the own lanes.
    kerb : float
        From the middle line to either pavement.
    """

    drivers: tuple[Driver, ...]
    walkers: tuple[Walker, ...] = ()
    lights: tuple[Light, ...] = ()
    zones: tuple[WorkZone, ...] = ()
    lanes: tuple[float, ...] = (-LANE / 2, -3 * LANE / 2)
    kerb: float = 2 * LANE

    @property
    def agents(self) -> tuple[Agent, ...]:
        """All of them."""
        return (*self.drivers, *self.walkers, *self.lights, *self.zones)

    def agent(self, agent_id: str) -> Agent:
        """Return the agent with this id.

        Raises
        ------
        KeyError
            If there is none.
        """
        for agent in self.agents:
            if agent.id == agent_id:
                return agent
        raise KeyError(agent_id)

    def without(self, agent_id: str) -> World:
        """Return the world without one agent: the intervention that tells a cause from a coincidence."""
        self.agent(agent_id)
        return replace(
            self,
            drivers=tuple(driver for driver in self.drivers if driver.id != agent_id),
            walkers=tuple(walker for walker in self.walkers if walker.id != agent_id),
            lights=tuple(light for light in self.lights if light.id != agent_id),
            zones=tuple(zone for zone in self.zones if zone.id != agent_id),
        )

    def holding(self, light_id: str) -> World:
        """Return the world in which a light never changes: the intervention on a change of colour."""
        held = [replace(light, phases=light.phases[:1]) if light.id == light_id else light for light in self.lights]
        return replace(self, lights=tuple(held))

    def stopping(self, walker_id: str, time: float) -> World:
        """Return the world in which a pedestrian walks no further after a time: the intervention on a walk."""
        walkers = [replace(walker, stops=time) if walker.id == walker_id else walker for walker in self.walkers]
        return replace(self, walkers=tuple(walkers))
