"""Drive the maps of a pack by their pictures, independently of how they were made.

    python tests/benchmarks/truth_map_navigation.py PACK

Which streets there are is seen in the street colour between neighbouring junctions, which of them are closed in the red
of the signs, and what stands on them in the colours of the marks. The shortest way is then found by another algorithm
(Floyd and Warshall), and every answer compared. Of the pack's state only the places of junctions, the junction of each
named place and the street names are used. Prints what disagrees, and exits with 1 where anything does.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from scipy import ndimage
from scipy.sparse.csgraph import floyd_warshall

MARGIN = 0.12
"""The default of the knob: no other direction may be less longer than this."""
FRAME, SIDE, SQUARES = 34, 840, 6
MARK_COLOURS = {
    "bus stop": (22, 96, 232),
    "post box": (255, 204, 0),
    "charging point": (0, 176, 80),
    "petrol pump": (232, 84, 196),
}
SIGN = (214, 30, 44)
ICON = 15
"""Pixels around the middle of a mark or sign that show nothing of the street under it."""
WORDS = {(0, -1): "north", (1, 0): "east", (0, 1): "south", (-1, 0): "west"}

Ints = NDArray[np.int16]


def middles_of(pixels: Ints, colour: tuple[int, int, int], least: int) -> list[tuple[float, float]]:
    """Return the middle of every patch of a colour on the map."""
    near = (np.abs(pixels - np.array(colour, np.int16)) < 12).all(axis=2)
    near[:FRAME], near[FRAME + SIDE :], near[:, :FRAME], near[:, FRAME + SIDE :] = False, False, False, False
    joined = ndimage.minimum_filter(ndimage.maximum_filter(near.view(np.uint8), 5), 5)
    labels, _ = ndimage.label(joined, np.ones((3, 3)))
    found = []
    for number, (rows, columns) in enumerate(ndimage.find_objects(labels), start=1):
        if (near[rows, columns] & (labels[rows, columns] == number)).sum() >= least:
            found.append(((columns.start + columns.stop) / 2, (rows.start + rows.stop) / 2))
    return found


def square_at(x: float, y: float) -> str:
    """Return the square of the reference grid."""
    edge = SIDE / SQUARES
    return f"{'ABCDEF'[int((x - FRAME) / edge)]}{int((y - FRAME) / edge) + 1}"


class Seen:
    """What a picture shows between given junctions."""

    def __init__(self, pixels: Ints, junctions: list[list[float]], names: list[str]) -> None:
        self.at = np.array(junctions)
        self.count = round(len(junctions) ** 0.5)
        self.marks = {kind: middles_of(pixels, colour, 25) for kind, colour in MARK_COLOURS.items()}
        self.signs = middles_of(pixels, SIGN, 100)
        self.things = np.array([middle for kind in (*self.marks.values(), self.signs) for middle in kind])
        white = pixels.min(axis=2) > 246
        links = [(n, n + d) for n in range(len(junctions)) for d in (1, self.count) if self._neighbours(n, n + d)]
        self.streets = [link for link in links if self._is_street(white, *link)]
        self.closed = {self.nearest(*sign) for sign in self.signs}
        self.names = names

    def _neighbours(self, a: int, b: int) -> bool:
        return b < len(self.at) and (b - a == self.count) != (b - a == 1 and a // self.count == b // self.count)

    def _is_street(self, white: NDArray[np.bool_], a: int, b: int) -> bool:
        """Return whether street colour lines both sides of the line between two junctions, beside what stands there.

        On 1,000 maps the share of street colour is 0.66 or more on streets, 0.32 or less where there is none.
        """
        shares = np.linspace(0.2, 0.8, 61)
        along = self.at[a] + shares[:, None] * (self.at[b] - self.at[a])
        across = np.array((-(self.at[b] - self.at[a])[1], (self.at[b] - self.at[a])[0]))
        across = across / np.linalg.norm(across)
        points = np.concatenate([along + shift * across for shift in (-7.5, 7.5)])
        bare = (np.linalg.norm(points[:, None] - self.things, axis=2) > ICON).all(axis=1)
        columns, rows = np.rint(points[bare]).astype(int).T
        return bool(white[rows, columns].mean() > 0.48)

    def nearest(self, x: float, y: float) -> tuple[int, int]:
        """Return the street that a point is on."""

        def away(link: tuple[int, int]) -> float:
            first, second = self.at[link[0]], self.at[link[1]]
            line = second - first
            share = np.clip(np.dot((x, y) - first, line) / np.dot(line, line), 0, 1)
            return float(np.linalg.norm((x, y) - first - share * line))

        best = min(self.streets, key=away)
        assert away(best) < 4, f"nothing is on a street at {x}, {y}"
        return best

    def ways(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the lengths of open streets, and of the shortest ways between all junctions."""
        lengths = np.full((len(self.at), len(self.at)), np.inf)
        for a, b in self.streets:
            if (a, b) not in self.closed:
                lengths[a, b] = lengths[b, a] = np.linalg.norm(self.at[a] - self.at[b])
        return lengths, floyd_warshall(np.where(np.isinf(lengths), 0, lengths), directed=False)


def problems_of(folder: Path, instance: dict[str, Any]) -> Iterator[str]:
    """Yield what the picture says otherwise than the instance."""
    with Image.open(folder / instance["media"][0]) as opened:
        pixels = np.asarray(opened.convert("RGB")).astype(np.int16)
    meta = instance["meta"]
    seen = Seen(pixels, meta["junctions"], [name for _, _, name in meta["streets"]])
    names = {tuple(sorted((a, b))): name for a, b, name in meta["streets"]}
    if set(names) != set(seen.streets):
        yield f"sees other streets: {set(names) ^ set(seen.streets)}"
        return
    by_unit: dict[str, list[dict[str, Any]]] = {"X1": [], "X2": [], "Y": []}
    for question in instance["questions"]:
        by_unit[question["unit"]].append(question)
    (count,) = by_unit["Y"]
    start_name, goal_name = count["text"].split("from the ")[1].split(" by the shortest")[0].split(" to the ")
    where = {place["name"]: place["junction"] for place in meta["places"]}
    start, goal = where[start_name], where[goal_name]

    things = {f"the {start_name}": tuple(seen.at[start]), f"the {goal_name}": tuple(seen.at[goal])}
    for sign in seen.signs:
        things[f"the closed-road sign on {names[seen.nearest(*sign)]}"] = sign
    if len(things) != len(by_unit["X1"]):
        yield f"sees {sorted(things)} to ask X1 for"
    for question in by_unit["X1"]:
        what = question["text"].split("reference grid is ")[1].split("?")[0]
        if what not in things:
            yield f"{question['id']}: sees no such thing as {what}"
            continue
        x, y = things[what]
        if (told := _option(question)) != square_at(x, y):
            yield f"{question['id']}: sees {square_at(x, y)}, told {told}"
        left, top, right, bottom = question["annotations"][0]["box"]
        if not (left < x < right and top < y < bottom):
            yield f"{question['id']}: the box is not around {what}"

    lengths, distances = seen.ways()
    here, way = start, []
    for question in by_unit["X2"]:
        costs = lengths[here] + distances[:, goal]
        first, second = np.argsort(costs)[:2]
        if costs[second] / costs[first] - 1 < MARGIN - 1e-6:
            yield f"{question['id']}: another direction is only {costs[second] / costs[first] - 1:.3f} longer"
        step = (int(first % seen.count - here % seen.count), int(first // seen.count - here // seen.count))
        # Junctions are listed column by column, so that the place in the list is column * count + row.
        if (told := _option(question)) != WORDS[step[1], step[0]]:
            yield f"{question['id']}: sees {WORDS[step[1], step[0]]}, told {told}"
        if not np.allclose(question["annotations"][0]["path"], [seen.at[here], seen.at[first]]):
            yield f"{question['id']}: the arrow is elsewhere"
        way.append(tuple(sorted((here, int(first)))))
        degree = sum(int(first) in link for link in seen.streets)
        if first != goal and degree < 3:
            yield f"{question['id']}: ends where no streets meet"
        here = int(first)
    if here != goal:
        yield "the way does not end at the destination"
    on_way = sum(seen.nearest(*mark) in way for mark in seen.marks[_asked(count)])
    if on_way != count["answer"]:
        yield f"Y: sees {on_way}, told {count['answer']}"


def _asked(question: dict[str, Any]) -> str:
    return str(question["text"].split("How many ")[1].split("s do you pass")[0])


def _option(question: dict[str, Any]) -> str:
    return str(question["choices"]["ABCDEF".index(question["answer"])])


def disagreements(pack_folder: str | Path) -> list[str]:
    """Return what the pictures of a pack say otherwise than its instances, one line each."""
    folder = Path(pack_folder)
    found = []
    with (folder / "instances.jsonl").open(encoding="utf-8") as lines:
        for line in lines:
            instance = json.loads(line)
            found += [f"{instance['id']}: {problem}" for problem in problems_of(folder, instance)]
    return found


if __name__ == "__main__":
    wrong = disagreements(sys.argv[1])
    sys.stdout.write("".join(f"{line}\n" for line in wrong) + f"{len(wrong)} disagreements\n")
    sys.exit(bool(wrong))
