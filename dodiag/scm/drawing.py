"""Task graphs as pictures: DOT, Mermaid and GraphML."""

from __future__ import annotations

import re
from typing import Literal

import networkx as nx

from dodiag.scm.graph import TaskGraph
from dodiag.scm.schema import CADET_CATEGORIES


def drawing_of(task: TaskGraph, form: Literal["dot", "mermaid", "graphml"], steps: int | None = None) -> str:
    """Return the text of a picture of a task graph, unfolded over `steps` chain steps where those are given."""
    graph = _picture(task, steps)
    if form == "graphml":
        return "\n".join(nx.generate_graphml(graph)) + "\n"
    return _dot(graph, task) if form == "dot" else _mermaid(graph, task)


def _picture(task: TaskGraph, steps: int | None) -> nx.DiGraph[str]:
    graph: nx.DiGraph[str] = nx.DiGraph(name=task.name)
    unfolded = steps is not None
    source = task.unfold(steps) if unfolded else task.graph
    for node, data in source.nodes(data=True):
        unit = data.get("unit", node)
        label = f"{node} {data['title']}"
        graph.add_node(node, label=label, category=data["category"], target=unit == task.target)
    graph.add_edges_from(source.edges, lag=0)
    if not unfolded:
        graph.add_edges_from(((edge.parent, edge.child) for edge in task.lagged_edges), lag=1)
    return graph


_COLOURS = ("#dbeafe", "#dcfce7", "#fef9c3", "#fde2e4", "#ede9fe", "#e0f2f1", "#ffedd5", "#e5e7eb")


def _colour(task: TaskGraph, category: str) -> str:
    names = list(CADET_CATEGORIES) + [name for name in task.category_names if name not in CADET_CATEGORIES]
    return _COLOURS[names.index(category) % len(_COLOURS)]


_ENTITY = re.compile(r"&(?=#?\w+;)")
"""An ampersand that Graphviz would read as the beginning of a character's name."""


def _dot(graph: nx.DiGraph[str], task: TaskGraph) -> str:
    def quoted(text: str) -> str:
        plain = _ENTITY.sub("&amp;", text)
        return '"' + plain.replace("\\", "\\\\").replace('"', '\\"') + '"'

    lines = [f"digraph {quoted(task.name)} {{", "  rankdir=TB;", '  node [shape=box, style="rounded,filled"];']
    for node, data in graph.nodes(data=True):
        pen = ", penwidth=2" if data["target"] else ""
        colour = _colour(task, data["category"])
        lines.append(f'  {quoted(node)} [label={quoted(data["label"])}, fillcolor="{colour}"{pen}];')
    for parent, child, data in graph.edges(data=True):
        dashed = ' [style=dashed, label="next step"]' if data["lag"] else ""
        lines.append(f"  {quoted(parent)} -> {quoted(child)}{dashed};")
    return "\n".join([*lines, "}"]) + "\n"


_MERMAID = str.maketrans(
    {
        "&": "&amp;",
        '"': "&quot;",
        "<": "&lt;",
        ">": "&gt;",
        "#": "#35;",
        "%": "#37;",
        "`": "#96;",
        "\\": "#92;",
        "\n": " ",
    }
)
"""Characters that end a label, or that Mermaid reads as a code, a directive or markup even inside one."""


def _mermaid(graph: nx.DiGraph[str], task: TaskGraph) -> str:
    names = {node: f"n{index}" for index, node in enumerate(graph)}

    lines = ["flowchart TD"]
    for node, data in graph.nodes(data=True):
        label = data["label"].translate(_MERMAID)
        lines.append(f'  {names[node]}{"([" if data["target"] else "["}"{label}"{"])" if data["target"] else "]"}')
        lines.append(f"  style {names[node]} fill:{_colour(task, data['category'])},stroke:#555,color:#111")
    for parent, child, data in graph.edges(data=True):
        arrow = "-. next step .->" if data["lag"] else "-->"
        lines.append(f"  {names[parent]} {arrow} {names[child]}")
    return "\n".join(lines) + "\n"
