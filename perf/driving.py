"""Start the loopback server and the clients, each in a process of its own, and end what was started."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
PACKAGES = {"openai": "openai", "litellm": "litellm", "lm-eval": "lm_eval", "inspect-ai": "inspect_ai"}
"""Peers and the modules that they are; they run in their own environment, dodiag and bare aiohttp in ours."""


class Server:
    """A running loopback server."""

    def __init__(self, url: str) -> None:
        self.url = url

    def stats(self) -> dict[str, Any]:
        """Return what the server has counted."""
        with urllib.request.urlopen(f"{self.url}/stats", timeout=30) as reply:
            return dict(json.load(reply))


@contextlib.contextmanager
def serving(latency: float, fault: str = "none", marker: str = "") -> Iterator[Server]:
    """Run a loopback server beside a block."""
    command = [sys.executable, str(HERE / "loopback.py"), "--latency", str(latency), "--fault", fault]
    process = subprocess.Popen([*command, "--marker", marker], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        yield Server(process.stdout.readline().strip())
    finally:
        process.stdin.close()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def python_of(client: str, peers: str | None) -> str:
    """Return the interpreter that a client runs in."""
    return peers if peers and client in PACKAGES else sys.executable


def installed(client: str, peers: str | None) -> bool:
    """Return whether a client can be imported where it would run."""
    if client not in PACKAGES:
        return True
    look = f"import importlib.util, sys; sys.exit(importlib.util.find_spec('{PACKAGES[client]}') is None)"
    return subprocess.run([python_of(client, peers), "-c", look], check=False).returncode == 0


def chosen(clients: list[str], peers: str | None) -> list[str]:
    """Return the clients that are installed, and say which are not."""
    found = [client for client in clients if installed(client, peers)]
    for client in clients:
        if client not in found:
            print(f"{client} is left out: it is not installed (see perf/peers-requirements.txt and --peers).\n")
    return found


def result_of(output: str) -> dict[str, Any] | None:
    """Return a client's result line, if it came to print one."""
    lines = [line for line in output.splitlines() if line.startswith("RESULT ")]
    return dict(json.loads(lines[-1].removeprefix("RESULT "))) if lines else None


def start(client: str, job: Path, peers: str | None, errors: Path) -> subprocess.Popen[str]:
    """Start a client on a job."""
    command = [python_of(client, peers), str(HERE / "clients.py"), client, str(job)]
    with errors.open("w") as stream:
        return subprocess.Popen(command, cwd=job.parent, stdout=subprocess.PIPE, stderr=stream, text=True)


def finished(process: subprocess.Popen[str], limit: float) -> tuple[bool, str]:
    """Wait for a process and return whether it ended by itself, and its output; after the limit it is killed."""
    try:
        output, _ = process.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        process.kill()
        output, _ = process.communicate()
        return False, output
    return True, output
