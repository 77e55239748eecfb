"""What a simulated model writes: a right or a wrong answer, in one of several styles that can be read only one way."""

from __future__ import annotations

from collections.abc import Callable

from dodiag.scm.answer_spec import AnswerSpec, AnswerType
from dodiag.scm.answers import Answer, draw_incorrect, normalise, same_answer, show_answer
from dodiag.scm.graph import TaskGraph
from dodiag.scm.pack import Instance, Question, correct_answer, spec_of

REASONING = "Looking at everything that is given and checking each part in turn, the result is clear."
"""Names no letter, no number and no answer cue, so nothing in it can be taken for an answer."""

NO_IDEA = "It cannot be told from what is given."
"""The wrong reply where the space of answers has no wrong answer to give."""

DECLINED = "I cannot answer that."
"""The wrong reply to a question for a text whose author wrote no incorrect one. It has to be read as a failure at once:
any other sentence could be the answer in other words, would wait for a judge, and count as missing data."""

STYLES: tuple[Callable[[str], str], ...] = (
    lambda answer: answer,
    lambda answer: f"Answer: {answer}",
    lambda answer: f"The answer is **{answer}**.",
    lambda answer: f"{REASONING}\n\nANSWER: {answer}",
    lambda answer: f"{REASONING}\nFinal answer: {answer}",
)
"""Ways to write an answer down."""

TEXT_STYLES = (STYLES[0], STYLES[1], STYLES[3])
"""The styles for free text, which may carry its own emphasis and full stop."""


def write_reply(task: TaskGraph, instance: Instance, question: Question, solved: bool, style: int, seed: str) -> str:
    """Return a reply.

    Parameters
    ----------
    task, instance, question
        What was asked.
    solved : bool
        Whether the reply gives the right answer.
    style : int
        Any number; chooses among the styles.
    seed : str
        Fixes the wrong answer.

    Returns
    -------
    str
        With the right answer, or with a valid answer of the declared type that is not the right one: another option,
        a neighbouring number, another order; the author's incorrect text where the answer is a text. Where there is no
        such answer, the reply gives none.
    """
    spec = spec_of(task, question)
    answer = correct_answer(task, question) if solved else _wrong_answer(task, question, seed)
    if answer is None:
        return DECLINED if spec.type is AnswerType.TEXT else NO_IDEA
    styles = TEXT_STYLES if spec.type is AnswerType.TEXT else STYLES
    return styles[style % len(styles)](_written(answer, spec))


def _written(answer: Answer, spec: AnswerSpec) -> str:
    return str(answer) if spec.type is AnswerType.CHOICE else show_answer(answer, spec)


def _wrong_answer(task: TaskGraph, question: Question, seed: str) -> Answer | None:
    spec, truth = spec_of(task, question), correct_answer(task, question)
    if spec.type is AnswerType.TEXT:
        return None if question.incorrect is None else normalise(question.incorrect, spec)
    try:
        wrong = draw_incorrect(truth, spec, seed)
    except ValueError:
        return None
    return None if same_answer(truth, wrong, spec) else wrong
