"""What is injected for a question: which prerequisite questions, in which state, in which order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dodiag.interventions.design import History
from dodiag.scm.graph import TaskGraph
from dodiag.scm.pack import Instance, Question


@dataclass(frozen=True, slots=True)
class Prerequisite:
    """The questions that stand for one prerequisite of one asked question.

    Attributes
    ----------
    unit : str
        The prerequisite's name in the configuration.
    questions : tuple of Question
        In the order of injection; for a chain, the trajectory before the asked step.
    withheld : bool
        State 1 shows these questions and their annotations without the textual answers (Maze rule).
    """

    unit: str
    questions: tuple[Question, ...]
    withheld: bool = False


def prerequisites_of(
    task: TaskGraph, instance: Instance, question: Question, history: History = "full"
) -> tuple[Prerequisite, ...]:
    """Return the prerequisites of a question with the questions that are injected for each.

    Outside chains these are all questions of the parent unit in the instance, or those that the question `requires`.
    For a chain step they are the chain's questions before it: the whole trajectory (`history` "full", CADET Appendix
    D.3) or the Markov parent alone ("last", Def. A.7). A prerequisite without any question is absent: its tuple is
    empty.
    """
    chain = task.chain_of(question.unit)
    wanted = None if question.requires is None else frozenset(question.requires)
    found = []
    for unit in task.prerequisites(question.unit, question.step):
        if chain is not None and unit in chain.units:
            questions = _trajectory(chain.units, instance, question, history)
            withheld = chain.withhold_answers
        else:
            questions = instance.by_unit.get(unit, ())
            withheld = False
        if wanted is not None:
            questions = tuple(q for q in questions if q.id in wanted)
        found.append(Prerequisite(unit, questions, withheld))
    return tuple(found)


def _trajectory(cycle: Sequence[str], instance: Instance, question: Question, history: History) -> tuple[Question, ...]:
    def moment(step: int | None, unit: str) -> int:
        return (step or 1) * len(cycle) + cycle.index(unit)

    now = moment(question.step, question.unit)
    members = [q for unit in cycle for q in instance.by_unit.get(unit, ())]
    earlier = sorted((q for q in members if moment(q.step, q.unit) < now), key=lambda q: moment(q.step, q.unit))
    if history == "last":
        earlier = [q for q in earlier if moment(q.step, q.unit) == now - 1]
    return tuple(earlier)
