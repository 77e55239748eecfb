"""Coalitions: laws of dividends, Shapley values and interactions, what a design identifies, and sets as treatments."""

import math
import re
from fractions import Fraction
from itertools import combinations, permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import t as student
from scipy.stats import ttest_1samp

from dodiag.bounds.coalitions import (
    InstanceValues,
    MissingConfigurations,
    ValueFunction,
    coalition_of,
    coalitions,
    configuration_of,
    dividend,
    estimate,
    harsanyi_dividends,
    higher_order,
    interaction,
    interaction_indices,
    set_scores,
    shapley,
    shapley_values,
    treatment_scores,
)
from dodiag.bounds.errors import NoData, NotAProbability, NotCounts, TooFewInstances, Undefined, UnequalPairing
from dodiag.bounds.formulas import n_score, pn_bounds, s_score
from dodiag.problems import UsageError
from dodiag.vocabulary import Configuration

laws = settings(max_examples=60, deadline=None)
rationals = st.integers(0, 20).map(lambda k: Fraction(k, 20))


def players(k):
    return tuple(f"X{i + 1}" for i in range(k))


@st.composite
def games(draw, least=1, most=4, values=rationals):
    names = players(draw(st.integers(least, most)))
    return ValueFunction.of({t: draw(values) for t in coalitions(names)}, names)


def mixed(v, w, share):
    return ValueFunction.of({t: share * v[t] + (1 - share) * w[t] for t in v.values}, v.prerequisites)


def by_permutations(v):
    orders = list(permutations(v.prerequisites))
    found = dict.fromkeys(v.prerequisites, Fraction(0))
    for order in orders:
        for place, unit in enumerate(order):
            found[unit] += v[order[: place + 1]] - v[order[:place]]
    return {unit: total / len(orders) for unit, total in found.items()}


@laws
@given(games())
def test_dividends_of_all_subsets_sum_to_the_value(v):
    m = harsanyi_dividends(v)
    for t in coalitions(v.prerequisites):
        assert sum(m[r] for r in m if r <= t) == v[t]
        assert dividend(t, v.prerequisites).value(v) == m[t]


@laws
@given(games())
def test_shapley_is_the_mean_gain_over_all_orders(v):
    assert shapley_values(v) == by_permutations(v)


@laws
@given(games())
def test_shapley_is_efficient(v):
    assert sum(shapley_values(v).values()) == v[v.prerequisites] - v[()]


@laws
@given(games())
def test_shapley_and_interaction_share_out_the_dividends(v):
    m = harsanyi_dividends(v)
    for unit, value in shapley_values(v).items():
        assert value == sum(m[t] / len(t) for t in m if unit in t)
    for pair, value in interaction_indices(v).items():
        assert value == sum(m[t] / (len(t) - 1) for t in m if pair <= t)
    assert len(interaction_indices(v)) == math.comb(len(v.prerequisites), 2)


@laws
@given(games(least=2), st.permutations(range(4)))
def test_renaming_prerequisites_renames_the_summaries(v, order):
    names = v.prerequisites
    new = dict(zip(names, [names[i] for i in order if i < len(names)], strict=True))
    renamed = ValueFunction.of({frozenset(new[u] for u in t): value for t, value in v.values.items()}, names)
    assert shapley_values(renamed) == {new[u]: value for u, value in shapley_values(v).items()}
    expected = {frozenset(new[u] for u in pair): value for pair, value in interaction_indices(v).items()}
    assert interaction_indices(renamed) == expected


@laws
@given(games(), st.data())
def test_a_prerequisite_that_never_matters_gets_nothing(v, data):
    null = data.draw(st.sampled_from(v.prerequisites))
    flat = ValueFunction.of({t: v[t - {null}] for t in v.values}, v.prerequisites)
    assert shapley_values(flat)[null] == 0
    assert all(m == 0 for t, m in harsanyi_dividends(flat).items() if null in t)
    assert all(value == 0 for pair, value in interaction_indices(flat).items() if null in pair)


@laws
@given(games(least=3, most=3), games(least=3, most=3), rationals)
def test_all_summaries_are_additive(v, w, share):
    u = mixed(v, w, share)
    for summaries in (shapley_values, harsanyi_dividends, interaction_indices):
        a, b = summaries(v), summaries(w)
        assert summaries(u) == {key: share * a[key] + (1 - share) * b[key] for key in a}


def test_conjunction_of_three_has_one_dividend_shared_equally():
    names = players(3)
    v = ValueFunction.of({t: int(len(t) == 3) for t in coalitions(names)}, names)
    m = harsanyi_dividends(v)
    assert {t: value for t, value in m.items() if value} == {frozenset(names): 1}
    assert shapley_values(v) == dict.fromkeys(names, Fraction(1, 3))
    assert set(interaction_indices(v).values()) == {Fraction(1, 2)}


def test_redundant_repairs_interact_negatively():
    v = ValueFunction.of({(): 0, ("X1",): 1, ("X2",): 1, ("X1", "X2"): 1})
    assert interaction(["X1", "X2"], v.prerequisites).value(v) == -1
    assert shapley_values(v) == {"X1": Fraction(1, 2), "X2": Fraction(1, 2)}


@laws
@given(games(values=rationals))
def test_floats_agree_with_fractions(v):
    floats = ValueFunction.of({t: float(value) for t, value in v.values.items()}, v.prerequisites)
    for summaries in (shapley_values, harsanyi_dividends, interaction_indices):
        exact, rounded = summaries(v), summaries(floats)
        assert all(isinstance(value, Fraction) for value in exact.values())
        assert all(isinstance(value, float) for value in rounded.values())
        assert rounded == {key: pytest.approx(float(value), abs=1e-12) for key, value in exact.items()}


def pairs_design(v):
    run = [*coalitions(v.prerequisites, [0, 1, 2]), frozenset(v.prerequisites)]
    return ValueFunction.of({t: v[t] for t in run}, v.prerequisites)


@laws
@given(games(least=4, most=5))
def test_pairs_design_identifies_dividends_up_to_two_and_the_total_of_the_rest(v):
    design = pairs_design(v)
    k = len(v.prerequisites)
    assert len(design.values) == 1 + k + math.comb(k, 2) + 1
    m = harsanyi_dividends(v)
    assert harsanyi_dividends(design, order=2) == {t: value for t, value in m.items() if len(t) <= 2}
    assert higher_order(v.prerequisites).value(design) == sum(value for t, value in m.items() if len(t) > 2)


@pytest.mark.parametrize("summaries", [shapley_values, harsanyi_dividends, interaction_indices])
def test_what_a_design_does_not_identify_is_an_error_with_the_missing_configurations(summaries):
    names = players(4)
    full = ValueFunction.of(dict.fromkeys(coalitions(names), 0.5), names)
    with pytest.raises(MissingConfigurations) as caught:
        summaries(pairs_design(full))
    assert caught.value.missing == tuple(configuration_of(t, names) for t in coalitions(names, [3]))
    assert "X1=1,X2=1,X3=1,X4=n" in str(caught.value)


def test_pairs_design_is_complete_for_three_prerequisites():
    names = players(3)
    v = ValueFunction.of({t: Fraction(len(t), 4) for t in coalitions(names)}, names)
    assert pairs_design(v).complete
    assert shapley_values(pairs_design(v)) == shapley_values(v)


@laws
@given(games(least=2, most=4), st.data())
def test_intervals_of_unidentified_summaries_are_sharp(v, data):
    run = data.draw(st.sets(st.sampled_from(list(v.values)), min_size=1))
    names = v.prerequisites
    part = ValueFunction.of({t: v[t] for t in run}, names)
    for summary in (shapley(names[0], names), interaction(names[:2], names), dividend(names, names)):
        found = summary.interval(part)
        assert found.lower - 1e-12 <= float(summary.value(v)) <= found.upper + 1e-12
        for end, sign in ((found.lower, -1), (found.upper, 1)):
            extreme = {t: v[t] if t in run else int(sign * summary.weights.get(t, 0) > 0) for t in v.values}
            assert float(summary.value(ValueFunction.of(extreme, names))) == pytest.approx(float(end), abs=1e-12)
        assert bool(found.identified) is (not summary.missing(part.values))
        assert (len(found.flags) == 1) is (not summary.missing(part.values))


def test_printed_formulas_of_an_interval_give_its_ends():
    names = players(4)
    rng = np.random.default_rng(4)
    v = pairs_design(ValueFunction.of({t: rng.random() for t in coalitions(names)}, names))
    found = shapley("X2", names).interval(v)
    for formula, end in zip(found.formulas, (found.lower, found.upper), strict=True):
        text = formula
        for name, value in sorted(found.inputs.items(), key=lambda item: -len(item[0])):
            text = text.replace(name, f"* {float(value)!r}")
        assert re.fullmatch(r"[-+*/ .e\d]+", text)
        assert eval(text) == pytest.approx(float(end))


@laws
@given(st.integers(1, 5), st.data())
def test_higher_order_is_the_sum_of_the_higher_dividends(k, data):
    names = players(k)
    v = ValueFunction.of({t: data.draw(rationals) for t in coalitions(names)}, names)
    m = harsanyi_dividends(v)
    for order in range(k):
        summary = higher_order(names, order)
        assert summary.value(v) == sum(value for t, value in m.items() if len(t) > order)
        assert all(len(t) <= order or len(t) == k for t in summary.weights)


def outcomes_of(seed, n=40, k=3):
    rng = np.random.default_rng(seed)
    names = players(k)
    ability = rng.random(n)
    return InstanceValues.of(
        {t: (rng.random(n) < 0.2 + 0.5 * ability * len(t) / k).astype(float) for t in coalitions(names)}, names
    )


def test_estimates_are_those_of_the_mean_with_t_limits():
    outcomes = outcomes_of(1)
    names = outcomes.prerequisites
    summaries = [shapley("X1", names), dividend(names, names), interaction(["X1", "X3"], names)]
    v = outcomes.mean()
    for found, summary in zip(estimate(outcomes, summaries, 0.9), summaries, strict=True):
        psi = sum(float(w) * outcomes.values[t] for t, w in summary.weights.items())
        limits = ttest_1samp(psi, 0).confidence_interval(0.9)
        assert found.value == pytest.approx(float(summary.value(v)))
        assert (found.lower, found.upper) == (pytest.approx(limits.low), pytest.approx(limits.high))
        assert found.standard_error == pytest.approx(psi.std(ddof=1) / math.sqrt(len(psi)))
        assert (found.quantity, found.level, found.instances) == (summary.quantity, 0.9, 40)


def test_question_weights_make_a_weighted_mean_clustered_by_instance():
    rng = np.random.default_rng(8)
    sizes = rng.integers(1, 6, 30)
    values = {(): rng.random(30), ("X1",): rng.random(30)}
    outcomes = InstanceValues.of(values, weights=sizes)
    found = estimate(outcomes, [shapley("X1", ["X1"])])[0]
    psi = values[("X1",)] - values[()]
    questions = np.repeat(psi, sizes)
    assert found.value == pytest.approx(questions.mean())
    assert found.value == pytest.approx(float(shapley("X1", ["X1"]).value(outcomes.mean())))
    residuals = sizes * (psi - questions.mean())
    assert found.standard_error == pytest.approx(math.sqrt(30 / 29 * (residuals**2).sum()) / sizes.sum())


def test_limits_cover_the_truth_as_often_as_they_say():
    names, n, repeats, level = players(2), 60, 400, 0.9
    rng = np.random.default_rng(11)
    truth = {(): 0.25, ("X1",): 0.5, ("X2",): 0.35, names: 0.75}
    summaries = [shapley("X1", names), interaction(names, names)]
    wanted = [float(s.value(ValueFunction.of(truth, names))) for s in summaries]
    covered = np.zeros(2)
    for _ in range(repeats):
        threshold = rng.random(n)
        outcomes = InstanceValues.of({t: (threshold < p).astype(float) for t, p in truth.items()}, names)
        found = estimate(outcomes, summaries, level)
        covered += [f.lower <= value <= f.upper for f, value in zip(found, wanted, strict=True)]
    assert (covered / repeats >= level - 4 * math.sqrt(level * (1 - level) / repeats)).all()
    assert (covered / repeats <= level + 4 * math.sqrt(level * (1 - level) / repeats)).all()


def test_no_variation_gives_no_limits_and_says_why():
    outcomes = InstanceValues.of({(): np.zeros(9), ("X1",): np.ones(9)})
    found = estimate(outcomes, [shapley("X1", ["X1"])])[0]
    assert found.value == 1
    assert found.lower is None
    assert found.upper is None
    assert "all instances agree" in found.reason


def test_bad_outcomes_are_typed_errors():
    with pytest.raises(UnequalPairing):
        InstanceValues.of({(): [0, 1], ("X1",): [0, 1, 1]})
    with pytest.raises(UnequalPairing):
        InstanceValues.of({(): [[0, 1]], ("X1",): [[0, 1]]})
    with pytest.raises(UnequalPairing):
        InstanceValues.of({(): [0, 1]}, weights=[1, 1, 1])
    with pytest.raises(NotAProbability, match=re.escape("v({X1})")):
        InstanceValues.of({(): [0, 1], ("X1",): [0, float("nan")]})
    with pytest.raises(NoData):
        InstanceValues.of({(): []})
    with pytest.raises(NoData):
        InstanceValues.of({})
    with pytest.raises(NotCounts):
        InstanceValues.of({(): [0, 1]}, weights=[1, 0])
    single = InstanceValues.of({(): [0], ("X1",): [1]})
    with pytest.raises(TooFewInstances):
        estimate(single, [shapley("X1", ["X1"])])
    part = InstanceValues.of({(): [0, 1]}, ["X1"])
    with pytest.raises(MissingConfigurations):
        estimate(part, [shapley("X1", ["X1"])])
    with pytest.raises(UsageError, match="level"):
        estimate(part, [], level=1.0)
    with pytest.raises(UsageError, match="is about"):
        estimate(part, [shapley("X2", ["X2"])])


@pytest.mark.parametrize("wrong", [-0.1, 1.5, float("nan"), Fraction(3, 2)])
def test_values_are_probabilities(wrong):
    with pytest.raises(NotAProbability):
        ValueFunction.of({(): 0.5, ("X1",): wrong})


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: ValueFunction.of({("X1", "X2"): 0.5, ("X2", "X1"): 0.4}), "stands twice"),
        (lambda: ValueFunction.of({("X3",): 0.5}, ["X1", "X2"]), "'X3' is not among"),
        (lambda: ValueFunction.of({(): 0.5}, ["X1", "X1"]), "stands twice"),
        (lambda: ValueFunction.of({"X1=1": 0.5}, ["X1", "X2"]), "leaves out"),
        (lambda: ValueFunction.of({"X1=0": 0.5}), "no part of a coalition"),
        (lambda: ValueFunction.of({"X1": 0.5}), "has no state"),
        (lambda: ValueFunction.of({(): np.array([0.5, 0.5])}), "is an array"),
        (lambda: interaction([], ["X1"]), "empty set"),
        (lambda: shapley("X9", ["X1"]), "X9"),
        (lambda: higher_order(["X1", "X2"], 2), "order 2"),
        (lambda: shapley("X1", players(13)), "2\\^13"),
        (lambda: shapley("X1", ["X1", "X1", "X2"]), "'X1' stands twice"),
        (lambda: dividend(["X1"], ["X1", "X2", "X2"]), "'X2' stands twice"),
        (lambda: higher_order(["X1", "X1"], 1), "'X1' stands twice"),
        (lambda: harsanyi_dividends(ValueFunction.of({(): 0.5}), -1), "-1 members"),
        (lambda: shapley_values(ValueFunction.of({(): 0.5}, players(13))), "2\\^13"),
    ],
)
def test_what_is_no_coalition_is_refused(call, says):
    with pytest.raises(UsageError, match=says):
        call()


@laws
@given(st.sets(st.sampled_from(players(5))))
def test_configurations_and_coalitions_translate_into_each_other(members):
    configuration = configuration_of(members, players(5))
    assert coalition_of(configuration) == coalition_of(str(configuration)) == members
    assert tuple(configuration) == players(5)


@pytest.mark.parametrize("text", ["X1=0,X2=1", "X1=t", "X1=q,X2=n"])
def test_other_states_are_no_coalition(text):
    with pytest.raises(UsageError, match="states 1 and n only"):
        coalition_of(text)


def test_keys_may_be_configurations_or_their_text():
    by_name = ValueFunction.of({(): 0.1, ("X1",): 0.2, ("X2",): 0.3, ("X1", "X2"): 0.4})
    by_text = ValueFunction.of({"X1=n,X2=n": 0.1, "X1=1,X2=n": 0.2, "X1=n,X2=1": 0.3, "X1=1,X2=1": 0.4})
    by_value = ValueFunction.of({Configuration.parse(t): by_text[t] for t in ("X1=n,X2=n", "X2=n,X1=1")})
    assert by_text == by_name
    assert by_value["X1=1,X2=n"] == 0.2
    with pytest.raises(MissingConfigurations) as caught:
        by_value[["X2"]]
    assert [str(c) for c in caught.value.missing] == ["X1=n,X2=1"]


def test_all_coalitions_come_once_and_smallest_first():
    found = list(coalitions(players(4)))
    assert len(found) == len(set(found)) == 16
    assert [len(t) for t in found] == sorted(len(t) for t in found)
    assert list(coalitions(players(3), [2])) == [frozenset(c) for c in combinations(players(3), 2)]


@laws
@given(games(least=3, most=3), st.data())
def test_a_set_is_scored_as_one_treatment_in_its_context(v, data):
    names = v.prerequisites
    members = data.draw(st.sets(st.sampled_from(names), min_size=1))
    context = data.draw(st.sets(st.sampled_from([u for u in names if u not in members]))) if len(members) < 3 else set()
    p, p_prime = float(v[members | context]), float(v[context])
    found = set_scores(v, members, context)
    assert found.n.value == n_score(p, p_prime).value
    assert found.s.value == s_score(p, p_prime).value
    assert found.pns.ends() == (max(0, p - p_prime), min(p, 1 - p_prime))
    if p > 0:
        ends = pn_bounds(p, p_prime)
        assert found.pn.ends() == (ends.lower, ends.upper)
        assert found.pn.lower == pytest.approx(n_score(p, p_prime, 0).value)
    else:
        with pytest.raises(Undefined, match="Y = 1 under a"):
            found.pn.ends()
    if p_prime < 1:
        assert found.ps.lower == pytest.approx(s_score(p, p_prime, 0).value)
        assert found.ps.upper == pytest.approx(min(p, 1 - p_prime) / (1 - p_prime))
    else:
        with pytest.raises(Undefined, match="Y = 0 under a'"):
            found.ps.ends()


def test_set_scores_refuse_what_is_not_a_treatment_or_was_not_run():
    v = ValueFunction.of({(): 0.25, ("X1", "X2"): 0.5}, players(3))
    with pytest.raises(UsageError, match="empty set"):
        set_scores(v, ())
    with pytest.raises(UsageError, match="in its context"):
        set_scores(v, ["X1"], ["X1", "X2"])
    with pytest.raises(MissingConfigurations) as caught:
        set_scores(v, ["X1"], ["X3"])
    assert [str(c) for c in caught.value.missing] == ["X1=1,X2=n,X3=1", "X1=n,X2=n,X3=1"]
    assert set_scores(v, ["X1", "X2"]).ps.quantity == "PS(X1, X2)"


def test_treatment_scores_broadcast():
    p, p_prime = np.random.default_rng(0).random((3, 1)), np.array([0.2, 1.0, 0.0, 0.6])
    found = treatment_scores(p, p_prime)
    assert found.n.value.shape == found.ps.lower.shape == found.pns.upper.shape == (3, 4)
    assert found.ps.undefined.tolist() == [[False, True, False, False]] * 3
    single = treatment_scores(p[1, 0], p_prime[3])
    assert (found.pn.lower[1, 3], found.pn.upper[1, 3]) == single.pn.ends()


def test_limits_are_those_of_student():
    outcomes = InstanceValues.of({(): [0, 0, 1, 0], ("X1",): [1, 0, 1, 1]})
    found = estimate(outcomes, [shapley("X1", ["X1"])], 0.8)[0]
    assert found.upper - found.value == pytest.approx(student.ppf(0.9, 3) * found.standard_error)
