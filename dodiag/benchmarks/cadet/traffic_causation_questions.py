"""The questions of Traffic Causation about one agent: where it is, what it does, and when."""

from __future__ import annotations

import math
import string
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from dodiag.benchmarks.cadet.traffic.agents import EGO, Driver, Walker
from dodiag.benchmarks.cadet.traffic.footage import Footage
from dodiag.benchmarks.cadet.traffic.glimpses import Glimpse, sort_of
from dodiag.benchmarks.cadet.traffic.points import OPTIONS, POINTS, localize
from dodiag.benchmarks.cadet.traffic_causation_scenes import SECONDS, Case
from dodiag.benchmarks.cadet.traffic_causation_text import capital, happening, the
from dodiag.scm.pack import Question

LETTERS = string.ascii_uppercase
ROUNDS = 60
"""Times that wrong points are drawn for each place at the most, all places in turn."""

COMMON_START = 1.8
"""Second around which most time spans that are right begin."""

EDGE = 0.2
"""Share of a second between an event and the ends of the time span that holds it."""


@dataclass(frozen=True, slots=True, eq=False)
class Told:
    """A scene and all that questions may speak of.

    Attributes
    ----------
    case : Case
    footage : Footage
    roster : tuple of str
        Agents that are clearly seen for two whole seconds or more; the camera car is not among them.
    """

    case: Case
    footage: Footage
    roster: tuple[str, ...]

    def name(self, agent_id: str) -> str:
        """Return an agent with its article."""
        return the(self.case.world.agent(agent_id))

    def seen_about(self, agent_id: str, time: float) -> bool:
        """Return whether an agent is clearly seen at the whole seconds before and after a time."""
        if agent_id == EGO:
            return True
        before, after = int(np.floor(time)), min(int(np.ceil(time)), int(SECONDS))
        return self.footage.clear(agent_id, before) and self.footage.clear(agent_id, after)

    def seen_near(self, agent_id: str, time: float) -> bool:
        """Return whether an agent is clearly seen at the whole second before or after a time."""
        if agent_id == EGO:
            return True
        return any(self.footage.clear(agent_id, key) for key in (int(np.floor(time)), int(np.ceil(time))))


def places(told: Told, rng: np.random.Generator, count: int, stock: Sequence[Glimpse]) -> list[Question]:
    """Return up to `count` questions of X1: where an agent is at a whole second.

    Wrong points are where agents of the same sort are at the same second in other scenes, which `stock` holds.
    """
    left = [(name, key) for name in told.roster for key in told.footage.clear_keys(name)]
    found: list[Question] = []
    for _ in range(ROUNDS):
        for place in rng.permutation(len(left)):
            name, key = left[int(place)]
            options = _options(told, name, key, rng, stock) if len(found) < count else None
            if options is not None:
                text = f"At {key}.0 s of the video, which of these points lies on {told.name(name)}? {POINTS}"
                question = Question(
                    id=f"X1-{name}-{key}", unit="X1", text=text, choices=options[0], answer=LETTERS[options[1]]
                )
                found.append(question)
        ids = {question.id for question in found}
        left = [(name, key) for name, key in left if f"X1-{name}-{key}" not in ids]
    return sorted(found, key=lambda question: (told.roster.index(question.id.split("-")[1]), question.id))


def _options(
    told: Told, name: str, key: int, rng: np.random.Generator, stock: Sequence[Glimpse]
) -> tuple[tuple[str, ...], int] | None:
    kind, sort = type(told.case.world.agent(name)), sort_of(told.case.world, name)
    alike = tuple(other for other in told.roster if isinstance(told.case.world.agent(other), kind))
    where = [glimpse for glimpse in stock if glimpse.sort == sort and glimpse.key == key]
    return localize(told.footage, name, key, rng, alike, where)


def about(name: str, before: Sequence[Question]) -> tuple[str, ...] | None:
    """Return the ids of the questions so far that are about an agent; None, which means all, where there is none."""
    ids = tuple(question.id for question in before if question.id.split("-")[1] == name)
    return ids or None


def choice(
    truth: str, others: Sequence[str], rng: np.random.Generator, often: Mapping[str, float] = MappingProxyType({})
) -> tuple[tuple[str, ...], str]:
    """Return options in random order, the truth among them, and the truth's letter.

    Parameters
    ----------
    truth : str
    others : sequence of str
        Three wrong options or more.
    rng : numpy.random.Generator
    often : mapping of option to float
        How often each is right, 1 where it is not in it. What is often right is often there as a wrong option, or it
        would be the best guess wherever it appears.
    """
    weights = np.array([often.get(other, 1.0) for other in others])
    places = rng.choice(len(others), size=OPTIONS - 1, replace=False, p=weights / weights.sum())
    wrong = [others[int(place)] for place in places]
    options = [truth, *wrong]
    shuffled = [options[int(place)] for place in rng.permutation(len(options))]
    return tuple(shuffled), LETTERS[shuffled.index(truth)]


WALKS = (
    "they cross it from right to left",
    "they cross it from left to right",
    "they walk along it, in the direction in which the camera looks",
    "they walk along it, against the direction in which the camera looks",
    "they stay where they are beside it",
)
LANES = (
    "it keeps to the lane of the camera car, ahead of it",
    "it keeps to the lane next to that of the camera car, in the same direction",
    "it moves over into the lane of the camera car",
    "it moves out of the lane of the camera car",
    "it comes towards the camera car on the other side of the road",
    "it stays parked at the kerb",
)


OFTEN: Mapping[str, float] = MappingProxyType(
    {LANES[0]: 4.0, LANES[1]: 3.0, LANES[2]: 3.0, LANES[3]: 0.05, LANES[4]: 4.0, LANES[5]: 0.4}
    | {WALKS[0]: 1.2, WALKS[1]: 1.2, WALKS[2]: 2.5, WALKS[3]: 2.5, WALKS[4]: 0.05}
)
"""About how often each of them is right, relative to the others."""


def action(told: Told, name: str) -> tuple[str, str, tuple[str, ...]] | None:
    """Return the reference, what an agent does with respect to it in the whole video, and all that it could do."""
    agent = told.case.world.agent(name)
    run = told.case.run
    if isinstance(agent, Walker):
        ways = np.array([agent.at(float(time)) for time in run.times])
        along, across = ways[-1] - ways[0]
        if abs(across) > 2.5:
            return "the road", WALKS[0 if across > 0 else 1], WALKS
        if abs(along) > 2.5:
            return "the road", WALKS[2 if along > 0 else 3], WALKS
        return ("the road", WALKS[4], WALKS) if abs(along) < 0.2 and abs(across) < 0.2 else None
    mine = run.d[:, run.column(EGO)]
    if not isinstance(agent, Driver) or float(np.ptp(mine)) > 0.2:
        return None
    column = run.column(name)
    d, v = run.d[:, column], run.v[:, column]
    ahead = run.s[:, column] > run.s[:, run.column(EGO)] + 2
    near = np.abs(d - mine) < 0.8
    reference = "the camera car and its lane"
    if agent.direction == -1:
        kept = agent.wish > 0 and agent.lane is None
        return (reference, LANES[4], LANES) if kept else None
    if agent.wish == 0 and abs(agent.d) > 7:
        return reference, LANES[5], LANES
    if float(v.max()) < 1.5 or not bool(ahead[near].all()):
        return None
    if bool(near.all()):
        return reference, LANES[0], LANES
    if not bool(near.any()) and float(np.ptp(d)) < 0.2:
        return reference, LANES[1], LANES
    if not near[0] and near[-1]:
        return reference, LANES[2], LANES
    return (reference, LANES[3], LANES) if near[0] and not near[-1] and abs(d[-1] - mine[-1]) > 3 else None


def actions(told: Told, rng: np.random.Generator, count: int, before: Sequence[Question]) -> list[Question]:
    """Return up to `count` questions of X3: what an agent does with respect to the road or to the camera car."""
    found: list[Question] = []
    main = [name for name in (told.case.effect.who, told.case.root, told.case.between) if name in told.roster]
    rest = [name for name in told.roster if name not in main]
    order = [*(main[int(i)] for i in rng.permutation(len(main))), *(rest[int(i)] for i in rng.permutation(len(rest)))]
    if rng.random() < 0.5:
        order = order[1:] + order[:1]
    for name in order:
        done = action(told, name)
        if done is None or len(found) == count:
            continue
        reference, said, listed = done
        options, answer = choice(said, [other for other in listed if other != said], rng, OFTEN)
        found.append(
            Question(
                id=f"X3-{name}",
                unit="X3",
                text=f"With respect to {reference}, what does {told.name(name)} do in the course of the video?",
                choices=tuple(capital(option) for option in options),
                answer=answer,
                requires=about(name, before),
            )
        )
    return found


def moment(told: Told, rng: np.random.Generator, before: Sequence[Question]) -> list[Question]:
    """Return the question of X4: in which second something happens; none where nothing can be placed clearly."""
    events = [told.case.effect, *(event for event in told.case.events if event.who == told.case.root)]
    if rng.random() < 0.35:
        events = events[1:] + events[:1]
    for event in events:
        if not told.seen_about(event.who, event.time) or event.what in ("turns amber", "is over", "leaves the road"):
            continue
        inside = round(float(rng.uniform(EDGE, 1 - EDGE)), 1)
        start = round(event.time - inside, 1)
        grid = [round(start + shift, 1) for shift in range(-6, 7) if shift and 0 <= start + shift <= SECONDS - 1]
        if start < 0 or start > SECONDS - 1 or len(grid) < OPTIONS - 1:
            continue
        # Wrong spans are drawn as often as events fall into them, or the early and late ones would be ruled out unseen.
        weights = np.array([0.08 + math.exp(-(((other - COMMON_START) / 1.5) ** 2)) for other in grid])
        wrong = rng.choice(len(grid), size=OPTIONS - 1, replace=False, p=weights / weights.sum())
        starts = sorted([start, *(grid[int(place)] for place in wrong)])
        place = starts.index(start)
        return [
            Question(
                id=f"X4-{event.who}",
                unit="X4",
                text=f"In which of these time spans of the video is it that {happening(told.case.world, event)}?",
                choices=tuple(f"{first:.1f} s to {first + 1:.1f} s" for first in starts),
                answer=LETTERS[place],
                requires=about(event.who, [q for q in before if q.unit in ("X2", "X3")]),
            )
        ]
    return []
