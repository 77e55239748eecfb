"""Points and boxes: when two are the same, and another one that is plausible and wrong.

A point is (x, y), a box (left, top, right, bottom). Where a point is asked, its truth may be the box it has to lie in.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from decimal import Decimal

Coordinate = tuple[float, ...]

DIRECTIONS = tuple((dx, dy) for dx in (-1, 0, 1) for dy in (-1, 0, 1) if dx or dy)
STEPS = (1.0, 1.5, 2.0, 0.5, 0.25)
"""How far a wrong point or box is moved, in sizes of the true one; less than one only where room is short."""


def centre(coordinate: Coordinate) -> Coordinate:
    """Return the middle of a box; a point is its own."""
    if len(coordinate) == 2:
        return coordinate
    left, top, right, bottom = coordinate
    return (left + right) / 2, (top + bottom) / 2


def iou(first: Coordinate, second: Coordinate) -> float:
    """Return the intersection over union of two boxes, between 0 and 1.

    Examples
    --------
    >>> iou((0, 0, 2, 2), (1, 0, 3, 2))
    0.3333333333333333
    """
    width = min(first[2], second[2]) - max(first[0], second[0])
    height = min(first[3], second[3]) - max(first[1], second[1])
    if width <= 0 or height <= 0:
        return 0.0
    common = width * height
    return common / (_area(first) + _area(second) - common)


def same_point(first: Coordinate, second: Coordinate, tolerance: float) -> bool:
    """Return whether two points are at most `tolerance` apart, or a point is as near to a box that it should lie in.

    1e-9 of the numbers' size is allowed, as for other numbers. Of two boxes, the first one's middle is the point.
    """
    if len(first) == 4 and len(second) == 2:
        first, second = second, first
    first = centre(first)
    if len(second) == 4:
        left, top, right, bottom = second
        nearest: Coordinate = (min(max(first[0], left), right), min(max(first[1], top), bottom))
    else:
        nearest = second
    return math.dist(first, nearest) <= tolerance + 1e-9 * max(map(abs, (*first, *nearest)))


def other_points(truth: Coordinate, tolerance: float, low: float, high: float, seed: str) -> Iterator[Coordinate]:
    """Yield points between `low` and `high` that may stand for a wrong answer, in the order of their preference.

    They lie next to the truth: off by a few times the tolerance, or by the size of the box that is the truth.
    """
    middle = centre(truth)
    width, height = (truth[2] - truth[0], truth[3] - truth[1]) if len(truth) == 4 else (0.0, 0.0)
    reach_x, reach_y = (max(size, 3 * tolerance + size / 2, _least(truth)) for size in (width, height))
    yield from _moved(middle, reach_x, reach_y, low, high, seed)


def other_boxes(truth: Coordinate, low: float, high: float, seed: str) -> Iterator[Coordinate]:
    """Yield boxes between `low` and `high` that may stand for a wrong answer, in the order of their preference.

    Boxes of the same size beside the truth; where there is no room for them, a quarter of the true box.
    """
    left, top, right, bottom = truth
    yield from _moved(truth, right - left, bottom - top, low, high, seed)
    x, y = _kept((left + right) / 2, truth), _kept((top + bottom) / 2, truth)
    yield from ((left, top, x, y), (x, y, right, bottom), (left, y, x, bottom), (x, top, right, y))


def _moved(
    coordinate: Coordinate, reach_x: float, reach_y: float, low: float, high: float, seed: str
) -> Iterator[Coordinate]:
    rng = random.Random(seed)
    for step in STEPS:
        for dx, dy in rng.sample(DIRECTIONS, len(DIRECTIONS)):
            shift = (dx * step * reach_x, dy * step * reach_y)
            moved = tuple(_kept(number + shift[i % 2], coordinate) for i, number in enumerate(coordinate))
            if all(low <= number <= high for number in moved):
                yield moved


def decimals(number: float) -> int:
    """Return how many decimal places a number is written with.

    Examples
    --------
    >>> decimals(2.50), decimals(30.0)
    (1, 0)
    """
    return max(0, -int(Decimal(repr(float(number))).normalize().as_tuple().exponent))


def _kept(number: float, like: Coordinate) -> float:
    """Return a number with no more decimals than the truth, which would be told from the truth by its look."""
    least = 2 if max(map(abs, like)) <= 1 else 0
    return round(number, max(least, *map(decimals, like)))


def _least(truth: Coordinate) -> float:
    """Return the least distance that is worth calling another point: a tenth of the truth's size, one step at least."""
    size = max(map(abs, truth))
    if any(number != int(number) for number in truth) and size <= 1:
        return 0.1
    return max(1.0, size / 10)


def _area(box: Coordinate) -> float:
    return (box[2] - box[0]) * (box[3] - box[1])
