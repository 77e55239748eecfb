"""Terminal tables say why there is no number, and print no limit that was not computed."""

import io

import numpy as np
import pandas as pd
import pytest
from rich.console import Console

from dodiag.bounds.diagnosis import diagnose
from dodiag.bounds.scores import Score
from dodiag.interventions.plan import make_plan
from dodiag.interventions.price import Assumptions, price
from dodiag.report.diagnosis_tables import diagnosis_report
from dodiag.report.plan_tables import plan_table
from dodiag.report.tables import interval, outcome_line, score_cell, with_limits
from dodiag.scm.answers import AnswerSpec
from dodiag.scm.files import load_task
from dodiag.scm.graph import TaskGraph
from dodiag.scm.schema import Unit

SPEC = AnswerSpec(type="integer")
TASK = TaskGraph(
    name="t",
    title="T",
    modality="text",
    target="Y",
    units={
        "X1": Unit(title="A", category="c", answer=SPEC),
        "Y": Unit(title="B", category="c", answer=SPEC, parents=("X1",)),
    },
)


@pytest.mark.parametrize(
    ("reason", "n", "word"),
    [
        ("3 answers wait for a judge", 40, "unscored"),
        ("no question was scored under both configurations", 0, "no data"),
        ("undefined: Y=1 under a was never observed", 40, "undefined"),
    ],
)
def test_a_cell_without_a_number_says_why(reason, n, word):
    bounded = Score("m", "t", "Y", "PN", "X1", "1,n", n=n, reason=reason)
    assert interval(bounded) == word
    if word != "undefined":
        score = Score("m", "t", "Y", "N", "X1", "1,n", n=n, reason=reason)
        assert score_cell(score) == with_limits(score) == word


def printed(report):
    console = Console(width=200, record=True, file=io.StringIO())
    console.print(report)
    return console.export_text()


def test_a_limit_that_one_instance_cannot_give_is_not_printed_as_zero():
    """Twenty instances, but only one of them with the rerun of the baseline that the bound by instance needs."""
    generator = np.random.default_rng(0)
    rows = [
        {"instance": f"i{i}", "configuration": f"X1={state}", "draw": 0, "solved": int(generator.random() < p)}
        for i in range(20)
        for state, p in (("n", 0.3), ("1", 0.8))
    ]
    failed = next(r["instance"] for r in rows if r["configuration"] == "X1=n" and not r["solved"])
    rows.append({"instance": failed, "configuration": "X1=n", "draw": 1, "solved": 0})
    common = {"model": "m", "task": "t", "unit": "Y", "step": None, "outcome": "value", "question": "q"}
    found = diagnose(pd.DataFrame(rows).assign(**common), TASK, ["1,n"])
    (finding,) = found.where(metric="S")
    assert finding.instance_level.lower.value == 1.0
    assert finding.to_dict()["instance_limit_lower"] is None
    text = printed(diagnosis_report(found, TASK, 0.95))
    assert "1.00 [0.00]" not in text
    assert "1.00" in text


def test_no_call_is_left_out_of_the_count():
    line = outcome_line(pd.DataFrame({"outcome": ["value", "value", "error", "timeout"]}))
    assert line.plain == "4 calls: 2 an answer, 1 no reply (missing), 1 of another outcome"


def test_a_plan_says_how_later_steps_of_a_chain_are_asked():
    chained = make_plan(load_task("multistep_reasoning"))
    text = printed(plan_table(chained, price(chained)))
    assert "none; from step 2 X2" in text
    assert "1; from step 2 3" in text
    graph = make_plan(load_task("dice_sum"))
    assert "from step 2" not in printed(plan_table(graph, price(graph)))


def test_a_plan_says_which_half_of_its_cost_is_unknown():
    graph = make_plan(load_task("dice_sum"))
    assert "No price is known" in printed(plan_table(graph, price(graph)))
    priced = price(graph, Assumptions(input_price=1.0, output_price=2.0))
    assert "a task graph has no questions to measure" in printed(plan_table(graph, priced))
