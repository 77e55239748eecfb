"""Cut-off files, full disks and killed processes: every row that is promised is there, or an error names the cure."""

import contextlib
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from packs import sums_pack
from test_ledger import reply

import dodiag
from dodiag.folder_lock import FolderLock
from dodiag.problems import UsageError
from dodiag.runners.ledger import LEDGER, DamagedLedger, Ledger
from dodiag.runners.transfer import merge, vacuum

MANIFEST = {"calls": 600, "plan_hash": "h", "model": "m", "endpoint": "", "sees_media": True, "parameters": {}}

WRITE_AND_DIE = """
import os, random, sys
sys.path[:0] = [{tests!r}, {tests!r} + "/runners"]
from pathlib import Path
from test_crash import MANIFEST, row_of
from test_ledger import call
from dodiag.runners.ledger import Ledger, LedgerWriter
draw = random.Random({seed})
with Ledger.create(Path({folder!r}), MANIFEST) as ledger:
    writer = LedgerWriter(ledger.path)
    for position in range({count}):
        writer.add(row_of(position), call(position, row_of(position).key))
        if draw.random() < {sync}:
            writer.sync()
            Path({folder!r}, "synced").write_text(str(position + 1))
    os.kill(os.getpid(), 9)
"""


def row_of(position):
    """A reply of its own length and text, on one page or on many; keys in no order."""
    draw = random.Random(position)
    text = f"{position}: " + "".join(draw.choices("abcdefgh \u00e9\u4e16", k=draw.choice([5, 50, 500, 5000, 12000])))
    return reply(f"{draw.getrandbits(128):032x}", text + "end", "p" * draw.choice([10, 900]))


def killed(folder, count, seed=0, sync=0.03):
    """A run directory whose writer was killed, its log left behind; return the rows that were synced."""
    code = WRITE_AND_DIE.format(
        tests=str(Path(__file__).parents[1]), folder=str(folder), count=count, seed=seed, sync=sync
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == -signal.SIGKILL, done.stderr
    synced = folder / "synced"
    return int(synced.read_text()) if synced.exists() else 0


def read(folder):
    """Return the positions of a ledger, every reply being the one that was written."""
    with Ledger(folder) as ledger:
        positions = [row.position for row in ledger.calls()]
        for position in positions:
            assert ledger.reply(row_of(position).key) == row_of(position)
        assert sum(1 for _ in ledger.rows("replies")) == len(positions)
        assert len(list(ledger.open_failures())) == 0
    return positions


def read_or_refusal(folder):
    """Return the positions of a ledger, or what is said of one that is damaged."""
    try:
        return read(folder), None
    except DamagedLedger as error:
        return [], str(error)


def merged_or_refusal(folder, out):
    """Return what a merge of one run came to, or what is said of one that cannot be saved."""
    try:
        return merge([folder], out), None
    except UsageError as error:
        return None, str(error)


def copy_of(folder, into):
    shutil.copytree(folder, into)
    return into


CUT = ["file", "log", "both"]


@pytest.mark.parametrize("what", CUT)
@pytest.mark.parametrize("seed", range(2))
def test_a_ledger_cut_off_anywhere_has_every_synced_row_or_says_that_it_is_damaged(tmp_path, what, seed):
    synced = killed(tmp_path / "r", 120, seed)
    assert read(copy_of(tmp_path / "r", tmp_path / "whole")) == list(range(120)), "killed alone, it has every row"
    draw = random.Random(seed)
    seen = {"whole": 0, "damaged": 0, "saved": 0}
    for number in range(25):
        folder = copy_of(tmp_path / "r", tmp_path / f"cut{number}")
        for name in [LEDGER] * (what != "log") + [f"{LEDGER}-wal"] * (what != "file"):
            size = (folder / name).stat().st_size
            os.truncate(folder / name, draw.choice([draw.randrange(size + 1), max(0, size - draw.randrange(3000)), 0]))
        before = {file.name: file.read_bytes() for file in folder.iterdir() if file.name.startswith(LEDGER)}
        positions, said = read_or_refusal(folder)
        if said is not None:
            seen["damaged"] += 1
            assert str(folder / LEDGER) in said
            assert "dodiag merge" in said
            after = {file.name: file.read_bytes() for file in folder.iterdir() if file.name.startswith(LEDGER)}
            assert after[LEDGER] == before[LEDGER], "a damaged file is left as it is"
            seen["saved"] += saved(folder, tmp_path / f"saved{number}")
        else:
            seen["whole"] += 1
            assert positions == list(range(len(positions)))
            assert len(positions) >= synced
    assert seen["damaged"] or what == "log"
    assert seen["whole"] or what != "log"
    assert seen["saved"] or not seen["damaged"]


def saved(folder, out):
    """Return the calls that a merge saves of a damaged ledger, every reply being the one that was written."""
    found, said = merged_or_refusal(folder, out)
    if found is None:
        assert str(folder / LEDGER) in said
        assert not (out / LEDGER).exists()
        return 0
    assert found.damaged == (str(folder),)
    assert sorted(file.name for file in out.iterdir()) == [LEDGER, "lock.sqlite"]
    with Ledger(out) as ledger:
        for row in ledger.calls():
            assert ledger.reply(row.key) == row_of(row.position)
        return sum(1 for _ in ledger.calls())


RUN_ON_A_FULL_DISK = """
import resource, sys
from pathlib import Path
import dodiag
from dodiag.problems import DodiagError
resource.setrlimit(resource.RLIMIT_FSIZE, ({limit}, {limit}))
try:
    dodiag.run(Path({pack!r}), "sim:default", Path({folder!r}), concurrency=4)
except DodiagError as error:
    print(error, file=sys.stderr)
    sys.exit(2)
"""


@pytest.mark.parametrize("limit", [30_000, 150_000, 400_000])
def test_a_full_disk_ends_a_run_with_its_cure_and_the_run_goes_on_when_there_is_space(tmp_path, limit):
    pack = sums_pack(tmp_path / "p", 60)
    folder = tmp_path / "r"
    code = RUN_ON_A_FULL_DISK.format(limit=limit, pack=str(pack.folder), folder=str(folder))
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.returncode == 2, done.stderr
    assert "cannot be written" in done.stderr
    assert "Traceback" not in done.stderr
    kept = 0
    if (folder / LEDGER).exists():
        with Ledger(folder) as ledger:
            kept = sum(1 for _ in ledger.calls())
    found = dodiag.run(pack, "sim:default", folder, concurrency=4)
    assert found.complete
    assert found.reused == kept < found.planned
    assert limit < 400_000 or kept, "a larger disk keeps more than nothing"
    assert dodiag.outcomes(folder).equals(outcomes_elsewhere(pack, tmp_path / "whole"))


def outcomes_elsewhere(pack, folder):
    dodiag.run(pack, "sim:default", folder)
    return dodiag.outcomes(folder)


def test_vacuum_gives_space_back_and_no_row_is_lost(tmp_path):
    folder = tmp_path / "r"
    dodiag.run(sums_pack(tmp_path / "p", 30), "sim:default", folder)
    before = dodiag.outcomes(folder)
    with sqlite3.connect(folder / LEDGER) as connection:
        connection.execute("CREATE TABLE waste (text)")
        connection.executemany("INSERT INTO waste VALUES (?)", (("w" * 3000,) for _ in range(500)))
        connection.execute("DROP TABLE waste")
    connection.close()
    large, small = vacuum(folder)
    assert large - small > 500 * 3000 * 0.9
    assert dodiag.outcomes(folder).equals(before)
    with held(folder), pytest.raises(UsageError):
        vacuum(folder)


@contextlib.contextmanager
def held(folder):
    lock = FolderLock(folder)
    try:
        yield
    finally:
        lock.release()
