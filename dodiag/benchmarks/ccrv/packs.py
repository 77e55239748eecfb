"""Write a CCRV-Bench set as a task pack: item by item, or image by image with discovery as a prerequisite."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

from dodiag.benchmarks.ccrv.data import (
    X_KEYS,
    Dataset,
    ImageRecord,
    Item,
    PremiseSpec,
    SymbolSpec,
    Variant,
)
from dodiag.benchmarks.ccrv.pictures import Pictures, size_of
from dodiag.benchmarks.ccrv.scores import BASELINE
from dodiag.benchmarks.ccrv.symbols import symbolised
from dodiag.benchmarks.ccrv.views import LADDERS, view_graph
from dodiag.benchmarks.ccrv.writing import Drawn, write_pack
from dodiag.problems import UsageError, nearest
from dodiag.scm.pack import Instance, Question

Style = Literal["plain", "cot_a", "cot_b"]
"""How an unconstrained question is asked: plainly, step by step, or with a refutation of a wrong premise."""

META = "ccrv"
"""Where an instance keeps its image's record, for judging and scoring; no model sees it."""

_BASELINE_ROLE = (
    "You reason causally about what is visible in the picture, precisely and physically. Name the entities that"
    " matter, say how they act on or touch each other, and state the causal outcome briefly. Rely only on what is"
    " visible. Do not refuse, and do not say that you cannot see the picture."
)
_CONSTRAINED_ROLE = (
    "You reason causally about what is visible in the picture. Keep every constraint that the question states, such as"
    " forbidden words, a form of the answer, or a check for contradictions. Base the answer on the picture."
)
_LEADS: Mapping[Style, str] = MappingProxyType(
    {
        "plain": "Look carefully at the picture and be physically precise.",
        "cot_a": (
            "Look carefully at the picture and be physically precise. Think step by step, then give a concise answer."
        ),
        "cot_b": (
            "Look carefully at the picture and be physically precise. Think step by step: name the likeliest wrong"
            " assumption, refute it briefly by what is visible, then give a concise answer."
        ),
    }
)
PROMPTS_VERSION = "1"


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Something of a set that a pack does not have, and why."""

    where: str
    reason: str


@dataclass(frozen=True, slots=True)
class Exported:
    """What was written.

    Attributes
    ----------
    instances, questions : int
    left_out : tuple of LeftOut
    """

    instances: int
    questions: int
    left_out: tuple[LeftOut, ...]


def export_items(dataset: Dataset, pictures: Pictures, out: Path, style: Style = "plain") -> Exported:
    """Write the pack ``ccrv_items``: every question A of a set, and the causal content E that it needs.

    State ∅ of E is the benchmark as published. State 1 is the oracle-informed control: for Y1 the symbolised reference,
    for everything else reference and rationale. State 0 injects the false premise that Y3 has for the item. Run without
    pictures, the same states are the text-only controls.

    An item without a rubric, without a false premise, or without a constraint that others have is left out whole.

    Parameters
    ----------
    dataset : Dataset
    pictures : Pictures
        Of all its images.
    out : Path
        A new folder.
    style : {"plain", "cot_a", "cot_b"}
        How unconstrained questions are asked.

    Raises
    ------
    UsageError
        If a picture is missing or the folder is not new.
    """
    pictures.require()
    left_out: list[LeftOut] = []
    kinds = {variant.family for _, variant in dataset.variants()}
    drawn = [_items_instance(image, pictures, style, dataset, kinds, left_out) for image in dataset.images]
    return _write(out, "items", drawn, left_out)


def export_ladder(dataset: Dataset, pictures: Pictures, out: Path, view: str) -> Exported:
    """Write a pack in which discovering an image's causal relation (X1) precedes one other causal task.

    Its questions are the unconstrained ones. State 0 of a discovery question is the false premise that its Y3 variant
    has; where one is missing, the image is left out and reported.

    Parameters
    ----------
    view : {"prediction", "diagnosis", "intervention"}

    Raises
    ------
    UsageError
        If a picture is missing, the folder is not new, or there is no such view.
    """
    if view not in LADDERS:
        raise UsageError(f"there is no ladder '{view}'", f"Use one of {', '.join(LADDERS)}.")
    pictures.require()
    left_out: list[LeftOut] = []
    drawn = [_ladder_instance(image, pictures, LADDERS[view], dataset, left_out) for image in dataset.images]
    return _write(out, view, drawn, left_out)


def parsed_style(text: str) -> Style:
    """Return the style of unconstrained questions from its name.

    Raises
    ------
    UsageError
        If there is no such style.
    """
    for style in _LEADS:
        if text == style:
            return style
    raise UsageError(f"there is no style '{text}'", nearest(text, _LEADS))


def false_premise(item: Item) -> str | None:
    """Return the false premise that Y3 has for an item, or None."""
    for variant in item.variants.values():
        if isinstance(variant.spec, PremiseSpec) and variant.spec.false_premise:
            return variant.spec.false_premise.strip() or None
    return None


def question_id(item: Item, constraint: str) -> str:
    """Return the id of an item's question in a pack, such as ``X1-0-Y2``."""
    return f"{item.key.x[:2]}-{item.key.q_idx}-{constraint}"


def parse_question_id(text: str) -> tuple[str, int, str]:
    """Return causal task, position and constraint of a question id.

    Examples
    --------
    >>> parse_question_id("X1-0-Y2")
    ('X1_discovery', 0, 'Y2')
    """
    x, place, constraint = text.split("-", 2)
    return next(key for key in X_KEYS if key.startswith(f"{x}_")), int(place), constraint


def _items_instance(
    image: ImageRecord,
    pictures: Pictures,
    style: Style,
    dataset: Dataset,
    kinds: set[str],
    left_out: list[LeftOut],
) -> Drawn | None:
    questions: list[Question] = []
    for item in image.items:
        premise = false_premise(item)
        if premise is None or (lacks := _lacks(item, kinds)):
            # Whole items alone: a figure with a constraint and its base have to be of the same ones.
            why = "there is no false premise to inject as state 0" if premise is None else lacks
            left_out.append(LeftOut(str(item.key), why))
            continue
        asked: list[tuple[str, Variant | None]] = [(BASELINE, None)]
        asked += [(variant.family, variant) for variant in item.variants.values()]
        for constraint, variant in asked:
            questions += _asked_with_content(item, constraint, variant, premise, style)
    return _drawn(image, pictures, questions, dataset)


def _lacks(item: Item, kinds: set[str]) -> str:
    """Return what an item lacks to be scored beside the others; empty where it lacks nothing."""
    if item.rubric is None:
        return "there is no rubric"
    absent = sorted(kinds - {variant.family for variant in item.variants.values()})
    return f"there is no variant for {', '.join(absent)}" if absent else ""


def _asked_with_content(
    item: Item, constraint: str, variant: Variant | None, premise: str, style: Style
) -> Iterator[Question]:
    name = question_id(item, constraint)
    if variant is not None and isinstance(variant.spec, SymbolSpec):
        content, asked = variant.adapted_ground_truth, variant.constrained_question
        premise = symbolised(premise, variant.spec.symbol_map)
    else:
        content = f"{item.ground_truth_answer} {item.rationale}".strip()
        asked = f"Which entities act on each other, by which mechanism, and with which outcome? {item.question_text}"
    yield Question(id=f"{name}-E", unit="E", text=asked, answer=content, incorrect=premise)
    if variant is None:
        text = f"{_BASELINE_ROLE}\n\n{_LEADS[style]}\n\nQuestion: {item.question_text}"
        reference = item.ground_truth_answer
    else:
        text, reference = f"{_CONSTRAINED_ROLE}\n\n{variant.constrained_question}", variant.adapted_ground_truth
    yield Question(id=name, unit="A", text=text, answer=reference, incorrect=premise, requires=(f"{name}-E",))


def _ladder_instance(
    image: ImageRecord, pictures: Pictures, x: str, dataset: Dataset, left_out: list[LeftOut]
) -> Drawn | None:
    questions = []
    for item in image.items:
        if item.key.x not in (X_KEYS[0], x):
            continue
        premise = false_premise(item)
        if item.key.x == X_KEYS[0] and premise is None:
            left_out.append(LeftOut(f"image {image.image_id}", f"{item.key} has no false premise to inject as state 0"))
            return None
        questions.append(
            Question(
                id=question_id(item, BASELINE),
                unit=item.key.x[:2],
                text=item.question_text,
                answer=item.ground_truth_answer,
                incorrect=premise,
            )
        )
    return _drawn(image, pictures, questions, dataset)


def _drawn(image: ImageRecord, pictures: Pictures, questions: list[Question], dataset: Dataset) -> Drawn | None:
    if not questions:
        return None
    path = pictures.found[image.image_id]
    raw: Any = next(entry for entry in dataset.document if entry["image_id"] == image.image_id)
    name = f"media/{image.image_id}{path.suffix.lower()}"
    meta = {META: raw, "size": list(size_of(path)), "prompts": PROMPTS_VERSION}
    instance = Instance(id=str(image.image_id), media=(name,), questions=tuple(questions), meta=meta)
    return instance, {name: path.read_bytes()}


def _write(out: Path, view: str, drawn: list[Drawn | None], left_out: list[LeftOut]) -> Exported:
    kept = [entry for entry in drawn if entry is not None]
    if not kept:
        reasons = "; ".join(f"{entry.where}: {entry.reason}" for entry in left_out[:3])
        cure = "Name the file with constrained variants, in which every item has a rubric and a false premise under Y3."
        raise UsageError(f"nothing is left to write ({reasons})", cure)
    write_pack(out, view_graph(view), kept)
    return Exported(len(kept), sum(len(instance.questions) for instance, _ in kept), tuple(left_out))
