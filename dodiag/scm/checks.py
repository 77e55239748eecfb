"""Checks of a task graph that need the whole graph: names, cycles, chains, the way to the target."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import networkx as nx

from dodiag.problems import Problem, nearest
from dodiag.scm.graph import edges_within_step, unfold
from dodiag.scm.schema import CADET_CATEGORIES, Chain
from dodiag.scm.source import Location, Source


@dataclass(frozen=True, slots=True)
class SketchUnit:
    """What can be read of a unit, whether or not all of it is right."""

    title: str
    category: str
    parents: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Sketch:
    """What can be read of a task graph file, so that its graph is checked even where some fields are wrong."""

    units: Mapping[str, SketchUnit]
    chains: tuple[Chain, ...]
    target: str | None
    category: str | None
    categories: tuple[str, ...] | None


def sketch_of(data: Mapping[str, Any]) -> Sketch:
    """Return what can be read of a task graph file's data; what has the wrong shape is left out."""

    def text(value: Any) -> str:
        return value if isinstance(value, str) else ""

    def texts(value: Any) -> tuple[str, ...]:
        """Keep every place, so that lines are found; what is no text is left empty."""
        return tuple(map(text, value)) if isinstance(value, list) else ()

    units = data.get("units")
    named = units if isinstance(units, dict) else {}
    fields = {name: unit if isinstance(unit, dict) else {} for name, unit in named.items()}
    chains = data.get("chains")
    cycles = [texts(c.get("units")) if isinstance(c, dict) else () for c in chains] if isinstance(chains, list) else []
    return Sketch(
        units={
            name: SketchUnit(text(unit.get("title")), text(unit.get("category")), texts(unit.get("parents")))
            for name, unit in fields.items()
        },
        chains=tuple(map(_unchecked_chain, cycles)),
        target=text(data.get("target")) or None,
        category=text(data.get("category")) or None,
        categories=texts(data.get("categories")) or None,
    )


def _unchecked_chain(units: tuple[str, ...]) -> Chain:
    return Chain.model_construct(units=units, steps=None, withhold_answers=False)


def graph_problems(task: Sketch, source: Source, whole: bool) -> list[Problem]:
    """Return every problem of a task's graph: categories, parents, chains, cycles, units that lead nowhere.

    Parameters
    ----------
    task : Sketch
    source : Source
        The file, for lines.
    whole : bool
        Whether every field could be read; only then is it said that a unit does not lead to the target.
    """
    names = [*_parent_problems(task, source), *_target_name_problems(task, source)]
    chains = list(_chain_problems(task, source))
    problems = [*_category_problems(task, source), *names, *chains]
    readable = () if chains else tuple(chain for chain in task.chains if chain.units and all(chain.units))
    graph: nx.DiGraph[str] = nx.DiGraph()
    graph.add_nodes_from(task.units)
    edges = edges_within_step(task.units, readable)
    graph.add_edges_from((a, b) for a, b in edges if a in task.units and a != b)
    cycles = _cycles(graph)
    for cycle in cycles:
        place, where = ("units", cycle[0], "parents"), f"unit {cycle[0]}"
        cure = "Remove one of these dependencies; a dependency on an earlier step belongs in 'chains:'."
        problems.append(source.problem(place, where, f"is in a cycle {_path(cycle)}", cure))
    if not names and not chains and not cycles:
        for cycle in _cycles(unfold(task.units, readable, 2))[:1]:
            cure = "A unit cannot both feed a chain and depend on it."
            problems.append(source.problem(("chains",), "chains", f"unfold into a cycle {_path(cycle)}", cure))
    if whole and not names and not chains:
        problems += _target_problems(task, graph, source)
    return problems


def _target_name_problems(task: Sketch, source: Source) -> Iterator[Problem]:
    if task.target is not None and task.units and task.target not in task.units:
        cure = nearest(task.target, task.units)
        yield source.problem(("target",), "target", f"'{task.target}' is not a unit", cure)


def _category_problems(task: Sketch, source: Source) -> Iterator[Problem]:
    named: list[tuple[Location, str, str]] = [
        (("units", unit_id, "category"), f"unit {unit_id}", unit.category) for unit_id, unit in task.units.items()
    ]
    if task.category is not None:
        named.append((("category",), "category", task.category))
    for location, where, category in named:
        if not category:
            continue
        if task.categories is not None:
            if category not in task.categories:
                cure = nearest(category, task.categories)
                yield source.problem(location, where, f"category '{category}' is not in 'categories:'", cure)
        elif category not in CADET_CATEGORIES:
            near = difflib.get_close_matches(category.lower(), CADET_CATEGORIES, n=1, cutoff=0.75)
            if near:
                cure = f"Did you mean '{near[0]}'? If not, list your own under 'categories:'."
                yield source.problem(location, where, f"category '{category}' looks misspelt", cure)


def _parent_problems(task: Sketch, source: Source) -> Iterator[Problem]:
    for unit_id, unit in task.units.items():
        for index, parent in enumerate(unit.parents):
            location = ("units", unit_id, "parents", index)
            if not parent:
                continue
            if parent not in task.units:
                cure = nearest(parent, [name for name in task.units if name != unit_id])
                yield source.problem(location, f"unit {unit_id}", f"parent '{parent}' is not a unit", cure)
            elif parent == unit_id:
                cure = "Remove it; a unit that repeats belongs in 'chains:'."
                yield source.problem(location, f"unit {unit_id}", "is its own parent", cure)
            elif parent in unit.parents[:index]:
                yield source.problem(location, f"unit {unit_id}", f"names parent '{parent}' twice", "Name it once.")


def _chain_problems(task: Sketch, source: Source) -> Iterator[Problem]:
    seen: set[str] = set()
    for number, chain in enumerate(task.chains):
        for index, unit in enumerate(chain.units):
            location = ("chains", number, "units", index)
            if not unit:
                continue
            if unit not in task.units:
                cure = nearest(unit, task.units)
                yield source.problem(location, "chains", f"chain unit '{unit}' is not in the graph", cure)
            elif unit in seen:
                cure = "A unit is in one chain, once."
                yield source.problem(location, f"unit {unit}", "is in a chain twice", cure)
            else:
                allowed = chain.units[index - 1 : index]
                inner = [p for p in task.units[unit].parents if p in chain.units and p not in allowed and p != unit]
                for parent in inner:
                    place = ("units", unit, "parents")
                    cure = "Remove it; the chain itself says that each step depends on the step before."
                    yield source.problem(place, f"unit {unit}", f"names its chain's unit '{parent}' as a parent", cure)
            seen.add(unit)


def _cycles(graph: nx.DiGraph[str]) -> list[list[str]]:
    """Return one cycle of every set of nodes that lead to each other, in the order of the graph's nodes."""
    place = {node: index for index, node in enumerate(graph)}
    cycles = []
    for component in nx.strongly_connected_components(graph):
        if len(component) > 1:
            inner = nx.DiGraph(edge for edge in graph.edges if component.issuperset(edge))
            cycles.append([edge[0] for edge in nx.find_cycle(inner, min(component, key=place.__getitem__))])
    return sorted(cycles, key=lambda cycle: place[cycle[0]])


def _path(cycle: list[str]) -> str:
    return " → ".join([*cycle, cycle[0]])


def _target_problems(task: Sketch, graph: nx.DiGraph[str], source: Source) -> Iterator[Problem]:
    if task.target is None or task.target not in graph:
        return
    children = sorted(graph.successors(task.target))
    if children:
        cure = f"Make {children[0]} the target, or remove the dependency."
        yield source.problem(("target",), f"unit {task.target}", f"is the target but {children[0]} depends on it", cure)
    over_steps = graph.copy()
    over_steps.add_edges_from((chain.units[-1], chain.units[0]) for chain in task.chains)
    leading = nx.ancestors(over_steps, task.target) | {task.target}
    for unit in task.units:
        if unit not in leading and unit not in children:
            cure = f"Add it to the parents of a unit on the way to {task.target}, or remove it."
            yield source.problem(("units", unit), f"unit {unit}", f"does not lead to the target {task.target}", cure)
