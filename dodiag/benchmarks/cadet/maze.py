"""Generator of the task Maze (CADET, arXiv:2609.38851, Tables 2 to 4).

The paper's mazes and questions are not released; these are made afresh for the same graph.

What it measures
    X1 finds the symbol that the way starts at, among other symbols. Y says which of the lettered exits can be reached
    from there, and is asked at every step of a chain: the way is parted into ten pieces, and step t is asked from the
    end of piece t - 1. All steps ask the same question.
How the truth is known
    A maze is a tree of passages, so there is one way between any two cells. Every exit but one is shut off by a wall
    somewhere on its branch; the way from the start to the right exit is the only way out.
What is drawn for state 1
    X1: a box around the cell of the start. Y, step t: the piece of the way that leads to waypoint t, and a ring around
    that waypoint. A model that is asked step t sees the way up to waypoint t - 1, where its arrow ends. The textual
    answers are withheld (the chain's ``withhold_answers``), for they would be the answer that is asked for.
Limits
    * Without injection all ten steps of an instance are the same prompt; their answers are draws of one question.
    * Step 10 under state 1 is nine tenths solved by the drawing. That is the task's design.
    * Walls have one thickness and mazes are square; no loops, so that following one wall always works.
"""

from __future__ import annotations

import string
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from itertools import pairwise
from typing import Any

import numpy as np

from dodiag.benchmarks.cadet.maze_layout import Cell, Layout, lay_out, waypoints
from dodiag.benchmarks.cadet.maze_picture import (
    COLOURS,
    MARGIN,
    SHAPES,
    THEMES,
    Symbol,
    box_of,
    cell_size,
    centre,
    doorway,
    paint,
)
from dodiag.benchmarks.cadet.sketch import Pixel, require_fonts
from dodiag.benchmarks.generators import Drawn
from dodiag.problems import UsageError
from dodiag.scm.files import load_task
from dodiag.scm.graph import TaskGraph
from dodiag.scm.pack import Annotation, Instance, Question

VERSION = "1"
"""Of this generator; raised whenever the same seed gives another pack."""

INSTANCES = 80
"""As many as the paper has."""

RANGES = {"size": (8, 40), "exits": (2, 12), "steps": (2, 20), "decoys": (1, 7), "shortest": (4, 400)}
"""Of the knobs, both ends included."""


@dataclass(frozen=True, slots=True)
class Knobs:
    """How hard a maze is.

    Parameters
    ----------
    size : int
        Cells along each side, 8 to 40; more cells are smaller, for the picture stays as large.
    exits : int
        Lettered exits, 2 to 12, the options of Y.
    steps : int
        Steps of the chain, 2 to 20.
    decoys : int
        Symbols beside that of the start, 1 to 7; X1 has one option more.
    shortest : int
        Least length of the way in cells, twice `steps` to 400.

    Raises
    ------
    UsageError
        If a knob is out of its range.
    """

    size: int = 15
    exits: int = 6
    steps: int = 10
    decoys: int = 3
    shortest: int = 30

    def __post_init__(self) -> None:
        for name in (field.name for field in fields(self)):
            value, (low, high) = getattr(self, name), RANGES[name]
            if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
                raise UsageError(f"the knob {name} of maze cannot be {value!r}", f"Use an integer of {low} to {high}.")
        if self.shortest < 2 * self.steps:
            raise UsageError(
                f"the knob shortest of maze cannot be {self.shortest} with {self.steps} steps",
                f"Use {2 * self.steps} or more, so that every step is two cells at least.",
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
    """Return the shipped graph with the number of steps and the seed of the incorrect answers."""
    shipped = load_task("maze")
    chains = tuple(chain.model_copy(update={"steps": knobs.steps}) for chain in shipped.chains)
    return replace(shipped, chains=chains, seed=seed)


def draw(seed: int, index: int, knobs: Knobs = Knobs()) -> Drawn:
    """Return one instance and its picture; they depend on nothing but the arguments.

    Raises
    ------
    DodiagError
        If no maze of these knobs was accepted.
    """
    rng = np.random.default_rng((seed, index))
    layout = lay_out(rng, knobs.size, knobs.exits, knobs.decoys, knobs.shortest)
    symbols = _symbols(rng, len(layout.markers), layout.start)
    theme = str(rng.choice(list(THEMES)))
    medium = f"media/{index:04d}.png"
    instance = Instance(
        id=f"maze-s{seed}-{index:04d}",
        media=(medium,),
        questions=tuple(_questions(rng, layout, symbols, knobs.steps)),
        meta=_facts(layout, symbols, theme),
    )
    return instance, {medium: paint(layout, symbols, theme)}


def _symbols(rng: np.random.Generator, count: int, start: int) -> tuple[Symbol, ...]:
    """Return a symbol for each marker: two decoys share the start's shape or its colour, and no two are alike."""
    shape, colour = str(rng.choice(SHAPES)), str(rng.choice(list(COLOURS)))
    alike = [Symbol(shape, other) for other in COLOURS if other != colour]
    tinted = [Symbol(other, colour) for other in SHAPES if other != shape]
    near = [alike[int(rng.integers(len(alike)))], tinted[int(rng.integers(len(tinted)))]]
    rest = [symbol for symbol in (*alike, *tinted) if symbol not in near]
    decoys = [*near, *(rest[int(place)] for place in rng.permutation(len(rest)))][: count - 1]
    shuffled = [decoys[int(place)] for place in rng.permutation(len(decoys))]
    return (*shuffled[:start], Symbol(shape, colour), *shuffled[start:])


def _questions(rng: np.random.Generator, layout: Layout, symbols: Sequence[Symbol], steps: int) -> Iterator[Question]:
    name, cell = symbols[layout.start].name, layout.markers[layout.start]
    order = [int(place) for place in rng.permutation(len(layout.markers))]
    yield Question(
        id="X1",
        unit="X1",
        text=(
            f"In which cell of the maze is the {name}? Rows are numbered from top to bottom and columns from left to "
            "right; the numbers stand along the edges of the picture."
        ),
        choices=tuple(_cell_name(layout.markers[place]) for place in order),
        answer=string.ascii_uppercase[order.index(layout.start)],
        annotations=(Annotation(box=box_of(cell, layout.size)),),
    )
    letters = string.ascii_uppercase[: len(layout.exits)]
    marks = waypoints(len(layout.path) - 1, steps)
    for step, (begin, end) in enumerate(pairwise(marks), start=1):
        piece = [centre(each, layout.size) for each in layout.path[begin : end + 1]]
        if step == steps:
            piece.append(doorway(layout.exits[layout.right], layout.size))
        yield Question(
            id=f"Y-{step:02d}",
            unit="Y",
            text=(
                f"Someone stands at the {name} and walks along the corridors of the maze, never through a wall. "
                "Symbols are no obstacles. Which of the lettered exits can be reached?"
            ),
            choices=tuple(letters),
            answer=letters[layout.right],
            step=step,
            annotations=(Annotation(path=_bends(piece)), Annotation(point=piece[-1])),
        )


def _cell_name(cell: Cell) -> str:
    return f"row {cell[1] + 1}, column {cell[0] + 1}"


def _bends(points: Sequence[Pixel]) -> tuple[Pixel, ...]:
    """Return a line without the points that it passes straight through."""
    kept = [points[0]]
    for before, here, after in zip(points, points[1:], points[2:], strict=False):
        cross = (here[0] - before[0]) * (after[1] - here[1]) - (here[1] - before[1]) * (after[0] - here[0])
        if abs(cross) > 1e-9:
            kept.append(here)
    return (*kept, points[-1])


def _facts(layout: Layout, symbols: Sequence[Symbol], theme: str) -> dict[str, Any]:
    return {
        "generator": f"maze {VERSION}",
        "size": layout.size,
        "cell": cell_size(layout.size),
        "margin": MARGIN,
        "theme": theme,
        "passages": _passage_rows(layout),
        "exits": [
            {"letter": letter, "cell": list(opening.cell), "side": opening.side}
            for letter, opening in zip(string.ascii_uppercase, layout.exits, strict=False)
        ],
        "symbols": [
            {"name": symbol.name, "cell": list(cell)} for symbol, cell in zip(symbols, layout.markers, strict=True)
        ],
        "start": symbols[layout.start].name,
        "moves": len(layout.path) - 1,
        "rejected": layout.rejected,
    }


def _passage_rows(layout: Layout) -> list[str]:
    """Return a letter for each cell, row by row: passage to the east (e), to the south (s), both (b), neither (-)."""
    rows = []
    for row in range(layout.size):
        marks = ""
        for column in range(layout.size):
            east = ((column, row), (column + 1, row)) in layout.passages
            south = ((column, row), (column, row + 1)) in layout.passages
            marks += "b" if east and south else "e" if east else "s" if south else "-"
        rows.append(marks)
    return rows
