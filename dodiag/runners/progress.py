"""The live state of a run, and the line on the terminal that shows it."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
import time
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from typing import TextIO

from dodiag.interventions.price import duration
from dodiag.runners.background import beside


@dataclass(eq=False, slots=True)
class Wait:
    """A call that waits: why, before which retry of how many, until when by the monotonic clock."""

    why: str
    retry: int
    most: int
    until: float


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
    in_flight, failed : int
        Calls being sent, calls that came to no reply.
    money : float or None
        Spent by this process, where a price is known.
    places : int or None
        Calls that may be in flight, where the server cannot take as many as were asked for.
    paused_until : float
        When the model may be called again, by the monotonic clock.
    waits : set of Wait
        Calls that wait for a retry.
    """

    total: int
    reused: int = 0
    done: int = 0
    in_flight: int = 0
    failed: int = 0
    money: float | None = None
    places: int | None = None
    paused_until: float = 0.0
    waits: set[Wait] = field(default_factory=set)
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
        parts += self._trouble(time.monotonic())
        if self.failed:
            parts.append(f"{self.failed} failed")
        parts.append(f"{self.rate:,.0f}/s" if self.rate >= 10 else f"{self.rate:.1f}/s")
        if self.money:
            parts.append(f"{self.money:.4f} spent")
        if (left := self.seconds_left) is not None:
            parts.append(f"{duration(left)} left")
        return " · ".join(parts)

    def _trouble(self, now: float) -> Iterator[str]:
        """Yield what keeps the run from going on at full speed."""
        if self.waits:
            first = min(self.waits, key=lambda wait: wait.until)
            left = max(0.0, first.until - now)
            yield f"{len(self.waits)} waiting (retry {first.retry}/{first.most}, {duration(left)}: {first.why})"
        if (left := self.paused_until - now) > 0:
            yield f"model paused for {duration(left)}"
        if self.places is not None:
            yield f"at most {self.places} at once"

    @contextlib.contextmanager
    def waiting_for(self, why: str, retry: int, most: int, until: float) -> Iterator[None]:
        """Show that a call waits for a retry while the block runs."""
        wait = Wait(why.replace("_", " "), retry, most, until)
        self.waits.add(wait)
        try:
            yield
        finally:
            self.waits.discard(wait)


@contextlib.asynccontextmanager
async def shown(progress: Progress, stream: TextIO | None = None, quiet: bool = False) -> AsyncIterator[None]:
    """Show a run's progress while the block runs.

    On a terminal the line is rewritten four times a second, cut to its width; elsewhere, and on a terminal that cannot
    rewrite a line, one is written every ten seconds, so that logs stay short, and when calls begin to wait. A stream
    that nobody reads any more ends the display and not the run.
    """
    out = sys.stderr if stream is None else stream
    if quiet:
        yield
        return
    live = out.isatty() and os.environ.get("TERM") != "dumb"

    async def display() -> None:
        written, waiting = time.monotonic(), False
        while True:
            await asyncio.sleep(0.25)
            news = bool(progress.waits) and not waiting
            if live or news or time.monotonic() - written >= 10:
                if not _show(out, progress.line(), live):
                    return
                written, waiting = time.monotonic(), bool(progress.waits)

    try:
        async with beside(display()):
            yield
    finally:
        if live and _show(out, progress.line(), live):
            say(out, "\n")


def _show(out: TextIO, line: str, live: bool) -> bool:
    return say(out, f"\r\033[K{_cut(line, _width(out))}" if live else f"{line}\n")


def _width(out: TextIO) -> int:
    """Return the columns of a terminal; 80 where it does not say."""
    try:
        return os.get_terminal_size(out.fileno()).columns or 80
    except (OSError, ValueError):
        return 80


def _cut(line: str, width: int) -> str:
    """Return a line that fits into a width, which the next one can be written over: a longer one would begin a row."""
    return line if len(line) < width else f"{line[: max(0, width - 2)]}…"


def say(out: TextIO, text: str) -> bool:
    """Write to a stream at once, and return whether that was possible: a closed terminal is no failure of a run."""
    try:
        out.write(text)
        out.flush()
    except (OSError, ValueError):
        return False
    return True
