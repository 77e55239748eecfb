"""Contribution scores averaged: by prerequisite, category, model, group of models, task, pattern of tasks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from dodiag.bounds.aggregates.averages import Average, Described
from dodiag.bounds.scores import Score, Scores
from dodiag.problems import UsageError, nearest
from dodiag.vocabulary import METRICS

Aspect = Literal["model", "group", "task", "pattern", "prerequisite", "category"]
"""What averages can be taken apart by."""

SuppressedAs = Literal["zero", "left out"]


@dataclass(frozen=True, slots=True)
class ContributionRow:
    """A mean of N or S (CADET Figures 6, 7, 9, 18, 20 and 23 to 30).

    Attributes
    ----------
    metric : {"N", "S"}
    contrast : str
    average : Average
        The flat mean over prerequisites and models, with their standard deviation.
    suppressed : int
        Scores among them whose denominator was below the least allowed one.
    model, group, task, pattern, prerequisite, category : str or None
        What the mean is of; None for an aspect over which it is taken.
    """

    metric: str
    contrast: str
    average: Average
    suppressed: int
    model: str | None = None
    group: str | None = None
    task: str | None = None
    pattern: str | None = None
    prerequisite: str | None = None
    category: str | None = None


def contribution_averages(
    scores: Scores,
    tasks: Sequence[Described] = (),
    *,
    by: Sequence[Aspect],
    groups: Mapping[str, str] | None = None,
    patterns: Mapping[str, str] | None = None,
    suppressed: SuppressedAs = "zero",
) -> tuple[ContributionRow, ...]:
    """Average N and S of every contrast over everything but what is named in `by`.

    Parameters
    ----------
    scores : Scores
        Of :func:`dodiag.contributions`, of any number of models and tasks; rows other than N and S, and those without a
        value, are ignored.
    tasks : sequence of TaskGraph
        Needed for ``by="category"``: the category is that of the prerequisite.
    by : sequence of str
        Aspects: ``model``, ``group``, ``task``, ``pattern``, ``prerequisite`` (use it with ``task``), ``category``.
    groups : mapping of str to str, optional
        Group of each model; models without one are left out where ``by`` has ``group``.
    patterns : mapping of str to str, optional
        Pattern of each task; tasks without one are left out where ``by`` has ``pattern``.
    suppressed : {"zero", "left out"}
        Whether scores with too small a denominator count as 0, as the paper has it, or not at all.

    Returns
    -------
    tuple of ContributionRow
        In order of appearance.

    Raises
    ------
    UsageError
        If an aspect does not exist, lacks the mapping it needs, or a task of the scores is not given.
    """
    for aspect in by:
        if aspect not in get_args(Aspect):
            raise UsageError(f"there is no aspect '{aspect}'", nearest(str(aspect), get_args(Aspect)))
    for aspect, given in (("group", groups), ("pattern", patterns)):
        if aspect in by and given is None:
            raise UsageError(f"averages by {aspect} need the {aspect}s", f"Give {aspect}s.")
    if suppressed not in get_args(SuppressedAs):
        raise UsageError(f"suppressed is '{suppressed}'", f"Use one of {', '.join(get_args(SuppressedAs))}.")
    known = {task.name: task for task in tasks}
    values: dict[tuple[str | None, ...], list[Score]] = {}
    for score in scores:
        if score.metric not in METRICS or score.value is None:
            continue
        place = _aspects(score, known, groups or {}, patterns or {}, by)
        if None not in [place[aspect] for aspect in by]:
            values.setdefault((score.metric, score.contrast, *(place[aspect] for aspect in by)), []).append(score)
    rows = []
    for (metric, contrast, *found), members in values.items():
        counted = [score for score in members if suppressed == "zero" or not score.suppressed]
        average = Average.of(score.value for score in counted if score.value is not None)
        few = sum(score.suppressed for score in members)
        rows.append(ContributionRow(str(metric), str(contrast), average, few, **dict(zip(by, found, strict=True))))
    return tuple(rows)


def _aspects(
    score: Score,
    tasks: Mapping[str, Described],
    groups: Mapping[str, str],
    patterns: Mapping[str, str],
    wanted: Sequence[str],
) -> dict[str, str | None]:
    category = None
    if "category" in wanted:
        if score.task not in tasks:
            raise UsageError(f"task {score.task} of the scores is not given", "Give its task graph.")
        category = str(tasks[score.task].units[score.prerequisite].category)
    return {
        "model": score.model,
        "group": groups.get(score.model),
        "task": score.task,
        "pattern": patterns.get(score.task),
        "prerequisite": score.prerequisite,
        "category": category,
    }
