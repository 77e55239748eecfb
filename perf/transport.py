"""Measures what a call costs: dodiag with its ledger on, bare aiohttp, and the peers that are installed, side by side.

    python perf/transport.py [--quick | --full] [--peers PYTHON] [--only ROW]

All send the same requests, 64 at once, to a server on this machine; each client runs in a process of its own and each
has a fresh server. Printed are wall time over the ideal (calls x latency / 64), the client's own CPU time per call
(user and system), both also over bare aiohttp's of the same round, and the peak memory of the process. Clients take
turns within a round; figures are medians of the rounds. The default takes under 10 minutes, `--quick` one and `--full`
half an hour.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from driving import PACKAGES, chosen, finished, result_of, serving, start
from jobs import Job, write_lines, write_pack

CONCURRENCY = 64
KILOBYTES = 300
PER_INSTANCE = 9
"""Calls that dodiag makes of one instance's target: 3 states of 2 prerequisites."""

OURS = ("aiohttp", "dodiag")
PEERS = tuple(PACKAGES)
SEERS = ("openai", "litellm", "inspect-ai")
"""Peers that send pictures; lm-eval's client of the chat completions API sends none."""
LIMIT = 600.0


@dataclass(frozen=True, slots=True)
class Row:
    """One condition: how many calls of which latency, with or without a picture, and how often each client runs it."""

    calls: int
    latency: float
    picture: bool
    peers: tuple[str, ...]
    rounds: int
    peer_rounds: int = 1

    @property
    def name(self) -> str:
        """Its words in the table."""
        picture = f", a picture of {KILOBYTES} KB" if self.picture else ""
        return f"{self.latency * 1000:.0f} ms{picture}, N = {self.calls:,}"

    def clients(self, round_index: int) -> list[str]:
        """Return the clients of a round, every other time in reverse, so that none always comes after the same one."""
        clients = [*OURS, *(self.peers if round_index < self.peer_rounds else ())]
        return clients if round_index % 2 == 0 else clients[::-1]


QUICK = [
    Row(297, 0.05, False, PEERS, 1),
    Row(1998, 0.05, False, (), 3),
    Row(297, 0.05, True, ("openai", "litellm"), 1),
    Row(297, 0.5, False, (), 1),
]
DEFAULT = [
    Row(1998, 0.05, False, PEERS, 5, 2),
    Row(19998, 0.05, False, (), 2),
    Row(1998, 0.05, True, ("openai", "litellm"), 3),
    Row(297, 0.05, True, ("inspect-ai",), 1),
    Row(19998, 0.05, True, (), 1),
    Row(1998, 0.5, False, ("openai", "litellm", "lm-eval"), 2),
    Row(1998, 0.5, True, (), 1),
]
FULL = [
    Row(1998, 0.05, False, PEERS, 5, 3),
    Row(19998, 0.05, False, ("openai", "litellm", "lm-eval"), 3),
    Row(1998, 0.05, True, SEERS, 3),
    Row(19998, 0.05, True, ("openai",), 2),
    Row(1998, 0.5, False, PEERS, 3),
    Row(19998, 0.5, False, (), 1),
    Row(1998, 0.5, True, SEERS, 2),
    Row(19998, 0.5, True, (), 1),
]


def measured(client: str, job: Job, latency: float, size: int, peers: str | None) -> dict[str, Any]:
    """Run one client once and return its result.

    A client that did not get every call answered exactly once, or sent less than `size` bytes a call, ends the script.
    """
    with serving(latency) as server, tempfile.TemporaryDirectory() as folder:
        values = {name: getattr(job, name) for name in ("concurrency", "calls", "pack", "unit", "lines")}
        options: dict[str, Any] = {"client": {"max_retries": 0}} if client == "openai" else {}
        options = {"client": {"num_retries": 0, "max_retries": 0}} if client == "litellm" else options
        path = Job(url=server.url, folder=folder, options=options, **values).write()
        errors = Path(folder) / "errors"
        process = start(client, path, peers, errors)
        _, output = finished(process, LIMIT)
        result, stats = result_of(output), server.stats()
        said = errors.read_text(errors="replace")[-1000:]
    if result is None:
        sys.exit(f"{client} ended with {process.returncode} and no result:\n{said}")
    right = result["outcome"] in ({"reply '4'": job.calls}, {"answered": job.calls, "failed": 0})
    warm = stats["requests"] - job.calls
    seen = stats["bytes"] >= job.calls * size
    if not (right and seen and 0 < warm <= 2 * PER_INSTANCE and stats["most_in_flight"] <= CONCURRENCY):
        sys.exit(f"{client} did not do the job: {result['outcome']}, server: {stats}")
    return {**result, "server": stats["cpu"]}


def table(row: Row, results: dict[str, list[dict[str, Any]]]) -> None:
    """Print a condition's lines."""
    ideal = row.calls * row.latency / CONCURRENCY
    base = results["aiohttp"]
    for client, runs in results.items():
        wall, cpu, peak = (statistics.median(run[name] for run in runs) for name in ("wall", "cpu", "peak"))
        pairs = list(zip(runs, base, strict=False))
        walls = statistics.median(run["wall"] / bare["wall"] for run, bare in pairs)
        cpus = statistics.median(run["cpu"] / bare["cpu"] for run, bare in pairs)
        cells = [f"{wall / ideal:.2f}", f"{walls:.2f}", f"{1000 * cpu / row.calls:.2f}", f"{cpus:.1f}", f"{peak:.0f}"]
        print(f"| {row.name} | {NAMES.get(client, client)} | {' | '.join(cells)} |", flush=True)


NAMES = {"aiohttp": "bare aiohttp", "dodiag": "dodiag, ledger on"}


def run_row(row: Row, folder: Path, peers: str | None, present: list[str]) -> None:
    """Measure and print one condition."""
    pack = write_pack(folder / "pack", row.calls // PER_INSTANCE, KILOBYTES if row.picture else 0)
    lines = folder / "lines.jsonl"
    calls = write_lines(pack, "Y", lines)
    assert calls == row.calls, (calls, row.calls)
    job = Job("", CONCURRENCY, calls, str(pack), "Y", str(lines), "", {})
    size = KILOBYTES * 1024 if row.picture else 0
    results: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for index in range(row.rounds):
        for client in row.clients(index):
            if client in OURS or client in present:
                results[client].append(measured(client, job, row.latency, size, peers))
    order = [client for client in (*OURS, *PEERS) if client in results]
    table(row, {client: results[client] for client in order})


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description="What a call costs, beside other clients.")
    size = parser.add_mutually_exclusive_group()
    size.add_argument("--quick", action="store_true", help="about a minute")
    size.add_argument("--full", action="store_true", help="about half an hour")
    parser.add_argument("--peers", help="Python of the environment that holds the peers")
    parser.add_argument("--only", default="", help="only conditions whose name holds this text")
    options = parser.parse_args()
    rows = QUICK if options.quick else FULL if options.full else DEFAULT
    present = chosen(list(PEERS), options.peers)
    loads = [os.getloadavg()[0]]
    print("| requests | client | wall / ideal | wall / aiohttp | CPU ms per call | CPU / aiohttp | peak memory, MB |")
    print("|---|---|---|---|---|---|---|")
    for row in rows:
        if options.only in row.name:
            with tempfile.TemporaryDirectory() as folder:
                run_row(row, Path(folder), options.peers, present)
            loads.append(os.getloadavg()[0])
    print(f"\nLoad average before and after each condition: {', '.join(f'{load:.1f}' for load in loads)}.")


if __name__ == "__main__":
    main()
