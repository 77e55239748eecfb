"""The questions of Traffic Causation about what becomes of an agent within two seconds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Literal

import numpy as np

from dodiag.benchmarks.cadet.traffic.agents import EGO, Agent, Driver, Light, Walker
from dodiag.benchmarks.cadet.traffic.events import STANDS
from dodiag.benchmarks.cadet.traffic.rules import STEP
from dodiag.benchmarks.cadet.traffic_causation_questions import Told, about, choice
from dodiag.benchmarks.cadet.traffic_causation_scenes import SECONDS
from dodiag.benchmarks.cadet.traffic_causation_text import capital
from dodiag.scm.pack import Question

SPAN = 2
"""Seconds of a state change question."""

DRIVER_CHANGES = (
    "it comes to a standstill",
    "it sets off from a standstill",
    "it moves over into another lane",
    "it slows down but does not stop",
    "it drives on at the same speed in its lane",
    "it stands still all the time",
)
WALKER_CHANGES = ("they begin to walk", "they stop walking", "they walk all the time", "they stand all the time")
LIGHT_CHANGES = ("it changes from green to red", "it changes from red to green", "it stays green", "it stays red")


Sort = Literal["camera car", "vehicle", "pedestrian", "traffic light"]

WEIGHTS: Mapping[tuple[Sort, str], tuple[float, ...]] = MappingProxyType(
    {
        ("camera car", DRIVER_CHANGES[0]): (0, 0, 0, 0, 0.02, 0.05),
        ("camera car", DRIVER_CHANGES[2]): (0, 0, 0, 50, 50, 36),
        ("camera car", DRIVER_CHANGES[3]): (0, 0, 0, 0.02, 0.06, 50),
        ("camera car", DRIVER_CHANGES[4]): (0, 0, 0, 0.03, 0.03, 0.02),
        ("vehicle", DRIVER_CHANGES[0]): (0, 0, 50, 0.1, 5.3, 0),
        ("vehicle", DRIVER_CHANGES[1]): (0, 3.2, 0.37, 1.3, 2.1, 0),
        ("vehicle", DRIVER_CHANGES[2]): (0, 50, 5.4, 0.85, 0.28, 0),
        ("vehicle", DRIVER_CHANGES[3]): (0, 0.02, 0.04, 0.77, 0, 0),
        ("vehicle", DRIVER_CHANGES[4]): (0, 0.02, 0.06, 1.3, 0.15, 0),
        ("vehicle", DRIVER_CHANGES[5]): (0, 0.2, 0.47, 10, 4.6, 0),
        ("pedestrian", WALKER_CHANGES[0]): (0, 0.3, 1.7, 9.6, 0, 0),
        ("pedestrian", WALKER_CHANGES[1]): (0, 50, 50, 50, 0, 0),
        ("pedestrian", WALKER_CHANGES[2]): (0, 0.02, 0.02, 0.02, 0, 0),
        ("pedestrian", WALKER_CHANGES[3]): (0, 3.3, 0, 50, 0, 0),
        ("traffic light", LIGHT_CHANGES[0]): (0, 0.02, 50, 0, 0, 0),
        ("traffic light", LIGHT_CHANGES[1]): (0, 6.6, 3, 0, 0, 0),
        ("traffic light", LIGHT_CHANGES[2]): (0, 50, 50, 0, 0, 0),
        ("traffic light", LIGHT_CHANGES[3]): (0, 2.3, 0.02, 0, 0, 0),
    }
)
"""How much a change that begins at second 0, 1, … is preferred; fitted on 480 simulated scenes, so that the sort of the
agent and the second do not tell what happens: what is asked of a sort at a second has about equally many answers of
each kind. At other seconds one answer is far likelier than the rest, and nothing is asked."""

SELDOM = 0.1
"""How often what is never right at a second is a wrong option there, relative to what may be."""


def sort_of(agent: Agent) -> Sort:
    """Return the sort of an agent, as far as a question tells it."""
    if agent.id == EGO:
        return "camera car"
    if isinstance(agent, Light):
        return "traffic light"
    return "pedestrian" if isinstance(agent, Walker) else "vehicle"


def weight(sort: Sort, said: str, start: int) -> float:
    """Return how much a change is preferred; 0 where it is not asked about."""
    return WEIGHTS[sort, said][start] if (sort, said) in WEIGHTS else 0.0


def change(told: Told, name: str, start: float, end: float) -> str | None:
    """Return what becomes of an agent between two times, as the option that says it; None where none fits clearly."""
    agent = told.case.world.agent(name)
    if isinstance(agent, Light):
        colours = agent.at(start), agent.at(end)
        said = {("green", "red"): 0, ("red", "green"): 1, ("green", "green"): 2, ("red", "red"): 3}
        return LIGHT_CHANGES[said[colours]] if colours in said else None
    if isinstance(agent, Walker):
        walks = agent.walks(start - 0.3), agent.walks(start + 0.3), agent.walks(end - 0.3), agent.walks(end + 0.3)
        said_walk = {
            (False, False, True, True): 0,
            (True, True, False, False): 1,
            (True,) * 4: 2,
            (False,) * 4: 3,
        }
        return WALKER_CHANGES[said_walk[walks]] if walks in said_walk else None
    return _drive(told, name, start, end) if isinstance(agent, Driver) else None


def _drive(told: Told, name: str, start: float, end: float) -> str | None:
    run = told.case.run
    column = run.column(name)
    rows = slice(round(start / STEP), round(end / STEP) + 1)
    v, d = run.v[rows, column], run.d[rows, column]
    shift = abs(float(d[-1] - d[0]))
    if shift > 1.5:
        return DRIVER_CHANGES[2] if float(v.min()) > 1 else None
    if shift > 0.1:
        return None
    if float(v[0]) > 1.2 and float(v[-1]) < STANDS:
        return DRIVER_CHANGES[0]
    if float(v[0]) < STANDS and float(v[-1]) > 1.2:
        return DRIVER_CHANGES[1]
    if float(v.max()) < STANDS:
        return DRIVER_CHANGES[5]
    if float(v.min()) > 1.2 and float(v[0] - v[-1]) > 2.4:
        return DRIVER_CHANGES[3]
    if float(v.min()) > 3 and float(v.max() - v.min()) < 0.7:
        return DRIVER_CHANGES[4]
    return None


def changes(told: Told, rng: np.random.Generator, count: int, before: Sequence[Question]) -> list[Question]:
    """Return up to `count` questions of X2: what becomes of an agent within two seconds.

    The first is about who acts, or about what that goes back to, where there is something to ask about either.
    """
    candidates = [
        (name, said, start)
        for name in (EGO, *told.roster)
        for start in range(int(SECONDS) - SPAN + 1)
        if name == EGO or all(told.footage.clear(name, key) for key in range(start, start + SPAN + 1))
        if (said := change(told, name, start, start + SPAN)) and weight(_sort(told, name), said, start)
    ]
    leading = (told.case.effect.who, told.case.root)
    found: list[Question] = []
    used: set[str] = set()
    for first in (True, *(False for _ in range(count))):
        pool = [each for each in candidates if each[0] not in used and (each[0] in leading or not first)]
        if not pool or len(found) == count:
            continue
        weights = np.array([weight(_sort(told, name), said, start) for name, said, start in pool])
        name, said, start = pool[int(rng.choice(len(pool), p=weights / weights.sum()))]
        used.add(name)
        listed = next(all_said for all_said in (DRIVER_CHANGES, WALKER_CHANGES, LIGHT_CHANGES) if said in all_said)
        often = {other: 1.0 if weight(_sort(told, name), other, start) else SELDOM for other in listed}
        options, answer = choice(said, [other for other in listed if other != said], rng, often)
        found.append(
            Question(
                id=f"X2-{name}-{start}",
                unit="X2",
                text=f"What happens to {told.name(name)} between {start}.0 s and {start + SPAN}.0 s of the video?",
                choices=tuple(capital(option) for option in options),
                answer=answer,
                requires=about(name, before),
            )
        )
    return found


def _sort(told: Told, name: str) -> Sort:
    return sort_of(told.case.world.agent(name))
