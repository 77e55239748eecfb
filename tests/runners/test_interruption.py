"""A run that is killed, interrupted or started twice: nothing lost, nothing counted twice."""

import signal
import subprocess
import sys
import time

import pytest
from packs import sums_pack
from servers import serving

import dodiag

SCRIPT = """
import sys
from dodiag.cli import main
sys.argv = ["dodiag", "run", {pack!r}, "--model", "openai/m", "--base-url", {url!r}, "--out", {out!r},
            "--concurrency", "4", "--quiet"]
main()
"""


def spawn(pack, url, out):
    code = SCRIPT.format(pack=str(pack.folder), url=url, out=str(out))
    return subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def wait_for(served, count):
    deadline = time.monotonic() + 60
    while served.requests < count:
        assert time.monotonic() < deadline
        time.sleep(0.005)


@pytest.mark.parametrize("moments", [(10, 40, 90), (1, 2, 3)])
def test_killed_at_any_moment_a_run_repeats_at_most_the_calls_in_flight(tmp_path, moments):
    pack = sums_pack(tmp_path / "p", 20)
    with serving(lambda text, _: "1", delay=0.01) as served:
        for moment in moments:
            process = spawn(pack, served.url, tmp_path / "r")
            wait_for(served, moment)
            process.kill()
            process.communicate()
        process = spawn(pack, served.url, tmp_path / "r")
        _, err = process.communicate(timeout=60)
        assert process.returncode == 0, err
        assert 220 <= served.requests <= 220 + 4 * len(moments)
        assert max(served.prompts.values()) <= 1 + len(moments)
    table = dodiag.outcomes(tmp_path / "r")
    assert len(table) == 220
    assert not table.duplicated(["instance", "question", "configuration", "draw"]).any()


def test_ctrl_c_ends_soon_keeps_every_answer_and_says_how_to_go_on(tmp_path):
    """H33: SIGINT at 40 % of the items: exit within about 2 s, code 130; the next run sends only the rest."""
    pack = sums_pack(tmp_path / "p", 20)
    with serving(lambda text, _: "1", delay=0.01) as served:
        process = spawn(pack, served.url, tmp_path / "r")
        wait_for(served, 88)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
        assert process.returncode == 130
        assert f"dodiag resume {tmp_path / 'r'}" in err
        assert "Traceback" not in err
        before = served.requests
        kept = len(dodiag.outcomes(tmp_path / "r"))
        assert kept == before, "what was in flight came in, and is paid for once"
        summary = dodiag.resume(tmp_path / "r")
        assert summary.complete
        assert served.requests - before == 220 - kept


def test_a_second_ctrl_c_ends_at_once(tmp_path):
    pack = sums_pack(tmp_path / "p", 20)
    with serving(lambda text, _: "1", delay=0.05) as served:
        process = spawn(pack, served.url, tmp_path / "r")
        wait_for(served, 20)
        process.send_signal(signal.SIGINT)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=30)
        assert process.returncode == 130


def test_two_processes_cannot_run_in_one_directory(tmp_path):
    pack = sums_pack(tmp_path / "p", 20)
    with serving(lambda text, _: "1", delay=1.0) as served:
        first = spawn(pack, served.url, tmp_path / "r")
        wait_for(served, 1)
        second = spawn(pack, served.url, tmp_path / "r")
        _, err = second.communicate(timeout=60)
        assert first.poll() is None, "the first has ended too early to say anything"
        assert second.returncode == 2
        assert "another process is running" in err
        first.send_signal(signal.SIGINT)
        first.communicate(timeout=60)
        assert first.returncode == 130


def test_processes_that_start_at_once_make_one_run(tmp_path):
    """Whoever comes second is refused, or finds the run and continues it; no reply is lost, none is counted twice."""
    pack = sums_pack(tmp_path / "p", 6)
    with serving(lambda text, _: "1", delay=0.02) as served:
        processes = [spawn(pack, served.url, tmp_path / "r") for _ in range(4)]
        ended = [(process.communicate(timeout=120), process.returncode) for process in processes]
        assert {code for _, code in ended} <= {0, 2}
        assert 0 in {code for _, code in ended}
        for (_, err), code in ended:
            assert code == 0 or "another process is running" in err
        assert served.requests == 66
    assert len(dodiag.outcomes(tmp_path / "r")) == 66


def test_what_a_killed_start_left_is_no_obstacle(tmp_path):
    pack = sums_pack(tmp_path / "p", 1)
    (tmp_path / "r").mkdir()
    for name in ("lock.sqlite", "lock.sqlite-journal", ".ledger.sqlite.new"):
        (tmp_path / "r" / name).write_bytes(b"")
    assert dodiag.run(pack, "sim:default", tmp_path / "r").complete
