"""The packs that come with the package are what their makers make today, and run by name from end to end."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import dodiag
from dodiag.benchmarks.samples import sample_packs
from dodiag.cli import main

MAKERS = {
    "ccrv": [["ccrv", "dice", "--view", "items", "--out", "pack"]],
    "mmcot": [
        ["mmcot", "samples", "--out", "set"],
        ["mmcot", "export", "set/images.json", "--media", "set", "--out", "pack"],
    ],
}


def run_command(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    monkeypatch.setattr("sys.argv", ["dodiag", *arguments])
    with pytest.raises(SystemExit) as caught:
        main()
    return int(caught.value.code or 0)


def test_three_packs_come_with_the_package() -> None:
    assert set(sample_packs()) == {"ccrv", "dice_sum", "mmcot"}


@pytest.mark.parametrize("name", MAKERS)
def test_a_sample_is_the_beginning_of_what_its_maker_makes(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for arguments in MAKERS[name]:
        assert run_command(monkeypatch, *arguments) == 0
    sample, made = sample_packs()[name], tmp_path / "pack"
    lines = (sample / "instances.jsonl").read_text(encoding="utf-8").splitlines()
    assert 2 <= len(lines) <= 3
    assert (made / "instances.jsonl").read_text(encoding="utf-8").splitlines()[: len(lines)] == lines
    assert (made / "task.yaml").read_bytes() == (sample / "task.yaml").read_bytes()
    media = [medium for line in lines for medium in json.loads(line)["media"]]
    assert media
    for medium in media:
        assert (made / medium).read_bytes() == (sample / medium).read_bytes()


@pytest.mark.parametrize("name", MAKERS)
def test_a_sample_runs_by_its_name_and_is_scored_by_its_benchmark(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "run"
    assert run_command(monkeypatch, "run", name, "--model", "sim:default", "--quick", "--out", str(out), "--quiet") == 0
    assert run_command(monkeypatch, name, "score", str(out)) == 0
    said = capsys.readouterr().out
    assert {"ccrv": "DCR", "mmcot": "Multi"}[name] in said
    assert dodiag.outcomes(out)["solved"].notna().all() or name == "mmcot"
