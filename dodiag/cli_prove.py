"""The command that checks the theorems by machine: what it takes and what it prints."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dodiag.cli_options import JsonFlag

if TYPE_CHECKING:
    from rich.console import Group
    from rich.table import Table

    from dodiag.proofs.prove import Result
    from dodiag.proofs.statement import Method, Statement

EXIT_UNEXPECTED = 1
"""A verdict is not the one that must come out."""

SHORT_HELP = "Check the theorems behind the scores and bounds by machine."
EXAMPLES = (
    "dodiag prove",
    "dodiag prove A.3 A.4 --details",
    "dodiag prove --method smt --json",
    "dodiag prove --export-smtlib claims/",
)


def prove(
    name: Annotated[
        list[str] | None,
        typer.Argument(metavar="[NAME]...", help="Statements, such as A.3/grid, or groups, such as A.3. Default: all."),
    ] = None,
    method: Annotated[
        list[str] | None,
        typer.Option("--method", help="linear, count, smt or coq; may be repeated. Default: all that can run here."),
    ] = None,
    details: Annotated[
        bool, typer.Option("--details", help="Show what is given, and the example or counterexample found.")
    ] = False,
    list_only: Annotated[bool, typer.Option("--list", help="Show the statements without checking them.")] = False,
    export_smtlib: Annotated[
        Path | None,
        typer.Option(
            "--export-smtlib", metavar="DIR", help="Write the smt claims for another solver, and check nothing."
        ),
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Check the theorems behind the scores and bounds by machine.

    Every statement has a verdict that must come out: theorems are proved; mutants, and theorems with an assumption
    taken away, are refuted by an exact counterexample. Exit code 1 if any verdict is another one, or unknown.
    """
    from dodiag.cli_output import print_json, show
    from dodiag.proofs import prove as proving

    methods = parsed_methods(method)
    if export_smtlib is not None:
        export_claims(export_smtlib, name)
        return
    if list_only:
        listed = proving.statements(methods, name or None)
        if as_json:
            print_json([proving.described(statement) for statement in listed])
        else:
            show(statement_table(listed))
        return
    live = sys.stderr.isatty()

    def progress(number: int, count: int, statement: Statement) -> None:
        if live:
            typer.echo(f"\r\033[K{number}/{count} {statement.name}", err=True, nl=False)

    try:
        results = proving.prove(methods, name or None, progress)
    finally:
        if live:
            typer.echo("\r\033[K", err=True, nl=False)
    if as_json:
        print_json([result.to_dict() for result in results])
    else:
        show(result_table(results, details))
        typer.echo(summary(results))
    wrong = [result for result in results if result.as_expected is False]
    for result in wrong:
        must = f"it must be {result.statement.expected}"
        typer.echo(f"{result.statement.name}: {result.verdict}, but {must}: {result.detail}", err=True)
    if wrong:
        raise typer.Exit(EXIT_UNEXPECTED)


def parsed_methods(names: Sequence[str] | None) -> list[Method] | None:
    """Return methods from their names on the command line."""
    from dodiag.problems import UsageError, nearest
    from dodiag.proofs.statement import Method

    if not names:
        return None
    known = {method.name.lower(): method for method in Method}
    for name in names:
        if name not in known:
            raise UsageError(f"method '{name}' is unknown", nearest(name, known))
    return [known[name] for name in names]


def export_claims(folder: Path, names: Sequence[str] | None) -> None:
    """Write the claims of some names for another solver."""
    from dodiag.proofs import smt
    from dodiag.proofs.prove import statements
    from dodiag.proofs.statement import Method

    chosen = {statement.name for statement in statements([Method.SMT], names or None)}
    written = smt.export_smtlib(folder, [claim for claim in smt.CLAIMS if claim.name in chosen])
    typer.echo(f"wrote {len(written)} claim{'s' if len(written) > 1 else ''} to {folder}")


def new_table() -> Table:
    """Return an empty table in which long goals wrap and everything else does not."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    table.add_column("statement", ratio=1, overflow="fold")
    table.add_column("method", no_wrap=True)
    return table


def cell(statement: Statement, *further: str) -> Group:
    """Return name, goal and further lines of a statement, wrapped one by one."""
    from rich.console import Group
    from rich.padding import Padding
    from rich.text import Text

    lines = [Padding(Text(line), (0, 0, 0, 2)) for line in (statement.goal, *further)]
    return Group(Text(statement.name, style="bold"), *lines)


def statement_table(statements: Sequence[Statement]) -> Table:
    """Return a table of statements that were not checked."""
    table = new_table()
    table.add_column("must be", no_wrap=True)
    for statement in statements:
        table.add_row(cell(statement), statement.method.name.lower(), statement.expected.value)
    return table


def result_table(results: Sequence[Result], details: bool = False) -> Table:
    """Return a table of what came of statements, with hypotheses and findings if details are wanted."""
    table = new_table()
    table.add_column("verdict", no_wrap=True)
    table.add_column("ms", justify="right", no_wrap=True)
    for result in results:
        statement = result.statement
        further = []
        if details:
            further = [f"given: {'; '.join(statement.hypotheses) or 'nothing'}", f"source: {statement.source}"]
        if details or result.as_expected is False:
            further.append(f"found: {result.detail}")
        table.add_row(
            cell(statement, *further),
            statement.method.name.lower(),
            verdict_text(result),
            f"{result.seconds * 1000:,.0f}" if result.ran else "",
        )
    return table


def verdict_text(result: Result) -> str:
    """Return a verdict, marked where it is not the one that must come out."""
    if result.verdict is None:
        return "not run"
    return result.verdict.value if result.as_expected else f"{result.verdict.value} (!)"


def summary(results: Sequence[Result]) -> str:
    """Return lines that count the verdicts, name what was not run, and say whether all is as it must be."""
    ran = [result for result in results if result.ran]
    counts = Counter(result.verdict.value for result in ran if result.verdict is not None)
    wrong = sum(not result.as_expected for result in ran)
    told = ", ".join(f"{count} {verdict}" for verdict, count in counts.items()) or "none"
    seconds = sum(result.seconds for result in ran)
    judged = "all as they must be" if not wrong else f"{wrong} NOT as it must be"
    lines = [f"{len(ran)} {noun(len(ran))} checked in {seconds:.1f} s: {told}; {judged}"]
    skipped = Counter((r.statement.method.name.lower(), r.detail) for r in results if not r.ran)
    lines += [f"{count} {method} {noun(count)} {detail}" for (method, detail), count in skipped.items()]
    return "\n".join(lines)


def noun(count: int) -> str:
    """Return the word for so many statements."""
    return "statement" if count == 1 else "statements"
