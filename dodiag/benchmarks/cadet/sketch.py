"""A canvas for flat pictures: shapes and text in its pixels, drawn twice as large and brought down for smooth edges.

The font is the one that Pillow carries, so that a machine without fonts draws the same picture.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from dodiag.problems import MissingDependency

if TYPE_CHECKING:
    from PIL import Image, ImageFont

RGB = tuple[int, int, int]
Pixel = tuple[float, float]
Box = tuple[float, float, float, float]
"""Left, top, right, bottom."""

SCALE = 2
LETTER_WIDTH, LETTER_HEIGHT = 0.6, 1.15
"""Of a letter on average, as shares of the font size; an upper estimate, so that it also holds for another font."""


def require_fonts() -> None:
    """Check that Pillow can draw text in any size.

    Raises
    ------
    MissingDependency
        If it was built without FreeType.
    """
    from PIL import features

    if not features.check("freetype2"):
        raise MissingDependency(
            "Pillow was built without FreeType, so no text can be drawn",
            "Install the wheel: pip install --force-reinstall --only-binary :all: pillow",
        )


def text_size(text: str, size: float) -> tuple[float, float]:
    """Return an estimate of a text's width and height in pixels that does not depend on the font's build."""
    return LETTER_WIDTH * size * len(text), LETTER_HEIGHT * size


@lru_cache(maxsize=64)
def _font(size: int) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    from PIL import ImageFont

    return ImageFont.load_default(size)


class Canvas:
    """A picture that is being drawn; all coordinates and widths are pixels of the finished picture.

    Parameters
    ----------
    width, height : int
    ground : RGB
    """

    def __init__(self, width: int, height: int, ground: RGB) -> None:
        from PIL import Image, ImageDraw

        self.size = (width, height)
        self._image = Image.new("RGB", (width * SCALE, height * SCALE), ground)
        self._draw = ImageDraw.Draw(self._image)

    def line(self, points: Sequence[Pixel], colour: RGB, width: float) -> None:
        """Draw a line through points, with round ends and joints."""
        self._draw.line([_up(point) for point in points], colour, round(width * SCALE), joint="curve")
        for point in points:
            self.disc(point, width / 2, colour)

    def dashes(self, start: Pixel, end: Pixel, colour: RGB, width: float, dash: float = 6) -> None:
        """Draw a broken line whose gaps are as long as its dashes."""
        length = ((end[0] - start[0]) ** 2 + (end[1] - start[1]) ** 2) ** 0.5
        along = 0.0
        while along < length:
            ends = [_between(start, end, min(at, length) / length) for at in (along, along + dash)]
            self._draw.line([_up(point) for point in ends], colour, round(width * SCALE))
            along += 2 * dash

    def disc(self, centre: Pixel, radius: float, colour: RGB, edge: RGB | None = None, edge_width: float = 0) -> None:
        """Draw a filled circle."""
        x, y = centre
        box = [*_up((x - radius, y - radius)), *_up((x + radius, y + radius))]
        self._draw.ellipse(box, colour, edge, round(edge_width * SCALE))

    def polygon(self, points: Sequence[Pixel], colour: RGB, edge: RGB | None = None, edge_width: float = 0) -> None:
        """Draw a filled polygon."""
        corners = [_up(point) for point in points]
        if edge is not None and edge_width:
            self._draw.line([*corners, *corners[:2]], edge, round(2 * edge_width * SCALE), joint="curve")
        self._draw.polygon(corners, colour)

    def box(
        self, box: Box, colour: RGB | None, edge: RGB | None = None, edge_width: float = 0, radius: float = 0
    ) -> None:
        """Draw a rectangle with round corners."""
        ends = [*_up(box[:2]), *_up(box[2:])]
        self._draw.rounded_rectangle(ends, radius * SCALE, colour, edge, round(edge_width * SCALE))

    def text(
        self, centre: Pixel, text: str, size: float, colour: RGB, halo: RGB | None = None, bold: bool = False
    ) -> None:
        """Write a line of text, its middle at `centre`; `halo` is a rim that keeps it readable on any ground."""
        font = _font(round(size * SCALE))
        if halo is not None:
            rim = round(2.4 * SCALE)
            self._draw.text(_up(centre), text, colour, font, "mm", stroke_width=rim, stroke_fill=halo)
        self._draw.text(_up(centre), text, colour, font, "mm", stroke_width=int(bold), stroke_fill=colour)

    def slanted_text(self, centre: Pixel, text: str, size: float, colour: RGB, degrees: float) -> None:
        """Write a line of text, turned counter-clockwise by `degrees` about its middle."""
        from PIL import Image, ImageDraw

        font = _font(round(size * SCALE))
        left, top, right, bottom = font.getbbox(text, anchor="mm")
        half = round(max(right - left, bottom - top) / 2) + 4
        mask = Image.new("L", (2 * half, 2 * half), 0)
        ImageDraw.Draw(mask).text((half, half), text, 255, font, "mm")
        turned = mask.rotate(degrees, Image.Resampling.BICUBIC)
        x, y = _up(centre)
        self._image.paste(colour, (round(x) - half, round(y) - half), turned)

    def picture(self) -> Image.Image:
        """Return the finished picture."""
        from PIL import Image

        return self._image.resize(self.size, Image.Resampling.BOX)

    def png(self) -> bytes:
        """Return the finished picture as a PNG file."""
        buffer = io.BytesIO()
        self.picture().save(buffer, "PNG", compress_level=9)
        return buffer.getvalue()


def _up(point: Pixel) -> Pixel:
    return point[0] * SCALE, point[1] * SCALE


def _between(start: Pixel, end: Pixel, share: float) -> Pixel:
    return start[0] + share * (end[0] - start[0]), start[1] + share * (end[1] - start[1])
