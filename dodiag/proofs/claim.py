"""Claims of real arithmetic: what is given and what follows, as values that print, export and meet exact numbers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from dodiag.proofs.statement import Verdict
from dodiag.proofs.terms import (
    Existence,
    Formula,
    Named,
    Point,
    Said,
    Term,
    Variable,
    both,
    equal,
    is_not,
    maximum,
    minimum,
    total,
    variables,
    walk,
    walk_terms,
    where,
)


@dataclass(frozen=True, slots=True, eq=False)
class Claim:
    """From what is given, the goal follows, for all real values of the variables.

    Attributes
    ----------
    name, source : str
        As in :class:`~dodiag.proofs.statement.Statement`.
    given : tuple of Formula
    goal : Formula
    words : str
        The goal in words.
    expected : Verdict
        `REFUTED` for mutants, and for theorems with an assumption taken away.
    """

    name: str
    source: str
    given: tuple[Formula, ...]
    goal: Formula
    words: str = ""
    expected: Verdict = Verdict.PROVED

    @property
    def definitions(self) -> tuple[Named, ...]:
        """The named terms, each after those it is made of.

        Raises
        ------
        ValueError
            If one name stands for two terms.
        """
        found: dict[str, Named] = {}
        for part in self._terms():
            if isinstance(part, Named):
                known = found.setdefault(part.name, part)
                if known.body.smtlib(inline=True) != part.body.smtlib(inline=True):
                    raise ValueError(f"{self.name}: {part.name} stands for two terms")
        return tuple(found.values())

    @property
    def unknowns(self) -> tuple[str, ...]:
        """The names of the variables that no quantifier binds."""
        bound = {variable.name for formula in self._formulas() for variable in _bound(formula)}
        names = dict.fromkeys(part.name for part in self._terms() if isinstance(part, Variable))
        return tuple(name for name in names if name not in bound)

    @property
    def linear(self) -> bool:
        """Whether no two variables are multiplied."""
        return all(part.degree <= 1 for part in self._terms())

    @property
    def quantified(self) -> bool:
        """Whether a quantifier occurs."""
        return any(_bound(formula) for formula in self._formulas())

    @property
    def hypotheses(self) -> tuple[str, ...]:
        """What is given, for people; definitions of named terms first."""
        outside = {part.name for top in (*self.given, self.goal) for part in _free_names(top)}
        named = [f"{d.name} = {d.body.text}" for d in self.definitions if d.name in outside]
        return (*named, *(formula.text for formula in self.given))

    @property
    def goal_text(self) -> str:
        """The goal for people: in words where there are any, and as a formula."""
        return f"{self.words}: {self.goal.text}" if self.words else self.goal.text

    def refuted_at(self, point: Point) -> bool:
        """Whether a point has everything that is given, but not the goal; decided in exact fractions."""
        return self.possible_at(point) and not self.goal.holds(point)

    def possible_at(self, point: Point) -> bool:
        """Whether everything that is given holds at a point; decided in exact fractions."""
        return all(formula.holds(point) for formula in self.given)

    def smtlib(self) -> str:
        """Return the claim as an SMT-LIB 2 script whose satisfying assignments are counterexamples.

        ``unsat`` means proved, ``sat`` refuted; the status that is expected stands in ``(set-info :status ...)``.
        """
        status = "unsat" if self.expected is Verdict.PROVED else "sat"
        comments = [f"; {self.name} ({self.source})", *(f"; given {text}" for text in self.hypotheses)]
        asserted = [f"(assert {formula.smtlib()})" for formula in self.given]
        lines = [
            *comments,
            f"; to show: {self.goal_text}",
            "; the goal is negated below: unsat means proved, sat means refuted",
            f"(set-info :status {status})",
            f"(set-logic {'' if self.quantified else 'QF_'}{'LRA' if self.linear else 'NRA'})",
            "(define-fun dodiag.max ((x Real) (y Real)) Real (ite (>= x y) x y))",
            "(define-fun dodiag.min ((x Real) (y Real)) Real (ite (<= x y) x y))",
            *(f"(declare-const |{name}| Real)" for name in self.unknowns),
            *(f"(define-fun |{d.name}| () Real {d.body.smtlib()})" for d in self._definable()),
            *asserted,
            f"(assert {is_not(self.goal).smtlib()})",
            "(check-sat)",
        ]
        return "\n".join(lines) + "\n"

    def premises(self) -> Claim:
        """Return the claim that what is given is impossible: it must be refuted, or the claim says nothing."""
        return Claim(f"{self.name}/premises", self.source, self.given, equal(0, 1), expected=Verdict.REFUTED)

    def _definable(self) -> tuple[Named, ...]:
        free = set(self.unknowns)
        return tuple(d for d in self.definitions if all(v.name in free for v in _leaves(d)))

    def _formulas(self) -> Iterator[Formula]:
        for top in (*self.given, self.goal):
            yield from walk(top)

    def _terms(self) -> Iterator[Term]:
        for top in (*self.given, self.goal):
            yield from walk_terms(top)


def _bound(formula: Formula) -> tuple[Variable, ...]:
    return formula.bound if isinstance(formula, Existence) else ()


def _leaves(whole: Term) -> Iterator[Variable]:
    if isinstance(whole, Variable):
        yield whole
    for part in whole.parts:
        yield from _leaves(part)


def _free_names(formula: Formula) -> Iterator[Named]:
    """Yield the named terms that a reader meets in a formula's text."""
    if isinstance(formula, Said):
        return
    for top in formula.terms:
        yield from (part for part in _all_parts(top) if isinstance(part, Named))
    for inner in formula.formulas:
        yield from _free_names(inner)


def _all_parts(whole: Term) -> Iterator[Term]:
    yield whole
    for part in whole.parts:
        yield from _all_parts(part)


def distribution(cells: tuple[Term, ...], words: str) -> Formula:
    """The cells are probabilities and their sum is 1."""
    return Said(words, both(*(cell >= 0 for cell in cells), equal(total(cells), 1)))


def probabilities(*terms: Term) -> Formula:
    """All terms are in [0, 1]."""
    names = ", ".join(part.text for part in terms)
    return Said(f"{names} in [0, 1]", both(*(part >= 0 for part in terms), *(part <= 1 for part in terms)))


def quotient(variable: Term, numerator: Term, denominator: Term) -> tuple[Formula, Formula]:
    """The variable is numerator / denominator, with a positive denominator."""
    return denominator > 0, equal(variable * denominator, numerator)


def quotient_or_zero(variable: Term, numerator: Term, denominator: Term) -> tuple[Formula, Formula]:
    """The variable is numerator / denominator, and 0 by convention where the denominator is 0."""
    return (
        where(denominator > 0, equal(variable * denominator, numerator)),
        where(equal(denominator, 0), equal(variable, 0)),
    )


@dataclass(frozen=True, slots=True, eq=False)
class FourTypes:
    """The joint distribution of (Y_a, Y_a') in one context: four response types.

    Attributes
    ----------
    both_solved, only_a, only_a_prime, neither : Term
        P(Y_a = 1, Y_a' = 1), P(1, 0), P(0, 1), P(0, 0).
    p, p_prime : Named
        P(Y_a = 1) and P(Y_a' = 1).
    """

    both_solved: Term
    only_a: Term
    only_a_prime: Term
    neither: Term
    p: Named
    p_prime: Named

    @classmethod
    def of(cls, cells: tuple[Term, Term, Term, Term], p: str = "p", p_prime: str = "p'") -> FourTypes:
        """Return the types with given probabilities, in the order 11, 10, 01, 00."""
        return cls(*cells, Named(p, cells[0] + cells[1]), Named(p_prime, cells[0] + cells[2]))

    @classmethod
    def named(cls, letter: str = "q", p: str = "p", p_prime: str = "p'") -> FourTypes:
        """Return the types with the unknown probabilities q11, q10, q01, q00, or those of another letter."""
        both_solved, only_a, only_a_prime, neither = variables(
            " ".join(f"{letter}{jk}" for jk in ("11", "10", "01", "00"))
        )
        return cls.of((both_solved, only_a, only_a_prime, neither), p, p_prime)

    @property
    def cells(self) -> tuple[Term, Term, Term, Term]:
        """All four types."""
        return self.both_solved, self.only_a, self.only_a_prime, self.neither

    @property
    def given(self) -> Formula:
        """The types are a distribution."""
        names = ", ".join(cell.text for cell in self.cells)
        return distribution(self.cells, f"{names}: a distribution of (Y_a, Y_a')")

    @property
    def low(self) -> Term:
        """max(0, p − p')."""
        return maximum(0, self.p - self.p_prime)

    @property
    def up(self) -> Term:
        """min(p, 1 − p')."""
        return minimum(self.p, 1 - self.p_prime)
