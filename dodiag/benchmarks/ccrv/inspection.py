"""What is odd in a set without being an error: reported by name, so that nobody reads figures without knowing it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from dodiag.benchmarks.ccrv.compliance import comply, used_terms, why_not_minimal, words_of
from dodiag.benchmarks.ccrv.data import (
    QUESTIONS_PER_X,
    X_KEYS,
    Dataset,
    Item,
    LimitSpec,
    PointSpec,
    PremiseSpec,
    SymbolSpec,
    Variant,
)
from dodiag.benchmarks.ccrv.pixels import strict
from dodiag.benchmarks.ccrv.symbols import centre, corners, forbidden_terms

KINDS: Mapping[str, str] = {
    "bare_image": "the image has no cluster or path; it counts as 'other'",
    "same_target": "two questions of a causal task have one target object; only their position tells them apart",
    "question_count": "a causal task has not two questions",
    "missing_constraint": "an item lacks a constraint",
    "constraint_version": "the constraint id has a version; the released code sends such answers to the Y3 judge",
    "no_rubric": "there is no rubric; answers cannot be judged",
    "rubric_about_picture": "the rubric asks about the picture or an annotator, which a judge does not see",
    "terms_differ": "the forbidden terms are not those that the symbols give",
    "geometry_differs": "a box or centre does not follow from the other",
    "box_convention": "the question gives boxes as left, top, width, height",
    "terms_in_question": "the question itself uses forbidden terms",
    "terms_in_reference": "the reference itself uses forbidden terms",
    "reference_names_distractor": "the reference of Y1 does not name the object that Y2 points at",
    "reference_fails": "the reference breaks its own constraint",
    "no_pixel": "the question does not say that coordinates are pixels",
    "box_covers_picture": "the target's box covers most of the picture, so that nearly any point passes",
    "no_premise": "the false premise is not given apart",
    "premise_not_in_question": "the false premise is not in the question word for word",
    "reference_in_question": "the question holds the reference word for word",
    "limit_differs": "the word limit is not the reference's number of words plus 1",
    "typographic": "curly quotes or dashes, which ASCII rules take for ordinary letters",
}
"""What each finding means."""

COVERED = 0.7
"""Share of the picture from which a box makes Y2 nearly free."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One oddity in one place.

    Attributes
    ----------
    kind : str
        A key of :data:`KINDS`.
    where : str
        Image, causal task, position and constraint.
    detail : str
        What was seen.
    """

    kind: str
    where: str
    detail: str = ""

    def __str__(self) -> str:
        return f"{self.where}: {KINDS[self.kind]}" + (f" ({self.detail})" if self.detail else "")


def inspect(dataset: Dataset, sizes: Mapping[int, tuple[int, int]] | None = None) -> tuple[Finding, ...]:
    """Return everything odd in a set, in file order.

    Parameters
    ----------
    dataset : Dataset
    sizes : mapping of int to (width, height), optional
        Sizes of the pictures, where they are there.
    """
    return tuple(_found(dataset, sizes or {}))


def counts(findings: tuple[Finding, ...]) -> dict[str, int]:
    """Return how often each kind was found, in the order of :data:`KINDS`."""
    found = Counter(finding.kind for finding in findings)
    return {kind: found[kind] for kind in KINDS if found[kind]}


def _found(dataset: Dataset, sizes: Mapping[int, tuple[int, int]]) -> Iterator[Finding]:
    constrained = {variant.family for _, variant in dataset.variants()}
    for image in dataset.images:
        if image.cluster == "other" or image.path is None:
            yield Finding("bare_image", f"image {image.image_id}")
        by_x: dict[str, list[Item]] = {}
        for item in image.items:
            by_x.setdefault(item.key.x, []).append(item)
        for x, items in by_x.items():
            where = f"image {image.image_id}, {x}"
            if len(items) != QUESTIONS_PER_X:
                yield Finding("question_count", where, f"{len(items)}")
            targets = Counter(item.target_object_id for item in items)
            yield from (Finding("same_target", where, f"object {target}") for target, n in targets.items() if n > 1)
        for item in image.items:
            yield from _of_item(item, constrained, sizes.get(image.image_id))


_ABOUT_PICTURE = re.compile(r"\b(?:image|picture|photo|annotator|evaluator|clearly visible|visible)\b", re.IGNORECASE)
_SYMBOL = re.compile(r"Node_[A-Z]")
_CURLY = re.compile(r"[‘’“”–—‑→]")


def _of_item(item: Item, constrained: set[str], size: tuple[int, int] | None) -> Iterator[Finding]:
    where = str(item.key)
    if item.rubric is None:
        yield Finding("no_rubric", where)
    elif any(_ABOUT_PICTURE.search(text) for text in item.rubric.levels.values()):
        yield Finding("rubric_about_picture", where)
    absent = sorted(constrained - {variant.family for variant in item.variants.values()})
    if absent:
        yield Finding("missing_constraint", where, ", ".join(absent))
    if _CURLY.search(item.question_text + item.ground_truth_answer):
        yield Finding("typographic", where)
    for variant in item.variants.values():
        place = f"{where}, {variant.constraint_id}"
        if variant.family != variant.constraint_id:
            yield Finding("constraint_version", place)
        if variant.rubric is None:
            yield Finding("no_rubric", place)
        yield from (Finding(kind, place, detail) for kind, detail in _of_variant(item, variant, size))


def _of_variant(item: Item, variant: Variant, size: tuple[int, int] | None) -> Iterator[tuple[str, str]]:
    question, reference = variant.constrained_question, variant.adapted_ground_truth
    match variant.spec:
        case SymbolSpec() as spec:
            yield from _of_symbols(item, spec, question, reference)
        case PointSpec() as spec:
            if spec.target_bbox_xywh is not None and corners(spec.target_bbox_xywh) != spec.target_bbox_xyxy:
                yield "geometry_differs", spec.target_true_name
            if not strict(reference, spec)[0]:
                yield "reference_fails", strict(reference, spec)[1]
            if "pixel" not in question.lower():
                yield "no_pixel", ""
            if size is not None:
                left, top, right, bottom = spec.target_bbox_xyxy
                share = (right - left) * (bottom - top) / (size[0] * size[1])
                if share >= COVERED:
                    yield "box_covers_picture", f"{share:.0%} of {size[0]} x {size[1]}"
        case PremiseSpec() as spec:
            if not spec.false_premise:
                yield "no_premise", ""
            elif spec.false_premise.strip(" .").lower() not in question.lower():
                yield "premise_not_in_question", ""
        case LimitSpec() as spec:
            if reference.strip().lower() in question.lower():
                yield "reference_in_question", reference.strip()
            if spec.allowed_max_words != len(words_of(reference)) + 1:
                yield "limit_differs", f"{spec.allowed_max_words} for '{reference.strip()}'"
            if reason := why_not_minimal(reference, spec):
                yield "reference_fails", reason


def _of_symbols(item: Item, spec: SymbolSpec, question: str, reference: str) -> Iterator[tuple[str, str]]:
    nodes = spec.symbol_map.values()
    expected = forbidden_terms(node.true_name for node in nodes)
    if tuple(spec.forbidden_terms) != expected:
        differing = sorted(set(spec.forbidden_terms) ^ set(expected))
        yield "terms_differ", ", ".join(differing)
    for node in nodes:
        if corners(node.bbox_xywh) != node.bbox_xyxy or centre(node.bbox_xywh) != node.center_xy:
            yield "geometry_differs", node.true_name
    given = [[float(n) for n in re.findall(r"-?\d+(?:\.\d+)?", m)] for m in re.findall(r"\[([^\]]*)\]", question)]
    if any(list(node.bbox_xywh) in given and list(node.bbox_xyxy) not in given for node in nodes):
        yield "box_convention", ""
    if used := used_terms(question, spec.forbidden_terms):
        yield "terms_in_question", ", ".join(used)
    if used := used_terms(reference, spec.forbidden_terms):
        yield "terms_in_reference", ", ".join(used)
    point = next((v.spec for v in item.variants.values() if isinstance(v.spec, PointSpec)), None)
    named = [spec.symbol_map[symbol] for symbol in _SYMBOL.findall(reference) if symbol in spec.symbol_map]
    asks_for_cause = item.key.x in (X_KEYS[0], X_KEYS[2])
    if asks_for_cause and point is not None and named:
        ids = {node.object_id for node in named}
        if point.target_object_id not in ids:
            yield "reference_names_distractor", ", ".join(sorted({node.true_name for node in named}))


def reference_complies(variant: Variant) -> int | None:
    """Return whether the reference answer keeps its own constraint (Y2 by the strict rule); None for Y3."""
    return comply(variant, variant.adapted_ground_truth, y2="strict").csr
