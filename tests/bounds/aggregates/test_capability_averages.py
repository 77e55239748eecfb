"""Averages of capabilities: a second path, laws, coverage of the limits, and what cannot be averaged."""

from __future__ import annotations

import math

import hypothesis.strategies as st
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings

import dodiag
from dodiag.bounds.aggregates import Average, ablation_averages, capability_averages
from dodiag.bounds.aggregates.averages import Frame, Linear, limited
from dodiag.bounds.errors import NotAProbability
from dodiag.problems import UsageError
from dodiag.testing import outcome_tables, task_graphs
from dodiag.vocabulary import State

DICE, MUSIC = dodiag.load_task("dice_sum"), dodiag.load_task("music_note_counting")
ALL = {"NC": "n", "IC": "1", "RC": "0", "C(1t)": "t", "C(q)": "q"}


def configuration(task, unit, state):
    return ",".join(f"{name}={state}" for name in task.prerequisites(unit))


def rows_of(task, rates, rng, instances, model="m", questions=1):
    """Return rows in which instances differ: an instance's outcomes move together."""
    rows = []
    for instance in range(instances):
        luck = rng.random()
        for unit in task.units:
            states = ALL.values() if task.prerequisites(unit) else ["n"]
            for question in range(questions):
                for state in states:
                    mix = luck if rng.random() < 0.5 else rng.random()
                    solved = int(mix < rates[unit, state])
                    rows.append(
                        {
                            "model": model,
                            "task": task.name,
                            "instance": f"i{instance}",
                            "unit": unit,
                            "question": f"{unit}-{question}",
                            "step": None,
                            "configuration": configuration(task, unit, state) if task.prerequisites(unit) else "",
                            "draw": 0,
                            "outcome": "value",
                            "solved": solved,
                        }
                    )
    return rows


def rates_of(tasks, rng):
    return {
        (unit, state): float(rng.uniform(0.2, 0.9)) for task in tasks for unit in task.units for state in ALL.values()
    }


def where(rows, **wanted):
    (found,) = [row for row in rows if all(getattr(row, name) == value for name, value in wanted.items())]
    return found


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(3)
    rates = rates_of([DICE, MUSIC], rng)
    rows = [row for model in ("m", "k") for task in (DICE, MUSIC) for row in rows_of(task, rates, rng, 9, model, 2)]
    return pd.DataFrame(rows)


def test_averages_by_a_second_path(table):
    rows = capability_averages(table, [DICE, MUSIC])
    tasks = {task.name: task for task in (DICE, MUSIC)}
    means = table.groupby(["model", "task", "unit", "configuration"])["solved"].mean()

    def rate(model, task, unit, state):
        return means[model, task, unit, configuration(tasks[task], unit, state)]

    for role in ("root", "nonroot"):
        for category in (None, "perception", "cognitive"):
            units = [
                (name, unit)
                for name, task in tasks.items()
                for unit in task.units
                if (not task.prerequisites(unit)) == (role == "root") and category in (None, task.units[unit].category)
            ]
            if not units:
                continue
            of_models = []
            for model in ("m", "k"):
                row = where(rows, model=model, role=role, category=category)
                assert row.units == row.nc.count == len(units)
                values = [rate(model, task, unit, "n") for task, unit in units]
                of_models.append(np.mean(values))
                assert row.nc.value == pytest.approx(np.mean(values))
                if len(values) > 1:
                    assert row.nc.sd == pytest.approx(np.std(values, ddof=1))
                if role == "nonroot":
                    cascade = np.mean([rate(model, t, u, "1") - rate(model, t, u, "n") for t, u in units])
                    assert row.cascading.value == pytest.approx(cascade)
                    assert row.cascading_share == pytest.approx(cascade / (1 - np.mean(values)))
                    gap = np.mean([rate(model, t, u, "0") - rate(model, t, u, "n") for t, u in units])
                    assert row.resilience.value == pytest.approx(gap)
            both = where(rows, model=None, role=role, category=category)
            assert both.nc.value == pytest.approx(np.mean(of_models))
            assert both.nc.sd == pytest.approx(np.std(of_models, ddof=1))
            assert both.nc.count == 2
    assert where(rows, model="m", role="root", category=None).ic is None


def test_ablations_by_a_second_path(table):
    rows = ablation_averages(table, [DICE, MUSIC])
    row = where(rows, model="k", category=None)
    units = [(task, unit) for task in (DICE, MUSIC) for unit in task.units if task.prerequisites(unit)]
    means = table[table["model"] == "k"].groupby(["task", "unit", "configuration"])["solved"].mean()

    def mean(state):
        return np.mean([means[task.name, unit, configuration(task, unit, state)] for task, unit in units])

    assert row.text.value == pytest.approx(mean("t"))
    assert row.text_gap.value == pytest.approx(mean("1") - mean("t"))
    assert row.question_gain.value == pytest.approx(mean("q") - mean("n"))
    plain = table[~table["configuration"].str.contains("=[tq]", regex=True)]
    assert ablation_averages(plain, [DICE, MUSIC]) == ()


@settings(max_examples=25, deadline=None)
@given(st.data())
def test_laws(data):
    task = data.draw(task_graphs(max_units=4))
    table = data.draw(outcome_tables(task, instances=st.integers(2, 5), models=st.integers(1, 3)))
    rows = capability_averages(table, [task])
    shuffled = table.sample(frac=1, random_state=data.draw(st.integers(0, 99)))
    again = {(r.model, r.category, r.role): r for r in capability_averages(shuffled, [task])}
    for row in rows:
        other = again[row.model, row.category, row.role]
        for name in ("nc", "ic", "rc", "cascading", "residual", "resilience"):
            average, same = getattr(row, name), getattr(other, name)
            assert (average is None) == (same is None)
            if average is None:
                continue
            assert average.value == pytest.approx(same.value)
            assert -1 <= average.value <= 1
            if average.lower is not None:
                assert average.lower <= average.value <= average.upper
                assert average.lower == pytest.approx(same.lower)
            else:
                assert average.reason
        if row.ic is not None:
            assert row.ic.value + row.residual.value == pytest.approx(1)
            if row.nc is not None and row.cascading is not None and row.nc.count == row.ic.count == row.cascading.count:
                assert row.nc.value + row.cascading.value + row.residual.value == pytest.approx(1)
    models = {row.model for row in rows} - {None}
    if len(models) == 1:
        for row in rows:
            if row.model is None and row.nc is not None:
                only = where(rows, model=next(iter(models)), category=row.category, role=row.role)
                assert row.nc.value == pytest.approx(only.nc.value)
                assert (row.nc.lower is None) or row.nc.lower == pytest.approx(only.nc.lower)


def linear(solved, tasks, sizes):
    """The mean over units of one matrix (instances, units) per task, as :class:`Linear`."""
    parts = []
    for index, matrix in enumerate(solved):
        for column in matrix.T:
            influence, involved = np.zeros(len(tasks)), tasks == index
            influence[involved] = (column - column.mean()) / sizes[index]
            parts.append(Linear(float(column.mean()), influence, involved))
    return Linear.mean(parts)


@pytest.mark.parametrize("share", [True, False])
@pytest.mark.parametrize("rate", [0.5, 0.8, 0.95])
def test_limits_cover_the_truth(share, rate):
    """Two tasks of 20 and 35 instances, three units each, whose outcomes on one instance move together."""
    rng = np.random.default_rng(11)
    sizes, studies = (20, 35), 1500
    tasks = np.repeat([0, 1], sizes)
    frame = Frame({}, tasks)

    def drawn(size, p):
        luck = np.where(rng.random((size, 3)) < 0.5, rng.random((size, 1)), rng.random((size, 3)))
        return (luck < p).astype(float)

    covered = 0
    for _ in range(studies):
        mean = linear([drawn(size, rate) for size in sizes], tasks, sizes)
        truth = rate
        if not share:
            mean, truth = mean - linear([drawn(size, 0.4) for size in sizes], tasks, sizes), rate - 0.4
        found = limited(Average(mean.value), mean, frame, 0.95, share=share)
        covered += found.lower <= truth <= found.upper
    # Normal-theory limits of some 55 instances: within a point and a half of 95 %, and Monte Carlo error.
    error = 4 * math.sqrt(0.95 * 0.05 / studies)
    assert 0.95 - 0.015 - error <= covered / studies <= 0.95 + 0.03 + error


def test_limits_of_the_table_are_those_of_the_influences(table):
    row = where(capability_averages(table, [DICE, MUSIC]), model="k", role="nonroot", category=None)
    matrices = {"n": [], "1": []}
    for task in (DICE, MUSIC):
        units = [unit for unit in task.units if task.prerequisites(unit)]
        for state, found in matrices.items():
            of_unit = [
                table[
                    (table["model"] == "k")
                    & (table["task"] == task.name)
                    & (table["unit"] == unit)
                    & (table["configuration"] == configuration(task, unit, state))
                ]
                .groupby("instance")["solved"]
                .mean()
                .to_numpy()
                for unit in units
            ]
            found.append(np.array(of_unit).T)
    tasks = np.repeat([0, 1], [9, 9])
    frame = Frame({}, tasks)
    natural, correct = (linear(matrices[state], tasks, (9, 9)) for state in "n1")
    for average, mean, share in ((row.nc, natural, True), (row.cascading, correct - natural, False)):
        expected = limited(Average(mean.value), mean, frame, 0.95, share=share)
        assert (average.lower, average.upper) == (pytest.approx(expected.lower), pytest.approx(expected.upper))


def test_a_unit_that_waits_for_a_judge_is_not_averaged(table):
    waiting = table.copy()
    place = (waiting["unit"] == "Y") & (waiting["task"] == "dice_sum") & (waiting["model"] == "m")
    waiting.loc[place, ["outcome", "solved"]] = ["unscored", None]
    before = where(capability_averages(table, [DICE, MUSIC]), model="m", role="nonroot", category=None)
    after = where(capability_averages(waiting, [DICE, MUSIC]), model="m", role="nonroot", category=None)
    assert (before.nc.count, after.nc.count) == (4, 3)


def test_one_instance_gives_no_limits_and_certainty_gives_no_point():
    rng = np.random.default_rng(0)
    certain = {(unit, state): 1.0 if state != "0" else 0.0 for unit in DICE.units for state in ALL.values()}
    one = pd.DataFrame(rows_of(DICE, certain, rng, 1))
    row = where(capability_averages(one, [DICE]), model="m", role="nonroot", category=None)
    assert (row.nc.value, row.nc.lower) == (1.0, None)
    assert "one instance" in row.nc.reason
    many = pd.DataFrame(rows_of(DICE, certain, rng, 12))
    row = where(capability_averages(many, [DICE]), model="m", role="nonroot", category=None)
    assert row.nc.lower < 0.85
    assert row.nc.upper == 1
    assert (row.resilience.value, row.resilience.lower) == (-1.0, None)
    assert row.resilience.reason == "no instance differs from another"
    assert row.cascading_share is None


@pytest.mark.parametrize(
    ("tasks", "options", "error", "message"),
    [
        ([], {}, UsageError, "no task is given"),
        ([DICE, DICE], {}, UsageError, "two tasks are called dice_sum"),
        ([dodiag.load_task("maze")], {}, UsageError, "no row of task maze"),
        ([DICE], {"level": 1.0}, NotAProbability, "level"),
    ],
)
def test_what_cannot_be_averaged(table, tasks, options, error, message):
    for function in (capability_averages, ablation_averages):
        with pytest.raises(error, match=message):
            function(table, tasks, **options)


def test_states_are_those_of_the_vocabulary():
    assert set(ALL.values()) == {state.value for state in State}
