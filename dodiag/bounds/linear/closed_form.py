"""Bounds as formulas, valid for every value of the margins at once (Balke & Pearl 1994; Sachs et al. 2023).

By duality the lower end is the largest of finitely many affine functions of the margins, one per vertex of the dual
polyhedron, which does not depend on the margins; the upper end is the smallest of such functions. The extreme rays of
the same polyhedron say which margins are possible at all.

>>> from dodiag.bounds.linear.response_types import Parameter, ResponseTypes
>>> types = ResponseTypes(("1", "0"))
>>> margins = [types.probability({"1": 1}) == Parameter("p"), types.probability({"0": 1}) == Parameter("p'")]
>>> print(closed_form(types.probability({"1": 1, "0": 0}), margins))
max{0, p - p'} ≤ P(Y_1=1, Y_0=0) ≤ min{p, 1 - p'}
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike

from dodiag.bounds.errors import ImpossibleMargins, NotAProbability, Undefined
from dodiag.bounds.identified import BY_DESIGN, Assumption, Floats, Identified
from dodiag.bounds.linear.bound import LinearBound, attainable_range, bound
from dodiag.bounds.linear.certificate import Rational
from dodiag.bounds.linear.cone import combination, extreme_rays, independent, primitive
from dodiag.bounds.linear.errors import NotANumber, NotExact, NotLinear, OpenParameter, TooManyTypes
from dodiag.bounds.linear.program import Program, rational, require_rational
from dodiag.bounds.linear.response_types import Constraint, Form, Parameter, Query, Ratio, number, weighted_sum
from dodiag.bounds.linear.simplex import Outcome, minimise

MOST_TYPES = 64
"""Response types of which formulas are sought; the number of dual vertices grows much faster than they do."""

ROUNDING = 1e-9
"""How far floating-point margins may violate a condition."""


@dataclass(frozen=True)
class Affine:
    """An affine function of named numbers: constant + sum of coefficient · name.

    Attributes
    ----------
    constant : Fraction
    coefficients : tuple of (str, Fraction)
        Those that are not 0.
    """

    constant: Rational
    coefficients: tuple[tuple[str, Rational], ...] = ()

    def at(self, values: Mapping[str, Rational]) -> Rational:
        """Return the value, exactly."""
        return sum((weight * values[name] for name, weight in self.coefficients), self.constant)

    def floats(self, values: Mapping[str, Floats]) -> Floats:
        """Return the values over arrays that broadcast against each other."""
        total = np.asarray(float(self.constant))
        for name, weight in self.coefficients:
            total = total + float(weight) * values[name]
        return total

    def __str__(self) -> str:
        # A formula reads best from its positive terms on: 1 - p, not -p + 1.
        pieces = [(self.constant, ""), *((weight, name) for name, weight in self.coefficients)]
        return weighted_sum(sorted(pieces, key=lambda piece: (piece[0] < 0, piece[1] == "" and abs(piece[0]) != 1)))


@dataclass(frozen=True)
class ClosedForm:
    """Sharp bounds of a query as functions of the margins.

    Attributes
    ----------
    query : Form or Ratio
    constraints : tuple of Constraint
    lower, upper : tuple of Affine
        The lower end is the largest of `lower`, the upper end the smallest of `upper`, both over `denominator`.
    denominator : Affine or None
        The denominator of a ratio, which the margins have to fix; None if the query is linear.
    conditions : tuple of Affine
        The margins are possible if and only if these are 0 or more ...
    identities : tuple of Affine
        ... and these are 0.
    parameters : tuple of str
        Names of the margins, in the order of the constraints.
    probabilities : frozenset of str
        Those of them that are probabilities of events, and hence between 0 and 1.
    """

    query: Query
    constraints: tuple[Constraint, ...]
    lower: tuple[Affine, ...]
    upper: tuple[Affine, ...]
    denominator: Affine | None
    conditions: tuple[Affine, ...]
    identities: tuple[Affine, ...]
    parameters: tuple[str, ...]
    probabilities: frozenset[str]

    @property
    def formulas(self) -> tuple[str, str]:
        """Formulas of the lower and of the upper end."""
        over = "" if self.denominator is None else f" / {_bracketed(self.denominator)}"
        return _extreme("max", self.lower, over), _extreme("min", self.upper, over)

    def __str__(self) -> str:
        return f"{self.formulas[0]} ≤ {self.query} ≤ {self.formulas[1]}"

    def at(self, values: Mapping[str, object]) -> tuple[Rational, Rational]:
        """Return both ends for rational margins, exactly.

        Raises
        ------
        ImpossibleMargins
            With the conditions that fail.
        Undefined
            If the denominator of a ratio is 0.
        NotExact
            If a value is a float; :meth:`evaluate` takes those.
        NotAProbability
            If a value that stands for a probability is outside [0, 1].
        OpenParameter
            If a margin is missing, or not one of this formula.
        """
        self._complete(values)
        exact: dict[str, Rational] = {}
        for name, value in values.items():
            made = number(value)
            if isinstance(made, float):
                raise NotExact(name, made)
            if name in self.probabilities and not 0 <= made <= 1:
                raise NotAProbability(name, float(made))
            exact[name] = made
        violated = [f"{affine} ≥ 0" for affine in self.conditions if affine.at(exact) < 0]
        violated += [f"{affine} = 0" for affine in self.identities if affine.at(exact) != 0]
        if violated:
            raise ImpossibleMargins([f"{text} fails at {_listed(exact)}" for text in violated])
        lower = max(affine.at(exact) for affine in self.lower)
        upper = min(affine.at(exact) for affine in self.upper)
        if self.denominator is None:
            return lower, upper
        size = self.denominator.at(exact)
        if size == 0:
            raise Undefined(str(self.query), f"{self.denominator} = 0")
        return Fraction(lower) / size, Fraction(upper) / size

    def evaluate(
        self,
        values: Mapping[str, ArrayLike],
        quantity: str | None = None,
        assumptions: tuple[Assumption, ...] = BY_DESIGN,
    ) -> Identified:
        """Return both ends for arrays of margins that broadcast against each other.

        Where the denominator of a ratio is 0 the result is marked undefined.

        Raises
        ------
        NotAProbability
            If a value that stands for a probability is NaN or outside [0, 1].
        NotANumber
            If another value is not finite.
        ImpossibleMargins
            If a condition fails by more than 1e-9 anywhere.
        OpenParameter
            If a margin is missing, or not one of this formula.
        """
        self._complete(values)
        arrays: dict[str, Floats] = {}
        for name, value in values.items():
            array = np.asarray(value, dtype=np.float64)
            wrong = ~((array >= 0) & (array <= 1)) if name in self.probabilities else ~np.isfinite(array)
            if wrong.any():
                first = float(array[wrong].flat[0])
                raise NotAProbability(name, first) if name in self.probabilities else NotANumber(first)
            arrays[name] = array
        shape = np.broadcast_shapes(*(array.shape for array in arrays.values()))
        arrays = {name: np.broadcast_to(array, shape) for name, array in arrays.items()}
        self._possible(arrays)
        lower = np.broadcast_to(np.max([np.broadcast_to(a.floats(arrays), shape) for a in self.lower], axis=0), shape)
        upper = np.broadcast_to(np.min([np.broadcast_to(a.floats(arrays), shape) for a in self.upper], axis=0), shape)
        undefined, reason = np.zeros(shape, dtype=np.bool_), ""
        if self.denominator is not None:
            size = np.broadcast_to(self.denominator.floats(arrays), shape)
            # A sum can miss 0 by rounding, a margin alone cannot.
            undefined = size <= (
                0 if len(self.denominator.coefficients) == 1 and not self.denominator.constant else 1e-12
            )
            reason = f"{self.denominator} = 0" if undefined.any() else ""
            with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
                lower = np.where(undefined, np.nan, lower / size)
                upper = np.where(undefined, np.nan, upper / size)
        lower, upper = (np.clip(end, *attainable_range(self.query)) for end in (lower, upper))
        middle = (lower + upper) / 2
        crossed = lower > upper
        return Identified(
            quantity=quantity or str(self.query),
            lower=np.where(crossed, middle, lower),
            upper=np.where(crossed, middle, upper),
            formulas=self.formulas,
            inputs=arrays,
            assumptions=assumptions,
            undefined=undefined,
            reason=reason,
        )

    def proof_at(self, values: Mapping[str, object]) -> LinearBound:
        """Return the bound at given margins with its certificates, from the linear program itself."""
        self._complete(values)
        return bound(self.query, [constraint.at(values) for constraint in self.constraints])

    def _complete(self, values: Mapping[str, object]) -> None:
        if missing := [name for name in self.parameters if name not in values]:
            raise OpenParameter(missing)
        if unknown := [name for name in values if name not in self.parameters]:
            raise OpenParameter(unknown, "the formula has no place")

    def _possible(self, arrays: Mapping[str, Floats]) -> None:
        violated = []
        checks = [(affine, affine.floats(arrays), "≥") for affine in self.conditions]
        checks += [(affine, -np.abs(affine.floats(arrays)), "=") for affine in self.identities]
        for affine, signed, relation in checks:
            if np.any(signed < -ROUNDING):
                where = int(np.argmin(signed))
                at = {name: array.flat[where].item() for name, array in arrays.items()}
                violated.append(f"{affine} {relation} 0 fails at {_listed(at)}")
        if violated:
            raise ImpossibleMargins(violated)


def closed_form(query: Query, constraints: Sequence[Constraint]) -> ClosedForm:
    """Return the sharp bounds of a query as formulas in the parameters of its constraints.

    All dual vertices are enumerated exactly; those that are never above (below) all others over the possible margins
    are dropped, one after the other.

    Parameters
    ----------
    query : Form or Ratio
        The denominator of a ratio has to be fixed by the margins.
    constraints : sequence of Constraint
        With a :class:`Parameter` wherever a number is to stay open.

    Raises
    ------
    NotLinear
        If the denominator of a ratio is no function of the margins, so that the bound is no ratio of affine functions,
        or if it can be negative.
    NotExact
        If a number is a float.
    TooManyTypes
        If there are more than 64 response types.
    NoClosedForm
        If there are too many dual vertices.
    ImpossibleMargins
        If no margins at all meet the constraints.
    """
    form = query.numerator if isinstance(query, Ratio) else query
    if len(form.types.types) > MOST_TYPES:
        raise TooManyTypes(len(form.types.types), MOST_TYPES, "Ask for the bound at given numbers instead.")
    program = Program.of(form.types, constraints)
    require_rational(program, query)
    space = _MarginSpace(program)
    weights = [rational(weight) for weight in program.weights(form)]
    lower, conditions = space.ends(weights)
    upper, _ = space.ends([-weight for weight in weights])
    denominator = None
    if isinstance(query, Ratio):
        fixed = space.fixed(query.denominator)
        if fixed is None:
            raise NotLinear(f"the closed form of {query}, whose denominator the margins do not fix,")
        if space.least(query.denominator) < 0:
            raise NotLinear(f"{query}, whose denominator can be negative,")
        denominator = space.shortest(fixed)
    return ClosedForm(
        query=query,
        constraints=tuple(constraints),
        lower=_ordered(map(space.shortest, space.needed(lower))),
        upper=_ordered(space.shortest(_negated(affine)) for affine in space.needed(upper)),
        denominator=denominator,
        conditions=_ordered(map(space.shortest, space.without_implied(conditions))),
        identities=_ordered(space.identities),
        parameters=space.parameters,
        probabilities=frozenset(
            made.right.name for made in constraints if isinstance(made.right, Parameter) and made.form.is_probability
        ),
    )


class _MarginSpace:
    """The rows of a program seen as functions of its parameters, and what the parameters can be."""

    def __init__(self, program: Program) -> None:
        rows = [[rational(entry) for entry in row] for row in program.matrix]
        self.parameters = tuple(dict.fromkeys(r.name for r in program.right if isinstance(r, Parameter)))
        self.width = len(program.columns)
        values = [Affine(0, ((r.name, 1),)) if isinstance(r, Parameter) else Affine(rational(r)) for r in program.right]
        chosen = independent(rows)
        self.rows = [rows[index] for index in chosen]
        self.values = [values[index] for index in chosen]
        self.identities: list[Affine] = []
        for index in sorted(set(range(len(rows))) - set(chosen)):
            weights = combination(self.rows, rows[index])
            identity = _sum([values[index], *self.values], [1, *(-weight for weight in weights or ())])
            if identity not in self.identities and identity != Affine(0):
                self.identities.append(identity)
        self._fixed_rows, self._forms = self._by_parameter(rows, values)
        if _solve(self._fixed_rows, [0] * self.width).status == "infeasible":
            raise ImpossibleMargins([f"{' and '.join(program.rows[1:])} for any numbers"])

    def _by_parameter(
        self, rows: list[list[Rational]], values: list[Affine]
    ) -> tuple[list[tuple[list[Rational], Rational]], dict[str, list[Rational]]]:
        """Return the equations without a parameter, and every parameter as a linear form over the columns."""
        fixed, forms = [], dict[str, list[Rational]]()
        for row, value in zip(rows, values, strict=True):
            if not value.coefficients:
                fixed.append((row, value.constant))
            elif (name := value.coefficients[0][0]) in forms:
                fixed.append(([a - b for a, b in zip(row, forms[name], strict=True)], 0))
            else:
                forms[name] = row
        return fixed, forms

    def ends(self, weights: Sequence[Rational]) -> tuple[list[Affine], list[Affine]]:
        """Return the functions whose largest is the minimum of the weights, and the conditions on the margins."""
        columns = list(zip(*self.rows, strict=True))
        inequalities = [(*(-entry for entry in column), w) for column, w in zip(columns, weights, strict=True)]
        inequalities.append((*([0] * len(self.rows)), 1))
        forms: list[Affine] = []
        conditions: list[Affine] = []
        for *multipliers, scale in extreme_rays(inequalities):
            affine = _sum(self.values, [Fraction(m, scale) if scale else -m for m in multipliers])
            (forms if scale else conditions).append(affine)
        return list(dict.fromkeys(forms)), list(dict.fromkeys(conditions))

    def fixed(self, form: Form) -> Affine | None:
        """Return a form as a function of the margins, or None if they do not determine it."""
        weights = [rational(weight) for weight in form.weights()]
        weights += [0] * (self.width - len(weights))
        multipliers = combination(self.rows, weights)
        return None if multipliers is None else _sum(self.values, multipliers)

    def least(self, form: Form) -> Rational:
        """Return the least value of a form over all possible margins."""
        weights = [rational(weight) for weight in form.weights()]
        outcome = _solve(self._fixed_rows, [*weights, *([0] * (self.width - len(weights)))])
        return sum((weights[j] * x for j, x in outcome.primal.items() if j < len(weights)), 0)

    def needed(self, forms: Sequence[Affine]) -> list[Affine]:
        """Return the forms without those that nowhere exceed all others that are kept."""
        kept = list(forms)
        for form in sorted(forms, key=lambda affine: (-len(affine.coefficients), str(affine))):
            others = [other for other in kept if other != form]
            if others and not self._exceeds(form, others):
                kept = others
        return kept

    def _exceeds(self, form: Affine, others: Sequence[Affine]) -> bool:
        """Whether some possible margins put a form strictly above all others."""
        gaps = [_sum([form, other], [1, -1]) for other in others]
        # Maximise the lead, a free variable made of two, that the form has on every other: gap − lead − slack = 0.
        extra = len(gaps)
        rows = [([*row, 0, 0, *([0] * extra)], value) for row, value in self._fixed_rows]
        for place, gap in enumerate(gaps):
            slack = [-int(place == other) for other in range(extra)]
            rows.append(([*self._over_columns(gap), -1, 1, *slack], -gap.constant))
        outcome = _solve(rows, [*([0] * self.width), -1, 1, *([0] * extra)])
        lead = outcome.primal.get(self.width, 0) - outcome.primal.get(self.width + 1, 0)
        return outcome.status == "unbounded" or lead > 0

    def without_implied(self, conditions: Sequence[Affine]) -> list[Affine]:
        """Return the conditions without those that the others and the identities imply."""
        kept = list(dict.fromkeys(_primitive(affine) for affine in conditions if affine.coefficients))
        for condition in sorted(kept, key=lambda affine: (-len(affine.coefficients), str(affine))):
            others = [other for other in kept if other != condition]
            if not self._can_be_negative(condition, others):
                kept = others
        return kept

    def _can_be_negative(self, condition: Affine, others: Sequence[Affine]) -> bool:
        """Whether some margins break a condition and keep all others. Margins are free, each made of two variables."""
        rows = []
        for place, affine in enumerate([*others, *self.identities]):
            slack = [-int(place == other) for other in range(len(others))]
            rows.append(([*self._split(affine), *slack], -affine.constant))
        outcome = _solve(rows, [*self._split(condition), *([0] * len(others))])
        if outcome.status != "optimal":
            return True
        point = [outcome.primal.get(place, 0) for place in range(2 * len(self.parameters))]
        values = {name: point[2 * place] - point[2 * place + 1] for place, name in enumerate(self.parameters)}
        return condition.at(values) < 0

    def shortest(self, affine: Affine) -> Affine:
        """Return the same function of the possible margins with the fewest terms that one identity allows."""
        same = [affine, *(_sum([affine, identity], [1, sign]) for identity in self.identities for sign in (-1, 1))]
        return min(same, key=lambda candidate: len(candidate.coefficients) + bool(candidate.constant))

    def _over_columns(self, affine: Affine) -> list[Rational]:
        total: list[Rational] = [0] * self.width
        for name, weight in affine.coefficients:
            total = [a + weight * b for a, b in zip(total, self._forms[name], strict=True)]
        return total

    def _split(self, affine: Affine) -> list[Rational]:
        weights = dict(affine.coefficients)
        return [sign * weights.get(name, 0) for name in self.parameters for sign in (1, -1)]


def _solve(rows: Sequence[tuple[Sequence[Rational], Rational]], cost: Sequence[Rational]) -> Outcome:
    columns = [[(i, row[j]) for i, (row, _) in enumerate(rows) if row[j]] for j in range(len(cost))]
    return minimise(columns, [value for _, value in rows], cost)


def _sum(affines: Sequence[Affine], weights: Sequence[Rational]) -> Affine:
    constant: Rational = 0
    total: dict[str, Rational] = {}
    for affine, factor in zip(affines, weights, strict=True):
        constant += factor * affine.constant
        for name, weight in affine.coefficients:
            total[name] = total.get(name, 0) + factor * weight
    return Affine(rational(constant), tuple((name, weight) for name, weight in total.items() if weight))


def _negated(affine: Affine) -> Affine:
    return _sum([affine], [-1])


def _primitive(affine: Affine) -> Affine:
    constant, *weights = primitive([affine.constant, *(weight for _, weight in affine.coefficients)])
    return Affine(constant, tuple((name, w) for (name, _), w in zip(affine.coefficients, weights, strict=True)))


def _ordered(affines: Iterable[Affine]) -> tuple[Affine, ...]:
    return tuple(sorted(affines, key=lambda a: (len(a.coefficients) + bool(a.constant), str(a))))


def _extreme(word: str, affines: Sequence[Affine], over: str) -> str:
    if len(affines) > 1:
        return f"{word}{{{', '.join(map(str, affines))}}}{over}"
    return f"{_bracketed(affines[0])}{over}" if over else str(affines[0])


def _bracketed(affine: Affine) -> str:
    text = str(affine)
    return f"({text})" if " " in text else text


def _listed(values: Mapping[str, object]) -> str:
    return ", ".join(f"{name} = {value}" for name, value in values.items())
