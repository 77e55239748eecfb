"""Arrays per instance from an outcome table: what races, repair gains and coalitions read."""

import itertools

import numpy as np
import pandas as pd
import pytest
from test_diagnosis import SPEC, supplying, task_of

from dodiag.bounds.coalitions import shapley_values
from dodiag.bounds.errors import NoData
from dodiag.bounds.instance_means import RULES, coalition_values, instance_means, repair_gains, supplied_alone
from dodiag.bounds.racing import race
from dodiag.bounds.repair_gain import repair_gain
from dodiag.problems import UsageError
from dodiag.scm.graph import TaskGraph
from dodiag.scm.schema import Unit


def table(cells, **common):
    """Rows of (instance, question, configuration, solved)."""
    base = {"model": "m", "task": "t", "unit": "Y", "step": None, "draw": 0, "outcome": "value"}
    names = ("instance", "question", "configuration", "solved")
    return pd.DataFrame([base | dict(zip(names, cell, strict=True)) | common for cell in cells])


def test_means_are_over_the_questions_of_an_instance():
    rows = table([("a", "1", "X1=n", 1), ("a", "2", "X1=n", 0), ("b", "1", "X1=n", 1), ("a", "1", "X1=1", 1)])
    found = instance_means(rows, task_of(1))
    assert found.instances == ("a", "b")
    assert found.column("X1=n").tolist() == [0.5, 1.0]
    assert found.size("X1=n").tolist() == [2, 1]
    assert found.column("X1=1")[0] == 1
    assert np.isnan(found.column("X1=1")[1])
    both = instance_means(rows, task_of(1), together=["X1=n", "X1=1"])
    assert both.column("X1=n")[0] == 1.0
    assert both.size("X1=n").tolist() == [1, 0]


def test_what_is_not_there_is_said():
    rows = table([("a", "1", "X1=n", 1)])
    with pytest.raises(NoData, match="under 'X1=0'"):
        instance_means(rows, task_of(1)).column("X1=0")
    with pytest.raises(NoData, match="outcome of unit X1"):
        instance_means(rows, task_of(1), "X1")
    with pytest.raises(NoData, match="under 'X1=1'"):
        supplied_alone(rows, task_of(1))
    with pytest.raises(UsageError, match="2 models"):
        instance_means(pd.concat([rows, rows.assign(model="k")]), task_of(1))
    with pytest.raises(UsageError, match="no model 'z'"):
        instance_means(rows, task_of(1), model="z")


def full_run(generator, base, single, full, n):
    rows = supplying(generator, base, single, n)
    both = rows[rows["configuration"] == rows["configuration"].iloc[0]].copy()
    both["configuration"] = ",".join(f"X{i + 1}=1" for i in range(len(single)))
    both["solved"] = (generator.random(n) < full).astype(int)
    return pd.concat([rows, both], ignore_index=True)


def test_the_arms_of_s_feed_a_race():
    found = supplied_alone(full_run(np.random.default_rng(0), 0.2, [0.3, 0.9, 0.3], 0.95, 150), task_of(3))
    assert found.single.shape == (150, 3)
    assert found.left_out == 0
    assert race(found.single).winners == (1,)
    wide = supplied_alone(full_run(np.random.default_rng(0), 0.2, [0.3, 0.9, 0.3], 0.95, 150).iloc[1:], task_of(3))
    assert wide.left_out == 1
    assert len(wide.instances) == 149


def test_repair_gains_by_rule():
    generator = np.random.default_rng(1)
    rows = full_run(generator, 0.2, [0.6, 0.4, 0.2], 0.8, 400)
    rows = pd.concat([rows, full_context(generator, [0.7, 0.5, 0.75], 400), own(generator, [0.9, 0.3, 0.8], 400)])
    found = repair_gains(rows, task_of(3))
    assert set(found) == set(RULES)
    arms = supplied_alone(rows, task_of(3))
    by_hand = repair_gain(arms.single, arms.baseline, arms.full)
    assert found["max S"].cross_fitted.value == by_hand.cross_fitted.value
    for rule, index in (("max S", 0), ("max N", 1), ("min NC", 1), ("min IC", 1)):
        assert found[rule].cross_fitted.weights[index] == pytest.approx(1.0), rule
    assert found["random"].cross_fitted.weights == pytest.approx([1 / 3] * 3)
    gain = (arms.single[:, 1].mean() - arms.baseline.mean()) / (arms.full.mean() - arms.baseline.mean())
    assert found["min NC"].cross_fitted.value == pytest.approx(gain)
    with pytest.raises(UsageError, match="'best' is unknown"):
        repair_gains(rows, task_of(3), ["best"])


def full_context(generator, withdrawn, n):
    """The arms of N(1, ∅): all correct but one."""
    k = len(withdrawn)
    states = {"1" * i + "n" + "1" * (k - i - 1): p for i, p in enumerate(withdrawn)}
    return table(
        (f"i{j}", f"i{j}", ",".join(f"X{i + 1}={s}" for i, s in enumerate(text)), int(r < p))
        for text, p in states.items()
        for j, r in enumerate(generator.random(n))
    )


def own(generator, skill, n):
    parts = [
        table(((f"i{j}", "o", "", int(r < p)) for j, r in enumerate(generator.random(n))), unit=f"X{i + 1}")
        for i, p in enumerate(skill)
    ]
    return pd.concat(parts)


def test_coalitions_come_from_the_factorial_runs():
    values = {(0, 0): 0.2, (1, 0): 0.5, (0, 1): 0.4, (1, 1): 0.9}
    rows = table(
        (f"i{j}", "q", f"X1={'n1'[t[0]]},X2={'n1'[t[1]]}", int(j < p * 100))
        for t, p in values.items()
        for j in range(100)
    )
    found = coalition_values(rows, task_of(2))
    shares = shapley_values(found.mean())
    assert sum(shares.values()) == pytest.approx(0.7)
    assert shares["X1"] == pytest.approx(0.5 * (0.3 + 0.5))
    with pytest.raises(NoData, match="configuration over 1 and n"):
        coalition_values(table([("a", "q", "X1=0,X2=0", 1)]), task_of(2))


def test_roots_have_their_nc_for_ic_and_others_their_own():
    units = {
        "X1": Unit(title="A", category="c", answer=SPEC),
        "X2": Unit(title="B", category="c", answer=SPEC, parents=("X1",)),
        "Y": Unit(title="Y", category="c", answer=SPEC, parents=("X1", "X2")),
    }
    task = TaskGraph(name="t", title="T", modality="text", target="Y", units=units)
    generator = np.random.default_rng(2)
    rows = [full_run(generator, 0.2, [0.6, 0.4], 0.8, 60)]
    for configuration, unit, p in (("", "X1", 0.5), ("X1=n", "X2", 0.3), ("X1=1", "X2", 0.9)):
        rows.append(table(((f"i{j}", "o", configuration, int(j < 60 * p)) for j in range(60)), unit=unit))
    found = repair_gains(pd.concat(rows), task, ["min NC", "min IC", "max IC-NC"])
    picked = {rule: int(np.argmax(gain.cross_fitted.weights)) for rule, gain in found.items()}
    assert picked == {"min NC": 1, "min IC": 0, "max IC-NC": 1}


def test_the_product_of_states_is_what_the_planner_calls_factorial():
    from dodiag.interventions.plan import make_plan

    plan = make_plan(task_of(2), factorial=True, states=["1", "n"], contrasts=["1,n"])
    wanted = {f"X1={a},X2={b}" for a, b in itertools.product("1n", repeat=2)}
    assert wanted <= {c.text for c in plan.configurations("Y")}
