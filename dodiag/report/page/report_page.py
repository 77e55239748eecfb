"""The whole page: what to fix first, where the model fails, why, which calls show it, and how the numbers were made."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from dodiag.bounds.diagnosis import Diagnosis, Finding
from dodiag.bounds.scores import Score, Scores
from dodiag.report.numbers import p_value
from dodiag.report.page.elements import Row, faint, legend, notice, table, whole_page, wide
from dodiag.report.page.examples import Example
from dodiag.report.page.graph_picture import graph_picture
from dodiag.report.page.marks import COLOURS, axis, capability_mark, plain, score_mark
from dodiag.report.page.markup import Content, Element, tag
from dodiag.report.tables import interval, outcome_line, score_cell, with_limits
from dodiag.scm.graph import TaskGraph
from dodiag.vocabulary import Contrast, State

if TYPE_CHECKING:
    import pandas as pd

CAPABILITIES = ("NC", "IC", "RC")
_ASKED_FIRST = {"S": "1,n", "N": "1,0"}
_INJECTED = {
    State.CORRECT: "its correct answer",
    State.INCORRECT: "a wrong answer",
    State.NATURAL: "nothing",
    State.CORRECT_TEXT: "its correct answer as text alone",
    State.QUESTION_ONLY: "its question without an answer",
}
_QUESTION = {
    "S": "What is repaired when the prerequisite alone goes from {before} to {after}, the others having {rest}?",
    "N": "What is lost when the prerequisite alone goes from {after} to {before}, the others having {rest}?",
}
_STANDS_FOR = {
    "NC": "natural: nothing injected",
    "IC": "intrinsic: all prerequisites correct",
    "RC": "resilience: all prerequisites incorrect",
}
_HOW = (
    (
        "NC, IC, RC",
        "The share of questions of a unit that are solved when nothing, the correct, or an incorrect answer is injected"
        " for all of its prerequisites (CADET Def. 3.5), with Wilson's 95 % limits, the instance being the unit of"
        " sampling.",
    ),
    (
        "N",
        "max(0, p − p′) / p: of what is solved with all prerequisites in a, the share that is lost at least when one of"
        " them goes to a′ (Def. 3.7). A lower bound of the probability of necessity, PN.",
    ),
    (
        "S",
        "max(0, p − p′) / (1 − p′): of what fails with all prerequisites in a′, the share that is repaired at least"
        " when one of them goes to a (Def. 3.8). A lower bound of the probability of sufficiency, PS.",
    ),
    (
        "within",
        "Both ends of the interval in which PN or PS lies at the observed rates, without any further assumption"
        " (Fréchet). The line through a dot is the score's confidence interval; the band behind it is this interval.",
    ),
    (
        "missing",
        "Calls without a reply are missing data and never counted as wrong. Replies without a usable answer are"
        " failures of the model, and are counted apart above.",
    ),
)


def report_page(
    outcomes: pd.DataFrame,
    task: TaskGraph,
    capabilities: Scores,
    diagnosis: Diagnosis,
    *,
    level: float = 0.95,
    notices: Sequence[str] = (),
    facts: Mapping[str, str] | None = None,
    examples: Sequence[Example] = (),
) -> str:
    """Return the report of one task as an HTML page.

    Parameters
    ----------
    outcomes : pandas.DataFrame
        The outcome table; rows of other tasks are ignored.
    task : TaskGraph
    capabilities : Scores
        Of :func:`dodiag.capabilities` on this table.
    diagnosis : Diagnosis
        Of :func:`dodiag.diagnose` on this table, at this level.
    level : float
        Confidence level of the contribution scores' limits.
    notices : sequence of str
        What a reader has to know before any number, such as that the model is a simulator or the run is incomplete.
    facts : mapping of str to str, optional
        What the numbers rest on: hashes, versions, seeds, times.
    examples : sequence of Example
        Calls that show a score.

    Returns
    -------
    str
        A page that needs no other file and no network.
    """
    of_task = outcomes[outcomes["task"] == task.name]
    models = list(dict.fromkeys(of_task["model"]))
    parts: list[Content] = [] if models else [notice(text) for text in notices]
    for model in models:
        shown = [example for example in examples if example.pair.model == model]
        parts += _of_model(
            of_task[of_task["model"] == model],
            task,
            capabilities.where(model=model),
            diagnosis.where(model=model),
            level,
            notices,
            shown,
        )
    parts += _how_made(facts or {})
    title = f"{task.title} · {', '.join(map(str, models))}" if models else task.title
    return whole_page(title, parts)


def _of_model(
    rows: pd.DataFrame,
    task: TaskGraph,
    capabilities: Scores,
    diagnosis: Diagnosis,
    level: float,
    notices: Sequence[str],
    examples: Sequence[Example],
) -> Iterator[Content]:
    model = str(rows["model"].iloc[0])
    whole = capabilities.where(step=None)
    yield tag("h1", f"{task.title} · {model}")
    instances = rows["instance"].nunique()
    yield faint(f"{instances:,} instances, {outcome_line(rows).plain}")
    yield from map(notice, notices)
    yield _lead(task, whole, diagnosis, model)
    yield tag("h2", "The task")
    yield tag("div", graph_picture(task, {s.unit: s for s in whole.where(metric="NC")}), class_="wide")
    yield tag("h2", "Where it fails: capability of each unit")
    yield legend((COLOURS[metric], f"{metric} {_STANDS_FOR[metric]}") for metric in CAPABILITIES)
    yield wide(_capability_table(whole, task))
    for metric, heading in (("S", "Why: what repairs it"), ("N", "Why: what its success hangs on")):
        found = diagnosis.where(metric=metric)
        if found:
            yield tag("h2", f"{heading} ({metric})")
            yield from _contributions(found, task, level)
    if along := diagnosis.where(metric="NS"):
        yield tag("h2", "Along the chain: what the previous step does (NS)")
        yield wide(_chain_table(along))
    if any(score.suppressed for score in diagnosis.scores):
        yield tag(
            "p", "A hollow dot and *: set to 0, its denominator being below the least allowed one.", class_="faint"
        )
    if examples:
        yield tag("h2", "Calls that show it")
        yield tag(
            "p",
            "Questions that the model failed, and solved when one prerequisite's answer was injected.",
            class_="faint",
        )
        for example in examples:
            yield _example(example, task)


def _lead(task: TaskGraph, capabilities: Scores, diagnosis: Diagnosis, model: str) -> Element:
    found = {score.metric: score for score in capabilities.where(unit=task.target)}
    said = [
        f"{plain(with_limits(found[metric]))} {words}"
        for metric, words in (
            ("NC", "with nothing injected"),
            ("IC", "with all prerequisites correct"),
            ("RC", "with all of them incorrect"),
        )
        if metric in found and found[metric].value is not None
    ]
    if diagnosis.where(metric="S", contrast="1,n"):
        first = diagnosis.headline(model)
    else:
        first = "What to fix first was not asked: that takes contrast (1, ∅) of the target."
    solved = f"{task.target} {task.units[task.target].title} is solved: {', '.join(said)}." if said else None
    return tag("div", tag("p", tag("strong", first)), None if solved is None else tag("p", solved), class_="lead")


def _capability_table(scores: Scores, task: TaskGraph) -> Element:
    head = ("unit", "category", axis(), "NC", "IC", "RC", "n", "missing")
    rows: list[Row] = []
    for unit_id, unit in task.units.items():
        found = {score.metric: score for score in scores.where(unit=unit_id)}
        of_unit = [found[metric] for metric in CAPABILITIES if metric in found]
        if not of_unit:
            continue
        counts = " / ".join(dict.fromkeys(f"{score.n:,}" for score in of_unit))
        rows.append(
            (
                _unit_name(task, unit_id),
                unit.category,
                capability_mark(of_unit),
                *(plain(with_limits(found.get(metric))) for metric in CAPABILITIES),
                counts,
                f"{sum(score.missing for score in of_unit):,}",
            )
        )
    return table(head, [(None, rows)], numbers=(6, 7))


def _contributions(found: Diagnosis, task: TaskGraph, level: float) -> Iterator[Content]:
    metric = found[0].metric
    head = ("prerequisite", axis(), metric, f"{found[0].bounded.metric} within", "p", "n", "verdict")
    contrasts = list(dict.fromkeys(finding.contrast for finding in found))
    contrasts.sort(key=lambda contrast: contrast.text != _ASKED_FIRST[metric])
    groups = [
        (
            tag("span", tag("b", contrast.symbol), " ", tag("span", _question(metric, contrast), class_="faint")),
            [_contribution(finding, task) for finding in found.where(contrast=contrast)],
        )
        for contrast in contrasts
    ]
    yield wide(table(head, groups, numbers=(4, 5), words=(6,)))
    yield tag(
        "p",
        f"Limits at {level:.0%}. p: test that the score is 0, adjusted over the prerequisites of one contrast (Holm).",
        class_="faint",
    )


def _question(metric: str, contrast: Contrast) -> str:
    after, before = _INJECTED[contrast.a], _INJECTED[contrast.a_prime]
    return _QUESTION[metric].format(after=after, before=before, rest=before if metric == "S" else after)


def _contribution(finding: Finding, task: TaskGraph) -> tuple[Content, ...]:
    score = finding.score
    verdict = finding.words + (f" ({score.reason})" if score.value is None and score.reason else "")
    return (
        _unit_name(task, finding.prerequisite),
        score_mark(score, finding.bounded),
        *_score_cells(score, finding.bounded),
        p_value(finding.adjusted),
        f"{score.n:,}",
        verdict,
    )


def _chain_table(found: Diagnosis) -> Element:
    head = ("unit", "step", "contrast", axis(), "NS", "PNS within", "n", "verdict")
    rows = [
        (
            tag("b", finding.unit),
            str(finding.step),
            finding.contrast.symbol,
            score_mark(finding.score, finding.bounded),
            *_score_cells(finding.score, finding.bounded),
            f"{finding.score.n:,}",
            finding.words,
        )
        for finding in found
    ]
    return table(head, [(None, rows)], numbers=(1, 6), words=(7,))


def _score_cells(score: Score, bounded: Score) -> tuple[str, str]:
    return plain(score_cell(score)), plain(interval(bounded))


def _unit_name(task: TaskGraph, unit: str) -> Element:
    target = " (target)" if unit == task.target else ""
    return tag("span", tag("b", unit), f" {task.units[unit].title}{target}")


def _example(example: Example, task: TaskGraph) -> Element:
    pair = example.pair
    said = "" if example.shown else " (the model was not shown the picture)"
    heading = tag(
        "p",
        tag("b", f"{pair.prerequisite} {task.units[pair.prerequisite].title}"),
        tag("span", f" · {pair.instance} · {pair.question}{said}", class_="faint"),
    )
    question = tag("p", example.question, tag("span", f" Truth: {example.truth}.", class_="faint"))
    replies: list[Content] = []
    for reply in example.replies:
        outcome = ("solved", "solved") if reply.solved else ("failed", "not solved")
        replies += [
            tag(
                "p",
                tag("code", f"do({reply.configuration.text})"),
                " read as ",
                tag("b", reply.read),
                ": ",
                tag("span", outcome[1], class_=outcome[0]),
            ),
            tag("pre", reply.text),
        ]
    picture: Content = None
    if example.picture is not None:
        mime, data = example.picture
        source = f"data:{mime};base64,{base64.b64encode(data).decode('ascii')}"
        picture = tag("img", src=source, alt=f"The picture of {pair.instance}")
    return tag("div", picture, tag("div", heading, question, *replies), class_="example")


def _how_made(facts: Mapping[str, str]) -> Iterator[Content]:
    yield tag("h2", "How the numbers were made")
    yield tag("dl", *(part for name, text in _HOW for part in (tag("dt", name), tag("dd", text))))
    if facts:
        yield tag("h2", "What they rest on")
        yield tag("dl", *(part for name, text in facts.items() for part in (tag("dt", name), tag("dd", text))))
