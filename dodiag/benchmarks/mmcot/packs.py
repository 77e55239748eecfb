"""Write an MM-CoT set as a task pack: every step of a chain as a question, and the whole answer as published."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from importlib import resources
from pathlib import Path
from typing import Any, Literal

import numpy as np

from dodiag.benchmarks.ccrv.writing import Drawn, write_pack
from dodiag.benchmarks.mmcot.data import AnySet, ImageItem, ImageSet, VideoItem
from dodiag.benchmarks.mmcot.media import Media
from dodiag.benchmarks.mmcot.notation import FIELDS, SLOTS, list_of
from dodiag.benchmarks.mmcot.prompts import (
    CONDITIONS_QUESTION,
    OUTCOME_QUESTION,
    PROMPTS_VERSION,
    REPLACEMENTS_QUESTION,
    image_question,
    outcome_question,
    step_question,
    video_question,
)
from dodiag.benchmarks.mmcot.shuffling import answer_text, moved_labels, shuffled
from dodiag.problems import UsageError
from dodiag.scm.answers import LETTERS
from dodiag.scm.files import load_task
from dodiag.scm.graph import TaskGraph
from dodiag.scm.pack import Instance, Question

META = "mmcot"
"""Where an instance keeps its item, for scoring; no model sees it."""

WHOLE = "T"
"""The unit and question of the whole answer."""

View = Literal["image", "video", "dice"]


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Something of a set that a pack does not have, and why."""

    where: str
    reason: str


@dataclass(frozen=True, slots=True)
class Exported:
    """What was written."""

    instances: int
    questions: int
    left_out: tuple[LeftOut, ...]


def view_graph(view: View) -> TaskGraph:
    """Return the task graph of pictures, of videos, or of the generator over dice.

    Examples
    --------
    >>> view_graph("video").parents("T")
    ('K', 'R', 'O')
    """
    with resources.as_file(resources.files("dodiag.benchmarks.mmcot") / "views" / f"{view}.yaml") as path:
        return load_task(path)


def export_set(
    dataset: AnySet,
    out: Path,
    media: Media | None = None,
    *,
    skip_missing: bool = False,
    shuffle: int | None = None,
) -> Exported:
    """Write the pack ``mmcot_image`` or ``mmcot_video``.

    With nothing injected the question ``T`` is the benchmark as published. State 1 of the other units supplies steps of
    the right chains, state 0 wrong ones, so that NC, IC, RC, N and S of every step come from the common planner.

    Parameters
    ----------
    dataset : ImageSet or VideoSet
    out : Path
        A new folder.
    media : Media, optional
        Without it the pack is a text-only control.
    skip_missing : bool
        Leave out items whose medium is missing, and say so, instead of refusing.
    shuffle : int, optional
        Seed of a new order of the options of B and C in every item, for sets that were never shuffled. Each instance
        keeps the seed and where its options went. An item's order depends on the seed and its place in the set alone.

    Raises
    ------
    UsageError
        If the items of a video set are to be shuffled, a medium is missing or cannot be read, nothing is left to
        write, or the folder is not new.
    """
    if shuffle is not None and not isinstance(dataset, ImageSet):
        raise UsageError("only sets of pictures are shuffled", "Leave out the seed; pools of videos have no labels.")
    if media is not None and not skip_missing:
        media.require()
    left_out: list[LeftOut] = []
    graph = view_graph("image" if isinstance(dataset, ImageSet) else "video")
    if media is None:
        graph = replace(graph, modality="text")
    kept: list[tuple[int, ImageItem | VideoItem, Path | None]] = []
    items: tuple[ImageItem | VideoItem, ...] = dataset.items
    for number, item in enumerate(items):
        where = f"entry {number}"
        path = None if media is None else media.found.get(item.path)
        if media is not None and path is None:
            left_out.append(LeftOut(where, f"{item.path} is missing"))
            continue
        reason = _why_not_image(item) if isinstance(item, ImageItem) else _why_not_video(item)
        if reason is not None:
            left_out.append(LeftOut(where, reason))
            continue
        kept.append((number, item, path))
    if not kept:
        reasons = "; ".join(f"{entry.where}: {entry.reason}" for entry in left_out[:3])
        raise UsageError(f"nothing is left to write ({reasons})", "Complete the set.")
    questions = 0

    def drawn() -> Iterator[Drawn]:
        """Read one medium at a time: those of the published set do not fit into memory together."""
        nonlocal questions
        for number, item, path in kept:
            instance, media = _instance(number, item, path, shuffle)
            questions += len(instance.questions)
            yield instance, media

    write_pack(out, graph, drawn())
    return Exported(len(kept), questions, tuple(left_out))


def _instance(number: int, item: ImageItem | VideoItem, path: Path | None, shuffle: int | None) -> Drawn:
    order: dict[str, Any] = {}
    if shuffle is not None and isinstance(item, ImageItem):
        before, item = item, shuffled(item, np.random.default_rng((shuffle, number)))
        order = {"shuffle": {"seed": shuffle, "labels": moved_labels(before, item)}}
    asked = image_questions(item) if isinstance(item, ImageItem) else video_questions(item)
    media = {} if path is None else {f"media/{number:05d}{path.suffix.lower()}": _bytes(path)}
    meta = {META: dict(item.raw), "prompts": PROMPTS_VERSION, **order}
    return Instance(id=f"{number:05d}", media=tuple(media), questions=tuple(asked), meta=meta), media


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}", "Check the file's permissions.") from None


def image_questions(item: ImageItem) -> Iterator[Question]:
    """Yield the questions of a picture item: three steps B, three outcomes C, and the whole answer T.

    The outcome of a chain requires its own step. State 0 of a step is the step of the next chain, true and misplaced,
    and likewise for outcomes; state 0 never repeats what is right.
    """
    steps, outcomes = list(item.steps), list(item.outcomes)
    for slot in SLOTS:
        yield Question(
            id=f"B-{slot}",
            unit="B",
            text=step_question(item, slot),
            choices=tuple(item.steps.values()),
            answer=LETTERS[steps.index(item.links[slot][0])],
            incorrect=LETTERS[steps.index(item.links[_next(slot)][0])],
        )
    for slot in SLOTS:
        yield Question(
            id=f"C-{slot}",
            unit="C",
            text=outcome_question(item, slot),
            choices=tuple(item.outcomes.values()),
            answer=LETTERS[outcomes.index(item.links[slot][1])],
            incorrect=LETTERS[outcomes.index(item.links[_next(slot)][1])],
            requires=(f"B-{slot}",),
        )
    wrong = {slot: item.links[_next(slot)] for slot in SLOTS}
    right = {slot: item.links[slot] for slot in SLOTS}
    yield Question(
        id=WHOLE, unit=WHOLE, text=image_question(item), answer=answer_text(right), incorrect=answer_text(wrong)
    )


def video_questions(item: VideoItem) -> Iterator[Question]:
    """Yield the questions of a video item: conditions K, replacements R, outcome O, and the whole answer T."""
    assert item.gold is not None
    (result,) = list_of(item.gold.result)
    yield Question(
        id="K",
        unit="K",
        text=CONDITIONS_QUESTION,
        choices=item.elements,
        answer=_letters(item.conditions, item.elements),
    )
    yield Question(
        id="R",
        unit="R",
        text=REPLACEMENTS_QUESTION,
        choices=item.replaced,
        answer=_letters(item.gold.causes, item.replaced),
    )
    yield Question(id="O", unit="O", text=OUTCOME_QUESTION, choices=item.pool, answer=LETTERS[item.pool.index(result)])
    other = next(entry for entry in item.pool if entry != result)
    yield Question(
        id=WHOLE,
        unit=WHOLE,
        text=video_question(item),
        answer=video_answer(item.conditions, item.gold.causes, item.gold.result),
        incorrect=video_answer(item.conditions, item.gold.causes, f"[{other}]"),
    )


def video_answer(conditions: tuple[str, ...], causes: tuple[str, ...], result: str) -> str:
    """Return an answer about a video in the released form."""
    chosen, replaced = (", ".join(f"[{entry}]" for entry in entries) for entries in (conditions, causes))
    values = (chosen, replaced, result, f"{replaced} -> {result}")
    return json.dumps(dict(zip(FIELDS, values, strict=True)), ensure_ascii=False)


def _letters(chosen: tuple[str, ...], pool: tuple[str, ...]) -> list[str]:
    return [LETTERS[pool.index(entry)] for entry in chosen]


def _next(slot: str) -> str:
    return SLOTS[(SLOTS.index(slot) + 1) % len(SLOTS)]


def _why_not_image(item: ImageItem) -> str | None:
    if not item.complete:
        return "its right answer is not three chains through options that are there"
    return _why_no_choices(tuple(item.steps.values())) or _why_no_choices(tuple(item.outcomes.values()))


def _why_not_video(item: VideoItem) -> str | None:
    if item.gold is None:
        return "its right chain does not have exactly one arrow"
    results = list_of(item.gold.result)
    if item.gold.result != f"[{results[0]}]":
        return "the result of its right chain is not one item in brackets"
    groups = ((item.conditions, item.elements), (item.gold.causes, item.replaced), (tuple(results), item.pool))
    for chosen, pool in groups:
        if any(entry not in pool for entry in chosen):
            return "its right answer is not in its pools"
        if reason := _why_no_choices(pool):
            return reason
    if min(len(item.elements), len(item.replaced)) < 3:
        return "there are only two elements to choose two from"
    if len(set(item.conditions)) != 2 or len(set(item.gold.causes)) != 2:
        return "it does not have two conditions and two causes"
    return None


def _why_no_choices(options: tuple[str, ...]) -> str | None:
    plain = {option.strip().casefold() for option in options}
    if len(plain) < len(options) or "" in plain:
        return "two options are the same or one is empty"
    if not 2 <= len(options) <= len(LETTERS):
        return f"a set has {len(options)} options"
    return "an option is a bare letter" if any(len(option) == 1 for option in plain) else None
