"""The simplex method over the rationals: exact, and certain to end (Bland's rule).

A guess of the optimal basis, from floating-point numbers, saves nearly all pivots; a wrong guess costs time only. What
comes out is no proof by itself: the certificate made of it is checked apart.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from dodiag.bounds.linear.certificate import Rational

SparseColumn = Sequence[tuple[int, Rational]]


@dataclass(frozen=True)
class Outcome:
    """What minimising came to.

    Attributes
    ----------
    status : {"optimal", "infeasible", "unbounded"}
    primal : dict of int to Fraction
        The variables that are not 0, by column; empty unless optimal.
    dual : tuple of Fraction
        One multiplier per row; of an infeasible program those that contradict it; empty if unbounded.
    pivots : int
        How many pivots were made.
    """

    status: Literal["optimal", "infeasible", "unbounded"]
    primal: dict[int, Rational]
    dual: tuple[Rational, ...]
    pivots: int


def minimise(
    columns: Sequence[SparseColumn], right: Sequence[Rational], cost: Sequence[Rational], guess: Sequence[int] = ()
) -> Outcome:
    """Minimise cost · x subject to sum_j columns[j] x_j = right, x >= 0.

    Parameters
    ----------
    columns : sequence of sequence of (int, Fraction)
        The entries of each column that are not 0, with their rows.
    right : sequence of Fraction
    cost : sequence of Fraction
        One per column.
    guess : sequence of int, optional
        Columns that may form the optimal basis, the most likely first. Where the program may have no solution, those of
        a basis that violates the equations least; the number of columns plus r then stands for what is left of row r.

    Examples
    --------
    >>> outcome = minimise([[(0, 1), (1, 1)], [(0, 1)]], [1, Fraction(1, 3)], [0, 1])
    >>> outcome.status, outcome.primal, outcome.dual
    ('optimal', {0: Fraction(1, 3), 1: Fraction(2, 3)}, (1, -1))
    """
    tableau = _Tableau(columns, right)
    if guess:
        tableau.take(guess)
        if not tableau.non_negative:
            tableau = _Tableau(columns, right)
    if not tableau.feasible:
        artificial_cost = [*([0] * len(columns)), *([1] * len(right))]
        dual = tableau.descend(artificial_cost)
        if not tableau.feasible:
            return Outcome("infeasible", {}, _plain(dual or ()), tableau.pivots)
    tableau.expel_artificial()
    dual = tableau.descend([*cost, *([0] * len(right))])
    if dual is None:
        return Outcome("unbounded", {}, (), tableau.pivots)
    primal = {j: value for j, value in zip(tableau.basis, tableau.values, strict=True) if value and j < len(columns)}
    return Outcome(
        "optimal",
        dict(zip(sorted(primal), _plain([primal[j] for j in sorted(primal)]), strict=True)),
        _plain(dual),
        tableau.pivots,
    )


class _Tableau:
    """The basis, its inverse and the values of the basic variables. Columns from `count` on are artificial."""

    def __init__(self, columns: Sequence[SparseColumn], right: Sequence[Rational]) -> None:
        size = len(right)
        signs: list[Rational] = [1 if value >= 0 else -1 for value in right]
        self.count = len(columns)
        self.columns: list[SparseColumn] = [*columns, *([(row, sign)] for row, sign in enumerate(signs))]
        self.basis = [self.count + row for row in range(size)]
        self.inverse: list[list[Rational]] = [[0] * size for _ in signs]
        for row, sign in enumerate(signs):
            self.inverse[row][row] = sign
        self.values: list[Rational] = [value if value >= 0 else -value for value in right]
        self.pivots = 0

    @property
    def non_negative(self) -> bool:
        return all(value >= 0 for value in self.values)

    @property
    def feasible(self) -> bool:
        return self.non_negative and not any(
            value for j, value in zip(self.basis, self.values, strict=True) if j >= self.count
        )

    def entry(self, row: int, j: int) -> Rational:
        """Entry of a column in the present basis: one place of its direction."""
        inverse = self.inverse[row]
        return sum((inverse[i] * entry for i, entry in self.columns[j]), 0)

    def direction(self, j: int) -> list[Rational]:
        return [self.entry(row, j) for row in range(len(self.basis))]

    def pivot(self, row: int, j: int, direction: Sequence[Rational]) -> None:
        scale = Fraction(1) / direction[row]
        head = [_plain_one(entry * scale) for entry in self.inverse[row]]
        value = _plain_one(self.values[row] * scale)
        for i, step in enumerate(direction):
            if i != row and step:
                self.inverse[i] = [
                    _plain_one(a - step * b) if b else a for a, b in zip(self.inverse[i], head, strict=True)
                ]
                self.values[i] = _plain_one(self.values[i] - step * value)
        self.inverse[row], self.values[row], self.basis[row] = head, value, j
        self.pivots += 1

    def take(self, guess: Sequence[int]) -> None:
        """Bring independent columns of the guess into the basis in place of artificial ones that it does not name."""
        kept = {j for j in guess if j >= self.count}
        left = [row for row, j in enumerate(self.basis) if j >= self.count and j not in kept]
        for j in guess:
            if not left:
                return
            if j in kept:
                continue
            row = next((row for row in left if self.entry(row, j)), None)
            if row is not None:
                self.pivot(row, j, self.direction(j))
                left.remove(row)

    def expel_artificial(self) -> None:
        """Bring real columns into the rows of artificial ones (all at 0); what stays belongs to redundant equations."""
        for row in range(len(self.basis)):
            if self.basis[row] < self.count:
                continue
            for j in range(self.count):
                if self.entry(row, j):
                    self.pivot(row, j, self.direction(j))
                    break

    def descend(self, cost: Sequence[Rational]) -> list[Rational] | None:
        """Pivot until no real column improves, and return the multipliers; None if the cost falls for ever."""
        while True:
            weights = [(cost[j], row) for j, row in zip(self.basis, self.inverse, strict=True) if cost[j]]
            dual = [_plain_one(sum((c * row[i] for c, row in weights), 0)) for i in range(len(self.basis))]
            entering = self._entering(cost, dual)
            if entering is None:
                return dual
            direction = self.direction(entering)
            ratios = [
                (Fraction(value) / step, j, row)
                for row, (value, step, j) in enumerate(zip(self.values, direction, self.basis, strict=True))
                if step > 0
            ]
            if not ratios:
                return None
            self.pivot(min(ratios)[2], entering, direction)

    def _entering(self, cost: Sequence[Rational], dual: Sequence[Rational]) -> int | None:
        """The first real column with a negative reduced cost; in whole numbers, which is much faster."""
        scale = math.lcm(*(value.denominator for value in dual))
        whole = [int(value * scale) for value in dual]
        for j in range(self.count):
            if sum([whole[i] * entry for i, entry in self.columns[j]]) > cost[j] * scale:
                return j
        return None


def _plain_one(value: Rational) -> Rational:
    return value.numerator if value.denominator == 1 else value


def _plain(values: Sequence[Rational]) -> tuple[Rational, ...]:
    return tuple(_plain_one(value) for value in values)
