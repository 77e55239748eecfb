"""What a plan costs, before it runs: calls, tokens, money where a price is known, time."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from dodiag.interventions.media import MediaRule
from dodiag.interventions.plan import Plan
from dodiag.interventions.prompts import INTRODUCTION, Medium, ask, entry
from dodiag.interventions.videos import expected_frames
from dodiag.problems import InvalidInput, MissingDependency, Problem, UsageError, nearest
from dodiag.scm.media import MediumError
from dodiag.scm.pack import Instance, Pack, Question, spec_of
from dodiag.scm.source import Source, read_source
from dodiag.vocabulary import State

CHARACTERS_PER_TOKEN = 4.0
PIXELS_PER_TOKEN = 750.0
VIDEO_TOKENS = 5_000
BLOCK_CHARACTERS = len(INTRODUCTION) + 40


@dataclass(frozen=True, slots=True)
class TokenPrices:
    """What a model costs, in money per million tokens.

    Attributes
    ----------
    input, output : float
    cached_input : float or None
        Of the input tokens that came out of the provider's cache; None bills them as input.
    reasoning : float or None
        Of the output tokens that are reasoning; None bills them as output.

    Raises
    ------
    UsageError
        If a price is negative or no number.
    """

    input: float
    output: float
    cached_input: float | None = None
    reasoning: float | None = None

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if value is not None and not 0 <= value < math.inf:
                raise UsageError(f"the price {field.name} is {value}", "Give money per million tokens, 0 or more.")

    def cost(
        self, read: int | None, written: int | None, cached: int | None = None, reasoning: int | None = None
    ) -> float | None:
        """Return the money of one call; None where a count that has a price is unknown, never 0 for it.

        Parameters
        ----------
        read, written : int or None
            Input tokens, those from the cache included, and output tokens, reasoning included.
        cached, reasoning : int or None
            The part of each with a price of its own; unknown is none of it.

        Examples
        --------
        >>> TokenPrices(2, 10, cached_input=1).cost(1_000_000, 100_000, cached=500_000)
        2.5
        >>> TokenPrices(2, 10).cost(1_000_000, None) is None
        True
        """
        total = 0.0
        for count, part, full, special in (
            (read, cached, self.input, self.cached_input),
            (written, reasoning, self.output, self.reasoning),
        ):
            special = full if special is None else special
            if count is None:
                if full or special:
                    return None
                continue
            apart = min(part or 0, count)
            total += (count - apart) * full + apart * special
        return total / 1e6


PriceTable = Mapping[str, TokenPrices]


def read_prices(path: str | Path) -> dict[str, TokenPrices]:
    """Return the price table in a YAML or JSON file: model → ``input``, ``output``, ``cached_input``, ``reasoning``.

    Raises
    ------
    InvalidInput
        With every problem of the file.
    """
    source = read_source(Path(path))
    problems: list[Problem] = []
    table: dict[str, TokenPrices] = {}
    if not isinstance(source.data, Mapping) or not source.data:
        cure = "Write MODEL: {input: 1.25, output: 10}."
        raise InvalidInput([source.problem((), "", "is no mapping from models to prices", cure)])
    for model, given in source.data.items():
        found = list(_entry_problems(source, model, given))
        problems += found
        if not found:
            table[model] = TokenPrices(**{name: float(value) for name, value in given.items() if value is not None})
    if problems:
        raise InvalidInput(problems)
    return table


def _entry_problems(source: Source, model: str, given: Any) -> Iterator[Problem]:
    names = [field.name for field in fields(TokenPrices)]
    if not isinstance(given, Mapping):
        yield source.problem((model,), model, "has no prices", "Write {input: 1.25, output: 10}.")
        return
    for name, value in given.items():
        if name not in names:
            yield source.problem((model, name), model, f"'{name}' is no price", nearest(name, names))
        elif value is None and name in ("cached_input", "reasoning"):
            continue
        elif isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < math.inf:
            cure = "Give money per million tokens, 0 or more."
            yield source.problem((model, name), model, f"{name} is {value!r}, no price", cure)
    for name in ("input", "output"):
        if name not in given:
            yield source.problem((model,), model, f"has no price '{name}'", "Give input and output at least.")


def listed_price(table: PriceTable, model: str) -> TokenPrices | None:
    """Return a model's prices in a table, by its whole name or by the name behind ``openai/`` or ``litellm:``."""
    for prefix in ("", "openai/", "litellm:"):
        if model.startswith(prefix) and (found := table.get(model.removeprefix(prefix))) is not None:
            return found
    return None


@dataclass(frozen=True, slots=True)
class Assumptions:
    """What an estimate rests on, besides the plan; all of it is printed with the estimate.

    Attributes
    ----------
    output_tokens : int
        Tokens of one reply; a thinking model writes thousands.
    latency : float
        Seconds of one call.
    concurrency : int
        Calls in flight at once.
    input_price, output_price : float or None
        Money per million tokens; None where it is not known.
    instances : int or None
        Number of instances of a task graph without a pack; None takes the published number.
    with_media : bool
        Whether pictures and videos are sent.

    Raises
    ------
    UsageError
        If a number is negative, or there is no call in flight or no instance.
    """

    output_tokens: int = 100
    latency: float = 2.0
    concurrency: int = 16
    input_price: float | None = None
    output_price: float | None = None
    instances: int | None = None
    with_media: bool = True

    def __post_init__(self) -> None:
        for name in ("output_tokens", "latency", "concurrency", "input_price", "output_price", "instances"):
            value, least = getattr(self, name), int(name in ("concurrency", "instances"))
            if value is not None and not least <= value < math.inf:
                raise UsageError(f"{name.replace('_', ' ')} is {value}", f"Use a number, {least} or more.")


@dataclass(frozen=True, slots=True)
class Price:
    """An estimate of a plan's cost.

    Attributes
    ----------
    instances, calls : int
    calls_per_unit : mapping of str to int
    input_tokens, output_tokens : int or None
        Estimates: 4 characters a token; 750 pixels a token, in the size and the number of frames in which the plan's
        media rule sends a medium; 5,000 tokens a video that is sent as it is or cannot be looked into. Providers count
        pictures in ways of their own. None where there are no questions to measure.
    money : float or None
        In the currency of the prices; None where a price or a count of tokens is unknown, never 0 for it.
    seconds : float
        calls × latency / concurrency.
    assumed : bool
        True where the instances are assumed, because the plan is of a task graph alone.
    assumptions : Assumptions
    """

    instances: int
    calls: int
    calls_per_unit: Mapping[str, int]
    input_tokens: int | None
    output_tokens: int | None
    money: float | None
    seconds: float
    assumed: bool
    assumptions: Assumptions

    def to_dict(self) -> dict[str, object]:
        """Return the estimate as JSON values."""
        return asdict(self)


def price(plan: Plan, assumptions: Assumptions | None = None) -> Price:
    """Estimate what a plan costs.

    A plan of a pack is measured question by question; nothing is assembled or kept. A plan of a task graph alone is
    counted from the published numbers of questions where the graph has them, else from one question per unit, instance
    and chain step, and says so.

    Raises
    ------
    UsageError
        If a number of instances is assumed for a pack, which has its own.
    """
    given = assumptions or Assumptions()
    if plan.pack is None:
        return _price_of_graph(plan, given)
    if given.instances is not None:
        message = f"{given.instances} instances are assumed, but the pack {plan.pack.folder} has its own"
        raise UsageError(message, "Ask fewer of them with limit (--limit).")
    calls: Counter[str] = Counter(dict.fromkeys(plan.asked_units, 0))
    tokens = 0.0
    instances = 0
    for instance in plan.selected():
        instances += 1
        media = _media_tokens(plan.pack, instance, plan.design.media) if given.with_media else 0.0
        for question, count, characters in _measured(plan, instance):
            calls[question.unit] += count
            tokens += characters / CHARACTERS_PER_TOKEN + count * media
    return _price(instances, dict(calls), round(tokens), given, assumed=False)


def _price_of_graph(plan: Plan, given: Assumptions) -> Price:
    published = plan.task.published
    known = int(published.get("instances") or 1)
    instances = known if given.instances is None else given.instances
    if plan.limit is not None:
        instances = min(instances, plan.limit)
    questions = published.get("questions", {})
    calls = {}
    for unit in plan.asked_units:
        chain = plan.task.chain_of(unit)
        steps = 1 if chain is None else chain.steps or 1
        asked = round(int(questions.get(unit, known * steps)) * instances / known)
        at_start = min(asked, instances) if chain is not None else asked
        calls[unit] = at_start * plan.schedule(unit, 1).calls + (asked - at_start) * plan.schedule(unit, 2).calls
    return _price(instances, calls, None, given, assumed=True)


def _price(
    instances: int, calls: Mapping[str, int], input_tokens: int | None, given: Assumptions, assumed: bool
) -> Price:
    total = sum(calls.values())
    output_tokens = total * given.output_tokens
    money = None
    if input_tokens is not None and given.input_price is not None and given.output_price is not None:
        money = (input_tokens * given.input_price + output_tokens * given.output_price) / 1e6
    return Price(
        instances=instances,
        calls=total,
        calls_per_unit=calls,
        input_tokens=input_tokens,
        output_tokens=output_tokens,
        money=money,
        seconds=total * given.latency / given.concurrency,
        assumed=assumed,
        assumptions=given,
    )


def _measured(plan: Plan, instance: Instance) -> Iterator[tuple[Question, int, float]]:
    """Yield each asked question with its number of calls and the characters of all its prompts."""
    lengths: dict[str, int] = {}
    for asked in plan.asked(instance):
        question, schedule = asked.question, asked.schedule
        if not schedule.calls:
            continue
        characters = schedule.calls * len(ask(question, spec_of(plan.task, question)))
        characters += BLOCK_CHARACTERS * schedule.injecting
        for prerequisite, times in zip(asked.prerequisites, schedule.active, strict=True):
            for injected in prerequisite.questions if times else ():
                length = lengths.get(injected.id)
                if length is None:
                    length = lengths[injected.id] = len(entry(plan.task, instance, injected, State.CORRECT)) + 2
                characters += length * times
        yield question, schedule.calls, float(characters)


def _media_tokens(pack: Pack, instance: Instance, rule: MediaRule) -> float:
    return sum(_file_tokens(pack, name, rule) for name in instance.media)


def _file_tokens(pack: Pack, name: str, rule: MediaRule) -> float:
    size = pack.headers[name].size
    frames = 1
    if size is None:
        try:
            frames, size = expected_frames(pack.medium(name), name, rule)
        except (MediumError, MissingDependency):
            return VIDEO_TOKENS
    width, height = rule.fitted(size)
    return frames * width * height / PIXELS_PER_TOKEN


def medium_tokens(medium: Medium) -> float:
    """Return about how many tokens a medium is, by its size in pixels."""
    import io

    from PIL import Image

    try:
        with Image.open(io.BytesIO(medium.data)) as picture:
            return picture.size[0] * picture.size[1] / PIXELS_PER_TOKEN
    except (OSError, Image.DecompressionBombError):
        return VIDEO_TOKENS


def duration(seconds: float) -> str:
    """Return a length of time for people: ``42 s``, ``3 min 5 s``, ``2 h 10 min``."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


_SPAN = re.compile(r"(\d+(?:\.\d+)?) ?(ms|s|m|h)", re.IGNORECASE)
_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}


def seconds_of_span(text: Any) -> float | None:
    """Return the seconds of a span such as ``120ms``, ``34s``, ``6m0s`` or ``1h30m``; None for anything else.

    Examples
    --------
    >>> seconds_of_span("120ms"), seconds_of_span("6m0s"), seconds_of_span("34.5s"), seconds_of_span("never")
    (0.12, 360.0, 34.5, None)
    """
    if not isinstance(text, str):
        return None
    parts = _SPAN.findall(text)
    if not parts or _SPAN.sub("", text).strip():
        return None
    return float(sum(float(number) * _UNITS[unit.lower()] for number, unit in parts))
