"""Boards of coloured shapes and the rules by which a token moves over them.

What is in a square fixes the move from it: one attribute (colour or shape) gives the direction, the other the number of
squares. Twists change that on certain moves or from certain squares. Position and number of the move fix a move
completely, so that every walk has exactly one continuation.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

Square = tuple[int, int]
"""Column and row, both counted from 1; row 1 is at the top."""

Symbol = tuple[str, str]
"""Colour and shape."""

Attribute = Literal["colour", "shape"]
Effect = Literal["reverse", "further"]

COLOURS = ("blue", "green", "red", "yellow")
SHAPES = ("circle", "cross", "diamond", "star")

DIRECTIONS: Mapping[str, Square] = {"up": (0, -1), "down": (0, 1), "left": (-1, 0), "right": (1, 0)}
OPPOSITE: Mapping[str, str] = {"up": "down", "down": "up", "left": "right", "right": "left"}
DISTANCES = (1, 2, 3)
LONGEST = DISTANCES[-1] + 1
"""Squares of the longest move: the largest distance, one square further."""

PERIODS = (3, 4, 5)
"""How often a twist comes that depends on the number of the move."""

EFFECTS: Mapping[Effect, str] = {"reverse": "goes the opposite way", "further": "goes one square further"}


@dataclass(frozen=True, slots=True)
class Move:
    """A move in a straight line.

    Attributes
    ----------
    direction : str
        A key of :data:`DIRECTIONS`.
    squares : int
        How far; squares in between do not matter.
    """

    direction: str
    squares: int

    def __str__(self) -> str:
        return f"{self.direction} {self.squares}"

    def end(self, start: Square) -> Square:
        """Return where it ends, on the board or off it."""
        across, down = DIRECTIONS[self.direction]
        return start[0] + across * self.squares, start[1] + down * self.squares


@dataclass(frozen=True, slots=True)
class Twist:
    """An exception to the rules of the symbols.

    Attributes
    ----------
    effect : {"reverse", "further"}
    period : int or None
        The moves whose number it divides; None where shaded squares bring the twist.
    """

    effect: Effect
    period: int | None

    def acts(self, number: int, shaded: bool) -> bool:
        """Return whether it acts on a move: the number of the move, and whether it begins on a shaded square."""
        return shaded if self.period is None else number % self.period == 0

    def __str__(self) -> str:
        if self.period is None:
            return f"A move from a grey square {EFFECTS[self.effect]}."
        numbers = ", ".join(str(self.period * count) for count in (1, 2, 3))
        return f"Every {_ORDINALS[self.period]} move ({numbers}, …) {EFFECTS[self.effect]}."


_ORDINALS = {3: "third", 4: "fourth", 5: "fifth"}


@dataclass(frozen=True, slots=True)
class Rules:
    """How a token moves.

    Attributes
    ----------
    steer : {"colour", "shape"}
        The attribute that gives the direction; the other one gives the distance.
    directions : mapping of str to str
        From the four values of the one attribute.
    distances : mapping of str to int
        From three values of the other attribute, the only ones that the board has.
    twists : tuple of Twist
        At most one of each effect, so that their order does not matter.
    """

    steer: Attribute
    directions: Mapping[str, str]
    distances: Mapping[str, int]
    twists: tuple[Twist, ...] = ()

    @property
    def symbols(self) -> tuple[Symbol, ...]:
        """The symbols that the rules know."""
        if self.steer == "colour":
            return tuple((colour, shape) for colour in self.directions for shape in self.distances)
        return tuple((colour, shape) for colour in self.distances for shape in self.directions)

    def plain(self, symbol: Symbol) -> Move:
        """Return the move that a symbol stands for, without twists."""
        colour, shape = symbol
        steering, measuring = (colour, shape) if self.steer == "colour" else (shape, colour)
        return Move(self.directions[steering], self.distances[measuring])

    def move(self, symbol: Symbol, number: int, shaded: bool) -> Move:
        """Return the `number`-th move, which begins on a square with this symbol."""
        move = self.plain(symbol)
        for twist in self.twists:
            if twist.acts(number, shaded):
                if twist.effect == "reverse":
                    move = Move(OPPOSITE[move.direction], move.squares)
                else:
                    move = Move(move.direction, move.squares + 1)
        return move


def draw_rules(rng: np.random.Generator, twists: int, steps: int) -> Rules:
    """Draw rules for a walk of `steps` moves, 3 or more.

    Of two twists one turns a move and one lengthens it; one goes by the number of the move and one by the square.
    """
    steer: Attribute = "colour" if rng.random() < 0.5 else "shape"
    steering, measuring = (COLOURS, SHAPES) if steer == "colour" else (SHAPES, COLOURS)
    ways = [str(way) for way in rng.permutation(list(DIRECTIONS))]
    kinds = [str(kind) for kind in rng.permutation(list(measuring))[: len(DISTANCES)]]
    effects: list[Effect] = ["reverse", "further"]
    if rng.random() < 0.5:
        effects.reverse()
    periods: list[int | None] = [int(rng.choice([period for period in PERIODS if period <= steps])), None]
    if rng.random() < 0.5:
        periods.reverse()
    return Rules(
        steer,
        dict(zip(steering, ways, strict=True)),
        dict(zip(kinds, DISTANCES, strict=True)),
        tuple(Twist(effect, period) for effect, period in list(zip(effects, periods, strict=True))[:twists]),
    )
