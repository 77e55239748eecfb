"""The command that compares two runs, or two models of one table, on the same questions."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dodiag.cli_options import JsonFlag, TaskOption

if TYPE_CHECKING:
    import pandas as pd

SHORT_HELP = "Compare two runs, or two models of a table, on the same questions."
EXAMPLES = (
    "dodiag compare runs/before runs/after",
    "dodiag compare table.parquet --model A --model B",
    "dodiag compare runs/before runs/after --list",
    "dodiag compare runs/before runs/after --json",
)


def compare(
    sources: Annotated[list[Path], typer.Argument(help="Two run directories or outcome tables, or one table.")],
    model: Annotated[
        list[str] | None,
        typer.Option("--model", help="The models to compare, in order; twice. Default: the two found."),
    ] = None,
    task: TaskOption = None,
    level: Annotated[float, typer.Option("--level", help="Two-sided confidence level.")] = 0.95,
    listed: Annotated[bool, typer.Option("--list", help="List the calls that only one of them solved.")] = False,
    as_json: JsonFlag = False,
) -> None:
    """Compare capabilities and scores of two models, paired by question: the difficulty of instances cancels.

    With --json, standard output is the list of differences; with --list and --json, the calls that only one solved.
    """
    from dodiag.bounds.model_differences import model_differences
    from dodiag.cli_output import print_json, show, tasks_of
    from dodiag.problems import UsageError
    from dodiag.report.comparison_tables import changes_between, comparison_report

    if len(sources) > 2:
        raise UsageError(f"{len(sources)} sources are named", "Name two runs, or one table.")
    table, (first, second) = _both(sources, model)
    described = next((source for source in sources if source.is_dir()), sources[0])
    rows: list[dict[str, Any]] = []
    for graph in tasks_of(described, table, task):
        found = model_differences(table, graph, first, second, level=level)
        changes = changes_between(table, graph, first, second)
        sides = (("A", first, changes.first_only), ("B", second, changes.second_only))
        if as_json and listed:
            for _, model_name, calls in sides:
                rows += [{"task": graph.name, "solved_by": model_name, **call.to_dict()} for call in calls]
        elif as_json:
            rows += [row.to_dict() for row in found]
        else:
            show(comparison_report(found, changes, graph, first, second, level))
            if listed:
                for letter, _, calls in sides:
                    for call in calls:
                        typer.echo(f"only {letter}  {call.text}")
    if as_json:
        print_json(rows)


def _both(sources: list[Path], models: list[str] | None) -> tuple[pd.DataFrame, tuple[str, str]]:
    """Return one table of both sides, and what they are called in it."""
    import pandas as pd

    from dodiag.problems import UsageError
    from dodiag.runners.outcomes import read_outcomes

    tables = [read_outcomes(source) for source in sources]
    if len(sources) == 2:
        _refuse_unlike(sources)
        _refuse_other_tasks(sources, tables)
    names = [list(dict.fromkeys(table["model"])) for table in tables]
    if len(tables) == 1:
        wanted = models or names[0]
        if len(wanted) != 2:
            found = ", ".join(map(str, names[0])) or "none"
            raise UsageError(
                f"two models are compared, not {len(wanted)}", f"Name two with --model; there are: {found}."
            )
        return tables[0], (wanted[0], wanted[1])
    for source, of_source in zip(sources, names, strict=True):
        if len(of_source) != 1 and not models:
            raise UsageError(f"{source} has {len(of_source)} models", "Name one for each source with --model.")
    wanted = models or [of_source[0] for of_source in names]
    if len(wanted) != 2:
        raise UsageError(f"{len(wanted)} models are named for two sources", "Name one for each with --model.")
    chosen = [table[table["model"] == name] for table, name in zip(tables, wanted, strict=True)]
    for source, name, part in zip(sources, wanted, chosen, strict=True):
        if part.empty:
            raise UsageError(f"{source} has no outcome of model '{name}'", "dodiag scores SOURCE names its models.")
    labels = (
        list(wanted) if wanted[0] != wanted[1] else [f"{name} ({s})" for name, s in zip(wanted, sources, strict=True)]
    )
    if wanted[0] == wanted[1] and sources[0].resolve() == sources[1].resolve():
        raise UsageError(f"{sources[0]} is compared with itself", "Name two runs.")
    tagged = [part.assign(model=label) for part, label in zip(chosen, labels, strict=True)]
    return pd.concat(tagged, ignore_index=True), (labels[0], labels[1])


def _refuse_unlike(sources: list[Path]) -> None:
    """Two runs of other tasks or packs asked other questions under the same ids."""
    from dodiag.problems import UsageError
    from dodiag.runners.ledger import Ledger

    if not all(source.is_dir() for source in sources):
        return
    manifests = []
    for source in sources:
        with Ledger(source) as ledger:
            manifests.append(ledger.manifest)
    one, other = manifests
    if one["task"] != other["task"]:
        raise UsageError(f"the runs are of other tasks, {one['task']} and {other['task']}", "Compare runs of one task.")
    if one["pack"]["digest"] != other["pack"]["digest"]:
        raise UsageError("the runs are of packs with other content", "Compare runs of one pack.")


def _refuse_other_tasks(sources: list[Path], tables: list[pd.DataFrame]) -> None:
    """Tables of other tasks share no question, whatever their ids are."""
    from dodiag.problems import UsageError

    one, other = (list(dict.fromkeys(map(str, table["task"]))) for table in tables)
    for source, tasks in zip(sources, (one, other), strict=True):
        if not tasks:
            raise UsageError(f"{source} has no outcome", "Name a run or table with at least one row.")
    if set(one) != set(other):
        told = f"{', '.join(one)} and {', '.join(other)}"
        raise UsageError(f"the sources are of other tasks, {told}", "Compare outcomes of one task.")
