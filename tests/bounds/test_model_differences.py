"""Two models on the same questions: the difference is paired, signed, and covered."""

import math

import numpy as np
import pandas as pd
import pytest
from test_diagnosis import supplying, task_of

from dodiag.bounds.model_differences import model_differences
from dodiag.bounds.scores import capabilities, contributions
from dodiag.problems import UsageError

CELLS = ["X1=1", "X1=n"]


def two_models(generator, rates, n, difficulty=0.5):
    """Outcomes of models a and b under X1=1 and X1=n; instances have a difficulty that both models share."""
    hard = generator.random(n)
    rows = []
    for model, pair in rates.items():
        for configuration, p in zip(CELLS, pair, strict=True):
            solved = np.where(generator.random(n) < difficulty, hard, generator.random(n)) < p
            rows.append(pd.DataFrame({"model": model, "configuration": configuration, "solved": solved.astype(int)}))
            rows[-1]["instance"] = rows[-1]["question"] = [f"i{j}" for j in range(n)]
    common = {"task": "t", "unit": "Y", "step": None, "draw": 0, "outcome": "value"}
    return pd.concat(rows, ignore_index=True).assign(**common)


def test_differences_are_those_of_the_scores():
    table = two_models(np.random.default_rng(0), {"a": (0.9, 0.5), "b": (0.7, 0.4)}, 80)
    found = model_differences(table, task_of(1), "a", "b")
    known = {(s.model, s.metric, s.contrast): s.value for s in contributions(table, task_of(1))}
    known |= {(s.model, s.metric, None): s.value for s in capabilities(table, task_of(1))}
    assert {row.metric for row in found} == {"NC", "IC", "N", "S"}
    for row in found:
        assert row.first_value == pytest.approx(known["a", row.metric, row.contrast])
        assert row.difference == pytest.approx(row.first_value - row.second_value)
        assert row.second_value == pytest.approx(known["b", row.metric, row.contrast])
        assert row.limit_lower < row.difference < row.limit_upper
        assert row.p_value <= row.adjusted <= 1
        assert row.n == 80


def test_exchanging_the_models_changes_the_sign_alone():
    table = two_models(np.random.default_rng(1), {"a": (0.9, 0.5), "b": (0.7, 0.6)}, 60)
    for one, other in zip(
        model_differences(table, task_of(1), "a", "b"), model_differences(table, task_of(1), "b", "a"), strict=True
    ):
        assert one.difference == pytest.approx(-other.difference)
        assert one.limit_lower == pytest.approx(-other.limit_upper)
        assert one.p_value == pytest.approx(other.p_value)


def test_the_limits_cover():
    rates = {"a": (0.8, 0.4), "b": (0.6, 0.4)}
    truth = {"N": 0.5 - 1 / 3, "S": (0.4 - 0.2) / 0.6, "IC": 0.2, "NC": 0.0}
    runs, covered = 300, dict.fromkeys(truth, 0)
    for seed in range(runs):
        table = two_models(np.random.default_rng(seed), rates, 100)
        for row in model_differences(table, task_of(1), "a", "b"):
            covered[row.metric] += row.limit_lower <= truth[row.metric] <= row.limit_upper
    least = runs * 0.935 - 4 * math.sqrt(0.95 * 0.05 * runs)
    assert all(count >= least for count in covered.values()), covered


@pytest.mark.parametrize("n", [15, 30, 60])
def test_the_limits_cover_where_hardly_anything_fails(n):
    """S of a model that fails at 10 %: limits of the linearised difference held in 63, 76 and 89 % of such tables."""
    rates = {"a": (0.95, 0.9), "b": (0.6, 0.4)}
    truth, runs, covered, claimed = 0.5 - 1 / 3, 40, 0, 0
    for seed in range(runs):
        table = two_models(np.random.default_rng([n, seed]), rates, n, difficulty=0.0)
        for row in model_differences(table, task_of(1), "a", "b").where(metric="S"):
            covered += row.limit_lower is None or row.limit_lower <= truth <= row.limit_upper
            claimed += row.p_value is not None and (row.p_value <= 0.05) != (
                not row.limit_lower <= 0 <= row.limit_upper
            )
    assert covered >= 0.95 * runs - 4 * math.sqrt(0.95 * 0.05 * runs)
    assert claimed <= 1


def test_models_that_answer_alike_do_not_differ():
    table = two_models(np.random.default_rng(6), {"a": (0.8, 0.5)}, 60)
    same = model_differences(pd.concat([table, table.assign(model="b")]), task_of(1), "a", "b")
    assert {row.difference for row in same} == {0.0}
    assert all(row.limit_lower < 0 < row.limit_upper and row.p_value == 1 for row in same)


def test_pairing_is_worth_something():
    """Where difficulty is shared, the paired difference is known more closely than two separate limits say."""
    table = two_models(np.random.default_rng(3), {"a": (0.8, 0.5), "b": (0.7, 0.4)}, 200, difficulty=0.95)
    row = model_differences(table, task_of(1), "a", "b").where(metric="NC")[0]
    separate = capabilities(table, task_of(1)).where(metric="NC")
    apart = math.hypot(*(s.upper - s.lower for s in separate))
    assert row.limit_upper - row.limit_lower < 0.7 * apart


def test_only_shared_questions_count():
    table = two_models(np.random.default_rng(4), {"a": (0.9, 0.5), "b": (0.7, 0.4)}, 40)
    fewer = table[~((table["model"] == "b") & table["instance"].isin(["i0", "i1"]))]
    assert {row.n for row in model_differences(fewer, task_of(1), "a", "b")} == {38}
    apart = table[(table["model"] == "a") | (table["instance"] == "none")]
    with pytest.raises(UsageError, match="no model 'b'"):
        model_differences(apart, task_of(1), "a", "b")
    with pytest.raises(UsageError, match="with itself"):
        model_differences(table, task_of(1), "a", "a")


def test_without_evidence_there_is_a_reason():
    one = two_models(np.random.default_rng(5), {"a": (0.9, 0.5), "b": (0.7, 0.4)}, 1)
    assert {row.reason for row in model_differences(one, task_of(1), "a", "b").where(metric="IC")} == {
        "one instance says nothing about others"
    }
    never = two_models(np.random.default_rng(5), {"a": (0.0, 0.5), "b": (0.7, 0.4)}, 30)
    row = model_differences(never, task_of(1), "a", "b").where(metric="N")[0]
    assert row.reason == "undefined: Y=1 under a was never observed"
    assert row.difference is None
    waits = two_models(np.random.default_rng(5), {"a": (0.5, 0.5), "b": (0.7, 0.4)}, 30)
    waits["solved"] = waits["solved"].astype("Int64")
    waits.loc[0, ["outcome", "solved"]] = ["unscored", None]
    reasons = {(r.metric, r.reason) for r in model_differences(waits, task_of(1), "a", "b")}
    assert ("IC", "1 answers wait for a judge") in reasons
    assert ("NC", None) in reasons


def test_models_of_a_larger_task_are_compared_too():
    tables = [supplying(np.random.default_rng(s), 0.3, [0.6, 0.5], 40).assign(model=m) for s, m in enumerate("ab")]
    found = model_differences(pd.concat(tables), task_of(2), "a", "b")
    assert {(row.metric, row.prerequisite) for row in found} == {("NC", None), ("S", "X1"), ("S", "X2")}
    assert list(found.to_frame()["metric"]) == [row.metric for row in found]
