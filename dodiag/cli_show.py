"""The command that shows single calls of a run: prompt, pictures, reply, reading, outcome."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dodiag.cli_options import JsonFlag

if TYPE_CHECKING:
    from dodiag.report.call_view import CallView
    from dodiag.runners.ledger import Ledger
    from dodiag.runners.lookup import Found

SHORT_HELP = "Show one call of a run, or a contact sheet of a pack."
EXAMPLES = (
    "dodiag show runs/first 17",
    "dodiag show runs/first --outcome invalid --list",
    "dodiag show runs/first --unit Y --instance d0003 --pictures looked_at/",
    "dodiag show packs/dice --sheet dice.png --limit 3",
)
MOST_SHOWN = 20
SHEETS = (".png", ".jpg", ".jpeg", ".webp", ".pdf")


def show_call(
    run_dir: Annotated[Path, typer.Argument(help="A run directory; with --sheet, a task pack.")],
    position: Annotated[int | None, typer.Argument(help="Position of the call in the plan.")] = None,
    instance: Annotated[str | None, typer.Option("--instance", help="Calls on this instance.")] = None,
    unit: Annotated[str | None, typer.Option("--unit", help="Calls of this unit.")] = None,
    question: Annotated[str | None, typer.Option("--question", help="Calls of this question.")] = None,
    configuration: Annotated[
        str | None, typer.Option("--configuration", help="Calls under this configuration, such as X1=1,X2=n.")
    ] = None,
    draw: Annotated[int | None, typer.Option("--draw", help="Calls of this repetition, from 0.")] = None,
    outcome: Annotated[str | None, typer.Option("--outcome", help="Calls with this outcome, such as invalid.")] = None,
    listed: Annotated[bool, typer.Option("--list", help="A line for each call instead of the whole of it.")] = False,
    reasoning: Annotated[bool, typer.Option("--reasoning", help="Show reasoning in full.")] = False,
    pictures: Annotated[
        Path | None, typer.Option("--pictures", metavar="DIR", help="Write the pictures that were sent to this folder.")
    ] = None,
    pack: Annotated[Path | None, typer.Option("--pack", help="Where the task pack is now, if it has moved.")] = None,
    sheet: Annotated[
        Path | None,
        typer.Option("--sheet", metavar="FILE", help="Write a contact sheet of a pack: PNG, JPEG, WebP or PDF."),
    ] = None,
    limit: Annotated[int, typer.Option("--limit", help="Instances on the sheet.")] = 4,
    as_json: JsonFlag = False,
) -> None:
    """Show calls of a run as they were: the prompt word for word, the reply word for word, and what was made of it.

    Nothing that a model wrote can move the cursor, change colours or hide: control characters are written out.
    With --sheet, write a picture of some instances of a task pack: media with the truth drawn on them, questions, the
    answers of state 1 and state 0.
    """
    if sheet is not None:
        _write_sheet(run_dir, sheet, limit, instance)
        return
    from itertools import islice

    from dodiag.cli_output import console, print_json
    from dodiag.problems import UsageError
    from dodiag.report.call_view import call_report
    from dodiag.runners.ledger import Ledger
    from dodiag.runners.lookup import find_calls

    wanted = {
        "instance": instance,
        "unit": unit,
        "question": question,
        "configuration": configuration,
        "draw": draw,
        "outcome": outcome,
    }
    with Ledger(run_dir) as ledger:
        calls = find_calls(ledger, wanted, position)
        if listed:
            some = False
            for found in calls:
                some = True
                typer.echo(_line(found))
            if not some:
                raise UsageError("no call of the run has these fields", "Leave some of them out.")
            return
        chosen = list(islice(calls, MOST_SHOWN + 1))
        if not chosen:
            raise UsageError("no call of the run has these fields", "dodiag show RUN --list lists them.")
        views = [_view(ledger, found, pictures, pack) for found in chosen[:MOST_SHOWN]]
    if as_json:
        print_json([view.to_dict() for view in views])
        return
    for view in views:
        console().print(call_report(view, reasoning), highlight=False, soft_wrap=True)
        typer.echo()
    if len(chosen) > MOST_SHOWN:
        typer.echo(f"the first {MOST_SHOWN} calls; --list lists all of them", err=True)


def _write_sheet(folder: Path, file: Path, limit: int, instance: str | None) -> None:
    from dodiag.opening import open_pack
    from dodiag.problems import UsageError
    from dodiag.report.contact_sheet import contact_sheet, spread

    if file.suffix.lower() not in SHEETS:
        raise UsageError(f"{file} is no kind of picture that is written", f"Use {', '.join(SHEETS)}.")
    if limit < 1:
        raise UsageError(f"{limit} instances are asked for", "Ask for at least one.")
    pack = open_pack(str(folder))
    chosen = [instance] if instance else spread(pack.instance_ids, limit)
    found = contact_sheet(pack, [pack.instance(each) for each in chosen])
    try:
        found.save(file)
    except OSError as error:
        raise UsageError(f"{file} cannot be written: {error.strerror or error}", "Choose another place.") from None
    typer.echo(f"wrote {file}: {len(chosen)} of {pack.instance_count:,} instances")


def _line(found: Found) -> str:
    from dodiag.report.call_view import harmless
    from dodiag.runners.ledger import CallRow

    row = found.row
    value = f"{row.value or ''} {_solved(row.solved)}" if isinstance(row, CallRow) else row.message
    step = "" if row.step is None else f" step {row.step}"
    cells = (
        str(row.position),
        row.instance,
        f"{row.unit}{step}",
        row.question,
        row.configuration or "–",
        found.outcome,
    )
    return harmless("  ".join((*cells, value)).rstrip())


def _solved(solved: int | None) -> str:
    return "" if solved is None else "solved" if solved else "not solved"


def _view(ledger: Ledger, found: Found, pictures: Path | None, pack: Path | None) -> CallView:
    from dodiag.report.call_view import CallView
    from dodiag.runners.lookup import stored_media

    row, reply = found.row, found.reply
    manifest = ledger.manifest
    place = {
        "call": str(row.position),
        "instance": row.instance,
        "unit": row.unit,
        "question": row.question,
        "step": "" if row.step is None else str(row.step),
        "do": row.configuration or "nothing",
        "draw": str(row.draw),
        "model": str(manifest["model"]),
    }
    media = [] if reply is None else [{"mime": mime, "digest": digest} for mime, digest in stored_media(reply)]
    truth, paths = _from_pack(ledger, found, pictures, pack)
    for entry, path in zip(media, paths, strict=False):
        entry["path"] = path
    return CallView(
        place=place,
        prompt=None if reply is None else reply.prompt,
        media=media,
        reply=None if reply is None else reply.reply,
        reasoning=None if reply is None else reply.reasoning,
        outcome=_outcome(found, truth),
        cost=_cost(found),
        verdict=_verdict(ledger, found),
    )


def _outcome(found: Found, truth: str) -> dict[str, str]:
    from dodiag.runners.ledger import CallRow

    row = found.row
    if not isinstance(row, CallRow):
        return {"outcome": found.outcome, "kind": row.kind, "message": row.message, "attempts": str(row.attempts)}
    return {
        "outcome": f"{row.outcome} {_solved(row.solved)}".strip(),
        "value": row.value or "",
        "truth": truth,
        "how": row.how,
        "form": "as asked" if row.strict else "lenient",
        "flags": row.flags,
    }


def _cost(found: Found) -> dict[str, str]:
    reply = found.reply
    if reply is None:
        return {}
    tokens = {"in": reply.input_tokens, "out": reply.output_tokens, "cached": reply.cached_tokens}
    named = {f"tokens {name}": "" if count is None else f"{count:,}" for name, count in tokens.items()}
    thought = "" if reply.reasoning_tokens is None else f"{reply.reasoning_tokens:,}"
    return {
        **named,
        "reasoning": thought,
        "seconds": f"{reply.seconds:.2f}",
        "attempts": str(reply.attempts),
        "finished": reply.finished_at,
        "finish": reply.finish,
    }


def _verdict(ledger: Ledger, found: Found) -> str:
    said: list[Any] = [v for v in ledger.verdicts() if found.reply is not None and v.reply_key == found.reply.key]
    return "\n".join(f"{v.judge}: {v.verdict} {v.reason or v.explanation or ''}".rstrip() for v in said)


def _from_pack(ledger: Ledger, found: Found, pictures: Path | None, pack: Path | None) -> tuple[str, list[str]]:
    """Return the truth and the paths of the pictures; without the pack there is neither."""
    from dodiag.problems import DodiagError
    from dodiag.runners.lookup import media_of, planned_call, write_media
    from dodiag.runners.rescoring import plan_of_run
    from dodiag.scm.answers import show_answer
    from dodiag.scm.pack import correct_answer, spec_of

    try:
        plan = plan_of_run(ledger, pack)
    except DodiagError:
        if pictures is not None or pack is not None:
            raise
        return "", []
    call = planned_call(plan, found.row.position)
    truth = show_answer(correct_answer(plan.task, call.question), spec_of(plan.task, call.question))
    if pictures is None or found.reply is None:
        return truth, []
    media = media_of(plan, call, bool(ledger.manifest["sees_media"]), found.reply)
    return truth, [str(path) for path in write_media(media, pictures)]
