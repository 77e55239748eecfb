"""``dodiag ccrv``: read, export, make, judge and score CCRV-Bench sets."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dodiag.cli_options import JsonFlag
from dodiag.cli_output import EXIT_INCOMPLETE, examples, print_json

if TYPE_CHECKING:
    from rich.table import Table

    from dodiag.benchmarks.ccrv.data import Dataset
    from dodiag.benchmarks.ccrv.scores import Figures
    from dodiag.evaluations.ccrv_runs import ItemScores

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

    dataset = load_dataset(main, baseline)
    pictures = find_pictures(dataset, images)
    if view == "items":
        written = export_items(dataset, pictures, out, parsed_style(style))
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
    from dodiag.api import open_pack
    from dodiag.benchmarks.ccrv.dice import dice_set
    from dodiag.benchmarks.ccrv.dice_packs import export_dice_ladder, export_dice_levels
    from dodiag.benchmarks.ccrv.loader import written
    from dodiag.benchmarks.ccrv.packs import export_items
    from dodiag.cli_output import write_text
    from dodiag.scm.pack import load_pack

    made = dice_set(open_pack(pack), seed)
    if view == "levels":
        export_dice_levels(made, out)
    elif view == "items":
        export_items(made.dataset, made.pictures, out)
    else:
        export_dice_ladder(made, out, view)
    if document is not None:
        write_text(document, written(made.dataset))
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

    Exit code 3 if some variants were rejected.
    """
    from dodiag.benchmarks.ccrv.loader import load_dataset, written
    from dodiag.benchmarks.ccrv.scene import read_scene_graphs
    from dodiag.cli_output import write_text
    from dodiag.evaluations.ccrv_building import build_set
    from dodiag.problems import UsageError

    if out.exists():
        raise UsageError(f"{out} is there already", "Name a new file.")
    live = sys.stderr.isatty()

    def progress(done: int) -> None:
        if live:
            typer.echo(f"\r\033[K{done} items", err=True, nl=False)

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
    write_text(out, written(built.dataset))
    made = sum(1 for _ in built.dataset.variants())
    typer.echo(f"wrote {out}: {made:,} variants, {len(built.rejections):,} rejected, {built.asked:,} requests")
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
    typer.echo(f"{found.asked:,} questions were sent to the judge")
    if found.stopped:
        typer.echo(f"judging stopped: {found.stopped}. The same command goes on.", err=True)
        raise typer.Exit(EXIT_INCOMPLETE)


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
    """Print the benchmark's figures from stored labels; no call is made."""
    from dodiag.benchmarks.ccrv.scores import Denominator
    from dodiag.evaluations.ccrv_runs import item_outcomes, parsed_rule, score_items
    from dodiag.problems import UsageError, nearest

    if denominator not in set(Denominator):
        raise UsageError(f"there is no denominator '{denominator}'", nearest(denominator, list(Denominator)))
    if (run_dir is None) == (not results):
        raise UsageError("there is not exactly one thing to score", "Name a run directory, or --results with --set.")
    if (measure is None) != (out is None):
        raise UsageError("--measure and --out go together", "Give both or neither.")
    rule = parsed_rule(y2)
    if run_dir is None:
        _print_results(results or [], dataset, Denominator(denominator), rounded, as_json)
        return
    if measure is not None and out is not None:
        table = item_outcomes(run_dir, measure, y2=rule, pack=pack)
        table.to_csv(out, index=False)
        typer.echo(f"wrote {out}: {len(table):,} rows, solved as {measure}")
        return
    found = score_items(run_dir, state=state, y2=rule, rounded=rounded, draw=draw, pack=pack)
    _print_scores(found, Denominator(denominator), as_json)


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
    from dodiag.evaluations.ccrv_audit import audit as audited

    found = audited(labels, run_dir, pack)
    if as_json:
        print_json(found.to_dict())
        return
    for level in found.levels:
        people = level.people
        kappa = "undefined" if people.fleiss is None else f"{people.fleiss:.3f}"
        line = f"{level.level}: {people.unanimous:,} of {people.n:,} unanimous, Fleiss' kappa {kappa}"
        if level.same is not None:
            agreed = "undefined" if level.cohen is None else f"{level.cohen:.3f}"
            line += f"; judge as most people in {level.same:,} of {level.judged:,}, Cohen's kappa {agreed}"
        typer.echo(line)
    if found.people_dcr is not None and found.judge_dcr is not None:
        typer.echo(f"DCR: people {100 * found.people_dcr:.1f}, judge {found.judge} {100 * found.judge_dcr:.1f}")


def _print_results(files: list[Path], dataset: Path | None, denominator: Any, rounded: bool, as_json: bool) -> None:
    from dodiag.benchmarks.ccrv.loader import load_dataset
    from dodiag.benchmarks.ccrv.released import read_results
    from dodiag.benchmarks.ccrv.scores import Design, Scores
    from dodiag.evaluations.ccrv_runs import ItemScores
    from dodiag.problems import UsageError

    if dataset is None:
        raise UsageError("result files need their set", "Name the constrained file with --set.")
    records = [record for file in files for record in read_results(file)]
    scores = Scores.of(Design.of(load_dataset(dataset)), records, rounded=rounded)
    whole = len(scores.design.items) * (1 + len(scores.design.constraints))
    missing = {"no result": whole - len(records)} if whole > len(records) else {}
    name = ", ".join(file.name for file in files)
    _print_scores(ItemScores(name, "as stored", "∅", "as stored", scores, missing, {}), denominator, as_json)


def _print_scores(found: ItemScores, denominator: Any, as_json: bool) -> None:
    from dodiag.cli_output import show

    rows = found.scores.table(denominator)
    if as_json:
        described = {name: getattr(found, name) for name in ("model", "judge", "state", "y2", "missing", "notes")}
        print_json({**described, "figures": [row.to_dict() for row in rows]})
        return
    typer.echo(f"{found.model}, causal content {found.state}, labels by {found.judge}, Y2 {found.y2}")
    show(_figure_table(rows))
    typer.echo(f"percent and percentage points; base: DCR without a constraint; denominator {denominator.value}")
    for reason, count in found.missing.items():
        typer.echo(f"{count:,} answers are missing: {reason}")
    overall = rows[0]
    if denominator.value == "fixed" and (overall.missing or overall.base_missing):
        constrained, plain = overall.n + overall.missing, overall.base_n + overall.base_missing
        typer.echo(
            f"missing answers count as 0 here: {overall.missing:,} of {constrained:,} with a constraint,"
            f" {overall.base_missing:,} of {plain:,} without. They are no failures of the model: complete the run or"
            " its judging before you compare.",
            err=True,
        )
    for note, count in found.notes.items():
        typer.echo(f"{count:,} answers: {note}")


def _figure_table(rows: list[Figures]) -> Table:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    table.add_column("X", no_wrap=True)
    table.add_column("Y", no_wrap=True)
    for name in ("n", "missing", "base", "DCR", "L1", "L2", "L3", "CSR", "eDCR", "CDI", "eCDI"):
        table.add_column(name, justify="right", no_wrap=True)
    for row in rows:
        figures = (row.base_dcr, row.dcr, *row.levels, row.csr, row.edcr, row.cdi, row.ecdi)
        shown = ["–" if value is None else f"{100 * value:.1f}" for value in figures]
        table.add_row(row.x.replace("_", " "), row.y, f"{row.n:,}", f"{row.missing:,}", *shown)
    return table


def _extent(dataset: Dataset) -> dict[str, int]:
    return {
        "images": len(dataset.images),
        "items": sum(1 for _ in dataset.items()),
        "variants": sum(1 for _ in dataset.variants()),
    }
