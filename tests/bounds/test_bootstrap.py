"""The bootstrap by instance: right where it is known to be, and shown to fail where it is known to fail."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import bootstrap, norm

from dodiag.bounds.bootstrap import bootstrap_limits
from dodiag.bounds.errors import NoData, NotAProbability, NotCounts, TooFewInstances, UnequalPairing
from dodiag.bounds.formulas import n_score, s_score
from dodiag.problems import UsageError

METHODS = ("percentile", "basic", "bca")


def pairs(rng, n, p, p_prime, harm, data_sets):
    """Paired 0/1 outcomes, one data set per column."""
    chance = np.array([p_prime - harm, p - p_prime + harm, harm, 1 - p - harm])
    kind = rng.choice(4, size=(n, data_sets), p=chance)
    return (kind <= 1).astype(float), ((kind == 0) | (kind == 2)).astype(float)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("metric", ["N", "S"])
@pytest.mark.parametrize(("n", "replicates"), [(120, 20_000), (12, 200_000)])
def test_limits_agree_with_scipy(method, metric, n, replicates):
    """On many instances, and on few and skewed ones, where the methods differ from each other."""
    rng = np.random.default_rng(0)
    sizes = np.maximum(1, rng.geometric(0.05, n)) if n == 12 else rng.integers(1, 5, n)
    active, reference = rng.binomial(sizes, 0.7), rng.binomial(sizes, 0.4)

    def score(i, axis=-1):
        top, bottom = (reference, active) if metric == "N" else (sizes - active, sizes - reference)
        return 1 - top[i].sum(axis=axis) / bottom[i].sum(axis=axis)

    theirs = bootstrap(
        (np.arange(n),),
        score,
        n_resamples=replicates,
        batch=10_000,
        confidence_level=0.9,
        method=method,
        vectorized=True,
        rng=np.random.default_rng(1),
    )
    ours = bootstrap_limits(
        active, reference, sizes, generator=rng, metric=metric, replicates=replicates, method=method
    )
    # A quantile from B resamples errs by √(α(1 − α)/B) over the density there, the bias of BCa by √(1/4B)/φ(0), which
    # moves its limits twice.
    quantile = math.sqrt(0.05 * 0.95 / replicates) / norm.pdf(norm.ppf(0.05))
    bias = 2 * math.sqrt(0.25 / replicates) / norm.pdf(0) if method == "bca" else 0.0
    tolerance = 4 * math.sqrt(2) * math.hypot(quantile, bias) * theirs.standard_error
    assert ours.lower == pytest.approx(theirs.confidence_interval.low, abs=tolerance)
    assert ours.upper == pytest.approx(theirs.confidence_interval.high, abs=tolerance)


@given(st.integers(0, 10_000), st.sampled_from(["N", "S"]))
def test_values_are_the_scores(seed, metric):
    rng = np.random.default_rng(seed)
    sizes = rng.integers(0, 4, (20, 3))
    active, reference = rng.binomial(sizes, 0.6), rng.binomial(sizes, 0.5)
    found = bootstrap_limits(active, reference, sizes, generator=rng, metric=metric, replicates=50)
    total = sizes.sum(axis=0)
    score = (n_score if metric == "N" else s_score)(active.sum(axis=0) / total, reference.sum(axis=0) / total, 0)
    assert found.raw == pytest.approx(score.raw, nan_ok=True)
    defined = ~found.undefined
    assert found.value[defined] == pytest.approx(score.value[defined])
    assert np.all((found.lower <= found.upper)[defined])
    assert np.all(found.reason[found.undefined] != "")
    assert np.isnan(found.lower[found.undefined]).all()


def test_limits_cover_where_nothing_is_rare():
    """n = 130, p = .6, p' = .3, 2000 data sets that share their resamples."""
    data_sets, level, rng = 2000, 0.95, np.random.default_rng(2)
    found = bootstrap_limits(*pairs(rng, 130, 0.6, 0.3, 0.05, data_sets), generator=rng, replicates=2000)
    tolerance = 4 * math.sqrt(level * (1 - level) / data_sets)
    assert np.mean(found.lower <= 0.5) >= level - tolerance
    assert np.mean(found.upper >= 0.5) >= level - tolerance


def test_percentile_limits_under_cover_where_successes_are_rare():
    """The negative result that keeps the bootstrap out of verdicts: N = 18/19, 6 of 130 successes under a'."""
    data_sets, level, rng = 2000, 0.95, np.random.default_rng(3)
    found = bootstrap_limits(*pairs(rng, 130, 0.95, 0.05, 0.0, data_sets), generator=rng, replicates=2000)
    held = np.mean((found.lower <= 1 - 0.05 / 0.95)[~found.undefined])
    assert held < level - 4 * math.sqrt(level * (1 - level) / data_sets)
    assert held > 0.8


def test_where_no_success_was_seen_there_is_no_limit_instead_of_a_certain_1():
    """n = 50, p' = .03: a fifth of the data sets has no success under a', and all their resamples say N = 1."""
    data_sets, rng = 2000, np.random.default_rng(4)
    active, reference = pairs(rng, 50, 0.15, 0.03, 0.01, data_sets)
    found = bootstrap_limits(active, reference, generator=rng, replicates=2000)
    nothing = (reference.sum(axis=0) == 0) | (active.sum(axis=0) == 0)
    assert np.array_equal(found.undefined, nothing | (active == reference).all(axis=0))
    chance = 0.97**50
    assert abs(np.mean(nothing) - chance) <= 4 * math.sqrt(chance * (1 - chance) / data_sets)
    assert np.mean(found.lower <= 0.8) - np.mean(found.undefined) < 0.95


def test_resamples_with_nothing_to_divide_by_count_as_the_worst_for_either_limit():
    """Two of eight instances have successes: a resample misses both with chance (3/4)^8, a tenth."""
    active, reference = np.array([1, 1, 0, 0, 0, 0, 0, 0]), np.array([1, 0, 0, 0, 0, 0, 0, 0])
    found = bootstrap_limits(active, reference, generator=np.random.default_rng(5), replicates=20_000, level=0.95)
    chance = 0.75**8
    assert abs(found.undefined_share - chance) <= 4 * math.sqrt(chance * (1 - chance) / 20_000)
    assert (found.lower, found.upper) == (0, 1)
    narrower = bootstrap_limits(active, reference, generator=np.random.default_rng(5), level=0.7)
    assert narrower.upper == 1


def test_scores_in_one_call_are_the_same_as_one_by_one_whatever_the_memory():
    rng = np.random.default_rng(6)
    sizes = rng.integers(1, 4, 30)
    active, reference = rng.binomial(sizes[:, None, None], 0.7, (30, 3, 2)), rng.binomial(sizes[:, None, None], 0.4)
    reference = np.broadcast_to(reference, active.shape)
    options = {"metric": ["N", "S"], "replicates": 400}
    whole = bootstrap_limits(active, reference, sizes, generator=np.random.default_rng(7), **options)
    least = 400 * 30 * 16 + 8 * (3 * 400 + 8 * 30)
    small = bootstrap_limits(
        active, reference, sizes, generator=np.random.default_rng(7), memory_budget=least, **options
    )
    assert np.allclose(whole.lower, small.lower)
    assert np.allclose(whole.upper, small.upper)
    assert whole.lower.shape == whole.reason.shape == (3, 2)
    for i, j in np.ndindex(3, 2):
        one = bootstrap_limits(
            active[:, i, j],
            reference[:, i, j],
            sizes,
            generator=np.random.default_rng(7),
            metric="NS"[j],
            replicates=400,
        )
        assert (float(one.lower), float(one.upper)) == pytest.approx((whole.lower[i, j], whole.upper[i, j]))
    with pytest.raises(UsageError, match=str(least)):
        bootstrap_limits(active, reference, sizes, generator=rng, memory_budget=least - 1, **options)


def test_one_routine_serves_both_scores():
    rng = np.random.default_rng(8)
    active, reference = pairs(rng, 60, 0.7, 0.4, 0.05, 4)
    s = bootstrap_limits(active, reference, generator=np.random.default_rng(9), metric="S", replicates=500)
    n = bootstrap_limits(1 - reference, 1 - active, generator=np.random.default_rng(9), metric="N", replicates=500)
    assert np.array_equal(s.lower, n.lower)
    assert np.array_equal(s.upper, n.upper)


def test_instances_that_take_no_part_are_resampled_but_say_nothing():
    rng = np.random.default_rng(10)
    active, reference = pairs(rng, 40, 0.7, 0.3, 0.05, 1)
    nobody = np.zeros((40, 1))
    found = bootstrap_limits(
        np.vstack([active, nobody]),
        np.vstack([reference, nobody]),
        np.vstack([nobody + 1, nobody]),
        generator=rng,
        metric="S",
    )
    assert found.raw.item() == pytest.approx(float(s_score(active.mean(), reference.mean()).raw))
    assert not found.undefined.any()


def test_input_that_cannot_be_resampled_is_an_error():
    rng = np.random.default_rng(11)
    good = rng.integers(0, 2, (10, 2))
    for arguments, options, error in (
        ((good, good[:-1]), {}, UnequalPairing),
        ((good, good, np.ones(9)), {}, UnequalPairing),
        ((good, good, np.ones((10, 3))), {}, UnequalPairing),
        ((1.0, 1.0), {}, UnequalPairing),
        ((good[:0], good[:0]), {}, NoData),
        ((good[:1], good[:1]), {}, TooFewInstances),
        ((good * 2, good), {}, NotCounts),
        ((good, -good), {}, NotCounts),
        ((good, np.where(good > 0, np.nan, 0)), {}, NotCounts),
        ((good, good, np.full(10, np.nan)), {}, NotCounts),
        ((good, good), {"replicates": 0}, NotCounts),
        ((good, good), {"level": 0.0}, NotAProbability),
        ((good, good), {"metric": "PN"}, UsageError),
        ((good, good), {"metric": ["N"] * 3}, UnequalPairing),
        ((good, good), {"method": "wild"}, UsageError),
    ):
        with pytest.raises(error):
            bootstrap_limits(*arguments, generator=rng, **options)
