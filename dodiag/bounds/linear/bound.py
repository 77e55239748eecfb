"""Both ends of a query for given numbers: exact with certificates, or in floating point.

>>> from fractions import Fraction
>>> from dodiag.bounds.linear.response_types import ResponseTypes
>>> types = ResponseTypes(("1", "0"))
>>> margins = [types.probability({"1": 1}) == Fraction(7, 10), types.probability({"0": 1}) == Fraction(4, 10)]
>>> print(bound(types.probability({"1": 1, "0": 0}), margins))
P(Y_1=1, Y_0=0) in [3/10, 3/5]
>>> print(bound(types.conditional({"0": 0}, given={"1": 1}), margins))
P(Y_0=0 | Y_1=1) in [3/7, 6/7]
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal

import numpy as np

from dodiag.bounds.identified import BY_DESIGN, Assumption, Identified
from dodiag.bounds.linear.certificate import Certificate, Rational, check
from dodiag.bounds.linear.errors import (
    ImpossibleProgram,
    NotLinear,
    NotSolved,
    UnboundedRatio,
    UndefinedRatio,
)
from dodiag.bounds.linear.floating import AGREEMENT, FloatOptimum, likely_basis, minimise_floats
from dodiag.bounds.linear.program import Program, first_float, rational, require_rational
from dodiag.bounds.linear.response_types import Constraint, Form, Number, Query, Ratio
from dodiag.bounds.linear.simplex import SparseColumn, minimise

GUESS_FROM = 64
"""From this many columns on, a floating-point solution guesses the basis; below, exact pivots alone are faster."""

End = Literal["min", "max"]


@dataclass(frozen=True)
class LinearBound:
    """The identified interval of a query: both ends are attained by a joint distribution that meets the constraints.

    Attributes
    ----------
    query : Form or Ratio
    constraints : tuple of Constraint
    lower, upper : Fraction or float
        Fractions (or ints) if all numbers were rational.
    certificates : tuple of Certificate, or None
        What proves the lower and the upper end, already checked; None for floats.
    denominator : tuple of number, or None
        Least and largest possible denominator of a ratio; the bound speaks of the distributions where it is above 0.
    program : Program
    """

    query: Query
    constraints: tuple[Constraint, ...]
    lower: Number
    upper: Number
    certificates: tuple[Certificate, Certificate] | None
    denominator: tuple[Number, Number] | None
    program: Program

    @property
    def exact(self) -> bool:
        """Whether both ends are rational and carry certificates."""
        return self.certificates is not None

    def __str__(self) -> str:
        lower, upper = (f"{end:.4g}" if isinstance(end, float) else str(end) for end in (self.lower, self.upper))
        return f"{self.query} in [{lower}, {upper}]"

    def identified(
        self,
        quantity: str | None = None,
        formulas: tuple[str, str] | None = None,
        assumptions: tuple[Assumption, ...] = BY_DESIGN,
    ) -> Identified:
        """Return the interval in the form that all bounds share.

        Parameters
        ----------
        quantity : str, optional
            Such as ``"PN"``; the query's text without it.
        formulas : tuple of str, optional
            Closed forms of both ends; without them the linear programs are named.
        assumptions : tuple of Assumption
            What the constraints rest on.
        """
        about = f"{self.query} over {len(self.query_types)} response types"
        flags = ("a ratio whose denominator may be 0: bounds where it is not",) if self._may_vanish else ()
        return Identified(
            quantity=quantity or str(self.query),
            lower=np.asarray(float(self.lower)),
            upper=np.asarray(float(self.upper)),
            formulas=formulas or (f"least {about}", f"largest {about}"),
            inputs={str(made): np.asarray(float(rational(made.right))) for made in self.constraints},
            assumptions=assumptions,
            flags=flags,
        )

    @property
    def query_types(self) -> tuple[str, ...]:
        """The response types as binary digits."""
        form = self.query.numerator if isinstance(self.query, Ratio) else self.query
        return form.types.types

    @property
    def _may_vanish(self) -> bool:
        return self.denominator is not None and self.denominator[0] <= 0


def bound(query: Query, constraints: Sequence[Constraint] = (), *, exact: bool | None = None) -> LinearBound:
    """Return the sharp bounds of a linear form or a ratio of two, under linear constraints.

    A ratio is made linear by dividing by its denominator (Charnes & Cooper 1962). The 4096 response types of twelve
    regimes take seconds, exact and with some 80 constraints as well.

    Parameters
    ----------
    query : Form or Ratio
    constraints : sequence of Constraint
    exact : bool, optional
        True asks for Fractions with certificates, False for floats; without it the result is exact if and only if all
        numbers are rational.

    Raises
    ------
    ImpossibleProgram
        If no joint distribution meets the constraints; carries an exact certificate.
    UndefinedRatio
        If the denominator is 0 under all of them.
    UnboundedRatio
        If a ratio has no finite end.
    NotLinear
        If the denominator of a ratio can be negative.
    NotExact
        If `exact` is True and a number is a float.
    NotSolved
        If floating point does not do.
    OpenParameter
        If a constraint holds a parameter.
    """
    form = query.numerator if isinstance(query, Ratio) else query
    program = Program.of(form.types, constraints)
    program.numbers()
    if exact:
        require_rational(program, query)
    if exact is None:
        exact = first_float(program, query) is None
    denominator = None
    if isinstance(query, Ratio):
        denominator = _denominator_range(program, query, exact)
    if exact:
        certificates = (certify(program, query, "min"), certify(program, query, "max"))
        ends: tuple[Number, Number] = (certificates[0].value, certificates[1].value)
        return LinearBound(query, tuple(constraints), *ends, certificates, denominator, program)
    ends = (_float_end(program, query, "min"), _float_end(program, query, "max"))
    if ends[0] > ends[1]:
        ends = ((ends[0] + ends[1]) / 2,) * 2
    return LinearBound(query, tuple(constraints), *ends, None, denominator, program)


def certify(program: Program, query: Query, end: End) -> Certificate:
    """Return the checked certificate of one end of a query; raises as :func:`bound` does.

    The numbers have to be rational.
    """
    if isinstance(query, Ratio):
        return _certify_ratio(program, query, end)
    return certify_weights(program, program.weights(query), end)


def certify_weights(program: Program, weights: Sequence[Number], end: End) -> Certificate:
    """Return the checked certificate of one end of a weighted sum of a program's columns, slack variables included.

    Raises
    ------
    ImpossibleProgram
        If the program has no solution.
    NotSolved
        If the sum has no finite end.
    """
    sign = 1 if end == "min" else -1
    objective = _exact(weights)
    columns, right = _exact_columns(program), _exact(program.numbers())
    cost = [sign * weight for weight in objective]
    outcome = minimise(columns, right, cost, _guess(columns, right, cost))
    if outcome.status == "infeasible":
        raise impossible(program, outcome.dual)
    if outcome.status == "unbounded":
        raise NotSolved(f"the {end} of the weighted sum is not finite")
    dual = [sign * value for value in outcome.dual]
    value = sum((objective[j] * x for j, x in outcome.primal.items()), 0)
    return _checked(program, end, objective, None, outcome.primal, dual, value)


def _certify_ratio(program: Program, query: Ratio, end: End) -> Certificate:
    sign = 1 if end == "min" else -1
    numerator, denominator = (_exact(program.weights(form)) for form in (query.numerator, query.denominator))
    right = _exact(program.numbers())
    last = len(right)
    scale: SparseColumn = [(row, -value) for row, value in enumerate(right) if value]
    columns = [
        [*column, (last, weight)] if weight else column
        for column, weight in zip(_exact_columns(program), denominator, strict=True)
    ]
    columns.append(scale)
    cost = [*(sign * weight for weight in numerator), 0]
    homogeneous = [*([0] * last), 1]
    outcome = minimise(columns, homogeneous, cost, _guess(columns, homogeneous, cost))
    if outcome.status == "unbounded":
        raise UnboundedRatio(str(query))
    if outcome.status == "infeasible":
        raise UndefinedRatio(str(query), f"{query.denominator} = 0 under every distribution that fits", None)
    size = outcome.primal[len(columns) - 1]
    primal = {j: rational(Fraction(x) / size) for j, x in outcome.primal.items() if j < len(columns) - 1}
    dual = [sign * value for value in outcome.dual[:last]]
    return _checked(program, end, numerator, denominator, primal, dual, sign * outcome.dual[last])


def impossible(program: Program, multipliers: Sequence[Rational]) -> ImpossibleProgram:
    """Return the error of a program without solution, with its checked certificate."""
    certificate = Certificate(
        sense="infeasible",
        columns=program.columns,
        rows=_rows(program),
        right=dict(zip(program.rows, _exact(program.numbers()), strict=True)),
        dual=_named(program.rows, multipliers),
        about=program.about,
    )
    check(certificate)
    together = [name for name in certificate.dual if name != program.rows[0]] or [program.rows[0]]
    return ImpossibleProgram([" and ".join(together)], certificate)


def _checked(
    program: Program,
    end: End,
    objective: Sequence[Rational],
    denominator: Sequence[Rational] | None,
    primal: dict[int, Rational],
    dual: Sequence[Rational],
    value: Rational,
) -> Certificate:
    certificate = Certificate(
        sense=end,
        columns=program.columns,
        rows=_rows(program),
        right=dict(zip(program.rows, _exact(program.numbers()), strict=True)),
        objective=_named(program.columns, objective),
        denominator=None if denominator is None else _named(program.columns, denominator),
        primal={program.columns[j]: x for j, x in primal.items()},
        dual=_named(program.rows, dual),
        value=rational(value),
        about=program.about,
    )
    check(certificate)
    return certificate


def _rows(program: Program) -> dict[str, dict[str, Rational]]:
    return {
        name: {column: rational(entry) for column, entry in zip(program.columns, row, strict=True) if entry}
        for name, row in zip(program.rows, program.matrix, strict=True)
    }


def _named(names: Sequence[str], values: Sequence[Rational]) -> dict[str, Rational]:
    return {name: value for name, value in zip(names, values, strict=True) if value}


def _exact(values: Sequence[Number]) -> list[Rational]:
    return [rational(value) for value in values]


def _exact_columns(program: Program) -> list[SparseColumn]:
    return [[(row, rational(entry)) for row, entry in column] for column in program.sparse_columns]


def _guess(columns: Sequence[SparseColumn], right: Sequence[Rational], cost: Sequence[Rational]) -> Sequence[int]:
    """Return columns of a likely basis of a large program; of one without solution, a basis that violates least."""
    if len(columns) < GUESS_FROM:
        return ()
    matrix = np.zeros((len(right), len(columns)))
    for j, column in enumerate(columns):
        for row, entry in column:
            matrix[row, j] = entry
    costs, wanted = np.array(cost, dtype=np.float64), np.array(right, dtype=np.float64)
    try:
        optimum = minimise_floats(matrix, wanted, costs)
        if optimum == "infeasible":
            matrix = np.hstack([matrix, np.diag(np.where(wanted >= 0, 1.0, -1.0))])
            costs = np.concatenate([np.zeros(len(columns)), np.ones(len(right))])
            optimum = minimise_floats(matrix, wanted, costs)
    except NotSolved:
        # The exact simplex method does not need the guess.
        return ()
    if not isinstance(optimum, FloatOptimum):
        return ()
    basis = likely_basis(matrix, costs, optimum)
    return [j for j in basis if j < len(columns) or optimum.primal[j] > AGREEMENT]


def _denominator_range(program: Program, query: Ratio, exact: bool) -> tuple[Number, Number]:
    form = query.denominator
    reason = f"{form} = 0 under every distribution that fits"
    if exact:
        least, most = certify(program, form, "min"), certify(program, form, "max")
        if most.value <= 0 and least.value >= 0:
            raise UndefinedRatio(str(query), reason, most)
        ends: tuple[Number, Number] = (least.value, most.value)
    else:
        ends = (_float_end(program, form, "min"), _float_end(program, form, "max"))
        if ends[0] >= -AGREEMENT and ends[1] <= AGREEMENT:
            raise UndefinedRatio(str(query), f"{reason}, to 1e-9", None)
    if ends[0] < (0 if exact else -AGREEMENT):
        raise NotLinear(f"{query}, whose denominator can be negative,")
    return ends


def _float_end(program: Program, query: Query, end: End) -> float:
    sign = 1 if end == "min" else -1
    matrix = np.array(program.matrix, dtype=np.float64)
    right = np.array(program.numbers(), dtype=np.float64)
    if isinstance(query, Ratio):
        numerator, weights = (
            np.array(program.weights(f), dtype=np.float64) for f in (query.numerator, query.denominator)
        )
        matrix = np.block([[matrix, -right[:, None]], [weights[None, :], np.zeros((1, 1))]])
        right = np.append(np.zeros(len(right)), 1.0)
        cost = np.append(numerator, 0.0)
    else:
        cost = np.array(program.weights(query), dtype=np.float64)
    optimum = minimise_floats(matrix, right, sign * cost)
    if optimum == "unbounded":
        raise UnboundedRatio(str(query))
    if not isinstance(optimum, FloatOptimum):
        raise _float_infeasible(program)
    # Adding 0 turns −0 into 0.
    return float(np.clip(sign * optimum.value, *attainable_range(query))) + 0.0


def attainable_range(query: Query) -> tuple[float, float]:
    """Return the ends of what a query can be under any distribution at all: rounding leaves no probability below 0."""
    if isinstance(query, Form):
        weights = query.weights()
        return float(min(weights)), float(max(weights))
    pairs = list(zip(query.numerator.weights(), query.denominator.weights(), strict=True))
    return (0.0, 1.0) if all(0 <= n <= d for n, d in pairs) else (-np.inf, np.inf)


def _float_infeasible(program: Program) -> ImpossibleProgram | NotSolved:
    """Return the error for a program that HiGHS finds empty: the binary fractions that it holds decide exactly."""
    exact = replace(
        program, matrix=tuple(tuple(_exact(row)) for row in program.matrix), right=tuple(_exact(program.numbers()))
    )
    columns, right, cost = _exact_columns(exact), _exact(exact.numbers()), [0] * len(exact.columns)
    outcome = minimise(columns, right, cost, _guess(columns, right, cost))
    if outcome.status == "infeasible":
        return impossible(exact, outcome.dual)
    return NotSolved("HiGHS finds no solution, but there is one")
