"""Profiles one run of dodiag at 64 calls in flight, ledger on: where a call's CPU time goes.

    python perf/profile_calls.py [calls] [--picture]

Functions by their own CPU time, in microseconds per call. The profiler itself more than doubles the time of small
Python functions and leaves C code alone, so take the order, not the sum; threads beside the loop are not seen.
"""

from __future__ import annotations

import cProfile
import pstats
import sys
import tempfile
import time
from pathlib import Path

from driving import serving
from jobs import write_pack
from transport import KILOBYTES, PER_INSTANCE

SHOWN = 45


def main() -> None:
    """Print the table."""
    import dodiag

    numbers = [int(word) for word in sys.argv[1:] if word.isdigit()]
    kilobytes = KILOBYTES if "--picture" in sys.argv else 0
    instances = (numbers or [1998])[0] // PER_INSTANCE
    with tempfile.TemporaryDirectory() as folder, serving(0.05) as server:
        pack = write_pack(Path(folder) / "pack", instances, kilobytes)
        reach = {"base_url": f"{server.url}/v1", "concurrency": 64, "units": ["Y"]}
        dodiag.run(pack, "openai/m", Path(folder) / "warm", limit=2, **reach)
        profile = cProfile.Profile(time.thread_time)
        profile.enable()
        summary = dodiag.run(pack, "openai/m", Path(folder) / "run", **reach)
        profile.disable()
    rows = sorted(pstats.Stats(profile).stats.items(), key=lambda item: -item[1][2])
    rows = [row for row in rows if "select.epoll" not in row[0][2]]
    print("| own µs per call | with callees | calls of it per call | function |\n|---|---|---|---|")
    for (file, number, name), (_, count, own, whole, _) in rows[:SHOWN]:
        where = "/".join(Path(file).parts[-2:]) + f":{number} " if number else ""
        figures = [f"{1e6 * own / summary.answered:.0f}", f"{1e6 * whole / summary.answered:.0f}"]
        print(f"| {' | '.join(figures)} | {count / summary.answered:.1f} | {where}{name} |")


if __name__ == "__main__":
    main()
