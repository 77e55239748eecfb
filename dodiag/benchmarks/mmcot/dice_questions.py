"""The questions about a dice scene: each step of the right chain, and the chain itself among its distractors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from dodiag.benchmarks.ccrv.dice_push import TableDie, table_dice
from dodiag.benchmarks.ccrv.writing import Drawn, write_pack
from dodiag.benchmarks.mmcot.dice_chains import OPPOSITE, RELATIONS, Claims, Option, Recipe, draw_options
from dodiag.benchmarks.mmcot.packs import Exported, LeftOut, view_graph
from dodiag.problems import UsageError
from dodiag.scm.answers import LETTERS
from dodiag.scm.pack import Annotation, Instance, Pack, Question

META = "mmcot_dice"
"""Where an instance keeps the types of its options; no model sees it."""

_RULE = f"Opposite faces of a die add up to {OPPOSITE}."
_NAMES = "Dice of one colour are named by their order from left to right in the picture."


def chain_instance(scene: Instance, name: str, recipe: Recipe, rng: np.random.Generator) -> Instance | None:
    """Return the instance of a dice scene, or None where its dice do not allow the options.

    Parameters
    ----------
    scene : Instance
        Of the task ``dice_sum``, with the facts of its generator.
    name : str
        The instance's id.
    recipe : Recipe
    rng : numpy.random.Generator

    Raises
    ------
    UsageError
        If the scene has no such facts.
    """
    dice = table_dice(scene)
    options = draw_options(dice, recipe, rng)
    if options is None:
        return None
    asked = tuple(_questions(options, {die.name: die for die in dice}, rng))
    types = {letter: option.type and option.type.value for letter, option in zip(LETTERS, options, strict=False)}
    about: dict[str, Any] = {"types": types, "source": scene.id}
    return Instance(id=name, media=scene.media, questions=asked, meta={**scene.meta, META: about})


def _questions(options: Sequence[Option], dice: dict[str, TableDie], rng: np.random.Generator) -> Iterator[Question]:
    place = next(place for place, option in enumerate(options) if option.type is None)
    claims = options[place].claims
    subject, reference = dice[claims.subject], dice[claims.reference]
    turned = f"The {claims.subject} is turned upside down. {_RULE}"
    seen = (_box(subject), _box(reference))
    statements = _statements(claims, rng)
    yield Question(
        id="A",
        unit="A",
        text=f"Which of these statements about the picture is right? {_NAMES}",
        choices=statements,
        answer=LETTERS[statements.index(_statement(claims, claims.relation, claims.value))],
        annotations=(_box(subject, str(subject.value)), _box(reference)),
    )
    yield Question(
        id="B",
        unit="B",
        text=f"{turned} How many pips does it show then? {_NAMES}",
        answer=claims.turned,
        annotations=seen[:1],
    )
    yield Question(
        id="C",
        unit="C",
        text=f"{turned} How many pips do it and the {claims.reference} show together then? {_NAMES}",
        answer=claims.turned + claims.other,
        annotations=(_box(subject), _box(reference, str(reference.value))),
    )
    yield Question(
        id="T",
        unit="T",
        text=(
            "Which of these chains of cause and effect is right? All that it says of the picture has to be true, and"
            f" every arrow has to lead from what happens to what follows from it. {_RULE} {_NAMES}"
        ),
        choices=tuple(option.text for option in options),
        answer=LETTERS[place],
        annotations=seen,
    )


def _statements(claims: Claims, rng: np.random.Generator) -> tuple[str, ...]:
    """Return the four combinations of a true and a false place with a true and a false number, in random order."""
    false = int(rng.choice([pips for pips in range(1, OPPOSITE) if pips != claims.value]))
    places = (claims.relation, RELATIONS[claims.relation])
    found = [_statement(claims, relation, value) for relation in places for value in (claims.value, false)]
    return tuple(found[place] for place in rng.permutation(len(found)))


def _statement(claims: Claims, relation: str, value: int) -> str:
    return f"The {claims.subject} lies {relation} the {claims.reference} and shows {value}."


def _box(die: TableDie, label: str | None = None) -> Annotation:
    return Annotation(box=die.box, label=label)


def export_chains(pack: Pack, out: Path, recipe: Recipe, seed: int = 0) -> Exported:
    """Write the pack ``mmcot_dice`` over the pictures of a ``dice_sum`` pack.

    Parameters
    ----------
    pack : Pack
    out : Path
        A new folder.
    recipe : Recipe
    seed : int
        Of chains and order.

    Raises
    ------
    UsageError
        If the pack is of another task, no scene allows the options, or the folder is not new.
    """
    if pack.task.name != "dice_sum":
        raise UsageError(f"the pack is of task {pack.task.name}", "Use one of dice_sum.")
    reason = f"its dice do not allow {recipe.visual} visual and {recipe.logical} logical distractors"
    drawn: list[Drawn] = []
    left_out = []
    for number, scene in enumerate(pack.instances()):
        made = chain_instance(scene, f"chain-{scene.id}", recipe, np.random.default_rng((seed, number)))
        if made is None:
            left_out.append(LeftOut(scene.id, reason))
            continue
        drawn.append((made, {name: pack.medium(name).read_bytes() for name in scene.media}))
    if not drawn:
        raise UsageError(f"no scene of {pack.folder} allows the options", "Use more dice or fewer distractors.")
    write_pack(out, replace(view_graph("dice"), seed=seed), drawn)
    return Exported(len(drawn), sum(len(instance.questions) for instance, _ in drawn), tuple(left_out))
