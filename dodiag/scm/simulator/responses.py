"""Response tables: a simulated model that is given by how often it solves a unit in which configuration.

A table knows the homogeneous configurations of a unit, and those in which one prerequisite deviates from the others;
that is everything that the scores of CADET Defs. 3.5, 3.7 and 3.8 read. It says nothing about *why* an answer is
right: it is for models of which nothing but such scores is known.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from statistics import multimode
from typing import Annotated, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field, model_validator

from dodiag.problems import UsageError
from dodiag.scm.graph import TaskGraph
from dodiag.scm.schema import UnitId
from dodiag.vocabulary import HOMOGENEOUS, Configuration, State

Probability = Annotated[float, Field(strict=True, ge=0.0, le=1.0)]

Deviation = Literal["1|0", "1|n", "0|1", "0|n", "n|1", "n|0"]
"""The state of the prerequisite that deviates, and the state of all the others."""

DEVIATIONS: tuple[Deviation, ...] = get_args(Deviation)

States = tuple[State, ...]


def filled(states: States, prerequisites: Sequence[str], absent: Set[str]) -> States:
    """Return states in which prerequisites that an instance does not have are in the state of most of the others.

    Nothing can be injected for them, so they can make no difference: under IC, say, the rest is correct, and nothing is
    missing. Where two states are equally frequent, and where there are no others, they are natural.

    Parameters
    ----------
    states : tuple of State
        One per prerequisite.
    prerequisites : sequence of str
        Their names.
    absent : set of str
        Those of which the instance has no question.
    """
    if not absent:
        return states
    present = [state for name, state in zip(prerequisites, states, strict=True) if name not in absent]
    most = multimode(present)
    fill = most[0] if len(most) == 1 else State.NATURAL
    return tuple(fill if name in absent else state for name, state in zip(prerequisites, states, strict=True))


class UnitResponses(BaseModel):
    """How often the questions of one unit are solved; every value is a probability.

    Parameters
    ----------
    parents : tuple of str
        Pa(unit) of the task that the table is for, in declared order.
    NC, IC, RC : float
        With all prerequisites natural, correct, incorrect (CADET Def. 3.5). A unit that never has a prerequisite has
        NC alone.
    deviations : mapping of str to mapping
        By parent, then by :data:`Deviation`: with that parent in the one state, and the others in the other. What is
        left out is interpolated, see :meth:`Tabulated.probability`.
    question_only : float
        Share of the way from the natural to the correct state that a prerequisite's question alone (state q) goes.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    parents: tuple[UnitId, ...] = ()
    NC: Probability
    IC: Probability | None = None
    RC: Probability | None = None
    deviations: Mapping[UnitId, Mapping[Deviation, Probability]] = Field(default_factory=dict)
    question_only: Probability = 0.0

    @model_validator(mode="after")
    def _is_whole(self) -> UnitResponses:
        if (self.IC is None) is not (self.RC is None):
            raise ValueError("gives one of IC and RC without the other")
        if self.parents and self.IC is None:
            raise ValueError("has parents, and neither IC nor RC")
        if foreign := [name for name in self.deviations if name not in self.parents]:
            raise ValueError(f"has deviations of {foreign[0]}, which is none of its parents")
        self.table(self.parents)
        return self

    def table(self, prerequisites: Sequence[str]) -> dict[States, float]:
        """Return what is known of the configurations of these prerequisites, by their states in order.

        Raises
        ------
        ValueError
            If two names of one configuration have different values, as may be where there are two prerequisites.
        """
        if not prerequisites:
            return {(): self.NC}
        k = len(prerequisites)
        found: dict[States, float] = {(State.NATURAL,) * k: self.NC}
        for state, value in ((State.CORRECT, self.IC), (State.INCORRECT, self.RC)):
            if value is None:
                raise ValueError("has prerequisites, and neither IC nor RC")
            found[(state,) * k] = value
        for place, name in enumerate(prerequisites):
            for deviation, probability in self.deviations.get(name, {}).items():
                own, rest = (State(letter) for letter in deviation.split("|"))
                states = tuple(own if index == place else rest for index in range(k))
                if found.setdefault(states, probability) != probability:
                    text = Configuration(tuple(zip(prerequisites, states, strict=True)))
                    raise ValueError(f"gives {text} both {found[states]:g} and {probability:g}")
        return found


class TaskResponses(BaseModel):
    """The response tables of all units of one task, with the structure that they are for.

    Parameters
    ----------
    target : str
    chains : tuple of tuple of str
        The units of each Markov chain.
    units : mapping of str to UnitResponses
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    target: UnitId
    chains: tuple[tuple[UnitId, ...], ...] = ()
    units: Mapping[UnitId, UnitResponses]

    def differences(self, task: TaskGraph) -> Iterator[tuple[str, str]]:
        """Yield where a task has another structure than the one the tables are for, as (place, what is different)."""
        if self.target != task.target:
            yield "target", f"is {task.target}, and the simulator knows the task with the target {self.target}"
        if self.chains != (chains := tuple(chain.units for chain in task.chains)):
            yield "chains", f"are {_listed(chains)}, and the simulator knows the task with {_listed(self.chains)}"
        for name in [*task.units, *(unit for unit in self.units if unit not in task.units)]:
            if name not in self.units:
                yield f"unit {name}", "is not in the task that the simulator knows"
            elif name not in task.units:
                yield f"unit {name}", "is missing; the simulator knows the task with it"
            elif self.units[name].parents != task.units[name].parents:
                expected = ", ".join(self.units[name].parents) or "none"
                given = ", ".join(task.units[name].parents) or "none"
                yield f"unit {name}", f"has the parents {given}; the simulator knows the task with {expected}"


def _listed(chains: tuple[tuple[str, ...], ...]) -> str:
    return ", ".join("-".join(chain) for chain in chains) or "none"


@dataclass(frozen=True, slots=True, eq=False)
class Tabulated:
    """The response table of asking one unit (at one step of its chain) as a structural model.

    Its only noise is one uniform number per asked question, the same under every configuration: the question is
    solved where that number is below the configuration's probability. So of two configurations the likelier one
    solves whatever the other solves. Only the probabilities are known of a tabulated model; this coupling, the one
    with the least PNS, is a choice.

    Attributes
    ----------
    node : str
        The asked unit's id, with its step in an unfolded chain.
    prerequisites : tuple of str
        In the order of a configuration.
    withheld : frozenset of str
        Those whose injections show no textual answer (``withhold_answers`` of their chain).
    table : mapping of tuple of State to float
        :meth:`UnitResponses.table`.
    question_only : float
    """

    node: str
    prerequisites: tuple[str, ...]
    withheld: frozenset[str]
    table: Mapping[States, float]
    question_only: float
    _made: dict[States, float] = field(default_factory=dict, init=False, repr=False)

    def states(self, configuration: Configuration) -> States:
        """Return the states that matter, in order: the text of 1t is that of 1, or of q where answers are withheld.

        Raises
        ------
        UsageError
            If the configuration does not give exactly the prerequisites a state.
        """
        given = dict(configuration.items)
        if given.keys() != set(self.prerequisites):
            needed = ", ".join(self.prerequisites) or "nothing: it is a root"
            raise UsageError(
                f"configuration '{configuration}' does not fit unit {self.node}", f"Give a state to {needed}."
            )
        return tuple(self._seen(name, given[name]) for name in self.prerequisites)

    def _seen(self, name: str, state: State) -> State:
        if state is not State.CORRECT_TEXT:
            return state
        return State.QUESTION_ONLY if name in self.withheld else State.CORRECT

    def probability(self, states: States) -> float:
        """Return P(unit = 1 | do(states)).

        Notes
        -----
        A configuration that is not in the table is interpolated: from each of the commonest states b among its
        prerequisites, p_b plus the sum of the changes that each prerequisite in another state makes alone, kept within
        [0, 1]; the mean over the commonest states. The change that one prerequisite makes alone is that of the table,
        or, where the table does not have it, the k-th part of the change that all make together. Prerequisites of which
        only the question is shown move the probability by the `question_only` share of what the correct state would.
        """
        if states not in self._made:
            self._made[states] = self._interpolated(states)
        return self._made[states]

    def joint(self, *worlds: States) -> dict[tuple[bool, ...], float]:
        """Return the joint distribution of the outcome in one or two worlds, as ``outcome_probabilities`` does."""
        chances = [self.probability(states) for states in worlds]
        found = {}
        for cell in itertools.product((True, False), repeat=len(worlds)):
            upper = min((p for p, solved in zip(chances, cell, strict=True) if solved), default=1.0)
            lower = max((p for p, solved in zip(chances, cell, strict=True) if not solved), default=0.0)
            found[cell] = max(0.0, upper - lower)
        return found

    def _interpolated(self, states: States) -> float:
        if State.QUESTION_ONLY in states:
            without, given = (
                self._interpolated(tuple(other if state is State.QUESTION_ONLY else state for state in states))
                for other in (State.NATURAL, State.CORRECT)
            )
            return without + self.question_only * (given - without)
        if (known := self.table.get(states)) is not None:
            return known
        bases = _commonest(states)
        return sum(self._from(base, states) for base in bases) / len(bases)

    def _from(self, base: State, states: States) -> float:
        k = len(states)
        start = self.table[(base,) * k]
        total = start
        for place, state in enumerate(states):
            if state is not base:
                alone = tuple(state if index == place else base for index in range(k))
                total += self.table.get(alone, start + (self.table[(state,) * k] - start) / k) - start
        return min(1.0, max(0.0, total))


def _commonest(states: Sequence[State]) -> list[State]:
    """Return the most frequent states of a configuration without question-only, in canonical order."""
    most = multimode(states)
    return [state for state in HOMOGENEOUS if state in most]


def tabulated(task: TaskGraph, responses: UnitResponses, unit: str, step: int | None) -> Tabulated:
    """Return the structural model of asking a unit that is given by a response table."""
    chain = task.chain_of(unit)
    prerequisites = task.prerequisites(unit, step)
    return Tabulated(
        node=unit if step is None else f"{unit}@{step}",
        prerequisites=prerequisites,
        withheld=frozenset(chain.units if chain is not None and chain.withhold_answers else ()),
        table=responses.table(prerequisites),
        question_only=responses.question_only,
    )
