"""The ledger on its own: what is handed over is there for everybody, at once and for good."""

import contextlib
import random
import sqlite3
import subprocess
import sys
import threading
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dodiag.folder_lock import FolderLock
from dodiag.problems import DodiagError, UsageError
from dodiag.runners.ledger import CallRow, FailureRow, Ledger, LedgerWriter, ReplyRow

COUNT = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1])
print(connection.execute("SELECT count(*) FROM calls").fetchone()[0])
connection.close()
"""


def call(position, key="k"):
    return CallRow(position, "i", "u", "q", None, "X1=1", 0, "", key, "value", 1, "1", "cue", 1, "")


def failure(position, kind="timeout"):
    return FailureRow(position, "i", "u", "q", None, "X1=1", 0, "", "k", kind, "late", 3, "now")


def reply(key, text, prompt="p"):
    return ReplyRow(key, "d", 0, prompt, "[]", text, None, "stop", None, 1, 2, None, None, 1, 0.1, "now")


def seen_from_outside(ledger):
    done = subprocess.run([sys.executable, "-c", COUNT, str(ledger.path)], capture_output=True, text=True, check=True)
    return int(done.stdout)


def test_readers_from_outside_see_every_row_and_take_none_away(tmp_path):
    """Another process that opens and closes the ledger between two syncs must not remove the writer's log."""
    with Ledger.create(tmp_path / "r", {}) as ledger:
        writer = LedgerWriter(ledger.path)
        for position in range(6):
            writer.add(call(position))
            assert seen_from_outside(ledger) == position + 1
            writer.sync()
        assert seen_from_outside(ledger) == 6
        writer.close()
        assert len(list(ledger.calls())) == 6


def test_a_sync_in_another_thread_may_outlive_the_writer(tmp_path):
    """A cancelled run leaves its sync thread behind; closing under it must not crash the interpreter."""
    draw = random.Random(0)
    with Ledger.create(tmp_path / "r", {}) as ledger:
        for position in range(300):
            writer = LedgerWriter(ledger.path)
            writer.add(reply(str(position), "long " * 1000), call(position, str(position)))
            thread = threading.Thread(target=writer.sync)
            thread.start()
            time.sleep(draw.random() * 2e-4)
            writer.close()
            thread.join()
            writer.sync()
        assert len(list(ledger.calls())) == 300


def test_a_transaction_is_whole(tmp_path):
    with Ledger.create(tmp_path / "r", {}) as ledger:
        writer = LedgerWriter(ledger.path, together=3)
        writer.add(reply("a", "1"), call(0, "a"))
        writer.add(reply("b", "2"), call(1, "b"))
        assert ledger.empty
        writer.add(reply("c", "3"), call(2, "c"))
        assert [row.key for row in ledger.calls()] == ["a", "b", "c"]
        writer.add(reply("d", "4"), call(3, "d"))
        writer.close()
        assert ledger.usage() == (4, 4, 8)


def test_nothing_that_is_there_is_ever_replaced(tmp_path):
    with Ledger.create(tmp_path / "r", {}) as ledger:
        writer = LedgerWriter(ledger.path)
        writer.add(reply("a", "first"), call(0, "a"))
        writer.add(reply("a", "second"), call(0, "b"))
        writer.close()
        assert ledger.reply("a").reply == "first"
        assert [row.key for row in ledger.calls()] == ["a"]


def test_a_failure_is_open_until_the_call_is_answered_and_its_last_one_counts(tmp_path):
    with Ledger.create(tmp_path / "r", {}) as ledger:
        writer = LedgerWriter(ledger.path)
        writer.add(failure(0))
        writer.add(failure(0, "network"))
        writer.add(failure(1))
        writer.add(call(1))
        writer.close()
        assert [(row.position, row.kind) for row in ledger.open_failures()] == [(0, "network")]


@given(st.text(st.characters(), max_size=30), st.none() | st.text(st.characters(), max_size=30))
def test_any_text_is_read_back_equal(tmp_path_factory, prompt, text):
    """H36: lone surrogates and NUL included."""
    with Ledger.create(tmp_path_factory.mktemp("l") / "r", {}) as ledger:
        writer = LedgerWriter(ledger.path)
        writer.add(reply("a", text, prompt))
        writer.close()
        found = ledger.reply("a")
        assert (found.prompt, found.reply) == (prompt, text)


def test_the_lock_is_for_one_and_ends_with_it(tmp_path):
    first = FolderLock(tmp_path)
    with pytest.raises(UsageError, match="another process is running"):
        FolderLock(tmp_path)
    first.release()
    FolderLock(tmp_path).release()


def test_a_ledger_that_another_process_holds_is_said_to_be_held(tmp_path, monkeypatch):
    monkeypatch.setattr("dodiag.runners.ledger.PATIENCE", 0.05)
    Ledger.create(tmp_path / "r", {}).close()
    writer = LedgerWriter(tmp_path / "r" / "ledger.sqlite")
    with contextlib.closing(sqlite3.connect(tmp_path / "r" / "ledger.sqlite")) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(DodiagError, match="End the other process that holds it"):
            writer.add(reply("a", "1"), call(0, "a"))
    writer.close()
    with Ledger(tmp_path / "r") as ledger:
        assert [row.key for row in ledger.calls()] == ["a"], "what could not be written is tried once more at the end"


def test_a_run_is_made_whole_or_not_at_all(tmp_path):
    Ledger.create(tmp_path / "r", {"model": "m"}).close()
    assert sorted(f.name for f in (tmp_path / "r").iterdir()) == ["ledger.sqlite"]
    with pytest.raises(UsageError, match="already holds a run"):
        Ledger.create(tmp_path / "r", {})
    with pytest.raises(UsageError, match="cannot be written"):
        Ledger.create(tmp_path / "r" / "ledger.sqlite" / "x", {})


def test_ledgers_of_another_schema_are_refused(tmp_path):
    with Ledger.create(tmp_path / "r", {}) as ledger:
        ledger.write_meta("schema_version", 99)
    with pytest.raises(UsageError, match="has schema 99"):
        Ledger(tmp_path / "r")
