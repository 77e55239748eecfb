"""Generator of the task Dice Sum (CADET, arXiv:2609.38851, Tables 2 to 4).

The paper's dice pictures and questions are not released; these are made afresh for the same graph.

What it measures
    X1 counts the dice. X2 points at the top face of one die among points on its side faces and around it. X3 counts the
    pips of that face. Y adds them up. X2 and X3 have one question per die; an X3 question requires the X2 question of
    its own die.
How the truth is known
    Dice are thrown in a rigid-body simulation; values and places are read off the state at rest, and scenes are kept
    only where every die and every pip that counts is in full view (see ``dice_scene``). Nothing is labelled by hand.
What is drawn for state 1
    X1: a box around every die. X2: the outline of the top face. X3: the die's box with the number. Boxes are measured
    on the picture and may differ by a pixel between GL libraries; all other text depends only on seed, index and the
    build of MuJoCo, whose version is kept in ``meta``.
Limits
    * X2 and X3 have one injected entry per die, so that their presence tells a model how many dice there are.
    * X3 has as many questions as X2; the paper has 868 beside 791 and does not say where the others come from.
    * Dice of one colour are told apart by their order from left to right: the questions presuppose colour names.
    * Points are pixel coordinates of the picture as stored; a model that is shown a resized copy has to rescale them.
    * From the coordinates alone the lowest of the four points is never right, since a side face is always lower than
      the top: a guess that knows this is right in a third of the questions instead of a quarter, however the other
      points are drawn. A classifier fitted to the places in 1,200 questions of this generator is right in half of
      1,200 others, to their shape alone in 0.42: the step from top to side is one of a die, the other steps are drawn,
      and tops keep away from the frame. Compare a model with a text-only run.
"""

from __future__ import annotations

import io
import string
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from PIL import Image

from dodiag.benchmarks.cadet.dice_scene import HEIGHT, WIDTH, Arrangement, DiceScene, NoScene, arrange
from dodiag.benchmarks.cadet.dice_scene import draw as render
from dodiag.benchmarks.cadet.dice_view import SIDE_CLEARANCE, Die, Pixel, distance_outside
from dodiag.benchmarks.generators import Drawn
from dodiag.benchmarks.rendering import Floats, load_mujoco
from dodiag.problems import UsageError
from dodiag.scm.files import load_task
from dodiag.scm.graph import TaskGraph
from dodiag.scm.pack import Annotation, Instance, Question

VERSION = "1"
"""Of this generator; raised whenever the same seed gives another pack."""

COUNT_SHARES = {4: 0.13, 5: 0.20, 6: 0.29, 7: 0.20, 8: 0.18}
"""How often a scene has so many dice: 6.1 on average, as in the paper (791 X2 questions on 130 instances)."""

OTHER_SHARE = 0.1
"""The weight of every other number of dice, where one is asked for."""

INSTANCES = 130
JPEG_QUALITY = 88
OPTIONS = 4
FRAME_CLEARANCE = 8.0
"""Pixels between the points of X2's options and the frame."""
TRIES = 60


@dataclass(frozen=True, slots=True)
class Knobs:
    """What makes scenes easier or harder.

    Attributes
    ----------
    fewest, most : int
        Dice of a scene, 2 to 9. The defaults give the paper's mean.

    Raises
    ------
    UsageError
        If they are out of range or in the wrong order.
    """

    fewest: int = 4
    most: int = 8

    def __post_init__(self) -> None:
        if not 2 <= self.fewest <= self.most <= 9:
            raise UsageError(f"{self.fewest} to {self.most} dice are asked for", "Use 2 <= fewest <= most <= 9.")


def prepare() -> None:
    """Look for MuJoCo and its GL library.

    Raises
    ------
    MissingDependency
        If one of them is not installed.
    """
    load_mujoco()


def task(seed: int = 0, knobs: Knobs | None = None) -> TaskGraph:
    """Return the shipped graph with the ranges of the answers and the seed of the incorrect ones."""
    graph = load_task("dice_sum")
    most = (knobs or Knobs()).most
    ranges = {"X1": (1, 20), "X3": (1, 6), "Y": (1, 6 * most)}
    units = dict(graph.units)
    for unit_id, (low, high) in ranges.items():
        answer = units[unit_id].answer.model_copy(update={"min": low, "max": high})
        units[unit_id] = units[unit_id].model_copy(update={"answer": answer})
    return replace(graph, units=units, seed=seed)


def draw(seed: int, index: int, knobs: Knobs | None = None) -> Drawn:
    """Return a scene's instance and picture; instance i of a seed depends on nothing but the arguments."""
    chosen = knobs or Knobs()
    rng = np.random.default_rng((seed, index))
    counts = list(range(chosen.fewest, chosen.most + 1))
    weights = np.array([COUNT_SHARES.get(count, OTHER_SHARE) for count in counts])
    dice = int(rng.choice(counts, p=weights / weights.sum()))
    scene = render(arrange(rng, dice))
    medium = f"media/{index:04d}.jpg"
    instance = Instance(
        id=f"dice_sum-s{seed}-{index:04d}",
        media=(medium,),
        questions=tuple(questions(scene, rng)),
        meta=_facts(scene.arrangement),
    )
    return instance, {medium: _jpeg(scene)}


def questions(scene: DiceScene, rng: np.random.Generator) -> Iterator[Question]:
    """Yield the questions of one scene; dice are lettered A, B, C, … from left to right in the questions' ids."""
    dice = scene.arrangement.dice
    yield Question(
        id="X1",
        unit="X1",
        text="How many dice are in the picture?",
        answer=len(dice),
        annotations=tuple(Annotation(box=box) for box in scene.boxes),
    )
    for label, die in zip(string.ascii_uppercase, dice, strict=False):
        points, right = options(die, rng)
        yield Question(
            id=f"X2-{label}",
            unit="X2",
            text=(
                f"Which of these points lies on the top face of the {die.name}? A point is given as (x, y): pixels "
                f"from the left edge and from the top edge of the picture, which is {WIDTH} pixels wide and {HEIGHT} "
                "pixels high."
            ),
            choices=tuple(f"({x}, {y})" for x, y in points),
            answer=string.ascii_uppercase[right],
            annotations=(Annotation(path=_closed(die.top.outline)),),
        )
    for label, die, box in zip(string.ascii_uppercase, dice, scene.boxes, strict=False):
        yield Question(
            id=f"X3-{label}",
            unit="X3",
            text=f"How many pips (dots) are on the top face of the {die.name}?",
            answer=die.value,
            annotations=(Annotation(box=box, label=str(die.value)),),
            requires=(f"X2-{label}",),
        )
    yield Question(
        id="Y",
        unit="Y",
        text="What is the sum of the pips (dots) on the top faces of all dice in the picture?",
        answer=sum(die.value for die in dice),
    )


def options(die: Die, rng: np.random.Generator) -> tuple[list[tuple[int, int]], int]:
    """Draw the four points of an X2 question.

    One is the centre of the top face, one the centre of a visible side face. The others continue the two upwards or
    downwards by steps of the same kind, onto whatever is there (table, other dice, other faces), so that neither the
    order nor the spacing of the coordinates tells which point is right without the picture.

    Returns
    -------
    (points, right) : list of (x, y), int
        In the order of the options, and the index of the right one.
    """
    top = _whole(die.top.centre)
    side = _whole(die.sides[int(rng.integers(len(die.sides)))].centre)
    for above in rng.permutation(OPTIONS - 1):
        points = _column(die, top, side, int(above), rng)
        if points is not None:
            order = rng.permutation(OPTIONS)
            shuffled = [points[place] for place in order]
            return shuffled, shuffled.index(top)
    raise NoScene(f"no points to choose from fit around the {die.name}")


def _column(
    die: Die, top: tuple[int, int], side: tuple[int, int], above: int, rng: np.random.Generator
) -> list[tuple[int, int]] | None:
    """Return the top's and the side's points, with `above` of the other points above and the rest below them.

    None where they do not fit.
    """
    # The step from top to side has to look like one draw among the others, or the odd one out would give it away.
    stretch, jitter = _step_noise(rng)
    common = (np.array(side) - np.array(top) - jitter) / stretch
    points = [top, side]
    for upwards in (True,) * above + (False,) * (OPTIONS - 2 - above):
        start = np.array(min(points, key=_height) if upwards else max(points, key=_height))
        for _ in range(TRIES):
            stretch, jitter = _step_noise(rng)
            step = (common * stretch + jitter) * (rng.choice((-1, 1)), 1)
            point = _whole(start - step if upwards else start + step)
            if _fits(point, die, points):
                points.append(point)
                break
        else:
            return None
    return points


def _step_noise(rng: np.random.Generator) -> tuple[Floats, Floats]:
    return rng.uniform(0.8, 1.25, size=2), rng.normal(scale=4, size=2)


def _fits(point: tuple[int, int], die: Die, points: Sequence[tuple[int, int]]) -> bool:
    x, y = point
    inside = FRAME_CLEARANCE <= x <= WIDTH - FRAME_CLEARANCE and FRAME_CLEARANCE <= y <= HEIGHT - FRAME_CLEARANCE
    apart = all(np.hypot(x - other[0], y - other[1]) >= SIDE_CLEARANCE for other in points)
    return inside and apart and distance_outside(point, die.top.outline) >= SIDE_CLEARANCE


def _height(point: tuple[int, int]) -> int:
    return point[1]


def _whole(pixel: Pixel) -> tuple[int, int]:
    return round(pixel[0]), round(pixel[1])


def _closed(outline: Sequence[Pixel]) -> tuple[Pixel, ...]:
    points = tuple(_rounded(point) for point in outline)
    return (*points, points[0])


def _rounded(pixel: Pixel) -> Pixel:
    return round(pixel[0], 1), round(pixel[1], 1)


def _facts(scene: Arrangement) -> dict[str, Any]:
    """Return the scene's state, rounded so that the last bit of a computation does not show in the text."""
    camera, light = scene.camera, scene.light
    return {
        "generator": f"dice_sum {VERSION}",
        "mujoco": load_mujoco().__version__,
        "table": scene.table,
        "camera": {
            "target_mm": _millimetres(camera.target),
            "distance_mm": round(1000 * camera.distance, 1),
            "azimuth": round(camera.azimuth, 2),
            "elevation": round(camera.elevation, 2),
            "fov": round(camera.fov, 2),
        },
        "light": {
            "position_mm": _millimetres(light.position),
            "colour": light.colour,
            "intensity": round(light.intensity, 3),
            "ambient": round(light.ambient, 3),
            "shadows": light.shadows,
        },
        "dice": [
            {
                "label": label,
                "name": die.name,
                "value": die.value,
                "colour": die.colour,
                "pip_colour": die.pip_colour,
                "edge_mm": die.edge,
                "position_mm": _millimetres(die.position),
                "rotation": [round(entry, 4) + 0.0 for entry in die.rotation],
                "centre": _rounded(die.centre),
                "visible": round(die.share, 2),
            }
            for label, die in zip(string.ascii_uppercase, scene.dice, strict=False)
        ],
        "rejected": {"rolls": scene.rejected_rolls, "views": scene.rejected_views},
    }


def _millimetres(point: Sequence[float]) -> list[float]:
    return [round(1000 * entry, 1) + 0.0 for entry in point]


def _jpeg(scene: DiceScene) -> bytes:
    buffer = io.BytesIO()
    Image.fromarray(scene.picture).save(buffer, "JPEG", quality=JPEG_QUALITY, optimize=True)
    return buffer.getvalue()
