"""The questions of Dashcam Counting about one drive: kinds, sides, the same again, motions, and the count."""

from __future__ import annotations

import itertools
import math
import string
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from dodiag.benchmarks.cadet.dashcam_counting_again import (
    LARGEST_GAP,
    MOVED,
    Pair,
    Stock,
    draw_wrong,
    evenly,
    likely_points,
)
from dodiag.benchmarks.cadet.dashcam_counting_scenes import KINDS, MOTIONS, Drive, Motion, Side
from dodiag.benchmarks.cadet.traffic.agents import Driver
from dodiag.benchmarks.cadet.traffic.footage import Footage
from dodiag.benchmarks.cadet.traffic.points import POINTS, places_of, point_text
from dodiag.scm.pack import Question

LETTERS = string.ascii_uppercase

SIDES: dict[Side, str] = {
    "left": "To the left of the lane in which the camera car drives",
    "lane": "In the lane in which the camera car drives",
    "right": "To the right of the lane in which the camera car drives",
}
MOTION_TEXTS: dict[Motion, str] = {
    "stands": "It stands still all the time",
    "sets off": "It stands at first and then sets off",
    "same way": "It drives in the same direction as the camera car all the time",
    "oncoming": "It drives towards the camera car, coming the other way, all the time",
}


@dataclass(frozen=True, slots=True, eq=False)
class Seen:
    """A drive and what the camera sees of it."""

    drive: Drive
    footage: Footage

    def name(self, agent_id: str) -> str:
        """Return how a person calls an agent."""
        return self.drive.world.agent(agent_id).name

    def kind(self, agent_id: str) -> str:
        """Return what an agent is."""
        agent = self.drive.world.agent(agent_id)
        return agent.kind if isinstance(agent, Driver) else "pedestrian"

    @property
    def sightings(self) -> list[tuple[str, int]]:
        """Agents and the seconds at which they are clearly seen."""
        return [(name, key) for name in self.footage.names for key in self.footage.clear_keys(name)]

    @property
    def unique(self) -> set[str]:
        """Ids of the agents that no other agent of the scene is called like."""
        names = Counter(self.name(name) for name in self.footage.names)
        return {name for name in self.footage.names if names[self.name(name)] == 1}


def even(pool: Sequence[tuple[str, int]], group: Mapping[str, str], count: int, rng: np.random.Generator) -> list[int]:
    """Draw up to `count` places of a pool, so that the groups of its agents come up as alike as they can.

    Parameters
    ----------
    pool : sequence of (agent id, second)
    group : mapping of agent id to str
    count : int
    rng : numpy.random.Generator

    Returns
    -------
    list of int
        Places in `pool`, in rising order.
    """
    left = [int(place) for place in rng.permutation(len(pool))]
    taken: Counter[str] = Counter()
    chosen: list[int] = []
    while left and len(chosen) < count:
        place = min(left, key=lambda place: taken[group[pool[place][0]]])
        left.remove(place)
        chosen.append(place)
        taken[group[pool[place][0]]] += 1
    return sorted(chosen)


def classes(seen: Seen, rng: np.random.Generator, count: int) -> list[Question]:
    """Return up to `count` questions of X1: what kind of vehicle is at a point of a frame."""
    kinds = {name: seen.kind(name) for name in seen.footage.names}
    # Pedestrians are left out: where they walk would tell them from vehicles without a look at the picture.
    pool = [sighting for sighting in seen.sightings if kinds[sighting[0]] in KINDS]
    found = []
    for place in even(pool, kinds, count, rng):
        name, key = pool[place]
        truth = kinds[name]
        shuffled = [KINDS[int(i)] for i in rng.permutation(len(KINDS))]
        point = point_text(seen.footage.sightings[name, key].point)
        found.append(
            Question(
                id=f"X1-{name}-{key}",
                unit="X1",
                text=f"At {key}.0 s of the video, what kind of vehicle does the point {point} lie on? {POINTS}",
                choices=tuple(option.capitalize() for option in shuffled),
                answer=LETTERS[shuffled.index(truth)],
            )
        )
    return found


def sides(seen: Seen, rng: np.random.Generator, count: int) -> list[Question]:
    """Return up to `count` questions of X2: on which side of the camera car's lane an agent is."""
    unique = seen.unique
    pool = [sighting for sighting in seen.sightings if sighting[0] in unique]
    where = {name: side_of(seen, name) for name in unique}
    found = []
    for place in even(pool, where, count, rng):
        name, key = pool[place]
        texts = list(SIDES.values())
        shuffled = [texts[int(i)] for i in rng.permutation(len(texts))]
        found.append(
            Question(
                id=f"X2-{name}-{key}",
                unit="X2",
                text=f"At {key}.0 s of the video, where on the street is the {seen.name(name)}?",
                choices=tuple(shuffled),
                answer=LETTERS[shuffled.index(SIDES[where[name]])],
            )
        )
    return found


def side_of(seen: Seen, agent_id: str) -> Side:
    """Return on which side of the camera car's lane an agent is, all the time."""
    if agent_id in seen.drive.sides:
        return seen.drive.sides[agent_id]
    return "left" if seen.drive.world.agent(agent_id).d > 0 else "right"  # type: ignore[union-attr]


def again(seen: Seen, rng: np.random.Generator, count: int, before: Sequence[Question], stock: Stock) -> list[Question]:
    """Return up to `count` questions of X3: which point lies on the same agent at another second.

    Parameters
    ----------
    seen : Seen
    rng : numpy.random.Generator
    count : int
    before : sequence of Question
        Of X1; a question needs those about its agent at its two seconds.
    stock : Stock
        Where things come to in other drives.
    """
    ids = {question.id for question in before}
    found = []
    for pair, wrong in evenly(list(_pairs(seen, stock, rng)), count, rng):
        name, first, second = pair.agent, pair.first, pair.second
        points = [seen.footage.sightings[name, second].point, *wrong]
        order = [int(place) for place in rng.permutation(len(points))]
        start = point_text(seen.footage.sightings[name, first].point)
        what = "pedestrian" if seen.kind(name) == "pedestrian" else "vehicle"
        needed = tuple(q for q in (f"X1-{name}-{first}", f"X1-{name}-{second}") if q in ids)
        question = Question(
            id=f"X3-{name}-{first}-{second}",
            unit="X3",
            text=(
                f"At {first}.0 s of the video the point {start} lies on a {what}. Which of these points lies on the "
                f"same {what} at {second}.0 s? {POINTS}"
            ),
            choices=tuple(point_text(points[place]) for place in order),
            answer=LETTERS[order.index(0)],
            requires=needed or None,
        )
        found.append(question)
    return sorted(found, key=lambda question: question.id)


def _pairs(seen: Seen, stock: Stock, rng: np.random.Generator) -> Iterator[Pair]:
    """Yield who can be found again, when, and with which wrong points."""
    for name in sorted({name for name, _ in seen.sightings}):
        people = seen.kind(name) == "pedestrian"
        alike = [other for other in seen.footage.names if (seen.kind(other) == "pedestrian") == people]
        keys = seen.footage.clear_keys(name)
        for first, second in itertools.permutations(keys, 2):
            start, there = seen.footage.sightings[name, first], seen.footage.sightings[name, second]
            if abs(second - first) <= LARGEST_GAP and math.dist(start.point, there.point) >= MOVED:
                likely = likely_points(start.point, start.depth, stock[people, second - first])
                others = places_of(seen.footage, alike, name, second)
                wrong = draw_wrong((there.point, there.box), likely, others, rng)
                if wrong:
                    yield Pair(name, first, second, wrong)


def motions(seen: Seen, rng: np.random.Generator, before: Sequence[Question]) -> list[Question]:
    """Return the questions of X4: what each vehicle of the counted kind does."""
    found = []
    for name in seen.drive.focus:
        texts = [MOTION_TEXTS[motion] for motion in MOTIONS]
        shuffled = [texts[int(i)] for i in rng.permutation(len(texts))]
        about = tuple(question.id for question in before if question.id.split("-")[1] == name)
        found.append(
            Question(
                id=f"X4-{name}",
                unit="X4",
                text=f"What does the {seen.name(name)} do in the course of the video?",
                choices=tuple(shuffled),
                answer=LETTERS[shuffled.index(MOTION_TEXTS[seen.drive.motions[name]])],
                requires=about or None,
            )
        )
    return found


def total(seen: Seen) -> Question:
    """Return the question of Y: how many different vehicles of a kind are on a side and move as asked."""
    side, asked = seen.drive.asked
    how = "stand still all the time" if asked == ("stands",) else "are on the move at some time"
    where = SIDES[side][0].lower() + SIDES[side][1:]
    return Question(
        id="Y",
        unit="Y",
        text=f"How many different {seen.drive.kind}s are there in the video that {how} and are {where}?",
        answer=seen.drive.count,
    )
