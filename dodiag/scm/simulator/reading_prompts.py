"""Find out from a prompt's text in which states the prerequisites are injected, as a model would have to.

The injected block is a JSON array between the lines ``<prerequisites>`` and ``</prerequisites>``. An entry names the
prerequisite's title, the question, in chains the step, and the answer, which is compared with what the states 1 and 0
would show. The text of 1 and of 1t is the same; both are read as 1.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from dodiag.problems import UsageError
from dodiag.scm.answers import show_answer
from dodiag.scm.graph import TaskGraph
from dodiag.scm.pack import Instance, Question, correct_answer, incorrect_answer, spec_of
from dodiag.scm.simulator.responses import filled
from dodiag.vocabulary import BLOCK_END, BLOCK_START, WITHHELD, Configuration, State

BLOCK = re.compile(rf"^{BLOCK_START}\r?\n(.*?)^{BLOCK_END}\r?$", re.MULTILINE | re.DOTALL)
"""The injected block, with what stands between its two lines."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry of the injected block.

    Attributes
    ----------
    prerequisite : str
        The unit's title.
    question : str
        The question's text.
    step : int or None
        The chain step.
    answer : str or None
        As it is shown; None where the entry gives none.
    """

    prerequisite: str
    question: str
    step: int | None
    answer: str | None


def read_entries(text: str) -> tuple[Entry, ...]:
    """Return the entries of a prompt's injected block; none where there is no block.

    Raises
    ------
    UsageError
        If the block is not a JSON array of entries.

    Examples
    --------
    >>> prompt = '''<prerequisites>
    ... [{"prerequisite": "Object Detection", "question": "How many dice?", "answer": "3"}]
    ... </prerequisites>
    ...
    ... What is the sum?'''
    >>> read_entries(prompt)
    (Entry(prerequisite='Object Detection', question='How many dice?', step=None, answer='3'),)
    """
    block = BLOCK.search(text)
    if block is None:
        return ()
    try:
        data = json.loads(block[1])
    except ValueError as error:
        raise UsageError(f"the prompt's prerequisites block is not JSON: {error}") from None
    if not isinstance(data, list):
        raise UsageError("the prompt's prerequisites block is not a JSON array")
    return tuple(_entry(item, number) for number, item in enumerate(data, start=1))


def read_configuration(text: str, task: TaskGraph, instance: Instance, question: Question) -> Configuration:
    """Return the configuration that a prompt injects.

    Parameters
    ----------
    text : str
        The prompt.
    task, instance, question
        What the prompt asks.

    Returns
    -------
    Configuration
        Over the prerequisites of the question's unit at its step. A prerequisite that the block does not mention is
        natural; one of which the instance has no question is in the state of most of the others, see :func:`filled`.
        For a unit of a chain, the entries of the trajectory before it (any unit of the chain) give the state of its one
        prerequisite in the chain.

    Raises
    ------
    UsageError
        If the block cannot be read, an entry belongs to no prerequisite of the question, shows neither the correct nor
        the incorrect answer, or entries of one prerequisite are in different states.
    """
    prerequisites = task.prerequisites(question.unit, question.step)
    states = dict.fromkeys(prerequisites, State.NATURAL)
    entries = read_entries(text)
    if not entries:
        return Configuration.of(states)
    try:
        states |= _injected_states(entries, task, instance, question)
    except UsageError as error:
        place = f"the prompt of instance {instance.id}, question {question.id}"
        raise UsageError(f"{place}, cannot be read: {error.message}", error.cure) from None
    known = filled(tuple(states.values()), prerequisites, absent(task, instance, question))
    return Configuration(tuple(zip(prerequisites, known, strict=True)))


Key = tuple[str, str, int | None]


def _entry(item: object, number: int) -> Entry:
    if isinstance(item, dict):
        title, question, step = item.get("prerequisite"), item.get("question"), item.get("step")
        answer = item.get("answer")
        if (
            isinstance(title, str)
            and isinstance(question, str)
            and (step is None or isinstance(step, int))
            and (answer is None or isinstance(answer, str))
        ):
            return Entry(title, question, step, answer)
    raise UsageError(
        f"entry {number} of the prompt's prerequisites block is malformed",
        "An entry has 'prerequisite' and 'question' and may have 'step' and 'answer'.",
    )


def _injected_states(
    entries: tuple[Entry, ...], task: TaskGraph, instance: Instance, question: Question
) -> dict[str, State]:
    groups: dict[Key, list[tuple[str, Question]]] = {}
    for prerequisite, asked in injectable(task, instance, question):
        key = (task.units[asked.unit].title, asked.text, asked.step)
        groups.setdefault(key, []).append((prerequisite, asked))
    shown: dict[Key, list[str | None]] = {}
    for entry in entries:
        shown.setdefault((entry.prerequisite, entry.question, entry.step), []).append(entry.answer)
    states: dict[str, State] = {}
    for key, answers in shown.items():
        title, text, step = key
        at_step = "" if step is None else f" at step {step}"
        if key not in groups:
            raise UsageError(
                f"'{title}: {text}'{at_step} is no question of a prerequisite of unit {question.unit} in this instance"
            )
        alike = dict.fromkeys(prerequisite for prerequisite, _ in groups[key])
        if len(alike) > 1 and len(answers) < len(groups[key]):
            raise UsageError(
                f"'{title}: {text}'{at_step} is asked for each of {', '.join(alike)}, and stands there "
                f"{len(answers)} times of {len(groups[key])}: whose it is cannot be told",
                "Give the units different titles, or their questions different texts.",
            )
        state = _state(task, instance, [candidate for _, candidate in groups[key]], answers)
        for prerequisite in alike:
            if states.setdefault(prerequisite, state) is not state:
                raise UsageError(
                    f"prerequisite {prerequisite} is injected both in state {states[prerequisite].symbol} and in state "
                    f"{state.symbol} ('{title}: {text}'{at_step})",
                    "All questions of one prerequisite are injected in one state.",
                )
    return states


def absent(task: TaskGraph, instance: Instance, question: Question) -> frozenset[str]:
    """Return the prerequisites for which nothing can be injected, as the instance has no question of them."""
    prerequisites = task.prerequisites(question.unit, question.step)
    return frozenset(prerequisites) - {prerequisite for prerequisite, _ in injectable(task, instance, question)}


def injectable(task: TaskGraph, instance: Instance, question: Question) -> Iterator[tuple[str, Question]]:
    """Yield every question that may be injected, with the prerequisite whose state it shows."""
    chain = task.chain_of(question.unit)
    cycle = chain.units if chain is not None else ()
    required = None if question.requires is None else frozenset(question.requires)
    prerequisites = task.prerequisites(question.unit, question.step)

    def moment(asked: Question) -> tuple[int, int]:
        return asked.step or 1, cycle.index(asked.unit)

    previous = next((unit for unit in prerequisites if unit in cycle), None)
    for other in instance.questions:
        if required is not None and other.id not in required:
            continue
        if other.unit in cycle:
            if previous is not None and moment(other) < moment(question):
                yield previous, other
        elif other.unit in prerequisites:
            yield other.unit, other


def _state(task: TaskGraph, instance: Instance, candidates: list[Question], answers: list[str | None]) -> State:
    """Return the state in which questions with the same title, text and step are injected."""
    first = candidates[0]
    if len(answers) > len(candidates):
        raise UsageError(f"'{first.text}' stands {len(answers)} times, but the instance has it {len(candidates)} times")
    if all(answer is None for answer in answers):
        return State.QUESTION_ONLY
    chain = task.chain_of(first.unit)
    if chain is not None and chain.withhold_answers and all(answer == WITHHELD for answer in answers):
        return State.CORRECT
    specs = [spec_of(task, candidate) for candidate in candidates]
    correct = [
        show_answer(correct_answer(task, candidate), spec) for candidate, spec in zip(candidates, specs, strict=True)
    ]
    if answers == correct:
        return State.CORRECT
    try:
        incorrect = [
            show_answer(incorrect_answer(task, instance, candidate), spec)
            for candidate, spec in zip(candidates, specs, strict=True)
        ]
    except ValueError:  # its author wrote none, and none can be drawn: then none can have been injected
        incorrect = None
    if answers == incorrect:
        return State.INCORRECT
    # Some of them only, or in another order: told by the answers alone, where those leave no doubt.
    fits = [
        state
        for state, right in ((State.CORRECT, correct), (State.INCORRECT, incorrect))
        if right is not None and not Counter(answers) - Counter(right)
    ]
    if len(fits) == 1:
        return fits[0]
    given = ", ".join("no answer" if answer is None else f"'{answer}'" for answer in answers)
    what = "could be correct or incorrect" if fits else "is neither the correct nor the incorrect answer"
    raise UsageError(f"{given} to '{first.text}' {what}")
