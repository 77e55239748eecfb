"""Scenes of Dashcam Counting: a drive past vehicles that stand at the kerbs, set off from them, or are on the move.

The vehicles of one kind, the counted kind, are told apart by colour; some of them are on the asked side and move as
asked, the others are not or do not.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from dodiag.benchmarks.cadet.traffic.agents import EGO, LANE, Driver, Walker, World
from dodiag.benchmarks.cadet.traffic.rules import STEP, Run, simulate
from dodiag.benchmarks.cadet.traffic.staging import in_frame

SECONDS = 7.0
SPEEDS = (4.0, 12.0)
"""Metres per second of the camera car; they differ much, or one could foresee where what stands comes to."""

CLEAR_SECONDS = 2
"""Whole seconds at which a counted vehicle is clearly seen, at least."""

AFTER_START = 0.6
"""Seconds after a vehicle sets off from which a frame shows that it has."""

INNER, OUTER = -LANE / 2, -3 * LANE / 2
PARKING = 2.3
KERB = 2 * LANE + PARKING
PARKED = 2 * LANE + PARKING / 2

KINDS = ("car", "van", "truck", "motorcycle")
COLOURS = ("red", "yellow", "green", "blue", "white", "black", "purple", "pink")
CLOTHES = ("red", "yellow", "green", "blue", "white", "purple", "pink")

Motion = Literal["stands", "sets off", "same way", "oncoming"]
Side = Literal["left", "lane", "right"]
MOTIONS: tuple[Motion, ...] = get_args(Motion)
PLACES: tuple[tuple[Side, Motion], ...] = (
    ("left", "stands"),
    ("right", "stands"),
    ("left", "sets off"),
    ("right", "sets off"),
    ("left", "oncoming"),
    ("right", "same way"),
    ("lane", "same way"),
)
"""Where a vehicle can be, relative to the camera car's lane, and what it can do there."""

Asked = tuple[Side, tuple[Motion, ...]]
ASKED: tuple[Asked, ...] = (
    ("left", ("stands",)),
    ("right", ("stands",)),
    ("left", ("sets off", "oncoming")),
    ("right", ("sets off", "same way")),
)
"""What a question counts: a side, and what counts as standing or as moving there."""

ASKED_SHARES = (0.12, 0.12, 0.38, 0.38)
LURES: dict[Motion, float] = {"stands": 0.06, "sets off": 0.34, "same way": 0.40, "oncoming": 0.20}
"""How often either is drawn; it makes the four motions about equally frequent among the counted kind."""

AHEAD_SHARE = 0.8
"""How often a vehicle drives ahead in the camera car's lane, so that this place comes up as often as the sides."""

CAPACITY = {
    ("left", "stands"): 5,
    ("right", "stands"): 5,
    ("left", "sets off"): 2,
    ("right", "sets off"): 2,
    ("left", "oncoming"): 4,
    ("right", "same way"): 3,
    ("lane", "same way"): 1,
}
"""Most vehicles of a place in one scene."""

SPACE = 2.2
"""Metres between vehicles at a kerb."""


@dataclass(frozen=True, slots=True)
class Drive:
    """A world, what is counted in it, and how many there are.

    Attributes
    ----------
    world : World
    run : Run
    kind : str
        The counted kind.
    asked : tuple of (side, motions)
        One of :data:`ASKED`.
    motions, sides : mapping of agent id
        What each vehicle does, and on which side of the camera car's lane it is.
    count : int
        Vehicles of the kind on the asked side that move as asked.
    """

    world: World
    run: Run
    kind: str
    asked: Asked
    motions: dict[str, Motion]
    sides: dict[str, Side]

    @property
    def focus(self) -> tuple[str, ...]:
        """Ids of all vehicles of the counted kind."""
        return tuple(driver.id for driver in self.world.drivers if driver.kind == self.kind and driver.id != EGO)

    @property
    def count(self) -> int:
        """The answer."""
        side, motions = self.asked
        return sum(self.sides[name] == side and self.motions[name] in motions for name in self.focus)


@dataclass(frozen=True, slots=True)
class _Part:
    """A vehicle before it has a place along the road."""

    id: str
    kind: str
    colour: str
    side: Side
    motion: Motion


def draw_drive(rng: np.random.Generator, focus: int, others: int, walkers: int, rejected: Counter[str]) -> Drive | None:
    """Draw one drive; None where it is not kept, with the reason counted in `rejected`.

    Parameters
    ----------
    rng : numpy.random.Generator
    focus, others, walkers : int
        Vehicles of the counted kind, other vehicles, pedestrians.
    rejected : Counter
        Reasons, added to.
    """
    drive = _stage(rng, focus, others, walkers)
    reason = "no room for all" if drive is None else _wrong(drive)
    if reason:
        rejected[reason] += 1
        return None
    return drive


def other_runs(rng: np.random.Generator, focus: int, others: int, walkers: int) -> Iterator[tuple[Run, set[str]]]:
    """Yield another drive with the ids of those in it who move as in a drive that is kept; nothing where none fits.

    Parameters
    ----------
    rng : numpy.random.Generator
    focus, others, walkers : int
        As in :func:`draw_drive`.
    """
    drive = _stage(rng, focus, others, walkers)
    if drive is not None and not _off_plan(drive, 0):
        drivers = drive.world.drivers
        fit = {driver.id for column, driver in enumerate(drivers) if column and not _off_plan(drive, column)}
        yield drive.run, fit | {walker.id for walker in drive.world.walkers}


def _stage(rng: np.random.Generator, focus: int, others: int, walkers: int) -> Drive | None:
    """Draw a drive and let it run; None where there is no room for all."""
    kind = str(rng.choice(KINDS))
    asked = ASKED[int(rng.choice(len(ASKED), p=ASKED_SHARES))]
    speed = float(rng.uniform(*SPEEDS))
    parts = _cast(rng, kind, asked, focus, others)
    drivers = _placed(rng, parts, speed)
    if drivers is None:
        return None
    ego = Driver(EGO, "car", "white", 0.0, INNER, speed, speed)
    people = tuple(_strollers(rng, walkers, speed))
    world = World((ego, *drivers), people, kerb=KERB)
    run = simulate(world, SECONDS)
    motions: dict[str, Motion] = {part.id: part.motion for part in parts}
    sides: dict[str, Side] = {part.id: part.side for part in parts}
    return Drive(world, run, kind, asked, motions, sides)


def _cast(rng: np.random.Generator, kind: str, asked: Asked, focus: int, others: int) -> list[_Part]:
    """Return who takes part: as many of the counted kind as asked are a random number of `focus`."""
    side, motions = asked
    room = Counter(CAPACITY)
    matching = [place for place in PLACES if place[0] == side and place[1] in motions]
    lures = [place for place in PLACES if place not in matching]
    most = min(focus, sum(room[place] for place in matching))
    wanted = int(rng.integers(0 if focus > 3 else 1, most + 1))
    colours = [str(colour) for colour in rng.permutation(COLOURS)]
    parts = []
    for number in range(focus):
        place = _place(rng, [place for place in (matching if number < wanted else lures) if room[place] > 0])
        room[place] -= 1
        parts.append(_Part(f"focus{number}", kind, colours[number], *place))
    rest = [other for other in KINDS if other != kind]
    for number in range(others):
        place = _place(rng, [place for place in PLACES if room[place] > 0])
        if number == 0 and room["lane", "same way"] and rng.random() < AHEAD_SHARE:
            place = ("lane", "same way")
        room[place] -= 1
        parts.append(_Part(f"other{number}", str(rng.choice(rest)), colours[(focus + number) % len(colours)], *place))
    return parts


def _place(rng: np.random.Generator, pool: list[tuple[Side, Motion]]) -> tuple[Side, Motion]:
    motions = sorted({place[1] for place in pool})
    weights = np.array([LURES[motion] for motion in motions])
    motion = motions[int(rng.choice(len(motions), p=weights / weights.sum()))]
    places = [place for place in pool if place[1] == motion]
    return places[int(rng.integers(len(places)))]


def _placed(rng: np.random.Generator, parts: Sequence[_Part], speed: float) -> list[Driver] | None:
    """Return the vehicles with their places along the road; None where they do not fit."""
    end = speed * SECONDS
    drivers: list[Driver] = []
    taken: dict[float, list[tuple[float, float]]] = {}
    for place in rng.permutation(len(parts)):
        part = parts[int(place)]
        for _ in range(60):
            driver = _one(rng, part, speed, end)
            strip = driver.d
            low, high = driver.s - driver.length / 2, driver.s + driver.length / 2
            space = 4.5 if driver.speed > 0 else SPACE
            if driver.leaves is not None:  # it needs room ahead of it to swing out
                low, high = (low, high + 4) if driver.direction == 1 else (low - 4, high)
            if all(high + space < other[0] or low - space > other[1] for other in taken.get(strip, [])):
                taken.setdefault(strip, []).append((low, high))
                drivers.append(driver)
                break
        else:
            return None
    order = {part.id: number for number, part in enumerate(parts)}
    return sorted(drivers, key=lambda driver: order[driver.id])


def _one(rng: np.random.Generator, part: _Part, speed: float, end: float) -> Driver:
    side = 1 if part.side == "left" else -1
    look = (part.id, part.kind, part.colour)
    if part.motion in ("stands", "sets off"):
        direction: Literal[1, -1] = 1 if side < 0 else -1
        near = 13.0 if side < 0 else 16.0
        if part.motion == "stands":
            return Driver(*look, float(rng.uniform(near, end + 16)), side * PARKED, 0.0, 0.0, direction)
        leaves = round(float(rng.uniform(0.6, 3.6)), 1)
        # It has to be ahead, and near enough, when it sets off; on the left it then comes nearer.
        ahead = float(rng.uniform(9, 20)) if side < 0 else float(rng.uniform(22, 34))
        s = speed * (leaves + 1.5) + ahead
        wish = float(rng.uniform(4, 6.5))
        return Driver(*look, s, side * PARKED, 0.0, wish, direction, side * 3 * LANE / 2, leaves, 0.3)
    if part.motion == "oncoming":
        pace = float(rng.uniform(6, 9))
        meets = float(rng.uniform(1.8, 6.6))
        lane = float(rng.choice((LANE / 2, 3 * LANE / 2)))
        return Driver(*look, (speed + pace) * meets + 5, lane, pace, pace, -1)
    if part.side == "lane":
        return Driver(*look, float(rng.uniform(12, 17)), INNER, speed, speed)
    pace = speed * float(rng.uniform(0.7, 1.15))
    return Driver(*look, float(rng.uniform(9, 38)) + max(0.0, speed - pace) * 3, OUTER, pace, pace)


def _strollers(rng: np.random.Generator, count: int, speed: float) -> Iterator[Walker]:
    clothes = rng.permutation(CLOTHES)
    for number in range(count):
        side = float(rng.choice((-1, 1)))
        pace = float(rng.choice((-1, 0, 1)) * rng.uniform(1.0, 1.6))
        s = float(rng.uniform(14, speed * SECONDS + 12))
        d = side * (KERB + float(rng.uniform(0.6, 2.2)))
        yield Walker(f"walker{number}", str(clothes[number]), s, d, pace, 0.0)


def _before_and_after(run: Run, column: int, starts: float) -> bool:
    keys = [key for key in range(int(SECONDS) + 1) if in_frame(run, column, round(key / STEP))]
    return any(key < starts for key in keys) and any(key >= starts + AFTER_START for key in keys)


def _wrong(drive: Drive) -> str:
    """Return why a run is not what its parts promise; empty where it is."""
    run = drive.run
    for column in range(len(drive.world.drivers)):
        reason = _off_plan(drive, column)
        if reason:
            return reason
    for i in range(len(drive.world.drivers)):
        for j in range(i):
            first, second = drive.world.drivers[i], drive.world.drivers[j]
            along = np.abs(run.s[:, i] - run.s[:, j]) - (first.length + second.length) / 2
            across = np.abs(run.d[:, i] - run.d[:, j]) - (first.width + second.width) / 2
            if bool(((along < 0.8) & (across < 0.2)).any()):
                return "two vehicles touch"
    return ""


def _off_plan(drive: Drive, column: int) -> str:
    """Return why one vehicle does not move as its place says; empty where it does."""
    run, driver = drive.run, drive.world.drivers[column]
    v, d = run.v[:, column], run.d[:, column]
    if driver.id == EGO:
        held_up = float(np.ptp(v)) > 2.5 or float(np.ptp(d)) > 0.1
        return "the camera car is held up" if held_up else ""
    motion, counted = drive.motions[driver.id], driver.kind == drive.kind
    if counted:
        shown = sum(in_frame(run, column, round(key / STEP)) for key in range(int(SECONDS) + 1))
        if shown < CLEAR_SECONDS:
            return "a counted vehicle is out of the frame"
    if motion == "sets off":
        moving = np.flatnonzero(v > 0.5)
        if not len(moving) or run.times[moving[0]] > SECONDS - 2 or abs(d[-1]) > PARKED - 1.5:
            return "who should set off does not"
        if counted and not _before_and_after(run, column, float(run.times[moving[0]])):
            return "a counted vehicle is out of the frame"
    elif motion != "stands" and (float(v.min()) < 2.5 or float(np.ptp(d)) > 0.1):
        return "who should drive on does not"
    return ""
