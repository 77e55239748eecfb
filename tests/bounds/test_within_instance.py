"""Instance-level bounds: exact expectations, equality under determinism, and coverage; the plug-in fails them."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from dodiag.bounds.causation import experimental_bounds
from dodiag.bounds.errors import NoData, NotAProbability, NotCounts, UnequalPairing
from dodiag.bounds.identified import Assumption
from dodiag.bounds.pairs import PairedCounts
from dodiag.bounds.within_instance import (
    _MOST_LOST,
    InstanceMethod,
    Repeats,
    deterministic_limits,
    deterministic_score,
    deterministic_value,
    loss,
    rerun_corrected,
    stratified_bounds,
    upper_from_lower,
)
from dodiag.bounds.within_instance_limits import instance_limits
from dodiag.problems import UsageError

RATES = [(0.5, 0.5), (0.9, 0.9), (0.7, 0.4), (0.9, 0.2), (0.4, 0.7), (1.0, 0.0), (0.6, 0.55), (0.0, 0.0)]


def expectation(score, p, p_prime, active_runs, reference_runs):
    """Exact expectation of a statistic of one question over both binomials."""
    total = 0.0
    for s, z in itertools.product(range(active_runs + 1), range(reference_runs + 1)):
        chance = binom.pmf(s, active_runs, p) * binom.pmf(z, reference_runs, p_prime)
        total += chance * score(s, z)
    return total


def value(function, quantity, runs):
    """The terms of a score for one question; a second question without effect keeps every denominator positive."""
    active_runs, reference_runs = runs

    def score(s, z):
        return float(function(quantity, Repeats.of([s, 0], [active_runs] * 2, [z, 0], [reference_runs] * 2)).value)

    return score


def plug_in(s, z, runs):
    return max(0.0, (s - z) / runs)


PLUG_IN_BIAS = {1: 0.25, 2: 0.188, 3: 0.156, 5: 0.123, 10: 0.088, 50: 0.040}


@pytest.mark.parametrize(("runs", "reads"), PLUG_IN_BIAS.items())
def test_the_plug_in_reads_an_effect_where_there_is_none(runs, reads):
    """The bias table: why the mean of max(0, difference of observed rates) is not offered."""
    assert expectation(lambda s, z: plug_in(s, z, runs), 0.5, 0.5, runs, runs) == pytest.approx(reads, abs=6e-4)


@pytest.mark.parametrize(("p", "p_prime"), RATES)
@pytest.mark.parametrize("runs", [(1, 2), (2, 2), (1, 3), (3, 4)])
def test_the_rerun_correction_never_exceeds_the_sharp_end_in_expectation(p, p_prime, runs):
    found = 2 * expectation(value(rerun_corrected, "PNS", runs), p, p_prime, *runs)
    assert found == pytest.approx((1 - p_prime) * (p - p_prime), abs=1e-12)
    assert found <= max(0, p - p_prime) + 1e-12


@pytest.mark.parametrize(("p", "p_prime"), RATES)
@pytest.mark.parametrize("runs", [2, 3, 5])
def test_loss_rises_to_the_sharp_end_from_below(p, p_prime, runs):
    few, more = (2 * expectation(value(loss, "PNS", (r, r)), p, p_prime, r, r) for r in (runs, 2 * runs))
    gap = p - p_prime
    assert few <= more + 1e-12
    assert more <= max(0, gap) + 1e-12
    if runs == 2:
        assert few == pytest.approx((gap + gap**2) / 2, abs=1e-12)


@pytest.mark.parametrize(("p", "p_prime"), RATES)
def test_the_upper_bound_never_falls_below_the_sharp_end_in_expectation(p, p_prime):
    def score(s, z):
        return float(upper_from_lower("PNS", Repeats.of([s, 0], [1, 1], [z, 0], [2, 2])).value)

    found = 2 * expectation(score, p, p_prime, 1, 2)
    assert found == pytest.approx(p - p_prime * (p + p_prime - 1), abs=1e-12)
    assert found >= min(p, 1 - p_prime) - 1e-12


@given(outcomes=st.lists(st.tuples(st.integers(0, 1), st.integers(0, 1)), min_size=1, max_size=30))
def test_under_determinism_all_of_them_are_the_conditional_share(outcomes):
    active, reference = np.array(outcomes, dtype=float).T
    counts = PairedCounts.from_outcomes(active, reference)
    twice = Repeats.from_runs(np.c_[active, active], np.c_[reference, reference])
    for quantity in ("PN", "PS", "PNS"):
        exact = deterministic_value(quantity, counts)
        found = [rerun_corrected(quantity, twice), loss(quantity, twice), deterministic_score(quantity, twice)]
        if exact.undefined.all():
            assert all(score.reason.startswith("undefined") for score in found)
            with pytest.raises(NoData):
                deterministic_limits(quantity, counts)
            continue
        for score in found:
            assert score.value == pytest.approx(exact.lower)
        low, high = deterministic_limits(quantity, counts).ends()
        assert low <= exact.lower <= high
        assert found[2].limits.ends() == (low, high)
        low, high = experimental_bounds(quantity, counts.p, counts.p_prime).ends()
        assert low - 1e-9 <= exact.lower <= high + 1e-9


@given(
    rates=st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1), st.floats(0.01, 1)), min_size=1, max_size=8),
    quantity=st.sampled_from(["PN", "PS", "PNS"]),
)
def test_strata_only_tighten(rates, quantity):
    p, p_prime, share = (np.array(column) for column in zip(*rates, strict=True))
    found = stratified_bounds(quantity, p, p_prime, share)
    pooled = experimental_bounds(
        quantity, min(1, np.average(p, weights=share)), min(1, np.average(p_prime, weights=share))
    )
    if found.undefined.all() or pooled.undefined.all():
        return
    event = {"PN": np.average(p, weights=share), "PS": 1 - np.average(p_prime, weights=share), "PNS": 1.0}[quantity]
    slack = 1e-9 / max(event, 1e-9)
    assert pooled.lower - slack <= found.lower <= found.upper + slack
    assert found.upper <= pooled.upper + slack


def test_half_the_instances_helped_and_half_harmed():
    assert stratified_bounds("PNS", [1.0, 0.0], [0.0, 0.5]).ends() == (0.5, 0.5)
    assert experimental_bounds("PNS", 0.5, 0.25).ends() == (0.25, 0.5)


POPULATIONS = {
    "no effect": lambda g, n: (lambda q: (q, q))(g.beta(0.5, 0.5, n)),
    "no effect, all at 1/2": lambda g, n: (np.full(n, 0.5), np.full(n, 0.5)),
    "lift, noisy": lambda g, n: (g.beta(1.2, 0.7, n), g.beta(0.5, 0.9, n)),
    "lift, nearly deterministic": lambda g, n: (g.beta(0.12, 0.07, n), g.beta(0.05, 0.1, n)),
    "helped and harmed": lambda g, n: (g.beta(0.6, 0.4, n), g.beta(0.5, 0.6, n)),
}


@pytest.mark.parametrize("name", POPULATIONS)
def test_limits_cover_the_sharp_end_of_the_population(name):
    generator = np.random.default_rng(list(POPULATIONS).index(name))
    replicates, n = 800, 100
    p, p_prime = POPULATIONS[name](generator, (replicates, n))
    large = POPULATIONS[name](generator, 400_000)
    sharp = np.maximum(0, large[0] - large[1]).mean()
    truth = {"PS": sharp / (1 - large[1].mean()), "PN": sharp / large[0].mean()}
    highest = np.minimum(large[0], 1 - large[1]).mean()
    active = (generator.random((2, replicates, n)) < p).astype(float).transpose(1, 2, 0)
    reference = (generator.random((2, replicates, n)) < p_prime).astype(float).transpose(1, 2, 0)
    runs = Repeats.from_runs(active, reference)
    least = 0.95 - 0.015 - 4 * math.sqrt(0.95 * 0.05 / replicates)
    for quantity, target in truth.items():
        for function in (rerun_corrected, loss):
            found = function(quantity, runs, 0.95)
            assert np.mean(np.maximum(0, found.limits.lower) <= target + 1e-9) >= least, (function.__name__, quantity)
    upper = upper_from_lower("PNS", runs, 0.95)
    assert np.mean(upper.limits.upper >= highest - 1e-9) >= least
    if name.startswith("no effect"):
        naive = np.maximum(0, active.mean(axis=2) - reference.mean(axis=2))
        limit = naive.mean(axis=1) - 1.66 * naive.std(axis=1, ddof=1) / math.sqrt(n)
        assert np.mean(np.maximum(0, limit) <= 1e-9) < 0.01, "the plug-in would claim an effect nearly always"


def test_few_failures_all_repaired_do_not_prove_that_all_can_be():
    """The terms of all instances agree with the ratio, so that Student's limits would be a point."""
    helped, natural = [[1, 1]] * 20, [[0, 0]] * 3 + [[1, 1]] * 17
    for function in (rerun_corrected, loss):
        found = function("PS", Repeats.from_runs(helped, natural))
        assert found.value == 1
        assert found.limits.lower <= 0.05 ** (1 / 3), "more than Clopper and Pearson's limit of three of three"
    pairs_of_questions = Repeats.from_runs([[1]] * 6, [[0]] * 2 + [[1]] * 4, [0, 0, 1, 1, 2, 2])
    assert deterministic_score("PS", pairs_of_questions).limits.lower < 0.5
    never = upper_from_lower("PS", Repeats.from_runs([[0]] * 3 + [[1]] * 17, natural))
    assert never.value == 0
    assert never.limits.upper > 0.5
    many = rerun_corrected("PS", Repeats.from_runs([[1]] * 200, [[0, 0]] * 100 + [[1, 1]] * 100))
    assert 0.9 < many.limits.lower < 1


@pytest.mark.parametrize(
    ("n", "fails", "repaired"), [(20, 0.15, 0.7), (30, 0.2, 0.5), (50, 0.1, 0.3), (50, 0.4, 0.9), (130, 0.3, 0.95)]
)
def test_limits_cover_where_few_instances_fail(n, fails, repaired):
    """Deterministic decoding, so that the sharp ends are both the share of failures repaired."""
    generator, replicates, level = np.random.default_rng(n), 400, 0.975
    failing = generator.random((replicates, n)) < fails
    failing[:, 0] = True
    repairs = generator.random((replicates, n)) < repaired
    active = (~failing | repairs).astype(float)[..., None].repeat(2, axis=-1)
    runs = Repeats.from_runs(active, (~failing).astype(float)[..., None].repeat(2, axis=-1))
    least = level - 4 * math.sqrt(level * (1 - level) / replicates)
    for function in (rerun_corrected, loss):
        assert np.mean(function("PS", runs, level).limits.lower <= repaired) >= least
    assert np.mean(upper_from_lower("PS", runs, level).limits.upper >= repaired) >= least


@pytest.mark.parametrize("quantity", ["PN", "PS", "PNS"])
def test_no_question_loses_a_bet_by_more_than_the_limits_provide_for(quantity):
    functions = {
        rerun_corrected: InstanceMethod.RERUN,
        upper_from_lower: InstanceMethod.RERUN,
        loss: InstanceMethod.SIGN,
        deterministic_score: InstanceMethod.DETERMINISTIC,
    }
    for (function, method), a_runs, z_runs in itertools.product(functions.items(), range(1, 5), range(1, 5)):
        (a, b), theta = _MOST_LOST[method, quantity == "PNS"], np.linspace(0, 1, 11)
        for s, z in itertools.product(range(a_runs + 1), range(z_runs + 1)):
            active, failed = s / a_runs, 1 - z / z_runs
            weight = {"PN": active, "PS": failed, "PNS": 1.0}[quantity]
            # A second question of the same kind whose term is 0 or 1 keeps the denominator positive.
            other = {"PN": (a_runs, z_runs), "PS": (0, 0), "PNS": (0, 0)}[quantity]
            found = function(quantity, Repeats.of([s, other[0]], [a_runs] * 2, [z, other[1]], [z_runs] * 2))
            if found.reason:
                continue
            beside = function(quantity, Repeats.of([other[0]], [a_runs], [other[1]], [z_runs]))
            term = float(found.value) * (weight + 1) - float(beside.value)
            assert term <= 1 + 1e-9
            assert np.all(theta * weight - term <= a + theta * b + 1e-9), (function.__name__, s, a_runs, z, z_runs)
            assert a * weight + b * term >= -1e-9


@given(
    shape=st.tuples(st.integers(0, 3), st.integers(1, 6)),
    seed=st.integers(0, 999),
    quantity=st.sampled_from(["PN", "PS", "PNS"]),
    function=st.sampled_from([rerun_corrected, loss, upper_from_lower, deterministic_score]),
)
def test_many_contrasts_at_once_are_each_as_if_alone(shape, seed, quantity, function):
    """One contrast without a value takes nothing from the others."""
    generator = np.random.default_rng(seed)
    runs = generator.integers(0, 3, (2, *shape))
    solved = generator.binomial(runs, generator.choice([0.0, 0.5, 1.0], (2, shape[0], 1)))
    instances = generator.integers(0, 4, shape[1])
    together = function(quantity, Repeats.of(solved[0], runs[0], solved[1], runs[1], instances))
    assert together.value.shape == shape[:1]
    reasons = []
    for row in range(shape[0]):
        alone = function(quantity, Repeats.of(solved[0, row], runs[0, row], solved[1, row], runs[1, row], instances))
        assert together.questions[row] == alone.questions
        assert together.value[row] == pytest.approx(float(alone.value), nan_ok=True)
        assert np.isnan(alone.value) == bool(alone.reason)
        reasons.append(alone.reason)
        if together.limits is None or alone.limits is None:
            assert alone.limits is None
            assert together.limits is None or np.isnan(together.limits.lower[row])
            continue
        for side in ("lower", "upper"):
            assert getattr(together.limits, side)[row] == pytest.approx(float(getattr(alone.limits, side)), nan_ok=True)
    assert bool(together.reason) == any(reasons)


def test_the_correction_is_worth_its_calls():
    """Nearly deterministic decoding: the corrected score is far above the pooled one (published: .586 against .441)."""
    generator = np.random.default_rng(0)
    p, p_prime = POPULATIONS["lift, nearly deterministic"](generator, (400, 100))
    active = (generator.random((1, 400, 100)) < p).astype(float).transpose(1, 2, 0)
    reference = (generator.random((2, 400, 100)) < p_prime).astype(float).transpose(1, 2, 0)
    corrected = rerun_corrected("PS", Repeats.from_runs(active, reference)).value.mean()
    pooled = (active.mean() - reference.mean()) / (1 - reference.mean())
    assert corrected == pytest.approx(0.586, abs=0.03)
    assert pooled == pytest.approx(0.441, abs=0.03)


def test_exact_limits_under_determinism_cover():
    generator = np.random.default_rng(1)
    active = generator.random((2000, 130)) < 0.6
    reference = generator.random((2000, 130)) < 0.35
    limits = deterministic_limits("PN", PairedCounts.from_outcomes(active, reference), 0.95)
    assert np.mean(limits.lower <= 0.65) >= 0.95 - 4 * math.sqrt(0.95 * 0.05 / 2000)
    assert limits.lower.mean() == pytest.approx(0.553, abs=0.02)


def test_questions_of_one_instance_are_one_cluster():
    generator = np.random.default_rng(6)
    active, reference = generator.integers(0, 2, (40, 1)), generator.integers(0, 2, (40, 2))
    single = rerun_corrected("PS", Repeats.from_runs(active, reference))
    copies = Repeats.from_runs(np.repeat(active, 3, axis=0), np.repeat(reference, 3, axis=0), np.repeat(range(40), 3))
    clustered = rerun_corrected("PS", copies)
    assert clustered.value == pytest.approx(single.value)
    assert clustered.questions == 120
    assert clustered.limits.ends() == pytest.approx(single.limits.ends())


def test_without_the_runs_there_is_no_score_but_a_reason():
    once = Repeats.from_runs([[1], [0]], [[0], [1]])
    for quantity, needs in (("PS", "two runs under a' and one under a"), ("PN", "two runs under a and one under a'")):
        found = rerun_corrected(quantity, once)
        assert found.reason == f"no question has {needs}"
        assert np.isnan(found.value)
        assert found.limits is None
        assert found.questions == 0
    assert "two or more" in loss("PS", once).reason
    assert Assumption.INDEPENDENT_RERUNS in loss("PS", once).assumptions


def test_questions_with_too_few_runs_take_no_part():
    mixed = Repeats.of([1, 1, 0], [1, 1, 1], [0, 1, 0], [2, 1, 2])
    assert rerun_corrected("PS", mixed).questions == 2
    assert rerun_corrected("PS", mixed).value == pytest.approx(0.5)


def test_disagreeing_reruns_refute_determinism():
    found = deterministic_score("PS", Repeats.from_runs([[1], [1]], [[0, 1], [0, 0]]))
    assert found.reason == "not deterministic: reruns of 1 of 2 questions disagree"
    assert np.isnan(found.value)
    assert found.limits is None


def test_what_are_no_runs_is_refused():
    with pytest.raises(UnequalPairing):
        Repeats.of([1], [1], [1, 0], [1, 1])
    with pytest.raises(NotCounts, match="more"):
        Repeats.of([2], [1], [0], [1])
    with pytest.raises(NotCounts):
        Repeats.from_runs([[0.5]], [[1]])
    with pytest.raises(NotCounts):
        Repeats.of([float("nan")], [1], [0], [1])
    for counts in (0, 1):
        with pytest.raises(UsageError, match="question"):
            Repeats.of(counts, counts, counts, counts)
    with pytest.raises(UsageError, match="runs") as found:
        Repeats.from_runs([1, 1, 0], [0, 0, 1])
    assert "[[1], [0]]" in found.value.cure
    with pytest.raises(NotAProbability):
        rerun_corrected("PS", Repeats.from_runs([[1]], [[0, 0]]), 1.5)
    with pytest.raises(UnequalPairing):
        instance_limits(np.ones(3), np.ones(2), np.ones(3))


def test_a_quantity_that_is_not_known_gives_no_number():
    runs, counts = Repeats.from_runs([[1, 1]], [[0, 0]]), PairedCounts.of(1, 1, 1, 1)
    for quantity in ("ps", "N", "NS", ""):
        for function in (rerun_corrected, loss, upper_from_lower, deterministic_score):
            with pytest.raises(UsageError, match="not known"):
                function(quantity, runs)
        for function in (deterministic_value, deterministic_limits):
            with pytest.raises(UsageError, match="not known"):
                function(quantity, counts)
        with pytest.raises(UsageError, match="not known"):
            stratified_bounds(quantity, [0.5], [0.5])


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (([], []), NoData),
        ((0.5, 0.5), NoData),
        (([0.5], [0.5], [0.0]), NoData),
        (([0.5], [0.5], [-1.0]), NotCounts),
        (([0.5], [0.5], [math.nan]), NotCounts),
        (([0.5] * 3, [0.5] * 2), UnequalPairing),
        (([0.5] * 3, [0.5]), UnequalPairing),
        (([0.5] * 3, [0.5] * 3, [1.0]), UnequalPairing),
        ((np.full((2, 3), 0.5), np.full((3, 3), 0.5)), UnequalPairing),
        (([0.5], [1.5]), NotAProbability),
        (([math.nan], [0.5]), NotAProbability),
    ],
)
def test_what_are_no_strata_is_refused(arguments, error):
    with pytest.raises(error):
        stratified_bounds("PNS", *arguments)


def test_strata_take_any_leading_shape():
    p, p_prime = np.random.default_rng(3).random((2, 2, 1, 4))
    for quantity in ("PN", "PS", "PNS"):
        found = stratified_bounds(quantity, p, p_prime[0], [1, 2, 0, 1])
        assert found.lower.shape == found.upper.shape == found.undefined.shape == (2, 1)
        alone = stratified_bounds(quantity, p[1, 0], p_prime[0, 0], [1, 2, 0, 1])
        assert (found.lower[1, 0], found.upper[1, 0]) == pytest.approx(alone.ends())
        assert stratified_bounds(quantity, np.zeros((0, 4)), np.zeros((0, 4))).lower.shape == (0,)
