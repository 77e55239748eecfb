"""Make constrained variants of baseline items from scene graphs.

What follows from the scene alone (symbols, forbidden terms, boxes, word limits) is computed here. What somebody has to
write (the rewritten question, its reference, the false premise, the rubric) comes through a :data:`Drafter`, a program
or a model, and is checked by rule; a draft that fails is drafted once more with the reasons, and then rejected.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from dodiag.benchmarks.ccrv.compliance import HYPHENS, PUNCTUATION, used_terms, why_not_minimal, words_of
from dodiag.benchmarks.ccrv.data import (
    CONSTRAINT_NAMES,
    DEFAULT_MARGIN,
    Y_IDS,
    Item,
    LimitSpec,
    PointSpec,
    SymbolSpec,
    Text,
)
from dodiag.benchmarks.ccrv.pixels import strict
from dodiag.benchmarks.ccrv.scene import SceneGraph, compact, focus, symbol_pool
from dodiag.benchmarks.ccrv.symbols import centre, corners, forbidden_terms

FEWEST_WORDS, MOST_WORDS = 2, 6
"""Words of a Y4 reference."""

ATTEMPTS = 2

CONTRACT = (
    "Answer with exactly two lines:\nCoordinate: [x, y] in pixels of the picture\n"
    "Explanation: why this place matters, in at least 20 characters"
)
LIMIT_SENTENCE = "Use at most {limit} words and no punctuation; hyphens inside a word are allowed and separate words."

ASKED: Mapping[str, str] = {
    "Y1": (
        "Rewrite the question so that it names the listed nodes by their placeholders alone. List every placeholder"
        " with its box as [left, top, right, bottom], do not give the answer away, and ask for an answer that uses"
        " placeholders only. Write the reference answer with placeholders only; it must use no forbidden term."
    ),
    "Y2": (
        "Rewrite the question so that it asks for one pixel [x, y] in the picture and an explanation, without naming"
        " what is to be found there. The reference answer has two lines: 'Coordinate: [x, y]' inside the target's box,"
        " best its centre, and 'Explanation: …' with at least 20 characters."
    ),
    "Y3": (
        "Write a false premise about the scene, and a question that says that it is not counterfactual, that the"
        " premise may be false, that it has to be checked against the picture and rejected first if the picture"
        " contradicts it; that gives the premise word for word; and that then asks the original question. The reference"
        " answer rejects the premise before it answers."
    ),
    "Y4": (
        "Rewrite the question so that it asks for the bare subject, action and target, without articles and without"
        " naming a number of words. The reference answer has 2 to 6 words and no punctuation, and the question must not"
        " contain it."
    ),
}
RUBRIC_ASKED = (
    "Write three yes/no questions by which a judge labels the causal content of an answer, whatever its form:"
    " L1_perception_check about the entities, L2_interaction_check about their interaction or mechanism,"
    " L3_causal_check about the causal conclusion. They must ask about the answer, not about the picture."
)


class Draft(BaseModel):
    """What a drafter writes of one variant."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    constrained_question: Text
    adapted_ground_truth: Text
    L1_perception_check: Text
    L2_interaction_check: Text
    L3_causal_check: Text
    false_premise: Text | None = None


@dataclass(frozen=True, slots=True)
class Brief:
    """What a drafter is given.

    Attributes
    ----------
    item : Item
    constraint : str
    spec : mapping
        As far as it follows from the scene.
    scene : SceneGraph
    objections : tuple of str
        What was wrong with the draft before; empty at first.
    """

    item: Item
    constraint: str
    spec: Mapping[str, Any]
    scene: SceneGraph
    objections: tuple[str, ...] = ()

    def prompt(self) -> str:
        """Return what a model is asked."""
        given = {
            "causal_task": self.item.key.x,
            "question": self.item.question_text,
            "reference_answer": self.item.ground_truth_answer,
            "rationale": self.item.rationale,
            "constraint_spec": self.spec,
            "scene_graph": compact(self.scene),
        }
        fields = [name for name in Draft.model_fields if name != "false_premise" or self.constraint == "Y3"]
        again = "".join(f"\n- {reason}" for reason in self.objections)
        return (
            "You prepare a constrained version of a causal question about a picture.\n"
            f"{ASKED[self.constraint]}\n{RUBRIC_ASKED}\n\n{json.dumps(given, ensure_ascii=False, indent=2)}\n\n"
            + (f"Your draft before was rejected:{again}\n\n" if again else "")
            + f"Reply with one JSON object with the texts {', '.join(fields)}, and nothing else."
        )


class NoDraft(Exception):
    """A drafter has nothing to offer for a brief; the reasons are its text."""


Drafter = Callable[[Brief], Draft]
"""Writes what rules cannot; raises :class:`NoDraft` where it cannot either."""


@dataclass(frozen=True, slots=True)
class Rejection:
    """A variant that was not made."""

    item: str
    constraint: str
    reasons: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Built:
    """The variants of one item in the form of the published files, and what was rejected."""

    variants: tuple[dict[str, Any], ...]
    rejections: tuple[Rejection, ...]


def drafted_by_model(ask: Callable[[str], str], read: Callable[[str], Mapping[str, Any] | None]) -> Drafter:
    """Return a drafter that asks a model.

    Parameters
    ----------
    ask : callable
        Sends a prompt and returns the reply.
    read : callable
        Returns the JSON object of a reply, or None.
    """

    def draft(brief: Brief) -> Draft:
        found = read(ask(brief.prompt()))
        if found is None:
            raise NoDraft("the reply holds no JSON object")
        try:
            return Draft.model_validate({k: v for k, v in found.items() if v is not None})
        except ValidationError as error:
            places = (f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors(include_url=False))
            raise NoDraft("; ".join(places)) from None

    return draft


def build(
    item: Item,
    scene: SceneGraph,
    drafter: Drafter,
    seed: int = 42,
    constraints: Iterable[str] = Y_IDS,
    writer_name: str = "",
) -> Built:
    """Make the constrained variants of an item.

    Parameters
    ----------
    item : Item
    scene : SceneGraph
        Of the item's picture.
    drafter : callable
    seed : int
        Of the distractors among Y1's symbols; an item's draw depends on nothing but this and its key.
    constraints : iterable of str
    writer_name : str
        What is recorded as having written the texts.
    """
    chance = random.Random(f"{seed}:{item.key}")
    made: list[dict[str, Any]] = []
    rejected: list[Rejection] = []
    for constraint in constraints:
        reasons: tuple[str, ...]
        spec, reasons = _scene_spec(item, scene, constraint, chance)
        attempts = 0 if reasons else ATTEMPTS
        for _ in range(attempts):
            try:
                draft = _finished(drafter(Brief(item, constraint, spec, scene, reasons)), constraint)
            except NoDraft as refusal:
                reasons = (str(refusal),)
                continue
            whole = _whole_spec(item, constraint, spec, draft)
            reasons = objections(constraint, whole, draft)
            if not reasons:
                made.append(_variant(item, constraint, whole, draft, writer_name))
                break
        if reasons:
            rejected.append(Rejection(str(item.key), constraint, reasons))
    return Built(tuple(made), tuple(rejected))


def objections(constraint: str, spec: Mapping[str, Any], draft: Draft) -> tuple[str, ...]:
    """Return everything that is wrong with a draft; empty where it is accepted."""
    question, reference = draft.constrained_question, draft.adapted_ground_truth
    found: list[str] = []
    match constraint:
        case "Y1":
            symbols = SymbolSpec.model_validate(spec)
            for text, what in ((question, "the question"), (reference, "the reference")):
                if used := used_terms(text, symbols.forbidden_terms):
                    found.append(f"{what} uses {', '.join(used)}")
            found += [
                f"the question does not give {symbol} with its box {_shown(node.bbox_xyxy)}"
                for symbol, node in symbols.symbol_map.items()
                if symbol not in question or _shown(node.bbox_xyxy) not in question
            ]
            if not any(symbol in reference for symbol in symbols.symbol_map):
                found.append("the reference names no placeholder")
        case "Y2":
            point = PointSpec.model_validate(spec)
            passed, why = strict(reference, point)
            if not passed:
                found.append(f"the reference {why}")
            if "pixel" not in question.lower():
                found.append("the question does not say that coordinates are pixels")
        case "Y3":
            if draft.false_premise is None:
                found.append("there is no false premise")
            elif draft.false_premise not in question:
                found.append("the question does not give the false premise word for word")
        case _:
            count = len(words_of(reference))
            if not FEWEST_WORDS <= count <= MOST_WORDS:
                found.append(f"the reference has {count} words instead of {FEWEST_WORDS} to {MOST_WORDS}")
            if why := why_not_minimal(reference, LimitSpec.model_validate(spec)):
                found.append(f"the reference {why}")
            if reference.lower() in question.lower():
                found.append("the question contains the reference")
    return tuple(found)


def _shown(box: tuple[float, ...]) -> str:
    return "[" + ", ".join(f"{edge:g}" for edge in box) + "]"


def _scene_spec(
    item: Item, scene: SceneGraph, constraint: str, chance: random.Random
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return what the scene says of a constraint's spec, and why it says too little."""
    about = focus(scene, item.target_object_id)
    if constraint == "Y1":
        pool = symbol_pool(scene, about, chance)
        if not pool:
            return {}, ("no node of the item has a box",)
        spec = {
            "csr_rule": "forbidden_term_scan",
            "symbol_map": {symbol: node.model_dump() for symbol, node in pool.items()},
            "forbidden_terms": list(forbidden_terms(node.true_name for node in pool.values())),
        }
        return spec, ()
    if constraint == "Y2":
        node = about.pointed_at(item.key.x)
        if node is None or node.bbox is None:
            return {}, ("no node of the item has a box",)
        return {
            "csr_rule": "grounded_causal_explanation",
            "target_object_id": node.object_id,
            "target_true_name": node.name,
            "target_bbox_xywh": list(node.bbox),
            "target_bbox_xyxy": list(corners(node.bbox)),
            "target_center_xy": list(centre(node.bbox)),
            "accepted_region": "inside_bbox_expanded",
            "csr_bbox_margin_fraction": DEFAULT_MARGIN,
        }, ()
    return {}, ()


def _finished(draft: Draft, constraint: str) -> Draft:
    """Return a draft with what is the same for all of them: Y2's contract, Y4's clean reference and its limit."""
    if constraint == "Y2" and "Coordinate:" not in draft.constrained_question:
        return draft.model_copy(update={"constrained_question": f"{draft.constrained_question}\n{CONTRACT}"})
    if constraint == "Y4":
        kept = "".join(c for c in draft.adapted_ground_truth if c not in PUNCTUATION or c in HYPHENS)
        reference = " ".join(kept.split()) or draft.adapted_ground_truth
        limit = LIMIT_SENTENCE.format(limit=len(words_of(reference)) + 1)
        question = f"{draft.constrained_question}\n{limit}"
        return draft.model_copy(update={"constrained_question": question, "adapted_ground_truth": reference})
    return draft


def _whole_spec(item: Item, constraint: str, spec: Mapping[str, Any], draft: Draft) -> dict[str, Any]:
    if constraint == "Y3":
        found: dict[str, Any] = {
            "csr_rule": "contradiction_refusal",
            "original_ground_truth": item.ground_truth_answer,
            "expected_behavior": "first_refute_false_premise_then_reason_from_visual_evidence",
        }
        return found if draft.false_premise is None else {**found, "false_premise": draft.false_premise}
    if constraint == "Y4":
        return {
            "csr_rule": "dynamic_word_limit",
            "forbid_punctuation": True,
            "forbid_extra_text": True,
            "allowed_max_words": len(words_of(draft.adapted_ground_truth)) + 1,
        }
    return dict(spec)


def _variant(item: Item, constraint: str, spec: Mapping[str, Any], draft: Draft, writer: str) -> dict[str, Any]:
    rubric = ("L1_perception_check", "L2_interaction_check", "L3_causal_check")
    return {
        "constraint_id": constraint,
        "constraint_name": CONSTRAINT_NAMES[constraint],
        "x_dimension": item.key.x,
        "constrained_question": draft.constrained_question,
        "adapted_ground_truth": draft.adapted_ground_truth,
        "constraint_spec": dict(spec),
        "evaluation_rubric_main_set": {name: getattr(draft, name) for name in rubric},
        "rubric_generation_model": writer,
        "rubric_generation_method": "drafted_and_checked",
    }
