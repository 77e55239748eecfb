"""A ledger of an older release is brought up to this one: whole or not at all, by one process or by several."""

import multiprocessing
import sqlite3
from dataclasses import replace

import pytest
from test_ledger import call, reply

from dodiag.problems import UsageError
from dodiag.runners import migration
from dodiag.runners.ledger import COLUMNS, LEDGER, Ledger, LedgerWriter, VerdictRow


def old_ledger(folder, version):
    """A ledger as a release of this schema version left it, with one answered call."""
    folder.mkdir()
    connection = sqlite3.connect(folder / LEDGER)
    migration.build(connection, {"manifest": {"task": "t"}}, version)
    for table, row in (("replies", reply("k", "seven \ud835")), ("calls", call(0))):
        values = [getattr(row, name) for name in COLUMNS[type(row)]]
        values = [v.encode("utf-8", "surrogatepass") if isinstance(v, str) and "\ud835" in v else v for v in values]
        names = ", ".join(COLUMNS[type(row)])
        connection.execute(f"INSERT INTO {table} ({names}) VALUES ({', '.join('?' * len(values))})", values)
    connection.commit()
    connection.execute("PRAGMA journal_mode=WAL")
    connection.close()


def verdict(key, said="correct", reason=""):
    return VerdictRow(key, "k", "judge", said, reason, "because", "p", "{}", "stop", 1, 2, 1, 0.5, "now")


@pytest.mark.parametrize("version", range(1, migration.SCHEMA_VERSION))
def test_an_older_ledger_keeps_its_rows_and_gets_the_new_tables(tmp_path, version):
    old_ledger(tmp_path / "r", version)
    for _ in range(2):
        with Ledger(tmp_path / "r") as ledger:
            assert ledger.meta("schema_version") == migration.SCHEMA_VERSION
            assert ledger.manifest == {"task": "t"}
            assert ledger.reply("k").reply == "seven \ud835"
            assert [row.position for row in ledger.calls()] == [0]
            assert list(ledger.verdicts()) == []
    writer = LedgerWriter(tmp_path / "r" / LEDGER)
    writer.add(verdict("v"))
    writer.close()
    with Ledger(tmp_path / "r") as ledger:
        assert ledger.verdict("v") == verdict("v")


def test_a_migration_that_is_cut_off_leaves_the_old_ledger(tmp_path):
    old_ledger(tmp_path / "r", 1)
    connection = sqlite3.connect(tmp_path / "r" / LEDGER)
    connection.execute("BEGIN IMMEDIATE")
    connection.execute("CREATE TABLE verdicts (key TEXT PRIMARY KEY)")
    connection.close()
    with Ledger(tmp_path / "r") as ledger:
        assert ledger.meta("schema_version") == migration.SCHEMA_VERSION
        assert ledger.verdict("v") is None


def _open(folder, results):
    with Ledger(folder) as ledger:
        results.put(ledger.meta("schema_version"))


def test_processes_that_migrate_at_once_do_it_once(tmp_path):
    old_ledger(tmp_path / "r", 1)
    context = multiprocessing.get_context("spawn")
    results = context.Queue()
    processes = [context.Process(target=_open, args=(tmp_path / "r", results)) for _ in range(4)]
    for process in processes:
        process.start()
    found = [results.get(timeout=60) for _ in processes]
    for process in processes:
        process.join(60)
    assert found == [migration.SCHEMA_VERSION] * 4


@pytest.mark.parametrize("version", [99, 0, -1, None, "two"])
def test_what_no_release_wrote_is_refused(tmp_path, version):
    with Ledger.create(tmp_path / "r", {}) as ledger:
        ledger.write_meta("schema_version", version)
    with pytest.raises(UsageError, match=f"has schema {version}"):
        Ledger(tmp_path / "r")


def test_an_unscored_verdict_gives_way_and_a_verdict_does_not(tmp_path):
    with Ledger.create(tmp_path / "r", {}) as ledger:
        writer = LedgerWriter(ledger.path)
        writer.add(verdict("v", "unscored", "judge_parse"))
        assert ledger.verdict("v").reason == "judge_parse"
        writer.add(verdict("v", "incorrect"))
        writer.add(verdict("v", "correct"))
        writer.close()
        assert [row.verdict for row in ledger.verdicts()] == ["incorrect"]


def test_readings_are_replaced_together_and_replies_stay(tmp_path):
    with Ledger.create(tmp_path / "r", {}) as ledger:
        writer = LedgerWriter(ledger.path)
        for position in range(3):
            writer.add(reply(str(position), "7"), call(position, str(position)))
        writer.replace_calls(replace(row, outcome="none", solved=0) for row in list(ledger.calls()))
        assert [(row.outcome, row.solved, row.key) for row in ledger.calls()] == [("none", 0, str(i)) for i in range(3)]

        def broken():
            yield replace(ledger.call(0), outcome="value")
            raise RuntimeError("cut off")

        with pytest.raises(RuntimeError):
            writer.replace_calls(broken())
        assert ledger.call(0).outcome == "none"
        assert ledger.call(9) is None
        writer.close()
        assert ledger.reply("1").reply == "7"
