"""Scenes of Traffic Causation: traffic in which one event has one cause, found by taking every agent away in turn.

A scene is drawn from a plot (a pedestrian crosses, a light turns red, …) together with bystanders that move at the same
time. The plot is a proposal only: what is asked about is what the event log of the simulation says, and a scene is kept
only where the interventions agree with the plot.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from dodiag.benchmarks.cadet.traffic.agents import EGO, LANE, Driver, Light, Walker, WorkZone, World
from dodiag.benchmarks.cadet.traffic.causes import Verdict, verdict
from dodiag.benchmarks.cadet.traffic.events import Event, What, events_of
from dodiag.benchmarks.cadet.traffic.rules import (
    BEFORE_CROSSING,
    BEFORE_LINE,
    BRAKING,
    REACTION,
    WALKER_ROOM,
    Run,
    simulate,
)

SECONDS = 7.0
INNER, OUTER = -LANE / 2, -3 * LANE / 2
PARKING = 2.3
EARLIEST, LATEST = 1.4, 5.6
"""Seconds between which the event that is asked about happens."""

NEAREST = 1.2
"""Metres between two things, nose to tail or side to side, below which a scene is no ordinary traffic."""

VEHICLE_COLOURS = ("red", "yellow", "green", "blue", "white", "black", "purple", "pink")
CLOTHES = ("red", "yellow", "green", "blue", "white", "purple", "pink")
KIND_SHARES = {"car": 0.4, "van": 0.3, "truck": 0.15, "motorcycle": 0.15}

Plot = Literal["crossing", "red light", "pulls out", "cuts in", "blocked lane", "queue", "green light", "way clears"]
PLOTS: tuple[Plot, ...] = get_args(Plot)


@dataclass(frozen=True, slots=True)
class Case:
    """A world and the event in it that is asked about.

    Attributes
    ----------
    plot : str
        One of :data:`PLOTS`.
    world : World
    parking : float
        Width of the parking strips; 0 for none.
    crossing : float or None
        Where the pedestrian crossing is.
    run : Run
    events : tuple of Event
    effect : Event
    verdict : Verdict
        What taking each agent away does to the effect.
    root : str
        Id of the agent that the effect goes back to.
    between : str
        Id of the vehicle through which it acts; empty where there is none.
    """

    plot: Plot
    world: World
    parking: float
    crossing: float | None
    run: Run
    events: tuple[Event, ...]
    effect: Event
    verdict: Verdict
    root: str
    between: str


@dataclass(slots=True)
class _Cast:
    """Draws agents that a person tells apart by colour and kind."""

    rng: np.random.Generator
    kerb: float
    taken: set[str]

    def look(self, kinds: tuple[str, ...] = ()) -> tuple[str, str]:
        """Return a kind, and a colour that no other vehicle has."""
        shares = {kind: share for kind, share in KIND_SHARES.items() if not kinds or kind in kinds}
        total = sum(shares.values())
        kind = str(self.rng.choice(list(shares), p=[share / total for share in shares.values()]))
        colour = str(self.rng.choice([colour for colour in VEHICLE_COLOURS if f"vehicle {colour}" not in self.taken]))
        self.taken.add(f"vehicle {colour}")
        return kind, colour

    def clothes(self) -> str:
        """Return a colour that no other pedestrian wears."""
        free = [colour for colour in CLOTHES if f"pedestrian {colour}" not in self.taken]
        colour = str(self.rng.choice(free))
        self.taken.add(f"pedestrian {colour}")
        return colour


def draw_case(rng: np.random.Generator, plot: Plot, rejected: Counter[str]) -> Case | None:
    """Draw one scene of a plot; None where it is not kept, with the reason counted in `rejected`.

    Parameters
    ----------
    rng : numpy.random.Generator
    plot : str
        One of :data:`PLOTS`.
    rejected : Counter
        Reasons, added to.
    """
    staged = _stage(rng, plot, rejected)
    if staged is None:
        return None
    found = verdict(staged.world, staged.effect, SECONDS)
    if staged.root not in found.causes or set(found.causes) - {staged.root, staged.between}:
        rejected["the interventions disagree with the plot"] += 1
        return None
    if staged.between and plot == "cuts in" and staged.between not in found.causes:
        rejected["the interventions disagree with the plot"] += 1
        return None
    return Case(
        plot,
        staged.world,
        staged.parking,
        staged.crossing,
        staged.run,
        staged.events,
        staged.effect,
        found,
        staged.root,
        staged.between,
    )


def other_runs(rng: np.random.Generator, count: int) -> Iterator[Run]:
    """Yield runs of other scenes, each plot as often as it is in packs; what an event goes back to is not looked for.

    Parameters
    ----------
    rng : numpy.random.Generator
    count : int
        Scenes to try; few of them are given up.
    """
    for number in range(count):
        staged = _stage(rng, PLOTS[number % len(PLOTS)], Counter())
        if staged is not None:
            yield staged.run


@dataclass(frozen=True, slots=True)
class _Staged:
    """A scene in which its event happens; the attributes are those of :class:`Case`."""

    world: World
    parking: float
    crossing: float | None
    run: Run
    events: tuple[Event, ...]
    effect: Event
    root: str
    between: str


def _stage(rng: np.random.Generator, plot: Plot, rejected: Counter[str]) -> _Staged | None:
    """Draw a scene and let it run; None where its event does not happen in time, or two things touch."""
    parking = PARKING if plot == "pulls out" or rng.random() < 0.4 else 0.0
    kerb = 2 * LANE + parking
    cast = _Cast(rng, kerb, set())
    world, actor, what, root, between, crossing = _PLOTS[plot](cast, rng)
    world = _with_bystanders(world, cast, rng, plot)
    run = simulate(world, SECONDS)
    events = events_of(run)
    effect = next((event for event in events if event.who == actor and event.what == what), None)
    if effect is None or not EARLIEST <= effect.time <= LATEST:
        rejected["the event does not happen in time"] += 1
        return None
    if _touch(run):
        rejected["two vehicles touch"] += 1
        return None
    return _Staged(world, parking, crossing, run, events, effect, root, between)


def _touch(run: Run) -> bool:
    drivers = run.world.drivers
    for i, first in enumerate(drivers):
        for j, second in enumerate(drivers[:i]):
            along = np.abs(run.s[:, i] - run.s[:, j]) - (first.length + second.length) / 2
            across = np.abs(run.d[:, i] - run.d[:, j]) - (first.width + second.width) / 2
            if bool(((along < NEAREST) & (across < 0.25)).any()):
                return True
    for walker in run.world.walkers:
        path = np.array([walker.at(float(time)) for time in run.times])
        for i, driver in enumerate(drivers):
            near = np.abs(run.s[:, i] - path[:, 0]) < driver.length / 2 + NEAREST
            if bool((near & (np.abs(run.d[:, i] - path[:, 1]) < driver.width / 2 + 0.5)).any()):
                return True
    return False


Proposal = tuple[World, str, What, str, str, float | None]
"""The world, who acts, what happens, the root, the vehicle between, and where the crossing is."""


def _brake_distance(speed: float) -> float:
    return speed * speed / (2 * BRAKING) + REACTION * speed


def _ego(lane: float, speed: float, s: float = 0.0) -> Driver:
    return Driver(EGO, "car", "white", s, lane, speed, speed)


def _lanes(rng: np.random.Generator) -> tuple[float, float]:
    """Return the camera car's lane and the other one."""
    return (INNER, OUTER) if rng.random() < 0.5 else (OUTER, INNER)


def _actor(cast: _Cast, rng: np.random.Generator, speed: float) -> tuple[Driver, tuple[Driver, ...], float]:
    """Return who acts (the camera car, a vehicle ahead of it or one in the other lane), all drivers, and its lane."""
    mine, other = _lanes(rng)
    kind, colour = cast.look()
    place = rng.choice(("ahead", "beside", "camera car"), p=(0.4, 0.35, 0.25))
    if place == "camera car":
        ego = _ego(mine, speed)
        return ego, (ego,), mine
    lane = mine if place == "ahead" else other
    s = rng.uniform(11, 16) if place == "ahead" else rng.uniform(9, 17)
    actor = Driver("actor", kind, colour, float(s), lane, speed, speed)
    return actor, (_ego(mine, speed), actor), lane


def _pedestrian(cast: _Cast, rng: np.random.Generator, agent_id: str, s: float, enters: float) -> Walker:
    """Return a pedestrian who steps onto the road at a time, from either side."""
    side = -1.0 if rng.random() < 0.6 else 1.0
    pace = float(rng.uniform(1.2, 1.8))
    before = float(rng.uniform(0.6, 1.6))
    starts = max(0.0, enters - before / pace)
    start = cast.kerb + pace * (enters - starts)
    return Walker(agent_id, cast.clothes(), s, side * start, 0.0, -side * pace, starts)


def _crossing(cast: _Cast, rng: np.random.Generator) -> Proposal:
    speed = float(rng.uniform(5.5, 8.5))
    actor, drivers, _ = _actor(cast, rng, speed)
    brakes = float(rng.uniform(0.8, 3.4))
    crossing = actor.s + actor.length / 2 + speed * brakes + _brake_distance(speed) + BEFORE_CROSSING
    walker = _pedestrian(cast, rng, "walker", crossing, max(0.2, brakes - float(rng.uniform(0.1, 1.0))))
    what: What = "stops" if rng.random() < 0.6 else "brakes"
    return World(drivers, (walker,), kerb=cast.kerb), actor.id, what, walker.id, "", crossing


def _red_light(cast: _Cast, rng: np.random.Generator) -> Proposal:
    speed = float(rng.uniform(5.5, 8.5))
    actor, drivers, _ = _actor(cast, rng, speed)
    brakes = float(rng.uniform(0.8, 3.4))
    line = actor.s + actor.length / 2 + speed * brakes + _brake_distance(speed) + BEFORE_LINE
    amber = round(max(0.3, brakes - float(rng.uniform(0.0, 0.9))), 1)
    light = Light("light", line, ((0.0, "green"), (amber, "amber"), (round(amber + 0.8, 1), "red")))
    what: What = "stops" if rng.random() < 0.6 else "brakes"
    return World(drivers, (), (light,), kerb=cast.kerb), actor.id, what, light.id, "", None


def _green_light(cast: _Cast, rng: np.random.Generator) -> Proposal:
    mine, other = _lanes(rng)
    wish = float(rng.uniform(6, 9))
    kind, colour = cast.look()
    line = float(rng.uniform(16, 24))
    ahead = rng.random() < 0.6
    length = Driver("", kind, colour, 0, 0, 0, 0).length
    actor = Driver("actor", kind, colour, line - BEFORE_LINE - length / 2, mine if ahead else other, 0.0, wish)
    green = round(float(rng.uniform(1.4, 5.0)), 1)
    light = Light("light", line, ((0.0, "red"), (green, "green")))
    ego = _ego(mine, float(rng.uniform(0.0, 4.0)))
    return World((ego, actor), (), (light,), kerb=cast.kerb), actor.id, "sets off", light.id, "", None


def _way_clears(cast: _Cast, rng: np.random.Generator) -> Proposal:
    """A vehicle waits for a pedestrian, and drives on when its lane is free."""
    mine, other = _lanes(rng)
    wish = float(rng.uniform(6, 9))
    kind, colour = cast.look()
    crossing = float(rng.uniform(17, 24))
    lane = mine if rng.random() < 0.6 else other
    length = Driver("", kind, colour, 0, 0, 0, 0).length
    actor = Driver("actor", kind, colour, crossing - BEFORE_CROSSING - length / 2, lane, 0.0, wish)
    clears = float(rng.uniform(1.4, 5.0))
    side = -1.0 if rng.random() < 0.5 else 1.0
    pace = float(rng.uniform(1.1, 1.6))
    # Where the pedestrian is at the start, to be past the lane after `clears` seconds.
    start = lane - side * (actor.width / 2 + WALKER_ROOM) + side * pace * clears
    walker = Walker("walker", cast.clothes(), crossing, start, 0.0, -side * pace)
    ego = _ego(mine, float(rng.uniform(0.0, 4.0)))
    world = World((ego, actor), (walker,), kerb=cast.kerb)
    return world, actor.id, "sets off", walker.id, "", crossing


def _pulls_out(cast: _Cast, rng: np.random.Generator) -> Proposal:
    speed = float(rng.uniform(6.5, 9))
    kind, colour = cast.look()
    if rng.random() < 0.4:
        actor = _ego(OUTER, speed)
        drivers: tuple[Driver, ...] = (actor,)
    else:
        mine = OUTER if rng.random() < 0.5 else INNER
        actor = Driver("actor", kind, colour, float(rng.uniform(11, 15)), OUTER, speed, speed)
        drivers = (_ego(mine, speed), actor)
    leaves = float(rng.uniform(0.6, 4.0))
    kind, colour = cast.look(("car", "van", "truck"))
    s = actor.s + speed * (leaves + 0.8) + float(rng.uniform(11, 17))
    parked = -(2 * LANE + PARKING / 2)
    out = Driver("out", kind, colour, s, parked, 0.0, float(rng.uniform(3, 5)), lane=OUTER, leaves=leaves, gap=0.0)
    return World((*drivers, out), kerb=cast.kerb), actor.id, "brakes", out.id, "", None


def _blockage(cast: _Cast, rng: np.random.Generator, lane: float, start: float) -> Driver | WorkZone:
    """Return a work zone or a vehicle that stands in a lane, beginning at `start`."""
    if rng.random() < 0.5:
        return WorkZone("zone", lane, start, start + float(rng.uniform(8, 14)))
    kind, colour = cast.look(("car", "van", "truck"))
    length = Driver("", kind, colour, 0, 0, 0, 0).length
    return Driver("standing", kind, colour, start + length / 2, lane, 0.0, 0.0)


def _with_blockage(drivers: tuple[Driver, ...], block: Driver | WorkZone, kerb: float) -> World:
    if isinstance(block, Driver):
        return World((*drivers, block), kerb=kerb)
    return World(drivers, (), (), (block,), kerb=kerb)


def _cuts_in(cast: _Cast, rng: np.random.Generator) -> Proposal:
    mine, other = _lanes(rng)
    speed = float(rng.uniform(7, 9.5))
    if rng.random() < 0.5:
        actor = _ego(mine, speed)
        drivers: tuple[Driver, ...] = (actor,)
    else:
        kind, colour = cast.look()
        actor = Driver("actor", kind, colour, float(rng.uniform(11, 14)), mine, speed, speed)
        drivers = (_ego(mine, speed), actor)
    kind, colour = cast.look(("car", "van", "motorcycle"))
    slower = speed * float(rng.uniform(0.5, 0.68))
    decides = float(rng.uniform(0.6, 3.2))
    ahead = float(rng.uniform(9, 14)) + (speed - slower) * decides
    cutter = Driver("cutter", kind, colour, actor.s + ahead, other, slower, slower, gap=0.0)
    block = _blockage(cast, rng, other, cutter.s + cutter.length / 2 + slower * decides + float(rng.uniform(24, 31)))
    return _with_blockage((*drivers, cutter), block, cast.kerb), actor.id, "brakes", block.id, cutter.id, None


def _blocked_lane(cast: _Cast, rng: np.random.Generator) -> Proposal:
    mine, other = _lanes(rng)
    speed = float(rng.uniform(6, 8.5))
    lane = mine if rng.random() < 0.7 else other
    kind, colour = cast.look()
    actor = Driver("actor", kind, colour, float(rng.uniform(10, 15)), lane, speed, speed)
    decides = float(rng.uniform(0.5, 4.2))
    block = _blockage(cast, rng, lane, actor.s + actor.length / 2 + speed * decides + 32)
    world = _with_blockage((_ego(mine, speed), actor), block, cast.kerb)
    return world, actor.id, "moves over", block.id, "", None


def _queue(cast: _Cast, rng: np.random.Generator) -> Proposal:
    """A vehicle stops behind one that stops for a pedestrian or for a light."""
    speed = float(rng.uniform(5.5, 8))
    mine, other = _lanes(rng)
    first_kind, first_colour = cast.look(("car", "motorcycle"))
    if rng.random() < 0.45:
        actor, lane = _ego(mine, speed), mine
        drivers: tuple[Driver, ...] = (actor,)
    else:
        lane = other
        kind, colour = cast.look(("car", "van", "motorcycle"))
        actor = Driver("actor", kind, colour, float(rng.uniform(7, 11)), lane, speed, speed)
        drivers = (_ego(mine, speed), actor)
    gap = float(rng.uniform(5.0, 8.0))
    front = Driver("front", first_kind, first_colour, 0.0, lane, speed, speed)
    s = actor.s + (actor.length + front.length) / 2 + gap
    front = Driver("front", first_kind, first_colour, s, lane, speed, speed)
    brakes = float(rng.uniform(0.6, 2.2))
    stop = front.s + front.length / 2 + speed * brakes + _brake_distance(speed)
    drivers = (*drivers, front)
    if rng.random() < 0.5:
        crossing = stop + BEFORE_CROSSING
        walker = _pedestrian(cast, rng, "walker", crossing, max(0.2, brakes - float(rng.uniform(0.1, 0.8))))
        return World(drivers, (walker,), kerb=cast.kerb), actor.id, "brakes", walker.id, front.id, crossing
    amber = round(max(0.3, brakes - float(rng.uniform(0.0, 0.7))), 1)
    light = Light("light", stop + BEFORE_LINE, ((0.0, "green"), (amber, "amber"), (round(amber + 0.8, 1), "red")))
    return World(drivers, (), (light,), kerb=cast.kerb), actor.id, "brakes", light.id, front.id, None


_PLOTS = {
    "crossing": _crossing,
    "red light": _red_light,
    "pulls out": _pulls_out,
    "cuts in": _cuts_in,
    "blocked lane": _blocked_lane,
    "queue": _queue,
    "green light": _green_light,
    "way clears": _way_clears,
}


def _with_bystanders(world: World, cast: _Cast, rng: np.random.Generator, plot: Plot) -> World:
    """Return the world with people and vehicles that are there at the same time, and may do something then."""
    walkers = list(world.walkers)
    for number in range(int(rng.integers(1, 4))):
        side = -1.0 if rng.random() < 0.7 else 1.0
        starts, stops = 0.0, 1e9
        if rng.random() < 0.6:
            starts = round(float(rng.uniform(1.0, 4.5)), 1)
        elif rng.random() < 0.5:
            stops = round(float(rng.uniform(1.5, 5.0)), 1)
        pace = float(rng.choice((-1, 1)) * rng.uniform(1.1, 1.7))
        d = side * (cast.kerb + float(rng.uniform(0.7, 2.2)))
        s = float(rng.uniform(15, 34))
        walkers.append(Walker(f"stroller{number}", cast.clothes(), s, d, pace, 0.0, starts, stops))
    drivers = list(world.drivers)
    for number in range(int(rng.integers(1, 3))):
        kind, colour = cast.look()
        speed = float(rng.uniform(5.5, 9))
        lane = float(rng.choice((LANE / 2, 3 * LANE / 2)))
        s = float(rng.uniform(28, 50)) + 26 * number
        drivers.append(Driver(f"oncoming{number}", kind, colour, s, lane, speed, speed, -1))
    if cast.kerb > 2 * LANE:
        kind, colour = cast.look(("car", "van"))
        side = 1 if rng.random() < 0.6 else -1
        place = side * (2 * LANE + PARKING / 2)
        s = float(rng.uniform(14, 32))
        if side == 1 and rng.random() < 0.7:
            leaves = round(float(rng.uniform(0.5, 4.0)), 1)
            drivers.append(Driver("leaver", kind, colour, s, place, 0.0, 6.0, -1, 3 * LANE / 2, leaves, 0.5))
        else:
            drivers.append(Driver("parked", kind, colour, s, place, 0.0, 0.0, 1 if side < 0 else -1))
    # A light that stays green would be a signal for every plot; without one, a light alone would tell the cause.
    lights = world.lights
    if not lights and plot not in ("crossing", "queue", "way clears") and rng.random() < 0.4:
        lights = (Light("green", float(rng.uniform(38, 60)), ((0.0, "green"),)),)
    return World(tuple(drivers), tuple(walkers), lights, world.zones, world.lanes, world.kerb)
