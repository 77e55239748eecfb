"""The page of many runs: how well models do, where they lose, what to fix first, why, and whether they agree."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dodiag.bounds.aggregates import Average, CapabilityRow
from dodiag.report.numbers import average, share
from dodiag.report.overview import Overview, Source
from dodiag.report.page import figures_budget as budget
from dodiag.report.page.elements import faint, notice, table, whole_page, wide
from dodiag.report.page.figures_heat import heat_style
from dodiag.report.page.markup import Content, Element, tag
from dodiag.report.page.overview_capabilities import (
    ablations_section,
    budget_section,
    models_section,
    resilience_section,
    whole_row,
)
from dodiag.report.page.overview_parts import counted, task_name
from dodiag.report.page.overview_scores import (
    agreement_section,
    categories_section,
    groups_section,
    quadrants_section,
    scores_section,
    to_fix_section,
)
from dodiag.report.page.overview_steps import steps_section

_HOW = (
    (
        "NC, IC, RC",
        "The share of a unit's questions that are solved when nothing, the correct, or an incorrect answer is"
        " injected for all of its prerequisites (CADET Def. 3.5). A root has no prerequisite, and so NC alone.",
    ),
    (
        "cascading, residual",
        "IC − NC is what a unit loses to its prerequisites, 1 − IC what it does not solve even with all of them"
        " correct. With NC they make 1. The cascading share is (IC − NC) / (1 − NC), a ratio of means.",
    ),
    (
        "averages",
        "Unweighted over units; of several models, the mean of their means. ± is the sample standard deviation"
        " (ddof = 1) over units of one model, or over models, with the number of them behind it: it says how much"
        " they differ, not how sure the mean is. N and S are averaged flat over prerequisites and models; a score"
        " that is 0 by convention counts as 0.",
    ),
    (
        "[limits]",
        "Confidence limits, the instance being the unit of sampling: of averages, for these units and these models,"
        " on other instances like these. Models share instances, and the limits take that into account.",
    ),
    (
        "N",
        "max(0, p − p′) / p: of what is solved with all prerequisites in a, the share that is lost at least when"
        " one of them goes to a′ (Def. 3.7). A lower bound of the probability of necessity; 'within' gives both of"
        " its ends.",
    ),
    (
        "S",
        "max(0, p − p′) / (1 − p′): of what fails with all prerequisites in a′, the share that is repaired at least"
        " when one of them goes to a (Def. 3.8). A lower bound of the probability of sufficiency.",
    ),
    (
        "NS",
        "max(0, p − p′) along a chain, where a step has one prerequisite: the step before it (Remark A.8). A lower"
        " bound of the probability of necessity and sufficiency.",
    ),
    (
        "verdicts",
        "Tests adjusted over the prerequisites of a model, task, contrast and score (Holm); 'first' also beats"
        " every other one in a paired comparison. Each model and task is decided on its own, at an error of 1 minus"
        " the level: among many cells some may be wrong.",
    ),
    (
        "agreement",
        "Spearman's rank correlation over the prerequisites that both have, ties averaged; none below 3"
        " prerequisites or where all scores of one are equal.",
    ),
    (
        "missing",
        "Calls without a reply are missing data and never counted as wrong. Replies without a usable answer are"
        " failures of the model.",
    ),
)


def overview_page(found: Overview, *, notices: Sequence[str] = (), sources: Sequence[Source] = ()) -> str:
    """Return the overview as an HTML page.

    Parameters
    ----------
    found : Overview
        Of :func:`dodiag.report.overview.overview`.
    notices : sequence of str
        What a reader has to know before any number, such as that a model is a simulator or a run is incomplete.
    sources : sequence of Source
        Where the outcomes come from.

    Returns
    -------
    str
        A page that needs no other file and no network; sections without data are not there.
    """
    sections = [
        ("models", "How well the models do", list(models_section(found))),
        ("budget", "Where they lose: the error budget", list(budget_section(found))),
        ("resilience", "What wrong prerequisites do: RC − NC", list(resilience_section(found))),
        ("fix", "What to fix first", list(to_fix_section(found))),
        ("scores", "Why: N and S of every prerequisite", list(scores_section(found))),
        ("quadrants", "Necessary, sufficient, both or neither", list(quadrants_section(found))),
        ("groups", "Groups of models", list(groups_section(found))),
        ("categories", "Categories of prerequisites", list(categories_section(found))),
        ("agreement", "Whether the models agree", list(agreement_section(found))),
        ("steps", "Along the chains", list(steps_section(found))),
        ("ablations", "What the annotation and the question alone do", list(ablations_section(found))),
        ("how", "How the numbers were made", list(_how(sources, found))),
    ]
    there = [section for section in sections if section[2]]
    parts: list[Content] = [*_head(found, notices)]
    parts.append(tag("nav", *(tag("a", heading, href=f"#{name}") for name, heading, _ in there)))
    for name, heading, content in there:
        parts += [tag("h2", heading, id=name), *content]
    return whole_page(_title(found), parts, heat_style())


def _title(found: Overview) -> str:
    return f"{counted(len(found.models), 'model')} on {counted(len(found.tasks), 'task')}"


def _head(found: Overview, notices: Sequence[str]) -> Iterator[Content]:
    yield tag("h1", _title(found))
    calls, missing = sum(row.calls for row in found.extents), sum(row.missing for row in found.extents)
    tasks = ", ".join(task.title for task in found.tasks)
    yield faint(f"{tasks} · {calls:,} calls, {missing:,} of them without a scored reply")
    yield from map(notice, (*notices, *found.remarks))
    row = whole_row(found.capabilities, None if len(found.models) > 1 else found.models[0])
    if row is not None and row.nc is not None and row.ic is not None:
        yield _lead(row, len(found.models))


def _lead(row: CapabilityRow, models: int) -> Element:
    subject = "On average over the models, units" if models > 1 else "Units"
    first = f"{subject} with prerequisites are solved in {share_with_limits(row.nc)} of their questions by themselves"
    first += f", in {share_with_limits(row.ic)} with all prerequisites correct."
    more = None
    if row.cascading_share is not None and row.cascading_share > 0 and budget.has_budget(row):
        more = tag(
            "p",
            f"Of what fails, {share(row.cascading_share)} goes away with correct prerequisites"
            f" (IC − NC = {average(row.cascading, signed=True)}); the rest fails even with them.",
        )
    return tag("div", tag("p", tag("strong", first)), more, class_="lead")


def share_with_limits(found: Average | None) -> str:
    """Return an average as a share in percent, ``41% [37%, 45%]``."""
    if found is None or found.value is None:
        return "–"
    if found.lower is None or found.upper is None:
        return f"{found.value:.0%}"
    return f"{found.value:.0%} [{found.lower:.0%}, {found.upper:.0%}]"


def _how(sources: Sequence[Source], found: Overview) -> Iterator[Content]:
    yield tag("dl", *(part for name, text in _HOW for part in (tag("dt", name), tag("dd", text))))
    extents = [
        (
            task_name(found, row.task),
            row.model,
            f"{row.units:,}",
            f"{row.instances:,}",
            f"{row.calls:,}",
            f"{row.missing:,}",
            f"{row.unusable:,}",
        )
        for row in found.extents
    ]
    head = ("task", "model", "units", "instances", "calls", "without a scored reply", "replies without an answer")
    yield tag("h3", "What was asked")
    yield wide(table(head, [(None, extents)], numbers=(2, 3, 4, 5, 6)))
    if sources:
        names = list(dict.fromkeys(name for source in sources for name in source.facts))
        rows = [(source.name, *(source.facts.get(name, "") for name in names)) for source in sources]
        yield tag("h3", "Where it comes from")
        yield wide(table(("source", *names), [(None, rows)]))
