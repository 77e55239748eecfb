"""Visual against logical failures of runs whose distractors are labelled, with limits of sampling."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dodiag.benchmarks.mmcot.axes import Pick, Taken, axis_counts, picks_of_links, type_counts
from dodiag.benchmarks.mmcot.data import ImageItem
from dodiag.benchmarks.mmcot.dice_questions import META as DICE_META
from dodiag.benchmarks.mmcot.image_scores import ImageAnswer, links_said
from dodiag.benchmarks.mmcot.taxonomy import Axis, DistractorType
from dodiag.bounds.limits import Proportion, clustered_wilson
from dodiag.evaluations.mmcot_answers import (
    DICE_TASK,
    IMAGE_TASK,
    configuration_of,
    item_of_call,
    plan_of_mmcot,
    whole_answers,
)
from dodiag.evaluations.mmcot_limits import limits_of
from dodiag.interventions.plan import Call, Plan
from dodiag.problems import UsageError
from dodiag.runners.ledger import CallRow, Ledger
from dodiag.runners.reading.cleaning import remove_reasoning
from dodiag.vocabulary import Outcome


@dataclass(frozen=True)
class AxisRow:
    """One class of distractors in the choices of a run.

    Attributes
    ----------
    axis : Axis
    n, right, failed : int
        Choices with this class on offer, those that took the right option, and those that took this class.
    shown, possible : Proportion
        The share that took this class, and the share that was not right. The rate of failure on this axis lies between
        them: a choice of something else hides whether this class would have been rejected.
    against_right : Proportion or None
        Right choices among those that took the right option or this class.
    chance : float
        What `against_right` would be if all options were equally likely: 1 / (1 + options of this class).
    """

    axis: Axis
    n: int
    right: int
    failed: int
    shown: Proportion
    possible: Proportion
    against_right: Proportion | None
    chance: float

    def to_dict(self) -> dict[str, Any]:
        """Return the row as JSON values."""
        shares = {name: limits_of(getattr(self, name)) for name in ("shown", "possible", "against_right")}
        counts = {"axis": self.axis.value, "n": self.n, "right": self.right, "failed": self.failed}
        return {**counts, **shares, "chance": self.chance}


@dataclass(frozen=True)
class AxisDiagnosis:
    """Visual against logical failures.

    Attributes
    ----------
    model, configuration : str
    rows : tuple of AxisRow
        Of the classes that were on offer at all.
    taken : mapping of Taken to int
        All choices by what was taken.
    types : mapping of DistractorType to int
        Taken distractors by fine type.
    missing : int
        Choices that were planned and came to no reply.
    """

    model: str
    configuration: str
    rows: tuple[AxisRow, ...]
    taken: Mapping[Taken, int]
    types: Mapping[DistractorType, int]
    missing: int = 0

    def to_dict(self) -> dict[str, Any]:
        """Return the diagnosis as JSON values."""
        return {
            "model": self.model,
            "configuration": self.configuration,
            "axes": [row.to_dict() for row in self.rows],
            "taken": {kind.value: count for kind, count in self.taken.items()},
            "types": {kind.value: count for kind, count in self.types.items()},
            "missing": self.missing,
        }


def axes_of_run(
    run_dir: str | Path, *, state: str = "n", draw: int = 0, pack: str | Path | None = None
) -> AxisDiagnosis:
    """Return visual and logical failures of a run whose distractors are labelled; no call is made.

    Runs of ``mmcot_dice`` have one choice for each instance; runs of ``mmcot_image`` two for each chain, read
    leniently, where the set labels its distractors.

    Parameters
    ----------
    run_dir : str or Path
    state, draw, pack
        As for :func:`dodiag.evaluations.mmcot_runs.score_run`.

    Raises
    ------
    UsageError
        If no distractor is labelled, or nothing was asked under this state.
    """
    with Ledger(Path(run_dir)) as ledger:
        plan = plan_of_mmcot(ledger, pack, DICE_TASK, IMAGE_TASK)
        wanted = configuration_of(plan, state)
        picks: list[Pick] = []
        missing = 0
        for call, row, text in whole_answers(plan, ledger, wanted, draw):
            if row is None or text is None:
                missing += 1
            elif plan.task.name == DICE_TASK:
                picks.append(_pick_of_dice(call, row))
            else:
                picks += _picks_of_image(plan, call, text)
        return axis_diagnosis(ledger.manifest["model"], str(wanted), picks, missing)


def axis_diagnosis(model: str, configuration: str, picks: Sequence[Pick], missing: int = 0) -> AxisDiagnosis:
    """Return visual and logical failures of some choices, with limits at 95 % clustered by instance.

    Raises
    ------
    UsageError
        If no distractor was labelled.
    """
    rows = tuple(_axis_row(picks, axis) for axis in Axis if any(pick.offered(axis) for pick in picks))
    if not rows:
        cure = "Use a set with the field distractor_type, or dodiag generate mmcot_dice; the published set has none."
        raise UsageError("no distractor is labelled", cure)
    taken = {kind: count for kind in Taken if (count := sum(pick.taken is kind for pick in picks))}
    return AxisDiagnosis(model, configuration, rows, taken, type_counts(picks), missing)


def _pick_of_dice(call: Call, row: CallRow) -> Pick:
    types = call.instance.meta[DICE_META]["types"]
    kinds = {letter: None if name is None else DistractorType(name) for letter, name in types.items()}
    axes = [kind.axis for kind in kinds.values() if kind is not None]
    offered = axes.count(Axis.VISUAL), axes.count(Axis.LOGICAL)
    letter = None if row.value is None else json.loads(row.value)
    if row.outcome != Outcome.VALUE or letter not in kinds:
        return Pick(call.instance.id, Taken.UNREAD, None, *offered)
    kind = kinds[letter]
    return Pick(call.instance.id, Taken.RIGHT if kind is None else Taken(kind.axis.value), kind, *offered)


def _picks_of_image(plan: Plan, call: Call, text: str) -> list[Pick]:
    item = item_of_call(plan, call)
    assert isinstance(item, ImageItem)
    answer = ImageAnswer(item.id, item.links, text, remove_reasoning(text).text)
    return picks_of_links(item, links_said(answer, lenient=True), call.instance.id)


def _axis_row(picks: Sequence[Pick], axis: Axis) -> AxisRow:
    counts = axis_counts(picks, axis)
    offered = [pick for pick in picks if pick.offered(axis)]
    failed, right = Taken(axis.value), Taken.RIGHT
    decided = [pick for pick in offered if pick.taken in (failed, right)]
    return AxisRow(
        axis,
        counts.n,
        counts.right,
        counts.failed,
        _share(offered, lambda pick: pick.taken is failed),
        _share(offered, lambda pick: pick.taken is not right),
        _share(decided, lambda pick: pick.taken is right) if decided else None,
        counts.chance,
    )


def _share(picks: Sequence[Pick], holds: Callable[[Pick], bool]) -> Proportion:
    sums: dict[str, list[int]] = {}
    for pick in picks:
        total = sums.setdefault(pick.instance, [0, 0])
        total[0] += holds(pick)
        total[1] += 1
    hits, sizes = zip(*sums.values(), strict=True)
    return clustered_wilson(hits, sizes)
