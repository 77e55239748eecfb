"""Y2: find the point and the explanation in an answer, and hold the point against the target's box.

Two rules. ``strict`` is the released code: two labelled lines, raw pixels. ``harmonised`` is what the papers say their
figures come from; they give its outcome but not its parser, so the reading here is ours, and every result carries the
name of its rule.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from dodiag.benchmarks.ccrv.data import DEFAULT_MARGIN, PointSpec

SHORTEST_EXPLANATION = 20
LARGEST_MARGIN = 0.25
NORMALISED_RANGE = 1000

MOST_BRACES = 100
"""So many braces that open no JSON object are tried; what follows is text."""

NO_SIZE = "csr_y2_norm_unavailable"
"""The note on a result for which the picture's size was not known: only raw pixels were tested."""

_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
_PAIR = re.compile(
    r"[\[(]\s*(?:x\s*[=:]\s*)?(-?\d+(?:\.\d+)?)\s*,\s*(?:y\s*[=:]\s*)?(-?\d+(?:\.\d+)?)\s*[\])]", re.IGNORECASE
)
_COORDINATE_LABEL = re.compile(
    r"^[\s#>*_`\"'{-]*(?:coordinates?|points?|pixels?|location)[\s*_`\"']*[:：=]", re.IGNORECASE
)
_EXPLANATION_LABEL = re.compile(
    r"(?:^|\n)[\s#>*_`\"'{-]*(?:explanation|reason(?:ing)?|rationale)[\s*_`\"']*[:：=]", re.IGNORECASE
)
_PAIR_ALONE = re.compile(
    r"[\s*_`]*(?:x\s*[=:]\s*)?-?\d+(?:\.\d+)?[\s,;]+(?:y\s*[=:]\s*)?-?\d+(?:\.\d+)?\s*(?:px|pixels?)?[\s.*_`]*",
    re.IGNORECASE,
)
_POINT_KEYS = ("coordinate", "coordinates", "point", "point_2d", "pixel", "location", "xy")
_EXPLANATION_KEYS = ("explanation", "reason", "reasoning", "rationale")
_TRIM = " .,:;*_`#-"

Pair = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Located:
    """What the harmonised rule found.

    Attributes
    ----------
    passed : bool
    reason : str
        Why it failed; empty where it passed.
    interpretation : str or None
        ``raw``, ``norm1000`` or ``both``: how the point lies in the box.
    notes : tuple of str
    """

    passed: bool
    reason: str
    interpretation: str | None = None
    notes: tuple[str, ...] = ()


def expanded_box(spec: PointSpec) -> tuple[float, float, float, float]:
    """Return the target's box, widened on each side by its margin times its size; not clipped to the picture.

    A margin that is no number is 0.075, and every margin is held between 0 and 0.25, as in the released code.

    Examples
    --------
    >>> spec = PointSpec(csr_rule="grounded_causal_explanation", target_object_id=1, target_true_name="frisbee",
    ...                  target_bbox_xyxy=(356, 92, 461, 214))
    >>> [round(edge, 6) for edge in expanded_box(spec)]
    [348.125, 82.85, 468.875, 223.15]
    """
    left, right = sorted((spec.target_bbox_xyxy[0], spec.target_bbox_xyxy[2]))
    top, bottom = sorted((spec.target_bbox_xyxy[1], spec.target_bbox_xyxy[3]))
    try:
        margin = float(spec.csr_bbox_margin_fraction)
    except (TypeError, ValueError, OverflowError):
        margin = DEFAULT_MARGIN
    if margin != margin:
        margin = DEFAULT_MARGIN
    margin = min(max(margin, 0.0), LARGEST_MARGIN)
    across, down = margin * (right - left), margin * (bottom - top)
    return left - across, top - down, right + across, bottom + down


def strict(answer: str, spec: PointSpec) -> tuple[bool, str]:
    """Apply the released rule and return (passed, why not)."""
    lines = answer.strip().splitlines()
    coordinate = next((line for line in lines if line.lstrip().lower().startswith("coordinate:")), None)
    place = next((i for i, line in enumerate(lines) if line.lstrip().lower().startswith("explanation:")), None)
    if coordinate is None or place is None:
        return False, "has not the two labelled lines"
    numbers = [float(number) for number in _NUMBER.findall(coordinate.partition(":")[2])]
    if len(numbers) != 2:
        return False, f"has {len(numbers)} numbers on the coordinate line instead of two"
    parts = [lines[place].partition(":")[2].strip()]
    for line in lines[place + 1 :]:
        if line.lstrip().lower().startswith("coordinate:"):
            break
        parts.append(line.strip())
    explanation = " ".join(part for part in parts if part)
    if len(explanation) < SHORTEST_EXPLANATION:
        return False, f"its explanation has {len(explanation)} characters, fewer than {SHORTEST_EXPLANATION}"
    if not _inside((numbers[0], numbers[1]), spec):
        return False, "its point lies outside the target"
    return True, ""


def harmonised(answer: str, spec: PointSpec, size: tuple[int, int] | None = None) -> Located:
    """Apply the papers' rule in our reading.

    One distinct pair of numbers has to stand in the answer: under a point-like key of a JSON object, in brackets or
    parentheses, or as what a line with a coordinate label consists of; where there is none of these, as the only two
    numbers of such a line. An answer whose places contradict each other names no point. The pair passes as raw pixels,
    or, where both numbers lie in 0 to 1000, scaled from there to the picture.

    The explanation is that of a JSON object, else the text after an explanation label, else what is left of the answer
    without points, labels and JSON.

    Parameters
    ----------
    answer : str
    spec : PointSpec
    size : tuple of 2 ints, optional
        Width and height of the original picture. Without it only raw pixels are tested, and the result says so.
    """
    text = answer.strip()
    notes = () if size is not None else (NO_SIZE,)
    pairs, explanation = _read(text)
    distinct = list(dict.fromkeys(pairs))
    if len(distinct) != 1:
        what = "no point" if not distinct else f"{len(distinct)} different points"
        return Located(False, f"names {what}", None, notes)
    if len(explanation.strip()) < SHORTEST_EXPLANATION:
        short = f"its explanation has {len(explanation.strip())} characters, fewer than {SHORTEST_EXPLANATION}"
        return Located(False, short, None, notes)
    (point,) = distinct
    raw = _inside(point, spec)
    scaled = False
    if size is not None and all(0 <= value <= NORMALISED_RANGE for value in point):
        width, height = size
        scaled = _inside((point[0] * width / NORMALISED_RANGE, point[1] * height / NORMALISED_RANGE), spec)
    if not raw and not scaled:
        return Located(False, "its point lies outside the target", None, notes)
    interpretation = "both" if raw and scaled else "raw" if raw else "norm1000"
    return Located(True, "", interpretation, (*notes, f"point read as {interpretation}"))


def _inside(point: Pair, spec: PointSpec) -> bool:
    left, top, right, bottom = expanded_box(spec)
    return left <= point[0] <= right and top <= point[1] <= bottom


def _read(text: str) -> tuple[list[Pair], str]:
    """Return the points that a text names, and its explanation."""
    records, beside = _records(text)
    pairs = [pair for record in records for pair in _points(record)]
    # Objects without a point-like key are text like any other.
    around = beside if pairs else text
    pairs += [(float(a), float(b)) for a, b in _PAIR.findall(around)]
    pairs += _labelled(around, alone=True)
    if not pairs:
        pairs = list(_labelled(text, alone=False))
    given = (record[key] for record in records for key in _EXPLANATION_KEYS if isinstance(record.get(key), str))
    return pairs, next(given, None) or _explanation(beside)


def _records(text: str) -> tuple[list[Mapping[str, Any]], str]:
    """Return the JSON objects of a text, nested ones too, with their keys in lower case, and the text beside them."""
    decoder = json.JSONDecoder(strict=False)
    found: list[Mapping[str, Any]] = []
    beside: list[str] = []
    place = idle = 0
    while idle < MOST_BRACES and (start := text.find("{", place)) >= 0:
        try:
            value, end = decoder.raw_decode(text, start)
        except (ValueError, RecursionError):
            beside.append(text[place : start + 1])
            place, idle = start + 1, idle + 1
            continue
        beside.append(text[place:start])
        place = end
        found += _objects(value)
    return found, "".join([*beside, text[place:]])


def _objects(value: Any) -> Iterator[Mapping[str, Any]]:
    waiting = [value]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            yield {str(key).lower(): entry for key, entry in value.items()}
            waiting += reversed(value.values())
        elif isinstance(value, list):
            waiting += reversed(value)


def _points(record: Mapping[str, Any]) -> list[Pair]:
    given = [record.get(key) for key in _POINT_KEYS]
    return [pair for value in (*given, [record.get("x"), record.get("y")]) if (pair := _pair(value)) is not None]


def _pair(value: Any) -> Pair | None:
    if isinstance(value, str):
        value = [float(number) for number in _NUMBER.findall(value)]
    if isinstance(value, list) and len(value) == 2 and all(_is_number(entry) for entry in value):
        try:
            return float(value[0]), float(value[1])
        except OverflowError:
            return math.inf, math.inf
    return None


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _labelled(text: str, *, alone: bool) -> Iterator[Pair]:
    """Yield the points of lines with a coordinate label that hold two numbers, and nothing else if `alone`."""
    for line in text.splitlines():
        label = _COORDINATE_LABEL.match(line)
        if label is not None:
            said = line[label.end() :]
            numbers = _NUMBER.findall(said)
            if len(numbers) == 2 and (not alone or _PAIR_ALONE.fullmatch(said)):
                yield float(numbers[0]), float(numbers[1])


def _explanation(text: str) -> str:
    label = _EXPLANATION_LABEL.search(text)
    if label is not None:
        lines = text[label.end() :].splitlines()
        kept = [line.strip() for line in lines if not _COORDINATE_LABEL.match(line)]
        return " ".join(line for line in kept if line)
    rest = []
    for line in text.splitlines():
        label = _COORDINATE_LABEL.match(line)
        rest.append(_NUMBER.sub("", _PAIR.sub("", line[label.end() :])) if label else _PAIR.sub("", line))
    left = " ".join(" ".join(rest).split()).strip(_TRIM)
    label = _EXPLANATION_LABEL.match(left)
    return left if label is None else left[label.end() :].strip(_TRIM)
