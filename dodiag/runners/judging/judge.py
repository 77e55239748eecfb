"""Ask a judge about many items: one retry layer, one re-ask at most, every verdict in the ledger."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from dodiag.interventions.plan import Call
from dodiag.interventions.prompts import Prompt
from dodiag.runners.judging.verdicts import Item, NoVerdict, Read, Verdict, judge_prompt, read_verdict
from dodiag.runners.ledger import LedgerWriter, VerdictRow
from dodiag.runners.progress import Progress
from dodiag.runners.protocol import Adapter, Reply, Request
from dodiag.runners.retry import GaveUp, Retrier, RetryPolicy, Stopped
from dodiag.scm.graph import TaskGraph

PARAMETERS: Mapping[str, Any] = {"temperature": 0}
"""Sampling parameters of a judge, unless others are named."""


@dataclass(frozen=True)
class Judge:
    """A model that judges.

    Attributes
    ----------
    adapter : Adapter
    parameters : mapping
        Sampling parameters; part of a verdict's key.
    """

    adapter: Adapter
    parameters: Mapping[str, Any] = field(default_factory=lambda: dict(PARAMETERS))

    def key(self, item: Item) -> str:
        """Return the ledger key of an item's judgement by this judge."""
        return item.key(self.adapter.model, self.adapter.endpoint, self.parameters)


@dataclass(frozen=True, slots=True)
class Pending:
    """An item to be judged, and the call and reply that it came from first."""

    key: str
    item: Item
    call: Call
    reply_key: str


@dataclass(frozen=True, slots=True)
class Judged:
    """What a round of judging came to.

    Attributes
    ----------
    asked : int
        Items that were sent.
    stopped : str or None
        Why it ended early: a used-up quota or a key that was refused.
    """

    asked: int
    stopped: str | None = None


async def judge_all(
    judge: Judge,
    pending: Sequence[Pending],
    task: TaskGraph,
    writer: LedgerWriter,
    concurrency: int,
    retry: RetryPolicy,
) -> Judged:
    """Judge items and store every verdict as it comes; a bad reply of the judge costs its own item alone.

    An item whose judge could not be reached is stored as ``unscored`` with reason ``judge_error`` and judged again in
    the next round. A used-up quota or a refused key ends the round and keeps what is there.
    """
    progress = Progress(total=len(pending))
    retrier = Retrier(judge.adapter, retry, progress, concurrency)
    source = iter(pending)
    stopped: list[str] = []
    asked = 0

    async def work() -> None:
        nonlocal asked
        for entry in source:
            if stopped:
                return
            try:
                asked += 1
                writer.add(await _judged(judge, entry, task, retrier))
            except Stopped:
                return
            except GaveUp as failure:
                writer.add(_row(judge, entry, "", (), Read(Verdict.UNSCORED, NoVerdict.ERROR), failure.attempts, 0.0))
                if failure.failure.kind.fatal:
                    stopped.append(failure.failure.message)
                    retrier.stop()

    try:
        workers = [asyncio.create_task(work()) for _ in range(min(concurrency, len(pending)) or 1)]
        try:
            await asyncio.gather(*workers)
        finally:
            for worker in workers:
                worker.cancel()
    finally:
        await judge.adapter.close()
    return Judged(asked, stopped[0] if stopped else None)


async def _judged(judge: Judge, entry: Pending, task: TaskGraph, retrier: Retrier) -> VerdictRow:
    token = f"answer-{entry.key[:12]}"
    attempts, seconds = 0, 0.0
    replies: list[Reply] = []
    for again in (False, True):
        prompt = judge_prompt(entry.item, token, again)
        request = Request(
            Prompt(prompt), judge.parameters, task, entry.call.instance, entry.call.question, entry.call.draw
        )
        async with retrier.sending(request) as answered:
            attempts += answered.attempts
            seconds += answered.seconds
            reply = answered.reply
        replies.append(reply)
        read = read_verdict(reply.text, token, reply.finish, entry.item.answer)
        if read.reason is not NoVerdict.PARSE:
            break
    return _row(judge, entry, prompt, replies, read, attempts, seconds)


def tokens_of(replies: Sequence[Reply]) -> tuple[int | None, int | None]:
    """Return the input and output tokens of all replies to one item, the one asked again for included."""
    asked = [reply.usage.input for reply in replies if reply.usage.input is not None]
    said = [reply.usage.output for reply in replies if reply.usage.output is not None]
    return sum(asked) if asked else None, sum(said) if said else None


def _row(
    judge: Judge, entry: Pending, prompt: str, replies: Sequence[Reply], read: Read, attempts: int, seconds: float
) -> VerdictRow:
    reply = replies[-1] if replies else None
    input_tokens, output_tokens = tokens_of(replies)
    return VerdictRow(
        key=entry.key,
        reply_key=entry.reply_key,
        judge=judge.adapter.model,
        verdict=read.verdict.value,
        reason=read.reason.value if read.reason else None,
        explanation=read.explanation or None,
        prompt=prompt,
        reply=None if reply is None else reply.text,
        finish=None if reply is None else reply.finish.value,
        input_tokens=input_tokens,
        output_tokens=output_tokens,
        attempts=attempts,
        seconds=round(seconds, 6),
        finished_at=datetime.now(UTC).isoformat(timespec="milliseconds"),
    )
