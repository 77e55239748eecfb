"""Execute a plan: bounded concurrency, one retry layer, every reply on disk, nothing sent twice."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from dodiag.interventions.plan import Call, Plan
from dodiag.interventions.price import TokenPrices, duration
from dodiag.interventions.prompts import Prompt
from dodiag.problems import UsageError
from dodiag.runners.background import beside
from dodiag.runners.budget import Account, Budget, Hold, LimitReached, Meter
from dodiag.runners.keys import prompt_digest, request_key
from dodiag.runners.ledger import CallRow, FailureRow, Ledger, LedgerWriter, ReplyRow
from dodiag.runners.progress import Progress, shown
from dodiag.runners.protocol import Adapter, FailureKind, Request
from dodiag.runners.retry import Answered, GaveUp, Retrier, RetryPolicy, Stopped
from dodiag.runners.scoring import score

HOPELESS = 10
"""Calls that may fail from the start, none having been answered, before the run stops by itself."""

HOPELESS_INSTANCES = 10
"""Instances in a row of which no call is answered and some fail as none has to by itself, before the run stops."""

OF_THE_SERVER = (FailureKind.RATE_LIMIT, FailureKind.OVERLOADED, FailureKind.NETWORK)
"""Failures that no call has by itself: so many in a row as are in flight, and the run stops to be continued later."""

OF_CALL_OR_SERVER = (FailureKind.INTERNAL, FailureKind.TIMEOUT)
"""Failures that one instance may have by itself, with all its calls, but not many instances in a row."""

LAST_WORDS = 1.0
"""Seconds that requests in flight have to come in after Ctrl-C."""

STOPPING = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))
"""Signals that end a run in order: Ctrl-C, a request to end, a terminal that is closed."""

WORKERS_PER_PLACE = 4
"""Calls that may be under way for each request in flight; the others wait for their retry or for a place."""

SYNC_SECONDS = 1.0
"""Time between two syncs of the ledger to the disk."""

BREATHER = 64
"""Calls after which a worker lets the loop run, for adapters that never wait."""


@dataclass(frozen=True, slots=True)
class RunOptions:
    """How a plan is run; none of it changes what is asked.

    Attributes
    ----------
    concurrency : int
        Calls in flight at once.
    retry : RetryPolicy
    prices : TokenPrices or None
    quiet : bool
        Show no progress.
    budget : Budget
        Calls, money and seconds that may be spent.

    Raises
    ------
    UsageError
        If no call may be in flight.
    """

    concurrency: int = 16
    retry: RetryPolicy = field(default_factory=RetryPolicy)
    prices: TokenPrices | None = None
    quiet: bool = False
    budget: Budget = field(default_factory=Budget)

    def __post_init__(self) -> None:
        if self.concurrency < 1:
            raise UsageError(f"concurrency is {self.concurrency}", "Use at least 1.")


@dataclass(frozen=True, slots=True)
class RunSummary:
    """How a run ended.

    Attributes
    ----------
    planned, reused, answered, failed : int
        Calls of the plan; answered before; answered now; without a reply.
    seconds : float
    stopped : str or None
        Why the run stopped early; None if it went through the whole plan.
    interrupted : bool
        Whether Ctrl-C, or another signal to end, stopped it.
    money : float or None
        Spent now, where a price is known.
    money_before : float or None
        Spent on the run before.
    estimated : int
        Replies whose tokens the provider did not report, so that their cost is estimated from their length.
    account : Account or None
        What the whole run has cost so far, earlier processes included.
    """

    planned: int
    reused: int
    answered: int
    failed: int
    seconds: float
    stopped: str | None
    interrupted: bool
    money: float | None
    money_before: float | None = None
    estimated: int = 0
    account: Account | None = None

    @property
    def complete(self) -> bool:
        """Whether every call of the plan has an answer."""
        return self.reused + self.answered == self.planned


async def execute(plan: Plan, adapter: Adapter, ledger: Ledger, options: RunOptions) -> RunSummary:
    """Send every call of a plan that the ledger has no answer to.

    Raises
    ------
    DodiagError
        If a medium cannot be read or the ledger cannot be written; every reply before is kept.
    """
    try:
        return await _Run(plan, adapter, ledger, options).execute()
    finally:
        await adapter.close()


def most_calls_per_question(plan: Plan) -> int:
    """Return the largest number of calls that one question of a plan has."""
    return max(plan.run_count(unit, plan.configurations(unit)) for unit in plan.asked_units)


class _Recent:
    """The replies of the last requests: only calls of one question can share a reply, and those are planned together.

    It spares a look into the ledger for every call of a fresh run.
    """

    def __init__(self, capacity: int) -> None:
        self._capacity = max(capacity, 256)
        self._rows: OrderedDict[str, ReplyRow] = OrderedDict()

    def get(self, key: str) -> ReplyRow | None:
        return self._rows.get(key)

    def put(self, key: str, row: ReplyRow) -> None:
        self._rows[key] = row
        if len(self._rows) > self._capacity:
            self._rows.popitem(last=False)


class _Run:
    def __init__(self, plan: Plan, adapter: Adapter, ledger: Ledger, options: RunOptions) -> None:
        manifest = ledger.manifest
        self.plan = plan
        self.adapter = adapter
        self.ledger = ledger
        self.options = options
        self.parameters = manifest["parameters"]
        self.assembler = plan.assembler(adapter.sees_media) if plan.pack else None
        self.progress = Progress(total=plan.call_count)
        self.retrier = Retrier(adapter, options.retry, self.progress, options.concurrency)
        self.meter = Meter(options.budget, options.prices, self.parameters, ledger)
        self.writer = LedgerWriter(ledger.path, together=BREATHER if adapter.free else 1)
        self.continued = not ledger.empty
        self.recent = _Recent(4 * most_calls_per_question(plan) + WORKERS_PER_PLACE * options.concurrency)
        self.in_progress: dict[str, asyncio.Future[ReplyRow | GaveUp]] = {}
        self.stopped: str | None = None
        self.interrupted = False
        self.failed_in_a_row = 0
        self.failing_instances: set[str] = set()
        if self.meter.priced:
            self.progress.money = 0.0

    async def execute(self) -> RunSummary:
        answered = bytearray(self.progress.total)
        for position in self.ledger.answered_positions():
            answered[position] = 1
        self.progress.reused = sum(answered)
        source = (call for call in self.plan.calls() if not answered[call.position])
        count = max(1, min(WORKERS_PER_PLACE * self.options.concurrency, self.progress.total - self.progress.reused))
        workers = [asyncio.create_task(self._work(source)) for _ in range(count)]
        try:
            beside_it = shown(self.progress, quiet=self.options.quiet), beside(self._sync())
            async with beside_it[0], beside_it[1], beside(self._watch_deadline(workers)):
                with self._interruptible(workers):
                    await self._gather(workers)
        finally:
            try:
                self.writer.close()
            finally:
                self.meter.save(self.ledger)
        progress = self.progress
        return RunSummary(
            planned=progress.total,
            reused=progress.reused,
            answered=progress.done,
            failed=progress.failed,
            seconds=progress.elapsed,
            stopped=self.stopped,
            interrupted=self.interrupted,
            money=progress.money,
            money_before=self.meter.before if self.meter.priced else None,
            estimated=self.meter.estimated if self.meter.priced else 0,
            account=self.meter.account,
        )

    async def _watch_deadline(self, workers: list[asyncio.Task[None]]) -> None:
        """Send nothing new after the run's deadline, and give up after the grace what is then still in flight."""
        budget = self.options.budget
        if budget.seconds is None:
            return
        await asyncio.sleep(budget.seconds)
        said = f"{budget.seconds:g} s" if budget.seconds < 60 else duration(budget.seconds)
        self._stop(f"the deadline of {said} has passed")
        await asyncio.sleep(budget.grace)
        if (left := self.progress.in_flight) and self.stopped is not None:
            self.stopped += f", and {left} requests in flight were given up after {budget.grace:g} s more"
        for worker in workers:
            worker.cancel()

    async def _sync(self) -> None:
        """Bring the ledger to the disk every second, with what may be billed besides the replies in it."""
        while True:
            await asyncio.sleep(SYNC_SECONDS)
            if self.meter.unsaved:
                self.meter.save(self.ledger)
            await asyncio.to_thread(self.writer.sync)

    async def _gather(self, workers: list[asyncio.Task[None]]) -> None:
        """Wait for the workers; the first error ends the others and is raised.

        Where the run itself is cancelled, as by Ctrl-C in a notebook, it ends in the same order as on a signal.
        """
        try:
            done, _ = await asyncio.wait(workers, return_when=asyncio.FIRST_EXCEPTION)
        except asyncio.CancelledError:
            self.interrupted = True
            self._stop("interrupted")
            await asyncio.wait(workers, timeout=LAST_WORDS)
            raise
        finally:
            for worker in workers:
                worker.cancel()
            await asyncio.gather(*workers, return_exceptions=True)
        for worker in done:
            if not worker.cancelled() and (error := worker.exception()) is not None:
                raise error
        if self.stopped is None and any(worker.cancelled() for worker in workers):
            cure = "Raise CallFailed in it for a call that fails."
            raise UsageError(f"the adapter of {self.adapter.model} cancelled a call by itself", cure)

    @contextlib.contextmanager
    def _interruptible(self, workers: list[asyncio.Task[None]]) -> Iterator[None]:
        """Let the first Ctrl-C end the workers in order, and a second one end the process at once.

        What is in flight is paid for, so it has a moment to come in. A signal that the process ignores, as under
        ``nohup``, goes on being ignored, and afterwards every signal is handled as it was.
        """
        loop = asyncio.get_running_loop()

        def stop(number: int) -> None:
            if self.interrupted:
                # A terminal that is closed may say so more than once.
                if number in (signal.SIGINT, signal.SIGTERM):
                    os._exit(130)
                return
            self.interrupted = True
            self._stop("interrupted")
            loop.call_later(LAST_WORDS, cancel)

        def cancel() -> None:
            for worker in workers:
                worker.cancel()

        before = {number: signal.getsignal(number) for number in STOPPING}
        taken = []
        try:
            for number, handler in before.items():
                if handler is not signal.SIG_IGN:
                    loop.add_signal_handler(number, stop, number)
                    taken.append(number)
        except (NotImplementedError, RuntimeError, ValueError):
            # Outside the main thread no signal comes here.
            yield
            return
        try:
            yield
        finally:
            for number in taken:
                loop.remove_signal_handler(number)
                if before[number] is not None:
                    signal.signal(number, before[number])

    async def _work(self, source: Iterator[Call]) -> None:
        for count, call in enumerate(source, start=1):
            if self.stopped:
                return
            try:
                await self._answer(call)
            except Stopped:
                return
            if count % BREATHER == 0:
                await asyncio.sleep(0)

    async def _answer(self, call: Call) -> None:
        assert self.assembler is not None
        prompt = self.assembler.prompt(call.instance, call.question, call.configuration)
        digest = prompt_digest(prompt, call.instance.id, call.question.id)
        key = request_key(self.adapter.model, self.adapter.endpoint, self.parameters, digest, call.draw)
        stored = self.recent.get(key)
        if stored is None and self.continued:
            stored = self.ledger.reply(key)
        if stored is not None:
            self._record(call, stored, new=False)
        elif key in self.in_progress:
            result = await asyncio.shield(self.in_progress[key])
            if isinstance(result, GaveUp):
                self._record_failure(call, key, result)
            else:
                self._record(call, result, new=False)
        else:
            await self._send(call, key, digest, prompt)

    async def _send(self, call: Call, key: str, digest: str, prompt: Prompt) -> None:
        future: asyncio.Future[ReplyRow | GaveUp] = asyncio.get_running_loop().create_future()
        self.in_progress[key] = future
        hold: Hold | None = None
        row: ReplyRow | None = None
        request = Request(prompt, self.parameters, self.plan.task, call.instance, call.question, call.draw)
        try:
            hold = await self.meter.admit(prompt)
            async with self.retrier.sending(request, hold) as answered:
                row = _reply_row(key, digest, prompt, call.draw, answered)
                self._record(call, row, new=True)
                self.recent.put(key, row)
                self.meter.learn(prompt, row)
            future.set_result(row)
        except GaveUp as failure:
            future.set_result(failure)
            self._record_failure(call, key, failure)
        except LimitReached as limit:
            future.cancel()
            self.stopped = self.stopped or str(limit)
            raise Stopped from None
        except BaseException:
            future.cancel()
            raise
        finally:
            if hold is not None:
                hold.ended(row)
            if self.progress.money is not None:
                self.progress.money = self.meter.spent
            del self.in_progress[key]

    def _record(self, call: Call, row: ReplyRow, new: bool) -> None:
        try:
            scored = score(self.plan.task, call.question, row.to_reply())
        except Exception:
            # Whatever is wrong with the reading, the reply is paid for.
            if new:
                self.writer.add(row)
            raise
        answer = CallRow(**_plan_line(call, row.key), **scored.columns())
        self.writer.add(*((row, answer) if new else (answer,)))
        self.progress.done += 1
        self.failed_in_a_row = 0
        self.failing_instances.clear()

    def _record_failure(self, call: Call, key: str, failure: GaveUp) -> None:
        trouble = failure.failure
        self.writer.add(
            FailureRow(
                **_plan_line(call, key),
                kind=trouble.kind.value,
                message=trouble.message,
                attempts=failure.attempts,
                failed_at=_now(),
            )
        )
        self.progress.failed += 1
        if trouble.kind.fatal:
            self._stop(f"{_REASON[trouble.kind]}: {trouble.message}")
        elif failure.too_long is not None:
            self._stop(f"the server asks to wait {duration(failure.too_long)}: {trouble.message}")
        elif self.adapter.free:
            # What another run does not hold is known at no cost, and says nothing about the next call.
            return
        elif self.progress.failed >= HOPELESS and self.progress.done == 0:
            self._stop(f"the first {HOPELESS} calls all failed: {trouble.message}")
        elif trouble.kind in OF_THE_SERVER:
            self.failed_in_a_row += 1
            if self.failed_in_a_row >= max(HOPELESS, self.options.concurrency):
                self._stop(f"{self.failed_in_a_row} calls in a row failed: {trouble.message}")
        elif trouble.kind in OF_CALL_OR_SERVER:
            self.failing_instances.add(call.instance.id)
            if len(self.failing_instances) >= HOPELESS_INSTANCES:
                self._stop(f"calls of {HOPELESS_INSTANCES} instances in a row failed: {trouble.message}")

    def _stop(self, reason: str) -> None:
        """Send nothing more; what is in flight may still come in."""
        self.stopped = self.stopped or reason
        self.retrier.stop()
        self.meter.close()


_REASON = {
    FailureKind.QUOTA: "the quota is used up",
    FailureKind.AUTH: "the server does not accept the key",
    FailureKind.NOT_FOUND: "the server has no such model or address",
}


def _plan_line(call: Call, key: str) -> dict[str, Any]:
    """Return the columns that answers and failures share."""
    return {
        "position": call.position,
        "instance": call.instance.id,
        "unit": call.question.unit,
        "question": call.question.id,
        "step": call.question.step,
        "configuration": call.configuration.text,
        "draw": call.draw,
        "absent": ",".join(call.absent),
        "key": key,
    }


def _reply_row(key: str, digest: str, prompt: Prompt, draw: int, answered: Answered) -> ReplyRow:
    reply = answered.reply
    return ReplyRow(
        key=key,
        prompt_digest=digest,
        draw=draw,
        prompt=prompt.text,
        media=json.dumps([[medium.mime, medium.digest] for medium in prompt.media]),
        reply=reply.text,
        reasoning=reply.reasoning,
        finish=reply.finish.value,
        provider_model=reply.model,
        input_tokens=reply.usage.input,
        output_tokens=reply.usage.output,
        cached_tokens=reply.usage.cached,
        reasoning_tokens=reply.usage.reasoning,
        attempts=answered.attempts,
        seconds=round(answered.seconds, 6),
        finished_at=_now(),
    )


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
