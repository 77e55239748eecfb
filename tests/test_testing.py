"""The strategies draw valid things alone, reach the edges, and shrink; the assertions refute what is false."""

import subprocess
import sys
from fractions import Fraction
from itertools import product

import networkx as nx
import numpy as np
import pytest
from hypothesis import Phase, find, given, settings
from hypothesis import strategies as st

from dodiag.bounds.errors import NotAProbability, Undefined
from dodiag.bounds.formulas import n_score, ns_score, pn_bounds, s_score
from dodiag.bounds.scores import capabilities, contributions
from dodiag.bounds.table import checked
from dodiag.interventions.design import make_design
from dodiag.interventions.plan import make_plan
from dodiag.problems import UsageError
from dodiag.scm.answers import AnswerType
from dodiag.scm.files import load_task, task_of, task_to_dict
from dodiag.scm.simulator import chain_contribution, counterfactuals
from dodiag.scm.simulator import contributions as true_contributions
from dodiag.scm.source import Source
from dodiag.testing import (
    ObservedTypes,
    Refuted,
    ResponseTypes,
    Strata,
    assert_between,
    assert_lower_bound,
    assert_monotone_equality,
    margins,
    outcome_tables,
    probabilities,
    response_types,
    strata,
    structural_models,
    task_graphs,
)
from dodiag.vocabulary import OUTCOME_COLUMNS, Configuration, Contrast, Outcome, State

HALF = Fraction(1, 2)
THREE = ("1", "0", "n")
DICE = load_task("dice_sum")
MAP = load_task("map_navigation")
QUICK = make_design(quick=True)


SEARCH = settings(max_examples=2000, deadline=None, database=None, derandomize=True)


def smallest(strategy, condition=lambda drawn: True):
    return find(strategy, condition, settings=settings(SEARCH, phases=(Phase.generate, Phase.shrink)))


def reached(strategy, condition):
    """The first thing drawn that meets a condition; NoSuchExample if there is none among many."""
    return find(strategy, condition, settings=settings(SEARCH, phases=(Phase.generate,)))


# Distributions.


@given(probabilities(max_denominator=7))
def test_probabilities_are_fractions_in_the_unit_interval(p):
    assert isinstance(p, Fraction)
    assert 0 <= p <= 1
    assert p.denominator <= 7


@pytest.mark.parametrize("edge", [Fraction(0), Fraction(1), HALF, Fraction(99, 100)])
def test_edges_of_the_unit_interval_are_reached(edge):
    assert smallest(probabilities(), lambda p: p == edge) == edge


@given(margins(THREE))
def test_any_margins_have_a_joint_distribution(given_margins):
    types = ResponseTypes.comonotone(given_margins)
    assert {regime: types.margin(regime) for regime in THREE} == given_margins


@given(response_types(THREE))
def test_response_types_are_exact_distributions(types):
    assert sum(types.probabilities.values()) == types.probability({}) == 1
    assert all(isinstance(mass, Fraction) and mass > 0 for mass in types.probabilities.values())
    for regime in THREE:
        assert types.margin(regime) + types.probability({regime: 0}) == 1
    joint = sum(types.probability(dict(zip(THREE, y, strict=True))) for y in product((0, 1), repeat=3))
    assert joint == 1


@given(response_types(THREE, monotone=Contrast.parse("1,n"), zero=[{"n": 0, "0": 1}]))
def test_excluded_types_have_no_mass(types):
    assert types.harm("1", "n") == types.harm("n", "0") == types.harm("1", "0") == 0


@given(response_types(deterministic=True), strata(deterministic=True, min_size=2, max_size=3))
def test_deterministic_units_have_one_type(types, population):
    assert list(types.probabilities.values()) == [1]
    assert 2 <= len(population.types) <= 3
    assert set(population.rates("1")) <= {0, 1}


@given(strata(THREE))
def test_strata_pool_to_their_mean(population):
    assert sum(population.weights) == 1
    assert min(population.weights) > 0
    for regime in THREE:
        assert (
            population.pooled.margin(regime) == population.margin(regime) == population.mean(population.rates(regime))
        )
    assert population.PNS("1", "n") == population.mean(part.PNS("1", "n") for part in population.types)


@given(response_types(THREE, observed=True))
def test_a_right_own_answer_acts_as_the_injected_one(types):
    assert sum(types.observations.values()) == sum(types.types.probabilities.values()) == 1
    assert all(cell[1] == cell[3] for cell in types.joint if cell[0] == 1)
    assert types.margin("n") == types.observed(1, 1) + types.observed(0, 1)


@given(response_types(observed=True))
def test_own_answers_of_two_states_select_the_outcome_of_that_state(types):
    assert types.observed(1, 1) == sum(mass for (x, y1, _), mass in types.joint.items() if x and y1)
    assert types.observed(0, 1) == sum(mass for (x, _, y0), mass in types.joint.items() if not x and y0)
    if types.observed(1, 1):
        needed = types.joint.get((1, 1, 0), 0)
        assert types.PN("1", "0") == needed / types.observed(1, 1)


@pytest.mark.parametrize(
    ("condition", "wanted"),
    [
        (lambda t: True, {(0, 0): 1}),
        (lambda t: t.margin("1") == 1, {(1, 0): 1}),
        (lambda t: t.harm("1", "0") > 0, {(0, 1): 1}),
        (lambda t: t.margin("1") == t.margin("0") == HALF, {(1, 1): HALF, (0, 0): HALF}),
        (lambda t: len(t.probabilities) == 4, dict.fromkeys(product((0, 1), repeat=2), Fraction(1, 4))),
    ],
)
def test_distributions_shrink_to_few_types_and_small_denominators(condition, wanted):
    found = smallest(response_types(), condition)
    assert max(mass.denominator for mass in found.probabilities.values()) <= max(
        Fraction(mass).denominator for mass in wanted.values()
    )
    assert len(found.probabilities) == len(wanted)


@pytest.mark.parametrize(
    "condition",
    [
        lambda t: 0 < t.margin("1") < Fraction(1, 100),
        lambda t: Fraction(99, 100) < t.margin("0") < 1,
        lambda t: 0 < t.harm("1", "0") < Fraction(1, 100) < t.PNS("1", "0"),
    ],
)
def test_rates_close_to_the_edges_are_reached(condition):
    assert condition(reached(response_types(), condition))
    assert condition(reached(strata(max_size=2), condition))


def test_strata_shrink_to_one_instance():
    assert len(smallest(strata()).types) == 1
    spread = smallest(strata(), lambda population: len(set(population.rates("1"))) > 1)
    assert spread.weights == (HALF, HALF)


def test_distributions_are_printed_in_words_and_their_repr_reads_back():
    types = ResponseTypes({(1, 1, 0): Fraction(1, 3), (0, 0, 0): Fraction(2, 3)}, THREE)
    assert str(types) == "1/3 of the units are solved under 1 and 0 and failed under n; 2/3 failed under 1 and 0 and n"
    observed = ObservedTypes({(1, 1, 0): HALF, (0, 0, 1): HALF})
    population = Strata((HALF, HALF), (types, types))
    for value in (types, observed, population):
        assert eval(repr(value)) == value
    assert "P(x=1, y=1) = 1/2" in str(observed)
    assert str(population).startswith("of instance 1 (weight 1/2), 1/3 of the units are")


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: ResponseTypes({(1, 0): HALF}), UsageError, "sum to 1/2"),
        (lambda: ResponseTypes({(1, 0): 0.5, (0, 0): 0.5}), UsageError, "Give a Fraction"),
        (lambda: ResponseTypes({(1, 0): Fraction(3, 2), (0, 0): -HALF}), NotAProbability, "1.5"),
        (lambda: ResponseTypes({(1, 2): Fraction(1)}), UsageError, "each 0 or 1"),
        (lambda: ResponseTypes({(1,): Fraction(1)}), UsageError, "Write 2 outcomes"),
        (lambda: ResponseTypes({(1, 1): Fraction(1)}, ("1", "1")), UsageError, "Name each once"),
        (lambda: ResponseTypes({(1, 1): Fraction(1)}).margin("n"), UsageError, "'n' is no regime"),
        (lambda: ResponseTypes.comonotone({"1": Fraction(2), "0": HALF}), NotAProbability, "P.Y_1=1. = 2"),
        (lambda: ResponseTypes.countermonotone(dict.fromkeys(THREE, HALF)), UsageError, "Name two"),
        (lambda: ResponseTypes({(0, 0): Fraction(1)}).PN("1", "0"), Undefined, "PN is undefined: Y = 1 under 1"),
        (lambda: ResponseTypes({(1, 1): Fraction(1)}).PS("1", "0"), Undefined, "PS is undefined: Y = 0 under 0"),
        (lambda: ObservedTypes({(1, 1, 0): Fraction(1)}, ("1", "n")), UsageError, "Y_n is not Y_1"),
        (lambda: ObservedTypes({(1, 1, 0): Fraction(1)}, ("a", "b")), UsageError, "Name 1, and 0 or n"),
        (lambda: ObservedTypes({(0, 1, 0): Fraction(1)}, ("1", "n")).PN("1", "n"), UsageError, "not defined"),
        (lambda: ObservedTypes({(0, 1, 0): Fraction(1)}).PN("1", "0"), Undefined, "X = 1, Y = 1"),
        (lambda: Strata((HALF,), (ResponseTypes({(1, 1): Fraction(1)}),)), UsageError, "sum to 1"),
        (lambda: Strata((), ()), UsageError, "0 strata"),
        (lambda: probabilities(1), UsageError, "at least 2"),
        (lambda: response_types(zero=[{"n": 0}]), UsageError, "'n' is no regime"),
        (lambda: response_types(zero=[{"1": 0}, {"1": 1}]), UsageError, "no response type is left"),
        (lambda: response_types(zero=[{"1": 2}]), UsageError, "a pattern says 2 for '1'"),
        (lambda: response_types(monotone=("1", "1")), UsageError, "no contrast"),
        (lambda: response_types(monotone="1"), UsageError, "no contrast"),
        (lambda: response_types(monotone=("1", "0", "n")), UsageError, "no contrast"),
        (lambda: strata(min_size=0), UsageError, "0 to 5 strata"),
        (lambda: strata(min_size=3, max_size=2), UsageError, "3 to 2 strata"),
    ],
)
def test_impossible_distributions_are_refused(make, error, message):
    with pytest.raises(error, match=message):
        make()


# Task graphs.


@given(task_graphs())
def test_task_graphs_pass_every_check(task):
    assert task_of(Source("again", task_to_dict(task))) == task
    assert nx.is_directed_acyclic_graph(task.graph)
    assert nx.ancestors(task.graph, task.target) == set(task.units) - {task.target}
    assert nx.is_directed_acyclic_graph(task.unfold(3))


@given(st.integers(0, 4).flatmap(lambda k: st.tuples(st.just(k), task_graphs(k))))
def test_the_target_has_as_many_prerequisites_as_asked_for(drawn):
    k, task = drawn
    assert len(task.prerequisites(task.target)) == k


@given(task_graphs(min_units=3, max_units=4, chains=False))
def test_size_and_chains_are_respected(task):
    assert 3 <= len(task.units) <= 4
    assert not task.chains


@pytest.mark.parametrize(
    ("name", "condition"),
    [
        ("a single unit", lambda t: len(t.units) == 1),
        ("six units", lambda t: len(t.units) == 6),
        ("two chains", lambda t: len(t.chains) == 2),
        ("a chain of the target alone", lambda t: any(chain.units == (t.target,) for chain in t.chains)),
        ("a chain that ends in the target", lambda t: any(c.units[-1] == t.target and c.period > 1 for c in t.chains)),
        ("withheld answers", lambda t: any(chain.withhold_answers for chain in t.chains)),
        ("a diamond", lambda t: any(len(list(nx.all_simple_paths(t.graph, u, t.target))) > 1 for u in t.units)),
        ("a target that stands first", lambda t: len(t.units) > 2 and next(iter(t.units)) == t.target),
        ("odd ids", lambda t: any(set("_.-") & set(unit) for unit in t.units)),
        ("own categories", lambda t: t.categories is not None),
        *((kind.value, lambda t, kind=kind: t.units[t.target].answer.type is kind) for kind in AnswerType),
    ],
)
def test_task_graphs_of_every_kind_are_reached(name, condition):
    assert condition(reached(task_graphs(), condition)), name


def test_task_graphs_shrink_to_the_plainest():
    assert list(smallest(task_graphs()).units) == ["Y"]
    found = smallest(task_graphs(), lambda task: len(task.graph.edges) > 1)
    assert list(found.units) == ["X1", "X2", "Y"]
    assert not found.chains
    assert {unit.title for unit in found.units.values()} == {"Unit"}


@pytest.mark.parametrize("options", [{"k": 6}, {"k": -1}, {"k": 0, "min_units": 2}, {"min_units": 7}])
def test_impossible_task_graphs_are_refused(options):
    with pytest.raises(UsageError, match="are asked for"):
        task_graphs(**options)


# Simulated models.

SMALL = task_graphs(min_units=2, max_units=3)


@settings(max_examples=6, deadline=None)
@given(SMALL.flatmap(lambda task: st.tuples(st.just(task), structural_models(task))), st.data())
def test_scores_of_simulated_models_are_below_their_exact_truth(drawn, data):
    task, parameters = drawn
    rows = true_contributions(task, parameters)
    if rows:
        row = data.draw(st.sampled_from(rows))
        context = dict(row.active.without(row.prerequisite).items)
        exact = counterfactuals(task, parameters, row.prerequisite, row.contrast, context)
        truth = exact.PN if row.metric == "N" else exact.PS
        assert truth is None or row.value <= truth + 1e-9
        assert row.p == pytest.approx(exact.p, abs=1e-12)


@settings(max_examples=10, deadline=None)
@given(structural_models(MAP), st.sampled_from(["1,0", "1,n", "n,0", "0,n"]), st.integers(2, 3))
def test_a8_on_simulated_chains(parameters, text, step):
    contrast = Contrast.parse(text)
    score = chain_contribution(MAP, parameters, contrast, "X2", step)
    assert score.value <= counterfactuals(MAP, parameters, "X2", contrast, {}, unit="X2", step=step).PNS + 1e-9


@settings(max_examples=15, deadline=None)
@given(structural_models(DICE, monotone=True), st.sampled_from(["1,0", "1,n", "n,0"]))
def test_monotone_models_harm_nobody(parameters, text):
    # Nothing else is injected, so that only X1's state can scaffold or confuse.
    context = dict.fromkeys(("X2", "X3"), State.NATURAL)
    exact = counterfactuals(DICE, parameters, "X1", Contrast.parse(text), context)
    assert exact.harm == pytest.approx(0, abs=1e-12)


@given(structural_models(DICE, monotone=True))
def test_monotone_models_have_neither_scaffold_nor_distraction(parameters):
    for unit in DICE.units:
        assert parameters.of_unit("scaffold", unit) == parameters.of_unit("distraction", unit) == 0


@pytest.mark.parametrize("text", ["1,n", "0,n"])
def test_models_that_harm_are_reached(text):
    def harms(parameters):
        context = dict.fromkeys(("X2", "X3"), State.NATURAL)
        return counterfactuals(DICE, parameters, "X1", Contrast.parse(text), context).harm > 0.1

    assert harms(reached(structural_models(DICE), harms))


@given(structural_models(DICE, fixed={"trust": 0, "guess": 0.25}))
def test_fixed_fields_have_one_value_everywhere(parameters):
    for unit in DICE.units:
        assert parameters.of_unit("guess", unit) == 0.25
        for prerequisite in DICE.parents(unit):
            assert parameters.of_prerequisite("trust", unit, prerequisite) == 0
            assert 0 <= parameters.of_prerequisite("check", unit, prerequisite) <= 1


@given(structural_models(DICE, fixed={"check": 0.4}))
def test_one_fixed_stance_leaves_the_other_free(parameters):
    assert all(parameters.of_prerequisite("check", "Y", name) == 0.4 for name in DICE.parents("Y"))
    assert all(parameters.of_prerequisite("trust", "Y", name) <= 0.6 + 1e-12 for name in DICE.parents("Y"))


def test_models_reach_what_differs_by_unit_and_by_prerequisite():
    found = smallest(structural_models(DICE), lambda p: "Y" in p.units and isinstance(p.units["Y"].trust, dict))
    assert set(found.units["Y"].trust) == set(DICE.parents("Y"))
    assert smallest(structural_models(DICE)).units == {}


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"fixed": {"skil": 1.0}}, UsageError, "'skill'"),
        ({"fixed": {"skill": 1.5}}, NotAProbability, "skill = 1.5"),
        ({"fixed": {"skill": float("nan")}}, NotAProbability, "nan"),
        ({"fixed": {"scaffold": 0.1}, "monotone": True}, UsageError, "not monotone"),
        ({"fixed": {"trust": 0.6, "check": 0.6}}, UsageError, "more than 1"),
    ],
)
def test_impossible_models_are_refused(options, error, message):
    with pytest.raises(error, match=message):
        structural_models(DICE, **options)


# Outcome tables.


@settings(max_examples=15, deadline=None)
@given(
    task_graphs(max_units=3).flatmap(
        lambda task: st.tuples(st.just(task), outcome_tables(task, draws=st.integers(1, 2), unscored=True))
    )
)
def test_outcome_tables_are_accepted_and_keep_the_contract(drawn):
    task, table = drawn
    assert tuple(table.columns) == OUTCOME_COLUMNS
    assert len(table) > 0
    assert len(checked(table, task)) == len(table)
    lost = table["outcome"].map(lambda name: Outcome(name).missing)
    assert (table["solved"].isna() == lost).all()
    assert (table.loc[table["solved"].eq(1).fillna(False), "outcome"] == "value").all()
    for score in (*capabilities(table, task), *contributions(table, task)):
        assert score.value is None or 0 <= score.value <= 1


@settings(max_examples=4, deadline=None)
@given(outcome_tables(DICE, instances=3, questions=2, draws=2, models=2, missing=False))
def test_complete_tables_hold_every_call_of_the_plan(table):
    plan = make_plan(DICE)
    cells = sum(len(plan.configurations(unit)) for unit in DICE.units)
    assert len(table) == 2 * 3 * 2 * 2 * cells
    assert table["solved"].notna().all()
    scores = contributions(table[table["draw"] == 0], DICE)
    assert {score.n for score in scores} == {3 * 2}
    assert all(score.missing == 0 for score in scores)
    assert len(scores.where(metric="N")) == 2 * 3 * 4


@settings(max_examples=10, deadline=None)
@given(outcome_tables(DICE, design=make_design(quick=True), missing=False, instances=2))
def test_a_design_decides_what_is_asked(table):
    assert set(table["unit"]) == {"Y"}
    assert len(table) == 2 * (2 + 2 * 3)


@settings(max_examples=5, deadline=None)
@given(outcome_tables(DICE, missing=False, instances=400, success=lambda unit, step, configuration: 0.3))
def test_given_success_probabilities_are_those_of_the_table(table):
    of_target = table[(table["unit"] == "Y") & (table["configuration"] == "X1=1,X2=1,X3=1")]
    assert abs(of_target["solved"].mean() - 0.3) < 5 * np.sqrt(0.3 * 0.7 / 400)


@settings(max_examples=5, deadline=None)
@given(outcome_tables(DICE, design=make_design(quick=True, draws=2, reruns=1), missing=False, instances=1))
def test_draws_and_reruns_are_those_of_the_design(table):
    shared = table["configuration"].isin(["X1=1,X2=1,X3=1", "X1=n,X2=n,X3=n"])
    assert set(table[shared].groupby("configuration").size()) == {3}
    assert set(table[~shared].groupby("configuration").size()) == {2}


def test_chain_units_are_asked_by_step():
    def long(table):
        return set(table["step"].dropna()) == {1, 2, 3}

    table = smallest(outcome_tables(MAP, missing=False), long)
    second = table[(table["unit"] == "X2") & (table["step"] == 2)]
    assert {Configuration.parse(text)["X2"] for text in second["configuration"]} == {*map(State, "10n")}
    assert table.loc[table["unit"] == "Y", "step"].isna().all()


@pytest.mark.parametrize(
    ("name", "missing", "condition"),
    [
        ("everything solved", False, lambda t: len(t) > 16 and (t["solved"] == 1).all()),
        ("nothing solved", False, lambda t: len(t) > 16 and (t["solved"] == 0).all()),
        ("one row left", True, lambda t: len(t) == 1),
        ("an error", True, lambda t: (t["outcome"] == "error").any() and (t["outcome"] == "value").any()),
        ("every failure", True, lambda t: {"none", "invalid", "refused", "truncated", "value"} <= set(t["outcome"])),
    ],
)
def test_tables_of_every_kind_are_reached(name, missing, condition):
    assert condition(reached(outcome_tables(DICE, design=QUICK, draws=2, missing=missing), condition)), name


@pytest.mark.parametrize("shared", [("configuration",), ("draw",), ("configuration", "draw"), ()])
def test_noise_may_be_shared_by_configurations_and_by_draws(shared):
    """Fair coins that fall alike for all calls of a question that share their noise, and only for those."""
    keys = ["instance", "question"]

    def alike(table, columns):
        apart = [name for name in ("configuration", "draw") if name not in columns]
        return (table.groupby([*keys, *apart])["solved"].nunique() == 1).all()

    def wanted(table):
        return all(alike(table, {name}) == (name in shared) for name in ("configuration", "draw"))

    coins = outcome_tables(DICE, design=QUICK, draws=2, instances=10, missing=False, success=lambda *asked: 0.5)
    assert wanted(reached(coins, wanted))


def test_tables_shrink_to_one_instance():
    table = smallest(outcome_tables(DICE, missing=False), lambda table: table["solved"].eq(1).any())
    assert set(table["instance"]) == {"i1"}
    assert set(table["model"]) == {"m1"}


def test_the_same_draw_is_the_same_table():
    def draw():
        return smallest(outcome_tables(DICE), lambda table: table["solved"].eq(1).sum() > 3)

    assert draw().equals(draw())


@settings(max_examples=10, deadline=None)
@given(outcome_tables(DICE, absent=True, missing=False, instances=4, design=make_design(contrasts=["1,n"])))
def test_instances_that_lack_a_prerequisite_have_no_question_of_it(table):
    assert tuple(table.columns) == (*OUTCOME_COLUMNS, "absent")
    assert len(checked(table, DICE)) == len(table)
    for instance, rows in table.groupby("instance"):
        lacks = set(DICE.units) - set(rows["unit"])
        named = set(",".join(rows.loc[rows["unit"] == "Y", "absent"].unique()).split(",")) - {""}
        assert named == lacks & set(DICE.prerequisites("Y")), instance
        planned = make_plan(DICE, contrasts=["1,n"]).configurations("Y", None, frozenset(named))
        assert set(rows.loc[rows["unit"] == "Y", "configuration"]) == {configuration.text for configuration in planned}
    for score in contributions(table, DICE):
        assert score.n + score.absent == 4


def test_instances_that_lack_something_are_reached():
    def lacks(table):
        return (table["absent"] != "").any() and (table["absent"] == "").any()

    assert lacks(reached(outcome_tables(DICE, absent=True, missing=False), lacks))


@pytest.mark.parametrize("count", [0, -1, st.just(0)])
def test_counts_below_one_are_refused(count):
    with pytest.raises(UsageError, match="draws is"):
        reached(outcome_tables(DICE, draws=count), lambda table: True)


def test_what_is_no_success_probability_is_refused():
    with pytest.raises(NotAProbability, match=r"success\('X1', None, ''\) = 1.5"):
        smallest(outcome_tables(DICE, success=lambda *asked: 1.5))


# Assertions.


def test_the_scores_of_the_package_are_what_they_claim():
    assert_lower_bound(lambda p, q: n_score(p, q).value, "PN", examples=100)
    assert_lower_bound(lambda p, q: s_score(p, q).value, "PS", examples=100)
    assert_lower_bound(ns_score, "PNS", examples=100)
    assert_monotone_equality(lambda p, q: n_score(p, q, 0).value, "PN", examples=100)
    assert_monotone_equality(lambda p, q: s_score(p, q, 0).value, "PS", examples=100)
    assert_between(lambda p, q: (pn_bounds(p, q).lower, pn_bounds(p, q).upper), "PN", examples=100)


def excess(p, q):
    return max(0, p - q)


FALSE = {
    "plug-in": (assert_lower_bound, lambda p, q: p * (1 - q), "PN"),
    "plug-in for PNS": (assert_lower_bound, lambda p, q: p * (1 - q), "PNS"),
    "N for PNS": (assert_lower_bound, lambda p, q: excess(p, q) / p if p else 0, "PNS"),
    "S with denominator p": (assert_lower_bound, lambda p, q: excess(p, q) / p if p else 0, "PS"),
    "upper end as a lower bound": (assert_lower_bound, lambda p, q: min(1, (1 - q) / p), "PN"),
    "not a number": (assert_lower_bound, lambda p, q: float("nan"), "PNS"),
    "None": (assert_lower_bound, lambda p, q: None, "PNS"),
    "off by more than rounding": (assert_lower_bound, lambda p, q: float(excess(p, q)) + 1e-6, "PNS"),
    "off by less than rounding, but exact": (
        assert_lower_bound,
        lambda p, q: excess(p, q) + Fraction(1, 10**12),
        "PNS",
    ),
    "too narrow above": (assert_between, lambda p, q: (0, max(p - q, 0)), "PNS"),
    "too narrow below": (assert_between, lambda p, q: (p * (1 - q), 1), "PNS"),
    "no equality": (assert_monotone_equality, lambda p, q: excess(p, q) / 2, "PNS"),
    "N needs no p - q below 0": (assert_monotone_equality, lambda p, q: p, "PN"),
    "wrong at a small denominator alone": (
        assert_lower_bound,
        lambda p, q: excess(p, q) / p + Fraction(1, 20) if 0 < p < Fraction(1, 50) else 0,
        "PN",
    ),
    "wrong near the ceiling alone": (
        assert_lower_bound,
        lambda p, q: excess(p, q) / (1 - q) + Fraction(1, 20) if Fraction(49, 50) < q < 1 else 0,
        "PS",
    ),
    "a text": (assert_lower_bound, lambda p, q: "0", "PNS"),
}


@pytest.mark.parametrize(("claim", "metric", "quantity"), FALSE.values(), ids=FALSE)
def test_false_claims_are_refuted(claim, metric, quantity):
    with pytest.raises(Refuted) as caught:
        claim(metric, quantity)
    assert caught.value.quantity == quantity
    assert getattr(caught.value.counterexample, quantity)("1", "0") == caught.value.truth


def test_a_refutation_tells_the_smallest_counterexample_in_words():
    with pytest.raises(Refuted) as caught:
        assert_lower_bound(FALSE["plug-in"][1], "PN")
    assert str(caught.value) == (
        "the score is no lower bound of PN: it gives 1/4 where PN(1, 0) = 0. Counterexample: 1/2 of the units are "
        "solved under 1 and 0; 1/2 failed under 1 and 0; so p = 1/2 and p' = 1/2."
    )
    assert (caught.value.truth, caught.value.answer) == (0, Fraction(1, 4))


def test_populations_of_every_kind_can_be_searched():
    def of_instances(weights, rates, rates_prime):
        return sum(w * excess(a, b) for w, a, b in zip(weights, rates, rates_prime, strict=True))

    def with_own_answers(p, q, seen):
        return max(0, p - q, seen[1, 1] + seen[0, 1] - q, p - seen[1, 1] - seen[0, 1])

    assert_lower_bound(of_instances, "PNS", over=strata())
    assert_lower_bound(with_own_answers, "PNS", over=response_types(observed=True))
    assert_lower_bound(excess, "PNS", over=response_types(("n", "0", "1")))
    with pytest.raises(Refuted, match=r"of instance 1 \(weight"):
        assert_lower_bound(lambda *given: of_instances(*given) + HALF, "PNS", over=strata())
    with pytest.raises(Refuted, match=r"P\(x="):
        assert_lower_bound(lambda p, q, seen: seen[1, 1], "PNS", over=response_types(observed=True))


def test_an_assertion_that_compares_nothing_is_an_error():
    never_solved = response_types(zero=[{"1": 1}])
    with pytest.raises(UsageError, match="PN is undefined in every population"):
        assert_lower_bound(lambda p, q: 17, "PN", over=never_solved)


def test_equality_under_monotonicity_says_nothing_of_populations_with_harm():
    def pooled(weights, rates, rates_prime):
        p, q = (sum(w * r for w, r in zip(weights, arm, strict=True)) for arm in (rates, rates_prime))
        return p - q

    assert_monotone_equality(pooled, "PNS", over=strata(max_size=2))
    with pytest.raises(Refuted) as caught:
        assert_monotone_equality(lambda *given: pooled(*given) / 2, "PNS", over=strata(max_size=2))
    assert caught.value.counterexample.harm("1", "0") == 0
    with pytest.raises(UsageError, match="or there is harm in every population"):
        assert_monotone_equality(excess, "PNS", over=response_types(zero=[{"1": 1}, {"0": 0}]))


@pytest.mark.parametrize(
    ("claim", "message"),
    [
        (lambda: assert_lower_bound(excess, "PSN"), "Did you mean 'PS|Did you mean 'PNS'"),
        (lambda: assert_lower_bound(excess, "PNS", examples=0), "Use at least 1"),
        (lambda: assert_lower_bound(excess, "PNS", over=response_types(("1",))), "A contrast needs two"),
    ],
)
def test_a_claim_that_cannot_be_searched_is_a_users_error(claim, message):
    with pytest.raises(UsageError, match=message):
        claim()


def test_an_error_in_the_metric_is_not_swallowed():
    with pytest.raises(ZeroDivisionError):
        assert_lower_bound(lambda p, q: p / q, "PNS")


# The dependency.


def test_without_hypothesis_the_cure_is_named_and_the_rest_of_the_package_works():
    code = (
        "import sys; sys.modules['hypothesis'] = None\n"
        "import dodiag, dodiag.bounds.formulas\n"
        "from dodiag.problems import MissingDependency\n"
        "try:\n    import dodiag.testing\n"
        "except MissingDependency as error:\n    assert \"pip install 'dodiag[testing]'\" in str(error), error\n"
        "else:\n    raise SystemExit('it was imported')"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_only_this_package_imports_hypothesis():
    code = "import sys, dodiag.cli, dodiag.bounds.scores, dodiag.scm.simulator; assert 'hypothesis' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
