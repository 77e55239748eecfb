"""The race drops the best arm no more often than promised, and saves the calls that the trials saved."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm

from dodiag.bounds.errors import NoData, NotAProbability, NotCounts, UnequalPairing
from dodiag.bounds.racing import BETS, Drop, Race, race
from dodiag.problems import UsageError

NEVER = 1 - 1e-12
"""A level at which no arm is dropped by evidence, so that wealth can be followed."""


def tables(largest=40):
    return st.tuples(st.integers(2, largest), st.integers(2, 5), st.integers(0, 10_000)).map(
        lambda drawn: np.random.default_rng(drawn[2]).integers(0, 3, drawn[:2]) / 2
    )


def copula(rng, n, p, correlation):
    """0/1 outcomes whose instances differ in difficulty."""
    shared = math.sqrt(correlation) * rng.standard_normal((n, 1))
    return (shared + math.sqrt(1 - correlation) * rng.standard_normal((n, len(p))) < norm.ppf(p)).astype(float)


def run(rows, level, **options):
    state = Race.start(np.shape(rows)[1], level, **options)
    for row in rows:
        state = state.seen(row)
    return state


def wealth(state, null=0):
    """The e-value of pair (0, 1)."""
    return np.exp(state.log_wealth[null, 0, 1]).mean()


@pytest.mark.parametrize(("null", "mean"), [(0, 0.0), (1, -0.25)])
def test_bets_on_equal_arms_are_fair_with_replacement(null, mean):
    """All sequences of six paired outcomes, weighted by their chance: the mean e-value is 1."""
    chance = {(1, 0): 0.25 + min(0, mean), (0, 1): 0.25 - max(0, mean), (1, 1): 0.5 + abs(mean)}
    assert sum(chance.values()) == 1
    total = 0.0
    for rows in itertools.product(chance, repeat=6):
        total += math.prod(chance[row] for row in rows) * wealth(run(rows, NEVER, indifference=0.25), null)
    assert total == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize(
    ("differences", "null", "indifference"),
    [
        ((1, 1, -1, -1, 0, 0), 0, 0.0),
        ((1, -1, 0.5, -0.5, 0.25, -0.25), 0, 0.0),
        ((-1, -1, -1, 1, 1, 1), 0, 0.0),
        ((-1, -1, 0.5, 0, 0.5, -0.5), 1, 0.25),
        ((1, 1, -1, -1, -1, -1), 1, 1 / 3),
    ],
)
def test_bets_on_equal_arms_are_fair_without_replacement(differences, null, indifference):
    """All orders of a benchmark in which the hypothesis just holds: the mean e-value is 1 after every instance."""
    assert sum(differences) == pytest.approx(-indifference * len(differences))
    totals = np.zeros(len(differences))
    orders = list(itertools.permutations(differences))
    for order in orders:
        state = Race.start(2, NEVER, population=len(order), indifference=indifference)
        for step, difference in enumerate(order):
            state = state.seen([max(0.0, difference), max(0.0, -difference)])
            totals[step] += wealth(state, null)
    assert totals / len(orders) == pytest.approx(1, abs=1e-12)


@given(tables())
def test_wealth_is_finite_and_never_negative_whatever_the_order(table):
    for rows in (table, np.sort(table, axis=0), np.sort(table, axis=0)[::-1]):
        for population in (None, len(rows)):
            state = run(rows, NEVER, population=population, indifference=0.1)
            assert np.isfinite(state.log_wealth).all()


def test_without_replacement_a_loss_after_losses_does_not_ruin_the_bettor():
    """After 9 losses of 10 the rest is expected above 0; a bet of more than 1/(1 + m) would lose more than it has."""
    state = Race.start(2, NEVER, population=20)
    for _ in range(19):
        state = state.seen([0, 1])
        assert np.isfinite(state.log_wealth).all()


@pytest.mark.parametrize("correlation", [0.0, 0.6])
@pytest.mark.parametrize("finite", [False, True])
def test_a_best_arm_is_dropped_with_at_most_the_promised_chance(finite, correlation):
    """Exact ties with a low level, where Ville's bound is nearest to being used up."""
    rng, repeats, level = np.random.default_rng(1), 250, 0.7
    dropped = 0
    for _ in range(repeats):
        rows = copula(rng, 60, [0.5, 0.5, 0.5], correlation)
        if finite:
            rows[:, 1:] = rng.permuted(rows[:, [0, 0]], axis=0)
        dropped += 0 not in race(rows, level, finite=finite).alive
    alpha = 1 - level
    assert dropped / repeats <= alpha + 4 * math.sqrt(alpha * (1 - alpha) / repeats)


@pytest.mark.parametrize(
    ("p", "sampled", "benchmark", "decided"),
    [
        ([0.65, 0.40, 0.35, 0.33, 0.30], (0.29, 0.43), (0.24, 0.32), 1.0),
        ([0.65, 0.30, 0.30, 0.30, 0.30], (0.22, 0.30), (0.19, 0.24), 1.0),
        ([0.55, 0.50, 0.40, 0.35, 0.30], (0.68, 0.78), (0.54, 0.61), 0.04),
    ],
)
def test_calls_saved_agree_with_the_published_trials(p, sampled, benchmark, decided):
    """154 instances, five arms, level .95: shares of calls used, and of races decided, within simulation error."""
    rng, repeats = np.random.default_rng(2), 40
    used, finite_used, ended, right = [], [], [], []
    for repeat in range(repeats):
        rows = copula(rng, 154, p, 0.6 * (repeat % 2))
        verdict, alone = race(rows), race(rows, finite=True)
        used.append(verdict.calls / rows.size)
        finite_used.append(alone.calls / rows.size)
        ended.append(verdict.decided)
        right.append(0 in verdict.alive)
        assert set(alone.winners) <= set(np.flatnonzero(rows.mean(axis=0) == rows.mean(axis=0).max()))
    for found, (low, high) in ((used, sampled), (finite_used, benchmark)):
        slack = 4 * np.std(found) / math.sqrt(repeats)
        assert low - slack <= np.mean(found) <= high + slack
    assert np.mean(ended) <= decided + 4 * math.sqrt(decided * (1 - decided) / repeats)
    assert all(right)


def test_ties_cost_next_to_nothing_and_are_not_decided():
    rng = np.random.default_rng(3)
    verdicts = [race(copula(rng, 154, [0.45] * 5, 0.0)) for _ in range(20)]
    assert np.mean([verdict.calls / (154 * 5) for verdict in verdicts]) > 0.94
    assert not any(verdict.decided for verdict in verdicts)
    assert verdicts[0].winners == ()
    assert "cannot be told apart after 154 instances" in verdicts[0].reason


@given(tables(), st.integers(0, 1000), st.sampled_from([None, 0.1]), st.booleans())
def test_the_order_of_columns_plays_no_part(table, seed, indifference, finite):
    order = np.random.default_rng(seed).permutation(table.shape[1])
    options = {"finite": finite, "indifference": indifference or 0.0}
    plain, moved = race(table, 0.6, **options), race(table[:, order], 0.6, **options)
    for field in ("winners", "alive", "leaders"):
        assert sorted(order[list(getattr(moved, field))]) == sorted(getattr(plain, field))
    assert (moved.seen, moved.calls, moved.decided) == (plain.seen, plain.calls, plain.decided)
    assert {(int(order[drop.arm]), drop.after) for drop in moved.dropped} == {
        (drop.arm, drop.after) for drop in plain.dropped
    }


@given(tables(80))
def test_an_arm_that_one_other_beats_beyond_the_threshold_is_dropped(table):
    """Averaging the evidence of all others is never slower than (k − 1)/α from a single one."""
    level, k = 0.6, table.shape[1]
    state = Race.start(k, level)
    for row in table:
        state = state.seen(row)
        pairs = np.exp(state.log_wealth[0]).mean(axis=-1)
        for i, j in itertools.permutations(range(k), 2):
            if state.alive[i] and state.alive[j] and not {i, j} & set(state.leaders):
                assert pairs[i, j] < (k - 1) / (1 - level)


@given(tables(), st.booleans())
def test_the_leader_is_never_dropped_and_someone_is_always_left(table, finite):
    state = Race.start(table.shape[1], 0.3, population=len(table) if finite else None)
    for row in table:
        before = state
        state = state.seen(row)
        assert state.alive.any()
        assert set(state.leaders) <= set(np.flatnonzero(before.alive))
        assert len(state.dropped) == np.count_nonzero(~state.alive)


@given(tables())
def test_an_exhausted_benchmark_is_decided_and_a_hopeless_arm_is_dropped_before(table):
    verdict = race(table, NEVER, finite=True)
    means = table.mean(axis=0)
    assert verdict.decided
    assert verdict.winners == tuple(np.flatnonzero(means >= means.max() - 1e-12))
    for drop in verdict.dropped:
        left = len(table) - drop.after
        so_far = table[: drop.after].sum(axis=0)
        assert so_far[drop.by] > so_far[drop.arm] + left
        assert drop.e_value == math.inf


def test_entries_of_dropped_arms_are_not_read_and_not_counted():
    rows = np.tile([1.0, 0.0, 1.0], (30, 1))
    rows[1::2] = [1.0, 0.0, 0.0]
    full = race(rows)
    when = {drop.arm: drop.after for drop in full.dropped}
    for arm, after in when.items():
        rows[after:, arm] = np.nan
    rows[full.seen :] = np.nan
    assert race(rows) == full
    assert full.winners == (0,)
    assert full.calls == full.seen + sum(min(full.seen, when[arm]) for arm in (1, 2))
    assert full.calls_without_race == 3 * full.seen


def test_the_next_state_is_a_new_value():
    first = Race.start(3)
    second = first.seen([1, 0, 0.5])
    assert first.instances == 0
    assert not first.log_wealth.any()
    assert second.calls == 3
    assert second.seen([1, 0, 0]).verdict == second.seen([1, 0, 0]).verdict
    assert second.wanted == (0, 1, 2)


def test_a_drop_says_when_by_whom_and_on_what_evidence():
    rows = np.tile([0.0, 1.0], (20, 1))
    verdict = race(rows)
    (drop,) = verdict.dropped
    assert (drop.arm, drop.by, drop.after) == (0, 1, verdict.seen)
    assert drop.e_value == pytest.approx(np.mean((1 + BETS) ** drop.after))
    assert drop.e_value >= 20 > np.mean((1 + BETS) ** (drop.after - 1))
    assert verdict.reason == "every other arm was ruled out as the best"


def test_the_threshold_grows_with_the_number_of_arms():
    """One arm beaten by the three others alike: the mean of their e-values is any one of them; a fifth does nothing."""
    beaten_by_all = race(np.tile([0.0, 1.0, 1.0, 1.0], (30, 1))).dropped[0]
    assert beaten_by_all.e_value == pytest.approx(np.mean((1 + BETS) ** beaten_by_all.after))
    beaten_by_one = run(np.tile([0.0, 0.0, 0.0, 1.0], (30, 1)), 0.95).dropped
    needed = next(t for t in itertools.count(1) if (np.mean((1 + BETS) ** t) + 2) / 3 >= 20)
    assert {drop.after for drop in beaten_by_one} == {needed}
    assert needed > beaten_by_all.after


def test_a_leader_stays_whatever_the_bets_of_dropped_arms_say():
    state = run([[1, 0, 0], [1, 0, 1]], NEVER)
    damning = state.log_wealth.copy()
    damning[0, :, 0] = 100.0
    after = replace(state, log_wealth=damning).seen([0, 0, 0])
    assert after.leaders == (0,)
    assert after.alive.all()


def test_with_an_indifference_zone_dropping_and_winning_share_the_error():
    """Half of α each: an arm that always wins needs 1/(α/2) = 40, the bets on the zone being the quicker ones."""
    zone = 0.01
    needed = next(t for t in itertools.count(1) if np.mean((1 + BETS * (1 + zone)) ** t) >= 40)
    assert race(np.tile([1.0, 0.0], (30, 1)), indifference=zone).seen == needed


def test_an_indifference_zone_ends_a_race_of_equals():
    rows = copula(np.random.default_rng(4), 800, [0.6, 0.6], 0.5)
    without, within = race(rows), race(rows, indifference=0.2)
    assert not without.decided
    assert within.decided
    assert within.seen < 300
    assert set(within.winners) <= {0, 1}
    assert "within 0.2 of the best of 2 arms" in within.reason


def test_with_an_indifference_zone_winners_are_good_enough_with_the_promised_chance():
    """The second arm lies just outside the zone, so that it is wrong whenever it wins."""
    rng, repeats, level, zone = np.random.default_rng(5), 200, 0.7, 0.15
    wrong = sum(
        1 in race(copula(rng, 300, [0.6, 0.6 - zone - 1e-6], 0.3), level, indifference=zone).winners
        for _ in range(repeats)
    )
    assert wrong / repeats <= 1 - level + 4 * math.sqrt(level * (1 - level) / repeats)


def test_on_a_benchmark_the_zone_decides_as_soon_as_the_rest_cannot_matter():
    """After two of four instances the first arm can end up behind by .25 at most."""
    rows = np.array([[1, 1, 0], [1, 0, 1], [1, 1, 0], [0, 1, 0]])
    exact, within = race(rows, NEVER, finite=True), race(rows, NEVER, finite=True, indifference=0.5)
    assert (exact.winners, exact.seen) == ((0, 1), 4)
    assert (within.winners, within.seen) == ((0,), 2)


def test_means_over_questions_can_race():
    rows = np.random.default_rng(6).binomial(3, [0.8, 0.3, 0.3], (100, 3)) / 3
    assert race(rows).winners == race(rows, finite=True).winners == (0,)


def test_long_races_neither_overflow_nor_underflow():
    state = Race.start(2, NEVER)
    for _ in range(1500):
        state = state.seen([1, 0]).seen([0, 1])
    assert np.isfinite(state.log_wealth).all()
    assert state.log_wealth.min() < -3000
    assert not state.verdict.decided
    assert Drop(0, 1, 1, 1e4).e_value == math.inf


@pytest.mark.parametrize("k", [0, 1, 2.5, math.nan, math.inf])
def test_a_race_needs_two_arms(k):
    with pytest.raises(UsageError):
        Race.start(k)


def test_input_that_cannot_be_raced_is_an_error():
    for options, error in (
        ({"level": 1.0}, NotAProbability),
        ({"level": math.nan}, NotAProbability),
        ({"indifference": 1.0}, NotAProbability),
        ({"indifference": -0.1}, NotAProbability),
        ({"population": 0}, NotCounts),
        ({"population": 2.5}, NotCounts),
        ({"population": math.nan}, NotCounts),
        ({"population": math.inf}, NotCounts),
    ):
        with pytest.raises(error):
            Race.start(3, **options)
    start = Race.start(2, population=1)
    for row, error in (
        ([1, 0, 1], UnequalPairing),
        ([1, math.nan], NoData),
        ([1, 1.5], NotAProbability),
        ([-1, 0], NotAProbability),
    ):
        with pytest.raises(error):
            start.seen(row)
    with pytest.raises(UsageError):
        start.seen([1, 1]).seen([1, 1])
    for table, error in (([], UnequalPairing), (np.empty((0, 3)), NoData), ([[1], [0]], UsageError)):
        with pytest.raises(error):
            race(table)
