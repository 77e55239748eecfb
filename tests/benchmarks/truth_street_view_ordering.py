"""Work out the answers of a Street-View Ordering pack again, independently of how it was made.

    python tests/benchmarks/truth_street_view_ordering.py PACK

From where things are at each moment (``meta``) a second pinhole works out what the pictures show; their own pixels have
to show the reference's colour there. Prints what disagrees, and exits with 1 where anything does.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

from street_sight import Eye, asked, colour_of, colour_share, fits, load, outline, told

MOVES = {
    "It stands still.": lambda dx, dy: abs(dx) + abs(dy) < 0.01,
    "It moves in the same direction as the ego vehicle.": lambda dx, dy: dx > 1 and abs(dy) < 0.01,
    "It moves in the opposite direction to the ego vehicle.": lambda dx, dy: dx < -1 and abs(dy) < 0.01,
    "It crosses the road.": lambda dx, dy: abs(dy) > 1 and abs(dx) < 0.01,
}


def disagreements(folder: str | Path) -> list[str]:
    """Return what disagrees, one line each."""
    folder = Path(folder)
    with (folder / "instances.jsonl").open(encoding="utf-8") as lines:
        return [
            f"{instance['id']}: {trouble}"
            for line in lines
            for instance in [json.loads(line)]
            for trouble in check(folder, instance)
        ]


def check(folder: Path, instance: dict[str, Any]) -> Iterator[str]:
    meta = instance["meta"]
    letters = "ABCDEFG"[: len(instance["media"])]
    moment_of = dict(zip(letters, meta["order"], strict=True))
    times = [moment["time"] for moment in meta["moments"]]
    if told(instance, "Y") != sorted(letters, key=lambda letter: times[moment_of[letter]]):
        yield "Y"
    things, eyes = [], []
    for moment, (x, y) in zip(meta["moments"], meta["egos"], strict=True):
        things.append(next(thing for thing in moment["things"] if thing["id"] == meta["reference"]))
        eyes.append(Eye(x, y, 1.6, 0.0, 1.0, 60.0))
    if any(after[0] - before[0] < 3 for before, after in pairwise(meta["egos"])):
        yield "the ego vehicle hardly moves"
    dx, dy = things[-1]["x"] - things[0]["x"], things[-1]["y"] - things[0]["y"]
    if not MOVES[told(instance, "X5")](dx, dy):
        yield "X5"
    shapes = {letter: outline(things[moment], eyes[moment]) for letter, moment in moment_of.items()}
    away = {
        letter: math.hypot(things[moment]["x"] - eyes[moment].x, things[moment]["y"] - eyes[moment].y)
        for letter, moment in moment_of.items()
    }
    for question in asked(instance, "X1"):
        letter = question["id"][-1]
        picture = load(folder / instance["media"][letters.index(letter)])
        box, shape = question["annotations"][0]["box"], shapes[letter]
        if not fits(box, shape):
            yield f"{question['id']}: the reference is not where its box is"
        if colour_share(picture, box, colour_of(things[0])) < 0.06:
            yield f"{question['id']}: no {things[0]['name']} in its box"
        for option in question["choices"]:
            x, y = (float(part) for part in option.strip("()").split(", "))
            inside = shape.left - 1 <= x <= shape.right + 1 and shape.top - 4 <= y <= shape.bottom + 1
            if inside != (option == told(instance, question["id"])):
                yield f"{question['id']}: {option}"
    for unit, better in (("X2", shapes), ("X3", away), ("X4", shapes)):
        for question in asked(instance, unit):
            one, two = question["id"][-2:]
            first = {
                "X2": lambda a, b: _tall(shapes[a]) > _tall(shapes[b]),
                "X3": lambda a, b: away[a] < away[b],
                "X4": lambda a, b: shapes[a].middle < shapes[b].middle,
            }[unit](one, two)
            if told(instance, question["id"]) != f"picture {one if first else two}":
                yield question["id"]
        assert better


def _tall(shape: Any) -> float:
    return float(shape.bottom - shape.top)


if __name__ == "__main__":
    found = disagreements(sys.argv[1])
    print("\n".join(found) or "all answers agree")
    sys.exit(bool(found))
