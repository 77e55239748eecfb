"""The command line: parses, calls, prints. Everything heavy is imported inside the command that needs it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from dodiag import (
    cli_ccrv,
    cli_compare,
    cli_generate,
    cli_mmcot,
    cli_overview,
    cli_prove,
    cli_report,
    cli_rescore,
    cli_show,
    cli_transfer,
)
from dodiag.cli_finish import finish
from dodiag.cli_options import (
    AnimatedOption,
    ConcurrencyOption,
    ContextOption,
    ContrastOption,
    DeadlineOption,
    DrawsOption,
    FactorialFlag,
    GroundOption,
    HistoryOption,
    InstanceOption,
    JsonFlag,
    LimitOption,
    MaxCallsOption,
    MaxCostOption,
    MaxImageBytesOption,
    MaxPixelsOption,
    MaxVideoSecondsOption,
    MinDenominatorOption,
    NoMediaFlag,
    PriceOption,
    PricesOption,
    QuickFlag,
    QuietFlag,
    RerunsOption,
    StateOption,
    TargetFlag,
    TaskOption,
    UnitOption,
    VideoFpsOption,
    VideoFramesOption,
    VideoOption,
    chosen_prices,
    parsed_parameters,
    planning,
    replaced_prices,
)
from dodiag.cli_output import (
    EXIT_INPUT,
    EXIT_INTERRUPTED,
    EXIT_OK,
    announce,
    examples,
    print_json,
    say_what_the_model_is,
    scores_of,
    show,
    show_report,
    show_steps,
    tasks_of,
    warn_if_incomplete,
    write_text,
)

app = typer.Typer(
    name="dodiag",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
    help="""Find out where and why a multimodal model fails on a compositional task.

    \b
    First steps:
      dodiag run dice_sum --model sim:default --out runs/first   run the shipped sample on a simulator
      dodiag scores runs/first                                   read its scores again
      dodiag diagnose runs/first                                 see what to fix first, and how sure that is
      dodiag plan dice_sum                                       see what a full run would ask and cost
      dodiag check my_task/                                      check a task of your own

    \b
    Exit codes: 0 done; 1 a verdict of prove is not the one that must come out; 2 something in the input is
    wrong; 3 the run is incomplete (calls failed, or it stopped early; resume continues it); 130 interrupted.
    """,
)


@app.command(
    short_help="Check a task graph file or a whole task pack.",
    epilog=examples("dodiag check my_task/", "dodiag check my_task/task.yaml --json", "dodiag check maze"),
)
def check(
    path: Annotated[str, typer.Argument(help="A task graph file, a task pack, or a shipped task.")],
    as_json: JsonFlag = False,
) -> None:
    """Check a task graph file or a whole task pack, and report every problem at once.

    Problems go to standard error with file, line, unit and cure; with --json, standard output is a list of
    {file, line, where, problem, cure}. Exit code 0 or 2.
    """
    from dodiag.problems import InvalidInput
    from dodiag.scm.files import load_task
    from dodiag.scm.pack import load_pack

    try:
        if Path(path).is_dir():
            pack = load_pack(path)
            task, extent = pack.task, f", {pack.instance_count:,} instances, {pack.question_count:,} questions"
        else:
            task, extent = load_task(path), ""
    except InvalidInput as error:
        if as_json:
            print_json([problem.to_dict() for problem in error.problems])
        for problem in error.problems:
            typer.echo(str(problem), err=True)
        count = len(error.problems)
        typer.echo(f"{count} problem{'s' if count > 1 else ''}", err=True)
        raise typer.Exit(EXIT_INPUT) from None
    if as_json:
        print_json([])
    else:
        typer.echo(f"{task}: no problems{extent}")


@app.command(
    short_help="Show what a run would ask, and its price.",
    epilog=examples("dodiag plan dice_sum", "dodiag plan my_task/ --quick", "dodiag plan maze --json"),
)
def plan(
    path: Annotated[str, typer.Argument(help="A task pack, a task graph file, or a shipped task.")],
    contrast: ContrastOption = None,
    state: StateOption = None,
    quick: QuickFlag = False,
    target_only: TargetFlag = False,
    factorial: FactorialFlag = False,
    context: ContextOption = None,
    unit: UnitOption = None,
    instance: InstanceOption = None,
    limit: LimitOption = None,
    draws: DrawsOption = 1,
    reruns: RerunsOption = 0,
    history: HistoryOption = "full",
    max_pixels: MaxPixelsOption = None,
    max_image_bytes: MaxImageBytesOption = None,
    ground: GroundOption = None,
    animated: AnimatedOption = None,
    video: VideoOption = None,
    video_frames: VideoFramesOption = None,
    video_fps: VideoFpsOption = None,
    max_video_seconds: MaxVideoSecondsOption = None,
    instances: Annotated[
        int | None, typer.Option("--instances", help="Plan the task graph alone, on so many instances.")
    ] = None,
    no_media: NoMediaFlag = False,
    concurrency: ConcurrencyOption = 16,
    model: Annotated[
        str | None, typer.Option("--model", help="Take the price of this model, where one is known.")
    ] = None,
    price: PriceOption = None,
    prices: PricesOption = None,
    output_tokens: Annotated[int, typer.Option("--output-tokens", help="Tokens of one reply, assumed.")] = 100,
    latency: Annotated[float, typer.Option("--latency", help="Seconds of one call, assumed.")] = 2.0,
    as_json: JsonFlag = False,
) -> None:
    """Show what a run would ask, and its price, before any call is made.

    The name of a shipped sample means that sample, as it does for run; --instances asks about the task graph alone.
    """
    from dodiag.interventions.plan import make_plan
    from dodiag.interventions.price import Assumptions
    from dodiag.interventions.price import price as price_of
    from dodiag.opening import open_subject
    from dodiag.scm.files import load_task

    options = planning(locals())
    chosen = make_plan(open_subject(path) if instances is None else load_task(path), **options)
    known = chosen_prices(price, prices, model)
    assumptions = Assumptions(
        output_tokens=output_tokens,
        latency=latency,
        concurrency=concurrency,
        input_price=None if known is None else known.input,
        output_price=None if known is None else known.output,
        instances=instances,
        with_media=not no_media,
    )
    cost = price_of(chosen, assumptions)
    if as_json:
        print_json(
            {
                "task": chosen.task.name,
                "target": chosen.task.target,
                "nominal_per_instance": chosen.nominal_per_instance,
                "distinct_per_instance": chosen.distinct_per_instance,
                "configurations": [c.text for c in chosen.configurations(chosen.task.target)],
                "calls": cost.calls,
                "plan_hash": chosen.digest,
                **{name: value for name, value in cost.to_dict().items() if name != "calls"},
            }
        )
    else:
        from dodiag.report.plan_tables import plan_table

        show(plan_table(chosen, cost))


@app.command(
    short_help="Write a task graph as DOT, Mermaid, GraphML, YAML or JSON.",
    epilog=examples("dodiag draw dice_sum | dot -Tsvg > dice.svg", "dodiag draw maze --format mermaid"),
)
def draw(
    path: Annotated[str, typer.Argument(help="A task graph file, a task pack, or a shipped task.")],
    form: Annotated[str, typer.Option("--format", help="dot, mermaid, graphml, yaml or json.")] = "dot",
    steps: Annotated[int | None, typer.Option("--steps", help="Unfold Markov chains over this many steps.")] = None,
    out: Annotated[Path | None, typer.Option("--out", help="Write to this file instead of standard output.")] = None,
) -> None:
    """Write a task graph as DOT, Mermaid or GraphML, or convert it between YAML and JSON."""
    from dodiag.problems import UsageError
    from dodiag.scm.files import FORMATS, load_task, write_task

    if form not in FORMATS:
        raise UsageError(f"format '{form}' is unknown", f"Use one of {', '.join(FORMATS)}.")
    text = write_task(load_task(path), form, steps)
    if out is None:
        typer.echo(text, nl=False)
    else:
        write_text(out, text)
        typer.echo(f"wrote {out}")


app.command(name="generate", short_help=cli_generate.SHORT_HELP, epilog=examples(*cli_generate.EXAMPLES))(
    cli_generate.generate
)


@app.command(
    short_help="Run a task pack against a model, and print its scores.",
    epilog=examples(
        "dodiag run dice_sum --model sim:default --out runs/first",
        "dodiag run packs/dice --model openai/NAME --base-url http://127.0.0.1:8000/v1 --out runs/local",
        "dodiag run packs/dice --model litellm:PROVIDER/NAME --quick --out runs/quick",
    ),
)
def run(
    pack: Annotated[str, typer.Argument(help="A task pack, or the name of a shipped sample such as dice_sum.")],
    model: Annotated[
        str,
        typer.Option("--model", help="sim:PRESET, openai/NAME, litellm:PROVIDER/NAME or replay:DIR."),
    ] = "sim:default",
    out: Annotated[Path | None, typer.Option("--out", help="The run directory. Default: runs/TASK-MODEL.")] = None,
    base_url: Annotated[
        str | None, typer.Option("--base-url", help="Server of openai/ and litellm: models, up to /v1.")
    ] = None,
    contrast: ContrastOption = None,
    state: StateOption = None,
    quick: QuickFlag = False,
    target_only: TargetFlag = False,
    factorial: FactorialFlag = False,
    context: ContextOption = None,
    unit: UnitOption = None,
    instance: InstanceOption = None,
    limit: LimitOption = None,
    draws: DrawsOption = 1,
    reruns: RerunsOption = 0,
    history: HistoryOption = "full",
    max_pixels: MaxPixelsOption = None,
    max_image_bytes: MaxImageBytesOption = None,
    ground: GroundOption = None,
    animated: AnimatedOption = None,
    video: VideoOption = None,
    video_frames: VideoFramesOption = None,
    video_fps: VideoFpsOption = None,
    max_video_seconds: MaxVideoSecondsOption = None,
    concurrency: ConcurrencyOption = 16,
    max_retries: Annotated[int, typer.Option("--max-retries", help="Retries of a transient failure.")] = 4,
    timeout: Annotated[float, typer.Option("--timeout", help="Seconds that one request may take.")] = 300.0,
    temperature: Annotated[float | None, typer.Option("--temperature", help="Default: the server's.")] = None,
    max_tokens: Annotated[int | None, typer.Option("--max-tokens", help="Default: the server's.")] = None,
    param: Annotated[
        list[str] | None,
        typer.Option("--param", metavar="NAME=VALUE", help="A further sampling parameter; VALUE is JSON or text."),
    ] = None,
    no_media: NoMediaFlag = False,
    key_variable: Annotated[
        str, typer.Option("--api-key-env", help="Environment variable with the API key of openai/ models.")
    ] = "OPENAI_API_KEY",
    price: PriceOption = None,
    prices: PricesOption = None,
    max_calls: MaxCallsOption = None,
    max_cost: MaxCostOption = None,
    deadline: DeadlineOption = None,
    quiet: QuietFlag = False,
) -> None:
    """Run a task pack against a model, and print its scores.

    Every reply is on disk before the next one is counted. Ctrl-C stops in order; the same command, or dodiag resume,
    goes on where the run stopped and pays for no call twice.
    """
    from dodiag.api import run as run_pack
    from dodiag.opening import open_pack

    options = planning(locals())
    opened = open_pack(pack)
    folder = out or Path("runs") / f"{opened.task.name}-{''.join(c if c.isalnum() else '-' for c in model)}"
    announce(f"{opened.task.title}: {opened.instance_count:,} instances, model {model}, writing {folder}", quiet)
    summary = run_pack(
        opened,
        model,
        folder,
        **options,
        base_url=base_url,
        parameters=parsed_parameters(param, temperature, max_tokens),
        with_media=not no_media,
        timeout=timeout,
        key_variable=key_variable,
        concurrency=concurrency,
        max_retries=max_retries,
        prices=chosen_prices(price, prices, model),
        max_calls=max_calls,
        max_cost=max_cost,
        deadline=deadline,
        quiet=quiet,
    )
    finish(folder, summary)


@app.command(
    short_help="Write the exact prompts and pictures of a plan to look at, without a call.",
    epilog=examples(
        "dodiag preview packs/dice --out looked_at", "dodiag preview packs/dice --quick --limit 1 --out one"
    ),
)
def preview(
    pack: Annotated[str, typer.Argument(help="A task pack, or the name of a shipped sample such as dice_sum.")],
    out: Annotated[Path, typer.Option("--out", help="A new folder for prompts, pictures and index.jsonl.")],
    contrast: ContrastOption = None,
    state: StateOption = None,
    quick: QuickFlag = False,
    target_only: TargetFlag = False,
    factorial: FactorialFlag = False,
    context: ContextOption = None,
    unit: UnitOption = None,
    instance: InstanceOption = None,
    limit: Annotated[int, typer.Option("--limit", help="Write the first instances only.")] = 3,
    draws: DrawsOption = 1,
    reruns: RerunsOption = 0,
    history: HistoryOption = "full",
    max_pixels: MaxPixelsOption = None,
    max_image_bytes: MaxImageBytesOption = None,
    ground: GroundOption = None,
    animated: AnimatedOption = None,
    video: VideoOption = None,
    video_frames: VideoFramesOption = None,
    video_fps: VideoFpsOption = None,
    max_video_seconds: MaxVideoSecondsOption = None,
    no_media: NoMediaFlag = False,
) -> None:
    """Write the exact prompts and the annotated pictures that a run would send. No call is made."""
    from dodiag.interventions.plan import make_plan
    from dodiag.opening import open_pack
    from dodiag.runners.preview import write_preview

    options = planning(locals())
    chosen = make_plan(open_pack(pack), **options)
    written = write_preview(chosen, out, not no_media)
    instances = sum(1 for _ in chosen.selected())
    typer.echo(
        f"wrote {out}: {written.calls:,} calls on {instances} instance{'' if instances == 1 else 's'} send"
        f" {written.prompts:,} distinct prompts and"
        f" {written.pictures:,} distinct pictures; index.jsonl says which"
    )


@app.command(short_help="Continue an interrupted run.", epilog=examples("dodiag resume runs/local --concurrency 4"))
def resume(
    run_dir: Annotated[Path, typer.Argument(help="The run directory of an interrupted run.")],
    pack: Annotated[Path | None, typer.Option("--pack", help="Where the task pack is now, if it has moved.")] = None,
    concurrency: Annotated[int | None, typer.Option("--concurrency", help="Calls in flight at once.")] = None,
    max_retries: Annotated[int | None, typer.Option("--max-retries", help="Retries of a transient failure.")] = None,
    price: PriceOption = None,
    prices: PricesOption = None,
    max_calls: MaxCallsOption = None,
    max_cost: MaxCostOption = None,
    deadline: DeadlineOption = None,
    quiet: QuietFlag = False,
) -> None:
    """Continue an interrupted run: only calls without an answer are sent."""
    from dodiag.api import resume as resume_run

    summary = resume_run(
        run_dir,
        pack=pack,
        concurrency=concurrency,
        max_retries=max_retries,
        prices=replaced_prices(run_dir, price, prices),
        max_calls=max_calls,
        max_cost=max_cost,
        deadline=deadline,
        quiet=quiet,
    )
    finish(run_dir, summary)


@app.command(
    short_help="Print the scores of a run or an outcome table.",
    epilog=examples(
        "dodiag scores runs/first",
        "dodiag scores table.csv --task my_task/task.yaml --json",
        "dodiag scores runs/maze --by-step --last-bin 6",
    ),
)
def scores(
    source: Annotated[Path, typer.Argument(help="A run directory, or an outcome table (Parquet or CSV).")],
    task: TaskOption = None,
    contrast: ContrastOption = None,
    min_denominator: MinDenominatorOption = 0.10,
    by_step: Annotated[
        bool, typer.Option("--by-step", help="Print NC, IC, RC and NS of chain units step by step instead.")
    ] = False,
    last_bin: Annotated[
        int | None, typer.Option("--last-bin", help="With --by-step: pool this step and all later ones.")
    ] = None,
    reaching: Annotated[
        int | None, typer.Option("--reaching", help="With --by-step: only instances that have so many steps.")
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Print NC, IC, RC, N, S and the intervals of PN, PS, PNS from a run or an outcome table."""
    from dodiag.bounds.scores import Scores
    from dodiag.runners.outcomes import read_outcomes

    table = read_outcomes(source)
    if source.is_dir():
        warn_if_incomplete(source, table)
    if not as_json:
        say_what_the_model_is(source)
    if by_step:
        show_steps(source, table, tasks_of(source, table, task), contrast, last_bin, reaching, as_json)
        return
    rows: list[Any] = []
    for graph in tasks_of(source, table, task):
        found = scores_of(table, graph, contrast, min_denominator)
        rows += [*found[0], *found[1].scores]
        if not as_json:
            show_report(table, graph, *found)
    if as_json:
        print_json([score.to_dict() for score in Scores(rows)])


@app.command(
    short_help="Say what to fix first, and how sure that is.",
    epilog=examples("dodiag diagnose runs/first", "dodiag diagnose table.csv --task my_task/task.yaml --contrast 1,n"),
)
def diagnose(
    source: Annotated[Path, typer.Argument(help="A run directory, or an outcome table (Parquet or CSV).")],
    task: TaskOption = None,
    contrast: ContrastOption = None,
    min_denominator: MinDenominatorOption = 0.10,
    level: Annotated[float, typer.Option("--level", help="Two-sided confidence level.")] = 0.95,
    negligible: Annotated[
        float, typer.Option("--negligible", help="A score whose upper limit is below it is called little.")
    ] = 0.05,
    deterministic: Annotated[
        bool, typer.Option("--deterministic", help="The model answers the same prompt the same way every time.")
    ] = False,
    as_json: JsonFlag = False,
) -> None:
    """Print, per prerequisite and contrast, scores with limits, bounds, tests, and a verdict in plain words."""
    from dodiag.bounds.diagnosis import diagnose as diagnosis_of
    from dodiag.report.diagnosis_tables import diagnosis_report
    from dodiag.runners.outcomes import read_outcomes

    table = read_outcomes(source)
    if source.is_dir():
        warn_if_incomplete(source, table)
    if not as_json:
        say_what_the_model_is(source)
    rows: list[Any] = []
    for graph in tasks_of(source, table, task):
        found = diagnosis_of(
            table,
            graph,
            contrast,
            level=level,
            min_denominator=min_denominator,
            negligible=negligible,
            deterministic=deterministic,
        )
        rows += [finding.to_dict() for finding in found]
        if not as_json:
            show(diagnosis_report(found, graph, level))
    if as_json:
        print_json(rows)


app.command(name="overview", short_help=cli_overview.SHORT_HELP, epilog=examples(*cli_overview.EXAMPLES))(
    cli_overview.overview
)
app.command(name="report", short_help=cli_report.SHORT_HELP, epilog=examples(*cli_report.EXAMPLES))(cli_report.report)
app.command(name="show", short_help=cli_show.SHORT_HELP, epilog=examples(*cli_show.EXAMPLES))(cli_show.show_call)
app.command(name="compare", short_help=cli_compare.SHORT_HELP, epilog=examples(*cli_compare.EXAMPLES))(
    cli_compare.compare
)
app.command(name="rescore", short_help=cli_rescore.SHORT_HELP, epilog=examples(*cli_rescore.EXAMPLES))(
    cli_rescore.rescore
)
for _name, _command, _help, _examples in (
    ("merge", cli_transfer.merge, cli_transfer.MERGE_HELP, cli_transfer.MERGE_EXAMPLES),
    ("export", cli_transfer.export, cli_transfer.EXPORT_HELP, cli_transfer.EXPORT_EXAMPLES),
    ("restore", cli_transfer.restore, cli_transfer.RESTORE_HELP, cli_transfer.RESTORE_EXAMPLES),
    ("vacuum", cli_transfer.vacuum, cli_transfer.VACUUM_HELP, cli_transfer.VACUUM_EXAMPLES),
):
    app.command(name=_name, short_help=_help, epilog=examples(*_examples))(_command)
app.add_typer(cli_ccrv.app, name="ccrv", short_help=cli_ccrv.SHORT_HELP)
app.add_typer(cli_mmcot.app, name="mmcot", short_help=cli_mmcot.SHORT_HELP)
app.command(name="prove", short_help=cli_prove.SHORT_HELP, epilog=examples(*cli_prove.EXAMPLES))(cli_prove.prove)


def version_wanted(wanted: bool) -> None:
    """Print the version and end."""
    if wanted:
        from dodiag import __version__

        typer.echo(__version__)
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", callback=version_wanted, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Options before the command."""


def main() -> None:
    """Run the command line; a user's mistake ends with a message and a code, never with a traceback."""
    from dodiag.problems import DodiagError, shown

    try:
        app()
    except DodiagError as error:
        typer.echo(f"error: {error}", err=True)
        sys.exit(EXIT_INPUT)
    except KeyboardInterrupt:
        sys.exit(EXIT_INTERRUPTED)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(EXIT_OK)
    except OSError as error:
        if error.filename is None:
            raise
        name = shown(str(error.filename))
        typer.echo(f"error: {name}: {error.strerror or error}. Check the path, its rights and the disk.", err=True)
        sys.exit(EXIT_INPUT)


if __name__ == "__main__":
    main()
