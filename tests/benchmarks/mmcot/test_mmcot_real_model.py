"""The text-only control with a real language model behind a real server, from the sample to figures."""

import socket
import subprocess
import sys
from pathlib import Path

import pytest

import dodiag
from dodiag.benchmarks.mmcot.loader import load_set
from dodiag.benchmarks.mmcot.packs import export_set
from dodiag.benchmarks.mmcot.sample_files import write_samples
from dodiag.evaluations.mmcot_axes import axes_of_run
from dodiag.evaluations.mmcot_runs import mmcot_outcomes, score_run
from dodiag.scm.pack import load_pack

SERVER = Path(__file__).parents[3] / "examples" / "serve_smollm2.py"


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


@pytest.mark.parametrize("kind", ["images", "videos"])
def test_the_text_only_control_runs_end_to_end(tmp_path, base_url, kind):
    write_samples(tmp_path / "sample")
    export_set(load_set(tmp_path / "sample" / f"{kind}.json"), tmp_path / "pack")
    pack = load_pack(tmp_path / "pack")
    assert (pack.task.modality, pack.media_kinds) == ("text", {})
    summary = dodiag.run(
        pack,
        "openai/smollm2",
        tmp_path / "run",
        states=["n"],
        contrasts=[],
        target_only=True,
        limit=1,
        base_url=base_url,
        parameters={"temperature": 0, "max_tokens": 24},
        concurrency=1,
    )
    assert (summary.complete, summary.answered) == (True, 1)
    found = score_run(tmp_path / "run")
    assert (found.strict.total, found.strict.failed) == (1, 0)
    table = mmcot_outcomes(tmp_path / "run", "lenient")
    assert set(table["outcome"]) == {"truncated"}, "24 tokens are too few for an answer"
    if kind == "images":
        assert sum(axes_of_run(tmp_path / "run").taken.values()) == 6
