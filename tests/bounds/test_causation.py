"""Bounds as objects: they agree with every distribution of response types, and say what they take for granted."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from dodiag.bounds.causation import (
    Observed,
    combined_bounds,
    counted_bounds,
    exact_mcnemar,
    experimental_bounds,
    inconsistencies,
    monotone_value,
    monotonicity_test,
    one_sided_bounds,
    sensitivity,
)
from dodiag.bounds.errors import ImpossibleMargins, NoData, NotAProbability, NotCounts, Undefined, UnequalPairing
from dodiag.bounds.formulas import n_score, s_score
from dodiag.bounds.identified import Assumption
from dodiag.bounds.pairs import PairedCounts, PairedSums
from dodiag.problems import UsageError

QUANTITIES = ("PN", "PS", "PNS")


@st.composite
def weights(draw, cells):
    """A distribution over cells, as floats made from small whole numbers."""
    parts = draw(st.lists(st.integers(0, 9), min_size=cells, max_size=cells).filter(any))
    return [part / sum(parts) for part in parts]


def truth(quantity, q11, q10, q01, q00):
    event = {"PN": q11 + q10, "PS": q10 + q00, "PNS": q11 + q10 + q01 + q00}[quantity]
    return None if event < 1e-12 else q10 / event


@given(q=weights(4), quantity=st.sampled_from(QUANTITIES))
def test_experimental_bounds_hold_for_every_distribution(q, quantity):
    q11, q10, q01, _ = q
    found = experimental_bounds(quantity, q11 + q10, min(1.0, q11 + q01))
    want = truth(quantity, *q)
    if want is None:
        assert found.undefined.all()
        with pytest.raises(Undefined, match=r"probability 0"):
            found.ends()
    else:
        low, high = found.ends()
        assert low - 1e-9 <= want <= high + 1e-9


@pytest.mark.parametrize(("quantity", "ends"), [("PNS", (0.3, 0.6)), ("PN", (3 / 7, 6 / 7)), ("PS", (0.5, 1.0))])
def test_the_worked_example(quantity, ends):
    assert experimental_bounds(quantity, 0.7, 0.4).ends() == pytest.approx(ends)


def test_a_result_says_what_it_rests_on():
    found = experimental_bounds("PN", [0.7, 0.0], 0.4)
    assert found.formulas == ("max(0, p − p') / p", "min(p, 1 − p') / p")
    assert found.inputs["p"].tolist() == [0.7, 0.0]
    assert found.undefined.tolist() == [False, True]
    assert Assumption.SAME_UNITS in found.assumptions
    with pytest.raises(ValueError, match="2 intervals"):
        found.ends()
    assert "shape (2,)" in str(found)


def test_bounds_from_counts_carry_the_counts():
    found = counted_bounds("PN", PairedCounts.of(20, 40, 5, 35))
    assert found.ends() == pytest.approx(experimental_bounds("PN", 0.6, 0.25).ends())
    assert {name: int(value) for name, value in found.inputs.items()} == {"n11": 20, "n10": 40, "n01": 5, "n00": 35}
    assert found.flags


@given(cells=weights(8), quantity=st.sampled_from(QUANTITIES))
@settings(max_examples=200)
def test_combined_bounds_hold_for_every_distribution_of_own_state_and_response(cells, quantity):
    r = np.array(cells).reshape(2, 2, 2)  # own state (x, x'), Y_a, Y_a'
    p, p_prime = r[:, 1].sum(), r[:, :, 1].sum()
    observed = Observed.of(r[0, 1].sum(), r[0, 0].sum(), r[1, :, 1].sum(), r[1, :, 0].sum())
    assert not inconsistencies(min(p, 1), min(p_prime, 1), observed)
    found = combined_bounds(quantity, min(p, 1), min(p_prime, 1), observed)
    event = {"PN": r[0, 1].sum(), "PS": r[1, :, 0].sum(), "PNS": 1.0}[quantity]
    value = {"PN": r[0, 1, 0], "PS": r[1, 1, 0], "PNS": r[:, 1, 0].sum()}[quantity]
    if event == 0:
        assert found.undefined.all()
    elif event > 1e-9:
        low, high = found.ends()
        assert low - 1e-9 <= value / event <= high + 1e-9
    if quantity == "PNS":
        free = experimental_bounds("PNS", min(p, 1), min(p_prime, 1)).ends()
        assert free[0] - 1e-9 <= found.ends()[0]
        assert found.ends()[1] <= free[1] + 1e-9


@pytest.mark.parametrize("quantity", QUANTITIES)
def test_contradicting_data_are_no_bound(quantity):
    observed = Observed.of(0.3, 0.2, 0.2, 0.3)
    with pytest.raises(ImpossibleMargins, match=r"P\(x, y\) = 0.3 > p = 0.2") as caught:
        combined_bounds(quantity, 0.2, 0.4, observed)
    assert caught.value.violated == ("P(x, y) = 0.3 > p = 0.2",)


def test_observations_sum_to_one():
    with pytest.raises(ImpossibleMargins, match=r"0\.9, not 1"):
        Observed.of(0.3, 0.2, 0.2, 0.2)
    with pytest.raises(NotAProbability):
        Observed.of(1.3, 0.2, -0.3, -0.2)


@given(cells=weights(6))
def test_one_sided_consistency_leaves_the_lower_end_and_lowers_the_upper(cells):
    both, neither, *rest = cells  # X=1: Y_1 = Y_∅; X=0: (Y_1, Y_∅) free
    q11, q10, q01, _ = rest
    p1, own = both + q11 + q10, both + neither
    found = one_sided_bounds(min(p1, 1), both, q11 + q01, min(own, 1)).ends()
    free = experimental_bounds("PNS", min(p1, 1), min(both + q11 + q01, 1)).ends()
    assert found[0] == pytest.approx(free[0], abs=1e-12)
    assert found[1] <= free[1] + 1e-12
    assert found[0] - 1e-9 <= q10 <= found[1] + 1e-9


def test_one_sided_consistency_can_be_falsified():
    with pytest.raises(ImpossibleMargins, match=r"P\(X=1, Y=1\) = 0.4 > p_1 = 0.3"):
        one_sided_bounds(0.3, own_correct_y=0.4, own_wrong_y=0.1, own_correct=0.5)


@given(q=weights(3))
def test_under_monotonicity_the_scores_are_the_quantities(q):
    q11, q10, q00 = q
    p, p_prime = min(1.0, q11 + q10), q11
    assume(p > 1e-9 and p_prime < 1 - 1e-9)
    for quantity, score in (("PN", n_score(p, p_prime, 0)), ("PS", s_score(p, p_prime, 0))):
        low, high = monotone_value(quantity, p, p_prime).ends()
        assert low == high == pytest.approx(float(score.value))
        assert low == pytest.approx(truth(quantity, q11, q10, 0.0, q00))
    assert Assumption.MONOTONE in monotone_value("PN", p, p_prime).assumptions


@given(parts=st.lists(st.integers(0, 9), min_size=6, max_size=6).filter(any), quantity=st.sampled_from(QUANTITIES))
def test_under_monotonicity_observations_identify_what_happened_to_units_with_that_state(parts, quantity):
    """Cells (own state, Y_a, Y_a') without harm; the truth by counting them."""
    kinds = [(x, a, b) for x in (0, 1) for a, b in ((1, 1), (1, 0), (0, 0))]
    share = {kind: Fraction(part, sum(parts)) for kind, part in zip(kinds, parts, strict=True)}

    def chance(event):
        return float(sum(v for kind, v in share.items() if event(*kind)))

    own = [chance(lambda x, a, b, s=s, y=y: x == s and (a if s else b) == y) for s in (1, 0) for y in (1, 0)]
    p, p_prime = chance(lambda x, a, b: a == 1), chance(lambda x, a, b: b == 1)
    found = monotone_value(quantity, p, p_prime, Observed.of(*own))
    event = {"PN": chance(lambda x, a, b: x and a), "PS": chance(lambda x, a, b: not x and not b), "PNS": 1.0}[quantity]
    of = {"PN": chance(lambda x, a, b: x and a > b), "PS": chance(lambda x, a, b: not x and a > b)}
    if event < 1e-12:
        assert found.undefined
        return
    want = of.get(quantity, chance(lambda x, a, b: a > b)) / event
    assert found.ends() == pytest.approx((want, want), abs=1e-9)
    assert Assumption.MONOTONE in found.assumptions


def test_observations_too_can_refute_monotonicity():
    with pytest.raises(ImpossibleMargins, match=r"P\(y\) = 0\.3 < p' = 0\.4"):
        monotone_value("PN", 0.7, 0.4, Observed.of(0.2, 0.3, 0.1, 0.4))


@pytest.mark.parametrize("call", [experimental_bounds, monotone_value])
def test_an_unknown_quantity_is_named(call):
    with pytest.raises(UsageError, match="'pn' is not a probability of causation"):
        call("pn", 0.7, 0.4)


def test_a_monotone_model_cannot_have_falling_rates():
    with pytest.raises(ImpossibleMargins, match=r"p = 0.3 < p' = 0.4"):
        monotone_value("PN", 0.3, 0.4)


@given(wins=st.integers(0, 40), losses=st.integers(0, 40))
def test_mcnemar_is_the_binomial_tail(wins, losses):
    total = wins + losses
    exact = sum(Fraction(int(_choose(total, k)), 2**total) for k in range(wins, total + 1))
    assert float(exact_mcnemar(wins, losses)) == pytest.approx(float(exact), rel=1e-9)


def _choose(n, k):
    value = 1
    for i in range(k):
        value = value * (n - i) // (i + 1)
    return value


def test_monotonicity_is_refuted_by_harm_and_not_by_help():
    harm, help_ = (monotonicity_test(PairedCounts.of(20, *n, 20)) for n in ((1, 9), (9, 1)))
    assert harm.p_value < 0.02 < help_.p_value
    assert harm.harm_at_least == pytest.approx(8 / 50)
    assert help_.harm_at_least == 0
    assert (harm.helped, harm.harmed) == (1, 9)


@given(q=weights(4))
def test_the_sensitivity_curve_passes_through_the_truth(q):
    q11, q10, q01, _ = q
    p, p_prime = min(1.0, q11 + q10), min(1.0, q11 + q01)
    curve = sensitivity(p, p_prime)
    assert curve.least - 1e-9 <= q01 <= curve.most + 1e-9
    assert float(curve.pns(q01)) == pytest.approx(q10, abs=1e-9)
    if p > 1e-9:
        assert float(curve.pn(q01)) == pytest.approx(q10 / p, abs=1e-9)
        assert float(curve.pn(curve.most)) == pytest.approx(experimental_bounds("PN", p, p_prime).ends()[1])
        assert float(curve.pn(curve.least)) == pytest.approx(experimental_bounds("PN", p, p_prime).ends()[0])
    if p_prime < 1 - 1e-9:
        assert float(curve.ps(q01)) == pytest.approx(q10 / (1 - p_prime), abs=1e-9)


def test_harm_has_a_range():
    curve = sensitivity(0.7, 0.4)
    with pytest.raises(ImpossibleMargins, match=r"harm 0.5 is not in \[0, 0.3\]"):
        curve.pns(0.5)
    with pytest.raises(NoData, match="PN is undefined"):
        sensitivity(0.0, 0.4).pn(0.0)
    with pytest.raises(NoData, match="PS is undefined"):
        sensitivity(0.5, 1.0).ps(0.5)


@pytest.mark.parametrize("bad", [-0.1, 1.1, float("nan"), float("inf")])
def test_what_is_no_probability_is_refused(bad):
    for call in (
        lambda: experimental_bounds("PN", bad, 0.5),
        lambda: experimental_bounds("PNS", 0.5, bad),
        lambda: monotone_value("PS", bad, 0.1),
        lambda: sensitivity(bad, 0.5),
        lambda: one_sided_bounds(bad, 0.1, 0.1, 0.5),
        lambda: Observed.of(bad, 0.5, 0.25, 0.25),
    ):
        with pytest.raises(NotAProbability) as caught:
            call()
        assert caught.value.value == bad or np.isnan(bad)


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda: PairedCounts.of(0, 0, 0, 0), NoData),
        (lambda: PairedCounts.of(-1, 2, 0, 0), NotCounts),
        (lambda: PairedCounts.of(1.5, 2, 0, 0), NotCounts),
        (lambda: PairedCounts.of(float("nan"), 2, 0, 0), NotCounts),
        (lambda: PairedCounts.from_outcomes([1, 0], [1]), UnequalPairing),
        (lambda: PairedCounts.from_outcomes([1, 0.5], [1, 0]), NotCounts),
        (lambda: PairedCounts.from_outcomes([], []), NoData),
        (lambda: PairedSums.of([1, 0], [1, 0, 1]), UnequalPairing),
        (lambda: PairedSums.of([2, 0], [1, 0]), NotCounts),
        (lambda: PairedSums.of([float("nan"), 0], [1, 0]), NotCounts),
        (lambda: PairedSums.of([1, 0], [1, 0], [1, -1]), NotCounts),
        (lambda: PairedSums.of(1, 0), NoData),
    ],
)
def test_pairs_that_are_none_are_refused(call, error):
    with pytest.raises(error):
        call()


@given(outcomes=st.lists(st.tuples(st.integers(0, 1), st.integers(0, 1)), min_size=1, max_size=30))
def test_counts_and_sums_agree(outcomes):
    active, reference = np.array(outcomes).T
    counts, sums = PairedCounts.from_outcomes(active, reference), PairedSums.of(active, reference)
    assert counts.p == pytest.approx(sums.p)
    assert counts.p_prime == pytest.approx(sums.p_prime)
    assert counts.n10 + counts.n01 == sums.discordant
    assert sums.failures.p == pytest.approx(1 - sums.p_prime)
    assert sums.reversed.p == pytest.approx(sums.p_prime)
