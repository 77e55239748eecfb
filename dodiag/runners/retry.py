"""The one retry layer: which failures are tried again, when, and how a whole model is slowed down."""

from __future__ import annotations

import asyncio
import contextlib
import random
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass

from dodiag.runners.progress import Progress
from dodiag.runners.protocol import Adapter, CallFailed, FailureKind, Reply, Request

SLOWING = (FailureKind.RATE_LIMIT, FailureKind.OVERLOADED)
"""Failures that say the model, not the call, is the trouble: every call to it waits."""


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
        Seconds from the first try after which a call is not tried again.
    """

    max_retries: int = 4
    base: float = 1.0
    longest: float = 60.0
    call_deadline: float = 1800.0


@dataclass(frozen=True, slots=True)
class Answered:
    """A reply, the number of tries it took, and the seconds of the last one."""

    reply: Reply
    attempts: int
    seconds: float


class GaveUp(Exception):
    """A call that failed for good; `failure` says why, `attempts` how often it was tried."""

    def __init__(self, failure: CallFailed, attempts: int) -> None:
        super().__init__(failure.message)
        self.failure = failure
        self.attempts = attempts


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
        self._places = asyncio.Semaphore(concurrency)
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
        policy, started, attempts = self._policy, time.monotonic(), 0
        while True:
            await self._place()
            attempts += 1
            sent = time.monotonic()
            self._progress.in_flight += 1
            try:
                reply = await self._adapter.answer(request)
                yield Answered(reply, attempts, time.monotonic() - sent)
                return
            except CallFailed as failed:
                failure = failed
            finally:
                self._progress.in_flight -= 1
                self._places.release()
            wait = self._wait(failure, attempts)
            late = time.monotonic() - started + wait > policy.call_deadline
            if not failure.kind.transient or attempts > policy.max_retries or late:
                raise GaveUp(failure, attempts)
            if failure.kind in SLOWING:
                self._paused_until = max(self._paused_until, time.monotonic() + wait)
            self._progress.note = f"waiting ({failure.kind}, retry {attempts}/{policy.max_retries}, {wait:.0f} s)"
            await self._sleep(wait)

    def stop(self) -> None:
        """Let no further request go out; calls that wait end with :class:`Stopped`."""
        self._stopping.set()

    def _wait(self, failure: CallFailed, attempts: int) -> float:
        if failure.retry_after is not None:
            return failure.retry_after * (1 + 0.1 * self._random.random())
        ceiling: float = min(self._policy.longest, self._policy.base * 2 ** (attempts - 1))
        return ceiling * (0.5 + 0.5 * self._random.random())

    async def _place(self) -> None:
        """Wait until the model is not paused and a place among the requests in flight is free, and take it."""
        while True:
            while (left := self._paused_until - time.monotonic()) > 0:
                await self._sleep(left * (1 + 0.2 * self._random.random()))
            await self._places.acquire()
            if not self._stopping.is_set() and self._paused_until <= time.monotonic():
                return
            self._places.release()
            if self._stopping.is_set():
                raise Stopped

    async def _sleep(self, seconds: float) -> None:
        self._progress.waiting += 1
        try:
            await asyncio.wait_for(self._stopping.wait(), seconds)
        except TimeoutError:
            return
        finally:
            self._progress.waiting -= 1
        raise Stopped
