"""The log of what happens in a run: who does what, when, and what held it back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from dodiag.benchmarks.cadet.traffic.agents import LightColour
from dodiag.benchmarks.cadet.traffic.rules import STEP, FloatArray, Run

What = Literal[
    "brakes", "stops", "sets off", "moves over", "is over", "steps onto the road", "leaves the road",
    "starts to walk", "stops walking", "turns red", "turns amber", "turns green",
]  # fmt: skip

BRAKES = -0.7
LOSS = 2.2
"""A driver brakes where it loses this many m/s in one go, with a deceleration above `BRAKES`."""

STANDS = 0.05
SETS_OFF = 0.3
DRIVES = 1.0
"""Speeds, m/s: below it a vehicle stands; above it it has set off; and one that it reaches between two standstills."""


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happens at one moment.

    Attributes
    ----------
    time : float
        Seconds, a multiple of ``rules.STEP``.
    who : str
        Id of the agent.
    what : str
    because : str
        Id of what held a driver back at that moment, by the rule that bound it; empty where nothing did.
    """

    time: float
    who: str
    what: What
    because: str = ""


def events_of(run: Run) -> tuple[Event, ...]:
    """Return what happens in a run, in order of time."""
    found: list[Event] = []
    for column, driver in enumerate(run.world.drivers):
        found += _driving(run, column, driver.id)
    end = float(run.times[-1])
    turns: dict[LightColour, What] = {"red": "turns red", "amber": "turns amber", "green": "turns green"}
    for light in run.world.lights:
        found += [Event(time, light.id, turns[colour]) for time, colour in light.phases if 0 < time <= end]
    for walker in run.world.walkers:
        if 0 < walker.starts <= end:
            found.append(Event(walker.starts, walker.id, "starts to walk"))
        if walker.stops <= end:
            found.append(Event(walker.stops, walker.id, "stops walking"))
        on = [abs(walker.at(float(time))[1]) < run.world.kerb for time in run.times]
        for step in range(1, len(on)):
            if on[step] != on[step - 1]:
                what: What = "steps onto the road" if on[step] else "leaves the road"
                found.append(Event(float(run.times[step]), walker.id, what))
    rounded = [Event(round(event.time, 3), event.who, event.what, event.because) for event in found]
    return tuple(sorted(rounded, key=lambda event: (event.time, event.who, event.what)))


def _driving(run: Run, column: int, driver: str) -> list[Event]:
    v, a, d = run.v[:, column], run.a[:, column], run.d[:, column]
    found = []
    step, steps = 0, len(run.times)
    while step < steps:
        if a[step] < BRAKES:
            end = step
            while end < steps and a[end] < BRAKES / 2:
                end += 1
            if v[step] - v[min(end, steps - 1)] >= LOSS:
                found.append(Event(step * STEP, driver, "brakes", _reason(run, column, step, end)))
            step = end
        else:
            step += 1
    for start, end in _drives(v):
        if start > 0:
            moving = start + int(np.argmax(v[start:end] > SETS_OFF))
            found.append(Event(moving * STEP, driver, "sets off"))
        if end < steps:
            found.append(Event(end * STEP, driver, "stops", run.reasons[end][column]))
    across = np.abs(np.diff(d)) > 1e-3
    for step in range(1, len(across)):
        if across[step] and not across[step - 1]:
            found.append(Event(step * STEP, driver, "moves over"))
        if across[step - 1] and not across[step]:
            found.append(Event(step * STEP, driver, "is over"))
    return found


def _drives(v: FloatArray) -> list[tuple[int, int]]:
    """Return the first step of each drive and the one after its last; what creeps a little does not drive."""
    moving = np.concatenate(([False], v >= STANDS, [False]))
    turns = np.flatnonzero(moving[1:] != moving[:-1])
    pairs = [(int(start), int(end)) for start, end in zip(turns[::2], turns[1::2], strict=True)]
    return [(start, end) for start, end in pairs if float(v[start:end].max()) >= DRIVES]


def _reason(run: Run, column: int, start: int, end: int) -> str:
    """Return what held the driver back for most of a braking."""
    reasons = [run.reasons[step][column] for step in range(start, max(end, start + 1))]
    return max(sorted(set(reasons)), key=reasons.count)
