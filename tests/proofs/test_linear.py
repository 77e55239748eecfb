"""The linear statements: theorems are proved, mutants are refuted with a counterexample to follow by hand."""

import json
import sys
from dataclasses import replace
from fractions import Fraction
from itertools import combinations
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dodiag.bounds.linear import certificate as checker
from dodiag.bounds.linear.bound import bound, certify_weights
from dodiag.bounds.linear.certificate import WrongCertificate, check, from_json, to_json
from dodiag.bounds.linear.errors import ImpossibleProgram
from dodiag.bounds.linear.program import Program
from dodiag.bounds.linear.response_types import ResponseTypes
from dodiag.proofs.linear import STATEMENTS
from dodiag.proofs.linear.claims import Ledger, Margins, implied, margins_of, region, sharp_end, without
from dodiag.proofs.statement import Method, Verdict

BY_NAME = {statement.name: statement for statement in STATEMENTS}


@pytest.mark.parametrize("statement", STATEMENTS, ids=BY_NAME)
def test_the_verdict_is_the_expected_one(statement):
    finding = statement.check()
    assert finding.verdict is statement.expected
    assert finding.detail
    if statement.expected is Verdict.REFUTED:
        assert statement.check() == finding, "the counterexample is always the same"


def test_names_are_unique_and_mutants_are_what_is_refuted():
    assert len(BY_NAME) == len(STATEMENTS)
    for name, statement in BY_NAME.items():
        assert (statement.expected is Verdict.REFUTED) == ("/mutant-" in name)
        assert statement.method is Method.LINEAR


def test_every_theorem_of_the_list_is_there():
    wanted = {"A.3", "A.4", "A.5", "A.6", "A.3/sharp-lower", "A.3/sharp-upper", "A.4/sharp-lower", "A.4/sharp-upper"}
    wanted |= {f"TP/{name}-{end}" for name in ("pns", "pn", "ps") for end in ("lower", "upper")}
    wanted |= {"TP/consistency", "three-state/third-arm", "three-state/triangle", "three-state/antisymmetry"}
    wanted |= {"three-state/cycle", "three-state/region", "three-state/region-grid", "three-state/only-correct"}
    wanted |= {"three-state/transfer", "monotone/compose", "conjunctive/pair", "conjunctive/pair-none"}
    wanted |= {"conjunctive/single-repair", "one-sided/pns-lower", "one-sided/pns-upper", "one-sided/harm"}
    assert wanted <= BY_NAME.keys()


pair = margins_of(("a", "b"), ("p", "q"))
benefit = pair.types.probability({"a": 1, "b": 0})


def test_a_refuted_implication_shows_a_distribution():
    finding = implied(pair, [pair.forms["q"] == Fraction(1, 4)], [benefit >= pair.forms["p"]])
    assert finding.verdict is Verdict.REFUTED
    assert "fails by 1/4 at (Y_a, Y_b): P(00) = 3/4, P(11) = 1/4, so p = 1/4, q = 1/4" in finding.detail


@pytest.mark.parametrize(
    ("end", "claimed"),
    [
        ("min", [{}]),
        ("min", [{"p": 1, "q": -1}]),
        ("min", [{}, {"p": 1}]),
        ("min", [{}, {"p": Fraction(99, 100), "q": -1}]),
        ("max", [{"p": 1}]),
        ("max", [{"": 1, "q": -1}]),
        ("max", [{"": 1}]),
        ("max", [{"p": 1}, {"": 1, "q": -1}, {"": Fraction(99, 100)}]),
        ("max", [{"p": 1}, {"": 1, "q": Fraction(-99, 100)}]),
    ],
)
def test_an_end_that_is_too_wide_or_too_narrow_anywhere_is_refuted(end, claimed):
    assert sharp_end(pair, benefit, end, claimed).verdict is Verdict.REFUTED


def test_a_redundant_valid_function_does_not_spoil_an_end():
    claimed = [{}, {"p": 1, "q": -1}, {"": -1, "p": 1}, {"p": Fraction(1, 2), "q": Fraction(-1, 2)}]
    assert sharp_end(pair, benefit, "min", claimed).verdict is Verdict.PROVED


BOX = [{"p": 1}, {"q": 1}, {"": 1, "p": -1}, {"": 1, "q": -1}]


def test_a_region_has_to_be_neither_too_large_nor_too_small():
    assert region(pair, BOX).verdict is Verdict.PROVED
    assert region(pair, [*BOX, {"": 2, "p": -1, "q": -1}]).verdict is Verdict.PROVED
    for left_out in BOX:
        finding = region(pair, [affine for affine in BOX if affine is not left_out])
        assert finding.verdict is Verdict.REFUTED
        assert "no distribution has" in finding.detail
    assert "fails" in region(pair, [*BOX, {"": 1, "p": -1, "q": -1}]).detail


def test_events_that_never_happen_shrink_the_region():
    monotone = without(pair, never=(pair.types.event({"a": 0, "b": 1}),))
    assert region(monotone, [*BOX, {"p": 1, "q": -1}]).verdict is Verdict.PROVED
    assert region(monotone, BOX).verdict is Verdict.REFUTED


def test_margins_of_a_region_have_to_be_independent():
    types = ResponseTypes(("a",))
    twice = Margins(types, {"p": types.probability({"a": 1}), "q": types.probability({"a": 0})})
    with pytest.raises(ValueError, match="independent"):
        region(twice, [{"p": 1}])


# Certificates.


def certificates():
    """Certificates of both ends of a sum and of a ratio, with slack in a third regime, and of an empty program."""
    types = ResponseTypes(("1", "0", "n"))
    p1, p0, pn = (types.probability({regime: 1}) for regime in types.regimes)
    benefit = types.probability({"1": 1, "0": 0})
    rates = [p1 == Fraction(7, 10), p0 == Fraction(4, 10)]
    found = [*bound(benefit, rates).certificates, *bound(benefit, [*rates, pn <= Fraction(1, 2)]).certificates]
    found += bound(types.conditional({"0": 0}, given={"1": 1}), rates).certificates
    with pytest.raises(ImpossibleProgram) as caught:
        bound(benefit, [*rates, benefit == Fraction(9, 10)])
    return [*found, caught.value.certificate]


MADE = [json.loads(to_json(certificate)) for certificate in certificates()]
RATIONALS = st.fractions(-2, 2, max_denominator=10)


@st.composite
def changed(draw):
    """A certificate in which one to three numbers, rows, names or signs are something else."""
    data = json.loads(json.dumps(draw(st.sampled_from(MADE))))
    for _ in range(draw(st.integers(1, 3))):
        kind = draw(st.sampled_from(("number", "negated", "row", "lost", "sense", "value", "denominator")))
        tables = [data["primal"], data["dual"], data["right"], data["objective"], *data["rows"].values()]
        tables = [table for table in tables if table]
        if kind in ("number", "negated", "lost") and tables:
            table = draw(st.sampled_from(tables))
            name = draw(st.sampled_from(sorted(table)))
            if kind == "lost":
                del table[name]
            else:
                table[name] = str(draw(RATIONALS) if kind == "number" else -Fraction(table[name]))
        elif kind == "row" and len(data["rows"]) > 1:
            name = draw(st.sampled_from(sorted(data["rows"])))
            for part in ("rows", "right", "dual"):
                data[part].pop(name, None)
        elif kind == "sense":
            data["sense"] = draw(st.sampled_from(("min", "max", "infeasible")))
        elif kind == "denominator":
            data["denominator"] = draw(st.none() | st.just(data["objective"]))
        else:
            data["value"] = str(draw(RATIONALS))
    return data


def solution(matrix, right):
    """The only solution of equations, by elimination in fractions; None if there is none or more than one."""
    rows = [[Fraction(entry) for entry in (*row, value)] for row, value in zip(matrix, right, strict=True)]
    width = len(matrix[0])
    for column in range(width):
        pivot = next((i for i in range(column, len(rows)) if rows[i][column]), None)
        if pivot is None:
            return None
        rows[column], rows[pivot] = rows[pivot], rows[column]
        rows[column] = [entry / rows[column][column] for entry in rows[column]]
        for i, row in enumerate(rows):
            if i != column and row[column]:
                rows[i] = [a - row[column] * b for a, b in zip(row, rows[column], strict=True)]
    return [row[-1] for row in rows[:width]] if not any(row[-1] for row in rows[width:]) else None


def corners(claim):
    """Every basic solution of a certificate's program, found by trying all sets of columns."""
    matrix = [[Fraction(row.get(column, 0)) for column in claim.columns] for row in claim.rows.values()]
    right = [Fraction(claim.right.get(name, 0)) for name in claim.rows]
    for size in range(len(matrix) + 1):
        for basis in combinations(range(len(claim.columns)), size):
            values = (
                solution([[row[j] for j in basis] for row in matrix], right)
                if size
                else ([] if not any(right) else None)
            )
            if values is not None and min(values, default=0) >= 0:
                yield {claim.columns[j]: value for j, value in zip(basis, values, strict=True)}


def weighed(table, point):
    return sum((Fraction(table.get(name, 0)) * value for name, value in point.items()), Fraction(0))


@settings(max_examples=300, deadline=None)
@given(changed())
def test_a_changed_certificate_proves_nothing_or_what_another_way_confirms(data):
    """Soundness, with nothing of the package but the checker: what it lets through is the end of that very program."""
    try:
        claim = from_json(json.dumps(data))
        check(claim)
    except WrongCertificate:
        return
    points = list(corners(claim))
    if claim.sense == "infeasible":
        assert not points
        return
    best = min if claim.sense == "min" else max
    if claim.denominator is None:
        assert best(weighed(claim.objective, point) for point in points) == claim.value
    else:
        positive = [point for point in points if weighed(claim.denominator, point) > 0]
        assert (
            best(weighed(claim.objective, point) / weighed(claim.denominator, point) for point in positive)
            == claim.value
        )


@pytest.mark.parametrize("place", range(len(MADE)))
def test_every_number_of_the_proof_itself_is_needed(place):
    """With the program as it is, a changed value is refused, and so is a point or a multiplier that is left out."""
    made = from_json(json.dumps(MADE[place]))
    check(made)
    for part in ("primal", "dual"):
        for name in getattr(made, part):
            rest = {other: value for other, value in getattr(made, part).items() if other != name}
            with pytest.raises(WrongCertificate):
                check(replace(made, **{part: rest}))
    if made.sense != "infeasible":
        with pytest.raises(WrongCertificate):
            check(replace(made, value=made.value + Fraction(1, 10**9)))


def test_the_checker_imports_nothing_but_the_standard_library():
    source = Path(checker.__file__).read_text(encoding="utf-8")
    imported = {
        line.split()[1].partition(".")[0] for line in source.splitlines() if line.startswith(("import ", "from "))
    }
    assert imported <= set(sys.stdlib_module_names)


def test_a_right_certificate_of_another_claim_is_not_taken():
    """The producer is not trusted: what it hands over has to speak of the program and the sum that were asked for."""
    types = pair.types
    p = types.probability({"a": 1})
    asked, other = (Program.of(types, [p == Fraction(size, 10)]) for size in (7, 6))
    weights = benefit.weights()
    ledger = Ledger()
    ledger.add(certify_weights(asked, weights, "min"), asked, "min", weights)
    for program, sense, objective in (
        (other, "min", weights),
        (asked, "max", weights),
        (asked, "min", p.weights()),
        (Program.of(types, []), "min", weights),
    ):
        wrong = certify_weights(program, objective, sense)
        check(wrong)
        with pytest.raises(WrongCertificate, match="another program"):
            ledger.add(wrong, asked, "min", weights)
    with pytest.raises(WrongCertificate, match="another program"):
        ledger.add(certify_weights(asked, weights, "min"), asked, "min", weights, weights)
    assert ledger.certificates == 1
