"""``dodiag generate``: fresh task packs whose truth is known."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from dodiag.cli_options import QuietFlag, parsed_pairs
from dodiag.cli_output import EXIT_INTERRUPTED

SHORT_HELP = "Generate a task pack whose truth is known."
EXAMPLES = (
    "dodiag generate dice_sum --instances 130 --seed 1 --out packs/dice",
    "dodiag generate dice_sum --knob fewest=8 --knob most=9 --out packs/hard",
    "dodiag generate all --out packs/cadet",
)
ALL = "all"


def generate(
    task: Annotated[str, typer.Argument(help="A task that has a generator, such as dice_sum, or all of them.")],
    out: Annotated[
        Path, typer.Option("--out", help="The folder to write, new or empty; with all, one in it for each task.")
    ],
    instances: Annotated[int | None, typer.Option("--instances", help="Default: the paper's number.")] = None,
    seed: Annotated[int, typer.Option("--seed", help="The same seed gives the same pack.")] = 0,
    knob: Annotated[
        list[str] | None,
        typer.Option("--knob", metavar="NAME=VALUE", help="What makes the task easier or harder; see its page."),
    ] = None,
    workers: Annotated[int | None, typer.Option("--workers", help="Processes. Default: one for each core.")] = None,
    quiet: QuietFlag = False,
) -> None:
    """Generate a fresh task pack whose truth is known by construction.

    Ctrl-C keeps what is finished, and the same command goes on from there. With all, packs that are there already are
    left as they are (those that another command made are named), and tasks whose libraries are missing are left out and
    named.
    """
    from dodiag.benchmarks.generators import GENERATORS, Order
    from dodiag.benchmarks.making import is_pack_of
    from dodiag.problems import MissingDependency, UsageError

    knobs = parsed_pairs(knob, "--knob")
    processes = os.cpu_count() or 1 if workers is None else workers
    if task != ALL:
        _one(task, out, instances, seed, knobs, processes, quiet)
        return
    if knobs:
        raise UsageError("--knob is given for all tasks", "Each task has knobs of its own; generate them one by one.")
    missing, others = [], []
    for slug in GENERATORS:
        if (out / slug / "task.yaml").is_file():
            if is_pack_of(Order(slug, instances, seed), out / slug):
                typer.echo(f"{out / slug} is there already")
            else:
                typer.echo(f"{out / slug} is another pack than this command makes", err=True)
                others.append(slug)
            continue
        try:
            _one(slug, out / slug, instances, seed, knobs, processes, quiet)
        except MissingDependency as error:
            typer.echo(f"left out {slug}: {error}", err=True)
            missing.append(slug)
    if others:
        cure = "They are left as they are. Name another folder for --out."
        raise UsageError(f"{len(others)} packs were there that another command made: {', '.join(others)}", cure)
    if missing:
        cure = "Install what is missing; the same command then makes these alone."
        raise MissingDependency(f"{len(missing)} tasks could not be made: {', '.join(missing)}", cure)


def _one(
    task: str,
    out: Path,
    instances: int | None,
    seed: int,
    knobs: dict[str, object],
    workers: int,
    quiet: bool,
) -> None:
    from dodiag.api import generate as generate_pack
    from dodiag.benchmarks.making import staging_folder

    live = sys.stderr.isatty() and not quiet

    def progress(count: int) -> None:
        if live:
            typer.echo(f"\r\033[K{task}: {count} instances", err=True, nl=False)

    try:
        pack = generate_pack(task, out, instances=instances, seed=seed, knobs=knobs, workers=workers, progress=progress)
    except KeyboardInterrupt:
        staged = staging_folder(out)
        kept = f"{staged} keeps what is finished: the same command goes on"
        typer.echo(f"\ninterrupted; {kept if staged.exists() else 'nothing was finished'}", err=True)
        raise typer.Exit(EXIT_INTERRUPTED) from None
    if live:
        typer.echo("", err=True)
    typer.echo(f"wrote {out}: {pack.instance_count:,} instances, {pack.question_count:,} questions")
