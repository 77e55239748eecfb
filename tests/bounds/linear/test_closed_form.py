"""Formulas for all margins at once: they print as in the literature, and agree with the program at every point."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dodiag.bounds.errors import ImpossibleMargins, NotAProbability, Undefined
from dodiag.bounds.formulas import pns_bounds, ps_bounds
from dodiag.bounds.linear import cone
from dodiag.bounds.linear.bound import bound
from dodiag.bounds.linear.closed_form import Affine, closed_form
from dodiag.bounds.linear.cone import extreme_rays
from dodiag.bounds.linear.errors import (
    ImpossibleProgram,
    NoClosedForm,
    NotANumber,
    NotExact,
    NotLinear,
    OpenParameter,
    TooManyTypes,
)
from dodiag.bounds.linear.exhaustive import every_extreme_ray
from dodiag.bounds.linear.response_types import Parameter, ResponseTypes

F = Fraction
PAIR, STATES = ResponseTypes(("1", "0")), ResponseTypes(("1", "0", "n"))
REPAIRS = ResponseTypes(("n", "i", "j", "ij"))
COMBINED, OWN = ResponseTypes(("a", "b"), ("X",)), ResponseTypes(("1", "n"), ("X",))


def open_margins(types, names):
    regimes = zip(types.regimes, names, strict=True)
    return [types.probability({regime: 1}) == Parameter(name) for regime, name in regimes]


def pattern(types, **values):
    return types.probability({name.removeprefix("_"): value for name, value in values.items()})


TWO = open_margins(PAIR, ("p", "p'"))
THREE = open_margins(STATES, ("p1", "p0", "pn"))
FOUR = open_margins(REPAIRS, ("v", "vi", "vj", "vij"))
TIAN_PEARL = [
    pattern(COMBINED, X=1, a=1) == Parameter("xy"),
    pattern(COMBINED, X=1, a=0) == Parameter("xy'"),
    pattern(COMBINED, X=0, b=1) == Parameter("x'y"),
    pattern(COMBINED, X=0, b=0) == Parameter("x'y'"),
    *open_margins(COMBINED, ("p", "p'")),
]
CHANGED = OWN.event({"X": 1}) & (OWN.event({"1": 1}) ^ OWN.event({"n": 1}))
ONE_SIDED = [
    pattern(OWN, X=1, n=1) == Parameter("xy"),
    pattern(OWN, X=1, n=0) == Parameter("xy'"),
    pattern(OWN, X=0, n=1) == Parameter("x'y"),
    pattern(OWN, X=0, n=0) == Parameter("x'y'"),
    pattern(OWN, _1=1) == Parameter("p1"),
    OWN.probability(CHANGED) == 0,
]
SINGLE = REPAIRS.event({"n": 0}) & (REPAIRS.event({"i": 1}) | REPAIRS.event({"j": 1}))
harm = pattern(PAIR, _1=0, _0=1)

KNOWN = {
    "PNS": (pattern(PAIR, _1=1, _0=0), TWO, "max{0, p - p'}", "min{p, 1 - p'}"),
    "PN": (PAIR.conditional({"0": 0}, {"1": 1}), TWO, "max{0, p - p'} / p", "min{p, 1 - p'} / p"),
    "PS": (PAIR.conditional({"1": 1}, {"0": 0}), TWO, "max{0, p - p'} / (1 - p')", "min{p, 1 - p'} / (1 - p')"),
    "monotone": (PAIR.conditional({"0": 0}, {"1": 1}), [*TWO, harm == 0], "(p - p') / p", "(p - p') / p"),
    "harm at most h": (
        pattern(PAIR, _1=1, _0=0),
        [*TWO, harm <= Parameter("h")],
        "max{0, p - p'}",
        "min{p, 1 - p', p + h - p'}",
    ),
    "TP PNS": (
        pattern(COMBINED, a=1, b=0),
        TIAN_PEARL,
        "max{0, p - p', p - xy - x'y, xy + x'y - p'}",
        "min{p, 1 - p', x'y' + xy, xy' + x'y + p - p'}",
    ),
    "TP PN": (
        COMBINED.conditional({"b": 0}, {"a": 1, "X": 1}),
        TIAN_PEARL,
        "max{0, xy + x'y - p'} / xy",
        "min{xy, 1 - p' - x'y'} / xy",
    ),
    "TP PS": (
        COMBINED.conditional({"a": 1}, {"b": 0, "X": 0}),
        TIAN_PEARL,
        "max{0, p - xy - x'y} / x'y'",
        "min{x'y', p - xy} / x'y'",
    ),
    "third arm": (pattern(STATES, _1=1, n=0), THREE, "max{0, p1 - pn}", "min{p1, 1 - pn}"),
    "only the correct answer": (
        pattern(STATES, _1=1, _0=0, n=0),
        THREE,
        "max{0, p1 - p0 - pn}",
        "min{p1, 1 - p0, 1 - pn}",
    ),
    "conjunctive": (pattern(REPAIRS, ij=1, i=0, j=0), FOUR, "max{0, vij - vi - vj}", "min{vij, 1 - vi, 1 - vj}"),
    "conjunctive, none fails": (
        pattern(REPAIRS, ij=1, i=0, j=0, n=0),
        FOUR,
        "max{0, vij - v - vi - vj}",
        "min{vij, 1 - v, 1 - vi, 1 - vj}",
    ),
    "single repair": (REPAIRS.probability(SINGLE), FOUR, "max{0, vi - v, vj - v}", "min{1 - v, vi + vj}"),
    "one-sided": (pattern(OWN, _1=1, n=0), ONE_SIDED, "max{0, p1 - xy - x'y}", "min{x'y', p1 - xy}"),
    "one-sided harm": (pattern(OWN, _1=0, n=1), ONE_SIDED, "max{0, xy + x'y - p1}", "min{x'y, 1 - xy' - p1}"),
}


@pytest.mark.parametrize(("query", "constraints", "lower", "upper"), KNOWN.values(), ids=KNOWN)
def test_formulas_are_those_of_the_literature(query, constraints, lower, upper):
    found = closed_form(query, constraints)
    assert found.formulas == (lower, upper)
    assert str(found) == f"{lower} ≤ {query} ≤ {upper}"


@pytest.mark.parametrize("name", KNOWN)
@given(data=st.data())
@settings(max_examples=25, deadline=None)
def test_the_formula_equals_the_program_at_possible_margins(name, data):
    query, constraints, *_ = KNOWN[name]
    form = constraints[0].form
    found = closed_form(query, constraints)
    never = [c.form for c in constraints if not isinstance(c.right, Parameter)]
    blocked = [any(f.weights()[k] for f in never) for k in range(len(form.weights()))]
    sizes = data.draw(st.lists(st.integers(0, 5), min_size=len(blocked), max_size=len(blocked)))
    sizes = [0 if out else size for size, out in zip(sizes, blocked, strict=True)]
    if not any(sizes):
        return
    at = {}
    for constraint in constraints:
        if isinstance(constraint.right, Parameter):
            total = sum((w * F(k, sum(sizes)) for w, k in zip(constraint.form.weights(), sizes, strict=True)), F(0))
            at[constraint.right.name] = total if constraint.relation == "==" else min(F(1), total + F(1, 7))
    try:
        exact = found.at(at)
    except Undefined:
        arrays = found.evaluate(at)
        assert arrays.undefined
        assert np.isnan(arrays.lower)
        assert arrays.reason
        return
    program = found.proof_at(at)
    assert exact == (program.lower, program.upper)
    floats = found.evaluate({name: float(value) for name, value in at.items()})
    assert floats.lower == pytest.approx(float(exact[0]), abs=1e-9)
    assert floats.upper == pytest.approx(float(exact[1]), abs=1e-9)


def test_formulas_take_arrays_of_margins():
    p, p_prime = np.linspace(0, 1, 7)[:, None], np.linspace(0, 1, 5)[None, :]
    made = closed_form(pattern(PAIR, _1=1, _0=0), TWO).evaluate({"p": p, "p'": p_prime}, "PNS")
    expected = pns_bounds(p, p_prime)
    np.testing.assert_allclose(made.lower, expected.lower, atol=1e-12)
    np.testing.assert_allclose(made.upper, expected.upper, atol=1e-12)
    assert not made.undefined.any()
    ps = closed_form(PAIR.conditional({"1": 1}, {"0": 0}), TWO).evaluate({"p": p, "p'": p_prime}, "PS")
    assert ps.undefined.tolist() == [[False] * 4 + [True]] * 7
    np.testing.assert_allclose(ps.lower, ps_bounds(p, p_prime).lower, atol=1e-12)
    assert ps.reason == "1 - p' = 0"


@given(st.lists(st.fractions(F(-1, 5), F(6, 5), max_denominator=5), min_size=6, max_size=6))
@settings(max_examples=150, deadline=None)
def test_conditions_hold_exactly_where_some_distribution_has_the_margins(values):
    found = CONSISTENT
    at = dict(zip(found.parameters, values, strict=True))
    at["x'y'"] = 1 - at["xy"] - at["xy'"] - at["x'y"]
    possible = all(affine.at(at) >= 0 for affine in found.conditions)
    assert all(affine.at(at) == 0 for affine in found.identities)
    if not all(0 <= value <= 1 for value in at.values()):
        assert not possible
        return
    if possible:
        found.proof_at(at)
        found.at(at)
    else:
        with pytest.raises(ImpossibleProgram):
            found.proof_at(at)
        with pytest.raises(ImpossibleMargins):
            found.at(at)
        with pytest.raises(ImpossibleMargins):
            found.evaluate(at)


CONSISTENT = closed_form(pattern(COMBINED, a=1, b=0), TIAN_PEARL)


def test_the_region_of_three_contrasts_is_the_correlation_polytope():
    """Twelve Fréchet inequalities and the four of the triangle and the cycle (Pitowsky 1991)."""
    joint = [
        *THREE,
        pattern(STATES, _1=1, _0=0) == Parameter("x"),
        pattern(STATES, _1=1, n=0) == Parameter("y"),
        pattern(STATES, n=1, _0=0) == Parameter("w"),
    ]
    found = closed_form(pattern(STATES, _1=1, _0=1, n=1), joint)
    assert len(found.conditions) == 16
    texts = {str(affine) for affine in found.conditions}
    assert texts >= {"y + w - x", "1 + p1 - p0 - x - y - w", "p0 + x + w - pn - y", "pn + x + y - p1 - w"}


@pytest.mark.parametrize(
    ("values", "error"),
    [
        ({"p": F(1, 2)}, OpenParameter),
        ({"p": F(1, 2), "p'": F(1, 2), "q": F(1, 2)}, OpenParameter),
        ({"p": F(3, 2), "p'": F(1, 2)}, NotAProbability),
        ({"p": F(-1, 2), "p'": F(1, 2)}, NotAProbability),
        ({"p": 0.5, "p'": F(1, 2)}, NotExact),
        ({"p": F(0), "p'": F(1, 2)}, Undefined),
    ],
)
def test_bad_margins_give_typed_errors(values, error):
    with pytest.raises(error):
        closed_form(PAIR.conditional({"0": 0}, {"1": 1}), TWO).at(values)


@pytest.mark.parametrize("value", [float("nan"), 1.5, -0.1, float("inf")])
def test_arrays_with_a_number_that_is_no_probability_are_refused(value):
    with pytest.raises(NotAProbability):
        closed_form(pattern(PAIR, _1=1, _0=0), TWO).evaluate({"p": [0.5, value], "p'": 0.5})


def test_margins_of_weighted_sums_may_be_negative():
    p = PAIR.probability({"1": 1})
    gap = [p == Parameter("p"), p - PAIR.probability({"0": 1}) == Parameter("d")]
    found = closed_form(pattern(PAIR, _1=1, _0=0), gap)
    assert found.formulas == ("max{0, d}", "min{p, 1 + d - p}")
    assert found.at({"p": F(1, 4), "d": F(-1, 4)}) == (0, F(1, 4))
    assert found.evaluate({"p": 0.25, "d": -0.25}).ends() == (0, 0.25)
    with pytest.raises(NotANumber):
        found.evaluate({"p": 0.25, "d": float("inf")})


def test_contradicting_constraints_have_no_formula():
    with pytest.raises(ImpossibleMargins):
        closed_form(pattern(PAIR, _1=1, _0=0), [*TWO, pattern(PAIR, _1=1) == F(1, 3), pattern(PAIR, _1=1) == F(1, 2)])


def test_a_denominator_that_the_margins_do_not_fix_has_no_formula():
    with pytest.raises(NotLinear, match="do not fix"):
        closed_form(PAIR.conditional({"0": 0}, {"1": 1}), TWO[1:])


def test_a_denominator_that_can_be_negative_has_no_formula():
    gap = PAIR.probability({"1": 1}) - PAIR.probability({"0": 1})
    share = pattern(PAIR, _1=1, _0=0) / gap
    with pytest.raises(NotLinear, match="negative"):
        closed_form(share, TWO)
    found = closed_form(share, [*TWO, gap >= 0])
    assert found.formulas == ("(p - p') / (p - p')", "min{p, 1 - p'} / (p - p')")
    assert found.at({"p": F(7, 10), "p'": F(4, 10)}) == (1, 2)


def test_a_search_that_grows_too_large_stops(monkeypatch):
    many = ResponseTypes(tuple("abcdefg"))
    with pytest.raises(TooManyTypes):
        closed_form(many.probability({"a": 1}), open_margins(many, many.regimes))
    monkeypatch.setattr(cone, "MOST_RAYS", 6)
    with pytest.raises(NoClosedForm):
        closed_form(pattern(STATES, _1=1, _0=0), THREE)
    with pytest.raises(NotExact):
        closed_form(pattern(PAIR, _1=1, _0=0), [pattern(PAIR, _1=1) == 0.5])


@given(st.integers(2, 4), st.data())
@settings(max_examples=150, deadline=None)
def test_double_description_finds_what_trying_everything_finds(dimension, data):
    rows = st.lists(st.integers(-2, 2), min_size=dimension, max_size=dimension)
    inequalities = data.draw(st.lists(rows, min_size=dimension, max_size=dimension + 4))
    try:
        expected = every_extreme_ray(inequalities)
    except ValueError:
        with pytest.raises(ValueError, match="line"):
            extreme_rays(inequalities)
        return
    found = extreme_rays(inequalities)
    assert set(found) == expected
    assert len(found) == len(expected)


@pytest.mark.parametrize("regimes", [2, 3])
def test_dual_vertices_of_every_event_by_two_methods(regimes):
    cells = list(product((0, 1), repeat=regimes))
    for mask in range(0, 2 ** len(cells), 1 if regimes == 2 else 7):
        weights = [mask >> place & 1 for place in range(len(cells))]
        inequalities = [(-1, *(-value for value in cell), w) for cell, w in zip(cells, weights, strict=True)]
        inequalities.append((*([0] * (regimes + 1)), 1))
        assert set(extreme_rays(inequalities)) == every_extreme_ray(inequalities)


def test_a_form_prints_its_positive_terms_first():
    assert str(Affine(1, (("p", -1), ("q", F(1, 2))))) == "1 + 1/2·q - p"
    assert bound(pattern(PAIR, _1=1), [pattern(PAIR, _1=1) == F(1, 3)]).upper == F(1, 3)
