"""The questions of Traffic Causation about several agents at once: the order of events, and coincidences."""

from __future__ import annotations

import itertools
import string
from collections.abc import Callable, Sequence

import numpy as np

from dodiag.benchmarks.cadet.traffic.agents import EGO, Driver, Light, Walker
from dodiag.benchmarks.cadet.traffic.events import Event
from dodiag.benchmarks.cadet.traffic.points import OPTIONS
from dodiag.benchmarks.cadet.traffic_causation_questions import Told, choice
from dodiag.benchmarks.cadet.traffic_causation_scenes import SECONDS, Case
from dodiag.benchmarks.cadet.traffic_causation_text import EFFECTS, capital, happening, the
from dodiag.scm.pack import Question

LETTERS = string.ascii_uppercase

APART_EVENTS = 0.4
"""Seconds between events whose order is asked."""

LAST_SEEN = 3.0
"""Seconds before two vehicles pass each other in which the other one is clearly seen."""


def passing(told: Told) -> dict[Event, str]:
    """Return when the camera car and others pass each other, as events and what is said of them."""
    run, world = told.case.run, told.case.world
    ego = run.s[:, run.column(EGO)]
    found = {}
    for name in told.roster:
        agent = world.agent(name)
        if isinstance(agent, Driver):
            track = run.s[:, run.column(name)]
        elif isinstance(agent, Walker):
            track = np.array([agent.at(float(time))[0] for time in run.times])
        else:
            continue
        gap = track - ego
        if not gap[0] > 0 > gap[-1]:
            continue
        time = round(float(run.times[int(np.argmax(gap < 0))]), 3)
        if any(time - LAST_SEEN < key < time for key in told.footage.clear_keys(name)):
            oncoming = isinstance(agent, Driver) and agent.direction == -1 and agent.wish > 0
            said = f"{the(agent)} drives past the camera car, coming the other way"
            found[Event(time, name, "is over")] = said if oncoming else f"the camera car drives past {the(agent)}"
    return found


def sequence(told: Told, rng: np.random.Generator) -> list[Question]:
    """Return the question of X5: the order of three events; none where no three are far enough apart."""
    world, case = told.case.world, told.case
    skipped = ("turns amber", "is over")
    events = [
        event
        for event in case.events
        if event.what not in skipped and 0.2 <= event.time <= SECONDS - 0.1 and told.seen_near(event.who, event.time)
    ]
    said = {event: happening(world, event) for event in events}
    said |= {event: text for event, text in passing(told).items() if 0.2 <= event.time <= SECONDS - 0.1}
    triples = [
        triple
        for triple in itertools.combinations(sorted(said, key=lambda event: event.time), 3)
        if all(later.time - earlier.time >= APART_EVENTS for earlier, later in itertools.pairwise(triple))
        and len({event.who for event in triple}) > 1
    ]
    if not triples:
        return []
    # An order that follows from the cause alone asks nothing of the eyes: take a triple with few such pairs.
    weight = [_linked(case, triple) for triple in triples]
    least = [triple for triple, linked in zip(triples, weight, strict=True) if linked == min(weight)]
    triple = least[int(rng.integers(len(least)))]
    orders = list(itertools.permutations(triple))
    possible = [order for order in orders[1:] if not _absurd(case, order)]
    absurd = [order for order in orders[1:] if order not in possible]
    wrong = [part[int(i)] for part in (possible, absurd) for i in rng.permutation(len(part))]
    texts = ["; then ".join(said[event] for event in order) for order in wrong[: OPTIONS - 1]]
    options, answer = choice("; then ".join(said[event] for event in triple), texts, rng)
    return [
        Question(
            id="X5",
            unit="X5",
            text="In which order do these three things happen in the video?",
            choices=tuple(capital(option) for option in options),
            answer=answer,
        )
    ]


def _pairs(order: Sequence[Event]) -> Callable[[Callable[[Event, Event], bool]], int]:
    return lambda test: sum(test(first, second) for first, second in itertools.combinations(order, 2))


def _follows(case: Case, first: Event, second: Event) -> bool:
    """Return whether common sense alone puts `first` before `second`."""
    if first.who == second.who:
        return True
    linked = {case.effect.who, case.root, case.between, EGO} - {""}
    return first.who in linked and second.who in linked


def _linked(case: Case, triple: Sequence[Event]) -> int:
    return _pairs(triple)(lambda first, second: _follows(case, first, second))


def _absurd(case: Case, order: Sequence[Event]) -> bool:
    return bool(_pairs(order)(lambda first, second: first.time > second.time and _follows(case, first, second)))


COINCIDENCES = ("only {0}", "only {1}", "both of them", "neither of them")


def coincidence(told: Told, rng: np.random.Generator, before: Sequence[Question]) -> list[Question]:
    """Return the question of X6: which of two agents the effect would not happen without; none where two are missing.

    What is right is what the interventions say: the world was run again without either.
    """
    case = told.case
    causes = [name for name in case.verdict.causes if name in told.roster]
    others = [name for name in case.verdict.uninvolved if name in told.roster]
    kinds = ["neither"] if len(others) >= 2 else []
    kinds += ["both"] * 4 if len(causes) >= 2 else []
    kinds += ["one"] * 3 if causes and others else []
    if not kinds:
        return []
    kind = kinds[int(rng.integers(len(kinds)))]
    # Lights are mostly the cause where they change: they are asked about less, and those that stay green more.
    lit = isinstance(case.world.agent(case.root), Light)
    if kind == "one" and lit and rng.random() < 0.5:
        return []
    if kind == "one":
        pair = [causes[int(rng.integers(len(causes)))], others[int(rng.integers(len(others)))]]
    else:
        pool = causes if kind == "both" else others
        pair = [pool[int(place)] for place in rng.permutation(len(pool))[:2]]
    idle = [name for name in others if isinstance(case.world.agent(name), Light)]
    if kind != "both" and idle and idle[0] not in pair:
        pair = [next(name for name in pair if kind == "neither" or name in causes), idle[0]]
    pair = [pair[int(place)] for place in rng.permutation(2)]
    needed = [name in case.verdict.causes for name in pair]
    right = {(True, False): 0, (False, True): 1, (True, True): 2, (False, False): 3}[needed[0], needed[1]]
    first, second = told.name(pair[0]), told.name(pair[1])
    effect = EFFECTS[case.effect.what]
    about = [q.id for q in before if q.unit in ("X1", "X3") and q.id.split("-")[1] in pair]
    return [
        Question(
            id="X6",
            unit="X6",
            text=(
                f"At about {case.effect.time:.0f} s {told.name(case.effect.who)} is seen to {effect}; {first} and "
                f"{second} are there too. Without which of the two would this not have happened?"
            ),
            choices=tuple(capital(option.format(first, second)) for option in COINCIDENCES),
            answer=LETTERS[right],
            requires=tuple(about) or None,
        )
    ]
