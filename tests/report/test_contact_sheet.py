"""Contact sheets show every unit of the asked instances, the truth on the picture, and say what they cannot show."""

from __future__ import annotations

import numpy as np
import pytest
from packs import maze_pack, sums_pack
from PIL import Image

from dodiag.benchmarks.samples import sample_packs
from dodiag.cli import main
from dodiag.interventions.annotate import colour_of
from dodiag.problems import UsageError
from dodiag.report.contact_sheet import WIDTH, contact_sheet, spread
from dodiag.scm.pack import load_pack


def run_command(monkeypatch, *arguments):
    monkeypatch.setattr("sys.argv", ["dodiag", "show", *arguments])
    with pytest.raises(SystemExit) as caught:
        main()
    return caught.value.code or 0


def has_colour(sheet, colour):
    wanted = np.array(tuple(int(colour[i : i + 2], 16) for i in (1, 3, 5)))
    return bool((np.abs(np.asarray(sheet).astype(int) - wanted).max(axis=2) < 40).sum() > 50)


def test_the_truth_is_drawn_in_a_colour_for_each_unit():
    pack = load_pack(sample_packs()["dice_sum"])
    sheet = contact_sheet(pack, [pack.instance(pack.instance_ids[0])])
    assert sheet.width == WIDTH
    for index in range(3):
        assert has_colour(sheet, colour_of(index)), index


def test_a_sheet_of_two_is_as_high_as_two_sheets(tmp_path):
    pack = maze_pack(tmp_path / "p", 2)
    both = [pack.instance(each) for each in pack.instance_ids]
    heights = [contact_sheet(pack, [each]).height for each in both]
    assert contact_sheet(pack, both).height == sum(heights)
    more = contact_sheet(pack, both[:1], per_unit=3).height
    assert more > heights[0], "more questions of a unit take more room"


def test_a_text_task_has_a_sheet_too_and_a_crowd_is_refused(tmp_path):
    pack = sums_pack(tmp_path / "p", 200)
    assert contact_sheet(pack, [pack.instance("s00000")]).height < 400
    with pytest.raises(UsageError, match="--limit"):
        contact_sheet(pack, list(pack.instances()))
    with pytest.raises(UsageError, match="do not fit"):
        contact_sheet(pack, [])


@pytest.mark.parametrize("count", [1, 2, 3, 7, 10, 50])
def test_instances_are_spread_without_repetition(count):
    ids = [str(number) for number in range(10)]
    chosen = spread(ids, count)
    assert len(chosen) == min(count, 10) == len(set(chosen))
    assert chosen == sorted(chosen, key=int)
    assert count == 1 or {chosen[0], chosen[-1]} == {"0", "9"}


@pytest.mark.parametrize("name", ["sheet.png", "sheet.jpg", "sheet.pdf"])
def test_the_command_writes_pictures(tmp_path, monkeypatch, capsys, name):
    file = tmp_path / name
    assert run_command(monkeypatch, "dice_sum", "--sheet", str(file), "--limit", "2") == 0
    assert "2 of 24 instances" in capsys.readouterr().out
    assert file.stat().st_size > 10_000
    if name != "sheet.pdf":
        with Image.open(file) as opened:
            assert opened.width == WIDTH


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["dice_sum", "--sheet", "{folder}/x.txt"], "no kind of picture"),
        (["dice_sum", "--sheet", "{folder}/none/x.png"], "cannot be written"),
        (["dice_sum", "--sheet", "{folder}/x.png", "--limit", "0"], "at least one"),
        (["dice_sum", "--sheet", "{folder}/x.png", "--instance", "nobody"], "nobody"),
        (["{folder}", "--sheet", "{folder}/x.png"], ""),
    ],
)
def test_what_cannot_be_shown_is_said(tmp_path, monkeypatch, capsys, arguments, said):
    code = run_command(monkeypatch, *(argument.format(folder=tmp_path) for argument in arguments))
    assert code == 2
    captured = capsys.readouterr()
    assert said in captured.err
    assert "Traceback" not in captured.err
