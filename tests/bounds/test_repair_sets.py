"""Minimal sufficient repair sets: no more false claims than allowed, and per instance exactly what was seen."""

import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import beta

from dodiag.bounds.coalitions import coalitions
from dodiag.bounds.errors import NoData, NotAProbability, Undefined, UnequalPairing
from dodiag.bounds.formulas import s_score
from dodiag.bounds.limits import s_limits
from dodiag.bounds.pairs import PairedSums
from dodiag.bounds.repair_sets import (
    NoCover,
    NotDeterministic,
    SetVerdict,
    exact_repair_limit,
    exact_score_limit,
    greedy_cover,
    instance_repairs,
    smallest_cover,
    sufficient_sets,
)
from dodiag.problems import UsageError

laws = settings(max_examples=80, deadline=None)
NAMES = ("X1", "X2", "X3")
ALL_SETS = list(coalitions(NAMES, [1, 2, 3]))


def arm(repaired, failing, solved=0):
    return [1] * repaired + [0] * (failing - repaired) + [1] * solved


def verdicts(found):
    return {"".join(sorted(test.coalition)): test.verdict for test in found.tests}


def test_exact_limit_is_the_beta_quantile_of_the_failures_alone():
    for repaired, failing, solved in ((3, 10, 0), (7, 12, 5), (10, 10, 3)):
        found = exact_repair_limit(arm(repaired, failing, solved), arm(0, failing, solved), 0.9)
        assert found == pytest.approx(beta.ppf(0.1, repaired, failing - repaired + 1))
    assert exact_repair_limit(arm(0, 10), arm(0, 10), 0.9) == 0


@laws
@given(st.integers(2, 25), st.integers(0, 25), st.data())
def test_limits_stay_below_their_estimates_and_fall_with_the_level(failing, solved, data):
    repaired = data.draw(st.integers(0, failing))
    broken = data.draw(st.integers(0, solved))
    reference = [0] * failing + [1] * solved
    active = [1] * repaired + [0] * (failing - repaired) + [0] * broken + [1] * (solved - broken)
    p, p_prime = np.mean(active), np.mean(reference)
    for limit, estimate in (
        (exact_repair_limit, repaired / failing),
        (exact_score_limit, float(s_score(p, p_prime, 0).value)),
    ):
        limits = [limit(active, reference, level) for level in (0.8, 0.95, 0.99)]
        assert 0 <= limits[2] <= limits[1] <= limits[0] <= estimate + 1e-12


def test_score_limit_counts_what_the_repair_breaks():
    reference, active = [0] * 50 + [1] * 50, [1] * 50 + [0] * 50
    assert exact_repair_limit(active, reference, 0.95) > 0.9
    assert exact_score_limit(active, reference, 0.95) == 0


@pytest.mark.parametrize("limit", [exact_repair_limit, exact_score_limit])
def test_limits_hold_as_often_as_they_say(limit):
    repeats, n, level = 600, 40, 0.9
    rng = np.random.default_rng(21)
    held = 0
    for _ in range(repeats):
        u = rng.random(n)
        reference, active = (u < 0.3).astype(int), (u < 0.75).astype(int)
        held += limit(active, reference, level) <= 0.45 / 0.7
    assert held / repeats >= level - 4 * math.sqrt(level * (1 - level) / repeats)


def test_limits_refuse_what_they_do_not_hold_for():
    with pytest.raises(NotDeterministic) as caught:
        exact_repair_limit([0.5, 1], [0, 0], 0.95)
    assert caught.value.value == 0.5
    for limit in (exact_repair_limit, exact_score_limit):
        with pytest.raises(Undefined):
            limit([1, 1], [1, 1], 0.95)
        with pytest.raises(NotAProbability, match="level"):
            limit([1, 1], [0, 0], 1.0)
        with pytest.raises(NotDeterministic):
            limit([1, float("nan")], [0, 0], 0.95)
    with pytest.raises(UnequalPairing):
        exact_repair_limit([1, 1, 1], [0, 0], 0.95)
    with pytest.raises(NoData):
        exact_score_limit([], [0, 0], 0.95)


def test_the_search_stops_at_the_smallest_size_that_is_shown_sufficient():
    failing = 60
    runs = {t: arm(20, failing, 10) for t in ALL_SETS}
    runs[frozenset(["X1", "X3"])] = arm(58, failing, 10)
    runs[frozenset(NAMES)] = arm(60, failing, 10)
    found = sufficient_sets(runs, arm(0, failing, 10), NAMES, 0.75)
    assert found.smallest == (frozenset(["X1", "X3"]),)
    assert verdicts(found) == {
        "X1": SetVerdict.NOT_SHOWN,
        "X2": SetVerdict.NOT_SHOWN,
        "X3": SetVerdict.NOT_SHOWN,
        "X1X2": SetVerdict.NOT_SHOWN,
        "X1X3": SetVerdict.SUFFICIENT,
        "X2X3": SetVerdict.NOT_SHOWN,
        "X1X2X3": SetVerdict.UNTESTED,
    }
    assert found.claim == "PS(T) >= 0.75"
    assert str(found) == "PS(T) >= 0.75 for {X1, X3} (level 0.95 for all claims together)"


def test_untested_sets_are_unknown_and_not_failing():
    runs = {("X1",): arm(1, 40), ("X1", "X2"): arm(40, 40)}
    found = sufficient_sets(runs, arm(0, 40), NAMES, 0.5)
    assert verdicts(found) == {
        "X1": SetVerdict.NOT_SHOWN,
        "X2": SetVerdict.UNTESTED,
        "X3": SetVerdict.UNTESTED,
        "X1X2": SetVerdict.SUFFICIENT,
        "X1X3": SetVerdict.UNTESTED,
        "X2X3": SetVerdict.UNTESTED,
    }
    assert [test.limit is None for test in found.tests] == [test.verdict == SetVerdict.UNTESTED for test in found.tests]


def test_nothing_found_is_said_and_no_set_is_named():
    found = sufficient_sets({("X1",): arm(5, 40)}, arm(0, 40), ["X1"], 0.5)
    assert found.smallest == ()
    assert str(found) == "no tested set is shown to have PS(T) >= 0.5 (level 0.95)"


def test_a_function_is_asked_for_larger_sets_only_when_the_smaller_failed():
    asked = []

    def run(t):
        asked.append(t)
        return None if t == {"X2"} else arm(40 if len(t) == 2 else 1, 40)

    found = sufficient_sets(run, arm(0, 40), NAMES, 0.5)
    assert max(len(t) for t in asked) == 2
    assert len(asked) == 6
    assert set(found.smallest) == {t for t in ALL_SETS if len(t) == 2}
    assert verdicts(found)["X2"] == SetVerdict.UNTESTED


def by_holm_on_p_values(counts, failing, tau, alpha):
    """Textbook Holm on exact binomial p-values of P(repair) < τ."""
    p = {t: float(beta.cdf(tau, k, failing - k + 1)) if k else 1.0 for t, k in counts.items()}
    rejected = set()
    for place, t in enumerate(sorted(p, key=p.get)):
        if p[t] > alpha / (len(p) - place):
            break
        rejected.add(t)
    return rejected


@laws
@given(st.lists(st.integers(0, 30), min_size=3, max_size=3), st.sampled_from([0.2, 0.5, 0.8]))
def test_within_a_size_the_claims_are_those_of_holm(repaired, tau):
    counts = {frozenset([name]): k for name, k in zip(NAMES, repaired, strict=True)}
    found = sufficient_sets({t: arm(k, 30) for t, k in counts.items()}, arm(0, 30), NAMES, tau)
    assert set(found.smallest) == by_holm_on_p_values(counts, 30, tau, 0.05)


def test_the_level_is_shared_among_the_sizes_that_were_run():
    runs = {("X1",): arm(0, 30), NAMES: arm(0, 30)}
    found = sufficient_sets(runs, arm(0, 30), NAMES, 0.5, level=0.9)
    assert found.sizes == (1, 3)
    assert [test.level for test in found.tests if test.level] == [pytest.approx(0.95)] * 2
    assert sufficient_sets(runs, arm(0, 30), NAMES, 0.5, most=2).sizes == (1,)


def test_false_claims_stay_within_the_level_and_full_level_per_size_would_not_keep_it():
    """All sets repair just less than τ. The control tests each size at the full level, as a fixed sequence would."""
    repeats, failing, level, tau = 400, 200, 0.9, 0.5
    rng = np.random.default_rng(31)
    reference = arm(0, failing)
    false_claims = false_claims_of_control = 0
    for _ in range(repeats):
        runs = {t: arm(k, failing) for t, k in zip(ALL_SETS, rng.binomial(failing, tau - 1e-9, 7), strict=True)}
        false_claims += bool(sufficient_sets(runs, reference, NAMES, tau, level=level).smallest)
        false_claims_of_control += any(
            sufficient_sets(
                {t: r for t, r in runs.items() if len(t) == size}, reference, NAMES, tau, level=level
            ).smallest
            for size in (1, 2, 3)
        )
    allowed = 1 - level + 4 * math.sqrt(level * (1 - level) / repeats)
    assert false_claims / repeats <= allowed
    assert false_claims_of_control / repeats > allowed


def test_any_limit_function_can_be_used():
    seen = []

    def limit(active, reference, level):
        seen.append((active.mean(), reference.mean(), level))
        return active.mean() - 0.1

    found = sufficient_sets({("X1",): [0.5, 1.0], ("X2",): [0.25, 0.5]}, [0.0, 0.5], NAMES, 0.6, limit=limit, level=0.9)
    assert found.claim == "S(T) >= 0.6"
    assert found.smallest == (frozenset(["X1"]),)
    assert seen[:2] == [(0.75, 0.25, pytest.approx(0.95)), (0.375, 0.25, pytest.approx(0.95))]
    assert seen[2] == (0.375, 0.25, pytest.approx(0.9))


def test_the_limit_of_s_serves_for_means_over_draws():
    rng = np.random.default_rng(6)
    ability = rng.random(80)
    reference = rng.binomial(4, 0.3 * ability) / 4
    runs = {("X1",): rng.binomial(4, 0.4 * ability) / 4, ("X1", "X2"): rng.binomial(4, 0.9 + 0.1 * ability) / 4}

    def limit(active, baseline, level):
        return s_limits(PairedSums.of(active, baseline), level).ends()[0]

    found = sufficient_sets(runs, reference, NAMES, 0.75, limit=limit)
    assert found.smallest == (frozenset(["X1", "X2"]),)
    assert found.claim == "S(T) >= 0.75"


def test_a_configuration_that_leaves_out_a_prerequisite_is_no_set():
    """Whether X2 was natural there, as a coalition says, is not known."""
    with pytest.raises(UsageError, match="leaves out"):
        sufficient_sets({"X1=1": [1, 1]}, [0, 0], ["X1", "X2"], 0.5)
    with pytest.raises(UsageError, match="leaves out"):
        instance_repairs({"X1=1": [1, 1]}, [0, 0], ["X1", "X2"])


def test_a_prerequisite_named_twice_is_refused():
    runs = {("X1",): [1, 1]}
    for outcomes in (runs, lambda t: [1, 1]):
        with pytest.raises(UsageError, match="'X1' stands twice"):
            sufficient_sets(outcomes, [0, 0], ["X1", "X1"], 0.5)
    with pytest.raises(UsageError, match="'X1' stands twice"):
        instance_repairs(runs, [0, 0], ["X1", "X1"])


@pytest.mark.parametrize("most", [0, 3, 1.5, float("nan")])
def test_a_largest_size_that_is_none_is_refused(most):
    with pytest.raises(UsageError, match="largest size"):
        sufficient_sets(lambda t: [1, 1], [0, 0], ["X1", "X2"], 0.5, most=most)


@pytest.mark.parametrize("tau", [0.0, -0.1, 1.1, float("nan")])
def test_a_threshold_that_every_set_or_none_reaches_is_refused(tau):
    with pytest.raises(NotAProbability, match="tau"):
        sufficient_sets({("X1",): [1, 0]}, [0, 0], NAMES, tau)


@pytest.mark.parametrize(
    ("error", "call"),
    [
        (UsageError, lambda: sufficient_sets({("X9",): [1, 0]}, [0, 0], NAMES, 0.5)),
        (UsageError, lambda: sufficient_sets({(): [1, 0]}, [0, 0], NAMES, 0.5)),
        (UsageError, lambda: sufficient_sets({("X1",): [1, 0], "X1=1,X2=n": [1, 0]}, [0, 0], NAMES, 0.5)),
        (NotAProbability, lambda: sufficient_sets({("X1",): [1, 0]}, [0, 0], NAMES, 0.5, level=0)),
        (UsageError, lambda: sufficient_sets({("X1",): [1, 0]}, [0, 0], NAMES, 0.5, most=4)),
        (NoData, lambda: sufficient_sets({}, [0, 0], NAMES, 0.5)),
        (NoData, lambda: sufficient_sets({("X1",): []}, [], NAMES, 0.5)),
        (UnequalPairing, lambda: sufficient_sets({("X1",): [1, 0, 1]}, [0, 0], NAMES, 0.5)),
        (UnequalPairing, lambda: sufficient_sets({("X1",): [[1, 0]]}, [0, 0], NAMES, 0.5)),
        (NotAProbability, lambda: sufficient_sets({("X1",): [1, float("nan")]}, [0, 0], NAMES, 0.5)),
        (Undefined, lambda: sufficient_sets({("X1",): [1, 0]}, [1, 1], NAMES, 0.5)),
        (Undefined, lambda: sufficient_sets({("X1",): [1, 0]}, [0, 0], NAMES, 0.5, limit=lambda *_: float("nan"))),
        (NotDeterministic, lambda: instance_repairs({("X1",): [0.5, 0]}, [0, 0], NAMES)),
        (NotDeterministic, lambda: instance_repairs({("X1",): [1, 0]}, [0, float("nan")], NAMES)),
        (UnequalPairing, lambda: instance_repairs({("X1",): [1, 0, 1]}, [0, 0], NAMES)),
        (UnequalPairing, lambda: instance_repairs({("X1",): [1, 0]}, [0, 0], NAMES, {("X1",): [True]})),
        (UsageError, lambda: instance_repairs({("X1",): [1, 0]}, [0, 0], NAMES, {("X2",): [True, True]})),
        (NoData, lambda: instance_repairs({}, [0, 0], NAMES)),
        (NoData, lambda: instance_repairs({("X1",): []}, [], NAMES)),
    ],
)
def test_bad_input_is_a_typed_error(error, call):
    with pytest.raises(error):
        call()


@st.composite
def deterministic_outcomes(draw):
    sets = draw(st.lists(st.sampled_from(ALL_SETS), min_size=1, unique=True))
    n = draw(st.integers(1, 8))
    bits = st.lists(st.integers(0, 1), min_size=n, max_size=n)
    return {t: draw(bits) for t in sets}, draw(bits)


@laws
@given(deterministic_outcomes())
def test_minimal_sets_are_the_antichain_below_all_repairing_sets(case):
    outcomes, reference = case
    found = instance_repairs(outcomes, reference, NAMES)
    for i, solved in enumerate(reference):
        repairing = {t for t, values in outcomes.items() if values[i] and not solved}
        minimal = set(found.minimal(i))
        assert minimal <= repairing
        assert all(any(m <= t for m in minimal) for t in repairing)
        assert not any(a < b for a in minimal for b in minimal)
        for t in found.surely_minimal(i):
            below = [frozenset(r) for size in range(1, len(t)) for r in combinations(t, size)]
            assert t in minimal
            assert all(r in outcomes and not outcomes[r][i] for r in below)
        assert found.repairable[i] == bool(repairing)
        assert found.unrepaired[i] == (not solved and not repairing)
    counts = found.repaired_by()
    assert counts == {t: sum(v and not r for v, r in zip(outcomes[t], reference, strict=True)) for t in found.sets}
    assert found.minimal_for() == {t: sum(t in found.minimal(i) for i in range(len(reference))) for t in found.sets}


@laws
@given(deterministic_outcomes())
def test_instances_where_a_larger_set_fails_are_shown(case):
    outcomes, reference = case
    found = instance_repairs(outcomes, reference, NAMES)
    every = {frozenset(): reference, **outcomes}
    for i in range(len(reference)):
        pairs = {(a, b) for a in every for b in every if a < b and every[a][i] and not every[b][i]}
        assert set(found.reversals(i)) == pairs
        assert found.non_monotone[i] == bool(pairs)


def test_what_was_not_run_on_an_instance_is_unknown_there():
    outcomes = {("X1",): [float("nan"), 0], ("X1", "X2"): [1, 1], ("X2",): [0, 0], NAMES: [0, 1]}
    found = instance_repairs(outcomes, [0, 0], NAMES, {("X1",): [False, True], NAMES: [False, True]})
    pair = frozenset(["X1", "X2"])
    assert found.minimal(0) == found.minimal(1) == (pair,)
    assert found.surely_minimal(0) == ()
    assert found.surely_minimal(1) == (pair,)
    assert not found.non_monotone.any()


def test_only_a_complete_design_calls_an_instance_unrepairable():
    full = instance_repairs({t: [0, 1, 0] for t in ALL_SETS}, [0, 0, 1], NAMES)
    assert full.surely_unrepairable.tolist() == [True, False, False]
    part = instance_repairs({t: [0, 1, 0] for t in ALL_SETS[:-1]}, [0, 0, 1], NAMES)
    assert part.unrepaired.tolist() == [True, False, False]
    assert not part.surely_unrepairable.any()
    gap = instance_repairs({t: [0, 1, 0] for t in ALL_SETS}, [0, 0, 1], NAMES, {("X1",): [False, True, True]})
    assert not gap.surely_unrepairable.any()


def by_exhaustion(found, share):
    need = math.ceil(share * found.repairable.sum() - 1e-9)
    best = None
    for size in range(1, len(found.sets) + 1):
        for chosen in combinations(range(len(found.sets)), size):
            if found.repairs[list(chosen)].any(axis=0).sum() >= need:
                members = sum(len(found.sets[row]) for row in chosen)
                best = members if best is None else min(best, members)
        if best is not None:
            return need, size, best
    raise AssertionError("the tested sets cover all repairable instances")


@laws
@given(deterministic_outcomes(), st.sampled_from([0.3, 0.5, 0.9, 1.0]))
def test_the_smallest_cover_is_smallest_and_the_greedy_one_covers(case, share):
    found = instance_repairs(*case, NAMES)
    if not found.repairable.any():
        for cover in (greedy_cover, smallest_cover):
            with pytest.raises(Undefined):
                cover(found, share)
        return
    need, size, members = by_exhaustion(found, share)
    exact, greedy = smallest_cover(found, share), greedy_cover(found, share)
    assert (len(exact.sets), sum(map(len, exact.sets))) == (size, members)
    assert exact.smallest
    assert len(greedy.sets) <= size * (1 + math.log(need))
    for cover in (exact, greedy):
        rows = [found.sets.index(t) for t in cover.sets]
        assert cover.covered == found.repairs[rows].any(axis=0).sum() >= need
        assert (cover.repairable, cover.failing) == (found.repairable.sum(), found.failing.sum())
    assert not greedy.smallest or len(greedy.sets) == size


def test_greedy_can_need_more_sets_than_necessary():
    names = tuple("ABC")
    outcomes = {("A",): [1, 1, 1, 1, 0, 0], ("B",): [1, 1, 0, 0, 1, 0], ("C",): [0, 0, 1, 1, 0, 1]}
    found = instance_repairs(outcomes, [0] * 6, names)
    assert len(greedy_cover(found).sets) == 3
    assert smallest_cover(found).sets == (frozenset("B"), frozenset("C"))
    assert not greedy_cover(found).smallest


def test_fewer_sets_come_before_fewer_prerequisites():
    names = tuple("ABCD")
    outcomes = {("A",): [1, 0], ("B",): [0, 1], ("B", "C"): [0, 1], names: [1, 1]}
    found = instance_repairs(outcomes, [0, 0], names)
    assert smallest_cover(found).sets == (frozenset(names),)
    assert smallest_cover(found.up_to(2)).sets == (frozenset("A"), frozenset("B"))
    assert found.up_to(1).sets == (frozenset("A"), frozenset("B"))
    with pytest.raises(NoData, match="at most 0 members"):
        found.up_to(0)


def test_a_search_without_time_is_given_up_and_says_so():
    names = tuple("ABCDEF")
    rng = np.random.default_rng(12)
    outcomes = {t: rng.integers(0, 2, 150) for t in coalitions(names, [1, 2, 3])}
    with pytest.raises(NoCover, match="greedy_cover"):
        smallest_cover(instance_repairs(outcomes, [0] * 150, names), seconds=0.0)


def test_a_partial_cover_takes_the_smallest_set_that_is_enough():
    outcomes = {("X1",): [1, 1, 0, 0], ("X1", "X2"): [1, 1, 1, 0], NAMES: [1, 1, 1, 1]}
    found = instance_repairs(outcomes, [0] * 4, NAMES)
    for cover in (greedy_cover, smallest_cover):
        assert cover(found, 0.5).sets == (frozenset(["X1"]),)
        assert cover(found, 0.75).sets == (frozenset(["X1", "X2"]),)
        assert cover(found, 1.0).sets == (frozenset(NAMES),)
        for share in (0.0, 1.2, float("nan")):
            with pytest.raises(NotAProbability):
                cover(found, share)
