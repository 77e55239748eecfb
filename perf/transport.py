"""Measures what a call costs through the whole engine, beside a bare aiohttp client, on a loopback server.

    python perf/transport.py [calls]

Both send the same number of requests of 50 ms, 64 at once, to a server in a process of its own; the engine keeps its
ledger on. Printed are wall time over the ideal (calls x latency / concurrency) and the client's own CPU time per call.
"""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import resource
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from engine import write_pack

LATENCY, CONCURRENCY = 0.05, 64


def serve(pipe: Any) -> None:
    """Answer every chat completion with 4 after the latency."""
    from aiohttp import web

    async def chat(request: web.Request) -> web.Response:
        await request.read()
        await asyncio.sleep(LATENCY)
        message = {"role": "assistant", "content": "4"}
        usage = {"prompt_tokens": 12, "completion_tokens": 1}
        return web.json_response({"choices": [{"message": message, "finish_reason": "stop"}], "usage": usage})

    async def work() -> None:
        app = web.Application(client_max_size=2**26)
        app.router.add_post("/v1/chat/completions", chat)
        runner = web.AppRunner(app, access_log=None)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0, backlog=512).start()
        pipe.send(f"http://127.0.0.1:{runner.addresses[0][1]}/v1")
        while not pipe.poll():
            await asyncio.sleep(0.1)

    asyncio.run(work())


def bare(url: str, calls: int) -> None:
    """Send the calls with aiohttp alone."""
    import aiohttp

    async def work() -> None:
        left = iter(range(calls))
        async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:

            async def worker() -> None:
                for index in left:
                    text = f"What is the sum of case {index}?\n\nAnswer with one whole number only."
                    body = {"model": "m", "messages": [{"role": "user", "content": text}]}
                    async with session.post(f"{url}/chat/completions", json=body) as response:
                        (await response.json())["choices"][0]["message"]["content"]

            await asyncio.gather(*(worker() for _ in range(CONCURRENCY)))

    asyncio.run(work())


def engine(url: str, pack: Path, out: Path) -> None:
    """Send the calls through the engine."""
    import dodiag

    dodiag.run(pack, "openai/m", out, base_url=url, concurrency=CONCURRENCY, units=["Y"])


def cpu() -> float:
    """Return the CPU seconds of this process."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def measured(name: str, work: Any, calls: int) -> None:
    """Print one row."""
    started, used = time.perf_counter(), cpu()
    work()
    wall, spent = time.perf_counter() - started, cpu() - used
    ideal = calls * LATENCY / CONCURRENCY
    print(f"| {name} | {calls:,} | {wall / ideal:.2f} | {1000 * spent / calls:.2f} |", flush=True)


def main() -> None:
    """Print the table."""
    calls = int(sys.argv[1]) if len(sys.argv) > 1 else 1998
    instances = max(1, calls // 9)
    ours, theirs = multiprocessing.Pipe()
    server = multiprocessing.Process(target=serve, args=(theirs,), daemon=True)
    server.start()
    url = ours.recv()
    print("| client | calls | wall / ideal | CPU ms per call |")
    print("|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        pack = write_pack(Path(folder) / "p", instances, 1)
        engine(url, write_pack(Path(folder) / "warm", 2, 1), Path(folder) / "w")
        bare(url, 64)
        for repeat in range(3):
            measured("bare aiohttp", lambda: bare(url, instances * 9), instances * 9)
            out = Path(folder) / f"r{repeat}"
            measured("dodiag, ledger on", lambda out=out: engine(url, pack, out), instances * 9)
    ours.send(json.dumps("stop"))
    server.join(5)


if __name__ == "__main__":
    main()
