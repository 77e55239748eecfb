"""The task graph as a picture: units in columns from the roots to the target, each with its natural capability."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import networkx as nx

from dodiag.bounds.scores import Score
from dodiag.report.page.marks import COLOURS, RULE
from dodiag.report.page.markup import Content, Element, tag
from dodiag.report.tables import with_limits
from dodiag.scm.graph import TaskGraph

BOX, HEIGHT, ACROSS, DOWN, EDGE = 214.0, 62.0, 84.0, 26.0, 16.0
TITLE_LETTERS = 27

Slot = str | tuple[str, str, int]
"""A unit, or the place in a column where the edge (parent, child) passes by."""

Point = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Layout:
    """Where the units stand and where the edges pass.

    Attributes
    ----------
    columns : tuple of tuple of Slot
        From the roots to the target, each from top to bottom.
    places : mapping of Slot to (x, y)
        Centres in pixels.
    width, height : float
    """

    columns: tuple[tuple[Slot, ...], ...]
    places: Mapping[Slot, Point]
    width: float
    height: float


def graph_picture(task: TaskGraph, natural: Mapping[str, Score]) -> Element:
    """Return the graph as an SVG element.

    Parameters
    ----------
    task : TaskGraph
    natural : mapping of str to Score
        NC of the units that were asked, by unit.
    """
    layout = layout_of(task)
    content: list[Content] = [_arrowhead()]
    content += [_edge(layout, parent, child) for parent, child in task.graph.edges]
    content += [_returning(layout, edge.parent, edge.child) for edge in task.lagged_edges]
    content += [_unit(task, unit, layout.places[unit], natural.get(unit)) for unit in task.units]
    below = 30.0 if task.lagged_edges else 0.0
    return tag(
        "svg",
        tag("title", f"Task graph of {task.title}"),
        *content,
        viewBox=f"0 0 {layout.width:g} {layout.height + below:g}",
        width=round(layout.width),
        height=round(layout.height + below),
        class_="graph",
        role="img",
    )


def layout_of(task: TaskGraph) -> Layout:
    """Put every unit into the column of its longest path from a root, and let longer edges pass between units.

    Inside a column the order is that of the mean places of what is connected to the left (one barycentre sweep of
    Sugiyama's method), ties in file order.
    """
    column = {unit: index for index, units in enumerate(nx.topological_generations(task.graph)) for unit in units}
    slots: list[list[Slot]] = [[] for _ in range(max(column.values()) + 1)]
    before: dict[Slot, list[Slot]] = {}
    for unit in task.units:
        slots[column[unit]].append(unit)
        before.setdefault(unit, [])
    for parent, child in task.graph.edges:
        previous: Slot = parent
        for passed in range(column[parent] + 1, column[child]):
            between = (parent, child, passed)
            slots[passed].append(between)
            before[between] = [previous]
            previous = between
        before[child].append(previous)
    heights: dict[Slot, float] = {}
    columns = []
    for column_slots in slots:
        ordered = sorted(column_slots, key=lambda slot: _mean(before[slot], heights))
        columns.append(tuple(ordered))
        total = sum(_height(slot) for slot in ordered) + DOWN * (len(ordered) - 1)
        top = -total / 2
        for slot in ordered:
            heights[slot] = top + _height(slot) / 2
            top += _height(slot) + DOWN
    highest = min(y - _height(slot) / 2 for slot, y in heights.items())
    lowest = max(y + _height(slot) / 2 for slot, y in heights.items())
    places = {
        slot: (4 + BOX / 2 + index * (BOX + ACROSS), heights[slot] - highest + 4)
        for index, ordered in enumerate(columns)
        for slot in ordered
    }
    width = 8 + len(columns) * BOX + (len(columns) - 1) * ACROSS
    return Layout(tuple(columns), places, width, lowest - highest + 8)


def _mean(previous: Sequence[Slot], heights: Mapping[Slot, float]) -> float:
    return sum(heights[slot] for slot in previous) / len(previous) if previous else 0.0


def _height(slot: Slot) -> float:
    return HEIGHT if isinstance(slot, str) else EDGE


def _unit(task: TaskGraph, unit: str, centre: Point, natural: Score | None) -> Element:
    x, y = centre[0] - BOX / 2, centre[1] - HEIGHT / 2
    node = task.units[unit]
    is_target = unit == task.target
    title = textwrap.shorten(node.title, TITLE_LETTERS, placeholder="…")
    bar: list[Content] = []
    if natural is not None and natural.value is not None:
        inner = BOX - 20
        bar = [
            tag("rect", x=x + 10, y=y + HEIGHT - 11, width=inner, height=4, rx=2, fill=RULE, opacity=0.35),
            tag(
                "rect",
                x=x + 10,
                y=y + HEIGHT - 11,
                width=round(inner * natural.value, 1),
                height=4,
                rx=2,
                fill=COLOURS["NC"],
            ),
        ]
    said = "not asked" if natural is None else f"NC {with_limits(natural)}".replace("\\[", "[")
    return tag(
        "g",
        tag("title", f"{unit} {node.title} ({node.category}): {said}"),
        tag(
            "rect",
            x=x,
            y=y,
            width=BOX,
            height=HEIGHT,
            rx=8,
            class_="unit",
            stroke=COLOURS["S"] if is_target else RULE,
            stroke_width=2.2 if is_target else 1.2,
            fill="#ffffff",
        ),
        _label(x + 10, y + 18, tag("tspan", unit, font_weight="700"), f" {title}", size=12.5),
        _label(x + 10, y + 35, said, size=11.5, faint=True),
        *bar,
    )


def _label(x: float, y: float, *content: Content, size: float, faint: bool = False) -> Element:
    return tag("text", *content, x=x, y=y, font_size=size, fill="currentColor", opacity=0.75 if faint else 1)


def _edge(layout: Layout, parent: str, child: str) -> Element:
    passed = [slot for column in layout.columns for slot in column if isinstance(slot, tuple)]
    stops: list[Slot] = [slot for slot in passed if slot[:2] == (parent, child)]
    x, y = layout.places[parent]
    path = [f"M {x + BOX / 2:g} {y:g}"]
    start = (x + BOX / 2, y)
    for slot in stops:
        x, y = layout.places[slot]
        path += [_curve(start, (x - BOX / 2, y)), f"L {x + BOX / 2:g} {y:g}"]
        start = (x + BOX / 2, y)
    x, y = layout.places[child]
    path.append(_curve(start, (x - BOX / 2 - 5, y)))
    return _line(" ".join(path))


def _curve(start: Point, end: Point) -> str:
    half = (end[0] - start[0]) / 2
    return f"C {start[0] + half:g} {start[1]:g} {end[0] - half:g} {end[1]:g} {end[0]:g} {end[1]:g}"


def _returning(layout: Layout, parent: str, child: str) -> Element:
    """Return the edge from a chain's last unit to its first of the next step, below both."""
    start, end = layout.places[parent], layout.places[child]
    low = layout.height + 20
    foot = HEIGHT / 2
    aside = 30 if parent == child else 0
    return _line(
        f"M {start[0] + aside:g} {start[1] + foot:g} C {start[0] + aside:g} {low:g} {end[0] - aside:g} {low:g}"
        f" {end[0] - aside:g} {end[1] + foot + 5:g}",
        dashed=True,
    )


def _line(path: str, dashed: bool = False) -> Element:
    dashes = {"stroke_dasharray": "5 4"} if dashed else {}
    return tag("path", d=path, fill="none", stroke=COLOURS["NC"], stroke_width=1.5, marker_end="url(#arrow)", **dashes)


def _arrowhead() -> Element:
    head = tag("path", d="M 0 0 L 8 4 L 0 8 z", fill=COLOURS["NC"])
    marker = tag(
        "marker",
        head,
        id="arrow",
        viewBox="0 0 8 8",
        refX=6,
        refY=4,
        markerWidth=7,
        markerHeight=7,
        orient="auto-start-reverse",
    )
    return tag("defs", marker)
