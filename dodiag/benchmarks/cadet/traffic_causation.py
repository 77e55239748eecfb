"""Generator of the task Traffic Causation (CADET, arXiv:2609.38851, Tables 2 to 4).

The paper's videos and questions are not released; these are made afresh for the same graph.

What it measures
    X1 points at an agent in one frame. X2 says what becomes of an agent within two seconds. X3 says what an agent does
    with respect to the road or to the camera car. X4 finds the second in which something happens. X5 puts three events
    in order. X6 tells a cause from a coincidence. Y says in words why a vehicle brakes, stops, sets off or changes
    lanes.
How the truth is known
    Vehicles and pedestrians move by rules in a deterministic simulation that keeps a log of events. What an event goes
    back to is found by interventions on that world: it is run again without each agent in turn. A scene is kept only if
    without the root the event does not happen at all, and without everybody who is called uninvolved it happens at the
    same time. Places are measured on a drawing that shows which pixel is whose.
What is drawn for state 1
    Nothing: a mark has no moment in a video. State 1 gives texts with times and pixels.
Limits
    * Roads are straight; nobody turns off. Vehicles are told apart by colour and kind, pedestrians by their clothes.
    * Times in questions are whole seconds of the video: with the default of 8 frames each of them is shown (15 frames
      show every half second). Other numbers of frames show other moments.
    * Points are pixels of the frame as stored.
    * A wrong answer to Y blames an agent for something it does not do, or would not matter: its wording is like that of
      the truth, but not a word-for-word variant of it.
Licence
    Everything is generated; Apache-2.0 like the package.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dodiag.benchmarks.cadet.street.town import draw_layout
from dodiag.benchmarks.cadet.traffic.agents import EGO
from dodiag.benchmarks.cadet.traffic.footage import Footage, film, open_scene, survey
from dodiag.benchmarks.cadet.traffic.glimpses import Glimpse, glimpses
from dodiag.benchmarks.cadet.traffic.record import record
from dodiag.benchmarks.cadet.traffic_causation_changes import changes
from dodiag.benchmarks.cadet.traffic_causation_order import coincidence, sequence
from dodiag.benchmarks.cadet.traffic_causation_questions import Told, actions, moment, places
from dodiag.benchmarks.cadet.traffic_causation_scenes import PLOTS, SECONDS, Case, Plot, draw_case, other_runs
from dodiag.benchmarks.cadet.traffic_causation_text import asked, blamed, cause
from dodiag.benchmarks.generators import Drawn
from dodiag.benchmarks.rendering import load_mujoco
from dodiag.benchmarks.video_files import load_av
from dodiag.problems import DodiagError, UsageError
from dodiag.scm.files import load_task
from dodiag.scm.graph import TaskGraph
from dodiag.scm.pack import Instance, Question

VERSION = "2"
"""Of this generator; raised whenever the same seed gives another pack."""

INSTANCES = 107
"""The paper's number."""

TRIES = 200
SCENES = 48
"""Other scenes, simulated but not drawn, whose places are an instance's wrong points."""

ELSEWHERE = 1
"""Stream of chance of those scenes."""

LIGHTS = {"day": 0.7, "overcast": 0.3}
CLEAR_SECONDS = 2
"""Whole seconds at which an agent is clearly seen, where questions speak of it."""


class NoScene(DodiagError):
    """No acceptable scene was found; it has not been seen to happen."""


@dataclass(frozen=True, slots=True)
class Knobs:
    """How hard the questions are; the defaults give the paper's counts.

    Attributes
    ----------
    places : int
        About how many X1 questions an instance has: a random number from 3 below to 4 above it, if there are so many.
    rejection_share : float
        Share of instances in which a question of X6 is looked for; not all of them have one.
    moment_share : float
        Share of instances in which a question of X4 is looked for.
    plot : str
        ``any``, or one of :data:`PLOTS` for scenes of one kind.
    """

    places: int = 28
    rejection_share: float = 0.27
    moment_share: float = 0.87
    plot: str = "any"

    def __post_init__(self) -> None:
        if isinstance(self.places, bool) or not isinstance(self.places, int) or not 1 <= self.places <= 60:
            raise UsageError(f"places is {self.places}", "Use a whole number, 1 to 60.")
        for name in ("rejection_share", "moment_share"):
            if not 0 <= getattr(self, name) <= 1:
                raise UsageError(f"{name} is {getattr(self, name)}", "Use a share, 0 to 1.")
        if self.plot not in ("any", *PLOTS):
            raise UsageError(f"there is no plot '{self.plot}'", f"Use any, or one of {', '.join(PLOTS)}.")


def prepare() -> None:
    """Check that everything is installed that drawing needs.

    Raises
    ------
    MissingDependency
        If MuJoCo, its GL library or PyAV is not there.
    """
    load_mujoco()
    load_av()


def task(seed: int = 0, knobs: Knobs = Knobs()) -> TaskGraph:
    """Return the shipped graph with the seed of the incorrect answers."""
    return replace(load_task("traffic_causation"), seed=seed)


def draw(seed: int, index: int, knobs: Knobs = Knobs()) -> Drawn:
    """Return one instance and its video; it depends on the arguments alone.

    Raises
    ------
    MissingDependency
        If MuJoCo, its GL library or PyAV is not there.
    NoScene
        If no scene was accepted.
    """
    rng = np.random.default_rng((seed, index))
    # Plots take turns, so that a short pack holds all of them; where in the turn a seed begins is random.
    plot: Plot = PLOTS[(index + seed) % len(PLOTS)]
    if knobs.plot != "any":
        plot = next(known for known in PLOTS if known == knobs.plot)
    rejected: Counter[str] = Counter()
    for _ in range(TRIES):
        case = draw_case(rng, plot, rejected)
        if case is None:
            continue
        layout = draw_layout(
            rng,
            start=-30.0,
            end=150.0,
            lanes=2,
            parking=case.parking > 0,
            zebras=_zebras(case),
            light=rng.choice(list(LIGHTS), p=list(LIGHTS.values())),
        )
        with open_scene(case.run, layout) as scene:
            footage = survey(case.run, scene, int(SECONDS))
            told = _told(case, footage)
            reason = _unfit(told)
            if reason:
                rejected[reason] += 1
                continue
            questions, facts = _questions(told, rng, knobs, _stock(seed, index))
            if not any(question.unit == "X3" for question in questions):
                rejected["nothing to ask about an action"] += 1
                continue
            video = film(case.run, scene)
        medium = f"media/{index:04d}.mp4"
        meta: dict[str, Any] = {
            "generator": f"traffic_causation {VERSION}",
            "mujoco": load_mujoco().__version__,
            "plot": case.plot,
            **facts,
            **record(case.run, footage, layout, case.events),
            "rejected": dict(sorted(rejected.items())),
        }
        instance = Instance(
            id=f"traffic_causation-s{seed}-{index:04d}", media=(medium,), questions=questions, meta=meta
        )
        return instance, {medium: video}
    raise NoScene(f"{TRIES} scenes of the plot '{plot}' were all rejected")


def _zebras(case: Case) -> tuple[float, ...]:
    found = [light.s + 4.0 for light in case.world.lights]
    return tuple(found if case.crossing is None else [case.crossing, *found])


def _told(case: Case, footage: Footage) -> Told:
    agents = [agent.id for agent in case.world.agents if agent.id != EGO]
    return Told(case, footage, tuple(name for name in agents if len(footage.clear_keys(name)) >= CLEAR_SECONDS))


def _unfit(told: Told) -> str:
    """Return why a scene cannot be asked about; empty where it can."""
    case = told.case
    for name, what in ((case.effect.who, "who acts"), (case.root, "the cause"), (case.between, "who is between")):
        if name and name != EGO and name not in told.roster:
            return f"{what} is not clearly seen"
    if not told.seen_about(case.effect.who, case.effect.time):
        return "the event is not clearly seen"
    keys = [key for key in told.footage.clear_keys(case.root) if case.effect.time - 3 <= key <= case.effect.time + 1.5]
    return "" if len(keys) >= CLEAR_SECONDS else "the cause is not clearly seen at the time"


def _stock(seed: int, index: int) -> list[Glimpse]:
    """Return who is seen where in other scenes; each instance has its own, or wrong points would be known as such."""
    found: list[Glimpse] = []
    for run in other_runs(np.random.default_rng((seed, index, ELSEWHERE)), SCENES):
        seen = list(glimpses(run, int(SECONDS)))
        often = Counter(glimpse.agent for glimpse in seen)
        found += [glimpse for glimpse in seen if often[glimpse.agent] >= CLEAR_SECONDS]
    return found


def _questions(
    told: Told, rng: np.random.Generator, knobs: Knobs, stock: Sequence[Glimpse]
) -> tuple[tuple[Question, ...], dict[str, Any]]:
    case = told.case
    found = places(told, rng, int(rng.integers(max(1, knobs.places - 3), knobs.places + 5)), stock)
    located = tuple(found)
    found += changes(told, rng, int(rng.choice((1, 2, 3), p=(0.3, 0.53, 0.17))), located)
    found += actions(told, rng, int(rng.choice((1, 2), p=(0.55, 0.45))), located)
    if rng.random() < knobs.moment_share:
        found += moment(told, rng, tuple(found))
    found += sequence(told, rng)
    if rng.random() < knobs.rejection_share:
        found += coincidence(told, rng, tuple(found))
    truth = cause(case, rng)
    others = [name for name in case.verdict.uninvolved if name in told.roster]
    scapegoat = others[int(rng.integers(len(others)))] if others else None
    wrong = blamed(case, None if scapegoat is None else case.world.agent(scapegoat), rng)
    found.append(Question(id="Y", unit="Y", text=asked(case), answer=truth, incorrect=wrong))
    facts = {
        "effect": {"who": case.effect.who, "what": case.effect.what, "time": case.effect.time},
        "root": case.root,
        "between": case.between,
        "causes": list(case.verdict.causes),
        "uninvolved": list(case.verdict.uninvolved),
        "unclear": list(case.verdict.unclear),
        "blamed": scapegoat,
        "roster": list(told.roster),
    }
    return tuple(found), facts
