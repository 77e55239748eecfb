"""The HTML report says what the tables say, shows calls that are what they are said to be, and obeys nobody's text."""

from __future__ import annotations

import re

import hypothesis.strategies as st
import pandas as pd
import pytest
from hypothesis import given, settings
from packs import maze_pack, sums_pack
from pages import Page

import dodiag
from dodiag.bounds.diagnosis import diagnose
from dodiag.bounds.scores import capabilities
from dodiag.cli import main
from dodiag.report.page.examples import Example, Pair, Reply, repaired_pairs
from dodiag.report.page.graph_picture import BOX, HEIGHT, layout_of
from dodiag.report.page.marks import MARGIN, WIDTH, place
from dodiag.report.page.report_page import report_page
from dodiag.testing import outcome_tables, task_graphs
from dodiag.vocabulary import Configuration, Contrast


def page_of_table(table, task, **options):
    return report_page(table, task, capabilities(table, task), diagnose(table, task), **options)


def run_command(monkeypatch, *arguments):
    monkeypatch.setattr("sys.argv", ["dodiag", *map(str, arguments)])
    with pytest.raises(SystemExit) as caught:
        main()
    return caught.value.code or 0


@pytest.fixture(scope="module")
def sums_run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("page")
    pack = sums_pack(folder / "p", 60)
    dodiag.run(pack, "sim:weak", folder / "r")
    return pack, folder / "r"


def test_every_number_of_the_tables_is_on_the_page(sums_run):
    pack, run = sums_run
    table = dodiag.outcomes(run)
    page = Page(page_of_table(table, pack.task))
    for score in capabilities(table, pack.task):
        assert f"{score.value:.2f} [{score.lower:.2f}, {score.upper:.2f}]" in page.text
    found = diagnose(table, pack.task)
    assert found.headline("sim:weak") in page.text
    for finding in found:
        score, bounded = finding.score, finding.bounded
        limits = "" if score.limit_lower is None else f" [{score.limit_lower:.2f}, {score.limit_upper:.2f}]"
        assert f"{score.value:.2f}{limits}" in page.text.replace("\u00a0", " ")
        if bounded.lower is not None:
            assert f"[{bounded.lower:.2f}, {bounded.upper:.2f}]" in page.text
        assert finding.words in page.text


def test_the_same_table_gives_the_same_page_and_needs_nothing_else(sums_run):
    pack, run = sums_run
    table = dodiag.outcomes(run)
    text = page_of_table(table, pack.task)
    assert text == page_of_table(table, pack.task)
    page = Page(text)
    assert not {"script", "link", "iframe", "object"} & set(page.tags)
    assert not [value for name, value in page.attributes if name in ("src", "href") and not value.startswith("data:")]


@settings(max_examples=15, deadline=None)
@given(st.data())
def test_any_table_of_any_task_has_a_page(data):
    task = data.draw(task_graphs(max_units=5))
    table = data.draw(outcome_tables(task, models=st.integers(1, 2), unscored=True))
    page = Page(page_of_table(table, task))
    for model in table["model"].unique():
        assert str(model) in page.text


@settings(max_examples=60, deadline=None)
@given(task_graphs(max_units=8))
def test_units_stand_apart_and_edges_run_to_the_right(task):
    layout = layout_of(task)
    for parent, child in task.graph.edges:
        assert layout.places[parent][0] + BOX < layout.places[child][0] + BOX / 2
    centres = [layout.places[unit] for unit in task.units]
    for index, (x, y) in enumerate(centres):
        assert BOX / 2 <= x <= layout.width - BOX / 2
        assert HEIGHT / 2 <= y <= layout.height - HEIGHT / 2
        assert all(abs(x - a) >= BOX or abs(y - b) >= HEIGHT for a, b in centres[index + 1 :])


def test_what_a_task_or_a_model_writes_is_text(sums_run):
    pack, run = sums_run
    table = dodiag.outcomes(run)
    hostile = "</pre></style><script>alert(1)</script><img src=x onerror=alert(1)>\x1b[2J\u202e\ud800&amp;"
    none = Configuration.parse("X1=n,X2=n")
    pair = Pair("sim:weak", "X1", hostile, hostile, 0, none, none)
    example = Example(pair, hostile, hostile, (Reply(none, hostile, hostile, False),), ("image/png", b"x"))
    text = page_of_table(table, pack.task, notices=[hostile], facts={hostile: hostile}, examples=[example])
    page = Page(text)
    assert {"script"} & set(page.tags) == set()
    assert page.tags.count("img") == 1
    assert not [name for name, _ in page.attributes if name.startswith("on")]
    assert "\x1b" not in text
    assert "\u202e" not in text
    text.encode("utf-8")
    assert page.text.count("alert(1)") >= 7


def test_the_scale_runs_from_0_to_1():
    assert [place(0), place(1)] == [MARGIN, WIDTH - MARGIN]


def test_marks_stand_where_their_numbers_are(sums_run):
    pack, run = sums_run
    table = dodiag.outcomes(run)
    text = page_of_table(table, pack.task)
    for finding in diagnose(table, pack.task):
        assert f'cx="{place(finding.score.value):g}"' in text
        if finding.bounded.lower is not None:
            assert f'<rect x="{place(finding.bounded.lower):g}"' in text


def test_examples_were_failed_before_and_solved_after(sums_run):
    pack, run = sums_run
    table = dodiag.outcomes(run)
    pairs = list(repaired_pairs(table, pack.task, Contrast.parse("1,n"), of_each=3))
    assert {pair.prerequisite for pair in pairs} == {"X1", "X2"}
    solved = table.set_index(["instance", "question", "draw", "configuration"])["solved"]
    for pair in pairs:
        assert solved[pair.instance, pair.question, pair.draw, pair.before.text] == 0
        assert solved[pair.instance, pair.question, pair.draw, pair.after.text] == 1
        assert dict(pair.after.items)[pair.prerequisite].value == "1"


def test_the_command_writes_a_page_with_calls(sums_run, monkeypatch, capsys, tmp_path):
    _, run = sums_run
    assert run_command(monkeypatch, "report", run, "--examples", 2, "--out", tmp_path / "page.html") == 0
    page = Page((tmp_path / "page.html").read_text(encoding="utf-8"))
    assert "Calls that show it" in page.text
    assert page.text.count("read as") % 4 == 0
    assert "sim:weak is a simulator" in page.text
    assert re.search(r"plan \(hash\) [0-9a-f]{16}", page.text)
    assert f"wrote {tmp_path / 'page.html'}" in capsys.readouterr().out


def test_the_command_says_what_is_missing(sums_run, monkeypatch, capsys, tmp_path):
    pack, run = sums_run
    table = tmp_path / "table.csv"
    dodiag.outcomes(run).to_csv(table, index=False)
    task = pack.folder / "task.yaml"
    for arguments, said in (
        (["report", table, "--task", task], "--out"),
        (["report", run, "--examples", -1], "0 or more"),
        (["report", run, "--out", tmp_path / "no" / "page.html"], "cannot be written"),
        (["report", run, "--pack", tmp_path / "nowhere"], "nowhere"),
    ):
        assert run_command(monkeypatch, *arguments) == 2, arguments
        assert said in capsys.readouterr().err
    two = pd.read_csv(table)
    two = pd.concat([two.assign(task="maze"), two.assign(task="dice_sum")])
    two.to_csv(table, index=False)
    assert run_command(monkeypatch, "report", table, "--out", tmp_path / "page.html") == 2
    assert "maze, dice_sum" in capsys.readouterr().err


def test_a_table_alone_has_a_page(sums_run, monkeypatch, tmp_path):
    pack, run = sums_run
    table, page = tmp_path / "table.csv", tmp_path / "page.html"
    dodiag.outcomes(run).to_csv(table, index=False)
    assert run_command(monkeypatch, "report", table, "--task", pack.folder / "task.yaml", "--out", page) == 0
    assert "Calls that show it" not in Page(page.read_text(encoding="utf-8")).text


def test_an_unfinished_run_says_so_on_its_page(monkeypatch, capsys, tmp_path):
    sums_pack(tmp_path / "p", 8)
    run = tmp_path / "r"
    assert run_command(monkeypatch, "run", tmp_path / "p", "--out", run, "--max-calls", 20, "--quiet") == 3
    page = Page((run / "report.html").read_text(encoding="utf-8"))
    assert "The run is incomplete" in page.text
    capsys.readouterr()


def test_a_chain_has_its_steps_and_pictures_come_with_the_calls(monkeypatch, capsys, tmp_path):
    maze_pack(tmp_path / "p", 6)
    assert run_command(monkeypatch, "run", tmp_path / "p", "--out", tmp_path / "r", "--quiet") == 0
    page = Page((tmp_path / "r" / "report.html").read_text(encoding="utf-8"))
    assert "Along the chain" in page.text
    assert run_command(monkeypatch, "run", "dice_sum", "--quick", "--out", tmp_path / "d") == 0
    page = Page((tmp_path / "d" / "report.html").read_text(encoding="utf-8"))
    assert "img" in page.tags
    assert "the model was not shown the picture" in page.text
    capsys.readouterr()
