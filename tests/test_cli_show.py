"""One call for a person to look at: verbatim, harmless, with the pictures that were sent."""

import hashlib
import json
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st
from packs import maze_pack, sums_pack
from servers import failure, serving

import dodiag
from dodiag.cli import main
from dodiag.report.call_view import harmless
from dodiag.runners.ledger import Ledger

WILD = (
    "<img src=x onerror=alert(1)> [bold]x[/bold] [/] \x1b[2J\x1b]0;title\x07 \u202egnp.\u200b \ud835 "
    '</script><script>1</script> {"a": 1}\nsecond line\ttab'
)


@pytest.fixture
def command(monkeypatch, capsys):
    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["dodiag", *map(str, arguments)])
        with pytest.raises(SystemExit) as caught:
            main()
        captured = capsys.readouterr()
        return caught.value.code, captured.out, captured.err

    return run


@pytest.fixture
def ran(tmp_path):
    dodiag.run(sums_pack(tmp_path / "p", 3), lambda request: WILD, tmp_path / "r")
    return tmp_path / "r"


def test_a_reply_is_shown_word_for_word_and_can_do_nothing(ran, command):
    code, out, _ = command("show", ran, 0)
    assert code == 0
    assert (
        "<img src=x onerror=alert(1)> [bold]x[/bold] [/] \\x1b[2J\\x1b]0;title\\x07 \\u202egnp.\\u200b \\ud835" in out
    )
    assert "second line\ttab" in out or "second line" in out
    assert not any(ch in out for ch in "\x1b\x07\u202e\ud835")
    with Ledger(ran) as ledger:
        prompt = ledger.reply(ledger.call(0).key).prompt
    for line in prompt.split("\n"):
        assert f"  {line}\n" in out, "long lines are not broken"
    assert "truth: " in out
    assert "how: " in out


@given(text=st.text())
def test_what_is_harmless_has_nothing_a_terminal_obeys(text):
    shown = harmless(text)
    assert all(ch in "\n\t" or ord(ch) >= 32 for ch in shown)
    assert not any(0x7F <= ord(ch) < 0xA0 or 0xD800 <= ord(ch) < 0xE000 for ch in shown)
    shown.encode()
    if text.isascii() and text.isprintable():
        assert shown == text


def test_calls_are_found_by_what_they_are(ran, command):
    total = sum(1 for _ in Ledger(ran).calls())
    _, everything, _ = command("show", ran, "--list")
    assert len(everything.splitlines()) == total
    _, some, _ = command("show", ran, "--unit", "Y", "--configuration", "X2=n,X1=1", "--list")
    assert len(some.splitlines()) == 3
    assert all("X1=1,X2=n" in line for line in some.splitlines())
    _, one, _ = command("show", ran, "--unit", "Y", "--instance", "s00001", "--configuration", "X1=0,X2=0", "--json")
    (view,) = json.loads(one)
    assert view["reply"] == WILD
    assert view["place"]["instance"] == "s00001"
    _, first, err = command("show", ran)
    assert first.count("model ") >= 20
    assert "the first 20 calls" in err


def test_pictures_are_those_that_were_sent(tmp_path, command):
    pack = maze_pack(tmp_path / "m", 1, 2)
    dodiag.run(pack, lambda request: "A", tmp_path / "r")
    code, out, _ = command("show", tmp_path / "r", "--configuration", "X1=1", "--pictures", tmp_path / "pics")
    assert code == 0
    sent = {
        digest
        for row in Ledger(tmp_path / "r").calls()
        if row.configuration == "X1=1"
        for _, digest in json.loads(Ledger(tmp_path / "r").reply(row.key).media)
    }
    written = {hashlib.sha256(path.read_bytes()).hexdigest() for path in (tmp_path / "pics").iterdir()}
    assert written == sent != set()
    assert str(tmp_path / "pics") in out


def test_without_the_pack_the_rest_is_still_shown(ran, tmp_path, command):
    (tmp_path / "p").rename(tmp_path / "moved")
    code, out, _ = command("show", ran, 0)
    assert code == 0
    assert "truth" not in out
    assert command("show", ran, 0, "--pictures", tmp_path / "x")[0] == 2
    code, out, _ = command("show", ran, 0, "--pack", tmp_path / "moved")
    assert "truth: " in out


def test_a_failed_call_shows_its_failure(tmp_path, command):
    with serving(lambda text, _: failure(400, "it broke") if "box 0" in text else "1") as served:
        dodiag.run(sums_pack(tmp_path / "p", 1), "openai/m", tmp_path / "r", base_url=served.url, max_retries=0)
    code, out, _ = command("show", tmp_path / "r", "--outcome", "error")
    assert code == 0
    assert "kind: bad_request" in out
    assert "it broke" in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere"], "not a run directory"),
        (["RUN", "99999"], "no call of the run"),
        (["RUN", "--outcome", "wrong"], "'wrong' is no outcome"),
        (["RUN", "--configuration", "X1"], "has no state"),
        (["RUN", "--unit", "Z", "--list"], "no call of the run"),
    ],
)
def test_a_mistake_is_a_message(ran, command, arguments, message):
    code, _, err = command("show", *[str(ran) if a == "RUN" else a for a in arguments])
    assert code == 2
    assert message in err
