"""The points of Dashcam Counting's re-identification: one on the same thing at another second, three where it is not.

Where something comes to within a second or two can be foreseen from where it is: most of it stands, and the camera car
drives on. So that the likeliest point is not the right one more often than others, other drives are simulated, a point
gets the likelihood that things there come to it, and questions are drawn in which the right point is as often the
second, third or fourth likeliest as the drive allows.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from dodiag.benchmarks.cadet.dashcam_counting_scenes import SECONDS, other_runs
from dodiag.benchmarks.cadet.traffic.footage import LEVEL, Point
from dodiag.benchmarks.cadet.traffic.glimpses import NEAREST, Glimpse, glimpses
from dodiag.benchmarks.cadet.traffic.points import APART, OPTIONS, Place, framed, outside, swapped
from dodiag.benchmarks.cadet.traffic.staging import CAMERA_HEIGHT, FOCAL, VANISHING

LARGEST_GAP = 2
"""Seconds between the two frames."""

MOVED = 14.0
"""Pixels between the two places at least: of what keeps its place in the frame there is nothing to find."""

DRIVES, DRIVES_SEED = 80, 20609
"""Other drives, simulated but not drawn, that tell where things come to; the same for every instance."""

LIKELY = 40
"""Passages that began most like the one that is asked about."""

LIKE_ACROSS, LIKE_AHEAD = 0.8, 0.15
"""Metres to a side, and the logarithm of a ratio of distances, that make two beginnings equally unlike."""

BLUR, BLUR_OUTWARDS = 6.0, 0.05
"""Pixels within which two points are about as likely, and its growth with the distance from the vanishing point."""

STRETCHES = (0.6, 0.75, 1.3, 1.6, 2.0)
"""Factors of the distance from the vanishing point by which some likely points are moved, to get unlikely ones."""

TRIES = 10
"""Draws of three wrong points for each rank that the right one may have."""


@dataclass(frozen=True, slots=True)
class Passage:
    """Where something is at two seconds: metres to the right of the camera's axis, and ahead."""

    before: tuple[float, float]
    after: tuple[float, float]


Stock = dict[tuple[bool, int], list[Passage]]
"""Passages of other drives, by whether pedestrians make them and by the seconds from the first to the second place."""


Wrong = dict[tuple[int, int, int], tuple[Point, ...]]
"""Three wrong points by how many are likelier than the right one, less alone, and nearer to the vanishing point."""


def across(point: Point, depth: float) -> float:
    """Return how many metres to the right of the camera's axis a point at a depth is."""
    return (point[0] + 0.5 - VANISHING[0]) * depth / FOCAL


def passages(seen: Sequence[Glimpse], gap: int) -> list[Passage]:
    """Return where the agents of one run come to within `gap` seconds; negative for where they came from."""
    at = {(glimpse.agent, glimpse.key): glimpse for glimpse in seen}
    pairs = [(first, at[first.agent, first.key + gap]) for first in seen if (first.agent, first.key + gap) in at]
    return [
        Passage((across(first.point, first.depth), first.depth), (across(last.point, last.depth), last.depth))
        for first, last in pairs
        if math.dist(first.point, last.point) >= MOVED
    ]


@lru_cache(maxsize=4)
def stock(others: int, walkers: int) -> Stock:
    """Return where things come to in drives with so many other vehicles and pedestrians."""
    rng = np.random.default_rng((DRIVES_SEED, others, walkers))
    found: Stock = {}
    for number in range(DRIVES):
        for run, fit in other_runs(rng, 3 + number % 4, others, walkers):
            seen = [glimpse for glimpse in glimpses(run, int(SECONDS)) if glimpse.agent in fit]
            for people in (False, True):
                sort = [glimpse for glimpse in seen if (glimpse.sort == "pedestrian") == people]
                for gap in (-2, -1, 1, 2):
                    found.setdefault((people, gap), []).extend(passages(sort, gap))
    return found


def likely_points(start: Point, depth: float, passages: Iterable[Passage]) -> list[Point]:
    """Return where something could have come to in the frame, from passages that began about where it was.

    Parameters
    ----------
    start : (x, y)
    depth : float
        Of what is there, metres.
    passages : iterable of Passage
    """
    right = across(start, depth)

    def unlike(passage: Passage) -> float:
        return abs(passage.before[0] - right) / LIKE_ACROSS + abs(math.log(passage.before[1] / depth)) / LIKE_AHEAD

    found = []
    for passage in sorted(passages, key=unlike)[:LIKELY]:
        later = depth + passage.after[1] - passage.before[1]
        if later >= NEAREST:
            x = VANISHING[0] - 0.5 + (right + passage.after[0] - passage.before[0]) * FOCAL / later
            point = round(x), round(VANISHING[1] + (CAMERA_HEIGHT - LEVEL) * FOCAL / later)
            if framed(point) and math.dist(point, start) >= MOVED:
                found.append(point)
    return found


def likelihood(point: Point, likely: Iterable[Point]) -> float:
    """Return how likely a point is, relative to others of the same question."""
    width = BLUR + BLUR_OUTWARDS * math.dist(point, VANISHING)
    return sum(math.exp(-((math.dist(point, other) / width) ** 2) / 2) for other in likely)


def draw_wrong(right: Place, likely: Sequence[Point], others: Sequence[Place], rng: np.random.Generator) -> Wrong:
    """Draw three wrong points for each key of :data:`Wrong` that the right point can have among the four.

    Parameters
    ----------
    right : Place
        The right point, and the box around what it is on.
    likely : sequence of (x, y)
        Of :func:`likely_points`.
    others : sequence of Place
        What else is in the frame: it takes the place of a point that is next to it.
    rng : numpy.random.Generator
    """
    true, box = right
    far = [
        tuple(round(middle + factor * (value - middle)) for middle, value in zip(VANISHING, point, strict=True))
        for factor in STRETCHES
        for point in likely[::6]
    ]
    pool = {swapped((point, box), others)[0] for point in [*likely, *((x, y) for x, y in far)]}
    usable = sorted(p for p in pool if framed(p) and outside(p, box) and math.dist(p, true) >= APART)
    mine = likelihood(true, likely)
    likelier = [likelihood(point, likely) > mine for point in usable]
    found: Wrong = {}
    for wanted in range(OPTIONS):
        for _ in range(TRIES):
            order = [int(place) for place in rng.permutation(len(usable))]
            chosen: list[int] = []
            for likelier_first, most in ((True, wanted), (False, OPTIONS - 1)):
                for place in order:
                    apart = all(math.dist(usable[place], usable[other]) >= APART for other in chosen)
                    if len(chosen) < most and likelier[place] is likelier_first and apart:
                        chosen.append(place)
            if len(chosen) == OPTIONS - 1 and sum(likelier[place] for place in chosen) == wanted:
                points = tuple(usable[place] for place in chosen)
                inner = sum(math.dist(point, VANISHING) < math.dist(true, VANISHING) for point in points)
                found.setdefault((wanted, aloneness(true, points), inner), points)
    return found


def aloneness(right: Point, wrong: Sequence[Point]) -> int:
    """Return how many of the wrong points have another point nearer to them than the right one has."""
    points = [right, *wrong]
    gaps = [min(math.dist(one, other) for other in points if other is not one) for one in points]
    return sum(gap < gaps[0] for gap in gaps[1:])


@dataclass(frozen=True, slots=True)
class Pair:
    """Somebody at two seconds, and the wrong points that there are to choose from."""

    agent: str
    first: int
    second: int
    wrong: Wrong


def evenly(pairs: Sequence[Pair], count: int, rng: np.random.Generator) -> list[tuple[Pair, tuple[Point, ...]]]:
    """Draw up to `count` pairs, and wrong points for each: the parts of their keys, then agents, come up evenly."""
    left = [pairs[int(place)] for place in rng.permutation(len(pairs))]
    parts, agents = Counter[tuple[int, int]](), Counter[str]()
    chosen: list[tuple[Pair, tuple[Point, ...]]] = []
    while left and len(chosen) < count:
        pair, key = min(
            ((pair, key) for pair in left for key in pair.wrong),
            key=lambda each: (sum(parts[part] for part in enumerate(each[1])), agents[each[0].agent]),
        )
        left.remove(pair)
        parts.update(enumerate(key))
        agents[pair.agent] += 1
        chosen.append((pair, pair.wrong[key]))
    return chosen
