"""Find calls in a run, and make their prompts and pictures anew from the pack to look at."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dodiag.interventions.media import Medium
from dodiag.interventions.plan import Call, Plan
from dodiag.problems import UsageError
from dodiag.runners.keys import prompt_digest
from dodiag.runners.ledger import CallRow, FailureRow, Ledger, ReplyRow
from dodiag.vocabulary import Configuration, Outcome

FIELDS = ("instance", "unit", "question", "configuration", "draw", "outcome")


@dataclass(frozen=True, slots=True)
class Found:
    """A call of a run: its line of the plan, and its reply where it has one."""

    row: CallRow | FailureRow
    reply: ReplyRow | None

    @property
    def outcome(self) -> str:
        """The outcome; ``error`` for a call that came to no reply."""
        return self.row.outcome if isinstance(self.row, CallRow) else Outcome.ERROR.value


def find_calls(ledger: Ledger, wanted: Mapping[str, Any], position: int | None = None) -> Iterator[Found]:
    """Yield the calls with these fields (:data:`FIELDS`), in plan order, answered or failed for good.

    Raises
    ------
    UsageError
        If a configuration cannot be read or an outcome does not exist.
    """
    asked = {name: value for name, value in wanted.items() if value is not None}
    if "configuration" in asked:
        asked["configuration"] = dict(Configuration.parse(asked["configuration"]).items)
    if "outcome" in asked and asked["outcome"] not in list(Outcome):
        raise UsageError(f"'{asked['outcome']}' is no outcome", f"Outcomes are {', '.join(Outcome)}.")
    rows: list[Iterator[CallRow | FailureRow]] = [iter(ledger.calls()), iter(ledger.open_failures())]
    for row in _in_order(rows):
        found = Found(row, ledger.reply(row.key) if isinstance(row, CallRow) else None)
        if (position is None or row.position == position) and all(_has(found, n, v) for n, v in asked.items()):
            yield found


def _in_order(sources: list[Iterator[CallRow | FailureRow]]) -> Iterator[CallRow | FailureRow]:
    import heapq

    yield from heapq.merge(*sources, key=lambda row: row.position)


def _has(found: Found, name: str, value: Any) -> bool:
    if name == "outcome":
        return bool(found.outcome == value)
    if name == "configuration":
        return bool(dict(Configuration.parse(found.row.configuration).items) == value)
    return bool(getattr(found.row, name) == value)


def planned_call(plan: Plan, position: int) -> Call:
    """Return a line of a plan.

    Raises
    ------
    UsageError
        If the plan has no such line.
    """
    for call in plan.calls():
        if call.position == position:
            return call
    raise UsageError(f"the plan has no call {position}", f"Its calls are 0 to {plan.call_count - 1}.")


def media_of(plan: Plan, call: Call, sees_media: bool, stored: ReplyRow) -> tuple[Medium, ...]:
    """Return the pictures of a call as they were sent, made anew from the pack.

    Raises
    ------
    UsageError
        If the prompt would be another one today, so that these would not be the pictures that were sent.
    """
    assert plan.pack is not None
    prompt = plan.assembler(sees_media).prompt(call.instance, call.question, call.configuration)
    if prompt_digest(prompt, call.instance.id, call.question.id) != stored.prompt_digest:
        raise UsageError("these pictures would not be those that were sent", "The pack or the drawing has changed.")
    return prompt.media


def write_media(media: tuple[Medium, ...], folder: Path) -> list[Path]:
    """Write pictures under their hash, each once, and return their paths.

    Raises
    ------
    UsageError
        If the folder cannot be written.
    """
    paths = []
    for medium in media:
        path = folder / f"{medium.digest[:24]}.{medium.mime.partition('/')[2]}"
        try:
            folder.mkdir(parents=True, exist_ok=True)
            if not path.exists():
                path.write_bytes(medium.data)
        except OSError as error:
            raise UsageError(f"{path} cannot be written: {error.strerror}", "Choose another folder.") from None
        paths.append(path)
    return paths


def stored_media(reply: ReplyRow) -> list[tuple[str, str]]:
    """Return MIME type and SHA-256 of each medium that was sent."""
    return [(mime, digest) for mime, digest in json.loads(reply.media)]
