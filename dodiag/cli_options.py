"""The options that commands share, and how their text becomes values."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from dodiag.interventions.media import MediaRule
    from dodiag.interventions.plan import PlanOptions
    from dodiag.interventions.price import TokenPrices

JsonFlag = Annotated[bool, typer.Option("--json", help="Print JSON for machines.")]
ContrastOption = Annotated[
    list[str] | None, typer.Option("--contrast", help="A contrast of the target, such as 1,n; may be repeated.")
]
TaskOption = Annotated[
    str | None, typer.Option("--task", help="Task graph of an outcome table; default a shipped task of its name.")
]
MinDenominatorOption = Annotated[
    float, typer.Option("--min-denominator", help="N and S with a smaller denominator are 0 (the paper's rule).")
]
StateOption = Annotated[
    list[str] | None,
    typer.Option("--state", help="A homogeneous state of every unit: 1, 0, n, t, q; may be repeated."),
]
QuickFlag = Annotated[bool, typer.Option("--quick", help="The target only, contrast 1,n: 2 + 2k runs an instance.")]
NoMediaFlag = Annotated[
    bool, typer.Option("--no-media", help="Send the text alone: for text models, and as a blind control.")
]
TargetFlag = Annotated[bool, typer.Option("--target-only", help="Ask the target alone.")]
FactorialFlag = Annotated[bool, typer.Option("--factorial", help="Every configuration of the target.")]
ContextOption = Annotated[
    list[str] | None,
    typer.Option("--context", help="A further context of the contrasts, such as X1=1,X2=n,X3=0; may be repeated."),
]
UnitOption = Annotated[list[str] | None, typer.Option("--unit", help="Ask this unit only; may be repeated.")]
InstanceOption = Annotated[
    list[str] | None, typer.Option("--instance", help="Ask this instance only, by its id; may be repeated.")
]
LimitOption = Annotated[int | None, typer.Option("--limit", help="Ask the first instances only.")]
DrawsOption = Annotated[int, typer.Option("--draws", help="Repetitions of every call.")]
RerunsOption = Annotated[
    int,
    typer.Option("--reruns", help="Further runs of the target's shared baselines; 1 gives scores by instance."),
]
HistoryOption = Annotated[
    str, typer.Option("--history", help="What a chain step is given: full (the trajectory) or last (its parent).")
]
MaxPixelsOption = Annotated[
    int | None, typer.Option("--max-pixels", help="Scale larger pictures down to it. Default: 4096 x 4096.")
]
MaxImageBytesOption = Annotated[
    int | None,
    typer.Option("--max-image-bytes", help="Encode larger pictures again. Default: 3750000, which is 5 MB in base64."),
]
GroundOption = Annotated[
    str | None, typer.Option("--ground", help="Colour behind transparent pictures. Default: #ffffff.")
]
AnimatedOption = Annotated[
    str | None, typer.Option("--animated", help="Animated pictures: first (their first frame; default) or refuse.")
]
VideoOption = Annotated[
    str | None, typer.Option("--video", help="Send videos as frames (default), or native to a model that takes them.")
]
VideoFramesOption = Annotated[
    int | None, typer.Option("--video-frames", help="Frames of a video, evenly spaced. Default: 8.")
]
VideoFpsOption = Annotated[
    float | None, typer.Option("--video-fps", help="Frames a second, --video-frames at the most.")
]
MaxVideoSecondsOption = Annotated[
    float | None, typer.Option("--max-video-seconds", help="Refuse longer videos. Default: 600.")
]
ConcurrencyOption = Annotated[int, typer.Option("--concurrency", help="Calls in flight at once.")]
PriceOption = Annotated[
    str | None, typer.Option("--price", metavar="IN,OUT", help="Money per million tokens in and out.")
]
MaxCallsOption = Annotated[int | None, typer.Option("--max-calls", help="Requests that may be sent now.")]
MaxCostOption = Annotated[
    float | None, typer.Option("--max-cost", help="Money that the run may cost in all; needs prices.")
]
DeadlineOption = Annotated[
    float | None,
    typer.Option(
        "--deadline",
        metavar="SECONDS|30m|1h30m",
        parser=lambda text: parsed_span(text),
        help="Send nothing new after so long; what is in flight gets 30 s more.",
    ),
]
PricesOption = Annotated[
    Path | None,
    typer.Option("--prices", metavar="FILE", help="YAML or JSON: model to input, output, cached_input, reasoning."),
]
QuietFlag = Annotated[bool, typer.Option("--quiet", help="Show no progress line.")]


def planning(values: Mapping[str, Any]) -> PlanOptions:
    """Return the planning options among a command's arguments, by their names in :func:`dodiag.make_plan`."""
    return {
        "contrasts": values["contrast"],
        "states": parsed_states(values["state"]),
        "quick": values["quick"],
        "target_only": values["target_only"] or None,
        "factorial": values["factorial"],
        "contexts": values["context"] or (),
        "units": values["unit"],
        "instances": values["instance"],
        "limit": values["limit"],
        "draws": values["draws"],
        "reruns": values["reruns"],
        "history": values["history"],
        "media": media_rule(values),
    }


def media_rule(values: Mapping[str, Any]) -> MediaRule | None:
    """Return the media rule among a command's arguments; None where all of it is the default."""
    from dodiag.interventions.media import MediaRule

    names = {
        "max_pixels": "max_pixels",
        "max_image_bytes": "max_bytes",
        "ground": "ground",
        "animated": "animated",
        "video": "video",
        "video_frames": "video_frames",
        "video_fps": "video_fps",
        "max_video_seconds": "max_video_seconds",
    }
    given = {field: values[name] for name, field in names.items() if values.get(name) is not None}
    return MediaRule(**given) if given else None


def parsed_states(states: list[str] | None) -> list[Any] | None:
    """Return states from their letters."""
    from dodiag.vocabulary import parse_state

    return None if states is None else [parse_state(state) for state in states]


def chosen_prices(price: str | None, prices: Path | None, model: str | None) -> TokenPrices | None:
    """Return the prices of ``IN,OUT``, or else those of a price file, or else those that are known of a model."""
    from dodiag.interventions.price import TokenPrices, listed_price, read_prices
    from dodiag.problems import UsageError
    from dodiag.runners.models import known_prices

    if price is None:
        table = {} if prices is None else read_prices(prices)
        if model is None:
            return None
        listed = listed_price(table, model)
        return known_prices(model) if listed is None else listed
    if prices is not None:
        raise UsageError("--price and --prices are both given", "Give one of them.")
    parts = price.split(",")
    try:
        values = [float(part) for part in parts]
    except ValueError:
        values = []
    if len(values) != 2 or not all(0 <= value < 1e9 for value in values):
        raise UsageError(f"--price '{price}' is not two prices", "Write IN,OUT, such as 1.25,10.")
    return TokenPrices(values[0], values[1])


def replaced_prices(run_dir: Path, price: str | None, prices: Path | None) -> TokenPrices | None:
    """Return the prices that are to replace those of a run; None where none are given."""
    from dodiag.runners.ledger import Ledger

    if price is None and prices is None:
        return None
    with Ledger(run_dir) as ledger:
        model = ledger.manifest["model_name"]
    return chosen_prices(price, prices, model)


def parsed_span(text: str) -> float:
    """Return the seconds of ``90``, ``90s``, ``30m`` or ``1h30m``."""
    from dodiag.interventions.price import seconds_of_span

    try:
        return float(text)
    except ValueError:
        seconds = seconds_of_span(text)
    if seconds is None:
        raise typer.BadParameter(f"'{text}' is no length of time; write 90, 90s, 30m or 1h30m.")
    return seconds


def parsed_parameters(pairs: list[str] | None, temperature: float | None, max_tokens: int | None) -> dict[str, Any]:
    """Return the sampling parameters of the command line."""
    found: dict[str, Any] = {"temperature": temperature, "max_tokens": max_tokens}
    return {name: value for name, value in found.items() if value is not None} | parsed_pairs(pairs, "--param")


def parsed_pairs(pairs: list[str] | None, option: str) -> dict[str, Any]:
    """Return the values of an option that is given as ``NAME=VALUE``, each JSON or else text."""
    from dodiag.problems import UsageError

    found: dict[str, Any] = {}
    for pair in pairs or ():
        name, equals, text = pair.partition("=")
        if not equals or not name.strip():
            raise UsageError(f"{option} '{pair}' has no value", "Write NAME=VALUE.")
        try:
            found[name.strip()] = json.loads(text)
        except ValueError:
            found[name.strip()] = text
    return found
