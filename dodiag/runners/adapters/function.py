"""A Python callable as a model: the shortest way to bring your own."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor

from dodiag.problems import UsageError
from dodiag.runners.protocol import Reply, Request

MOST_THREADS = 256
"""Threads for plain functions; they are started when needed, so the run's concurrency decides."""

Function = Callable[[Request], str | Reply | Awaitable[str | Reply | None] | None]


class FunctionAdapter:
    """Adapter around a function from a :class:`Request` to text or a :class:`Reply`.

    Parameters
    ----------
    function : callable
        Plain functions run in threads, so they may block; coroutine functions run in the loop. An exception it raises
        ends the run; raise :class:`CallFailed` for a failure that may be retried.
    name : str, optional
        Name in outcome tables; default the function's own.
    version : str
        Part of the ledger's key: change it when the function changes.
    sees_media : bool
        False spares the pictures.
    """

    def __init__(
        self, function: Function, name: str | None = None, *, version: str = "1", sees_media: bool = True
    ) -> None:
        if not callable(function):
            raise UsageError("the model is neither a name nor a callable", "Give a model name such as sim:default.")
        self._function = function
        self._threads: ThreadPoolExecutor | None = None
        self.model = name or str(getattr(function, "__name__", type(function).__name__))
        self.endpoint = f"python:{version}"
        self.sees_media = sees_media
        self.free = False

    async def answer(self, request: Request) -> Reply:
        """Return what the function returns, as a reply."""
        if inspect.iscoroutinefunction(self._function):
            result = await self._function(request)
        else:
            if self._threads is None:
                self._threads = ThreadPoolExecutor(MOST_THREADS, thread_name_prefix="dodiag-function")
            result = await asyncio.get_running_loop().run_in_executor(self._threads, self._called, request)
            if inspect.isawaitable(result):
                result = await result
        if isinstance(result, Reply):
            return result
        if result is None or isinstance(result, str):
            return Reply(result)
        raise UsageError(f"the function returned {type(result).__name__}", "Return a text or a Reply.")

    def _called(self, request: Request) -> str | Reply | Awaitable[str | Reply | None] | None:
        """Call the function; what it raises has to be an error that can come out of a thread.

        A future takes no ``StopIteration``, as of a list of replies that has come to its end, and takes
        ``CancelledError`` for its own: the call would never end, or vanish.
        """
        try:
            return self._function(request)
        except (StopIteration, asyncio.CancelledError) as error:
            raise RuntimeError(f"the function {self.model} raised {type(error).__name__}") from error

    async def close(self) -> None:
        """Let the threads end."""
        if self._threads is not None:
            self._threads.shutdown(wait=False, cancel_futures=True)
            self._threads = None
