"""Read the result files of the released scripts: JSON lines for pictures, a JSON list for videos."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from dodiag.benchmarks.mmcot.data import IMAGE_FIELDS, VIDEO_FIELDS, VideoItem
from dodiag.benchmarks.mmcot.image_scores import FAILED, ImageAnswer
from dodiag.benchmarks.mmcot.loader import read_list, video_set
from dodiag.benchmarks.mmcot.notation import links_of
from dodiag.benchmarks.mmcot.video_scores import VideoAnswer
from dodiag.problems import InvalidInput, Problem, UsageError

IMAGE_REPLY, VIDEO_REPLY = "Predicted_Answer", "Predicted_CF_Chain"

Visible = Callable[[str], str]
"""Cuts reasoning out of a reply."""


def as_written(reply: str) -> str:
    """Return a reply as it is."""
    return reply


def read_image_results(path: str | Path, visible: Visible = as_written) -> list[ImageAnswer]:
    """Return the answers of a result file about pictures.

    The released script prints a message and reports zero for the whole run if one line is bad; here it is a problem.

    Parameters
    ----------
    path : str or Path
    visible : callable
        Cuts reasoning out of a reply, for the lenient reader; the released scripts cut nothing.

    Raises
    ------
    UsageError
        If the file cannot be read.
    InvalidInput
        With every problem, by line; an id that stands twice is one.
    """
    problems: list[Problem] = []
    answers: dict[str, ImageAnswer] = {}

    def problem(line: int, message: str, cure: str) -> None:
        problems.append(Problem(str(path), line, "", message, cure))

    # Not splitlines: a reply may hold characters such as U+2028, which end a line there and not in JSON lines.
    for number, line in enumerate(_text(path).split("\n"), start=1):
        if not line.strip():
            continue
        try:
            entry = json.loads(line)
        except (ValueError, RecursionError):
            problem(number, "is not JSON", "Remove the line, or run its item again.")
            continue
        name = entry.get("id") if isinstance(entry, Mapping) else None
        gold = entry.get("Right_answer") if isinstance(entry, Mapping) else None
        if not isinstance(name, str) or not isinstance(gold, str):
            problem(number, "has no texts 'id' and 'Right_answer'", "Use a result file of the released script.")
            continue
        if name in answers:
            problem(number, f"item {name} stands twice", "Keep one of its lines.")
        reply = entry.get(IMAGE_REPLY)
        if not isinstance(reply, str):
            problem(number, f"item {name} has no text '{IMAGE_REPLY}'", "Use a result file of the released script.")
            continue
        said = _answer(reply)
        answers[name] = ImageAnswer(name, links_of(gold), said, said and visible(said))
    if not answers and not problems:
        problem(1, "there are no answers", "Use a result file of the released script.")
    if problems:
        raise InvalidInput(problems)
    return list(answers.values())


def read_video_results(path: str | Path, visible: Visible = as_written) -> list[VideoAnswer]:
    """Return the answers of a result file about videos.

    Raises
    ------
    UsageError
        If the file cannot be read or is a list of picture items.
    InvalidInput
        With every problem, by entry; an item that stands twice is one.
    """
    document = read_list(path)
    if any(isinstance(entry, Mapping) and IMAGE_FIELDS[0] in entry for entry in document):
        said = f"{path} is a list of picture items; results about pictures have one JSON object a line"
        raise UsageError(said, "Name a result file of the released script, and the list with --set.")
    items = video_set([_without_reply(entry) for entry in document], str(path)).items
    problems: list[Problem] = []
    answers: dict[VideoItem, VideoAnswer] = {}

    def problem(entry: int, message: str, cure: str) -> None:
        problems.append(Problem(str(path), None, f"entry {entry}", message, cure))

    for number, (item, entry) in enumerate(zip(items, document, strict=True)):
        stored = entry.get(VIDEO_REPLY)
        if not isinstance(stored, str):
            problem(number, f"has no text '{VIDEO_REPLY}'", "Use a result file of the released script.")
            continue
        if item in answers:
            problem(number, f"video {item.id} stands twice", "Keep one entry.")
        reply = _answer(stored)
        answers[item] = VideoAnswer(item, reply, reply and visible(reply), stored=True)
    if problems:
        raise InvalidInput(problems)
    return list(answers.values())


def is_video_result(path: str | Path) -> bool:
    """Return whether a result file is a JSON list, as those about videos are; those about pictures have JSON lines."""
    return _text(path).lstrip().startswith("[")


def _answer(reply: str) -> str | None:
    """Return a stored reply, None where what is stored is the text of a failed call."""
    return None if reply.strip() in FAILED else reply


def _without_reply(entry: Any) -> Any:
    wanted = (*VIDEO_FIELDS, "length_category", "difficulty")
    return {name: entry[name] for name in wanted if name in entry} if isinstance(entry, Mapping) else entry


def _text(path: str | Path) -> str:
    try:
        return Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        said = f"{path} cannot be read: {getattr(error, 'strerror', None) or error}"
        raise UsageError(said, "Name a result file of the released scripts.") from None
