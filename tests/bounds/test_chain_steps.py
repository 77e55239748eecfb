"""Capabilities and NS along Markov chains: what a step rests on, what an open-ended step pools, against known truth."""

from __future__ import annotations

import io
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from packs import maze_pack
from rich.console import Console, RenderableType

import dodiag
from dodiag.bounds.chain_steps import ChainStep, ChainSteps, chain_steps
from dodiag.bounds.scores import capabilities, contributions
from dodiag.problems import UsageError
from dodiag.report.chain_tables import FIGURE_LAST_BINS, chain_report
from dodiag.scm.files import load_task
from dodiag.scm.simulator import chain_contribution, load_parameters, probabilities
from dodiag.vocabulary import Configuration, Contrast, State

MAZE, BOARD, MAP = load_task("maze"), load_task("multistep_reasoning"), load_task("map_navigation")
TASKS = {task.name: task for task in (MAZE, BOARD, MAP)}
Z = 4.5
"""Standard errors allowed; the seeds are fixed."""


def row(
    task: str, instance: str, unit: str, step: int | None, state: str, solved: Any, model: str = "m"
) -> dict[str, Any]:
    names = TASKS[task].prerequisites(unit, step)
    configuration = ",".join(f"{name}={state}" for name in names)
    return {
        "model": model,
        "task": task,
        "instance": instance,
        "unit": unit,
        "question": f"{unit}-{step}",
        "step": step,
        "configuration": configuration,
        "draw": 0,
        "outcome": "value" if solved in (0, 1) else "unscored",
        "solved": solved,
    }


def maze_table(solved: Mapping[str, Sequence[Sequence[int]]], model: str = "m") -> pd.DataFrame:
    """A maze table: by state, by instance, the outcomes of steps 1, 2, …"""
    return pd.DataFrame(
        row("maze", f"i{index:03d}", "Y", step, state, outcome, model)
        for state, instances in solved.items()
        for index, outcomes in enumerate(instances)
        for step, outcome in enumerate(outcomes, start=1)
    )


WALKS = {
    "n": [[1, 0, 0, 0], [0, 0], [0, 1, 0], [1, 0, 0, 1]],
    "1": [[1, 1, 1, 0], [1, 1], [1, 1, 1], [1, 0, 1, 1]],
    "0": [[1, 0, 0, 0], [0, 1], [0, 0, 1], [0, 0, 1, 1]],
}
"""Four instances with 4, 2, 3 and 4 steps."""


def value(step: ChainStep, metric: str, contrast: str | None = None) -> float:
    found = step.score(metric, contrast)
    assert found is not None
    assert found.value is not None
    return found.value


def by_label(steps: ChainSteps) -> dict[str, ChainStep]:
    return {step.label: step for step in steps}


def test_every_step_has_its_own_rates_and_instances() -> None:
    steps = by_label(chain_steps(maze_table(WALKS), MAZE))
    assert list(steps) == ["1", "2", "3", "4"]
    assert [s.instances for s in steps.values()] == [4, 4, 3, 2]
    assert [s.prerequisite for s in steps.values()] == ["X1", "Y", "Y", "Y"]
    assert [value(s, "NC") for s in steps.values()] == [2 / 4, 1 / 4, 0, 1 / 2]
    assert [value(s, "IC") for s in steps.values()] == [1, 3 / 4, 1, 1 / 2]
    assert [value(s, "RC") for s in steps.values()] == [1 / 4, 1 / 4, 2 / 3, 1 / 2]
    assert [value(s, "NS", "1,n") for s in steps.values()] == [1 / 2, 1 / 2, 1, 0]
    assert [value(s, "NS", "0,n") for s in steps.values()] == [0, 0, pytest.approx(2 / 3), 0]
    assert all(s.score("NS", "1,n").n == s.instances for s in steps.values())  # type: ignore[union-attr]


def test_an_open_ended_step_pools_its_questions_and_keeps_its_instances_whole() -> None:
    steps = by_label(chain_steps(maze_table(WALKS), MAZE, last_bin=3))
    assert list(steps) == ["1", "2", "3+"]
    last = steps["3+"]
    assert (last.step, last.open_ended, last.instances) == (3, True, 3)
    natural, correct, wrong = ([x for walk in WALKS[state] for x in walk[2:]] for state in "n10")
    assert value(last, "NC") == pytest.approx(sum(natural) / 5)
    assert value(last, "NS", "1,n") == pytest.approx((sum(correct) - sum(natural)) / 5)
    assert value(last, "NS", "0,n") == pytest.approx((sum(wrong) - sum(natural)) / 5)
    assert last.score("NC").n == last.score("NS", "1,n").n == 5  # type: ignore[union-attr]
    one, other = (by_label(chain_steps(maze_table(WALKS), MAZE, last_bin=b)) for b in (3, None))  # type: ignore[arg-type]
    assert [one[label] for label in ("1", "2")] == [other[label] for label in ("1", "2")]


def test_one_question_asked_at_every_step_is_as_many_questions() -> None:
    """Maze asks the same at every step; a table that says so with one id must not read as one call several times."""
    table = maze_table(WALKS)
    same = table.assign(question="where to next?")
    for last_bin in (None, 2, 3):
        assert chain_steps(same, MAZE, last_bin=last_bin) == chain_steps(table, MAZE, last_bin=last_bin)


def test_ns_of_a_pool_is_the_difference_of_pooled_rates_not_a_mean_over_steps() -> None:
    """Step 2 gains and step 3 loses: the mean of the steps' NS would be 1/2, the pool's is 0."""
    up_and_down = {"n": [[0, 0, 1]] * 6, "1": [[0, 1, 0]] * 6}
    steps = by_label(chain_steps(maze_table(up_and_down), MAZE, ["1,n"], last_bin=2))
    assert value(steps["2+"], "NS", "1,n") == 0
    apart = by_label(chain_steps(maze_table(up_and_down), MAZE, ["1,n"]))
    assert [value(apart[label], "NS", "1,n") for label in ("2", "3")] == [1, 0]


def test_a_last_bin_beyond_all_chains_pools_nothing() -> None:
    table = maze_table(WALKS)
    for last in (4, 99):
        assert chain_steps(table, MAZE, last_bin=last) == chain_steps(table, MAZE)


def test_copies_of_a_step_within_an_instance_do_not_narrow_the_limits() -> None:
    one = {"n": [[0, i % 2] for i in range(40)], "1": [[1, int(i % 4 > 0)] for i in range(40)]}
    many = {state: [[walk[0], *[walk[1]] * 9] for walk in walks] for state, walks in one.items()}
    single = by_label(chain_steps(maze_table(one), MAZE))["2"]
    pooled = by_label(chain_steps(maze_table(many), MAZE, last_bin=2))["2+"]
    for metric, contrast in (("NC", None), ("IC", None), ("NS", "1,n")):
        a, b = single.score(metric, contrast), pooled.score(metric, contrast)
        assert a is not None
        assert b is not None
        assert a.value == pytest.approx(b.value)
        low, high = ("lower", "upper") if contrast is None else ("limit_lower", "limit_upper")
        assert getattr(b, low) == pytest.approx(getattr(a, low), abs=0.01)
        assert getattr(b, high) == pytest.approx(getattr(a, high), abs=0.01)


def test_the_order_of_rows_plays_no_part() -> None:
    table = maze_table(WALKS)
    shuffled = table.sample(frac=1, random_state=3)
    one, other = (chain_steps(rows, MAZE, last_bin=3).to_frame() for rows in (table, shuffled))
    keys = ["unit", "step", "metric", "contrast"]
    pd.testing.assert_frame_equal(*(f.sort_values(keys, ignore_index=True) for f in (one, other)))


@settings(max_examples=10)
@given(
    st.lists(st.lists(st.tuples(*[st.integers(0, 1)] * 3), min_size=1, max_size=5), min_size=2, max_size=4),
    st.integers(2, 6),
)
def test_steps_before_the_pool_are_those_of_the_plain_scores_and_no_outcome_is_lost(walks: Any, last: int) -> None:
    table = maze_table({state: [[x[i] for x in walk] for walk in walks] for i, state in enumerate("n10")})
    found = chain_steps(table, MAZE, last_bin=last)
    plain = [*capabilities(table, MAZE), *contributions(table, MAZE, ["1,n", "0,n"])]
    for step in found:
        if step.step < last:
            assert list(step.scores) == [s for s in plain if s.step == step.step]
    longest = max(map(len, walks))
    assert [s.step for s in found] == list(range(1, min(last, longest) + 1))
    assert [s.open_ended for s in found] == [s.step == last < longest for s in found]
    assert sum(s.score("NC").n for s in found) == sum(map(len, walks))  # type: ignore[union-attr]


def test_a_chain_of_period_two_has_steps_of_both_units_and_no_ns_at_its_very_beginning() -> None:
    table = pd.DataFrame(
        row("multistep_reasoning", f"i{index}", unit, step, state, int(state == "1"))
        for index in range(3)
        for unit in ("X1", "X2")
        for step in (1, 2, 3)
        for state in ("n10" if (unit, step) != ("X1", 1) else "n")
    )
    found = chain_steps(table, BOARD)
    assert [(s.unit, s.step, s.prerequisite) for s in found] == [
        ("X1", 1, None),
        ("X1", 2, "X2"),
        ("X1", 3, "X2"),
        ("X2", 1, "X1"),
        ("X2", 2, "X1"),
        ("X2", 3, "X1"),
    ]
    assert [s.metric for s in found[0].scores] == ["NC"]
    assert {value(s, "NS", "1,n") for s in found[1:]} == {1.0}


def test_answers_that_wait_for_a_judge_give_no_value() -> None:
    table = maze_table(WALKS)
    table.loc[3, ["outcome", "solved"]] = "unscored", None
    steps = by_label(chain_steps(table, MAZE, last_bin=3))
    nc, ns = steps["3+"].score("NC"), steps["3+"].score("NS", "1,n")
    assert nc is not None
    assert ns is not None
    assert (nc.value, ns.value) == (None, None)
    assert nc.reason == "1 answers wait for a judge"
    assert value(steps["2"], "NC") == 1 / 4


def test_only_long_chains_can_be_asked_for_so_that_all_steps_have_the_same_instances() -> None:
    steps = chain_steps(maze_table(WALKS), MAZE, reaching=4)
    assert [s.instances for s in steps] == [2, 2, 2, 2]
    assert value(steps[0], "NC") == 1


def test_models_come_one_after_the_other() -> None:
    both = pd.concat([maze_table(WALKS, "a"), maze_table({"n": WALKS["1"], "1": WALKS["1"]}, "b")])
    found = chain_steps(both, MAZE, ["1,n"], last_bin=3)
    assert [s.model for s in found] == ["a"] * 3 + ["b"] * 3
    assert found.where(model="a") == chain_steps(maze_table(WALKS, "a"), MAZE, ["1,n"], last_bin=3)
    assert {value(s, "NS", "1,n") for s in found.where(model="b")} == {0.0}


def test_a_contrast_that_was_not_run_has_no_value() -> None:
    (first, *_) = chain_steps(maze_table({"n": WALKS["n"], "1": WALKS["1"]}), MAZE)
    score = first.score("NS", "0,n")
    assert score is not None
    assert (score.value, score.reason) == (None, "no question was scored under both configurations")


def test_rows_become_a_table_with_the_step_as_it_is_written() -> None:
    frame = chain_steps(maze_table(WALKS), MAZE, last_bin=3).to_frame()
    assert list(frame["step_label"].unique()) == ["1", "2", "3+"]
    assert {"metric", "value", "n", "limit_lower", "instances", "open_ended"} <= set(frame)
    assert len(ChainSteps().to_frame()) == 0


@pytest.mark.parametrize(
    ("task", "table", "options", "message"),
    [
        ("dice_sum", maze_table(WALKS), {}, "task dice_sum has no Markov chain"),
        ("maze", maze_table(WALKS), {"last_bin": 1}, "steps from 1 on cannot be pooled"),
        ("maze", maze_table(WALKS), {"reaching": 0}, "chains of at least 0 steps"),
        ("maze", maze_table(WALKS), {"reaching": 5}, "no instance has 5 steps. The longest chain has 4"),
        ("maze", pd.DataFrame([row("maze", "i", "X1", None, "n", 1)]), {}, "no row of a chain unit of task maze"),
        ("maze", maze_table({"n": [[1], [0]]}).assign(step=None), {}, "of chain unit Y without a step"),
        ("multistep_reasoning", maze_table(WALKS), {}, "no row of task multistep_reasoning"),
    ],
)
def test_what_cannot_be_done_is_said(task: str, table: pd.DataFrame, options: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        chain_steps(table, load_task(task), **options)


@pytest.mark.parametrize("history", ["full", "last"])
def test_a_simulated_model_is_measured_right_at_every_step_and_in_the_pool(tmp_path: Path, history: Any) -> None:
    count, length, last = 120, 5, 3
    pack = maze_pack(tmp_path / "pack", count, length)
    parameters = load_parameters("default")
    dodiag.run(pack, "sim:default", tmp_path / "run", units=["Y"], history=history)
    found = by_label(chain_steps(dodiag.outcomes(tmp_path / "run"), pack.task, last_bin=last))
    assert list(found) == ["1", "2", "3+"]
    for label, steps in (("1", [1]), ("2", [2]), ("3+", [3, 4, 5])):
        # Outcomes of one instance may depend on each other: as if there were one question per instance.
        slack = Z * math.sqrt(0.25 / count)
        for metric, state in (("NC", State.NATURAL), ("IC", State.CORRECT), ("RC", State.INCORRECT)):
            truths = []
            for step in steps:
                asked = Configuration.homogeneous(pack.task.prerequisites("Y", step), state)
                truths.append(probabilities(pack.task, parameters, "Y", (asked,), step)[asked])
            assert value(found[label], metric) == pytest.approx(sum(truths) / len(truths), abs=slack)
        for contrast in ("1,n", "0,n"):
            parts = [chain_contribution(pack.task, parameters, Contrast.parse(contrast), "Y", step) for step in steps]
            pooled = max(0.0, sum(part.p - part.p_prime for part in parts) / len(parts))
            assert value(found[label], "NS", contrast) == pytest.approx(pooled, abs=2 * slack)


def printed(content: RenderableType) -> str:
    out = io.StringIO()
    Console(width=118, file=out).print(content)
    return out.getvalue()


def test_the_report_names_the_history_and_marks_the_open_ended_step() -> None:
    steps = chain_steps(maze_table(WALKS), MAZE, last_bin=3)
    text = printed(chain_report(steps, MAZE, "last"))
    assert "Maze · m · each step given its Markov parent alone" in text
    assert "3+" in text
    assert "NS(1, ∅)" in text
    assert "5 / 3" in text
    assert "pools all later ones" in text
    assert "fewer instances" in text
    assert "each step given" not in printed(chain_report(steps, MAZE))


def test_the_figure_has_its_open_ended_steps_only_at_tasks_with_chains() -> None:
    assert {name for name in FIGURE_LAST_BINS if load_task(name).chains} == set(FIGURE_LAST_BINS)
    assert FIGURE_LAST_BINS["maze"] is None
    assert MAP.chain_of("X2") is not None
