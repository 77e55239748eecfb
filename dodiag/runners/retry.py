"""The one retry layer: which failures are tried again, when, and how a whole model is slowed down."""

from __future__ import annotations

import asyncio
import contextlib
import random
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass

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
    """

    max_retries: int = 4
    base: float = 1.0
    longest: float = 60.0
    call_deadline: float = 1800.0
    attempt_timeout: float | None = None
    adaptive: bool = True


@dataclass(frozen=True, slots=True)
class Answered:
    """A reply, the number of tries it took, the seconds of the last one, and the tries that may be billed besides."""

    reply: Reply
    attempts: int
    seconds: float
    broken_off: int = 0


class GaveUp(Exception):
    """A call that failed for good.

    Attributes
    ----------
    failure : CallFailed
        Why.
    attempts, broken_off : int
        How often it was tried, and how many of the tries may be billed all the same.
    too_long : float or None
        Seconds that the server asks every call to wait, where that is longer than a call may take.
    """

    def __init__(self, failure: CallFailed, attempts: int, broken_off: int = 0, too_long: float | None = None) -> None:
        super().__init__(failure.message)
        self.too_long = too_long
        self.failure = failure
        self.attempts = attempts
        self.broken_off = broken_off


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
    async def sending(self, request: Request) -> AsyncIterator[Answered]:
        """Give the reply to a request; its place among those in flight is free when the block ends.

        The block stores the reply, so no more calls are sent and not stored than there are places.

        Raises
        ------
        GaveUp
            If the failure is not transient, or the retries or the deadline are used up.
        Stopped
            If :meth:`stop` was called before the request was sent.
        """
        policy, started, attempts, broken_off = self._policy, time.monotonic(), 0, 0
        while True:
            await self._place()
            attempts += 1
            sent = time.monotonic()
            self._progress.in_flight += 1
            try:
                reply = await self._answer(request)
                self._places.answered()
                yield Answered(reply, attempts, time.monotonic() - sent, broken_off)
                return
            except CallFailed as failed:
                failure = failed
            finally:
                self._progress.in_flight -= 1
                self._places.give()
            broken_off += failure.maybe_billed
            wait = self._wait(failure, attempts)
            slowing = failure.kind in SLOWING
            if failure.kind in TOO_MUCH:
                self._places.too_much(sent, time.monotonic())
                self._progress.places = self._places.now
            late = time.monotonic() - started + wait > policy.call_deadline
            if not failure.kind.transient or attempts > policy.max_retries or late:
                too_long = wait if slowing and wait > policy.call_deadline else None
                raise GaveUp(failure, attempts, broken_off, too_long)
            until = time.monotonic() + wait
            if slowing:
                self._paused_until = self._progress.paused_until = max(self._paused_until, until)
            with self._progress.waiting_for(str(failure.kind), attempts, policy.max_retries, until):
                await self._sleep(wait)

    async def _answer(self, request: Request) -> Reply:
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
