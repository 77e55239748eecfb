"""What is odd in a set without being an error: reported by name, so that nobody reads figures without knowing it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from dodiag.benchmarks.mmcot.data import (
    PUBLISHED_IMAGES,
    PUBLISHED_VIDEOS,
    AnySet,
    ImageItem,
    ImageSet,
    VideoItem,
)
from dodiag.benchmarks.mmcot.notation import SLOTS, list_of
from dodiag.benchmarks.mmcot.tiers import Tier

KINDS: Mapping[str, str] = {
    "size_differs": "the file has another number of items than the published one",
    "fixed_order": "every right answer uses the options 1 to 3, so that the options were never shuffled",
    "answer_unread": "the released reader does not find three chains in the right answer",
    "answer_unordered": "the right answer does not begin with A1; harmless, as chains are compared by condition",
    "answer_repeats": "the right answer uses an option twice",
    "answer_absent": "the right answer names an option that is not there",
    "option_count": "there are not three conditions and six options of each other set",
    "lines_dropped": "lines of a set are dropped by the released reader, as they do not start with a label",
    "same_content": "two options of a set have the same content, so that a shuffle cannot keep the answer",
    "half_labelled": "some distractors are labelled and some are not",
    "same_id": "two videos have one id",
    "id_unknown": "the id is 'unknown', which the annotation script writes where there is none",
    "never_correct": "the right chain does not have exactly one arrow; no answer can be correct",
    "pair_count": "there are not exactly two critical conditions, or not two causes in the chain",
    "not_in_pool": "the right answer is not in the pool it has to be chosen from",
    "bracket_inside": "an entry keeps a bracket or a separator after splitting, so that its list was read wrongly",
    "result_unbracketed": "the result of the right chain has no brackets; an answer has to leave them out too",
    "typographic": "curly quotes or dashes, which are compared to the letter",
    "unknown_tier": "the difficulty is not one of the four of the paper",
    "half_stratum": "only one of length and difficulty is given; the item is in no stratum",
}
"""What each finding means."""

_CURLY = re.compile(r"[‘’“”–—‑→]")


@dataclass(frozen=True, slots=True)
class Finding:
    """One oddity in one place.

    Attributes
    ----------
    kind : str
        A key of :data:`KINDS`.
    where : str
        The entry, or the whole file.
    detail : str
        What was seen.
    """

    kind: str
    where: str
    detail: str = ""

    def __str__(self) -> str:
        return f"{self.where}: {KINDS[self.kind]}" + (f" ({self.detail})" if self.detail else "")


def inspect(dataset: AnySet) -> tuple[Finding, ...]:
    """Return everything odd in a set, in file order."""
    return tuple(_of_images(dataset) if isinstance(dataset, ImageSet) else _of_videos(dataset.items))


def counts(findings: Iterable[Finding]) -> dict[str, int]:
    """Return how often each kind was found, in the order of :data:`KINDS`."""
    found = Counter(finding.kind for finding in findings)
    return {kind: found[kind] for kind in KINDS if found[kind]}


def _of_images(dataset: ImageSet) -> Iterator[Finding]:
    items = dataset.items
    if len(items) != PUBLISHED_IMAGES:
        yield Finding("size_differs", "the file", f"{len(items):,} instead of {PUBLISHED_IMAGES:,}")
    used = {label[1:] for item in items for link in item.links.values() for label in link}
    if used and used <= {"1", "2", "3"}:
        yield Finding("fixed_order", "the file")
    for item in items:
        for kind, detail in _of_image(item):
            yield Finding(kind, f"entry {item.id}", detail)


def _of_image(item: ImageItem) -> Iterator[tuple[str, str]]:
    if set(item.links) != set(SLOTS):
        yield "answer_unread", ", ".join(item.links) or "none"
    elif list(item.links) != list(SLOTS):
        yield "answer_unordered", ", ".join(item.links)
    groups = (
        ("A", item.set_a, item.conditions, 3),
        ("B", item.set_b, item.steps, 6),
        ("C", item.set_c, item.outcomes, 6),
    )
    for name, text, options, expected in groups:
        if len(options) != expected:
            yield "option_count", f"{len(options)} in set {name}"
        lines = [line for line in text.strip().split("\n") if line.strip()]
        kept = [line for line in lines if re.match(rf"{name}\d+:", line)]
        if len(kept) < len(lines) or len(options) < len(kept):
            yield "lines_dropped", f"{len(lines) - len(options)} in set {name}"
        if len(set(options.values())) < len(options):
            yield "same_content", f"set {name}"
    for place, options in enumerate((item.steps, item.outcomes)):
        named = [link[place] for link in item.links.values()]
        if len(set(named)) < len(named):
            yield "answer_repeats", ", ".join(named)
        if absent := sorted(set(named) - set(options)):
            yield "answer_absent", ", ".join(absent)
    right = {label for link in item.links.values() for label in link}
    unlabelled = sorted((set(item.steps) | set(item.outcomes)) - right - set(item.types))
    if item.types and unlabelled:
        yield "half_labelled", ", ".join(unlabelled)
    if _CURLY.search(item.set_a + item.set_b + item.set_c):
        yield "typographic", ""


def _of_videos(items: tuple[VideoItem, ...]) -> Iterator[Finding]:
    if len(items) != PUBLISHED_VIDEOS:
        yield Finding("size_differs", "the file", f"{len(items):,} instead of {PUBLISHED_VIDEOS:,}")
    for name, count in Counter(item.id for item in items).items():
        if count > 1:
            yield Finding("same_id", f"video {name}", f"{count} times")
    for number, item in enumerate(items):
        for kind, detail in _of_video(item):
            yield Finding(kind, f"entry {number} ({item.id})", detail)


def _of_video(item: VideoItem) -> Iterator[tuple[str, str]]:
    if item.id == "unknown":
        yield "id_unknown", ""
    causes = () if item.gold is None else item.gold.causes
    if item.gold is None:
        yield "never_correct", item.chain
    elif not (item.gold.result.startswith("[") and item.gold.result.endswith("]")):
        yield "result_unbracketed", item.gold.result
    if len(set(item.conditions)) != 2 or (item.gold is not None and len(set(causes)) != 2):
        yield "pair_count", f"{len(item.conditions)} conditions, {len(causes)} causes"
    result = () if item.gold is None else tuple(list_of(item.gold.result))
    groups = (
        ("Critical Conditions", item.conditions, item.elements),
        ("causes", causes, item.replaced),
        ("result", result, item.pool),
    )
    for name, chosen, pool in groups:
        if absent := [entry for entry in chosen if entry not in pool]:
            yield "not_in_pool", f"{name}: {'; '.join(absent)}"
    for name, entries in (
        ("Key Elements", item.elements),
        ("Counterfactual Elements", item.replaced),
        ("pool", item.pool),
    ):
        if any("[" in entry or "]" in entry for entry in entries):
            yield "bracket_inside", name
        if len(set(entries)) < len(entries):
            yield "same_content", name
    if _CURLY.search(item.key_elements + item.replacements + item.outcomes):
        yield "typographic", ""
    if item.difficulty is not None and item.difficulty.capitalize() not in set(Tier):
        yield "unknown_tier", item.difficulty
    if (item.difficulty is None) != (item.length is None):
        yield "half_stratum", ""
