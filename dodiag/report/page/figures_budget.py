"""Bars of the error budget, and dots of differences around 0."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from dodiag.bounds.aggregates import Average, CapabilityRow
from dodiag.report.numbers import average
from dodiag.report.page.markup import Content, Element, tag

WIDTH, MARGIN, HEIGHT = 340.0, 6.0, 26.0
SOLVED, CASCADING, RESIDUAL, HARMED = "#7f8da1", "#e0862f", "#c8473f", "#8250c4"
"""Colours of NC, IC − NC, 1 − IC, and of what is lost by supplying prerequisites."""

INK_ON = {SOLVED: "#000", CASCADING: "#000", RESIDUAL: "#fff", HARMED: "#fff"}
RULE = "#94a3b8"
FITS = 0.09
"""Share of a bar in which a number has room."""


def place(value: float) -> float:
    """Return where a value between 0 and 1 lies on a bar, in pixels."""
    return round(MARGIN + value * (WIDTH - 2 * MARGIN), 1)


def has_budget(row: CapabilityRow) -> bool:
    """Whether NC, IC − NC and 1 − IC of a row are of the same units, so that they make a whole."""
    parts = (row.nc, row.cascading, row.residual)
    values = [part.value for part in parts if part is not None and part.value is not None]
    return len(values) == 3 and abs(sum(values) - 1) < 1e-9


def budget_bar(row: CapabilityRow) -> Element | None:
    """Return NC, IC − NC and 1 − IC as one bar from 0 to 1, with limits of NC and IC; None where they make no whole."""
    if not has_budget(row):
        return None
    assert row.nc is not None
    assert row.ic is not None
    nc, ic = row.nc.value or 0.0, row.ic.value or 0.0
    between = CASCADING if ic >= nc else HARMED
    parts = [(0.0, min(nc, ic), SOLVED), (min(nc, ic), max(nc, ic), between), (max(nc, ic), 1.0, RESIDUAL)]
    shown: list[Content] = []
    for start, end, colour in parts:
        left, right = place(start), place(end)
        shown.append(tag("rect", x=left, y=3, width=max(0.0, round(right - left, 1)), height=HEIGHT - 6, fill=colour))
        if end - start >= FITS:
            shown.append(
                tag(
                    "text",
                    f"{end - start:.2f}",
                    x=round((left + right) / 2, 1),
                    y=HEIGHT / 2 + 4,
                    text_anchor="middle",
                    font_size="11",
                    fill=INK_ON[colour],
                )
            )
    shown += _whisker(row.nc, 3)
    shown += _whisker(row.ic, HEIGHT - 3)
    said = f"NC {average(row.nc)}; IC − NC {average(row.cascading, True)}; 1 − IC {average(row.residual)}"
    return _mark(shown, WIDTH, said)


def _whisker(found: Average, y: float) -> Iterable[Content]:
    if found.lower is None or found.upper is None:
        return
    left, right = place(found.lower), place(found.upper)
    yield tag("line", x1=left, x2=right, y1=y, y2=y, stroke="currentColor", stroke_width=1.6)
    for x in (left, right):
        yield tag("line", x1=x, x2=x, y1=y - 2.5, y2=y + 2.5, stroke="currentColor", stroke_width=1.6)


class Differences:
    """Dots of differences with their limits, all on one scale around 0."""

    WIDTH = 300.0

    def __init__(self, shown: Iterable[Average | None]) -> None:
        ends = [
            abs(value)
            for found in shown
            if found is not None
            for value in (found.value, found.lower, found.upper)
            if value is not None
        ]
        self.most = min(1.0, max(0.1, math.ceil(max(ends, default=0.1) * 10) / 10))

    def place(self, value: float) -> float:
        """Return where a difference lies, in pixels."""
        return round(self.WIDTH / 2 + value / self.most * (self.WIDTH / 2 - 14), 1)

    def axis(self) -> Element:
        """Return the scale's labels, for a table's head."""
        labels = [
            tag(
                "text",
                "0" if value == 0 else f"{value:+.1f}",
                x=self.place(value),
                y=11,
                text_anchor="middle",
                font_size="10",
                fill="currentColor",
            )
            for value in (-self.most, 0.0, self.most)
        ]
        return tag(
            "svg",
            *labels,
            viewBox=f"0 0 {self.WIDTH:g} 14",
            width=self.WIDTH,
            height=14,
            class_="mark",
            aria_hidden="true",
        )

    def mark(self, found: Average | None, colour: str, name: str) -> Element | None:
        """Return the dot of a difference."""
        if found is None or found.value is None:
            return None
        middle = HEIGHT / 2
        zero = self.place(0)
        content: list[Content] = [
            tag(
                "line",
                x1=self.place(-self.most),
                x2=self.place(self.most),
                y1=middle,
                y2=middle,
                stroke=RULE,
                opacity=0.45,
            ),
            tag("line", x1=zero, x2=zero, y1=0, y2=HEIGHT, stroke="currentColor", opacity=0.55, stroke_width=1),
        ]
        if found.lower is not None and found.upper is not None:
            content.append(
                tag(
                    "line",
                    x1=self.place(found.lower),
                    x2=self.place(found.upper),
                    y1=middle,
                    y2=middle,
                    stroke=colour,
                    stroke_width=2.6,
                    stroke_linecap="round",
                )
            )
        content.append(tag("circle", cx=self.place(found.value), cy=middle, r=4.2, fill=colour))
        return _mark(content, self.WIDTH, f"{name} {average(found, True)}")


def budget_axis() -> Element:
    """Return the labels of a bar, for a table's head."""
    labels = [
        tag("text", text, x=place(value), y=11, text_anchor=anchor, font_size="10", fill="currentColor")
        for value, text, anchor in ((0.0, "0", "start"), (0.5, "0.5", "middle"), (1.0, "1", "end"))
    ]
    return tag("svg", *labels, viewBox=f"0 0 {WIDTH:g} 14", width=WIDTH, height=14, class_="mark", aria_hidden="true")


def _mark(content: Sequence[Content], width: float, said: str) -> Element:
    box = f"0 0 {width:g} {HEIGHT:g}"
    return tag("svg", tag("title", said), *content, viewBox=box, width=width, height=HEIGHT, class_="mark", role="img")
