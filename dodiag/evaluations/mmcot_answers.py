"""The whole answers of a run of an MM-CoT pack: which calls asked for them, under which state, and what came back."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from dodiag.benchmarks.mmcot.data import ImageItem, VideoItem
from dodiag.benchmarks.mmcot.loader import image_set, video_set
from dodiag.benchmarks.mmcot.packs import META, WHOLE
from dodiag.interventions.plan import Call, Plan
from dodiag.problems import UsageError, nearest
from dodiag.runners.ledger import CallRow, Ledger
from dodiag.runners.rescoring import answered, plan_of_run
from dodiag.vocabulary import Configuration, State, parse_state

IMAGE_TASK, VIDEO_TASK, DICE_TASK = "mmcot_image", "mmcot_video", "mmcot_dice"


def plan_of_mmcot(ledger: Ledger, pack: str | Path | None, *names: str) -> Plan:
    """Return the plan of a run of one of some tasks.

    Raises
    ------
    UsageError
        If it is a run of another task, or the pack has changed.
    """
    plan = plan_of_run(ledger, pack)
    if plan.task.name not in names:
        raise UsageError(f"{ledger.folder} is a run of {plan.task.name}", f"Use a run of {' or '.join(names)}.")
    return plan


def configuration_of(plan: Plan, text: str) -> Configuration:
    """Return the configuration of the steps before the whole answer: one state of all, or ``B=1,C=n``; others are ∅.

    Raises
    ------
    UsageError
        If there is no such state or step.
    """
    parents = plan.task.parents(WHOLE)
    if "=" not in text:
        return Configuration.homogeneous(parents, parse_state(text))
    given = Configuration.parse(text)
    names = [unit for unit, _ in given.items]
    if unknown := [name for name in names if name not in parents]:
        raise UsageError(f"'{unknown[0]}' is no step before {WHOLE}", nearest(unknown[0], parents))
    return Configuration.of({unit: given[unit] if unit in names else State.NATURAL for unit in parents})


def whole_answers(
    plan: Plan, ledger: Ledger, wanted: Configuration, draw: int
) -> Iterator[tuple[Call, CallRow | None, str | None]]:
    """Yield the planned calls for the whole answer under a configuration, with row and reply where there are some.

    Raises
    ------
    UsageError
        If there is no such call.
    """
    found: dict[int, tuple[CallRow, str]] = {
        row.position: (row, reply.reply or "")
        for call, row, reply in answered(plan, ledger)
        if _is_wanted(call, wanted, draw)
    }
    seen = False
    for call in plan.calls():
        if _is_wanted(call, wanted, draw):
            seen = True
            yield (call, *found.get(call.position, (None, None)))
    if not seen:
        again = f", repetition {draw}" if draw else ""
        cure = "Run the pack with that state of its steps." if not draw else "Repetitions are counted from 0; run more."
        raise UsageError(f"the run does not ask {WHOLE} under {wanted}{again}", cure)


def _is_wanted(call: Call, wanted: Configuration, draw: int) -> bool:
    return call.question.unit == WHOLE and call.configuration == wanted and call.draw == draw


def item_of_call(plan: Plan, call: Call) -> ImageItem | VideoItem:
    """Return the item that an instance of a pack carries."""
    raw, source = call.instance.meta[META], f"instance {call.instance.id}"
    return (image_set if plan.task.name == IMAGE_TASK else video_set)([raw], source).items[0]
