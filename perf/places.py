"""Compares a fixed number of requests in flight with one that falls while the server cannot take them.

    python perf/places.py [calls]

The servers are those of perf/loopback.py: one answers 50 requests a second and 429 with Retry-After beyond, one takes 8
at once and answers 503 beyond, and one takes all. 64 requests at once are asked for. Printed are seconds, requests that
were sent for each call, and calls that came to no reply. Default 600 calls, about three minutes.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

from driving import serving
from jobs import write_pack

from dodiag.interventions.plan import make_plan
from dodiag.runners.retry import RetryPolicy
from dodiag.runners.runner import RunOptions
from dodiag.runners.session import ModelOptions, start
from dodiag.scm.pack import load_pack

CONCURRENCY, LATENCY, RETRIES = 64, 0.05, 20
SERVERS = {"rate": "50 a second, else 429", "crowded": "8 at once, else 503", "none": "takes all"}


def main() -> None:
    """Print the table."""
    calls = int(sys.argv[1]) if len(sys.argv) > 1 else 600
    print("| server | requests in flight | seconds | requests per call | failed |")
    print("|---|---|---|---|---|")
    for fault, words in SERVERS.items():
        for adaptive in (False, True):
            with tempfile.TemporaryDirectory() as scratch, serving(LATENCY, fault) as server:
                pack = load_pack(write_pack(Path(scratch) / "pack", calls))
                plan = make_plan(pack, units=["X1"])
                policy = RetryPolicy(RETRIES, adaptive=adaptive)
                options = RunOptions(CONCURRENCY, policy, quiet=True)
                began = time.monotonic()
                found = start(plan, "openai/m", Path(scratch) / "run", ModelOptions(f"{server.url}/v1"), options)
                seconds = time.monotonic() - began
                sent = server.stats()["requests"]
            kind = "falls and rises" if adaptive else "fixed"
            print(f"| {words} | {kind} | {seconds:.1f} | {sent / found.planned:.2f} | {found.failed} |", flush=True)


if __name__ == "__main__":
    main()
