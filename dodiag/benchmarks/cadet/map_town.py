"""Towns for maps: streets with names, places at junctions, closed roads, things to count, and room for every text.

All that questions are made from is decided here, before anything is drawn.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import networkx as nx
import numpy as np

from dodiag.benchmarks.cadet.map_streets import (
    CLOSURE_RADIUS,
    FRAME,
    SIDE,
    Block,
    Junction,
    Unfit,
    along,
    block_of,
    blocks_of,
    clear_of_lines,
    closure_spots,
    draw_junctions,
    draw_names,
    draw_streets,
    draw_way,
    length,
    margin_of,
    square_of,
)
from dodiag.benchmarks.cadet.sketch import Box, Pixel, text_size
from dodiag.problems import DodiagError

PLATE = 17.0
"""Radius of the plate of a place, in pixels."""
MARK = 10.0
"""Half the width of a thing to be counted."""
NAME_SIZE, CAPTION_SIZE = 13.0, 16.0
"""Font sizes of street names and of places' names."""
SHARES_ALONG = (0.35, 0.65)
"""Where the two marks of a block can be, as shares of its length."""
ATTEMPTS = 1000


@dataclass(frozen=True, slots=True)
class Demands:
    """What a town has to offer.

    Attributes
    ----------
    junctions : int
        Along each side of the town.
    blocks : int
        Of the way.
    closures : int
        Closed roads.
    margin : float
        See :class:`Town`; at least this.
    missing : float
        Share of blocks left out of the full grid.
    count : int
        Marks of the first kind on the way.
    density : float
        Chance that a place for a mark has one, away from the way.
    """

    junctions: int
    blocks: int
    closures: int
    margin: float
    missing: float
    count: int
    density: float


@dataclass(frozen=True, slots=True)
class Mark:
    """Something on a street: its kind, its block, and where it is in pixels."""

    kind: str
    block: Block
    at: Pixel


@dataclass(frozen=True, slots=True)
class Place:
    """A named place at a junction; `caption` is the middle of its name in pixels."""

    name: str
    junction: Junction
    at: Pixel
    caption: Pixel


@dataclass(frozen=True, slots=True)
class Town:
    """A map and its shortest way.

    Attributes
    ----------
    junctions : dict of Junction to Pixel
    names : dict of Block to str
        All streets on the map, closed ones included.
    labels : dict of Block to str
        The blocks that the street's name is written along.
    places : tuple of Place
        The first is the start of the way, the second its destination.
    closures : tuple of Mark
        Closed-road signs, each on another street; the first is on what would be the shortest way without any.
    marks : tuple of Mark
        What can be counted.
    path : tuple of Junction
        From start to destination: the shortest way along streets that are open.
    margin : float
        By what share of the remaining way the best other direction is longer, at the junction where it is least.
    rejected : dict of str to int
        How many towns were given up before this one, by the reason.
    """

    junctions: dict[Junction, Pixel]
    names: dict[Block, str]
    labels: dict[Block, str]
    places: tuple[Place, ...]
    closures: tuple[Mark, ...]
    marks: tuple[Mark, ...]
    path: tuple[Junction, ...]
    margin: float
    rejected: dict[str, int]

    def on_way(self, kind: str) -> Iterator[Mark]:
        """Yield the marks of a kind on the way."""
        way = set(blocks_of(self.path))
        return (mark for mark in self.marks if mark.kind == kind and mark.block in way)


def found(rng: np.random.Generator, names: Sequence[str], kinds: Sequence[str], demands: Demands) -> Town:
    """Draw a town.

    Parameters
    ----------
    rng : numpy.random.Generator
        The only source of chance.
    names : sequence of str
        Of the places; the first two belong to the start and the destination.
    kinds : sequence of str
        Of marks; the first is the one whose number on the way is demanded.
    demands : Demands

    Raises
    ------
    DodiagError
        If no town was accepted; the knobs then ask for too much.
    """
    rejected: Counter[str] = Counter()
    for _ in range(ATTEMPTS):
        try:
            return _found(rng, names, kinds, demands, rejected)
        except Unfit as reason:
            rejected[reason.message] += 1
    raise DodiagError(
        f"{ATTEMPTS} maps of {demands.junctions} x {demands.junctions} junctions gave none with a way of "
        f"{demands.blocks} blocks around {demands.closures} closed roads (most often: {rejected.most_common(1)[0][0]})",
        "Ask for shorter ways, fewer closed roads or places, or a smaller 'margin' or 'missing'.",
    )


def _found(
    rng: np.random.Generator, names: Sequence[str], kinds: Sequence[str], demands: Demands, rejected: Counter[str]
) -> Town:
    junctions = draw_junctions(rng, demands.junctions)
    graph = draw_streets(rng, junctions, demands.missing)
    streets = draw_names(rng, graph)
    spots = [node for node in junctions if clear_of_lines(junctions[node], PLATE)]
    closed, path = draw_way(rng, graph, junctions, streets, spots, demands.blocks, demands.closures)
    margin = margin_of(graph, closed, path)
    if margin < demands.margin:
        raise Unfit("another way is about as short")
    closures = _signs(rng, junctions, closed, [path[0], path[-1]])
    others = [spot for spot in spots if spot not in path]
    if len(others) < len(names) - 2:
        raise Unfit("too few junctions away from the grid's lines")
    order = rng.permutation(len(others))[: len(names) - 2]
    corners = [path[0], path[-1], *(others[int(place)] for place in order)]
    labels = _labels(rng, junctions, streets, closed, path)
    marks = _marks(rng, junctions, streets, kinds, {*closed, *labels}, path, demands)
    return Town(
        junctions=junctions,
        names=streets,
        labels=labels,
        places=_captioned(names, corners, junctions, labels, [*closures, *marks]),
        closures=closures,
        marks=marks,
        path=tuple(path),
        margin=margin,
        rejected=dict(sorted(rejected.items())),
    )


def _signs(
    rng: np.random.Generator, junctions: Mapping[Junction, Pixel], closed: Sequence[Block], ends: Sequence[Junction]
) -> tuple[Mark, ...]:
    """Return a sign for every closed block; no two things that are to be located share a square."""
    squares = {square_of(junctions[end]) for end in ends}
    signs = []
    for block in closed:
        spots = [spot for spot in closure_spots(junctions, block) if square_of(spot) not in squares]
        if len(squares) < len(ends) or not spots:
            raise Unfit("two things to be located are in one square")
        spot = spots[int(rng.integers(len(spots)))]
        squares.add(square_of(spot))
        signs.append(Mark("closed road", block, spot))
    return tuple(signs)


def _marks(
    rng: np.random.Generator,
    junctions: Mapping[Junction, Pixel],
    streets: Mapping[Block, str],
    kinds: Sequence[str],
    kept_free: set[Block],
    path: Sequence[Junction],
    demands: Demands,
) -> tuple[Mark, ...]:
    """Return things on the streets: of the first kind, exactly as many on the way as demanded."""
    way = blocks_of(path)
    slots = [(block, share) for block in way if block not in kept_free for share in SHARES_ALONG]
    if demands.count > len(slots):
        raise Unfit("the way has too little room for the count")
    order = [slots[int(place)] for place in rng.permutation(len(slots))]
    taken = dict.fromkeys(order[: demands.count], kinds[0])
    for slot in order[demands.count :]:
        if len(kinds) > 1 and rng.random() < demands.density:
            taken[slot] = kinds[1 + int(rng.integers(len(kinds) - 1))]
    away = [block for block in streets if block not in way and block not in kept_free]
    for slot in ((block, share) for block in away for share in SHARES_ALONG):
        if rng.random() < demands.density:
            taken[slot] = kinds[int(rng.integers(len(kinds)))]
    return tuple(
        Mark(kind, block, along(junctions[block[0]], junctions[block[1]], share))
        for (block, share), kind in sorted(taken.items())
    )


def _labels(
    rng: np.random.Generator,
    junctions: Mapping[Junction, Pixel],
    streets: Mapping[Block, str],
    closed: Sequence[Block],
    path: Sequence[Junction],
) -> dict[Block, str]:
    """Return the blocks that carry their street's name: one on every unbroken stretch, off the way if it can be."""
    way = set(blocks_of(path))
    labels = {}
    for name in sorted(set(streets.values())):
        street: nx.Graph[Junction] = nx.Graph([block for block, other in streets.items() if other == name])
        for stretch in sorted(map(sorted, nx.connected_components(street))):
            blocks = [block_of(a, b) for a, b in pairwise(stretch)]
            free = [block for block in blocks if block not in closed and _has_room(name, junctions, block)]
            free = [block for block in free if block not in way] or free
            if not free:
                raise Unfit("no room for a street's name")
            labels[free[int(rng.integers(len(free)))]] = name
    return labels


def _has_room(name: str, junctions: Mapping[Junction, Pixel], block: Block) -> bool:
    room = length(junctions[block[0]], junctions[block[1]]) - 2 * PLATE
    return text_size(name, NAME_SIZE)[0] <= room


def _captioned(
    names: Sequence[str],
    corners: Sequence[Junction],
    junctions: Mapping[Junction, Pixel],
    labels: Mapping[Block, str],
    marks: Sequence[Mark],
) -> tuple[Place, ...]:
    """Return the places with room for their names: over no plate, no mark, no street's name and no other caption."""
    taken = [_around(junctions[corner], PLATE + 2) for corner in corners]
    taken += [_around(mark.at, CLOSURE_RADIUS + 2 if mark.kind == "closed road" else MARK + 2) for mark in marks]
    for (a, b), name in labels.items():
        wide, high = text_size(name, NAME_SIZE)
        middle, flat = along(junctions[a], junctions[b], 0.5), a[1] == b[1]
        taken.append(_frame(middle, (wide, 1.6 * high) if flat else (1.6 * high, wide)))
    places = []
    for name, corner in zip(names, corners, strict=True):
        at, size = junctions[corner], text_size(name, CAPTION_SIZE)
        options = [(middle, _frame(middle, size)) for middle in _beside(at, size)]
        free = [(middle, box) for middle, box in options if _on_map(box) and not any(_meet(box, b) for b in taken)]
        if not free:
            raise Unfit("no room for a place's name")
        middle, box = free[0]
        taken.append(box)
        places.append(Place(name, corner, at, middle))
    return tuple(places)


def _beside(at: Pixel, size: tuple[float, float]) -> Iterator[Pixel]:
    """Yield middles of a caption around a plate, the best first."""
    (x, y), (wide, high) = at, size
    aside, away = PLATE + 5 + wide / 2, PLATE + 2 + high / 2
    yield from ((x, y + away), (x, y - away))
    yield from ((x + s * (PLATE * 0.6 + wide / 2), y + t * away) for t in (-1, 1) for s in (1, -1))
    yield from ((x + aside, y), (x - aside, y))


def _around(at: Pixel, radius: float) -> Box:
    return _frame(at, (2 * radius, 2 * radius))


def _frame(middle: Pixel, size: tuple[float, float]) -> Box:
    (x, y), (wide, high) = middle, size
    return x - wide / 2, y - high / 2, x + wide / 2, y + high / 2


def _meet(first: Box, second: Box) -> bool:
    return first[0] < second[2] and second[0] < first[2] and first[1] < second[3] and second[1] < first[3]


def _on_map(box: Box) -> bool:
    low, high = FRAME + 3, FRAME + SIDE - 3
    return low <= box[0] and low <= box[1] and box[2] <= high and box[3] <= high
