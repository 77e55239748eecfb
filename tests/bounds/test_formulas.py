"""The scores and bounds of one contrast: laws, conventions, and errors instead of wrong numbers."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from dodiag.bounds.errors import NotAProbability
from dodiag.bounds.formulas import n_score, ns_score, pn_bounds, pns_bounds, ps_bounds, s_score

P = st.floats(0, 1)


@given(P, P)
def test_scores_are_the_papers_formulas(p, p_prime):
    n, s = n_score(p, p_prime, 0), s_score(p, p_prime, 0)
    assert n.value == pytest.approx(max(0, p - p_prime) / p if p > 0 else 0)
    assert s.value == pytest.approx(max(0, p - p_prime) / (1 - p_prime) if p_prime < 1 else 0)
    assert 0 <= n.value <= 1
    assert 0 <= s.value <= 1


@given(P, P)
def test_one_routine_serves_both(p, p_prime):
    assert s_score(p, p_prime, 0).value == pytest.approx(n_score(1 - p_prime, 1 - p, 0).value, abs=1e-9)


@given(P, P)
def test_identity_of_theorem_a6(p, p_prime):
    n, s = n_score(p, p_prime, 0).value, s_score(p, p_prime, 0).value
    assert n * p == pytest.approx(max(0, p - p_prime), abs=1e-12)
    assert s * (1 - p_prime) == pytest.approx(ns_score(p, p_prime), abs=1e-12)


@given(P, P)
def test_opposite_directions_exclude_each_other(p, p_prime):
    assert n_score(p, p_prime, 0).value * s_score(p_prime, p, 0).value == 0


@st.composite
def joints(draw):
    """A joint distribution of (Y_a, Y_a') as counts of the four response types."""
    counts = draw(st.lists(st.integers(0, 50), min_size=4, max_size=4))
    assume(sum(counts))
    return counts


@given(joints())
def test_the_intervals_hold_the_true_probabilities(counts):
    both, helps, hurts, neither = counts
    n = sum(counts)
    p, p_prime = (both + helps) / n, (both + hurts) / n
    pns = pns_bounds(p, p_prime)
    assert pns.lower - 1e-12 <= helps / n <= pns.upper + 1e-12
    if both + helps:
        pn = pn_bounds(p, p_prime)
        assert n_score(p, p_prime, 0).value == pytest.approx(pn.lower)
        assert pn.lower - 1e-9 <= helps / (both + helps) <= pn.upper + 1e-9
    if helps + neither:
        ps = ps_bounds(p, p_prime)
        assert s_score(p, p_prime, 0).value == pytest.approx(ps.lower)
        assert ps.lower - 1e-9 <= helps / (helps + neither) <= ps.upper + 1e-9


def test_published_example():
    """p = 0.7, p' = 0.4: PNS [.3, .6], PN [3/7, 6/7], PS [.5, 1]."""
    for bounds, (lower, upper) in (
        (pns_bounds, (0.3, 0.6)),
        (pn_bounds, (3 / 7, 6 / 7)),
        (ps_bounds, (0.5, 1.0)),
    ):
        found = bounds(0.7, 0.4)
        assert (float(found.lower), float(found.upper)) == (pytest.approx(lower), pytest.approx(upper))


@pytest.mark.parametrize(
    ("p", "p_prime", "value", "suppressed"),
    [(0.0999, 0.0, 0.0, True), (0.1, 0.05, 0.5, False), (0.0, 0.0, 0.0, True), (0.2, 0.3, 0.0, False)],
)
def test_denominator_rule_of_the_paper(p, p_prime, value, suppressed):
    for score in (n_score(p, p_prime), s_score(1 - p_prime, 1 - p)):
        assert score.value == pytest.approx(value)
        assert bool(score.suppressed) is suppressed


def test_undefined_is_not_zero():
    assert np.isnan(pn_bounds(0.0, 0.0).lower)
    assert np.isnan(ps_bounds(1.0, 1.0).upper)
    assert np.isnan(n_score(0.0, 0.5).raw)


@pytest.mark.parametrize("value", [-0.01, 1.01, float("nan"), float("inf"), [0.5, 2.0]])
@pytest.mark.parametrize("function", [n_score, s_score, ns_score, pn_bounds, ps_bounds, pns_bounds])
def test_what_is_no_probability_is_an_error_with_its_value(function, value):
    for arguments in ((value, 0.5), (0.5, value)):
        with pytest.raises(NotAProbability) as caught:
            function(*arguments)
        assert caught.value.name in ("p", "p'")
    with pytest.raises(NotAProbability):
        n_score(0.5, 0.5, 1.5)


def test_arrays_keep_their_shape():
    p, p_prime = np.random.default_rng(0).random((2, 3, 4, 1)), np.random.default_rng(1).random(5)
    found = n_score(p[0], p_prime)
    assert found.value.shape == found.raw.shape == found.denominator.shape == found.suppressed.shape == (3, 4, 5)
    assert found.value[1, 2, 3] == pytest.approx(float(n_score(p[0, 1, 2, 0], p_prime[3]).value))
