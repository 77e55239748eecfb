"""The benchmark's figures of runs of MM-CoT packs and of released result files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dodiag.benchmarks.mmcot.data import AnySet, ImageItem, ImageSet, VideoItem, VideoSet
from dodiag.benchmarks.mmcot.image_scores import Denominator, ImageAnswer, ImageScores, image_scores, links_said
from dodiag.benchmarks.mmcot.notation import Links
from dodiag.benchmarks.mmcot.packs import WHOLE
from dodiag.benchmarks.mmcot.results import is_video_result, read_image_results, read_video_results
from dodiag.benchmarks.mmcot.video_scores import (
    VideoAnswer,
    VideoScores,
    is_strictly_correct,
    parts_said,
    video_scores,
)
from dodiag.evaluations.mmcot_answers import (
    IMAGE_TASK,
    VIDEO_TASK,
    configuration_of,
    item_of_call,
    plan_of_mmcot,
    whole_answers,
)
from dodiag.evaluations.mmcot_limits import all_limits
from dodiag.interventions.plan import Call, Plan
from dodiag.problems import UsageError, nearest
from dodiag.runners.ledger import Ledger
from dodiag.runners.reading.cleaning import remove_reasoning
from dodiag.runners.rescoring import answered
from dodiag.vocabulary import Outcome

if TYPE_CHECKING:
    import pandas as pd

READINGS = ("strict", "lenient")
AS_STORED = "as stored"
"""Stands for the configuration of a result file."""

_NAME_ITS_SET = "Name the set of these results."


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
            "limits_at_95_percent": {
                "strict": all_limits(self.strict),
                "lenient": None if self.lenient is None else all_limits(self.lenient),
            },
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
        ``released`` counts failed calls about pictures as wrong and leaves out those about videos; ``fixed`` divides by
        what the run planned. Calls that were never made count under ``fixed`` alone.
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
        plan = plan_of_mmcot(ledger, pack, IMAGE_TASK, VIDEO_TASK)
        wanted = configuration_of(plan, state)
        tried = {row.position for row in ledger.open_failures()}
        images: list[ImageAnswer] = []
        videos: list[VideoAnswer] = []
        links: dict[str, Links] = {}
        items: list[VideoItem] = []
        for call, row, text in whole_answers(plan, ledger, wanted, draw):
            item = item_of_call(plan, call)
            made = row is not None or call.position in tried
            visible = None if text is None else remove_reasoning(text).text
            if isinstance(item, ImageItem):
                links[call.instance.id] = item.links
                images += [ImageAnswer(call.instance.id, item.links, text, visible)] * made
            else:
                items.append(item)
                videos += [VideoAnswer(item, text, visible)] * made
        model = ledger.manifest["model"]
    if plan.task.name == VIDEO_TASK:
        return _of_videos(model, str(wanted), denominator, videos, items)
    return _of_images(model, str(wanted), denominator, images, links)


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
        If the file cannot be read, or is about items that are not those of the set.
    InvalidInput
        With every problem of the file.
    """

    def visible(text: str) -> str:
        return remove_reasoning(text).text

    name, about_videos = Path(path).name, is_video_result(path)
    if dataset is not None and about_videos == isinstance(dataset, ImageSet):
        raise UsageError(f"{path} is not about the items of {dataset.source}", _NAME_ITS_SET)
    if about_videos:
        videos = read_video_results(path, visible)
        items = _items_of(dataset, videos, path) if isinstance(dataset, VideoSet) else None
        return _of_videos(name, AS_STORED, denominator, videos, items)
    images = read_image_results(path, visible)
    links = _links_of(dataset, images, path) if isinstance(dataset, ImageSet) else None
    return _of_images(name, AS_STORED, denominator, images, links)


def _items_of(dataset: VideoSet, answers: Sequence[VideoAnswer], path: str | Path) -> tuple[VideoItem, ...]:
    """Return the items of a set, after refusing answers about others: they would be counted beside the whole set."""
    strange = Counter(answer.item for answer in answers) - Counter(dataset.items)
    if strange:
        raise UsageError(f"{path}: video {next(iter(strange)).id} does not stand so in {dataset.source}", _NAME_ITS_SET)
    return dataset.items


def _links_of(dataset: ImageSet, answers: Sequence[ImageAnswer], path: str | Path) -> dict[str, Links]:
    """Return the right chains of a set, after refusing answers whose item or right answer is another one."""
    links = {item.id: item.links for item in dataset.items}
    strange = [answer.id for answer in answers if links.get(answer.id) != answer.gold]
    if strange:
        said = f"{path}: item {strange[0]} and its right answer do not stand in {dataset.source}"
        raise UsageError(said, _NAME_ITS_SET)
    return links


def mmcot_outcomes(run_dir: str | Path, reading: str = "strict", *, pack: str | Path | None = None) -> pd.DataFrame:
    """Return the outcome table of a run in which the whole answer is solved as the benchmark reads it.

    It goes into ``dodiag.capabilities`` and ``dodiag.contributions`` with the pack's task, so that NC, IC, RC, N and S
    of every step are about the benchmark's own figure. A refused or truncated reply keeps its outcome unless the
    benchmark finds it right.

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
        plan = plan_of_mmcot(ledger, pack, IMAGE_TASK, VIDEO_TASK)
        solved: dict[tuple[str, str, int], int] = {}
        for call, row, reply in answered(plan, ledger):
            if call.question.unit == WHOLE:
                solved[row.instance, row.configuration, row.draw] = _solved(plan, call, reply.reply or "", lenient)
    table = outcomes(run_dir)
    whole = table["unit"] == WHOLE
    places = zip(table["instance"], table["configuration"], table["draw"], strict=True)
    read = pd.array([solved.get((i, c, int(d))) for i, c, d in places], dtype="Int64")
    table["solved"] = table["solved"].where(~whole, pd.Series(read, index=table.index))
    scored = whole & table["solved"].notna() & ((table["outcome"] == Outcome.UNSCORED.value) | (table["solved"] == 1))
    table.loc[scored, "outcome"] = Outcome.VALUE.value
    return table


def _solved(plan: Plan, call: Call, text: str, lenient: bool) -> int:
    item, visible = item_of_call(plan, call), remove_reasoning(text).text
    if isinstance(item, ImageItem):
        said = links_said(ImageAnswer(call.instance.id, item.links, text, visible), lenient=lenient)
        return int(said == dict(item.links))
    answer = VideoAnswer(item, text, visible)
    return int(parts_said(answer).correct if lenient else is_strictly_correct(answer))


def _of_images(
    model: str,
    configuration: str,
    denominator: Denominator,
    answers: Sequence[ImageAnswer],
    whole: Mapping[str, Links] | None,
) -> RunScores:
    strict, lenient = (
        image_scores(answers, lenient=lenient, denominator=denominator, size=whole) for lenient in (False, True)
    )
    return RunScores(model, configuration, denominator, strict, lenient)


def _of_videos(
    model: str,
    configuration: str,
    denominator: Denominator,
    answers: Sequence[VideoAnswer],
    whole: Sequence[VideoItem] | None,
) -> RunScores:
    found = video_scores(answers, denominator=denominator, size=whole)
    return RunScores(model, configuration, denominator, found, None)
