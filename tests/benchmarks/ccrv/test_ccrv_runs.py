"""Runs of CCRV packs end to end: judging, scoring, controls, and what the causal view tells that DCR does not."""

import asyncio
import json
import math
import re

import pytest
from ccrv_sets import document, write
from packs import picture
from servers import completion, failure, serving
from typer.testing import CliRunner

import dodiag
from dodiag.benchmarks.ccrv.data import X_KEYS, ItemKey
from dodiag.benchmarks.ccrv.dice import dice_set
from dodiag.benchmarks.ccrv.dice_packs import export_dice_ladder, export_dice_levels
from dodiag.benchmarks.ccrv.judging import levels_inquiry, premise_inquiry, rubric_source
from dodiag.benchmarks.ccrv.levels import level_labels
from dodiag.benchmarks.ccrv.loader import dataset_of
from dodiag.benchmarks.ccrv.packs import export_items
from dodiag.benchmarks.ccrv.pictures import find_pictures
from dodiag.benchmarks.ccrv.scores import dcr
from dodiag.benchmarks.ccrv.views import view_graph
from dodiag.benchmarks.samples import sample_packs
from dodiag.cli_ccrv import app
from dodiag.evaluations.ccrv_audit import audit
from dodiag.evaluations.ccrv_runs import NO_JUDGE, item_outcomes, judge_items, score_items
from dodiag.problems import InvalidInput, UsageError
from dodiag.runners.adapters.function import FunctionAdapter
from dodiag.runners.adapters.simulated import SimulatedAdapter
from dodiag.runners.judging.criteria import CriteriaItem, criteria_prompt, read_labels
from dodiag.runners.judging.verdicts import NoVerdict
from dodiag.runners.protocol import Finish
from dodiag.scm.pack import load_pack
from dodiag.scm.simulator.answering import Simulator
from dodiag.scm.simulator.parameters import SimulatorParameters, UnitBehaviour

ITEMS = CriteriaItem("Judge.", (("Question", "why?"),), "because", (("L1", "one?"), ("L2", "two?")))


@pytest.mark.parametrize(
    ("text", "labels"),
    [
        ('{"id": "T", "L1": 1, "L2": 0}', {"L1": 1, "L2": 0}),
        ('{"id": "T", "l1": "yes", "l2": false, "why": "so"}', {"L1": 1, "L2": 0}),
        ('```json\n{"id": "T", "labels": {"L1": 1, "L2": 1}}\n```', {"L1": 1, "L2": 1}),
        ('{"L1": 1, "L2": 0}', {"L1": 1, "L2": 0}),
        ('{"L1": 0, "L2": 0} {"id": "T", "L1": 1, "L2": 1}', {"L1": 1, "L2": 1}),
        ('{"id": "other", "L1": 1, "L2": 1}', None),
        ('{"id": "T", "L1": 1}', None),
        ('{"id": "T", "L1": 1, "L2": 2}', None),
        ('{"id": "T", "L1": 1, "L2": 1} {"id": "T", "L1": 1, "L2": 0}', None),
        ("L1: 1, L2: 1", None),
        ("", None),
        (None, None),
    ],
)
def test_labels_are_read_whole_or_not_at_all(text, labels):
    found = read_labels(text, ["L1", "L2"], "T")
    assert found.labels == labels
    assert (found.reason is None) == (labels is not None)


def test_a_judge_that_was_cut_off_or_refused_gave_no_labels():
    assert read_labels('{"id": "T", "L1": 1', ["L1"], "T", Finish.LENGTH).reason is NoVerdict.TRUNCATED
    assert read_labels('{"id": "T", "L1": 1}', ["L1"], "T", Finish.REFUSAL).reason is NoVerdict.REFUSED


def test_an_answer_is_fenced_and_every_question_asked():
    text = criteria_prompt(ITEMS, "T7")
    assert text.count("T7\nbecause\nT7") == 1
    for part in ("Judge.", "Question:\nwhy?", "L1: one?", '"L2": 0 or 1', '{"id": "T7"'):
        assert part in text
    assert criteria_prompt(ITEMS, "T7", again=True).startswith("Your last reply held no labels")


def test_a_key_depends_on_everything_the_judge_is_shown():
    keys = {ITEMS.key(name, judge, "e", {}) for name in ("L1", "L2") for judge in ("a", "b")}
    other = CriteriaItem("Judge.", (("Question", "who?"),), "because", ITEMS.criteria)
    assert len(keys | {other.key("L1", "a", "e", {}), ITEMS.key("L1", "a", "e", {"temperature": 1})}) == 6


ITEM = dataset_of(document(), "set").by_key[ItemKey(7, X_KEYS[0], 0)]


def test_the_released_judge_of_plain_answers_sees_answer_and_rubric_alone():
    plain = levels_inquiry(ITEM, None, "the hand")
    assert plain.material == ()
    shown = dict(levels_inquiry(ITEM, None, "the hand", "symmetric").material)
    assert ITEM.ground_truth_answer in shown.values()
    assert [name for name, _ in plain.criteria] == ["L1", "L2", "L3"]


def test_the_judge_of_constrained_answers_sees_references_and_specification():
    inquiry = levels_inquiry(ITEM, ITEM.variants["Y2"], "x")
    shown = dict(inquiry.material)
    assert json.loads(shown["Its specification"])["target_true_name"] == "cup"
    assert shown["Adapted reference answer"] == ITEM.variants["Y2"].adapted_ground_truth
    assert "coordinate" in inquiry.instruction
    assert "coordinate" not in levels_inquiry(ITEM, ITEM.variants["Y4"], "x").instruction


def test_the_judge_of_false_premises_sees_them_and_says_one_thing():
    inquiry = premise_inquiry(ITEM.variants["Y3"], "x")
    assert "The cup stands upright by itself." in dict(inquiry.material)["Specification"]
    assert [name for name, _ in inquiry.criteria] == ["CSR"]


def test_a_variant_without_a_rubric_falls_back_to_its_items():
    bare = ITEM.variants["Y4"].model_copy(update={"rubric": None})
    assert (rubric_source(ITEM, bare), rubric_source(ITEM, ITEM.variants["Y4"])) == (
        "evaluation_rubric_fallback",
        "evaluation_rubric_main_set",
    )
    assert levels_inquiry(ITEM, bare, "x").criteria == levels_inquiry(ITEM, None, "x").criteria
    with pytest.raises(UsageError, match="no rubric"):
        levels_inquiry(ITEM.model_copy(update={"rubric": None}), bare, "x")


@pytest.fixture(scope="module")
def items(tmp_path_factory):
    folder = tmp_path_factory.mktemp("ccrv")
    dataset = dataset_of(document((7,)), "set")
    (folder / "7.jpg").write_bytes(picture("JPEG", (300, 240)))
    export_items(dataset, find_pictures(dataset, folder), folder / "items")
    return folder / "items"


GOOD = {
    "base": "The hand tips the cup.",
    "Y1": "Node_B tips Node_A.",
    "Y2": "Coordinate: [120, 80]\nExplanation: the cup is tipped here by a hand",
    "Y3": "That is false; the hand tips the cup.",
    "Y4": "hand tips cup",
}
BAD = {
    "base": "No idea.",
    "Y1": "The woman tips the cup.",
    "Y2": "[1, 1] because of the cup, I would say",
    "Y3": "It stands upright.",
    "Y4": "The hand tips it, clearly.",
}


def model(request):
    constraint = request.question.id.split("-")[-1]
    kind = GOOD if request.question.id.startswith(("X1", "X2")) else BAD
    return kind[constraint]


def judge(text, before=0):
    """Label as a judge would that knows the good answers: the bad ones name the entities and nothing more."""
    token = re.search(r"answer-\w+", text)[0]
    answer = re.search(rf"\n{token}\n(.*)\n{token}\n", text, re.DOTALL)[1]
    good = int(answer in GOOD.values())
    labels = {"CSR": good} if "\nCSR: " in text else {"L1": 1, "L2": good, "L3": good}
    return json.dumps({"id": token, **labels, "why": "as it is"})


@pytest.fixture(scope="module")
def judged(items, tmp_path_factory):
    out = tmp_path_factory.mktemp("run") / "run"
    dodiag.run(items, model, out, quick=True)
    with serving(judge) as served:
        found = judge_items(out, "openai/j", base_url=served.url)
        assert found.asked == served.requests
        again = judge_items(out, "openai/j", base_url=served.url)
        assert (again.asked, served.requests) == (0, found.asked)
        assert {body["temperature"] for body in served.bodies} == {0}
    return out


def test_one_reply_of_a_judge_labels_three_levels_and_compliance_is_by_rule(judged):
    found = score_items(judged)
    assert (found.judge, found.state, found.missing) == ("openai/j", "∅", {})
    overall = found.scores.figures()
    assert overall.base_levels == (1, 0.5, 0.5)
    assert overall.base_dcr == pytest.approx(2 / 3)
    assert overall.levels == (1, 0.5, 0.5)
    by_y = {y: found.scores.figures(y=y) for y in ("Y1", "Y2", "Y3", "Y4")}
    assert {y: figures.csr for y, figures in by_y.items()} == dict.fromkeys(by_y, 0.5)
    good, bad = found.scores.figures(X_KEYS[0]), found.scores.figures(X_KEYS[3])
    assert (good.dcr, good.edcr, good.ecdi) == (1, 1, 0)
    assert (bad.dcr, bad.edcr, bad.csr) == (pytest.approx(1 / 3), 0, 0)
    assert found.notes["Y2: point read as raw"] == 4


def test_the_oracle_control_is_a_state_of_its_own(judged):
    assert score_items(judged, state="1").state == "1"
    with pytest.raises(UsageError, match="E=0"):
        score_items(judged, state="0")


@pytest.mark.parametrize(
    ("measure", "share", "n"),
    [("L1", 1, 40), ("L2", 0.5, 40), ("chain", 0.5, 40), ("CSR", 0.5, 32), ("effective", 0.5, 40)],
)
def test_one_reply_is_read_for_several_units(judged, measure, share, n):
    table = item_outcomes(judged, measure)
    natural = table[table["configuration"] == "E=n"]
    assert (len(natural), natural["solved"].mean()) == (n, share)
    rows = dodiag.capabilities(table, view_graph("items"))
    assert values(rows, "A")["NC"] == share


def test_without_a_judge_only_whole_answers_are_known(items, tmp_path):
    dodiag.run(items, "sim:oracle", tmp_path / "run", quick=True)
    found = score_items(tmp_path / "run")
    assert (found.judge, found.missing) == (NO_JUDGE, {})
    assert found.scores.figures().base_dcr == 1
    dodiag.run(items, model, tmp_path / "real", quick=True)
    real = score_items(tmp_path / "real")
    assert real.missing["no labels"] > 0
    assert real.scores.figures().missing > 0


def test_a_judge_that_says_nothing_leaves_answers_missing_and_is_asked_again(items, tmp_path):
    dodiag.run(items, model, tmp_path / "run", quick=True)
    judge_items(tmp_path / "run", FunctionAdapter(lambda request: "Looks fine to me."))
    found = score_items(tmp_path / "run")
    assert found.missing == {"no labels": 40}
    assert found.scores.figures().n == 0
    with serving(lambda text, before: failure(500)) as served:
        first = judge_items(tmp_path / "run", "openai/j", base_url=served.url, max_retries=0)
        second = judge_items(tmp_path / "run", "openai/j", base_url=served.url, max_retries=0)
        assert first.asked == second.asked == served.requests / 2
    with serving(lambda text, before: failure(401, "bad key")) as served:
        stopped = judge_items(tmp_path / "run", "openai/k", base_url=served.url, concurrency=1)
        assert stopped.stopped is not None
        assert served.requests == 1


def test_an_empty_reply_fails_every_level_and_its_constraint(items, tmp_path):
    dodiag.run(items, lambda request: " ", tmp_path / "run", quick=True)
    found = score_items(tmp_path / "run")
    assert found.missing == {}
    assert (found.scores.figures().csr, found.scores.figures().dcr) == (0, 0)
    assert sum(found.notes.values()) == 40


def test_a_judge_that_cannot_be_reached_takes_no_other_s_place_and_is_not_said_to_have_answered(items, tmp_path):
    run = tmp_path / "run"
    dodiag.run(items, model, run, quick=True, limit=1)
    with serving(judge) as served:
        first = judge_items(run, "openai/j", base_url=served.url)
    assert (first.labelled, first.unlabelled, first.complete) == (first.asked, {}, True)
    assert first.spent.requests == served.requests == first.asked
    assert (first.spent.input, first.spent.output) == (12 * first.asked, 3 * first.asked)
    with serving(lambda text, before: failure(500)) as served:
        words = ("judge", run, "--judge", "openai/other", "--judge-base-url", served.url, "--max-retries", "0")
        said = called(*words)
    assert said.exit_code == 3
    assert f"{first.asked} questions have no labels: the judge could not be reached" in said.stderr
    assert ", 0 were answered" in said.output
    found = score_items(run)
    assert (found.judge, found.missing) == ("openai/j", {})
    silent = judge_items(run, FunctionAdapter(lambda request: "Looks fine to me."))
    assert (silent.labelled, silent.unlabelled) == (0, {"judge_parse": silent.asked})
    assert silent.spent.requests == 2 * silent.asked, "a judge whose reply holds no labels is asked once more"
    assert silent.complete


def test_what_a_pack_leaves_out_is_in_no_denominator(tmp_path):
    """A model without a fault has no fault, though some items of the set were never asked."""
    raw = document((7, 8))
    first, second = raw[0]["questions"][X_KEYS[0]]
    del first["main_set_versions"][2]["constraint_spec"]["false_premise"]
    del second["evaluation_rubric"]
    raw[1]["questions"][X_KEYS[1]][0]["main_set_versions"].pop(1)
    for image in (7, 8):
        (tmp_path / f"{image}.jpg").write_bytes(picture("JPEG", (300, 240)))
    dataset = dataset_of(raw, "set")
    written = export_items(dataset, find_pictures(dataset, tmp_path), tmp_path / "pack")
    assert {(left.where, left.reason) for left in written.left_out} == {
        ("image 7, X1_discovery 0", "there is no false premise to inject as state 0"),
        ("image 7, X1_discovery 1", "there is no rubric"),
        ("image 8, X2_prediction 0", "there is no variant for Y2"),
    }
    dodiag.run(tmp_path / "pack", "sim:oracle", tmp_path / "run", quick=True)
    found = score_items(tmp_path / "run")
    assert (found.left_out, found.missing) == (3, {})
    overall = found.scores.figures()
    assert (overall.base_dcr, overall.dcr, overall.n, overall.base_n) == (1, 1, 13 * 4, 13)
    shown = called("score", tmp_path / "run")
    assert "3 items of the set are not in the pack, and in no figure" in shown.stderr
    assert "missing" not in shown.stderr


def test_a_set_without_constraints_is_not_exported_and_the_cure_is_named(tmp_path):
    dataset = dataset_of(document((7,), constrained=False), "set")
    (tmp_path / "7.jpg").write_bytes(picture("JPEG", (300, 240)))
    with pytest.raises(UsageError, match="Name the file with constrained variants"):
        export_items(dataset, find_pictures(dataset, tmp_path), tmp_path / "pack")


def test_an_empty_reply_keeps_its_outcome_in_the_tables(items, tmp_path):
    with serving(lambda text, before: completion(None, "content_filter")) as served:
        dodiag.run(items, "openai/m", tmp_path / "run", base_url=served.url, quick=True)
    table = item_outcomes(tmp_path / "run", "L1")
    assert set(zip(table["outcome"], table["solved"], strict=True)) == {("refused", 0)}
    (note,) = score_items(tmp_path / "run").notes
    assert note.startswith("refused without a text")


def test_a_run_of_another_task_is_refused(tmp_path):
    dodiag.run("dice_sum", "sim:default", tmp_path / "run", quick=True, limit=1)
    for act in (score_items, item_outcomes):
        with pytest.raises(UsageError, match="dice_sum"):
            act(tmp_path / "run")
    with pytest.raises(UsageError, match="dice_sum"):
        judge_items(tmp_path / "run", "openai/x", base_url="http://127.0.0.1:9")


def test_text_only_and_oracle_controls_reach_a_server_as_they_should(items, tmp_path):
    with serving(lambda text, before: "cup") as served:
        dodiag.run(items, "openai/m", tmp_path / "blind", base_url=served.url, quick=True, with_media=False)
        assert all(isinstance(body["messages"][-1]["content"], str) for body in served.bodies)
    with serving(lambda text, before: "cup") as served:
        dodiag.run(items, "openai/m", tmp_path / "seeing", base_url=served.url, quick=True)
        prompts = ["".join(p.get("text", "") for p in b["messages"][-1]["content"]) for b in served.bodies]
    informed = [text for text in prompts if "<prerequisites>" in text]
    assert len(informed) == len(prompts) / 2
    y1 = [text for text in informed if "Which node tips" in text.split("</prerequisites>")[1]]
    assert all("Node_B tips Node_A until it runs out." in text for text in y1)
    assert not any("The hand tips it" in text for text in y1)


def people(path, rows):
    header = "instance,question,configuration,draw,rater,L1,L2,L3"
    path.write_text("\n".join([header, *rows]) + "\n", encoding="utf-8")
    return path


def test_people_are_compared_with_each_other_and_with_the_judge(judged, tmp_path):
    """Two good answers and two bad ones; one rater doubts a good one's conclusion, and none finds entities missing."""
    asked = [("X1-0-base", "1,1,1"), ("X2-0-Y4", "1,1,1"), ("X3-0-base", "1,0,0"), ("X4-0-Y1", "1,1,0")]
    rows = [f"7,{q},E=n,0,{rater},{labels}" for q, labels in asked for rater in "abc"]
    rows[0] = "7,X1-0-base,E=n,0,a,1,1,0"
    found = audit(people(tmp_path / "l.csv", rows), judged)
    level = {entry.level: entry for entry in found.levels}
    assert [level[name].people.unanimous for name in ("L1", "L2", "L3", "chain")] == [4, 4, 3, 3]
    assert (level["L1"].people.fleiss, level["L2"].people.fleiss) == (None, pytest.approx(1))
    assert [level[name].same for name in ("L1", "L2", "L3", "chain")] == [4, 3, 4, 4]
    assert level["L3"].cohen == 1
    assert found.people_dcr == pytest.approx((1 + 1 + 1 / 3 + 2 / 3) / 4)
    assert found.judge_dcr == pytest.approx((1 + 1 + 1 / 3 + 1 / 3) / 4)
    said = called("audit", judged, "--labels", tmp_path / "l.csv").output
    assert found.instances == 1
    assert (found.people_dcr_limits, level["L3"].fleiss_limits) == (None, None)
    assert "L2: 4 of 4 unanimous, Fleiss' kappa 1.000 [no limits]" in said
    assert "judge openai/j 66.7" in said


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([], "has no labels"),
        (["7,X1-0-base,E=n,0,a,1,1,1", "7,X1-0-base,E=n,0,b,1,1,1"], "have 2 people"),
        (["7,X1-0-none,E=n,0,a,1,1,1"], "no answer to instance 7, question X1-0-none"),
        (["7,X1-0-base,E=n,0,a,1,2,1"], "incomplete"),
        (["7,X1-0-base,E=n,x,a,1,1,1"], "incomplete"),
        (["7,X1-0-base,E=n,0,a,1,1,1"] * 2, "rated twice"),
    ],
)
def test_labels_that_cannot_be_compared_are_refused(judged, tmp_path, rows, message):
    with pytest.raises((UsageError, InvalidInput), match=message):
        audit(people(tmp_path / "l.csv", rows), judged)


DRAWS = 20


def simulated(name, **units):
    parameters = SimulatorParameters(name=name, units={unit: UnitBehaviour(**b) for unit, b in units.items()})
    return SimulatedAdapter(Simulator(parameters))


@pytest.fixture(scope="module")
def dice():
    return dice_set(load_pack(sample_packs()["dice_sum"]))


def values(rows, unit):
    return {row.metric: row.value for row in rows if row.unit == unit and row.metric in ("NC", "IC", "RC")}


def test_not_seeing_and_not_reasoning_have_one_dcr_and_different_capabilities(dice, tmp_path):
    """One model fails to find what stops the die, and reasons perfectly; the other does not use it and reasons badly.

    Every causal task has the same DCR in both, 0.6. Supplying the relation tells them apart: IC is 1 and 0.6.
    """
    export_dice_ladder(dice, tmp_path / "pack", "prediction")
    task = load_pack(tmp_path / "pack").task
    unseeing = simulated("unseeing", X1={"skill": 0.6}, X2={"skill": 1.0, "reliance": 1.0})
    unreasoning = simulated("unreasoning", X1={"skill": 0.6}, X2={"skill": 0.6, "reliance": 0.0})
    found = {}
    for model in (unseeing, unreasoning):
        out = tmp_path / model.model.removeprefix("sim:")
        dodiag.run(tmp_path / "pack", model, out, draws=DRAWS)
        table = dodiag.outcomes(out)
        rows = dodiag.capabilities(table, task)
        scores = dodiag.contributions(table, task, contrasts=["1,n"])
        necessity = next(row.value for row in scores if row.metric == "N")
        found[model.model] = {"X1": values(rows, "X1"), "X2": values(rows, "X2"), "N": necessity}
    first, second = found.values()
    error = 4 * math.sqrt(0.6 * 0.4 / (10 * DRAWS))
    for one in (first, second):
        for x in ("X1", "X2"):
            assert one[x]["NC"] == pytest.approx(0.6, abs=error)
    assert first["X2"]["IC"] == 1
    assert first["X2"]["RC"] == 0
    assert second["X2"]["IC"] == pytest.approx(0.6, abs=error)
    assert second["X2"]["RC"] == pytest.approx(0.6, abs=error)
    assert first["N"] == pytest.approx(0.4, abs=error)
    assert second["N"] == pytest.approx(0, abs=error)


def test_using_and_ignoring_the_relation_have_the_same_levels_and_dcr(dice, tmp_path):
    """Both models pass L1, L2, L3 after the cascade equally often; only one concludes from what it has found."""
    export_dice_levels(dice, tmp_path / "pack")
    task = load_pack(tmp_path / "pack").task
    using = simulated("using", L2={"skill": 0.8}, L3={"skill": 0.75, "reliance": 1.0})
    ignoring = simulated("ignoring", L2={"skill": 0.8}, L3={"skill": 0.75, "reliance": 0.0})
    means, capable = [], []
    for model in (using, ignoring):
        out = tmp_path / model.model.removeprefix("sim:")
        dodiag.run(tmp_path / "pack", model, out, draws=DRAWS)
        table = dodiag.outcomes(out)
        labels = level_labels(table)
        assert len(labels) == 20 * DRAWS
        means.append(sum(map(dcr, labels)) / len(labels))
        capable.append(values(dodiag.capabilities(table, task), "L3"))
    error = 4 * 2 / 3 * math.sqrt(0.8 * 0.2 / (10 * DRAWS)) + 4 / 3 * math.sqrt(0.6 * 0.4 / (10 * DRAWS))
    assert means == pytest.approx([0.8, 0.8], abs=error)
    tolerance = 4 * math.sqrt(0.25 / (10 * DRAWS))
    assert capable[0]["IC"] == pytest.approx(0.75, abs=tolerance)
    assert capable[1]["IC"] == pytest.approx(0.75, abs=tolerance)
    assert capable[0]["RC"] == 0
    assert capable[1]["RC"] == pytest.approx(0.75, abs=tolerance)


def test_figures_are_printed_with_their_limits_by_image(tmp_path):
    dodiag.run("ccrv", "sim:default", tmp_path / "run", quick=True)
    shown = called("score", tmp_path / "run").output
    assert "below each figure its limits at 95%, by image" in shown
    figures = json.loads(called("score", tmp_path / "run", "--json").output)["figures"]
    lower, upper = figures[0]["limits"]["dcr"]
    assert lower < figures[0]["dcr"] < upper
    lines = shown.splitlines()
    below = lines[next(place for place, line in enumerate(lines) if line.startswith(" all")) + 1].split()
    assert f"{math.floor(100 * lower + 0.01)}–{math.ceil(100 * upper - 0.01)}" in below
    with pytest.raises(UsageError, match="cannot be written"):
        called("score", tmp_path / "run", "--measure", "L1", "--out", tmp_path / "none" / "x.csv")


def test_levels_need_answers_with_nothing_injected(dice, tmp_path):
    export_dice_levels(dice, tmp_path / "pack")
    dodiag.run(tmp_path / "pack", "sim:default", tmp_path / "run", quick=True)
    with pytest.raises(UsageError, match="no answer of L1"):
        level_labels(dodiag.outcomes(tmp_path / "run"))


def called(*words):
    found = CliRunner().invoke(app, [str(word) for word in words])
    if found.exception is not None and not isinstance(found.exception, SystemExit):
        raise found.exception
    return found


def test_the_commands_go_from_a_set_to_its_figures(tmp_path):
    main = write(tmp_path / "main.json", document((7,)))
    (tmp_path / "vg").mkdir()
    (tmp_path / "vg" / "7.jpg").write_bytes(picture("JPEG", (300, 240)))
    checked = called("check", main, "--images", tmp_path / "vg", "--details")
    assert "1 images, 8 items, 32 variants: no problems" in checked.output
    assert json.loads(called("check", main, "--json").output)["variants"] == 32
    called("export", main, "--images", tmp_path / "vg", "--out", tmp_path / "pack")
    called("export", main, "--images", tmp_path / "vg", "--out", tmp_path / "cot", "--style", "cot_b")
    called("export", main, "--images", tmp_path / "vg", "--out", tmp_path / "x4", "--view", "intervention")
    assert load_pack(tmp_path / "x4").questions_per_unit == {"X1": 2, "X4": 2}
    dodiag.run(tmp_path / "pack", model, tmp_path / "run", quick=True)
    with serving(judge) as served:
        said = called("judge", tmp_path / "run", "--judge", "openai/j", "--judge-base-url", served.url)
        assert f"{served.requests} questions were sent" in said.output
    assert "X4 intervention" in called("score", tmp_path / "run").output
    found = json.loads(called("score", tmp_path / "run", "--json").output)
    assert found["left_out"] == 0
    assert found["figures"][0]["base_dcr"] == pytest.approx(2 / 3)
    assert (found["figures"][0]["images"], found["figures"][0]["limits"]["base_dcr"]) == (1, None)
    assert "one image says nothing about others" in called("score", tmp_path / "run").output
    called("score", tmp_path / "run", "--measure", "L2", "--out", tmp_path / "l2.csv")
    assert len(dodiag.read_outcomes(tmp_path / "l2.csv")) == 80


def test_the_commands_refuse_what_they_cannot_do(tmp_path):
    for words, message in [
        (("score",), "exactly one thing"),
        (("score", tmp_path, "--denominator", "fix"), "Did you mean 'fixed'"),
        (("score", tmp_path, "--y2", "loose"), "rule 'loose'"),
        (("score", tmp_path, "--measure", "L1"), "go together"),
        (("score", "--results", tmp_path / "x"), "need their set"),
        (("score", "--results", tmp_path / "x", "--state", "1", "--y2", "strict"), "--state, --y2 says nothing about"),
        (("export", "m.json", "--images", "vg", "--out", "o", "--view", "level"), "a set has no view 'level'"),
        (("export", "m.json", "--images", "vg", "--out", "o", "--style", "cot"), "no style 'cot'"),
        (
            ("export", "m.json", "--images", "vg", "--out", "o", "--view", "diagnosis", "--style", "cot_a"),
            "--style cot_a says nothing about the view diagnosis",
        ),
        (("score", tmp_path, "--set", tmp_path / "x"), "--set says nothing about a run"),
        (
            ("score", tmp_path, "--measure", "L1", "--out", "x", "--state", "1", "--json"),
            "--state, --json says nothing",
        ),
        (("dice", "--out", tmp_path / "o", "--view", "step"), "no ladder 'step'"),
        (("check", tmp_path / "none.json"), "cannot be read"),
    ]:
        with pytest.raises(UsageError, match=re.escape(message)):
            called(*words)


@pytest.mark.parametrize("view", ["levels", "prediction", "diagnosis", "intervention", "items"])
def test_dice_packs_run_from_the_command_line_to_capabilities(tmp_path, view):
    called("dice", "--view", view, "--out", tmp_path / "pack", "--document", tmp_path / "set.json")
    dodiag.run(tmp_path / "pack", "sim:default", tmp_path / "run", limit=2)
    table = dodiag.outcomes(tmp_path / "run")
    assert table["solved"].notna().all()
    assert "7 images, 40 items, 160 variants" in called("check", tmp_path / "set.json").output


def test_released_result_files_are_scored_from_the_command_line(tmp_path):
    raw = document((7,))
    for x in X_KEYS:
        for question in raw[0]["questions"][x]:
            question["evaluation_results"] = {"raw_scores": {"r1": 1, "r2": 1, "r3": 1}}
            for variant in question["main_set_versions"][:3]:
                variant["main_set_evaluation_results"] = {"raw_scores": {"r1": 1, "r2": 0, "r3": 1}, "CSR": 1}
    path = write(tmp_path / "results.json", raw)
    found = json.loads(called("score", "--results", path, "--set", path, "--json").output)
    assert found["missing"] == {"no result": 8}
    assert found["figures"][0]["dcr"] == pytest.approx(0.25)
    shown = called("score", "--results", path, "--set", path)
    assert "missing answers count as 0 here: 8 of 32 with a constraint, 0 of 8 without" in shown.stderr
    matched = called("score", "--results", path, "--set", path, "--denominator", "matched")
    assert re.search(r"^ all +Y4 +0 +8 ", matched.output, re.MULTILINE), "n is of the pairs that are averaged"
    raw[0]["questions"][X_KEYS[1]][1]["main_set_versions"][0]["constrained_question"] = "Which?"
    with pytest.raises(InvalidInput, match="image 7, X2_prediction 1, Y1: asks another question than the set"):
        called("score", "--results", path, "--set", write(tmp_path / "other.json", raw))
    available = called("score", "--results", path, "--set", path, "--denominator", "available", "--json")
    assert json.loads(available.output)["figures"][0]["dcr"] == pytest.approx(1 / 3)


def test_judging_works_where_a_loop_is_running_already(items, tmp_path):
    dodiag.run(items, model, tmp_path / "run", quick=True, limit=1)

    async def notebook():
        return judge_items(tmp_path / "run", FunctionAdapter(lambda r: judge(r.prompt.text)))

    assert asyncio.run(notebook()).asked > 0
