"""The commands that put partial runs together, and take a ledger out and back."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

MERGE_HELP = "Make one run of several partial runs of the same plan and model."
MERGE_EXAMPLES = (
    "dodiag merge runs/part1 runs/part2 --out runs/whole",
    "dodiag merge runs/damaged --out runs/saved",
)
EXPORT_HELP = "Write a run's ledger as Parquet or JSON lines."
EXPORT_EXAMPLES = ("dodiag export runs/first --to exported/", "dodiag export runs/first --to lines/ --format jsonl")
RESTORE_HELP = "Make a run directory of an exported ledger."
RESTORE_EXAMPLES = ("dodiag restore exported/ --out runs/again",)
VACUUM_HELP = "Give unused space of a run's ledger back to the disk."
VACUUM_EXAMPLES = ("dodiag vacuum runs/first",)


def merge(
    runs: Annotated[list[Path], typer.Argument(help="Two or more run directories; one, if its ledger is damaged.")],
    out: Annotated[Path, typer.Option("--out", help="The new run directory.")],
) -> None:
    """Make one run of several partial runs of the same plan and model. The parts are left as they are.

    Of a ledger that is damaged, what can be read whole is taken.
    """
    from dodiag.runners.transfer import merge as merged

    found = merged(runs, out)
    typer.echo(f"wrote {out}: {found.replies:,} replies, {found.calls:,} calls answered")
    for folder in found.damaged:
        typer.echo(f"{folder} is damaged; what could be read whole was taken, resume sends the rest again", err=True)
    if found.conflicts:
        typer.echo(f"{found.conflicts:,} requests were sampled twice; the reply of the run named first stands")


def export(
    run_dir: Annotated[Path, typer.Argument(help="A run directory.")],
    to: Annotated[Path, typer.Option("--to", help="A new folder.")],
    form: Annotated[str, typer.Option("--format", help="parquet or jsonl.")] = "parquet",
) -> None:
    """Write every reply, call, failure and verdict of a run as Parquet or JSON lines, and its manifest as JSON.

    In Parquet, a column of text is UTF-8 bytes where one of its texts is not valid Unicode.
    """
    from dodiag.runners.transfer import export as exported

    counts = exported(run_dir, to, form)
    typer.echo(f"wrote {to}: " + ", ".join(f"{count:,} {table}" for table, count in counts.items()))


def restore(
    folder: Annotated[Path, typer.Argument(help="A folder that dodiag export wrote.")],
    out: Annotated[Path, typer.Option("--out", help="The new run directory.")],
) -> None:
    """Make a run directory of an exported ledger: it scores and resumes as the run did."""
    from dodiag.runners.transfer import restore as restored

    counts = restored(folder, out)
    typer.echo(f"wrote {out}: " + ", ".join(f"{count:,} {table}" for table, count in counts.items()))


def vacuum(run_dir: Annotated[Path, typer.Argument(help="A run directory in which nothing is running.")]) -> None:
    """Give unused space of a run's ledger back to the disk. No row is removed.

    Runs store no pictures, only hashes of what was sent.
    """
    from dodiag.runners.transfer import vacuum as vacuumed

    before, after = vacuumed(run_dir)
    typer.echo(f"{run_dir}: {before:,} bytes before, {after:,} now")
