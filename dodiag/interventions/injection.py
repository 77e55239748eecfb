"""What is injected for a question: which prerequisite questions, in which state, in which order."""

from __future__ import annotations

from bisect import bisect_left
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


class Injection:
    """What can be injected for the questions of one instance; puts the trajectory of each chain in order once.

    Parameters
    ----------
    task : TaskGraph
    instance : Instance
    history : {"full", "last"}
        What a chain step is given: the whole trajectory before it (CADET Appendix D.3) or the Markov parent alone (Def.
        A.7).
    """

    def __init__(self, task: TaskGraph, instance: Instance, history: History = "full") -> None:
        self.task = task
        self.instance = instance
        self.history: History = history
        self._trajectories: dict[tuple[str, ...], _Trajectory] = {}

    def prerequisites(self, question: Question) -> tuple[Prerequisite, ...]:
        """Return the prerequisites of a question with the questions that are injected for each.

        Outside chains these are all questions of the parent unit in the instance, or those that the question
        `requires`. For a chain step they are the chain's questions before it. A prerequisite without any question is
        absent: its tuple is empty.
        """
        chain = self.task.chain_of(question.unit)
        wanted = None if question.requires is None else frozenset(question.requires)
        found = []
        for unit in self.task.prerequisites(question.unit, question.step):
            if chain is not None and unit in chain.units:
                questions = self._trajectory(chain.units).before(question, self.history)
                withheld = chain.withhold_answers
            else:
                questions = self.instance.by_unit.get(unit, ())
                withheld = False
            if wanted is not None:
                questions = tuple(q for q in questions if q.id in wanted)
            found.append(Prerequisite(unit, questions, withheld))
        return tuple(found)

    def _trajectory(self, cycle: tuple[str, ...]) -> _Trajectory:
        if cycle not in self._trajectories:
            self._trajectories[cycle] = _Trajectory(cycle, self.instance)
        return self._trajectories[cycle]


class _Trajectory:
    """The questions of one chain on one instance, by the moment at which each is asked."""

    def __init__(self, cycle: Sequence[str], instance: Instance) -> None:
        self._place = {unit: index for index, unit in enumerate(cycle)}
        members = [(self._moment(q), q) for unit in cycle for q in instance.by_unit.get(unit, ())]
        members.sort(key=lambda member: member[0])
        self._moments = [moment for moment, _ in members]
        self._questions = tuple(question for _, question in members)

    def _moment(self, question: Question) -> int:
        return (question.step or 1) * len(self._place) + self._place[question.unit]

    def before(self, question: Question, history: History) -> tuple[Question, ...]:
        now = self._moment(question)
        first = 0 if history == "full" else bisect_left(self._moments, now - 1)
        return self._questions[first : bisect_left(self._moments, now)]
