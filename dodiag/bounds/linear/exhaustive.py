"""Extreme rays of a cone by trying every candidate: slow and tiny, standard library only.

It shares no code with the double description method of ``cone``, so each checks the other; the proofs rest on this one.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

Vector = tuple[int, ...]


def every_extreme_ray(inequalities: Sequence[Sequence[int]]) -> set[Vector]:
    """Return the extreme rays of {z : inequality · z >= 0 for all}, as whole numbers without a common factor.

    An extreme ray meets dimension − 1 linearly independent inequalities with equality, so all such choices are tried.

    Parameters
    ----------
    inequalities : sequence of sequence of int, shape (inequalities, dimension)
        They have to span the space, so that the cone holds no line.

    Raises
    ------
    ValueError
        If the cone holds a line.

    Examples
    --------
    >>> sorted(every_extreme_ray([(1, 0), (-1, 2)]))
    [(0, 1), (2, 1)]
    """
    if rank(inequalities) < len(inequalities[0]):
        raise ValueError("the inequalities leave a line free")
    rays = set()
    for line in _lines(inequalities, 0, [], len(inequalities[0]) - 1):
        values = [sum(a * z for a, z in zip(row, line, strict=True)) for row in inequalities]
        if all(value >= 0 for value in values):
            rays.add(line)
        elif all(value <= 0 for value in values):
            rays.add(tuple(-z for z in line))
    return rays


def _lines(
    rows: Sequence[Sequence[int]], start: int, echelon: list[tuple[int, Sequence[int]]], left: int
) -> Iterator[Vector]:
    """Yield the line where the rows of an echelon and `left` further independent rows are 0, for every choice."""
    if not left:
        yield _line(echelon, len(rows[0]))
        return
    for index in range(start, len(rows) - left + 1):
        rest = _rest(rows[index], echelon)
        if any(rest):
            yield from _lines(rows, index + 1, [*echelon, (_leading(rest), rest)], left - 1)


def rank(rows: Sequence[Sequence[int]]) -> int:
    """Return how many of the rows are linearly independent."""
    echelon: list[tuple[int, Sequence[int]]] = []
    for row in rows:
        rest = _rest(row, echelon)
        if any(rest):
            echelon.append((_leading(rest), rest))
    return len(echelon)


def _rest(row: Sequence[int], echelon: Sequence[tuple[int, Sequence[int]]]) -> Sequence[int]:
    """Return a multiple of a row plus multiples of an echelon's rows, 0 in the places where those lead."""
    for pivot, other in echelon:
        if row[pivot]:
            row = [other[pivot] * a - row[pivot] * b for a, b in zip(row, other, strict=True)]
    return row


def _leading(row: Sequence[int]) -> int:
    return next(place for place, value in enumerate(row) if value)


def _line(echelon: Sequence[tuple[int, Sequence[int]]], dimension: int) -> Vector:
    """Return a vector without a common factor on the line where all rows of an echelon are 0."""
    free = (set(range(dimension)) - {pivot for pivot, _ in echelon}).pop()
    line = [int(place == free) for place in range(dimension)]
    for pivot, row in reversed(echelon):
        value = sum(a * z for place, (a, z) in enumerate(zip(row, line, strict=True)) if place != pivot)
        line = [z * row[pivot] for z in line]
        line[pivot] = -value
        divisor = math.gcd(*line)
        line = [z // divisor for z in line]
    return tuple(line)
