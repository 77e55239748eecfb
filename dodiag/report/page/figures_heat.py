"""Tables whose cells are coloured by value, with text that stays readable in the light and in the dark."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from dodiag.report.numbers import number
from dodiag.report.page.markup import Content, Element, tag

STEPS = 20
"""Shades of a scale."""

Colour = tuple[float, float, float]
"""Red, green, blue in 0 to 255."""

SCALES: dict[str, tuple[tuple[str, str, str], tuple[str, str, str]]] = {
    "S": (("#f6f8fc", "#8fb0ee", "#1e46a0"), ("#1d232d", "#2f5cb8", "#a9c8ff")),
    "N": (("#fdf8f3", "#f2b27a", "#a34a00"), ("#1d232d", "#a1520f", "#ffc58f")),
    "plus": (("#f5faf7", "#86cba4", "#0d6b3c"), ("#1d232d", "#23764a", "#9be3bb")),
    "minus": (("#fdf6f6", "#eb9a9a", "#9c1f1f"), ("#1d232d", "#953333", "#ffb0a8")),
}
"""Colours of each scale at 0, ½ and 1: on light ground, then on dark ground."""


@dataclass(frozen=True, slots=True)
class Cell:
    """A value in a coloured table.

    Attributes
    ----------
    value : float or None
    said : str
        What shows when the pointer rests on it: limits, counts, or why there is no value.
    flagged : bool
        Whether a star follows it.
    strong : bool
        Whether it stands out among those it is compared with.
    """

    value: float | None
    said: str
    flagged: bool = False
    strong: bool = False


def heat_table(
    scale: str,
    columns: Sequence[str],
    groups: Sequence[tuple[Content, Sequence[tuple[Content, Sequence[Cell | None]]]]],
    *,
    last_apart: bool = False,
) -> Element:
    """Return a table of coloured cells.

    Parameters
    ----------
    scale : {"N", "S", "plus"}
        ``plus`` has values from −1 to 1, the negative ones in another colour.
    columns : sequence of str
    groups : sequence of (heading or None, rows)
        A row is its label and a cell, or nothing, for every column.
    last_apart : bool
        Whether the last column stands apart: a mean over the others.
    """
    body: list[Content] = []
    for heading, rows in groups:
        if heading is not None:
            body.append(tag("tr", tag("td", heading, colspan=len(columns) + 1), class_="group"))
        for label, cells in rows:
            body.append(
                tag(
                    "tr",
                    tag("th", label, scope="row"),
                    *(_cell(scale, cell, last_apart and i == len(columns) - 1) for i, cell in enumerate(cells)),
                )
            )
    kind = "heat upright" if max(map(len, columns), default=0) > 10 else "heat"
    heads = [
        tag(
            "th",
            tag("span", column),
            scope="col",
            **({"class_": "apart"} if last_apart and i == len(columns) - 1 else {}),
        )
        for i, column in enumerate(columns)
    ]
    return tag("table", tag("thead", tag("tr", tag("td"), *heads)), tag("tbody", *body), class_=kind)


def _cell(scale: str, cell: Cell | None, apart: bool) -> Element:
    kinds = ["apart"] if apart else []
    if cell is None:
        return tag("td", class_=" ".join(kinds))
    if cell.value is None:
        return tag("td", "–", title=cell.said, class_=" ".join([*kinds, "faint"]))
    text = f"{number(cell.value)}{'*' if cell.flagged else ''}"
    content: Content = tag("b", text) if cell.strong else text
    return tag("td", content, title=cell.said, class_=" ".join([*kinds, shade(scale, cell.value)]))


def shade(scale: str, value: float) -> str:
    """Return the class of a value's colour."""
    name = "minus" if scale == "plus" and value < 0 else scale
    return f"{name}{round(min(1.0, abs(value)) * STEPS)}"


def heat_style() -> str:
    """Return the style sheet of all shades, for light and dark ground."""
    light, dark = ("".join(_rules(index)) for index in (0, 1))
    return f"{light}@media (prefers-color-scheme: dark) {{\n{dark}}}\n"


def _rules(ground: int) -> Iterator[str]:
    for scale in SCALES:
        for step in range(STEPS + 1):
            back = colour_at(scale, step / STEPS, ground)
            yield f".heat .{scale}{step} {{ background: {written(back)}; color: {ink_on(back)}; }}\n"


def colour_at(scale: str, share: float, ground: int) -> Colour:
    """Return a scale's colour at a share of its length, on light (0) or dark ground (1)."""
    low, middle, high = (_parsed(text) for text in SCALES[scale][ground])
    start, end, way = (low, middle, 2 * share) if share < 0.5 else (middle, high, 2 * share - 1)
    red, green, blue = (one + way * (other - one) for one, other in zip(start, end, strict=True))
    return red, green, blue


def ink_on(back: Colour) -> str:
    """Return black or white, whichever is easier to read on a colour; at least 4.5 : 1."""
    light = luminance(back)
    return "#fff" if 1.05 / (light + 0.05) > (light + 0.05) / 0.05 else "#000"


def luminance(colour: Colour) -> float:
    """Return the relative luminance of a colour, in [0, 1] (WCAG 2.2)."""
    parts = [c / 255 / 12.92 if c / 255 <= 0.04045 else ((c / 255 + 0.055) / 1.055) ** 2.4 for c in colour]
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]


def written(colour: Colour) -> str:
    """Return a colour as CSS writes it."""
    return "#" + "".join(f"{round(part):02x}" for part in colour)


def _parsed(text: str) -> Colour:
    red, green, blue = (int(text[start : start + 2], 16) for start in (1, 3, 5))
    return float(red), float(green), float(blue)
