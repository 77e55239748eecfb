"""Read the scores of a Music Note Counting pack again, twice, independently of how the pack was made.

    python tests/benchmarks/truth_music_note_counting.py PACK

1. From the encoding: the excerpt's bars are taken from the file of the corpus with an XML parser, without music21.
2. From the picture: each head is looked at in the pixels (filled or hollow, stem, beams and flags that meet it, dot),
   and heads are looked for where the pack has none. The boxes of X1 say where to look, not what is there.

From either reading all answers are worked out anew. Prints what disagrees, and exits with 1 where something does.
"""

from __future__ import annotations

import re
import sys
import zipfile
from collections.abc import Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from xml.etree import ElementTree as ET

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from scipy import ndimage

from dodiag.scm.pack import Instance, Pack, Question, load_pack

TYPES = {"whole": "1", "half": "2", "quarter": "4", "eighth": "8", "16th": "16", "32nd": "32"}
WORDS = {"whole": "1", "half": "2", "quarter": "4", "eighth": "8", "sixteenth": "16", "thirty-second": "32"}
UNCLEAR = ("chord", "grace", "cue", "time-modification")
Bars = list[list[str]]
Box = tuple[int, int, int, int]

DARK, FAINT = 140, 205
"""Levels of the lightest channel below which a pixel is ink, or may be part of a thin line; bar numbers are blue."""


GAPS = 1.0, 0.6
"""A beam can come nearer to a head than a space, and so can a natural sign: a bar is agreed if either look agrees."""


# The encoding


@cache
def encoded(work: str) -> tuple[tuple[list[str] | None, ...], ...]:
    """Return the symbols of each bar of each staff of a work; None where they are not one line of single notes."""
    spec = find_spec("music21")
    assert spec is not None
    assert spec.submodule_search_locations is not None
    stem = Path(spec.submodule_search_locations[0]) / "corpus" / work
    files = [stem.with_name(stem.name + ending) for ending in (".mxl", ".xml", ".musicxml")]
    file = next(file for file in files if file.is_file())
    if file.suffix == ".mxl":
        with zipfile.ZipFile(file) as archive:
            names = [name for name in archive.namelist() if not name.startswith("META-INF") and not name.endswith("/")]
            root = ET.fromstring(archive.read(names[0]))
    else:
        root = ET.parse(file).getroot()
    staves: list[tuple[list[str] | None, ...]] = []
    for part in root.iter("part"):
        found = [int(text) for each in part.iter("staves") if (text := each.text)]
        numbers = map(str, range(1, max(found, default=1) + 1))
        staves.extend(tuple(_bar(measure, number) for measure in part.iter("measure")) for number in numbers)
    return tuple(staves)


def _bar(measure: ET.Element, staff: str) -> list[str] | None:
    symbols, voices = [], set()
    for note in measure.iter("note"):
        if note.findtext("staff", "1") != staff:
            continue
        value = note.findtext("type")
        if value not in TYPES or any(
            note.find(tag) is not None for tag in ("chord", "grace", "cue", "time-modification")
        ):
            return None
        voices.add(note.findtext("voice", "1"))
        symbols.append("r" * (note.find("rest") is not None) + TYPES[value] + "." * len(note.findall("dot")))
    return symbols if len(voices) == 1 else None


# The picture


def seen(picture: Image.Image, instance: Instance, gap: float) -> tuple[Bars, list[str]]:
    """Return what stands at the boxes of X1, bar by bar, and what is there besides; rests are not looked at.

    Beams are looked for from the tip of a stem to `gap` spaces before the head.
    """
    darkest = np.asarray(picture.convert("RGB"), dtype=int).max(axis=2)
    space = _space(darkest < 225)
    bars, boxes, troubles = [], [], []
    for question in instance.by_unit["X1"]:
        bar = []
        for annotation, code in zip(question.annotations, _codes(question.answer), strict=True):
            assert annotation.box is not None
            left, top, right, bottom = (int(edge) for edge in annotation.box)
            boxes.append((left + 1, top + 1, right - 1, bottom - 1))
            bar.append("r" if code.startswith("r") else _symbol(darkest, boxes[-1], space, gap))
        bars.append(bar)
    blobs, count = ndimage.label(ndimage.binary_opening(darkest < DARK, _disk(0.36 * space)))
    for y, x in ndimage.center_of_mass(blobs, blobs, range(1, count + 1)):
        if any(left - 2 <= x <= right + 2 and top - 2 <= y <= bottom + 2 for left, top, right, bottom in boxes):
            continue
        line = [left for left, top, _, bottom in boxes if abs((top + bottom) / 2 - y) < 7 * space]
        if not line or x >= min(line) - 1:
            troubles.append(f"something like a head at ({x:.0f}, {y:.0f})")
    return bars, troubles


def _space(grey: NDArray[np.bool_]) -> float:
    """Return the distance of the lines of the staff, from the rows that are mostly ink."""
    rows = grey.sum(axis=1)
    lines = [float(np.mean(run)) for run in _runs(rows > 0.5 * rows.max())]
    return float(np.median([d for d in np.diff(lines) if d < 30]))


def _runs(mask: NDArray[np.bool_]) -> Iterator[list[int]]:
    labels, count = ndimage.label(mask)
    for number in range(1, count + 1):
        yield [int(place) for place in np.flatnonzero(labels == number)]


def _disk(radius: float) -> NDArray[np.bool_]:
    reach = int(np.ceil(radius))
    y, x = np.mgrid[-reach : reach + 1, -reach : reach + 1]
    return np.asarray(x * x + y * y <= radius * radius)


def _symbol(darkest: NDArray[np.int_], box: Box, space: float, gap: float) -> str:
    """Return the code of the note whose head is in a box."""
    left, top, right, bottom = box
    x, y = (left + right) // 2, (top + bottom) // 2
    hollow = darkest[y - 1 : y + 2, x - 1 : x + 2].max() > DARK
    stem = _stem(darkest < FAINT, box, space)
    if stem is None:
        value = int(hollow)
    elif hollow:
        value = 2
    else:
        value = 4 << _strokes(darkest < DARK, box, stem, space, gap * space)
    return f"{value}" + "." * _dotted(darkest, box, space)


def _stem(ink: NDArray[np.bool_], box: Box, space: float) -> tuple[int, int, int] | None:
    """Return (column, tip, direction) of the stem: an upright stroke of two spaces at least that leaves the head."""
    left, top, right, bottom = box
    best: tuple[int, int, int] | None = None
    longest = 2 * space
    for columns, start, step in (
        (range(right - 4, right + 2), top + 3, -1),
        (range(left - 2, left + 4), bottom - 4, 1),
    ):
        for column in columns:
            y = start
            while 0 <= y < ink.shape[0] and ink[y, column]:
                y += step
            if abs(y - start) > longest:
                best, longest = (column, y - step, step), abs(y - start)
    return best


def _strokes(ink: NDArray[np.bool_], box: Box, stem: tuple[int, int, int], space: float, gap: float) -> int:
    """Return how many thick strokes leave the stem on one side, beams or flags."""
    column, tip, step = stem
    near = box[1] - round(gap) if step < 0 else box[3] + round(gap)
    counts = []
    for offset in (-round(0.45 * space), round(0.45 * space)):
        # A beam rises or falls beside the tip: begin a little before it.
        rows = range(tip + step * round(0.5 * space), near, -step)
        strip = np.array([ink[y, column + offset] if 0 <= y < ink.shape[0] else False for y in rows])
        counts.append(sum(len(run) >= 0.28 * space for run in _runs(strip)))
    return max(counts)


def _dotted(darkest: NDArray[np.int_], box: Box, space: float) -> int:
    """Return whether a round dot stands free right of the head, in the height of the head."""
    _, top, right, bottom = box
    area = darkest[top - round(0.5 * space) : bottom + round(0.3 * space), right - 1 : right + round(1.4 * space)]
    dark, faint = area < DARK, area < FAINT
    lines = (faint.mean(axis=1) > 0.75)[:, None]
    faint &= ~(lines & (area > np.median(area, axis=1, keepdims=True) - 15))
    return int(_round_spot(dark, dark, faint, space) or _round_spot(faint, dark, None, space))


def _round_spot(
    ink: NDArray[np.bool_], dark: NDArray[np.bool_], strokes: NDArray[np.bool_] | None, space: float
) -> bool:
    """Return whether a part of the ink is a dot by size and fullness, free of the area's edges.

    What hangs on thin strokes, such as a bar of a natural sign, is none: either the strokes are parts of the ink, and
    the part is too large, or they are looked for above and below it.
    """
    parts, _ = ndimage.label(ink, np.ones((3, 3)))
    reach = 0 if strokes is None else 2
    for number, (down, across) in enumerate(ndimage.find_objects(parts), start=1):
        free = down.start > reach and across.start > 0
        free &= down.stop < ink.shape[0] - reach and across.stop < ink.shape[1]
        if not free or max(down.stop - down.start, across.stop - across.start) > 0.85 * space:
            continue
        core = dark & (parts == number)
        high, wide = int(core.any(axis=1).sum()), int(core.any(axis=0).sum())
        round_ = 0.25 * space <= min(high, wide) and max(high, wide) <= 0.65 * space and core.sum() > 0.5 * high * wide
        if round_ and (strokes is None or not strokes[[down.start - 3, down.stop + 2], across].any()):
            return True
    return False


# The answers


def answers(question: Question, bars: Bars, kind: str, pack_listed: dict[int, int]) -> object:
    """Work out the answer of a question from the bars."""
    held = {number: bar.count(kind) for number, bar in enumerate(bars, start=1) if kind in bar}
    assert question.choices is not None or question.unit == "Y"
    choices = question.choices or ()
    if question.unit == "X1":
        wanted = bars[int(question.id.split("-")[1]) - 1]
        return [choice for choice in choices if _codes(choice) == wanted]
    if question.unit == "X2":
        return [choice for choice in choices if choice == ", ".join(map(str, sorted(held)))]
    if question.unit == "X3":
        assert all(held.get(number) == count for number, count in pack_listed.items()), "a number of the list is wrong"
        missing = sorted(set(held) - set(pack_listed))
        assert len(missing) <= 1
        words = f"Measure {missing[0]} was left out" if missing else "No measure was left out"
        return [choice for choice in choices if choice == words]
    return sum(held.values())


def _codes(choice: str) -> list[str]:
    found = []
    for part in choice.split(", "):
        match = re.fullmatch(r"(?:(\d+) )?(dotted )?([a-z-]+) (note|rest)s?", part)
        assert match, part
        times, dotted, word, what = match.groups()
        found += ["r" * (what == "rest") + WORDS[word] + "." * bool(dotted)] * int(times or 1)
    return found


def _kind(question: Question) -> str:
    match = re.match(r"How many (dotted )?([a-z-]+) notes", question.text)
    assert match
    return WORDS[match[2]] + "." * bool(match[1])


def examine(pack: Pack, instance: Instance) -> Iterator[str]:
    """Yield what disagrees with the pack in one instance."""
    meta = instance.meta
    first = meta["first_bar"] - 1
    read = list(encoded(meta["work"])[meta["part"] - 1][first : first + len(instance.by_unit["X1"])])
    bars: Bars = [[] if bar is None else bar for bar in read]
    kind = _kind(instance.by_unit["Y"][0])
    text = instance.by_unit["X3"][0].text
    listed = {int(number): int(count) for number, count in re.findall(r"measure (\d+): (\d+)", text)}
    for question in instance.questions:
        expected = answers(question, bars, kind, listed)
        right = question.answer if question.unit == "Y" else [question.answer]
        if expected != right:
            yield f"{question.id}: the encoding says {expected}, the pack {right}"
    with Image.open(pack.medium(instance.media[0])) as picture:
        (looked, troubles), (closer, _) = (seen(picture, instance, gap) for gap in GAPS)
    yield from troubles
    for number, (bar, shown, again) in enumerate(zip(bars, looked, closer, strict=True), start=1):
        plain = ["r" if symbol.startswith("r") else symbol for symbol in bar]
        if plain not in (shown, again):
            yield f"measure {number}: the picture shows {' '.join(shown)}, the encoding {' '.join(plain)}"


def disagreements(folder: str | Path) -> list[str]:
    """Return what disagrees with a pack, instance by instance."""
    pack = load_pack(folder)
    return [f"{instance.id} {trouble}" for instance in pack.instances() for trouble in examine(pack, instance)]


def main() -> None:
    """Examine one pack."""
    found = disagreements(sys.argv[1])
    print("\n".join(found) or "everything agrees")
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
