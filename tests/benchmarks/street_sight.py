"""A second look at street pictures: a pinhole and a sense of colours that owe nothing to the generators."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

WIDTH, HEIGHT = 640, 400
LENGTHS = {"car": 4.5, "van": 5.4, "truck": 7.6, "bus": 10.6, "motorcycle": 2.1}
WIDTHS = {"car": 2.0, "van": 2.4, "truck": 2.4, "bus": 2.5, "motorcycle": 0.8}
"""With mirrors."""
HEIGHTS = {"car": 1.5, "van": 2.3, "truck": 3.3, "bus": 3.1, "motorcycle": 1.62}
YAW = {
    "front centre": 0,
    "front left": 45,
    "front right": -45,
    "side left": 99,
    "side right": -99,
    "rear left": 153,
    "rear right": -153,
}
WALKER = (1.0, 0.8, 1.95)
"""Room of a person in mid-stride on a kerb."""
HUES = {"orange": (12, 40), "yellow": (40, 70), "green": (95, 170), "blue": (203, 252), "purple": (255, 316)}


@dataclass(frozen=True)
class Eye:
    """A camera: where it is, where it looks (degrees counter-clockwise from +x), how far down, its angle of view."""

    x: float
    y: float
    z: float
    yaw: float
    down: float
    across: float

    def see(self, point: tuple[float, float, float]) -> tuple[float, float, float]:
        """Return column, row and depth of a point."""
        dx, dy, dz = point[0] - self.x, point[1] - self.y, point[2] - self.z
        yaw, down = math.radians(self.yaw), math.radians(self.down)
        level = dx * math.cos(yaw) + dy * math.sin(yaw)
        right = dx * math.sin(yaw) - dy * math.cos(yaw)
        depth = level * math.cos(down) - dz * math.sin(down)
        up = level * math.sin(down) + dz * math.cos(down)
        focal = WIDTH / 2 / math.tan(math.radians(self.across) / 2)
        if depth <= 0.05:
            return math.nan, math.nan, depth
        return WIDTH / 2 + focal * right / depth, HEIGHT / 2 - focal * up / depth, depth


@dataclass(frozen=True)
class Outline:
    """The box around a thing's block as an eye sees it, unclipped; `behind` that part of it is behind the eye."""

    left: float
    top: float
    right: float
    bottom: float
    behind: bool

    @property
    def in_sight(self) -> bool:
        return not self.behind and self.right > 0 and self.left < WIDTH and self.bottom > 0 and self.top < HEIGHT

    @property
    def whole(self) -> bool:
        return not self.behind and self.left >= 0 and self.right <= WIDTH

    @property
    def middle(self) -> float:
        """Of what is in the picture, from left to right."""
        return (max(self.left, 0) + min(self.right, WIDTH)) / 2


def outline(thing: Mapping[str, Any], eye: Eye) -> Outline:
    """Return what a thing's block takes up."""
    kind = thing.get("kind")
    length, width, height = (LENGTHS[kind], WIDTHS[kind], HEIGHTS[kind]) if kind in LENGTHS else WALKER
    ahead = math.radians(thing["heading"])
    seen = [
        eye.see(
            (
                thing["x"] + along * length / 2 * math.cos(ahead) - side * width / 2 * math.sin(ahead),
                thing["y"] + along * length / 2 * math.sin(ahead) + side * width / 2 * math.cos(ahead),
                up * height,
            )
        )
        for along in (-1, 1)
        for side in (-1, 1)
        for up in (0, 1)
    ]
    columns, rows = [column for column, _, _ in seen], [row for _, row, _ in seen]
    return Outline(min(columns), min(rows), max(columns), max(rows), min(depth for _, _, depth in seen) <= 0.05)


def third(column: float) -> str:
    return "ABC"[min(2, max(0, int(3 * column / WIDTH)))]


def colour_share(picture: np.ndarray, box: tuple[float, float, float, float], colour: str) -> float:
    """Return the share of a box's pixels that a person would call by a colour's name."""
    left, top, right, bottom = (round(edge) for edge in box)
    patch = picture[max(top, 0) : max(bottom, 0), max(left, 0) : max(right, 0)].astype(float) / 255
    if patch.size == 0:
        return 0.0
    high, low = patch.max(axis=-1), patch.min(axis=-1)
    spread = np.where(high > low, high - low, 1e-9)
    red, green, blue = np.moveaxis(patch, -1, 0)
    hue = np.where(
        high == red,
        (green - blue) / spread % 6,
        np.where(high == green, (blue - red) / spread + 2, (red - green) / spread + 4),
    )
    hue, strength = 60 * hue, spread / np.maximum(high, 1e-9)
    if colour == "black":
        called = high < 0.2
    elif colour == "white":
        called = (strength < 0.3) & (high > 0.42)
    elif colour == "pink":
        called = ((hue > 300) | (hue < 8)) & (strength > 0.2) & (strength < 0.72) & (high > 0.3)
    elif colour == "red":
        called = ((hue > 345) | (hue < 13)) & (strength > 0.6) & (high > 0.15)
    else:
        start, stop = HUES[colour]
        called = (hue > start) & (hue < stop) & (strength > 0.4) & (high > 0.12)
    return float(called.mean())


def colour_of(thing: Mapping[str, Any]) -> str:
    return thing["colour"] if "colour" in thing else thing["clothing"]


def load(path: Path) -> np.ndarray:
    with Image.open(path) as picture:
        return np.asarray(picture.convert("RGB"))


def fits(box: list[float], seen: Outline, room: float = 6.0) -> bool:
    """Return whether a measured box lies in an outline and fills a good part of its width in the picture."""
    left, top, right, bottom = box
    inside = (
        left >= seen.left - room
        and right <= seen.right + room
        and top >= seen.top - room - 0.12 * (seen.bottom - seen.top)
        and bottom <= seen.bottom + room
    )
    return inside and right - left >= 0.28 * (min(seen.right, WIDTH) - max(seen.left, 0)) - 2


def told(instance: Mapping[str, Any], question_id: str) -> str | list[str] | int:
    """Return an answer as its option's own text, where it has options."""
    question = next(question for question in instance["questions"] if question["id"] == question_id)
    answer = question["answer"]
    if isinstance(answer, str) and "choices" in question:
        return question["choices"]["ABCDEFGHIJ".index(answer)]
    return answer


def asked(instance: Mapping[str, Any], unit: str) -> Iterator[Mapping[str, Any]]:
    yield from (question for question in instance["questions"] if question["unit"] == unit)
