"""Draw the truth of state 1 on a copy of a picture."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING

from dodiag.interventions.media import MediaRule, Medium
from dodiag.interventions.pictures import Picture, encode, prepare, scaled, upright
from dodiag.scm.media import kind_of, open_picture
from dodiag.scm.pack import Annotation, Point

if TYPE_CHECKING:
    from PIL import Image, ImageDraw

Drawing = tuple[str, Annotation]
"""The colour of a prerequisite, and one of its annotations."""

Rectangle = tuple[float, float, float, float]
"""Left, top, right, bottom."""

PALETTE = ("#ff2d2d", "#00c2ff", "#ffb300", "#b04dff", "#00d26a", "#ff5fb7", "#8d6e3f", "#5f7cff")


def colour_of(index: int) -> str:
    """Return the colour that the index-th prerequisite of a unit is drawn in."""
    return PALETTE[index % len(PALETTE)]


def annotate(data: bytes, drawings: Sequence[Drawing], rule: MediaRule | None = None) -> bytes:
    """Return an encoded copy of an encoded picture with annotations drawn on it; see :func:`annotated`."""
    rule = rule or MediaRule()
    return annotated(prepare(data, "picture", rule), drawings, rule).data


def annotated(ready: Picture, drawings: Sequence[Drawing], rule: MediaRule) -> Medium:
    """Return a copy of a prepared picture with annotations drawn on it, encoded as the picture itself is sent.

    Parameters
    ----------
    ready : Picture
    drawings : sequence of (colour, Annotation)
        In pixel coordinates of the upright picture, before the rule scales it; they are scaled with it. Boxes are
        outlined, along the picture's edge where they reach beyond it; points are marked with a ring, and so is a path
        that goes nowhere; other paths are drawn with an arrow head. Labels stand beside them on a plate, so they can be
        read on any ground. No plate hides a shape: shapes are drawn over plates.
    rule : MediaRule

    Raises
    ------
    MediumError
        If the copy cannot be brought within the rule.
    """
    with open_picture(ready.source, kind_of(ready.source, ready.name), ready.name) as opened:
        base = upright(opened, ready.name, rule.ground)

    def render(size: tuple[int, int]) -> Image.Image:
        shown = base.copy() if size == base.size else scaled(base, size)
        across, down = size[0] / base.width, size[1] / base.height
        draw(shown, [(colour, _stretched(annotation, across, down)) for colour, annotation in drawings])
        return shown

    medium, _ = encode(render, base.size, ready.form, ready.rung, ready.name, rule)
    return medium


def _stretched(annotation: Annotation, across: float, down: float) -> Annotation:
    """Return an annotation in the coordinates of a scaled picture."""
    if across == down == 1.0:
        return annotation
    if annotation.box is not None:
        left, top, right, bottom = annotation.box
        return annotation.model_copy(update={"box": (left * across, top * down, right * across, bottom * down)})
    if annotation.point is not None:
        return annotation.model_copy(update={"point": (annotation.point[0] * across, annotation.point[1] * down)})
    path = tuple((x * across, y * down) for x, y in annotation.path or ())
    return annotation.model_copy(update={"path": path})


def draw(picture: Image.Image, drawings: Sequence[Drawing]) -> None:
    """Draw annotations on a decoded picture, in its own pixel coordinates."""
    from PIL import ImageDraw

    canvas = ImageDraw.Draw(picture)
    drawings = [(colour, _visible(annotation, picture.size)) for colour, annotation in drawings]
    width = max(2, round(min(picture.size) / 250))
    shapes = [_bounds(annotation, 4 * width) for _, annotation in drawings]
    plates: list[Rectangle] = []
    for (colour, annotation), shape in zip(drawings, shapes, strict=True):
        if annotation.label:
            plates.append(_draw_label(canvas, picture.size, annotation.label, colour, shape, shapes, plates))
    for colour, annotation in drawings:
        _draw_shape(canvas, annotation, colour, width)


def _visible(annotation: Annotation, size: tuple[int, int]) -> Annotation:
    """Return an annotation that can be seen on a picture of this size.

    A box keeps to the picture, since of an outline beyond the edge nothing would be seen. A path has no step without a
    direction, and one that goes nowhere is a point.
    """
    if annotation.box is not None:
        left, top, right, bottom = annotation.box
        across, down = size[0] - 1, size[1] - 1
        box = (_between(left, across), _between(top, down), _between(right, across), _between(bottom, down))
        return annotation.model_copy(update={"box": box})
    path = tuple(point for point, _ in groupby(annotation.path or ()))
    shape = {"path": None, "point": path[0]} if len(path) == 1 else {"path": path or None}
    return annotation.model_copy(update=shape)


def _between(value: float, most: float) -> float:
    return min(max(value, 0), most)


def _bounds(annotation: Annotation, radius: int) -> Rectangle:
    if annotation.box is not None:
        return annotation.box
    points = annotation.path or ()
    if annotation.point is not None:
        x, y = annotation.point
        points = ((x - radius, y - radius), (x + radius, y + radius))
    xs, ys = [x for x, _ in points], [y for _, y in points]
    return min(xs), min(ys), max(xs), max(ys)


def _draw_shape(canvas: ImageDraw.ImageDraw, annotation: Annotation, colour: str, width: int) -> None:
    if annotation.box is not None:
        canvas.rectangle(annotation.box, outline=colour, width=width)
    elif annotation.point is not None:
        x, y = annotation.point
        radius = 4 * width
        canvas.ellipse((x - radius, y - radius, x + radius, y + radius), outline=colour, width=width)
        canvas.ellipse((x - width, y - width, x + width, y + width), fill=colour)
    elif annotation.path is not None:
        path = annotation.path
        canvas.line(list(path), fill=colour, width=width, joint="curve")
        if path[0] != path[-1]:
            _draw_arrow_head(canvas, path[-2], path[-1], colour, 5 * width)


def _draw_arrow_head(canvas: ImageDraw.ImageDraw, start: Point, tip: Point, colour: str, size: int) -> None:
    dx, dy = tip[0] - start[0], tip[1] - start[1]
    length = math.hypot(dx, dy)
    ux, uy = dx / length, dy / length
    back = (tip[0] - size * ux, tip[1] - size * uy)
    half = size / 2
    left, right = (back[0] - half * uy, back[1] + half * ux), (back[0] + half * uy, back[1] - half * ux)
    canvas.polygon([tip, left, right], fill=colour)


def _draw_label(
    canvas: ImageDraw.ImageDraw,
    size: tuple[int, int],
    label: str,
    colour: str,
    shape: Rectangle,
    shapes: Sequence[Rectangle],
    plates: Sequence[Rectangle],
) -> Rectangle:
    """Draw a label on a plate beside its shape, where it covers least of the shapes and of the plates before it."""
    from PIL import ImageFont

    font = ImageFont.load_default(max(12, round(min(size) / 40)))
    left, top, right, bottom = canvas.textbbox((0, 0), label, font=font)
    pad = 2
    wide, high = right - left + 2 * pad, bottom - top + 2 * pad
    taken = [*shapes, *plates, *plates]
    places = [_inside(place, wide, high, size) for place in _beside(shape, wide, high)]
    x, y, *_ = plate = min(places, key=lambda place: sum(_overlap(place, other) for other in taken))
    canvas.rectangle(plate, fill=colour)
    luminance = sum(w * int(colour[i : i + 2], 16) for w, i in ((0.299, 1), (0.587, 3), (0.114, 5)))
    canvas.text((x + pad - left, y + pad - top), label, font=font, fill="black" if luminance > 140 else "white")
    return plate


def _beside(shape: Rectangle, wide: float, high: float) -> Iterator[Point]:
    """Yield where a plate may stand: above its shape if it can, then below, right and left, then further away."""
    left, top, right, bottom = shape
    for row in range(8):
        away = 1 + row * (high + 1)
        yield left, top - high - away
        yield left, bottom + away
        yield right + 1 + row * (wide + 1), top
        yield left - wide - 1 - row * (wide + 1), top


def _inside(place: Point, wide: float, high: float, size: tuple[int, int]) -> Rectangle:
    x = min(max(place[0], 0), max(size[0] - wide - 1, 0))
    y = min(max(place[1], 0), max(size[1] - high - 1, 0))
    return x, y, x + wide, y + high


def _overlap(first: Rectangle, second: Rectangle) -> float:
    wide = min(first[2], second[2]) - max(first[0], second[0])
    high = min(first[3], second[3]) - max(first[1], second[1])
    return max(wide + 1, 0) * max(high + 1, 0)
