"""A real language model behind a real HTTP server: SmolLM2 in llama.cpp, through both adapters."""

import socket
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

import dodiag
from dodiag.api import open_pack

SERVER = Path(__file__).parent.parent.parent / "examples" / "serve_smollm2.py"
PARAMETERS = {"temperature": 0, "max_tokens": 32}


@pytest.fixture(scope="module")
def base_url():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, str(SERVER), "--port", str(port), "--until-stdin-closes"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        url = process.stdout.readline().strip()
        assert url.startswith("http://127.0.0.1:")
        yield url
        process.stdin.close()
        process.wait(30)


def test_both_adapters_give_the_same_scores_on_dice(tmp_path, base_url):
    pack = open_pack("dice_sum")
    tables = {}
    for name in ("openai/smollm2", "litellm:openai/smollm2"):
        out = tmp_path / name.replace("/", "-").replace(":", "-")
        summary = dodiag.run(
            pack,
            name,
            out,
            quick=True,
            limit=3,
            base_url=base_url,
            parameters=PARAMETERS,
            with_media=False,
            concurrency=1,
        )
        assert summary.complete
        assert summary.answered == 3 * 8
        tables[name] = dodiag.outcomes(out)
    first, second = (table.drop(columns="model") for table in tables.values())
    pd.testing.assert_frame_equal(first, second)
    assert (first["outcome"] == "value").any(), "the model answered nothing that can be read"
    scores = [
        [s.to_dict() | {"model": ""} for s in dodiag.contributions(table, pack.task)] for table in tables.values()
    ]
    assert scores[0] == scores[1]


def test_a_server_that_knows_no_pictures_says_so_and_the_run_reports_it(tmp_path, base_url):
    """Sent pictures, llama.cpp without a vision model answers with an error: missing data, never a wrong answer."""
    pack = open_pack("dice_sum")
    summary = dodiag.run(pack, "openai/smollm2", tmp_path / "r", quick=True, limit=1, base_url=base_url, max_retries=0)
    assert (summary.answered, summary.failed) == (0, 8)
    table = dodiag.outcomes(tmp_path / "r")
    assert set(table["outcome"]) == {"error"}
    assert table["solved"].isna().all()
