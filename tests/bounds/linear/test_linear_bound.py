"""The engine against every closed form that is known, exactly over Fractions and to 1e-9 over floats."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dodiag.bounds.errors import ImpossibleMargins, Undefined
from dodiag.bounds.formulas import pn_bounds, pns_bounds, ps_bounds
from dodiag.bounds.identified import Assumption
from dodiag.bounds.linear.bound import bound, certify_weights
from dodiag.bounds.linear.certificate import check
from dodiag.bounds.linear.errors import (
    ImpossibleProgram,
    NotExact,
    NotLinear,
    NotSolved,
    OpenParameter,
    OtherTypes,
    UnboundedRatio,
    UndefinedRatio,
)
from dodiag.bounds.linear.program import Program
from dodiag.bounds.linear.response_types import Parameter, ResponseTypes

F = Fraction
PAIR = ResponseTypes(("1", "0"))
STATES = ResponseTypes(("1", "0", "n"))
rationals = st.fractions(0, 1, max_denominator=40)
laws = settings(max_examples=40, deadline=None)


def margins(types, values):
    return [types.probability({regime: 1}) == value for regime, value in zip(types.regimes, values, strict=True)]


def ends(query, constraints):
    """Return both ends exactly, after checking the certificates and the floating-point path against them."""
    exact = bound(query, constraints)
    assert exact.exact
    for certificate in exact.certificates:
        check(certificate)
    floats = bound(query, constraints, exact=False)
    assert not floats.exact
    assert floats.lower == pytest.approx(float(exact.lower), abs=1e-9)
    assert floats.upper == pytest.approx(float(exact.upper), abs=1e-9)
    return exact.lower, exact.upper


@st.composite
def distributions(draw, count):
    """Draw a rational distribution, often with empty types, so that corners and degenerate programs come up."""
    sizes = draw(st.lists(st.integers(0, 6), min_size=count, max_size=count).filter(any))
    return [F(size, sum(sizes)) for size in sizes]


def mass(form, distribution):
    return sum((w * q for w, q in zip(form.weights(), distribution, strict=True)), F(0))


@given(rationals, rationals)
@laws
def test_two_arms_have_the_frechet_ends(p, p_prime):
    given_margins = margins(PAIR, (p, p_prime))
    low, up = max(0, p - p_prime), min(p, 1 - p_prime)
    assert ends(PAIR.probability({"1": 1, "0": 0}), given_margins) == (low, up)
    assert pns_bounds(float(p), float(p_prime)).upper == pytest.approx(float(up))
    if p > 0:
        pn = ends(PAIR.conditional({"0": 0}, given={"1": 1}), given_margins)
        assert pn == (low / p, up / p)
        assert pn_bounds(float(p), float(p_prime)).lower == pytest.approx(float(pn[0]))
    if p_prime < 1:
        ps = ends(PAIR.conditional({"1": 1}, given={"0": 0}), given_margins)
        assert ps == (low / (1 - p_prime), up / (1 - p_prime))
        assert ps_bounds(float(p), float(p_prime)).lower == pytest.approx(float(ps[0]))


@given(distributions(8))
@laws
def test_own_states_give_the_combined_bounds_of_tian_and_pearl(distribution):
    types = ResponseTypes(("a", "b"), ("X",))
    observed = [
        types.probability(event)
        for event in ({"X": 1, "a": 1}, {"X": 1, "a": 0}, {"X": 0, "b": 1}, {"X": 0, "b": 0}, {"a": 1}, {"b": 1})
    ]
    xy, xy_, x_y, x_y_, p, p_prime = (mass(form, distribution) for form in observed)
    given_margins = [form == mass(form, distribution) for form in observed]
    y = xy + x_y
    assert ends(types.probability({"a": 1, "b": 0}), given_margins) == (
        max(0, p - p_prime, y - p_prime, p - y),
        min(p, 1 - p_prime, xy + x_y_, p - p_prime + xy_ + x_y),
    )
    if xy > 0:
        pn = types.conditional({"b": 0}, given={"a": 1, "X": 1})
        assert ends(pn, given_margins) == (max(0, y - p_prime) / xy, min(xy, 1 - p_prime - x_y_) / xy)
    if x_y_ > 0:
        ps = types.conditional({"a": 1}, given={"b": 0, "X": 0})
        assert ends(ps, given_margins) == (max(0, p - y) / x_y_, min(x_y_, p - xy) / x_y_)


@given(st.tuples(rationals, rationals, rationals))
@laws
def test_a_third_arm_changes_nothing(values):
    p = dict(zip("10n", values, strict=True))
    given_margins = margins(STATES, values)
    for s, t in ("10", "1n", "n0", "0n"):
        expected = (max(0, p[s] - p[t]), min(p[s], 1 - p[t]))
        assert ends(STATES.probability({s: 1, t: 0}), given_margins) == expected
    only = STATES.probability({"1": 1, "0": 0, "n": 0})
    assert ends(only, given_margins) == (max(0, p["1"] - p["0"] - p["n"]), min(p["1"], 1 - p["0"], 1 - p["n"]))


@given(distributions(8), st.sampled_from([("1", "n", "0"), ("n", "0", "1"), ("1", "0", "n")]))
@laws
def test_a_pinned_contrast_passes_on_information(distribution, order):
    """With PNS(r,s) and PNS(s,t) known, PNS(r,t) lies within the triangle and cycle inequalities, sharply."""
    r, s, t = order
    given_margins = [
        form == mass(form, distribution)
        for form in (
            *(STATES.probability({name: 1}) for name in order),
            STATES.probability({r: 1, s: 0}),
            STATES.probability({s: 1, t: 0}),
        )
    ]
    pr, ps, pt, first, second = (constraint.right for constraint in given_margins)
    lower = max(0, pr - pt, first - (second - ps + pt), second - (first - pr + ps))
    upper = min(pr, 1 - pt, first + second, 1 + pr - pt - first - second)
    assert ends(STATES.probability({r: 1, t: 0}), given_margins) == (lower, upper)


@given(st.tuples(rationals, rationals, rationals, rationals))
@laws
def test_conjunctive_patterns(values):
    types = ResponseTypes(("none", "i", "j", "ij"))
    v0, vi, vj, vij = values
    given_margins = margins(types, values)
    pair = types.probability({"ij": 1, "i": 0, "j": 0})
    assert ends(pair, given_margins) == (max(0, vij - vi - vj), min(vij, 1 - vi, 1 - vj))
    fresh = types.probability({"ij": 1, "i": 0, "j": 0, "none": 0})
    assert ends(fresh, given_margins) == (max(0, vij - vi - vj - v0), min(vij, 1 - vi, 1 - vj, 1 - v0))
    single = types.probability(types.event({"none": 0}) & (types.event({"i": 1}) | types.event({"j": 1})))
    assert ends(single, given_margins) == (max(0, vi - v0, vj - v0), min(1 - v0, vi + vj))


@given(distributions(8))
@laws
def test_one_sided_consistency_lowers_the_upper_end_alone(distribution):
    types = ResponseTypes(("1", "n"), ("X",))
    changed = types.event({"X": 1}) & (types.event({"1": 1}) ^ types.event({"n": 1}))
    kept = [0 if inside else q for q, inside in zip(distribution, changed.indicator(), strict=True)]
    if not any(kept):
        return
    kept = [q / sum(kept) for q in kept]
    forms = [
        types.probability(event)
        for event in ({"X": 1, "n": 1}, {"X": 1, "n": 0}, {"X": 0, "n": 1}, {"X": 0, "n": 0}, {"1": 1})
    ]
    xy, xy_, x_y, x_y_, p1 = (mass(form, kept) for form in forms)
    known = [form == mass(form, kept) for form in forms]
    assumed = [*known, types.probability(changed) == 0]
    benefit, harm = types.probability({"1": 1, "n": 0}), types.probability({"1": 0, "n": 1})
    y = xy + x_y
    with_it, without_it = ends(benefit, assumed), ends(benefit, known)
    assert with_it == (max(0, p1 - y), min(p1 - xy, x_y_))
    assert with_it[0] == without_it[0]
    assert with_it[1] <= without_it[1]
    assert ends(harm, assumed) == (max(0, y - p1), min(x_y, 1 - xy_ - p1))


@given(st.data(), st.integers(1, 6))
@settings(max_examples=40, deadline=None)
def test_any_pattern_of_any_regimes_has_the_frechet_ends(data, size):
    types = ResponseTypes(tuple(f"r{place}" for place in range(size)))
    values = data.draw(st.lists(rationals, min_size=size, max_size=size))
    pattern = data.draw(st.lists(st.integers(0, 1), min_size=size, max_size=size))
    shares = [p if y else 1 - p for p, y in zip(values, pattern, strict=True)]
    query = types.probability(dict(zip(types.regimes, pattern, strict=True)))
    assert ends(query, margins(types, values)) == (max(0, sum(shares) - (size - 1)), min(shares))


@given(distributions(8), st.data())
@laws
def test_the_truth_is_always_inside_and_constraints_only_narrow(distribution, data):
    patterns = st.dictionaries(st.sampled_from("10n"), st.integers(0, 1))
    query = STATES.probability(data.draw(patterns)) - STATES.probability(data.draw(patterns))
    constraints, last = [], (F(-2), F(2))
    for pattern in data.draw(st.lists(patterns, max_size=4)):
        form = STATES.probability(pattern)
        slack = data.draw(st.sampled_from([None, F(0), F(1, 10)]))
        at = mass(form, distribution)
        constraints += [form == at] if slack is None else [form <= min(1, at + slack), form >= max(0, at - slack)]
        now = ends(query, constraints)
        assert last[0] <= now[0] <= mass(query, distribution) <= now[1] <= last[1]
        last = now


@given(distributions(8), distributions(8))
@laws
def test_margins_that_no_distribution_has_come_with_exact_multipliers(one, other):
    """Margins of one distribution and pair probabilities of another: solvable, or refuted by a checked certificate."""
    forms = [STATES.probability({name: 1}) for name in "10n"]
    pairs = [STATES.probability({a: 1, b: 0}) for a, b in ("10", "1n", "n0")]
    constraints = [form == mass(form, one) for form in forms] + [form == mass(form, other) for form in pairs]
    try:
        ends(pairs[0], constraints)
    except ImpossibleProgram as error:
        refusal = error
    else:
        return
    check(refusal.certificate)
    assert refusal.certificate.sense == "infeasible"
    assert isinstance(refusal, ImpossibleMargins)
    named = set(refusal.certificate.dual) - {"total"}
    together = [constraint for constraint in constraints if str(constraint) in named]
    with pytest.raises(ImpossibleProgram):
        bound(pairs[0], together)
    with pytest.raises(ImpossibleProgram) as floats:
        bound(pairs[0], constraints, exact=False)
    check(floats.value.certificate)


def test_floats_that_contradict_each_other_carry_an_exact_certificate():
    with pytest.raises(ImpossibleProgram, match=r"0\.7") as caught:
        bound(PAIR.probability({"1": 1}), [*margins(PAIR, (0.7, 0.4)), PAIR.probability({"1": 1, "0": 0}) == 0.2])
    check(caught.value.certificate)


def test_floats_are_refused_where_an_exact_result_is_asked():
    with pytest.raises(NotExact) as caught:
        bound(PAIR.probability({"1": 1, "0": 0}), margins(PAIR, (0.7, F(2, 5))), exact=True)
    assert (caught.value.name, caught.value.value) == ("P(Y_1=1) = 0.7", 0.7)
    assert "Fraction(7, 10)" in str(caught.value)
    with pytest.raises(NotExact):
        bound(0.5 * PAIR.probability({"1": 1}), exact=True)


def test_one_float_makes_the_whole_result_a_float():
    result = bound(PAIR.probability({"1": 1, "0": 0}), margins(PAIR, (0.7, F(2, 5))))
    assert (type(result.lower), result.certificates) == (float, None)


def test_nothing_is_written_as_minus_zero():
    known = [*margins(PAIR, (0.7, 0.4)), PAIR.probability({"1": 1, "0": 0}) == 0.3]
    assert str(bound(PAIR.probability({"1": 0, "0": 1}), known)).endswith("in [0, 0]")


def test_a_ratio_with_denominator_0_is_undefined_and_says_why():
    for zero in (F(0), 0.0):
        with pytest.raises(UndefinedRatio, match=r"P\(Y_1=1\) = 0") as caught:
            bound(PAIR.conditional({"0": 0}, given={"1": 1}), margins(PAIR, (zero, F(1, 2))))
        assert isinstance(caught.value, Undefined)
        if zero == 0 and isinstance(zero, Fraction):
            check(caught.value.certificate)
            assert caught.value.certificate.value == 0


def test_a_ratio_whose_denominator_may_be_0_says_so():
    query = PAIR.conditional({"0": 0}, given={"1": 1})
    result = bound(query, [PAIR.probability({"1": 1}) <= F(1, 2), PAIR.probability({"0": 1}) == F(3, 4)])
    assert (result.lower, result.upper, result.denominator) == (0, 1, (0, F(1, 2)))
    assert any("may be 0" in flag for flag in result.identified().flags)
    assert bound(query, margins(PAIR, (F(1, 2), F(1, 4)))).identified().flags == ()


def test_a_ratio_without_a_finite_end_is_no_number():
    query = PAIR.probability({"0": 1}) / PAIR.probability({"1": 1})
    constraints = [PAIR.probability({"1": 1}) <= F(1, 2), PAIR.probability({"0": 1}) == F(3, 4)]
    for exact in (True, False):
        with pytest.raises(UnboundedRatio):
            bound(query, constraints, exact=exact)


def test_a_ratio_whose_denominator_may_be_negative_is_refused():
    gap = PAIR.probability({"1": 1}) - PAIR.probability({"0": 1})
    for exact in (True, False):
        with pytest.raises(NotLinear, match="negative"):
            bound(PAIR.probability({"1": 1}) / gap, exact=exact)
    query = PAIR.probability({"1": 1, "0": 0}) / gap
    assert ends(query, margins(PAIR, (F(7, 10), F(4, 10)))) == (1, 2)


def test_a_relative_risk_reduction_is_a_ratio_of_two_forms():
    """N = 1 − p'/p, from uncertain margins."""
    p, p_prime = PAIR.probability({"1": 1}), PAIR.probability({"0": 1})
    query = (p - p_prime) / p
    box = [p >= F(6, 10), p <= F(8, 10), p_prime >= F(1, 10), p_prime <= F(3, 10)]
    assert ends(query, box) == (F(1, 2), F(7, 8))


def test_a_conditional_probability_can_be_a_constraint():
    p = margins(PAIR, (F(3, 5), F(1, 2)))
    known = PAIR.conditional({"0": 0}, given={"1": 1}) == F(1, 2)
    assert ends(PAIR.probability({"1": 1, "0": 0}), [*p, known]) == (F(3, 10), F(3, 10))


def test_the_same_constraint_twice_and_redundant_ones_change_nothing():
    p = margins(PAIR, (F(7, 10), F(4, 10)))
    cap = PAIR.probability({"1": 0, "0": 1}) <= F(1, 10)
    more = [*p, *p, cap, cap, PAIR.probability({"1": 0}) == F(3, 10)]
    assert ends(PAIR.probability({"1": 1, "0": 0}), more) == (F(3, 10), F(4, 10))


def test_open_parameters_and_other_types_are_refused():
    with pytest.raises(OpenParameter, match="p"):
        bound(PAIR.probability({"1": 1}), [PAIR.probability({"1": 1}) == Parameter("p")])
    with pytest.raises(OtherTypes):
        bound(PAIR.probability({"1": 1}), margins(STATES, (F(1), F(0), F(0))))


def test_a_sum_without_a_finite_end_is_no_number():
    program = Program(("x", "y"), ("difference",), ((1, -1),), (0,), "x and y may grow together")
    with pytest.raises(NotSolved, match="not finite"):
        certify_weights(program, [1, 0], "max")
    assert certify_weights(program, [1, 0], "min").value == 0


def test_the_result_becomes_an_identified_interval():
    result = bound(PAIR.probability({"1": 1, "0": 0}), margins(PAIR, (F(7, 10), F(4, 10))))
    made = result.identified("PNS", ("max{0, p - p'}", "min{p, 1 - p'}"), (Assumption.SAME_UNITS,))
    assert made.ends() == (0.3, 0.6)
    assert str(made) == "PNS in [0.3, 0.6]"
    assert {name: float(value) for name, value in made.inputs.items()} == {
        "P(Y_1=1) = 7/10": 0.7,
        "P(Y_0=1) = 2/5": 0.4,
    }
    assert made.assumptions == (Assumption.SAME_UNITS,)
    assert "4 response types" in result.identified().formulas[0]


@pytest.mark.parametrize("regimes", [6, 8, 10])
@pytest.mark.parametrize("kind", ["general", "all one half", "only 0 and 1"])
def test_large_programs_have_exact_certificates_also_in_degenerate_corners(regimes, kind):
    random = np.random.default_rng(regimes)
    draws = {"general": random.integers(1, 100, regimes), "all one half": [50] * regimes}
    values = [F(int(draw), 100) for draw in draws.get(kind, 100 * random.integers(0, 2, regimes))]
    types = ResponseTypes(tuple(map(str, range(regimes))))
    pattern = [place % 2 for place in range(regimes)]
    shares = [p if y else 1 - p for p, y in zip(values, pattern, strict=True)]
    query = types.probability(dict(zip(types.regimes, pattern, strict=True)))
    result = bound(query, margins(types, values))
    assert (result.lower, result.upper) == (max(0, sum(shares) - (regimes - 1)), min(shares))
    for certificate in result.certificates:
        check(certificate)


@pytest.mark.parametrize("regimes", [6, 7])
@pytest.mark.parametrize("number", [F, float])
def test_large_programs_without_solution_have_exact_certificates(regimes, number):
    """All pairs known, and a triple that is likelier than a pair which holds it."""
    types = ResponseTypes(tuple(map(str, range(regimes))))
    rates = {name: F(place + 2, regimes + 5) for place, name in enumerate(types.regimes)}
    known = [types.probability({name: 1}) == number(rate) for name, rate in rates.items()]
    for one, other in itertools.combinations(types.regimes, 2):
        together = (rates[one] * rates[other] + min(rates[one], rates[other])) / 2
        known.append(types.probability({one: 1, other: 1}) == number(together))
    known.append(types.probability({"0": 1, "1": 1, "2": 1}) >= number(rates["0"]))
    with pytest.raises(ImpossibleProgram) as found:
        bound(types.probability({"0": 0}), known)
    check(found.value.certificate)
    assert found.value.certificate.sense == "infeasible"


def test_4096_types_are_not_too_many():
    types = ResponseTypes(tuple(f"r{place}" for place in range(12)))
    values = [F(place + 80, 100) for place in range(12)]
    pattern = dict.fromkeys(types.regimes[:10], 1) | {types.regimes[10]: 0}
    result = bound(types.probability(pattern), margins(types, values))
    shares = [*values[:10], 1 - values[10]]
    assert (result.lower, result.upper) == (max(0, sum(shares) - 10), min(shares))
    conditional = types.conditional({"r0": 0}, given={"r1": 1})
    assert bound(conditional, margins(types, values)).upper == F(20, 81)
