"""Read the published files of MM-CoT: all problems are reported at once, and nothing is repaired silently."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from dodiag.benchmarks.mmcot.data import (
    DISTRACTOR_TYPES,
    IMAGE_FIELDS,
    VIDEO_FIELDS,
    AnySet,
    ImageItem,
    ImageSet,
    VideoItem,
    VideoSet,
)
from dodiag.benchmarks.mmcot.taxonomy import DistractorType, parsed_type
from dodiag.problems import InvalidInput, Problem, UsageError, quoted

_NAME_ONE = "Name a JSON file of MM-CoT."
_HALF_CHARACTER = re.compile("[\ud800-\udfff]")


def load_set(path: str | Path) -> AnySet:
    """Read an MM-CoT file; whether it is about pictures or videos is told by the fields of all its entries.

    Raises
    ------
    UsageError
        If it cannot be read or is not a JSON list.
    InvalidInput
        With every problem, by entry.
    """
    document = read_list(path)
    images, videos = (
        sum(name in entry for entry in document if isinstance(entry, Mapping) for name in names)
        for names in (IMAGE_FIELDS, VIDEO_FIELDS)
    )
    return video_set(document, str(path)) if videos > images else image_set(document, str(path))


def load_images(path: str | Path) -> ImageSet:
    """Read a file of picture items.

    Raises
    ------
    UsageError
        If it cannot be read or is not a JSON list.
    InvalidInput
        With every problem, by entry.
    """
    return image_set(read_list(path), str(path))


def load_videos(path: str | Path) -> VideoSet:
    """Read a file of video items.

    Raises
    ------
    UsageError
        If it cannot be read or is not a JSON list.
    InvalidInput
        With every problem, by entry.
    """
    return video_set(read_list(path), str(path))


def read_list(path: str | Path) -> list[Any]:
    """Return the parsed list of a JSON file.

    Raises
    ------
    UsageError
        If it cannot be read, is not JSON, is not a list, or gives a key twice.
    """
    try:
        document = json.loads(Path(path).read_text(encoding="utf-8"), object_pairs_hook=_once)
    except (OSError, UnicodeDecodeError) as error:
        said = f"{path} cannot be read: {getattr(error, 'strerror', None) or error}"
        raise UsageError(said, _NAME_ONE) from None
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{path} is not JSON: {error}", _NAME_ONE) from None
    if not isinstance(document, list):
        raise UsageError(f"{path} is not a list of items", _NAME_ONE)
    return document


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        twice = next(name for name, count in Counter(name for name, _ in pairs).items() if count > 1)
        raise ValueError(f"{quoted(twice)} stands twice in one object")
    return found


def image_set(document: Sequence[Any], source: str) -> ImageSet:
    """Return the picture items of a parsed list.

    Raises
    ------
    InvalidInput
        With every problem.
    """
    problems: list[Problem] = []
    items = [_image(raw, number, source, problems) for number, raw in enumerate(document)]
    _require(document, source, problems)
    return ImageSet(source, tuple(item for item in items if item is not None))


def video_set(document: Sequence[Any], source: str) -> VideoSet:
    """Return the video items of a parsed list.

    Raises
    ------
    InvalidInput
        With every problem.
    """
    problems: list[Problem] = []
    items = [_video(raw, number, source, problems) for number, raw in enumerate(document)]
    _require(document, source, problems)
    return VideoSet(source, tuple(item for item in items if item is not None))


def _require(document: Sequence[Any], source: str, problems: list[Problem]) -> None:
    if not document:
        problems.append(Problem(source, None, "", "there are no items", "Name a file with at least one."))
    if problems:
        raise InvalidInput(problems)


def _fields(raw: Any, names: Sequence[str], where: str, source: str, problems: list[Problem]) -> list[str] | None:
    """Return the fields of an entry, or None after reporting which are no texts."""
    if not isinstance(raw, Mapping):
        problems.append(Problem(source, None, where, "is not a mapping", "Write one object for each item."))
        return None
    bad = {name: said for name in names if (said := _why_no_text(raw, name)) is not None}
    for name, value in raw.items():
        if isinstance(value, str) and _HALF_CHARACTER.search(value):
            bad[name] = "holds one half of a surrogate pair (\\ud800 to \\udfff)"
    for name, said in bad.items():
        problems.append(Problem(source, None, where, f"'{name}' {said}", "Restore the field from the published file."))
    return None if bad else [raw[name] for name in names]


def _why_no_text(raw: Mapping[str, Any], name: str) -> str | None:
    if name not in raw:
        return "is missing"
    value = raw[name]
    if not isinstance(value, str):
        return "is not a text"
    return None if value.strip() else "is empty"


def _image(raw: Any, number: int, source: str, problems: list[Problem]) -> ImageItem | None:
    where = f"entry {number}"
    fields = _fields(raw, IMAGE_FIELDS, where, source, problems)
    if fields is None:
        return None
    set_a, set_b, set_c, right_answer, path = fields
    types = _types(raw, where, source, problems)
    item = ImageItem(str(number), set_a, set_b, set_c, right_answer, path, types, raw)
    strange = sorted(set(item.types) - set(item.steps) - set(item.outcomes))
    right = {label for link in item.links.values() for label in link}
    problems += [
        Problem(source, None, where, f"labels '{label}', which is no option", "Remove the label.") for label in strange
    ]
    problems += [
        Problem(
            source, None, where, f"labels '{label}' a distractor, which is in a right chain", "Correct one of them."
        )
        for label in sorted(right & set(item.types))
    ]
    return item


def _types(raw: Mapping[str, Any], where: str, source: str, problems: list[Problem]) -> dict[str, DistractorType]:
    given = raw.get(DISTRACTOR_TYPES)
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        cure = "Write a mapping from labels such as B4 to types."
        problems.append(Problem(source, None, where, f"'{DISTRACTOR_TYPES}' is not a mapping", cure))
        return {}
    found = {}
    for label, name in given.items():
        try:
            found[str(label)] = parsed_type(name)
        except UsageError as error:
            problems.append(Problem(source, None, f"{where}, {label}", error.message, error.cure))
    return found


def _video(raw: Any, number: int, source: str, problems: list[Problem]) -> VideoItem | None:
    where = f"entry {number}"
    fields = _fields(raw, VIDEO_FIELDS, where, source, problems)
    if fields is None:
        return None
    optional = []
    for name in ("length_category", "difficulty"):
        value = raw.get(name)
        if value is not None and not isinstance(value, str):
            problems.append(Problem(source, None, where, f"'{name}' is not a text", "Write a text or leave it out."))
        optional.append(value if isinstance(value, str) else None)
    name, path, elements, replaced, pool, critical, chain = fields
    return VideoItem(name, path, elements, replaced, pool, critical, chain, optional[0], optional[1], raw)
