"""The picture of a town map: houses, parks and water, streets, marks, places, a frame of squares and a legend."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import atan2, degrees

import numpy as np

from dodiag.benchmarks.cadet.map_icons import DARK, WHITE, draw_closed, draw_mark, draw_place
from dodiag.benchmarks.cadet.map_streets import CLOSURE_RADIUS, FRAME, SIDE, SQUARES, along
from dodiag.benchmarks.cadet.map_town import CAPTION_SIZE, MARK, NAME_SIZE, PLATE, Town
from dodiag.benchmarks.cadet.sketch import RGB, Box, Canvas, Pixel, text_size

LEGEND = 46
"""Pixels of the strip below the map."""
WIDTH, HEIGHT = SIDE + 2 * FRAME, SIDE + 2 * FRAME + LEGEND
STREET_WIDTH = 18.0


@dataclass(frozen=True, slots=True)
class Theme:
    """Colours of a map."""

    land: RGB
    block: RGB
    house: RGB
    park: RGB
    tree: RGB
    water: RGB
    kerb: RGB
    street: RGB
    frame: RGB


THEMES: dict[str, Theme] = {
    "atlas": Theme(
        (240, 236, 226), (232, 226, 212), (216, 206, 188), (204, 226, 182), (170, 204, 148), (172, 208, 232),
        (190, 180, 164), (255, 255, 255), (88, 80, 68),
    ),
    "city": Theme(
        (236, 238, 240), (226, 229, 233), (206, 211, 218), (202, 228, 196), (164, 206, 160), (164, 202, 234),
        (174, 182, 192), (255, 255, 255), (66, 76, 90),
    ),
    "rose": Theme(
        (244, 236, 232), (236, 224, 220), (220, 204, 198), (208, 226, 190), (176, 206, 156), (176, 206, 226),
        (196, 176, 170), (255, 253, 250), (96, 70, 70),
    ),
}  # fmt: skip


def paint(rng: np.random.Generator, town: Town, kinds: Sequence[str], theme: str) -> bytes:
    """Return the picture as a PNG file.

    Parameters
    ----------
    rng : numpy.random.Generator
        Draws what no question is about: houses, parks, water.
    town : Town
    kinds : sequence of str
        The marks that the legend explains, in its order.
    theme : str
        A key of :data:`THEMES`.
    """
    look = THEMES[theme]
    canvas = Canvas(WIDTH, HEIGHT, look.land)
    _ground(rng, canvas, town, look)
    blocks = [(town.junctions[a], town.junctions[b]) for a, b in town.names]
    for colour, width in ((look.kerb, STREET_WIDTH + 3), (look.street, STREET_WIDTH)):
        for first, second in blocks:
            canvas.line([first, second], colour, width)
    for (a, b), name in town.labels.items():
        _street_name(canvas, town.junctions[a], town.junctions[b], name, look)
    _lines(canvas, look)
    for mark in town.marks:
        draw_mark(canvas, mark.at, MARK, mark.kind)
    for sign in town.closures:
        draw_closed(canvas, sign.at, CLOSURE_RADIUS)
    for place in town.places:
        draw_place(canvas, place.at, PLATE, place.name)
    for place in town.places:
        canvas.text(place.caption, place.name, CAPTION_SIZE, DARK, WHITE, bold=True)
    _frame(canvas, look)
    _legend(canvas, kinds, look)
    return canvas.png()


def _ground(rng: np.random.Generator, canvas: Canvas, town: Town, look: Theme) -> None:
    """Fill the land between the junctions with houses, parks and ponds, and let a river pass below the streets."""
    count = round(len(town.junctions) ** 0.5)
    for column in range(count - 1):
        for row in range(count - 1):
            corners = [town.junctions[column + x, row + y] for x, y in ((0, 0), (1, 0), (1, 1), (0, 1))]
            middle = (sum(x for x, _ in corners) / 4, sum(y for _, y in corners) / 4)
            inner = [along(corner, middle, 0.24) for corner in corners]
            use = rng.choice(("houses", "park", "pond"), p=(0.72, 0.2, 0.08))
            if use == "houses":
                canvas.polygon(inner, look.block, look.block, 4)
                _houses(rng, canvas, inner, look)
            else:
                canvas.polygon(inner, look.park, look.park, 9)
                if use == "pond":
                    canvas.disc(middle, 22, look.water)
                    canvas.disc((middle[0] + 16, middle[1] + 6), 16, look.water)
                for _ in range(9):
                    spot = _inside(rng, inner)
                    if use == "park" or abs(spot[0] - middle[0]) + abs(spot[1] - middle[1]) > 44:
                        canvas.disc(spot, float(rng.uniform(4, 7)), look.tree)
    if rng.random() < 0.7:
        _river(rng, canvas, look)


def _inside(rng: np.random.Generator, corners: Sequence[Pixel]) -> Pixel:
    across, down = rng.uniform(0.06, 0.94, size=2)
    return along(along(corners[0], corners[1], across), along(corners[3], corners[2], across), down)


def _houses(rng: np.random.Generator, canvas: Canvas, corners: Sequence[Pixel], look: Theme) -> None:
    for down in (0.08, 0.56):
        start = 0.06
        while start < 0.8:
            wide, high = float(rng.uniform(0.16, 0.3)), float(rng.uniform(0.26, 0.36))
            end = min(start + wide, 0.95)
            rows = [
                (along(corners[0], corners[3], at), along(corners[1], corners[2], at)) for at in (down, down + high)
            ]
            upper, lower = ([along(*row, at) for at in (start, end)] for row in rows)
            canvas.polygon([*upper, *reversed(lower)], look.house)
            start = end + 0.07


def _river(rng: np.random.Generator, canvas: Canvas, look: Theme) -> None:
    ends = [(0.0, float(rng.uniform(0.15, 0.85))), (1.0, float(rng.uniform(0.15, 0.85)))]
    inner = [(x, float(rng.uniform(0.15, 0.85))) for x in (0.33, 0.67)]
    knots = [ends[0], *inner, ends[1]]
    if rng.random() < 0.5:
        knots = [(y, x) for x, y in knots]
    points = []
    for at in np.linspace(0, 1, 60):
        weights = ((1 - at) ** 3, 3 * at * (1 - at) ** 2, 3 * at**2 * (1 - at), at**3)
        x, y = (sum(w * knot[axis] for w, knot in zip(weights, knots, strict=True)) for axis in (0, 1))
        points.append((FRAME + SIDE * float(x), FRAME + SIDE * float(y)))
    canvas.line(points, look.water, 30)


def _street_name(canvas: Canvas, first: Pixel, second: Pixel, name: str, look: Theme) -> None:
    angle = degrees(atan2(first[1] - second[1], second[0] - first[0]))
    upright = angle - 180 if angle > 91 else angle + 180 if angle < -91 else angle
    canvas.slanted_text(along(first, second, 0.5), name, NAME_SIZE, look.frame, upright)


def _lines(canvas: Canvas, look: Theme) -> None:
    for place in range(1, SQUARES):
        at = FRAME + SIDE * place / SQUARES
        canvas.dashes((at, FRAME), (at, FRAME + SIDE), look.frame, 1)
        canvas.dashes((FRAME, at), (FRAME + SIDE, at), look.frame, 1)


def _frame(canvas: Canvas, look: Theme) -> None:
    low, high = FRAME, FRAME + SIDE
    bands: list[Box] = [(0, 0, WIDTH, low), (0, high, WIDTH, HEIGHT), (0, 0, low, HEIGHT), (high, 0, WIDTH, HEIGHT)]
    for band in bands:
        canvas.box(band, WHITE)
    canvas.box((low - 2, low - 2, high + 2, high + 2), None, look.frame, 2)
    for place in range(SQUARES):
        at = FRAME + SIDE * (place + 0.5) / SQUARES
        for away in (FRAME / 2, FRAME * 1.5 + SIDE):
            canvas.text((at, away), "ABCDEF"[place], 19, look.frame, bold=True)
            canvas.text((away, at), str(place + 1), 19, look.frame, bold=True)


def _legend(canvas: Canvas, kinds: Sequence[str], look: Theme) -> None:
    y, x = HEIGHT - LEGEND / 2 - 2, FRAME + 12.0
    for kind in (*kinds, "closed road"):
        if kind == "closed road":
            draw_closed(canvas, (x, y), CLOSURE_RADIUS)
        else:
            draw_mark(canvas, (x, y), MARK, kind)
        wide = 0.87 * text_size(kind, 17)[0]
        canvas.text((x + 20 + wide / 2, y), kind, 17, look.frame)
        x += 48 + wide
    north = (WIDTH - FRAME - 24, y)
    canvas.polygon([(north[0], y - 17), (north[0] - 8, y + 15), (north[0], y + 9)], look.frame)
    canvas.polygon([(north[0], y - 17), (north[0] + 8, y + 15), (north[0], y + 9)], look.kerb)
    canvas.text((north[0] - 20, y), "N", 19, look.frame, bold=True)
