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
    changes = changes_between(table, task, "sim:oracle", "sim:weak")
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


def written(runs, path, name, **columns):
    """Write a run's outcomes with other columns, and return the path."""
    dodiag.outcomes(runs / name).assign(**columns).to_parquet(path)
    return path


def test_the_order_of_a_configuration_does_not_unmatch_its_calls(runs, command, tmp_path):
    turned = [",".join(reversed(text.split(","))) for text in dodiag.outcomes(runs / "weak")["configuration"]]
    table = written(runs, tmp_path / "turned.parquet", "weak", configuration=turned)

    def told(other):
        return next(line for line in command("compare", runs / "strong", other)[1].splitlines() if "by both" in line)

    assert told(table) == told(runs / "weak")


def test_a_run_and_a_csv_match_call_by_call_in_either_order(runs, command, tmp_path):
    dodiag.outcomes(runs / "weak").to_csv(tmp_path / "weak.csv", index=False)
    one = command("compare", runs / "strong", tmp_path / "weak.csv", "--json")
    other = command("compare", tmp_path / "weak.csv", runs / "strong", "--json")
    assert (one[0], other[0]) == (0, 0)
    plain = command("compare", runs / "strong", runs / "weak", "--json")
    assert json.loads(one[1]) == json.loads(plain[1])
    gaps = [
        {(r["unit"], r["metric"], r["prerequisite"], r["contrast"]): r["difference"] for r in json.loads(text[1])}
        for text in (one, other)
    ]
    assert gaps[0].keys() == gaps[1].keys()
    for key, gap in gaps[0].items():
        assert gap == (None if gaps[1][key] is None else pytest.approx(-gaps[1][key]))


def test_changed_calls_are_rows_too(runs, command):
    rows = json.loads(command("compare", runs / "strong", runs / "weak", "--list", "--json")[1])
    lines = command("compare", runs / "strong", runs / "weak", "--list")[1]
    assert len(rows) == lines.count("only A  ") > 0
    assert {row["solved_by"] for row in rows} == {"sim:oracle"}
    assert all(row["step"] is None for row in rows)
    assert f"only A  {rows[0]['instance']}  {rows[0]['unit']}  {rows[0]['question']}  " in lines


def test_calls_that_one_was_not_scored_on_are_missing_not_wrong(runs, command, tmp_path):
    import pandas as pd

    table = dodiag.outcomes(runs / "weak")
    table.loc[:6, "solved"] = pd.NA
    table.loc[:6, "outcome"] = "error"
    table.to_parquet(tmp_path / "holes.parquet")
    out = command("compare", runs / "weak", tmp_path / "holes.parquet")[1]
    assert "7 scored calls of one were not scored for the other; left out." in out
    assert "0 only by A, 0 only by B" in out


def test_steps_of_a_chain_are_told_apart():
    from dodiag.report.comparison_tables import ChangedCall

    calls = [ChangedCall("i", "Z", "q", step, "", 0).text for step in (None, 0, 1)]
    assert calls == ["i  Z  q  –  draw 0", "i  Z step 0  q  –  draw 0", "i  Z step 1  q  –  draw 0"]


def test_an_id_with_control_characters_stays_on_its_line():
    from dodiag.report.comparison_tables import ChangedCall

    assert ChangedCall("i\n\x1b[2J", "Z", "q", None, "", 0).text == "i\\n\\x1b[2J  Z  q  –  draw 0"


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        (("Y", "NC", None, 0.2, 0.05, 0.35), "A is better at Y Their Sum by itself: +0.20 [0.05, 0.35]."),
        (("Y", "RC", None, -0.2, -0.35, 0.01), "B is better at Y Their Sum with incorrect prerequisites: +0.20 [-0.01"),
        (("Y", "N", "X1", -0.3, -0.5, -0.1), "B has the larger N"),
    ],
)
def test_the_sentence_has_the_limits_of_the_row_with_their_signs(runs, fields, sentence):
    from io import StringIO

    from rich.console import Console

    from dodiag.bounds.model_differences import ModelDifference, ModelDifferences
    from dodiag.report.comparison_tables import Changes, comparison_report

    unit, metric, prerequisite, gap, low, high = fields
    contrast = None if prerequisite is None else "1,n"
    row = ModelDifference(
        "a", "b", "sums", unit, metric, prerequisite, contrast, 0.5, 0.5 - gap, gap, low, high, 0.001, 0.01, 9
    )
    task = dodiag.load_task(runs / "p" / "task.yaml")
    out = StringIO()
    report = comparison_report(ModelDifferences([row]), Changes(0, 0, (), (), 0), task, "a\x1b[2J", "[b]", 0.95)
    Console(file=out, width=118).print(report)
    assert sentence in out.getvalue()
    assert "No difference" not in out.getvalue()
    assert "A is a\\x1b[2J, B is [b]" in out.getvalue()


def test_tables_of_other_tasks_are_refused(runs, command, tmp_path):
    table = written(runs, tmp_path / "other.parquet", "weak", task="elsewhere")
    code, out, err = command("compare", runs / "strong", table)
    assert (code, out) == (2, "")
    assert "other tasks, sums and elsewhere" in err


def test_a_run_is_itself_by_any_path(runs, command):
    code, _, err = command("compare", runs / "weak", runs / "strong" / ".." / "weak")
    assert code == 2
    assert "compared with itself" in err
