"""Deciding a linear claim about response types by exact duality.

Three kinds of claim are decided. An *implication* holds if the least of its left-hand side minus its right-hand side is
0 or more; a *sharp end* is a list of affine functions of the margins that are all valid and of which one is always
attained; a *region* is a list of inequalities that the margins satisfy if and only if some distribution has them. The
first needs one certificate; the others need all vertices (rays) of the dual polyhedron, which are found by trying every
basis. Every certificate is checked by ``certificate.check``, and compared with the program and the sum that the claim
is about, so that what made it is not trusted. Every refutation shows a distribution, or margins that no distribution
has.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from dodiag.bounds.linear.bound import End, certify, certify_weights
from dodiag.bounds.linear.certificate import Certificate, Rational, WrongCertificate, check
from dodiag.bounds.linear.errors import ImpossibleProgram
from dodiag.bounds.linear.exhaustive import every_extreme_ray, rank
from dodiag.bounds.linear.program import Program, rational
from dodiag.bounds.linear.response_types import Constraint, Event, Form, Number, ResponseTypes, weighted_sum
from dodiag.proofs.statement import Finding, Method, Statement, Verdict

Affine = Mapping[str, Rational]
"""Coefficients of an affine function by the name of the margin; the empty name stands for the constant."""

NOTHING: Affine = {}
"""The function 0."""

MONOTONE = "no unit is solved under a' and failed under a"
TIAN_PEARL = "Tian & Pearl 2000"


@dataclass
class Ledger:
    """Checks certificates, and counts what was checked on the way to a finding."""

    certificates: int = 0
    vertices: int = 0

    def end(self, program: Program, weights: Sequence[Rational], end: End) -> Certificate:
        """Return the checked certificate of one end of a weighted sum over a program."""
        return self.add(certify_weights(program, weights, end), program, end, weights)

    def add(
        self,
        certificate: Certificate,
        program: Program,
        sense: Literal["min", "max", "infeasible"],
        weights: Sequence[Rational] = (),
        denominator: Sequence[Rational] | None = None,
    ) -> Certificate:
        """Check a certificate, and that it is one of this program, this end and this sum (or ratio).

        Raises
        ------
        WrongCertificate
            If it proves nothing, or something else.
        """
        check(certificate)
        columns = program.columns
        asked = (
            sense,
            columns,
            {name: sparse(columns, row) for name, row in zip(program.rows, program.matrix, strict=True)},
            sparse(program.rows, program.numbers()),
            sparse(columns, weights or [0] * len(columns)),
            None if denominator is None else sparse(columns, denominator),
        )
        divisor = certificate.denominator
        answered = (
            certificate.sense,
            certificate.columns,
            {name: sparse(row, row.values()) for name, row in certificate.rows.items()},
            sparse(certificate.right, certificate.right.values()),
            sparse(certificate.objective, certificate.objective.values()),
            None if divisor is None else sparse(divisor, divisor.values()),
        )
        if asked != answered:
            raise WrongCertificate("it speaks of another program than the claim")
        self.certificates += 1
        return certificate

    @property
    def text(self) -> str:
        vertices = f", {self.vertices} dual vertices and rays" if self.vertices else ""
        return f"{self.certificates} certificate{'s' * (self.certificates != 1)} checked{vertices}"


def sparse(names: Iterable[str], values: Iterable[Number]) -> dict[str, Rational]:
    """Return the entries that are not 0, by name."""
    return {name: rational(value) for name, value in zip(names, values, strict=True) if value}


@dataclass(frozen=True)
class Margins:
    """What is known of a distribution: named margins, and events that never happen.

    Attributes
    ----------
    types : ResponseTypes
    forms : mapping of str to Form
        The margins by name.
    never : tuple of Event
        Events of probability 0.
    """

    types: ResponseTypes
    forms: Mapping[str, Form]
    never: tuple[Event, ...] = ()

    def form(self, affine: Affine) -> Form:
        """Return an affine function of the margins as a linear form over the types."""
        total = self.types.constant(affine.get("", 0))
        for name, weight in affine.items():
            if name:
                total = total + weight * self.forms[name]
        return total

    def possible(self) -> list[str]:
        """Return the types that the events leave."""
        out = 0
        for event in self.never:
            out |= event.mask
        return [name for place, name in enumerate(self.types.types) if not out >> place & 1]

    def over_types(self, form: Form) -> dict[str, Rational]:
        """Return the weights of a form over the possible types."""
        weights = dict(zip(self.types.types, form.weights(), strict=True))
        return {name: rational(weights[name]) for name in self.possible()}

    def program(self) -> Program:
        """Return the distributions over the possible types."""
        columns = tuple(self.possible())
        return Program(columns, ("total",), ((1,) * len(columns),), (1,), self.types.about)

    def shown(self, certificate: Certificate) -> str:
        """Return the distribution of a certificate with its margins, for people."""
        cells = set(self.types.types)
        point = {name: value for name, value in certificate.primal.items() if name in cells}
        at = ", ".join(f"P({name}) = {value}" for name, value in sorted(point.items()))
        symbols = ", ".join(self.types.symbol(name) for name in self.types.names)
        margins = ", ".join(
            f"{name} = {sum((weights[cell] * point.get(cell, 0) for cell in weights), Fraction(0))}"
            for name, weights in ((name, self.over_types(form)) for name, form in self.forms.items())
        )
        return f"({symbols}): {at}" + (f", so {margins}" if margins else "")


def implied(margins: Margins, hypotheses: Sequence[Constraint], goals: Sequence[Constraint]) -> Finding:
    """Decide whether every distribution that meets the hypotheses meets all goals."""
    types = margins.types
    program = Program.of(types, [*hypotheses, *(types.probability(event) == 0 for event in margins.never)])
    ledger = Ledger()
    for goal in goals:
        ends: tuple[End, ...] = (
            ("min", "max") if goal.relation == "==" else ("min",) if goal.relation == ">=" else ("max",)
        )
        for end in ends:
            certificate = ledger.end(program, [rational(weight) for weight in program.weights(goal.form)], end)
            beyond = certificate.value - rational(goal.right)
            if beyond < 0 if end == "min" else beyond > 0:
                return Finding(Verdict.REFUTED, f"{goal} fails by {abs(beyond)} at {margins.shown(certificate)}")
    return Finding(Verdict.PROVED, ledger.text)


def sharp_end(margins: Margins, query: Form, end: End, claimed: Sequence[Affine]) -> Finding:
    """Decide whether a sharp end is the largest ("min") or smallest ("max") of claimed functions of the margins.

    Valid: no distribution has the query beyond a claimed function. Sharp: every vertex of the dual polyhedron is, over
    all possible margins, within the claimed functions; by strong duality the end is attained by one of the vertices.
    """
    sign = 1 if end == "min" else -1
    ledger = Ledger()
    cells, weights = margins.possible(), margins.over_types(query)
    program = margins.program()
    over = [margins.over_types(margins.form(affine)) for affine in claimed]
    for affine, values in zip(claimed, over, strict=True):
        gap = [sign * (weights[cell] - values[cell]) for cell in cells]
        certificate = ledger.end(program, gap, "min")
        if certificate.value < 0:
            passed = f"{query} passes {shown(affine)} by {-certificate.value}"
            return Finding(Verdict.REFUTED, f"{passed} at {margins.shown(certificate)}")
    for ray in _dual_rays(margins, {cell: sign * weights[cell] for cell in cells}):
        ledger.vertices += 1
        *multipliers, scale = ray
        if not scale:
            continue
        vertex = _over_cells(margins, [Fraction(m, scale) for m in multipliers])
        leads = [[vertex[cell] - sign * values[cell] for cell in cells] for values in over]
        certificate = ledger.end(*_least_lead(program, leads), "max")
        if certificate.value > 0:
            missed = f"the {'lower' if end == 'min' else 'upper'} end of {query} is off by {certificate.value}"
            return Finding(Verdict.REFUTED, f"{missed} at the margins of {margins.shown(certificate)}")
    return Finding(Verdict.PROVED, ledger.text)


def region(margins: Margins, claimed: Sequence[Affine]) -> Finding:
    """Decide whether margins are possible if and only if the claimed functions of them are all 0 or more."""
    ledger = Ledger()
    cells, program = margins.possible(), margins.program()
    for affine in claimed:
        values = margins.over_types(margins.form(affine))
        certificate = ledger.end(program, [values[cell] for cell in cells], "min")
        if certificate.value < 0:
            return Finding(Verdict.REFUTED, f"{shown(affine)} ≥ 0 fails at {margins.shown(certificate)}")
    names = list(margins.forms)
    if [name for name, _ in _rows(margins)] != ["", *names]:
        raise ValueError("the margins of a region have to be independent")
    for ray in _dual_rays(margins, None):
        ledger.vertices += 1
        condition = dict(zip(["", *names], ray, strict=True))
        point = _point_beyond(condition, claimed, names, ledger)
        if point is None:
            continue
        at = ", ".join(f"{name} = {value}" for name, value in point.items())
        everywhere = [Constraint(margins.forms[name], "==", value, name) for name, value in point.items()]
        everywhere += [margins.types.probability(event) == 0 for event in margins.never]
        there = Program.of(margins.types, everywhere)
        try:
            certify(there, margins.types.constant(0), "min")
        except ImpossibleProgram as error:
            ledger.add(error.certificate, there, "infeasible")
            return Finding(Verdict.REFUTED, f"all claimed inequalities hold at {at}, which no distribution has")
        return Finding(Verdict.UNKNOWN, f"{at} contradicts a ray, but a distribution has it")
    return Finding(Verdict.PROVED, ledger.text)


def _rows(margins: Margins) -> list[tuple[str, dict[str, Rational]]]:
    """Return the total and the margins over the possible types, without those that follow from the ones before."""
    kept: list[tuple[str, dict[str, Rational]]] = [("", dict.fromkeys(margins.possible(), 1))]
    for name, form in margins.forms.items():
        candidate = [*kept, (name, margins.over_types(form))]
        if rank([[int(value) for value in row.values()] for _, row in candidate]) == len(candidate):
            kept = candidate
    return kept


def _dual_rays(margins: Margins, weights: Mapping[str, Rational] | None) -> list[tuple[int, ...]]:
    """Return all rays of the cone over {y : A'y <= weights}, with its last entry the scale, or of {y : A'y >= 0}."""
    rows = [row for _, row in _rows(margins)]
    columns = [[int(row[cell]) for row in rows] for cell in margins.possible()]
    if weights is None:
        return sorted(every_extreme_ray(columns))
    over = [
        (*(-entry for entry in column), int(weights[cell]))
        for column, cell in zip(columns, margins.possible(), strict=True)
    ]
    return sorted(every_extreme_ray([*over, (*([0] * len(rows)), 1)]))


def _over_cells(margins: Margins, multipliers: Sequence[Rational]) -> dict[str, Rational]:
    rows = [row for _, row in _rows(margins)]
    return {
        cell: sum((m * row[cell] for m, row in zip(multipliers, rows, strict=True)), Fraction(0))
        for cell in margins.possible()
    }


def _least_lead(program: Program, leads: Sequence[Sequence[Rational]]) -> tuple[Program, list[Rational]]:
    """Return the program and the sum whose maximum is the largest number that is at most every lead."""
    count = len(leads)
    columns = (*program.columns, "lead", "minus lead", *(f"slack {place}" for place in range(count)))
    padding = [0] * (count + 2)
    rows = [(*row, *padding) for row in program.matrix]
    rows += [(*lead, -1, 1, *(-int(place == k) for k in range(count))) for place, lead in enumerate(leads)]
    names = (*program.rows, *(f"lead {place}" for place in range(count)))
    larger = Program(columns, names, tuple(rows), (*program.right, *([0] * count)), program.about)
    return larger, [*([0] * len(program.columns)), 1, -1, *([0] * count)]


def _point_beyond(
    condition: Affine, claimed: Sequence[Affine], names: Sequence[str], ledger: Ledger
) -> dict[str, Rational] | None:
    """Return margins that meet all claimed inequalities and break a condition by at most 1, or None.

    Margins are free numbers here, each the difference of two variables. Capping the breach at 1 keeps the least finite
    and hides nothing: a larger breach implies, by convexity, a smaller one.
    """
    inequalities = [*claimed, {**condition, "": condition.get("", 0) + 1}]
    columns = [*(sign + name for name in names for sign in "+-"), *(f"slack {k}" for k in range(len(inequalities)))]
    matrix = tuple(
        (*_split(affine, names), *(-int(place == k) for k in range(len(inequalities))))
        for place, affine in enumerate(inequalities)
    )
    rows = (*(f"claim {place}" for place in range(len(claimed))), "breach at most 1")
    right = tuple(-affine.get("", 0) for affine in inequalities)
    program = Program(tuple(columns), rows, matrix, right, "margins as differences of two variables")
    certificate = ledger.end(program, [*_split(condition, names), *([0] * len(inequalities))], "min")
    if certificate.value + condition.get("", 0) >= 0:
        return None
    return {name: certificate.primal.get("+" + name, 0) - certificate.primal.get("-" + name, 0) for name in names}


def _split(affine: Affine, names: Sequence[str]) -> list[Rational]:
    return [sign * affine.get(name, 0) for name in names for sign in (1, -1)]


def shown(affine: Affine) -> str:
    """Return an affine function as text.

    Examples
    --------
    >>> shown({"p": 1, "p'": -1})
    "p - p'"
    """
    return weighted_sum(sorted(((weight, name) for name, weight in affine.items()), key=lambda piece: piece[0] < 0))


def margins_of(regimes: Iterable[str], names: Sequence[str]) -> Margins:
    """Return types over regimes, with the success probability of each as its named margin."""
    types = ResponseTypes(tuple(regimes))
    forms = {name: types.probability({regime: 1}) for regime, name in zip(types.regimes, names, strict=True)}
    return Margins(types, forms)


def benefit(margins: Margins, better: str, worse: str) -> Form:
    """PNS(better, worse): solved under the one and failed under the other."""
    return margins.types.probability({better: 1, worse: 0})


def without(margins: Margins, *names: str, never: tuple[Event, ...] = ()) -> Margins:
    """Return the margins without some names, and with further events that never happen."""
    forms = {name: form for name, form in margins.forms.items() if name not in names}
    return Margins(margins.types, forms, (*margins.never, *never))


def all_of(findings: Iterable[Finding]) -> Finding:
    """Return the first finding that is not a proof, or one proof of all."""
    details = []
    for finding in findings:
        if finding.verdict is not Verdict.PROVED:
            return finding
        details.append(finding.detail)
    return Finding(
        Verdict.PROVED, "; ".join(dict.fromkeys(details)) if len(set(details)) < 4 else f"{len(details)} parts"
    )


def statement(
    name: str,
    goal: str,
    check: Callable[[], Finding],
    *,
    source: str = "dodiag",
    hypotheses: tuple[str, ...] = (),
    expected: Verdict = Verdict.PROVED,
) -> Statement:
    """Return a statement that exact linear programming decides; `expected` is REFUTED for mutants."""
    return Statement(name, source, hypotheses, goal, Method.LINEAR, expected, check)


def mutant(name: str, goal: str, check: Callable[[], Finding], *hypotheses: str) -> Statement:
    """Return a mutant: a false variant of a theorem, which the check must refute."""
    return statement(name, goal, check, source="a false variant", hypotheses=hypotheses, expected=Verdict.REFUTED)
