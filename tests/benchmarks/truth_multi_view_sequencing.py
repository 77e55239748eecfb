"""Work out the answers of a Multi-View Sequencing pack again, independently of how it was made.

    python tests/benchmarks/truth_multi_view_sequencing.py PACK

From where things are at each moment (``meta``) a second pinhole works out what the pictures show; their own pixels have
to show the reference's colour there. The order is worked out as a person does: where the reference is relative to the
ego vehicle in each picture, and from what happens between the two, which way that changes. Prints what disagrees, and
exits with 1 where anything does.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from street_sight import LENGTHS, YAW, Eye, asked, colour_of, colour_share, fits, load, outline, third, told


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
    things = [next(thing for thing in moment["things"] if thing["id"] == "reference") for moment in meta["moments"]]
    egos, times = meta["egos"], [moment["time"] for moment in meta["moments"]]
    ahead = [thing["x"] - ego[0] for thing, ego in zip(things, egos, strict=True)]
    own = (egos[-1][0] - egos[0][0]) / (times[-1] - times[0])
    speed = (things[-1]["x"] - things[0]["x"]) / (times[-1] - times[0])
    yield from _what_happens(instance, own, speed, things[0]["heading"])
    by_place = sorted(letters, key=lambda letter: -ahead[moment_of[letter]])
    order = by_place[::-1] if told(instance, "X5") == "It overtakes the ego vehicle." else by_place
    if told(instance, "Y") != order or sorted(letters, key=lambda letter: times[moment_of[letter]]) != order:
        yield "Y"
    if told(instance, "X4") != "It drives in the opposite direction to the ego vehicle.":
        yield from _direction_of_time(meta)
    for letter, moment in moment_of.items():
        yield from _picture(folder, instance, letter, things[moment], egos[moment], meta["cameras"][moment])
    away = {
        letter: math.hypot(ahead[moment], things[moment]["y"] - egos[moment][1]) for letter, moment in moment_of.items()
    }
    for question in asked(instance, "X3"):
        one, two = question["id"][-2:]
        if told(instance, question["id"]) != f"picture {min((one, two), key=away.__getitem__)}":
            yield question["id"]


def _what_happens(instance: dict[str, Any], own: float, speed: float, heading: float) -> Iterator[str]:
    if own < 3:
        yield "the ego vehicle does not drive on"
    if abs(speed) < 0.05:
        expected = ("It stands still.", "The ego vehicle passes it while it stands.")
    elif speed < 0:
        expected = (
            "It drives in the opposite direction to the ego vehicle.",
            "It comes towards the ego vehicle, and the two pass each other.",
        )
    else:
        what = "It overtakes the ego vehicle." if speed > own else "The ego vehicle overtakes it while it drives."
        expected = ("It drives in the same direction as the ego vehicle.", what)
    if (told(instance, "X4"), told(instance, "X5")) != expected:
        yield f"X4, X5: {expected}"
    if abs(speed) >= 0.05 and (speed > 0) != (heading == 0):
        yield "it drives backwards"


def _direction_of_time(meta: dict[str, Any]) -> Iterator[str]:
    """What stands falls back: the house has to be further back in the later picture."""
    evidence = meta["evidence"]
    if evidence is None:
        yield "nothing tells the direction of time"
        return
    house = next(house for house in meta["layout"]["buildings"] if house["id"] == evidence["house"])
    for moment, bearing in zip(evidence["moments"], evidence["bearings"], strict=True):
        x, y = meta["egos"][moment]
        corners = [
            math.degrees(math.atan2(house["y"] + dy * house["depth"] / 2 - y, house["x"] + dx * house["width"] / 2 - x))
            for dx in (-1, 1)
            for dy in (-1, 1)
        ]
        if not min(corners) - 1 <= bearing <= max(corners) + 1:
            yield "the house is elsewhere"
    first, second = evidence["moments"]
    earlier, later = (abs(bearing) for bearing in evidence["bearings"])
    if not (meta["moments"][first]["time"] < meta["moments"][second]["time"] and later - earlier >= 5.9):
        yield "the house does not fall back"


def _picture(
    folder: Path, instance: dict[str, Any], letter: str, thing: dict[str, Any], ego: list[float], camera: str
) -> Iterator[str]:
    eye = Eye(ego[0], ego[1], 1.75, YAW[camera], 0.0, 62.0)
    shape = outline(thing, eye)
    question = next(question for question in asked(instance, "X1") if question["id"] == f"X1-{letter}")
    box = question["annotations"][0]["box"]
    picture = load(folder / question["annotations"][0]["medium"])
    if not question["annotations"][0]["medium"].endswith(f"-{letter}.jpg") or not fits(box, shape):
        yield f"X1-{letter}: the reference is not where its box is"
    if colour_share(picture, box, colour_of(thing)) < 0.06:
        yield f"X1-{letter}: no {thing['name']} in its box"
    if third(shape.middle) != question["answer"]:
        yield f"X1-{letter}"
    if letter != "A" and told(instance, f"X2-camera-{letter}") != camera:
        yield f"X2-camera-{letter}"
    if f"Picture A was taken by the {camera} camera." not in question["text"] and letter == "A":
        yield "the camera of picture A is told wrongly"
    forward = 1 if thing["heading"] == 0 else -1
    along = forward * (ego[0] - thing["x"])
    half = LENGTHS[thing["kind"]] / 2
    face = "its front" if along > half else "its rear" if along < -half else "neither, only a side"
    if told(instance, f"X2-face-{letter}") != face:
        yield f"X2-face-{letter}"


if __name__ == "__main__":
    found = disagreements(sys.argv[1])
    print("\n".join(found) or "all answers agree")
    sys.exit(bool(found))
