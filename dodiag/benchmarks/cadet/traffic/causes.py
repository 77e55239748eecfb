"""What causes an event, found by interventions on the world: it is run again without each agent."""

from __future__ import annotations

from dataclasses import dataclass

from dodiag.benchmarks.cadet.traffic.agents import Agent, Light, Walker, World
from dodiag.benchmarks.cadet.traffic.events import Event, events_of
from dodiag.benchmarks.cadet.traffic.rules import simulate

SAME = 0.35
"""Seconds within which an event of the world without an agent is the same event."""

AFTER = 2.0
"""Seconds after an event in which it must not happen for its cause to be its cause."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What taking each agent away does to an event.

    Attributes
    ----------
    causes : tuple of str
        Ids of the agents without which the event does not happen.
    uninvolved : tuple of str
        Ids of those without which it happens at the same time.
    unclear : tuple of str
        The others: it happens, but at another time.
    """

    causes: tuple[str, ...]
    uninvolved: tuple[str, ...]
    unclear: tuple[str, ...]


def intervene(world: World, agent: Agent, event: Event) -> World:
    """Return the world without an agent.

    Where a driver sets off, what matters is not that something is there but that it ends: then it is the world in which
    a light does not change, or a pedestrian stops a second before.
    """
    if event.what == "sets off" and isinstance(agent, Light):
        return world.holding(agent.id)
    if event.what == "sets off" and isinstance(agent, Walker) and agent.starts < event.time - 1 < agent.stops:
        return world.stopping(agent.id, event.time - 1)
    return world.without(agent.id)


def verdict(world: World, event: Event, seconds: float) -> Verdict:
    """Take away each agent but the one that acts, and see whether the event still happens.

    Parameters
    ----------
    world : World
    event : Event
        Of a driver, from the log of this world.
    seconds : float
        How long to run.
    """
    causes, uninvolved, unclear = [], [], []
    for agent in world.agents:
        if agent.id == event.who:
            continue
        run = simulate(intervene(world, agent, event), seconds)
        again = [e.time for e in events_of(run) if e.who == event.who and e.what == event.what]
        if any(abs(time - event.time) <= SAME for time in again):
            uninvolved.append(agent.id)
        elif not any(time < event.time + AFTER for time in again):
            causes.append(agent.id)
        else:
            unclear.append(agent.id)
    return Verdict(tuple(causes), tuple(uninvolved), tuple(unclear))
