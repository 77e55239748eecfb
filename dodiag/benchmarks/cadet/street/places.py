"""Free places in a street: ground plans that must not touch, and parked vehicles and people that fill a scene."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from dodiag.benchmarks.cadet.street.state import COLOURS, KINDS, Layout, Pedestrian, Thing, Vehicle, corners

Rectangle = tuple[float, float, float, float]
"""Left, low, right, high along the axes, metres."""
ROOM = 0.35
WALK, STEP = 1.4, 1.5
"""Speed of people, metres a second, and the length of a full gait, metres."""


def ground_plan(thing: Thing, room: float = ROOM) -> Rectangle:
    """Return the rectangle along the axes around a thing's ground plan, with room."""
    places = np.array(corners(thing))
    (left, low), (right, high) = places.min(axis=0) - room, places.max(axis=0) + room
    return float(left), float(low), float(right), float(high)


def touch(first: Rectangle, second: Rectangle) -> bool:
    """Return whether two rectangles overlap."""
    return first[0] < second[2] and second[0] < first[2] and first[1] < second[3] and second[1] < first[3]


def near_street(layout: Layout, x: float, room: float) -> bool:
    """Return whether a place along the main road is within `room` of a junction or of a zebra crossing."""
    junction = any(abs(x - street.x) < layout.half_cross(street) + 4 + room for street in layout.streets)
    return junction or any(abs(x - zebra) < 2 + room for zebra in layout.zebras)


def moved_on(thing: Thing, velocity: tuple[float, float], seconds: float) -> Thing:
    """Return a thing after a time at a constant velocity; a pedestrian's gait goes on with the way."""
    x, y = thing.x + velocity[0] * seconds, thing.y + velocity[1] * seconds
    if isinstance(thing, Pedestrian) and velocity != (0.0, 0.0):
        way = float(np.hypot(*velocity)) * seconds
        return replace(thing, x=x, y=y, stride=(thing.stride + way / STEP) % 1.0)
    return replace(thing, x=x, y=y)


def fill(
    rng: np.random.Generator,
    layout: Layout,
    span: tuple[float, float],
    taken: Iterable[Rectangle],
    names: Iterable[str],
    parked: int,
    people: int,
) -> tuple[list[Vehicle], list[Pedestrian]]:
    """Draw parked vehicles and people on the pavements, each with a name of its own.

    Parameters
    ----------
    rng : numpy.random.Generator
    layout : Layout
    span : (low, high)
        Stretch of the main road to fill.
    taken : iterable of Rectangle
        Where nothing may stand.
    names : iterable of str
        Names that are in use.
    parked, people : int
        How many to try; one that fits nowhere is left out.
    """
    used, occupied = set(names), list(taken)
    vehicles: list[Vehicle] = []
    pedestrians: list[Pedestrian] = []
    kinds = [kind for kind in KINDS if kind != "bus"]
    for number in range(parked if layout.parking else 0):
        kind = str(rng.choice(kinds))
        heading = float(rng.choice((0.0, 180.0)))
        x = float(rng.uniform(*span))
        vehicle = Vehicle(f"parked {number}", kind, _colour(rng, used, kind), x, layout.parking_lane(heading), heading)
        plan = ground_plan(vehicle, 0.6)
        if near_street(layout, x, KINDS[kind][0] / 2 + 2) or any(touch(plan, other) for other in occupied):
            continue
        vehicles.append(vehicle)
        used.add(vehicle.name)
        occupied.append(plan)
    for number in range(people):
        side = float(rng.choice((0.0, 180.0)))
        x, y = float(rng.uniform(*span)), layout.pavement(side) + float(rng.uniform(-0.8, 0.9))
        clothing = _colour(rng, used, "pedestrian")
        heading, stride = float(rng.choice((0.0, 180.0))), float(rng.uniform(0.1, 0.4))
        walker = Pedestrian(f"walker {number}", clothing, x, y, heading, stride)
        plan = ground_plan(walker)
        if near_street(layout, x, 1) or any(touch(plan, other) for other in occupied):
            continue
        pedestrians.append(walker)
        used.add(walker.name)
        occupied.append(plan)
    return vehicles, pedestrians


def _colour(rng: np.random.Generator, used: set[str], kind: str) -> str:
    free = [colour for colour in COLOURS if name_of(kind, colour) not in used]
    return str(rng.choice(free))


def name_of(kind: str, colour: str) -> str:
    """Return how a question calls a thing of this kind and colour."""
    return f"pedestrian in {colour}" if kind == "pedestrian" else f"{colour} {kind}"


def swept(thing: Thing, velocity: tuple[float, float], seconds: Sequence[float]) -> Rectangle:
    """Return the rectangle that a moving thing passes over between the first and the last moment."""
    plans = [ground_plan(moved_on(thing, velocity, moment)) for moment in (seconds[0], seconds[-1])]
    return (
        min(plan[0] for plan in plans),
        min(plan[1] for plan in plans),
        max(plan[2] for plan in plans),
        max(plan[3] for plan in plans),
    )
