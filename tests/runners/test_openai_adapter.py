"""The OpenAI-compatible adapter against servers that are no chat server: nothing is guessed, followed or filled up."""

import gzip

import pytest
from aiohttp import web
from packs import sums_pack
from servers import serving

import dodiag
from dodiag.problems import UsageError
from dodiag.runners.adapters.openai_compatible import MOST_BYTES, checked_base_url
from dodiag.runners.ledger import Ledger

ONE_CALL = {"units": ["X1"], "states": ["n"], "max_retries": 0}


@pytest.fixture
def pack(tmp_path):
    return sums_pack(tmp_path / "p", 1)


def failures(run_dir):
    with Ledger(run_dir) as ledger:
        return [(row.kind, row.message) for row in ledger.open_failures()]


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_no_redirection_is_followed(pack, tmp_path, status):
    """Prompts, pictures and key go to the address that the run names, and to no other."""
    with serving(lambda text, _: "7") as other:
        headers = {"Location": f"{other.url}/chat/completions"}
        with serving(lambda text, _: web.Response(status=status, headers=headers)) as served:
            found = dodiag.run(pack, "openai/m", tmp_path / "r", base_url=served.url, **ONE_CALL)
            assert served.requests == 1
        assert other.requests == 0
        assert other.url in found.stopped
    assert failures(tmp_path / "r")[0][0] == "not_found"


def test_a_reply_that_unpacks_to_more_than_any_reply_is_not_read(pack, tmp_path):
    bomb = gzip.compress(b" " * (MOST_BYTES + 1))
    with serving(lambda text, _: web.Response(body=bomb, headers={"Content-Encoding": "gzip"})) as served:
        dodiag.run(pack, "openai/m", tmp_path / "r", base_url=served.url, **ONE_CALL)
    assert failures(tmp_path / "r") == [("internal", "the server's reply is longer than 64 MiB")]


@pytest.mark.parametrize(
    ("body", "kind", "said"),
    [
        (b"<html>Log in first</html>", "text/html", "not JSON (text/html): <html>Log in first"),
        (b"", "application/json", "empty"),
        (b'{"choices": [{"mess', "application/json", 'not JSON (application/json): {"choices'),
    ],
)
def test_what_is_no_json_is_shown(pack, tmp_path, body, kind, said):
    with serving(lambda text, _: web.Response(body=body, headers={"Content-Type": kind})) as served:
        dodiag.run(pack, "openai/m", tmp_path / "r", base_url=served.url, **ONE_CALL)
    ((failed, message),) = failures(tmp_path / "r")
    assert failed == "internal"
    assert said in message


def test_a_key_with_the_line_end_of_its_file_is_the_key(pack, tmp_path, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-a-file\r\n")
    with serving(lambda text, _: "7") as served:
        assert dodiag.run(pack, "openai/m", tmp_path / "r", base_url=served.url, **ONE_CALL).complete
    assert served.headers[0]["Authorization"] == "Bearer sk-of-a-file"


def test_a_key_that_cannot_be_sent_is_refused_and_not_repeated(pack, tmp_path, monkeypatch):
    monkeypatch.setenv("MY_KEY", "sk-first-line\nsk-second-line")
    with pytest.raises(UsageError, match="MY_KEY holds control characters") as caught:
        dodiag.run(pack, "openai/m", tmp_path / "r", base_url="http://127.0.0.1:9/v1", key_variable="MY_KEY")
    assert "line" not in str(caught.value).replace("line ends", "")
    assert not (tmp_path / "r").exists()


@pytest.mark.parametrize(
    "url",
    [
        "http://[::1",
        "http://host:99999/v1",
        "http://host:port/v1",
        "http://host/v1#part",
        "http://a host/v1",
        "http:///v1",
        "host:8080/v1",
        "http://host/v1/chat/completions/",
    ],
)
def test_an_address_that_is_none_is_refused_before_anything_is_written(pack, tmp_path, url):
    with pytest.raises(UsageError, match="rite it like http"):
        dodiag.run(pack, "openai/m", tmp_path / "r", base_url=url)
    assert not (tmp_path / "r").exists()


@pytest.mark.parametrize(
    ("url", "used"), [(" http://[::1]:80/v1/ ", "http://[::1]:80/v1"), ("http://host//", "http://host")]
)
def test_spaces_and_slashes_around_an_address_do_not_matter(url, used):
    assert checked_base_url(url) == used


def test_proxies_of_the_environment_are_not_used(pack, tmp_path, monkeypatch):
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    with serving(lambda text, _: "7") as served:
        assert dodiag.run(pack, "openai/m", tmp_path / "r", base_url=served.url, **ONE_CALL).complete
