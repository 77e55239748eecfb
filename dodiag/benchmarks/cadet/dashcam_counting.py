"""Generator of the task Dashcam Counting (CADET, arXiv:2609.38851, Tables 2 to 4).

The paper's videos and questions are not released; these are made afresh for the same graph.

What it measures
    X1 says what kind of vehicle is at a point of a frame. X2 says on which side of the camera car's lane something is.
    X3 finds the same thing again in another frame. X4 says how a vehicle moves. Y counts the different vehicles of a
    kind that are on one side and stand, or move.
How the truth is known
    Vehicles and pedestrians move by rules in a deterministic simulation; kinds, sides and motions are those of its
    state. A drive is kept only if every vehicle of the counted kind is clearly seen at two whole seconds or more, and
    one that sets off both before and after. Points are measured on a drawing that shows which pixel is whose.
What is drawn for state 1
    Nothing: a mark has no moment in a video. State 1 gives texts with times and pixels.
Limits
    * The counted vehicles differ in colour. Others may look alike; they are asked about by points only.
    * X2 and X4 name vehicles, so that the number of injected entries tells how many of the kind there are.
    * Times in questions are whole seconds of the video: with the default of 8 frames each of them is shown (15 frames
      show every half second). Other numbers of frames show other moments.
    * Points are pixels of the frame as stored.
Licence
    Everything is generated; Apache-2.0 like the package.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dodiag.benchmarks.cadet.dashcam_counting_again import stock
from dodiag.benchmarks.cadet.dashcam_counting_questions import Seen, again, classes, motions, sides, total
from dodiag.benchmarks.cadet.dashcam_counting_scenes import AFTER_START, CLEAR_SECONDS, SECONDS, draw_drive
from dodiag.benchmarks.cadet.street.town import draw_layout
from dodiag.benchmarks.cadet.traffic.footage import film, open_scene, survey
from dodiag.benchmarks.cadet.traffic.record import record
from dodiag.benchmarks.generators import Drawn
from dodiag.benchmarks.rendering import load_mujoco
from dodiag.benchmarks.video_files import load_av
from dodiag.problems import DodiagError, UsageError
from dodiag.scm.files import load_task
from dodiag.scm.graph import TaskGraph
from dodiag.scm.pack import Instance

VERSION = "2"
"""Of this generator; raised whenever the same seed gives another pack."""

INSTANCES = 79
"""The paper's number."""

ANSWER_RANGE = (0, 20)
TRIES = 4000
LIGHTS = {"day": 0.7, "overcast": 0.3}
FOCUS_SHARES = {3: 0.25, 4: 0.35, 5: 0.25, 6: 0.15}


class NoScene(DodiagError):
    """No acceptable drive was found; it has not been seen to happen with the default knobs."""


@dataclass(frozen=True, slots=True)
class Knobs:
    """How hard the questions are; the defaults give the paper's counts.

    Attributes
    ----------
    counted : int
        Vehicles of the counted kind, 1 to 7; 0 draws 3 to 6.
    others : int
        Vehicles of other kinds, 0 to 7.
    walkers : int
        Pedestrians, 0 to 5.
    classes, sides, again : int
        Most questions of X1, X2 and X3 of an instance.
    """

    counted: int = 0
    others: int = 6
    walkers: int = 3
    classes: int = 37
    sides: int = 28
    again: int = 18

    def __post_init__(self) -> None:
        limits = {"counted": (0, 7), "others": (0, 7), "walkers": (0, 5)}
        limits |= dict.fromkeys(("classes", "sides", "again"), (1, 120))
        for name, (low, high) in limits.items():
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
                raise UsageError(f"{name} is {value}", f"Use a whole number, {low} to {high}.")


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
    """Return the shipped graph with the range of the count and the seed of the incorrect answers."""
    graph = load_task("dashcam_counting")
    low, high = ANSWER_RANGE
    answer = graph.units["Y"].answer.model_copy(update={"min": low, "max": high})
    units = {**graph.units, "Y": graph.units["Y"].model_copy(update={"answer": answer})}
    return replace(graph, units=units, seed=seed)


def draw(seed: int, index: int, knobs: Knobs = Knobs()) -> Drawn:
    """Return one instance and its video; it depends on the arguments alone.

    Raises
    ------
    MissingDependency
        If MuJoCo, its GL library or PyAV is not there.
    NoScene
        If no drive was accepted.
    """
    rng = np.random.default_rng((seed, index))
    counted = knobs.counted or int(rng.choice(list(FOCUS_SHARES), p=list(FOCUS_SHARES.values())))
    rejected: Counter[str] = Counter()
    for _ in range(TRIES):
        drive = draw_drive(rng, counted, knobs.others, knobs.walkers, rejected)
        if drive is None:
            continue
        light = rng.choice(list(LIGHTS), p=list(LIGHTS.values()))
        layout = draw_layout(rng, start=-30.0, end=150.0, lanes=2, parking=True, light=light, tree_share=0.45)
        with open_scene(drive.run, layout) as scene:
            seen = Seen(drive, survey(drive.run, scene, int(SECONDS)))
            reason = _unfit(seen)
            if reason:
                rejected[reason] += 1
                continue
            video = film(drive.run, scene)
        questions = classes(seen, rng, knobs.classes)
        placed = sides(seen, rng, knobs.sides)
        same = again(seen, rng, knobs.again, questions, stock(knobs.others, knobs.walkers))
        questions += [*placed, *same]
        questions += motions(seen, rng, tuple(questions))
        questions.append(total(seen))
        medium = f"media/{index:04d}.mp4"
        meta: dict[str, Any] = {
            "generator": f"dashcam_counting {VERSION}",
            "mujoco": load_mujoco().__version__,
            "counted": drive.kind,
            "asked": {"side": drive.asked[0], "motions": list(drive.asked[1])},
            **record(drive.run, seen.footage, layout, ()),
            "rejected": dict(sorted(rejected.items())),
        }
        instance = Instance(
            id=f"dashcam_counting-s{seed}-{index:04d}", media=(medium,), questions=tuple(questions), meta=meta
        )
        return instance, {medium: video}
    raise NoScene(f"{TRIES} drives past {counted} vehicles of a kind were all rejected", "Ask for fewer vehicles.")


def _unfit(seen: Seen) -> str:
    """Return why a drive cannot be asked about; empty where it can."""
    drive, footage = seen.drive, seen.footage
    for name in drive.focus:
        keys = footage.clear_keys(name)
        if len(keys) < CLEAR_SECONDS:
            return "a counted vehicle is not clearly seen"
        if drive.motions[name] == "sets off":
            speed = drive.run.v[:, drive.run.column(name)]
            starts = float(drive.run.times[int(np.argmax(speed > 0.5))])
            if not any(key < starts for key in keys) or not any(key >= starts + AFTER_START for key in keys):
                return "a vehicle is not seen before and after it sets off"
    return ""
