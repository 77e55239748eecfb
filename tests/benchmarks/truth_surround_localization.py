"""Work out the answers of a Surround Localization pack again, independently of how it was made.

    python tests/benchmarks/truth_surround_localization.py PACK

From where things stand (``meta``) a second pinhole works out who is in which picture, where, and on which hour; the
pictures' own pixels have to show the named colour there. Prints what disagrees, and exits with 1 where anything does.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from street_sight import YAW, Eye, asked, colour_of, colour_share, fits, load, outline, third, told


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
    things = {
        thing["name"]: thing for thing in meta["things"] if "heading" in thing and thing["name"] != "traffic light"
    }
    target = next(thing for thing in meta["things"] if thing["id"] == meta["target"])
    x, y, _ = meta["ego"]
    eyes = [Eye(x, y, 1.75, YAW[camera], 0.0, 60.0) for camera in meta["cameras"]]
    pictures = [load(folder / medium) for medium in instance["media"]]
    yield from _hour(instance, target, x, y)
    yield from _ring(instance, meta["cameras"])
    for number, (eye, picture) in enumerate(zip(eyes, pictures, strict=True), start=1):
        question = next(q for q in asked(instance, "X1") if q["id"] == f"X1-{number}")
        right = told(instance, question["id"])
        for name in question["choices"]:
            seen = outline(things[name], eye)
            if name == right:
                box = question["annotations"][0]["box"]
                if not (seen.in_sight or seen.behind) or (not seen.behind and not fits(box, seen)):
                    yield f"{question['id']}: the {name} is not where its box is"
                if colour_share(picture, box, colour_of(things[name])) < 0.06:
                    yield f"{question['id']}: no {name} in its box"
            elif seen.in_sight:
                clipped = (max(seen.left, 0), max(seen.top, 0), min(seen.right, 640), min(seen.bottom, 400))
                big = (clipped[2] - clipped[0]) * (clipped[3] - clipped[1]) > 400
                if big and colour_share(picture, clipped, colour_of(things[name])) > 0.5:
                    yield f"{question['id']}: the {name} is in the picture too"
    homes = [camera for camera, eye in zip(meta["cameras"], eyes, strict=True) if outline(target, eye).whole]
    if homes != [told(instance, "X4")]:
        yield f"X4: the target is whole in {homes}"
    else:
        eye = eyes[meta["cameras"].index(homes[0])]
        answer = next(q["answer"] for q in asked(instance, "X5"))
        if third(outline(target, eye).middle) != answer:
            yield "X5: the target is in another third"


def _hour(instance: dict[str, Any], target: dict[str, Any], x: float, y: float) -> Iterator[str]:
    clockwise = -math.degrees(math.atan2(target["y"] - y, target["x"] - x)) % 360
    hour = int((clockwise + 15) // 30) % 12 or 12
    if told(instance, "Y") != hour:
        yield f"Y: the target is on {hour}"
    if min(clockwise % 30, 30 - clockwise % 30) > 13:
        yield "Y: the target is near the border of its hour"


def _ring(instance: dict[str, Any], cameras: list[str]) -> Iterator[str]:
    if told(instance, "X2-front") != f"picture {cameras.index('front centre') + 1}":
        yield "X2-front"
    turning_right = sorted(YAW, key=lambda name: -YAW[name])
    for number, camera in enumerate(cameras, start=1):
        ways = {"front": "ahead or obliquely ahead", "side": "to a side", "rear": "obliquely back"}
        if told(instance, f"X2-{number}") != ways[camera.split()[0]]:
            yield f"X2-{number}"
        if told(instance, f"X3-camera-{number}") != camera:
            yield f"X3-camera-{number}"
        after = turning_right[(turning_right.index(camera) + 1) % 7]
        if told(instance, f"X3-right-{number}") != f"picture {cameras.index(after) + 1}":
            yield f"X3-right-{number}"


if __name__ == "__main__":
    found = disagreements(sys.argv[1])
    print("\n".join(found) or "all answers agree")
    sys.exit(bool(found))
