"""The rules by which traffic moves, and its simulation.

A driver keeps a speed from which it can stop behind whatever is in its way (Krauss' safe speed): a slower vehicle, a
closed lane, a red light, a pedestrian who is on the road and has not passed its lane. A driver whose lane is blocked by
something that stays moves to a free neighbouring lane, indicating first, and waits where there is none. All is
deterministic; nothing is drawn here.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dodiag.benchmarks.cadet.traffic.agents import LANE, Driver, World

STEP = 0.1
"""Seconds of one step, which is one frame of the video."""

BRAKING = 3.2
"""Deceleration that drivers plan with, m/s²."""

HARDEST = 8.0
ACCELERATION = 2.0
REACTION = 0.3
MARGIN = 2.0
"""Metres that a driver stays behind what stands."""

BEFORE_CROSSING = 3.5
"""Metres between a waiting vehicle and a pedestrian's path."""

BEFORE_LINE = 0.6
"""Metres between a waiting vehicle and the stop line."""

INDICATING = 0.8
MOVING_OVER = 2.2
"""Seconds of a lane change: before it moves, and while it moves over."""

LOOK_AHEAD = 32.0
"""Metres at which a driver sees that its lane is blocked."""

BRAKE_LIGHT = -0.7
WALKER_ROOM = 0.9

FloatArray = NDArray[np.float64]


@dataclass(slots=True)
class _Car:
    """The moving state of one driver."""

    driver: Driver
    s: float
    d: float
    v: float
    a: float = 0.0
    target: float | None = None
    decided: float | None = None
    start_d: float = 0.0
    reason: str = ""
    held: bool = False

    def moving_over(self, time: float) -> bool:
        return self.decided is not None and self.decided + INDICATING <= time < self.decided + INDICATING + MOVING_OVER


@dataclass(frozen=True, slots=True, eq=False)
class Run:
    """What happened: one row a step, one column a driver of the world, in its order.

    Attributes
    ----------
    world : World
    times : array of shape (steps,)
    s, d, v, a : array of shape (steps, drivers)
        Place, speed (never negative) and acceleration.
    braking : bool array of shape (steps, drivers)
        Whether the brake lights are on.
    indicating : int array of shape (steps, drivers)
        1 left, −1 right, 0 none, seen in the vehicle's own direction.
    reasons : tuple of tuple of str
        The id of what held each driver back at each step; empty where nothing did.
    """

    world: World
    times: FloatArray
    s: FloatArray
    d: FloatArray
    v: FloatArray
    a: FloatArray
    braking: NDArray[np.bool_]
    indicating: NDArray[np.int8]
    reasons: tuple[tuple[str, ...], ...]

    def column(self, driver_id: str) -> int:
        """Return the column of a driver."""
        return [driver.id for driver in self.world.drivers].index(driver_id)


def simulate(world: World, seconds: float) -> Run:
    """Let a world run; the same world gives the same run.

    Parameters
    ----------
    world : World
    seconds : float

    Returns
    -------
    Run
        With seconds / STEP + 1 rows.
    """
    cars = [_Car(driver, driver.s, driver.d, driver.speed) for driver in world.drivers]
    rows: list[list[tuple[float, float, float, float, bool, int]]] = []
    reasons = []
    steps = round(seconds / STEP) + 1
    for step in range(steps):
        time = step * STEP
        for car in cars:
            _choose_lane(car, cars, world, time)
        chosen = [_choose_speed(car, cars, world, time) for car in cars]
        for car, (speed, reason) in zip(cars, chosen, strict=True):
            car.a, car.reason = (speed - car.v) / STEP, reason
        rows.append([_shown(car, time) for car in cars])
        reasons.append(tuple(car.reason for car in cars))
        for car in cars:
            _move(car, time)
    table: FloatArray = np.array(rows, dtype=np.float64).reshape(steps, len(cars), 6)
    return Run(
        world,
        times=np.arange(steps, dtype=np.float64) * STEP,
        s=table[:, :, 0],
        d=table[:, :, 1],
        v=table[:, :, 2],
        a=table[:, :, 3],
        braking=table[:, :, 4] > 0,
        indicating=table[:, :, 5].astype(np.int8),
        reasons=tuple(reasons),
    )


def safe_speed(gap: float, leader: float = 0.0) -> float:
    """Return the greatest speed from which a driver can stop behind a leader, m/s.

    Parameters
    ----------
    gap : float
        Metres to where the driver wants to stay behind; below 0 it is too near already.
    leader : float
        Speed of the leader.
    """
    pace = BRAKING * REACTION
    return max(0.0, -pace + math.sqrt(pace * pace + leader * leader + 2 * BRAKING * max(gap, 0.0)))


def _shown(car: _Car, time: float) -> tuple[float, float, float, float, bool, int]:
    stands = car.v < 0.05 and car.driver.wish > 0 and bool(car.reason)
    side = 0
    if car.decided is not None and car.target is not None and time < car.decided + INDICATING + MOVING_OVER:
        side = int(math.copysign(1, car.target - car.start_d)) * car.driver.direction
    return car.s, car.d, car.v, car.a, car.a < BRAKE_LIGHT or stands, side


def _move(car: _Car, time: float) -> None:
    speed = car.v + car.a * STEP
    car.s += car.driver.direction * (car.v + speed) / 2 * STEP
    car.v = speed if speed > 0.02 else 0.0
    if car.decided is not None and car.target is not None:
        share = min(max((time + STEP - car.decided - INDICATING) / MOVING_OVER, 0.0), 1.0)
        car.d = car.start_d + (car.target - car.start_d) * share * share * (3 - 2 * share)


def _choose_speed(car: _Car, cars: Sequence[_Car], world: World, time: float) -> tuple[float, str]:
    """Return the speed of the next step and the id of what sets it, empty where it is the driver's own wish."""
    driver = car.driver
    waits = driver.speed == 0 and driver.lane is not None and not car.moving_over(time) and not _over(car, time)
    if waits or driver.wish == 0:
        return 0.0, ""
    wish, reason = driver.wish, ""
    for limit, who in _hindrances(car, cars, world, time):
        if limit < wish - 1e-9:
            wish, reason = limit, who
    return max(min(wish, car.v + ACCELERATION * STEP), car.v - HARDEST * STEP, 0.0), reason


def _over(car: _Car, time: float) -> bool:
    return car.decided is not None and time >= car.decided + INDICATING + MOVING_OVER


def _hindrances(car: _Car, cars: Sequence[_Car], world: World, time: float) -> Iterator[tuple[float, str]]:
    driver, front = car.driver, car.driver.length / 2
    for other in cars:
        if other is not car and _in_way(car, other, time):
            gap = driver.direction * (other.s - car.s) - front - other.driver.length / 2
            if gap > -other.driver.length:
                leader = other.v if other.driver.direction == driver.direction else 0.0
                yield safe_speed(gap - MARGIN, leader), other.driver.id
    for walker in world.walkers:
        s, d = walker.at(time)
        gap = driver.direction * (s - car.s) - front
        if gap > 0 and abs(d) < world.kerb and _blocks(walker.dd, d, car, time):
            yield safe_speed(gap - BEFORE_CROSSING), walker.id
    if driver.direction == 1:
        for light in world.lights:
            gap = light.s - car.s - front
            colour = light.at(time)
            needed = car.v * car.v / (2 * max(gap, 0.1))
            if gap > 0 and (colour == "red" or (colour == "amber" and needed < 1.3 * BRAKING)):
                yield safe_speed(gap - BEFORE_LINE), light.id
        for zone in world.zones:
            gap = zone.start - car.s - front
            if gap > -1 and _across(car, zone.d, 1.4, time):
                yield safe_speed(gap - MARGIN), zone.id


def _in_way(car: _Car, other: _Car, time: float) -> bool:
    """Return whether another vehicle is in a driver's way ahead, or is moving into it."""
    if car.driver.direction * (other.s - car.s) <= 0:
        return False
    room = (car.driver.width + other.driver.width) / 2 + 0.3
    places = [other.d]
    if other.target is not None and other.moving_over(time):
        places.append(other.target)
    return any(_across(car, place, room, time) for place in places)


def _across(car: _Car, place: float, room: float, time: float) -> bool:
    """Return whether something at a place across the road is within `room` of where a driver is or is going."""
    if car.target is not None and car.decided is not None:
        if car.moving_over(time) and abs(car.d - place) >= room - 0.3:
            return abs(car.target - place) < room
        if _over(car, time):
            return abs(car.target - place) < room
    return abs(car.d - place) < room


def _blocks(pace: float, d: float, car: _Car, time: float) -> bool:
    """Return whether a pedestrian at `d` who walks across the road at `pace` is not past a driver's lane."""
    if pace == 0:
        return False
    lane = car.target if car.target is not None and car.moving_over(time) else car.d
    half = car.driver.width / 2 + WALKER_ROOM
    return d > lane - half if pace < 0 else d < lane + half


def _choose_lane(car: _Car, cars: Sequence[_Car], world: World, time: float) -> None:
    """Decide on a lane change, where one is wanted and the gap allows it."""
    if car.decided is not None or car.driver.wish == 0:
        return
    target = None
    driver = car.driver
    if driver.lane is not None and driver.leaves is not None:
        if time + 1e-9 >= driver.leaves:
            target = driver.lane
    elif driver.direction == 1 and _blocked(car, cars, world):
        others = [lane for lane in world.lanes if abs(lane - car.d) > LANE / 2]
        target = min(others, key=lambda lane: abs(lane - car.d)) if others else None
    if target is not None and _free(car, target, cars, world):
        car.target, car.decided, car.start_d = target, time, car.d


def _blocked(car: _Car, cars: Sequence[_Car], world: World) -> bool:
    front = car.s + car.driver.length / 2
    stands = [c.s - c.driver.length / 2 for c in cars if c.driver.wish == 0 and abs(c.d - car.d) < 1.8]
    places = [*stands, *(zone.start for zone in world.zones if abs(zone.d - car.d) < LANE / 2)]
    return any(0 < place - front < LOOK_AHEAD for place in places)


def _free(car: _Car, target: float, cars: Sequence[_Car], world: World) -> bool:
    """Return whether the gap in the lane `target` is large enough for a driver to move over."""
    length = car.driver.length
    for zone in world.zones:
        if abs(zone.d - target) < LANE / 2 and zone.start - 12 < car.s < zone.end + length:
            return False
    for other in cars:
        if other is car or abs(other.d - target) > LANE / 2 or other.driver.direction != car.driver.direction:
            continue
        ahead = car.driver.direction * (other.s - car.s)
        clear = abs(ahead) - (length + other.driver.length) / 2
        if ahead >= 0 and clear < 3 + 1.5 * max(0.0, car.v - other.v):
            return False
        if ahead < 0 and clear < 2.5 + car.driver.gap * max(0.0, other.v - 0.4 * car.v):
            return False
    return True
