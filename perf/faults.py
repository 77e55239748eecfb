"""Shows what each client does with a fault: what it says in the end, what it sends, and how it ends.

    python perf/faults.py [--quick] [--peers PYTHON] [--only TEXT]

200 questions, 16 requests at once, a server on this machine that answers "4" after 50 ms. One question is marked; the
faults are in perf/loopback.py. Ctrl-C is sent when 80 are answered, and then each client is started again the way it
offers to go on. Clients have their default retries, lm-eval the 3 that it documents. A client that has not ended after
the limit is killed. The default takes about 6 minutes, `--quick` one.
"""

from __future__ import annotations

import argparse
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

from driving import PACKAGES, Server, chosen, finished, result_of, serving, start
from jobs import Job, write_lines, write_pack

QUESTIONS, CONCURRENCY, LATENCY = 200, 16, 0.05
MARKER = "box 0 of 17?"
FAULTS = {
    "bad": "one question always gets HTTP 500",
    "null": "one reply has null content",
    "refusal": "one reply is a refusal (content_filter)",
    "rate": "50 requests a second, then 429 with Retry-After",
    "quota": "quota used up (429 insufficient_quota)",
}
INTERRUPTED = 80
SLOW = 0.4
"""Latency under Ctrl-C, so that it meets requests in flight."""


class Trial:
    """One client's folder and job under one fault."""

    def __init__(self, client: str, server: Server, folder: Path, lines: Path, pack: Path, peers: str | None) -> None:
        self.client, self.server, self.folder, self.pack, self.peers = client, server, folder, pack, peers
        self.errors = folder / "errors"
        self.job = Job(server.url, CONCURRENCY, QUESTIONS, str(pack), "X1", str(lines), str(folder), {"warm": False})

    def start(self, again: bool = False, **options: Any) -> subprocess.Popen[str]:
        """Start the client; again means as it offers to go on."""
        if self.client == "dodiag":
            with self.errors.open("w") as stream:
                return subprocess.Popen(self._command(again), stdout=subprocess.PIPE, stderr=stream, text=True)
        retry = {"retry": True} if again and self.client == "inspect-ai" else {}
        self.job.options.update(options, **retry)
        return start(self.client, self.job.write(), self.peers, self.errors)

    def _command(self, again: bool) -> list[str]:
        out = str(self.folder / "run")
        if again:
            return [sys.executable, "-m", "dodiag", "resume", out, "--quiet"]
        reach = ["--model", "openai/m", "--base-url", f"{self.server.url}/v1", "--concurrency", str(CONCURRENCY)]
        return [sys.executable, "-m", "dodiag", "run", str(self.pack), *reach, "--unit", "X1", "--out", out, "--quiet"]

    def outcome(self, output: str) -> str:
        """Return in words what the client has in the end."""
        if self.client == "dodiag":
            return said(self._ledger())
        result = result_of(output)
        if result is None:
            lines = [line for line in self.errors.read_text(errors="replace").splitlines() if line.strip()]
            return f"nothing; last words: {lines[-1][:90]}" if lines else "nothing"
        status = result.get("status", "success")
        return said(result["outcome"]) + ("" if status == "success" else f"; status {status}")

    def _ledger(self) -> Counter[str]:
        from dodiag.runners.ledger import Ledger

        with Ledger(self.folder / "run") as ledger:
            counts = Counter(row.outcome for row in ledger.calls())
            counts.update(f"failed ({row.kind})" for row in ledger.open_failures())
        return counts


def said(counts: dict[str, int]) -> str:
    """Return counts as words, the largest first."""
    parts = [f"{count} × {what}" for what, count in sorted(counts.items(), key=lambda item: -item[1])]
    return ", ".join(parts) or "nothing"


def ending(process: subprocess.Popen[str], ended: bool, seconds: float) -> str:
    """Return how a process ended."""
    return f"exit {process.returncode}, {seconds:.0f} s" if ended else f"still running after {seconds:.0f} s"


def line(*cells: object) -> None:
    """Print a line of the table."""
    print("| " + " | ".join(str(cell).replace("|", "/") for cell in cells) + " |", flush=True)


def fault(trial: Trial, what: str, limit: float) -> None:
    """Run one client under one fault and print its line."""
    started = time.monotonic()
    process = trial.start()
    ended, output = finished(process, limit)
    stats = trial.server.stats()
    seen = trial.outcome(output) if ended or trial.client == "dodiag" else "no result"
    end = ending(process, ended, time.monotonic() - started)
    line(what, trial.client, end, stats["requests"], stats["marked"], seen)


def interrupt(trial: Trial, name: str, limit: float, **options: Any) -> None:
    """Interrupt one client, start it again, and print its line."""
    process = trial.start(**options)
    deadline = time.monotonic() + limit
    while trial.server.stats()["answered"] < INTERRUPTED and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    began = time.monotonic()
    ended, _ = finished(process, limit)
    end = ending(process, ended, time.monotonic() - began)
    first = trial.server.stats()
    again = trial.start(again=True, **options)
    second_ended, output = finished(again, limit)
    second = trial.server.stats()["requests"] - first["requests"]
    repeated = first["requests"] + second - QUESTIONS
    seen = trial.outcome(output) if second_ended else "still running"
    line(
        f"Ctrl-C after {INTERRUPTED} answers, then again", name, end, f"{first['requests']} + {second}",
        f"{repeated} sent twice", f"exit {again.returncode}: {seen}",
    )  # fmt: skip


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description="What each client does with a fault.")
    parser.add_argument("--quick", action="store_true", help="bad, quota and Ctrl-C only, and a short limit")
    parser.add_argument("--peers", help="Python of the environment that holds the peers")
    parser.add_argument("--only", default="", help="only faults or clients whose name holds this text")
    options = parser.parse_args()
    limit = 20.0 if options.quick else 60.0
    clients = chosen(["dodiag", *PACKAGES], options.peers)
    faults = {name: what for name, what in FAULTS.items() if not options.quick or name in ("bad", "quota")}
    with tempfile.TemporaryDirectory() as scratch:
        pack = write_pack(Path(scratch) / "pack", QUESTIONS)
        lines = Path(scratch) / "lines.jsonl"
        write_lines(pack, "X1", lines)

        def trial(client: str, server: Server) -> Trial:
            return Trial(client, server, Path(tempfile.mkdtemp(dir=scratch)), lines, pack, options.peers)

        line("fault", "client", "end", "requests", "for the marked question", "what it has in the end")
        line(*["---"] * 6)
        for name, what in faults.items():
            for client in clients:
                if options.only in f"{name} {client}":
                    with serving(LATENCY, name, MARKER) as server:
                        fault(trial(client, server), what, limit)
        harnesses = [("dodiag", {}), ("lm-eval", {}), ("lm-eval", {"cache": True}), ("inspect-ai", {})]
        for client, extra in harnesses:
            if client in clients and options.only in f"sigint {client}":
                with serving(SLOW) as server:
                    name = client + (" use_cache" if extra else "")
                    interrupt(trial(client, server), name, limit, **extra)


if __name__ == "__main__":
    main()
