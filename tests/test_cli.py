"""The command line as a newcomer meets it: what it prints, how it ends, and that no mistake is a traceback."""

import hashlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from packs import SUMS, maze_pack, sums_instance, sums_pack, write_pack
from servers import failure, serving

import dodiag
from dodiag.api import open_pack
from dodiag.cli import main
from dodiag.runners.ledger import Ledger

DODIAG = [sys.executable, "-m", "dodiag"]


def dodiag_command(*arguments, cwd=None, env=None):
    return subprocess.run(
        [*DODIAG, *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=120,
        cwd=cwd,
        env={**os.environ, **(env or {})},
    )


def test_help_shows_the_first_steps_and_the_exit_codes():
    done = dodiag_command("--help")
    assert done.returncode == 0
    for word in (
        "check",
        "plan",
        "draw",
        "generate",
        "run",
        "resume",
        "scores",
        "diagnose",
        "prove",
        "Exit codes",
        "130",
    ):
        assert word in done.stdout


COMMANDS = [
    "check",
    "plan",
    "draw",
    "generate",
    "run",
    "resume",
    "scores",
    "diagnose",
    "rescore",
    "show",
    "compare",
    "prove",
]


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_an_example_in_its_help(command):
    done = dodiag_command(command, "--help")
    assert done.returncode == 0
    assert "Examples:" in done.stdout
    assert f"dodiag {command} " in done.stdout


HEAVY = ("numpy", "pandas", "pgmpy", "networkx", "pydantic", "aiohttp", "litellm")


def test_help_imports_nothing_heavy():
    code = f"""
import sys
from dodiag.cli import main
sys.argv = ["dodiag", "--help"]
try:
    main()
except SystemExit:
    print([name for name in {HEAVY} if name in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


def test_check_reports_all_problems_with_exit_code_2(tmp_path):
    folder = write_pack(tmp_path / "p", SUMS, [sums_instance(0), {**sums_instance(1), "media": ["x.png"]}, "nonsense"])
    done = dodiag_command("check", folder)
    assert done.returncode == 2
    assert done.stdout == ""
    assert "instances.jsonl:2: instance s00001: medium x.png is missing" in done.stderr
    assert "instances.jsonl:3:" in done.stderr
    assert "2 problems" in done.stderr
    as_json = dodiag_command("check", folder, "--json")
    assert as_json.returncode == 2
    assert [set(p) for p in json.loads(as_json.stdout)] == [{"file", "line", "where", "problem", "cure"}] * 2


def test_check_says_what_it_found_when_all_is_well(tmp_path):
    pack = sums_pack(tmp_path / "p", 3)
    done = dodiag_command("check", pack.folder)
    assert (done.returncode, done.stderr) == (0, "")
    assert "no problems, 3 instances, 9 questions" in done.stdout
    assert json.loads(dodiag_command("check", pack.folder, "--json").stdout) == []
    assert dodiag_command("check", "maze").returncode == 0


def test_plan_prints_counts_and_price(tmp_path):
    pack = sums_pack(tmp_path / "p", 10)
    done = dodiag_command("plan", pack.folder, "--price", "1,2")
    assert done.returncode == 0
    for text in ("9 distinct configurations", "paper's count is 15", "110 calls on 10 instances", "per million tokens"):
        assert text in done.stdout
    found = json.loads(dodiag_command("plan", pack.folder, "--quick", "--json").stdout)
    assert (found["nominal_per_instance"], found["distinct_per_instance"], found["calls"]) == (6, 4, 40)
    assert found["plan_hash"] == dodiag.make_plan(pack, quick=True).digest


def test_a_sample_is_planned_as_it_is_run():
    found = json.loads(dodiag_command("plan", "dice_sum", "--json").stdout)
    assert found["calls"] == dodiag.make_plan(open_pack("dice_sum")).call_count
    assert "of the pack" in dodiag_command("plan", "dice_sum").stdout
    graph = json.loads(dodiag_command("plan", "dice_sum", "--instances", 24, "--json").stdout)
    assert (graph["assumed"], graph["instances"]) == (True, 24)
    assert graph["distinct_per_instance"] == found["distinct_per_instance"]
    blind = json.loads(dodiag_command("plan", "dice_sum", "--no-media", "--json").stdout)
    assert blind["calls"] == found["calls"]
    assert blind["input_tokens"] < found["input_tokens"] / 2


def test_the_price_of_a_listed_model_is_taken_from_litellm():
    found = json.loads(dodiag_command("plan", "dice_sum", "--model", "litellm:openai/gpt-4o", "--json").stdout)
    assert (found["assumptions"]["input_price"], found["assumptions"]["output_price"]) == (2.5, 10.0)
    unknown = json.loads(dodiag_command("plan", "dice_sum", "--model", "openai/my-model", "--json").stdout)
    assert unknown["assumptions"]["input_price"] is None


def test_draw_writes_every_format(tmp_path):
    for form, start in (
        ("dot", "digraph"),
        ("mermaid", "flowchart"),
        ("graphml", "<graphml"),
        ("yaml", "schema"),
        ("json", "{"),
    ):
        done = dodiag_command("draw", "map_navigation", "--format", form)
        assert done.returncode == 0
        assert done.stdout.startswith(start)
    assert "X2@4" in dodiag_command("draw", "map_navigation", "--steps", "4").stdout
    target = tmp_path / "g.dot"
    assert dodiag_command("draw", "maze", "--out", target).returncode == 0
    assert target.read_text().startswith("digraph")


def test_run_scores_and_resume_end_to_end(tmp_path):
    pack = sums_pack(tmp_path / "p", 6)
    out = tmp_path / "r"
    done = dodiag_command("run", pack.folder, "--model", "sim:default", "--out", out)
    assert done.returncode == 0, done.stderr
    for text in (
        "Where it fails",
        "Why: what the success of Y hangs on",
        "66 calls answered",
        str(out / "ledger.sqlite"),
    ):
        assert text in done.stdout
    assert {f.name for f in out.iterdir()} >= {"ledger.sqlite", "outcomes.parquet", "scores.csv"}
    again = dodiag_command("resume", out)
    assert again.returncode == 0
    assert "0 calls answered" in again.stdout
    assert "66 from before" in again.stdout
    rows = json.loads(dodiag_command("scores", out, "--json").stdout)
    assert {"NC", "IC", "RC", "N", "S", "PN", "PS", "PNS"} <= {row["metric"] for row in rows}
    wanted = {"model", "task", "unit", "metric", "prerequisite", "contrast", "value", "lower", "upper", "n"}
    assert wanted | {"denominator", "suppressed"} <= set(rows[0])
    for table in (out / "outcomes.parquet", tmp_path / "outcomes.csv"):
        dodiag.outcomes(out).to_csv(tmp_path / "outcomes.csv", index=False)
        from_table = dodiag_command("scores", table, "--task", pack.folder, "--json")
        assert from_table.returncode == 0, from_table.stderr
        assert json.loads(from_table.stdout) == rows


@pytest.mark.parametrize("blind", [False, True])
def test_a_preview_is_what_a_run_sends(tmp_path, blind):
    pack = maze_pack(tmp_path / "m", 2, 3)
    more = ["--no-media"] if blind else []
    done = dodiag_command("preview", pack.folder, "--out", tmp_path / "look", "--limit", "1", *more)
    assert done.returncode == 0, done.stderr
    lines = [json.loads(line) for line in (tmp_path / "look" / "index.jsonl").read_text().splitlines()]
    dodiag.run(pack, lambda request: "A", tmp_path / "r", limit=1, with_media=not blind)
    with Ledger(tmp_path / "r") as ledger:
        for line, row in zip(lines, ledger.calls(), strict=True):
            sent = ledger.reply(row.key)
            assert (line["call"], line["configuration"]) == (row.position, row.configuration)
            assert (tmp_path / "look" / line["prompt"]).read_text() == sent.prompt
            if not blind:
                found = [hashlib.sha256((tmp_path / "look" / p).read_bytes()).hexdigest() for p in line["pictures"]]
                assert found == [digest for _, digest in json.loads(sent.media)]
    if blind:
        assert not (tmp_path / "look" / "pictures").exists()


def test_diagnose_says_what_to_fix_first(tmp_path):
    pack = sums_pack(tmp_path / "p", 40)
    out = tmp_path / "r"
    planned = dodiag_command("run", pack.folder, "--model", "sim:credulous", "--out", out, "--reruns", "1", "--quiet")
    assert planned.returncode == 0, planned.stderr
    done = dodiag_command("diagnose", out)
    assert done.returncode == 0, done.stderr
    assert "What is repaired" in done.stdout
    assert "What is lost" in done.stdout
    assert "by" in done.stdout
    assert "instance ≥" in done.stdout
    rows = json.loads(dodiag_command("diagnose", out, "--contrast", "1,n", "--json").stdout)
    assert {(row["prerequisite"], row["metric"]) for row in rows} == {(u, m) for u in ("X1", "X2") for m in "NS"}
    assert all(row["words"] and row["instance_method"] == "rerun-corrected" for row in rows)
    sentence = dodiag.diagnose(dodiag.outcomes(out), pack.task).headline("sim:credulous")
    assert sentence in " ".join(done.stdout.split())
    once = dodiag_command("diagnose", out, "--deterministic", "--json")
    assert {row["instance_method"] for row in json.loads(once.stdout)} == {"deterministic decoding"}


def test_chains_are_reported_by_step(tmp_path):
    pack = maze_pack(tmp_path / "m", 4, 3)
    done = dodiag_command("run", pack.folder, "--model", "sim:default", "--out", tmp_path / "r")
    assert done.returncode == 0, done.stderr
    assert "NS by step" in done.stdout
    lines = done.stdout.splitlines()
    (place,) = [index for index, line in enumerate(lines) if re.match(r" Y +1 ", line)]
    assert len(re.findall(r"[01]\.\d\d \[[01]\.\d\d,\xa0[01]\.\d\d\]", lines[place])) == 4, "NS with its limits"
    assert len(re.findall(r"\[[01]\.\d\d, [01]\.\d\d\]", lines[place + 1])) == 4, "below it the interval of PNS"
    assert "…" not in "".join(lines[place - 3 :]), "nothing is cut off"
    diagnosed = dodiag_command("diagnose", tmp_path / "r")
    assert "Along the chain" in diagnosed.stdout, diagnosed.stderr
    assert re.search(r"Y step 1 .* not enough data", diagnosed.stdout)


def test_an_incomplete_run_ends_with_code_3_and_says_how_to_go_on(tmp_path):
    pack = sums_pack(tmp_path / "p", 2)
    with serving(lambda text, _: failure(400) if "box 1?" in text else "3") as served:
        done = dodiag_command(
            "run", pack.folder, "--model", "openai/m", "--base-url", served.url, "--out", tmp_path / "r", "--quiet"
        )
    assert done.returncode == 3
    assert f"Continue with: dodiag resume {tmp_path / 'r'}" in done.stderr
    assert "no reply (missing)" in done.stdout
    scores = dodiag_command("scores", tmp_path / "r", "--json")
    assert "the run is incomplete: 15 of 22 calls are answered" in scores.stderr
    json.loads(scores.stdout)


MISTAKES = [
    (["run", "nowhere"], "neither a file nor a shipped task"),
    (["run", "PACK", "--model", "gpt"], "is not a model name"),
    (["run", "PACK", "--model", "sim:defualt"], "default"),
    (["run", "PACK", "--concurrency", "0"], "at least 1"),
    (["run", "PACK", "--max-retries", "-1"], "0 or more"),
    (["run", "PACK", "--unit", "X7"], "no unit 'X7'"),
    (["run", "PACK", "--instance", "zz"], "no instance 'zz'"),
    (["run", "PACK", "--contrast", "1,1"], "compares a state with itself"),
    (["run", "PACK", "--state", "2"], "is not a state"),
    (["run", "PACK", "--context", "X1"], "has no state"),
    (["run", "PACK", "--history", "some"], "full or last"),
    (["run", "PACK", "--draws", "0"], "at least one"),
    (["run", "PACK", "--limit", "0"], "at least one"),
    (["run", "PACK", "--param", "x"], "has no value"),
    (["run", "PACK", "--param", "api_key=1"], "looks like a secret"),
    (["run", "PACK", "--price", "1"], "is not two prices"),
    (["run", "PACK", "--model", "openai/m", "--base-url", "localhost"], "not an http(s) URL"),
    (["run", "PACK", "--model", "openai/m", "--api-key-env", "NO_SUCH_KEY"], "NO_SUCH_KEY is not set"),
    (["run", "PACK", "--model", "replay:nowhere"], "not a run directory"),
    (["run", "PACK", "--out", "/proc/none/x"], "cannot be written"),
    (["resume", "nowhere"], "not a run directory"),
    (["scores", "nowhere"], "does not exist"),
    (["scores", "PACK"], "not a run directory"),
    (["scores", "PACK/task.yaml"], "is not a table"),
    (["diagnose", "nowhere"], "does not exist"),
    (["diagnose", "PACK"], "not a run directory"),
    (["run", "PACK", "--reruns", "-1"], "-1 reruns are asked for"),
    (["prove", "A.99"], "A.99"),
    (["preview", "nowhere", "--out", "x"], "nowhere"),
    (["preview", "PACK", "--out", "PACK"], "is not empty"),
    (["check", "p" * 300], "File name too long"),
    (["scores", "p" * 300], "File name too long"),
    (["resume", "p" * 300], "File name too long"),
    (["run", "maze"], "dodiag generate maze --out packs/maze"),
    (["preview", "maze", "--out", "x"], "has no sample pack"),
    (["plan", "nowhere"], "neither a file nor a shipped task"),
    (["draw", "maze", "--format", "svg"], "Use one of yaml, json, dot"),
    (["draw", "map_navigation", "--steps", "0"], "cannot unfold 0"),
    (["draw", "maze", "--out", "/proc/x"], "cannot be written"),
    (["generate", "dice_som", "--out", "x"], "dice_sum"),
    (["generate", "dice_sum", "--instances", "0", "--out", "x"], "cannot generate 0 instances"),
    (["check"], "Missing argument"),
    (["nonsense"], "No such command"),
    (["run", "PACK", "--concurrency", "many"], "valid integer"),
]


@pytest.mark.parametrize(("arguments", "message"), MISTAKES, ids=[" ".join(a) for a, _ in MISTAKES])
def test_a_mistake_is_a_message_and_code_2_and_leaves_nothing_behind(tmp_path, monkeypatch, capsys, arguments, message):
    pack = sums_pack(tmp_path / "PACK", 2)
    work = tmp_path / "work"
    work.mkdir()
    filled = [a.replace("PACK", str(pack.folder)) for a in arguments]
    monkeypatch.chdir(work)
    monkeypatch.setattr(sys, "argv", ["dodiag", *filled])
    with pytest.raises(SystemExit) as caught:
        main()
    assert caught.value.code == 2
    assert message in capsys.readouterr().err
    assert list(work.rglob("*")) == []


def test_reading_and_planning_33931_questions(tmp_path):
    """The size of the whole of CADET: counted here, measured in perf/."""
    per_instance = 30

    def instances():
        for index in range(1131):
            questions = [
                {"id": f"x{q}", "unit": "X1", "text": f"Which number is in box {q} of {index}?", "answer": q % 20}
                for q in range(per_instance - 2)
            ]
            tail = sums_instance(index)["questions"][1:]
            yield {"id": f"i{index}", "questions": [*questions, *tail]}
        yield {"id": "last", "questions": sums_instance(0)["questions"][:1]}

    folder = write_pack(tmp_path / "p", SUMS, instances())
    found = json.loads(dodiag_command("plan", folder, "--json").stdout)
    assert sum(found["calls_per_unit"].values()) == found["calls"] == 1131 * (28 + 1 + 9) + 1
    assert dodiag.load_pack(folder).question_count == 33_931


def test_version():
    assert dodiag_command("--version").stdout.strip() == dodiag.__version__


def test_module_runs_from_any_place(tmp_path):
    assert dodiag_command("check", "dice_sum", cwd=tmp_path).returncode == 0
    assert not list(Path(tmp_path).iterdir())
