"""Solve the mazes of a pack from their pictures, independently of how they were made.

    python tests/benchmarks/truth_maze.py PACK

The right exit is the opening that a flood of the picture's floor pixels, begun at the start symbol, comes out of. The
start symbol is found by its colour and outline, rows and columns are counted from the frame. Of the pack's state only
sizes, the places of the letters and the theme's name are used. Prints what disagrees, and exits with 1 where anything
does.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from scipy import ndimage

WALLS = {
    "ink": (52, 58, 70),
    "hedge": (66, 98, 62),
    "brick": (122, 74, 58),
    "slate": (78, 96, 118),
    "sand": (112, 94, 58),
}
COLOURS = {
    "red": (222, 45, 52),
    "blue": (34, 104, 224),
    "green": (36, 160, 76),
    "orange": (246, 140, 20),
    "purple": (146, 64, 190),
    "pink": (244, 110, 176),
}
FILLS = {
    "square": (0.93, 1.01),
    "disc": (0.72, 0.85),
    "triangle": (0.45, 0.54),
    "cross": (0.36, 0.45),
    "star": (0.28, 0.45),
}
"""Share of its bounding box that a symbol covers; a diamond covers as much as a triangle, but is higher than wide."""

Bools = NDArray[np.bool_]


def shape_of(mask: Bools) -> str:
    """Return the name of a symbol's outline."""
    high, wide = mask.shape
    fill = float(mask.mean())
    if high > 1.25 * wide and 0.42 < fill < 0.6:
        return "diamond"
    for name, (low, most) in FILLS.items():
        # A cross stands on the middle of its lower edge, a star on two tips beside it.
        stands = bool(mask[-2, wide // 2])
        if low <= fill <= most and (name != "cross" or stands) and (name != "star" or not stands):
            return name
    return f"outline with a fill of {fill:.2f}"


def symbols_in(pixels: NDArray[np.int64], low: int, high: int) -> dict[str, tuple[float, float]]:
    """Return the symbols inside the frame by name, with their middle in pixels."""
    found: dict[str, tuple[float, float]] = {}
    for colour, value in COLOURS.items():
        near = np.abs(pixels - np.array(value)).max(axis=2) < 40
        near[:low], near[high:], near[:, :low], near[:, high:] = False, False, False, False
        labels, count = ndimage.label(near)
        for number, box in enumerate(ndimage.find_objects(labels), start=1):
            mask = labels[box] == number
            if mask.sum() >= 40 and count:
                rows, columns = box
                found[f"{colour} {shape_of(mask)}"] = ((columns.start + columns.stop) / 2, (rows.start + rows.stop) / 2)
    return found


def problems_of(folder: Path, instance: dict[str, Any]) -> Iterator[str]:
    """Yield what the picture says otherwise than the instance."""
    with Image.open(folder / instance["media"][0]) as opened:
        pixels = np.asarray(opened.convert("RGB")).astype(int)
    meta = instance["meta"]
    margin, cell = meta["margin"], meta["cell"]
    edge = pixels.shape[0]
    low, high = margin, edge - margin
    symbols = symbols_in(pixels, low, high)
    first, *chain = instance["questions"]
    name = chain[0]["text"].split("stands at the ")[1].split(" and walks")[0]
    if name not in symbols:
        yield f"sees no {name}, but {', '.join(symbols)}"
        return
    if len(symbols) != len(first["choices"]):
        yield f"sees {len(symbols)} symbols: {', '.join(symbols)}"
    x, y = symbols[name]
    seen = f"row {int((y - low) // cell) + 1}, column {int((x - low) // cell) + 1}"
    if (told := first["choices"]["ABCDEFGHIJKL".index(first["answer"])]) != seen:
        yield f"X1 sees {seen}, told {told}"
    if f"is the {name}?" not in first["text"]:
        yield "X1 asks for another symbol than Y starts at"
    left, top, right, bottom = first["annotations"][0]["box"]
    if not (left < x < right and top < y < bottom):
        yield "X1's box is not around the start"

    wall = np.abs(pixels - np.array(WALLS[meta["theme"]])).max(axis=2) < 45
    middles = [round(low + (place + 0.5) * cell) for place in range(meta["size"])]
    rim = {
        **{("top", place): (low, at) for place, at in enumerate(middles)},
        **{("bottom", place): (high, at) for place, at in enumerate(middles)},
        **{("left", place): (at, low) for place, at in enumerate(middles)},
        **{("right", place): (at, high) for place, at in enumerate(middles)},
    }
    exits = {(e["side"], e["cell"][e["side"] in ("left", "right")]): e["letter"] for e in meta["exits"]}
    if {place for place, (row, column) in rim.items() if not wall[row, column]} != set(exits):
        yield "the openings of the frame are not the exits"
    inside = np.zeros_like(wall)
    inside[low:high, low:high] = ~wall[low:high, low:high]
    regions = ndimage.label(inside)[0]
    inwards = {"top": (6, 0), "bottom": (-6, 0), "left": (0, 6), "right": (0, -6)}
    reached = []
    for place, letter in exits.items():
        row, column = np.array(rim[place]) + inwards[place[0]]
        if regions[row, column] == regions[round(y), round(x)]:
            reached.append(letter)
    doors = {letter: rim[place] for place, letter in exits.items()}
    for question in chain:
        if question["choices"] != [exit_["letter"] for exit_ in meta["exits"]]:
            yield f"{question['id']} has other options than exits"
        if [question["answer"]] != reached:
            yield f"{question['id']} sees {reached}, told {question['answer']}"
    yield from _way(chain, wall, (x, y), doors[chain[0]["answer"]], cell)


def _way(
    chain: list[dict[str, Any]], wall: Bools, start: tuple[float, float], end: tuple[int, int], cell: int
) -> Iterator[str]:
    """Yield where the drawn pieces do not make one way from the start to the exit that crosses no wall."""
    at = start
    lengths = []
    for question in chain:
        path = question["annotations"][0]["path"]
        if abs(path[0][0] - at[0]) + abs(path[0][1] - at[1]) > 4:
            yield f"{question['id']} does not begin where the piece before it ends"
        lengths.append(0.0)
        for (x0, y0), (x1, y1) in pairwise(path):
            count = int(abs(x1 - x0) + abs(y1 - y0))
            lengths[-1] += count / cell
            xs, ys = np.linspace(x0, x1, count + 1), np.linspace(y0, y1, count + 1)
            if wall[ys.round().astype(int), xs.round().astype(int)].any():
                yield f"{question['id']} crosses a wall"
        at = tuple(path[-1])
        if question["annotations"][1]["point"] != list(at):
            yield f"{question['id']} has its waypoint elsewhere"
    if abs(at[0] - end[1]) + abs(at[1] - end[0]) > cell:
        yield "the way does not end at the exit"
    if max(lengths) - min(lengths) > 2.1:
        yield f"the pieces are of unlike lengths: {[round(each, 1) for each in lengths]}"


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
