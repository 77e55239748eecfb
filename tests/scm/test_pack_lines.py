"""Instance files as people really save them, and lines that try to slip something past the checks."""

import json
import os

import pytest
from packs import SUMS, maze_pack, picture, sums_instance, write_pack

from dodiag.problems import InvalidInput
from dodiag.scm.instances import MAX_LINE
from dodiag.scm.pack import load_pack

LINE = json.dumps(sums_instance(0))
PICTURED = {**sums_instance(0), "media": ["media/a.png"]}


def changed(**question):
    instance = sums_instance(0)
    instance["questions"][0].update(question)
    return instance


def written(folder, content, task=SUMS, media=None):
    write_pack(folder, task, [], media)
    (folder / "instances.jsonl").write_bytes(content if isinstance(content, bytes) else content.encode())
    return folder


def refused(folder):
    with pytest.raises(InvalidInput) as caught:
        load_pack(folder)
    return caught.value.problems


@pytest.mark.parametrize(
    "content",
    [
        b"\xef\xbb\xbf" + LINE.encode() + b"\n" + LINE.replace("s00000", "s1").encode(),
        ("\r\n \r\n" + LINE + "\r\n\r\n\t" + LINE.replace("s00000", "s1") + "\r\n").encode(),
    ],
    ids=["byte order mark", "Windows line ends and blank lines"],
)
def test_files_of_other_editors_are_read_the_same(tmp_path, content):
    pack = load_pack(written(tmp_path / "p", content))
    plain = load_pack(written(tmp_path / "q", LINE + "\n" + LINE.replace("s00000", "s1") + "\n"))
    assert pack.digest == plain.digest
    assert list(pack.instances()) == list(plain.instances()) == [pack.instance(name) for name in pack.instance_ids]


NINES = "9" * 400
HOSTILE = {
    # name: (line, where, problem, cure)
    "UTF-16": (LINE.encode("utf-16"), "", "is not UTF-8 text (byte 0 of the line)", "UTF-8"),
    "Latin-1": (LINE.replace("number", "nümber").encode("latin-1"), "", "is not UTF-8 text", "UTF-8"),
    "something after the instance": (LINE + " xyz", "", f"Extra data (column {len(LINE) + 2})", "one instance a line"),
    "two instances on a line": (LINE + LINE, "", "Extra data", "one instance a line"),
    "a list": (f"[{LINE}]", "", "is no instance", "one instance a line"),
    "too many digits": (LINE.replace('"answer": 0', '"answer": ' + "9" * 5000), "", "too many digits", "shorter"),
    "half a surrogate pair": (LINE.replace("box", "\\ud800"), "instance s00000", "hex escape", "Correct"),
    "an answer that stands twice": (
        LINE.replace('"answer": 0', '"answer": 5, "answer": 0'),
        "instance s00000",
        "'answer' stands twice",
        "once",
    ),
    "an id that stands twice": (LINE.replace('"id"', '"id": "a", "id"', 1), "instance s00000", "'id' stands twice", ""),
    "a number beyond floats": (LINE.replace('"answer": 0', f'"answer": {NINES}'), "question a", "not an integer", ""),
    "the same as text": (LINE.replace('"answer": 0', f'"answer": "{NINES}"'), "question a", "not an integer", ""),
    "NaN": (LINE.replace('"answer": 0', '"answer": NaN'), "question a", "'nan' is not an integer", "valid integer"),
    "a step that is none": (changed(step=0), "question a, step", "greater than or equal to 1", ""),
    "choices that are numbers": (
        changed(choices=[1, "b"]),
        "question a, choices.0",
        "should be text (found 1)",
        "quotes",
    ),
    "a text that is a list": (
        changed(text=["x"] * 9999),
        "question a, text",
        "should be text (found ['x', ",
        "one text",
    ),
    "null for the option 'none'": (
        changed(unit="X2", answer=None, choices=["none", "some"]),
        "question a",
        "None is no letter and no option",
        "valid choice",
    ),
    "a terminal's code in an id": (changed(id="a\x1b[31m"), "question a", "control character", "one line"),
    "a long id": (changed(id="x" * 100_000), "question xxx", "longer than 200 characters", "Shorten"),
    "a long medium": ({**sums_instance(0), "media": ["m" * 300]}, "instance s00000", "cannot be looked up", "media/"),
    "the pack itself as a medium": ({**sums_instance(0), "media": ["."]}, "instance s00000", "is missing", "media/"),
    "a web address": ({**sums_instance(0), "media": ["https://e.org/x.png"]}, "s00000", "x.png is missing", "media/"),
}


@pytest.mark.parametrize(("line", "where", "problem", "cure"), HOSTILE.values(), ids=HOSTILE)
def test_hostile_lines_are_refused_with_place_and_cure(tmp_path, line, where, problem, cure):
    problems = refused(written(tmp_path / "p", json.dumps(line) if isinstance(line, dict) else line))
    found = [p for p in problems if problem in p.problem and p.line == 1]
    assert len(found) == 1, [str(p) for p in problems]
    assert where in found[0].where
    assert cure in found[0].cure
    assert all(len(str(p)) < 700 and str(p).isprintable() for p in problems)


def test_a_link_in_a_circle_is_refused(tmp_path):
    folder = written(tmp_path / "p", json.dumps(PICTURED))
    (folder / "media").mkdir()
    (folder / "media" / "a.png").symlink_to("a.png")
    assert "leads back to itself" in refused(folder)[0].problem


def test_a_gif_that_is_cut_off_behind_a_semicolon_is_found(tmp_path):
    whole = picture("GIF", (60, 40))
    cut = whole[: len(whole) // 2].rstrip(b"\0") + b";"
    folder = written(tmp_path / "p", json.dumps(PICTURED), media={"media/a.png": cut})
    assert "cut off or damaged" in refused(folder)[0].problem
    load_pack(written(tmp_path / "q", json.dumps(PICTURED), media={"media/a.png": whole}))


def test_a_wrong_field_hides_nothing_else_of_its_line(tmp_path):
    bad = sums_instance(1)
    bad["media"] = ["media/x.png"]
    bad["colour"] = "red"
    bad["questions"][0]["shade"] = "dark"
    bad["questions"][0]["answer"] = 99
    bad["questions"][1]["text"] = 5
    bad["questions"][2]["requires"] = ["b", "zz"]
    found = {(p.where, p.problem) for p in refused(written(tmp_path / "p", LINE + "\n" + json.dumps(bad)))}
    assert found == {
        ("instance s00001", "'colour' is not a field"),
        ("instance s00001", "medium media/x.png is missing"),
        ("instance s00001, question a", "'shade' is not a field"),
        ("instance s00001, question a", "the answer 99 is outside 0 to 20"),
        ("instance s00001, question b, text", "should be text (found 5)"),
        ("instance s00001, question y", "requires 'zz', which the instance does not have"),
    }


def test_an_instance_that_stands_twice_is_checked_all_the_same(tmp_path):
    again = {**sums_instance(0), "media": ["media/x.png"]}
    found = [p.problem for p in refused(written(tmp_path / "p", LINE + "\n" + json.dumps(again)))]
    assert found == ["this id stands twice", "medium media/x.png is missing"]


def test_a_line_without_end_is_not_read_to_its_end(tmp_path):
    folder = written(tmp_path / "p", LINE)
    os.truncate(folder / "instances.jsonl", 2 * MAX_LINE)
    (found,) = refused(folder)
    assert found.problem == "is longer than 50 MB; nothing after it was read"


@pytest.mark.parametrize(("requires", "refusal"), [(["y1"], None), (["y2"], "come before"), (["y3"], "come before")])
def test_a_step_requires_only_what_comes_before_it(tmp_path, requires, refusal):
    pack = maze_pack(tmp_path / "m", 1)
    line = json.loads((pack.folder / "instances.jsonl").read_text())
    line["questions"][2]["requires"] = requires
    (pack.folder / "instances.jsonl").write_text(json.dumps(line))
    if refusal is None:
        load_pack(pack.folder)
    else:
        assert refusal in refused(pack.folder)[0].problem


@pytest.mark.parametrize(
    "noted", [{}, {"meta": {"by": "hand", "sizes": [{"w": 1}, {"w": 2}]}}, {"meta": {"a\\": "\\"}}]
)
@pytest.mark.parametrize(
    ("once", "twice"),
    [
        ('"answer": 0', '"answer": 5, "answer": 0'),
        ('"answer": 0', '"answer" : 5, "answer" :0'),
        ('"answer": 0', '"answer"\t:5,"answer": 0'),
        ('"answer": 0', '"\\u0061nswer": 5, "answer": 0'),
        ('"w": 1', '"w": 3, "w": 1'),
    ],
)
def test_a_key_that_stands_twice_is_found_however_it_is_written(tmp_path, noted, once, twice):
    line = json.dumps(sums_instance(0) | noted)
    if once not in line:
        return
    written(tmp_path / "p", line + "\n")
    assert load_pack(tmp_path / "p").instance_count == 1
    (problem,) = refused(written(tmp_path / "q", line.replace(once, twice, 1) + "\n"))
    assert "stands twice" in problem.problem
