"""``dodiag mmcot``: read, export, make, score and diagnose MM-CoT sets."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dodiag.cli_options import JsonFlag
from dodiag.cli_output import examples, print_json

if TYPE_CHECKING:
    from rich.table import Table

    from dodiag.benchmarks.mmcot.image_scores import Denominator, ImageScores
    from dodiag.benchmarks.mmcot.video_scores import VideoScores
    from dodiag.bounds.limits import Proportion
    from dodiag.evaluations.mmcot_axes import AxisDiagnosis
    from dodiag.evaluations.mmcot_runs import RunScores

SHORT_HELP = "MM-CoT: chains of cause and effect about pictures and videos, among distractors."

app = typer.Typer(
    name="mmcot",
    no_args_is_help=True,
    rich_markup_mode=None,
    help="""Read, export, make, score and diagnose MM-CoT sets.

    \b
    The published set:   mmcot check, mmcot export, dodiag run, mmcot score
    A first try:         mmcot samples, and then as the published set
    Labelled, over dice: mmcot dice (or dodiag generate mmcot_dice), dodiag run, mmcot axes, dodiag scores
    """,
)

SetFile = Annotated[Path, typer.Argument(help="A file of picture items or of video items.")]
OutFolder = Annotated[Path, typer.Option("--out", help="The folder to write, new or empty.")]
RunFolder = Annotated[Path, typer.Argument(help="A run directory.")]
PackOption = Annotated[Path | None, typer.Option("--pack", help="Where the task pack is now, if it has moved.")]
StateOfSteps = Annotated[
    str, typer.Option("--state", help="Of the steps before the whole answer: n, 1, 0, or such as B=1,C=n.")
]
DrawOption = Annotated[int, typer.Option("--draw", help="Which repetition.")]


@app.command(
    short_help="Check a set's file, and report what is odd in it.",
    epilog=examples(
        "dodiag mmcot check img_data_5615.json", "dodiag mmcot check videos.json --media videos/ --details"
    ),
)
def check(
    file: SetFile,
    media: Annotated[Path | None, typer.Option("--media", help="The folder of the pictures or videos.")] = None,
    details: Annotated[bool, typer.Option("--details", help="List every finding, not only the counts.")] = False,
    as_json: JsonFlag = False,
) -> None:
    """Check a set's file, and report what is odd in it without being an error."""
    from dodiag.benchmarks.mmcot.data import ImageSet
    from dodiag.benchmarks.mmcot.inspection import KINDS, counts, inspect
    from dodiag.benchmarks.mmcot.loader import load_set
    from dodiag.benchmarks.mmcot.media import find_media

    dataset = load_set(file)
    kind = "picture" if isinstance(dataset, ImageSet) else "video"
    found = inspect(dataset)
    there = None if media is None else find_media(dataset, media)
    if as_json:
        rows = [{"kind": f.kind, "where": f.where, "detail": f.detail} for f in found]
        missing = None if there is None else list(there.missing)
        print_json({"about": kind, "items": len(dataset.items), "media_missing": missing, "findings": rows})
        return
    typer.echo(f"{len(dataset.items):,} {kind} items: no problems")
    if there is not None:
        typer.echo(f"{len(there.found):,} {kind}s found, {len(there.missing):,} missing")
    for name, count in counts(found).items():
        typer.echo(f"{count:>6,}  {KINDS[name]}")
    if details:
        for finding in found:
            typer.echo(str(finding))


@app.command(
    short_help="Write a few items of our own in the released formats, with their media.",
    epilog=examples(
        "dodiag mmcot samples --out mmcot", "dodiag mmcot export mmcot/images.json --media mmcot --out pack"
    ),
)
def samples(out: OutFolder) -> None:
    """Write a few items of our own in the released formats, with their media."""
    from dodiag.benchmarks.mmcot.sample_files import IMAGES, VIDEOS, write_samples

    pictures, videos = write_samples(out)
    typer.echo(f"wrote {out}: {pictures} picture items in {IMAGES}, {videos} video items in {VIDEOS}, media/")


@app.command(
    short_help="Write a set as a task pack.",
    epilog=examples(
        "dodiag mmcot export img_data_5615.json --media flickr30k/ --out packs/mmcot",
        "dodiag mmcot export video_data_2100.json --text-only --out packs/blind",
        "dodiag run packs/mmcot --quick --model openai/NAME --base-url http://127.0.0.1:8000/v1 --out runs/mmcot",
    ),
)
def export(
    file: SetFile,
    out: OutFolder,
    media: Annotated[Path | None, typer.Option("--media", help="The folder of the pictures or videos.")] = None,
    text_only: Annotated[
        bool, typer.Option("--text-only", help="Write no media: the text-only control, where there are none.")
    ] = False,
    skip_missing: Annotated[
        bool, typer.Option("--skip-missing", help="Leave out items whose medium is missing, instead of refusing.")
    ] = False,
    shuffle: Annotated[
        int | None,
        typer.Option("--shuffle", min=0, help="Seed of a new order of B and C, for picture sets never shuffled."),
    ] = None,
) -> None:
    """Write a set as a task pack, for dodiag run.

    The question T is the benchmark as published; the other units ask for its steps. What a pack cannot ask is left out
    and listed.
    """
    from dodiag.benchmarks.mmcot.loader import load_set
    from dodiag.benchmarks.mmcot.media import find_media
    from dodiag.benchmarks.mmcot.packs import export_set
    from dodiag.problems import UsageError

    if (media is None) != text_only:
        raise UsageError("the media are not settled", "Give either --media or --text-only.")
    dataset = load_set(file)
    found = None if media is None else find_media(dataset, media)
    written = export_set(dataset, out, found, skip_missing=skip_missing, shuffle=shuffle)
    typer.echo(f"wrote {out}: {written.instances:,} instances, {written.questions:,} questions")
    for left in written.left_out:
        typer.echo(f"left out {left.where}: {left.reason}", err=True)


@app.command(
    short_help="Write chains with labelled distractors over the pictures of a dice_sum pack.",
    epilog=examples(
        "dodiag mmcot dice --out packs/chains", "dodiag mmcot dice --pack packs/dice --visual 3 --logical 1 --out p"
    ),
)
def dice(
    out: OutFolder,
    pack: Annotated[
        str, typer.Option("--pack", help="A dice_sum pack; default the one that comes with the package.")
    ] = "dice_sum",
    visual: Annotated[int, typer.Option("--visual", help="Visual distractors.")] = 2,
    logical: Annotated[int, typer.Option("--logical", help="Logical distractors.")] = 2,
    poses: Annotated[bool, typer.Option("--poses", help="Tell each die's pose, for action misperceptions.")] = False,
    seed: Annotated[int, typer.Option("--seed", help="Of chains and order.")] = 0,
) -> None:
    """Write chains with labelled distractors over the pictures of a dice_sum pack; fresh scenes: dodiag generate.

    Scenes with too few dice for the distractors are left out and counted.
    """
    from dodiag.benchmarks.mmcot.dice_chains import Recipe
    from dodiag.benchmarks.mmcot.dice_questions import export_chains
    from dodiag.opening import open_pack

    written = export_chains(open_pack(pack), out, Recipe(visual, logical, poses), seed)
    typer.echo(f"wrote {out}: {written.instances:,} instances, {written.questions:,} questions")
    if written.left_out:
        typer.echo(f"left out {len(written.left_out):,} scenes: {written.left_out[0].reason}", err=True)


@app.command(
    short_help="Print the benchmark's figures of a run or of a released result file.",
    epilog=examples(
        "dodiag mmcot score runs/mmcot",
        "dodiag mmcot score runs/mmcot --state 1",
        "dodiag mmcot score runs/mmcot --reading lenient --out table.csv",
        "dodiag mmcot score --results result.jsonl --set img_data_5615.json --denominator fixed",
    ),
)
def score(
    run_dir: Annotated[Path | None, typer.Argument(help="A run directory.")] = None,
    state: Annotated[
        str | None,
        typer.Option("--state", help="Of the steps before the whole answer: n (default), 1, 0, or such as B=1,C=n."),
    ] = None,
    denominator: Annotated[
        str | None,
        typer.Option("--denominator", help="released, available or fixed; default available, for --results released."),
    ] = None,
    draw: Annotated[int | None, typer.Option("--draw", help="Which repetition; default 0.")] = None,
    reading: Annotated[str | None, typer.Option("--reading", help="With --out: strict (default) or lenient.")] = None,
    out: Annotated[Path | None, typer.Option("--out", help="Write an outcome table (CSV) for dodiag scores.")] = None,
    results: Annotated[Path | None, typer.Option("--results", help="A result file of the released scripts.")] = None,
    dataset: Annotated[Path | None, typer.Option("--set", help="The set of that result file.")] = None,
    pack: PackOption = None,
    as_json: JsonFlag = False,
) -> None:
    """Print the benchmark's figures from stored replies; no call is made. Strict is as released."""
    from dodiag.benchmarks.mmcot.image_scores import Denominator
    from dodiag.benchmarks.mmcot.loader import load_set
    from dodiag.evaluations.mmcot_runs import mmcot_outcomes, score_results, score_run
    from dodiag.problems import UsageError

    if (run_dir is None) == (results is None):
        raise UsageError("there is not exactly one thing to score", "Name a run directory, or --results.")
    about_run = {"--state": state, "--draw": draw, "--pack": pack, "--out": out, "--reading": reading}
    if run_dir is None:
        assert results is not None
        _refuse_given(about_run, "--results", "Leave it out; it is about runs.")
        whole = None if dataset is None else load_set(dataset)
        chosen = _denominator(denominator, Denominator.RELEASED)
        _print_scores(score_results(results, dataset=whole, denominator=chosen), as_json)
        return
    _refuse_given({"--set": dataset}, "a run", "Leave it out; a run knows its items.")
    if out is not None:
        printed = {"--state": state, "--draw": draw, "--denominator": denominator, "--json": as_json or None}
        _refuse_given(printed, "--out", "Leave it out; the table has every state and repetition.")
        reading = reading or "strict"
        table = mmcot_outcomes(run_dir, reading, pack=pack)
        try:
            table.to_csv(out, index=False)
        except OSError as error:
            raise UsageError(f"{out} cannot be written: {error.strerror or error}", "Choose another place.") from None
        typer.echo(f"wrote {out}: {len(table):,} rows, whole answers read as {reading}")
        return
    _refuse_given({"--reading": reading}, "no --out", "Leave it out; both readings are printed.")
    chosen = _denominator(denominator, Denominator.AVAILABLE)
    found = score_run(run_dir, state=state or "n", denominator=chosen, draw=draw or 0, pack=pack)
    _print_scores(found, as_json)


@app.command(
    short_help="Tell visual from logical failures, where distractors are labelled.",
    epilog=examples("dodiag mmcot axes runs/chains", "dodiag mmcot axes runs/chains --state A=1 --json"),
)
def axes(
    run_dir: RunFolder,
    state: StateOfSteps = "n",
    draw: DrawOption = 0,
    pack: PackOption = None,
    as_json: JsonFlag = False,
) -> None:
    """Tell visual from logical failures by the distractors that were taken; no call is made."""
    from dodiag.evaluations.mmcot_axes import axes_of_run

    _print_axes(axes_of_run(run_dir, state=state, draw=draw, pack=pack), as_json)


def _refuse_given(options: Mapping[str, object], what: str, cure: str) -> None:
    """Refuse an option that would have no effect."""
    from dodiag.problems import UsageError

    for name, value in options.items():
        if value is not None:
            raise UsageError(f"{name} has no effect with {what}", cure)


def _denominator(name: str | None, default: Denominator) -> Denominator:
    from dodiag.benchmarks.mmcot.image_scores import Denominator
    from dodiag.problems import UsageError, nearest

    if name is None:
        return default
    if name not in set(Denominator):
        raise UsageError(f"there is no denominator '{name}'", nearest(name, list(Denominator)))
    return Denominator(name)


def _print_scores(found: RunScores, as_json: bool) -> None:
    from dodiag.benchmarks.mmcot.video_scores import VideoScores
    from dodiag.cli_output import show

    if as_json:
        print_json(found.to_dict())
        return
    typer.echo(f"{found.model}, {found.configuration}")
    if isinstance(found.strict, VideoScores):
        _print_videos(found.strict)
    else:
        assert found.lenient is not None
        show(_image_table(found.strict, found.lenient))
    typer.echo(f"percent, with limits at 95 % by item; denominator {found.denominator.value}")
    if found.strict.failed or found.strict.absent:
        typer.echo(
            f"{found.strict.failed:,} calls failed and {found.strict.absent:,} items have no answer; they are no"
            " failures of the model",
            err=True,
        )


def _image_table(strict: ImageScores, lenient: ImageScores) -> Table:
    from dodiag.evaluations.mmcot_limits import image_figures

    table = _table("figure", "n", "strict, as released", "lenient")
    read_leniently = image_figures(lenient)
    for name, share in image_figures(strict).items():
        n = 0 if share is None else share.n
        table.add_row(name, f"{n:,}", _with_limits(share), _with_limits(read_leniently[name]))
    return table


def _print_videos(scores: VideoScores) -> None:
    from dodiag.cli_output import show
    from dodiag.evaluations.mmcot_limits import stratum_figures, video_figures

    table = _table("figure", "n", "right")
    for name, share in video_figures(scores).items():
        table.add_row(name, f"{scores.total:,}", _with_limits(share))
    show(table)
    typer.echo(f"nothing could be read in {scores.unread:,} of {scores.total:,} answers")
    if scores.strata:
        strata = _table("length, difficulty", "n", "accuracy, as released")
        for (length, tier), share in stratum_figures(scores).items():
            strata.add_row(f"{length}, {tier}", f"{0 if share is None else share.n:,}", _with_limits(share))
        show(strata)
        typer.echo("a tier is almost certainly how many of five models solved a video; theirs are no results")


def _with_limits(share: Proportion | None) -> str:
    if share is None:
        return "–"
    limits = "no limits" if share.lower is None else f"{_percent(share.lower)} to {_percent(share.upper)}"
    return f"{_percent(share.value)} ({limits})"


def _print_axes(found: AxisDiagnosis, as_json: bool) -> None:
    from dodiag.cli_output import show

    if as_json:
        print_json(found.to_dict())
        return
    typer.echo(f"{found.model}, {found.configuration}")
    table = _table("axis", "n", "right", "failed", "fails at least", "fails at most", "right against it", "chance")
    for row in found.rows:
        least = f"{_percent(row.shown.value)} (≥ {_percent(row.shown.lower)})"
        most = f"{_percent(row.possible.value)} (≤ {_percent(row.possible.upper)})"
        against = _with_limits(row.against_right)
        counts = (f"{row.n:,}", f"{row.right:,}", f"{row.failed:,}")
        table.add_row(row.axis.value, *counts, least, most, against, _percent(row.chance))
    show(table)
    typer.echo("percent; limits at 95 % by instance. A wrong choice shows one failure and hides the other axis")
    taken = ", ".join(f"{count:,} {kind.value}" for kind, count in found.taken.items())
    typer.echo(f"taken: {taken}")
    for kind, count in found.types.items():
        typer.echo(f"{count:>6,}  {kind.value.replace('_', ' ')}")
    if found.missing:
        typer.echo(f"{found.missing:,} calls came to no reply and are left out", err=True)


def _table(first: str, *names: str) -> Table:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    table.add_column(first, no_wrap=True)
    for name in names:
        table.add_column(name, justify="right")
    return table


def _percent(value: float | None) -> str:
    return "–" if value is None else f"{100 * value:.1f}"
