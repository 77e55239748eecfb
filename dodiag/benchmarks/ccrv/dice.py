"""A CCRV-Bench set over rolled dice whose truth is known: which die stops a die that is slid, and what follows.

The pictures are those of a ``dice_sum`` pack (the shipped sample, or one made by its generator); relation, outcomes,
false premises and rubrics follow from the resting state (see ``dice_push``). The set goes through the same construction
and the same checks as one that a model writes.

X1 asks which die stops the slide; X2 what that die shows after it is turned over; X3 which die was slid, given where it
stopped; X4 which die would stop the slide if the first one were taken away.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from dodiag.benchmarks.ccrv.construct import Brief, Draft, NoDraft, Rejection, build
from dodiag.benchmarks.ccrv.data import QUESTIONS_PER_X, X_KEYS, Dataset, Item, ItemKey
from dodiag.benchmarks.ccrv.dice_push import Push, TableDie, pushes, table_dice
from dodiag.benchmarks.ccrv.loader import dataset_of
from dodiag.benchmarks.ccrv.pictures import Pictures, size_of
from dodiag.benchmarks.ccrv.scene import SceneEdge, SceneGraph, SceneNode
from dodiag.problems import UsageError
from dodiag.scm.pack import Instance, Pack

LEAST_GAP = 0.25
"""A slide goes at least this far, in edges of the die that is slid: less is hard to see."""

WRITER = "dodiag dice rules 1"
WORDS = ("zero", "one", "two", "three", "four", "five", "six")
PREMISE_RULE = (
    "This question is not counterfactual. The premise may be false. Check it against the picture. If the picture"
    " contradicts it, reject it first."
)


MARKED: Mapping[str, str] = {
    X_KEYS[0]: "the die that stops it",
    X_KEYS[1]: "the die that is turned",
    X_KEYS[2]: "the die that was slid",
    X_KEYS[3]: "the die that it touches",
}
"""What Y2 asks to be marked."""


@dataclass(frozen=True, slots=True)
class Scenario:
    """A slide of a scene, and everything that is asked about it."""

    image_id: int
    q_idx: int
    push: Push
    dice: tuple[TableDie, ...]
    size: tuple[int, int]
    instance: Instance


@dataclass(frozen=True)
class DiceSet:
    """The set, the pictures, and the slides behind it.

    Attributes
    ----------
    dataset : Dataset
    pictures : Pictures
    scenarios : tuple of Scenario
    rejections : tuple of Rejection
        Variants that the checks refused.
    """

    dataset: Dataset
    pictures: Pictures
    scenarios: tuple[Scenario, ...]
    rejections: tuple[Rejection, ...]


def dice_scenarios(pack: Pack) -> Iterator[Scenario]:
    """Yield the slides of a ``dice_sum`` pack that are beyond doubt and easy to see, at most two of a picture.

    Image ids are the places of the instances in the pack, from 1.
    """
    for image_id, instance in enumerate(pack.instances(), start=1):
        dice = table_dice(instance)
        seen = [push for push in pushes(instance, dice) if push.gap >= LEAST_GAP]
        for q_idx, push in enumerate(seen[:QUESTIONS_PER_X]):
            yield Scenario(image_id, q_idx, push, dice, size_of(pack.medium(instance.media[0])), instance)


def dice_set(pack: Pack, seed: int = 42) -> DiceSet:
    """Make a CCRV-Bench set from a ``dice_sum`` pack.

    Parameters
    ----------
    pack : Pack
    seed : int
        Of the distractors among Y1's symbols.

    Raises
    ------
    UsageError
        If the pack is of another task, or no slide in it is beyond doubt.
    """
    if pack.task.name != "dice_sum":
        raise UsageError(f"the pack is of task {pack.task.name}", "Use one of dice_sum.")
    scenarios = tuple(dice_scenarios(pack))
    if not scenarios:
        raise UsageError(f"no slide in {pack.folder} is beyond doubt", "Use a larger pack.")
    rejections: list[Rejection] = []
    document: list[dict[str, Any]] = []
    found: dict[int, Any] = {}
    by_image: dict[int, list[Scenario]] = {}
    for scenario in scenarios:
        by_image.setdefault(scenario.image_id, []).append(scenario)
    for image_id, of_image in by_image.items():
        questions: dict[str, list[dict[str, Any]]] = {}
        for x in X_KEYS:
            questions[x] = [_question(scenario, x, seed, rejections) for scenario in of_image]
        medium = of_image[0].instance.media[0]
        document.append(
            {
                "image_id": image_id,
                "image_path_relative": medium,
                "primary_cluster": "sliding",
                "questions": questions,
            }
        )
        found[image_id] = pack.medium(medium)
    dataset = dataset_of(document, f"dice set of {pack.folder.name}")
    return DiceSet(dataset, Pictures(pack.folder, found, ()), scenarios, tuple(rejections))


def scene_graph(scenario: Scenario) -> SceneGraph:
    """Return the scene graph of a slide: every die with its box, and which die stops the slid one, now and else."""
    push = scenario.push
    nodes = [SceneNode(object_id=die.object_id, name=die.name, bbox=_xywh(die)) for die in scenario.dice]
    edges = [
        SceneEdge(source_id=push.first.object_id, target_id=push.moved.object_id, predicate="stops"),
        SceneEdge(source_id=push.second.object_id, target_id=push.moved.object_id, predicate="would stop next"),
    ]
    width, height = scenario.size
    return SceneGraph(
        image_id=scenario.image_id, image_width=width, image_height=height, nodes=tuple(nodes), edges=tuple(edges)
    )


def shown_after(die: TableDie) -> int:
    """Return the pips that a die shows after it is turned upside down."""
    return 7 - die.value


def question_text(push: Push, x: str, names: Mapping[int, str] | None = None) -> str:
    """Return the question of a causal task about a slide, with dice named as `names` says."""
    a, b, _ = _named(push, names)
    slid = f"slid straight to the {push.direction}, along the table and without turning"
    match x:
        case "X1_discovery":
            return f"{_cap(a)} is {slid}, until it touches another die. Which die stops it?"
        case "X2_prediction":
            return (
                f"{_cap(a)} is {slid}, until it touches another die. The die that it touches is then turned upside"
                " down. Opposite faces of a die add up to 7. How many pips does the turned die show on top?"
            )
        case "X3_diagnosis":
            return f"One die was {slid}, and stopped when it touched {b}. Which die was it?"
        case _:
            return (
                f"Suppose the first die in the way of {a} is taken off the table, and then {a} is {slid}. Which die"
                " does it touch first?"
            )


def _reference(push: Push, x: str, names: Mapping[int, str] | None = None) -> str:
    a, b, c = _named(push, names)
    match x:
        case "X1_discovery":
            return f"{_cap(b)} stops it: it is the first one in the way of {a}."
        case "X2_prediction":
            return f"{_cap(b)} is touched and turned over, so it shows {_pips(shown_after(push.first))} on top."
        case "X3_diagnosis":
            return f"It was {a}: {b} is the first one in its way."
        case _:
            return f"{_cap(c)}: with {b} taken away, it is the first one in the way of {a}."


def _premise(push: Push, x: str, names: Mapping[int, str] | None = None) -> str:
    a, b, c = _named(push, names)
    match x:
        case "X1_discovery":
            return f"{_cap(c)} is the first one in the way of {a}."
        case "X2_prediction":
            return f"{_cap(b)} shows {_pips(push.first.value)} on top after it is turned upside down."
        case "X3_diagnosis":
            return f"It was {c} that was slid."
        case _:
            return f"With the first die in its way taken off the table, {a} is still stopped by {b}."


def _rationale(push: Push) -> str:
    return (
        f"Slid straight to the {push.direction}, the {push.moved.name} meets the {push.first.name} after"
        f" {push.gap:.1f} of its own edges; behind that lies the {push.second.name}."
    )


def _rubric(push: Push, x: str, names: Mapping[int, str] | None = None) -> dict[str, str]:
    a, b, c = _named(push, names)
    first = f"take {b} as the first die in the way of {a}"
    entity, interaction, conclusion = {
        X_KEYS[0]: (b, first, f"that {b} is what stops {a}"),
        X_KEYS[1]: (b, first, f"that {b} shows {_pips(shown_after(push.first))} on top after it is turned over"),
        X_KEYS[2]: (a, first, f"that {a} is the die that was slid"),
        X_KEYS[3]: (
            c,
            f"take {c} as the die behind the first one in the way of {a}",
            f"that {c} is what {a} touches first once that one is gone",
        ),
    }[x]
    return {
        "L1_perception_check": f"Does the answer speak of {entity}, and of no other die in its place? (Yes/No)",
        "L2_interaction_check": f"Does the answer {interaction}? (Yes/No)",
        "L3_causal_check": f"Does the answer conclude {conclusion}? (Yes/No)",
    }


def _question(scenario: Scenario, x: str, seed: int, rejections: list[Rejection]) -> dict[str, Any]:
    push = scenario.push
    target = {X_KEYS[0]: push.moved, X_KEYS[3]: push.second}.get(x, push.first)
    raw: dict[str, Any] = {
        "question_text": question_text(push, x),
        "ground_truth_answer": _reference(push, x),
        "target_object_id": target.object_id,
        "rationale": _rationale(push),
        "evaluation_rubric": _rubric(push, x),
    }
    item = Item.model_validate(
        {
            "key": ItemKey(scenario.image_id, x, scenario.q_idx),
            **{name: value for name, value in raw.items() if name != "evaluation_rubric"},
            "rubric": raw["evaluation_rubric"],
        }
    )

    def drafter(brief: Brief) -> Draft:
        return _draft(push, x, brief)

    built = build(item, scene_graph(scenario), drafter, seed, writer_name=WRITER)
    rejections.extend(built.rejections)
    return {**raw, "main_set_versions": list(built.variants)}


def _draft(push: Push, x: str, brief: Brief) -> Draft:
    match brief.constraint:
        case "Y1":
            names = {node["object_id"]: symbol for symbol, node in brief.spec["symbol_map"].items()}
            boxes = "\n".join(
                f"- {symbol} at [{', '.join(f'{edge:g}' for edge in node['bbox_xyxy'])}]"
                for symbol, node in brief.spec["symbol_map"].items()
            )
            needed = {push.moved.object_id, push.second.object_id if x == X_KEYS[3] else push.first.object_id}
            if missing := needed - set(names):
                raise NoDraft(f"object {min(missing)} has no symbol")
            question = (
                "Some dice of the picture have placeholders; boxes are [left, top, right, bottom] in pixels:\n"
                f"{boxes}\n\n{question_text(push, x, names)} Say why. Name dice by placeholders only."
            )
            reference, rubric = _reference(push, x, names), _rubric(push, x, names)
            premise = None
        case "Y2":
            at = {X_KEYS[0]: push.first, X_KEYS[1]: push.first, X_KEYS[2]: push.moved}.get(x, push.second)
            left, top, right, bottom = at.box
            question = f"{question_text(push, x)} Mark one pixel on {MARKED[x]}."
            explained = _reference(push, x)
            reference = f"Coordinate: [{(left + right) / 2:g}, {(top + bottom) / 2:g}]\nExplanation: {explained}"
            rubric, premise = _rubric(push, x), None
        case "Y3":
            premise = _premise(push, x)
            question = (
                f"{PREMISE_RULE}\nPremise: {premise}\nNow answer from the picture alone. {question_text(push, x)}"
            )
            reference = f"The premise is false. {_reference(push, x)}"
            rubric = _rubric(push, x)
        case _:
            question = (
                f"{question_text(push, x)} Give subject, action and target only; leave out articles and the word die."
            )
            reference, rubric, premise = _bare(push, x), _rubric(push, x), None
    return Draft(constrained_question=question, adapted_ground_truth=reference, false_premise=premise, **rubric)


def _bare(push: Push, x: str) -> str:
    a, b, c = (die.name.removesuffix(" die") for die in (push.moved, push.first, push.second))
    return {
        X_KEYS[0]: f"{b} stops {a}",
        X_KEYS[1]: f"{b} shows {WORDS[shown_after(push.first)]}",
        X_KEYS[2]: f"{a} hit {b}",
        X_KEYS[3]: f"{c} stops {a}",
    }[x]


def _named(push: Push, names: Mapping[int, str] | None) -> tuple[str, str, str]:
    dice = (push.moved, push.first, push.second)
    if names is None:
        a, b, c = (f"the {die.name}" for die in dice)
    else:
        # A die that the placeholders leave out is spoken of without its name, which may be forbidden.
        a, b, c = (
            names.get(die.object_id, other)
            for die, other in zip(
                dice, ("the slid die", "the first die in its way", "the die behind that"), strict=True
            )
        )
    return a, b, c


def _pips(count: int) -> str:
    return f"{count} pip{'' if count == 1 else 's'}"


def _cap(text: str) -> str:
    return text[0].upper() + text[1:]


def _xywh(die: TableDie) -> tuple[float, float, float, float]:
    left, top, right, bottom = die.box
    return left, top, right - left, bottom - top
