"""The exact ground truth of a simulator equals a plain enumeration of its noise, and obeys the paper's theorems."""

from __future__ import annotations

import itertools
import subprocess
import sys
from collections import defaultdict
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import networkx as nx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dodiag.problems import InvalidInput, UsageError
from dodiag.scm.files import load_task, shipped_tasks
from dodiag.scm.graph import TaskGraph
from dodiag.scm.schema import Chain, Unit
from dodiag.scm.simulator import (
    SimulatorParameters,
    UnitBehaviour,
    capabilities,
    chain_contribution,
    contributions,
    counterfactuals,
    load_parameters,
    presets,
    probabilities,
    probability,
)
from dodiag.scm.simulator.mechanism import mechanism_of, solved, solved_alone
from dodiag.scm.simulator.network import asking_network, outcome_probabilities, twin_network
from dodiag.vocabulary import HOMOGENEOUS, PAPER_CONTRASTS, Configuration, Contrast, State, arms

TOLERANCE = 1e-12
Joint = dict[tuple[bool, bool], float]


def task_of(parents: Mapping[str, tuple[str, ...]], chains: tuple[Chain, ...] = ()) -> TaskGraph:
    """A task with these parents and target Y; all answers are integers."""
    units: dict[str, Any] = {
        unit: Unit(title=f"Unit {unit}", category="perception", answer={"type": "integer"}, parents=of)
        for unit, of in parents.items()
    }
    return TaskGraph(name="made", title="Made", modality="text", target="Y", units=units, chains=chains)


def brute_force(
    task: TaskGraph,
    parameters: SimulatorParameters,
    unit: str,
    first: Configuration,
    second: Configuration,
    step: int | None = None,
) -> Joint:
    """P(Y_first, Y_second) by summing over every value of every noise variable; written from the specification alone.

    Shares no code with the package's mechanism: the graph is the task's own (unfolded) graph, and the structural
    equations are spelled out here once more.
    """
    graph = task.graph if step is None else task.unfold(step)
    asked = unit if step is None else f"{unit}@{step}"

    def plain(node: str) -> str:
        return node.partition("@")[0]

    latents = [node for node in nx.topological_sort(graph) if node in nx.ancestors(graph, asked)]
    needs = {node: list(graph.predecessors(node)) for node in latents}
    events: list[tuple[tuple[str, ...], float]] = [
        (("G", node), parameters.of_unit("skill", plain(node))) for node in latents
    ]
    events += [(("C", node), parameters.of_unit("guess", plain(node))) for node in latents]
    events += [
        (("R", node, need), parameters.of_prerequisite("reliance", plain(node), plain(need)))
        for node in latents
        for need in needs[node]
    ]
    parents = sorted(graph.predecessors(asked))
    own_answers: defaultdict[tuple[bool, ...], float] = defaultdict(float)
    for values in itertools.product((False, True), repeat=len(events)):
        weight = 1.0
        noise: dict[tuple[str, ...], bool] = {}
        for (name, chance), value in zip(events, values, strict=True):
            weight *= chance if value else 1 - chance
            noise[name] = value
        if not weight:
            continue
        own: dict[str, bool] = {}
        for node in latents:
            spoilt = any(noise["R", node, need] and not own[need] for need in needs[node])
            own[node] = noise["C", node] or (noise["G", node] and not spoilt)
        own_answers[tuple(own[parent] for parent in parents)] += weight

    def believes(state: State, own: bool, stance: str) -> bool:
        if state in (State.CORRECT, State.CORRECT_TEXT) and stance in ("trust", "check"):
            return True
        if state is State.INCORRECT and stance == "trust":
            return False
        return own

    def outcome(
        configuration: Configuration, own: tuple[bool, ...], relies: tuple[bool, ...], stances: tuple[str, ...]
    ) -> dict[tuple[bool, ...], bool]:
        states = [configuration[plain(parent)] for parent in parents]
        injected = any(state is not State.NATURAL for state in states)
        ready = all(
            believes(state, mine, stance) or not relying
            for state, mine, stance, relying in zip(states, own, stances, relies, strict=True)
        )
        return {
            (g, c, h, d): c or (not (injected and d) and ((injected and h) or (g and ready)))
            for g, c, h, d in itertools.product((False, True), repeat=4)
        }

    fields = ("skill", "guess", "scaffold", "distraction")
    chances = [parameters.of_unit(field, unit) for field in fields]  # type: ignore[arg-type]
    asked_noise = {}
    for values in itertools.product((False, True), repeat=4):
        weight = 1.0
        for chance, value in zip(chances, values, strict=True):
            weight *= chance if value else 1 - chance
        asked_noise[values] = weight
    joint: Joint = {(here, there): 0.0 for here in (False, True) for there in (False, True)}
    for own_values, own_weight in own_answers.items():
        for relies in itertools.product((False, True), repeat=len(parents)):
            for stances in itertools.product(("trust", "check", "ignore"), repeat=len(parents)):
                weight = own_weight
                for parent, relying, stance in zip(parents, relies, stances, strict=True):
                    reliance = parameters.of_prerequisite("reliance", unit, plain(parent))
                    trust = parameters.of_prerequisite("trust", unit, plain(parent))
                    check = parameters.of_prerequisite("check", unit, plain(parent))
                    weight *= reliance if relying else 1 - reliance
                    weight *= {"trust": trust, "check": check, "ignore": 1 - trust - check}[stance]
                if not weight:
                    continue
                here = outcome(first, own_values, relies, stances)
                there = outcome(second, own_values, relies, stances)
                for noise_values, noise_weight in asked_noise.items():
                    joint[here[noise_values], there[noise_values]] += weight * noise_weight
    return joint


chances = st.sampled_from([0.0, 1.0, 0.5]) | st.floats(0.0, 1.0).map(lambda value: round(value, 3))


@st.composite
def behaviours(draw: st.DrawFn, prerequisites: tuple[str, ...], wild: bool) -> UnitBehaviour:
    """Every field said, by prerequisite or not; without `wild` nothing breaks monotonicity."""
    by_prerequisite: dict[str, Any] = {}
    if draw(st.booleans()) and prerequisites:
        trusts = {unit: draw(chances) for unit in prerequisites}
        by_prerequisite["reliance"] = {unit: draw(chances) for unit in prerequisites}
        by_prerequisite["trust"] = trusts
        by_prerequisite["check"] = {unit: (1 - trust) * draw(chances) for unit, trust in trusts.items()}
    else:
        trust = draw(chances)
        by_prerequisite |= {"reliance": draw(chances), "trust": trust, "check": (1 - trust) * draw(chances)}
    return UnitBehaviour(
        skill=draw(chances),
        guess=draw(chances | st.just(0.0)),
        scaffold=draw(chances) if wild else 0.0,
        distraction=draw(chances) if wild else 0.0,
        **by_prerequisite,
    )


@st.composite
def simulated_tasks(draw: st.DrawFn, wild: bool = True) -> tuple[TaskGraph, SimulatorParameters]:
    """Up to three units with any dependencies among them, some of them prerequisites of Y."""
    names = [f"X{number}" for number in range(1, draw(st.integers(1, 3)) + 1)]
    parents: dict[str, tuple[str, ...]] = {}
    for number, name in enumerate(names):
        parents[name] = tuple(other for other in names[:number] if draw(st.booleans()))
    needed = {name for name in names if not any(name in of for of in parents.values())}
    parents["Y"] = tuple(name for name in names if name in needed or draw(st.booleans()))
    units = {unit: draw(behaviours(of, wild)) for unit, of in parents.items()}
    return task_of(parents), SimulatorParameters(name="made", units=units)


@st.composite
def contrasted(draw: st.DrawFn, wild: bool = True, contrasts: Any = None) -> tuple[Any, ...]:
    """A simulated task with a prerequisite of Y, a contrast and a context."""
    task, parameters = draw(simulated_tasks(wild))
    prerequisite = draw(st.sampled_from(task.parents("Y")))
    states = st.sampled_from(list(State))
    pairs = st.permutations(list(State)).map(lambda order: Contrast(order[0], order[1]))
    contrast = draw(pairs if contrasts is None else st.sampled_from(contrasts))
    context = {unit: draw(states) for unit in task.parents("Y") if unit != prerequisite}
    return task, parameters, prerequisite, contrast, context


@settings(max_examples=150, deadline=None)
@given(simulated_tasks(), st.data())
def test_probability_equals_the_enumeration_of_the_noise(
    simulated: tuple[TaskGraph, SimulatorParameters], data: st.DataObject
) -> None:
    task, parameters = simulated
    prerequisites = task.parents("Y")
    states = data.draw(st.tuples(*[st.sampled_from(list(State)) for _ in prerequisites]))
    configuration = Configuration(tuple(zip(prerequisites, states, strict=True)))
    joint = brute_force(task, parameters, "Y", configuration, configuration)
    assert probability(task, parameters, "Y", configuration) == pytest.approx(joint[True, True], abs=TOLERANCE)


@settings(max_examples=150, deadline=None)
@given(contrasted())
def test_counterfactuals_equal_the_enumeration_of_the_noise(case: tuple[Any, ...]) -> None:
    task, parameters, prerequisite, contrast, context = case
    found = counterfactuals(task, parameters, prerequisite, contrast, context)
    joint = brute_force(task, parameters, "Y", found.active, found.reference)
    assert pytest.approx(joint[True, False], abs=TOLERANCE) == found.PNS
    assert found.harm == pytest.approx(joint[False, True], abs=TOLERANCE)
    assert found.p == pytest.approx(joint[True, True] + joint[True, False], abs=TOLERANCE)
    assert found.p_prime == pytest.approx(joint[True, True] + joint[False, True], abs=TOLERANCE)
    if found.PN is not None:
        assert found.PN * found.p == pytest.approx(joint[True, False], abs=TOLERANCE)
    if found.PS is not None:
        assert found.PS * (1 - found.p_prime) == pytest.approx(joint[True, False], abs=TOLERANCE)


@settings(max_examples=100, deadline=None)
@given(contrasted())
def test_scores_are_lower_bounds_of_the_probabilities_of_causation(case: tuple[Any, ...]) -> None:
    """CADET Theorems A.3, A.4, A.6 in any one context."""
    task, parameters, prerequisite, contrast, context = case
    found = counterfactuals(task, parameters, prerequisite, contrast, context)
    rows = contributions(task, parameters, [contrast], context=context)
    score = {row.metric: row for row in rows if row.prerequisite == prerequisite}
    assert (score["N"].active, score["N"].reference) == (found.active, found.reference)
    assert (score["S"].active, score["S"].reference) == (found.active, found.reference)
    low = max(0.0, found.p - found.p_prime)
    assert low <= found.PNS + TOLERANCE
    assert found.PNS - found.harm == pytest.approx(found.p - found.p_prime, abs=TOLERANCE)
    if found.PN is not None and found.p > 1e-6:
        assert score["N"].value <= found.PN + 1e-9
        assert score["N"].value == pytest.approx(low / found.p, abs=1e-9)
        assert found.PN * found.p == pytest.approx(found.PNS, abs=TOLERANCE)
    if found.PS is not None and found.p_prime < 1 - 1e-6:
        assert score["S"].value <= found.PS + 1e-9
        assert score["S"].value == pytest.approx(low / (1 - found.p_prime), abs=1e-9)
        assert found.PS * (1 - found.p_prime) == pytest.approx(found.PNS, abs=TOLERANCE)


@settings(max_examples=100, deadline=None)
@given(contrasted(wild=False, contrasts=[Contrast.parse(text) for text in ("1,0", "1,n", "n,0")]))
def test_scores_are_exact_without_scaffold_and_distraction(case: tuple[Any, ...]) -> None:
    """CADET Proposition A.5: nothing else in the mechanism breaks monotonicity."""
    task, parameters, prerequisite, contrast, context = case
    found = counterfactuals(task, parameters, prerequisite, contrast, context)
    assert found.harm == 0.0
    assert pytest.approx(found.p - found.p_prime, abs=TOLERANCE) == found.PNS


def test_what_conditions_on_an_impossible_event_is_undefined_and_says_why() -> None:
    task = task_of({"X1": (), "Y": ("X1",)})
    hopeless = SimulatorParameters(name="hopeless", units={"Y": UnitBehaviour(skill=0.0)})
    found = counterfactuals(task, hopeless, "X1", Contrast.parse("1,0"), {})
    assert found.PN is None
    assert found.PS == 0.0
    assert found.undefined == "PN conditions on Y = 1 under X1=1, which has probability 0"
    found = counterfactuals(task, load_parameters("oracle"), "X1", Contrast.parse("1,n"), {})
    assert (found.PN, found.PS, found.PNS, found.harm) == (0.0, None, 0.0, 0.0)
    assert found.undefined == "PS conditions on Y = 0 under X1=n, which has probability 0"


def test_scaffold_makes_wrong_prerequisites_help() -> None:
    task = task_of({"X1": (), "X2": ("X1",), "Y": ("X1", "X2")})
    found = capabilities(task, load_parameters("scaffolded"))["Y"]
    assert found.RC is not None
    assert found.RC > found.NC + 0.1
    harmed = counterfactuals(task, load_parameters("scaffolded"), "X2", Contrast.parse("n,0"), {"X1": State.NATURAL})
    assert harmed.harm > 0.1


def test_distraction_makes_right_prerequisites_do_harm() -> None:
    task = task_of({"X1": (), "X2": ("X1",), "Y": ("X1", "X2")})
    found = capabilities(task, load_parameters("distracted"))["Y"]
    assert found.IC is not None
    assert found.IC < found.NC
    harmed = counterfactuals(task, load_parameters("distracted"), "X2", Contrast.parse("1,n"), {"X1": State.NATURAL})
    assert harmed.harm > 0.1
    assert harmed.PNS > 0


def test_a_guess_outranks_a_distraction_and_a_distraction_a_scaffold() -> None:
    facts = dict.fromkeys(("ready", "works", "guesses", "injected", "scaffolded", "confused"), True)
    assert solved(**facts)
    assert not solved(**facts | {"guesses": False})
    assert solved(**facts | {"guesses": False, "confused": False, "ready": False})
    assert solved(**facts | {"guesses": False, "injected": False})
    assert not solved(**facts | {"guesses": False, "injected": False, "ready": False})
    for ready, works, guesses in itertools.product((False, True), repeat=3):
        assert solved_alone(ready=ready, works=works, guesses=guesses) == (guesses or (works and ready))


def test_the_own_answer_about_a_prerequisite_is_right_as_often_as_its_natural_capability() -> None:
    """NC(P) = P(L_P = 1): what a unit is answered when asked is what the model believes about it when it is not."""
    task = task_of({"X1": (), "X2": ("X1",), "Y": ("X2",)})
    parameters = SimulatorParameters(
        name="made", defaults=UnitBehaviour(skill=0.8, guess=0.1, reliance=0.6), units={"Y": UnitBehaviour(guess=0.0)}
    )
    sure = parameters.model_copy(update={"units": {"Y": UnitBehaviour(skill=1.0, guess=0.0, reliance=1.0)}})
    natural = Configuration.parse("X2=n")
    assert probability(task, sure, "Y", natural) == pytest.approx(capabilities(task, parameters)["X2"].NC)


# The trap that keeps pgmpy's CausalInference out of the package: a prerequisite that is a parent of another one.

TRAP = task_of({"X1": (), "X2": ("X1",), "Y": ("X1", "X2")})
TRAPPED = SimulatorParameters(
    name="trapped",
    defaults=UnitBehaviour(skill=0.9, guess=0.1, reliance=0.7),
    units={"Y": UnitBehaviour(reliance={"X1": 0.3, "X2": 0.8}, skill=0.8, guess=0.05)},
)


def trap_truth(x1: int, x2: int) -> float:
    """P(Y=1 | do(A_1=x1, A_2=x2)) of a model that trusts everything, by hand."""
    return 0.05 + 0.95 * 0.8 * (1 if x1 else 0.7) * (1 if x2 else 0.2)


@lru_cache
def trap_network() -> Any:
    """The same model as a network over the outcomes alone, as one would draw it without state nodes."""
    from pgmpy.factors.discrete import TabularCPD
    from pgmpy.models import DiscreteBayesianNetwork

    def table(*right: float) -> list[list[float]]:
        return [[1 - chance for chance in right], list(right)]

    model = DiscreteBayesianNetwork([("X1", "X2"), ("X1", "Y"), ("X2", "Y")])
    model.add_cpds(
        TabularCPD("X1", 2, table(0.91)),
        TabularCPD("X2", 2, table(0.1 + 0.9 * 0.9 * 0.3, 0.91), evidence=["X1"], evidence_card=[2]),
        TabularCPD(
            "Y",
            2,
            table(*(trap_truth(x1, x2) for x1 in (0, 1) for x2 in (0, 1))),
            evidence=["X1", "X2"],
            evidence_card=[2, 2],
        ),
    )
    assert model.check_model()
    return model


@pytest.mark.parametrize(("x1", "x2"), list(itertools.product((0, 1), repeat=2)))
def test_interventions_on_dependent_prerequisites_are_exact(x1: int, x2: int) -> None:
    from pgmpy.inference import VariableElimination

    found = probability(TRAP, TRAPPED, "Y", Configuration.parse(f"X1={x1},X2={x2}"))
    assert found == pytest.approx(trap_truth(x1, x2), abs=TOLERANCE)
    cut = VariableElimination(trap_network().do(["X1", "X2"]))
    query = cut.query(["Y"], evidence={"X1": x1, "X2": x2}, show_progress=False)
    assert found == pytest.approx(float(query.values[1]), abs=TOLERANCE)


CHAINED = {
    "maze": ["Y"],
    "map_navigation": ["X2"],
    "multistep_reasoning": ["X1", "X2"],
}
LONG = SimulatorParameters(
    name="long",
    defaults=UnitBehaviour(skill=0.8, guess=0.1, reliance=0.7, trust=0.5, check=0.2, scaffold=0.15, distraction=0.1),
    units={"X1": UnitBehaviour(skill=0.65, guess=0.2)},
)


@pytest.mark.parametrize("step", [1, 2, 3])
@pytest.mark.parametrize(("slug", "unit"), [(slug, unit) for slug, units in CHAINED.items() for unit in units])
def test_chain_truth_equals_the_enumeration_of_the_noise(slug: str, unit: str, step: int) -> None:
    task = load_task(slug)
    prerequisites = task.prerequisites(unit, step)
    configurations = [Configuration.homogeneous(prerequisites, state) for state in (*HOMOGENEOUS, State.QUESTION_ONLY)]
    found = probabilities(task, LONG, unit, configurations, step)
    for configuration in configurations:
        joint = brute_force(task, LONG, unit, configuration, configuration, step)
        assert found[configuration] == pytest.approx(joint[True, True], abs=TOLERANCE)
    if not prerequisites:
        return
    for contrast in PAPER_CONTRASTS:
        exact = counterfactuals(task, LONG, prerequisites[0], contrast, {}, unit=unit, step=step)
        joint = brute_force(task, LONG, unit, exact.active, exact.reference, step)
        assert pytest.approx(joint[True, False], abs=TOLERANCE) == exact.PNS
        assert exact.harm == pytest.approx(joint[False, True], abs=TOLERANCE)
        score = chain_contribution(task, LONG, contrast, unit, step)
        assert score.value == pytest.approx(max(0.0, exact.p - exact.p_prime), abs=TOLERANCE)
        assert score.value <= exact.PNS + TOLERANCE


@pytest.mark.parametrize("step", [1, 2, 3, 7])
@pytest.mark.parametrize(("slug", "unit"), [(slug, unit) for slug, units in CHAINED.items() for unit in units])
def test_a_chain_mechanism_is_the_unfolded_graph(slug: str, unit: str, step: int) -> None:
    task = load_task(slug)
    unfolded = task.unfold(step)
    mechanism = mechanism_of(task, LONG, unit, step)
    assert {latent.node for latent in mechanism.latents} == nx.ancestors(unfolded, mechanism.node)
    for place, latent in enumerate(mechanism.latents):
        assert all(need < place for need, _ in latent.needs)
        needed = {mechanism.latents[need].node for need, _ in latent.needs}
        assert needed == set(unfolded.predecessors(latent.node))
    asked = {mechanism.latents[dependency.latent].node for dependency in mechanism.dependencies}
    assert asked == set(unfolded.predecessors(mechanism.node))


def test_mistakes_accumulate_along_a_chain() -> None:
    task, parameters = load_task("maze"), load_parameters("credulous")
    natural = [capabilities(task, parameters, step=step)["Y"].NC for step in (1, 2, 5, 10)]
    assert natural == sorted(natural, reverse=True)
    assert natural[0] > natural[-1] + 0.2
    intrinsic = {round(capabilities(task, parameters, step=step)["Y"].IC or 0, 12) for step in (1, 2, 10)}
    assert len(intrinsic) == 1


def test_a_withheld_answer_leaves_the_text_of_a_chain_no_more_than_its_question() -> None:
    """In Maze state 1t shows neither the answer nor the annotation (CADET Appendix D.3)."""
    task = load_task("maze")
    found = {state: probability(task, LONG, "Y", Configuration.parse(f"Y={state}"), 3) for state in "1tqn"}
    assert found["t"] == found["q"] != found["1"]
    external = {state: probability(task, LONG, "Y", Configuration.parse(f"X1={state}"), 1) for state in "1t"}
    assert external["t"] == external["1"]


# Scores.


def test_a_small_denominator_suppresses_a_score_only_on_request() -> None:
    task = task_of({"X1": (), "Y": ("X1",)})
    timid = SimulatorParameters(
        name="timid", defaults=UnitBehaviour(skill=0.5), units={"Y": UnitBehaviour(skill=0.05, guess=0.01)}
    )
    honest = {(row.metric, row.contrast.text): row for row in contributions(task, timid)}
    papers = {(row.metric, row.contrast.text): row for row in contributions(task, timid, min_denominator=0.10)}
    assert honest["N", "1,0"].value > 0.5
    assert honest["N", "1,0"].denominator == honest["N", "1,0"].p < 0.10
    assert (papers["N", "1,0"].value, papers["N", "1,0"].suppressed) == (0.0, True)
    assert papers["S", "1,0"] == honest["S", "1,0"]
    oracle = contributions(task, load_parameters("oracle"))
    assert {row.value for row in oracle} == {0.0}
    assert all(row.suppressed == (row.metric == "S") for row in oracle)


def test_main_text_contexts_are_used_where_none_is_given() -> None:
    task, parameters = load_task("dice_sum"), load_parameters("default")
    rows = contributions(task, parameters)
    assert len(rows) == 3 * 4 * 2
    for row in rows:
        assert row.metric in ("N", "S")
        pair = arms("N" if row.metric == "N" else "S", row.contrast, row.prerequisite, task.parents("Y"))
        assert (row.active, row.reference) == (pair.active, pair.reference)
    assert len({configuration for row in rows for configuration in (row.active, row.reference)}) == 3 + 6 * 3


@pytest.mark.parametrize("slug", list(shipped_tasks()))
def test_every_preset_is_valid_for_every_shipped_task(slug: str) -> None:
    task = load_task(slug)
    found = capabilities(task, load_parameters("default"))
    assert list(found) == list(task.units)
    for unit, row in found.items():
        if task.parents(unit):
            assert row.IC is not None
            assert row.RC is not None
            assert 0.1 < row.RC < row.NC < row.IC < 0.95
        else:
            assert row.IC is row.RC is None
    for name in presets():
        mechanism_of(task, load_parameters(name), task.target)
    for row in capabilities(task, load_parameters("oracle")).values():
        assert {row.NC, row.IC, row.RC} <= {1.0, None}


def test_a_stubborn_model_answers_alike_under_every_configuration() -> None:
    task = load_task("dice_sum")
    every = [
        Configuration(tuple(zip(task.parents("Y"), states, strict=True)))
        for states in itertools.product(HOMOGENEOUS, repeat=3)
    ]
    found = probabilities(task, load_parameters("stubborn"), "Y", every)
    assert max(found.values()) - min(found.values()) < TOLERANCE


def test_networks_are_valid_and_no_table_grows_with_the_number_of_prerequisites() -> None:
    for slug in ("traffic_causation", "dice_sum", "maze"):
        mechanism = mechanism_of(load_task(slug), load_parameters("default"), "Y")
        for network in (asking_network(mechanism), twin_network(mechanism)):
            assert network.check_model()
            assert max(len(cpd.variables) for cpd in network.get_cpds()) <= 7
    eight = task_of(
        {**{f"X{number}": () for number in range(1, 9)}, "Y": tuple(f"X{number}" for number in range(1, 9))}
    )
    mechanism = mechanism_of(eight, load_parameters("default"), "Y")
    joint = outcome_probabilities(mechanism, [State.CORRECT] * 8, [State.INCORRECT] * 8)
    assert sum(joint.values()) == pytest.approx(1)
    assert max(len(cpd.variables) for cpd in twin_network(mechanism).get_cpds()) <= 7


@pytest.mark.parametrize(
    ("unit", "configuration", "step", "message"),
    [
        ("X9", "", None, "has no unit 'X9'"),
        ("Y", "X1=1", None, "does not fit unit Y.*X1, X2, X3"),
        ("X1", "X2=1", None, "does not fit unit X1.*root"),
        ("Y", "X1=1,X2=1,X3=1", 2, "is in no chain"),
    ],
)
def test_questions_that_cannot_be_asked_are_refused(
    unit: str, configuration: str, step: int | None, message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        probability(load_task("dice_sum"), load_parameters("default"), unit, Configuration.parse(configuration), step)


def test_pgmpy_is_imported_only_where_it_is_used() -> None:
    code = "import sys, dodiag.scm.simulator; assert 'pgmpy' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_other_misuse_is_refused_with_its_cure() -> None:
    dice, default = load_task("dice_sum"), load_parameters("default")
    with pytest.raises(UsageError, match=r"does not fit prerequisite X1.*X2, X3"):
        counterfactuals(dice, default, "X1", Contrast.parse("1,0"), {"X2": State.NATURAL})
    with pytest.raises(UsageError, match=r"3 prerequisites.*N and S"):
        chain_contribution(dice, default, Contrast.parse("1,n"), "Y")
    with pytest.raises(UsageError, match="step 0"):
        capabilities(load_task("maze"), default, step=0)
    with pytest.raises(InvalidInput, match="X7"):
        capabilities(dice, SimulatorParameters(name="other", units={"X7": UnitBehaviour()}))
