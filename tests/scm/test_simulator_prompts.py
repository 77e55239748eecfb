"""A simulator reads what is injected from the prompt's text alone."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import pytest

from dodiag.problems import UsageError
from dodiag.scm.answers import show_answer
from dodiag.scm.files import load_task
from dodiag.scm.graph import TaskGraph
from dodiag.scm.pack import Instance, Question, correct_answer, incorrect_answer, spec_of
from dodiag.scm.simulator.reading_prompts import read_configuration
from dodiag.vocabulary import WITHHELD

DICE = load_task("dice_sum")
MAZE = load_task("maze")
STEPS = load_task("multistep_reasoning")
MAP = load_task("map_navigation")
COLOURS = ("red", "green", "blue")

ROLL = Instance(
    id="roll",
    questions=(
        Question(id="count", unit="X1", text="How many dice?", answer=3),
        Question(id="top1", unit="X2", text="Which side is up?", answer="A", incorrect="B", choices=("yes", "no")),
        Question(id="top2", unit="X2", text="Which side is up?", answer="B", incorrect="A", choices=("yes", "no")),
        Question(id="pips1", unit="X3", text="How many pips on die 1?", answer=4, incorrect=5),
        Question(id="pips2", unit="X3", text="How many pips on die 2?", answer=5, incorrect=4),
        Question(id="sum", unit="Y", text="What is the sum?\n<prerequisites>", answer=7),
    ),
)
LEFT_RIGHT = {"choices": ("left", "right"), "text": "Which way?"}
WALK = Instance(
    id="walk",
    questions=(
        Question(id="start", unit="X1", text="Where is the start?", answer="A", choices=("left", "right")),
        *(Question(id=f"move{step}", unit="Y", answer="AB"[step % 2], step=step, **LEFT_RIGHT) for step in (1, 2, 3)),
    ),
)
GAME = Instance(
    id="game",
    questions=(
        *(
            Question(id=f"{unit}{step}", unit=unit, step=step, text=text, **fields)
            for step in (1, 2, 3)
            for unit, text, fields in (
                ("X1", "Where is it?", {"answer": [step, 1]}),
                ("X2", "What happens?", {"answer": f"it moves {step}", "incorrect": "it stays"}),
            )
        ),
        Question(id="end", unit="Y", text="How does it end?", answer="well"),
    ),
)

Entry = dict[str, Any]


def entry(task: TaskGraph, instance: Instance, question_id: str, state: str) -> Entry:
    """One entry of the block as the contract words it, for the states 1, 0, q and d (withheld: drawn)."""
    question = instance.question(question_id)
    spec = spec_of(task, question)
    fields: Entry = {"prerequisite": task.units[question.unit].title, "question": question.text}
    if question.step is not None:
        fields["step"] = question.step
    if state == "1":
        fields["answer"] = show_answer(correct_answer(task, question), spec)
    elif state == "0":
        fields["answer"] = show_answer(incorrect_answer(task, instance, question), spec)
    elif state == "d":
        fields["answer"] = WITHHELD
    return fields


def prompt(*entries: Entry) -> str:
    """A prompt with a block of these entries."""
    array = json.dumps(entries, ensure_ascii=False, indent=1)
    return f"Some of it has been answered.\n<prerequisites>\n{array}\n</prerequisites>\n\nWhat is asked?\n"


def injected(task: TaskGraph, instance: Instance, **states: str) -> str:
    """A prompt that injects each question in its own state."""
    return prompt(*(entry(task, instance, question, state) for question, state in states.items()))


@pytest.mark.parametrize(
    ("states", "configuration"),
    [
        ({"count": "1"}, "X1=1,X2=n,X3=n"),
        ({"count": "0"}, "X1=0,X2=n,X3=n"),
        ({"count": "q"}, "X1=q,X2=n,X3=n"),
        ({"count": "0", "top1": "1", "top2": "1", "pips1": "q", "pips2": "q"}, "X1=0,X2=1,X3=q"),
        ({"pips2": "0", "pips1": "0", "count": "1"}, "X1=1,X2=n,X3=0"),
        ({"pips1": "1"}, "X1=n,X2=n,X3=1"),
    ],
)
def test_the_state_of_each_prerequisite_is_read(states: dict[str, str], configuration: str) -> None:
    text = injected(DICE, ROLL, **states)
    assert str(read_configuration(text, DICE, ROLL, ROLL.question("sum"))) == configuration


@pytest.mark.parametrize("state", ["1", "0"])
def test_questions_with_the_same_text_are_told_apart_by_their_order(state: str) -> None:
    """The two yes-or-no questions show the same two answers in both states, in opposite order."""
    text = injected(DICE, ROLL, top1=state, top2=state)
    assert read_configuration(text, DICE, ROLL, ROLL.question("sum"))["X2"] == state


def test_without_a_block_everything_is_natural() -> None:
    for text in ("What is the sum?", "", "a\n<prerequisites> and\n[]\n</prerequisites>"):
        assert str(read_configuration(text, DICE, ROLL, ROLL.question("sum"))) == "X1=n,X2=n,X3=n"
    assert str(read_configuration("How many dice?", DICE, ROLL, ROLL.question("count"))) == ""
    assert str(read_configuration(prompt(), DICE, ROLL, ROLL.question("sum"))) == "X1=n,X2=n,X3=n"


def test_only_required_questions_are_expected() -> None:
    """None of X1 is required, so X1 is as good as absent, and read as the others are."""
    questions = tuple(
        question.model_copy(update={"requires": ("top2", "pips1")}) if question.id == "sum" else question
        for question in ROLL.questions
    )
    instance = ROLL.model_copy(update={"questions": questions})
    for state in "10":
        text = injected(DICE, instance, top2=state, pips1=state)
        assert (
            str(read_configuration(text, DICE, instance, instance.question("sum")))
            == f"X1={state},X2={state},X3={state}"
        )


@pytest.mark.parametrize(
    ("instance", "task", "asked", "states", "configuration"),
    [
        (WALK, MAZE, "move1", {"start": "1"}, "X1=1"),
        (WALK, MAZE, "move1", {}, "X1=n"),
        (WALK, MAZE, "move2", {"move1": "d"}, "Y=1"),
        (WALK, MAZE, "move3", {"move1": "d", "move2": "d"}, "Y=1"),
        (WALK, MAZE, "move3", {"move1": "0", "move2": "0"}, "Y=0"),
        (WALK, MAZE, "move3", {"move2": "0"}, "Y=0"),
        (WALK, MAZE, "move3", {"move1": "q", "move2": "q"}, "Y=q"),
        (WALK, MAZE, "move3", {}, "Y=n"),
        (GAME, STEPS, "X11", {}, ""),
        (GAME, STEPS, "X21", {"X11": "0"}, "X1=0"),
        (GAME, STEPS, "X12", {"X11": "1", "X21": "1"}, "X2=1"),
        (GAME, STEPS, "X22", {"X11": "0", "X21": "0", "X12": "0"}, "X1=0"),
        (GAME, STEPS, "end", {f"X1{step}": "1" for step in (1, 2, 3)}, "X1=1,X2=n"),
        (
            GAME,
            STEPS,
            "end",
            {f"X{unit}{step}": "1" if unit == 1 else "0" for step in (1, 2, 3) for unit in (1, 2)},
            "X1=1,X2=0",
        ),
    ],
)
def test_a_trajectory_is_the_state_of_the_one_prerequisite_in_the_chain(
    instance: Instance, task: TaskGraph, asked: str, states: dict[str, str], configuration: str
) -> None:
    text = injected(task, instance, **states) if states else "Which way?"
    assert str(read_configuration(text, task, instance, instance.question(asked))) == configuration


def block(text: str) -> str:
    return f"<prerequisites>\n{text}\n</prerequisites>\n"


TITLE = DICE.units["X1"].title
WRONG_ANSWER = {**entry(DICE, ROLL, "count", "1"), "answer": "12"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (block("[{]"), "not JSON"),
        (block('{"a": 1}'), "not a JSON array"),
        (block("[1]"), "entry 1 .* malformed"),
        (
            block(json.dumps([{"prerequisite": TITLE, "question": "How many dice?", "answer": 3}])),
            "entry 1 .* malformed",
        ),
        (prompt(WRONG_ANSWER), "'12' to 'How many dice\\?' is neither the correct nor the incorrect answer"),
        (prompt({**WRONG_ANSWER, "question": "How many?"}), "is no question of a prerequisite of unit Y"),
        (prompt({**WRONG_ANSWER, "step": 1}), "at step 1 is no question"),
        (injected(DICE, ROLL, sum="1"), "is no question of a prerequisite of unit Y"),
        (injected(DICE, ROLL, pips1="1", pips2="0"), "X3 is injected both in state 1 and in state 0"),
        (injected(DICE, ROLL, pips1="1", pips2="q"), "X3 is injected both in state 1 and in state q"),
        (injected(DICE, ROLL, top1="1"), "'A. yes' to 'Which side is up\\?' could be correct or incorrect"),
        (injected(DICE, ROLL, count="d"), "is neither"),
        (prompt(*[entry(DICE, ROLL, "count", "1")] * 2), "stands 2 times, but the instance has it 1 times"),
    ],
)
def test_a_block_that_leaves_a_doubt_is_refused_and_says_why(text: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        read_configuration(text, DICE, ROLL, ROLL.question("sum"))


ALIKE = Instance(
    id="alike",
    questions=(
        Question(id="there", unit="X1", text="How many?", answer=3, incorrect=4),
        Question(id="top", unit="X2", text="Which side is up?", answer="A", incorrect="B", choices=("yes", "no")),
        Question(id="pips", unit="X3", text="How many?", answer=3, incorrect=4),
        Question(id="sum", unit="Y", text="What is the sum?", answer=7),
    ),
)


@pytest.mark.parametrize("state", ["1", "0", "q"])
def test_prerequisites_that_are_asked_alike_are_read_only_where_it_cannot_matter_whose_is_whose(state: str) -> None:
    """One of two: the prompt would be the same for either of them, and no reader may choose."""
    same = {unit: DICE.units[unit].model_copy(update={"title": "Counting"}) for unit in ("X1", "X3")}
    task = dataclasses.replace(DICE, units={**DICE.units, **same})
    both = injected(task, ALIKE, there=state, pips=state)
    assert str(read_configuration(both, task, ALIKE, ALIKE.question("sum"))) == f"X1={state},X2=n,X3={state}"
    for one in ("there", "pips"):
        with pytest.raises(UsageError, match=r"asked for each of X1, X3, and stands there 1 times of 2.*titles"):
            read_configuration(injected(task, ALIKE, **{one: state}), task, ALIKE, ALIKE.question("sum"))


def test_a_wrong_answer_to_a_question_that_has_none_is_refused() -> None:
    questions = tuple(
        question.model_copy(update={"incorrect": None}) if question.unit == "X2" else question
        for question in GAME.questions
    )
    instance = GAME.model_copy(update={"questions": questions})
    said = {**entry(STEPS, instance, "X21", "1"), "answer": "it flies"}
    with pytest.raises(UsageError, match=r"question X12, cannot be read: 'it flies' to 'What happens\?' is neither"):
        read_configuration(prompt(said), STEPS, instance, instance.question("X12"))


@pytest.mark.parametrize(
    ("states", "configuration"),
    [
        ({"count": "1", "pips1": "1", "pips2": "1"}, "X1=1,X2=1,X3=1"),
        ({"count": "0"}, "X1=0,X2=n,X3=n"),
        ({"count": "q", "pips1": "q", "pips2": "q"}, "X1=q,X2=q,X3=q"),
        ({}, "X1=n,X2=n,X3=n"),
    ],
)
def test_a_prerequisite_without_a_question_is_read_as_most_of_the_others(
    states: dict[str, str], configuration: str
) -> None:
    """X2 has none on this roll. The others may be equally often in two states; then it is natural."""
    instance = ROLL.model_copy(update={"questions": tuple(q for q in ROLL.questions if q.unit != "X2")})
    text = injected(DICE, instance, **states)
    assert str(read_configuration(text, DICE, instance, instance.question("sum"))) == configuration


def test_an_error_names_the_prompt() -> None:
    with pytest.raises(UsageError, match="the prompt of instance roll, question sum, cannot be read"):
        read_configuration(prompt(WRONG_ANSWER), DICE, ROLL, ROLL.question("sum"))


def test_the_future_of_a_chain_is_no_prerequisite() -> None:
    with pytest.raises(UsageError, match="at step 3 is no question of a prerequisite of unit Y"):
        read_configuration(injected(MAZE, WALK, move3="0"), MAZE, WALK, WALK.question("move2"))


def test_steps_in_different_states_are_refused() -> None:
    with pytest.raises(UsageError, match="Y is injected both in state 1 and in state 0"):
        read_configuration(injected(MAZE, WALK, move1="d", move2="0"), MAZE, WALK, WALK.question("move3"))


def test_a_unit_outside_the_chain_reads_every_step_of_it() -> None:
    questions = (
        Question(id="where", unit="X1", text="Where?", answer="A", choices=COLOURS),
        *(Question(id=f"turn{step}", unit="X2", answer="A", step=step, **LEFT_RIGHT) for step in (1, 2)),
        Question(id="count", unit="Y", text="How many?", answer=2),
    )
    instance = Instance(id="map", questions=questions)
    text = injected(MAP, instance, where="0", turn1="1", turn2="1")
    assert str(read_configuration(text, MAP, instance, instance.question("count"))) == "X1=0,X2=1"
