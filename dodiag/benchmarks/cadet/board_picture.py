"""Pictures of boards with their rule card, drawn with Pillow.

Text uses the font that comes with Pillow, so that no system font is needed.
"""

from __future__ import annotations

import io
import math
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from dodiag.benchmarks.cadet.board_rules import Square
from dodiag.benchmarks.cadet.board_walk import Board
from dodiag.problems import MissingDependency

if TYPE_CHECKING:
    from PIL import Image, ImageDraw, ImageFont

Pixel = tuple[float, float]

BOARD = 648
"""Pixels that the squares take up across and down, at most."""
LEFT, TOP = 48, 56
"""Pixels left of and above the first square, for the numbers of rows and columns."""
MARGIN = 24
CARD = 308
"""Width of the rule card, right of the board."""
WIDTH, HEIGHT = LEFT + BOARD + MARGIN + CARD + MARGIN, TOP + BOARD + MARGIN
SCALE = 2
"""Everything is drawn so many times larger and then reduced, which smooths the edges."""
PALETTE_COLOURS = 64

INK, PAPER, GREY, LINE = "#111111", "#ffffff", "#c3c7cc", "#70757a"
PAINT = {"blue": "#1f5fd6", "green": "#1e9e4a", "red": "#d62728", "yellow": "#f7c600"}
SHAPE_RADIUS = 0.28
"""Of a symbol, in squares."""
LANE = 0.4
"""Between the line through the middles of two squares and the arrow of a move, in squares: arrows keep to the right of
their direction, so that they cover neither symbols nor names nor the arrow of a move the other way."""
ARROW_GAP = 0.15
"""By which an arrow is shorter than its move at either end, in squares."""


@dataclass(frozen=True, slots=True)
class Layout:
    """Where the squares of a board are in its picture, in pixels.

    Attributes
    ----------
    size : int
        Columns, and rows.
    """

    size: int

    @property
    def edge(self) -> int:
        """Of a square."""
        return BOARD // self.size

    def box(self, square: Square) -> tuple[float, float, float, float]:
        """Return left, top, right, bottom of a square."""
        left, top = LEFT + (square[0] - 1) * self.edge, TOP + (square[1] - 1) * self.edge
        return left, top, left + self.edge, top + self.edge

    def middle(self, square: Square) -> Pixel:
        """Return the middle of a square."""
        left, top, right, bottom = self.box(square)
        return (left + right) / 2, (top + bottom) / 2

    def arrow(self, start: Square, end: Square) -> tuple[Pixel, Pixel]:
        """Return the ends of the arrow of a move from one square to another in the same column or row."""
        (x, y), (u, v) = self.middle(start), self.middle(end)
        across, down = float(np.sign(u - x)), float(np.sign(v - y))
        aside = -down * LANE * self.edge, across * LANE * self.edge
        along = across * ARROW_GAP * self.edge, down * ARROW_GAP * self.edge
        return (
            (round(x + aside[0] + along[0], 1), round(y + aside[1] + along[1], 1)),
            (round(u + aside[0] - along[0], 1), round(v + aside[1] - along[1], 1)),
        )


def require_pillow() -> None:
    """Raise MissingDependency unless Pillow can draw text in any size."""
    from PIL import features

    if not features.check("freetype2"):
        cure = "Install a Pillow wheel from PyPI: pip install --force-reinstall --only-binary pillow pillow"
        raise MissingDependency("this Pillow was built without FreeType, so it cannot write in pictures", cure)


def draw_board(board: Board) -> bytes:
    """Return the picture of a board and its rule card, as PNG of WIDTH x HEIGHT pixels."""
    from PIL import Image

    image = Image.new("RGB", (WIDTH * SCALE, HEIGHT * SCALE), PAPER)
    pen = _Pen(image)
    _draw_squares(pen, board)
    _draw_card(pen, board)
    small = image.resize((WIDTH, HEIGHT), Image.Resampling.BOX)
    buffer = io.BytesIO()
    small.quantize(PALETTE_COLOURS, Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE).save(buffer, "PNG")
    return buffer.getvalue()


class _Pen:
    """Draws in the picture's own pixels on the enlarged canvas."""

    def __init__(self, image: Image.Image) -> None:
        from PIL import ImageDraw

        self.canvas: ImageDraw.ImageDraw = ImageDraw.Draw(image)

    def rectangle(self, box: tuple[float, float, float, float], fill: str | None, line: str | None, width: int) -> None:
        corners = [entry * SCALE for entry in box]
        self.canvas.rectangle(corners, fill=fill, outline=line, width=width * SCALE)

    def text(self, at: Pixel, text: str, size: int, anchor: str = "mm", bold: bool = False) -> None:
        place = at[0] * SCALE, at[1] * SCALE
        self.canvas.text(place, text, INK, _font(size * SCALE), anchor, stroke_width=int(bold), stroke_fill=INK)

    def width(self, text: str, size: int) -> float:
        return float(_font(size * SCALE).getlength(text)) / SCALE

    def symbol(self, shape: str, fill: str, middle: Pixel, radius: float) -> None:
        points = [((middle[0] + radius * x) * SCALE, (middle[1] + radius * y) * SCALE) for x, y in _OUTLINES[shape]]
        self.canvas.polygon(points, fill=fill, outline=INK, width=2 * SCALE)


@lru_cache(maxsize=32)
def _font(size: int) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    from PIL import ImageFont

    return ImageFont.load_default(size)


def _circle() -> tuple[Pixel, ...]:
    return tuple((math.sin(math.tau * i / 72), -math.cos(math.tau * i / 72)) for i in range(72))


def _star() -> tuple[Pixel, ...]:
    turns = [(math.tau * i / 10, 1.22 if i % 2 == 0 else 0.5) for i in range(10)]
    return tuple((reach * math.sin(angle), -reach * math.cos(angle) + 0.08) for angle, reach in turns)


def _cross(thick: float = 0.36) -> tuple[Pixel, ...]:
    a, b = thick, 1.05
    return (
        *((-a, -b), (a, -b), (a, -a), (b, -a), (b, a), (a, a)),
        *((a, b), (-a, b), (-a, a), (-b, a), (-b, -a), (-a, -a)),
    )


_OUTLINES = {
    "circle": _circle(),
    "cross": _cross(),
    "diamond": ((0.0, -1.18), (1.18, 0.0), (0.0, 1.18), (-1.18, 0.0)),
    "star": _star(),
}


def _draw_squares(pen: _Pen, board: Board) -> None:
    layout = Layout(board.size)
    edge = layout.edge
    number = 17 if edge >= 50 else 15
    for index in range(1, board.size + 1):
        pen.text((layout.middle((index, 1))[0], TOP - 14), str(index), number)
        pen.text((LEFT - 16, layout.middle((1, index))[1]), str(index), number)
    pen.text((LEFT + edge * board.size / 2, TOP - 40), "column", 16)
    pen.text((LEFT - 38, TOP - 14), "row", 16, "lm")
    for column in range(1, board.size + 1):
        for row in range(1, board.size + 1):
            square = column, row
            fill = GREY if square in board.shaded else PAPER
            pen.rectangle(layout.box(square), fill, LINE, 1)
            if square in board.names:
                name = board.names[square]
                size = next(s for s in range(24, 7, -1) if pen.width(name, s) <= edge - 12 or s == 8)
                pen.text(layout.middle(square), name, size)
            else:
                colour, shape = board.symbols[square]
                pen.symbol(shape, PAINT[colour], layout.middle(square), SHAPE_RADIUS * edge)
    whole = edge * board.size
    pen.rectangle((LEFT - 1, TOP - 1, LEFT + whole + 1, TOP + whole + 1), None, LINE, 2)
    _draw_start(pen, layout.box(board.start), 4)


def _draw_start(pen: _Pen, box: tuple[float, float, float, float], width: int) -> None:
    left, top, right, bottom = box
    pen.rectangle((left + 2, top + 2, right - 2, bottom - 2), None, INK, width)


TEXT, HEADING, ROW = 16, 20, 34
"""Sizes of the card's writing, and the height of a line with a symbol."""


def _draw_card(pen: _Pen, board: Board) -> None:
    rules = board.rules
    left, right = LEFT + BOARD + MARGIN, WIDTH - MARGIN
    x, y = left + 18.0, TOP + 26.0
    pen.text((x, y), "Rules", HEADING, "lm", bold=True)
    y += 36
    _draw_start(pen, (x, y - 13, x + 26, y + 13), 3)
    pen.text((x + 40, y), "The token starts here.", TEXT, "lm")
    y += 32
    y = _write(pen, x, y, "What is in its square says how it moves.", right)
    y += 12
    for value, what in [*rules.directions.items(), *((v, _squares(d)) for v, d in rules.distances.items())]:
        _draw_key(pen, value, (x + 14, y))
        pen.text((x + 40, y), f"{value}: {what}", TEXT, "lm")
        y += ROW
    y += 4
    lines = [
        "What lies between does not matter.",
        *(str(twist) for twist in rules.twists),
        "The token stops when it comes to a square with a name.",
    ]
    for line in lines:
        y = _write(pen, x, y, line, right) + 8
    pen.rectangle((left, TOP, right, y + 4), None, LINE, 2)


def _squares(count: int) -> str:
    return "1 square" if count == 1 else f"{count} squares"


def _draw_key(pen: _Pen, value: str, middle: Pixel) -> None:
    """Draw what a line of the card is about: a patch of a colour, or a shape without colour."""
    if value in PAINT:
        x, y = middle
        pen.rectangle((x - 14, y - 11, x + 14, y + 11), PAINT[value], INK, 1)
    else:
        pen.symbol(value, PAPER, middle, 12)


def _write(pen: _Pen, x: float, y: float, text: str, right: float) -> float:
    """Write text in lines that end before `right`; return where the next line goes."""
    line = ""
    for word in [*text.split(), ""]:
        longer = f"{line} {word}".strip()
        if word and pen.width(longer, TEXT) <= right - 12 - x:
            line = longer
            continue
        pen.text((x, y), line, TEXT, "lm")
        y += 22
        line = word
    return y
