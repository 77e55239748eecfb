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


def scores_of(
    table: Any, task: TaskGraph, contrast: list[str] | None, min_denominator: float, level: float = 0.95
) -> tuple[Any, Any]:
    """Return capabilities and diagnosis of a task."""
    from dodiag.bounds.diagnosis import diagnose
    from dodiag.bounds.scores import capabilities

    return capabilities(table, task), diagnose(table, task, contrast, level=level, min_denominator=min_denominator)


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
