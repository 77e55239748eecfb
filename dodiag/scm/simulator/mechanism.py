"""The structural equations of a simulated model (CADET Def. 3.1, eq. 1), the one home of what makes an answer right.

Asking a unit U with prerequisites Pa(U) sets off one structural causal model. Its exogenous noise, drawn once per asked
question and the same under every configuration:

* of U: *works* (skill), *guesses*, *scaffolded*, *confused* (distraction);
* of each prerequisite P of U: whether U *relies* on P, and the *stance* towards what is injected about P;
* of each unit that U depends on, directly or not: *guesses*, *works*, and whether it relies on each of its own
  prerequisites. The model answers these units for itself, so its mistakes cascade: these answers L are latent.

The endogenous variables are the latent own answers L, the beliefs B about the prerequisites, and the outcome of U. The
sampler evaluates these functions on drawn noise, and the exact networks tabulate the same functions as conditional
probabilities.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from dodiag.problems import UsageError
from dodiag.scm.graph import TaskGraph
from dodiag.scm.simulator.parameters import SimulatorParameters, require_valid_for
from dodiag.scm.simulator.responses import Tabulated, tabulated
from dodiag.vocabulary import Configuration, State


class Stance(StrEnum):
    """What the model makes of an injected answer about one prerequisite."""

    TRUST = "trust"
    CHECK = "check"
    IGNORE = "ignore"


def injects(state: State) -> bool:
    """Return whether a state shows the model anything at all."""
    return state is not State.NATURAL


def belief(state: State, own: bool, stance: Stance) -> bool:
    """Return B, whether the model believes the right answer about a prerequisite.

    A right answer that is injected is taken over unless it is ignored; a wrong one is taken over only if it is trusted.
    Where no answer is injected (natural, question only) the model has its own answer `own`, as when it ignores.
    """
    match state:
        case State.CORRECT | State.CORRECT_TEXT:
            return own or stance is not Stance.IGNORE
        case State.INCORRECT:
            return own and stance is not Stance.TRUST
        case State.NATURAL | State.QUESTION_ONLY:
            return own


def supports(believed: bool, relies: bool) -> bool:
    """Return whether one prerequisite does not stand in the way: it is believed right, or not relied on."""
    return believed or not relies


def solved(*, ready: bool, works: bool, guesses: bool, injected: bool, scaffolded: bool, confused: bool) -> bool:
    """Return the outcome of the asked unit.

    Parameters
    ----------
    ready : bool
        Whether every prerequisite supports it.
    works, guesses, scaffolded, confused : bool
        The unit's noise.
    injected : bool
        Whether any prerequisite is in a state that injects something.

    Notes
    -----
    The order of precedence, highest first: a guess solves the unit whatever happens; an injection that confuses fails
    it; an injection that scaffolds solves it; otherwise its own mechanism decides. So a scaffold can turn a failure
    under ∅ into a success under 0, and a distraction a success under ∅ into a failure under 1: the outcome is not
    monotone in the state (CADET Property 3.6).
    """
    if guesses:
        return True
    if injected and confused:
        return False
    return (injected and scaffolded) or (works and ready)


def solved_alone(*, ready: bool, works: bool, guesses: bool) -> bool:
    """Return L, the outcome of a unit under the natural state, where nothing is injected."""
    return solved(ready=ready, works=works, guesses=guesses, injected=False, scaffolded=False, confused=False)


@dataclass(frozen=True, slots=True)
class Latent:
    """A unit that the model answers for itself on the way to the asked unit.

    Attributes
    ----------
    node : str
        The unit's id, with its step in an unfolded chain (``X2@3``).
    skill, guess : float
        Probabilities of its noise.
    needs : tuple of (int, float)
        For each of its prerequisites the place among the mechanism's latents, and the probability of relying on it.
    """

    node: str
    skill: float
    guess: float
    needs: tuple[tuple[int, float], ...]


@dataclass(frozen=True, slots=True)
class Dependency:
    """One prerequisite of the asked unit.

    Attributes
    ----------
    prerequisite : str
        Its unit id, the name in a configuration.
    latent : int
        The place of its own answer among the mechanism's latents.
    reliance, trust, check : float
        Probabilities of the noise.
    withheld : bool
        Injections of it show no textual answer (``withhold_answers`` of its chain).
    """

    prerequisite: str
    latent: int
    reliance: float
    trust: float
    check: float
    withheld: bool = False

    @property
    def stances(self) -> tuple[tuple[Stance, float], ...]:
        """The distribution of the stance."""
        ignore = max(0.0, 1.0 - self.trust - self.check)
        return ((Stance.TRUST, self.trust), (Stance.CHECK, self.check), (Stance.IGNORE, ignore))


@dataclass(frozen=True, slots=True)
class Mechanism:
    """The structural causal model of asking one unit (at one step of its chain); hashable.

    Attributes
    ----------
    node : str
        The asked unit's id, with its step in an unfolded chain.
    skill, guess, scaffold, distraction : float
        Probabilities of its noise.
    dependencies : tuple of Dependency
        Its prerequisites, in the order of a configuration.
    latents : tuple of Latent
        Everything it depends on, in topological order.
    """

    node: str
    skill: float
    guess: float
    scaffold: float
    distraction: float
    dependencies: tuple[Dependency, ...]
    latents: tuple[Latent, ...]

    def states(self, configuration: Configuration) -> tuple[State, ...]:
        """Return what a configuration injects for each dependency, in order.

        Where answers are withheld, the text of 1t says no more than the question: it is the state q.

        Raises
        ------
        UsageError
            If the configuration does not give exactly the prerequisites a state.
        """
        given = dict(configuration.items)
        if given.keys() != {dependency.prerequisite for dependency in self.dependencies}:
            needed = ", ".join(dependency.prerequisite for dependency in self.dependencies) or "nothing: it is a root"
            raise UsageError(
                f"configuration '{configuration}' does not fit unit {self.node}", f"Give a state to {needed}."
            )
        return tuple(
            State.QUESTION_ONLY
            if dependency.withheld and given[dependency.prerequisite] is State.CORRECT_TEXT
            else given[dependency.prerequisite]
            for dependency in self.dependencies
        )


@dataclass(frozen=True, slots=True)
class Noise:
    """One draw of a mechanism's exogenous noise: what is fixed before anything is injected.

    Attributes
    ----------
    works, guesses, scaffolded, confused : bool
        Of the asked unit.
    relies, stances : tuple
        By dependency.
    latents : tuple of (works, guesses, relies)
        By latent; ``relies`` by its needs.
    """

    works: bool
    guesses: bool
    scaffolded: bool
    confused: bool
    relies: tuple[bool, ...]
    stances: tuple[Stance, ...]
    latents: tuple[tuple[bool, bool, tuple[bool, ...]], ...]


def own_answers(mechanism: Mechanism, noise: Noise) -> list[bool]:
    """Return L of every latent: whether the model, left alone, has it right."""
    own: list[bool] = []
    for latent, (works, guesses, relies) in zip(mechanism.latents, noise.latents, strict=True):
        ready = all(supports(own[place], relying) for (place, _), relying in zip(latent.needs, relies, strict=True))
        own.append(solved_alone(ready=ready, works=works, guesses=guesses))
    return own


def outcome(mechanism: Mechanism, noise: Noise, states: Sequence[State]) -> bool:
    """Return whether the asked unit is solved when its prerequisites are in these states.

    Parameters
    ----------
    mechanism : Mechanism
    noise : Noise
    states : sequence of State
        By dependency, as :meth:`Mechanism.states` gives them.
    """
    own = own_answers(mechanism, noise)
    ready = all(
        supports(belief(state, own[dependency.latent], stance), relying)
        for dependency, state, stance, relying in zip(
            mechanism.dependencies, states, noise.stances, noise.relies, strict=True
        )
    )
    return solved(
        ready=ready,
        works=noise.works,
        guesses=noise.guesses,
        injected=any(map(injects, states)),
        scaffolded=noise.scaffolded,
        confused=noise.confused,
    )


Place = tuple[str, int | None]


def mechanism_of(
    task: TaskGraph, parameters: SimulatorParameters, unit: str, step: int | None = None
) -> Mechanism | Tabulated:
    """Return the mechanism of asking one unit, or its response table where the parameters are tables.

    Parameters
    ----------
    task : TaskGraph
    parameters : SimulatorParameters
    unit : str
        The asked unit.
    step : int, optional
        For a unit of a chain, the 1-based step: the unit's own chain is then unfolded (CADET eq. 15, as
        :meth:`TaskGraph.unfold` does) and each step's own answers follow from those of the step before. None takes the
        graph as drawn; so does every unit that is not in the asked unit's chain. ``X2@3`` behaves as ``X2`` does.

    Raises
    ------
    UsageError
        If the task has no such unit, the unit is in no chain but a step is given, or the step is not positive.
    InvalidInput
        If the parameters do not fit the task, see :func:`require_valid_for`.
    """
    task.require(unit)
    require_valid_for(parameters, task)
    if step is not None and task.chain_of(unit) is None:
        raise UsageError(f"unit {unit} of task {task.name} is in no chain", "Ask it without a step.")
    if step is not None and step < 1:
        raise UsageError(f"step {step} of unit {unit} does not exist", "Count steps from 1.")
    if parameters.tasks:
        return tabulated(task, parameters.tasks[task.name].units[unit], unit, step)
    places = list(_ancestors(task, (unit, step)))
    index = {place: number for number, place in enumerate(places)}
    latents = tuple(
        Latent(
            node=_name(place),
            skill=parameters.of_unit("skill", place[0]),
            guess=parameters.of_unit("guess", place[0]),
            needs=tuple(
                (index[parent], parameters.of_prerequisite("reliance", place[0], parent[0]))
                for parent in _parents(task, place)
            ),
        )
        for place in places
    )
    chain = task.chain_of(unit)
    dependencies = tuple(
        Dependency(
            prerequisite=parent[0],
            latent=index[parent],
            reliance=parameters.of_prerequisite("reliance", unit, parent[0]),
            trust=parameters.of_prerequisite("trust", unit, parent[0]),
            check=parameters.of_prerequisite("check", unit, parent[0]),
            withheld=chain is not None and chain.withhold_answers and parent[0] in chain.units,
        )
        for parent in _parents(task, (unit, step))
    )
    return Mechanism(
        node=_name((unit, step)),
        skill=parameters.of_unit("skill", unit),
        guess=parameters.of_unit("guess", unit),
        scaffold=parameters.of_unit("scaffold", unit),
        distraction=parameters.of_unit("distraction", unit),
        dependencies=dependencies,
        latents=latents,
    )


def _name(place: Place) -> str:
    unit, step = place
    return unit if step is None else f"{unit}@{step}"


def _parents(task: TaskGraph, place: Place) -> tuple[Place, ...]:
    unit, step = place
    chain = task.chain_of(unit)
    if step is None or chain is None:
        return tuple((parent, None) for parent in task.parents(unit))
    before = step - 1 if unit == chain.units[0] else step
    return tuple((parent, before if parent in chain.units else None) for parent in task.prerequisites(unit, step))


def _ancestors(task: TaskGraph, asked: Place) -> Iterator[Place]:
    """Yield everything that a place depends on, in topological order; no recursion, as chains may be long."""
    unit, step = asked
    chain = task.chain_of(unit)
    order: list[Place] = [(other, None) for other in task.order]
    if step is not None and chain is not None:
        order += [(other, moment) for moment in range(1, step + 1) for other in chain.units]
    needed = set(_parents(task, asked))
    for place in reversed(order):
        if place in needed:
            needed.update(_parents(task, place))
    yield from (place for place in order if place in needed)
