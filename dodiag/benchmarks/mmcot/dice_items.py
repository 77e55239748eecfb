"""Picture items in the released format over dice, with labelled distractors and known truth: our own small sample.

Three dice with different numbers are turned upside down, each on its own. Set B says what a die shows then and does not
name it, so that the step has to be found in the picture; set C says what all dice make together then. Larger numbers of
B go with larger ones of C, which can be seen without the picture; which three of the five numbers are right, and which
die goes with which, cannot. So a reader who is never wrong about logic has one item in 60 right without the picture.
The options in which nothing changes name no number: it would tell one of the right ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Any

import numpy as np

from dodiag.benchmarks.ccrv.dice_push import TableDie, table_dice
from dodiag.benchmarks.mmcot.data import DISTRACTOR_TYPES, IMAGE_FIELDS, ImageItem
from dodiag.benchmarks.mmcot.dice_chains import OPPOSITE
from dodiag.benchmarks.mmcot.notation import SLOTS
from dodiag.benchmarks.mmcot.shuffling import answer_text, shuffled
from dodiag.benchmarks.mmcot.taxonomy import DistractorType
from dodiag.scm.pack import Instance, Pack


def dice_items(pack: Pack, seed: int = 0) -> Iterator[dict[str, Any]]:
    """Yield an item in the released format for each scene of a ``dice_sum`` pack that has three different numbers.

    Raises
    ------
    UsageError
        If the pack does not say where its dice are.
    """
    for number, instance in enumerate(pack.instances()):
        rng = np.random.default_rng((seed, number))
        trio = _trio(table_dice(instance), rng)
        if trio is not None:
            yield dict(shuffled(_item(number, instance, trio, rng), rng).raw)


def _trio(dice: Sequence[TableDie], rng: np.random.Generator) -> tuple[TableDie, ...] | None:
    found = [trio for trio in combinations(dice, 3) if len({die.value for die in trio}) == 3]
    if not found:
        return None
    chosen = found[rng.integers(len(found))]
    return tuple(chosen[place] for place in rng.permutation(len(chosen)))


def _item(number: int, instance: Instance, trio: Sequence[TableDie], rng: np.random.Generator) -> ImageItem:
    total = sum(die.value for die in table_dice(instance))
    values = [die.value for die in trio]
    misread = [int(value) for value in rng.permutation([v for v in range(1, OPPOSITE) if v not in values])[:2]]
    steps = [f"It then shows {_pips(OPPOSITE - value)} on top." for value in (*values, *misread)]
    steps.append("It then still shows as many pips on top as it did before.")
    outcomes = [f"All dice together then show {total + OPPOSITE - 2 * value} pips." for value in (*values, *misread)]
    outcomes.append("All dice together then still show as many pips as they did before.")
    kinds = (DistractorType.ATTRIBUTE_ERROR, DistractorType.ATTRIBUTE_ERROR, DistractorType.PHYSICAL_IMPOSSIBILITY)
    types = {f"{letter}{place}": kind for letter in "BC" for place, kind in enumerate(kinds, start=4)}
    conditions = [f"The {die.name} is turned upside down. Opposite faces add up to {OPPOSITE}." for die in trio]
    links = {slot: (f"B{place}", f"C{place}") for place, slot in enumerate(SLOTS, start=1)}
    sets = (_listed("A", conditions), _listed("B", steps), _listed("C", outcomes))
    answer, path = answer_text(links), f"./{instance.media[0]}"
    raw: dict[str, Any] = dict(zip(IMAGE_FIELDS, (*sets, answer, path), strict=True))
    raw[DISTRACTOR_TYPES] = {label: kind.value for label, kind in types.items()}
    return ImageItem(str(number), *sets, answer, path, types, raw)


def _pips(count: int) -> str:
    return f"{count} pip{'' if count == 1 else 's'}"


def _listed(letter: str, options: Sequence[str]) -> str:
    return "\n".join(f"{letter}{place}: {text}" for place, text in enumerate(options, start=1))
