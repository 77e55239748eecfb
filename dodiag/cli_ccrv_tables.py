"""What ``dodiag ccrv`` prints: figures and agreement, each with its limits."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import typer

from dodiag.cli_output import print_json

if TYPE_CHECKING:
    from rich.table import Table

    from dodiag.benchmarks.ccrv.scores import Denominator, Figures
    from dodiag.evaluations.ccrv_audit import Audit
    from dodiag.evaluations.ccrv_limits import FigureLimits
    from dodiag.evaluations.ccrv_runs import ItemScores


def print_scores(found: ItemScores, denominator: Denominator, as_json: bool) -> None:
    """Print the figures of a run, each with its limits, and what is missing from them."""
    from dodiag.cli_output import show
    from dodiag.evaluations.ccrv_limits import figure_limits

    rows = found.scores.table(denominator)
    limits = [figure_limits(found.scores, row) for row in rows]
    if as_json:
        names = ("model", "judge", "state", "y2", "missing", "left_out", "notes")
        described = {name: getattr(found, name) for name in names}
        figures = [{**row.to_dict(), **ends.to_dict()} for row, ends in zip(rows, limits, strict=True)]
        print_json({**described, "figures": figures})
        return
    typer.echo(f"{found.model}, causal content {found.state}, labels by {found.judge}, Y2 {found.y2}")
    show(_figure_table(rows, limits))
    typer.echo(f"percent and percentage points; base: DCR without a constraint; denominator {denominator.value}")
    if rows[0].base_n:
        typer.echo(f"{rows[0].base_n:,} answers without a constraint, {rows[0].n:,} with one")
    if limits[0].images > 1:
        typer.echo(f"below each figure its limits at {limits[0].level:.0%}, by image ({limits[0].images:,} images)")
    elif limits[0].images:
        typer.echo("no limits: one image says nothing about others")
    for reason, count in found.missing.items():
        typer.echo(f"{count:,} answers are missing: {reason}")
    overall = rows[0]
    if denominator.value == "fixed" and (overall.missing or overall.base_missing):
        constrained, plain = overall.n + overall.missing, overall.base_n + overall.base_missing
        typer.echo(
            f"missing answers count as 0 here: {overall.missing:,} of {constrained:,} with a constraint,"
            f" {overall.base_missing:,} of {plain:,} without. They are no failures of the model: the limits hold"
            " whatever they would have been. Complete the run or its judging before you compare.",
            err=True,
        )
    if found.left_out:
        typer.echo(f"{found.left_out:,} items of the set are not in the pack, and in no figure", err=True)
    for note, count in found.notes.items():
        typer.echo(f"{count:,} answers: {note}")


_COLUMNS = {
    "base": "base_dcr",
    "DCR": "dcr",
    "L1": "L1",
    "L2": "L2",
    "L3": "L3",
    "CSR": "csr",
    "eDCR": "edcr",
    "CDI": "cdi",
    "eCDI": "ecdi",
}


def _figure_table(rows: list[Figures], limits: list[FigureLimits]) -> Table:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    table = Table(box=SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("X", no_wrap=True)
    table.add_column("Y", no_wrap=True)
    for name in ("n", "missing", *_COLUMNS):
        table.add_column(name, justify="right", no_wrap=True)
    for row, ends in zip(rows, limits, strict=True):
        # Matched figures are averages over pairs alone.
        n = row.pairs if row.denominator == "matched" else row.n
        values = {**row.to_dict(), **dict(zip(("L1", "L2", "L3"), row.levels, strict=True))}
        shown = [_cell(values[name], ends.ends[name]) for name in _COLUMNS.values()]
        table.add_row(row.x.replace("_", " "), row.y, f"{n:,}", f"{row.n + row.missing - n:,}", *shown)
    return table


def _cell(value: float | None, ends: tuple[float, float] | None) -> str:
    """Return a figure in percent, and below it its limits, rounded outwards."""
    if value is None:
        return "–"
    if ends is None:
        return f"{100 * value:.1f}"
    # A hundredth of a point is no reason to widen a limit by a whole one.
    lower, upper = math.floor(100 * ends[0] + 0.01), math.ceil(100 * ends[1] - 0.01)
    return f"{100 * value:.1f}\n{lower}{' to ' if lower < 0 else '–'}{upper}"


def print_audit(found: Audit) -> None:
    """Print how far people agree with each other, and the judge with most of them."""
    for level in found.levels:
        people = level.people
        line = f"{level.level}: {people.unanimous:,} of {people.n:,} unanimous, "
        line += f"Fleiss' kappa {_kappa(people.fleiss, level.fleiss_limits)}"
        if level.same is not None:
            line += f"; judge as most people in {level.same:,} of {level.judged:,}, "
            line += f"Cohen's kappa {_kappa(level.cohen, level.cohen_limits)}"
        typer.echo(line)
    if found.people_dcr is not None and found.judge_dcr is not None:
        ours = f"people {100 * found.people_dcr:.1f} {_points(found.people_dcr_limits)}"
        theirs = f"judge {found.judge} {100 * found.judge_dcr:.1f} {_points(found.judge_dcr_limits)}"
        typer.echo(f"DCR: {ours}, {theirs}; {found.answers:,} answers to {found.instances:,} pictures")
    typer.echo("in brackets limits at 95 % by picture")


def _kappa(value: float | None, ends: tuple[float, float] | None) -> str:
    if value is None:
        return "undefined"
    return f"{value:.3f} " + ("[no limits]" if ends is None else f"[{ends[0]:.2f}, {ends[1]:.2f}]")


def _points(ends: tuple[float, float] | None) -> str:
    return "[no limits]" if ends is None else f"[{100 * ends[0]:.0f} to {100 * ends[1]:.0f}]"
