"""Two runs on the same questions: paired, labelled, refused where they asked other things."""

import json
import sys

import pytest
from packs import sums_pack

import dodiag
from dodiag.cli import main


@pytest.fixture
def command(monkeypatch, capsys):
    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["dodiag", *map(str, arguments)])
        with pytest.raises(SystemExit) as caught:
            main()
        captured = capsys.readouterr()
        return caught.value.code, captured.out, captured.err

    return run


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("compare")
    pack = sums_pack(folder / "p", 40)
    for name, model in (("strong", "sim:oracle"), ("weak", "sim:weak"), ("again", "sim:weak")):
        dodiag.run(pack, model, folder / name)
    dodiag.run(sums_pack(folder / "other", 3), "sim:weak", folder / "elsewhere")
    return folder


def test_the_better_one_is_named_with_its_limits(runs, command):
    code, out, _ = command("compare", runs / "strong", runs / "weak")
    assert code == 0
    assert "A is sim:oracle, B is sim:weak" in out
    assert "A is better at Y Their Sum by itself: +" in out
    assert "B is better" not in out
    both = dodiag.outcomes(runs / "strong").merge(
        dodiag.outcomes(runs / "weak"), on=["instance", "question", "configuration", "draw"]
    )
    only = int(((both["solved_x"] == 1) & (both["solved_y"] == 0)).sum())
    assert f"{only:,} only by A, 0 only by B" in out
    listed = command("compare", runs / "strong", runs / "weak", "--list")[1]
    assert listed.count("only A  ") == only


def test_rows_are_those_of_the_function(runs, command):
    rows = json.loads(command("compare", runs / "strong", runs / "weak", "--json")[1])
    want = {("NC", None), ("IC", None), ("RC", None), ("N", "1,n"), ("S", "1,n")}
    assert want <= {(row["metric"], row["contrast"]) for row in rows}
    capability = dodiag.capabilities(dodiag.outcomes(runs / "weak"), dodiag.load_task(runs / "p" / "task.yaml"))
    (found,) = [row for row in rows if (row["unit"], row["metric"]) == ("Y", "NC")]
    assert found["second_value"] == pytest.approx(capability.where(unit="Y", metric="NC")[0].value)


def test_runs_of_one_model_are_told_apart_by_their_folder(runs, command):
    code, out, _ = command("compare", runs / "weak", runs / "again")
    assert code == 0
    assert f"A is sim:weak ({runs / 'weak'})" in " ".join(out.split())
    assert "No difference between A and B" in out


def test_two_models_of_one_table(runs, command, tmp_path):
    import pandas as pd

    path = tmp_path / "both.parquet"
    pd.concat([dodiag.outcomes(runs / name) for name in ("strong", "weak")]).to_parquet(path)
    task = runs / "p" / "task.yaml"
    plain = command("compare", path, "--task", task, "--json")[1]
    turned = command("compare", path, "--task", task, "--model", "sim:weak", "--model", "sim:oracle", "--json")[1]
    one, other = json.loads(plain)[0], json.loads(turned)[0]
    assert one["difference"] == pytest.approx(-other["difference"])


def test_nothing_is_cut_off_in_a_narrow_terminal(runs):
    from io import StringIO

    import pandas as pd
    from rich.console import Console

    from dodiag.bounds.model_differences import model_differences
    from dodiag.report.comparison_tables import changes_between, comparison_report

    table = pd.concat([dodiag.outcomes(runs / name) for name in ("strong", "weak")])
    task = dodiag.load_task(runs / "p" / "task.yaml")
    found = model_differences(table, task, "sim:oracle", "sim:weak")
    changes = changes_between(table, "sim:oracle", "sim:weak")
    out = StringIO()
    Console(file=out, width=80).print(comparison_report(found, changes, task, "sim:oracle", "sim:weak", 0.95))
    assert "…" not in out.getvalue()
    assert max(map(len, out.getvalue().splitlines())) <= 80


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["weak", "elsewhere"], "packs with other content"),
        (["weak", "weak"], "compared with itself"),
        (["weak"], "two models are compared, not 1"),
        (["weak", "strong", "again"], "3 sources"),
        (["weak", "nowhere"], "does not exist"),
        (["weak", "strong", "--model", "sim:x", "--model", "sim:y"], "no outcome of model 'sim:x'"),
        (["weak", "strong", "--level", "2"], "not a probability"),
    ],
)
def test_a_mistake_is_a_message(runs, command, arguments, message):
    filled = [runs / a if not a.startswith(("--", "sim:", "2")) else a for a in arguments]
    code, _, err = command("compare", *filled)
    assert code == 2
    assert message in err
