"""Task graph files as people really save them: encodings, YAML's traps, hostile sizes, and every problem at once."""

import json
import os
import threading

import pytest

from dodiag.problems import InvalidInput
from dodiag.scm.files import load_task, task_of, task_to_dict, write_task
from dodiag.scm.source import MAX_BYTES, MAX_DEPTH, Source, read_source

HEAD = "schema: 1\nname: t\ntitle: T\nmodality: text\ntarget: Y\n"
Y = "  Y: {title: U, category: perception, answer: {type: integer}}\n"
PLAIN = HEAD + "units:\n" + Y
FIELDS = {
    "schema": 1,
    "name": "t",
    "title": "T",
    "modality": "text",
    "target": "Y",
    "units": {"Y": {"title": "U", "category": "perception", "answer": {"type": "integer"}}},
}


def written(folder, content, name="task.yaml"):
    file = folder / name
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    return file


def refused(file):
    with pytest.raises(InvalidInput) as caught:
        load_task(file)
    return caught.value.problems


@pytest.mark.parametrize(
    "content",
    [b"\xef\xbb\xbf" + PLAIN.encode(), PLAIN.replace("\n", "\r\n").encode(), PLAIN.rstrip().encode()],
    ids=["byte order mark", "Windows line ends", "no last line end"],
)
def test_files_of_other_editors_are_read(tmp_path, content):
    assert load_task(written(tmp_path, content)) == load_task(written(tmp_path, PLAIN, "plain.yaml"))


@pytest.mark.parametrize(
    ("field", "text"),
    [("version", "1.10"), ("version", "1.0"), ("version", "007"), ("version", "true"), ("title", "2048")],
)
def test_text_stays_as_it_is_written_where_yaml_sees_a_number(tmp_path, field, text):
    head = HEAD.replace("title: T", f"title: {text}") if field == "title" else HEAD + f"{field}: {text}\n"
    assert getattr(load_task(written(tmp_path, head + "units:\n" + Y)), field) == text


def test_choices_stay_as_they_are_written(tmp_path):
    options = ["0.50", "+1", "1e3", "007", "1_000", "1:30", "2026-11-30", "true", "No", "0x1f", ".5", "-0"]
    unit = f"  Y: {{title: U, category: spatial, answer: {{type: choice, choices: [{', '.join(options)}]}}}}\n"
    task = load_task(written(tmp_path, HEAD + "units:\n" + unit))
    assert task.units["Y"].answer.choices == tuple(options)
    assert load_task(written(tmp_path, write_task(task))) == task


def test_words_of_yaml_name_units(tmp_path):
    unit = "{title: U, category: spatial, answer: {type: integer}"
    text = HEAD + f"units:\n  true: {unit}}}\n  yes: {unit}}}\n  Y: {unit}, parents: [true, yes]}}\n"
    assert load_task(written(tmp_path, text)).parents("Y") == ("true", "yes")


def test_truth_values_in_json_are_options_as_json_writes_them(tmp_path):
    fields = json.loads(json.dumps(FIELDS))
    fields["units"]["Y"]["answer"] = {"type": "choice", "choices": [True, False]}
    task = load_task(written(tmp_path, json.dumps(fields), "task.json"))
    assert task.units["Y"].answer.choices == ("true", "false")


NESTED = "published: {a: " + "[" * MAX_DEPTH + "]" * MAX_DEPTH + "}\n"
CHAINED_ALIASES = "published:\n  a0: &a0 [x]\n" + "".join(f"  a{i}: &a{i} [*a{i - 1}]\n" for i in range(1, 600))
DIGITS = "9" * 5000

HOSTILE = {
    # name: (file name, text, line, problem, cure)
    "whole number of 5,000 digits": ("a.yaml", PLAIN + f"seed: {DIGITS}\n", 8, "no whole number", "another value"),
    "the same in JSON": ("a.json", json.dumps(FIELDS)[:-1] + f', "seed": {DIGITS}}}', None, "no number", "finite"),
    "number beyond floats": ("a.yaml", PLAIN + "published: {a: 1e999}\n", 8, "no number", "another value"),
    "the same number in JSON": ("a.json", '{"a": 1e999}', None, "1e999, which is no number", "finite"),
    "NaN in JSON": ("a.json", '{"a": [NaN]}', None, "NaN, which is no number", "finite"),
    "Infinity in JSON": ("a.json", '{"a": -Infinity}', None, "-Infinity, which is no number", "finite"),
    "half a surrogate pair in JSON": ("a.json", '{"a": "\\ud800"}', None, "surrogate", "character itself"),
    "half a surrogate pair": ("a.yaml", PLAIN + 'published: {a: "\\uD800"}\n', 8, "no text", "another value"),
    "a wrong tag": ("a.yaml", PLAIN + "seed: !!int abc\n", 8, "no whole number", "another value"),
    "a wrong truth value": ("a.yaml", PLAIN + "published: {a: !!bool abc}\n", 8, "no truth value", "another value"),
    "lists in lists": ("a.yaml", PLAIN + NESTED, 8, "nested too deeply", "Flatten"),
    "aliases of aliases": ("a.yaml", PLAIN + CHAINED_ALIASES, None, "nested too deeply", "Flatten"),
    "lists in lists in JSON": ("a.json", "[" * 500 + "]" * 500, None, "nested too deeply", "Flatten"),
    "a NUL": ("a.yaml", HEAD + "units:\n  Y: \0\n", 7, "the character #x0000", "plain text"),
    "two documents": ("a.yaml", PLAIN + "---\n" + PLAIN, 8, "another document", "one task a file"),
    "a colon in a text": ("a.yaml", HEAD + "category: a: b\n", 6, "mapping values", "quotes"),
    "a sign that YAML keeps": ("a.yaml", HEAD + "category: @home\n", 6, "'@'", "quotes"),
    "a title of two lines": (
        "a.yaml",
        PLAIN.replace("title: T", "title: |\n  T\n  U"),
        3,
        "line break or a control character",
        "one line",
    ),
    "a title that steers the terminal": (
        "a.json",
        json.dumps(FIELDS | {"title": "\x1b[31mT"}),
        None,
        "control character (found '\\x1b[31mT')",
        "one line",
    ),
    "a range that is no number": (
        "a.yaml",
        PLAIN.replace("type: integer", "type: integer, min: nan"),
        7,
        "a finite number (found 'nan')",
        "Correct",
    ),
    "a range without end": ("a.yaml", PLAIN.replace("type: integer", "type: number, max: inf"), 7, "finite", "Correct"),
    "a range without whole numbers": (
        "a.yaml",
        PLAIN.replace("type: integer", "type: integer, min: 3.2, max: 3.8"),
        7,
        "no whole number lies between min 3.2 and max 3.8",
        "Correct",
    ),
    "chain unit with a long name": ("a.yaml", PLAIN + f"chains: [{{units: [{'X' * 65}]}}]\n", 8, "64", "Shorten"),
    "chain unit with a line end": ("a.yaml", PLAIN + 'chains: [{units: ["Y\\n"]}]\n', 8, "not a valid name", "letters"),
    "chain without units": ("a.yaml", PLAIN + "chains: [{units: []}]\n", 8, "0 entries instead of at least 1", "Add"),
    "chain that is a word": ("a.yaml", PLAIN + "chains: [Y]\n", 8, "should be a mapping of fields", "name: value"),
    "parents that are a word": ("a.yaml", PLAIN.replace("}}", "}, parents: Y}"), 7, "should be a list", "[ … ]"),
    "unit without anything": ("a.yaml", HEAD + "units:\n  Y:\n", 7, "is empty", "a mapping of fields"),
    "no categories at all": ("a.yaml", PLAIN + "categories: []\n", 8, "0 entries", "Add"),
    "only unit with a parent": ("a.yaml", PLAIN.replace("}}", "}, parents: [Q]}"), 7, "'Q' is not a unit", "remove"),
}


@pytest.mark.parametrize(("name", "text", "line", "problem", "cure"), HOSTILE.values(), ids=HOSTILE)
def test_hostile_files_are_refused_with_place_and_cure(tmp_path, name, text, line, problem, cure):
    problems = refused(written(tmp_path, text, name))
    found = [p for p in problems if problem in p.problem and cure in p.cure]
    assert len(found) == 1, [str(p) for p in problems]
    assert line is None or found[0].line == line


@pytest.mark.parametrize("text", [HEAD + "units: " + "x" * 100_000, PLAIN + "x" * 100_000 + ": 1\n"])
def test_messages_stay_short_and_on_one_line_whatever_the_file_holds(tmp_path, text):
    for problem in refused(written(tmp_path, text)):
        assert len(problem.problem) < 400
        assert str(problem).isprintable()


def test_a_file_without_end_is_not_read_to_its_end(tmp_path):
    pipe = tmp_path / "task.yaml"
    os.mkfifo(pipe)

    def feed():
        try:
            with pipe.open("wb") as stream:
                for _ in range(MAX_BYTES // 2**20 + 2):
                    stream.write(b"#" * 2**20)
        except BrokenPipeError:
            pass

    writer = threading.Thread(target=feed)
    writer.start()
    with pytest.raises(InvalidInput, match="larger than 20 MB"):
        read_source(pipe)
    writer.join()


@pytest.mark.parametrize("path", ["x" * 5000, "a\0b", ""])
def test_paths_that_cannot_be_are_refused(path):
    assert refused(path)[0].cure


def test_a_key_that_stands_twice_hides_no_other_problem(tmp_path):
    unit = "{title: U, category: spacial, answer: {type: integer}, parents: [Q]}"
    text = HEAD + f"units:\n  X1: {unit}\n{Y}{Y}title: again\ncatgories: [a]\n"
    found = [(p.line, p.problem) for p in refused(written(tmp_path, text))]
    assert found == [
        (7, "category 'spacial' looks misspelt"),
        (7, "parent 'Q' is not a unit"),
        (9, "'Y' stands twice"),
        (10, "'title' stands twice"),
        (11, "'catgories' is not a field"),
    ]
    with pytest.raises(InvalidInput, match="stands twice"):
        read_source(tmp_path / "task.yaml")


def test_every_cycle_is_told(tmp_path):
    def unit(*parents):
        return f"{{title: U, category: spatial, answer: {{type: integer}}, parents: [{', '.join(parents)}]}}"

    units = {"A": ("B",), "B": ("A",), "C": ("D",), "D": ("E",), "E": ("C",), "Y": ("B", "C")}
    text = HEAD + "units:\n" + "".join(f"  {name}: {unit(*parents)}\n" for name, parents in units.items())
    cycles = {p.problem for p in refused(written(tmp_path, text)) if "cycle" in p.problem}
    assert cycles == {"is in a cycle A → B → A", "is in a cycle C → E → D → C"}


def test_what_cannot_be_read_of_a_chain_moves_no_line(tmp_path):
    text = PLAIN + "chains:\n  - nothing\n  - units: [3.5, Y, X7]\n"
    found = {(p.line, p.problem) for p in refused(written(tmp_path, text))}
    assert (10, "chain unit 'X7' is not in the graph") in found
    assert any(line == 9 and "a mapping of fields" in problem for line, problem in found)


def test_anchors_are_read_as_if_they_were_written_out(tmp_path):
    unit = "{title: U, category: spatial, answer: {type: integer}}"
    anchored = HEAD + f"units:\n  X1: &u {unit}\n  X2: *u\n  Y: {unit[:-1]}, parents: [X1, X2]}}\n"
    assert load_task(written(tmp_path, anchored)) == load_task(
        written(tmp_path, anchored.replace("*u", unit).replace("&u ", ""))
    )


def test_whatever_a_task_carries_reads_back_equal(tmp_path):
    answer = {
        "type": "set",
        "members": "number",
        "min": -1.5,
        "max": 1e21,
        "tolerance": 1e-7,
        "length": 2,
        "instruction": "",
    }
    fields = FIELDS | {
        "version": "1.10",
        "category": "own: kind",
        "categories": ["own: kind", "0.50"],
        "seed": 10**30,
        "units": {
            "no": {"title": "a #b", "category": "0.50", "answer": answer},
            "Y": {"title": "- é 漢 \u2028", "category": "own: kind", "answer": {"type": "text"}, "parents": ["no"]},
        },
        "published": {"a": [None, True, -0.5, "007", "~", {"b": "1e5"}, [], {}], "yes": "no", "": " x "},
    }
    task = task_of(Source("given", fields))
    for form in ("yaml", "json"):
        again = load_task(written(tmp_path, write_task(task, form), f"task.{form}"))
        assert again == task
        assert task_to_dict(again) == task_to_dict(task)
        assert hash(again) == hash(task)


@pytest.mark.parametrize("value", [float("nan"), float("-inf"), {1, 2}, b"bytes"])
def test_a_task_carries_only_what_a_file_can_hold(value):
    with pytest.raises(InvalidInput, match="holds what a file cannot hold"):
        task_of(Source("given", FIELDS | {"published": {"a": [value]}}))
