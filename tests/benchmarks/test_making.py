"""Packs come to their folder whole or not at all, are continued where they stopped, and do not depend on processes."""

from __future__ import annotations

import contextlib
import importlib.util
import inspect
import os
import pickle
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import fields
from pathlib import Path

import pytest

import dodiag
from dodiag.benchmarks.generators import CADET, GENERATORS, Order, generator
from dodiag.benchmarks.making import CARD, make_pack, staging_folder
from dodiag.cli import main
from dodiag.folder_lock import FolderLock
from dodiag.problems import UsageError
from dodiag.scm.files import load_task

QUICK = "maze"
"""A task whose instances take milliseconds."""


def contents(folder: Path) -> dict[str, bytes]:
    return {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


def names(folder: Path) -> list[str]:
    return sorted(entry.name for entry in folder.iterdir())


@pytest.mark.parametrize("slug", GENERATORS)
def test_every_generator_offers_what_is_asked_of_it(slug: str) -> None:
    module = generator(slug)
    card = inspect.getdoc(module) or ""
    for heading in ("What it measures", "How the truth is known", "What is drawn for state 1", "Limits"):
        assert heading in card, f"the card of {slug} has no '{heading}'"
    if slug in CADET:
        assert load_task(slug).published["instances"] == module.INSTANCES
        assert set(module.task(0, module.Knobs()).units) == set(load_task(slug).units)
    assert module.VERSION
    knobs = module.Knobs()
    for knob in fields(knobs):
        assert knob.name in (inspect.getdoc(module.Knobs) or ""), f"knob {knob.name} is not explained"
        assert isinstance(getattr(knobs, knob.name), bool | int | float | str)
    order = Order(slug, 2, 1)
    assert pickle.loads(pickle.dumps(order)) == order
    assert order.task.seed == 1


def test_an_unknown_slug_is_answered_with_the_nearest() -> None:
    with pytest.raises(UsageError, match="Did you mean 'dice_sum'"):
        Order("dice-sum")
    with pytest.raises(UsageError, match="dice_sum"):
        Order("chess")


@pytest.mark.parametrize("instances", [0, -1, 100_001])
def test_a_number_of_instances_outside_the_range_is_refused(instances: int) -> None:
    with pytest.raises(UsageError, match="instances"):
        Order(QUICK, instances)


def test_a_negative_seed_is_refused() -> None:
    with pytest.raises(UsageError, match="seed"):
        Order(QUICK, 1, -1)


@pytest.mark.parametrize("number", [2.0, "2", True])
def test_instances_and_seed_are_whole_numbers(number: int) -> None:
    with pytest.raises(UsageError, match="number of instances"):
        Order(QUICK, number)
    with pytest.raises(UsageError, match="seed"):
        Order(QUICK, 1, number)


@pytest.mark.parametrize(
    ("knobs", "match"),
    [
        ({"fewset": 4}, "fewest"),
        ({"fewest": "four"}, "whole number"),
        ({"fewest": True}, "whole"),
        ({"most": 2.5}, "w"),
    ],
)
def test_a_knob_that_is_misspelt_or_of_another_kind_is_refused(knobs: dict[str, object], match: str) -> None:
    with pytest.raises(UsageError, match=match):
        Order("dice_sum", knobs=knobs)


def test_a_folder_that_holds_something_is_refused_and_left_alone(tmp_path: Path) -> None:
    (tmp_path / "pack").mkdir()
    (tmp_path / "pack" / "mine.txt").write_text("keep")
    (tmp_path / "file").write_text("keep")
    with pytest.raises(UsageError, match="not empty"):
        make_pack(Order(QUICK, 1), tmp_path / "pack")
    with pytest.raises(UsageError, match="is a file"):
        make_pack(Order(QUICK, 1), tmp_path / "file")
    with pytest.raises(UsageError, match="cannot"):
        make_pack(Order(QUICK, 1), tmp_path / "file" / "pack")
    assert (tmp_path / "pack" / "mine.txt").read_text() == (tmp_path / "file").read_text() == "keep"
    assert names(tmp_path) == ["file", "pack"]


def test_a_folder_that_a_pack_cannot_take_the_place_of_is_refused_before_anything_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "folder")
    with pytest.raises(UsageError, match=r"is a link.*link/pack"):
        make_pack(Order(QUICK, 1), tmp_path / "link")
    monkeypatch.chdir(tmp_path / "folder")
    for out in (Path(), tmp_path / "folder"):
        with pytest.raises(UsageError, match="is the current folder"):
            make_pack(Order(QUICK, 1), out)
    assert names(tmp_path) == ["folder", "link"]
    make_pack(Order(QUICK, 1), Path("pack"))
    assert names(tmp_path / "folder") == ["pack"]


def test_a_pack_is_whole_carries_its_card_and_begins_with_the_shorter_one(tmp_path: Path) -> None:
    (tmp_path / "long").mkdir()
    told: list[int] = []
    make_pack(Order(QUICK, 5, 3), tmp_path / "long", progress=told.append)
    make_pack(Order(QUICK, 3, 3), tmp_path / "short")
    assert told == [1, 2, 3, 4, 5]
    assert names(tmp_path) == ["long", "short"]
    assert names(tmp_path / "long") == [CARD, "instances.jsonl", "media", "task.yaml"]
    assert dodiag.load_pack(tmp_path / "long").instance_count == 5
    assert f"dodiag generate {QUICK} --instances 5 --seed 3" in (tmp_path / "long" / CARD).read_text()
    long, short = contents(tmp_path / "long"), contents(tmp_path / "short")
    lines = long["instances.jsonl"].splitlines()
    assert lines[:3] == short["instances.jsonl"].splitlines()
    assert all(long[name] == data for name, data in short.items() if name.startswith("media"))


@pytest.mark.parametrize("end", [KeyboardInterrupt, RuntimeError])
def test_what_is_interrupted_is_kept_and_the_same_order_goes_on(tmp_path: Path, end: type[BaseException]) -> None:
    def stop(done: int) -> None:
        if done == 3:
            raise end

    order, told = Order(QUICK, 5, 1), []
    (tmp_path / "pack").mkdir()
    with pytest.raises(end):
        make_pack(order, tmp_path / "pack", progress=stop)
    assert names(tmp_path / "pack") == []
    with (staging_folder(tmp_path / "pack") / "instances.jsonl").open("ab") as lines:
        lines.write(b'{"id": "cut o')
    make_pack(order, tmp_path / "pack", progress=told.append)
    assert told == [4, 5]
    make_pack(order, tmp_path / "other")
    assert contents(tmp_path / "pack") == contents(tmp_path / "other")
    assert names(tmp_path) == ["other", "pack"]


def test_nothing_is_left_where_nothing_was_finished(tmp_path: Path) -> None:
    code = f"""
import os
os.environ["MUJOCO_GL"] = "off"
from pathlib import Path
from dodiag.benchmarks.generators import Order
from dodiag.benchmarks.making import make_pack
make_pack(Order("dice_sum", 2), Path({str(tmp_path / "pack")!r}))
"""
    # Not imported here: the first import of mujoco in a process decides about its GL library.
    if importlib.util.find_spec("mujoco") is None:
        pytest.skip("a renderer that fails at the first picture is needed, and mujoco is not installed")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.returncode == 1
    assert "MUJOCO_GL=off" in done.stderr
    assert names(tmp_path) == []


def test_another_order_for_the_same_place_starts_anew(tmp_path: Path) -> None:
    def stop(done: int) -> None:
        raise RuntimeError

    with pytest.raises(RuntimeError):
        make_pack(Order(QUICK, 3, 1), tmp_path / "pack", progress=stop)
    make_pack(Order(QUICK, 3, 2), tmp_path / "pack")
    make_pack(Order(QUICK, 3, 2), tmp_path / "other")
    assert contents(tmp_path / "pack") == contents(tmp_path / "other")


@pytest.mark.parametrize("instances", [1, 3, 4, 6])
def test_a_pack_that_is_continued_with_another_number_is_the_one_of_that_number(tmp_path: Path, instances: int) -> None:
    def stop(done: int) -> None:
        if done == 3:
            raise RuntimeError

    with pytest.raises(RuntimeError):
        make_pack(Order(QUICK, 5, 1), tmp_path / "pack", progress=stop)
    (staging_folder(tmp_path / "pack") / "media" / "0003.png").write_bytes(b"of an instance whose line was not written")
    make_pack(Order(QUICK, instances, 1), tmp_path / "pack")
    make_pack(Order(QUICK, instances, 1), tmp_path / "other")
    assert contents(tmp_path / "pack") == contents(tmp_path / "other")


def test_a_medium_that_was_lost_is_made_again(tmp_path: Path) -> None:
    def stop(done: int) -> None:
        if done == 3:
            raise RuntimeError

    with pytest.raises(RuntimeError):
        make_pack(Order(QUICK, 4, 1), tmp_path / "pack", progress=stop)
    media = sorted((staging_folder(tmp_path / "pack") / "media").iterdir())
    os.truncate(media[1], 0)
    make_pack(Order(QUICK, 4, 1), tmp_path / "pack")
    make_pack(Order(QUICK, 4, 1), tmp_path / "other")
    assert contents(tmp_path / "pack") == contents(tmp_path / "other")


def test_two_processes_cannot_make_one_pack(tmp_path: Path) -> None:
    lock = FolderLock(staging_folder(tmp_path / "pack"))
    try:
        with pytest.raises(UsageError, match="another process"):
            make_pack(Order(QUICK, 1), tmp_path / "pack")
    finally:
        lock.release()


def test_processes_change_nothing_and_a_killed_command_goes_on(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "dodiag", "generate", QUICK, "--instances", "60", "--out"]
    killed = subprocess.Popen([*command, str(tmp_path / "pack"), "--workers", "2"], start_new_session=True)
    lines = staging_folder(tmp_path / "pack") / "instances.jsonl"
    began = time.monotonic()
    while killed.poll() is None and not (lines.exists() and lines.stat().st_size) and time.monotonic() - began < 60:
        time.sleep(0.01)
    os.killpg(killed.pid, signal.SIGKILL)
    killed.wait()
    kept = lines.read_bytes().count(b"\n")
    assert 0 < kept < 60
    done = subprocess.run([*command, str(tmp_path / "pack"), "--workers", "2"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    subprocess.run([*command, str(tmp_path / "other"), "--workers", "1"], check=True, capture_output=True)
    assert contents(tmp_path / "pack") == contents(tmp_path / "other")


def has_begun(staged: Path) -> bool:
    lines = staged / "instances.jsonl"
    return lines.exists() and lines.stat().st_size > 0


def wait_until(condition: Callable[[], bool], process: subprocess.Popen[str]) -> None:
    began = time.monotonic()
    while not condition():
        assert process.poll() is None
        assert time.monotonic() - began < 60
        time.sleep(0.01)


@contextlib.contextmanager
def started(out: Path) -> Iterator[subprocess.Popen[str]]:
    """Give a command that makes a pack in two processes, in a session of its own; they all have its pipes open."""
    command = [sys.executable, "-m", "dodiag", "generate", QUICK, "--instances", "2000", "--workers", "2"]
    process = subprocess.Popen(
        [*command, "--out", str(out)], start_new_session=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        yield process
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)


@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGTERM])
def test_no_process_outlives_a_command_that_is_killed_alone(tmp_path: Path, end: signal.Signals) -> None:
    with started(tmp_path / "pack") as killed:
        wait_until(lambda: has_begun(staging_folder(tmp_path / "pack")), killed)
        os.kill(killed.pid, end)
        _, said = killed.communicate(timeout=30)  # until the last process that has the pipe open is gone
    assert "Traceback" not in said


@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="the processes of a command are looked up in /proc")
def test_ctrl_c_while_processes_start_is_answered_in_a_line(tmp_path: Path) -> None:
    def importing() -> int:
        children = Path(f"/proc/{command.pid}/task/{command.pid}/children").read_text().split()
        maps = [Path(f"/proc/{child}/maps") for child in children]
        return sum("site-packages" in file.read_text() for file in maps if file.exists())

    staged = staging_folder(tmp_path / "pack")
    with started(tmp_path / "pack") as command:
        wait_until(lambda: importing() == 2, command)
        os.killpg(command.pid, signal.SIGINT)
        _, said = command.communicate(timeout=60)
    assert command.returncode == 130
    if staged.exists():  # a slow signal: the first instances were finished before it
        assert said.strip() == f"interrupted; {staged} keeps what is finished: the same command goes on"
    else:
        assert said.strip() == "interrupted; nothing was finished"
        assert names(tmp_path) == []


def test_ctrl_c_tells_where_what_is_finished_is_kept(tmp_path: Path) -> None:
    staged = staging_folder(tmp_path / "pack")
    with started(tmp_path / "pack") as command:
        wait_until(lambda: has_begun(staged), command)
        os.killpg(command.pid, signal.SIGINT)
        _, said = command.communicate(timeout=60)
    assert command.returncode == 130
    assert said.strip() == f"interrupted; {staged} keeps what is finished: the same command goes on"
    assert has_begun(staged)


FULL = """
import resource, sys
from pathlib import Path
from dodiag.benchmarks.generators import Order
from dodiag.benchmarks.making import make_pack
from dodiag.problems import UsageError
resource.setrlimit(resource.RLIMIT_FSIZE, (9000, 9000))
try:
    make_pack(Order({slug!r}, 40), Path({out!r}))
except UsageError as error:
    sys.exit(str(error))
"""


def test_a_full_disk_is_named_and_what_is_finished_is_kept(tmp_path: Path) -> None:
    code = FULL.format(slug=QUICK, out=str(tmp_path / "pack"))
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.returncode == 1
    assert "cannot write" in done.stderr
    assert "the same command goes on" in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "pack").exists()
    make_pack(Order(QUICK, 40), tmp_path / "pack")
    assert dodiag.load_pack(tmp_path / "pack").instance_count == 40


def test_the_command_takes_knobs_and_refuses_them_for_all_tasks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for arguments, said in (
        (["dice_sum", "--knob", "fewest=1"], "dice are asked for"),
        (["dice_sum", "--knob", "fewest"], "has no value"),
        (["all", "--knob", "fewest=5"], "knobs of its own"),
        (["dice_sum", "--workers", "0"], "at least 1"),
    ):
        monkeypatch.setattr("sys.argv", ["dodiag", "generate", *arguments, "--out", str(tmp_path / "p")])
        with pytest.raises(SystemExit) as caught:
            main()
        assert caught.value.code == 2
        assert said in capsys.readouterr().err
    assert names(tmp_path) == []


def test_all_tasks_are_made_but_those_whose_libraries_are_missing(tmp_path: Path) -> None:
    code = f"""
import sys
for name in ("mujoco", "music21", "verovio", "av"):
    sys.modules[name] = None
from dodiag.cli import main
sys.argv = ["dodiag", "generate", "all", "--instances", "1", "--workers", "1", "--out", {str(tmp_path / "all")!r}]
sys.argv += ["--seed", sys.stdin.read()]
main()
"""
    for attempt in range(2):
        done = subprocess.run([sys.executable, "-c", code], input="0", capture_output=True, text=True, timeout=300)
        assert done.returncode == 2
        assert "Traceback" not in done.stderr
        assert done.stderr.count("left out ") == len(GENERATORS) - 3
        assert "pip install" in done.stderr
        assert done.stdout.count("is there already") == 3 * attempt
    made = contents(tmp_path / "all")
    other = subprocess.run([sys.executable, "-c", code], input="1", capture_output=True, text=True, timeout=300)
    assert other.returncode == 2
    assert "3 packs were there that another command made: map_navigation, maze, multistep_reasoning" in other.stderr
    assert "is there already" not in other.stdout
    assert contents(tmp_path / "all") == made
    assert names(tmp_path / "all") == ["map_navigation", "maze", "multistep_reasoning"]
