"""Generator of MM-CoT chains over dice: choose the one chain that fits the picture and follows, among K distractors.

The published set has no labelled distractors; these chains are made so that every distractor violates exactly one
constraint, by a type of the paper's taxonomy (Table 7).

What it measures
    A asks what the picture shows of a die, B what that die shows once it is turned upside down, C what it then makes
    together with another die. T asks which whole chain is right, among visual distractors (a die that is not there, a
    wrong number, a wrong place) and logical ones (effect before cause, outcome before mediator, an unrelated cause, an
    impossible step).
How the truth is known
    Scenes are those of the task Dice Sum; numbers and places are read off the simulated state at rest. A chain says
    that one die lies further left or higher up than another only where their middles are 40 pixels or more apart.
How distractors are engineered
    Every option turns another die, and a die that is turned stands in no other option, so that options do not tell
    about each other. False numbers and false places are drawn like true ones. Left and right are told only of dice
    whose names do not tell them, and where a die in a colour that is not there is turned, the right chain and all
    visual distractors turn dice in colours that no other option mentions. Options are in random order. Without the
    picture a perfect reasoner is left with the right chain and the visual distractors: 1 in 1 + ``visual``; without
    logic a perfect viewer with 1 in 1 + ``logical``. Fine types are drawn in the published proportions, each once
    before any twice; where a scene has too few colours for an object hallucination, among the others.
What is drawn for state 1
    Boxes around the die that is turned and the one it is compared with; the number in question beside the box.
Limits
    * A still shows no actions, so there is no action misperception unless ``poses`` is set; then it is a die said to be
      balanced on an edge, which is easy to doubt without the picture.
    * With A, B or C injected the right option of T is the one about the same die; T then measures whether a model uses
      what it is told.
    * Dice of one colour are told apart by their order from left to right.
    * Of two places that are clear, left or right and up or down, one is told; a die has no depth here.
    * A classifier fitted to 3,000 made-up scenes, on lengths, names, numbers, places and what options share, finds the
      right chain among it and two visual distractors in 35 % (chance: 33 %, standard error 1.2 points). What is left:
      the other die of a wrong number stands in one option only, one of a right number sometimes in two. With one
      visual distractor a rule that knows this is right in 53 % (chance: 50 %).
    * With the default knobs object hallucinations are about one in seven of the visual distractors.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from dodiag.benchmarks.cadet import dice_sum
from dodiag.benchmarks.mmcot.dice_chains import Recipe
from dodiag.benchmarks.mmcot.dice_questions import chain_instance
from dodiag.benchmarks.mmcot.packs import view_graph
from dodiag.benchmarks.rendering import load_mujoco
from dodiag.problems import DodiagError, UsageError
from dodiag.scm.graph import TaskGraph
from dodiag.scm.pack import Instance

VERSION = "2"
"""Of this generator; raised whenever the same seed gives another pack."""

INSTANCES = 120
SCENES = 20
"""Scenes that are tried for one instance."""

SLUG = "mmcot_dice"


class NoChains(DodiagError):
    """No scene allowed the options that are asked for."""


@dataclass(frozen=True, slots=True)
class Knobs:
    """What makes instances easier or harder.

    Attributes
    ----------
    visual, logical : int
        Distractors of each class; K is their sum, 1 to 6.
    fewest, most : int
        Dice of a scene, up to 9; an option needs a die of its own, and one has to be left.
    poses : bool
        Tell each die's pose, so that there are action misperceptions.

    Raises
    ------
    UsageError
        If they are out of range, or there are too few dice for the options.
    """

    visual: int = 2
    logical: int = 2
    fewest: int = 7
    most: int = 8
    poses: bool = False

    def __post_init__(self) -> None:
        needed = self.recipe.needed + 1
        if not needed <= self.fewest <= self.most <= 9:
            cure = f"With {self.recipe.needed - 1} distractors use {needed} <= fewest <= most <= 9."
            raise UsageError(f"{self.fewest} to {self.most} dice are asked for", cure)

    @property
    def recipe(self) -> Recipe:
        """The distractors."""
        return Recipe(self.visual, self.logical, self.poses)


def prepare() -> None:
    """Look for MuJoCo and its GL library.

    Raises
    ------
    MissingDependency
        If one of them is not installed.
    """
    load_mujoco()


def task(seed: int = 0, knobs: Knobs | None = None) -> TaskGraph:
    """Return the graph A → B → C → T with the seed of incorrect answers."""
    return replace(view_graph("dice"), seed=seed)


def draw(seed: int, index: int, knobs: Knobs | None = None) -> tuple[Instance, Mapping[str, bytes]]:
    """Return an instance and its picture; instance i of a seed depends on nothing but the arguments.

    Raises
    ------
    NoChains
        If twenty scenes in a row do not allow the options; only with many distractors and few dice.
    """
    chosen = knobs or Knobs()
    dice = dice_sum.Knobs(fewest=chosen.fewest, most=chosen.most)
    for attempt in range(SCENES):
        rng = np.random.default_rng((seed, index, attempt))
        scene, media = dice_sum.draw(int(rng.integers(2**32)), index, dice)
        made = chain_instance(scene, f"{SLUG}-s{seed}-{index:04d}", chosen.recipe, rng)
        if made is not None:
            return made, media
    message = (
        f"{SCENES} scenes of {chosen.fewest} to {chosen.most} dice allow no {chosen.recipe.needed - 1} distractors"
    )
    raise NoChains(message, "Use more dice or fewer distractors.")
