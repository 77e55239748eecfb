"""Generator of the task Multistep Reasoning (CADET, arXiv:2609.38851, Tables 2 to 4).

The paper's pictures and questions are not released; these are made afresh for the same graph.

What it measures
    A token walks over a board by rules that stand beside it. X1 (perception) says where it is just before a move, X2
    (cognition) what that move is, and the two alternate: X2 at step t depends on X1 at step t, X1 at step t on X2 at
    step t - 1. Nobody says beforehand where the walk ends; Y names the square where it stops and counts the moves.
How the truth is known
    What is in a square and the number of the move fix the move, so a walk has one continuation and one end. Boards are
    drawn along a walk, and kept only if the walk visits no square twice, every exception of the rule card changes it,
    and overlooking an exception leads to another end.
What is drawn for state 1
    X1: a box around the square. X2: the arrow of the move, beside the symbols, and a box around the square where it
    begins. A long history is many boxes and arrows.
Limits
    * X1 at step 1 has no prerequisite, so that it has NC alone.
    * With ``--history last`` X1 is given the last move alone. In state 1 the picture shows where that move began; in
      the states 0 and 1t nothing does, and a model has to find it out by itself.
    * A whole history in words gives X1 away: it is the last position moved by the last move, which needs no picture.
    * The number of injected entries tells Y how many moves there are.
    * X2 and Y are texts: a reply that has neither the reference's words nor the incorrect answer's needs a judge.
Licence
    Everything is drawn by this program; the pictures are free of others' rights.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np

from dodiag.benchmarks.cadet.board_picture import HEIGHT, WIDTH, Layout, draw_board, require_pillow
from dodiag.benchmarks.cadet.board_rules import Move, Square
from dodiag.benchmarks.cadet.board_walk import LARGEST, Board, Walk, draw_walk, size_for
from dodiag.benchmarks.generators import Drawn
from dodiag.problems import UsageError
from dodiag.scm.files import load_task
from dodiag.scm.graph import TaskGraph
from dodiag.scm.pack import Annotation, Instance, Question

SLUG = "multistep_reasoning"

VERSION = "1"
"""Of this generator; raised whenever the same seed gives another pack."""

INSTANCES = 128
"""Of the paper."""

PAPER_STEPS = 3350 / 128
"""Moves of a walk on average, as in the paper: 3,350 questions of X1 and of X2 on 128 instances."""

GOLDEN = (math.sqrt(5) - 1) / 2
"""Fraction by which the quantile of a walk's length moves from instance to instance: equal shares in any stretch."""

INTRODUCTION = "By the rules shown,"
"""Short, like all questions here: a late step is given a hundred of them."""


@dataclass(frozen=True, slots=True)
class Knobs:
    """How difficult the boards are; the defaults give the paper's counts.

    Attributes
    ----------
    mean_steps : float
        Moves of a walk on average; between `min_steps` and `max_steps`, not at either.
    min_steps, max_steps : int
        Of a walk; 3 to 80.
    named : int
        Squares with a name, at one of which the walk ends; 2 to 12.
    twists : int
        Exceptions on the rule card, such as "every fourth move goes the opposite way"; 0 to 2.
    room : float
        Squares of the board for each one that the walk or a name needs, at least; 1.5 to 6. Boards have at most 15
        columns, so that long walks may get less.
    board_in_text : bool
        Whether every question also tells the rules and the whole board in words, for models that see no pictures. It
        makes each question about 2,500 characters longer, and each injected one too.

    Raises
    ------
    UsageError
        If a knob is outside its range.
    """

    mean_steps: float = PAPER_STEPS
    min_steps: int = 6
    max_steps: int = 72
    named: int = 6
    twists: int = 1
    room: float = 2.4
    board_in_text: bool = False

    def __post_init__(self) -> None:
        for name, low, high in (
            ("min_steps", 3, 80),
            ("max_steps", 3, 80),
            ("named", 2, 12),
            ("twists", 0, 2),
            ("room", 1.5, 6),
        ):
            value = getattr(self, name)
            if not low <= value <= high:
                raise UsageError(f"the knob {name} is {value}", f"Use {low} to {high}.")
        if not self.min_steps < self.mean_steps < self.max_steps:
            cure = f"Use a number between min_steps ({self.min_steps}) and max_steps ({self.max_steps})."
            raise UsageError(f"the knob mean_steps is {self.mean_steps}", cure)


def prepare() -> None:
    """Check that pictures can be drawn.

    Raises
    ------
    MissingDependency
        If Pillow cannot write text.
    """
    require_pillow()


def task(seed: int = 0, knobs: Knobs = Knobs()) -> TaskGraph:
    """Return the shipped graph with the range of positions and the seed of incorrect answers."""
    graph = load_task(SLUG)
    units = dict(graph.units)
    answer = units["X1"].answer.model_copy(update={"min": 1, "max": LARGEST, "length": 2})
    units["X1"] = units["X1"].model_copy(update={"answer": answer})
    return replace(graph, units=units, seed=seed)


def draw(seed: int, index: int, knobs: Knobs = Knobs()) -> Drawn:
    """Return one instance and its picture; it depends on nothing but the arguments.

    Raises
    ------
    MissingDependency
        If Pillow cannot write text.
    """
    require_pillow()
    rng = np.random.default_rng((seed, index))
    steps = walk_length(seed, index, knobs)
    size = min(size_for(steps, knobs.named, knobs.room) + int(rng.integers(3)), LARGEST)
    walk = draw_walk(rng, steps, knobs.named, knobs.twists, size)
    introduction = f"{in_words(walk.board)} By these rules," if knobs.board_in_text else INTRODUCTION
    medium = f"media/{index:04d}.png"
    instance = Instance(
        id=f"{SLUG}-s{seed}-{index:04d}",
        media=(medium,),
        questions=tuple(_questions(walk, rng, introduction)),
        meta=_facts(walk),
    )
    return instance, {medium: draw_board(walk.board)}


def walk_length(seed: int, index: int, knobs: Knobs = Knobs()) -> int:
    """Return the number of moves of an instance.

    The law is geometric between `min_steps` and `max_steps`: many short walks and a long tail. Quantiles are spread
    evenly over the instances of a seed, so that their sum is near its expectation.
    """
    shift = float(np.random.default_rng(seed).random())
    quantile = (shift + index * GOLDEN) % 1.0
    reached = 0.0
    for steps, share in _length_law(knobs.mean_steps, knobs.min_steps, knobs.max_steps).items():
        reached += share
        if quantile < reached:
            return steps
    return knobs.max_steps


@lru_cache(maxsize=16)
def _length_law(mean: float, low: int, high: int) -> Mapping[int, float]:
    """Return the shares of the lengths; the ratio of the geometric law is the one that gives the mean."""
    from scipy.optimize import brentq

    lengths = np.arange(low, high + 1)

    def shares(slope: float) -> np.ndarray[Any, np.dtype[np.float64]]:
        weights = np.exp(slope * (lengths - (high if slope > 0 else low)))
        return np.asarray(weights / weights.sum())

    slope = float(brentq(lambda trial: float(shares(trial) @ lengths) - mean, -60.0, 60.0, xtol=1e-12))
    return dict(zip(lengths.tolist(), shares(slope).tolist(), strict=True))


def _questions(walk: Walk, rng: np.random.Generator, introduction: str) -> Iterator[Question]:
    """Yield the questions of one walk: where it is and what it does, step by step, and where it ends."""
    board = walk.board
    layout = Layout(board.size)
    for step, (square, move) in enumerate(zip(walk.squares, walk.moves, strict=False), start=1):
        yield Question(
            id=f"X1-{step}",
            unit="X1",
            step=step,
            text=f"{introduction} where is the token just before move {step}? Give its column, then its row.",
            answer=list(square),
            incorrect=list(_other_square(square, board.size, rng)),
            annotations=(Annotation(box=layout.box(square)),),
        )
        yield Question(
            id=f"X2-{step}",
            unit="X2",
            step=step,
            text=(
                f"{introduction} what is the token's move {step}? Give its direction (up, down, left or right), then "
                "its number of squares."
            ),
            answer=str(move),
            incorrect=str(_other_move(walk, step, rng)),
            annotations=(Annotation(path=layout.arrow(square, move.end(square))), Annotation(box=layout.box(square))),
        )
    yield Question(
        id="Y",
        unit="Y",
        text=(
            f"{introduction} at which name does the token stop, and after how many moves? Give the name, then the "
            "number of moves."
        ),
        answer=f"{walk.end} {len(walk.moves)}",
        incorrect=_other_ending(walk, rng),
        annotations=(Annotation(box=layout.box(walk.squares[-1]), label=walk.end),),
    )


def _other_square(square: Square, size: int, rng: np.random.Generator) -> Square:
    """Return a square of the same column or row, at most two away."""
    near = [(square[0] + shift, square[1]) for shift in (-2, -1, 1, 2)]
    near += [(square[0], square[1] + shift) for shift in (-2, -1, 1, 2)]
    valid = [(x, y) for x, y in near if 1 <= x <= size and 1 <= y <= size]
    return valid[int(rng.integers(len(valid)))]


def _other_move(walk: Walk, step: int, rng: np.random.Generator) -> Move:
    """Return the move that another symbol would make there; it stays on the board, as right ones do."""
    board, here, right = walk.board, walk.squares[step - 1], walk.moves[step - 1]
    others = [board.rules.move(symbol, step, here in board.shaded) for symbol in board.rules.symbols]
    wrong = [move for move in others if move != right]
    wrong = [move for move in wrong if board.has(move.end(here))] or wrong
    return wrong[int(rng.integers(len(wrong)))]


def _other_ending(walk: Walk, rng: np.random.Generator) -> str:
    """Return another name of the board and a number of moves near the true one."""
    names = sorted(set(walk.board.names.values()) - {walk.end})
    moves = max(1, len(walk.moves) + int(rng.integers(-2, 3)))
    return f"{names[int(rng.integers(len(names)))]} {moves}"


def in_words(board: Board) -> str:
    """Return the rules and the whole board in words."""
    rules = board.rules
    keys = [f"{value}: {way}" for value, way in rules.directions.items()]
    keys += [f"{value}: {count} square{'s' if count > 1 else ''}" for value, count in rules.distances.items()]
    lines = [
        f"A token moves over a board of {board.size} columns and {board.size} rows; row 1 is at the top.",
        f"It starts in column {board.start[0]}, row {board.start[1]}.",
        f"What is in its square says how it moves ({'; '.join(keys)}).",
        "What lies between does not matter.",
        *(str(twist) for twist in rules.twists),
        "It stops when it comes to a square with a name.",
    ]
    rows = [
        f"Row {row}: " + ", ".join(_square_in_words(board, (column, row)) for column in range(1, board.size + 1)) + "."
        for row in range(1, board.size + 1)
    ]
    return " ".join([*lines, "The rows from left to right:", *rows])


def _square_in_words(board: Board, square: Square) -> str:
    content = f"the name {board.names[square]}" if square in board.names else " ".join(board.symbols[square])
    return f"{content} (grey)" if square in board.shaded else content


def _facts(walk: Walk) -> dict[str, Any]:
    """Return the state of the board, from which every answer follows."""
    board = walk.board
    rules = board.rules
    across = range(1, board.size + 1)
    return {
        "generator": f"{SLUG} {VERSION}",
        "size": board.size,
        "start": list(board.start),
        "rows": [
            [board.names.get((column, row)) or " ".join(board.symbols[column, row]) for column in across]
            for row in across
        ],
        "grey": [list(square) for square in sorted(board.shaded)],
        "rules": {
            "steer": rules.steer,
            "directions": dict(rules.directions),
            "distances": dict(rules.distances),
            "twists": [{"effect": twist.effect, "period": twist.period} for twist in rules.twists],
        },
        "moves": len(walk.moves),
        "picture": [WIDTH, HEIGHT],
        "rejected": dict(walk.rejected),
    }
