"""Mazes with lettered exits, one of which can be reached, as pure graphs: nothing here knows of pixels.

A maze begins as a tree that reaches every cell, so that there is one way between any two. For each exit but one, a wall
is put across the branch that leads to it. The way from the start to the right exit is then the only one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import networkx as nx
import numpy as np

from dodiag.problems import DodiagError

Cell = tuple[int, int]
"""Column and row, from 0."""

SIDES: dict[str, tuple[int, int]] = {"top": (0, -1), "right": (1, 0), "bottom": (0, 1), "left": (-1, 0)}

MARKER_GAP = 3
"""Cells between two markers, along a row or a column at least."""
EXIT_GAP = 3
"""Cells between two exits along the frame."""
STUB = 3
"""Least number of cells that can be walked from a closed exit towards the start before the wall."""
REGION = 8
"""Least number of cells that can be walked to from a closed exit."""
ATTEMPTS = 1000
PATIENCE = 60
"""Attempts with one rank of the right exit, by its distance from the start, before another rank is drawn."""


@dataclass(frozen=True, slots=True)
class Exit:
    """An opening in the frame: the cell behind it, and the side of the frame."""

    cell: Cell
    side: str


@dataclass(frozen=True, slots=True)
class Layout:
    """A maze with its way.

    Attributes
    ----------
    size : int
        Cells along each side.
    passages : frozenset of (Cell, Cell)
        Pairs of neighbours without a wall between them, the smaller cell first.
    exits : tuple of Exit
        Clockwise; the i-th has the i-th letter.
    right : int
        Index of the exit that can be reached from the start.
    markers : tuple of Cell
        Cells with a symbol.
    start : int
        Index of the marker that the way starts at.
    path : tuple of Cell
        From the start to the cell of the right exit.
    rejected : dict of str to int
        How many mazes were given up before this one, by the reason.
    """

    size: int
    passages: frozenset[tuple[Cell, Cell]]
    exits: tuple[Exit, ...]
    right: int
    markers: tuple[Cell, ...]
    start: int
    path: tuple[Cell, ...]
    rejected: dict[str, int]


def lay_out(rng: np.random.Generator, size: int, exits: int, decoys: int, shortest: int) -> Layout:
    """Draw a maze.

    Parameters
    ----------
    rng : numpy.random.Generator
        The only source of chance.
    size : int
        Cells along each side.
    exits : int
        Lettered openings.
    decoys : int
        Markers beside the start. They are drawn from the same cells as the start.
    shortest : int
        Least number of steps from cell to cell on the way.

    Raises
    ------
    DodiagError
        If no maze was accepted; the knobs then ask for too much.
    """
    rejected: Counter[str] = Counter()
    nearer = 0
    for attempt in range(ATTEMPTS):
        if attempt % PATIENCE == 0:
            nearer = int(rng.integers(exits))
        tree = _tree(rng, size)
        openings = _openings(rng, size, exits)
        if openings is None:
            rejected["exits too close"] += 1
            continue
        for right in (int(place) for place in rng.permutation(exits)):
            markers = _markers(rng, tree, openings, right, decoys + 1, shortest)
            if markers is None:
                rejected["too few starts"] += 1
                continue
            start = int(rng.integers(len(markers)))
            # The way has to be long, so the right exit would mostly be far; drawing its rank first makes up for that.
            if _nearer_exits(markers[start], openings, right) != nearer:
                rejected["right exit too near or too far"] += 1
                continue
            cuts = _cuts(rng, tree, markers[start], openings, right)
            if cuts is None:
                rejected["an exit closed too early"] += 1
                continue
            path = nx.shortest_path(tree, markers[start], openings[right].cell)
            tree.remove_edges_from(cuts)
            passages = frozenset((min(a, b), max(a, b)) for a, b in tree.edges)
            return Layout(size, passages, openings, right, markers, start, tuple(path), dict(sorted(rejected.items())))
    raise DodiagError(
        f"{ATTEMPTS} mazes of {size} x {size} cells gave none with {exits} exits, {decoys + 1} symbols and a way of "
        f"{shortest} cells",
        "Raise the knob 'size', or lower 'exits', 'decoys' or 'shortest'.",
    )


def waypoints(length: int, steps: int) -> tuple[int, ...]:
    """Return the places on a way of `length` moves that part it into `steps` pieces, from 0 to `length`."""
    return tuple((2 * step * length + steps) // (2 * steps) for step in range(steps + 1))


def _tree(rng: np.random.Generator, size: int) -> nx.Graph[Cell]:
    grid: nx.Graph[Cell] = nx.Graph()
    edges = sorted((min(a, b), max(a, b)) for a, b in nx.grid_2d_graph(size, size).edges)
    weights = rng.permutation(len(edges))
    grid.add_weighted_edges_from((a, b, int(weight)) for (a, b), weight in zip(edges, weights, strict=True))
    return nx.minimum_spanning_tree(grid)


def _frame(size: int) -> list[Exit]:
    """Return all places of an opening, clockwise from the top left corner; corner cells have none."""
    inner = range(1, size - 1)
    top = [Exit((column, 0), "top") for column in inner]
    right = [Exit((size - 1, row), "right") for row in inner]
    bottom = [Exit((column, size - 1), "bottom") for column in reversed(inner)]
    left = [Exit((0, row), "left") for row in reversed(inner)]
    return [*top, *right, *bottom, *left]


def _openings(rng: np.random.Generator, size: int, count: int) -> tuple[Exit, ...] | None:
    """Return openings that are apart from each other; lettering starts anywhere, so each letter is anywhere."""
    frame = _frame(size)
    taken: list[int] = []
    for place in rng.permutation(len(frame)):
        away = [abs(int(place) - other) for other in taken]
        if all(min(gap, len(frame) - gap) >= EXIT_GAP for gap in away):
            taken.append(int(place))
        if len(taken) == count:
            first = int(rng.integers(count))
            order = sorted(taken)
            return tuple(frame[place] for place in (*order[first:], *order[:first]))
    return None


def _markers(
    rng: np.random.Generator, tree: nx.Graph[Cell], openings: Sequence[Exit], right: int, count: int, shortest: int
) -> tuple[Cell, ...] | None:
    """Return cells that could all be the start, so that nothing but the symbol tells which of them is."""
    goal = openings[right].cell
    away = nx.single_source_shortest_path_length(tree, goal)
    towards = dict(nx.bfs_predecessors(tree, goal))
    doors = [opening.cell for place, opening in enumerate(openings) if place != right]
    cells = sorted(cell for cell, steps in away.items() if steps >= shortest and cell not in doors)
    taken: list[Cell] = []
    for place in rng.permutation(len(cells)):
        cell = cells[int(place)]
        apart = all(max(abs(cell[0] - other[0]), abs(cell[1] - other[1])) >= MARKER_GAP for other in taken)
        if apart and _can_be_closed(cell, doors, towards):
            taken.append(cell)
        if len(taken) == count:
            return tuple(taken)
    return None


def _can_be_closed(start: Cell, doors: Sequence[Cell], towards: dict[Cell, Cell]) -> bool:
    """Return whether every door can be walled off a few cells away from it without touching the way from `start`.

    `towards` leads from any cell to the right exit.
    """
    way = {start}
    cell = start
    while cell in towards:
        cell = towards[cell]
        way.add(cell)
    for door in doors:
        cell = door
        for _ in range(STUB):
            if cell in way:
                return False
            cell = towards[cell]
    return True


def _nearer_exits(start: Cell, openings: Sequence[Exit], right: int) -> int:
    """Return how many exits are nearer to the start than the right one, as the crow flies."""
    away = [(opening.cell[0] - start[0]) ** 2 + (opening.cell[1] - start[1]) ** 2 for opening in openings]
    return sorted(range(len(openings)), key=away.__getitem__).index(right)


def _cuts(
    rng: np.random.Generator, tree: nx.Graph[Cell], start: Cell, openings: Sequence[Exit], right: int
) -> list[tuple[Cell, Cell]] | None:
    """Return a passage for every other exit whose closing shuts it off from the start; None if a region is small."""
    way = set(nx.shortest_path(tree, start, openings[right].cell))
    cuts = []
    for place, opening in enumerate(openings):
        if place == right:
            continue
        branch = nx.shortest_path(tree, opening.cell, start)
        off = next(index for index, cell in enumerate(branch) if cell in way)
        cut = int(rng.integers(STUB - 1, off))
        cuts.append((branch[cut], branch[cut + 1]))
    closed = tree.copy()
    closed.remove_edges_from(cuts)
    others = (opening.cell for place, opening in enumerate(openings) if place != right)
    if any(len(nx.node_connected_component(closed, cell)) < REGION for cell in others):
        return None
    return cuts


def walls(layout: Layout) -> Iterator[tuple[Cell, Cell]]:
    """Yield the walls inside the frame, as pairs of corners; corner (c, r) is the upper left one of cell (c, r)."""
    for column in range(layout.size):
        for row in range(layout.size):
            here = (column, row)
            if column + 1 < layout.size and (here, (column + 1, row)) not in layout.passages:
                yield (column + 1, row), (column + 1, row + 1)
            if row + 1 < layout.size and (here, (column, row + 1)) not in layout.passages:
                yield (column, row + 1), (column + 1, row + 1)
