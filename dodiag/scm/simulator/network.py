"""Exact Bayesian networks of a mechanism: asking a unit once, and the twin network of asking it twice.

The networks tabulate the structural equations of :mod:`dodiag.scm.simulator.mechanism`; every exogenous variable is a
root of its own, so that two worlds can share it (Balke & Pearl 1994). A conjunction over prerequisites is a chain of
two-parent nodes, so no table grows with their number.

An intervention do(A_P = a) is evidence on the root A_P. That is exact, since a root has no other cause that it could
be confounded by, and it keeps clear of two traps of pgmpy: ``CausalInference.query`` with several targets is wrong
when one of them is a parent of another (pgmpy issue #3543), which is what do(A_Pa(Y) = a) asks for wherever
prerequisites depend on each other; and ``model.do(nodes)`` only cuts the edges into the nodes and leaves them a
marginal that weights their states, so a query after it needs their values as evidence in any case.
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from dodiag.scm.simulator.mechanism import Mechanism, Stance, belief, injects, solved, solved_alone, supports
from dodiag.vocabulary import State

if TYPE_CHECKING:
    from pgmpy.inference import VariableElimination
    from pgmpy.models import DiscreteBayesianNetwork

WORLDS = ("", "*")
"""What the names of the variables of each world end in; shared variables have no ending."""

Values = Sequence[Any]
BINARY: Values = (False, True)
STATES: Values = tuple(State)
STANCES: Values = tuple(Stance)


class _Variables:
    """Collects variables with their tables, in topological order."""

    def __init__(self) -> None:
        self.values: dict[str, Values] = {}
        self.parents: dict[str, tuple[str, ...]] = {}
        self.tables: dict[str, list[list[float]]] = {}

    def root(self, name: str, distribution: Sequence[tuple[Any, float]]) -> str:
        self.values[name] = tuple(value for value, _ in distribution)
        self.parents[name] = ()
        self.tables[name] = [[probability] for _, probability in distribution]
        return name

    def event(self, name: str, probability: float) -> str:
        return self.root(name, ((False, 1.0 - probability), (True, probability)))

    def equation(self, name: str, parents: Sequence[str], function: Callable[..., bool]) -> str:
        """Add a binary variable that is a function of its parents' values."""
        rows = [bool(function(*row)) for row in itertools.product(*(self.values[parent] for parent in parents))]
        self.values[name] = BINARY
        self.parents[name] = tuple(parents)
        self.tables[name] = [[float(not value) for value in rows], [float(value) for value in rows]]
        return name

    def conjunction(self, name: str, parts: Sequence[str]) -> str | None:
        """Add the conjunction of binary variables as a chain; return its last node, or None for an empty one."""
        last = parts[0] if parts else None
        for number, part in enumerate(parts[1:], start=2):
            last = self.equation(f"{name}:{number}", (str(last), part), lambda before, this: before and this)
        return last

    def network(self) -> DiscreteBayesianNetwork:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)
            from pgmpy.factors.discrete import TabularCPD
            from pgmpy.models import DiscreteBayesianNetwork

        model = DiscreteBayesianNetwork()
        model.add_nodes_from(self.values)
        model.add_edges_from((parent, child) for child, parents in self.parents.items() for parent in parents)
        names = {variable: [str(value) for value in values] for variable, values in self.values.items()}
        for variable, parents in self.parents.items():
            model.add_cpds(
                TabularCPD(
                    variable,
                    len(names[variable]),
                    self.tables[variable],
                    evidence=list(parents),
                    evidence_card=[len(names[parent]) for parent in parents],
                    state_names={name: names[name] for name in (variable, *parents)},
                )
            )
        return model


def asking_network(mechanism: Mechanism) -> DiscreteBayesianNetwork:
    """Return the network of asking a unit once (CADET Def. 3.1 with the interventions of Def. 3.2).

    Its variables, by name:

    * ``A:P`` (the letters of the states) for each prerequisite P, a root to be given as evidence;
    * ``R:P``, ``M:P`` reliance and stance; ``G``, ``C``, ``H``, ``D`` the noise of the asked unit (works, guesses,
      scaffolded, confused); ``G:N``, ``C:N`` and ``R:N<Q`` the noise of each latent N and its prerequisite Q;
    * ``L:N`` the latent own answers; ``B:P`` the beliefs; ``Y`` the outcome; and the nodes of the conjunctions.

    Binary variables have the states ``False`` and ``True``.
    """
    variables = _shared(mechanism)
    _world(variables, mechanism, WORLDS[0])
    return variables.network()


def twin_network(mechanism: Mechanism) -> DiscreteBayesianNetwork:
    """Return the twin network: two worlds with the same noise and latent answers, each with its own intervention.

    The second world's ``A:P*``, ``B:P*`` and ``Y*`` stand beside the first's (Balke & Pearl 1994; Pearl 2009, 7.1.4).
    """
    variables = _shared(mechanism)
    for world in WORLDS:
        _world(variables, mechanism, world)
    return variables.network()


def outcome_probabilities(mechanism: Mechanism, *worlds: Sequence[State]) -> dict[tuple[bool, ...], float]:
    """Return the exact joint distribution of the outcome in one or two worlds.

    Parameters
    ----------
    mechanism : Mechanism
    *worlds : sequence of State
        For each world the states of the dependencies, as :meth:`Mechanism.states` gives them.

    Returns
    -------
    dict of tuple of bool to float
        By the outcomes of the worlds; sums to 1.
    """
    engine = _engine(mechanism, len(worlds))
    evidence = {
        f"A:{dependency.prerequisite}{ending}": str(state)
        for ending, states in zip(WORLDS, worlds, strict=False)
        for dependency, state in zip(mechanism.dependencies, states, strict=True)
    }
    outcomes = [f"Y{ending}" for ending in WORLDS[: len(worlds)]]
    joint = engine.query(outcomes, evidence=evidence, show_progress=False).values
    return {cell: float(joint[tuple(map(int, cell))]) for cell in itertools.product((True, False), repeat=len(worlds))}


@lru_cache(maxsize=64)
def _engine(mechanism: Mechanism, worlds: int) -> VariableElimination:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        from pgmpy.inference import VariableElimination

        return VariableElimination(asking_network(mechanism) if worlds == 1 else twin_network(mechanism))


def _shared(mechanism: Mechanism) -> _Variables:
    variables = _Variables()
    for latent in mechanism.latents:
        node = latent.node
        supporting = []
        for place, reliance in latent.needs:
            need = mechanism.latents[place].node
            relies = variables.event(f"R:{node}<{need}", reliance)
            supporting.append(variables.equation(f"supports:{node}<{need}", (f"L:{need}", relies), supports))
        works, guesses = variables.event(f"G:{node}", latent.skill), variables.event(f"C:{node}", latent.guess)
        ready = variables.conjunction(f"ready:{node}", supporting)
        _own_answer(variables, f"L:{node}", works, guesses, ready)
    for name, probability in (
        ("G", mechanism.skill),
        ("C", mechanism.guess),
        ("H", mechanism.scaffold),
        ("D", mechanism.distraction),
    ):
        variables.event(name, probability)
    for dependency in mechanism.dependencies:
        variables.event(f"R:{dependency.prerequisite}", dependency.reliance)
        variables.root(f"M:{dependency.prerequisite}", dependency.stances)
    return variables


def _own_answer(variables: _Variables, name: str, works: str, guesses: str, ready: str | None) -> None:
    if ready is None:
        variables.equation(
            name, (works, guesses), lambda works, guesses: solved_alone(ready=True, works=works, guesses=guesses)
        )
    else:
        variables.equation(
            name,
            (ready, works, guesses),
            lambda ready, works, guesses: solved_alone(ready=ready, works=works, guesses=guesses),
        )


def _world(variables: _Variables, mechanism: Mechanism, ending: str) -> None:
    if not mechanism.dependencies:
        _own_answer(variables, f"Y{ending}", "G", "C", None)
        return
    uniform = [(state, 1.0 / len(STATES)) for state in STATES]
    supporting, natural = [], []
    for dependency in mechanism.dependencies:
        name = dependency.prerequisite
        own = f"L:{mechanism.latents[dependency.latent].node}"
        action = variables.root(f"A:{name}{ending}", uniform)
        believed = variables.equation(f"B:{name}{ending}", (action, own, f"M:{name}"), belief)
        supporting.append(variables.equation(f"supports:{name}{ending}", (believed, f"R:{name}"), supports))
        natural.append(variables.equation(f"natural:{name}{ending}", (action,), lambda state: not injects(state)))
    ready = variables.conjunction(f"ready{ending}", supporting)
    untouched = variables.conjunction(f"natural{ending}", natural)
    variables.equation(
        f"Y{ending}",
        (str(ready), str(untouched), "G", "C", "H", "D"),
        lambda ready, untouched, works, guesses, scaffolded, confused: solved(
            ready=ready,
            works=works,
            guesses=guesses,
            injected=not untouched,
            scaffolded=scaffolded,
            confused=confused,
        ),
    )
