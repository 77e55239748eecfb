"""Generator of the task Street-View Ordering (CADET, arXiv:2609.38851, Tables 2 to 4).

The paper's pictures and questions are not released; these are made afresh for the same graph.

What it measures
    A car that drives straight on takes pictures ahead; they come in random order, lettered A, B, C, … The questions are
    about one reference, a vehicle or a pedestrian. X1 points at it in each picture. X2 says in which of two pictures it
    looks larger, X3 in which it is nearer, X4 in which it is further to the left, for every pair. X5 says how it moves.
    Y puts the pictures in order of time.
How the truth is known
    The drive is simulated: who is where at which moment. What is seen of the reference is measured on a drawing that
    shows whose each pixel is.
Why there is one order
    The ego vehicle goes forwards by at least 3.2 m from picture to picture, so that all that stands comes nearer; the
    reference may do the opposite.
Rejected are
    drives in which the reference is hidden, cut or small in a picture, or in which its height or its distance is within
    a tenth of the same in two pictures. A pair in which it is less than `MIN_SHIFT` pixels apart is not asked in X4.
What is drawn for state 1
    X1: a box around the reference in each picture.
Limits
    * X2 and X3 have the same answer for a pair, since nothing changes its size.
    * Points of X1 are pixel coordinates of the picture as stored; who is shown a resized copy has to rescale them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dodiag.benchmarks.cadet.street.asking import (
    LABEL_BOX,
    NoScene,
    Rejected,
    balanced,
    layout_facts,
    snapshot_facts,
)
from dodiag.benchmarks.cadet.street.cameras import HEIGHT, WIDTH
from dodiag.benchmarks.cadet.street.ordering import order_question, ordering_task, pair_questions
from dodiag.benchmarks.cadet.street.scene import Scene, View, anchor
from dodiag.benchmarks.cadet.street.search import labelled, letters_of, search
from dodiag.benchmarks.cadet.street.search import prepare as prepare
from dodiag.benchmarks.cadet.street_view_ordering_points import decoys, options
from dodiag.benchmarks.cadet.street_view_ordering_scene import (
    MIN_HEIGHT,
    MOTIONS,
    REFERENCE_KINDS,
    Drive,
    check_apart,
    check_drive,
    furnish,
    route,
)
from dodiag.benchmarks.generators import Drawn
from dodiag.benchmarks.rendering import load_mujoco
from dodiag.problems import UsageError
from dodiag.scm.graph import TaskGraph
from dodiag.scm.pack import Annotation, Instance, Question

VERSION = "1"
"""Of this generator; raised whenever the same seed gives another pack."""

INSTANCES = 91
"""As many as the paper has."""

MIN_PIXELS, MIN_SHARE = 120, 0.85
"""Of the reference in every picture: visible pixels, and their share of what it would have if nothing hid it."""
MIN_SHIFT = 8.0
"""Pixels between the middles of the reference in two pictures that X4 compares."""
MAX_DRIVES, MAX_DRAWINGS = 3000, 60
MOTION_OPTIONS = (
    "It stands still.",
    "It moves in the same direction as the ego vehicle.",
    "It moves in the opposite direction to the ego vehicle.",
    "It crosses the road.",
)


@dataclass(frozen=True, slots=True)
class Knobs:
    """How hard the instances are.

    Attributes
    ----------
    frames : int
        Pictures of an instance, 3 to 7; the paper has 5.
    pace : float
        Mean seconds from one picture to the next, 0.8 to 1.6: with less, pictures are more alike.
    traffic : int
        Parked vehicles to try, 0 to 12, and two thirds as many people.
    """

    frames: int = 5
    pace: float = 1.0
    traffic: int = 6

    def __post_init__(self) -> None:
        if not 3 <= self.frames <= 7:
            raise UsageError(f"the knob frames is {self.frames}", "Use 3 to 7.")
        if not 0.8 <= self.pace <= 1.6:
            raise UsageError(f"the knob pace is {self.pace:g}", "Use 0.8 to 1.6 seconds.")
        if not 0 <= self.traffic <= 12:
            raise UsageError(f"the knob traffic is {self.traffic}", "Use 0 to 12.")


@dataclass(frozen=True, slots=True, eq=False)
class Strip:
    """An accepted drive.

    Attributes
    ----------
    drive : Drive
    pictures : tuple of array
        In order of time.
    views : tuple of View
        What each shows of the reference.
    anchors : tuple of (x, y)
        A pixel of the reference in each.
    order : tuple of int
        The moment of each picture as shown: ``order[0]`` is that of picture A.
    """

    drive: Drive
    pictures: tuple[NDArray[np.uint8], ...]
    views: tuple[View, ...]
    anchors: tuple[tuple[int, int], ...]
    order: tuple[int, ...]
    rejected: Mapping[str, int]


def task(seed: int = 0, knobs: Knobs = Knobs()) -> TaskGraph:
    """Return the shipped graph with the length of Y and the seed of the incorrect answers."""
    return ordering_task("street_view_ordering", seed, knobs.frames)


def draw(seed: int, index: int, knobs: Knobs = Knobs()) -> Drawn:
    """Return an instance and its pictures; they depend on `seed`, `index` and `knobs` alone.

    Raises
    ------
    MissingDependency
        If MuJoCo or a GL library is missing.
    NoScene
        If no acceptable drive was found.
    """
    rng = np.random.default_rng((seed, index))
    motion = MOTIONS[balanced(seed, index, len(MOTIONS))]
    strip = find(rng, motion, REFERENCE_KINDS[balanced(seed, index, len(REFERENCE_KINDS), stream=1)], knobs)
    shown = [strip.pictures[moment] for moment in strip.order]
    media = labelled(index, shown, letters_of(knobs.frames))
    instance = Instance(
        id=f"street_view_ordering-s{seed}-{index:04d}",
        media=tuple(media),
        questions=tuple(questions(strip, tuple(media), rng)),
        meta=_facts(strip),
    )
    return instance, media


def find(rng: np.random.Generator, motion: str, kind: str, knobs: Knobs) -> Strip:
    """Draw drives until one is acceptable.

    Raises
    ------
    NoScene
        If none was found.
    """

    def propose() -> Drive:
        bare = route(rng, motion, kind, knobs.frames, knobs.pace)
        check_drive(bare.drive)
        return furnish(rng, bare, knobs.traffic)

    failure = NoScene(f"no drive shows a {kind} that {motion} well", "Lower the knob frames or the knob pace.")
    drive, (pictures, views, anchors), rejected = search(
        propose, lambda drive: shoot(drive, rng), MAX_DRIVES, MAX_DRAWINGS, failure
    )
    order = tuple(int(moment) for moment in rng.permutation(knobs.frames))
    return Strip(drive, pictures, views, anchors, order, rejected)


def shoot(
    found: Drive, rng: np.random.Generator
) -> tuple[tuple[NDArray[np.uint8], ...], tuple[View, ...], tuple[tuple[int, int], ...]]:
    """Draw the pictures of a drive in order of time, and measure what each shows of the reference, and where.

    Raises
    ------
    Rejected
        If it is not seen well in one.
    """
    with Scene.of(found.layout, found.snapshots) as scene:
        views, anchors = [], []
        for moment, snapshot in enumerate(found.snapshots):
            camera = found.camera(moment)
            owners = scene.segment(snapshot, camera)
            view = scene.visible(snapshot, camera, owners).get(found.reference)
            point = anchor(owners == scene.ids.index(found.reference), rng)
            if view is None or point is None or view.pixels < MIN_PIXELS or _height(view) < MIN_HEIGHT:
                raise Rejected("the reference is small")
            if view.share < MIN_SHARE:
                raise Rejected("the reference is hidden or cut")
            if view.box[0] < LABEL_BOX[0] and view.box[1] < LABEL_BOX[1]:
                raise Rejected("the label would cover the reference")
            views.append(view)
            anchors.append(point)
        check_apart([_height(view) for view in views], "two sizes are alike")
        by_distance = sorted(range(len(views)), key=found.distance)
        if by_distance != sorted(range(len(views)), key=lambda moment: -_height(views[moment])):
            raise Rejected("size and distance do not agree")
        pictures = tuple(
            scene.render(snapshot, found.camera(moment)) for moment, snapshot in enumerate(found.snapshots)
        )
    return pictures, tuple(views), tuple(anchors)


def _height(view: View) -> int:
    return view.box[3] - view.box[1]


def questions(strip: Strip, media: tuple[str, ...], rng: np.random.Generator) -> Iterator[Question]:
    """Yield the questions of one drive."""
    letters = letters_of(len(media))
    views = [strip.views[moment] for moment in strip.order]
    name = strip.drive.snapshots[0][strip.drive.reference].name
    opening = (
        f"A car drives straight on and takes {len(media)} pictures ahead at different moments. They are shown in "
        f"random order and are lettered {letters[0]} to {letters[-1]}."
    )
    yield from _pointing(opening, name, strip, media, rng)
    yield from pair_questions(
        "X2",
        len(media),
        lambda one, two: f"{opening} In which of the pictures {one} and {two} does the {name} look larger?",
        lambda one, two: _height(views[one]) > _height(views[two]),
    )
    yield from pair_questions(
        "X3",
        len(media),
        lambda one, two: (
            f"{opening} In which of the pictures {one} and {two} is the {name} nearer to the car with the camera?"
        ),
        lambda one, two: strip.drive.distance(strip.order[one]) < strip.drive.distance(strip.order[two]),
        ("X1-{0}", "X1-{1}", "X2-{0}{1}"),
    )

    def further_left(one: int, two: int) -> bool | None:
        shift = views[two].centre[0] - views[one].centre[0]
        return shift > 0 if abs(shift) >= MIN_SHIFT else None

    yield from pair_questions(
        "X4",
        len(media),
        lambda one, two: (
            f"{opening} In which of the pictures {one} and {two} is the {name} further to the left within the picture?"
        ),
        further_left,
    )
    yield Question(
        id="X5",
        unit="X5",
        text=f"{opening} How does the {name} move with respect to the street?",
        choices=MOTION_OPTIONS,
        answer="ABCD"[MOTIONS.index(strip.drive.motion)],
    )
    order = f"Put all {len(media)} pictures in order of time, the earliest first. The {name} may serve as a reference."
    yield order_question(f"{opening} {order}", strip.order)


def _pointing(
    opening: str, name: str, strip: Strip, media: tuple[str, ...], rng: np.random.Generator
) -> Iterator[Question]:
    for place, letter in enumerate(letters_of(len(media))):
        view = strip.views[strip.order[place]]
        points, right = options(strip.anchors[strip.order[place]], view.box, decoys(rng), rng)
        yield Question(
            id=f"X1-{letter}",
            unit="X1",
            text=(
                f"{opening} Which of these points lies on the {name} in picture {letter}? A point is given as (x, y): "
                f"pixels from the left edge and from the top edge of the picture, which is {WIDTH} pixels wide and "
                f"{HEIGHT} pixels high."
            ),
            choices=tuple(f"({x}, {y})" for x, y in points),
            answer="ABCD"[right],
            annotations=(Annotation(box=view.box, label=name, medium=media[place]),),
        )


def _facts(strip: Strip) -> dict[str, Any]:
    found = strip.drive
    return {
        "generator": f"street_view_ordering {VERSION}",
        "mujoco": load_mujoco().__version__,
        "reference": found.reference,
        "motion": found.motion,
        "order": list(strip.order),
        "egos": [list(ego) for ego in found.egos],
        "moments": [{"time": snapshot.time, "things": snapshot_facts(snapshot)} for snapshot in found.snapshots],
        "seen": [[view.pixels, round(view.share, 2), *view.box] for view in strip.views],
        "layout": layout_facts(found.layout),
        "rejected": dict(strip.rejected),
    }
