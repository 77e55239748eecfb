"""Terminal tables of a diagnosis: what to fix, what success hangs on, and how sure that is."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from dodiag.bounds.diagnosis import Diagnosis, Finding
from dodiag.bounds.scores import Score
from dodiag.report.numbers import p_value
from dodiag.report.style import new_table
from dodiag.report.tables import interval, score_cell
from dodiag.scm.graph import TaskGraph

_TITLES = {
    "S": "What is repaired when X goes from a' to a and the rest stay at a' (S)",
    "N": "What is lost when X goes from a to a' and the rest stay at a (N)",
    "NS": "Along the chain: what the previous step does (NS)",
}
_BOUNDED = {"S": "PS", "N": "PN", "NS": "PNS"}


def diagnosis_report(diagnosis: Diagnosis, task: TaskGraph, level: float) -> RenderableType:
    """Return the findings of one task, model by model, with one sentence on top and help below."""
    parts: list[RenderableType] = []
    for model in dict.fromkeys(finding.model for finding in diagnosis):
        of_model = diagnosis.where(model=model)
        parts.append(Text(f"{task.title} · {model}", style="bold"))
        if of_model.where(metric="S", contrast="1,n"):
            parts.append(Text(of_model.headline(model), style="bold green"))
        parts += [
            _table(of_model.where(metric=metric), task, metric)
            for metric in ("S", "N", "NS")
            if of_model.where(metric=metric)
        ]
        parts += [Text(line) for line in _help(of_model, level)]
        parts.append(Text(""))
    return Group(*parts)


def _table(findings: Diagnosis, task: TaskGraph, metric: str) -> Table:
    table = new_table(_TITLES[metric])
    table.add_column("contrast")
    table.add_column("step" if metric == "NS" else "prerequisite X")
    table.add_column(metric, justify="right")
    table.add_column(f"{_BOUNDED[metric]} within", justify="right")
    if _has_instance_level(findings):
        table.add_column(f"{_BOUNDED[metric]} by\ninstance ≥", justify="right")
    table.add_column("p", justify="right", no_wrap=True)
    table.add_column("n", justify="right", no_wrap=True)
    table.add_column("verdict")
    for contrast in dict.fromkeys(finding.contrast for finding in findings):
        for index, finding in enumerate(findings.where(contrast=contrast)):
            table.add_row(contrast.symbol if index == 0 else "", *_cells(finding, task, _has_instance_level(findings)))
        table.add_section()
    return table


def _cells(finding: Finding, task: TaskGraph, instance_level: bool) -> Iterator[str]:
    if finding.metric == "NS":
        yield f"[bold]{finding.unit}[/bold] step {finding.step}"
    else:
        yield f"[bold]{finding.prerequisite}[/bold] {escape(task.units[finding.prerequisite].title)}"
    yield score_cell(finding.score)
    yield interval(finding.bounded)
    if instance_level:
        yield _instance_cell(finding)
    yield p_value(finding.adjusted)
    yield str(finding.score.n)
    yield escape(finding.words) + (f" ({escape(_why(finding.score))})" if finding.score.value is None else "")


def _why(score: Score) -> str:
    return score.reason or ""


def _has_instance_level(findings: Diagnosis) -> bool:
    return any(f.instance_level is not None and not f.instance_level.lower.reason for f in findings)


def _instance_cell(finding: Finding) -> str:
    found = finding.instance_level
    if found is None or found.lower.reason or found.lower.limits is None:
        return "–"
    value = f"{max(0.0, found.lower.value.item()):.2f}"
    if not found.lower.limits.known:
        return value
    return escape(f"{value} [{max(0.0, found.lower.limits.lower.item()):.2f}]")


def _help(diagnosis: Diagnosis, level: float) -> Iterator[str]:
    yield (
        f"Scores with {level:.0%} limits, the instance being the unit of sampling; 'within' gives both ends of the"
        " probability that the score bounds, at the observed rates. p: test that the score is 0, adjusted over the"
        " prerequisites of one contrast (Holm)."
    )
    if _has_instance_level(diagnosis):
        yield "'by instance ≥': lower bound from paired runs of the same instances, and in brackets its lower limit."
    elif reasons := {f.instance_level.lower.reason for f in diagnosis if f.instance_level}:
        yield f"No bounds by instance: {sorted(reasons)[0]}."
    if any(finding.score.suppressed for finding in diagnosis):
        yield "* set to 0 because its denominator is below the least allowed one (0.10 in the paper)."
