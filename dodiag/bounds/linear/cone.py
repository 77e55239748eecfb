"""Extreme rays of a polyhedral cone by the double description method (Motzkin, Raiffa, Thompson & Thrall 1953).

Over whole numbers, hence exact. The vertices of a polyhedron are the extreme rays of the cone over it.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from fractions import Fraction

from dodiag.bounds.linear.certificate import Rational
from dodiag.bounds.linear.errors import NoClosedForm

Vector = tuple[int, ...]

MOST_RAYS = 5_000
"""With more rays than this on the way the enumeration stops: it would take too long."""


def extreme_rays(inequalities: Sequence[Sequence[Rational]]) -> list[Vector]:
    """Return the extreme rays of {z : inequality · z >= 0 for all}, as whole numbers without a common factor.

    Parameters
    ----------
    inequalities : sequence of sequence of Fraction, shape (inequalities, dimension)
        They have to span the space, so that the cone holds no line.

    Raises
    ------
    ValueError
        If the cone holds a line.
    NoClosedForm
        If the cone has too many rays to enumerate.

    Examples
    --------
    >>> sorted(extreme_rays([(1, 0), (-1, 2)]))
    [(0, 1), (2, 1)]
    """
    rows = [primitive(row) for row in inequalities]
    first = independent(rows)
    dimension = len(rows[0])
    if len(first) < dimension:
        raise ValueError("the inequalities leave a line free")
    start = _inverse([rows[index] for index in first])
    everything = (1 << dimension) - 1
    order = [*first, *(index for index in range(len(rows)) if index not in set(first))]
    rays = [(primitive(column), everything ^ (1 << place)) for place, column in enumerate(zip(*start, strict=True))]
    for place, index in enumerate(order[dimension:], start=dimension):
        rays = _cut(rays, rows[index], place, dimension)
        if len(rays) > MOST_RAYS:
            raise NoClosedForm(len(rays))
    return [ray for ray, _ in rays]


def _cut(rays: list[tuple[Vector, int]], row: Vector, place: int, dimension: int) -> list[tuple[Vector, int]]:
    """Cut a cone, given by its rays and the sets of inequalities they meet with equality, with one more inequality."""
    values = [sum(map(operator.mul, row, ray)) for ray, _ in rays]
    kept = [(ray, met | (not value) << place) for (ray, met), value in zip(rays, values, strict=True) if value >= 0]
    inside = [(ray, met, value) for (ray, met), value in zip(rays, values, strict=True) if value > 0]
    outside = [(ray, met, value) for (ray, met), value in zip(rays, values, strict=True) if value < 0]
    sets = [met for _, met in rays]
    for ray, met, value in inside:
        for other, other_met, other_value in outside:
            common = met & other_met
            # Two rays span an edge if and only if no third ray meets all that both meet.
            if common.bit_count() < dimension - 2 or sum(common & third == common for third in sets) > 2:
                continue
            between = primitive([value * b - other_value * a for a, b in zip(ray, other, strict=True)])
            kept.append((between, common | 1 << place))
    return kept


def primitive(vector: Sequence[Rational]) -> Vector:
    """Return the multiple of a vector, by a positive number, that has whole entries without a common factor."""
    scale = math.lcm(*(value.denominator for value in vector))
    whole = [int(value * scale) for value in vector]
    divisor = math.gcd(*whole) or 1
    return tuple(value // divisor for value in whole)


def independent(rows: Sequence[Sequence[Rational]]) -> list[int]:
    """Return the indices of the first rows that are linearly independent of those before them."""
    chosen: list[int] = []
    reduced: list[tuple[int, Sequence[Rational]]] = []
    for index, row in enumerate(rows):
        rest = _remainder(row, reduced)
        pivot = next((place for place, value in enumerate(rest) if value), None)
        if pivot is not None:
            scale = Fraction(1) / rest[pivot]
            reduced.append((pivot, [value * scale for value in rest]))
            chosen.append(index)
    return chosen


def _remainder(row: Sequence[Rational], reduced: Sequence[tuple[int, Sequence[Rational]]]) -> list[Rational]:
    rest = list(row)
    for pivot, other in reduced:
        if rest[pivot]:
            factor = rest[pivot]
            rest = [a - factor * b for a, b in zip(rest, other, strict=True)]
    return rest


def combination(rows: Sequence[Sequence[Rational]], target: Sequence[Rational]) -> list[Rational] | None:
    """Return weights with sum_i weights[i] rows[i] = target for independent rows, or None if there are none.

    Examples
    --------
    >>> [int(weight) for weight in combination([(1, 1, 0), (0, 1, 1)], (2, 1, -1))]
    [2, -1]
    """
    width = len(rows)
    tagged = [[*row, *(int(place == index) for place in range(width))] for index, row in enumerate(rows)]
    reduced: list[tuple[int, Sequence[Rational]]] = []
    for tagged_row in tagged:
        rest = _remainder(tagged_row, reduced)
        pivot = next(place for place, value in enumerate(rest) if value)
        scale = Fraction(1) / rest[pivot]
        reduced.append((pivot, [value * scale for value in rest]))
    rest = _remainder([*target, *([0] * width)], reduced)
    if any(rest[: len(target)]):
        return None
    return [-value for value in rest[len(target) :]]


def _inverse(matrix: Sequence[Sequence[Rational]]) -> list[list[Rational]]:
    size = len(matrix)
    rows = [
        [Fraction(value) for value in row] + [Fraction(i == j) for j in range(size)] for i, row in enumerate(matrix)
    ]
    for place in range(size):
        pivot = next(row for row in range(place, size) if rows[row][place])
        rows[place], rows[pivot] = rows[pivot], rows[place]
        scale = 1 / rows[place][place]
        rows[place] = [value * scale for value in rows[place]]
        for other in range(size):
            if other != place and rows[other][place]:
                factor = rows[other][place]
                rows[other] = [a - factor * b for a, b in zip(rows[other], rows[place], strict=True)]
    return [list(row[size:]) for row in rows]
