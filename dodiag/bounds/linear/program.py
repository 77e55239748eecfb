"""The standard form of a linear program over response types: equations in variables that are 0 or more."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from dodiag.bounds.linear.certificate import Rational
from dodiag.bounds.linear.errors import NotExact, OpenParameter, OtherTypes
from dodiag.bounds.linear.response_types import Constraint, Form, Number, Parameter, Query, Ratio, ResponseTypes

TOTAL = "total"
"""Name of the first row: the probabilities of all types sum to 1."""


@dataclass(frozen=True)
class Program:
    """Equations over response types: row · x = right, x >= 0.

    Attributes
    ----------
    columns : tuple of str
        The types as binary digits, then one slack variable per inequality.
    rows : tuple of str
        Names of the equations: the total, then the constraints by their text.
    matrix : tuple of tuple of number, shape (rows, columns)
    right : tuple of number or Parameter, shape (rows,)
    about : str
        What the digits of a column stand for.
    """

    columns: tuple[str, ...]
    rows: tuple[str, ...]
    matrix: tuple[tuple[Number, ...], ...]
    right: tuple[Number | Parameter, ...]
    about: str

    @classmethod
    def of(cls, types: ResponseTypes, constraints: Sequence[Constraint]) -> Program:
        """Return the program of constraints.

        Raises
        ------
        OtherTypes
            If a constraint speaks of other response types.
        """
        slacks = [place for place, constraint in enumerate(constraints) if constraint.relation != "=="]
        slack_names = _distinct([f"slack of {constraints[place]}" for place in slacks])
        matrix: list[tuple[Number, ...]] = [(*([1] * len(types.types)), *([0] * len(slacks)))]
        for place, constraint in enumerate(constraints):
            if constraint.form.types != types:
                raise OtherTypes
            sign = 1 if constraint.relation == "<=" else -1
            matrix.append((*constraint.form.weights(), *(sign * int(slack == place) for slack in slacks)))
        rows = (TOTAL, *_distinct([str(constraint) for constraint in constraints], taken=TOTAL))
        right = (1, *(constraint.right for constraint in constraints))
        return cls((*types.types, *slack_names), rows, tuple(matrix), right, types.about)

    def weights(self, form: Form) -> tuple[Number, ...]:
        """Return the weights of a form over the columns; slack variables have weight 0."""
        weights = form.weights()
        return (*weights, *([0] * (len(self.columns) - len(weights))))

    def numbers(self) -> tuple[Number, ...]:
        """Return the right-hand side.

        Raises
        ------
        OpenParameter
            If a constraint is compared with a parameter.
        """
        if names := [value.name for value in self.right if isinstance(value, Parameter)]:
            raise OpenParameter(names)
        return tuple(value for value in self.right if not isinstance(value, Parameter))

    @cached_property
    def sparse_columns(self) -> tuple[tuple[tuple[int, Number], ...], ...]:
        """The entries of each column that are not 0, as (row, entry)."""
        return tuple(
            tuple((row, entry) for row, entry in enumerate(column) if entry)
            for column in zip(*self.matrix, strict=True)
        )


def first_float(program: Program, query: Query | None = None) -> tuple[str, float] | None:
    """Return the first float among the numbers of a program and a query with the name of its place, or None."""
    for name, row, right in zip(program.rows, program.matrix, program.right, strict=True):
        for value in (right, *row):
            if isinstance(value, float):
                return name, value
    for form in forms_of(query):
        for _, weight in form.terms:
            if isinstance(weight, float):
                return str(form), weight
    return None


def forms_of(query: Query | None) -> tuple[Form, ...]:
    """Return the form, or the numerator and the denominator, of a query."""
    if query is None:
        return ()
    return (query.numerator, query.denominator) if isinstance(query, Ratio) else (query,)


def require_rational(program: Program, query: Query | None = None) -> None:
    """Return if all numbers are rational.

    Raises
    ------
    NotExact
        With the first float. Floats are refused rather than converted: 0.7 and 0.3 as binary fractions do not sum to 1,
        so their exact program is another one than was meant, and often has no solution.
    """
    if found := first_float(program, query):
        raise NotExact(*found)


def rational(value: Number | Parameter) -> Rational:
    """Return a number as an exact one; a float as the binary fraction that it is."""
    if isinstance(value, int):
        return value
    if isinstance(value, Parameter):
        raise OpenParameter([value.name])
    exact = Fraction(value)
    return exact.numerator if exact.denominator == 1 else exact


def _distinct(names: Sequence[str], taken: str = "") -> tuple[str, ...]:
    seen = {taken}
    made = []
    for name in names:
        candidate, copy = name, 2
        while candidate in seen:
            candidate, copy = f"{name} ({copy})", copy + 1
        seen.add(candidate)
        made.append(candidate)
    return tuple(made)
