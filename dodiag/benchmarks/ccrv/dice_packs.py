"""Dice slides as task packs whose answers need no judge: discovery first, and the levels L1, L2, L3 as a chain."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from dodiag.benchmarks.ccrv.data import X_KEYS
from dodiag.benchmarks.ccrv.dice import DiceSet, Scenario, question_text, shown_after
from dodiag.benchmarks.ccrv.dice_push import TableDie
from dodiag.benchmarks.ccrv.views import LADDERS, view_graph
from dodiag.benchmarks.ccrv.writing import Drawn, write_pack
from dodiag.problems import UsageError
from dodiag.scm.answers import AnswerType
from dodiag.scm.pack import Annotation, Instance, Question

X1, X2, X3, X4 = X_KEYS


def export_dice_ladder(dice: DiceSet, out: Path, view: str) -> None:
    """Write a pack of discovery (X1) and one other causal task, with answers that are options or numbers.

    A question requires the discovery of its own slide. State 1 draws a box around the die that stops it.

    Parameters
    ----------
    dice : DiceSet
    out : Path
        A new folder.
    view : {"prediction", "diagnosis", "intervention"}

    Raises
    ------
    UsageError
        If there is no such view, or the folder is not new.
    """
    if view not in LADDERS:
        raise UsageError(f"there is no ladder '{view}'", f"Use one of {', '.join(LADDERS)}.")
    x = LADDERS[view]
    kinds = {"X1": AnswerType.CHOICE, x[:2]: AnswerType.INTEGER if x == X2 else AnswerType.CHOICE}

    def questions(scenario: Scenario) -> Iterator[Question]:
        yield _discovery(scenario, "X1")
        yield _task(scenario, x, x[:2], (f"X1-{scenario.q_idx}",), number=x == X2)

    write_pack(out, view_graph(view, kinds), _instances(dice, questions))


def export_dice_levels(dice: DiceSet, out: Path) -> None:
    """Write a pack of the levels as a chain: where the slid die is (L1), what stops it (L2), what follows (L3).

    L3 has the questions of prediction and intervention. State 1 of L1 draws a box around the slid die, state 1 of L2
    one around the die that stops it.

    Raises
    ------
    UsageError
        If the folder is not new.
    """

    def questions(scenario: Scenario) -> Iterator[Question]:
        yield _grounding(scenario)
        yield _discovery(scenario, "L2", (f"L1-{scenario.q_idx}",))
        for x in (X2, X4):
            yield _task(scenario, x, "L3", (f"L2-{scenario.q_idx}",), number=False)

    write_pack(out, view_graph("levels"), _instances(dice, questions))


def _instances(dice: DiceSet, questions: Callable[[Scenario], Iterator[Question]]) -> Iterator[Drawn]:
    by_image: dict[int, list[Scenario]] = {}
    for scenario in dice.scenarios:
        by_image.setdefault(scenario.image_id, []).append(scenario)
    for image_id, scenarios in by_image.items():
        path = dice.pictures.found[image_id]
        name = f"media/{path.name}"
        asked = tuple(question for scenario in scenarios for question in questions(scenario))
        meta = {"source": scenarios[0].instance.id, "slides": [_facts(scenario) for scenario in scenarios]}
        instance = Instance(id=scenarios[0].instance.id, media=(name,), questions=asked, meta=meta)
        yield instance, {name: path.read_bytes()}


def _facts(scenario: Scenario) -> dict[str, object]:
    push = scenario.push
    return {
        "direction": push.direction,
        "slid": push.moved.name,
        "stopped_by": push.first.name,
        "behind": push.second.name,
        "gap_in_edges": round(push.gap, 2),
    }


def _discovery(scenario: Scenario, unit: str, requires: tuple[str, ...] | None = None) -> Question:
    push = scenario.push
    others = [die for die in scenario.dice if die is not push.moved]
    choices, answer = _shuffled(scenario, X1, [f"the {die.name}" for die in others], f"the {push.first.name}")
    return Question(
        id=f"{unit}-{scenario.q_idx}",
        unit=unit,
        text=question_text(push, X1),
        choices=choices,
        answer=answer,
        annotations=(Annotation(box=push.first.box, label="stops it"),),
        requires=requires,
    )


def _grounding(scenario: Scenario) -> Question:
    push = scenario.push
    width, height = scenario.size
    points = [_point(die) for die in scenario.dice]
    choices, answer = _shuffled(scenario, "L1", points, _point(push.moved))
    return Question(
        id=f"L1-{scenario.q_idx}",
        unit="L1",
        text=(
            f"Which of these points lies on the {push.moved.name}? A point is given as (x, y): pixels from the left"
            f" edge and from the top edge of the picture, which is {width} pixels wide and {height} pixels high."
        ),
        choices=choices,
        answer=answer,
        annotations=(Annotation(box=push.moved.box, label="is slid"),),
    )


def _task(scenario: Scenario, x: str, unit: str, requires: tuple[str, ...], *, number: bool) -> Question:
    push = scenario.push
    name = f"{unit}-{scenario.q_idx}" + (f"-{x[:2]}" if unit == "L3" else "")
    if number:
        return Question(
            id=name, unit=unit, text=question_text(push, x), answer=shown_after(push.first), requires=requires
        )
    if x == X2:
        options, truth = [str(count) for count in range(1, 7)], str(shown_after(push.first))
        choices, answer = tuple(options), truth
    else:
        given, wanted = (push.first, push.moved) if x == X3 else (push.moved, push.second)
        options = [f"the {die.name}" for die in scenario.dice if die is not given]
        choices, answer = _shuffled(scenario, x, options, f"the {wanted.name}")
    return Question(id=name, unit=unit, text=question_text(push, x), choices=choices, answer=answer, requires=requires)


def _shuffled(scenario: Scenario, salt: str, options: Sequence[str], truth: str) -> tuple[tuple[str, ...], str]:
    """Return options in an order that depends on the slide alone, so that no place is more often right."""
    order = list(options)
    random.Random(f"{scenario.instance.id}:{scenario.q_idx}:{salt}").shuffle(order)
    return tuple(order), truth


def _point(die: TableDie) -> str:
    left, top, right, bottom = die.box
    return f"({(left + right) / 2:.0f}, {(top + bottom) / 2:.0f})"
