"""Score runs of MM-CoT packs and released result files, and diagnose visual and logical failures with their limits."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dodiag.benchmarks.mmcot.axes import Pick, Taken, axis_counts, picks_of_links, type_counts
from dodiag.benchmarks.mmcot.data import AnySet, ImageItem, ImageSet, VideoItem
from dodiag.benchmarks.mmcot.dice_questions import META as DICE_META
from dodiag.benchmarks.mmcot.image_scores import Denominator, ImageAnswer, ImageScores, image_scores, links_said
from dodiag.benchmarks.mmcot.loader import image_set, video_set
from dodiag.benchmarks.mmcot.packs import META, WHOLE
from dodiag.benchmarks.mmcot.results import is_video_result, read_image_results, read_video_results
from dodiag.benchmarks.mmcot.taxonomy import Axis, DistractorType
from dodiag.benchmarks.mmcot.video_scores import (
    VideoAnswer,
    VideoScores,
    is_strictly_correct,
    parts_said,
    video_scores,
)
from dodiag.bounds.limits import Proportion, clustered_wilson
from dodiag.interventions.plan import Call, Plan
from dodiag.problems import UsageError, nearest
from dodiag.runners.ledger import CallRow, Ledger
from dodiag.runners.reading.cleaning import remove_reasoning
from dodiag.runners.rescoring import answered, plan_of_run
from dodiag.vocabulary import Configuration, Outcome, State, parse_state

if TYPE_CHECKING:
    import pandas as pd

IMAGE_TASK, VIDEO_TASK, DICE_TASK = "mmcot_image", "mmcot_video", "mmcot_dice"
READINGS = ("strict", "lenient")


@dataclass(frozen=True)
class RunScores:
    """The figures of a run or of a result file.

    Attributes
    ----------
    model : str
    configuration : str
        The state of the steps before the whole answer; all ``n`` is the benchmark as published.
    denominator : Denominator
    strict : ImageScores or VideoScores
        As the released scripts read replies.
    lenient : ImageScores or None
        Of pictures, read as a person would; the figures of videos hold both readings.
    """

    model: str
    configuration: str
    denominator: Denominator
    strict: ImageScores | VideoScores
    lenient: ImageScores | None

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as JSON values."""
        return {
            "model": self.model,
            "configuration": self.configuration,
            "denominator": self.denominator.value,
            "strict": self.strict.to_dict(),
            "lenient": None if self.lenient is None else self.lenient.to_dict(),
        }


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
        What `against_right` is if all options are equally likely.
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
        shares = {name: _limits(getattr(self, name)) for name in ("shown", "possible", "against_right")}
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


def score_run(
    run_dir: str | Path,
    *,
    state: str = "n",
    denominator: Denominator = Denominator.AVAILABLE,
    draw: int = 0,
    pack: str | Path | None = None,
) -> RunScores:
    """Return the benchmark's figures of a run; no call is made.

    Parameters
    ----------
    run_dir : str or Path
        A run of a pack of ``dodiag mmcot export``.
    state : str
        Of the steps before the whole answer: ``n``, ``1``, ``0``, or a configuration such as ``B=1,C=n``.
    denominator : Denominator
        ``released`` counts failed calls about pictures as wrong and leaves out those about videos.
    draw : int
        Which repetition.
    pack : str or Path, optional
        Where the pack is now, if it has moved.

    Raises
    ------
    UsageError
        If the folder holds no run of such a pack, or the whole answer was not asked under this state.
    """
    with Ledger(Path(run_dir)) as ledger:
        plan = _plan_of(ledger, pack, IMAGE_TASK, VIDEO_TASK)
        wanted = _configuration(plan, state)
        images: list[ImageAnswer] = []
        videos: list[VideoAnswer] = []
        for call, _, text in _asked(plan, ledger, wanted, draw):
            item = _item(plan, call)
            visible = None if text is None else remove_reasoning(text).text
            if isinstance(item, ImageItem):
                images.append(ImageAnswer(call.instance.id, item.links, text, visible))
            else:
                videos.append(VideoAnswer(item, text, visible))
        model = ledger.manifest["model"]
    return _scored(model, str(wanted), denominator, images, videos, None)


def score_results(
    path: str | Path,
    *,
    dataset: AnySet | None = None,
    denominator: Denominator = Denominator.RELEASED,
) -> RunScores:
    """Return the figures of a result file of the released scripts.

    Parameters
    ----------
    path : str or Path
    dataset : ImageSet or VideoSet, optional
        The whole set; needed for the denominator ``fixed``.
    denominator : Denominator

    Raises
    ------
    UsageError
        If the file cannot be read, or is about another kind of media than the set.
    InvalidInput
        With every problem of the file.
    """

    def visible(text: str) -> str:
        return remove_reasoning(text).text

    about_videos = is_video_result(path)
    if dataset is not None and about_videos == isinstance(dataset, ImageSet):
        raise UsageError(f"{path} is not about the items of {dataset.source}", "Name the set of these results.")
    images = [] if about_videos else read_image_results(path, visible)
    videos = read_video_results(path, visible) if about_videos else []
    return _scored(Path(path).name, "as stored", denominator, images, videos, dataset)


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
        As for :func:`score_run`.

    Raises
    ------
    UsageError
        If no distractor is labelled, or nothing was asked under this state.
    """
    with Ledger(Path(run_dir)) as ledger:
        plan = _plan_of(ledger, pack, DICE_TASK, IMAGE_TASK)
        wanted = _configuration(plan, state)
        picks: list[Pick] = []
        missing = 0
        for call, row, text in _asked(plan, ledger, wanted, draw):
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


def mmcot_outcomes(run_dir: str | Path, reading: str = "strict", *, pack: str | Path | None = None) -> pd.DataFrame:
    """Return the outcome table of a run in which the whole answer is solved as the benchmark reads it.

    It goes into ``dodiag.capabilities`` and ``dodiag.contributions`` with the pack's task, so that NC, IC, RC, N and S
    of every step are about the benchmark's own figure.

    Parameters
    ----------
    run_dir : str or Path
    reading : {"strict", "lenient"}
        As the released scripts, or as a person would.
    pack : str or Path, optional
        Where the pack is now, if it has moved.

    Raises
    ------
    UsageError
        If there is no such reading, or the folder holds no run of such a pack.
    """
    if reading not in READINGS:
        raise UsageError(f"there is no reading '{reading}'", nearest(reading, READINGS))
    import pandas as pd

    from dodiag.runners.outcomes import outcomes

    lenient = reading == "lenient"
    with Ledger(Path(run_dir)) as ledger:
        plan = _plan_of(ledger, pack, IMAGE_TASK, VIDEO_TASK)
        solved: dict[tuple[str, str, int], int] = {}
        for call, row, reply in answered(plan, ledger):
            if call.question.unit == WHOLE:
                solved[row.instance, row.configuration, row.draw] = _solved(plan, call, reply.reply or "", lenient)
    table = outcomes(run_dir)
    whole = table["unit"] == WHOLE
    places = zip(table["instance"], table["configuration"], table["draw"], strict=True)
    read = pd.array([solved.get((i, c, int(d))) for i, c, d in places], dtype="Int64")
    table["solved"] = table["solved"].where(~whole, pd.Series(read, index=table.index))
    known = whole & table["solved"].notna()
    table.loc[known, "outcome"] = Outcome.VALUE.value
    return table


def _solved(plan: Plan, call: Call, text: str, lenient: bool) -> int:
    item, visible = _item(plan, call), remove_reasoning(text).text
    if isinstance(item, ImageItem):
        said = links_said(ImageAnswer(call.instance.id, item.links, text, visible), lenient=lenient)
        return int(said == dict(item.links))
    answer = VideoAnswer(item, text, visible)
    return int(parts_said(answer).correct if lenient else is_strictly_correct(answer))


def _scored(
    model: str,
    configuration: str,
    denominator: Denominator,
    images: Sequence[ImageAnswer],
    videos: Sequence[VideoAnswer],
    dataset: AnySet | None,
) -> RunScores:
    if videos:
        items = None if dataset is None else [item for item in dataset.items if isinstance(item, VideoItem)]
        whole = [answer.item for answer in videos] if items is None and configuration != "as stored" else items
        found = video_scores(videos, denominator=denominator, size=whole)
        return RunScores(model, configuration, denominator, found, None)
    links = None if dataset is None else {item.id: item.links for item in dataset.items if isinstance(item, ImageItem)}
    if links is None and configuration != "as stored":
        links = {answer.id: answer.gold for answer in images}
    strict, lenient = (
        image_scores(images, lenient=lenient, denominator=denominator, size=links) for lenient in (False, True)
    )
    return RunScores(model, configuration, denominator, strict, lenient)


def _plan_of(ledger: Ledger, pack: str | Path | None, *names: str) -> Plan:
    plan = plan_of_run(ledger, pack)
    if plan.task.name not in names:
        raise UsageError(f"{ledger.folder} is a run of {plan.task.name}", f"Use a run of {' or '.join(names)}.")
    return plan


def _configuration(plan: Plan, text: str) -> Configuration:
    parents = plan.task.parents(WHOLE)
    if "=" not in text:
        return Configuration.homogeneous(parents, parse_state(text))
    given = Configuration.parse(text)
    names = [unit for unit, _ in given.items]
    if unknown := [name for name in names if name not in parents]:
        raise UsageError(f"'{unknown[0]}' is no step before {WHOLE}", nearest(unknown[0], parents))
    return Configuration.of({unit: given[unit] if unit in names else State.NATURAL for unit in parents})


def _asked(
    plan: Plan, ledger: Ledger, wanted: Configuration, draw: int
) -> Iterator[tuple[Call, CallRow | None, str | None]]:
    """Yield the planned calls for the whole answer under a configuration, with row and reply where there are some."""
    found = {
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
        raise UsageError(f"the run does not ask {WHOLE} under {wanted}", "Run the pack with that state of its steps.")


def _is_wanted(call: Call, wanted: Configuration, draw: int) -> bool:
    return call.question.unit == WHOLE and call.configuration == wanted and call.draw == draw


def _item(plan: Plan, call: Call) -> ImageItem | VideoItem:
    raw, source = call.instance.meta[META], f"instance {call.instance.id}"
    return (image_set if plan.task.name == IMAGE_TASK else video_set)([raw], source).items[0]


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
    item = _item(plan, call)
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


def _limits(share: Proportion | None) -> dict[str, Any] | None:
    if share is None:
        return None
    return {"value": share.value, "lower": share.lower, "upper": share.upper, "instances": share.clusters}
