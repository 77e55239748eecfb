"""From an outcome table to a verdict: the right words, an error rate that holds, nothing hidden."""

import itertools
import math
import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dodiag.bounds.diagnosis import Verdict, diagnose, in_words
from dodiag.bounds.errors import NotAProbability
from dodiag.bounds.pairs import PairedSums
from dodiag.bounds.scores import contributions
from dodiag.bounds.superiority import instances_needed
from dodiag.problems import UsageError
from dodiag.scm.answers import AnswerSpec
from dodiag.scm.graph import TaskGraph
from dodiag.scm.schema import Chain, Unit
from dodiag.vocabulary import Contrast, State

SPEC = AnswerSpec(type="integer")


def task_of(k):
    units = {f"X{i}": Unit(title=f"U{i}", category="perception", answer=SPEC) for i in range(1, k + 1)}
    units["Y"] = Unit(title="Y", category="cognitive", answer=SPEC, parents=tuple(units))
    return TaskGraph(name="t", title="T", modality="text", target="Y", units=units)


def supplying(generator, base, single, n, draws=1):
    """Runs of S(1, ∅): the baseline and each prerequisite supplied alone, on instances of varying difficulty."""
    k = len(single)
    states = {"n" * k: base} | {"n" * i + "1" + "n" * (k - i - 1): p for i, p in enumerate(single)}
    hard = generator.random(n)
    rows = []
    for text, p in states.items():
        configuration = ",".join(f"X{i + 1}={s}" for i, s in enumerate(text))
        for draw in range(draws):
            # Half of the variation belongs to the instance, half to the call.
            solved = np.where(generator.random(n) < 0.5, hard, generator.random(n)) < p
            rows.append(pd.DataFrame({"configuration": configuration, "draw": draw, "solved": solved.astype(int)}))
            rows[-1]["instance"] = rows[-1]["question"] = [f"i{j}" for j in range(n)]
    common = {"model": "m", "task": "t", "unit": "Y", "step": None, "outcome": "value"}
    return pd.concat(rows, ignore_index=True).assign(**common)


def verdicts(base, single, n, seed=0, **options):
    found = diagnose(supplying(np.random.default_rng(seed), base, single, n), task_of(len(single)), ["1,n"], **options)
    return {f.prerequisite: f.verdict for f in found.where(metric="S")}, found


def test_a_clear_leader_is_to_be_fixed_first():
    by_name, found = verdicts(0.3, [0.45, 0.75, 0.32], 200)
    assert by_name == {"X1": Verdict.MATTERS, "X2": Verdict.FIRST, "X3": Verdict.UNDECIDED}
    first = found.where(metric="S", prerequisite="X2")[0]
    assert first.words == "fix this first"
    assert found.headline("m").startswith("Fix X2 first: supplying it alone repairs at least ")
    assert first.adjusted < 0.001
    assert first.simultaneous[0] <= first.score.limit_lower < first.score.value


def test_two_that_are_equally_good_are_not_told_apart():
    by_name, found = verdicts(0.3, [0.7, 0.7, 0.32], 200)
    assert by_name == {"X1": Verdict.AMONG_FIRST, "X2": Verdict.AMONG_FIRST, "X3": Verdict.UNDECIDED}
    assert found.headline("m") == "X1, X2 are the first to fix; these data do not tell them apart."


def test_few_instances_are_not_enough():
    by_name, found = verdicts(0.3, [0.5, 0.4], 12)
    assert set(by_name.values()) == {Verdict.UNDECIDED}
    assert found.headline("m").startswith("12 instances are not enough to say what to fix first.")
    assert {f.words for f in found.where(metric="S")} == {"not enough data to say"}
    assert all("lies between" in f.reason for f in found.where(metric="S"))


def test_the_number_of_instances_that_would_show_an_effect_does_so():
    """Planned at 80 % from the effect that a large table shows, 80 % of tables of that size show it."""
    large = supplying(np.random.default_rng(0), 0.3, [0.4], 20_000)
    wide = large.pivot(index="instance", columns="configuration", values="solved")
    pairs = PairedSums.of(wide["X1=1"].to_numpy(float), wide["X1=n"].to_numpy(float))
    needed = instances_needed(pairs, 0.05)
    runs = 300
    shown = sum(verdicts(0.3, [0.4], needed, seed)[0]["X1"] is Verdict.FIRST for seed in range(runs))
    assert shown == pytest.approx(0.8 * runs, abs=4 * math.sqrt(0.8 * 0.2 * runs) + 0.03 * runs)
    assert instances_needed(pairs.reversed, 0.05) is None
    assert instances_needed(PairedSums.of([1.0, 0.0], [1.0, 0.0]), 0.05) is None


def test_many_instances_show_that_there_is_little_to_gain():
    by_name, found = verdicts(0.5, [0.5, 0.5], 6000, negligible=0.1)
    assert set(by_name.values()) == {Verdict.LITTLE}
    assert found.headline("m").startswith("No single prerequisite is worth fixing")


def test_what_hurts_is_said_to_hurt():
    by_name, found = verdicts(0.7, [0.3, 0.71], 200)
    assert by_name["X1"] is Verdict.HARMS
    assert found.where(metric="S", prerequisite="X1")[0].words == "supplying it hurts"
    assert found.headline("m") == "Supplying X1 hurts; nothing is shown to help."


def test_where_nothing_fails_there_is_nothing_to_repair():
    by_name, found = verdicts(0.97, [0.98, 0.99], 300)
    assert set(by_name.values()) == {Verdict.NO_ROOM}
    assert found[1].score.value == 0
    assert found[1].score.suppressed
    assert found[1].score.limit_lower is None
    assert "denominator" in found[1].to_dict()["reason"]


def counted(solved, n):
    """S(1, ∅) runs in which this many of n instances are solved, the first ones; configurations by their states."""
    rows = [
        {
            "configuration": ",".join(f"X{i + 1}={s}" for i, s in enumerate(text)),
            "instance": f"i{j}",
            "solved": int(j < m),
        }
        for text, m in solved.items()
        for j in range(n)
    ]
    common = {"model": "m", "task": "t", "unit": "Y", "step": None, "outcome": "value", "question": "q", "draw": 0}
    return pd.DataFrame(rows).assign(**common)


@pytest.mark.parametrize(("n", "verdict"), [(2, Verdict.UNDECIDED), (12, Verdict.UNDECIDED), (400, Verdict.NO_ROOM)])
def test_a_handful_of_solved_instances_does_not_show_that_there_is_nothing_to_repair(n, verdict):
    found = diagnose(counted({"nn": n, "1n": n, "n1": n}, n), task_of(2), ["1,n"]).where(metric="S")
    assert {f.verdict for f in found} == {verdict}
    assert all("denominator" in f.reason and f.instances_needed is None for f in found)
    assert found.headline("m").startswith("No single prerequisite") is (verdict is Verdict.NO_ROOM)


@pytest.mark.parametrize("metric", ["N", "S"])
def test_harm_is_said_even_where_the_score_has_no_room(metric):
    """Nothing fails without the hint and half does with it: "hardly any failure to repair" would hide that."""
    solved = {"nn": 200, "1n": 100, "n1": 200} if metric == "S" else {"11": 0, "n1": 100, "1n": 0}
    found = diagnose(counted(solved, 200), task_of(2), ["1,n"]).where(metric=metric, prerequisite="X1")[0]
    assert found.verdict is Verdict.HARMS
    assert found.score.suppressed
    assert found.simultaneous is None


@given(
    solved=st.lists(st.integers(0, 30), min_size=4, max_size=4),
    waiting=st.sets(st.sampled_from(["1nn", "n1n", "nn1"])),
    negligible=st.sampled_from([0.05, 0.6, 0.99]),
)
@settings(max_examples=40, deadline=None)
def test_there_is_a_headline_whatever_was_found(solved, waiting, negligible):
    """A mix of "no evidence" and "no room" once had none, and ended in a traceback."""
    table = counted(dict(zip(["nnn", "1nn", "n1n", "nn1"], solved, strict=True)), 30)
    texts = [",".join(f"X{i + 1}={s}" for i, s in enumerate(text)) for text in waiting]
    hidden = table["configuration"].isin(texts) & (table["instance"] == "i0")
    table["solved"] = table["solved"].astype("Int64").mask(hidden)
    table["outcome"] = table["outcome"].mask(hidden, "unscored")
    found = diagnose(table, task_of(3), ["1,n"], negligible=negligible)
    assert found.headline("m").endswith(".")


def test_a_percentage_never_claims_more_than_its_limit():
    for single in (70, 75, 80, 85, 90, 95):
        found = diagnose(counted({"nn": 40, "1n": single, "n1": 40}, 100), task_of(2), ["1,n"])
        score = found.where(metric="S", prerequisite="X1")[0].score
        least = re.search(r"at least (\d+)%", found.headline("m"))
        assert least is not None
        assert int(least[1]) / 100 <= score.limit_lower < (int(least[1]) + 1) / 100


def test_a_contrast_named_twice_is_judged_once():
    table = counted({"nn": 40, "1n": 90, "n1": 45}, 100)
    once = diagnose(table, task_of(2), ["1,n"]).to_frame()
    assert diagnose(table, task_of(2), ["1,n", "1,n"]).to_frame().equals(once)
    assert diagnose(table, task_of(2), ["1,n", "1,n"]).headline("m").startswith("Fix X1 first:")


def test_a_contrast_that_was_not_run_is_no_evidence():
    found = diagnose(supplying(np.random.default_rng(0), 0.3, [0.5, 0.5], 50), task_of(2), ["1,0"])
    assert {f.verdict for f in found} == {Verdict.NO_EVIDENCE}
    assert {f.reason for f in found} == {"no question was scored under both configurations"}
    assert all(f.p_value is None and f.instance_level is None and f.simultaneous is None for f in found)
    with pytest.raises(ValueError, match="nothing was found"):
        found.headline("m")


def test_answers_that_wait_for_a_judge_are_no_evidence():
    table = supplying(np.random.default_rng(0), 0.3, [0.7, 0.5], 60)
    table["solved"] = table["solved"].astype("Int64")
    here = table.index[table["configuration"] == "X1=1,X2=n"][:2]
    table.loc[here, ["outcome", "solved"]] = ["unscored", None]
    found = diagnose(table, task_of(2), ["1,n"]).where(metric="S")
    assert [f.verdict for f in found] == [Verdict.NO_EVIDENCE, Verdict.AMONG_FIRST]
    assert found[0].reason == "2 answers wait for a judge"


def test_one_instance_is_no_evidence():
    found = diagnose(supplying(np.random.default_rng(0), 0.3, [0.5], 1), task_of(1), ["1,n"])
    assert {f.verdict for f in found} == {Verdict.NO_EVIDENCE}
    assert {f.reason for f in found} == {"one instance says nothing about others"}


def test_no_effect_is_claimed_no_more_often_than_the_level_allows():
    """Family-wise: any claim among three prerequisites without effect, help or harm, in at most 2 × 5 % of the runs."""
    runs, claims = 300, {"help": 0, "harm": 0}
    for seed in range(runs):
        found = verdicts(0.4, [0.4, 0.4, 0.4], 60, seed)[0].values()
        claims["help"] += any(v in (Verdict.FIRST, Verdict.AMONG_FIRST, Verdict.MATTERS) for v in found)
        claims["harm"] += Verdict.HARMS in found
    most = 0.05 * runs + 4 * math.sqrt(0.05 * 0.95 * runs)
    assert claims["help"] <= most
    assert claims["harm"] <= most


def test_a_wrong_one_is_named_first_no_more_often_than_the_level_allows():
    runs, wrong, right = 300, 0, 0
    for seed in range(runs):
        found = verdicts(0.3, [0.6, 0.56, 0.56], 100, seed)[0]
        wrong += Verdict.FIRST in (found["X2"], found["X3"])
        right += found["X1"] is Verdict.FIRST
    assert wrong <= 0.05 * runs + 4 * math.sqrt(0.05 * 0.95 * runs)
    assert right > wrong


def test_its_scores_are_the_contributions():
    table = supplying(np.random.default_rng(1), 0.3, [0.6, 0.4], 50)
    assert diagnose(table, task_of(2)).scores == contributions(table, task_of(2))


@given(order=st.randoms(use_true_random=False))
@settings(max_examples=20)
def test_the_order_of_rows_changes_nothing(order):
    table = supplying(np.random.default_rng(1), 0.3, [0.6, 0.4], 20)
    index = list(range(len(table)))
    order.shuffle(index)
    assert diagnose(table.iloc[index], task_of(2)).to_frame().equals(diagnose(table, task_of(2)).to_frame())


@given(
    missing=st.lists(st.integers(0, 3 * 15 - 1), max_size=8, unique=True),
    guesses=st.lists(st.integers(0, 1), min_size=8, max_size=8),
)
@settings(max_examples=60)
def test_whatever_the_missing_outcomes_were_the_worst_case_holds_it(missing, guesses):
    full = supplying(np.random.default_rng(2), 0.4, [0.7, 0.5], 15)
    for place, guess in zip(missing, guesses, strict=False):
        full.loc[place, "solved"] = guess
    holes = full.assign(solved=full["solved"].astype("Int64"))
    holes.loc[missing, "solved"] = None
    holes.loc[missing, "outcome"] = "error"
    truth = {(s.metric, s.prerequisite, s.context): s for s in contributions(full, task_of(2), ["1,n"])}
    for score in contributions(holes, task_of(2), ["1,n"]):
        known = truth[score.metric, score.prerequisite, score.context]
        if score.worst_lower is None or (known.value is None and known.lower is None):
            continue
        lower, upper = (known.value, known.value) if known.value is not None else (known.lower, known.upper)
        assert score.worst_lower - 1e-9 <= lower
        assert upper <= score.worst_upper + 1e-9
        if not score.missing:
            assert score.worst_lower == pytest.approx(lower)
            assert score.worst_upper == pytest.approx(upper)


def test_reruns_of_the_baseline_give_scores_by_instance():
    table = supplying(np.random.default_rng(3), 0.3, [0.7, 0.4], 150, draws=2)
    once = table[(table["draw"] == 0) | (table["configuration"] == "X1=n,X2=n")]
    for rows, sign in ((table, True), (once, False)):
        found = diagnose(rows, task_of(2), ["1,n"]).where(metric="S", prerequisite="X1")[0]
        inner = found.instance_level
        assert inner.lower.method == "rerun-corrected"
        assert not inner.lower.reason
        assert found.score.limit_lower < inner.upper.value
        assert inner.lower.value <= inner.upper.value
        assert (inner.loss is not None) is sign
    none = diagnose(table[table["draw"] == 0], task_of(2), ["1,n"]).where(metric="S")[0]
    assert none.instance_level.lower.reason == "no question has two runs under a' and one under a"
    assert none.to_dict()["instance_value"] is None


def test_under_deterministic_decoding_single_runs_identify():
    table = supplying(np.random.default_rng(3), 0.3, [0.7, 0.4], 150)
    found = diagnose(table, task_of(2), ["1,n"], deterministic=True).where(metric="S", prerequisite="X1")[0]
    wide = table.pivot_table(index="instance", columns="configuration", values="solved")
    failed = wide[wide["X1=n,X2=n"] == 0]
    assert found.instance_level.lower.value == pytest.approx(failed["X1=1,X2=n"].mean())
    assert found.instance_level.lower.method == "deterministic decoding"


def test_chain_steps_are_judged_together():
    units = {"X1": Unit(title="A", category="c", answer=SPEC), "Y": Unit(title="Y", category="c", answer=SPEC)}
    units["Y"] = Unit(title="Y", category="c", answer=SPEC, parents=("X1",))
    task = TaskGraph(name="t", title="T", modality="text", target="Y", units=units, chains=(Chain(units=("X1",)),))
    generator = np.random.default_rng(0)
    rows = [
        {
            "instance": f"i{j}",
            "question": f"q{j}-{step}",
            "step": step,
            "configuration": f"X1={s}",
            "solved": int(r < p),
        }
        for step, (s, p) in itertools.product((2, 3), (("1", 0.9), ("n", 0.4)))
        for j, r in enumerate(generator.random(80))
    ]
    common = {"model": "m", "task": "t", "unit": "X1", "draw": 0, "outcome": "value"}
    found = diagnose(pd.DataFrame([{**common, **row} for row in rows]), task)
    assert [(f.metric, f.step, f.verdict) for f in found] == [("NS", s, Verdict.MATTERS) for s in (2, 3)]
    assert all(f.score.limit_lower <= f.score.value <= f.score.limit_upper for f in found)


def test_every_verdict_has_words_for_every_contrast():
    every = [Contrast(a, b) for a, b in itertools.permutations(State, 2)]
    for verdict, metric, contrast in itertools.product(Verdict, ("N", "S", "NS"), every):
        words = in_words(verdict, metric, contrast)
        assert words
        assert "{" not in words
        assert State.INCORRECT in (contrast.a, contrast.a_prime) or "wrong" not in words
    assert in_words(Verdict.HARMS, "S", Contrast.parse("0,n")) == "a wrong answer hurts"
    assert in_words(Verdict.FIRST, "S", Contrast.parse("t,n")) == "supplying it as text helps most"
    assert in_words(Verdict.FIRST, "S", Contrast.parse("1,t")) == "marking it on the picture helps most"
    assert in_words(Verdict.MATTERS, "N", Contrast.parse("0,n")) == "removing its wrong answer costs success"


@pytest.mark.parametrize("option", ["level", "negligible"])
@pytest.mark.parametrize("value", [0, 1, -0.5, float("nan")])
def test_impossible_options_are_refused(option, value):
    with pytest.raises(NotAProbability):
        diagnose(supplying(np.random.default_rng(0), 0.3, [0.5], 5), task_of(1), **{option: value})


def test_a_table_of_another_task_is_refused():
    table = supplying(np.random.default_rng(0), 0.3, [0.5, 0.5], 5)
    with pytest.raises(UsageError, match="does not fit the task"):
        diagnose(table, task_of(3))


@pytest.mark.parametrize(("n", "projected"), [(2, False), (9, False), (10, True), (40, True)])
def test_no_number_is_projected_from_a_handful(n, projected):
    gains = [1.0] * (n // 2 + 1) + [0.0] * (n - n // 2 - 1)
    assert (instances_needed(PairedSums.of(gains, [0.0] * n), 0.05) is not None) is projected


def test_an_undecided_verdict_asks_for_more_instances_than_there_are():
    for seed in range(8):
        for finding in verdicts(0.3, [0.35, 0.3], 30, seed)[1]:
            assert finding.instances_needed is None or finding.instances_needed > finding.instances
