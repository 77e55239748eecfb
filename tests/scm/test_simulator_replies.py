"""What a simulator means by a reply is what is read from it, whatever the type of the answer."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from packs import SUMS, sums_instance, write_pack

import dodiag
from dodiag.runners.protocol import Reply
from dodiag.runners.scoring import score
from dodiag.scm.answers import normalise, same_answer
from dodiag.scm.graph import TaskGraph
from dodiag.scm.pack import Instance, Question, correct_answer, spec_of
from dodiag.scm.schema import Unit
from dodiag.scm.simulator import Simulator, SimulatorParameters, UnitBehaviour, capabilities, load_parameters
from dodiag.scm.simulator.replies import DECLINED, NO_IDEA, STYLES, write_reply
from dodiag.vocabulary import Configuration, Outcome

OPTIONS = (
    "red", "yes", "no", "true", "A cat", "the answer is red", "It cannot be told", "none of these", "I am", "left", "1",
    "2", "3.5", "10", "clear", "the result is clear", "in turn", "5 dice", "both A and B", "all of the above",
    "not sure", "unknown", "Final answer", "-1", "north-east", "I think so", "B and C", "E. coli", "result", "Ω", "猫",
    "**bold**", "option B", "a < b", "$x$", "1/2", "50%", "N/A", "It", "is", "either", "Looking at everything",
)  # fmt: skip
TEXTS = (
    "the bus", "turns left.", "3", "because: x", "stops; then goes", "(red)", "no", "it is unknown", "Über die Brücke",
    "the driver said: stop", "at 5:30", "N/A", "the answer",
)  # fmt: skip
LETTERS = "ABCDEFGHIJKL"

Asked = tuple[dict[str, Any], dict[str, Any]]
Draw = st.DrawFn


def options(draw: Draw) -> list[str]:
    chosen = st.lists(st.sampled_from(OPTIONS), min_size=2, max_size=12, unique_by=str.casefold)
    return draw(chosen | st.integers(2, 12).map(lambda count: list(LETTERS[:count])))


def of_choice(draw: Draw) -> Asked:
    offered = options(draw)
    return {"type": "choice"}, {"choices": offered, "answer": draw(st.sampled_from(LETTERS[: len(offered)]))}


def of_letters(kind: str) -> Callable[[Draw], Asked]:
    def asked(draw: Draw) -> Asked:
        offered = options(draw)
        letters = draw(st.lists(st.sampled_from(LETTERS[: len(offered)]), min_size=1, unique=True))
        return {"type": kind}, {"choices": offered, "answer": letters}

    return asked


def of_integer(draw: Draw) -> Asked:
    return {"type": "integer"}, {"answer": draw(st.integers(-(10**12), 10**12))}


def of_integers(kind: str) -> Callable[[Draw], Asked]:
    def asked(draw: Draw) -> Asked:
        return {"type": kind}, {"answer": draw(st.lists(st.integers(-20, 50), min_size=1, max_size=6, unique=True))}

    return asked


def of_number(draw: Draw) -> Asked:
    number = st.floats(-1e9, 1e9).map(lambda number: round(number, 9)) | st.sampled_from(
        [0.0, -0.0, 1e-7, -1.5e-5, 1e16, 1e22, 0.1 + 0.2, 2.5]
    )
    return {"type": "number", "tolerance": draw(st.sampled_from([0.0, 0.1, 1.9]))}, {"answer": draw(number)}


def of_numbers(draw: Draw) -> Asked:
    tenths = draw(st.lists(st.integers(-200, 500), min_size=1, max_size=5, unique=True))
    return {"type": "set", "members": "number"}, {"answer": [tenth / 10 for tenth in tenths]}


def of_yes_no(draw: Draw) -> Asked:
    return {"type": "yes_no", "true_false": draw(st.booleans())}, {"answer": draw(st.sampled_from(["yes", "no"]))}


def of_coordinate(shape: str) -> Callable[[Draw], Asked]:
    def asked(draw: Draw) -> Asked:
        units, size = draw(st.sampled_from([("pixels", 0.5), ("fractions", 0.001), ("plain", 0.01)]))
        corner = st.tuples(st.integers(2, 900), st.integers(2, 900))
        left, top, width, height = (*draw(corner), *draw(st.tuples(st.integers(1, 99), st.integers(1, 99))))
        box = [left * size, top * size, (left + width) * size, (top + height) * size]
        return {"type": "coordinate", "shape": shape, "units": units}, {"answer": box}

    return asked


def of_text(draw: Draw) -> Asked:
    written = st.lists(st.sampled_from(TEXTS), min_size=1, max_size=3).map(" ".join)
    incorrect = draw(st.none() | written)
    return {"type": "text"}, {"answer": draw(written)} | ({} if incorrect is None else {"incorrect": incorrect})


KINDS: dict[str, Callable[[Draw], Asked]] = {
    "choice": of_choice,
    "letter list": of_letters("letter_list"),
    "set of letters": of_letters("set"),
    "integer": of_integer,
    "integer list": of_integers("integer_list"),
    "set of integers": of_integers("set"),
    "number": of_number,
    "set of numbers": of_numbers,
    "yes or no": of_yes_no,
    "point in a box": of_coordinate("point"),
    "box": of_coordinate("box"),
    "text": of_text,
}


def question_of(answer: dict[str, Any], fields: dict[str, Any]) -> tuple[TaskGraph, Question]:
    unit = Unit.model_validate({"title": "Unit", "category": "perception", "answer": answer})
    task = TaskGraph(name="asked", title="Asked", modality="text", target="Y", units={"Y": unit})
    return task, Question(id="q", unit="Y", text="What is it?", **fields)


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_a_reply_is_read_as_it_is_meant(kind: str, data: st.DataObject) -> None:
    """Solved is read as solved and nothing else, in every style; no reply waits for a judge."""
    task, question = question_of(*KINDS[kind](data.draw))
    spec, truth = spec_of(task, question), correct_answer(task, question)
    if question.incorrect is not None and same_answer(truth, normalise(question.incorrect, spec), spec):
        return
    instance = Instance(id="i", questions=(question,))
    seed = data.draw(st.integers(0, 10**6))
    for style in range(len(STYLES)):
        for solved in (True, False):
            reply = write_reply(task, instance, question, solved, style, str(seed + style))
            found = score(task, question, Reply(reply))
            assert found.solved is solved, reply
            assert found.outcome is Outcome.VALUE or reply in (NO_IDEA, DECLINED), reply


@pytest.mark.parametrize(
    ("answer", "fields", "reply", "outcome"),
    [
        ({"type": "integer", "min": 4, "max": 4}, {"answer": 4}, NO_IDEA, Outcome.NONE),
        ({"type": "number"}, {"answer": 1e22}, NO_IDEA, Outcome.NONE),
        ({"type": "letter_list"}, {"answer": "A", "choices": ("It", "I")}, NO_IDEA, Outcome.NONE),
        ({"type": "text"}, {"answer": "the bus"}, DECLINED, Outcome.REFUSED),
    ],
)
def test_where_there_is_no_wrong_answer_the_model_gives_none_and_fails(
    answer: dict[str, Any], fields: dict[str, Any], reply: str, outcome: Outcome
) -> None:
    task, question = question_of(answer, fields)
    hopeless = Simulator(SimulatorParameters(name="hopeless", defaults=UnitBehaviour(skill=0.0)))
    assert hopeless.reply(task, Instance(id="i", questions=(question,)), question, Configuration()) == reply
    found = score(task, question, Reply(reply))
    assert (found.outcome, found.solved) == (outcome, False)


@pytest.mark.parametrize(
    ("answer", "fields", "text"),
    [
        ({"type": "number"}, {"answer": 1e-7}, "0.0000001"),
        ({"type": "number"}, {"answer": 1e22}, "10000000000000000000000"),
        ({"type": "number"}, {"answer": 0.1 + 0.2}, "0.3"),
        ({"type": "number"}, {"answer": -0.0}, "0"),
        ({"type": "number"}, {"answer": 120.0}, "120"),
        ({"type": "coordinate", "units": "fractions"}, {"answer": [0.061, 0.172, 0.815, 0.868]}, "0.438, 0.52"),
        ({"type": "integer"}, {"answer": 10**15 + 1}, "1000000000000001"),
    ],
)
def test_numbers_are_written_in_decimals_without_the_noise_of_binary_fractions(
    answer: dict[str, Any], fields: dict[str, Any], text: str
) -> None:
    task, question = question_of(answer, fields)
    assert write_reply(task, Instance(id="i", questions=(question,)), question, True, 0, "") == text


def test_a_text_target_without_an_incorrect_text_is_recovered_by_the_pipeline(tmp_path: Path) -> None:
    """Nothing of it is missing: a failure that waited for a judge would leave successes alone, a rate of 1."""
    text = SUMS.replace("answer: {type: integer, min: 0, max: 40}", "answer: {type: text}")
    instances = [sums_instance(index) for index in range(400)]
    for instance in instances:
        instance["questions"][2]["answer"] = "turn left"
    pack = dodiag.load_pack(write_pack(tmp_path / "p", text, instances))
    dodiag.run(pack, "sim:default", tmp_path / "r", target_only=True, contrasts=["1,n"], quiet=True)
    truth = capabilities(pack.task, load_parameters("default"))["Y"]
    found = {s.metric: s for s in dodiag.capabilities(dodiag.outcomes(tmp_path / "r"), pack.task)}
    for metric in ("NC", "IC"):
        p = getattr(truth, metric)
        assert found[metric].n == 400
        assert found[metric].value == pytest.approx(p, abs=4.5 * (p * (1 - p) / 400) ** 0.5)
