"""Dice scenes at random, without a renderer: names and colours by the rules of ``dice_sum``, places anywhere."""

from __future__ import annotations

import numpy as np

from dodiag.benchmarks.cadet.dice_model import BODY_COLOURS, CONFUSABLE, MAX_OF_A_COLOUR
from dodiag.benchmarks.ccrv.dice_push import TableDie

PLACES = {1: ("",), 2: ("left ", "right "), 3: ("leftmost ", "middle ", "rightmost ")}


def made_scene(rng: np.random.Generator, count: int) -> tuple[TableDie, ...]:
    palette: list[str] = []
    for name in rng.permutation(list(BODY_COLOURS)):
        if not any(pair >= {str(name), other} for pair in CONFUSABLE for other in palette):
            palette.append(str(name))
    fewest = -(-count // 2)
    palette = palette[: int(rng.integers(fewest, max(fewest, len(palette)) + 1))]
    pool = palette * MAX_OF_A_COLOUR
    colours = [pool[place] for place in rng.permutation(len(pool))[:count]]
    across = np.sort(rng.uniform(100, 700, count))
    down = rng.uniform(100, 500, count)
    dice = []
    for place, (colour, x, y) in enumerate(zip(colours, across, down, strict=True)):
        same = [other for other in range(count) if colours[other] == colour]
        name = f"{PLACES[len(same)][same.index(place)]}{colour} die"
        box = (x - 25, y - 25, x + 25, y + 25)
        dice.append(TableDie(place + 1, name, int(rng.integers(1, 7)), 16.0, np.zeros((8, 2)), box))
    return tuple(dice)
