"""Limits cover what they claim: exact laws, and seeded simulations with computed tolerances."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from dodiag.bounds.errors import NoData, NotAProbability, NotCounts, TooFewInstances
from dodiag.bounds.limits import (
    LimitMethod,
    clopper_pearson,
    clustered_wilson,
    difference_limits,
    end_limits,
    n_limits,
    ratio_e_value,
    ratio_limits,
    ratio_of_means_limits,
    s_limits,
    wilson_limits,
)
from dodiag.bounds.pairs import PairedSums

REPLICATES = 1500

DESIGNS = [
    # p, p', P(Y_a=0, Y_a'=1): the designs of the published simulations, no effect and tiny denominators included.
    (0.6, 0.3, 0.05),
    (0.6, 0.3, 0.15),
    (0.9, 0.85, 0.02),
    (0.65, 0.27, 0.03),
    (0.3, 0.28, 0.1),
    (0.15, 0.03, 0.01),
    (0.5, 0.5, 0.1),
    (0.95, 0.05, 0.0),
    (0.2, 0.3, 0.15),
    (0.05, 0.0, 0.0),
    (0.97, 0.97, 0.0),
]


def drawn(generator, shape, p, p_prime, harm):
    """Pairs of single outcomes with these rates and this harm, as sums per instance."""
    q10 = p - p_prime + harm
    cells = np.clip([p - q10, q10, harm, 1 - p - harm], 0, 1)
    kind = generator.choice(4, size=shape, p=cells / cells.sum())
    return PairedSums.of((kind < 2).astype(float), ((kind == 0) | (kind == 2)).astype(float))


def least_coverage(level, replicates=REPLICATES, allowance=0.0):
    """The level less what it may fall short by, less four standard errors of the simulation."""
    target = level - allowance
    return target - 4 * math.sqrt(target * (1 - target) / replicates)


def ends(p, p_prime):
    return {
        "PN": (max(0, p - p_prime) / p, min(1, (1 - p_prime) / p)),
        "PS": (max(0, p - p_prime) / (1 - p_prime), min(1, p / (1 - p_prime))),
        "PNS": (max(0, p - p_prime), min(p, 1 - p_prime)),
    }


@pytest.mark.parametrize("n", [20, 50, 130])
@pytest.mark.parametrize("design", DESIGNS, ids=str)
def test_the_default_limits_cover(design, n):
    """The normal approximation may fall short of 95 % by 1.5 points (measured: by less than 1); exact rules may not."""
    p, p_prime, _ = design
    pairs = drawn(np.random.default_rng([n, DESIGNS.index(design)]), (REPLICATES, n), *design)
    for quantity, (low, high) in ends(p, p_prime).items():
        limits = end_limits(quantity, pairs, 0.95)
        assert np.mean(limits.lower <= low + 1e-9) >= least_coverage(0.95, allowance=0.015), quantity
        assert np.mean(limits.upper >= high - 1e-9) >= least_coverage(0.95, allowance=0.015), quantity
    score = n_limits(pairs, 0.95)
    assert np.mean(score.upper >= ends(p, p_prime)["PN"][0] - 1e-9) >= least_coverage(0.95, allowance=0.035)


@pytest.mark.parametrize("design", [DESIGNS[0], DESIGNS[5], DESIGNS[6], DESIGNS[9]], ids=str)
def test_the_betting_limits_cover_without_allowance(design):
    pairs = drawn(np.random.default_rng([7, DESIGNS.index(design)]), (400, 50), *design)
    low = ends(*design[:2])["PN"][0]
    limits = n_limits(pairs, 0.95, LimitMethod.BETTING)
    assert set(limits.method.tolist()) == {LimitMethod.BETTING.value}
    assert np.mean(limits.lower <= low + 1e-9) >= least_coverage(0.95, 400)
    assert np.mean(limits.upper >= low - 1e-9) >= least_coverage(0.95, 400)


def test_betting_covers_at_a_stopping_time_chosen_to_fail():
    """Ville: even the worst moment of a run without effect keeps the error below α."""
    generator = np.random.default_rng(11)
    wrong = 0
    for _ in range(400):
        pairs = drawn(generator, (60,), 0.5, 0.5, 0.2)
        wrong += any(ratio_e_value(pairs.reference[:t], pairs.active[:t]) >= 20 for t in range(1, 61))
    assert wrong <= 400 * 0.05 + 4 * math.sqrt(400 * 0.05 * 0.95)


@pytest.mark.parametrize("questions", [3, 8])
def test_limits_are_clustered_by_instance(questions):
    """Questions of one instance that always agree are worth one question, not several."""
    generator = np.random.default_rng(questions)
    single = drawn(generator, (REPLICATES, 130), 0.6, 0.3, 0.05)
    sizes = np.full(single.sizes.shape, float(questions))
    clustered = PairedSums.of(single.active * questions, single.reference * questions, sizes)
    for limits in (n_limits, s_limits):
        one, many = limits(single, 0.95), limits(clustered, 0.95)
        assert np.allclose(one.lower, many.lower)
        assert np.allclose(one.upper, many.upper)
    # Of copies the variance is estimated, of single outcomes it is known from their mean: Student's quantile, not less.
    one, many = difference_limits(single, 0.95), difference_limits(clustered, 0.95)
    assert np.all(many.lower <= one.lower + 1e-12)
    assert np.all(many.upper >= one.upper - 1e-12)
    assert np.allclose(one.lower, many.lower, atol=0.01)
    assert np.allclose(one.upper, many.upper, atol=0.01)


CLUSTERED = [
    # p, most questions of an instance, correlation of its questions
    (0.5, 6, 0.5),
    (0.5, 30, 0.2),
    (0.3, 6, 0.3),
    (0.9, 4, 0.5),
    (0.9, 8, 0.5),
    (0.9, 30, 0.2),
    (0.97, 6, 0.5),
]


@pytest.mark.parametrize("n", [5, 12, 20, 50])
@pytest.mark.parametrize("design", CLUSTERED, ids=str)
def test_limits_of_a_capability_cover_with_few_instances_of_unequal_size(design, n):
    """Instances of 1 to m questions. With the plain cluster-robust variance 95 % limits held in 82 to 95 %."""
    p, most, correlation = design
    generator = np.random.default_rng([n, CLUSTERED.index(design)])
    shape = (REPLICATES, n, most)
    shared = generator.random(shape[:2])[..., None] < p
    solved = np.where(generator.random(shape) < math.sqrt(correlation), shared, generator.random(shape) < p)
    sizes = generator.integers(1, most + 1, size=shape[:2])
    sums = (solved & (np.arange(most) < sizes[..., None])).sum(axis=-1)
    limits = wilson_limits(sums, sizes, 0.975)
    covered = np.mean((limits.lower <= p) & (p <= limits.upper))
    assert covered >= least_coverage(0.95, allowance=0.01)


def test_limits_cover_with_unequal_clusters():
    """Instances of one to six questions whose difficulty they share."""
    generator = np.random.default_rng(3)
    sizes = generator.integers(1, 7, size=(600, 80)).astype(float)
    hard = generator.beta(1.5, 1.5, size=sizes.shape)
    active = generator.binomial(sizes.astype(int), 1 - hard**2)
    reference = generator.binomial(sizes.astype(int), (1 - hard) ** 2)
    p, p_prime = 1 - (1.5 * 2.5) / (3 * 4), (1.5 * 2.5) / (3 * 4)
    limits = end_limits("PN", PairedSums.of(active, reference, sizes), 0.95)
    assert np.mean(limits.lower <= 1 - p_prime / p) >= least_coverage(0.95, 600, 0.015)


@pytest.mark.parametrize("design", [(0.95, 0.05, 0.0), (0.97, 0.97, 0.03), (0.97, 0.97, 0.0)], ids=str)
def test_limits_cover_where_a_rate_rests_on_few_instances_of_many_questions(design):
    """Up to eight questions that often agree. With the log-ratio limits throughout, the worst end held in 84 %."""
    p, p_prime, harm = design
    replicates, shape = 250, (250, 50, 8)
    generator = np.random.default_rng([50, round(100 * p)])
    cells = [p_prime - harm, p - p_prime + harm, harm, 1 - p - harm]
    each, shared = generator.choice(4, shape, p=cells), generator.choice(4, (*shape[:2], 1), p=cells)
    kind = np.where(generator.random(shape) < 0.7, shared, each)
    sizes = generator.integers(1, 9, shape[:2])
    asked = np.arange(8) < sizes[..., None]
    active, reference = (((kind < 2) & asked).sum(axis=-1), ((kind % 2 == 0) & asked).sum(axis=-1))
    pairs = PairedSums.of(active, reference, sizes)
    for quantity, (low, high) in ends(p, p_prime).items():
        limits = end_limits(quantity, pairs, 0.95)
        assert np.mean(limits.lower <= low + 1e-9) >= least_coverage(0.95, replicates, 0.015), quantity
        assert np.mean(limits.upper >= high - 1e-9) >= least_coverage(0.95, replicates, 0.015), quantity


def test_with_one_outcome_per_instance_it_is_the_paired_log_risk_ratio():
    n11, n10, n01, n00 = 30, 30, 12, 28
    active = np.repeat([1.0, 1, 0, 0], [n11, n10, n01, n00])
    reference = np.repeat([1.0, 0, 1, 0], [n11, n10, n01, n00])
    found = n_limits(PairedSums.of(active, reference), 0.95)
    error = math.sqrt((n10 + n01) / ((n11 + n10) * (n11 + n01)))
    from scipy.stats import t

    assert found.lower == pytest.approx(1 - (n11 + n01) / (n11 + n10) * math.exp(t.ppf(0.95, 99) * error))
    assert found.method == LimitMethod.LOG_RATIO.value


def test_the_published_example_of_the_betting_limit():
    """n = 130, p = .6, p' = .3, harm .05: the expected counts give .298."""
    active = np.repeat([1.0, 1, 0, 0], [32, 46, 7, 45])
    reference = np.repeat([1.0, 0, 1, 0], [32, 46, 7, 45])
    assert n_limits(PairedSums.of(active, reference), 0.95, LimitMethod.BETTING).lower == pytest.approx(0.298, abs=0.01)


@given(
    counts=st.tuples(*[st.integers(0, 30)] * 4).filter(lambda c: sum(c) >= 2),
    level=st.sampled_from([0.9, 0.95, 0.975]),
)
def test_limits_bracket_the_score_and_s_is_n_of_failures(counts, level):
    n11, n10, n01, n00 = counts
    pairs = PairedSums.of(np.repeat([1.0, 1, 0, 0], counts), np.repeat([1.0, 0, 1, 0], counts))
    limits, other = n_limits(pairs, level), s_limits(pairs.failures, level)
    assert limits.lower == other.lower
    assert limits.upper == other.upper
    assert 0 <= limits.lower <= limits.upper <= 1
    if n11 + n10:
        score = max(0, n10 - n01) / (n11 + n10)
        assert limits.lower <= score + 1e-9
        assert score <= limits.upper + 1e-9
    wider = n_limits(pairs, (1 + level) / 2)
    assert wider.lower <= limits.lower + 1e-9
    assert limits.upper <= wider.upper + 1e-9
    if n00 + n10:
        assert s_limits(pairs, level).lower <= max(0, n10 - n01) / (n00 + n10) + 1e-9


@given(x=st.integers(0, 25), more=st.integers(0, 25), level=st.sampled_from([0.9, 0.975]))
def test_clopper_pearson_agrees_with_scipy(x, more, level):
    n = x + more
    if n == 0:
        with pytest.raises(NoData):
            clopper_pearson(x, n, level)
        return
    want = binomtest(x, n).proportion_ci(2 * level - 1, "exact")
    assert clopper_pearson(x, n, level).ends() == pytest.approx((want.low, want.high), abs=1e-9)


@given(x=st.integers(0, 40), more=st.integers(0, 40))
def test_wilson_of_single_outcomes_agrees_with_scipy(x, more):
    n = x + more
    if n < 2:
        return
    sums = np.array([1.0] * x + [0.0] * more)
    want = binomtest(x, n).proportion_ci(0.95, "wilson")
    found = wilson_limits(sums, np.ones(n), 0.975)
    assert found.ends() == pytest.approx((want.low, want.high), abs=1e-12)
    assert found.lower <= x / n <= found.upper


def test_newcombe_is_close_to_student_where_that_is_good():
    pairs = drawn(np.random.default_rng(5), (2000,), 0.6, 0.3, 0.1)
    gap = pairs.active - pairs.reference
    reach = 1.96 * gap.std(ddof=1) / math.sqrt(gap.size)
    found = difference_limits(pairs, 0.975)
    assert found.ends() == pytest.approx((gap.mean() - reach, gap.mean() + reach), abs=0.003)


@pytest.mark.parametrize("replicates", [2000])
def test_ratio_of_means_covers(replicates):
    generator = np.random.default_rng(2)
    weights = (generator.random((replicates, 100)) < 0.5).astype(float)
    terms = weights * ((generator.random(weights.shape) < 0.7) - 0.2)
    limits = ratio_of_means_limits(terms, weights, level=0.95)
    assert np.mean(limits.lower <= 0.5) >= least_coverage(0.95, replicates, 0.01)
    assert np.mean(limits.upper >= 0.5) >= least_coverage(0.95, replicates, 0.01)
    assert np.mean(limits.lower <= 0.5) < 0.98


def test_stacked_contrasts_are_computed_as_one_by_one():
    generator = np.random.default_rng(9)
    single = [drawn(generator, (40,), *design) for design in DESIGNS]
    for function in (n_limits, s_limits, difference_limits, lambda pairs: end_limits("PS", pairs)):
        together = function(PairedSums.stack(single))
        for index, pairs in enumerate(single):
            one = function(pairs)
            assert one.lower == pytest.approx(together.lower[index])
            assert one.method == together.method[index]
            assert one.upper == pytest.approx(together.upper[index])


def test_instances_that_take_no_part_change_nothing():
    pairs = drawn(np.random.default_rng(4), (40,), 0.6, 0.3, 0.1)
    padded = PairedSums(*(np.r_[array, np.zeros(25)] for array in (pairs.active, pairs.reference, pairs.sizes)))
    for function in (n_limits, s_limits, difference_limits, lambda p: end_limits("PNS", p)):
        assert function(pairs).ends() == pytest.approx(function(padded).ends())


def test_one_instance_says_nothing():
    one = PairedSums.of([3.0], [1.0], [4.0])
    for limits in (n_limits(one), s_limits(one), difference_limits(one), end_limits("PN", one)):
        assert not limits.known
        with pytest.raises(TooFewInstances, match="1 instance says nothing"):
            limits.ends()
    assert clustered_wilson([3.0], [4.0]).reason == "one instance says nothing about others"
    with pytest.raises(NoData):
        clustered_wilson([], [])


@pytest.mark.parametrize("level", [0.0, 1.0, -1, float("nan")])
def test_a_level_is_between_0_and_1(level):
    pairs = PairedSums.of([1.0, 0.0], [0.0, 0.0])
    for call in (
        lambda: n_limits(pairs, level),
        lambda: difference_limits(pairs, level),
        lambda: wilson_limits([1.0, 0.0], [1.0, 1.0], level),
        lambda: clopper_pearson(1, 2, level),
        lambda: ratio_of_means_limits([1.0, 0.0], [1.0, 1.0], level=level),
        lambda: ratio_limits([1.0, 0.0], [1.0, 1.0], [1.0, 1.0], level),
    ):
        with pytest.raises(NotAProbability):
            call()


def test_what_cannot_be_limited_is_refused():
    with pytest.raises(NotCounts):
        clopper_pearson(3, 2)
    with pytest.raises(NotCounts):
        clopper_pearson(1.5, 2)
    with pytest.raises(NoData, match="conditions on"):
        ratio_of_means_limits([0.0, 0.0], [0.0, 0.0])
    with pytest.raises(NoData):
        wilson_limits([0.0], [0.0])


@pytest.mark.parametrize("instances", [2, 5, 20, 100])
def test_arms_that_agree_everywhere_leave_the_share_that_none_of_n_can_rule_out(instances):
    outcomes = [index % 2 for index in range(instances)]
    found = difference_limits(PairedSums.of(outcomes, outcomes), 0.975)
    exact = clopper_pearson(0, instances, 0.975).upper
    assert found.upper >= exact - 1e-12
    assert found.lower <= -exact + 1e-12


@pytest.mark.parametrize(
    ("instances", "gains", "losses"),
    [(20, 0.03, 0), (50, 0.01, 0), (50, 0.1, 0), (130, 0.03, 0), (50, 0.02, 0.02), (20, 0.3, 0.05)],
)
def test_limits_of_a_difference_that_few_instances_show_still_cover_it(instances, gains, losses):
    """Newcombe's limits without his correction of the correlation covered 58 to 90 % of such differences."""
    rng = np.random.default_rng(instances)
    reference = (rng.random((2000, instances)) < 0.5).astype(float)
    moved = rng.random((2000, instances))
    active = np.where(moved < 2 * np.where(reference == 0, gains, losses), 1 - reference, reference)
    found = difference_limits(PairedSums.of(active, reference), 0.975)
    truth = gains - losses
    # Three standard errors of a coverage of 0.96 in 2,000 benchmarks.
    for covered in (found.lower <= truth, found.upper >= truth):
        assert covered.mean() > 0.96 - 3 * np.sqrt(0.96 * 0.04 / 2000)
