"""The one retry layer: which failures are tried again, when, and how a whole model is slowed down."""

from __future__ import annotations

import asyncio
import contextlib
import random
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Protocol

from dodiag.problems import UsageError
from dodiag.runners.places import Places
from dodiag.runners.progress import Progress
from dodiag.runners.protocol import Adapter, CallFailed, FailureKind, Reply, Request

SLOWING = (FailureKind.RATE_LIMIT, FailureKind.OVERLOADED)
"""Failures that say the model, not the call, is the trouble: every call to it waits."""

SHORTEST = 0.1
"""Share of the first wait that is waited at the least, whatever the server says."""

TOO_MUCH = (*SLOWING, FailureKind.TIMEOUT)
"""Failures that say fewer requests should be in flight."""


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How often and how long a call is tried.

    Attributes
    ----------
    max_retries : int
        Retries after the first try, for transient failures only.
    base, longest : float
        Seconds of the first wait, doubled for each further one, up to the longest; Retry-After overrides both.
    call_deadline : float
        Seconds from the first try after which a call is not tried again. A server that asks to wait longer ends the
        run, which can be continued.
    attempt_timeout : float or None
        Seconds after which one try is given up, whatever its adapter does.
    adaptive : bool
        Whether fewer requests are in flight while the server cannot take them.

    Raises
    ------
    UsageError
        If the number of retries is negative.
    """

    max_retries: int = 4
    base: float = 1.0
    longest: float = 60.0
    call_deadline: float = 1800.0
    attempt_timeout: float | None = None
    adaptive: bool = True

    def __post_init__(self) -> None:
        if self.max_retries < 0:
            raise UsageError(f"the number of retries is {self.max_retries}", "Use 0 or more.")


@dataclass(frozen=True, slots=True)
class Answered:
    """A reply, the number of tries it took, and the seconds of the last one."""

    reply: Reply
    attempts: int
    seconds: float


class GaveUp(Exception):
    """A call that failed for good.

    Attributes
    ----------
    failure : CallFailed
        Why.
    attempts : int
        How often it was tried.
    too_long : float or None
        Seconds that the server asks every call to wait, where that is longer than a call may take.
    """

    def __init__(self, failure: CallFailed, attempts: int, too_long: float | None = None) -> None:
        super().__init__(failure.message)
        self.too_long = too_long
        self.failure = failure
        self.attempts = attempts


class Spending(Protocol):
    """What has to know of every single request of a call, because each may cost something."""

    def broke_off(self) -> None:
        """Take note that a request that was sent came to no reply and may be billed all the same."""
        ...

    async def again(self) -> None:
        """Let a further request of the call go out, or raise what says that none may."""
        ...


class Stopped(Exception):
    """The run was stopped before a request was sent."""


class Retrier:
    """Sends requests to one model, retrying what is transient and pausing the whole model when it asks for it.

    At most `concurrency` requests are in flight. A call that waits for its retry holds no place among them, so one bad
    instance does not slow down the others.
    """

    def __init__(self, adapter: Adapter, policy: RetryPolicy, progress: Progress, concurrency: int) -> None:
        self._adapter = adapter
        self._policy = policy
        self._progress = progress
        self._places = Places(concurrency, policy.adaptive)
        self._stopping = asyncio.Event()
        self._paused_until = 0.0
        self._random = random.Random()

    @contextlib.asynccontextmanager
    async def sending(self, request: Request, spending: Spending | None = None) -> AsyncIterator[Answered]:
        """Give the reply to a request; its place among those in flight is free when the block ends.

        The block stores the reply, so no more calls are sent and not stored than there are places.

        Parameters
        ----------
        request : Request
        spending : Spending, optional
            Told of requests that may be billed without a reply, and asked before every retry.

        Raises
        ------
        GaveUp
            If the failure is not transient, or the retries or the deadline are used up.
        Stopped
            If :meth:`stop` was called before the request was sent.
        """
        policy, started, attempts = self._policy, 0.0, 0
        while True:
            if attempts and spending is not None:
                await spending.again()
            await self._place()
            attempts += 1
            sent = time.monotonic()
            started = started or sent
            self._progress.in_flight += 1
            try:
                reply = await self._answer(request, spending)
                self._places.answered()
                yield Answered(reply, attempts, time.monotonic() - sent)
                return
            except CallFailed as failed:
                failure = failed
            finally:
                self._progress.in_flight -= 1
                self._places.give()
            wait = self._wait(failure, attempts)
            slowing = failure.kind in SLOWING
            if failure.kind in TOO_MUCH:
                self._places.too_much(sent, time.monotonic())
                self._progress.places = self._places.now
            late = time.monotonic() - started + wait > policy.call_deadline
            if not failure.kind.transient or attempts > policy.max_retries or late:
                too_long = wait if slowing and wait > policy.call_deadline else None
                raise GaveUp(failure, attempts, too_long)
            until = time.monotonic() + wait
            if slowing:
                self._paused_until = self._progress.paused_until = max(self._paused_until, until)
            with self._progress.waiting_for(str(failure.kind), attempts, policy.max_retries, until):
                await self._sleep(wait)

    async def _answer(self, request: Request, spending: Spending | None) -> Reply:
        """Send a request once; whatever ends it without a reply, what may be billed for it is told first."""
        try:
            reply = await self._within_timeout(request)
        except CallFailed as failure:
            if failure.maybe_billed and spending is not None:
                spending.broke_off()
            raise
        except asyncio.CancelledError:
            if spending is not None and not self._adapter.free:
                spending.broke_off()
            raise
        if not isinstance(reply, Reply) or not isinstance(reply.text, str | None):
            what = f"a Reply of {type(reply.text).__name__}" if isinstance(reply, Reply) else type(reply).__name__
            raise UsageError(f"the model {self._adapter.model} returned {what}", "Return a Reply of text or None.")
        return reply

    async def _within_timeout(self, request: Request) -> Reply:
        seconds = self._policy.attempt_timeout
        if seconds is None:
            return await self._adapter.answer(request)
        try:
            async with asyncio.timeout(seconds) as limit:
                return await self._adapter.answer(request)
        except TimeoutError:
            if not limit.expired():
                raise
            raise CallFailed(FailureKind.TIMEOUT, f"no reply within {seconds:g} s", maybe_billed=True) from None

    def stop(self) -> None:
        """Let no further request go out; calls that wait end with :class:`Stopped`."""
        self._stopping.set()

    def _wait(self, failure: CallFailed, attempts: int) -> float:
        if failure.retry_after is not None:
            jitter = 1 + 0.1 * self._random.random()
            return max(failure.retry_after, SHORTEST * self._policy.base) * jitter
        ceiling: float = min(self._policy.longest, self._policy.base * 2 ** (attempts - 1))
        return ceiling * (0.5 + 0.5 * self._random.random())

    async def _place(self) -> None:
        """Wait until the model is not paused and a place among the requests in flight is free, and take it."""
        while True:
            while (left := self._paused_until - time.monotonic()) > 0:
                await self._sleep(left * (1 + 0.2 * self._random.random()))
            await self._places.take()
            if not self._stopping.is_set() and self._paused_until <= time.monotonic():
                return
            self._places.give()
            if self._stopping.is_set():
                raise Stopped

    async def _sleep(self, seconds: float) -> None:
        try:
            await asyncio.wait_for(self._stopping.wait(), seconds)
        except TimeoutError:
            return
        raise Stopped
