"""Generator of the task Multi-View Sequencing (CADET, arXiv:2609.38851, Tables 2 to 4).

The paper's pictures and questions are not released; these are made afresh for the same graph.

What it measures
    While the ego vehicle drives on, cameras of its ring take pictures of one vehicle, the reference, each at another
    moment; they come in random order, lettered A, B, C, … The camera of picture A is told. X1 says in which third of
    each picture the reference is. X2 names the cameras of the other pictures, and says which end of the reference each
    shows. X3 says in which of two pictures it is nearer, for every pair. X4 says how it moves, X5 what the two vehicles
    do to each other: overtake, be overtaken, pass one that stands, meet. Y puts the pictures in order of time.
How the truth is known
    The encounter is simulated: who is where at which moment. What is seen is measured on a drawing that shows whose
    each pixel is.
Why there is one order
    The reference goes from ahead to behind, or from behind to ahead where it overtakes. Vehicles drive forwards, so
    that an oncoming one tells the direction by its face. In all other encounters a house that cannot be mistaken for
    another must be seen in two pictures in clearly different directions: what stands falls back as one drives on.
Rejected are
    encounters in which the reference is hidden, much cut, small or between two cameras, has an end that is seen flat,
    is equally far away in two pictures, or in which no house tells the direction of time.
What is drawn for state 1
    X1: a box around the reference in each picture.
Left and right
    In half of the instances the whole street is seen in a mirror: traffic keeps to the left there.
Limits
    * The reference is the only vehicle that is met in motion; the others are parked.
    * A reference that stands is always in the parking strip, and one that drives is always in a lane.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dodiag.benchmarks.cadet.multi_view_sequencing_scene import (
    ENCOUNTERS,
    FACES,
    MEETS,
    OVERTAKEN,
    OVERTAKES,
    STANDS,
    Encounter,
    encounter,
)
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
from dodiag.benchmarks.cadet.street.cameras import RING, WIDTH
from dodiag.benchmarks.cadet.street.ordering import order_question, ordering_task, pair_questions
from dodiag.benchmarks.cadet.street.scene import Scene, View
from dodiag.benchmarks.cadet.street.search import labelled, letters_of, search
from dodiag.benchmarks.cadet.street.search import prepare as prepare
from dodiag.benchmarks.cadet.street.state import KINDS
from dodiag.benchmarks.generators import Drawn
from dodiag.benchmarks.rendering import load_mujoco
from dodiag.problems import UsageError
from dodiag.scm.graph import TaskGraph
from dodiag.scm.pack import Annotation, Instance, Question

VERSION = "2"
"""Of this generator; raised whenever the same seed gives another pack."""

INSTANCES = 154
"""As many as the paper has."""

MIN_PIXELS, MIN_SHARE = 350, 0.62
"""Of the reference in every picture: visible pixels, and their share of what it would have if nothing hid it."""
MIN_HOUSE_PIXELS, MIN_HOUSE_TURN = 1500, 6.0
"""Of a house that tells the direction of time: visible pixels in both pictures, degrees between its directions."""
MAX_ENCOUNTERS, MAX_DRAWINGS = 60000, 200
MOTIONS = (
    "It stands still.",
    "It drives in the same direction as the ego vehicle.",
    "It drives in the opposite direction to the ego vehicle.",
)
MOTION_OF: Mapping[str, int] = {STANDS: 0, OVERTAKES: 1, OVERTAKEN: 1, MEETS: 2}
INTERACTIONS: Mapping[str, str] = {
    STANDS: "The ego vehicle passes it while it stands.",
    MEETS: "It comes towards the ego vehicle, and the two pass each other.",
    OVERTAKES: "It overtakes the ego vehicle.",
    OVERTAKEN: "The ego vehicle overtakes it while it drives.",
}
FACE_OPTIONS = ("its front", "its rear", "neither, only a side")


@dataclass(frozen=True, slots=True)
class Knobs:
    """How hard the instances are.

    Attributes
    ----------
    frames : int
        Pictures of an instance, 3 to 6; the paper has 5.
    traffic : int
        Parked vehicles to try, 0 to 12, and two thirds as many people.
    """

    frames: int = 5
    traffic: int = 6

    def __post_init__(self) -> None:
        if not 3 <= self.frames <= 6:
            raise UsageError(f"the knob frames is {self.frames}", "Use 3 to 6.")
        if not 0 <= self.traffic <= 12:
            raise UsageError(f"the knob traffic is {self.traffic}", "Use 0 to 12.")


@dataclass(frozen=True, slots=True)
class Evidence:
    """A house that is seen at two moments, and its direction at both: degrees counter-clockwise from ahead."""

    house: str
    moments: tuple[int, int]
    bearings: tuple[float, float]

    def mirrored(self) -> Evidence:
        """Return it as a mirror shows it: left for right."""
        return replace(self, bearings=(-self.bearings[0], -self.bearings[1]))


@dataclass(frozen=True, slots=True, eq=False)
class Series:
    """An accepted encounter; pictures and views are in order of time, ``order[0]`` is the moment of picture A."""

    encounter: Encounter
    pictures: tuple[NDArray[np.uint8], ...]
    views: tuple[View, ...]
    evidence: Evidence | None
    order: tuple[int, ...]
    rejected: Mapping[str, int]


def task(seed: int = 0, knobs: Knobs = Knobs()) -> TaskGraph:
    """Return the shipped graph with the length of Y and the seed of the incorrect answers."""
    return ordering_task("multi_view_sequencing", seed, knobs.frames)


def draw(seed: int, index: int, knobs: Knobs = Knobs()) -> Drawn:
    """Return an instance and its pictures; they depend on `seed`, `index` and `knobs` alone.

    Raises
    ------
    MissingDependency
        If MuJoCo or a GL library is missing.
    NoScene
        If no acceptable encounter was found.
    """
    rng = np.random.default_rng((seed, index))
    what = ENCOUNTERS[balanced(seed, index, len(ENCOUNTERS))]
    kind = tuple(KINDS)[balanced(seed, index, len(KINDS), stream=1)]
    sequence = find(rng, what, kind, knobs, keep_left=balanced(seed, index, 2, stream=2) == 1)
    shown = [sequence.pictures[moment] for moment in sequence.order]
    media = labelled(index, shown, letters_of(knobs.frames))
    instance = Instance(
        id=f"multi_view_sequencing-s{seed}-{index:04d}",
        media=tuple(media),
        questions=tuple(questions(sequence, tuple(media), rng)),
        meta=_facts(sequence),
    )
    return instance, media


def find(rng: np.random.Generator, what: str, kind: str, knobs: Knobs, *, keep_left: bool = False) -> Series:
    """Draw encounters until one is acceptable.

    Parameters
    ----------
    rng : numpy.random.Generator
    what : str
        What happens, one of :data:`ENCOUNTERS`.
    kind : str
        Of the reference.
    knobs : Knobs
    keep_left : bool
        Whether traffic keeps to the left: the pictures, and all that is told of them, are those of the other side in a
        mirror.

    Raises
    ------
    NoScene
        If none was found.
    """
    failure = NoScene(f"no encounter shows a {kind} well ({what})", "Lower the knob frames or the knob traffic.")
    found, (pictures, views, evidence), rejected = search(
        lambda: encounter(rng, what, kind, knobs.frames, knobs.traffic),
        lambda found: shoot(found, keep_left=keep_left),
        MAX_ENCOUNTERS,
        MAX_DRAWINGS,
        failure,
    )
    order = tuple(int(moment) for moment in rng.permutation(knobs.frames))
    return Series(found.mirrored() if keep_left else found, pictures, views, evidence, order, rejected)


def shoot(
    found: Encounter, *, keep_left: bool = False
) -> tuple[tuple[NDArray[np.uint8], ...], tuple[View, ...], Evidence | None]:
    """Draw the pictures in order of time, as a mirror shows them where traffic keeps left, and measure what they show.

    Raises
    ------
    Rejected
        If the reference is not seen well, or no house tells the direction of time where one has to.
    """
    with Scene.of(found.layout, found.snapshots) as scene:
        views, houses = [], []
        for moment, snapshot in enumerate(found.snapshots):
            owners = scene.segment(snapshot, found.camera(moment))
            view = scene.visible(snapshot, found.camera(moment), owners).get("reference")
            view = view.mirrored(WIDTH) if view is not None and keep_left else view
            _check_view(view)
            assert view is not None, "checked"
            views.append(view)
            houses.append(_houses(scene, owners, found, moment))
        evidence = direction_of_time(found, houses)
        if evidence is None and found.kind != MEETS:
            raise Rejected("no house tells the direction of time")
        pictures = tuple(
            scene.render(snapshot, found.camera(moment)) for moment, snapshot in enumerate(found.snapshots)
        )
    if keep_left:
        pictures = tuple(np.ascontiguousarray(picture[:, ::-1]) for picture in pictures)
        evidence = evidence and evidence.mirrored()
    return pictures, tuple(views), evidence


def _check_view(view: View | None) -> None:
    if view is None or view.pixels < MIN_PIXELS:
        raise Rejected("the reference is small")
    if view.share < MIN_SHARE:
        raise Rejected("the reference is hidden or cut")
    if third(view.centre[0], WIDTH) is None:
        raise Rejected("the reference is on the border of a third")
    if view.box[0] < LABEL_BOX[0] and view.box[1] < LABEL_BOX[1]:
        raise Rejected("the label would cover the reference")


def _houses(scene: Scene, owners: NDArray[np.int32], found: Encounter, moment: int) -> dict[str, float]:
    """Return the bearing, from what is seen of it, of every house that a picture shows well."""
    camera, axis = found.camera(moment), RING[found.cameras[moment]]
    bearings = {}
    for place in range(len(found.snapshots[moment].vehicles), len(scene.ids)):
        columns = np.nonzero(owners == place)[1]
        if len(columns) >= MIN_HOUSE_PIXELS:
            off = np.degrees(np.arctan((columns.mean() + 0.5 - camera.width / 2) / camera.focal))
            bearings[scene.ids[place]] = axis - float(off)
    return bearings


def direction_of_time(found: Encounter, houses: list[dict[str, float]]) -> Evidence | None:
    """Return the house that tells best which of two pictures is the earlier; None where none does.

    No other house that any of the pictures shows well may have its colour, windows and height.
    """
    look = {house.id: (house.colour, house.style, round(house.height, 1)) for house in found.layout.buildings}
    seen = {house for moment in houses for house in moment if house in look}
    often = Counter(look[house] for house in seen)
    best: Evidence | None = None
    for house in sorted(seen):
        if often[look[house]] > 1:
            continue
        for first, second in combinations(range(len(houses)), 2):
            if house in houses[first] and house in houses[second]:
                bearings = houses[first][house], houses[second][house]
                turn = abs(bearings[1]) - abs(bearings[0])
                if turn >= MIN_HOUSE_TURN and (best is None or turn > abs(best.bearings[1]) - abs(best.bearings[0])):
                    best = Evidence(house, (first, second), bearings)
    return best


def questions(sequence: Series, media: tuple[str, ...], rng: np.random.Generator) -> Iterator[Question]:
    """Yield the questions of one encounter."""
    found, letters = sequence.encounter, letters_of(len(media))
    name = found.reference(0).name
    opening = (
        "Seven cameras stand on the roof of the ego vehicle. Counter-clockwise from straight ahead they look at "
        "0° (front centre), 45° (front left), 99° (side left), 153° (rear left), −45° (front right), −99° (side right) "
        "and −153° (rear right). While the ego vehicle drove forwards on a straight road, "
        f"{len(media)} pictures were taken at "
        f"different moments. They are shown in random order and are lettered {letters[0]} to {letters[-1]}; all of "
        f"them show the {name}. Picture A was taken by the {found.cameras[sequence.order[0]]} camera."
    )
    yield from _places(sequence, opening, name, media, letters)
    yield from _viewpoints(sequence, opening, name, letters)
    yield from pair_questions(
        "X3",
        len(media),
        lambda one, two: f"{opening} In which of the pictures {one} and {two} is the {name} nearer to the ego vehicle?",
        lambda one, two: found.distance(sequence.order[one]) < found.distance(sequence.order[two]),
    )
    yield Question(
        id="X4",
        unit="X4",
        text=f"{opening} How does the {name} move with respect to the street?",
        choices=MOTIONS,
        answer="ABC"[MOTION_OF[found.kind]],
    )
    choices, letter = choose(
        rng, INTERACTIONS[found.kind], [text for kind, text in INTERACTIONS.items() if kind != found.kind]
    )
    yield Question(
        id="X5",
        unit="X5",
        text=f"{opening} What happens between the {name} and the ego vehicle?",
        choices=choices,
        answer=letter,
    )
    order = f"Put all {len(media)} pictures in order of time, the earliest first, with the {name} as a reference."
    yield order_question(f"{opening} {order}", sequence.order)


def _places(sequence: Series, opening: str, name: str, media: tuple[str, ...], letters: str) -> Iterator[Question]:
    for place, letter in enumerate(letters):
        view = sequence.views[sequence.order[place]]
        where = third(view.centre[0], WIDTH)
        assert where is not None, "borders of thirds are rejected"
        yield Question(
            id=f"X1-{letter}",
            unit="X1",
            text=f"{opening} In which part of picture {letter} is the middle of what is seen of the {name}?",
            choices=THIRDS,
            answer="ABC"[where],
            annotations=(Annotation(box=view.box, label=name, medium=media[place]),),
        )


def _viewpoints(sequence: Series, opening: str, name: str, letters: str) -> Iterator[Question]:
    found = sequence.encounter
    for place, letter in enumerate(letters[1:], start=1):
        yield Question(
            id=f"X2-camera-{letter}",
            unit="X2",
            text=f"{opening} Which camera took picture {letter}?",
            choices=tuple(RING),
            answer="ABCDEFG"[list(RING).index(found.cameras[sequence.order[place]])],
            requires=(f"X1-{letter}",),
        )
    for place, letter in enumerate(letters):
        yield Question(
            id=f"X2-face-{letter}",
            unit="X2",
            text=f"{opening} Which end of the {name} can be seen in picture {letter}?",
            choices=FACE_OPTIONS,
            answer="ABC"[FACES.index(found.faces[sequence.order[place]])],
            requires=(f"X1-{letter}",),
        )


def _facts(sequence: Series) -> dict[str, Any]:
    found, evidence = sequence.encounter, sequence.evidence
    return {
        "generator": f"multi_view_sequencing {VERSION}",
        "mujoco": load_mujoco().__version__,
        "encounter": found.kind,
        "order": list(sequence.order),
        "cameras": list(found.cameras),
        "faces": list(found.faces),
        "egos": [list(ego) for ego in found.egos],
        "evidence": None
        if evidence is None
        else {
            "house": evidence.house,
            "moments": list(evidence.moments),
            "bearings": [round(bearing, 1) for bearing in evidence.bearings],
        },
        "moments": [{"time": snapshot.time, "things": snapshot_facts(snapshot)} for snapshot in found.snapshots],
        "seen": [[view.pixels, round(view.share, 2), *view.box] for view in sequence.views],
        "layout": layout_facts(found.layout),
        "rejected": dict(sequence.rejected),
    }
