"""A simulated model behind the adapter protocol."""

from __future__ import annotations

import asyncio
import itertools
import json
import math
from pathlib import Path
from typing import Any

import pytest
from packs import sums_pack

import dodiag
from dodiag.interventions.design import History
from dodiag.interventions.prompts import Assembler, Prompt
from dodiag.problems import InvalidInput, UsageError
from dodiag.runners.adapters.simulated import SimulatedAdapter
from dodiag.runners.protocol import Adapter, CallFailed, FailureKind, Finish, Reply, Request, Usage
from dodiag.scm.files import load_task, write_task
from dodiag.scm.pack import Instance, Pack, Question, load_pack
from dodiag.scm.simulator import Simulator, SimulatorParameters, UnitBehaviour, capabilities, load_parameters
from dodiag.scm.simulator.reading_prompts import read_configuration
from dodiag.vocabulary import Configuration, State

DICE = load_task("dice_sum")
ROLL = Instance(
    id="roll",
    questions=(
        Question(id="top", unit="X2", text="What is up?", answer="A", choices=("one", "two", "three"), incorrect="B"),
        Question(id="pips", unit="X3", text="How many pips?", answer=4, incorrect=5),
    ),
)


def ask(adapter: SimulatedAdapter, text: str, draw: int = 0) -> Reply:
    request = Request(Prompt(text), {}, DICE, ROLL, ROLL.question("pips"), draw)
    return asyncio.run(adapter.answer(request))


def block(answer: str) -> str:
    entry = {"prerequisite": DICE.units["X2"].title, "question": "What is up?", "answer": answer}
    return f"<prerequisites>\n{json.dumps([entry])}\n</prerequisites>\n\nHow many pips?"


def test_it_is_an_adapter_that_sees_text_alone() -> None:
    adapter = SimulatedAdapter.from_name("sim:default", DICE)
    assert isinstance(adapter, Adapter)
    assert (adapter.model, adapter.sees_media) == ("sim:default", False)
    asyncio.run(adapter.close())


def test_its_reply_is_the_simulators_under_the_configuration_that_the_prompt_injects() -> None:
    simulator = Simulator.named("default")
    adapter = SimulatedAdapter(simulator)
    replies = set()
    for draw in range(50):
        for text, state in (("How many pips?", "n"), (block("A. one"), "1"), (block("B. two"), "0")):
            reply = ask(adapter, text, draw)
            configuration = Configuration.parse(f"X2={state}")
            assert reply.text == simulator.reply(DICE, ROLL, ROLL.question("pips"), configuration, draw)
            assert (reply.finish, reply.usage) == (Finish.STOP, Usage())
            replies.add((draw, state, reply.text))
    natural, correct, incorrect = ({text for _, s, text in replies if s == state} for state in "n10")
    assert natural != correct != incorrect


def test_a_prompt_that_cannot_be_read_is_a_failed_call() -> None:
    with pytest.raises(CallFailed, match="neither the correct nor the incorrect answer") as caught:
        ask(SimulatedAdapter.from_name("default"), block("C. three"))
    assert caught.value.kind is FailureKind.BAD_REQUEST


def test_changed_parameters_are_another_endpoint() -> None:
    one = SimulatedAdapter(Simulator(SimulatorParameters(name="mine")))
    two = SimulatedAdapter(Simulator(SimulatorParameters(name="mine", units={"Y": UnitBehaviour(skill=0.9)})))
    assert one.model == two.model
    assert one.endpoint != two.endpoint
    assert one.endpoint == SimulatedAdapter(Simulator(SimulatorParameters(name="mine"))).endpoint
    assert one.endpoint.startswith("sim:")
    assert len(one.endpoint) == len("sim:") + 16


def test_parameters_are_checked_against_the_task_before_any_call(tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text("units: {X9: {skill: 0.5}}")
    with pytest.raises(InvalidInput, match="no unit 'X9'"):
        SimulatedAdapter.from_name(str(file), DICE)
    with pytest.raises(UsageError, match="Did you mean 'oracle'"):
        SimulatedAdapter.from_name("sim:oracles", DICE)
    with pytest.raises(CallFailed, match="no unit 'X9'"):
        ask(SimulatedAdapter.from_name(file), "How many pips?")


def chained_pack(folder: Path, slug: str) -> Pack:
    """A text pack of three steps for each unit of a chain and one question for every other unit."""
    task = load_task(slug)
    questions = []
    for unit in task.units:
        for step in (1, 2, 3) if task.chain_of(unit) else (None,):
            kind = task.units[unit].answer.type
            questions.append(
                {
                    "id": f"{unit}-{step}",
                    "unit": unit,
                    "text": "What is next?",
                    "step": step,
                    "choices": ["left", "right", "up"] if kind in ("choice", "letter_list") else None,
                    "answer": {"choice": "B", "text": f"goes {step}", "integer_list": [1, 2]}.get(kind, 4),
                    "incorrect": "stays" if kind == "text" else None,
                }
            )
    (folder / "task.yaml").write_text(write_task(task))
    (folder / "instances.jsonl").write_text(json.dumps({"id": "one", "questions": questions}) + "\n")
    return load_pack(folder)


@pytest.mark.parametrize("history", ["full", "last"])
@pytest.mark.parametrize("slug", ["dice_sum", "maze", "multistep_reasoning", "map_navigation"])
def test_what_the_assembler_injects_is_what_the_simulator_reads(tmp_path: Path, slug: str, history: History) -> None:
    pack = chained_pack(tmp_path, slug)
    assembler = Assembler(pack, history, with_media=False)
    instance = pack.instance("one")
    for question in instance.questions:
        prerequisites = pack.task.prerequisites(question.unit, question.step)
        mechanism = Simulator.named("default").mechanism(pack.task, question.unit, question.step)
        for states in itertools.product(State, repeat=len(prerequisites)):
            configuration = Configuration(tuple(zip(prerequisites, states, strict=True)))
            text = assembler.prompt(instance, question, configuration).text
            found = mechanism.states(read_configuration(text, pack.task, instance, question))
            assert [alike(state) for state in found] == [alike(state) for state in mechanism.states(configuration)]


@pytest.mark.parametrize("preset", ["default", "scaffolded"])
def test_capabilities_are_recovered_where_instances_lack_a_prerequisite(tmp_path: Path, preset: str) -> None:
    """Two of three instances have no question of X2: nothing can be said about it there, and IC is IC all the same."""

    def without(instance: dict[str, Any]) -> None:
        if int(instance["id"].removeprefix("s")) % 3:
            del instance["questions"][1]

    pack = sums_pack(tmp_path / "p", 1500, without)
    dodiag.run(
        pack, f"sim:{preset}", tmp_path / "r", states=["1", "0", "n"], contrasts=[], target_only=True, quiet=True
    )
    truth = capabilities(pack.task, load_parameters(preset))["Y"]
    found = dodiag.capabilities(dodiag.outcomes(tmp_path / "r"), pack.task)
    assert {score.metric for score in found} == {"NC", "IC", "RC"}
    for score in found:
        p = getattr(truth, score.metric)
        assert score.value == pytest.approx(p, abs=4.5 * math.sqrt(p * (1 - p) / 1500)), score.metric


def alike(state: State) -> State:
    """1 and 1t show the same text."""
    return State.CORRECT if state is State.CORRECT_TEXT else state
