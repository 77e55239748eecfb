"""What the commands print, write and exit with. Everything heavy is imported where it is needed."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

    from dodiag.runners.runner import RunSummary
    from dodiag.scm.graph import TaskGraph

EXIT_OK, EXIT_INPUT, EXIT_INCOMPLETE, EXIT_INTERRUPTED = 0, 2, 3, 130


def examples(*commands: str) -> str:
    """Return the epilog of a command's help."""
    return "\b\nExamples:\n" + "\n".join(f"  {command}" for command in commands)


def warn_if_incomplete(run_dir: Path, table: Any) -> None:
    """Say on standard error that a run has calls without an answer."""
    from dodiag.runners.ledger import Ledger

    with Ledger(run_dir) as ledger:
        planned = ledger.manifest["calls"]
    answered = int((table["outcome"] != "error").sum())
    if answered < planned:
        typer.echo(
            f"the run is incomplete: {answered:,} of {planned:,} calls are answered, and these are the scores of those."
            f" Continue with: dodiag resume {run_dir}",
            err=True,
        )


def tasks_of(source: Path, table: Any, task: str | None) -> list[TaskGraph]:
    """Return the task graphs that an outcome table speaks of."""
    from dodiag.runners.session import task_of_run
    from dodiag.scm.files import load_task

    if task is not None:
        return [load_task(task)]
    if source.is_dir():
        return [task_of_run(source)]
    return [load_task(str(name)) for name in dict.fromkeys(table["task"])]


def scores_of(table: Any, task: TaskGraph, contrast: list[str] | None, min_denominator: float) -> tuple[Any, Any]:
    """Return capabilities and diagnosis of a task."""
    from dodiag.bounds.diagnosis import diagnose
    from dodiag.bounds.scores import capabilities

    return capabilities(table, task), diagnose(table, task, contrast, min_denominator=min_denominator)


def show_report(table: Any, task: TaskGraph, capability: Any, diagnosis: Any) -> None:
    """Print the report of one task."""
    from dodiag.report.tables import report

    show(report(table, task, capability, diagnosis))


def show_steps(
    source: Path,
    table: Any,
    tasks: list[TaskGraph],
    contrast: list[str] | None,
    last_bin: int | None,
    reaching: int | None,
    as_json: bool,
) -> None:
    """Print the chain units of some tasks step by step."""
    from dodiag.bounds.chain_steps import FIGURE_CONTRASTS, chain_steps
    from dodiag.report.chain_tables import chain_report
    from dodiag.runners.ledger import Ledger

    history = None
    if source.is_dir():
        with Ledger(source) as ledger:
            history = ledger.manifest["design"]["history"]
    rows: list[Any] = []
    for graph in tasks:
        steps = chain_steps(table, graph, contrast or FIGURE_CONTRASTS, last_bin=last_bin, reaching=reaching)
        rows += [row for step in steps for row in step.to_dicts()]
        if not as_json:
            show(chain_report(steps, graph, history))
    if as_json:
        print_json(rows)


def say_what_the_model_is(run_dir: Path) -> None:
    """Print what the model of a run describes itself as, where it does: a simulator is never taken for a model."""
    from dodiag.runners.ledger import Ledger

    if not run_dir.is_dir():
        return
    with Ledger(run_dir) as ledger:
        description = ledger.manifest.get("model_description")
    if description:
        typer.echo(f"{description}\n")


def finish(folder: Path, summary: RunSummary) -> None:
    """Print what a run came to, write its tables, and end with the exit code that says so."""
    from dodiag.bounds.scores import Scores
    from dodiag.runners.outcomes import outcomes
    from dodiag.runners.session import task_of_run

    table, task = outcomes(folder), task_of_run(folder)
    if len(table):
        say_what_the_model_is(folder)
        found = scores_of(table, task, None, 0.10)
        show_report(table, task, *found)
        table.to_parquet(folder / "outcomes.parquet", index=False)
        Scores((*found[0], *found[1].scores)).to_frame().to_csv(folder / "scores.csv", index=False)
    spent = money_line(summary)
    typer.echo(
        f"{summary.answered:,} calls answered in {summary.seconds:.1f} s, {summary.reused:,} from before,"
        f" {summary.failed:,} failed, {summary.planned:,} planned{spent}"
    )
    for line in account_lines(folder, summary):
        typer.echo(line)
    typer.echo(f"written: {folder / 'ledger.sqlite'} (every reply), outcomes.parquet, scores.csv")
    if summary.complete:
        return
    why = f"stopped: {summary.stopped}" if summary.stopped else f"{summary.failed:,} calls came to no reply"
    typer.echo(f"{why}. Continue with: dodiag resume {folder}", err=True)
    raise typer.Exit(EXIT_INTERRUPTED if summary.interrupted else EXIT_INCOMPLETE)


def money_line(summary: RunSummary) -> str:
    """Return what a run has cost, as far as that is known."""
    if summary.money is None or not (summary.money or summary.money_before):
        return ""
    before = f" ({summary.money + summary.money_before:.4f} with what was spent before)" if summary.money_before else ""
    rough = f"; tokens of {summary.estimated:,} replies estimated, as none were reported" if summary.estimated else ""
    return f", {summary.money:.4f} spent{before}{rough}"


def account_lines(folder: Path, summary: RunSummary) -> list[str]:
    """Return what a run was expected to cost, and what it did; nothing for one that costs nothing."""
    from dodiag.runners.estimate import estimate_text
    from dodiag.runners.ledger import Ledger

    account = summary.account
    with Ledger(folder) as ledger:
        expected = ledger.manifest.get("estimate")
    if expected is None or account is None:
        return []
    parts = [
        f"{account.replies:,} replies",
        f"{account.input:,} tokens in ({account.cached:,} from the cache)",
        f"{account.output:,} out ({account.reasoning:,} reasoning)",
        "price unknown" if account.money is None else f"{account.money:.4f} in money",
    ]
    if account.unreported:
        parts.append(f"tokens of {account.unreported:,} replies not reported")
    if account.broken_off:
        parts.append(f"{account.broken_off:,} requests broken off that may be billed")
    return [f"expected: {estimate_text(expected)}", f"account:  {', '.join(parts)}"]


def console() -> Console:
    """Return a console for standard output, wide enough for the tables when nobody is looking."""
    from rich.console import Console

    return Console() if sys.stdout.isatty() else Console(width=118)


def show(content: RenderableType) -> None:
    """Print something rich."""
    console().print(content, highlight=False)


def announce(line: str, quiet: bool) -> None:
    """Say on standard error what is about to happen."""
    if not quiet:
        typer.echo(line, err=True)


def print_json(value: Any) -> None:
    """Print a value as JSON; a lone surrogate in a model's text, which has no encoding, is written as its escape."""
    text = json.dumps(value, ensure_ascii=False, indent=2, allow_nan=False)
    typer.echo(re.sub("[\ud800-\udfff]", lambda found: f"\\u{ord(found[0]):04x}", text))


def write_text(path: Path, text: str) -> None:
    """Write a text file."""
    from dodiag.problems import UsageError

    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}", "Choose another place.") from None
