"""Task graphs as values, their unfolding and their pictures, against definitions written down a second time."""

import copy
import dataclasses
import pickle
import re
from html import unescape

import networkx as nx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dodiag.problems import UsageError
from dodiag.scm.answers import AnswerSpec
from dodiag.scm.files import load_task, shipped_tasks, task_of, write_task
from dodiag.scm.graph import TaskGraph
from dodiag.scm.schema import MAX_STEPS, Unit
from dodiag.scm.source import Source
from dodiag.testing import task_graphs


def task(units, chains=()):
    """A task of units (name: parents) and chains (lists of units); the last unit is the target."""
    answer = {"type": "integer"}
    fields = {
        name: {"title": name, "category": "spatial", "answer": answer, "parents": list(p)} for name, p in units.items()
    }
    data = {"schema": 1, "name": "t", "title": "T", "modality": "text", "target": list(units)[-1], "units": fields}
    return task_of(Source("given", data | {"chains": [{"units": list(chain)} for chain in chains]}))


def unfolded_by_definition(graph, steps):
    """The edges of CADET eq. 15, read off the prerequisites of every unit at every step."""
    chained = {unit: chain.units for chain in graph.chains for unit in chain.units}

    def everywhere(unit):
        return [f"{unit}@{t}" for t in range(1, steps + 1)] if unit in chained else [unit]

    edges = set()
    for unit in graph.units:
        cycle = chained.get(unit, ())
        for step in range(1, steps + 1) if unit in chained else [None]:
            node = unit if step is None else f"{unit}@{step}"
            for parent in graph.prerequisites(unit, step):
                if parent in cycle:
                    earlier = cycle.index(parent) >= cycle.index(unit)
                    edges.add((f"{parent}@{step - earlier}", node))
                else:
                    edges |= {(place, node) for place in everywhere(parent)}
    return edges


@settings(max_examples=150)
@given(graph=task_graphs(), steps=st.integers(1, 5))
def test_unfolding_is_the_prerequisites_at_every_step(graph, steps):
    assert set(graph.unfold(steps).edges) == unfolded_by_definition(graph, steps)


@pytest.mark.parametrize("period", [1, 2, 3])
def test_chains_of_any_period_unfold(period):
    cycle = [f"X{i}" for i in range(1, period + 1)]
    graph = task({"Z": (), **dict.fromkeys(cycle, ()), "X1": ("Z",), "Y": tuple(cycle)}, [cycle])
    unfolded = graph.unfold(1000)
    assert len(unfolded) == 2 + 1000 * period
    assert nx.is_directed_acyclic_graph(unfolded)
    assert nx.dag_longest_path_length(unfolded) == 1000 * period + 1
    assert graph.roots == ("Z",)
    assert graph.prerequisites("X1", 1) == ("Z",)
    assert graph.prerequisites("X1", 2) == (cycle[-1],)


@pytest.mark.parametrize("steps", [0, -1, MAX_STEPS + 1, 10**12])
def test_no_number_of_steps_exhausts_the_machine(steps):
    with pytest.raises(UsageError, match="cannot unfold"):
        load_task("maze").unfold(steps)


def test_a_unit_may_lead_to_the_target_over_the_next_step():
    graph = task({"X1": (), "X2": (), "Y": ("X1",)}, [["X1", "X2"]])
    assert nx.has_path(graph.unfold(2), "X2@1", "Y")


def test_a_unit_that_depends_on_its_step_before_is_no_root():
    assert task({"X1": (), "Y": ("X1",)}, [["X1"]]).roots == ()
    assert task({"X1": (), "Y": ("X1",)}).roots == ("X1",)


def test_equal_tasks_are_one_key():
    for slug in shipped_tasks():
        first, second = load_task(slug), load_task(slug)
        assert len({first, second, pickle.loads(pickle.dumps(first)), copy.deepcopy(first)}) == 1
    assert dataclasses.replace(load_task("maze"), seed=1) not in {load_task("maze")}


TITLES = [
    'a"]; "x" -> "y" <script>',
    "q]b[c{d}",
    "--> end",
    "`md` **bold**",
    "#quot; %%{init: {}}%% &quot; &amp;amp;",
    "back\\slash\\nnew",
    "a|b",
    "</node>&lt;",
    "é漢🎲",
    "]]>",
]


def hostile():
    answer = AnswerSpec(type="integer")
    units = {
        f"U{i}": Unit(title=title, category="spatial", answer=answer, parents=(f"U{i - 1}",) if i else ())
        for i, title in enumerate(TITLES)
    }
    return TaskGraph(name="t", title="T", modality="text", target=f"U{len(TITLES) - 1}", units=units)


LABELS = [f"U{i} {title}" for i, title in enumerate(TITLES)]


def test_graphml_gives_hostile_titles_back():
    read = nx.parse_graphml(write_task(hostile(), "graphml"))
    assert [read.nodes[f"U{i}"]["label"] for i in range(len(TITLES))] == LABELS
    assert set(read.edges) == set(hostile().graph.edges)


def test_dot_gives_hostile_titles_back():
    text = write_task(hostile(), "dot")
    labels = re.findall(r'label="((?:[^"\\]|\\.)*)"', text)
    assert [unescape(re.sub(r"\\(.)", r"\1", label)) for label in labels] == LABELS
    statements = re.sub(r'"(?:[^"\\]|\\.)*"', '""', text)
    assert statements.count("->") == len(TITLES) - 1


def test_mermaid_gives_hostile_titles_back():
    lines = write_task(hostile(), "mermaid").splitlines()
    labels = [re.fullmatch(r'  n\d+\(?\["([^"<>`%\\]*)"\]\)?', line)[1] for line in lines if '"' in line]
    assert [unescape(re.sub(r"#(\d+);", lambda code: chr(int(code[1])), label)) for label in labels] == LABELS
    assert sum("-->" in line for line in lines if '"' not in line) == len(TITLES) - 1
