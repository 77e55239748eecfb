"""Start and continue a run: what is refused before anything is written, and what its description says."""

import json
import signal
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path

import pytest
from packs import SUMS, sums_pack
from servers import failure, serving

import dodiag
from dodiag.problems import UsageError
from dodiag.runners.ledger import Ledger
from dodiag.runners.transfer import export

NONE_OF_THE_PLAN = [
    ({"model": "another"}, "--model"),
    ({"messages": []}, "messages"),
    ({"stream": True}, "whole"),
    ({"timeout": 3}, "--timeout"),
    ({"api_base": "http://127.0.0.1:9"}, "--base-url"),
    ({"num_retries": 3}, "--max-retries"),
    ({"mock_response": "7"}, "sim:"),
    ({"temperature": float("nan")}, "JSON"),
    ({"stop": {"a"}}, "JSON"),
]


@pytest.mark.parametrize(("parameters", "cure"), NONE_OF_THE_PLAN)
def test_no_parameter_makes_a_request_another_than_the_run_says(tmp_path, parameters, cure):
    """Another model's answers would be published under this one's name."""
    with serving(lambda text, _: "7") as served:
        with pytest.raises(UsageError, match=cure):
            dodiag.run(
                sums_pack(tmp_path / "p", 1), "openai/m", tmp_path / "r", base_url=served.url, parameters=parameters
            )
        assert served.requests == 0
    assert not (tmp_path / "r").exists()


@pytest.mark.parametrize(
    "options",
    [{"timeout": value} for value in (0, -1, float("nan"), float("inf"))] + [{"concurrency": 0}, {"max_retries": -1}],
)
def test_options_out_of_their_range_are_refused(tmp_path, options):
    pack = sums_pack(tmp_path / "p", 1)
    with pytest.raises(UsageError):
        dodiag.run(pack, "sim:default", tmp_path / "r", **options)
    assert not (tmp_path / "r").exists()
    if "timeout" not in options:
        dodiag.run(pack, "sim:default", tmp_path / "r", limit=1)
        with pytest.raises(UsageError):
            dodiag.resume(tmp_path / "r", **options)


def test_a_folder_that_cannot_be_is_a_message(tmp_path):
    """Here its name is too long; one that may not be read ends the same way."""
    pack = sums_pack(tmp_path / "p", 1)
    with pytest.raises(UsageError, match="cannot be written"):
        dodiag.run(pack, "sim:default", tmp_path / ("x" * 300))
    (tmp_path / "file").write_text("mine")
    with pytest.raises(UsageError, match="is a file"):
        dodiag.run(pack, "sim:default", tmp_path / "file")
    with pytest.raises(UsageError, match="cannot be written"):
        dodiag.run(pack, "sim:default", tmp_path / "file" / "below")


def test_the_libraries_that_shape_requests_are_in_the_manifest(tmp_path):
    dodiag.run(sums_pack(tmp_path / "p", 1), "sim:default", tmp_path / "r")
    with Ledger(tmp_path / "r") as ledger:
        libraries = ledger.manifest["libraries"]
    assert {"aiohttp", "pillow", "pgmpy"} <= libraries.keys()


CELL = """
import asyncio, signal, sys
import dodiag

# As in a notebook, whatever started the tests may have made their processes ignore it.
signal.signal(signal.SIGINT, signal.default_int_handler)

async def cell():
    return dodiag.run({pack!r}, "openai/m", {out!r}, base_url={url!r}, concurrency=4)

loop = asyncio.new_event_loop()
try:
    loop.run_until_complete(cell())
except KeyboardInterrupt:
    print("interrupted", flush=True)
sys.stdin.read()
"""


def test_ctrl_c_in_a_notebook_ends_the_run_and_not_only_the_wait_for_it(tmp_path):
    """Nothing more is sent, what was in flight is there, and the folder is free for the run that continues it."""
    pack = sums_pack(tmp_path / "p", 20)
    reached = threading.Event()

    def answer(text, _):
        if served.requests >= 30:
            reached.set()
        return "7"

    with serving(answer, delay=0.02) as served:
        code = CELL.format(pack=str(pack.folder), out=str(tmp_path / "r"), url=served.url)
        process = subprocess.Popen([sys.executable, "-c", code], stdin=-1, stdout=-1, text=True)
        try:
            assert reached.wait(60)
            process.send_signal(signal.SIGINT)
            assert process.stdout.readline() == "interrupted\n"
            sent, kept = served.requests, len(dodiag.outcomes(tmp_path / "r"))
            assert sent - 4 <= kept <= sent < 220, "what was in flight had a moment to come in"
            assert dodiag.resume(tmp_path / "r").complete, "the lock is free, and nobody else goes on"
            assert served.requests == 220 + sent - kept
        finally:
            process.kill()
            process.communicate()


def test_a_server_that_fails_for_every_instance_stops_the_run_and_one_instance_does_not(tmp_path):
    pack = sums_pack(tmp_path / "p", 40)
    dead = {"now": False}

    def answer(text, _):
        dead["now"] = dead["now"] or served.requests > 100
        return failure(500) if dead["now"] or any(f"{what} 3?" in text for what in ("box", "card")) else "7"

    with serving(answer) as served:
        found = dodiag.run(pack, "openai/m", tmp_path / "r", base_url=served.url, max_retries=0, concurrency=2)
    assert "calls of 10 instances in a row failed" in found.stopped
    assert 100 - 11 - 2 <= found.answered <= 100, "all but one instance, and the calls that were on their way"
    assert found.failed <= 11 + 11 * 11 + 8


def test_a_reply_that_cannot_be_read_is_kept_all_the_same(tmp_path):
    """It is paid for; here the task graph of the plan does not fit the questions of its pack."""
    pack = sums_pack(tmp_path / "p", 1)
    other = tmp_path / "other.yaml"
    other.write_text(SUMS.replace("{type: integer, min: 0, max: 20}", "{type: choice, choices: [a, b]}"))
    plan = replace(dodiag.make_plan(pack, units=["X1"], states=["n"]), task=dodiag.load_task(other))
    with pytest.raises(ValueError, match="none of the choices"):
        dodiag.run(pack, lambda request: "A", tmp_path / "r", plan=plan)
    with Ledger(tmp_path / "r") as ledger:
        assert [row.reply for row in ledger.rows("replies")] == ["A"]
        assert list(ledger.calls()) == []


def test_a_replay_has_what_the_ledger_holds_wherever_it_begins(tmp_path):
    pack = sums_pack(tmp_path / "p", 6)
    with serving(lambda text, _: "7") as served:
        half = [f"s{index:05d}" for index in range(3, 6)]
        dodiag.run(pack, "openai/m", tmp_path / "half", base_url=served.url, instances=half)
    found = dodiag.run(pack, f"replay:{tmp_path / 'half'}", tmp_path / "r")
    assert (found.answered, found.failed, found.stopped) == (33, 33, None)


def test_an_export_of_a_run_whose_limit_was_lifted_is_json_for_everybody(tmp_path):
    pack = sums_pack(tmp_path / "p", 1)
    dodiag.run(pack, "sim:default", tmp_path / "r", max_cost=1.0, input_price=1, output_price=1)
    dodiag.resume(tmp_path / "r", max_cost=float("inf"))
    export(tmp_path / "r", tmp_path / "e", "jsonl")

    def refuse(name):
        raise AssertionError(name)

    json.loads(Path(tmp_path / "e" / "manifest.json").read_text(), parse_constant=refuse)
