"""Draw the truth of state 1 on a copy of a picture."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from dodiag.problems import DodiagError
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


def annotate(data: bytes, drawings: Sequence[Drawing]) -> bytes:
    """Return a copy of an encoded picture with annotations drawn on it, in the same format.

    Parameters
    ----------
    data : bytes
        The encoded picture.
    drawings : sequence of (colour, Annotation)
        In pixel coordinates of the picture as stored. Boxes are outlined, points marked with a ring, paths drawn with
        an arrow head; labels stand beside them on a plate, so they can be read on any ground. No plate hides a shape:
        shapes are drawn over plates.

    Raises
    ------
    DodiagError
        If the bytes are not a picture that Pillow reads.
    """
    from PIL import Image, ImageDraw, UnidentifiedImageError

    try:
        picture: Image.Image = Image.open(io.BytesIO(data))
        form = picture.format or "PNG"
        picture = picture.convert("RGBA" if picture.mode in ("RGBA", "LA", "PA") else "RGB")
    except (UnidentifiedImageError, OSError) as error:
        raise DodiagError(f"the picture cannot be annotated: {error}", "Store it as PNG or JPEG.") from None
    canvas = ImageDraw.Draw(picture)
    width = max(2, round(min(picture.size) / 250))
    shapes = [_bounds(annotation, 4 * width) for _, annotation in drawings]
    plates: list[Rectangle] = []
    for (colour, annotation), shape in zip(drawings, shapes, strict=True):
        if annotation.label:
            plates.append(_draw_label(canvas, picture.size, annotation.label, colour, shape, shapes, plates))
    for colour, annotation in drawings:
        _draw_shape(canvas, annotation, colour, width)
    out = io.BytesIO()
    if form == "JPEG":
        picture.convert("RGB").save(out, form, quality=95, subsampling=0)
    elif form == "PNG":
        picture.save(out, form, compress_level=3)
    else:
        picture.save(out, "PNG", compress_level=3)
    return out.getvalue()


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
    length = (dx * dx + dy * dy) ** 0.5 or 1.0
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
