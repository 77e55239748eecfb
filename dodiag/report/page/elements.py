"""What pages are made of: the page itself, sections, tables, and parts that open on demand."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from importlib import resources

from dodiag.report.page.markup import Content, Element, html, tag

Row = Sequence[Content]


def whole_page(title: str, parts: Iterable[Content], more_style: str = "") -> str:
    """Return a page that needs no other file and no network."""
    style = resources.files(__package__).joinpath("page.css").read_text(encoding="utf-8")
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", name_="viewport", content_="width=device-width, initial-scale=1"),
        tag("title", title),
        tag("style", style + more_style),
    )
    return "<!DOCTYPE html>\n" + html(tag("html", head, tag("body", *parts), lang="en")) + "\n"


def faint(text: str) -> Element:
    """Return a paragraph beside the matter."""
    return tag("p", text, class_="faint")


def notice(text: str) -> Element:
    """Return what a reader has to know before any number."""
    return tag("p", text, class_="notice")


def wide(content: Content) -> Element:
    """Return content that scrolls sideways where the window is too narrow for it."""
    return tag("div", content, class_="wide")


def legend(entries: Iterable[tuple[str, str]]) -> Element:
    """Return what colours stand for, from pairs of a colour (a CSS background) and a meaning."""
    return tag(
        "p",
        *(
            tag("span", tag("span", class_="swatch", style=f"background:{colour}"), meaning)
            for colour, meaning in entries
        ),
        class_="legend faint",
    )


def table(
    head: Row,
    groups: Iterable[tuple[Content, Sequence[Row]]],
    *,
    numbers: Sequence[int] = (),
    words: Sequence[int] = (),
) -> Element:
    """Return a table; each group of rows may have a line of its own above it.

    Parameters
    ----------
    head : sequence of Content
    groups : iterable of (Content, sequence of rows)
    numbers, words : sequence of int
        Columns of numbers, which align right, and of sentences, which may break.
    """

    def cell(name: str, index: int, content: Content) -> Element:
        if isinstance(content, Element) and content.tag in ("td", "th"):
            return content
        if index in numbers:
            return tag(name, content, class_="number")
        return tag(name, content, class_="words") if index in words else tag(name, content)

    def line(name: str, cells: Row) -> Element:
        return tag("tr", *(cell(name, index, content) for index, content in enumerate(cells)))

    body: list[Content] = []
    for heading, rows in groups:
        if heading is not None:
            body.append(tag("tr", tag("td", heading, colspan=len(head)), class_="group"))
        body += [line("td", cells) for cells in rows]
    return tag("table", tag("thead", line("th", head)), tag("tbody", *body))


def on_demand(summary: str, *content: Content) -> Element:
    """Return content that shows when its summary is clicked."""
    return tag("details", tag("summary", summary), *content)
