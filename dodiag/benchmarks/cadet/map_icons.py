"""Icons of a town map: pictograms of places on coloured plates, and the marks that stand on streets.

Pictograms are lists of white shapes in coordinates from -1 to 1 (x right, y down), the plate being the unit circle.
"""

from __future__ import annotations

from collections.abc import Callable
from math import cos, pi, sin

from dodiag.benchmarks.cadet.sketch import RGB, Canvas, Pixel

WHITE: RGB = (255, 255, 255)
DARK: RGB = (46, 52, 64)
CLOSED_RED: RGB = (214, 30, 44)

Shape = tuple[float, ...]
"""Three numbers are a disc (x, y, radius), four a box (left, top, right, bottom), six and more a polygon (x, y, …)."""

PLACES: dict[str, tuple[RGB, tuple[Shape, ...]]] = {
    "Museum": (
        (126, 87, 62),
        (
            (-0.6, -0.2, 0, -0.6, 0.6, -0.2),
            (-0.6, 0.38, 0.6, 0.54),
            *((x - 0.09, -0.1, x + 0.09, 0.34) for x in (-0.4, 0.0, 0.4)),
        ),
    ),
    "Cinema": (
        (92, 64, 132),
        ((-0.6, -0.38, 0.6, -0.16), (-0.6, 0.2, 0.6, 0.42), (-0.2, -0.12, 0.26, 0.02, -0.2, 0.16)),
    ),
    "Library": (
        (72, 92, 58),
        ((-0.56, -0.44, -0.26, 0.46), (-0.18, -0.3, 0.1, 0.46), (0.18, -0.38, 0.36, -0.46, 0.62, 0.4, 0.42, 0.48)),
    ),
    "Pharmacy": ((12, 128, 92), ((-0.17, -0.56, 0.17, 0.56), (-0.56, -0.17, 0.56, 0.17))),
    "Hotel": (
        (48, 76, 122),
        ((-0.6, -0.3, -0.44, 0.46), (-0.6, 0.06, 0.6, 0.26), (0.44, 0.06, 0.6, 0.46), (-0.22, -0.1, 0.16)),
    ),
    "Zoo": (
        (150, 96, 20),
        ((0.0, 0.24, 0.32), (-0.46, -0.02, 0.15), (-0.18, -0.36, 0.16), (0.18, -0.36, 0.16), (0.46, -0.02, 0.15)),
    ),
    "Harbour": (
        (24, 98, 128),
        (
            (-0.6, 0.24, 0.6, 0.24, 0.36, 0.54, -0.36, 0.54),
            (-0.04, -0.6, -0.04, 0.14, -0.5, 0.14),
            (0.06, -0.4, 0.42, 0.14, 0.06, 0.14),
        ),
    ),
    "Castle": (
        (96, 92, 104),
        (
            (-0.5, -0.2, -0.1, 0.5),
            (0.1, -0.2, 0.5, 0.5),
            (-0.5, -0.2, 0.5, 0.12),
            *((x - 0.1, -0.44, x + 0.1, -0.1) for x in (-0.4, 0.0, 0.4)),
        ),
    ),
    "Bakery": ((168, 104, 58), ((-0.5, -0.05, 0.3), (0.0, -0.2, 0.36), (0.5, -0.05, 0.3), (-0.5, 0.0, 0.5, 0.42))),
    "School": (
        (138, 58, 72),
        (
            (0.0, -0.5, 0.66, -0.18, 0.0, 0.12, -0.66, -0.18),
            (-0.34, 0.04, 0.0, 0.22, 0.34, 0.04, 0.34, 0.34, 0.0, 0.5, -0.34, 0.34),
        ),
    ),
    "Bank": ((70, 98, 96), ((-0.58, 0.24, 0.18, 0.44), (-0.46, -0.04, 0.3, 0.16), (-0.3, -0.32, 0.46, -0.12))),
    "Theatre": ((118, 44, 106), ((-0.52, -0.5, 0.52, -0.5, 0.46, 0.16, 0.0, 0.6, -0.46, 0.16),)),
    "Station": ((62, 70, 88), ((-0.4, -0.54, 0.4, 0.16), (-0.5, 0.24, 0.5, 0.38), (-0.3, 0.5, 0.12), (0.3, 0.5, 0.12))),
    "Stadium": ((44, 108, 60), ((-0.34, 0.0, 0.34), (0.34, 0.0, 0.34), (-0.34, -0.34, 0.34, 0.34))),
}
"""The plate's colour and the pictogram of every kind of place; the colours are dark and none is that of a mark."""

HOLES: dict[str, tuple[Shape, ...]] = {
    "Theatre": ((-0.2, -0.2, 0.12), (0.2, -0.2, 0.12), (-0.22, 0.1, 0.22, 0.1, 0.0, 0.32)),
    "Station": ((-0.28, -0.4, 0.28, -0.12),),
    "Stadium": ((-0.3, 0.0, 0.16), (0.3, 0.0, 0.16), (-0.3, -0.16, 0.3, 0.16)),
    "Castle": ((-0.12, 0.24, 0.12, 0.52),),
}
"""What is cut out of the pictogram, in the plate's colour."""


def draw_place(canvas: Canvas, at: Pixel, radius: float, name: str) -> None:
    """Draw the plate of a place."""
    colour, shapes = PLACES[name]
    canvas.disc(at, radius + 2, WHITE)
    canvas.disc(at, radius, colour)
    for tint, group in ((WHITE, shapes), (colour, HOLES.get(name, ()))):
        for shape in group:
            _draw(canvas, at, 0.95 * radius, shape, tint)


def _draw(canvas: Canvas, at: Pixel, unit: float, shape: Shape, colour: RGB) -> None:
    points = [(at[0] + unit * x, at[1] + unit * y) for x, y in zip(shape[::2], shape[1::2], strict=False)]
    if len(shape) == 3:
        canvas.disc(points[0], unit * shape[2], colour)
    elif len(shape) == 4:
        canvas.box((*points[0], *points[1]), colour)
    else:
        canvas.polygon(points, colour)


def _bus_stop(canvas: Canvas, at: Pixel, half: float) -> None:
    x, y = at
    canvas.box((x - half, y - half, x + half, y + half), MARKS["bus stop"][0], WHITE, 1.5, 3)
    canvas.box((x - 0.56 * half, y - 0.6 * half, x + 0.56 * half, y + 0.4 * half), WHITE, radius=1)
    canvas.box((x - 0.4 * half, y - 0.42 * half, x + 0.4 * half, y - 0.06 * half), MARKS["bus stop"][0])
    for side in (-1, 1):
        canvas.disc((x + 0.34 * side * half, y + 0.48 * half), 0.18 * half, WHITE)


def _post_box(canvas: Canvas, at: Pixel, half: float) -> None:
    x, y = at
    canvas.box(
        (x - 1.15 * half, y - 0.85 * half, x + 1.15 * half, y + 0.85 * half), MARKS["post box"][0], WHITE, 1.5, 2
    )
    corners = [(x - 0.95 * half, y - 0.6 * half), (x, y + 0.15 * half), (x + 0.95 * half, y - 0.6 * half)]
    canvas.line(corners, DARK, 1.5)


def _charging_point(canvas: Canvas, at: Pixel, half: float) -> None:
    x, y = at
    canvas.disc(at, 1.08 * half, MARKS["charging point"][0], WHITE, 1.5)
    bolt = ((0.2, -0.75), (-0.45, 0.12), (-0.05, 0.12), (-0.2, 0.75), (0.45, -0.14), (0.05, -0.14))
    canvas.polygon([(x + half * a, y + half * b) for a, b in bolt], WHITE)


def _petrol_pump(canvas: Canvas, at: Pixel, half: float) -> None:
    x, y = at
    six = [(x + 1.15 * half * cos(turn * pi / 3), y + 1.15 * half * sin(turn * pi / 3)) for turn in range(6)]
    canvas.polygon(six, MARKS["petrol pump"][0], WHITE, 1.5)
    canvas.box((x - 0.45 * half, y - 0.55 * half, x + 0.2 * half, y + 0.6 * half), WHITE)
    canvas.box((x - 0.28 * half, y - 0.4 * half, x + 0.03 * half, y - 0.08 * half), MARKS["petrol pump"][0])
    canvas.line(
        [(x + 0.2 * half, y - 0.3 * half), (x + 0.5 * half, y - 0.1 * half), (x + 0.5 * half, y + 0.4 * half)],
        WHITE,
        1.5,
    )


MARKS: dict[str, tuple[RGB, Callable[[Canvas, Pixel, float], None]]] = {
    "bus stop": ((22, 96, 232), _bus_stop),
    "post box": ((255, 204, 0), _post_box),
    "charging point": ((0, 176, 80), _charging_point),
    "petrol pump": ((232, 84, 196), _petrol_pump),
}
"""Things to count: the colour that nothing else on the map has, and how they are drawn."""


def draw_mark(canvas: Canvas, at: Pixel, half: float, kind: str) -> None:
    """Draw a thing on a street; `half` is half its width in pixels."""
    MARKS[kind][1](canvas, at, half)


def draw_closed(canvas: Canvas, at: Pixel, radius: float) -> None:
    """Draw a closed-road sign."""
    x, y = at
    canvas.disc(at, radius + 1.5, WHITE)
    canvas.disc(at, radius, CLOSED_RED)
    canvas.box((x - 0.65 * radius, y - 0.2 * radius, x + 0.65 * radius, y + 0.2 * radius), WHITE)
