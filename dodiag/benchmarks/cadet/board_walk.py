"""Boards on which a token has one long walk that ends on a named square."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from dodiag.benchmarks.cadet.board_rules import Move, Rules, Square, Symbol, draw_rules
from dodiag.problems import DodiagError

SMALLEST, LARGEST = 7, 15
"""Columns of a board, which has as many rows."""

SHADED_SHARE = 0.3
"""Of the squares, where shading matters."""

MAX_TRIES = 500

NAMES = (
    *("Bell", "Bird", "Boat", "Cake", "Coin", "Crab", "Deer", "Desk", "Door", "Drum", "Duck", "Fish", "Frog", "Gate"),
    *("Goat", "Harp", "Hill", "Iron", "Jade", "Kite", "Lake", "Lamp", "Leaf", "Lion", "Mask", "Moon", "Nest", "Oak"),
    *("Owl", "Pear", "Pine", "Pond", "Rice", "Road", "Rope", "Salt", "Ship", "Snow", "Sofa", "Swan", "Tent", "Tree"),
    *("Vase", "Wolf", "Yard", "Zoo"),
)
"""Words for named squares, short enough to be printed large."""


class NoBoard(DodiagError):
    """No acceptable board was found."""


@dataclass(frozen=True, slots=True)
class Board:
    """A square board: every square has a symbol or a name.

    Attributes
    ----------
    size : int
        Columns, and rows.
    symbols : mapping of Square to Symbol
    names : mapping of Square to str
        Squares without a symbol; a token that comes to one stops.
    shaded : frozenset of Square
    start : Square
    rules : Rules
    """

    size: int
    symbols: Mapping[Square, Symbol]
    names: Mapping[Square, str]
    shaded: frozenset[Square]
    start: Square
    rules: Rules

    def has(self, square: Square) -> bool:
        """Return whether a square is on the board."""
        return on_board(square, self.size)


@dataclass(frozen=True, slots=True)
class Walk:
    """What a token does on its board.

    Attributes
    ----------
    board : Board
    squares : tuple of Square, length T + 1
        Where it stands before each move, and where it stops; none stands twice.
    moves : tuple of Move, length T
    rejected : mapping of str to int
        Boards that were given up before this one, by reason.
    """

    board: Board
    squares: tuple[Square, ...]
    moves: tuple[Move, ...]
    rejected: Mapping[str, int]

    @property
    def end(self) -> str:
        """The name of the square where it stops."""
        return self.board.names[self.squares[-1]]


def on_board(square: Square, size: int) -> bool:
    """Return whether a square is on a board of this size."""
    return 1 <= square[0] <= size and 1 <= square[1] <= size


def size_for(steps: int, named: int, spare: float) -> int:
    """Return the columns of the smallest board on which a walk uses at most one square in `spare`."""
    squares = spare * (steps + named + 1)
    return min(max(SMALLEST, int(np.ceil(np.sqrt(squares)))), LARGEST)


def draw_walk(rng: np.random.Generator, steps: int, named: int, twists: int, size: int) -> Walk:
    """Draw rules and boards until a walk of exactly `steps` moves is acceptable.

    Rejected are walks that come to a dead end (no symbol leads to a free square), walks on which a twist never acts,
    and walks whose ending is the same without a twist: who overlooks the twist must not be right.

    Parameters
    ----------
    rng : numpy.random.Generator
        The only source of chance.
    steps, named, twists, size : int
        Moves; squares with a name; exceptions to the rules; columns and rows.

    Raises
    ------
    NoBoard
        If none was accepted; it has not been seen to happen within the knobs' ranges.
    """
    rejected = {"dead end": 0, "idle twist": 0, "same ending": 0}
    for _ in range(MAX_TRIES):
        rules = draw_rules(rng, twists, steps)
        shades = any(twist.period is None for twist in rules.twists)
        grid = [(column, row) for column in range(1, size + 1) for row in range(1, size + 1)]
        shaded = frozenset(square for square in grid if shades and rng.random() < SHADED_SHARE)
        path = _path(rng, rules, shaded, size, steps)
        if path is None:
            rejected["dead end"] += 1
            continue
        squares, symbols, moves = path
        if not all(_acts(rules, index, squares, shaded) for index in range(len(rules.twists))):
            rejected["idle twist"] += 1
            continue
        free = [square for square in grid if square not in squares]
        ends = [squares[-1], *(free[int(place)] for place in rng.permutation(len(free))[: named - 1])]
        names = dict(zip(ends, draw_names(rng, named), strict=True))
        for square in grid:
            if square not in symbols and square not in names:
                symbols[square] = _legal(rng, rules, square, size)
        board = Board(
            size, {square: symbols[square] for square in grid if square in symbols}, names, shaded, squares[0], rules
        )
        walk = Walk(board, squares, moves, dict(rejected))
        if any(_ending(_without(board, index), steps) == (squares[-1], steps) for index in range(len(rules.twists))):
            rejected["same ending"] += 1
            continue
        return walk
    raise NoBoard(f"{MAX_TRIES} boards of {size} columns gave no walk of {steps} moves")


def draw_names(rng: np.random.Generator, count: int) -> list[str]:
    """Draw names of which no two differ in a single letter, so that none is a misreading of another."""
    found: list[str] = []
    for index in rng.permutation(len(NAMES)):
        name = NAMES[int(index)]
        if all(len(name) != len(other) or _differing(name, other) > 1 for other in found):
            found.append(name)
        if len(found) == count:
            return found
    raise NoBoard(f"there are not {count} names that differ enough")


def _differing(first: str, second: str) -> int:
    return sum(a != b for a, b in zip(first.lower(), second.lower(), strict=True))


def _path(
    rng: np.random.Generator, rules: Rules, shaded: frozenset[Square], size: int, steps: int
) -> tuple[tuple[Square, ...], dict[Square, Symbol], tuple[Move, ...]] | None:
    """Return the squares, their symbols and the moves of a walk that never returns to a square; None at a dead end."""
    here = (int(rng.integers(1, size + 1)), int(rng.integers(1, size + 1)))
    squares, symbols, moves = [here], {}, []
    for number in range(1, steps + 1):
        options = [
            (symbol, move)
            for symbol in rules.symbols
            if on_board((move := rules.move(symbol, number, here in shaded)).end(here), size)
            and move.end(here) not in squares
        ]
        if not options:
            return None
        symbols[here], move = options[int(rng.integers(len(options)))]
        here = move.end(here)
        squares.append(here)
        moves.append(move)
    return tuple(squares), symbols, tuple(moves)


def _acts(rules: Rules, index: int, squares: tuple[Square, ...], shaded: frozenset[Square]) -> bool:
    twist = rules.twists[index]
    return any(twist.acts(number, square in shaded) for number, square in enumerate(squares[:-1], start=1))


def _legal(rng: np.random.Generator, rules: Rules, square: Square, size: int) -> Symbol:
    """Draw a symbol whose plain move stays on the board: squares off the walk look like those on it."""
    symbols = [symbol for symbol in rules.symbols if on_board(rules.plain(symbol).end(square), size)]
    return symbols[int(rng.integers(len(symbols)))]


def _without(board: Board, index: int) -> Board:
    twists = board.rules.twists
    return replace(board, rules=replace(board.rules, twists=twists[:index] + twists[index + 1 :]))


def _ending(board: Board, most: int) -> tuple[Square, int]:
    """Return where a token is after at most so many moves, and after how many it is there."""
    here = board.start
    for number in range(1, most + 1):
        if here in board.names or not board.has(here):
            return here, number - 1
        here = board.rules.move(board.symbols[here], number, here in board.shaded).end(here)
    return here, most
