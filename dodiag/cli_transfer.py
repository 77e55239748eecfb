"""The commands that put partial runs together, and take a ledger out and back."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

MERGE_HELP = "Make one run of several partial runs of the same plan and model."
MERGE_EXAMPLES = ("dodiag merge runs/part1 runs/part2 --out runs/whole",)
EXPORT_HELP = "Write a run's ledger as Parquet files."
EXPORT_EXAMPLES = ("dodiag export runs/first --to exported/",)
RESTORE_HELP = "Make a run directory of an exported ledger."
RESTORE_EXAMPLES = ("dodiag restore exported/ --out runs/again",)


def merge(
    runs: Annotated[list[Path], typer.Argument(help="Two or more run directories.")],
    out: Annotated[Path, typer.Option("--out", help="The new run directory.")],
) -> None:
    """Make one run of several partial runs of the same plan and model. The parts are left as they are."""
    from dodiag.runners.transfer import merge as merged

    found = merged(runs, out)
    typer.echo(f"wrote {out}: {found.replies:,} replies, {found.calls:,} calls answered")
    if found.conflicts:
        typer.echo(f"{found.conflicts:,} requests were sampled twice; the reply of the run named first stands")


def export(
    run_dir: Annotated[Path, typer.Argument(help="A run directory.")],
    to: Annotated[Path, typer.Option("--to", help="A new folder.")],
) -> None:
    """Write every reply, call, failure and verdict of a run as Parquet, and its manifest as JSON.

    Text columns are UTF-8 bytes, since a model's text need not be valid Unicode.
    """
    from dodiag.runners.transfer import export as exported

    counts = exported(run_dir, to)
    typer.echo(f"wrote {to}: " + ", ".join(f"{count:,} {table}" for table, count in counts.items()))


def restore(
    folder: Annotated[Path, typer.Argument(help="A folder that dodiag export wrote.")],
    out: Annotated[Path, typer.Option("--out", help="The new run directory.")],
) -> None:
    """Make a run directory of an exported ledger: it scores and resumes as the run did."""
    from dodiag.runners.transfer import restore as restored

    counts = restored(folder, out)
    typer.echo(f"wrote {out}: " + ", ".join(f"{count:,} {table}" for table, count in counts.items()))
