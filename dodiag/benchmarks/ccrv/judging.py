"""What a judge of CCRV-Bench is asked: instruction, material, and the yes/no questions it has to answer about a reply.

Content follows the released pipeline; the wording is ours. Nothing here asks anybody: that is in
``dodiag.evaluations.ccrv_runs``.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Literal

from dodiag.benchmarks.ccrv.data import Item, Variant
from dodiag.problems import UsageError

PROMPTS_VERSION = 1
"""Part of a verdict's key: changed wording is another judge."""

Showing = Literal["released", "symmetric"]
"""What a judge of unconstrained answers is shown: answer and rubric alone, as released, or what a judge of constrained
answers is shown as well. The difference between the two is part of CDI."""

COMPLIANCE = "CSR"

_LEVELS = (
    "You grade an answer to a question of causal reasoning about a picture that you do not see. Answer three yes/no"
    " questions about it, one for each level: L1, whether the entities that matter are identified; L2, whether their"
    " interaction or mechanism is right; L3, whether the causal conclusion is right. Judge each level by itself. At L1"
    " alone, a part may stand for its whole, such as a hand for a person."
)
_CONSTRAINED = (
    " The question came with a constraint on the form of the answer. Judge the causal content and not the form:"
    " whether the constraint is kept is judged apart. Be strict and fair."
)
_GROUNDED = (
    " The answer should give a coordinate and an explanation. Judge mainly the explanation; the coordinate only"
    " supports the grounding of entities."
)
_PREMISE = (
    "You judge whether an answer deals rightly with a false premise, and nothing else: not whether its causal"
    " conclusion is right. The question is not counterfactual; the premise is a claim to be checked against a picture"
    " that you do not see. Say yes only if the answer shows that the premise is false, doubtful or contradicted by what"
    " is visible, and refuses it, corrects it or at least does not reason from it, and rests on the visual evidence"
    " afterwards. Say no if it accepts the premise, treats it as a hypothesis and goes on, draws causal conclusions"
    " before it flags the contradiction, or leaves it open. No special wording is needed."
)


@dataclass(frozen=True, slots=True)
class Inquiry:
    """What a judge is asked about one answer.

    Attributes
    ----------
    instruction : str
    material : tuple of (str, str)
        Titled texts that the judge reads before the answer.
    answer : str
    criteria : tuple of (str, str)
        Names and yes/no questions; the judge says 1 or 0 to each.
    """

    instruction: str
    material: tuple[tuple[str, str], ...]
    answer: str
    criteria: tuple[tuple[str, str], ...]


def levels_inquiry(item: Item, variant: Variant | None, answer: str, showing: Showing = "released") -> Inquiry:
    """Return what a judge is asked for the labels L1, L2, L3 of an answer.

    Parameters
    ----------
    item : Item
    variant : Variant or None
        None for an unconstrained question.
    answer : str
    showing : {"released", "symmetric"}

    Raises
    ------
    UsageError
        If neither the variant nor the item has a rubric.
    """
    rubric = item.rubric if variant is None or variant.rubric is None else variant.rubric
    if rubric is None:
        raise UsageError(f"{item.key} has no rubric", "Leave it out; its answers cannot be labelled.")
    criteria = tuple(rubric.levels.items())
    if variant is None:
        material = _references(item) if showing == "symmetric" else ()
        return Inquiry(_LEVELS, material, answer, criteria)
    grounded = _GROUNDED if variant.family == "Y2" else ""
    material = (
        *_references(item),
        ("Constraint", variant.constraint_id),
        ("Its specification", _json(variant)),
        ("Constrained question", variant.constrained_question),
        ("Adapted reference answer", variant.adapted_ground_truth),
    )
    return Inquiry(_LEVELS + _CONSTRAINED + grounded, material, answer, criteria)


def premise_inquiry(variant: Variant, answer: str) -> Inquiry:
    """Return what a judge is asked for the compliance of an answer with Y3."""
    material = (("Specification", _json(variant)), ("Question", variant.constrained_question))
    criterion = (
        COMPLIANCE,
        "Does the answer reject the false premise, or refuse to reason from it, on visual evidence?",
    )
    return Inquiry(_PREMISE, material, answer, (criterion,))


def rubric_source(item: Item, variant: Variant) -> str:
    """Return which rubric a variant's answers are labelled by, in the words of the released result files."""
    if variant.rubric is not None:
        return "evaluation_rubric_main_set"
    return "evaluation_rubric_fallback" if item.rubric is not None else "context_only_fallback"


def _references(item: Item) -> tuple[tuple[str, str], ...]:
    return (
        ("Original question", item.question_text),
        ("Original reference answer", item.ground_truth_answer),
        ("Original rationale", item.rationale),
    )


def _json(variant: Variant) -> str:
    return json.dumps(variant.constraint_spec, ensure_ascii=False, indent=2)
