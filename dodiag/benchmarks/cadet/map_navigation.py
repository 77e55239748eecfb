"""Generator of the task Map Navigation (CADET, arXiv:2609.38851, Tables 2 to 4).

The paper's maps and questions are not released; these are made afresh for the same graph.

What it measures
    X1 finds something on a town map: where the way starts, where it ends, and every closed road, as squares of the
    map's reference grid. X2 is a chain: in which direction does the shortest way go on, block by block. Y counts things
    of one kind along that way.
How the truth is known
    A map is a graph of streets with lengths. At least one road is closed that the shortest way would otherwise take,
    and a map is kept only if at every junction of the way each other direction is clearly longer. Things to count
    stand on the streets themselves. Nothing is labelled by hand.
What is drawn for state 1
    X1: a box around the place or the sign. X2, step t: an arrow along block t of the way. Y: never injected; its boxes
    around what counts and the whole way are for people.
Limits
    * Shortest is meant in pixels of the map; the least margin is kept in ``meta`` and never below the knob's.
    * The number of X1 entries tells how many roads are closed, that of X2 entries how many blocks have been driven.
    * Closed roads beyond the first two never lie on the way, and on ways of two or three blocks beyond the first: they
      are there to be checked, and make no difference to X2 and Y.
    * Streets are straight and north is up.
"""

from __future__ import annotations

import string
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from itertools import pairwise
from typing import Any

import numpy as np

from dodiag.benchmarks.cadet.map_icons import MARKS, PLACES
from dodiag.benchmarks.cadet.map_picture import THEMES, paint
from dodiag.benchmarks.cadet.map_streets import CLOSURE_RADIUS, direction, neighbours_of, square_of
from dodiag.benchmarks.cadet.map_town import MARK, PLATE, SHARES_ALONG, Demands, Town, found
from dodiag.benchmarks.cadet.sketch import Box, Pixel, require_fonts
from dodiag.benchmarks.generators import Drawn
from dodiag.problems import UsageError
from dodiag.scm.files import load_task
from dodiag.scm.graph import TaskGraph
from dodiag.scm.pack import Annotation, Instance, Question

VERSION = "1"
"""Of this generator; raised whenever the same seed gives another pack."""

INSTANCES = 107
"""As many as the paper has."""

BLOCK_SHARES = {2: 0.23, 3: 0.36, 4: 0.23, 5: 0.12, 6: 0.04, 7: 0.02}
"""How often a way has so many blocks: 3.44 on average, as in the paper (368 X2 questions on 107 instances)."""
CLOSURE_SHARES = {1: 0.20, 2: 0.46, 3: 0.34}
"""How many roads are closed: 2.14 on average, so that X1 has 4.14 questions as in the paper (443 on 107 instances)."""
MOST_COUNTED = 5
OPTIONS = 6
OPTION_REACH = 2
"""How many columns and rows a wrong option of X1 is away from something asked for, at most."""

RANGES: dict[str, tuple[float, float]] = {
    "junctions": (5, 7),
    "fewest_blocks": (2, 7),
    "most_blocks": (2, 7),
    "fewest_closures": (1, 3),
    "most_closures": (1, 3),
    "places": (6, 10),
    "margin": (0.05, 0.4),
    "missing": (0.1, 0.3),
    "kinds": (1, 4),
    "density": (0.0, 0.7),
}
"""Of the knobs, both ends included."""


@dataclass(frozen=True, slots=True)
class Knobs:
    """How hard a map is.

    Parameters
    ----------
    junctions : int
        Along each side of the town, 5 to 7.
    fewest_blocks, most_blocks : int
        Of the way, that is steps of the chain, 2 to 7.
    fewest_closures, most_closures : int
        Closed roads, 1 to 3.
    places : int
        With an icon and a name, 6 to 10.
    margin : float
        By what share of the remaining way every other direction is longer at least, 0.05 to 0.4; less is harder.
    missing : float
        Share of blocks that the town lacks, 0.1 to 0.3.
    kinds : int
        Kinds of things on the streets, 1 to 4; one of them is to be counted.
    density : float
        How many of the places for such things have one, 0 to 0.7.

    Raises
    ------
    UsageError
        If a knob is out of its range.
    """

    junctions: int = 6
    fewest_blocks: int = 2
    most_blocks: int = 7
    fewest_closures: int = 1
    most_closures: int = 3
    places: int = 9
    margin: float = 0.12
    missing: float = 0.22
    kinds: int = 3
    density: float = 0.4

    def __post_init__(self) -> None:
        for field in fields(self):
            value, (low, high) = getattr(self, field.name), RANGES[field.name]
            whole = isinstance(field.default, int)
            if (
                isinstance(value, bool)
                or not isinstance(value, int if whole else (int, float))
                or not low <= value <= high
            ):
                what = "an integer" if whole else "a number"
                raise UsageError(
                    f"the knob {field.name} of map_navigation cannot be {value!r}", f"Use {what} of {low} to {high}."
                )
        for what in ("blocks", "closures"):
            fewest, most = getattr(self, f"fewest_{what}"), getattr(self, f"most_{what}")
            if fewest > most:
                raise UsageError(
                    f"the knob fewest_{what} of map_navigation is {fewest}, but most_{what} is {most}",
                    "Give the lower number first.",
                )


def prepare() -> None:
    """Check that the pictures can be drawn.

    Raises
    ------
    MissingDependency
        If Pillow has no scalable font.
    """
    require_fonts()


def task(seed: int = 0, knobs: Knobs = Knobs()) -> TaskGraph:
    """Return the shipped graph with the range of the count and the seed of the incorrect answers."""
    shipped = load_task("map_navigation")
    units = dict(shipped.units)
    answer = units["Y"].answer.model_copy(update={"min": 0, "max": len(SHARES_ALONG) * knobs.most_blocks})
    units["Y"] = units["Y"].model_copy(update={"answer": answer})
    return replace(shipped, units=units, seed=seed)


def draw(seed: int, index: int, knobs: Knobs = Knobs()) -> Drawn:
    """Return one instance and its picture; they depend on nothing but the arguments.

    Raises
    ------
    DodiagError
        If no map of these knobs was accepted.
    """
    rng = np.random.default_rng((seed, index))
    blocks = _draw_share(rng, BLOCK_SHARES, knobs.fewest_blocks, knobs.most_blocks)
    closures = _draw_share(rng, CLOSURE_SHARES, knobs.fewest_closures, knobs.most_closures)
    names = [str(name) for name in rng.permutation(list(PLACES))[: knobs.places]]
    kinds = [str(kind) for kind in rng.permutation(list(MARKS))[: knobs.kinds]]
    count = int(rng.integers(min(MOST_COUNTED, len(SHARES_ALONG) * blocks) + 1))
    demands = Demands(knobs.junctions, blocks, closures, knobs.margin, knobs.missing, count, knobs.density)
    town = found(rng, names, kinds, demands)
    theme = str(rng.choice(list(THEMES)))
    medium = f"media/{index:04d}.png"
    instance = Instance(
        id=f"map_navigation-s{seed}-{index:04d}",
        media=(medium,),
        questions=tuple(_questions(rng, town, kinds[0])),
        meta=_facts(town, kinds[0], theme),
    )
    return instance, {medium: paint(rng, town, sorted(kinds), theme)}


def _draw_share(rng: np.random.Generator, shares: Mapping[int, float], low: int, high: int) -> int:
    kept = {number: share for number, share in shares.items() if low <= number <= high}
    total = sum(kept.values())
    return int(rng.choice(list(kept), p=[share / total for share in kept.values()]))


def _questions(rng: np.random.Generator, town: Town, kind: str) -> Iterator[Question]:
    start, goal = town.places[:2]
    yield from _locations(rng, town)
    way = (
        f"You drive from the {start.name} to the {goal.name} by the shortest way along the streets. A block with a "
        "closed-road sign cannot be driven through. "
    )
    for step, (here, after) in enumerate(pairwise(town.path), start=1):
        order = [str(name) for name in rng.permutation(["north", "east", "south", "west"])]
        yield Question(
            id=f"X2-{step}",
            unit="X2",
            text=(
                f"{way}A block is the piece of a street between two neighbouring junctions. In which direction do you "
                f"drive along block {step} of your way? North is up."
            ),
            choices=tuple(order),
            answer=string.ascii_uppercase[order.index(direction(here, after))],
            step=step,
            annotations=(Annotation(path=(town.junctions[here], town.junctions[after])),),
        )
    counted = list(town.on_way(kind))
    yield Question(
        id="Y",
        unit="Y",
        text=f"{way}How many {kind}s do you pass? Those of the legend below the map do not count.",
        answer=len(counted),
        annotations=(
            Annotation(path=tuple(town.junctions[node] for node in town.path)),
            *(Annotation(box=_around(mark.at, MARK + 3)) for mark in counted),
        ),
    )


def _locations(rng: np.random.Generator, town: Town) -> Iterator[Question]:
    """Yield the X1 questions of a map; all have the same options, so that none is told by the options of another."""
    start, goal = town.places[:2]
    wanted = [
        ("X1-start", f"the {start.name}", start.at, PLATE),
        ("X1-end", f"the {goal.name}", goal.at, PLATE),
        *(
            (f"X1-closed-{number}", f"the closed-road sign on {town.names[sign.block]}", sign.at, CLOSURE_RADIUS)
            for number, sign in enumerate(town.closures, start=1)
        ),
    ]
    squares = [square_of(at) for _, _, at, _ in wanted]
    near = sorted({other for square in squares for other in neighbours_of(square, OPTION_REACH)} - set(squares))
    squares += [near[int(place)] for place in rng.permutation(len(near))[: OPTIONS - len(squares)]]
    options = [squares[int(place)] for place in rng.permutation(len(squares))]
    for name, what, at, radius in wanted:
        yield Question(
            id=name,
            unit="X1",
            text=(
                f"In which square of the map's reference grid is {what}? Letters along the top and the bottom of the "
                "map name the columns, numbers along its sides the rows."
            ),
            choices=tuple(options),
            answer=string.ascii_uppercase[options.index(square_of(at))],
            annotations=(Annotation(box=_around(at, radius + 3)),),
        )


def _around(at: Pixel, radius: float) -> Box:
    left, top, right, bottom = at[0] - radius, at[1] - radius, at[0] + radius, at[1] + radius
    return round(left, 1), round(top, 1), round(right, 1), round(bottom, 1)


def _facts(town: Town, kind: str, theme: str) -> dict[str, Any]:
    """Return the state of the map; streets are pairs of junctions, by their place in the list of junctions."""
    numbers = {node: number for number, node in enumerate(town.junctions)}
    return {
        "generator": f"map_navigation {VERSION}",
        "theme": theme,
        "junctions": [list(at) for at in town.junctions.values()],
        "streets": [[numbers[a], numbers[b], name] for (a, b), name in town.names.items()],
        "places": [{"name": place.name, "junction": numbers[place.junction]} for place in town.places],
        "closed": [{"street": town.names[sign.block], "at": list(sign.at)} for sign in town.closures],
        "marks": _by_kind(town),
        "counted": kind,
        "way": [numbers[node] for node in town.path],
        "margin": round(town.margin, 3),
        "rejected": town.rejected,
    }


def _by_kind(town: Town) -> dict[str, Sequence[list[float]]]:
    kinds = sorted({mark.kind for mark in town.marks})
    return {kind: [list(mark.at) for mark in town.marks if mark.kind == kind] for kind in kinds}
