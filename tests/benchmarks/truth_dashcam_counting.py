"""Derive the answers of a Dashcam Counting pack again, from the stored tracks alone.

Kinds and identities are found by projecting boxes of the size of each kind through an own pinhole camera; sides,
motions and the count by differences of places. Nothing of the generator is used. Run it as
``python truth_dashcam_counting.py PACK``.
"""

from __future__ import annotations

import json
import math
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

SIZES = {
    "car": (4.5, 1.84, 1.50),
    "van": (5.4, 2.04, 2.30),
    "truck": (7.6, 2.40, 3.30),
    "motorcycle": (2.1, 0.80, 1.75),
    "pedestrian": (0.62, 0.62, 1.80),
}
SLACK = 3.0
"""Pixels by which a point may be off a projected box: tracks are rounded to centimetres."""


class View:
    """The dashcam of a stored instance, from its numbers."""

    def __init__(self, meta: dict[str, Any]) -> None:
        self.step = meta["step"]
        self.agents = {agent["id"]: agent for agent in meta["agents"]}
        self.ego = np.array(self.agents["ego"]["track"])
        camera = meta["camera"]
        self.width, self.height = camera["size"]
        self.lens = self.height / 2 / math.tan(math.radians(camera["fov"] / 2))
        self.tilt = math.radians(camera["tilt"])
        self.above = camera["height"]
        self.kerb = meta["road"]["kerb"]
        self.boxes = meta["sightings"]

    def track(self, name: str) -> np.ndarray:
        return np.array(self.agents[name]["track"])

    def velocity(self, track: np.ndarray, row: int) -> np.ndarray:
        low, high = max(row - 1, 0), min(row + 1, len(track) - 1)
        return (track[high] - track[low]) / (self.step * (high - low))

    def pixels(self, corners: np.ndarray, row: int) -> np.ndarray | None:
        """Return the pixels of corners (n, 3); None where one is not before the camera."""
        ahead, across = self.velocity(self.ego, row)
        yaw = math.atan2(across, max(ahead, 2.0))
        place = np.array((*(self.ego[row] + (math.cos(yaw), math.sin(yaw))), self.above))
        x, y, z = (corners - place).T
        front, left = x * math.cos(yaw) + y * math.sin(yaw), y * math.cos(yaw) - x * math.sin(yaw)
        depth = front * math.cos(self.tilt) - z * math.sin(self.tilt)
        up = front * math.sin(self.tilt) + z * math.cos(self.tilt)
        if depth.min() < 0.3:
            return None
        return np.stack((self.width / 2 - self.lens * left / depth, self.height / 2 - self.lens * up / depth), axis=1)

    def holds(self, name: str, point: tuple[int, int], row: int, slack: float = SLACK) -> float | None:
        """Return how far away an agent is whose box, drawn into the frame, holds a point; None where it does not."""
        agent = self.agents[name]
        if agent["is"] == "light":
            place, yaw = np.array((agent["line"] + 9.0, -(self.kerb + 0.5))), 0.0
            size, bottom = (0.4, 0.5, 1.4), 2.5
        elif agent["is"] == "zone":
            place, yaw = np.array(((agent["from"] + agent["to"]) / 2, agent["lane"])), 0.0
            size, bottom = (agent["to"] - agent["from"] + 1, 3.4, 2.0), 0.0
        else:
            track = self.track(name)
            place = track[row]
            along, across = self.velocity(track, row)
            yaw = math.atan2(across, along) if abs(along) > 1 else 0.0
            size, bottom = SIZES[agent.get("kind", "pedestrian")], 0.0
        length, width, height = size
        turn = np.array(((math.cos(yaw), -math.sin(yaw)), (math.sin(yaw), math.cos(yaw))))
        ground = [place + turn @ (a * length / 2, b * width / 2) for a, b in ((1, 1), (-1, 1), (-1, -1), (1, -1))]
        raised = 0.13 if agent["is"] == "pedestrian" and abs(place[1]) > self.kerb else 0.0
        corners = np.array([(*corner, z) for corner in ground for z in (bottom + raised, bottom + raised + height)])
        pixels = self.pixels(corners, row)
        if pixels is None or not _inside(point, pixels, slack):
            return None
        return float(math.dist(place, self.ego[row]))

    def nearest(self, point: tuple[int, int], row: int, sorts: tuple[str, ...]) -> list[str]:
        """Return the agents at a point, by their projected and by their stored boxes, the nearest first."""
        found = [
            (depth, name)
            for name, agent in self.agents.items()
            if agent["is"] in sorts
            and name != "ego"
            and self.boxed(name, point, row)
            and (depth := self.holds(name, point, row)) is not None
        ]
        return [name for _, name in sorted(found)]

    def boxed(self, name: str, point: tuple[int, int], row: int) -> bool:
        """Return whether a point is in the box that the segmentation gave an agent."""
        found = self.boxes[name].get(str(round(row * self.step)))
        return found is not None and found[2] <= point[0] < found[4] and found[3] <= point[1] < found[5]

    def called(self, text: str) -> list[str]:
        """Return the agents that a text names."""
        found = []
        for name, agent in self.agents.items():
            says = {
                "vehicle": f"{agent.get('colour')} {agent.get('kind')}",
                "pedestrian": f"pedestrian in {agent.get('colour')}",
                "light": "traffic light",
                "zone": "work zone",
            }[agent["is"]]
            if (name == "ego" and "camera car" in text) or (name != "ego" and says in text):
                found.append(name)
        return found


def _inside(point: tuple[int, int], pixels: np.ndarray, slack: float) -> bool:
    """Return whether a point is within `slack` of the convex outline of pixels: no direction parts the two."""
    for angle in np.linspace(0, math.pi, 37):
        way = np.array((math.cos(angle), math.sin(angle)))
        shadow = pixels @ way
        at = float(np.dot(np.add(point, 0.5), way))
        if not shadow.min() - slack <= at <= shadow.max() + slack:
            return False
    return True


def point_of(text: str) -> tuple[int, int]:
    x, y = re.search(r"\((\d+), (\d+)\)", text).groups()  # type: ignore[union-attr]
    return int(x), int(y)


def option(question: dict[str, Any]) -> str:
    """Return the text of the option that the pack says is right."""
    return str(question["choices"]["ABCDEFGH".index(question["answer"])])


def motion(track: np.ndarray) -> str:
    """Return what a vehicle does, from its places."""
    moved = np.abs(track[:, 0] - track[0, 0])
    if moved.max() < 0.2:
        return "It stands still all the time"
    if moved[5] < 0.05:
        return "It stands at first and then sets off"
    if track[-1, 0] > track[0, 0]:
        return "It drives in the same direction as the camera car all the time"
    return "It drives towards the camera car, coming the other way, all the time"


def side(view: View, name: str, row: int) -> str:
    off = view.track(name)[row, 1] - view.ego[row, 1]
    if abs(off) < 1.75:
        return "In the lane in which the camera car drives"
    return f"To the {'left' if off > 0 else 'right'} of the lane in which the camera car drives"


def _checks(instance: dict[str, Any]) -> Iterator[tuple[str, bool]]:
    view = View(instance["meta"])
    for question in instance["questions"]:
        text, unit = question["text"], question["unit"]
        seconds = [int(number) for number in re.findall(r"(\d)\.0 s", text)]
        rows = [round(second / view.step) for second in seconds]
        right = True
        if unit == "X1":
            shown = view.nearest(point_of(text), rows[0], ("vehicle",))
            right = option(question).lower() in [view.agents[name]["kind"] for name in shown[:3]]
        elif unit == "X2":
            (name,) = (name for name in view.called(text) if name != "ego")
            right = option(question) == side(view, name, rows[0])
        elif unit == "X3":
            sort = ("pedestrian",) if "lies on a pedestrian" in text else ("vehicle",)
            first = view.nearest(point_of(text), rows[0], sort)
            same = [c for c in question["choices"] if set(first) & set(view.nearest(point_of(c), rows[1], sort))]
            right = option(question) in same
        elif unit == "X4":
            (name,) = (name for name in view.called(text) if name != "ego")
            right = option(question) == motion(view.track(name))
        elif unit == "Y":
            kind = re.search(r"different (\w+?)s are", text).group(1)  # type: ignore[union-attr]
            hand = "left" if "to the left" in text else "right"
            stands = "stand still" in text
            count = 0
            for name, agent in view.agents.items():
                if agent.get("kind") == kind and name != "ego":
                    still = motion(view.track(name)).startswith("It stands still")
                    count += still == stands and side(view, name, 0).startswith(f"To the {hand}")
            right = count == question["answer"]
        yield question["id"], right


def disagreements(pack: str | Path) -> list[str]:
    """Return the questions whose stored answers the tracks do not bear out."""
    found = []
    with (Path(pack) / "instances.jsonl").open(encoding="utf-8") as lines:
        for line in lines:
            instance = json.loads(line)
            found += [f"{instance['id']} {name}" for name, right in _checks(instance) if not right]
    return found


if __name__ == "__main__":
    wrong = disagreements(sys.argv[1])
    print(*wrong, f"{len(wrong)} disagreements", sep="\n")
