"""The overview says the same on page, terminal and as JSON; refuses what would mix; and obeys nobody's text."""

from __future__ import annotations

import json
from io import StringIO

import hypothesis.strategies as st
import pandas as pd
import pytest
from hypothesis import given, settings
from packs import maze_pack, sums_pack
from pages import Page
from rich.console import Console

import dodiag
from dodiag.bounds.aggregates import Placed
from dodiag.bounds.diagnosis import Verdict, diagnose
from dodiag.cli import main
from dodiag.report.overview import _MOST_TELLING, overview
from dodiag.report.overview_tables import overview_report
from dodiag.report.page import figures_budget as budget
from dodiag.report.page import figures_heat as heat
from dodiag.report.page import figures_quadrants as quadrants
from dodiag.report.page.markup import html
from dodiag.report.page.overview_page import overview_page
from dodiag.testing import outcome_tables, task_graphs

SECTIONS = ["models", "budget", "resilience", "fix", "scores", "quadrants", "categories", "agreement", "steps", "how"]
HOSTILE = "</td></style><script>alert(1)</script><img src=x onerror=alert(1)>\x1b[2J\u202e[bold]&amp;"


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Runs of three models on a task with k = 2 and on a chain, and one with the ablation states."""
    folder = tmp_path_factory.mktemp("overview")
    sums, maze = sums_pack(folder / "sums", 14), maze_pack(folder / "maze", 4)
    for model in ("weak", "credulous", "default"):
        dodiag.run(sums, f"sim:{model}", folder / f"sums-{model}")
    for model in ("weak", "credulous"):
        dodiag.run(maze, f"sim:{model}", folder / f"maze-{model}")
    dodiag.run(sums, "sim:scaffolded", folder / "sums-ablation", states=["1", "0", "n", "t", "q"])
    return folder


@pytest.fixture
def command(monkeypatch, capsys):
    def run(*arguments):
        monkeypatch.setattr("sys.argv", ["dodiag", "overview", *map(str, arguments)])
        with pytest.raises(SystemExit) as caught:
            main()
        captured = capsys.readouterr()
        return caught.value.code or 0, captured.out, captured.err

    return run


def all_runs(runs):
    return [runs / f"{task}-{model}" for model in ("weak", "credulous") for task in ("sums", "maze")]


def sections(page):
    return [name for name in page.ids if name in (*SECTIONS, "groups", "ablations")]


def told(value, signed=False):
    if value is None:
        return None
    text = f"{value:+.2f}" if signed else f"{value:.2f}"
    return "0.00" if text in ("-0.00", "+0.00") else text


def bounded(value, lower, upper, signed=False):
    if value is None:
        return "–"
    limits = "" if lower is None else f" [{told(lower, signed)}, {told(upper, signed)}]"
    return told(value, signed) + limits


def average(found, signed=False):
    if found is None or found["value"] is None:
        return "–"
    spread = f"over {found['count']:,}" if found["sd"] is None else f"± {found['sd']:.2f} over {found['count']:,}"
    return f"{bounded(found['value'], found['lower'], found['upper'], signed)} {spread}"


def test_every_number_of_the_json_is_on_the_page(runs, command, tmp_path):
    file = tmp_path / "page.html"
    sources = [*all_runs(runs), runs / "sums-ablation"]
    code, out, _ = command(*sources, "--group", "some=sim:weak,sim:credulous", "--json", "--out", file)
    assert code == 0
    found = json.loads(out)
    page = Page(file.read_text(encoding="utf-8").replace("\u00a0", " "))
    rows = [[" ".join(cell.split()) for cell in row] for row in page.rows]

    def on_the_page(*cells):
        """Whether one row of one table has all of these cells, each as it is or within another."""
        return any(all(any(str(cell) in own for own in row) for cell in cells) for row in rows)

    assert found["capabilities"]
    for row in found["capabilities"]:
        model, category = row["model"] or "mean of models", (row["category"] or "all").capitalize()
        shares = [average(row[name]) for name in ("nc", "ic", "rc", "residual")]
        gaps = [average(row[name], signed=True) for name in ("cascading", "resilience")]
        share = "–" if row["cascading_share"] is None else f"{row['cascading_share']:.0%}"
        assert on_the_page(model, category, row["units"], *shares, *gaps, share), row
    assert found["ablations"]
    for row in found["ablations"]:
        category = (row["category"] or "all").capitalize()
        for gap, rate in (("text_gap", "text"), ("question_gain", "question")):
            cells = (average(row[gap], signed=True), average(row[rate]))
            assert on_the_page(category, row["model"] or "mean of models", *cells), row
    assert found["contributions"]
    for row in found["contributions"]:
        star = "*" if row["suppressed"] else ""
        value = bounded(row["value"], row["limit_lower"], row["limit_upper"]) + star
        bound = "–" if row["bound_lower"] is None else f"[{told(row['bound_lower'])}, {told(row['bound_upper'])}]"
        p = "–" if row["p_adjusted"] is None else "<0.001" if row["p_adjusted"] < 0.001 else f"{row['p_adjusted']:.3f}"
        cells = (value, bound, told(row["denominator"]) or "–", p, row["n"], row["missing"], row["words"])
        assert on_the_page(row["metric"], row["prerequisite"], row["model"], *cells), row
    for row in found["contribution_means"]:
        assert on_the_page(row["metric"], row["prerequisite"], "mean of models", average(row["average"])[:4])
    for row in found["quadrants"]:
        assert on_the_page(row["prerequisite"], told(row["n"]) or "–", told(row["s"]) or "–", row["quadrant"] or "–")
    for row in found["by_group"] + found["by_category"]:
        mean = row["average"]
        cells = (told(mean["value"]), told(mean["sd"]) or "–", mean["count"], row["suppressed"])
        assert on_the_page(row["group"] or row["category"].capitalize(), row["metric"], *cells), row
    for row in found["agreement"]:
        assert on_the_page(row["metric"], told(row["rho"]) or "–", row["count"]), row
    for row in found["agreement_means"]:
        assert f"mean {told(row['value'])}" in page.text
    assert found["chain_steps"]
    for row in found["chain_steps"]:
        value = bounded(row["value"], row["limit_lower"], row["limit_upper"])
        assert on_the_page(row["model"], row["step_label"], value, row["n"], row["instances"]), row
    for row in found["to_fix"]:
        assert on_the_page(row["words"], bounded(row["value"], row["limit_lower"], row["limit_upper"]), row["n"])
        assert row["sentence"] in [value for name, value in page.attributes if name == "title"]
    for row in found["extents"]:
        assert on_the_page(row["model"], f"{row['calls']:,}", row["instances"], row["missing"], row["unusable"])
    for row in found["sources"]:
        assert on_the_page(*row.values())


def test_sections_are_there_where_there_are_data(runs, command, tmp_path):
    def page_of(*arguments):
        file = tmp_path / "page.html"
        code, out, _ = command(*arguments, "--out", file)
        assert code == 0
        return Page(file.read_text(encoding="utf-8")), out

    whole, _ = page_of(*all_runs(runs))
    assert sections(whole) == [name for name in SECTIONS if name != "agreement"]
    ablation, _ = page_of(runs / "sums-ablation", runs / "sums-weak", "--group", "a=sim:weak")
    assert {"ablations", "groups"} <= set(sections(ablation))
    one, out = page_of(runs / "sums-weak")
    assert sections(one) == ["models", "budget", "resilience", "fix", "scores", "quadrants", "categories", "how"]
    assert "mean of models" not in one.text + out
    chain, out = page_of(runs / "maze-weak")
    assert sections(chain) == ["models", "budget", "resilience", "steps", "how"]
    assert "along the chain" in out
    contrast, _ = page_of(runs / "sums-weak", "--contrast", "1,0")
    assert "fix" not in sections(contrast)
    assert "Contrast (1, 0)" in contrast.text
    assert "Contrast (1, ∅)" not in contrast.text


def test_a_page_needs_nothing_else_and_is_the_same_again(runs, command, tmp_path):
    texts = []
    for name in ("one.html", "two.html"):
        assert command(runs / "sums-weak", runs / "maze-weak", "--out", tmp_path / name)[0] == 0
        texts.append((tmp_path / name).read_text(encoding="utf-8"))
    assert texts[0] == texts[1]
    page = Page(texts[0])
    assert not {"script", "link", "iframe", "object", "img"} & set(page.tags)
    links = [value for name, value in page.attributes if name in ("src", "href")]
    assert set(links) == {f"#{name}" for name in sections(page)}


def test_what_to_fix_is_what_the_diagnosis_says(runs):
    table = pd.concat([dodiag.outcomes(runs / f"sums-{model}") for model in ("weak", "credulous", "default")])
    task = dodiag.load_task(runs / "sums")
    found = overview(table, [task])
    diagnosis = diagnose(table, task)
    assert [row.model for row in found.to_fix] == ["sim:weak", "sim:credulous", "sim:default"]
    for row in found.to_fix:
        repairs = diagnosis.where(model=row.model, metric="S", contrast="1,n")
        assert row.sentence == diagnosis.headline(row.model)
        assert row.prerequisites == tuple(f.prerequisite for f in repairs if f.verdict is row.verdict)
        named = [f.score for f in repairs if f.verdict is row.verdict]
        assert row.best in named
        assert row.best.value == max(score.value for score in named)


def test_every_verdict_has_its_place():
    assert sorted(_MOST_TELLING) == sorted(Verdict)


def test_tables_and_runs_in_any_order_give_the_same_numbers(runs, command, tmp_path):
    tables = []
    for source in all_runs(runs):
        table = dodiag.outcomes(source)
        turned = [",".join(reversed(text.split(","))) for text in table["configuration"]]
        tables.append(tmp_path / f"{source.name}.csv")
        table.assign(configuration=turned).iloc[::-1].to_csv(tables[-1], index=False)
    options = ("--json", "--task", runs / "sums" / "task.yaml", "--task", runs / "maze" / "task.yaml")

    def rows(*sources):
        code, out, _ = command(*sources, *options)
        assert code == 0
        found = json.loads(out)
        kept = {name: found[name] for name in ("capabilities", "contributions", "contribution_means", "chain_steps")}
        return sorted(json.dumps(rounded(row), sort_keys=True) for part in kept.values() for row in part)

    want = rows(*all_runs(runs))
    assert rows(*tables) == want
    assert rows(*reversed(tables[:2]), *all_runs(runs)[2:]) == want


def rounded(value):
    if isinstance(value, dict):
        return {name: rounded(part) for name, part in value.items()}
    return round(value, 9) + 0.0 if isinstance(value, float) else value


def test_the_same_call_in_two_sources_is_refused(runs, command, tmp_path):
    table = dodiag.outcomes(runs / "sums-weak")
    turned = [",".join(reversed(text.split(","))) for text in table["configuration"]]
    copy = tmp_path / "copy.csv"
    table.assign(configuration=turned)[table["configuration"] == "X1=1,X2=n"].to_csv(copy, index=False)
    code, out, err = command(runs / "sums-default", runs / "sums-weak", copy)
    assert (code, out) == (2, "")
    assert f"{runs / 'sums-weak'} and {copy} have the same call (sim:weak, sums, instance " in err
    table.assign(model="another").to_csv(copy, index=False)
    assert command(runs / "sums-weak", copy, "--task", runs / "sums" / "task.yaml")[0] == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["sums-weak", "maze-weak/../sums-weak"], "are the same"),
        (["sums-weak", "nowhere"], "does not exist"),
        (["sums-weak", "--group", "few"], "'few' is no group"),
        (["sums-weak", "--group", "few=sim:week"], "'sim:week', which has no outcome. Did you mean 'sim:weak'?"),
        (["sums-weak", "--group", "few=sim:weak", "--group", "few=sim:weak"], "'few' is given twice"),
        (["sums-weak", "--group", "a=sim:weak", "--group", "b=sim:weak"], "in the groups 'a' and 'b'"),
        (["sums-weak", "--group", "a=sim:weak,sim:weak"], "in group 'a' twice"),
        (["sums-weak", "--contrast", "1,1"], "compares a state with itself"),
        (["sums-weak", "--level", "2"], "not a probability"),
        (["sums-weak", "--min-denominator", "-1"], "not a probability"),
        (["sums-weak", "--task", "dice_sum"], "no source has an outcome of task dice_sum"),
        (["sums-weak", "--out", "no/such/folder.html"], "cannot be written"),
    ],
)
def test_a_mistake_is_a_message(runs, command, arguments, message):
    place = {"sums-weak", "maze-weak/../sums-weak", "nowhere"}
    code, _, err = command(*(runs / text if text in place else text for text in arguments))
    assert code == 2
    assert message in err


def test_two_graphs_of_one_name_are_refused(runs, command, tmp_path):
    text = (runs / "sums" / "task.yaml").read_text(encoding="utf-8")
    other = tmp_path / "other.yaml"
    other.write_text(text.replace("parents: [X1, X2]", "parents: [X2, X1]"), encoding="utf-8")
    code, _, err = command(runs / "sums-weak", "--task", other)
    assert code == 2
    assert f"{other} and {runs / 'sums-weak'} have different task graphs named sums (see units)" in err


def test_one_model_asked_in_two_ways_is_refused(runs, command, tmp_path):
    def answer(request):
        return "1"

    for name, change in (("a", {}), ("b", {"parameters": {"temperature": 0.5}})):
        pack = dodiag.load_pack(runs / "sums")
        dodiag.run(pack, answer, tmp_path / name, quick=True, instances=[f"s0000{len(change)}"], **change)
    code, _, err = command(tmp_path / "a", tmp_path / "b")
    assert code == 2
    assert "with different parameters" in err


def test_an_unfinished_run_is_named(runs, command, monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(
        "sys.argv", ["dodiag", "run", str(runs / "sums"), "--out", str(tmp_path / "r"), "--max-calls", "20", "--quiet"]
    )
    with pytest.raises(SystemExit):
        main()
    capsys.readouterr()
    code, out, err = command(tmp_path / "r", runs / "sums-weak", "--out", tmp_path / "page.html")
    assert code == 0
    assert f"{tmp_path / 'r'} is incomplete: 20 of " in err
    text = Page((tmp_path / "page.html").read_text(encoding="utf-8")).text
    assert "is incomplete: 20 of " in text
    assert "Sums: the models were not asked about the same instances" in text
    assert "Simulators" in out


def test_what_others_wrote_is_text(runs):
    table = pd.concat([dodiag.outcomes(runs / f"sums-{model}") for model in ("weak", "default")])
    table["model"] = table["model"].replace({"sim:weak": HOSTILE, "sim:default": "[red]m"})
    task = dodiag.load_task(runs / "sums")
    found = overview(table, [task], groups={HOSTILE + "x": [HOSTILE]})
    text = overview_page(found, notices=[HOSTILE])
    page = Page(text)
    assert not {"script", "img"} & set(page.tags)
    assert not [name for name, _ in page.attributes if name.startswith("on")]
    assert page.text.count("alert(1)") > 8
    out = StringIO()
    Console(file=out, width=118, force_terminal=True).print(overview_report(found, [HOSTILE]))
    for shown in (text, out.getvalue()):
        assert "\x1b[2J" not in shown
        assert "\u202e" not in shown
    assert out.getvalue().count("[red]m") > 8


@settings(max_examples=8)
@given(st.data())
def test_any_table_of_any_task_has_an_overview(data):
    task = data.draw(task_graphs(max_units=4))
    table = data.draw(outcome_tables(task, models=st.integers(1, 3), unscored=True, absent=True))
    found = overview(table, [task])
    page = Page(overview_page(found))
    json.dumps(found.to_dict(), allow_nan=False)
    out = StringIO()
    Console(file=out, width=118).print(overview_report(found))
    for model in table["model"].unique():
        assert str(model) in page.text


@pytest.mark.parametrize("ground", [0, 1])
@pytest.mark.parametrize("scale", heat.SCALES)
def test_every_shade_is_readable_and_says_more_by_going_further(scale, ground):
    light = []
    for step in range(heat.STEPS + 1):
        back = heat.colour_at(scale, step / heat.STEPS, ground)
        light.append(heat.luminance(back))
        ink = 0.0 if heat.ink_on(back) == "#000" else 1.0
        high, low = max(light[-1], ink) + 0.05, min(light[-1], ink) + 0.05
        assert high / low >= 4.5
    assert light == sorted(light, reverse=ground == 0)


def test_shades_go_with_values():
    assert [heat.shade("S", value) for value in (0.0, 0.5, 1.0)] == ["S0", "S10", "S20"]
    assert [heat.shade("plus", value) for value in (-1.0, -0.3, 0.3)] == ["minus20", "minus6", "plus6"]


@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1), st.booleans()), min_size=1, max_size=33))
@settings(max_examples=40)
def test_points_and_labels_stay_in_the_figure(points):
    placed = [Placed(None, "t", f"X{i}", "1,n", n, s, None, top) for i, (n, s, top) in enumerate(points)]
    plane = quadrants.Plane.of(placed)
    assert all(value <= plane.most for n, s, _ in points for value in (n, s))
    spots = [(p.prerequisite, plane.x(p.n), plane.y(p.s), quadrants.RADIUS) for p in placed]
    for _, x, y, _ in spots:
        assert quadrants.LEFT <= x <= quadrants.SIZE - quadrants.RIGHT
        assert quadrants.ABOVE <= y <= quadrants.SIZE - quadrants.BELOW
    for text, left, base, _ in quadrants._labels(spots):
        assert 0 <= left <= quadrants.SIZE - len(text) * quadrants.LETTER
        assert quadrants.LINE - 3 <= base <= quadrants.SIZE
    page = Page(html(quadrants.quadrant_picture(placed, {"t": 0}, {"t": "T"}, plane)))
    assert page.text.count("highest S") == sum(top for _, _, top in points)


def test_labels_of_a_crowd_do_not_overlap():
    spots = [(f"X{i}", 200.0 + 6 * (i % 3), 200.0 + 6 * (i // 3), quadrants.RADIUS) for i in range(6)]
    boxes = [
        (left, base - 8, left + len(text) * quadrants.LETTER, base) for text, left, base, _ in quadrants._labels(spots)
    ]
    for i, one in enumerate(boxes):
        assert all(quadrants._overlap(one, other) == 0 for other in boxes[i + 1 :])


def test_bars_are_as_long_as_their_numbers(runs):
    table = pd.concat([dodiag.outcomes(runs / f"sums-{model}") for model in ("weak", "default")])
    found = overview(table, [dodiag.load_task(runs / "sums")])
    rows = [row for row in found.capabilities if row.role == "nonroot"]
    assert rows
    for row in rows:
        bar = budget.budget_bar(row)
        widths = [float(part.get("width")) for part in bar if part.tag == "rect"]
        assert sum(widths) == pytest.approx(budget.place(1) - budget.place(0), abs=0.2)
        assert widths[2] == pytest.approx(row.residual.value * (budget.place(1) - budget.place(0)), abs=0.15)
