"""Task graph files: read with all their problems at once, written as YAML, JSON, DOT, Mermaid or GraphML."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterable, Iterator
from importlib import resources
from pathlib import Path
from typing import Any, Literal, get_args

import networkx as nx
import yaml
from pydantic import ValidationError

from dodiag.problems import InvalidInput, Problem
from dodiag.scm.graph import TaskGraph, edges_within_step, unfold
from dodiag.scm.schema import CADET_CATEGORIES, SCHEMA_VERSION, TaskFile
from dodiag.scm.source import Location, Source, read_source

Format = Literal["yaml", "json", "dot", "mermaid", "graphml"]
FORMATS: tuple[Format, ...] = get_args(Format)
TASK_FILES = ("task.yaml", "task.yml", "task.json")


def load_task(path: str | Path) -> TaskGraph:
    """Read and check a task graph.

    Parameters
    ----------
    path : str or Path
        A YAML or JSON file, a task pack (a folder with ``task.yaml``), or the slug of a shipped task such as
        ``dice_sum``.

    Raises
    ------
    InvalidInput
        With every problem of the file.

    Examples
    --------
    >>> task = load_task("dice_sum")
    >>> task.parents("Y")
    ('X1', 'X2', 'X3')
    """
    return task_of(read_source(find_task_file(path)))


def task_of(source: Source) -> TaskGraph:
    """Return the task graph in parsed data, such as what :func:`task_to_dict` returned.

    Raises
    ------
    InvalidInput
        With every problem of the data.
    """
    parsed, problems = _parse(source)
    if parsed is not None:
        problems += _graph_problems(parsed, source)
    if parsed is None or problems:
        raise InvalidInput(problems)
    return TaskGraph(
        name=parsed.name,
        title=parsed.title,
        version=parsed.version,
        modality=parsed.modality,
        category=parsed.category,
        categories=parsed.categories,
        target=parsed.target,
        seed=parsed.seed,
        units=parsed.units,
        chains=parsed.chains,
        published=parsed.published,
    )


def shipped_tasks() -> dict[str, Path]:
    """Return the task graph files that come with the package, by slug."""
    folder = resources.files("dodiag") / "benchmarks"
    with resources.as_file(folder) as root:
        return {file.stem: file for file in sorted(root.glob("*/graphs/*.yaml"))}


def find_task_file(path: str | Path) -> Path:
    """Return the task graph file that a path, a pack folder or a slug names.

    Raises
    ------
    InvalidInput
        If nothing is there.
    """
    given = Path(path)
    if given.is_dir():
        for name in TASK_FILES:
            if (given / name).is_file():
                return given / name
        raise InvalidInput([Problem(str(path), None, "", "has no task.yaml", "A task pack is a folder with one.")])
    if given.exists():
        return given
    shipped = shipped_tasks()
    if str(path) in shipped:
        return shipped[str(path)]
    near = difflib.get_close_matches(str(path), shipped, n=1)
    hint = f"Did you mean {near[0]}?" if near else f"Shipped tasks are {', '.join(shipped)}."
    raise InvalidInput([Problem(str(path), None, "", "is neither a file nor a shipped task", hint)])


def _parse(source: Source) -> tuple[TaskFile | None, list[Problem]]:
    if not isinstance(source.data, dict):
        cure = "Start with 'schema: 1', 'name:', 'title:', 'modality:', 'target:' and 'units:'."
        return None, [source.problem((), "", "is not a task graph (a mapping of fields)", cure)]
    if (version := source.data.get("schema")) is not None and version != SCHEMA_VERSION:
        cure = f"This release reads schema {SCHEMA_VERSION}."
        return None, [source.problem(("schema",), "schema", f"has schema {version!r}", cure)]
    try:
        return TaskFile.model_validate(source.data), []
    except ValidationError as error:
        return None, list(dict.fromkeys(_field_problems(error, source)))


def _field_problems(error: ValidationError, source: Source) -> Iterator[Problem]:
    for item in error.errors(include_url=False):
        location: Location = tuple(part for part in item["loc"] if part != "[key]")
        unit = f"unit {location[1]}" if len(location) > 1 and location[0] == "units" else ""
        name = ".".join(map(str, location[2:] if unit else location))
        where = ", ".join(filter(None, (unit, name)))
        yield source.problem(location, where, *explain(item, location))


def explain(item: Any, location: Location) -> tuple[str, str]:
    known = {
        "units": ("title", "category", "answer", "parents"),
        "answer": ("type", "choices", "min", "max", "length", "tolerance"),
        "chains": ("units", "steps", "withhold_answers"),
        "": tuple(field.alias or name for name, field in TaskFile.model_fields.items()),
    }
    match item["type"]:
        case "missing":
            return f"'{location[-1]}' is missing", f"Add '{location[-1]}:'."
        case "extra_forbidden":
            table = "answer" if "answer" in location else str(location[0]) if len(location) > 1 else ""
            return f"'{location[-1]}' is not a field", _nearest(str(location[-1]), known.get(table, known[""]))
        case "enum" | "literal_error":
            expected = str(item["ctx"]["expected"])
            words = [word.strip(" '") for word in expected.replace(" or ", ",").split(",")]
            return f"'{item['input']}' is not allowed here", _nearest(str(item["input"]), words)
        case "string_pattern_mismatch":
            return f"'{item['input']}' is not a valid name", "Use letters, digits, '_', '-' and '.', letter first."
        case "value_error":
            return str(item["ctx"]["error"]), "Correct the value."
        case "too_short" if location == ("units",):
            return "has no units", "Add at least the target."
        case _:
            return f"{item['msg'][0].lower()}{item['msg'][1:]} (found {item['input']!r})", "Correct the value."


def _nearest(word: str, known: Iterable[str]) -> str:
    options = list(known)
    near = difflib.get_close_matches(word, options, n=1, cutoff=0.5)
    return f"Did you mean '{near[0]}'?" if near else f"Use one of {', '.join(options)}."


def _graph_problems(task: TaskFile, source: Source) -> list[Problem]:
    problems = [
        *_category_problems(task, source),
        *_parent_problems(task, source),
        *_chain_problems(task, source),
    ]
    if task.target not in task.units:
        cure = _nearest(task.target, task.units)
        problems.append(source.problem(("target",), "target", f"'{task.target}' is not a unit", cure))
    if problems:
        return problems
    graph: nx.DiGraph[str] = nx.DiGraph()
    graph.add_nodes_from(task.units)
    graph.add_edges_from(edges_within_step(task.units, task.chains))
    if cycle := _cycle(graph):
        cure = "Remove one of these dependencies; a dependency on an earlier step belongs in 'chains:'."
        return [
            source.problem(("units", cycle[0], "parents"), f"unit {cycle[0]}", f"is in a cycle {_path(cycle)}", cure)
        ]
    if cycle := _cycle(unfold(task.units, task.chains, 2)):
        cure = "A unit cannot both feed a chain and depend on it."
        return [source.problem(("chains",), "chains", f"unfold into a cycle {_path(cycle)}", cure)]
    return [*_target_problems(task, graph, source)]


def _category_problems(task: TaskFile, source: Source) -> Iterator[Problem]:
    named: list[tuple[Location, str, str]] = [
        (("units", unit_id, "category"), f"unit {unit_id}", unit.category) for unit_id, unit in task.units.items()
    ]
    if task.category is not None:
        named.append((("category",), "category", task.category))
    for location, where, category in named:
        if task.categories is not None:
            if category not in task.categories:
                cure = _nearest(category, task.categories)
                yield source.problem(location, where, f"category '{category}' is not in 'categories:'", cure)
        elif category not in CADET_CATEGORIES:
            near = difflib.get_close_matches(category.lower(), CADET_CATEGORIES, n=1, cutoff=0.75)
            if near:
                cure = f"Did you mean '{near[0]}'? If not, list your own under 'categories:'."
                yield source.problem(location, where, f"category '{category}' looks misspelt", cure)


def _parent_problems(task: TaskFile, source: Source) -> Iterator[Problem]:
    for unit_id, unit in task.units.items():
        for index, parent in enumerate(unit.parents):
            location = ("units", unit_id, "parents", index)
            if parent not in task.units:
                cure = _nearest(parent, [name for name in task.units if name != unit_id])
                yield source.problem(location, f"unit {unit_id}", f"parent '{parent}' is not a unit", cure)
            elif parent == unit_id:
                cure = "Remove it; a unit that repeats belongs in 'chains:'."
                yield source.problem(location, f"unit {unit_id}", "is its own parent", cure)
            elif parent in unit.parents[:index]:
                yield source.problem(location, f"unit {unit_id}", f"names parent '{parent}' twice", "Name it once.")


def _chain_problems(task: TaskFile, source: Source) -> Iterator[Problem]:
    seen: set[str] = set()
    for number, chain in enumerate(task.chains):
        for index, unit in enumerate(chain.units):
            location = ("chains", number, "units", index)
            if unit not in task.units:
                cure = _nearest(unit, task.units)
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


def _cycle(graph: nx.DiGraph[str]) -> list[str]:
    try:
        return [edge[0] for edge in nx.find_cycle(graph)]
    except nx.NetworkXNoCycle:
        return []


def _path(cycle: list[str]) -> str:
    return " → ".join([*cycle, cycle[0]])


def _target_problems(task: TaskFile, graph: nx.DiGraph[str], source: Source) -> Iterator[Problem]:
    children = sorted(graph.successors(task.target))
    if children:
        cure = f"Make {children[0]} the target, or remove the dependency."
        yield source.problem(("target",), f"unit {task.target}", f"is the target but {children[0]} depends on it", cure)
    leading = nx.ancestors(graph, task.target) | {task.target}
    for unit in task.units:
        if unit not in leading and unit not in children:
            cure = f"Add it to the parents of a unit on the way to {task.target}, or remove it."
            yield source.problem(("units", unit), f"unit {unit}", f"does not lead to the target {task.target}", cure)


def task_to_dict(task: TaskGraph) -> dict[str, Any]:
    """Return the fields of a task graph file, without defaults; :func:`load_task` reads it back equal."""
    fields: dict[str, Any] = {
        "schema": SCHEMA_VERSION,
        "name": task.name,
        "title": task.title,
        "version": task.version,
        "modality": task.modality,
        "category": task.category,
        "categories": list(task.categories) if task.categories else None,
        "target": task.target,
        "seed": task.seed or None,
        "units": {
            unit_id: unit.model_dump(mode="json", exclude_defaults=True, exclude_none=True)
            for unit_id, unit in task.units.items()
        },
        "chains": [chain.model_dump(mode="json", exclude_defaults=True) for chain in task.chains] or None,
        "published": dict(task.published) or None,
    }
    return {name: value for name, value in fields.items() if value is not None}


def write_task(task: TaskGraph, form: Format = "yaml", steps: int | None = None) -> str:
    """Return a task graph as text.

    Parameters
    ----------
    task : TaskGraph
    form : {"yaml", "json", "dot", "mermaid", "graphml"}
        YAML and JSON read back as the same task; the others are pictures of the graph.
    steps : int, optional
        Draw the graph unfolded over this many chain steps (pictures only). As drawn, a chain's dependency on the
        previous step is a dashed edge.
    """
    if form == "yaml":
        return yaml.safe_dump(task_to_dict(task), sort_keys=False, allow_unicode=True, width=110)
    if form == "json":
        return json.dumps(task_to_dict(task), ensure_ascii=False, indent=2) + "\n"
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


def _dot(graph: nx.DiGraph[str], task: TaskGraph) -> str:
    def quoted(text: str) -> str:
        return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'

    lines = [f"digraph {quoted(task.name)} {{", "  rankdir=TB;", '  node [shape=box, style="rounded,filled"];']
    for node, data in graph.nodes(data=True):
        pen = ", penwidth=2" if data["target"] else ""
        colour = _colour(task, data["category"])
        lines.append(f'  {quoted(node)} [label={quoted(data["label"])}, fillcolor="{colour}"{pen}];')
    for parent, child, data in graph.edges(data=True):
        dashed = ' [style=dashed, label="next step"]' if data["lag"] else ""
        lines.append(f"  {quoted(parent)} -> {quoted(child)}{dashed};")
    return "\n".join([*lines, "}"]) + "\n"


def _mermaid(graph: nx.DiGraph[str], task: TaskGraph) -> str:
    names = {node: f"n{index}" for index, node in enumerate(graph)}

    def quoted(text: str) -> str:
        return text.replace("&", "&amp;").replace('"', "&quot;").replace("<", "&lt;").replace(">", "&gt;")

    lines = ["flowchart TD"]
    for node, data in graph.nodes(data=True):
        label = quoted(data["label"])
        lines.append(f'  {names[node]}{"([" if data["target"] else "["}"{label}"{"])" if data["target"] else "]"}')
        lines.append(f"  style {names[node]} fill:{_colour(task, data['category'])},stroke:#555,color:#111")
    for parent, child, data in graph.edges(data=True):
        arrow = "-. next step .->" if data["lag"] else "-->"
        lines.append(f"  {names[parent]} {arrow} {names[child]}")
    return "\n".join(lines) + "\n"
