"""Adjusted p-values and simultaneous critical values keep the error they promise, and no more of it than they need."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.special import ndtri, stdtrit
from scipy.stats import chi, false_discovery_control, norm

from dodiag.bounds.errors import NoData, NotAProbability, NotCounts, TooFewInstances, Undefined, UnequalPairing
from dodiag.bounds.multiplicity import (
    NotAnEValue,
    benjamini_hochberg,
    benjamini_yekutieli,
    bonferroni_level,
    confidence_level,
    e_benjamini_hochberg,
    e_to_p,
    holm,
    sup_t_critical,
)

FAMILY = st.lists(st.floats(0, 1), min_size=1, max_size=8)
ADJUSTMENTS = [holm, benjamini_hochberg, benjamini_yekutieli]


def share_tolerance(share, repeats):
    """Four standard errors of a share."""
    return 4 * math.sqrt(share * (1 - share) / repeats)


@given(FAMILY)
def test_holm_is_never_less_powerful_than_bonferroni(p):
    assert np.all(holm(p) <= np.minimum(1, np.array(p) * len(p)) + 1e-15)


@given(FAMILY)
def test_holm_is_the_step_down_procedure(p):
    for alpha in (0.01, 0.05, 0.3):
        rejected = set()
        for step, claim in enumerate(sorted(range(len(p)), key=p.__getitem__)):
            if p[claim] * (len(p) - step) > alpha:
                break
            rejected.add(claim)
        assert set(np.flatnonzero(holm(p) <= alpha)) == rejected


@given(FAMILY)
def test_e_bh_is_the_procedure_of_wang_and_ramdas(p):
    e = [math.inf if value == 0 else 0.5 / value for value in p]
    ordered = sorted(e, reverse=True)
    for alpha in (0.011, 0.053, 0.31):
        many = max((m for m in range(1, len(e) + 1) if ordered[m - 1] >= len(e) / (m * alpha)), default=0)
        assert np.count_nonzero(e_benjamini_hochberg(e) <= alpha) == many


@pytest.mark.parametrize("adjust", ADJUSTMENTS)
@given(p=FAMILY)
def test_adjusted_p_values_keep_the_order_and_never_fall(adjust, p):
    adjusted, order = adjust(p), np.argsort(p)
    assert np.all(np.diff(adjusted[order]) >= 0)
    assert np.all(adjusted >= np.array(p) - 1e-15)
    assert np.all(adjusted <= 1)


@pytest.mark.parametrize("adjust", ADJUSTMENTS)
@given(p=FAMILY, seed=st.integers(0, 1000))
def test_the_order_of_claims_plays_no_part(adjust, p, seed):
    order = np.random.default_rng(seed).permutation(len(p))
    assert np.allclose(adjust(np.array(p)[order]), adjust(p)[order], atol=1e-15)


@pytest.mark.parametrize("adjust", ADJUSTMENTS)
def test_families_along_the_last_axis_are_adjusted_each_for_itself(adjust):
    p = np.random.default_rng(0).random((2, 3, 5)) ** 3
    together = adjust(p)
    assert together.shape == p.shape
    for i, j in np.ndindex(2, 3):
        assert np.array_equal(together[i, j], adjust(p[i, j]))


@pytest.mark.parametrize("adjust", ADJUSTMENTS)
def test_claims_not_tested_are_no_part_of_their_family(adjust):
    p = np.random.default_rng(1).random((4, 6)) ** 2
    tested = np.random.default_rng(2).random((4, 6)) < 0.6
    tested[3] = False
    p[~tested] = np.nan
    adjusted = adjust(p, tested)
    assert np.array_equal(np.isnan(adjusted), ~tested)
    for row, mask in zip(range(3), tested, strict=False):
        assert np.array_equal(adjusted[row, mask], adjust(p[row, mask]))


@given(FAMILY)
def test_false_discovery_rates_agree_with_scipy(p):
    assert np.allclose(benjamini_hochberg(p), false_discovery_control(p, method="bh"))
    assert np.allclose(benjamini_yekutieli(p), false_discovery_control(p, method="by"))


@given(st.floats(0, 1e300), st.floats(0, 1e300))
def test_more_evidence_is_a_smaller_p_value(e, other):
    assert 0 <= e_to_p(e) <= 1
    if e < other:
        assert e_to_p(e) >= e_to_p(other)


def test_holm_keeps_the_family_wise_error_where_bonferroni_wastes_it():
    """Three of four claims are true beyond doubt: Holm spends the whole level on the fourth, Bonferroni a quarter."""
    repeats, alpha = 20_000, 0.05
    p = np.random.default_rng(3).random((repeats, 4))
    p[:, :3] = 1e-12
    wrong = np.mean(holm(p)[:, 3] <= alpha)
    assert abs(wrong - alpha) <= share_tolerance(alpha, repeats)
    everything_false = np.mean((holm(np.random.default_rng(4).random((repeats, 4))) <= alpha).any(axis=1))
    exact = 1 - (1 - alpha / 4) ** 4
    assert abs(everything_false - exact) <= share_tolerance(exact, repeats)


def false_discovery_rate(adjusted, false, alpha):
    made = adjusted <= alpha
    share = (made & false).sum(axis=1) / np.maximum(1, made.sum(axis=1))
    return share.mean(), 4 * share.std() / math.sqrt(len(share))


def test_benjamini_hochberg_has_exactly_the_share_of_false_claims_times_alpha():
    """Independent claims: FDR = α · (false claims)/(claims), Benjamini & Yekutieli 2001."""
    rng, alpha = np.random.default_rng(5), 0.2
    z = rng.normal([0, 0, 0, 0, 2, 3], size=(20_000, 6))
    rate, tolerance = false_discovery_rate(benjamini_hochberg(norm.sf(z)), np.arange(6) < 4, alpha)
    assert abs(rate - alpha * 4 / 6) <= tolerance


def worst_dependence(rng, repeats, k, alpha):
    """Uniform p-values, all claims false, that make Benjamini-Hochberg at α wrong α·(1 + … + 1/k) of the time.

    With chance α/j exactly j claims, at random, have their p-values in ((j−1)α/k, jα/k] (Guo & Rao 2008).
    """
    p = alpha + (1 - alpha) * rng.random((repeats, k))
    chance = np.append(alpha / np.arange(1, k + 1), 1 - alpha * (1 / np.arange(1, k + 1)).sum())
    many = rng.choice(k + 1, size=repeats, p=chance) + 1
    rank = rng.permuted(np.tile(np.arange(k), (repeats, 1)), axis=1)
    chosen = (rank < many[:, None]) & (many[:, None] <= k)
    return np.where(chosen, (many[:, None] - 1 + rng.random((repeats, k))) * alpha / k, p)


def test_under_the_worst_dependence_benjamini_hochberg_fails_and_benjamini_yekutieli_does_not():
    rng, repeats, k, alpha = np.random.default_rng(6), 20_000, 5, 0.1
    harmonic = (1 / np.arange(1, k + 1)).sum()
    p = worst_dependence(rng, repeats, k, alpha)
    assert abs(np.mean(p <= 0.05) - 0.05) <= 0.01, "the p-values are not uniform"
    failing = np.mean((benjamini_hochberg(p) <= alpha).any(axis=1))
    assert abs(failing - alpha * harmonic) <= share_tolerance(alpha * harmonic, repeats)
    assert failing > alpha + share_tolerance(alpha, repeats)
    at_its_worst = worst_dependence(rng, repeats, k, alpha / harmonic)
    kept = np.mean((benjamini_yekutieli(at_its_worst) <= alpha).any(axis=1))
    assert abs(kept - alpha) <= share_tolerance(alpha, repeats)


def test_e_bh_keeps_the_rate_under_the_worst_dependence_of_e_values():
    """j e-values of k/(j·α) with chance α/(k) each j: their means are 1, and e-BH is wrong with chance α exactly."""
    rng, repeats, k, alpha = np.random.default_rng(7), 20_000, 5, 0.1
    many = rng.integers(1, k + 1, repeats)
    rank = rng.permuted(np.tile(np.arange(k), (repeats, 1)), axis=1)
    hit = (rng.random(repeats) < alpha)[:, None] & (rank < many[:, None])
    e = np.where(hit, (1 + 1e-9) * k / (many[:, None] * alpha), 0.0)
    assert abs(e.mean() - 1) <= 4 * e.std() / math.sqrt(repeats)
    wrong = np.mean((e_benjamini_hochberg(e) <= alpha).any(axis=1))
    assert abs(wrong - alpha) <= share_tolerance(alpha, repeats)


@pytest.mark.parametrize("adjust", ADJUSTMENTS)
@pytest.mark.parametrize("value", [math.nan, -0.01, 1.01])
def test_what_is_no_p_value_is_an_error(adjust, value):
    with pytest.raises(NotAProbability):
        adjust([0.5, value])
    assert np.isnan(adjust([0.5, value], [True, False])[1])
    with pytest.raises(NoData):
        adjust([])


@pytest.mark.parametrize("value", [math.nan, -1.0])
def test_what_is_no_e_value_is_an_error(value):
    for function in (e_to_p, e_benjamini_hochberg):
        with pytest.raises(NotAnEValue):
            function([2.0, value])
    assert e_benjamini_hochberg([40.0, value], [True, False])[0] == 1 / 40


@pytest.mark.parametrize("level", [0.0, 1.0, 1.5, math.nan])
def test_a_level_lies_between_0_and_1(level):
    with pytest.raises(NotAProbability):
        confidence_level(level)


def test_bonferroni_level_of_nothing_is_an_error():
    assert bonferroni_level(0.9, 1) == pytest.approx(0.9)
    for k in (0, -1, 1.5):
        with pytest.raises(NotCounts):
            bonferroni_level(0.9, k)


def uncorrelated(n, k):
    """Columns that are exactly uncorrelated and centred."""
    columns = np.random.default_rng(8).standard_normal((n, k))
    return np.linalg.qr(np.column_stack([np.ones(n), columns]))[0][:, 1:]


def test_uncorrelated_estimates_cost_what_sidak_says():
    n, k, level, replicates = 100_000, 6, 0.95, 200_000
    found = sup_t_critical(uncorrelated(n, k), level, generator=np.random.default_rng(9), replicates=replicates)
    attained = norm.cdf(found.value) ** k
    assert abs(attained - level) <= 4 * found.monte_carlo_error
    assert found.value < found.bonferroni


def test_with_few_instances_the_value_is_of_the_multivariate_t_distribution():
    n, k, level = 6, 3, 0.9
    found = sup_t_critical(uncorrelated(n, k), level, generator=np.random.default_rng(16))

    def given_scale(scale):
        return norm.cdf(found.value * scale) ** k * chi.pdf(scale * math.sqrt(n - 1), n - 1) * math.sqrt(n - 1)

    attained = quad(given_scale, 0, 10)[0]
    assert abs(attained - level) <= 4 * found.monte_carlo_error


def test_equal_estimates_cost_no_more_than_one():
    columns = np.random.default_rng(10).standard_normal((50, 1)) @ [[1.0, 3.0, 0.2]]
    found = sup_t_critical(columns, generator=np.random.default_rng(11))
    attained = [stdtrit(49, 0.95 + sign * 4 * found.monte_carlo_error) for sign in (-1, 1)]
    assert attained[0] <= found.value <= attained[1]
    assert sup_t_critical(columns[:, :1], generator=np.random.default_rng(12)).value == stdtrit(49, 0.95)
    many = sup_t_critical(uncorrelated(100_000, 1), generator=np.random.default_rng(12)).value
    assert many == pytest.approx(ndtri(0.95), abs=1e-4)


@given(st.integers(2, 30), st.integers(1, 6), st.floats(0.5, 0.99), st.integers(0, 1000))
def test_the_critical_value_lies_between_one_limit_and_bonferroni(n, k, level, seed):
    rng = np.random.default_rng(seed)
    found = sup_t_critical(rng.standard_normal((n, k)), level, generator=rng, replicates=500)
    assert found.single == stdtrit(n - 1, level)
    assert found.single <= found.value <= found.bonferroni


def test_scale_and_centre_of_influence_values_play_no_part():
    columns = np.random.default_rng(13).standard_normal((40, 3))
    plain = sup_t_critical(columns, generator=np.random.default_rng(14))
    moved = sup_t_critical(columns * [1, 100, 0.01] + [5, 0, -3], generator=np.random.default_rng(14))
    assert moved.value == pytest.approx(plain.value)


@pytest.mark.parametrize("n", [15, 80])
def test_simultaneous_lower_limits_hold_together(n):
    """Estimates that share a baseline: coverage is the level, up to simulation error, and not the Bonferroni one."""
    rng, repeats, level, k = np.random.default_rng(n), 1500, 0.9, 5
    held = np.empty(repeats)
    for repeat in range(repeats):
        values = rng.standard_normal((n, k)) + 2 * rng.standard_normal((n, 1))
        critical = sup_t_critical(values, level, generator=rng, replicates=2000).value
        held[repeat] = np.all(values.mean(axis=0) - critical * values.std(axis=0, ddof=1) / math.sqrt(n) <= 0)
    assert abs(held.mean() - level) <= share_tolerance(level, repeats)


def test_influence_values_that_cannot_be_used_are_errors():
    rng = np.random.default_rng(15)
    good = rng.standard_normal((10, 2))
    for wrong, error in (
        (good[:1], TooFewInstances),
        (good[:, :0], NoData),
        (good[:, 0], UnequalPairing),
        (np.where(good == good[3, 1], np.nan, good), Undefined),
        (np.column_stack([good, np.full(10, 0.3)]), Undefined),
    ):
        with pytest.raises(error):
            sup_t_critical(wrong, generator=rng)
    with pytest.raises(NotCounts):
        sup_t_critical(good, generator=rng, replicates=0)
    with pytest.raises(NotAProbability):
        sup_t_critical(good, 1.0, generator=rng)
