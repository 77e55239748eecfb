"""Task graph files: what is read, what is refused, and how a refusal helps."""

import json
from pathlib import Path

import networkx as nx
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from dodiag.problems import InvalidInput, UsageError
from dodiag.scm.answers import AnswerSpec, AnswerType
from dodiag.scm.files import load_task, write_task
from dodiag.scm.graph import TaskGraph
from dodiag.scm.schema import Chain, Unit

HEAD = "schema: 1\nname: t\ntitle: T\nmodality: text\ntarget: Y\n"
UNIT = "{title: U, category: perception, answer: {type: integer}"


def written(tmp_path: Path, text: str, name: str = "task.yaml") -> Path:
    file = tmp_path / name
    file.write_text(text, encoding="utf-8")
    return file


def graph(*units: str, head: str = HEAD, tail: str = "") -> str:
    return head + "units:\n" + "".join(f"  {unit}\n" for unit in units) + tail


REFUSALS = {
    # name: (text, line, in the problem, in the cure)
    "cycle is printed": (
        graph(f"X1: {UNIT}, parents: [X2]}}", f"X2: {UNIT}, parents: [X1]}}", f"Y: {UNIT}, parents: [X1, X2]}}"),
        7,
        "in a cycle X1 → X2 → X1",
        "Remove one",
    ),
    "own parent": (graph(f"Y: {UNIT}, parents: [Y]}}"), 7, "its own parent", "chains"),
    "unknown parent": (graph(f"X1: {UNIT}}}", f"Y: {UNIT}, parents: [X1, X3]}}"), 8, "'X3' is not a unit", "'X1'"),
    "parent twice": (graph(f"X1: {UNIT}}}", f"Y: {UNIT}, parents: [X1, X1]}}"), 8, "'X1' twice", "once"),
    "duplicate id": (graph(f"Y: {UNIT}}}", f"Y: {UNIT}}}"), 8, "'Y' stands twice", "once"),
    "target with children": (
        graph(f"Y: {UNIT}}}", f"Z: {UNIT}, parents: [Y]}}"),
        5,
        "is the target but Z depends on it",
        "Make Z the target",
    ),
    "missing target": (graph(f"X1: {UNIT}}}"), 5, "'Y' is not a unit", "X1"),
    "unit that leads nowhere": (
        graph(f"X1: {UNIT}}}", f"Y: {UNIT}}}"),
        7,
        "does not lead to the target Y",
        "Add it to the parents",
    ),
    "misspelt category": (
        graph("Y: {title: U, category: percepton, answer: {type: integer}}"),
        7,
        "category 'percepton' looks misspelt",
        "'perception'",
    ),
    "category outside the own list": (
        graph("Y: {title: U, category: disc, answer: {type: integer}}", head=HEAD + "categories: [discovery]\n"),
        8,
        "'disc' is not in 'categories:'",
        "'discovery'",
    ),
    "chain unit outside the graph": (
        graph(f"Y: {UNIT}}}", tail="chains:\n  - {units: [Y, X7]}\n"),
        9,
        "chain unit 'X7' is not in the graph",
        "Y",
    ),
    "chain cycle written as parents": (
        graph(
            f"X1: {UNIT}, parents: [X2]}}",
            f"X2: {UNIT}, parents: [X1]}}",
            f"Y: {UNIT}, parents: [X1, X2]}}",
            tail="chains:\n  - {units: [X1, X2]}\n",
        ),
        7,
        "names its chain's unit 'X2' as a parent",
        "the chain itself",
    ),
    "unit in two chains": (
        graph(f"X1: {UNIT}}}", f"Y: {UNIT}, parents: [X1]}}", tail="chains:\n  - {units: [X1]}\n  - {units: [X1]}\n"),
        11,
        "in a chain twice",
        "one chain",
    ),
    "cycle that only the unfolded graph has": (
        graph(
            f"X1: {UNIT}}}",
            f"Z: {UNIT}, parents: [X1]}}",
            f"X2: {UNIT}, parents: [Z]}}",
            f"Y: {UNIT}, parents: [X2]}}",
            tail="chains:\n  - {units: [X1, X2]}\n",
        ),
        11,
        "unfold into a cycle",
        "cannot both feed a chain",
    ),
    "bad YAML": (HEAD + "units:\n  Y: {title: [}\n", 7, "is not YAML", "syntax"),
    "tabs": (HEAD + "units:\n\tY: 1\n", 7, "is not YAML", "spaces, not with tabs"),
    "unknown field": (
        graph("Y: {title: U, categry: spatial, category: spatial, answer: {type: integer}}"),
        7,
        "'categry' is not a field",
        "'category'",
    ),
    "unknown answer type": (
        graph("Y: {title: U, category: spatial, answer: {type: int}}"),
        7,
        "'int' is not allowed",
        "'integer'",
    ),
    "range upside down": (
        graph("Y: {title: U, category: spatial, answer: {type: integer, min: 3, max: 1}}"),
        7,
        "min 3 is above max 1",
        "",
    ),
    "one choice": (
        graph("Y: {title: U, category: spatial, answer: {type: choice, choices: [only]}}"),
        7,
        "needs 2 to 26 choices, has 1",
        "",
    ),
    "missing field": (graph("Y: {title: U, answer: {type: integer}}"), 7, "'category' is missing", "category"),
    "bad unit id": (graph(f"1 X: {UNIT}}}", f"Y: {UNIT}}}"), 7, "not a valid name", "letters"),
    "bad modality": (graph(f"Y: {UNIT}}}", head=HEAD.replace("text", "vidio")), 4, "'vidio'", "'video'"),
    "other schema": (
        graph(f"Y: {UNIT}}}", head=HEAD.replace("schema: 1", "schema: 2")),
        1,
        "schema 2",
        "reads schema 1",
    ),
    "no units": (HEAD + "units: {}\n", 6, "has no units", "target"),
    "empty file": ("", None, "not a task graph", "schema: 1"),
    "a list": ("- 1\n", 1, "not a task graph", "schema: 1"),
    "merge keys": ("a: &a {x: 1}\nb:\n  <<: *a\n", 3, "plain word", "Write the mapping out"),
    "tags": (HEAD + "units: !!python/object:os.system {}\n", 6, "", ""),
    "self-containing alias": ("a: &a [*a]\n", 1, "contains itself", "Remove"),
}


@pytest.mark.parametrize(("text", "line", "problem", "cure"), REFUSALS.values(), ids=REFUSALS)
def test_refusal_names_file_line_problem_and_cure(tmp_path, text, line, problem, cure):
    file = written(tmp_path, text)
    with pytest.raises(InvalidInput) as caught:
        load_task(file)
    found = [p for p in caught.value.problems if problem in p.problem and cure in p.cure]
    assert found, [str(p) for p in caught.value.problems]
    assert found[0].file == str(file)
    assert found[0].line == line
    assert found[0].cure


def test_alias_bomb_is_refused_before_it_expands(tmp_path):
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]" for i in range(1, 9)]
    with pytest.raises(InvalidInput, match="expands to more than"):
        load_task(written(tmp_path, "\n".join(lines)))


def test_deep_nesting_is_refused(tmp_path):
    for name, text in (("a.yaml", "[" * 50_000), ("a.json", "[" * 200_000)):
        with pytest.raises(InvalidInput):
            load_task(written(tmp_path, text, name))


def test_all_problems_come_in_one_go(tmp_path):
    text = graph(
        "X1: {title: U, category: spacial, answer: {type: integer}}",
        f"X2: {UNIT}, parents: [X9]}}",
        f"Y: {UNIT}, parents: [X1, X2, X2]}}",
        tail="chains:\n  - {units: [X5]}\n",
    )
    with pytest.raises(InvalidInput) as caught:
        load_task(written(tmp_path, text))
    assert [p.line for p in caught.value.problems] == [7, 8, 9, 11]


def test_wrong_fields_do_not_hide_what_is_wrong_with_the_graph(tmp_path):
    text = graph(
        "X1: {title: U, category: percepton, answer: {type: integr}}",
        f"X2: {UNIT}, parents: [X3, X9]}}",
        f"X3: {UNIT}, parents: [X2]}}",
        "Y: {title: U, category: cognitive, answer: {type: integer}, parent: [X1, X3]}",
        tail="chains:\n  - {units: [X5]}\n",
    )
    with pytest.raises(InvalidInput) as caught:
        load_task(written(tmp_path, text))
    found = [(p.line, p.problem.split(" '")[0]) for p in caught.value.problems]
    assert found == [
        (7, "'integr' is not allowed here"),
        (7, "category"),
        (8, "parent"),
        (8, "is in a cycle X2 → X3 → X2"),
        (10, "'parent' is not a field"),
        (12, "chain unit"),
    ]


@pytest.mark.parametrize("content", [b"\xff\xfe\x00bad", b"name: \xe9\n"])
def test_bytes_that_are_not_utf8_are_refused(tmp_path, content):
    file = tmp_path / "task.yaml"
    file.write_bytes(content)
    with pytest.raises(InvalidInput, match="UTF-8"):
        load_task(file)


def test_missing_file_suggests_the_nearest_shipped_task():
    with pytest.raises(InvalidInput, match="Did you mean dice_sum"):
        load_task("dice_sums")


def test_json_is_read_like_yaml_and_its_repeated_keys_are_refused(tmp_path):
    task = load_task("maze")
    assert load_task(written(tmp_path, write_task(task, "json"), "task.json")) == task
    with pytest.raises(InvalidInput, match="stands twice"):
        load_task(written(tmp_path, '{"schema": 1, "schema": 1}', "task.json"))
    with pytest.raises(InvalidInput, match="is not JSON") as caught:
        load_task(written(tmp_path, '{"schema": 1,\n "name": }', "task.json"))
    assert caught.value.problems[0].line == 2


def test_yes_and_no_stay_text(tmp_path):
    text = graph("Y: {title: U, category: spatial, answer: {type: choice, choices: [yes, no]}}")
    assert load_task(written(tmp_path, text)).units["Y"].answer.choices == ("yes", "no")


def test_a_task_may_bring_its_own_categories(tmp_path):
    text = graph("Y: {title: U, category: prediction, answer: {type: integer}}")
    assert load_task(written(tmp_path, text)).units["Y"].category == "prediction"


def test_a_chain_unit_with_external_prerequisites_has_them_at_step_1_only():
    task = load_task("map_navigation")
    assert task.prerequisites("X2", 1) == ("X1",)
    assert task.prerequisites("X2", 5) == ("X2",)
    unfolded = task.unfold(4)
    assert list(unfolded.predecessors("X2@1")) == ["X1"]
    assert list(unfolded.predecessors("X2@3")) == ["X2@2"]
    assert set(unfolded.predecessors("Y")) == {"X1", "X2@1", "X2@2", "X2@3", "X2@4"}
    assert unfolded.nodes["X2@3"]["step"] == 3


def test_unfold_refuses_what_it_cannot_do():
    with pytest.raises(UsageError, match="names no number of steps"):
        load_task("map_navigation").unfold()
    with pytest.raises(UsageError, match="cannot unfold 0"):
        load_task("maze").unfold(0)
    assert sum(1 for node in load_task("maze").unfold() if node.startswith("Y@")) == 10


def test_pictures_name_every_unit_and_dependency(tmp_path):
    task = load_task("traffic_causation")
    dot, mermaid = write_task(task, "dot"), write_task(task, "mermaid")
    for unit in task.units:
        assert f'"{unit} ' in dot
        assert f'"{unit} ' in mermaid
    assert dot.count("->") == mermaid.count("-->") == task.graph.number_of_edges()
    file = written(tmp_path, write_task(task, "graphml"), "g.graphml")
    assert set(nx.read_graphml(file).edges) == set(task.graph.edges)


def test_titles_cannot_break_out_of_a_picture(tmp_path):
    title = 'a"]; "x" -> "y" <script>'
    unit = Unit(title=title, category="spatial", answer=AnswerSpec(type=AnswerType.INTEGER))
    task = TaskGraph(name="t", title="T", modality="text", target="Y", units={"Y": unit})
    assert r"a\"]; \"x\" -> \"y\"" in write_task(task, "dot")
    assert "<script>" not in write_task(task, "mermaid")


IDS = st.lists(st.from_regex(r"[A-Za-z][A-Za-z0-9_]{0,5}", fullmatch=True), min_size=1, max_size=7, unique=True)
TITLES = st.text(st.characters(codec="utf-8", exclude_categories=("Cs", "Cc")), min_size=1, max_size=20)


@st.composite
def tasks(draw):
    """Valid task graphs: each unit before the target feeds a later one; the first units may form a chain."""
    ids = draw(IDS)
    size = len(ids)
    parents = {unit: set() for unit in ids}
    for index, unit in enumerate(ids[:-1]):
        for child in draw(st.sets(st.integers(index + 1, size - 1), min_size=1)):
            parents[ids[child]].add(unit)
    chains = ()
    if size > 2 and draw(st.booleans()):
        first, second = ids[0], ids[1]
        parents[second] = {first}
        parents[ids[-1]] |= {first, second}
        chains = (Chain(units=(first, second), steps=draw(st.none() | st.integers(1, 5))),)
        for unit in ids[2:-1]:
            parents[ids[-1]].add(unit)
    units = {
        unit: Unit(
            title=draw(TITLES),
            category=draw(st.sampled_from(["perception", "spatial", "temporal", "cognitive"])),
            answer=AnswerSpec(type=draw(st.sampled_from(list(AnswerType)))),
            parents=tuple(sorted(parents[unit])),
        )
        for unit in ids
    }
    return TaskGraph(name="t", title=draw(TITLES), modality="image", target=ids[-1], units=units, chains=chains)


@given(task=tasks(), form=st.sampled_from(["yaml", "json"]))
def test_written_tasks_read_back_equal(tmp_path_factory, task, form):
    file = tmp_path_factory.mktemp("task") / f"task.{form}"
    file.write_text(write_task(task, form), encoding="utf-8")
    assert load_task(file) == task


@given(task=tasks(), steps=st.integers(1, 6))
def test_unfolded_graphs_are_acyclic_and_complete(task, steps):
    unfolded = task.unfold(steps)
    assert nx.is_directed_acyclic_graph(unfolded)
    chained = {unit for chain in task.chains for unit in chain.units}
    assert len(unfolded) == len(task.units) + (steps - 1) * len(chained)
    for chain in task.chains:
        for step in range(2, steps + 1):
            assert list(unfolded.predecessors(f"{chain.units[0]}@{step}")) == [f"{chain.units[-1]}@{step - 1}"]


@given(st.binary(max_size=400))
def test_no_bytes_make_the_reader_crash(tmp_path_factory, content):
    file = tmp_path_factory.mktemp("raw") / "task.yaml"
    file.write_bytes(content)
    with pytest.raises(InvalidInput):
        load_task(file)


TRAPS = [
    "0E0",
    "1e5",
    "yes",
    "No",
    "on",
    "010",
    "1:30",
    "~",
    "null",
    "=",
    "<<",
    "0x1f",
    ".5",
    "2026-11-29",
    "- a",
    "a: b",
    "1_000",
]


@pytest.mark.parametrize("title", TRAPS)
def test_text_that_looks_like_something_else_stays_text(tmp_path, title):
    choices = ("A thing", title)
    unit = Unit(title=title, category="spatial", answer=AnswerSpec(type="choice", choices=choices))
    task = TaskGraph(name="t", title=title, modality="text", target="Y", units={"Y": unit})
    for form in ("yaml", "json"):
        assert load_task(written(tmp_path, write_task(task, form), f"task.{form}")) == task
    other_reader = yaml.safe_load(write_task(task, "yaml"))
    assert other_reader["title"] == title


def test_problems_become_json(tmp_path):
    with pytest.raises(InvalidInput) as caught:
        load_task(written(tmp_path, graph(f"Y: {UNIT}, parents: [Q]}}")))
    (problem,) = json.loads(json.dumps([p.to_dict() for p in caught.value.problems]))
    assert set(problem) == {"file", "line", "where", "problem", "cure"}
    assert problem["where"] == "unit Y"
