"""The command that writes the report of a run as one HTML page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dodiag.cli_options import ContrastOption, MinDenominatorOption, TaskOption
from dodiag.cli_output import scores_of, tasks_of, warn_if_incomplete, write_text

if TYPE_CHECKING:
    import pandas as pd

    from dodiag.bounds.diagnosis import Diagnosis
    from dodiag.bounds.scores import Scores
    from dodiag.interventions.plan import Plan
    from dodiag.report.page.examples import Example, Pair
    from dodiag.runners.ledger import CallRow, Ledger
    from dodiag.scm.graph import TaskGraph
    from dodiag.scm.pack import Instance, Question
    from dodiag.vocabulary import Configuration

SHORT_HELP = "Write the report of a run as an HTML page."
EXAMPLES = (
    "dodiag report runs/first",
    "dodiag report runs/first --out first.html --examples 3",
    "dodiag report table.csv --task my_task/task.yaml --contrast 1,n --out page.html",
)
THUMBNAIL = 480
"""Pixels of the longer side of an example's picture."""


def report(
    source: Annotated[Path, typer.Argument(help="A run directory, or an outcome table (Parquet or CSV).")],
    out: Annotated[
        Path | None, typer.Option("--out", help="The file to write. Default: report.html in the run directory.")
    ] = None,
    task: TaskOption = None,
    contrast: ContrastOption = None,
    min_denominator: MinDenominatorOption = 0.10,
    level: Annotated[float, typer.Option("--level", help="Two-sided confidence level of N, S and NS.")] = 0.95,
    examples: Annotated[
        int, typer.Option("--examples", help="Calls to show of each prerequisite: failed, and solved with it.")
    ] = 1,
    pack: Annotated[Path | None, typer.Option("--pack", help="Where the task pack is now, if it has moved.")] = None,
) -> None:
    """Write one HTML page that needs no other file and no network: what to fix first, where and why the model fails,
    calls that show it, and what the numbers rest on."""
    from dodiag.problems import UsageError
    from dodiag.runners.outcomes import read_outcomes

    table = read_outcomes(source)
    is_run = source.is_dir()
    if out is None and not is_run:
        raise UsageError("an outcome table has no folder for a report", "Name the file to write with --out.")
    if examples < 0:
        raise UsageError(f"{examples} examples are asked for", "Use 0 or more.")
    tasks = tasks_of(source, table, task)
    if len(tasks) != 1:
        names = ", ".join(each.name for each in tasks)
        raise UsageError(f"the table speaks of {len(tasks)} tasks: {names}", "Choose one with --task.")
    if is_run:
        warn_if_incomplete(source, table)
    file = out or source / "report.html"
    found = scores_of(table, tasks[0], contrast, min_denominator, level)
    write_text(file, page_of(source, table, tasks[0], *found, level=level, examples=examples, pack=pack))
    typer.echo(f"wrote {file}")


def page_of(
    source: Path,
    table: pd.DataFrame,
    task: TaskGraph,
    capabilities: Scores,
    diagnosis: Diagnosis,
    *,
    level: float = 0.95,
    examples: int = 1,
    pack: Path | None = None,
) -> str:
    """Return the page of a run, or of an outcome table."""
    from dodiag.report.page.report_page import report_page
    from dodiag.runners.ledger import Ledger

    notices: list[str] = []
    facts: dict[str, str] = {}
    shown: list[Example] = []
    if source.is_dir():
        with Ledger(source) as ledger:
            notices = list(_notices(ledger, table))
            facts = _facts(ledger.manifest)
            shown = list(_examples(ledger, table, task, examples, pack))
    return report_page(table, task, capabilities, diagnosis, level=level, notices=notices, facts=facts, examples=shown)


def _notices(ledger: Ledger, table: pd.DataFrame) -> Iterator[str]:
    model = str(ledger.manifest["model"])
    if description := ledger.manifest.get("model_description"):
        yield description
    elif model.startswith("sim:"):
        yield f"{model} is a simulator. These are not the scores of a real model."
    planned, answered = ledger.manifest["calls"], int((table["outcome"] != "error").sum())
    if answered < planned:
        yield f"The run is incomplete: {answered:,} of {planned:,} calls are answered; these are the scores of those."


def _facts(manifest: Mapping[str, Any]) -> dict[str, str]:
    import json

    found = {
        "model": manifest["model"],
        "endpoint": manifest["endpoint"],
        "parameters": json.dumps(manifest["parameters"], ensure_ascii=False),
        "pictures": "sent" if manifest["sees_media"] else "not sent: the model answered blind",
        "task": f"{manifest['task']}, version {manifest['task_version']}, seed {manifest['seed']}",
        "task pack (hash)": manifest["pack"]["digest"],
        "plan (hash)": manifest["plan_hash"],
        "design": json.dumps(manifest["design"], ensure_ascii=False),
        "started": manifest["created"],
        "dodiag": f"{manifest['dodiag']}, revision {manifest['revision'] or 'unknown'}",
        "Python": f"{manifest['python']}, {manifest['platform']}",
        "libraries": ", ".join(f"{name} {version}" for name, version in manifest["libraries"].items()),
    }
    return {name: str(value) for name, value in found.items() if value not in ("", None)}


def _examples(ledger: Ledger, table: pd.DataFrame, task: TaskGraph, count: int, pack: Path | None) -> Iterator[Example]:
    """Yield the calls of some repaired questions; without the pack, or for a chain's target, there are none."""
    from dodiag.problems import DodiagError
    from dodiag.report.page.examples import repaired_pairs
    from dodiag.runners.rescoring import plan_of_run
    from dodiag.vocabulary import Contrast

    if count == 0 or task.chain_of(task.target) is not None:
        return
    pairs = [
        pair for contrast in ("1,n", "1,0") for pair in repaired_pairs(table, task, Contrast.parse(contrast), count)
    ]
    chosen = {pair.prerequisite: pair.before for pair in reversed(pairs)}
    pairs = [pair for pair in pairs if pair.before == chosen[pair.prerequisite]]
    if not pairs:
        return
    try:
        plan = plan_of_run(ledger, pack)
    except DodiagError:
        if pack is not None:
            raise
        return
    rows = _rows_of(ledger, pairs)
    for pair in pairs:
        yield _example(ledger, plan, pair, rows)


Place = tuple[str, str, int, str]
"""Instance, question, draw and configuration of a call."""

Small = tuple[str, bytes] | None
"""MIME type and bytes of a small picture."""


def _rows_of(ledger: Ledger, pairs: list[Pair]) -> dict[Place, CallRow]:
    wanted = {
        (pair.instance, pair.question, pair.draw, configuration.text)
        for pair in pairs
        for configuration in (pair.before, pair.after)
    }
    found = {}
    for row in ledger.calls():
        place = (row.instance, row.question, row.draw, row.configuration)
        if place in wanted:
            found[place] = row
    return found


def _example(ledger: Ledger, plan: Plan, pair: Pair, rows: Mapping[Place, CallRow]) -> Example:
    from dodiag.report.page.examples import Example, Reply
    from dodiag.scm.answers import show_answer
    from dodiag.scm.pack import correct_answer, spec_of

    assert plan.pack is not None
    instance = plan.pack.instance(pair.instance)
    question = instance.question(pair.question)
    replies = []
    for configuration in (pair.before, pair.after):
        row = rows[pair.instance, pair.question, pair.draw, configuration.text]
        stored = ledger.reply(row.key)
        text = (stored.reply if stored is not None else None) or "(no text)"
        replies.append(Reply(configuration, text, row.value or row.outcome, row.solved == 1))
    return Example(
        pair=pair,
        question=question.text,
        truth=show_answer(correct_answer(plan.task, question), spec_of(plan.task, question)),
        replies=tuple(replies),
        picture=_thumbnail(plan, instance, question, pair.after),
        shown=bool(ledger.manifest["sees_media"]),
    )


def _thumbnail(plan: Plan, instance: Instance, question: Question, configuration: Configuration) -> Small:
    """Return a small copy of the first picture of a prompt, of a video its first frame; None where it has none."""
    from dodiag.report.contact_sheet import thumbnail

    media = plan.assembler(True).prompt(instance, question, configuration).media
    pictures = [medium for medium in media if medium.mime.startswith("image/")]
    if not pictures:
        return None
    buffer = BytesIO()
    thumbnail(pictures[0].data, THUMBNAIL).save(buffer, "JPEG", quality=82)
    return "image/jpeg", buffer.getvalue()
