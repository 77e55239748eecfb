"""Elements of an HTML page; nothing that a task or a model wrote can become markup."""

from __future__ import annotations

from collections.abc import Iterable
from xml.etree import ElementTree as ET

from dodiag.report.call_view import harmless

Element = ET.Element
Content = Element | str | None


def tag(name: str, *content: Content, **attributes: str | float) -> Element:
    """Return an element with its content; None is left out.

    Attribute names are written with underscores: ``class_`` is ``class``, ``stroke_width`` is ``stroke-width``.

    Examples
    --------
    >>> html(tag("p", "1 < 2, ", tag("b", "so"), class_="note"))
    '<p class="note">1 &lt; 2, <b>so</b></p>'
    """
    element = Element(name, {_attribute(key): _text(value) for key, value in attributes.items()})
    return fill(element, content)


def fill(element: Element, content: Iterable[Content]) -> Element:
    """Append elements and text to an element, and return it."""
    last: Element | None = element[-1] if len(element) else None
    for part in content:
        if isinstance(part, Element):
            element.append(part)
            last = part
        elif part is not None:
            text = harmless(part)
            if last is None:
                element.text = (element.text or "") + text
            else:
                last.tail = (last.tail or "") + text
    return element


def html(element: Element) -> str:
    """Return an element as HTML text."""
    return ET.tostring(element, encoding="unicode", method="html")


def _attribute(name: str) -> str:
    return name.rstrip("_").replace("_", "-")


def _text(value: str | float) -> str:
    return harmless(value) if isinstance(value, str) else f"{value:g}" if abs(value) < 1e4 else f"{value:.0f}"
