"""Solve the boards of a Multistep Reasoning pack from their pictures, independently of how the pack was made.

    python tests/benchmarks/truth_multistep_reasoning.py PACK [--ocr]

Squares, symbols, shading and start are read off the pixels, the token is moved by a second implementation of the rules,
and every answer is compared. Names and the rule card are taken from the pack's ``meta``, or with ``--ocr`` from the
picture as well (package rapidocr). Prints what disagrees, and exits with 1 where anything does.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image
from scipy.spatial import ConvexHull

STEP = {"up": (0, -1), "down": (0, 1), "left": (-1, 0), "right": (1, 0)}
HUES = {"red": 0, "yellow": 48, "green": 140, "blue": 219}
FILLS = {"circle": (0.785, 0.95), "diamond": (0.51, 0.95), "cross": (0.51, 0.66), "star": (0.365, 0.52)}
"""Of each shape: its area as a share of its bounding box, and of its convex hull."""

MOST_MOVES = 80
BOARD_ENDS = 712
"""Column of pixels between the board and the rule card."""


@dataclass
class Seen:
    """What a picture shows: contents by (column, row); None stands for a square that has no symbol."""

    size: int
    contents: dict[tuple[int, int], str | None]
    grey: set[tuple[int, int]]
    start: tuple[int, int]
    corners: list[tuple[int, int]]
    edge: int

    def square_at(self, x: float, y: float) -> tuple[int, int]:
        left, top = self.corners[0]
        return int((x - left) // self.edge) + 1, int((y - top) // self.edge) + 1


def look(picture: Image.Image) -> Seen:
    """Read the board off the pixels."""
    pixels = np.asarray(picture.convert("RGB")).astype(int)[:, :BOARD_ENDS]
    lines = np.abs(pixels - np.array((112, 117, 122))).max(axis=2) < 30
    down, across = (_lines(lines.sum(axis=axis)) for axis in (0, 1))
    size = len(across) - 1
    edge = round(float(np.diff(across).mean()))
    assert np.ptp(np.diff(across)) <= 2, across
    assert np.ptp(np.diff(down)) <= 2, down
    contents: dict[tuple[int, int], str | None] = {}
    grey, frames = set(), {}
    for column in range(size):
        for row in range(size):
            cell = pixels[across[row] : across[row] + edge, down[column] : down[column] + edge]
            square = column + 1, row + 1
            bright = cell.max(axis=2)[:, 10:-10]
            sides = bright[3:7].min(axis=0), bright[-7:-3].min(axis=0)
            frames[square] = float(min(np.mean(side < 90) for side in sides))
            corner = cell[8:11, 8:11].mean()
            if corner < 235:
                grey.add(square)
            contents[square] = _symbol(cell[7:-7, 7:-7])
    start = max(frames, key=frames.__getitem__)
    assert frames[start] > 0.9, frames
    assert sorted(frames.values())[-2] < 0.4, frames
    return Seen(size, contents, grey, start, [(down[0], across[0])], edge)


def _lines(counts: np.ndarray) -> list[int]:
    """Return where long lines are: the first pixel of each run of columns (or rows) that are mostly line."""
    long = counts > 0.8 * counts.max()
    starts = np.flatnonzero(long & ~np.roll(long, 1))
    return [int(place) for place in starts]


def _symbol(cell: np.ndarray) -> str | None:
    most, least = cell.max(axis=2), cell.min(axis=2)
    paint = (most - least) > 90
    if paint.sum() < 40:
        return None
    red, green, blue = (int(v) for v in np.median(cell[paint], axis=0))
    top, bottom = max(red, green, blue), min(red, green, blue)
    if top == red:
        hue = 60 * ((green - blue) / (top - bottom)) % 360
    elif top == green:
        hue = 60 * ((blue - red) / (top - bottom) + 2)
    else:
        hue = 60 * ((red - green) / (top - bottom) + 4)
    colour = min(HUES, key=lambda name: min(abs(hue - HUES[name]), 360 - abs(hue - HUES[name])))
    rows, columns = np.nonzero(paint | (most < 110))
    area = len(rows)
    box = (np.ptp(rows) + 1) * (np.ptp(columns) + 1)
    ends = [(row, (across := columns[rows == row]).min(), across.max() + 1) for row in np.unique(rows)]
    corners = [(row + below, column) for row, *sides in ends for column in sides for below in (0, 1)]
    hull = ConvexHull(corners).volume
    found = np.array((area / box, area / hull))
    shape = min(FILLS, key=lambda name: float(np.hypot(*(found - np.array(FILLS[name])))))
    return f"{colour} {shape}"


def read_text(path: Path, seen: Seen) -> tuple[dict[tuple[int, int], str], dict[str, Any]]:
    """Return the names by square and the rules, read by OCR."""
    from rapidocr import RapidOCR

    global _ENGINE
    _ENGINE = _ENGINE or RapidOCR()
    with Image.open(path) as picture:
        result = _ENGINE(np.asarray(picture.convert("RGB"))[:, :, ::-1])
    names, card = {}, []
    limit = seen.corners[0][0] + seen.size * seen.edge
    for text, box in zip(result.txts, result.boxes, strict=True):
        x, y = np.asarray(box).mean(axis=0)
        if x > limit:
            card.append((y, text))
        elif x > seen.corners[0][0] and y > seen.corners[0][1] and re.fullmatch(r"[A-Za-z]{3,4}", text):
            names[seen.square_at(x, y)] = text
    words = " ".join(text for _, text in sorted(card))
    rules: dict[str, Any] = {"directions": {}, "distances": {}, "twists": []}
    for value, way in re.findall(r"(\w+) ?: ?(up|down|left|right)", words):
        rules["directions"][value] = way
    for value, count in re.findall(r"(\w+) ?: ?(\d) ?square", words):
        rules["distances"][value] = int(count)
    for sentence, way in re.findall(r"(Every \w+ move[^A-Z]*?|A move from a grey square) goes (the opp|one)", words):
        ordinal = re.search("third|fourth|fifth", sentence)
        period = None if ordinal is None else {"third": 3, "fourth": 4, "fifth": 5}[ordinal.group()]
        rules["twists"].append({"effect": "reverse" if way == "the opp" else "further", "period": period})
    return names, rules


_ENGINE: Any = None


def walk(
    contents: dict[tuple[int, int], str], grey: set[tuple[int, int]], start: tuple[int, int], rules: dict[str, Any]
) -> Iterator[tuple[tuple[int, int], str]]:
    """Yield each square with the move from it, and at last the square with its name."""
    ways, far = rules["directions"], rules["distances"]
    here = start
    for number in range(1, MOST_MOVES + 1):
        if " " not in contents.get(here, ""):
            break
        words = contents[here].split()
        (way,) = [ways[word] for word in words if word in ways]
        (count,) = [far[word] for word in words if word in far]
        dx, dy = STEP[way]
        for twist in rules["twists"]:
            due = here in grey if twist["period"] is None else number % twist["period"] == 0
            if due and twist["effect"] == "reverse":
                dx, dy = -dx, -dy
            elif due:
                count += 1
        (named,) = [name for name, vector in STEP.items() if vector == (dx, dy)]
        yield here, f"{named} {count}"
        here = here[0] + count * dx, here[1] + count * dy
    yield here, contents.get(here, "off the board")


def disagreements(pack_folder: str | Path, ocr: bool = False) -> list[str]:
    """Return every answer and every part of the stored state that the pictures contradict."""
    folder = Path(pack_folder)
    lines = (folder / "instances.jsonl").read_text(encoding="utf-8").splitlines()
    return [found for line in lines for found in _of_instance(folder, json.loads(line), ocr)]


def _of_instance(folder: Path, instance: dict[str, Any], ocr: bool) -> Iterator[str]:
    meta, where = instance["meta"], instance["id"]
    path = folder / instance["media"][0]
    seen = look(Image.open(path))
    stored = {(c + 1, r + 1): text for r, row in enumerate(meta["rows"]) for c, text in enumerate(row)}
    if seen.size != meta["size"] or list(seen.start) != meta["start"]:
        yield f"{where}: size {seen.size}, start {seen.start}"
        return
    named = {square: text for square, text in stored.items() if " " not in text}
    rules = {name: meta["rules"][name] for name in ("directions", "distances", "twists")}
    if ocr:
        names, read = read_text(path, seen)
        if names != named:
            yield f"{where}: names {names} instead of {named}"
        if read != rules:
            yield f"{where}: rules {read} instead of {rules}"
        named, rules = names, read
    contents = {square: text or named.get(square, "?") for square, text in seen.contents.items()}
    misread = {square: text for square, text in contents.items() if text != stored[square]}
    if misread:
        yield f"{where}: {misread} instead of { {square: stored[square] for square in misread} }"
        return
    twisted = any(twist["period"] is None for twist in rules["twists"])
    if sorted(map(list, seen.grey)) != meta["grey"] or (seen.grey and not twisted):
        yield f"{where}: grey squares differ"
    questions = {question["id"]: question for question in instance["questions"]}
    *moves, (last, name) = walk(contents, seen.grey, seen.start, rules)
    expected: dict[str, Any] = {"Y": f"{name} {len(moves)}"}
    middles = {("Y", 0): last}
    for number, (square, move) in enumerate(moves, start=1):
        expected |= {f"X1-{number}": list(square), f"X2-{number}": move}
        middles |= {(f"X1-{number}", 0): square, (f"X2-{number}", 1): square}
    if set(expected) != set(questions):
        yield f"{where}: questions {sorted(set(expected) ^ set(questions))}"
        return
    for key, answer in expected.items():
        if questions[key]["answer"] != answer:
            yield f"{where} {key}: {questions[key]['answer']} instead of {answer}"
        wrong = questions[key]["incorrect"]
        if wrong == answer or str(wrong).casefold() == str(answer).casefold():
            yield f"{where} {key}: the incorrect answer is right"
    for (key, place), square in middles.items():
        left, top, right, bottom = questions[key]["annotations"][place]["box"]
        if seen.square_at((left + right) / 2, (top + bottom) / 2) != square or right - left > seen.edge + 1:
            yield f"{where} {key}: the box is elsewhere"
    for number, (square, move) in enumerate(moves, start=1):
        way, count = move.split()
        target = square[0] + STEP[way][0] * int(count), square[1] + STEP[way][1] * int(count)
        tail, tip = questions[f"X2-{number}"]["annotations"][0]["path"]
        if (seen.square_at(*tail), seen.square_at(*tip)) != (square, target):
            yield f"{where} X2-{number}: the arrow is elsewhere"


def main() -> None:
    """Check one pack."""
    found = disagreements(sys.argv[1], "--ocr" in sys.argv[2:])
    print(f"{len(found)} disagreements", *found, sep="\n")
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
