"""The live state of a run, and the line on the terminal that shows it."""

from __future__ import annotations

import asyncio
import contextlib
import sys
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import TextIO

from dodiag.interventions.price import duration
from dodiag.runners.background import beside


@dataclass
class Progress:
    """Counters of a run; the runner writes them, a display reads them.

    Attributes
    ----------
    total : int
        Calls of the plan.
    reused : int
        Calls that were answered before this process started.
    done : int
        Calls answered by this process.
    in_flight, waiting, failed : int
        Calls being sent, calls waiting for a retry, calls that came to no reply.
    money : float or None
        Spent by this process, where a price is known.
    note : str
        What the runner is doing about trouble, such as ``waiting (retry 1/4, 2 s)``.
    """

    total: int
    reused: int = 0
    done: int = 0
    in_flight: int = 0
    waiting: int = 0
    failed: int = 0
    money: float | None = None
    note: str = ""
    started: float = field(default_factory=time.monotonic)

    @property
    def elapsed(self) -> float:
        """Seconds since the start."""
        return time.monotonic() - self.started

    @property
    def rate(self) -> float:
        """Calls finished by this process per second."""
        return (self.done + self.failed) / max(self.elapsed, 1e-9)

    @property
    def seconds_left(self) -> float | None:
        """Estimated seconds until the end; None before the first call is finished."""
        left = self.total - self.reused - self.done - self.failed
        return left / self.rate if self.done + self.failed else None

    def line(self) -> str:
        """Return the state as one line of text."""
        finished = self.reused + self.done
        parts = [f"{finished:,}/{self.total:,} done", f"{self.in_flight} in flight"]
        if self.waiting:
            parts.append(f"{self.waiting} {self.note or 'waiting for a retry'}")
        if self.failed:
            parts.append(f"{self.failed} failed")
        parts.append(f"{self.rate:,.0f}/s" if self.rate >= 10 else f"{self.rate:.1f}/s")
        if self.money:
            parts.append(f"{self.money:.4f} spent")
        if (left := self.seconds_left) is not None:
            parts.append(f"{duration(left)} left")
        return " · ".join(parts)


@contextlib.asynccontextmanager
async def shown(progress: Progress, stream: TextIO | None = None, quiet: bool = False) -> AsyncIterator[None]:
    """Show a run's progress while the block runs.

    On a terminal the line is rewritten four times a second; elsewhere a line is written every ten seconds, so that
    logs stay short.
    """
    out = sys.stderr if stream is None else stream
    live = out.isatty()
    if quiet:
        yield
        return

    async def display() -> None:
        while True:
            await asyncio.sleep(0.25 if live else 10)
            _write(out, progress.line(), live)

    try:
        async with beside(display()):
            yield
    finally:
        if live:
            _write(out, progress.line(), live)
            out.write("\n")
            out.flush()


def _write(out: TextIO, line: str, live: bool) -> None:
    out.write(f"\r\033[K{line}" if live else f"{line}\n")
    out.flush()
