"""Generator of the task Surround Localization (CADET, arXiv:2609.38851, Tables 2 to 4).

The paper's pictures and questions are not released; these are made afresh for the same graph.

What it measures
    Seven cameras on the roof of the ego vehicle look all round; their pictures come in random order. X1 says, for each
    picture, which of four things is in it. X2 finds the front view, and says of each picture whether it looks ahead, to
    a side or back. X3 names the camera of each picture, and says which picture joins on at its right. X4 names the
    camera that sees the target, X5 the third of the picture that it is in. Y is the target's position on the clock,
    with 12 straight ahead.
How the truth is known
    Everything stands in a MuJoCo scene at known places. The hour is the bearing of the target's middle from the camera
    ring; who is in which picture is measured on a drawing that shows whose each pixel is.
Rejected are
    targets that are nearer than `margin` degrees to the border of their hour, hidden or small, or that are not whole in
    just one picture. A thing that a picture shows in part, because it is hidden or cut, is never an option there.
What is drawn for state 1
    X1: a box around the thing that is in the picture. X4, X5: a box around the target.
Limits
    * X2 and X3 together tell the camera of every picture, as they do in the paper's graph.
    * Every X1 question has the target among its options, unless its picture shows a part of it, so that the seven of
      them tell who the target is.
    * A target is a pedestrian, a motorcycle, a car or a van; buses and trucks are there, but never asked for in Y.
    * Cameras are told apart by the run of the road: in dense traffic a person needs a minute.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dodiag.benchmarks.cadet.street.asking import (
    LABEL_BOX,
    THIRDS,
    NoScene,
    Rejected,
    balanced,
    choose,
    layout_facts,
    snapshot_facts,
    third,
)
from dodiag.benchmarks.cadet.street.cameras import RING, WIDTH, ring
from dodiag.benchmarks.cadet.street.scene import Box, Scene, View
from dodiag.benchmarks.cadet.street.search import labelled, search
from dodiag.benchmarks.cadet.street.search import prepare as prepare
from dodiag.benchmarks.cadet.street.state import Thing
from dodiag.benchmarks.cadet.surround_localization_scene import (
    HALF_FOV,
    TARGET_KINDS,
    Surroundings,
    hour_of,
    interval,
    surroundings,
)
from dodiag.benchmarks.generators import Drawn
from dodiag.benchmarks.rendering import load_mujoco
from dodiag.problems import UsageError
from dodiag.scm.files import load_task
from dodiag.scm.graph import TaskGraph
from dodiag.scm.pack import Annotation, Instance, Question

VERSION = "1"
"""Of this generator; raised whenever the same seed gives another pack."""

INSTANCES = 154
"""As many as the paper has."""

CLOCKWISE = ("front centre", "front right", "side right", "rear right", "rear left", "side left", "front left")
"""The ring's cameras in the order in which one sees them turning to the right."""
WAYS = ("ahead or obliquely ahead", "to a side", "obliquely back")
WAY_OF: Mapping[str, int] = {name: 0 if "front" in name else 1 if "side" in name else 2 for name in RING}

MIN_TARGET_PIXELS, MIN_TARGET_SHARE = 350, 0.85
MIN_PIXELS, MIN_SHARE = 220, 0.55
"""Of a thing that is said to be in a picture: its visible pixels, and their share of what it would have if nothing hid
it. A thing that has fewer, but any, is not an option in that picture."""
MAX_PART = 0.7
"""Of the target in any picture but the one that shows the whole of it: its largest visible share."""
MAX_COVER = 0.42
"""Share of a picture that one thing may cover: more, and one cannot tell where the camera looks."""
OPTIONS = 4
MAX_STREETS, MAX_DRAWINGS = 4000, 60
RING_TEXT = (
    "Seven cameras stand on the roof of the ego vehicle. Counter-clockwise from straight ahead they look "
    "at 0° (front centre), 45° (front left), 99° (side left), 153° (rear left), −45° (front right), −99° (side right) "
    "and −153° (rear right); each sees 60° from side to side. The ego vehicle keeps to the right of a straight road. "
    "Its seven pictures are shown in random order and are numbered 1 to 7."
)


@dataclass(frozen=True, slots=True)
class Knobs:
    """How hard the instances are.

    Attributes
    ----------
    margin : float
        Degrees between the target and the border of its hour, 2 to 10: smaller is harder.
    extra : int
        Things beyond the target and one for each other camera, 0 to 8.
    """

    margin: float = 5.0
    extra: int = 3

    def __post_init__(self) -> None:
        if not 2 <= self.margin <= 10:
            raise UsageError(f"the knob margin is {self.margin:g}", "Use 2 to 10 degrees.")
        if not 0 <= self.extra <= 8:
            raise UsageError(f"the knob extra is {self.extra}", "Use 0 to 8.")


@dataclass(frozen=True, slots=True, eq=False)
class Shot:
    """One picture: which camera took it, and what it shows of whom."""

    camera: str
    picture: NDArray[np.uint8]
    views: Mapping[str, View]


@dataclass(frozen=True, slots=True, eq=False)
class Panorama:
    """An accepted scene: the surroundings and the seven pictures in the order in which they are shown."""

    surroundings: Surroundings
    shots: tuple[Shot, ...]
    rejected: Mapping[str, int]

    @property
    def target(self) -> Thing:
        """The thing that is asked for."""
        return self.surroundings.snapshot[self.surroundings.target]

    @property
    def home(self) -> int:
        """The place, from 0, of the picture that shows the whole target."""
        shares = [shot.views[self.target.id].share if self.target.id in shot.views else 0 for shot in self.shots]
        return shares.index(max(shares))

    @property
    def target_box(self) -> Box:
        """Around the target in its picture."""
        return self.shots[self.home].views[self.target.id].box


def task(seed: int = 0, knobs: Knobs = Knobs()) -> TaskGraph:
    """Return the shipped graph with the range of Y and the seed of the incorrect answers."""
    shipped = load_task("surround_localization")
    units = dict(shipped.units)
    answer = units["Y"].answer.model_copy(update={"min": 1, "max": 12})
    units["Y"] = units["Y"].model_copy(update={"answer": answer})
    return replace(shipped, units=units, seed=seed)


def draw(seed: int, index: int, knobs: Knobs = Knobs()) -> Drawn:
    """Return an instance and its pictures; they depend on `seed`, `index` and `knobs` alone.

    Raises
    ------
    MissingDependency
        If MuJoCo or a GL library is missing.
    NoScene
        If no acceptable scene was found; it has not been seen to happen.
    """
    rng = np.random.default_rng((seed, index))
    hour = 1 + balanced(seed, index, 12)
    panorama = find(rng, hour, TARGET_KINDS[balanced(seed, index, len(TARGET_KINDS), stream=1)], knobs)
    media = labelled(index, [shot.picture for shot in panorama.shots], "1234567")
    instance = Instance(
        id=f"surround_localization-s{seed}-{index:04d}",
        media=tuple(media),
        questions=tuple(questions(panorama, tuple(media), rng)),
        meta=_facts(panorama),
    )
    return instance, media


def find(rng: np.random.Generator, hour: int, kind: str, knobs: Knobs) -> Panorama:
    """Draw scenes until one is acceptable.

    Raises
    ------
    NoScene
        If none was found.
    """
    failure = NoScene(f"no street shows a {kind} at {hour} o'clock well", "Lower the knob margin or the knob extra.")
    place, shots, rejected = search(
        lambda: surroundings(rng, hour, kind, knobs.margin, knobs.extra), shoot, MAX_STREETS, MAX_DRAWINGS, failure
    )
    return Panorama(place, tuple(shots[turn] for turn in rng.permutation(len(shots))), rejected)


def shoot(place: Surroundings) -> list[Shot]:
    """Draw the seven pictures.

    Raises
    ------
    Rejected
        If the target or anything that a question needs is not seen well.
    """
    cameras = ring(*place.ego, horizontal_fov=2 * HALF_FOV)
    with Scene(place.layout, place.snapshot) as scene:
        seen = {name: scene.visible(place.snapshot, camera) for name, camera in cameras.items()}
        _check(place, seen)
        return [Shot(name, scene.render(place.snapshot, camera), seen[name]) for name, camera in cameras.items()]


def _check(place: Surroundings, seen: Mapping[str, Mapping[str, View]]) -> None:
    found = sorted((views[place.target] for views in seen.values() if place.target in views), key=_share)
    if not found or found[-1].pixels < MIN_TARGET_PIXELS or found[-1].share < MIN_TARGET_SHARE:
        raise Rejected("the target is hidden or small")
    view = found[-1]
    if len(found) > 1 and found[-2].share > MAX_PART:
        raise Rejected("the target is not whole in just one picture")
    if third(view.centre[0], WIDTH) is None:
        raise Rejected("the target is on the border of a third")
    if view.box[0] < LABEL_BOX[0] and view.box[1] < LABEL_BOX[1]:
        raise Rejected("the label would cover the target")
    for views in seen.values():
        things = {name: view for name, view in views.items() if not name.startswith("signal")}
        if max((view.pixels for view in things.values()), default=0) > MAX_COVER * WIDTH * 400:
            raise Rejected("a thing fills a picture")
        usable = [view for name, view in things.items() if name != place.target or view is found[-1]]
        if not any(clear(view) for view in usable):
            raise Rejected("a picture with nothing to see")
    askable = [thing.id for thing in _askable(place)]
    for views in seen.values():
        if sum(thing not in views for thing in askable) < OPTIONS - 1:
            raise Rejected("too few things that are not in a picture")


def _share(view: View) -> float:
    return view.share


def clear(view: View) -> bool:
    """Return whether a thing is said to be in a picture."""
    return view.pixels >= MIN_PIXELS and view.share >= MIN_SHARE


def _askable(place: Surroundings) -> list[Thing]:
    return [*place.snapshot.vehicles, *place.snapshot.pedestrians]


def questions(panorama: Panorama, media: tuple[str, ...], rng: np.random.Generator) -> Iterator[Question]:
    """Yield the questions of one scene."""
    yield from _identification(panorama, media, rng)
    yield from _views(panorama)
    yield from _viewpoints(panorama)
    yield from _target(panorama, media)


def _identification(panorama: Panorama, media: tuple[str, ...], rng: np.random.Generator) -> Iterator[Question]:
    things = {thing.id: thing for thing in _askable(panorama.surroundings)}
    target = panorama.target
    for number, shot in enumerate(panorama.shots, start=1):
        clearly = [name for name in things if name in shot.views and clear(shot.views[name])]
        shown = [name for name in clearly if name != target.id]
        right = target.id if number == panorama.home + 1 else str(rng.choice(shown))
        absent = [name for name in things if name not in shot.views and name != target.id]
        wrong = [str(name) for name in rng.permutation(absent)][: OPTIONS - 1]
        if target.id not in shot.views:
            wrong = [target.id, *wrong[: OPTIONS - 2]]
        choices, letter = choose(rng, things[right].name, [things[name].name for name in wrong])
        yield Question(
            id=f"X1-{number}",
            unit="X1",
            text=f"{RING_TEXT} Which of these is in picture {number}?",
            choices=choices,
            answer=letter,
            annotations=(Annotation(box=shot.views[right].box, label=things[right].name, medium=media[number - 1]),),
        )


def _views(panorama: Panorama) -> Iterator[Question]:
    front = next(place for place, shot in enumerate(panorama.shots) if shot.camera == "front centre")
    yield Question(
        id="X2-front",
        unit="X2",
        text=f"{RING_TEXT} Which picture is the front view, taken by the camera that looks straight ahead?",
        choices=tuple(f"picture {number}" for number in range(1, len(RING) + 1)),
        answer="ABCDEFG"[front],
    )
    for number, shot in enumerate(panorama.shots, start=1):
        yield Question(
            id=f"X2-{number}",
            unit="X2",
            text=f"{RING_TEXT} Which way does the camera of picture {number} look, as seen from the ego vehicle?",
            choices=WAYS,
            answer="ABC"[WAY_OF[shot.camera]],
        )


def _viewpoints(panorama: Panorama) -> Iterator[Question]:
    cameras = [shot.camera for shot in panorama.shots]
    for number, camera in enumerate(cameras, start=1):
        yield Question(
            id=f"X3-camera-{number}",
            unit="X3",
            text=f"{RING_TEXT} Which camera took picture {number}?",
            choices=tuple(RING),
            answer="ABCDEFG"[list(RING).index(camera)],
        )
    for number, camera in enumerate(cameras, start=1):
        after = CLOCKWISE[(CLOCKWISE.index(camera) + 1) % len(CLOCKWISE)]
        others = [other for other in range(1, len(RING) + 1) if other != number]
        yield Question(
            id=f"X3-right-{number}",
            unit="X3",
            text=f"{RING_TEXT} Which picture joins on at the right edge of picture {number}, so that one sees it next "
            "when one turns to the right?",
            choices=tuple(f"picture {other}" for other in others),
            answer="ABCDEF"[others.index(cameras.index(after) + 1)],
        )


def _target(panorama: Panorama, media: tuple[str, ...]) -> Iterator[Question]:
    target, home = panorama.target, panorama.home
    box = Annotation(box=panorama.target_box, label=target.name, medium=media[home])
    yield Question(
        id="X4",
        unit="X4",
        text=f"{RING_TEXT} Which camera took the picture that shows the whole {target.name}?",
        choices=tuple(RING),
        answer="ABCDEFG"[list(RING).index(panorama.shots[home].camera)],
        annotations=(box,),
    )
    place = third((panorama.target_box[0] + panorama.target_box[2]) / 2, WIDTH)
    assert place is not None, "borders of thirds are rejected"
    yield Question(
        id="X5",
        unit="X5",
        text=f"{RING_TEXT} Just one picture shows the whole {target.name}. In which part of it is the middle of the "
        f"{target.name}?",
        choices=THIRDS,
        answer="ABC"[place],
        annotations=(box,),
    )
    yield Question(
        id="Y",
        unit="Y",
        text=f"{RING_TEXT} At which position of the clock is the {target.name}, as seen from the ego vehicle? Straight "
        "ahead is 12, directly to the right is 3, straight behind is 6, directly to the left is 9. Give the nearest "
        "full hour, 1 to 12.",
        answer=hour_of(interval(target, panorama.surroundings.ego).middle),
    )


def _facts(panorama: Panorama) -> dict[str, Any]:
    place = panorama.surroundings
    return {
        "generator": f"surround_localization {VERSION}",
        "mujoco": load_mujoco().__version__,
        "ego": [round(entry, 3) for entry in place.ego],
        "cameras": [shot.camera for shot in panorama.shots],
        "target": place.target,
        "bearing": round(interval(panorama.target, place.ego).middle, 2),
        "things": snapshot_facts(place.snapshot),
        "seen": [
            {name: [view.pixels, round(view.share, 2), *view.box] for name, view in shot.views.items()}
            for shot in panorama.shots
        ],
        "layout": layout_facts(place.layout),
        "rejected": dict(panorama.rejected),
    }
