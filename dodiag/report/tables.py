"""Terminal tables of a run: what was answered, what the model can do, what its success hangs on."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from dodiag.bounds.diagnosis import Diagnosis
from dodiag.bounds.scores import Score, Scores
from dodiag.report.style import new_table
from dodiag.scm.graph import TaskGraph
from dodiag.vocabulary import Contrast, Outcome

if TYPE_CHECKING:
    import pandas as pd


MEANING = {
    Outcome.VALUE: "an answer",
    Outcome.NONE: "no answer in it",
    Outcome.INVALID: "an answer that is not allowed",
    Outcome.REFUSED: "a refusal",
    Outcome.TRUNCATED: "cut off before an answer",
    Outcome.UNSCORED: "waiting for a judge (missing)",
    Outcome.ERROR: "no reply (missing)",
}


def report(outcomes: pd.DataFrame, task: TaskGraph, capabilities: Scores, diagnosis: Diagnosis) -> RenderableType:
    """Return the whole terminal report of one task, model by model."""
    contributions = diagnosis.scores
    parts: list[RenderableType] = []
    for model in dict.fromkeys(outcomes.loc[outcomes["task"] == task.name, "model"]):
        rows = outcomes[(outcomes["model"] == model) & (outcomes["task"] == task.name)]
        of_model = contributions.where(model=model)
        parts.append(Text(f"{task.title} · {model}", style="bold"))
        parts.append(outcome_line(rows))
        parts.append(capability_table(capabilities.where(model=model), task))
        if of_model.where(metric="N"):
            parts.append(contribution_table(of_model, task))
            parts += [Text(line) for line in reading_help(diagnosis.where(model=model))]
        if of_model.where(metric="NS"):
            parts.append(chain_table(of_model, task))
        parts.append(Text(""))
    return Group(*parts)


def outcome_line(rows: pd.DataFrame) -> Text:
    """Return one line that counts what the replies came to."""
    counts = rows["outcome"].value_counts()
    parts = [f"{counts[o.value]:,} {MEANING[o]}" for o in Outcome if o.value in counts]
    if other := len(rows) - sum(counts[o.value] for o in Outcome if o.value in counts):
        parts.append(f"{other:,} of another outcome")
    return Text(f"{len(rows):,} calls: {', '.join(parts)}")


def capability_table(scores: Scores, task: TaskGraph) -> Table:
    """Return NC, IC, RC of every unit with 95 % limits."""
    table = new_table("Where it fails: capability of each unit, with its prerequisites …")
    table.add_column("unit")
    table.add_column("category")
    for state, name in (("NC", "not injected"), ("IC", "all correct"), ("RC", "all incorrect")):
        table.add_column(f"{state}\n{name}", justify="right", no_wrap=True)
    table.add_column("n", justify="right", no_wrap=True)
    table.add_column("missing", justify="right")
    for unit_id, unit in task.units.items():
        of_unit = scores.where(unit=unit_id, step=None)
        if not of_unit:
            continue
        found = {score.metric: score for score in of_unit}
        numbers = " / ".join(dict.fromkeys(str(score.n) for score in of_unit if score.metric in ("NC", "IC", "RC")))
        missing = sum(score.missing for score in of_unit)
        label = f"[bold]{unit_id}[/bold] {escape(unit.title)}" + (" (target)" if unit_id == task.target else "")
        cells = [with_limits(found.get(metric)) for metric in ("NC", "IC", "RC")]
        table.add_row(label, escape(unit.category), *cells, numbers, str(missing))
    return table


def contribution_table(scores: Scores, task: TaskGraph) -> Table:
    """Return N and S of every prerequisite and contrast, each beside the interval that its probability lies in."""
    table = new_table(f"Why: what the success of {task.target} hangs on")
    table.add_column("contrast")
    table.add_column("prerequisite")
    table.add_column("N", justify="right")
    table.add_column("PN within", justify="right", no_wrap=True)
    table.add_column("S", justify="right")
    table.add_column("PS within", justify="right", no_wrap=True)
    table.add_column("n", justify="right", no_wrap=True)
    contrasts = tuple(dict.fromkeys(score.contrast for score in scores if score.metric in ("N", "S")))
    for contrast in contrasts:
        assert contrast is not None
        of_contrast = scores.where(contrast=contrast)
        for index, prerequisite in enumerate(task.prerequisites(task.target)):
            found = {score.metric: score for score in of_contrast.where(prerequisite=prerequisite)}
            n, s = found.get("N"), found.get("S")
            numbers = " / ".join(dict.fromkeys(str(score.n) for score in (n, s) if score is not None))
            if not numbers:
                continue
            table.add_row(
                Contrast.parse(contrast).symbol if index == 0 else "",
                f"[bold]{prerequisite}[/bold] {escape(task.units[prerequisite].title)}",
                score_cell(n),
                interval(found.get("PN")),
                score_cell(s),
                interval(found.get("PS")),
                numbers,
            )
        table.add_section()
    return table


def chain_table(scores: Scores, task: TaskGraph) -> Table:
    """Return NS by step of every chain unit."""
    table = new_table("Along the chain: NS by step with 95 % limits, and below it the interval of PNS")
    contrasts = tuple(dict.fromkeys(score.contrast for score in scores.where(metric="NS")))
    table.add_column("unit")
    table.add_column("step", justify="right")
    for contrast in contrasts:
        assert contrast is not None
        table.add_column(f"NS{Contrast.parse(contrast).symbol}", justify="right")
    table.add_column("n", justify="right", no_wrap=True)
    for unit in task.units:
        of_unit = scores.where(unit=unit, metric="NS")
        for step in dict.fromkeys(score.step for score in of_unit):
            found = {score.contrast: score for score in of_unit.where(step=step)}
            within = {score.contrast: score for score in scores.where(unit=unit, metric="PNS", step=step)}
            cells = [f"{score_cell(found.get(c))}\n{interval(within.get(c))}" for c in contrasts]
            table.add_row(unit, str(step), *cells, str(max(score.n for score in found.values())))
    return table


def reading_help(diagnosis: Diagnosis) -> Iterator[str]:
    """Yield the sentences under the contribution table: what to fix first, and how to read it."""
    repairs = diagnosis.where(metric="S", contrast="1,n")
    if repairs:
        yield repairs.headline(repairs[0].model)
    if any(score.suppressed for score in diagnosis.scores):
        yield "* set to 0 because its denominator is below the least allowed one (0.10 in the paper)."
    yield (
        "N and S are lower bounds of the probabilities of necessity and sufficiency, with 95 % limits (the instance is"
        " the unit of sampling); 'within' gives both ends of those probabilities at the observed rates."
    )


def score_cell(score: Score | None) -> str:
    """Return a score and its limits, ``0.47 [0.03, 0.80]``; it may break before the bracket."""
    if score is None or score.value is None:
        return with_flag(score)
    if score.limit_lower is None or score.limit_upper is None:
        return with_flag(score)
    return escape(f"{score.value:.2f} [{score.limit_lower:.2f},\u00a0{score.limit_upper:.2f}]")


def with_limits(score: Score | None) -> str:
    """Return ``0.62 [0.53, 0.70]``, or why there is none."""
    if score is None:
        return "–"
    if score.value is None:
        return _nothing(score)
    limits = "" if score.lower is None or score.upper is None else f" [{score.lower:.2f}, {score.upper:.2f}]"
    return escape(f"{score.value:.2f}{limits}")


def with_flag(score: Score | None) -> str:
    """Return a score, with a star where its denominator suppressed it."""
    if score is None:
        return "–"
    if score.value is None:
        return _nothing(score)
    return f"{score.value:.2f}{'*' if score.suppressed else ''}"


def interval(score: Score | None) -> str:
    """Return ``[0.31, 0.85]``, or that it is undefined, or why there is none."""
    if score is None:
        return "–"
    if score.lower is None or score.upper is None:
        return "undefined" if score.reason and score.reason.startswith("undefined") else _nothing(score)
    return escape(f"[{score.lower:.2f}, {score.upper:.2f}]")


def _nothing(score: Score) -> str:
    """Return in one word why there is no number: answers that wait for a judge are there, and may be many."""
    return "unscored" if score.reason and "judge" in score.reason else "no data"
