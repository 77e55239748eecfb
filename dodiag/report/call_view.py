"""One call for a person to look at: what was asked, what came back, how it was read."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

_UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]")


def harmless(text: str) -> str:
    r"""Return text in which everything that a terminal would obey, or hide, is written out.

    Control characters (line ends and tabs excepted), direction marks, invisible characters and lone surrogates become
    escapes such as ``\x1b`` and ``\u202e``, so that a model's reply is shown as it is and can do nothing.

    Examples
    --------
    >>> harmless("a\x1b[2Jb")
    'a\\x1b[2Jb'
    """
    return _UNSEEN.sub(_escape, text.replace("\r\n", "\n"))


def _escape(found: re.Match[str]) -> str:
    code = ord(found[0])
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


@dataclass(frozen=True, slots=True)
class CallView:
    """Everything that is known of one call.

    Attributes
    ----------
    place : mapping of str to str
        Position, instance, unit, question, step, configuration, draw, model.
    prompt : str or None
        As it was sent; None where the call came to no reply.
    media : sequence of mapping
        ``mime``, ``digest``, and ``path`` where the picture was written out.
    reply, reasoning : str or None
    outcome : mapping of str to str
        Outcome, solved, value, truth, how, strict, flags; or kind and message of the failure.
    cost : mapping of str to str
        Tokens, seconds, attempts, when.
    verdict : str
        What a judge said, if one was asked.
    """

    place: Mapping[str, str]
    prompt: str | None
    media: Sequence[Mapping[str, str]]
    reply: str | None
    reasoning: str | None
    outcome: Mapping[str, str]
    cost: Mapping[str, str]
    verdict: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return the view as JSON values."""
        return asdict(self)


def call_report(view: CallView, reasoning: bool = False) -> RenderableType:
    """Return one call as text; nothing that a model wrote is taken for markup.

    Parameters
    ----------
    view : CallView
    reasoning : bool
        Show the reasoning in full instead of its length.
    """
    return Group(*_parts(view, reasoning))


def _parts(view: CallView, reasoning: bool) -> Iterator[Text]:
    yield Text(harmless("  ".join(f"{name} {value}" for name, value in view.place.items() if value)), style="bold")
    if view.prompt is not None:
        yield from _section("prompt", view.prompt)
    for medium in view.media:
        yield Text(f"  {medium['mime']} {medium['digest'][:16]}… {medium.get('path', '')}".rstrip())
    if view.reasoning:
        shown = view.reasoning if reasoning else f"{len(view.reasoning):,} characters; --reasoning shows them"
        yield from _section("reasoning", shown)
    if view.prompt is not None:
        yield from _section("reply", "(no text)" if view.reply is None else view.reply)
    yield Text("outcome", style="bold green")
    for name, value in view.outcome.items():
        if value:
            yield Text(f"  {name}: {harmless(value)}")
    if view.verdict:
        yield from _section("judge", view.verdict)
    yield Text("  ".join(f"{name} {value}" for name, value in view.cost.items() if value), style="dim")


def _section(title: str, body: str) -> Iterator[Text]:
    yield Text(title, style="bold green")
    for line in harmless(body).split("\n"):
        yield Text(f"  {line}")
