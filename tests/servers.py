"""A real OpenAI-compatible server on 127.0.0.1, with faults on demand, for tests and for processes under test."""

from __future__ import annotations

import asyncio
import json
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from aiohttp import web

Body = dict[str, Any]
Answer = Callable[[str, int], web.Response | str]
"""From the prompt's text and how often it was asked before, to a response or the text of a reply."""


def completion(text: str | None, finish: str = "stop", **message: Any) -> web.Response:
    """Return a chat completion."""
    return web.json_response(
        {
            "id": "x",
            "object": "chat.completion",
            "created": 1,
            "model": "served-model",
            "choices": [
                {"index": 0, "message": {"role": "assistant", "content": text, **message}, "finish_reason": finish}
            ],
            "usage": {"prompt_tokens": 12, "completion_tokens": 3, "total_tokens": 15},
        }
    )


def failure(status: int, code: str = "boom", headers: dict[str, str] | None = None) -> web.Response:
    """Return an error in OpenAI's form."""
    return web.json_response({"error": {"message": code, "type": code, "code": code}}, status=status, headers=headers)


class Served:
    """What a server has seen."""

    def __init__(self) -> None:
        self.port = 0
        self.prompts: Counter[str] = Counter()
        self.bodies: list[Body] = []
        self.headers: list[dict[str, str]] = []
        self.in_flight = 0
        self.most_in_flight = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    @property
    def requests(self) -> int:
        return self.prompts.total()


@contextmanager
def serving(answer: Answer, delay: float = 0.0) -> Iterator[Served]:
    """Serve chat completions in a thread while the block runs."""
    served = Served()
    started, stop = threading.Event(), asyncio.Event()
    loop = asyncio.new_event_loop()

    async def chat(request: web.Request) -> web.Response:
        body = json.loads(await request.read())
        served.bodies.append(body)
        served.headers.append(dict(request.headers))
        content = body["messages"][-1]["content"]
        text = content if isinstance(content, str) else "".join(part.get("text", "") for part in content)
        before = served.prompts[text]
        served.prompts[text] += 1
        served.in_flight += 1
        served.most_in_flight = max(served.most_in_flight, served.in_flight)
        try:
            await asyncio.sleep(delay)
            result = answer(text, before)
            return completion(result) if isinstance(result, str) else result
        finally:
            served.in_flight -= 1

    async def work() -> None:
        app = web.Application(client_max_size=64 * 2**20)
        app.router.add_post("/v1/chat/completions", chat)
        runner = web.AppRunner(app, access_log=None)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        served.port = runner.addresses[0][1]
        started.set()
        await stop.wait()
        await runner.cleanup()

    thread = threading.Thread(target=lambda: loop.run_until_complete(work()), daemon=True)
    thread.start()
    assert started.wait(10)
    try:
        yield served
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join(10)
        loop.close()
