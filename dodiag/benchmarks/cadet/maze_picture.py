"""The picture of a maze: walls, lettered exits, numbered rows and columns, and a symbol in some cells."""

from __future__ import annotations

import string
from collections.abc import Sequence
from dataclasses import dataclass
from math import cos, pi, sin

from dodiag.benchmarks.cadet.maze_layout import SIDES, Cell, Exit, Layout, walls
from dodiag.benchmarks.cadet.sketch import RGB, Box, Canvas, Pixel

MARGIN = 74
"""Pixels between the frame of the maze and the edge of the picture."""
SPAN = 585
"""Pixels that the cells of a row take together, but for rounding to whole cells."""

SHAPES = ("disc", "square", "triangle", "star", "diamond", "cross")
COLOURS: dict[str, RGB] = {
    "red": (222, 45, 52),
    "blue": (34, 104, 224),
    "green": (36, 160, 76),
    "orange": (246, 140, 20),
    "purple": (146, 64, 190),
    "pink": (244, 110, 176),
}


@dataclass(frozen=True, slots=True)
class Theme:
    """Colours of a maze: paper around it, floor and walls; `letters` are the plates of the exits."""

    paper: RGB
    floor: RGB
    wall: RGB
    letters: RGB


THEMES: dict[str, Theme] = {
    "ink": Theme((250, 248, 243), (255, 255, 255), (52, 58, 70), (52, 58, 70)),
    "hedge": Theme((238, 244, 230), (252, 249, 238), (66, 98, 62), (66, 98, 62)),
    "brick": Theme((247, 240, 232), (255, 252, 246), (122, 74, 58), (122, 74, 58)),
    "slate": Theme((236, 240, 245), (250, 252, 255), (78, 96, 118), (78, 96, 118)),
    "sand": Theme((250, 243, 226), (255, 251, 240), (112, 94, 58), (112, 94, 58)),
}


@dataclass(frozen=True, slots=True)
class Symbol:
    """What is drawn in a marked cell."""

    shape: str
    colour: str

    @property
    def name(self) -> str:
        """As the questions call it."""
        return f"{self.colour} {self.shape}"


def cell_size(size: int) -> int:
    """Return the pixels along the side of a cell."""
    return SPAN // size


def picture_size(size: int) -> int:
    """Return the pixels along the side of the picture."""
    return size * cell_size(size) + 2 * MARGIN


def centre(cell: Cell, size: int) -> Pixel:
    """Return the middle of a cell in pixels."""
    side = cell_size(size)
    return MARGIN + (cell[0] + 0.5) * side, MARGIN + (cell[1] + 0.5) * side


def box_of(cell: Cell, size: int) -> Box:
    """Return the cell's box, inside its walls."""
    (x, y), half = centre(cell, size), cell_size(size) / 2 - 2
    return x - half, y - half, x + half, y + half


def doorway(opening: Exit, size: int) -> Pixel:
    """Return the point just outside an exit."""
    (x, y), (across, down), side = centre(opening.cell, size), SIDES[opening.side], cell_size(size)
    return x + 0.55 * side * across, y + 0.55 * side * down


def paint(layout: Layout, symbols: Sequence[Symbol], theme: str) -> bytes:
    """Return the picture as a PNG file; `symbols` are those of the layout's markers, in their order."""
    look, size, side = THEMES[theme], layout.size, cell_size(layout.size)
    edge = picture_size(size)
    canvas = Canvas(edge, edge, look.paper)
    low, high = MARGIN, edge - MARGIN
    canvas.box((low, low, high, high), look.floor)
    for place in range(size):
        middle = MARGIN + (place + 0.5) * side
        ruler = min(14, 0.5 * side)
        for across in (20, edge - 20):
            canvas.text((middle, across), str(place + 1), ruler, look.wall)
            canvas.text((across, middle), str(place + 1), ruler, look.wall)
    thick = max(3, side // 8)
    for first, second in (*walls(layout), *_frame(layout)):
        canvas.line([_corner(first, side), _corner(second, side)], look.wall, thick)
    for letter, opening in zip(string.ascii_uppercase, layout.exits, strict=False):
        _exit(canvas, opening, letter, layout.size, look)
    for cell, symbol in zip(layout.markers, symbols, strict=True):
        draw_symbol(canvas, centre(cell, size), 0.34 * side, symbol)
    return canvas.png()


def _corner(corner: Cell, side: int) -> Pixel:
    return MARGIN + corner[0] * side, MARGIN + corner[1] * side


def _frame(layout: Layout) -> list[tuple[Cell, Cell]]:
    """Return the pieces of the outer wall, all but the exits."""
    size, open_at = layout.size, {(opening.cell, opening.side) for opening in layout.exits}
    pieces = []
    for place in range(size):
        sides = {
            "top": ((place, 0), (place, 0), (place + 1, 0)),
            "bottom": ((place, size - 1), (place, size), (place + 1, size)),
            "left": ((0, place), (0, place), (0, place + 1)),
            "right": ((size - 1, place), (size, place), (size, place + 1)),
        }
        pieces += [(a, b) for side, (cell, a, b) in sides.items() if (cell, side) not in open_at]
    return pieces


def _exit(canvas: Canvas, opening: Exit, letter: str, size: int, look: Theme) -> None:
    (x, y), (across, down) = centre(opening.cell, size), SIDES[opening.side]
    side = cell_size(size)

    def outwards(distance: float, aside: float = 0) -> Pixel:
        away = side / 2 + distance
        return x + away * across + aside * down, y + away * down + aside * across

    canvas.polygon([outwards(4, -5), outwards(4, 5), outwards(11, 0)], look.letters)
    canvas.disc(outwards(24), 12, look.letters)
    canvas.text(outwards(24), letter, 16, (255, 255, 255), bold=True)


def draw_symbol(canvas: Canvas, at: Pixel, radius: float, symbol: Symbol) -> None:
    """Draw a symbol; it fills about a circle of `radius`."""
    x, y = at
    colour = COLOURS[symbol.colour]

    def ring(count: int, radii: Sequence[float], turn: float) -> list[Pixel]:
        angles = [turn + 2 * pi * place / count for place in range(count)]
        return [
            (x + radii[place % len(radii)] * cos(angle), y + radii[place % len(radii)] * sin(angle))
            for place, angle in enumerate(angles)
        ]

    match symbol.shape:
        case "disc":
            canvas.disc(at, 0.85 * radius, colour)
        case "square":
            canvas.polygon(ring(4, [1.1 * radius], pi / 4), colour)
        case "triangle":
            canvas.polygon(ring(3, [1.15 * radius], -pi / 2), colour)
        case "diamond":
            canvas.polygon(ring(4, [0.75 * radius, 1.15 * radius], 0), colour)
        case "star":
            canvas.polygon(ring(10, [1.15 * radius, 0.5 * radius], -pi / 2), colour)
        case "cross":
            canvas.line([(x - 0.85 * radius, y), (x + 0.85 * radius, y)], colour, 0.6 * radius)
            canvas.line([(x, y - 0.85 * radius), (x, y + 0.85 * radius)], colour, 0.6 * radius)
