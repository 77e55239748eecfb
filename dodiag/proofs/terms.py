"""Terms and formulas of real arithmetic as values: one text for people, one for solvers, and exact evaluation.

A claim is written once, in these values. What is printed, what a solver decides and what a counterexample is put into
are then the same formula. There is no division: a quotient is a variable with its defining product and a positive
denominator, since solvers give x / 0 any value they like.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from itertools import pairwise
from typing import Literal, TypeAlias

Point: TypeAlias = Mapping[str, Fraction]
"""An exact value for every variable."""

Number: TypeAlias = "int | Fraction"


class Term(ABC):
    """A real number that depends on the variables; ``+``, ``-``, ``*`` and comparisons build larger values."""

    @property
    @abstractmethod
    def text(self) -> str:
        """The term for people."""

    @abstractmethod
    def smtlib(self, inline: bool = False) -> str:
        """Return the term in SMT-LIB 2; with `inline`, named terms are written out."""

    @abstractmethod
    def value(self, point: Point) -> Fraction:
        """Return the exact value at a point."""

    @property
    @abstractmethod
    def parts(self) -> tuple[Term, ...]:
        """The terms it is made of."""

    @property
    def degree(self) -> int:
        """0 for a constant, 1 for a piecewise linear term, more for a product of variables."""
        return max((part.degree for part in self.parts), default=0)

    def __add__(self, other: Term | Number) -> Term:
        return Sum((self, term(other)))

    def __radd__(self, other: Number) -> Term:
        return Sum((term(other), self))

    def __sub__(self, other: Term | Number) -> Term:
        return Sum((self, -term(other)))

    def __rsub__(self, other: Number) -> Term:
        return Sum((term(other), -self))

    def __neg__(self) -> Term:
        return Product(Constant(Fraction(-1)), self)

    def __mul__(self, other: Term | Number) -> Term:
        return Product(self, term(other))

    def __rmul__(self, other: Number) -> Term:
        return Product(term(other), self)

    def __le__(self, other: Term | Number) -> Formula:
        return Comparison("<=", self, term(other))

    def __lt__(self, other: Term | Number) -> Formula:
        return Comparison("<", self, term(other))

    def __ge__(self, other: Term | Number) -> Formula:
        return Comparison(">=", self, term(other))

    def __gt__(self, other: Term | Number) -> Formula:
        return Comparison(">", self, term(other))


def term(value: Term | Number) -> Term:
    """Return a term as it is, and a number as a constant."""
    return value if isinstance(value, Term) else Constant(Fraction(value))


@dataclass(frozen=True, slots=True, eq=False)
class Constant(Term):
    """A rational number."""

    number: Fraction

    @property
    def text(self) -> str:
        return str(self.number).replace("-", "−")

    def smtlib(self, inline: bool = False) -> str:
        size = f"{abs(self.number.numerator)}.0"
        if self.number.denominator > 1:
            size = f"(/ {size} {self.number.denominator}.0)"
        return f"(- {size})" if self.number < 0 else size

    def value(self, point: Point) -> Fraction:
        return self.number

    @property
    def parts(self) -> tuple[Term, ...]:
        return ()


@dataclass(frozen=True, slots=True, eq=False)
class Variable(Term):
    """An unknown real number."""

    name: str

    @property
    def text(self) -> str:
        return self.name

    def smtlib(self, inline: bool = False) -> str:
        return f"|{self.name}|"

    def value(self, point: Point) -> Fraction:
        return point[self.name]

    @property
    def parts(self) -> tuple[Term, ...]:
        return ()

    @property
    def degree(self) -> int:
        return 1


@dataclass(frozen=True, slots=True, eq=False)
class Sum(Term):
    """A sum of terms."""

    terms: tuple[Term, ...]

    @property
    def text(self) -> str:
        shown = self.terms[0].text
        for part in self.terms[1:]:
            sign, size = ("−", part.text[1:]) if part.text.startswith("−") else ("+", part.text)
            shown += f" {sign} {size}"
        return shown

    def smtlib(self, inline: bool = False) -> str:
        return f"(+ {' '.join(part.smtlib(inline) for part in self.terms)})"

    def value(self, point: Point) -> Fraction:
        return sum((part.value(point) for part in self.terms), Fraction(0))

    @property
    def parts(self) -> tuple[Term, ...]:
        return self.terms


@dataclass(frozen=True, slots=True, eq=False)
class Product(Term):
    """A product of two terms."""

    left: Term
    right: Term

    @property
    def text(self) -> str:
        left, right = (f"({part.text})" if isinstance(part, Sum) else part.text for part in self.parts)
        return f"−{right}" if left == "−1" else f"{left}·{right}"

    def smtlib(self, inline: bool = False) -> str:
        return f"(* {self.left.smtlib(inline)} {self.right.smtlib(inline)})"

    def value(self, point: Point) -> Fraction:
        return self.left.value(point) * self.right.value(point)

    @property
    def parts(self) -> tuple[Term, ...]:
        return (self.left, self.right)

    @property
    def degree(self) -> int:
        return self.left.degree + self.right.degree


@dataclass(frozen=True, slots=True, eq=False)
class Extreme(Term):
    """The largest or the smallest of several terms."""

    which: Literal["max", "min"]
    terms: tuple[Term, ...]

    @property
    def text(self) -> str:
        return f"{self.which}({', '.join(part.text for part in self.terms)})"

    def smtlib(self, inline: bool = False) -> str:
        return reduce(
            lambda inner, part: f"(dodiag.{self.which} {inner} {part})", (t.smtlib(inline) for t in self.terms)
        )

    def value(self, point: Point) -> Fraction:
        values = [part.value(point) for part in self.terms]
        return max(values) if self.which == "max" else min(values)

    @property
    def parts(self) -> tuple[Term, ...]:
        return self.terms


@dataclass(frozen=True, slots=True, eq=False)
class Named(Term):
    """A term that has a name of its own, such as p for q11 + q10."""

    name: str
    body: Term

    @property
    def text(self) -> str:
        return self.name

    def smtlib(self, inline: bool = False) -> str:
        return self.body.smtlib(inline) if inline else f"|{self.name}|"

    def value(self, point: Point) -> Fraction:
        return self.body.value(point)

    @property
    def parts(self) -> tuple[Term, ...]:
        return (self.body,)


def variables(names: str) -> tuple[Variable, ...]:
    """Return the variables of space-separated names.

    Examples
    --------
    >>> p, p_prime = variables("p p'")
    >>> (maximum(0, p - p_prime) <= p).text
    "max(0, p − p') ≤ p"
    """
    return tuple(Variable(name) for name in names.split())


def total(terms: Sequence[Term]) -> Term:
    """Return the sum of terms."""
    return Sum(tuple(terms)) if len(terms) != 1 else terms[0]


def maximum(*terms: Term | Number) -> Term:
    """Return the largest of terms."""
    return Extreme("max", tuple(term(part) for part in terms))


def minimum(*terms: Term | Number) -> Term:
    """Return the smallest of terms."""
    return Extreme("min", tuple(term(part) for part in terms))


class Formula(ABC):
    """A statement about terms: true or false at every point."""

    @property
    @abstractmethod
    def text(self) -> str:
        """The formula for people."""

    @abstractmethod
    def smtlib(self, inline: bool = False) -> str:
        """Return the formula in SMT-LIB 2; with `inline`, named terms are written out."""

    @abstractmethod
    def holds(self, point: Point) -> bool:
        """Whether it is true at a point, decided in exact fractions.

        Raises
        ------
        NotImplementedError
            If the formula holds a quantifier.
        """

    @property
    def formulas(self) -> tuple[Formula, ...]:
        """The formulas it is made of."""
        return ()

    @property
    def terms(self) -> tuple[Term, ...]:
        """The terms it compares."""
        return ()

    def __bool__(self) -> bool:
        raise TypeError("a formula has no truth value by itself; a chain a <= b <= c is written with both()")


@dataclass(frozen=True, slots=True, eq=False)
class Comparison(Formula):
    """Two terms compared."""

    relation: Literal["<=", "<", ">=", ">", "="]
    left: Term
    right: Term

    @property
    def text(self) -> str:
        sign = {"<=": "≤", ">=": "≥"}.get(self.relation, self.relation)
        return f"{self.left.text} {sign} {self.right.text}"

    def smtlib(self, inline: bool = False) -> str:
        return f"({self.relation} {self.left.smtlib(inline)} {self.right.smtlib(inline)})"

    def holds(self, point: Point) -> bool:
        left, right = self.left.value(point), self.right.value(point)
        return {
            "<=": left <= right,
            "<": left < right,
            ">=": left >= right,
            ">": left > right,
            "=": left == right,
        }[self.relation]

    @property
    def terms(self) -> tuple[Term, ...]:
        return (self.left, self.right)


@dataclass(frozen=True, slots=True, eq=False)
class Chain(Formula):
    """Several terms that are all equal, or each at most the next."""

    relation: Literal["<=", "="]
    chained: tuple[Term, ...]

    @property
    def text(self) -> str:
        return {"<=": " ≤ ", "=": " = "}[self.relation].join(part.text for part in self.chained)

    def smtlib(self, inline: bool = False) -> str:
        return f"({self.relation} {' '.join(part.smtlib(inline) for part in self.chained)})"

    def holds(self, point: Point) -> bool:
        values = [part.value(point) for part in self.chained]
        return all(a <= b if self.relation == "<=" else a == b for a, b in pairwise(values))

    @property
    def terms(self) -> tuple[Term, ...]:
        return self.chained


@dataclass(frozen=True, slots=True, eq=False)
class Every(Formula):
    """All of several formulas."""

    formulas_joined: tuple[Formula, ...]

    @property
    def text(self) -> str:
        return " and ".join(part.text for part in self.formulas)

    def smtlib(self, inline: bool = False) -> str:
        return f"(and {' '.join(part.smtlib(inline) for part in self.formulas)})"

    def holds(self, point: Point) -> bool:
        return all(part.holds(point) for part in self.formulas)

    @property
    def formulas(self) -> tuple[Formula, ...]:
        return self.formulas_joined


@dataclass(frozen=True, slots=True, eq=False)
class Either(Formula):
    """At least one of several formulas."""

    formulas_joined: tuple[Formula, ...]

    @property
    def text(self) -> str:
        return " or ".join(part.text for part in self.formulas)

    def smtlib(self, inline: bool = False) -> str:
        return f"(or {' '.join(part.smtlib(inline) for part in self.formulas)})"

    def holds(self, point: Point) -> bool:
        return any(part.holds(point) for part in self.formulas)

    @property
    def formulas(self) -> tuple[Formula, ...]:
        return self.formulas_joined


@dataclass(frozen=True, slots=True, eq=False)
class Denial(Formula):
    """A formula does not hold."""

    denied: Formula

    @property
    def text(self) -> str:
        return f"not ({self.denied.text})"

    def smtlib(self, inline: bool = False) -> str:
        return f"(not {self.denied.smtlib(inline)})"

    def holds(self, point: Point) -> bool:
        return not self.denied.holds(point)

    @property
    def formulas(self) -> tuple[Formula, ...]:
        return (self.denied,)


@dataclass(frozen=True, slots=True, eq=False)
class Implication(Formula):
    """Where one formula holds, so does another."""

    condition: Formula
    consequence: Formula

    @property
    def text(self) -> str:
        return f"{self.consequence.text} where {self.condition.text}"

    def smtlib(self, inline: bool = False) -> str:
        return f"(=> {self.condition.smtlib(inline)} {self.consequence.smtlib(inline)})"

    def holds(self, point: Point) -> bool:
        return not self.condition.holds(point) or self.consequence.holds(point)

    @property
    def formulas(self) -> tuple[Formula, ...]:
        return (self.condition, self.consequence)


@dataclass(frozen=True, slots=True, eq=False)
class Existence(Formula):
    """Some values of the bound variables make a formula hold."""

    bound: tuple[Variable, ...]
    body: Formula

    @property
    def text(self) -> str:
        names = [variable.name for variable in self.bound]
        shown = ", ".join(names) if len(names) <= 4 else f"{names[0]}, …, {names[-1]}"
        return f"there are {shown} with {self.body.text}"

    def smtlib(self, inline: bool = False) -> str:
        sorts = " ".join(f"({variable.smtlib()} Real)" for variable in self.bound)
        return f"(exists ({sorts}) {self.body.smtlib(inline=True)})"

    def holds(self, point: Point) -> bool:
        raise NotImplementedError("a quantifier is not decided by putting numbers in")

    @property
    def formulas(self) -> tuple[Formula, ...]:
        return (self.body,)


@dataclass(frozen=True, slots=True, eq=False)
class Said(Formula):
    """A formula that is told in words."""

    words: str
    body: Formula

    @property
    def text(self) -> str:
        return self.words

    def smtlib(self, inline: bool = False) -> str:
        return self.body.smtlib(inline)

    def holds(self, point: Point) -> bool:
        return self.body.holds(point)

    @property
    def formulas(self) -> tuple[Formula, ...]:
        return (self.body,)


def equal(*terms: Term | Number) -> Formula:
    """All terms are equal."""
    return Chain("=", tuple(term(part) for part in terms))


def rising(*terms: Term | Number) -> Formula:
    """Each term is at most the next: ``rising(0, p, 1)`` is 0 ≤ p ≤ 1."""
    return Chain("<=", tuple(term(part) for part in terms))


def both(*formulas: Formula) -> Formula:
    """All formulas hold."""
    return Every(formulas)


def either(*formulas: Formula) -> Formula:
    """At least one formula holds."""
    return Either(formulas)


def is_not(formula: Formula) -> Formula:
    """The formula does not hold."""
    return Denial(formula)


def where(condition: Formula, consequence: Formula) -> Formula:
    """The consequence holds where the condition does."""
    return Implication(condition, consequence)


def exists(bound: Sequence[Term], body: Formula) -> Formula:
    """Some values of the bound variables make the body hold."""
    return Existence(tuple(variable for variable in bound if isinstance(variable, Variable)), body)


def walk(formula: Formula) -> Iterator[Formula]:
    """Yield a formula and all formulas within it."""
    yield formula
    for part in formula.formulas:
        yield from walk(part)


def walk_terms(formula: Formula) -> Iterator[Term]:
    """Yield all terms within a formula, parts before wholes."""
    for part in walk(formula):
        for top in part.terms:
            yield from _within(top)


def _within(whole: Term) -> Iterator[Term]:
    for part in whole.parts:
        yield from _within(part)
    yield whole
