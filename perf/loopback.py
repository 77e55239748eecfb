"""A chat completions server on 127.0.0.1 that answers "4" after a latency, in a process of its own.

    python perf/loopback.py --latency 0.05 --fault none --marker "box 0 of 17?"

It prints its address, and ends when its standard input is closed. Faults, the first three of which meet only requests
whose text holds the marker:

bad      HTTP 500, always
null     content null, finish_reason length
refusal  empty content, finish_reason content_filter
rate     a token bucket of 50 requests a second; the others get HTTP 429 with Retry-After: 1
quota    every request gets HTTP 429 insufficient_quota
crowded  HTTP 503 without Retry-After to every request beyond 8 in flight

`GET /stats` counts requests in all, answered ones, those with the marker and refused ones, the most in flight at once,
bytes received, and its own CPU.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import time
from typing import Any

BUCKET = 50.0
CROWD = 8


def completion(content: str | None, finish: str = "stop") -> bytes:
    """Return a chat completion as the OpenAI API words it."""
    choice = {"index": 0, "message": {"role": "assistant", "content": content}, "finish_reason": finish}
    usage = {"prompt_tokens": 12, "completion_tokens": 1, "total_tokens": 13}
    head = {"id": "chatcmpl-1", "object": "chat.completion", "created": 1700000000, "model": "m"}
    return json.dumps({**head, "choices": [choice], "usage": usage}).encode()


def error(message: str, kind: str, code: str | None = None) -> bytes:
    """Return an error as the OpenAI API words it."""
    return json.dumps({"error": {"message": message, "type": kind, "code": code}}).encode()


class Bucket:
    """A token bucket."""

    def __init__(self, rate: float) -> None:
        self._rate = self._left = rate
        self._seen = time.monotonic()

    def take(self) -> bool:
        """Take a token; False if there is none."""
        now = time.monotonic()
        self._left = min(self._rate, self._left + (now - self._seen) * self._rate)
        self._seen = now
        if self._left < 1:
            return False
        self._left -= 1
        return True


async def serve(latency: float, fault: str, marker: bytes) -> None:
    """Answer until standard input is closed."""
    from aiohttp import web

    counts = {"requests": 0, "answered": 0, "marked": 0, "refused": 0, "in_flight": 0, "most_in_flight": 0, "bytes": 0}
    bucket, plain = Bucket(BUCKET), completion("4")
    special = {"null": completion(None, "length"), "refusal": completion("", "content_filter")}

    def reply(body: bytes, status: int = 200, **headers: str) -> web.Response:
        return web.Response(body=body, status=status, content_type="application/json", headers=headers)

    async def chat(request: web.Request) -> web.Response:
        counts["requests"] += 1
        counts["in_flight"] += 1
        counts["most_in_flight"] = max(counts["most_in_flight"], counts["in_flight"])
        try:
            content = await request.read()
            counts["bytes"] += len(content)
            marked = bool(marker) and marker in content
            counts["marked"] += marked
            if fault == "quota":
                counts["refused"] += 1
                return reply(error("You exceeded your current quota", "insufficient_quota", "insufficient_quota"), 429)
            if fault == "rate" and not bucket.take():
                counts["refused"] += 1
                return reply(
                    error("Rate limit reached", "requests", "rate_limit_exceeded"), 429, **{"Retry-After": "1"}
                )
            if fault == "crowded" and counts["in_flight"] > CROWD:
                counts["refused"] += 1
                return reply(error("Overloaded", "overloaded_error"), 503)
            await asyncio.sleep(latency)
            if fault == "bad" and marked:
                return reply(error("boom", "server_error"), 500)
            counts["answered"] += 1
            return reply(special.get(fault, plain) if marked else plain)
        finally:
            counts["in_flight"] -= 1

    async def stats(_: web.Request) -> web.Response:
        return web.json_response({**counts, "cpu": time.process_time()})

    app = web.Application(client_max_size=2**26)
    app.router.add_post("/v1/chat/completions", chat)
    app.router.add_get("/stats", stats)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0, backlog=512).start()
    print(f"http://127.0.0.1:{runner.addresses[0][1]}", flush=True)
    await asyncio.to_thread(sys.stdin.read)
    await runner.cleanup()


def main() -> None:
    """Read the options and serve."""
    parser = argparse.ArgumentParser(description="A loopback chat completions server.")
    parser.add_argument("--latency", type=float, default=0.05)
    parser.add_argument(
        "--fault", default="none", choices=["none", "bad", "null", "refusal", "rate", "quota", "crowded"]
    )
    parser.add_argument("--marker", default="")
    options: Any = parser.parse_args()
    asyncio.run(serve(options.latency, options.fault, options.marker.encode()))


if __name__ == "__main__":
    main()
