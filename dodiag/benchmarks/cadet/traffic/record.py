"""What is kept of a run beside an instance: who took part, where everybody was at each step, what happened."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dodiag.benchmarks.cadet.street.state import Layout
from dodiag.benchmarks.cadet.traffic.agents import Driver, Light, Walker
from dodiag.benchmarks.cadet.traffic.events import Event
from dodiag.benchmarks.cadet.traffic.footage import Footage
from dodiag.benchmarks.cadet.traffic.rules import STEP, Run
from dodiag.benchmarks.cadet.traffic.staging import CAMERA_HEIGHT, FIELD_OF_VIEW, HEIGHT, TILT, WIDTH


def record(run: Run, footage: Footage, layout: Layout, events: Sequence[Event]) -> dict[str, Any]:
    """Return the state of a scene as JSON values, rounded so that the last bit of a computation does not show.

    Tracks are [s, d] in metres for every step; sightings are [pixels, visible percent, left, top, right, bottom] by
    second. Both are enough to derive every answer again by other means.
    """
    return {
        "step": STEP,
        "camera": {
            "height": CAMERA_HEIGHT,
            "fov": FIELD_OF_VIEW,
            "tilt": TILT,
            "size": [WIDTH, HEIGHT],
        },
        "road": {
            "lanes": [round(d, 2) for d in run.world.lanes],
            "kerb": round(run.world.kerb, 2),
            "zebras": [round(zebra, 2) for zebra in layout.zebras],
            "light": layout.light,
        },
        "agents": [_agent(run, number) for number in range(len(run.world.agents))],
        "events": [[event.time, event.who, event.what, event.because] for event in events],
        "sightings": {
            name: {
                str(key): [seen.pixels, round(100 * seen.share), *seen.box]
                for key in footage.keys
                if (seen := footage.sightings.get((name, key))) is not None
            }
            for name in footage.names
        },
    }


def _agent(run: Run, number: int) -> dict[str, Any]:
    agent = run.world.agents[number]
    if isinstance(agent, Driver):
        places = zip(run.s[:, number], run.d[:, number], strict=True)
        kind = {"kind": agent.kind, "colour": agent.colour, "direction": agent.direction}
        return {"id": agent.id, "is": "vehicle", **kind, "track": [_rounded(*place) for place in places]}
    if isinstance(agent, Walker):
        track = [_rounded(*agent.at(float(time))) for time in run.times]
        return {"id": agent.id, "is": "pedestrian", "colour": agent.colour, "track": track}
    if isinstance(agent, Light):
        phases = [list(phase) for phase in agent.phases]
        return {"id": agent.id, "is": "light", "line": round(agent.s, 2), "phases": phases}
    start, end = _rounded(agent.start, agent.end)
    return {"id": agent.id, "is": "zone", "lane": round(agent.d, 2), "from": start, "to": end}


def _rounded(*values: float) -> list[float]:
    return [round(float(value), 2) for value in values]
