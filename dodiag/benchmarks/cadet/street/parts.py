"""The look of vehicles, people, traffic lights and work zones: solids with their front along +x and wheels at z = 0.

Front and rear of a vehicle are told apart by white head lamps, grille and windscreen against red tail lamps.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType

from dodiag.benchmarks.cadet.street.shapes import (
    Block,
    Polygon,
    Solid,
    ball,
    block,
    cylinder,
    panel,
    quad,
)
from dodiag.benchmarks.cadet.street.state import KINDS, OBSTACLES

HIP, SHOULDER = 0.88, 1.42
"""Heights at which a pedestrian's legs and arms turn."""
LAMP_HEIGHTS: Mapping[str, float] = MappingProxyType({"red": 3.55, "amber": 3.17, "green": 2.79})
LAMP_RADIUS = 0.15


@dataclass(frozen=True, slots=True, eq=False)
class Lights:
    """The lamps of a vehicle, each a solid of its own because it is lit or not."""

    head: Solid
    brake: Solid
    left: Solid
    right: Solid


@dataclass(frozen=True, slots=True, eq=False)
class VehicleLook:
    """A vehicle's solids: what is always there, and its lamps."""

    body: Solid
    lights: Lights


@lru_cache(maxsize=128)
def vehicle(kind: str, colour: str) -> VehicleLook:
    """Return the look of a vehicle."""
    return _VEHICLES[kind](colour)


def _wheels(axles: tuple[float, ...], half: float, radius: float, width: float = 0.24) -> Solid:
    parts: list[Polygon] = []
    for x in axles:
        for side in (-1, 1):
            inner, outer = side * (half - width), side * (half + 0.01)
            parts += cylinder((x, inner, radius), (x, outer, radius), (radius, radius), "tyre", 16)
            parts += cylinder(
                (x, outer - side * 0.02, radius), (x, outer + side * 0.015, radius), (0.6 * radius,) * 2, "rim", 10
            )
    return tuple(parts)


def _lamps(
    front: Block, rear: Block, heights: tuple[float, float], rear_heights: tuple[float, float], inner: float = 0.72
) -> tuple[Lights, Solid]:
    """Return the lamps on the front and the rear of a body, and the unlit lenses that are always there."""
    near = (0.03, 1 - inner)
    far = (inner, 0.97)
    head = tuple(panel(front.front, u, heights, "lamp", 0.02) for u in (near, far))
    tails = tuple(panel(rear.rear, u, rear_heights, "tail", 0.02) for u in (near, far))
    brake = tuple(panel(rear.rear, u, rear_heights, "brake", 0.035) for u in (near, far))
    low, high = heights
    under = (low - 0.9 * (high - low), low - 0.1 * (high - low))
    rlow, rhigh = rear_heights
    rear_under = (rlow - 0.9 * (rhigh - rlow), rlow - 0.1 * (rhigh - rlow))
    # Seen from the front, the vehicle's left side is on the right; seen from the rear it is on the left.
    left = (
        panel(front.front, far, under, "blinker", 0.035),
        panel(rear.rear, near, rear_under, "blinker", 0.035),
        panel(front.left, (0.02, 0.07), heights, "blinker", 0.02),
        panel(rear.left, (0.93, 0.98), rear_heights, "blinker", 0.02),
    )
    right = (
        panel(front.front, near, under, "blinker", 0.035),
        panel(rear.rear, far, rear_under, "blinker", 0.035),
        panel(front.right, (0.93, 0.98), heights, "blinker", 0.02),
        panel(rear.right, (0.02, 0.07), rear_heights, "blinker", 0.02),
    )
    return Lights(head, brake, left, right), tails


def _car(colour: str) -> VehicleLook:
    length, width, height = KINDS["car"]
    half = width / 2
    body = block((-length / 2, length / 2), half - 0.02, (0.28, 0.62), (-length / 2 + 0.02, length / 2 - 0.03), half)
    bonnet = block(
        (-length / 2 + 0.02, length / 2 - 0.03),
        half,
        (0.62, 0.92),
        (-length / 2 + 0.12, length / 2 - 0.40),
        half - 0.10,
    )
    cabin = block((-1.75, 0.95), half - 0.12, (0.90, height), (-1.25, 0.20), half - 0.30)
    lights, tails = _lamps(bonnet, bonnet, (0.10, 0.80), (0.10, 0.85))
    brake = (*lights.brake, panel(cabin.rear, (0.36, 0.64), (0.06, 0.18), "brake", 0.03))
    glass = (
        panel(cabin.front, (0.05, 0.95), (0.08, 0.93), "screen"),
        panel(cabin.rear, (0.08, 0.92), (0.20, 0.90), "glass"),
        panel(cabin.left, (0.09, 0.49), (0.10, 0.88), "glass"),
        panel(cabin.left, (0.53, 0.90), (0.10, 0.88), "glass"),
        panel(cabin.right, (0.10, 0.47), (0.10, 0.88), "glass"),
        panel(cabin.right, (0.51, 0.91), (0.10, 0.88), "glass"),
    )
    front = (
        panel(body.front, (0.22, 0.78), (0.30, 0.98), "trim"),
        panel(body.front, (0.34, 0.66), (0.05, 0.28), "plate", 0.03),
    )
    rear = (
        panel(body.rear, (0.0, 1.0), (0.0, 0.30), "trim"),
        panel(bonnet.rear, (0.36, 0.64), (0.05, 0.55), "plate", 0.02),
    )
    mirrors = (
        *block((0.55, 0.78), 0.09, (0.95, 1.08), y=half - 0.02).solid(colour),
        *block((0.55, 0.78), 0.09, (0.95, 1.08), y=-half + 0.02).solid(colour),
    )
    solid = (*body.solid(colour), *bonnet.solid(colour), *cabin.solid(colour), *glass, *front, *rear, *tails, *mirrors)
    return VehicleLook(
        (*solid, *_wheels((-1.38, 1.38), half, 0.34)), Lights(lights.head, brake, lights.left, lights.right)
    )


def _van(colour: str) -> VehicleLook:
    length, width, height = KINDS["van"]
    half, end = width / 2, length / 2
    cargo = block((-end, 1.0), half, (0.35, height), (-end + 0.06, 1.0), half - 0.10)
    nose = block((1.0, end), half, (0.35, 1.12), (1.0, end - 0.12), half - 0.04)
    cab = block((1.0, end - 0.12), half - 0.04, (1.12, height), (1.0, 1.30), half - 0.10)
    lights, tails = _lamps(nose, cargo, (0.48, 0.80), (0.16, 0.36), 0.80)
    brake = (*lights.brake, panel(cargo.rear, (0.40, 0.60), (0.95, 0.985), "brake", 0.03))
    glass = (
        panel(cab.front, (0.05, 0.95), (0.08, 0.94), "screen"),
        panel(cab.left, (0.14, 0.92), (0.08, 0.80), "glass"),
        panel(cab.right, (0.08, 0.86), (0.08, 0.80), "glass"),
        panel(cargo.rear, (0.10, 0.47), (0.55, 0.88), "glass"),
        panel(cargo.rear, (0.53, 0.90), (0.55, 0.88), "glass"),
        panel(cargo.rear, (0.494, 0.506), (0.04, 0.95), "trim"),
        panel(cargo.left, (0.12, 0.135), (0.08, 0.90), "trim"),
        panel(cargo.left, (0.46, 0.475), (0.08, 0.90), "trim"),
        panel(cargo.right, (0.525, 0.54), (0.08, 0.90), "trim"),
        panel(cargo.right, (0.865, 0.88), (0.08, 0.90), "trim"),
    )
    ends = (
        panel(nose.front, (0.24, 0.76), (0.36, 0.72), "trim"),
        panel(nose.front, (0.36, 0.64), (0.08, 0.24), "plate", 0.03),
        panel(cargo.rear, (0.36, 0.64), (0.03, 0.12), "plate", 0.03),
    )
    mirrors = tuple(
        p for side in (-1, 1) for p in block((1.75, 1.95), 0.1, (1.15, 1.45), y=side * (half + 0.06)).solid("trim")
    )
    solid = (*cargo.solid(colour), *nose.solid(colour), *cab.solid(colour), *glass, *ends, *tails, *mirrors)
    return VehicleLook(
        (*solid, *_wheels((-1.65, 1.65), half - 0.02, 0.36)), Lights(lights.head, brake, lights.left, lights.right)
    )


def _truck(colour: str) -> VehicleLook:
    length, width, height = KINDS["truck"]
    half, end = width / 2, length / 2
    chassis = block((-end, end - 0.1), half - 0.25, (0.45, 0.95))
    box = block((-end, end - 2.05), half, (0.95, height))
    cab = block((end - 1.90, end), half - 0.06, (0.45, 1.45))
    top = block((end - 1.90, end), half - 0.06, (1.45, 2.55), (end - 1.85, end - 0.28), half - 0.14)
    lights, tails = _lamps(cab, chassis, (0.20, 0.42), (0.25, 0.85), 0.76)
    brake = (
        *lights.brake,
        panel(box.rear, (0.02, 0.09), (0.02, 0.10), "brake", 0.02),
        panel(box.rear, (0.91, 0.98), (0.02, 0.10), "brake", 0.02),
    )
    glass = (
        panel(top.front, (0.04, 0.96), (0.10, 0.90), "screen"),
        panel(top.left, (0.12, 0.80), (0.10, 0.85), "glass"),
        panel(top.right, (0.20, 0.88), (0.10, 0.85), "glass"),
    )
    ends = (
        panel(cab.front, (0.22, 0.78), (0.45, 0.85), "trim"),
        panel(cab.front, (0.36, 0.64), (0.06, 0.18), "plate", 0.03),
        panel(chassis.rear, (0.36, 0.64), (0.2, 0.7), "plate", 0.03),
        panel(box.rear, (0.04, 0.49), (0.04, 0.96), "steel", 0.012),
        panel(box.rear, (0.51, 0.96), (0.04, 0.96), "steel", 0.012),
        *(panel(side, (0.0, 1.0), (0.0, 0.06), "trim", 0.012) for side in (box.left, box.right)),
        *(panel(side, (0.03, 0.97), (0.42, 0.54), "chalk", 0.012) for side in (box.left, box.right)),
    )
    solid = (*chassis.solid("trim"), *box.solid(colour), *cab.solid(colour), *top.solid(colour), *glass, *ends, *tails)
    return VehicleLook(
        (*solid, *_wheels((-end + 1.5, end - 1.2), half - 0.02, 0.48, 0.34)),
        Lights(lights.head, brake, lights.left, lights.right),
    )


def _bus(colour: str) -> VehicleLook:
    length, width, height = KINDS["bus"]
    half, end = width / 2, length / 2
    hull = block((-end, end), half, (0.35, height), (-end + 0.04, end - 0.10), half - 0.05)
    lights, tails = _lamps(hull, hull, (0.16, 0.25), (0.16, 0.27), 0.82)
    brake = (*lights.brake, *(panel(hull.rear, u, (0.88, 0.92), "brake", 0.03) for u in ((0.06, 0.2), (0.8, 0.94))))
    windows = []
    for index in range(7):
        start = 0.055 + index * 0.13
        windows.append(panel(hull.left, (start, start + 0.112), (0.44, 0.80), "glass"))
        if index < 6:
            windows.append(panel(hull.right, (start, start + 0.112), (0.44, 0.80), "glass"))
    doors = (
        panel(hull.right, (0.845, 0.935), (0.06, 0.84), "screen"),
        panel(hull.right, (0.45, 0.56), (0.06, 0.42), "screen"),
    )
    ends = (
        panel(hull.front, (0.05, 0.95), (0.36, 0.82), "screen"),
        panel(hull.front, (0.20, 0.80), (0.86, 0.96), "destination", 0.02),
        panel(hull.front, (0.37, 0.63), (0.04, 0.11), "plate", 0.02),
        panel(hull.rear, (0.14, 0.86), (0.56, 0.80), "glass"),
        panel(hull.rear, (0.30, 0.70), (0.17, 0.40), "trim"),
        panel(hull.rear, (0.37, 0.63), (0.04, 0.11), "plate", 0.02),
        *(panel(side, (0.0, 1.0), (0.30, 0.34), "chalk", 0.012) for side in (hull.left, hull.right)),
    )
    solid = (*hull.solid(colour), *windows, *doors, *ends, *tails)
    return VehicleLook(
        (*solid, *_wheels((-end + 2.6, end - 2.4), half, 0.48, 0.3)),
        Lights(lights.head, brake, lights.left, lights.right),
    )


def _motorcycle(colour: str) -> VehicleLook:
    frame = block((-0.75, 0.62), 0.16, (0.45, 0.85), (-0.95, 0.45), 0.13)
    fairing = block((0.42, 0.82), 0.24, (0.62, 1.02), (0.46, 0.66), 0.18)
    tail = block((-1.02, -0.45), 0.17, (0.80, 0.95), (-1.02, -0.45), 0.12)
    seat = block((-0.75, 0.05), 0.15, (0.85, 0.93))
    torso = block((-0.42, -0.02), 0.25, (0.88, 1.38), (-0.20, 0.12), 0.27)
    arms = tuple(
        p for s in (-1, 1) for p in cylinder((0.0, s * 0.27, 1.32), (0.52, s * 0.30, 1.03), (0.07, 0.055), colour, 8)
    )
    legs = tuple(
        p
        for s in (-1, 1)
        for p in (
            *cylinder((-0.3, s * 0.18, 0.93), (0.12, s * 0.27, 0.78), (0.10, 0.08), "trousers", 8),
            *cylinder((0.12, s * 0.27, 0.78), (-0.12, s * 0.25, 0.36), (0.08, 0.06), "trousers", 8),
        )
    )
    helmet = ball((0.06, 0, 1.52), (0.15, 0.14, 0.15), "trim")
    wheels = tuple(
        p
        for x in (-0.72, 0.74)
        for p in (
            *cylinder((x, -0.07, 0.32), (x, 0.07, 0.32), (0.32, 0.32), "tyre", 16),
            *cylinder((x, -0.08, 0.32), (x, 0.08, 0.32), (0.18, 0.18), "rim", 10),
        )
    )
    head = (panel(fairing.front, (0.15, 0.85), (0.35, 0.85), "lamp", 0.02),)
    brake = (panel(tail.rear, (0.05, 0.95), (0.1, 0.95), "brake", 0.03),)
    left = (
        *ball((0.62, 0.30, 0.90), (0.06, 0.06, 0.06), "blinker", 4, 6),
        *ball((-0.98, 0.24, 0.86), (0.06, 0.06, 0.06), "blinker", 4, 6),
    )
    right = (
        *ball((0.62, -0.30, 0.90), (0.06, 0.06, 0.06), "blinker", 4, 6),
        *ball((-0.98, -0.24, 0.86), (0.06, 0.06, 0.06), "blinker", 4, 6),
    )
    plate = quad(((-1.06, 0.1, 0.60), (-1.06, -0.1, 0.60), (-1.04, -0.1, 0.78), (-1.04, 0.1, 0.78)), "plate")
    lens = panel(tail.rear, (0.05, 0.95), (0.1, 0.95), "tail", 0.02)
    solid = (
        *frame.solid(colour),
        *fairing.solid(colour),
        *tail.solid(colour),
        *seat.solid("trim"),
        *torso.solid(colour),
        *arms,
        *legs,
        *helmet,
        *wheels,
        plate,
        lens,
    )
    return VehicleLook(solid, Lights(head, brake, left, right))


_VEHICLES: Mapping[str, Callable[[str], VehicleLook]] = MappingProxyType(
    {"car": _car, "van": _van, "truck": _truck, "bus": _bus, "motorcycle": _motorcycle}
)


@dataclass(frozen=True, slots=True, eq=False)
class PersonLook:
    """A pedestrian's solids: trunk with head, and a leg and an arm that hang from the origin of their own frame."""

    trunk: Solid
    leg: Solid
    arm: Solid


@lru_cache(maxsize=32)
def person(colour: str) -> PersonLook:
    """Return the look of a pedestrian with a jacket of this colour."""
    jacket = block((-0.12, 0.12), 0.19, (0.80, SHOULDER + 0.06), (-0.13, 0.13), 0.23)
    neck = cylinder((0, 0, 1.45), (0, 0, 1.56), (0.065, 0.065), "skin", 8)
    head = ball((0.0, 0, 1.64), (0.115, 0.10, 0.135), "skin", 6, 10)
    hair = ball((-0.03, 0, 1.68), (0.115, 0.108, 0.11), "hair", 6, 10)
    leg = (
        *cylinder((0, 0, -HIP + 0.06), (0, 0, 0.02), (0.075, 0.10), "trousers", 8),
        *block((-0.09, 0.17), 0.06, (-HIP, -HIP + 0.1)).solid("shoe"),
    )
    arm = (
        *cylinder((0, 0, -0.52), (0, 0, 0.04), (0.055, 0.07), colour, 8),
        *ball((0, 0, -0.57), (0.05, 0.05, 0.06), "skin", 4, 6),
    )
    return PersonLook((*jacket.solid(colour), *neck, *head, *hair), leg, arm)


@lru_cache(maxsize=1)
def signal() -> Solid:
    """Return a traffic light without its lamps."""
    pole = cylinder((-0.14, 0, 0), (-0.14, 0, 3.3), (0.07, 0.06), "steel", 10)
    housing = block((-0.12, 0.08), 0.20, (2.55, 3.80))
    rim = block((-0.10, -0.08), 0.25, (2.49, 3.86))
    return (*pole, *housing.solid("housing"), *rim.solid("chalk"))


def signal_lamp(colour: str) -> Solid:
    """Return one lamp of a traffic light: a disc on its face."""
    z = LAMP_HEIGHTS[colour]
    return cylinder((0.08, 0, z), (0.12, 0, z), (LAMP_RADIUS, LAMP_RADIUS), "chalk", 16)


@lru_cache(maxsize=8)
def obstacle(kind: str) -> Solid:
    """Return a thing of a work zone."""
    depth, width, height = OBSTACLES[kind]
    if kind == "cone":
        return (
            *block((-depth / 2, depth / 2), width / 2, (0.0, 0.05)).solid("cone"),
            *cylinder((0, 0, 0.05), (0, 0, 0.32), (0.17, 0.115), "cone", 12),
            *cylinder((0, 0, 0.32), (0, 0, 0.55), (0.117, 0.072), "chalk", 12),
            *cylinder((0, 0, 0.55), (0, 0, height), (0.07, 0.03), "cone", 12),
        )
    if kind == "barrier":
        board = block((-0.04, 0.04), width / 2, (0.55, height))
        stripes = tuple(
            panel(side, (u, u + 0.125), (0.0, 1.0), "chalk", 0.012)
            for side in (board.front, board.rear)
            for u in (0.125, 0.375, 0.625, 0.875)
        )
        feet = tuple(
            p
            for y in (-0.8, 0.8)
            for p in (
                *block((-0.04, 0.04), 0.04, (0.05, 0.55), y=y).solid("steel"),
                *block((-depth / 2, depth / 2), 0.06, (0.0, 0.06), y=y).solid("trim"),
            )
        )
        return (*board.solid("board"), *stripes, *feet)
    post = cylinder((-0.03, 0, 0), (-0.03, 0, 1.1), (0.03, 0.03), "steel", 8)
    size = width / 2
    middle = height - size
    rim = _diamond(0.0, middle, size, "trim")
    face = _diamond(0.012, middle, size - 0.07, "cone")
    figure = (
        quad(
            (
                (0.022, -0.05, middle - 0.3),
                (0.022, 0.05, middle - 0.3),
                (0.022, 0.05, middle + 0.12),
                (0.022, -0.05, middle + 0.12),
            ),
            "trim",
        ),
        quad(
            (
                (0.022, -0.05, middle + 0.2),
                (0.022, 0.05, middle + 0.2),
                (0.022, 0.05, middle + 0.3),
                (0.022, -0.05, middle + 0.3),
            ),
            "trim",
        ),
    )
    back = tuple(Polygon(polygon.corners[::-1], "steel") for polygon in _diamond(-0.005, middle, size, "steel"))
    return (*post, *rim, *face, *figure, *back)


def _diamond(x: float, z: float, size: float, colour: str) -> Solid:
    return (quad(((x, 0, z - size), (x, size, z), (x, 0, z + size), (x, -size, z)), colour),)
