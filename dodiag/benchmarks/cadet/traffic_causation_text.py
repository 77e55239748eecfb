"""What Traffic Causation says in words: names, events, causes, and claims that are wrong for sure."""

from __future__ import annotations

import numpy as np

from dodiag.benchmarks.cadet.traffic.agents import EGO, Agent, Driver, Light, Walker, WorkZone, World
from dodiag.benchmarks.cadet.traffic.events import Event
from dodiag.benchmarks.cadet.traffic_causation_scenes import Case

EFFECTS = {
    "stops": "come to a standstill",
    "brakes": "slow down",
    "moves over": "change lanes",
    "sets off": "set off",
}
"""How a question names the event that is asked about."""


def the(agent: Agent) -> str:
    """Return an agent with its article: ``the red van``."""
    return f"the {agent.name}"


def capital(text: str) -> str:
    """Return a text with its first letter in upper case."""
    return text[:1].upper() + text[1:]


def happening(world: World, event: Event) -> str:
    """Return an event as a clause: ``the red van comes to a standstill``."""
    who = the(world.agent(event.who))
    words = {
        "stops": "comes to a standstill",
        "brakes": "begins to brake",
        "moves over": "begins to move over into another lane",
        "sets off": "sets off from a standstill",
    }
    return f"{who} {words.get(event.what, event.what)}"


def cause(case: Case, rng: np.random.Generator) -> str:
    """Return the truth: what the effect goes back to, in one sentence."""
    root = case.world.agent(case.root)
    between = case.world.agent(case.between) if case.between else None
    if case.plot == "cuts in" and between is not None:
        block = _blocking(root)
        return _pick(
            rng,
            f"{capital(the(between))} moves over into the lane in front of it, because {block} the lane that "
            f"{the(between)} was in.",
            f"Because {block} the other lane, {the(between)} changes lanes and cuts in ahead of it.",
            f"{capital(the(between))} cuts in just ahead of it, to get past {the(root)}.",
        )
    if case.plot == "blocked lane":
        return _pick(
            rng,
            f"{capital(_blocking(root))} the lane that it is in, so it has to go round.",
            f"It has to get past {the(root)}, which {_stands(root)} in its lane.",
            f"Its own lane ahead is blocked by {the(root)}.",
        )
    if case.plot == "way clears":
        return capital(
            _pick(
                rng,
                f"{the(root)}, whom it waited for, has crossed its lane.",
                f"{the(root)} has walked out of its way, so its lane is free again.",
                f"it was waiting for {the(root)} to cross the road, and its lane is clear now.",
            )
        )
    first = _acting(root, rng)
    if between is None:
        return capital(f"{first}.")
    return _pick(
        rng,
        capital(f"{first}, so that {the(between)} in front of it brakes."),
        f"{capital(the(between))} ahead of it brakes, because {first}.",
    )


def blamed(case: Case, agent: Agent | None, rng: np.random.Generator) -> str:
    """Return a wrong cause: what an agent that has nothing to do with it is said to do.

    Parameters
    ----------
    case : Case
    agent : agent or None
        One without which the effect happens all the same; None blames something that is not there.
    rng : numpy.random.Generator
    """
    sets_off = case.effect.what == "sets off"
    if agent is None:
        absent = (
            [
                "a passenger whom its driver waited for has got in",
                "the driver behind it sounds the horn",
                "its driver has looked up the way on a map",
            ]
            if sets_off
            else [
                "its driver has reached the address where a passenger gets out",
                "a dog runs across the road in front of it",
                "its driver makes room for an ambulance that comes from behind",
            ]
        )
        return capital(_pick(rng, *absent)) + "."
    if isinstance(agent, Light):
        said = f"{the(agent)} ahead turns {'green' if sets_off else 'red'}"
    elif isinstance(agent, Walker):
        said = (
            _pick(
                rng,
                f"{the(agent)} has left the road in front of it",
                f"{the(agent)} waves it on and stays on the pavement",
            )
            if sets_off
            else _pick(
                rng,
                f"{the(agent)} steps onto the road in front of it",
                f"{the(agent)} starts to cross the road ahead",
                f"{the(agent)} is in its way on the road",
            )
        )
    elif isinstance(agent, Driver) and agent.direction == -1:
        said = (
            f"{the(agent)}, which comes the other way, has passed and leaves the road free"
            if sets_off
            else _pick(
                rng,
                f"{the(agent)}, which comes the other way, turns left across its path",
                f"{the(agent)} swerves out of the oncoming lane towards it",
            )
        )
    else:
        said = (
            f"{the(agent)} ahead of it drives on and makes room"
            if sets_off
            else _pick(
                rng, f"{the(agent)} pulls out in front of it", f"{the(agent)} stops in its lane right ahead of it"
            )
        )
    return capital(said) + "."


def _acting(agent: Agent, rng: np.random.Generator) -> str:
    if isinstance(agent, Light):
        if agent.phases[-1][1] == "green":
            return _pick(rng, "the traffic light ahead turns green", "the traffic light changes from red to green")
        return _pick(rng, "the traffic light ahead turns red", "the traffic light ahead changes from green to red")
    if isinstance(agent, Walker):
        return _pick(
            rng,
            f"{the(agent)} crosses the road in front of it",
            f"{the(agent)} steps onto the crossing ahead",
            f"{the(agent)} walks across the road ahead",
        )
    return _pick(
        rng,
        f"{the(agent)} pulls out from the kerb in front of it",
        f"{the(agent)}, which was parked on the right, moves off into its lane",
    )


def _blocking(agent: Agent) -> str:
    return f"{the(agent)} {'closes' if isinstance(agent, WorkZone) else 'blocks'}"


def _stands(agent: Agent) -> str:
    return "is set up" if isinstance(agent, WorkZone) else "stands still"


def _pick(rng: np.random.Generator, *options: str) -> str:
    return options[int(rng.integers(len(options)))]


def asked(case: Case) -> str:
    """Return the question about the cause."""
    who = case.world.agent(case.effect.who)
    about = f"at about {case.effect.time:.0f} s" if case.effect.time >= 0.5 else "at the beginning"
    verb = EFFECTS[case.effect.what]
    hint = " The camera car is the car that carries the camera." if who.id == EGO else ""
    return f"Why does {the(who)} {verb} {about} of the video? Name who or what this goes back to.{hint}"
