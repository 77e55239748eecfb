"""Points and boxes in a picture: canonical form, distance, overlap, and places that a wrong answer may be at.

A point is ``(x, y)`` and a box ``(left, top, right, bottom)``, from the top left corner of the picture.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from enum import StrEnum

Coordinates = tuple[float, ...]

POINT, BOX = 2, 4
"""Numbers of a point, and of a box."""


class Shape(StrEnum):
    """What a coordinate answer gives: a point, a box, or a point that has to lie in the truth's box."""

    POINT = "point"
    BOX = "box"
    POINT_IN_BOX = "point_in_box"


class Scale(StrEnum):
    """The unit of coordinates: pixels, fractions of width and height, or thousandths of them."""

    PIXEL = "pixel"
    FRACTION = "fraction"
    THOUSANDTH = "thousandth"

    @property
    def limit(self) -> float:
        """The far edge of the picture; infinite for pixels, whose number is not known here."""
        return {Scale.PIXEL: math.inf, Scale.FRACTION: 1.0, Scale.THOUSANDTH: 1000.0}[self]


def canonical(numbers: Coordinates, sizes: tuple[int, ...], scale: Scale) -> Coordinates:
    """Return a point, or a box with its left top corner first.

    Parameters
    ----------
    numbers : tuple of float
        Finite numbers in reading order; of a box, any two opposite corners.
    sizes : tuple of int
        How many numbers are allowed: 2 for a point, 4 for a box.
    scale : Scale
        What the numbers are measured in.

    Raises
    ------
    ValueError
        If there are more or fewer numbers, one is outside the picture, or a box has no area.
    """
    if len(numbers) not in sizes:
        raise ValueError(f"has {len(numbers)} numbers instead of {' or '.join(map(str, sizes))}")
    outside = next((number for number in numbers if not 0 <= number <= scale.limit), None)
    if outside is not None:
        raise ValueError(f"{outside:g} is outside the picture (0 to {scale.limit:g}, in {scale}s)")
    if len(numbers) == POINT:
        return numbers
    first, second, third, fourth = numbers
    box = (min(first, third), min(second, fourth), max(first, third), max(second, fourth))
    if box[0] == box[2] or box[1] == box[3]:
        raise ValueError("is a box without area")
    return box


def distance(first: Coordinates, second: Coordinates) -> float:
    """Return the Euclidean distance of two points."""
    return math.dist(first, second)


def inside(point: Coordinates, box: Coordinates) -> bool:
    """Return whether a point lies in a box or on its edge."""
    return box[0] <= point[0] <= box[2] and box[1] <= point[1] <= box[3]


def overlap(first: Coordinates, second: Coordinates) -> float:
    """Return the intersection over union of two boxes with area, in [0, 1].

    Examples
    --------
    >>> overlap((0, 0, 2, 2), (1, 0, 3, 2))
    0.3333333333333333
    """
    width = min(first[2], second[2]) - max(first[0], second[0])
    height = min(first[3], second[3]) - max(first[1], second[1])
    if width <= 0 or height <= 0:
        return 0.0
    common = width * height
    return common / (_area(first) + _area(second) - common)


def centre(box: Coordinates) -> Coordinates:
    """Return the middle of a box."""
    return ((box[0] + box[2]) / 2, (box[1] + box[3]) / 2)


def other_places(truth: Coordinates, scale: Scale, reach: float, rng: random.Random) -> Iterator[Coordinates]:
    """Yield places near the truth that are not at it, in random order, of the truth's own form.

    A point moves by one to three times `reach`, a box by half to one and a half of its size, along either axis or
    both. Numbers keep the truth's precision.

    Parameters
    ----------
    truth : tuple of float
        A point or a box.
    scale : Scale
        What it is measured in.
    reach : float
        A distance that is plainly wrong for a point; not used for a box.
    rng : random.Random
        Orders the places.
    """
    across, down = (reach, reach) if len(truth) == POINT else (truth[2] - truth[0], truth[3] - truth[1])
    factors = (1.0, 1.5, 2.0, 3.0) if len(truth) == POINT else (0.5, 0.75, 1.0, 1.5)
    steps = (0.0, *factors, *(-factor for factor in factors))
    digits = 0 if scale is not Scale.FRACTION and all(number.is_integer() for number in truth) else 4
    moves = [(right * across, below * down) for right in steps for below in steps if right or below]
    rng.shuffle(moves)
    for right, below in moves:
        yield tuple(
            float(round(number + (below if place % 2 else right), digits)) for place, number in enumerate(truth)
        )


def _area(box: Coordinates) -> float:
    return (box[2] - box[0]) * (box[3] - box[1])
