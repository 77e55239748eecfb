"""Task graph files: read with all their problems at once, written as YAML, JSON, DOT, Mermaid or GraphML."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterator
from importlib import resources
from pathlib import Path
from typing import Any, Literal, get_args

from pydantic import ValidationError

from dodiag.problems import InvalidInput, Problem, shortened, shown
from dodiag.scm.checks import graph_problems, sketch_of
from dodiag.scm.drawing import drawing_of
from dodiag.scm.field_errors import explain
from dodiag.scm.graph import TaskGraph
from dodiag.scm.schema import SCHEMA_VERSION, TaskFile, wants_text
from dodiag.scm.source import Location, Source, dump_yaml, scan_source

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
    return task_of(scan_source(find_task_file(path), wants_text))


def task_of(source: Source) -> TaskGraph:
    """Return the task graph in parsed data, such as what :func:`task_to_dict` returned.

    Raises
    ------
    InvalidInput
        With every problem of the data.
    """
    parsed, problems = _parse(source)
    if isinstance(source.data, dict):
        found = graph_problems(sketch_of(source.data), source, whole=parsed is not None)
        problems = sorted([*source.problems, *problems, *found], key=lambda problem: problem.line or 0)
    if parsed is None or problems:
        raise InvalidInput(dict.fromkeys(problems))
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
    try:
        if given.is_dir():
            for name in TASK_FILES:
                if (given / name).is_file():
                    return given / name
            raise InvalidInput([Problem(str(path), None, "", "has no task.yaml", "A task pack is a folder with one.")])
        if given.exists():
            return given
    except OSError as error:
        problem = f"cannot be looked up: {error.strerror}"
        raise InvalidInput([Problem(shortened(str(path)), None, "", problem, "Check the path.")]) from None
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
        return None, [source.problem(("schema",), "schema", f"has schema {shown(version)}", cure)]
    try:
        return TaskFile.model_validate(source.data), []
    except ValidationError as error:
        return None, list(dict.fromkeys(_field_problems(error, source)))


def _field_problems(error: ValidationError, source: Source) -> Iterator[Problem]:
    items = error.errors(include_url=False)
    inner = {item["loc"][:end] for item in items for end in range(len(item["loc"]))}
    for item in items:
        if item["type"] == "too_short" and item["loc"] in inner:
            continue
        location: Location = tuple(part for part in item["loc"] if part != "[key]")
        unit = f"unit {location[1]}" if len(location) > 1 and location[0] == "units" else ""
        name = ".".join(map(str, location[2:] if unit else location))
        where = ", ".join(filter(None, (unit, name)))
        yield source.problem(location, where, *explain(item, location))


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
        return dump_yaml(task_to_dict(task))
    if form == "json":
        return json.dumps(task_to_dict(task), ensure_ascii=False, indent=2) + "\n"
    return drawing_of(task, form, steps)
