"""Traffic as a street scene: what is where at a step of a run, and where the camera is."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from dodiag.benchmarks.cadet.street.state import Obstacle, Pedestrian, Signal, Snapshot, Vehicle
from dodiag.benchmarks.cadet.traffic.agents import EGO, LANE, Walker, WorkZone, World
from dodiag.benchmarks.cadet.traffic.rules import STEP, Run
from dodiag.benchmarks.rendering import Camera

WIDTH, HEIGHT = 640, 360
CAMERA_HEIGHT = 1.9
FIELD_OF_VIEW = 42.0
TILT = 3.0
"""Degrees that the camera looks down."""

FOCAL = HEIGHT / 2 / math.tan(math.radians(FIELD_OF_VIEW / 2))
"""Pixels."""

TILT_PIXELS = FOCAL * math.tan(math.radians(TILT))
"""How far the horizon is above the middle of the frame."""

VANISHING = (WIDTH / 2, HEIGHT / 2 - TILT_PIXELS)
"""Where straight lines along the road meet in the frame."""

STRIDE = 1.5
"""Metres of two steps of a pedestrian."""

FAR_SIDE = 9.0
"""Metres from a stop line to its light, which stands beyond the crossing so that a waiting driver sees it."""


def snapshot(run: Run, step: int) -> Snapshot:
    """Return all that is on the road at a step, but for the camera car."""
    time = step * STEP
    vehicles = tuple(_vehicle(run, step, column) for column, driver in enumerate(run.world.drivers) if driver.id != EGO)
    return Snapshot(
        time=round(time, 3),
        vehicles=vehicles,
        pedestrians=tuple(_pedestrian(walker, time) for walker in run.world.walkers),
        signals=tuple(
            Signal(light.id, light.s + FAR_SIDE, -(run.world.kerb + 0.5), 180.0, light.at(time))
            for light in run.world.lights
        ),
        obstacles=tuple(obstacle for zone in run.world.zones for obstacle in _obstacles(zone)),
    )


def dashcam(run: Run, step: int) -> Camera:
    """Return the camera behind the windscreen of the camera car."""
    column = run.column(EGO)
    s, d = float(run.s[step, column]), float(run.d[step, column])
    yaw = math.degrees(math.atan2(_sideways(run, step, column), max(float(run.v[step, column]), 2.0)))
    ahead = math.radians(yaw)
    down = math.radians(TILT)
    place = (s + math.cos(ahead), d + math.sin(ahead), CAMERA_HEIGHT)
    target = (
        place[0] + math.cos(down) * math.cos(ahead),
        place[1] + math.cos(down) * math.sin(ahead),
        place[2] - math.sin(down),
    )
    return Camera(target, 1.0, yaw, TILT, FIELD_OF_VIEW, WIDTH, HEIGHT)


def in_frame(run: Run, column: int, step: int, farthest: float = 46.0) -> bool:
    """Return whether the middle of a vehicle is in the frame and near enough to be made out, if nothing hides it."""
    camera = dashcam(run, step)
    place = np.array((run.s[step, column], run.d[step, column], 0.9))
    depth = float((place - camera.position) @ camera.axes[2])
    if not 3.0 < depth < farthest:
        return False
    x, y = camera.project(place)
    return bool(0 <= x < WIDTH and 0 <= y < HEIGHT)


def parts_of(world: World, agent_id: str) -> tuple[str, ...]:
    """Return the ids of the things of a snapshot that an agent is made of: one, but for a work zone."""
    agent = world.agent(agent_id)
    return tuple(part.id for part in _obstacles(agent)) if isinstance(agent, WorkZone) else (agent_id,)


def _sideways(run: Run, step: int, column: int) -> float:
    last = len(run.times) - 1
    before, after = max(step - 1, 0), min(step + 1, last)
    return float(run.d[after, column] - run.d[before, column]) / (STEP * max(after - before, 1))


def _vehicle(run: Run, step: int, column: int) -> Vehicle:
    driver = run.world.drivers[column]
    speed = float(run.v[step, column])
    turn = math.degrees(math.atan2(_sideways(run, step, column) * driver.direction, max(speed, 2.0)))
    side = int(run.indicating[step, column])
    lit = (step // 4) % 2 == 0
    hazard = driver.wish == 0 and abs(driver.d) < 2 * LANE
    return Vehicle(
        id=driver.id,
        kind=driver.kind,
        colour=driver.colour,
        x=float(run.s[step, column]),
        y=float(run.d[step, column]),
        heading=(0.0 if driver.direction == 1 else 180.0) + turn,
        braking=bool(run.braking[step, column]),
        left_indicator=(side > 0 or hazard) and lit,
        right_indicator=(side < 0 or hazard) and lit,
    )


def _pedestrian(walker: Walker, time: float) -> Pedestrian:
    s, d = walker.at(time)
    walked = math.hypot(walker.ds, walker.dd) * max(0.0, min(time, walker.stops) - walker.starts)
    stride = (walked / STRIDE) % 1.0 if walker.walks(time) else 0.0
    return Pedestrian(walker.id, walker.colour, s, d, math.degrees(math.atan2(walker.dd, walker.ds)), stride)


def _obstacles(zone: WorkZone) -> Iterator[Obstacle]:
    """Yield a sign, a barrier across the lane and cones along it."""
    yield Obstacle(f"{zone.id} barrier", "barrier", zone.start + 0.3, zone.d)
    yield Obstacle(f"{zone.id} sign", "work sign", zone.start + 2.0, zone.d, 180.0)
    edge = zone.d + (LANE / 2 - 0.35 if zone.d < -LANE else -(LANE / 2 - 0.35))
    count = int((zone.end - zone.start) // 2.5)
    for number in range(count):
        s = zone.start + 1.5 + 2.5 * number
        yield Obstacle(f"{zone.id} cone{number}", "cone", s, edge)
        yield Obstacle(f"{zone.id} inner{number}", "cone", s + 1.2, 2 * zone.d - edge)
