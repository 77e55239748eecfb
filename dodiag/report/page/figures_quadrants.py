"""Prerequisites on the plane of N and S, with square-root axes, so that small scores do not crowd together."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from dodiag.bounds.aggregates import HIGH, Placed
from dodiag.report.numbers import number
from dodiag.report.page.markup import Content, Element, tag

SIZE, LEFT, BELOW, ABOVE, RIGHT = 450.0, 54.0, 42.0, 14.0, 14.0
TICKS = (0.0, 0.02, 0.05, 0.15, 0.3, 0.5, 0.75, 1.0)
COLOURS = ("#3b6fd8", "#d9730d", "#1d9a58", "#8250c4", "#d64545", "#0e9fb5", "#a8810c", "#c2489b", "#64748b", "#5d8a1c")
SHAPES = ("circle", "square", "diamond", "up", "down")
RADIUS, RING = 5.0, 9.0
LETTER, LINE = 6.6, 12.0
"""Width of a letter and height of a line of a label, in pixels."""

FURTHER = (20.0, 30.0, 42.0, 56.0, 72.0)
"""Distances at which a label is tied to its point by a line."""

Box = tuple[float, float, float, float]
"""Left, top, right, bottom."""


@dataclass(frozen=True, slots=True)
class Plane:
    """Both axes of a figure: from 0 to `most`, by square root."""

    most: float

    @classmethod
    def of(cls, placed: Sequence[Placed]) -> Plane:
        """Return the smallest plane that holds all points, of those that end at a tick."""
        highest = max((value for point in placed for value in (point.n, point.s) if value is not None), default=0.0)
        return cls(next((tick for tick in TICKS[4:] if tick >= highest), 1.0))

    def x(self, n: float) -> float:
        """Return where a value of N lies, in pixels."""
        return round(LEFT + math.sqrt(n / self.most) * (SIZE - LEFT - RIGHT), 1)

    def y(self, s: float) -> float:
        """Return where a value of S lies, in pixels."""
        return round(SIZE - BELOW - math.sqrt(s / self.most) * (SIZE - ABOVE - BELOW), 1)


def marker(index: int, x: float, y: float, radius: float = RADIUS) -> Element:
    """Return the mark of a task, told from others by colour and shape."""
    colour, shape = COLOURS[index % len(COLOURS)], SHAPES[index % len(SHAPES)]
    style: dict[str, str | float] = {"fill": colour, "fill_opacity": 0.85, "stroke": colour, "stroke_width": 1}
    if shape == "circle":
        return tag("circle", cx=x, cy=y, r=radius, **style)
    if shape == "square":
        side = 1.8 * radius
        return tag("rect", x=round(x - side / 2, 1), y=round(y - side / 2, 1), width=side, height=side, **style)
    reach = 1.3 * radius
    corners = {
        "diamond": ((0, -reach), (reach, 0), (0, reach), (-reach, 0)),
        "up": ((0, -reach), (reach, 0.8 * reach), (-reach, 0.8 * reach)),
        "down": ((0, reach), (reach, -0.8 * reach), (-reach, -0.8 * reach)),
    }[shape]
    return tag("polygon", points=" ".join(f"{x + dx:.1f},{y + dy:.1f}" for dx, dy in corners), **style)


def quadrant_picture(
    placed: Sequence[Placed], order: Mapping[str, int], titles: Mapping[str, str], plane: Plane
) -> Element:
    """Return the figure of one contrast.

    Parameters
    ----------
    placed : sequence of Placed
        Points of one contrast; those without both scores are not drawn.
    order : mapping of str to int
        Number of each task, which fixes its colour and shape.
    titles : mapping of str to str
        What each task is called.
    plane : Plane
    """
    points = [
        (point, plane.x(point.n), plane.y(point.s)) for point in placed if point.n is not None and point.s is not None
    ]
    content: list[Content] = [*_frame(plane)]
    together: dict[tuple[str, float, float], list[Placed]] = {}
    for point, x, y in points:
        together.setdefault((point.task, x, y), []).append(point)
    labels = _labels(
        [
            (", ".join(p.prerequisite for p in here), x, y, RING if any(p.top for p in here) else RADIUS)
            for (_, x, y), here in together.items()
        ]
    )
    for (_, x, y), (text, left, base, away) in zip(together, labels, strict=True):
        if away:
            end = round(left + len(text) * LETTER / 2, 1)
            content.append(tag("line", x1=x, y1=y, x2=end, y2=base - 4, stroke="currentColor", opacity=0.35))
    for point, x, y in points:
        said = f"{titles[point.task]}, {point.prerequisite}: N {number(point.n)}, S {number(point.s)}"
        ring = (
            tag("circle", cx=x, cy=y, r=RING, fill="none", stroke="currentColor", stroke_width=1.4)
            if point.top
            else None
        )
        title = tag("title", said + (" (highest S of its task)" if point.top else ""))
        content.append(tag("g", title, ring, marker(order[point.task], x, y)))
    content += [
        tag("text", text, x=round(left, 1), y=round(base, 1), font_size="11", fill="currentColor")
        for text, left, base, _ in labels
    ]
    said = f"{len(points)} prerequisites by N and S"
    return tag(
        "svg",
        tag("title", said),
        *content,
        viewBox=f"0 0 {SIZE:g} {SIZE:g}",
        width=SIZE,
        height=SIZE,
        class_="figure",
        role="img",
    )


def _frame(plane: Plane) -> Iterator[Content]:
    left, right, top, bottom = LEFT, SIZE - RIGHT, ABOVE, SIZE - BELOW
    high_x, high_y = plane.x(HIGH), plane.y(HIGH)
    yield tag("rect", x=high_x, y=top, width=right - high_x, height=high_y - top, class_="both")
    yield tag("rect", x=left, y=top, width=right - left, height=bottom - top, class_="frame")
    for tick in TICKS:
        if tick > plane.most:
            break
        x, y = plane.x(tick), plane.y(tick)
        if tick not in (0.0, HIGH):
            yield tag("line", x1=x, x2=x, y1=top, y2=bottom, class_="grid")
            yield tag("line", x1=left, x2=right, y1=y, y2=y, class_="grid")
        yield tag("text", f"{tick:g}", x=x, y=bottom + 15, text_anchor="middle", class_="tick")
        yield tag("text", f"{tick:g}", x=left - 7, y=y + 4, text_anchor="end", class_="tick")
    yield tag("line", x1=high_x, x2=high_x, y1=top, y2=bottom, class_="threshold")
    yield tag("line", x1=left, x2=right, y1=high_y, y2=high_y, class_="threshold")
    middle = (left + right) / 2
    yield tag("text", "N: lost without it", x=middle, y=SIZE - 8, text_anchor="middle", class_="axis")
    across = (top + bottom) / 2
    turned = f"rotate(-90 12 {across:g})"
    yield tag("text", "S: repaired by it", x=12, y=across, text_anchor="middle", transform=turned, class_="axis")


def _labels(points: Sequence[tuple[str, float, float, float]]) -> list[tuple[str, float, float, bool]]:
    """Place a label beside each point, if possible without overlap: each takes the nearest free place.

    Parameters
    ----------
    points : sequence of (text, x, y, radius)

    Returns
    -------
    list of (text, left end, base line, whether it is so far away that a line has to tie it to its point)
    """
    taken: list[Box] = [(x - r, y - r, x + r, y + r) for _, x, y, r in points]
    found = []
    for text, x, y, radius in points:
        width = len(text) * LETTER
        best: tuple[float, float, float, Box] | None = None
        for distance in (radius + 3.0, *FURTHER):
            for dx, dy in ((1, 0), (-1, 0), (0, -1), (0, 1), (0.8, -0.8), (0.8, 0.8), (-0.8, -0.8), (-0.8, 0.8)):
                left = x + dx * distance - (width if dx < 0 else width / 2 if dx == 0 else 0)
                base = y + dy * distance + (LINE / 3 if dy == 0 else LINE * 0.7 if dy > 0 else 0)
                box = (left - 1, base - LINE + 2, left + width + 1, base + 2)
                clash = sum(_overlap(box, other) for other in taken) + _outside(box)
                if best is None or clash < best[0] - 1e-9:
                    best = (clash, distance, base, box)
            if best is not None and best[0] == 0:
                break
        assert best is not None
        taken.append(best[3])
        found.append((text, best[3][0] + 1, best[2], best[1] in FURTHER))
    return found


def _overlap(one: Box, other: Box) -> float:
    across = min(one[2], other[2]) - max(one[0], other[0])
    down = min(one[3], other[3]) - max(one[1], other[1])
    return across * down if across > 0 and down > 0 else 0.0


def _outside(box: Box) -> float:
    inside = (LEFT, ABOVE, SIZE - RIGHT, SIZE - BELOW)
    whole = (box[2] - box[0]) * (box[3] - box[1])
    return whole - _overlap(box, inside)
