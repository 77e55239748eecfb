"""The ten shipped CADET graphs equal the published structure (Tables 2-4) in every field."""

import json
from collections import Counter
from pathlib import Path

import networkx as nx
import pytest

from dodiag.scm.files import load_task, shipped_tasks

PUBLISHED = {
    task["slug"]: task
    for task in json.loads((Path(__file__).parent.parent / "data" / "cadet_tasks.json").read_text())["tasks"]
}
FORMATS = {
    "Multiple-choice": "choice",
    "Integer": "integer",
    "Letter list": "letter_list",
    "Integer list": "integer_list",
    "Free-form text": "text",
}
MODALITIES = {"Image": "image", "Multi-Image": "images", "Video": "video"}
CATEGORIES = {"P": "perception", "S": "spatial", "T": "temporal", "C": "cognitive"}


def test_exactly_the_published_tasks_ship():
    assert set(shipped_tasks()) == set(PUBLISHED)


@pytest.mark.parametrize("slug", PUBLISHED)
def test_every_field_of_a_task_is_the_published_one(slug):
    task, want = load_task(slug), PUBLISHED[slug]
    assert (task.name, task.title) == (slug, want["name"])
    assert task.modality == MODALITIES[want["modality"]]
    assert task.category == want["category"].lower()
    assert task.target == "Y"
    facts = task.published
    assert facts["figure_name"] == want["figure_name"]
    assert facts["pattern"] == want["pattern"]
    assert facts["instances"] == want["n_instances"]
    assert facts["answer_format"] == want["answer_format"]
    assert facts["questions"] == {node["id"]: node["n_questions"] for node in want["nodes"]}
    assert list(task.units) == [node["id"] for node in want["nodes"]]
    for node in want["nodes"]:
        unit = task.units[node["id"]]
        assert unit.title == node["name"]
        assert unit.category == CATEGORIES[node["category"]]
        assert unit.answer.type == FORMATS[node["answer_format"]]
        assert (task.chain_of(node["id"]) is not None) == node["markov_chain"]
        lagged = [edge.parent for edge in task.lagged_edges if edge.child == node["id"] and edge.parent != node["id"]]
        assert [*task.parents(node["id"]), *lagged] == node["parents"]


@pytest.mark.parametrize("slug", PUBLISHED)
def test_structure_is_that_of_table_3(slug):
    task, table = load_task(slug), PUBLISHED[slug]["table3"]
    assert len(task.units) == table["units"]
    assert len(task.roots) == (table["roots"] or 0)
    assert task.depth == table["depth"]
    assert len(task.parents("Y")) == table["n_parents_of_Y"]
    assert {CATEGORIES[code] for code in table["categories"]} == set(task.category_names)
    assert sum(task.published["questions"].values()) == table["n_questions"]
    assert bool(task.chains) == table["markov"]


@pytest.mark.parametrize("slug", [slug for slug, task in PUBLISHED.items() if task["markov_structure"]])
def test_markov_structure_is_the_published_one(slug):
    task, want = load_task(slug), PUBLISHED[slug]["markov_structure"]
    (chain,) = task.chains
    assert list(chain.units) == want["nodes"]
    assert chain.period == want["period"]
    assert chain.steps == want.get("n_steps")
    within = [(child, parent, 0) for parent, child in zip(chain.units, chain.units[1:], strict=False)]
    lagged = [(edge.child, edge.parent, edge.lag) for edge in task.lagged_edges]
    assert within + lagged == [(edge["child"], edge["parent"], edge["lag"]) for edge in want["lagged_edges"]]


def test_golden_totals():
    tasks = [load_task(slug) for slug in PUBLISHED]
    roots = [(task, unit) for task in tasks for unit in task.roots]
    inner = [(task, unit) for task in tasks for unit in task.units if unit not in task.roots]

    def by_category(units):
        counts = Counter(task.units[unit].category for task, unit in units)
        return [counts[name] for name in CATEGORIES.values()]

    assert sum(len(task.units) for task in tasks) == 46
    assert (len(roots), len(inner)) == (16, 30)
    assert by_category(roots + inner) == [15, 12, 10, 9]
    assert by_category(roots) == [11, 3, 2, 0]
    assert by_category(inner) == [4, 9, 8, 9]
    assert sum(sum(task.published["questions"].values()) for task in tasks) == 33_931
    assert sum(task.published["instances"] for task in tasks) == 1_144
    assert sum(bool(task.chains) for task in tasks) == 3
    scored = [task for task in tasks if task.published["pattern"] is not None]
    assert (len(scored), sum(len(task.parents("Y")) for task in scored)) == (8, 33)


def test_three_tasks_are_labelled_otherwise_than_their_target():
    tasks = [load_task(slug) for slug in PUBLISHED]
    assert sum(task.category != task.units[task.target].category for task in tasks) == 3


def test_multistep_reasoning_has_no_root_and_alternates():
    task = load_task("multistep_reasoning")
    assert task.roots == ()
    unfolded = task.unfold(3)
    assert nx.is_directed_acyclic_graph(unfolded)
    assert nx.has_path(unfolded, "X1@1", "X2@3")
    assert list(unfolded.predecessors("X1@1")) == []
    assert list(unfolded.predecessors("X1@3")) == ["X2@2"]
    assert list(unfolded.predecessors("X2@3")) == ["X1@3"]


def test_graphs_are_frozen():
    task = load_task("dice_sum")
    with pytest.raises(nx.NetworkXError):
        task.graph.add_edge("Y", "X1")
    with pytest.raises(TypeError):
        task.units["X9"] = task.units["X1"]
