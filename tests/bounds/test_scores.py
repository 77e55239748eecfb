"""Scores from outcome tables: paired, counted, and honest about what is missing."""

import itertools
import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dodiag.bounds.limits import clustered_wilson
from dodiag.bounds.scores import capabilities, contributions, scores_from_probabilities
from dodiag.interventions.plan import make_plan
from dodiag.problems import UsageError
from dodiag.scm.answers import AnswerSpec
from dodiag.scm.files import load_task, shipped_tasks
from dodiag.scm.graph import TaskGraph
from dodiag.scm.schema import Unit
from dodiag.scm.simulator import capabilities as true_capabilities
from dodiag.scm.simulator import contributions as true_contributions
from dodiag.scm.simulator import load_parameters, probabilities
from dodiag.vocabulary import PAPER_CONTRASTS, Configuration, State


def task_of(k):
    spec = AnswerSpec(type="integer")
    units = {f"X{i}": Unit(title=f"U{i}", category="perception", answer=spec) for i in range(1, k + 1)}
    units["Y"] = Unit(title="Y", category="cognitive", answer=spec, parents=tuple(units))
    return TaskGraph(name="t", title="T", modality="text", target="Y", units=units)


def table(solved, unit="Y", count=100, **columns):
    """One row per (configuration, question): the first `solved[configuration]` of `count` are solved."""
    rows = [
        {"instance": f"i{j}", "configuration": c, "solved": int(j < n), "question": f"q{j}"}
        for c, n in solved.items()
        for j in range(count)
    ]
    base = {"model": "m", "task": "t", "unit": unit, "step": None, "draw": 0, "outcome": "value"}
    return pd.DataFrame([{**base, **row, **columns} for row in rows])


def arms_of(k, **named):
    names = [f"X{i}" for i in range(1, k + 1)]
    return {",".join(f"{u}={s}" for u, s in zip(names, states, strict=True)): n for states, n in named.items()}


HAND = arms_of(3, **{"111": 90, "nnn": 40, "000": 20, "011": 30, "n11": 60, "1nn": 70, "100": 50, "0nn": 25, "n00": 10})


def values(scores, **wanted):
    return {(s.metric, s.contrast): s.value for s in scores.where(**wanted)}


def test_the_eight_scores_by_counting():
    found = values(contributions(table(HAND), task_of(3)), prerequisite="X1")
    want = {
        ("N", "1,0"): 60 / 90,
        ("N", "1,n"): 30 / 90,
        ("N", "n,0"): 15 / 40,
        ("N", "0,n"): 10 / 20,
        ("S", "1,0"): 30 / 80,
        ("S", "1,n"): 30 / 60,
        ("S", "n,0"): 0.0,
        ("S", "0,n"): 0.0,
    }
    assert {key: found[key] for key in want} == pytest.approx(want)


def test_every_contrast_has_the_interval_of_pn_ps_and_pns():
    found = contributions(table(HAND), task_of(3))
    (pn,) = found.where(metric="PN", prerequisite="X1", contrast="1,n")
    (ps,) = found.where(metric="PS", prerequisite="X1", contrast="1,n")
    assert (pn.lower, pn.upper) == (pytest.approx(30 / 90), pytest.approx(40 / 90))
    assert (ps.lower, ps.upper) == (pytest.approx(30 / 60), 1.0)
    assert pn.value is None
    contexts = {s.context for s in found.where(metric="PNS", prerequisite="X1", contrast="1,n")}
    assert contexts == {"X2=1,X3=1", "X2=n,X3=n"}


def test_suppressed_scores_are_flagged_with_their_denominator():
    low = {**HAND, "X1=0,X2=0,X3=0": 9}
    (score,) = contributions(table(low), task_of(3)).where(metric="N", prerequisite="X1", contrast="0,n")
    assert (score.value, score.suppressed, score.denominator) == (0.0, True, pytest.approx(0.09))
    (score,) = contributions(table(low), task_of(3), min_denominator=0.05).where(
        metric="N", prerequisite="X1", contrast="0,n"
    )
    assert (score.value, score.suppressed) == (0.0, False)


def test_a_contrast_uses_only_what_was_observed_under_both_configurations():
    rows = table(HAND)
    oracle = rows["configuration"] == "X1=1,X2=1,X3=1"
    rows.loc[oracle & rows["instance"].isin([f"i{j}" for j in range(95, 100)]), "solved"] = None
    rows = rows[~(oracle & (rows["instance"] == "i0"))]
    (n,) = contributions(rows, task_of(3)).where(metric="N", prerequisite="X1", contrast="1,n")
    assert (n.n, n.missing) == (94, 6)
    assert n.value == pytest.approx((89 - 59) / 89)


def test_missing_is_not_wrong():
    rows = table({"": 50}, unit="X1")
    rows.loc[rows.index[:10], ["solved", "outcome"]] = [None, "error"]
    (nc,) = capabilities(rows, task_of(3))
    assert (nc.metric, nc.value, nc.n, nc.missing) == ("NC", pytest.approx(40 / 90), 90, 10)


def test_no_evidence_is_null_with_a_reason_never_zero():
    """H42: a unit without a usable instance, a group of one."""
    rows = table({"": 0}, unit="X1", count=3)
    rows["solved"] = None
    (nc,) = capabilities(rows, task_of(3))
    assert (nc.value, nc.n, nc.missing, nc.reason) == (None, 0, 3, "no outcome is scored")
    (nc,) = capabilities(table({"": 1}, unit="X1", count=1), task_of(3))
    assert (nc.value, nc.lower, nc.upper, nc.n) == (1.0, None, None, 1)
    assert nc.reason
    only_one_arm = table({"X1=1,X2=1,X3=1": 5}, count=9)
    assert contributions(only_one_arm, task_of(3)) == ()
    for score in contributions(only_one_arm, task_of(3), ["1,n"]):
        assert (score.value, score.lower, score.n) == (None, None, 0)
        assert "both" in score.reason
    nothing_right = table(dict.fromkeys(HAND, 0))
    (pn,) = contributions(nothing_right, task_of(3)).where(metric="PN", prerequisite="X1", contrast="1,n")
    assert (pn.lower, pn.upper, pn.reason) == (None, None, "undefined: Y=1 under a was never observed")


def test_answers_that_wait_for_a_judge_leave_no_number_behind():
    """Exact matches are scored at once, the rest later: their mean would be 1 whatever the model can do."""
    rows = table({"": 40}, unit="X1")
    rows.loc[rows["solved"] == 0, ["solved", "outcome"]] = [None, "unscored"]
    (nc,) = capabilities(rows, task_of(3))
    assert (nc.value, nc.lower, nc.n, nc.missing, nc.reason) == (None, None, 40, 60, "60 answers wait for a judge")
    rows = table(HAND)
    rows.loc[rows.index[0], ["solved", "outcome"]] = [None, "unscored"]
    found = contributions(rows, task_of(3))
    assert {s.value for s in found.where(contrast="1,n", metric="N")} == {None}
    assert found.where(contrast="1,n", metric="N", prerequisite="X1")[0].reason == "1 answers wait for a judge"
    assert found.where(contrast="1,n", metric="S", prerequisite="X1")[0].value == pytest.approx(0.5)


def test_an_instance_without_a_prerequisite_is_in_no_contrast_of_it():
    rows = table(HAND)
    rows["absent"] = np.where(rows["instance"].isin(["i0", "i99"]), "X1", "")
    found = contributions(rows, task_of(3))
    (first,) = found.where(metric="N", prerequisite="X1", contrast="1,n")
    assert (first.n, first.absent) == (98, 2)
    complete = dict(HAND) | arms_of(3, **{"1n1": 60})
    rows = table(complete)
    rows["absent"] = np.where(rows["instance"] == "i0", "X1", "")
    (second,) = contributions(rows, task_of(3)).where(metric="N", prerequisite="X2", contrast="1,n")
    assert (second.n, second.absent) == (100, 0)


def test_draws_are_averaged_within_a_question():
    rows = pd.concat([table(HAND), table(dict.fromkeys(HAND, 0), draw=1)])
    (n,) = contributions(rows, task_of(3)).where(metric="N", prerequisite="X1", contrast="1,n")
    assert (n.n, n.value) == (100, pytest.approx(30 / 90))
    assert n.denominator == pytest.approx(0.45)


def test_order_of_rows_and_of_names_does_not_matter():
    rows = table(HAND)
    shuffled = rows.sample(frac=1, random_state=1)
    shuffled["configuration"] = [",".join(reversed(c.split(","))) for c in shuffled["configuration"]]
    assert sorted(map(str, contributions(shuffled, task_of(3)))) == sorted(map(str, contributions(rows, task_of(3))))


def test_models_and_tasks_are_kept_apart():
    other = table({c: 100 - n for c, n in HAND.items()}, model="other")
    foreign = table(HAND, task="elsewhere")
    found = contributions(pd.concat([table(HAND), other, foreign]), task_of(3))
    assert {s.model for s in found} == {"m", "other"}
    assert values(found.where(model="m")) == values(contributions(table(HAND), task_of(3)))


def test_a_general_context_is_read_from_its_own_arms():
    solved = arms_of(3, **{"1n0": 80, "0n0": 20})
    found = contributions(table(solved), task_of(3), ["1,0"], context={"X2": State.NATURAL, "X3": "0"}).where(
        prerequisite="X1"
    )
    assert values(found)["N", "1,0"] == pytest.approx(0.75)
    assert values(found)["S", "1,0"] == pytest.approx(0.75)
    assert {s.context for s in found} == {"X2=n,X3=0"}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda t: t.drop(columns="draw"), "no column 'draw'"),
        (lambda t: t.assign(solved=0.5), "'solved' holds 0.5"),
        (lambda t: t.assign(solved=2), "'solved' holds 2"),
        (lambda t: t.assign(task="x"), "no row of task t"),
        (lambda t: pd.concat([t, t.iloc[:1]]), "the same call twice"),
        (lambda t: t.assign(unit="X9"), "unit 'X9' is not in task"),
        (lambda t: t.assign(configuration="X1=1"), "does not fit the task"),
        (lambda t: t.assign(configuration="X1=1,X2=1,X3=7"), "is not a state"),
    ],
)
def test_tables_that_do_not_fit_are_refused(change, message):
    for function in (capabilities, contributions):
        with pytest.raises(UsageError, match=re.escape(message)):
            function(change(table(HAND)), task_of(3))


def test_the_scores_become_a_table():
    frame = contributions(table(HAND), task_of(3)).to_frame()
    assert {"model", "task", "unit", "metric", "prerequisite", "contrast", "value", "lower", "upper", "n"} <= set(frame)
    assert len(contributions(table({"X1=1,X2=1,X3=1": 5}), task_of(3), []).to_frame()) == 0


def chain_rows(task, solved, step):
    (parent,) = task.prerequisites("Y", step)
    return table({f"{parent}={state}": n for state, n in solved.items()}, task="maze").assign(step=step)


def test_chains_have_ns_by_step_and_capabilities_over_all_steps():
    task = load_task("maze")
    rows = pd.concat([chain_rows(task, {"1": 80, "0": 30, "n": 50}, s).assign(question=f"y{s}") for s in (1, 2, 3)])
    found = contributions(rows, task)
    assert [(s.step, s.prerequisite) for s in found.where(metric="NS", contrast="1,n")] == [
        (1, "X1"),
        (2, "Y"),
        (3, "Y"),
    ]
    assert [s.value for s in found.where(metric="NS", contrast="1,n")] == pytest.approx([0.3] * 3)
    assert {s.value for s in found.where(metric="NS", contrast="0,n")} == {0.0}
    (pns, *_) = found.where(metric="PNS", contrast="1,n")
    assert (pns.lower, pns.upper) == (pytest.approx(0.3), pytest.approx(0.5))
    nc = capabilities(rows, task).where(metric="NC")
    assert [(s.step, s.n) for s in nc] == [(None, 300), (1, 100), (2, 100), (3, 100)]


SCORED = [slug for slug in shipped_tasks() if load_task(slug).published["pattern"] is not None]


@pytest.mark.parametrize("preset", ["default", "scaffolded"])
@pytest.mark.parametrize("slug", SCORED)
def test_scores_of_the_eight_tasks_from_exact_probabilities_are_the_simulators_own(slug, preset):
    task, parameters = load_task(slug), load_parameters(preset)
    configurations = make_plan(task).configurations("Y")
    exact = probabilities(task, parameters, "Y", configurations)
    found = scores_from_probabilities(exact, task.parents("Y"), min_denominator=0)
    truth = {(c.metric, c.prerequisite, str(c.contrast)): c.value for c in true_contributions(task, parameters)}
    assert set(found) == set(truth)
    assert len(found) == 8 * len(task.parents("Y"))
    assert max(abs(found[key] - truth[key]) for key in truth) < 1e-12


def test_a_table_with_exact_frequencies_gives_the_exact_scores():
    """Counts in the proportions of a simulator's probabilities go through the table path unchanged."""
    task, parameters = load_task("dice_sum"), load_parameters("default")
    exact = probabilities(task, parameters, "Y", make_plan(task).configurations("Y"))
    rounded = {c: round(p * 1000) for c, p in exact.items()}
    rows = table({c.text: n for c, n in rounded.items()}, count=1000, task="dice_sum")
    want = scores_from_probabilities({c: n / 1000 for c, n in rounded.items()}, task.parents("Y"))
    found = {(s.metric, s.prerequisite, s.contrast): s.value for s in contributions(rows, task) if s.metric in "NS"}
    assert found == pytest.approx(want, abs=1e-12)
    nc = {s.unit: s.value for s in capabilities(rows, task).where(metric="NC")}
    truth = true_capabilities(task, parameters)
    assert nc["Y"] == pytest.approx(truth["Y"].NC, abs=5e-4)


def test_configurations_that_are_missing_are_named():
    with pytest.raises(UsageError, match="X1=1,X2=1"):
        scores_from_probabilities({Configuration.parse("X1=n,X2=n"): 0.5}, ("X1", "X2"), PAPER_CONTRASTS)


def test_wilson_is_wilson_where_every_instance_has_one_question():
    """H40: 0 of 20 is [0, 0.16], not 0 ± 0."""
    none = clustered_wilson(np.zeros(20), np.ones(20))
    assert (none.value, none.lower) == (0.0, 0.0)
    assert none.upper == pytest.approx(0.1611, abs=1e-4)
    half = clustered_wilson(np.array([1.0, 0.0] * 50), np.ones(100))
    assert (half.lower, half.upper) == (pytest.approx(0.404, abs=2e-3), pytest.approx(0.596, abs=2e-3))


def test_copies_within_an_instance_do_not_narrow_the_limits():
    sums = np.array([1.0, 0.0] * 25)
    one, ten = clustered_wilson(sums, np.ones(50)), clustered_wilson(sums * 10, np.full(50, 10.0))
    assert (ten.lower, ten.upper) == (pytest.approx(one.lower, abs=0.01), pytest.approx(one.upper, abs=0.01))
    same = clustered_wilson(np.full(50, 10.0), np.full(50, 10.0))
    assert same.lower == pytest.approx(clustered_wilson(np.ones(50), np.ones(50)).lower)


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(1, 5)), min_size=2, max_size=30))
def test_limits_enclose_the_estimate_and_stay_in_range(clusters):
    sizes = np.array([size for _, size in clusters], float)
    sums = np.minimum([total for total, _ in clusters], sizes)
    found = clustered_wilson(sums, sizes)
    assert 0 <= found.lower <= found.value + 1e-12
    assert found.value - 1e-12 <= found.upper <= 1
    assert found.effective_n <= found.n


def test_wilson_covers_the_truth_of_clustered_data():
    """4,000 seeded tables of 60 instances with 4 correlated questions; 95 % nominal, three standard errors allowed."""
    rng = np.random.default_rng(20)
    covered = {0.3: 0, 0.7: 0}
    repeats = 4000
    for truth in covered:
        rates = rng.beta(2 * truth, 2 * (1 - truth), size=(repeats, 60))
        sums = rng.binomial(4, rates)
        sizes = np.full(60, 4.0)
        for row in sums:
            found = clustered_wilson(row, sizes)
            covered[truth] += found.lower <= truth <= found.upper
    slack = 3 * (0.95 * 0.05 / repeats) ** 0.5
    for truth, count in covered.items():
        assert abs(count / repeats - 0.95) < slack + 0.01, (truth, count / repeats)


def test_one_model_on_all_ten_tasks_can_stand_in_one_table():
    tasks = [load_task(slug) for slug in itertools.islice(shipped_tasks(), 3)]
    rows = pd.concat([table({"": 5}, unit="X1", count=10, task=task.name) for task in tasks])
    for task in tasks:
        (nc,) = capabilities(rows, task)
        assert (nc.task, nc.value) == (task.name, 0.5)
