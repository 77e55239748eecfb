"""``dodiag ccrv``: read, export, make, judge and score CCRV-Bench sets."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dodiag.cli_options import JsonFlag
from dodiag.cli_output import EXIT_INCOMPLETE, EXIT_INTERRUPTED, examples, print_json

if TYPE_CHECKING:
    from dodiag.benchmarks.ccrv.data import Dataset
    from dodiag.benchmarks.ccrv.scores import Denominator

SHORT_HELP = "CCRV-Bench: causal questions about pictures, with and without constraints."

app = typer.Typer(
    name="ccrv",
    no_args_is_help=True,
    rich_markup_mode=None,
    help="""Read, export, make, judge and score CCRV-Bench sets.

    \b
    The published set:  ccrv check, ccrv export, dodiag run, ccrv judge, ccrv score
    Dice, truth known:  ccrv dice, dodiag run, dodiag scores
    A set of your own:  ccrv build, and then as the published set
    """,
)

MainFile = Annotated[Path, typer.Argument(help="A file of the set: with constrained variants, or the baseline alone.")]
BaselineOption = Annotated[
    Path | None, typer.Option("--baseline", help="The baseline file, to check that both are of one release.")
]
OutFolder = Annotated[Path, typer.Option("--out", help="The folder to write, new or empty.")]


@app.command(
    short_help="Check a set's files, and report what is odd in them.",
    epilog=examples(
        "dodiag ccrv check main.json --baseline baseline.json", "dodiag ccrv check main.json --images vg/ --details"
    ),
)
def check(
    main: MainFile,
    baseline: BaselineOption = None,
    images: Annotated[Path | None, typer.Option("--images", help="The folder of the pictures.")] = None,
    details: Annotated[bool, typer.Option("--details", help="List every finding, not only the counts.")] = False,
    as_json: JsonFlag = False,
) -> None:
    """Check a set's files, and report what is odd in them without being an error."""
    from dodiag.benchmarks.ccrv.inspection import KINDS, counts, inspect
    from dodiag.benchmarks.ccrv.loader import load_dataset
    from dodiag.benchmarks.ccrv.pictures import find_pictures, sizes

    dataset = load_dataset(main, baseline)
    pictures = None if images is None else find_pictures(dataset, images)
    found = inspect(dataset, None if pictures is None else sizes(pictures))
    if as_json:
        rows = [{"kind": f.kind, "where": f.where, "detail": f.detail} for f in found]
        missing = None if pictures is None else list(pictures.missing)
        print_json({**_extent(dataset), "pictures_missing": missing, "findings": rows})
        return
    extent = _extent(dataset)
    typer.echo(f"{extent['images']:,} images, {extent['items']:,} items, {extent['variants']:,} variants: no problems")
    if pictures is not None:
        typer.echo(f"{len(pictures.found):,} pictures found, {len(pictures.missing):,} missing")
    for kind, count in counts(found).items():
        typer.echo(f"{count:>6,}  {KINDS[kind]}")
    if details:
        for finding in found:
            typer.echo(str(finding))


@app.command(
    short_help="Write a set as a task pack.",
    epilog=examples(
        "dodiag ccrv export main.json --images vg/ --out packs/ccrv",
        "dodiag ccrv export main.json --images vg/ --view intervention --out packs/ccrv_x4",
        "dodiag run packs/ccrv --quick --model openai/NAME --base-url http://127.0.0.1:8000/v1 --out runs/ccrv",
    ),
)
def export(
    main: MainFile,
    out: OutFolder,
    images: Annotated[Path, typer.Option("--images", help="The folder of the pictures, IMAGE_ID.jpg.")],
    baseline: BaselineOption = None,
    view: Annotated[
        str, typer.Option("--view", help="items, or discovery before prediction, diagnosis or intervention.")
    ] = "items",
    style: Annotated[str, typer.Option("--style", help="Unconstrained questions: plain, cot_a or cot_b.")] = "plain",
) -> None:
    """Write a set as a task pack, for dodiag run.

    In the view items, --quick asks every question as published and once more with its causal content supplied (the
    oracle-informed control). Run with --no-media for the text-only controls.
    """
    from dodiag.benchmarks.ccrv.loader import load_dataset
    from dodiag.benchmarks.ccrv.packs import export_items, export_ladder, parsed_style
    from dodiag.benchmarks.ccrv.pictures import find_pictures
    from dodiag.benchmarks.ccrv.views import LADDERS
    from dodiag.problems import UsageError, nearest

    if view not in ("items", *LADDERS):
        raise UsageError(f"a set has no view '{view}'", nearest(view, ("items", *LADDERS)))
    asked = parsed_style(style)
    if view != "items" and asked != "plain":
        raise UsageError(
            f"--style {asked} says nothing about the view {view}", "Leave it out, or export the view items."
        )
    dataset = load_dataset(main, baseline)
    pictures = find_pictures(dataset, images)
    if view == "items":
        written = export_items(dataset, pictures, out, asked)
    else:
        written = export_ladder(dataset, pictures, out, view)
    typer.echo(f"wrote {out}: {written.instances:,} instances, {written.questions:,} questions")
    for left in written.left_out:
        typer.echo(f"left out {left.where}: {left.reason}", err=True)


@app.command(
    short_help="Write a small set over rolled dice, with known truth.",
    epilog=examples(
        "dodiag ccrv dice --view levels --out packs/levels",
        "dodiag ccrv dice --view items --out packs/dice_items",
        "dodiag ccrv dice --pack packs/dice --view prediction --out packs/dice_x2",
    ),
)
def dice(
    out: OutFolder,
    view: Annotated[
        str, typer.Option("--view", help="levels, prediction, diagnosis, intervention, or items.")
    ] = "levels",
    pack: Annotated[
        str, typer.Option("--pack", help="A dice_sum pack; default the one that comes with the package.")
    ] = "dice_sum",
    seed: Annotated[int, typer.Option("--seed", help="Of the distractors among the symbols of Y1.")] = 42,
    document: Annotated[
        Path | None, typer.Option("--document", help="Write the set in the form of the published files as well.")
    ] = None,
) -> None:
    """Write a set over rolled dice whose truth is known: which die stops one that is slid, and what follows."""
    from dodiag.benchmarks.ccrv.dice import dice_set
    from dodiag.benchmarks.ccrv.dice_packs import export_dice_ladder, export_dice_levels
    from dodiag.benchmarks.ccrv.loader import written
    from dodiag.benchmarks.ccrv.packs import export_items
    from dodiag.cli_output import write_text
    from dodiag.opening import open_pack
    from dodiag.scm.pack import load_pack

    made = dice_set(open_pack(pack), seed)
    if document is not None:
        write_text(document, written(made.dataset))
    if view == "levels":
        export_dice_levels(made, out)
    elif view == "items":
        export_items(made.dataset, made.pictures, out)
    else:
        export_dice_ladder(made, out, view)
    found = load_pack(out)
    typer.echo(f"wrote {out}: {found.instance_count:,} instances, {found.question_count:,} questions")


@app.command(
    name="build",
    short_help="Let a model write the constrained variants of a baseline file.",
    epilog=examples(
        "dodiag ccrv build base.json --scenes scenes.json --writer openai/NAME --drafts drafts.jsonl --out main.json"
    ),
)
def build_command(
    baseline: Annotated[Path, typer.Argument(help="A baseline file.")],
    scenes: Annotated[Path, typer.Option("--scenes", help="JSON list of scene graphs, one for each image.")],
    writer: Annotated[str, typer.Option("--writer", help="The model that writes.")],
    drafts: Annotated[Path, typer.Option("--drafts", help="Everything it replies is kept here and not asked again.")],
    out: Annotated[Path, typer.Option("--out", help="The file to write.")],
    base_url: Annotated[str | None, typer.Option("--writer-base-url", help="Its server.")] = None,
    key: Annotated[
        str, typer.Option("--writer-key-env", help="Environment variable with its API key.")
    ] = "OPENAI_API_KEY",
    seed: Annotated[int, typer.Option("--seed", help="Of the distractors among the symbols of Y1.")] = 42,
    concurrency: Annotated[int, typer.Option("--concurrency", help="Requests in flight at once.")] = 10,
    max_retries: Annotated[int, typer.Option("--max-retries", help="Retries of a transient failure.")] = 4,
) -> None:
    """Let a model write the constrained variants of a baseline file; what breaks a rule is rejected and reported.

    Exit code 3 if some variants were rejected, or if the writer left requests without a reply: then nothing is written
    but the drafts, and the same command goes on.
    """
    from dodiag.benchmarks.ccrv.loader import load_dataset, written
    from dodiag.benchmarks.ccrv.scene import read_scene_graphs
    from dodiag.cli_output import write_text
    from dodiag.evaluations.ccrv_building import WriterFailed, build_set
    from dodiag.problems import UsageError

    if out.exists():
        raise UsageError(f"{out} is there already", "Name a new file.")
    if not out.absolute().parent.is_dir():
        raise UsageError(f"there is no folder {out.parent}", "Make it first: the set is written when all is paid for.")
    live = sys.stderr.isatty()

    def progress(done: int) -> None:
        if live:
            typer.echo(f"\r\033[K{done} items", err=True, nl=False)

    try:
        built = build_set(
            load_dataset(baseline),
            read_scene_graphs(scenes),
            writer,
            drafts,
            seed=seed,
            base_url=base_url,
            key_variable=key,
            concurrency=concurrency,
            max_retries=max_retries,
            progress=progress,
        )
    except KeyboardInterrupt:
        typer.echo(f"\ninterrupted; {drafts} keeps what is written: the same command goes on", err=True)
        raise typer.Exit(EXIT_INTERRUPTED) from None
    except WriterFailed as failure:
        typer.echo(f"error: {failure}", err=True)
        raise typer.Exit(EXIT_INCOMPLETE) from None
    if live:
        typer.echo("", err=True)
    write_text(out, written(built.dataset))
    made = sum(1 for _ in built.dataset.variants())
    typer.echo(f"wrote {out}: {made:,} variants, {len(built.rejections):,} rejected")
    typer.echo(f"the writer: {built.spent}")
    for rejection in built.rejections:
        typer.echo(f"{rejection.item}, {rejection.constraint}: {'; '.join(rejection.reasons)}", err=True)
    if built.rejections:
        raise typer.Exit(EXIT_INCOMPLETE)


@app.command(
    short_help="Ask a judge about the answers of a run.",
    epilog=examples("dodiag ccrv judge runs/ccrv --judge openai/NAME --judge-base-url http://127.0.0.1:8000/v1"),
)
def judge(
    run_dir: Annotated[Path, typer.Argument(help="A run of a ccrv_items pack.")],
    model: Annotated[str, typer.Option("--judge", help="The model that judges.")],
    base_url: Annotated[str | None, typer.Option("--judge-base-url", help="Its server.")] = None,
    key: Annotated[
        str, typer.Option("--judge-key-env", help="Environment variable with its API key.")
    ] = "OPENAI_API_KEY",
    symmetric: Annotated[
        bool,
        typer.Option("--symmetric", help="Show references for unconstrained answers too; the released judge has none."),
    ] = False,
    pack: Annotated[Path | None, typer.Option("--pack", help="Where the task pack is now, if it has moved.")] = None,
    concurrency: Annotated[int, typer.Option("--concurrency", help="Judge's calls in flight at once.")] = 10,
    max_retries: Annotated[int, typer.Option("--max-retries", help="Retries of a transient failure.")] = 4,
    timeout: Annotated[float, typer.Option("--timeout", help="Seconds one request may take.")] = 300.0,
) -> None:
    """Ask a judge for the levels L1, L2, L3 of every answer, and whether answers to Y3 reject the false premise.

    What it has said already is in the ledger and is not asked again.
    """
    from dodiag.evaluations.ccrv_runs import judge_items

    try:
        found = judge_items(
            run_dir,
            model,
            showing="symmetric" if symmetric else "released",
            pack=pack,
            base_url=base_url,
            key_variable=key,
            timeout=timeout,
            concurrency=concurrency,
            max_retries=max_retries,
        )
    except KeyboardInterrupt:
        typer.echo("interrupted; what the judge has said is kept: the same command goes on", err=True)
        raise typer.Exit(EXIT_INTERRUPTED) from None
    typer.echo(f"{found.asked:,} questions were sent to the judge, {found.labelled:,} were answered")
    typer.echo(f"the judge: {found.spent}")
    for reason, count in sorted(found.unlabelled.items()):
        typer.echo(f"{count:,} questions have no labels: {_UNLABELLED.get(reason, reason)}", err=True)
    if not found.complete:
        why = f"judging stopped: {found.stopped}" if found.stopped else "judging is not complete"
        typer.echo(f"{why}. The same command goes on.", err=True)
        raise typer.Exit(EXIT_INCOMPLETE)


_UNLABELLED = {
    "judge_error": "the judge could not be reached",
    "judge_parse": "its reply was none, twice; these answers stay without labels of this judge",
    "judge_refused": "it refused; these answers stay without labels of this judge",
    "judge_truncated": "its reply was cut off; these answers stay without labels of this judge",
}


@app.command(
    short_help="Print DCR, CSR, eDCR, CDI and eCDI of a run.",
    epilog=examples(
        "dodiag ccrv score runs/ccrv",
        "dodiag ccrv score runs/ccrv --state 1 --denominator available --json",
        "dodiag ccrv score runs/ccrv --measure L2 --out l2.csv",
        "dodiag ccrv score --results results_main.json --results results_baseline.json --set main.json",
    ),
)
def score(
    run_dir: Annotated[Path | None, typer.Argument(help="A run of a ccrv_items pack.")] = None,
    state: Annotated[
        str, typer.Option("--state", help="Of the causal content: n as published, 1 supplied, 0 a false premise.")
    ] = "n",
    denominator: Annotated[str, typer.Option("--denominator", help="fixed, available or matched.")] = "fixed",
    y2: Annotated[str, typer.Option("--y2", help="Rule of Y2: harmonised (paper) or strict (released code).")] = (
        "harmonised"
    ),
    rounded: Annotated[
        bool, typer.Option("--rounded", help="Round every DCR to 3 decimals first, as the released code does.")
    ] = False,
    draw: Annotated[int, typer.Option("--draw", help="Which repetition.")] = 0,
    measure: Annotated[
        str | None,
        typer.Option("--measure", help="With --out: solved means L1, L2, L3, chain, CSR or effective."),
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", help="Write an outcome table (CSV) for dodiag scores.")] = None,
    results: Annotated[
        list[Path] | None, typer.Option("--results", help="A result file of the released pipeline; may be repeated.")
    ] = None,
    dataset: Annotated[Path | None, typer.Option("--set", help="The set of those result files.")] = None,
    pack: Annotated[Path | None, typer.Option("--pack", help="Where the task pack is now, if it has moved.")] = None,
    as_json: JsonFlag = False,
) -> None:
    """Print the benchmark's figures from stored labels, with limits at 95 % by image; no call is made.

    Where answers are missing, the limits under the denominator fixed hold whatever those would have been.
    """
    from dodiag.benchmarks.ccrv.scores import Denominator
    from dodiag.cli_ccrv_tables import print_scores
    from dodiag.evaluations.ccrv_runs import item_outcomes, parsed_rule, score_items
    from dodiag.problems import UsageError, nearest

    if denominator not in set(Denominator):
        raise UsageError(f"there is no denominator '{denominator}'", nearest(denominator, list(Denominator)))
    if (run_dir is None) == (not results):
        raise UsageError("there is not exactly one thing to score", "Name a run directory, or --results with --set.")
    if (measure is None) != (out is None):
        raise UsageError("--measure and --out go together", "Give both or neither.")
    rule = parsed_rule(y2)
    chosen = {"--state": state != "n", "--draw": draw != 0}
    if run_dir is None:
        _refuse_idle(
            {**chosen, "--y2": rule != "harmonised", "--measure": measure is not None, "--pack": pack is not None}
        )
        _print_results(results or [], dataset, Denominator(denominator), rounded, as_json)
        return
    _refuse_idle({"--set": dataset is not None})
    if measure is not None and out is not None:
        figures = {"--denominator": denominator != "fixed", "--rounded": rounded, "--json": as_json}
        _refuse_idle({**chosen, **figures}, "a table of outcomes, which holds every state and repetition")
        table = item_outcomes(run_dir, measure, y2=rule, pack=pack)
        try:
            table.to_csv(out, index=False)
        except OSError as error:
            raise UsageError(f"{out} cannot be written: {error.strerror or error}", "Choose another place.") from None
        typer.echo(f"wrote {out}: {len(table):,} rows, solved as {measure}")
        return
    found = score_items(run_dir, state=state, y2=rule, rounded=rounded, draw=draw, pack=pack)
    print_scores(found, Denominator(denominator), as_json)


@app.command(
    short_help="Compare people's labels of a run's answers, and the judge's with theirs.",
    epilog=examples("dodiag ccrv audit runs/ccrv --labels people.csv"),
)
def audit(
    run_dir: Annotated[Path, typer.Argument(help="A run of a ccrv_items pack.")],
    labels: Annotated[
        Path,
        typer.Option("--labels", help="CSV: instance, question, configuration, draw, rater, L1, L2, L3 (1 or 0)."),
    ],
    pack: Annotated[Path | None, typer.Option("--pack", help="Where the task pack is now, if it has moved.")] = None,
    as_json: JsonFlag = False,
) -> None:
    """Compare people's labels of a run's answers with each other, and the judge's with those of most people."""
    from dodiag.cli_ccrv_tables import print_audit
    from dodiag.evaluations.ccrv_audit import audit as audited

    found = audited(labels, run_dir, pack)
    if as_json:
        print_json(found.to_dict())
        return
    print_audit(found)


def _refuse_idle(given: dict[str, bool], what: str | None = None) -> None:
    """Refuse options that would change nothing of what is asked for."""
    from dodiag.problems import UsageError

    if idle := [name for name, is_given in given.items() if is_given]:
        where = what or ("a run" if idle == ["--set"] else "result files, whose labels and compliance are stored")
        raise UsageError(f"{', '.join(idle)} says nothing about {where}", "Leave it out.")


def _print_results(
    files: list[Path], dataset: Path | None, denominator: Denominator, rounded: bool, as_json: bool
) -> None:
    from dodiag.benchmarks.ccrv.loader import load_dataset
    from dodiag.benchmarks.ccrv.released import read_results
    from dodiag.benchmarks.ccrv.scores import Design, Scores
    from dodiag.cli_ccrv_tables import print_scores
    from dodiag.evaluations.ccrv_runs import ItemScores
    from dodiag.problems import UsageError

    if dataset is None:
        raise UsageError("result files need their set", "Name the constrained file with --set.")
    asked = load_dataset(dataset)
    records = [record for file in files for record in read_results(file, asked)]
    scores = Scores.of(Design.of(asked), records, rounded=rounded)
    whole = len(scores.design.items) * (1 + len(scores.design.constraints))
    missing = {"no result": whole - len(records)} if whole > len(records) else {}
    name = ", ".join(file.name for file in files)
    print_scores(ItemScores(name, "as stored", "∅", "as stored", scores, missing, {}), denominator, as_json)


def _extent(dataset: Dataset) -> dict[str, int]:
    return {
        "images": len(dataset.images),
        "items": sum(1 for _ in dataset.items()),
        "variants": sum(1 for _ in dataset.variants()),
    }
