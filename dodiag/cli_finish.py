"""How a run ends on the command line: the report, the files, the account, and the exit code."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from dodiag.cli_output import (
    EXIT_INCOMPLETE,
    EXIT_INTERRUPTED,
    say_what_the_model_is,
    scores_of,
    show_report,
    write_text,
)
from dodiag.cli_report import page_of

if TYPE_CHECKING:
    from dodiag.runners.runner import RunSummary


def finish(folder: Path, summary: RunSummary) -> None:
    """Print what a run came to, write its tables, and end with the exit code that says so."""
    from dodiag.bounds.scores import Scores
    from dodiag.runners.outcomes import outcomes
    from dodiag.runners.session import task_of_run

    table, task = outcomes(folder), task_of_run(folder)
    written = [f"{folder / 'ledger.sqlite'} (every reply)"]
    if len(table):
        say_what_the_model_is(folder)
        found = scores_of(table, task, None, 0.10)
        show_report(table, task, *found)
        table.to_parquet(folder / "outcomes.parquet", index=False)
        Scores((*found[0], *found[1].scores)).to_frame().to_csv(folder / "scores.csv", index=False)
        write_text(folder / "report.html", page_of(folder, table, task, *found))
        written += ["outcomes.parquet", "scores.csv", "report.html (open it in a browser)"]
    spent = money_line(summary)
    typer.echo(
        f"{summary.answered:,} calls answered in {summary.seconds:.1f} s, {summary.reused:,} from before,"
        f" {summary.failed:,} failed, {summary.planned:,} planned{spent}"
    )
    for line in account_lines(folder, summary):
        typer.echo(line)
    typer.echo(f"written: {', '.join(written)}")
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
