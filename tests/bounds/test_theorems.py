"""The theorems about scores and bounds, exactly, over random distributions of potential outcomes in fractions.

Each theorem is checked against the definition of the quantity as a sum over response types, so no formula is compared
with itself. The theorems are those of CADET (A.3 to A.8) and the sharp bounds they belong to.
"""

from fractions import Fraction
from itertools import permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dodiag.bounds.errors import Undefined
from dodiag.bounds.formulas import n_score, ns_score, pn_bounds, pns_bounds, ps_bounds, s_score
from dodiag.testing import ResponseTypes, Strata, margins, probabilities, response_types, strata

THREE = ("1", "0", "n")
many = settings(max_examples=200, deadline=None)


def low(p, p_prime):
    return max(Fraction(0), p - p_prime)


def defined(quantity, *contrast):
    """The quantity's value, or None where its conditioning event has probability 0."""
    try:
        return quantity(*contrast)
    except Undefined:
        return None


# The paper's theorems.


@many
@given(response_types())
def test_a3_n_is_a_lower_bound_of_pn(types):
    truth = defined(types.PN, "1", "0")
    assert truth is None or types.N("1", "0") <= truth


@many
@given(response_types())
def test_a4_s_is_a_lower_bound_of_ps(types):
    truth = defined(types.PS, "1", "0")
    assert truth is None or types.S("1", "0") <= truth


@many
@given(response_types(monotone=("1", "0")))
def test_a5_without_harm_the_scores_are_the_probabilities(types):
    assert types.harm("1", "0") == 0
    assert types.PNS("1", "0") == low(*types.evidence("1", "0"))
    for score, quantity in ((types.N, types.PN), (types.S, types.PS)):
        truth = defined(quantity, "1", "0")
        assert truth is None or score("1", "0") == truth


@many
@given(response_types())
def test_a5_holds_the_other_way_round_too(types):
    """N = PN with p ≥ p' only without harm."""
    p, p_prime = types.evidence("1", "0")
    if p and p >= p_prime:
        assert (types.N("1", "0") == types.PN("1", "0")) == (types.harm("1", "0") == 0)


@many
@given(response_types())
def test_a6_the_three_probabilities_are_one_joint_probability(types):
    p, p_prime = types.evidence("1", "0")
    pns = types.PNS("1", "0")
    assert types.N("1", "0") * p == types.S("1", "0") * (1 - p_prime) == low(p, p_prime) <= pns
    for quantity, denominator in ((types.PN, p), (types.PS, 1 - p_prime)):
        truth = defined(quantity, "1", "0")
        assert pns == (0 if truth is None else truth * denominator)


@many
@given(response_types(THREE))
def test_a8_ns_of_a_single_prerequisite_is_a_lower_bound_of_pns(types):
    for a, a_prime in permutations(THREE, 2):
        assert low(*types.evidence(a, a_prime)) <= types.PNS(a, a_prime)


# What the scores cannot do, and how they mirror each other.


@many
@given(probabilities(), probabilities())
def test_s_is_n_of_the_failures(p, p_prime):
    types, mirrored = (
        ResponseTypes.comonotone({"1": first, "0": second}) for first, second in ((p, p_prime), (1 - p_prime, 1 - p))
    )
    assert types.S("1", "0") == mirrored.N("1", "0")


@many
@given(response_types(THREE))
def test_a_contrast_and_its_reverse_are_never_both_positive(types):
    for a, a_prime in permutations(THREE, 2):
        assert types.N(a, a_prime) * types.S(a_prime, a) == 0
        assert types.N(a, a_prime) * types.N(a_prime, a) == 0


@many
@given(response_types())
def test_pn_is_the_raw_score_and_unknown_harm(types):
    p, p_prime = types.evidence("1", "0")
    harm = types.harm("1", "0")
    assert max(Fraction(0), p_prime - p) <= harm <= min(p_prime, 1 - p)
    if p:
        assert types.PN("1", "0") == (p - p_prime) / p + harm / p


@many
@given(probabilities(), probabilities())
def test_in_different_contexts_every_pair_of_scores_occurs(n, s):
    """N reads (p, p') in the context a, S in the context a': four different arms."""
    assert ResponseTypes.comonotone({"1": Fraction(1), "0": 1 - n}).N("1", "0") == n
    assert ResponseTypes.comonotone({"1": s, "0": Fraction(0)}).S("1", "0") == s


# Sharpness.


@many
@given(response_types())
def test_the_frechet_interval_holds_pns(types):
    p, p_prime = types.evidence("1", "0")
    assert low(p, p_prime) <= types.PNS("1", "0") <= min(p, 1 - p_prime)


@many
@given(margins())
def test_both_ends_of_the_frechet_interval_are_attained(given_margins):
    p, p_prime = given_margins["1"], given_margins["0"]
    least, most = ResponseTypes.comonotone(given_margins), ResponseTypes.countermonotone(given_margins)
    assert least.evidence("1", "0") == most.evidence("1", "0") == (p, p_prime)
    assert least.PNS("1", "0") == low(p, p_prime)
    assert most.PNS("1", "0") == min(p, 1 - p_prime)
    if p:
        assert least.PN("1", "0") == least.N("1", "0")
    if p_prime < 1:
        assert least.PS("1", "0") == least.S("1", "0")


@many
@given(margins(), st.fractions(0, 1, max_denominator=12))
def test_every_value_between_the_ends_is_attained(given_margins, share):
    """So no narrower interval follows from p and p' alone."""
    least, most = ResponseTypes.comonotone(given_margins), ResponseTypes.countermonotone(given_margins)
    mixed = Strata((1 - share, share), (least, most)).pooled
    assert mixed.evidence("1", "0") == least.evidence("1", "0")
    assert mixed.PNS("1", "0") == (1 - share) * least.PNS("1", "0") + share * most.PNS("1", "0")


@many
@given(margins(THREE))
def test_one_coupling_attains_all_lower_bounds_at_once(given_margins):
    types = ResponseTypes.comonotone(given_margins)
    for a, a_prime in permutations(THREE, 2):
        assert types.PNS(a, a_prime) == low(given_margins[a], given_margins[a_prime])


def test_the_upper_bounds_cannot_all_hold_at_once():
    """With all margins 1/2, PNS(1,0) = PNS(1,n) = 1/2 forces Y_0 = Y_n, so PNS(n,0) is 0 and not 1/2."""
    half = Fraction(1, 2)
    types = ResponseTypes({(1, 0, 0): half, (0, 1, 1): half}, THREE)
    assert types.PNS("1", "0") == types.PNS("1", "n") == half
    assert types.PNS("n", "0") == 0


# Three states together.


@many
@given(response_types(THREE))
def test_the_joint_region_of_three_contrasts(types):
    """The facets of the correlation polytope COR(3) (Pitowsky 1991)."""
    p1, p0, pn = (types.margin(regime) for regime in THREE)
    x, y, w = types.PNS("1", "0"), types.PNS("1", "n"), types.PNS("n", "0")
    assert x <= y + w
    assert y <= x + w - (pn - p0)
    assert w <= x + y - (p1 - pn)
    assert x + y + w <= 1 + p1 - p0


@many
@given(response_types(THREE))
def test_opposite_contrasts_differ_by_their_margins_and_cycles_by_the_constant_units(types):
    for a, a_prime in permutations(THREE, 2):
        assert types.PNS(a, a_prime) - types.PNS(a_prime, a) == types.margin(a) - types.margin(a_prime)
        assert types.harm(a, a_prime) == types.PNS(a_prime, a)
    cycle = types.PNS("1", "0") + types.PNS("0", "n") + types.PNS("n", "1")
    constant = types.probability(dict.fromkeys(THREE, 1)) + types.probability(dict.fromkeys(THREE, 0))
    assert cycle == 1 - constant


@many
@given(response_types(THREE, zero=[{"1": 0, "n": 1}, {"n": 0, "0": 1}]))
def test_two_monotone_links_compose(types):
    assert types.harm("1", "0") == 0
    assert types.PNS("1", "0") == types.PNS("1", "n") + types.PNS("n", "0")


@many
@given(response_types(THREE))
def test_only_the_correct_answer_helps(types):
    truth = types.probability({"1": 1, "0": 0, "n": 0})
    p1, p0, pn = (types.margin(regime) for regime in THREE)
    assert max(Fraction(0), p1 - p0 - pn) <= truth <= min(p1, 1 - p0, 1 - pn)


# Instances.


@many
@given(strata())
def test_instance_level_bounds_hold_and_are_never_wider_than_the_pooled_ones(population):
    weights, rates, rates_prime = population.evidence("1", "0")
    pairs = list(zip(rates, rates_prime, strict=True))
    p, p_prime = population.margin("1"), population.margin("0")
    lower = population.mean(low(*pair) for pair in pairs)
    upper = population.mean(min(a, 1 - b) for a, b in pairs)
    assert sum(weights) == 1
    assert low(p, p_prime) <= lower <= population.PNS("1", "0") <= upper <= min(p, 1 - p_prime)


@many
@given(strata(deterministic=True))
def test_where_answers_do_not_vary_pns_is_the_share_of_instances_that_turn(population):
    _, rates, rates_prime = population.evidence("1", "0")
    turned = population.mean(a * (1 - b) for a, b in zip(rates, rates_prime, strict=True))
    assert population.PNS("1", "0") == turned
    if p := population.margin("1"):
        assert population.PN("1", "0") == turned / p


@many
@given(strata())
def test_the_naive_paired_rate_is_off_by_at_most_half_the_rerun_disagreement(population):
    _, rates, rates_prime = population.evidence("1", "0")
    pairs = list(zip(rates, rates_prime, strict=True))
    naive = population.mean(a * (1 - b) for a, b in pairs)
    reruns = min(population.mean(2 * r * (1 - r) for r in arm) for arm in (rates, rates_prime))
    lower = population.mean(low(*pair) for pair in pairs)
    assert lower >= naive - reruns / 2
    assert population.mean(min(a, 1 - b) for a, b in pairs) - lower <= reruns


@many
@given(strata(), st.data())
def test_a_selector_from_other_runs_never_overstates_the_effect(population, data):
    chosen = [data.draw(probabilities()) for _ in population.types]
    _, rates, rates_prime = population.evidence("1", "0")
    pairs = list(zip(rates, rates_prime, strict=True))
    selected = population.mean(s * (a - b) for s, (a, b) in zip(chosen, pairs, strict=True))
    assert selected <= population.mean(low(*pair) for pair in pairs)


# Experiments and observation together (Tian & Pearl 2000).


@many
@given(response_types(observed=True))
def test_own_answers_are_consistent_with_experiments(types):
    p, p_prime, seen = types.evidence("1", "0")
    assert seen[1, 1] <= p <= 1 - seen[1, 0]
    assert seen[0, 1] <= p_prime <= 1 - seen[0, 0]


@many
@given(response_types(observed=True))
def test_tian_pearl_bounds_hold(types):
    p, p_prime, seen = types.evidence("1", "0")
    y = seen[1, 1] + seen[0, 1]
    assert max(Fraction(0), p - p_prime, y - p_prime, p - y) <= types.PNS("1", "0")
    assert types.PNS("1", "0") <= min(p, 1 - p_prime, seen[1, 1] + seen[0, 0], p - p_prime + seen[1, 0] + seen[0, 1])
    necessary, sufficient = defined(types.PN, "1", "0"), defined(types.PS, "1", "0")
    if necessary is not None:
        assert max(Fraction(0), y - p_prime) <= necessary * seen[1, 1] <= min(seen[1, 1], 1 - p_prime - seen[0, 0])
    if sufficient is not None:
        assert max(Fraction(0), p - y) <= sufficient * seen[0, 0] <= min(seen[0, 0], p - seen[1, 1])


@many
@given(response_types(observed=True, monotone=("1", "0")))
def test_own_answers_identify_pn_and_ps_under_monotonicity(types):
    p, p_prime, seen = types.evidence("1", "0")
    y = seen[1, 1] + seen[0, 1]
    necessary, sufficient = defined(types.PN, "1", "0"), defined(types.PS, "1", "0")
    assert necessary is None or necessary * seen[1, 1] == y - p_prime
    assert sufficient is None or sufficient * seen[0, 0] == p - y


@many
@given(response_types(("1", "n"), observed=True))
def test_own_correct_answers_narrow_the_upper_end_of_ps_only(types):
    p, y, seen = types.evidence("1", "n")
    assert max(Fraction(0), p - y) <= types.PNS("1", "n") <= min(p - seen[1, 1], seen[0, 0])
    assert types.harm("1", "n") <= seen[0, 1]


# The package's formulas, in floats.


@many
@given(response_types())
def test_the_formulas_agree_with_the_definitions(types):
    p, p_prime = (float(value) for value in types.evidence("1", "0"))
    near = {"rel": 1e-12, "abs": 1e-12}
    assert n_score(p, p_prime, 0).value == pytest.approx(float(types.N("1", "0")), **near)
    assert s_score(p, p_prime, 0).value == pytest.approx(float(types.S("1", "0")), **near)
    assert ns_score(p, p_prime) == pytest.approx(float(low(*types.evidence("1", "0"))), **near)
    for bounds, quantity in ((pns_bounds, types.PNS), (pn_bounds, types.PN), (ps_bounds, types.PS)):
        found, truth = bounds(p, p_prime), defined(quantity, "1", "0")
        if truth is not None:
            assert found.lower - 1e-12 <= float(truth) <= found.upper + 1e-12
