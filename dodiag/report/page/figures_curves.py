"""Curves along the steps of a chain, and bars of groups."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from dodiag.report.numbers import number, with_limits
from dodiag.report.page.markup import Content, Element, tag

WIDTH, HEIGHT, LEFT, BELOW, ABOVE, RIGHT = 254.0, 160.0, 28.0, 22.0, 8.0, 6.0


@dataclass(frozen=True, slots=True)
class Point:
    """A value at a step with its limits.

    Attributes
    ----------
    step : int
    value : float
    lower, upper : float or None
    """

    step: int
    value: float
    lower: float | None
    upper: float | None


@dataclass(frozen=True, slots=True)
class Curve:
    """One curve.

    Attributes
    ----------
    name, colour : str
    points : tuple of Point
        By step.
    dashed : bool
    width : float
        A curve that others may cover is wider than they are.
    """

    name: str
    colour: str
    points: tuple[Point, ...]
    dashed: bool = False
    width: float = 2.0


def curve_picture(curves: Sequence[Curve], ticks: Sequence[tuple[int, str]], said: str) -> Element:
    """Return curves over steps on a scale from 0 to 1, each with a band between its limits.

    Parameters
    ----------
    curves : sequence of Curve
    ticks : sequence of (int, str)
        Every step, and how it is written.
    said : str
        What the picture shows, for those who do not see it.
    """
    first, last = ticks[0][0], ticks[-1][0]
    across = WIDTH - LEFT - RIGHT

    def x(step: int) -> float:
        return round(LEFT + (across / 2 if first == last else (step - first) / (last - first) * (across - 12) + 6), 1)

    content: list[Content] = list(_frame())
    every = max(1, -(-len(ticks) // 9))
    for index, (step, text) in enumerate(ticks):
        is_last = index == len(ticks) - 1
        if is_last or (index % every == 0 and index + every / 2 < len(ticks) - 1):
            content.append(tag("text", text, x=x(step), y=HEIGHT - 6, text_anchor="middle", class_="tick"))
    for curve in curves:
        upper = [(x(p.step), y_of(p.upper)) for p in curve.points if p.lower is not None and p.upper is not None]
        lower = [(x(p.step), y_of(p.lower)) for p in curve.points if p.lower is not None and p.upper is not None]
        if len(upper) > 1:
            corners = " ".join(f"{a:g},{b:g}" for a, b in [*upper, *reversed(lower)])
            content.append(tag("polygon", points=corners, fill=curve.colour, opacity=0.1))
    for curve in curves:
        line = " ".join(f"{x(p.step):g},{y_of(p.value):g}" for p in curve.points)
        dash = {"stroke_dasharray": "5 3"} if curve.dashed else {}
        content.append(tag("polyline", points=line, fill="none", stroke=curve.colour, stroke_width=curve.width, **dash))
        for p in curve.points:
            text = f"{curve.name} at step {dict(ticks)[p.step]}: {with_limits(p.value, p.lower, p.upper)}"
            content.append(tag("circle", tag("title", text), cx=x(p.step), cy=y_of(p.value), r=2.8, fill=curve.colour))
    return _figure(content, WIDTH, HEIGHT, said)


def y_of(value: float) -> float:
    """Return where a value between 0 and 1 lies, in pixels."""
    return round(HEIGHT - BELOW - value * (HEIGHT - ABOVE - BELOW), 1)


def _frame(width: float = WIDTH) -> Iterator[Content]:
    for value, text in ((0.0, "0"), (0.5, "0.5"), (1.0, "1")):
        yield tag("line", x1=LEFT, x2=width - RIGHT, y1=y_of(value), y2=y_of(value), class_="grid")
        yield tag("text", text, x=LEFT - 6, y=y_of(value) + 4, text_anchor="end", class_="tick")


def bar_picture(labels: Sequence[str], series: Sequence[tuple[str, str, Sequence[float | None]]], said: str) -> Element:
    """Return bars of several series beside each other, with their numbers above.

    Parameters
    ----------
    labels : sequence of str
        What the bars are of.
    series : sequence of (name, colour, values)
        A value, or None, for every label.
    said : str
    """
    bar = 30.0 if len(series) <= 3 else 24.0
    gap = 18.0
    each = bar * len(series) + gap
    width = LEFT + RIGHT + each * len(labels)
    content: list[Content] = list(_frame(width))
    for index, label in enumerate(labels):
        start = LEFT + index * each + gap / 2
        content.append(
            tag("text", label, x=round(start + (each - gap) / 2, 1), y=HEIGHT - 6, text_anchor="middle", class_="tick")
        )
        for place, (name, colour, values) in enumerate(series):
            value = values[index]
            if value is None:
                continue
            left, top = start + place * bar, y_of(value)
            content.append(
                tag(
                    "rect",
                    tag("title", f"{name}: {number(value)}"),
                    x=round(left + 1, 1),
                    y=top,
                    width=bar - 2,
                    height=round(y_of(0) - top, 1),
                    fill=colour,
                )
            )
            middle = round(left + bar / 2, 1)
            content.append(
                tag("text", number(value), x=middle, y=max(10.0, top - 3), text_anchor="middle", class_="tick")
            )
    return _figure(content, width, HEIGHT, said)


def _figure(content: Sequence[Content], width: float, height: float, said: str) -> Element:
    box = f"0 0 {width:g} {height:g}"
    return tag(
        "svg", tag("title", said), *content, viewBox=box, width=width, height=height, class_="figure", role="img"
    )
