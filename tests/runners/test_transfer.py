"""Partial runs put together, and ledgers taken out and back: nothing is lost, nothing is paid for twice."""

import sys
from dataclasses import replace

import pytest
from packs import sums_pack
from servers import failure, serving
from test_migration import verdict

import dodiag
from dodiag.cli import main
from dodiag.problems import UsageError
from dodiag.runners.ledger import TABLES, Ledger, LedgerWriter
from dodiag.runners.transfer import export, merge, restore


def everything(run_dir):
    with Ledger(run_dir) as ledger:
        return {table: list(ledger.rows(table)) for table in TABLES}


@pytest.fixture
def parts(tmp_path):
    """Three runs of one plan: 47 calls answered, 13 answered, and one that only failed."""
    pack = sums_pack(tmp_path / "p", 8)
    with serving(lambda text, _: "3 \ud835") as served:
        options = {"base_url": served.url, "concurrency": 1}
        dodiag.run(pack, "openai/m", tmp_path / "a", max_calls=47, **options)
        dodiag.run(pack, "openai/m", tmp_path / "b", max_calls=13, **options)
        yield tmp_path, served
    with Ledger(tmp_path / "a") as ledger:
        assert ledger.meta("schema_version") == 2


def test_the_union_has_what_any_part_has(parts):
    folder, served = parts
    before = everything(folder / "a"), everything(folder / "b")
    found = merge([folder / "b", folder / "a"], folder / "c")
    assert (found.replies, found.calls, found.conflicts) == (47, 47, 0)
    said = [(row.key, row.reply) for row in before[0]["replies"]]
    assert [(row.key, row.reply) for row in everything(folder / "c")["replies"]] == said
    assert (everything(folder / "a"), everything(folder / "b")) == before, "the parts are left as they are"
    sent = served.requests
    done = dodiag.resume(folder / "c")
    assert done.complete
    assert served.requests - sent == 88 - 47, "nothing is sent twice"


def test_of_two_samples_of_one_request_the_first_named_stands_with_its_reading(parts):
    folder, _ = parts
    with Ledger(folder / "b") as ledger:
        row = next(ledger.rows("replies"))
        (call,) = [c for c in ledger.rows("calls") if c.key == row.key]
        ledger.close()
    import sqlite3

    connection = sqlite3.connect(folder / "b" / "ledger.sqlite")
    connection.execute("UPDATE replies SET reply = '9' WHERE key = ?", (row.key,))
    connection.execute("UPDATE calls SET value = '9' WHERE position = ?", (call.position,))
    connection.commit()
    connection.close()
    for order, value in ((["b", "a"], "9"), (["a", "b"], call.value)):
        out = folder / "-".join(order)
        assert merge([folder / name for name in order], out).conflicts == 1
        with Ledger(out) as ledger:
            assert ledger.call(call.position).value == value
            assert sum(1 for _ in ledger.calls()) == 47


def test_what_may_be_billed_and_what_was_agreed_is_not_lost_in_a_union(parts):
    folder, _ = parts
    for name, broken_off in (("a", 2), ("b", 3)):
        with Ledger(folder / name) as ledger:
            ledger.write_meta("account", {"broken_off": broken_off, "held": broken_off / 2})
            ledger.write_meta("terms", {"cost": 10.0 * broken_off, "prices": {"input": 1.0, "output": 1.0}})
    merge([folder / "b", folder / "a"], folder / "c")
    with Ledger(folder / "c") as ledger:
        assert ledger.meta("account") == {"broken_off": 5, "held": 2.5}
        assert ledger.meta("terms")["cost"] == 30.0, "of the run named first"
    assert dodiag.resume(folder / "c", max_calls=1).account.broken_off == 5


def test_other_runs_are_no_parts(parts, tmp_path):
    folder, served = parts
    other = sums_pack(tmp_path / "q", 3)
    dodiag.run(other, "openai/m", tmp_path / "d", base_url=served.url, max_calls=1)
    dodiag.run(sums_pack(tmp_path / "q2", 8), "sim:default", tmp_path / "e")
    for name, what in (("d", "plan hash"), ("e", "model")):
        with pytest.raises(UsageError, match=f"another {what}"):
            merge([folder / "a", tmp_path / name], tmp_path / "x")
        assert not (tmp_path / "x").exists()
    with pytest.raises(UsageError, match="needs no merging"):
        merge([folder / "a"], tmp_path / "x")
    with pytest.raises(UsageError, match="already holds a run"):
        merge([folder / "a", folder / "b"], folder / "a")


def test_a_ledger_comes_back_as_it_went(parts):
    folder, served = parts
    writer = LedgerWriter(folder / "a" / "ledger.sqlite")
    writer.add(replace(verdict("v"), explanation="because \udc80"))
    writer.close()
    counts = export(folder / "a", folder / "out")
    assert counts == {"replies": 47, "calls": 47, "failures": 0, "verdicts": 1}
    assert restore(folder / "out", folder / "again") == counts
    assert everything(folder / "again") == everything(folder / "a")
    assert dodiag.outcomes(folder / "again").equals(dodiag.outcomes(folder / "a"))
    sent = served.requests
    assert dodiag.resume(folder / "again").answered == served.requests - sent == 41


def test_failures_travel_too(tmp_path):
    with serving(lambda text, _: failure(400, "broken")) as served:
        dodiag.run(sums_pack(tmp_path / "p", 1), "openai/m", tmp_path / "r", base_url=served.url, max_retries=0)
    export(tmp_path / "r", tmp_path / "out")
    restore(tmp_path / "out", tmp_path / "again")
    assert everything(tmp_path / "again") == everything(tmp_path / "r")
    assert everything(tmp_path / "r")["failures"]


ECHOES = [
    (401, "bad key sk-very-secret-0123456789"),
    (400, "headers: Authorization: Bearer tok-very-secret-0123456789"),
    (500, "url https://me:very-secret-pass@host/v1?api_key=very-secret-0123"),
    (400, "a value of ours: plain very-secret value of the environment"),
]


@pytest.mark.parametrize(("status", "message"), ECHOES)
def test_what_a_server_repeats_of_a_key_is_stored_nowhere(tmp_path, monkeypatch, capfd, status, message):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret-0123456789")
    monkeypatch.setenv("SOME_SERVICE_TOKEN", "plain very-secret value")
    with serving(lambda text, _: failure(status, message)) as served:
        found = dodiag.run(
            sums_pack(tmp_path / "p", 1), "openai/m", tmp_path / "r", base_url=served.url, max_retries=0, quiet=False
        )
    assert "very-secret" not in str(found)
    assert "very-secret" not in "".join(capfd.readouterr())
    export(tmp_path / "r", tmp_path / "out")
    for path in [*(tmp_path / "r").rglob("*"), *(tmp_path / "out").rglob("*")]:
        if path.is_file():
            assert b"very-secret" not in path.read_bytes(), path


@pytest.mark.parametrize("url", ["http://me:word@127.0.0.1:1/v1", "http://127.0.0.1:1/v1?api_key=abc"])
def test_an_address_with_a_secret_is_refused(tmp_path, url):
    with pytest.raises(UsageError, match="addresses are stored"):
        dodiag.run(sums_pack(tmp_path / "p", 1), "openai/m", tmp_path / "r", base_url=url)
    assert not (tmp_path / "r").exists()


MISTAKES = [
    (["export", "nowhere", "--to", "x"], "not a run directory"),
    (["restore", "nowhere", "--out", "x"], "is no export"),
    (["merge", "nowhere", "elsewhere", "--out", "x"], "not a run directory"),
]


@pytest.mark.parametrize(("arguments", "message"), MISTAKES)
def test_a_mistake_is_a_message(tmp_path, monkeypatch, capsys, arguments, message):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["dodiag", *arguments])
    with pytest.raises(SystemExit) as caught:
        main()
    assert caught.value.code == 2
    assert message in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
