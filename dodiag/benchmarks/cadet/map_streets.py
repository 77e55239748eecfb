"""The streets of a town map as a graph with lengths, and the shortest way around closed blocks.

Streets are straight lines between junctions; their lengths are pixels of the picture. Nothing here draws.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

import networkx as nx
import numpy as np

from dodiag.benchmarks.cadet.sketch import Pixel
from dodiag.problems import DodiagError

Junction = tuple[int, int]
"""Column and row in the town's grid, from 0 at the top left."""
Block = tuple[Junction, Junction]
"""A piece of street between neighbouring junctions, the smaller one first."""
if TYPE_CHECKING:
    Streets = nx.Graph[Junction]
else:
    Streets = nx.Graph
"""Junctions and blocks; edges have a ``weight``, their length in pixels."""

SIDE = 840
"""Pixels along each side of the map, inside its frame."""
FRAME = 34
"""Pixels of the frame with the letters and numbers of the squares."""
SQUARES = 6
"""Squares of the reference grid along each side."""
JITTER = 0.17
"""How far a junction may lie from its place in a regular grid, as a share of the distance between two."""
LINE_CLEARANCE = 8.0
"""Pixels between what a question asks to locate and the lines of the reference grid."""
CLOSURE_RADIUS = 11.0
"""Of a closed-road sign, in pixels."""

DIRECTIONS: dict[tuple[int, int], str] = {(0, -1): "north", (1, 0): "east", (0, 1): "south", (-1, 0): "west"}

STREETS = ("Oak", "Mill", "Ferry", "Hill", "King", "Queen", "Elm", "Vine", "Dean", "Abbey", "Forge", "Bell")
AVENUES = (
    "Linden",
    "Cedar",
    "Maple",
    "Rose",
    "Birch",
    "Tulip",
    "Falcon",
    "Swan",
    "Amber",
    "Marble",
    "Copper",
    "Ivory",
)

TRIES = 60
"""Pairs of places that are tried in one town."""


class Unfit(DodiagError):
    """A draw that is given up, with the reason; another one is tried."""


def block_of(first: Junction, second: Junction) -> Block:
    """Return the block between two neighbours."""
    return min(first, second), max(first, second)


def blocks_of(path: Sequence[Junction]) -> list[Block]:
    """Return the blocks of a way."""
    return [block_of(a, b) for a, b in pairwise(path)]


def direction(first: Junction, second: Junction) -> str:
    """Return the direction of the second of two neighbours as seen from the first."""
    return DIRECTIONS[second[0] - first[0], second[1] - first[1]]


def square_of(at: Pixel) -> str:
    """Return the square of the reference grid that a pixel is in, such as ``C4``."""
    column, row = (int((entry - FRAME) * SQUARES // SIDE) for entry in at)
    return f"{'ABCDEF'[column]}{row + 1}"


def neighbours_of(square: str, reach: int) -> list[str]:
    """Return the squares that are at most `reach` columns and rows away from a square, without itself."""
    column, row = "ABCDEF".index(square[0]), int(square[1:]) - 1
    columns = range(max(column - reach, 0), min(column + reach + 1, SQUARES))
    rows = range(max(row - reach, 0), min(row + reach + 1, SQUARES))
    return [f"{'ABCDEF'[x]}{y + 1}" for x in columns for y in rows if (x, y) != (column, row)]


def clear_of_lines(at: Pixel, radius: float) -> bool:
    """Return whether something of this radius keeps its distance from the lines of the reference grid."""
    cell = SIDE / SQUARES
    gaps = (abs((entry - FRAME + cell / 2) % cell - cell / 2) for entry in at)
    return all(gap >= radius + LINE_CLEARANCE for gap in gaps)


def length(first: Pixel, second: Pixel) -> float:
    """Return the distance of two pixels."""
    return float(((first[0] - second[0]) ** 2 + (first[1] - second[1]) ** 2) ** 0.5)


def along(first: Pixel, second: Pixel, share: float) -> Pixel:
    """Return the point a share of the way from one pixel to another, rounded to tenths."""
    x, y = (a + share * (b - a) for a, b in zip(first, second, strict=True))
    return round(x, 1), round(y, 1)


def draw_junctions(rng: np.random.Generator, count: int) -> dict[Junction, Pixel]:
    """Return `count` times `count` junctions near the places of a regular grid."""
    gap = SIDE / count
    shifts = rng.uniform(-JITTER, JITTER, size=(count, count, 2))
    return {
        (column, row): (
            round(float(FRAME + (column + 0.5 + shifts[column, row, 0]) * gap), 1),
            round(float(FRAME + (row + 0.5 + shifts[column, row, 1]) * gap), 1),
        )
        for column in range(count)
        for row in range(count)
    }


def draw_streets(rng: np.random.Generator, junctions: Mapping[Junction, Pixel], missing: float) -> Streets:
    """Return a full grid without a share of its blocks, so that no junction is a dead end and no block the only link.

    Raises
    ------
    Unfit
        If so many cannot be left out.
    """
    graph = Streets()
    for a, b in (pair for first in sorted(junctions) for pair in _links(first, junctions)):
        graph.add_edge(a, b, weight=length(junctions[a], junctions[b]))
    blocks = sorted(block_of(a, b) for a, b in graph.edges)
    left = round(missing * len(blocks))
    for place in rng.permutation(len(blocks)):
        a, b = blocks[int(place)]
        if left and min(graph.degree[a], graph.degree[b]) > 2:
            weight = graph.edges[a, b]["weight"]
            graph.remove_edge(a, b)
            if nx.has_bridges(graph):
                graph.add_edge(a, b, weight=weight)
            else:
                left -= 1
    if left:
        raise Unfit("no more streets can be left out")
    return graph


def _links(first: Junction, junctions: Mapping[Junction, Pixel]) -> list[Block]:
    column, row = first
    return [(first, other) for other in ((column + 1, row), (column, row + 1)) if other in junctions]


def draw_names(rng: np.random.Generator, graph: Streets) -> dict[Block, str]:
    """Return the name of every block: a street runs from west to east, an avenue from north to south."""
    streets = [STREETS[int(place)] for place in rng.permutation(len(STREETS))]
    avenues = [AVENUES[int(place)] for place in rng.permutation(len(AVENUES))]
    blocks = sorted(block_of(a, b) for a, b in graph.edges)
    return {(a, b): f"{streets[a[1]]} St" if a[1] == b[1] else f"{avenues[a[0]]} Ave" for a, b in blocks}


def draw_way(
    rng: np.random.Generator,
    graph: Streets,
    junctions: Mapping[Junction, Pixel],
    names: Mapping[Block, str],
    spots: Sequence[Junction],
    blocks: int,
    closures: int,
) -> tuple[list[Block], list[Junction]]:
    """Return closed blocks and the shortest way around them between two of the spots.

    One block is closed on what would be the shortest way, another one (from four blocks on) on what is then the
    shortest; the rest of them are closed elsewhere.

    Raises
    ------
    Unfit
        If no two spots are so many blocks apart.
    """
    pairs = [(a, b) for a in spots for b in spots if blocks - _apart(a, b) in (0, 2, 4)]
    for place in rng.permutation(len(pairs))[:TRIES]:
        start, goal = pairs[int(place)]
        closed: list[Block] = []
        path = shortest(graph, start, goal, closed)
        for _ in range(min(closures, 1 if blocks < 4 else 2)):
            if not _close_one(rng, junctions, names, blocks_of(path), closed):
                break
            path = shortest(graph, start, goal, closed)
        # A bend with two streets does not look like a junction, so blocks could not be counted there.
        clear = all(graph.degree[node] > 2 for node in path[1:-1])
        if not clear or len(path) - 1 != blocks:
            continue
        way = set(blocks_of(path))
        elsewhere = [block for block in names if block not in way]
        while len(closed) < closures and _close_one(rng, junctions, names, elsewhere, closed):
            pass
        if len(closed) == closures:
            return closed, path
    raise Unfit("no way of this length around the closed roads")


def _apart(first: Junction, second: Junction) -> int:
    return abs(first[0] - second[0]) + abs(first[1] - second[1])


def shortest(graph: Streets, start: Junction, goal: Junction, closed: Sequence[Block]) -> list[Junction]:
    """Return the shortest way around closed blocks; empty where there is none."""

    def weight(a: Junction, b: Junction, street: dict[str, float]) -> float | None:
        return None if block_of(a, b) in closed else street["weight"]

    try:
        return list(nx.dijkstra_path(graph, start, goal, weight))
    except nx.NetworkXNoPath:
        return []


def _close_one(
    rng: np.random.Generator,
    junctions: Mapping[Junction, Pixel],
    names: Mapping[Block, str],
    blocks: Sequence[Block],
    closed: list[Block],
) -> bool:
    """Close one of some blocks, on a street that has no closed block yet; False where there is none."""
    taken = {names[block] for block in closed}
    options = [block for block in blocks if names[block] not in taken and closure_spots(junctions, block)]
    if options:
        closed.append(options[int(rng.integers(len(options)))])
    return bool(options)


def closure_spots(junctions: Mapping[Junction, Pixel], block: Block) -> list[Pixel]:
    """Return where a closed-road sign may stand on a block, away from the lines of the reference grid."""
    first, second = junctions[block[0]], junctions[block[1]]
    spots = [along(first, second, share / 100) for share in range(34, 67, 4)]
    return [spot for spot in spots if clear_of_lines(spot, CLOSURE_RADIUS)]


def margin_of(graph: Streets, closed: Sequence[Block], path: Sequence[Junction]) -> float:
    """Return by what share of the remaining way the best other direction is longer, where it is least."""
    streets = graph.copy()
    streets.remove_edges_from(closed)
    left = nx.single_source_dijkstra_path_length(streets, path[-1], weight="weight")
    least = float("inf")
    for here, after in pairwise(path):
        others = [streets.edges[here, other]["weight"] + left[other] for other in streets[here] if other != after]
        least = min(least, min(others, default=float("inf")) / left[here] - 1)
    return least
