"""The repair gain: the winner's curse of the plug-in value, a cross-fitted value without it, and limits that hold."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm, t

from dodiag.bounds.errors import (
    NoData,
    NotAProbability,
    NotCounts,
    TooFewInstances,
    Undefined,
    UnequalPairing,
)
from dodiag.bounds.repair_gain import AT_RANDOM, MAX_S, SAME_DATA, Rule, fixed, highest, lowest, repair_gain
from dodiag.problems import UsageError

NC, IC, N = 0.30, 0.72, 130


def outcomes(rng, p, n=N, nc=NC, ic=IC, correlation=0.5):
    """Baseline, full and single outcomes of instances that differ in difficulty."""
    q = np.array([nc, ic, *p])
    shared = math.sqrt(correlation) * rng.standard_normal((n, 1))
    drawn = shared + math.sqrt(1 - correlation) * rng.standard_normal((n, len(q))) < norm.ppf(q)
    return drawn[:, 2:].astype(float), drawn[:, 0].astype(float), drawn[:, 1].astype(float)


def within(found, truth, factor=4):
    """Whether a simulated mean is within four standard errors."""
    return abs(np.mean(found) - truth) <= factor * np.std(found) / math.sqrt(len(found))


@pytest.mark.parametrize(
    ("p", "reads", "truth", "cursed"),
    [
        ([0.4] * 5, 0.333, 0.238, True),
        ([0.5] + [0.4] * 4, 0.481, 0.462, True),
        ([0.65] + [0.4] * 4, 0.837, 0.833, False),
    ],
)
def test_the_winners_curse_is_as_published_and_cross_fitting_lifts_it(p, reads, truth, cursed):
    """NC .30, IC .72, five prerequisites, 130 instances: plug-in readings, and the selected one's true gain."""
    rng, repeats = np.random.default_rng(1), 400
    true_gain = (np.array(p) - NC) / (IC - NC)
    plug_in, picked_truth, excess, numerator = [], [], [], []
    for _ in range(repeats):
        found = repair_gain(*outcomes(rng, p), generator=rng, repeats=2)
        plug_in.append(found.plug_in.value)
        picked_truth.append(found.plug_in.weights @ true_gain)
        target = found.cross_fitted.weights @ true_gain
        excess.append(found.cross_fitted.value - target)
        numerator.append(found.cross_fitted.value * (found.ic - found.nc) - target * (IC - NC))
    rounding = 0.0005
    assert within(plug_in, reads) or abs(np.mean(plug_in) - reads) < 2 * rounding
    assert within(picked_truth, truth) or abs(np.mean(picked_truth) - truth) < 2 * rounding
    # The numerator is exactly unbiased; the ratio up to its second order, (θ s_dd − s_nd)/(n D²), under .01 here.
    assert within(numerator, 0)
    assert abs(np.mean(excess)) <= 0.01 + 4 * np.std(excess) / math.sqrt(repeats)
    curse = np.array(plug_in) - picked_truth
    if cursed:
        assert np.mean(curse) - 4 * np.std(curse) / math.sqrt(repeats) > 0


@pytest.mark.parametrize(
    ("p", "n", "correlation", "nc", "ic"),
    [
        ([0.4] * 5, 130, 0.5, 0.30, 0.72),
        ([0.4] * 5, 130, 0.0, 0.30, 0.72),
        ([0.5, 0.5, 0.3], 60, 0.5, 0.30, 0.72),
        ([0.15] * 4, 130, 0.5, 0.10, 0.40),
    ],
)
def test_limits_hold_for_what_was_picked(p, n, correlation, nc, ic):
    rng, repeats, level = np.random.default_rng(2), 400, 0.9
    gains = (np.array(p) - nc) / (ic - nc)
    held = {"plug_in": [], "cross_fitted": []}
    undefined = 0
    for _ in range(repeats):
        found = repair_gain(*outcomes(rng, p, n, nc, ic, correlation), generator=rng, repeats=1, level=level)
        if found.cross_fitted.lower is None:
            undefined += 1
            continue
        for name, into in held.items():
            gain = getattr(found, name)
            into.append((gain.lower <= gain.weights @ gains, gain.weights @ gains <= gain.upper))
    assert undefined < repeats / 20
    tolerance = 4 * math.sqrt(level * (1 - level) / repeats)
    for pairs in held.values():
        assert np.mean(pairs, axis=0).min() >= level - tolerance


def test_a_rule_that_looks_at_nothing_gets_limits_at_the_plain_level():
    """Coverage of each limit is the level itself, within simulation error, not more."""
    rng, repeats, level = np.random.default_rng(3), 800, 0.8
    held = []
    for _ in range(repeats):
        gain = repair_gain(*outcomes(rng, [0.5, 0.4]), fixed(1), level=level).cross_fitted
        held.append((gain.lower <= 0.1 / 0.42, gain.upper >= 0.1 / 0.42))
    tolerance = 4 * math.sqrt(level * (1 - level) / repeats)
    assert np.abs(np.mean(held, axis=0) - level).max() <= tolerance


def test_a_fixed_pick_has_the_formulas_value_and_no_flag():
    single, baseline, full = outcomes(np.random.default_rng(4), [0.5, 0.4, 0.3])
    found = repair_gain(single, baseline, full, fixed(2))
    plain = (single[:, 2].mean() - baseline.mean()) / (full.mean() - baseline.mean())
    assert found.cross_fitted.value == pytest.approx(plain)
    assert found.plug_in.value == pytest.approx(plain)
    assert found.plug_in.flags == found.cross_fitted.flags == ()
    assert found.plug_in.weights.tolist() == [0, 0, 1]
    at_random = repair_gain(single, baseline, full, AT_RANDOM).cross_fitted
    each = [repair_gain(single, baseline, full, fixed(i)).cross_fitted.value for i in range(3)]
    assert at_random.value == pytest.approx(np.mean(each))


def test_limits_are_fiellers():
    """At either limit θ the mean of (single − baseline) − θ (full − baseline) is t standard errors from 0."""
    single, baseline, full = outcomes(np.random.default_rng(16), [0.5, 0.4])
    gain = repair_gain(single, baseline, full, fixed(1), level=0.9).cross_fitted
    for theta, sign in ((gain.lower, 1), (gain.upper, -1)):
        rest = single[:, 1] - baseline - theta * (full - baseline)
        assert math.sqrt(N) * rest.mean() / rest.std(ddof=1) == pytest.approx(sign * t.ppf(0.9, N - 1))


def test_leaving_one_out_is_what_it_says():
    single, baseline, full = outcomes(np.random.default_rng(5), [0.45, 0.4, 0.4], n=40)
    total = 0.0
    for i in range(40):
        rest = np.delete(single, i, axis=0).sum(axis=0)
        best = rest == rest.max()
        total += single[i, best].mean() - baseline[i]
    found = repair_gain(single, baseline, full)
    assert found.cross_fitted.value == pytest.approx(total / (full - baseline).sum())
    assert found.spread is None
    assert found.plug_in.flags == (SAME_DATA,)


def test_picks_are_counted_by_the_questions_that_they_are_scored_on():
    single, baseline, full = outcomes(np.random.default_rng(17), [0.45, 0.4], n=40)
    sizes = np.arange(40) + 3
    found = repair_gain(single, baseline, full, lambda part: int(0 not in part.instances), sizes=sizes)
    assert found.cross_fitted.weights[1] == pytest.approx(3 / sizes.sum())


def test_a_rule_never_sees_the_instances_that_it_is_scored_on():
    rng = np.random.default_rng(6)
    single, baseline, full = outcomes(rng, [0.5, 0.4], n=23)
    seen = []

    def watching(part):
        assert np.array_equal(part.single, single[part.instances])
        assert np.array_equal(part.baseline, baseline[part.instances])
        assert np.array_equal(part.full, full[part.instances])
        seen.append(set(part.instances.tolist()))
        return 0

    found = repair_gain(single, baseline, full, watching, generator=rng, folds=4, repeats=3)
    assert found.rule == "watching"
    assert seen.pop(0) == set(range(23))
    for repeat in range(3):
        left_out = [set(range(23)) - part for part in seen[4 * repeat : 4 * repeat + 4]]
        assert sorted(i for part in left_out for i in part) == list(range(23))
        assert {len(part) for part in left_out} <= {5, 6}
    assert found.spread == 0


def test_the_splits_come_from_the_generator_alone():
    data = outcomes(np.random.default_rng(7), [0.42, 0.4, 0.4, 0.4])
    values = [repair_gain(*data, generator=np.random.default_rng(seed)).cross_fitted.value for seed in (1, 1, 2)]
    assert values[0] == values[1] != values[2]


def test_rules_of_the_paper_pick_by_the_units_own_capabilities():
    rng = np.random.default_rng(8)
    single, baseline, full = outcomes(rng, [0.4, 0.4, 0.4], n=60)
    natural = (rng.random((60, 3)) < [0.9, 0.2, 0.6]).astype(float)
    correct = (rng.random((60, 3)) < [0.95, 0.9, 0.3]).astype(float)
    without_one = (rng.random((60, 3)) < [0.2, 0.7, 0.6]).astype(float)
    for rule, column in (
        (lowest(natural, "min NC"), 1),
        (lowest(correct, "min IC"), 2),
        (highest(correct - natural, "max IC − NC"), 1),
        (lowest(without_one, "max N"), 0),
    ):
        found = repair_gain(single, baseline, full, rule)
        assert found.rule == rule.name
        assert found.plug_in.weights[column] == 1
        assert found.cross_fitted.weights[column] == pytest.approx(1)
    best = repair_gain(single, baseline, full, MAX_S).plug_in.weights
    assert best[single.mean(axis=0).argmax()] > 0


def test_measurements_are_weighted_by_their_questions_and_may_be_missing():
    values = np.array([[1.0, 0.0], [0.0, 0.9], [np.nan, 0.9]])
    assert repair_gain(np.eye(3, 2), np.zeros(3), np.ones(3), highest(values)).plug_in.weights.tolist() == [0, 1]
    weighted = highest(values, sizes=np.array([[9, 9], [1, 1], [1, 1]]))
    assert repair_gain(np.eye(3, 2), np.zeros(3), np.ones(3), weighted).plug_in.weights.tolist() == [1, 0]
    nowhere = highest(np.full((3, 2), np.nan))
    with pytest.raises(NoData):
        repair_gain(np.eye(3, 2), np.zeros(3), np.ones(3), nowhere)


@given(st.integers(0, 1000), st.integers(2, 5))
def test_the_order_of_prerequisites_plays_no_part(seed, k):
    rng = np.random.default_rng(seed)
    single, baseline, full = outcomes(rng, [0.45] * k, n=30)
    order = rng.permutation(k)
    plain, moved = repair_gain(single, baseline, full), repair_gain(single[:, order], baseline, full)
    for left, right in ((plain.plug_in, moved.plug_in), (plain.cross_fitted, moved.cross_fitted)):
        assert left.reason.split(" ")[:1] == right.reason.split(" ")[:1]
        if left.value is not None:
            assert left.value == pytest.approx(right.value)
            assert left.weights[order] == pytest.approx(right.weights)
        if left.lower is not None and right.lower is not None:
            assert left.lower == pytest.approx(right.lower)


def test_questions_weigh_as_if_their_instance_stood_there_as_often():
    single, baseline, full = outcomes(np.random.default_rng(9), [0.5, 0.35], n=50)
    sizes = np.random.default_rng(10).integers(1, 4, 50)
    weighted = repair_gain(single, baseline, full, fixed(0), sizes=sizes)
    expanded = repair_gain(*(np.repeat(arm, sizes, axis=0) for arm in (single, baseline, full)), fixed(0))
    assert weighted.cross_fitted.value == pytest.approx(expanded.cross_fitted.value)
    assert (weighted.nc, weighted.ic) == (pytest.approx(expanded.nc), pytest.approx(expanded.ic))
    assert weighted.singles == pytest.approx(expanded.singles)
    # Questions of one instance move together, so they say less than as many instances would.
    width = [gain.upper - gain.lower for gain in (weighted.cross_fitted, expanded.cross_fitted)]
    assert width[0] > width[1]


def test_copies_of_an_instance_do_not_narrow_the_limits():
    single, baseline, full = outcomes(np.random.default_rng(11), [0.5, 0.35], n=50)
    once, thrice = (repair_gain(single, baseline, full, fixed(0), sizes=np.full(50, m)).cross_fitted for m in (1, 3))
    assert (thrice.value, thrice.lower, thrice.upper) == pytest.approx((once.value, once.lower, once.upper))


@pytest.mark.parametrize(
    ("full", "reason"),
    [(0.0, "lowers success: IC − NC = -0.5"), (0.5, "changes nothing: IC − NC = 0")],
)
def test_without_a_distance_there_is_no_gain(full, reason):
    baseline = np.tile([0.0, 1.0], 20)
    found = repair_gain(np.ones((40, 2)), baseline, np.roll(baseline, 1) * (full > 0))
    for gain in (found.plug_in, found.cross_fitted):
        assert gain.value is gain.lower is gain.upper is None
        assert reason in gain.reason
        with pytest.raises(Undefined):
            gain.number()


def test_a_distance_that_cannot_be_told_from_0_gives_no_limits():
    baseline = np.tile([0.0, 1.0], 30)
    full = np.roll(baseline, 1)
    full[0] = full[2] = 1
    full[1] = full[3] = 1
    found = repair_gain(np.roll(baseline, 1)[:, None] * [1, 1], baseline, full)
    assert found.ic > found.nc
    assert found.cross_fitted.value is not None
    assert found.cross_fitted.lower is None
    assert "cannot be told from 0 with 60 instances" in found.cross_fitted.reason
    few = repair_gain(baseline[:, None], baseline, np.where(np.arange(60) < 8, 1, baseline))
    assert "fewer than 10 instances change" in few.cross_fitted.reason


def test_where_no_instance_changes_the_limits_are_exact_and_not_of_no_width():
    """Nobody of 130 is rescued by the pick: the limits are Clopper-Pearson's over the least distance."""
    rng = np.random.default_rng(12)
    _, baseline, full = outcomes(rng, [])
    gain = repair_gain(baseline[:, None], baseline, full, fixed(0)).cross_fitted
    assert gain.value == 0
    share = 1 - 0.025 ** (1 / N)
    assert gain.upper >= share / (full - baseline).mean()
    assert -gain.lower == pytest.approx(gain.upper)
    assert gain.upper < 0.2
    unequal = repair_gain(baseline[:, None], baseline, full, fixed(0), sizes=np.arange(N) + 1)
    assert unequal.cross_fitted.lower is None
    assert "different numbers of questions" in unequal.cross_fitted.reason


def test_exact_limits_hold_where_hardly_any_instance_changes():
    rng, repeats, level = np.random.default_rng(13), 400, 0.8
    held = []
    for _ in range(repeats):
        _, baseline, full = outcomes(rng, [])
        single = np.where(rng.random(N) < 0.03, 1.0, baseline)
        truth = 0.03 * (1 - NC) / (IC - NC)
        gain = repair_gain(single[:, None], baseline, full, fixed(0), level=level).cross_fitted
        held.append((gain.lower <= truth, truth <= gain.upper))
    assert np.mean(held, axis=0).min() >= level - 4 * math.sqrt(level * (1 - level) / repeats)


def test_input_that_says_nothing_is_an_error():
    single, baseline, full = outcomes(np.random.default_rng(14), [0.5, 0.4], n=12)
    rng = np.random.default_rng(15)
    for arguments, options, error in (
        ((single, baseline[:-1], full), {}, UnequalPairing),
        ((single[:, 0], baseline, full), {}, UnequalPairing),
        ((single, baseline, full), {"sizes": np.ones(5)}, UnequalPairing),
        ((single * 2, baseline, full), {}, NotAProbability),
        ((single, np.where(baseline > 0, np.nan, 0), full), {}, NotAProbability),
        ((single, baseline, full), {"level": 1.0}, NotAProbability),
        ((single[:1], baseline[:1], full[:1]), {}, TooFewInstances),
        ((single[:0], baseline[:0], full[:0]), {}, TooFewInstances),
        ((single[:, :0], baseline, full), {}, NoData),
        ((single, baseline, full), {"generator": rng, "folds": 13}, TooFewInstances),
        ((single, baseline, full), {"generator": rng, "folds": 1}, NotCounts),
        ((single, baseline, full), {"generator": rng, "repeats": 0}, NotCounts),
        ((single, baseline, full), {"sizes": np.zeros(12)}, NotCounts),
        ((single, baseline, full), {"rule": lambda part: 2}, UsageError),
        ((single, baseline, full), {"rule": lambda part: -1}, UsageError),
        ((single, baseline, full), {"rule": lambda part: 0.5}, UsageError),
        ((single, baseline, full), {"rule": lambda part: math.nan}, UsageError),
        ((single, baseline, full), {"rule": lambda part: None}, UsageError),
        ((single, baseline, full), {"rule": lambda part: [0.9, 0.9]}, NotAProbability),
        ((single, baseline, full), {"rule": Rule("NaN", lambda part: [math.nan, 1])}, NotAProbability),
        ((single, baseline, full), {"rule": lambda part: [1.0]}, UnequalPairing),
        ((single, baseline, full), {"rule": highest(single[:5])}, UnequalPairing),
    ):
        with pytest.raises(error):
            repair_gain(*arguments, **options)
    with pytest.raises(UnequalPairing):
        highest(single, sizes=np.ones(3))
    for wrong in (-1.0, math.nan):
        with pytest.raises(NotCounts):
            highest(single, sizes=np.full(single.shape, wrong))
    with pytest.raises(NotCounts):
        highest(np.full((3, 2), math.inf))
