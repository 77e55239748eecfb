"""The linear statements: theorems are proved, mutants are refuted with a counterexample to follow by hand."""

from fractions import Fraction

import pytest

from dodiag.bounds.linear.response_types import ResponseTypes
from dodiag.proofs.linear import STATEMENTS
from dodiag.proofs.linear.claims import Margins, implied, margins_of, region, sharp_end, without
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
