"""Packs with answers of every type run from plan to outcome, and what is wrong in one is found before any call."""

import json

import pytest

import dodiag
from dodiag.interventions.prompts import Assembler
from dodiag.problems import InvalidInput
from dodiag.runners.ledger import Ledger
from dodiag.runners.protocol import Finish, Reply
from dodiag.runners.scoring import score
from dodiag.scm.answers import show_answer
from dodiag.scm.pack import correct_answer, load_pack, spec_of
from dodiag.scm.simulator.answering import Simulator
from dodiag.scm.simulator.replies import STYLES, write_reply
from dodiag.vocabulary import Configuration

TASK = """\
schema: 1
name: scene
title: Scene
modality: text
target: Y
units:
  X1: {title: Attributes, category: perception, answer: {type: set, choices: [red, green, blue, dark red]}}
  X2: {title: Values, category: perception, answer: {type: set, min: 0, max: 20}}
  X3: {title: Weights, category: perception, answer: {type: set, members: number, tolerance: 0.1}}
  X4: {title: Presence, category: perception, answer: {type: yes_no}}
  X5: {title: Claim, category: cognitive, answer: {type: yes_no, true_false: true}}
  X6: {title: Place, category: spatial, answer: {type: coordinate, tolerance: 20}}
  X7: {title: Extent, category: spatial, answer: {type: coordinate, shape: box, iou: 0.5}}
  X8: {title: Share, category: spatial, answer: {type: coordinate, units: fractions, tolerance: 0.05},
       parents: [X1, X2, X3, X4]}
  Y: {title: Click, category: spatial, answer: {type: coordinate}, parents: [X5, X6, X7, X8]}
"""
TRUTHS = {
    "X1": ["A", "C"],
    "X2": [5, 3],
    "X3": "1.5, 0.25",
    "X4": True,
    "X5": "false",
    "X6": [100, 240],
    "X7": [10, 20, 110, 220],
    "X8": [0.25, 0.75],
    "Y": [40, 40, 80, 90],
}


def write(folder, task=TASK, count=12, **changed):
    folder.mkdir()
    (folder / "task.yaml").write_text(task, encoding="utf-8")
    lines = [
        json.dumps({
            "id": f"i{index}",
            "questions": [
                {"id": f"i{index} {unit}", "unit": unit, "text": f"{unit}?", "answer": truth, **changed.get(unit, {})}
                for unit, truth in TRUTHS.items()
            ],
        })
        for index in range(count)
    ]  # fmt: skip
    (folder / "instances.jsonl").write_text("\n".join(lines), encoding="utf-8")
    return folder


def test_a_simulated_model_is_read_without_a_single_slip(tmp_path):
    """Every reply is an answer, and is scored right exactly where the simulator's model solves the question."""
    pack = load_pack(write(tmp_path / "pack"))
    summary = dodiag.run(pack, "sim:default", tmp_path / "run", contrasts=["1,n", "1,0"])
    assert summary.complete
    simulator = Simulator.named("default")
    instances = {instance.id: instance for instance in pack.instances()}
    seen = {}
    with Ledger(tmp_path / "run") as ledger:
        for row in ledger.calls():
            instance = instances[row.instance]
            question = instance.question(row.question)
            configuration = Configuration.parse(row.configuration)
            assert row.outcome == "value", ledger.reply(row.key).reply
            assert row.solved == simulator.solves(pack.task, instance, question, configuration, row.draw), row
            seen.setdefault(row.unit, set()).add(row.solved)
    assert seen.keys() == TRUTHS.keys()
    assert sum(len(outcomes) == 2 for outcomes in seen.values()) >= 5


@pytest.mark.parametrize("unit", TRUTHS)
@pytest.mark.parametrize("style", range(len(STYLES)))
def test_right_and_wrong_replies_of_every_style_are_told_apart(tmp_path, unit, style):
    pack = load_pack(write(tmp_path / "pack", count=1))
    instance = next(pack.instances())
    question = instance.question(f"i0 {unit}")
    for solved in (True, False):
        for seed in "abcdefgh":
            reply = write_reply(pack.task, instance, question, solved, style, seed)
            scored = score(pack.task, question, Reply(reply, Finish.STOP))
            assert (scored.outcome, scored.solved) == ("value", solved), reply


@pytest.mark.parametrize(
    ("unit", "truth"),
    [
        ("X3", [1.305, 2.126]),
        ("X3", [1.305, 2.1265]),
        ("X3", [4.311, 17.78]),
        ("X3", [0.30000000000000004, 1e-7]),
        ("X8", [0.061, 0.172, 0.815, 0.868]),
        ("X8", [0.43799999999999994, 1e-5]),
    ],
)
def test_what_state_1_shows_is_read_as_the_truth(tmp_path, unit, truth):
    """A model that says again what it was given solves the question, however the truth is written."""
    pack = load_pack(write(tmp_path / "pack", count=1, **{unit: {"answer": truth, "incorrect": [0.02, 0.03]}}))
    question = next(pack.instances()).question(f"i0 {unit}")
    spec = spec_of(pack.task, question)
    shown = show_answer(correct_answer(pack.task, question), spec)
    assert "e" not in shown
    for style in STYLES:
        scored = score(pack.task, question, Reply(style(shown), Finish.STOP))
        assert (scored.outcome, scored.solved) == ("value", True), style(shown)


@pytest.mark.parametrize(
    "truth", ['"Stop"', "**Stop**", '**"Stop"**', "“turn *left*”", "`Stop`", "\\boxed{Stop}", "Stop."]
)
@pytest.mark.parametrize(
    "reply", ["{}", "Answer: {}", "<answer>{}</answer>", "Hm.\nFinal answer: {}", "**Answer:** {}"]
)
def test_a_reply_that_is_the_reference_solves_a_question_for_a_text(tmp_path, truth, reply):
    task = TASK.replace("Presence, category: perception, answer: {type: yes_no}", "Sign, category: perception, "
                        "answer: {type: text}")  # fmt: skip
    given = {"answer": truth, "incorrect": '"Yield"'}
    pack = load_pack(write(tmp_path / "pack", task, count=1, X4=given))
    question = next(pack.instances()).question("i0 X4")
    for said, solved in ((truth, True), (truth.upper(), True), ('"Yield"', False), ("yield", False)):
        if "boxed" in truth and said == truth.upper():
            continue
        scored = score(pack.task, question, Reply(reply.format(said), Finish.STOP))
        assert (scored.outcome, scored.solved) == ("value", solved), said


def test_a_model_that_says_the_truth_in_the_asked_form_solves_everything(tmp_path):
    pack = load_pack(write(tmp_path / "pack", count=1))
    said = {
        "X1": "A, C", "X2": "3, 5", "X3": "0.25, 1.5", "X4": "yes", "X5": "false", "X6": "110, 240",
        "X7": "10, 20, 110, 200", "X8": "0.25, 0.78", "Y": "41, 89.5",
    }  # fmt: skip
    dodiag.run(pack, lambda request: said[request.question.unit], tmp_path / "run", states=["1", "0", "n"])
    with Ledger(tmp_path / "run") as ledger:
        assert {(row.outcome, row.solved, row.strict) for row in ledger.calls()} == {("value", 1, 1)}


def test_what_a_set_has_wrong_is_in_the_record(tmp_path):
    pack = load_pack(write(tmp_path / "pack", count=1))
    question = next(pack.instances()).question("i0 X1")
    for reply, solved, flags in [
        ("A, C", 1, ""),
        ("C, A, A", 1, "duplicates,lenient"),
        ("A", 0, "missing"),
        ("A, B, C", 0, "surplus"),
        ("A, D", 0, "missing,surplus"),
    ]:
        columns = score(pack.task, question, Reply(reply, Finish.STOP)).columns()
        assert (columns["outcome"], columns["solved"], columns["flags"]) == ("value", solved, flags)


def test_the_options_of_a_set_are_shown_and_what_is_injected_has_the_asked_form(tmp_path):
    pack = load_pack(write(tmp_path / "pack", count=1))
    instance = next(pack.instances())

    def prompt(unit, configuration):
        question = instance.question(f"i0 {unit}")
        return Assembler(pack).prompt(instance, question, Configuration.parse(configuration)).text

    assert "A. red\nB. green\nC. blue\nD. dark red" in prompt("X1", "")
    correct = prompt("X8", "X1=1,X2=1,X3=1,X4=1")
    for shown in ('"A, C"', '"3, 5"', '"0.25, 1.5"', '"yes"'):
        assert f'"answer": {shown}' in correct
    assert '"answer": "no"' in prompt("X8", "X1=0,X2=0,X3=0,X4=0")
    assert '"answer": "true"' in prompt("Y", "X5=0,X6=0,X7=0,X8=0")
    assert '"answer": "10, 20, 110, 220"' in prompt("Y", "X5=1,X6=1,X7=1,X8=1")


@pytest.mark.parametrize(
    ("unit", "question", "words"),
    [
        ("X1", {"answer": "A, E"}, "choices"),
        ("X1", {"incorrect": "C, A"}, "equals the correct one"),
        ("X2", {"answer": [1, 21]}, "outside"),
        ("X2", {"choices": ["a1", "b1"], "answer": [1]}, "none of the choices"),
        ("X4", {"answer": "maybe"}, "neither yes nor no"),
        ("X6", {"answer": [0.1, 0.2]}, "fractions"),
        ("X6", {"incorrect": [101, 241]}, "equals the correct one"),
        ("X7", {"answer": [110, 220, 10, 20]}, "left, top, right, bottom"),
        ("X7", {"incorrect": [10, 20, 110, 200]}, "equals the correct one"),
        ("X8", {"answer": [25, 75]}, "0 to 1"),
    ],
)
def test_a_wrong_answer_in_a_pack_is_found_before_any_call(tmp_path, unit, question, words):
    with pytest.raises(InvalidInput, match=words):
        load_pack(write(tmp_path / "pack", count=1, **{unit: question}))


def test_a_set_of_letters_without_choices_is_refused(tmp_path):
    task = TASK.replace("type: set, choices: [red, green, blue, dark red]", "type: set, members: letter")
    with pytest.raises(InvalidInput, match="no choices"):
        load_pack(write(tmp_path / "pack", task, count=1))
