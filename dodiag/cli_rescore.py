"""The command that reads stored replies again and judges what only a judge can score."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dodiag.cli_options import JsonFlag

if TYPE_CHECKING:
    from dodiag.runners.judging.agreement import Agreement
    from dodiag.runners.rescoring import Rescored

SHORT_HELP = "Read stored replies again, and judge free texts, without repeating a call."
EXAMPLES = (
    "dodiag rescore runs/local",
    "dodiag rescore runs/local --judge openai/NAME --judge-base-url http://127.0.0.1:8000/v1",
    "dodiag rescore runs/local --agreement --labels labels.csv",
    "dodiag rescore runs/local --dry-run",
)


def rescore(
    run_dir: Annotated[Path, typer.Argument(help="A run directory.")],
    judge: Annotated[str | None, typer.Option("--judge", help="The model that judges free texts.")] = None,
    judge_base_url: Annotated[str | None, typer.Option("--judge-base-url", help="Its server.")] = None,
    judge_key: Annotated[
        str, typer.Option("--judge-key-env", help="Environment variable with its API key.")
    ] = "OPENAI_API_KEY",
    mismatch: Annotated[
        bool, typer.Option("--mismatch", help="Judge also replies in which no allowed answer was found.")
    ] = False,
    pack: Annotated[Path | None, typer.Option("--pack", help="Where the task pack is now, if it has moved.")] = None,
    concurrency: Annotated[int, typer.Option("--concurrency", help="Judge's calls in flight at once.")] = 16,
    max_retries: Annotated[int, typer.Option("--max-retries", help="Retries of a transient failure.")] = 4,
    timeout: Annotated[float, typer.Option("--timeout", help="Seconds one request may take.")] = 300.0,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Change nothing and ask nobody.")] = False,
    agreement: Annotated[
        bool, typer.Option("--agreement", help="Compare exact reading, judges and labels of the free texts.")
    ] = False,
    labels: Annotated[
        Path | None,
        typer.Option("--labels", help="CSV of a person's labels: instance, question, configuration, draw, label."),
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Read every stored reply again with the present reader, apply stored verdicts, and judge what is still unscored.

    No reply is asked for again. A verdict is stored with its own key, so that doing it twice costs nothing, and another
    judge is asked only about what needs one.
    """
    from dodiag.cli_output import EXIT_INCOMPLETE, print_json
    from dodiag.problems import UsageError
    from dodiag.runners.rescoring import rescore as rescored

    if judge is None and (judge_base_url or mismatch):
        raise UsageError("there is no judge", "Name one with --judge.")
    found = rescored(
        run_dir,
        judge,
        pack=pack,
        base_url=judge_base_url,
        key_variable=judge_key,
        timeout=timeout,
        concurrency=concurrency,
        max_retries=max_retries,
        mismatch=mismatch,
        dry_run=dry_run,
    )
    compared = _agreement(run_dir, labels, pack) if agreement or labels else None
    if as_json:
        print_json({**found.to_dict(), **({} if compared is None else {"agreement": compared.to_dict()})})
    else:
        _print(found, dry_run)
        if compared is not None:
            _print_agreement(compared)
    if found.stopped:
        typer.echo(f"judging stopped: {found.stopped}. The same command goes on.", err=True)
        raise typer.Exit(EXIT_INCOMPLETE)


def _print(found: Rescored, dry_run: bool) -> None:
    would = "would change" if dry_run else "changed"
    typer.echo(f"{found.calls:,} replies read, {found.judged:,} answers judged, {found.changed:,} calls {would}")
    for (old, new), count in sorted(found.outcomes.items()):
        typer.echo(f"  {count:,} from {old} to {new}" if old != new else f"  {count:,} read otherwise, still {old}")
    if found.units:
        typer.echo("  in " + ", ".join(f"{unit} ({count:,})" for unit, count in sorted(found.units.items())))
    if found.unscored:
        typer.echo(f"{found.unscored:,} answers still wait for a verdict; name a judge with --judge")


def _agreement(run_dir: Path, labels: Path | None, pack: Path | None) -> Agreement:
    from dodiag.runners.judging.agreement import agreement

    return agreement(run_dir, labels, pack)


def _print_agreement(found: Agreement) -> None:
    for pair in found.pairs:
        kappa = pair.reason if pair.kappa is None else f"Cohen's kappa {pair.kappa:.2f}"
        same = sum(count for (a, b), count in pair.counts.items() if a == b)
        typer.echo(f"{pair.first} and {pair.second}: {kappa}; same label for {same:,} of {pair.n:,} answers")
    if found.fleiss is not None:
        rated = f"{found.fleiss_n:,} answers with {found.fleiss_raters} labels each"
        typer.echo(f"all raters: Fleiss' kappa {found.fleiss:.2f} over {rated}")
