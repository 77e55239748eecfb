"""From a reply to the outcome of a question: the one place where an answer is held against the truth."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import Any

from dodiag.runners.protocol import Reply
from dodiag.runners.reading import Reading, read_answer
from dodiag.scm.answers import AnswerType, normalise, same_answer, set_difference
from dodiag.scm.graph import TaskGraph
from dodiag.scm.pack import Question, correct_answer, spec_of
from dodiag.vocabulary import Outcome


@dataclass(frozen=True, slots=True)
class Scored:
    """A reply as it was read, and whether it solves the question.

    Attributes
    ----------
    reading : Reading
    outcome : Outcome
        The reading's, or ``unscored`` where only a judge can tell.
    solved : bool or None
        None where the outcome is missing data.
    """

    reading: Reading
    outcome: Outcome
    solved: bool | None

    def columns(self) -> dict[str, Any]:
        """Return what a ledger keeps of it: outcome, solved, value, how, strict, flags."""
        reading = self.reading
        return {
            "outcome": self.outcome.value,
            "solved": None if self.solved is None else int(self.solved),
            "value": None if reading.value is None else json.dumps(reading.value),
            "how": reading.how,
            "strict": int(reading.strict),
            "flags": ",".join(sorted(reading.flags)),
        }


def score(task: TaskGraph, question: Question, reply: Reply) -> Scored:
    """Read a reply by the question's declared type and compare it with the truth.

    A reply without a usable answer is not solved. A text that equals the reference is solved, one that equals the
    question's own incorrect answer is not; any other text is ``unscored`` until a judge has seen it, and is missing
    data, not a wrong answer. A set that is not the true one is flagged with what is wrong: ``missing``, ``surplus``.
    """
    spec = spec_of(task, question)
    reading = read_answer(reply.text, spec, finish=reply.finish.value)
    value = reading.value
    if reading.outcome is not Outcome.VALUE or value is None:
        return Scored(reading, reading.outcome, False)
    truth = correct_answer(task, question)
    same = same_answer(value, truth, spec)
    if spec.type is AnswerType.SET and not same:
        reading = replace(reading, flags=reading.flags | set_difference(value, truth, spec))
    if spec.type is AnswerType.TEXT and not same:
        wrong = question.incorrect
        if wrong is None or not same_answer(value, normalise(wrong, spec), spec):
            return Scored(reading, Outcome.UNSCORED, None)
    return Scored(reading, Outcome.VALUE, same)
