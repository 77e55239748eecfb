"""How many requests are in flight at once: no more than asked for, and fewer while the server cannot take them."""

from __future__ import annotations

import asyncio
from collections import deque

SHRINK = 0.5
"""Places that are left after the server could not take what was sent."""

GROW = 0.1
"""Share by which the places grow again in the time of one reply; one place at least."""


class Places:
    """Places for requests in flight, taken first come, first served.

    The number of places falls by half when the server says it is too much, once for all requests that were in flight
    then, and rises again by a tenth with every round of replies.

    Parameters
    ----------
    most : int
        Places at the most, and at the start.
    adaptive : bool
        False leaves the number as it is.
    """

    def __init__(self, most: int, adaptive: bool = True) -> None:
        self._most = most
        self._adaptive = adaptive
        self._now = float(most)
        self._taken = 0
        self._shrunk_at = float("-inf")
        self._waiting: deque[asyncio.Future[None]] = deque()

    @property
    def now(self) -> int:
        """The places there are at present."""
        return max(1, int(self._now))

    async def take(self) -> None:
        """Wait for a place and take it."""
        if not self._waiting and self._taken < self.now:
            self._taken += 1
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self.give()
            raise

    def give(self) -> None:
        """Give a place back."""
        self._taken -= 1
        self._let_in()

    def answered(self) -> None:
        """Take note of a reply: the server can take as much."""
        if self._now < self._most:
            self._now = min(float(self._most), self._now + max(1.0, GROW * self._now) / self._now)
            self._let_in()

    def too_much(self, sent: float, now: float) -> None:
        """Take note that the server could not take a request.

        Parameters
        ----------
        sent, now : float
            When the request was sent, and the time; one burst counts once.
        """
        if self._adaptive and sent > self._shrunk_at:
            self._now = max(1.0, SHRINK * min(self._now, max(1.0, float(self._taken))))
            self._shrunk_at = now

    def _let_in(self) -> None:
        while self._waiting and self._taken < self.now:
            turn = self._waiting.popleft()
            if not turn.done():
                self._taken += 1
                turn.set_result(None)
