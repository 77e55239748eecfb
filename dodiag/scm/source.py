"""Read YAML and JSON so that every value keeps the line it stood on.

YAML is read by its 1.2 core rules: only ``true`` and ``false`` are booleans, so ``choices: [yes, no]`` stays text, and
``010`` or ``1:30`` are what they look like. Aliases are counted before anything is expanded.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from dodiag.problems import InvalidInput, Problem

Location = tuple[str | int, ...]

MAX_BYTES = 20_000_000
MAX_VALUES = 200_000


class _CoreLoader(yaml.SafeLoader):
    """PyYAML's safe loader with the scalar rules of YAML 1.2's core schema."""


_CoreLoader.yaml_implicit_resolvers = {}
for _tag, _pattern, _first in (
    ("bool", r"^(?:true|True|TRUE|false|False|FALSE)$", "tTfF"),
    ("int", r"^[-+]?(?:0|[1-9][0-9]*)$", "-+0123456789"),
    ("float", r"^[-+]?(?:[0-9]+\.[0-9]*|\.[0-9]+|[0-9]+)(?:[eE][-+]?[0-9]+)?$", "-+.0123456789"),
    ("null", r"^(?:~|null|Null|NULL|)$", ["~", "n", "N", ""]),
):
    _CoreLoader.add_implicit_resolver(f"tag:yaml.org,2002:{_tag}", re.compile(_pattern), list(_first))


class _CarefulDumper(yaml.SafeDumper):
    """Quotes every text that YAML 1.1 or 1.2 would read as something else."""


_CarefulDumper.yaml_implicit_resolvers = {
    first: [
        *yaml.SafeDumper.yaml_implicit_resolvers.get(first, ()),
        *_CoreLoader.yaml_implicit_resolvers.get(first, ()),
    ]
    for first in {*yaml.SafeDumper.yaml_implicit_resolvers, *_CoreLoader.yaml_implicit_resolvers}
}


def dump_yaml(data: Any) -> str:
    """Return data as YAML that this module, and any other reader, reads back equal."""
    return yaml.dump(data, Dumper=_CarefulDumper, sort_keys=False, allow_unicode=True, width=110)


@dataclass(frozen=True)
class Source:
    """A parsed file: its data, and the 1-based line of every value by its location in the data."""

    file: str
    data: Any
    lines: dict[Location, int] = field(default_factory=dict)

    def line(self, location: Location) -> int | None:
        """Return the line of the value at a location, or of its nearest container that has one."""
        for end in range(len(location), -1, -1):
            if (found := self.lines.get(location[:end])) is not None:
                return found
        return None

    def problem(self, location: Location, where: str, problem: str, cure: str) -> Problem:
        """Return a problem placed at a location of this file."""
        return Problem(self.file, self.line(location), where, problem, cure)


def read_text(path: Path) -> str:
    """Return a file's text.

    Raises
    ------
    InvalidInput
        If the file cannot be read, is too large, or is not UTF-8.
    """

    def refuse(problem: str, cure: str) -> InvalidInput:
        return InvalidInput([Problem(str(path), None, "", problem, cure)])

    try:
        if path.is_dir():
            raise refuse("is a folder, not a file", "Name the file itself.")
        if path.stat().st_size > MAX_BYTES:
            raise refuse(f"is larger than {MAX_BYTES // 1_000_000} MB", "A task graph file is a few kilobytes.")
        return path.read_bytes().decode("utf-8-sig")
    except FileNotFoundError:
        raise refuse("does not exist", "Check the path.") from None
    except UnicodeDecodeError as error:
        raise refuse(f"is not UTF-8 text (byte {error.start})", "Save it as UTF-8.") from None
    except OSError as error:
        raise refuse(f"cannot be read: {error.strerror}", "Check the file's permissions.") from None


def read_source(path: Path) -> Source:
    """Read a YAML or JSON file, by its suffix (``.json`` is JSON, anything else YAML).

    Raises
    ------
    InvalidInput
        If it cannot be read or parsed, repeats a key, or expands aliases without end.
    """
    text = read_text(path)
    return parse_json(text, str(path)) if path.suffix.lower() == ".json" else parse_yaml(text, str(path))


def parse_json(text: str, file: str) -> Source:
    """Parse JSON; only syntax errors have a line."""
    repeated: list[str] = []

    def pairs(items: list[tuple[str, Any]]) -> dict[str, Any]:
        result = dict(items)
        if len(result) < len(items):
            seen: set[str] = set()
            repeated.extend(key for key, _ in items if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        return result

    try:
        data = json.loads(text, object_pairs_hook=pairs)
    except json.JSONDecodeError as error:
        raise InvalidInput(
            [Problem(file, error.lineno, "", f"is not JSON: {error.msg}", "Correct the syntax.")]
        ) from None
    except RecursionError:
        raise InvalidInput([Problem(file, None, "", "is nested too deeply", "Flatten the file.")]) from None
    if repeated:
        raise InvalidInput(
            [Problem(file, None, key, f"'{key}' stands twice", "Give every key once.") for key in repeated]
        )
    return Source(file, data)


def parse_yaml(text: str, file: str) -> Source:
    """Parse YAML, keeping lines; refuse repeated keys, merge keys, tags and alias bombs."""
    try:
        loader = _CoreLoader(text)
        try:
            root = loader.get_single_node()
        finally:
            loader.dispose()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = None if mark is None else mark.line + 1
        raise InvalidInput(
            [Problem(file, line, "", f"is not YAML: {error.problem or error.context}", "Correct the syntax.")]
        ) from None
    except yaml.YAMLError as error:
        raise InvalidInput([Problem(file, None, "", f"is not YAML: {error}", "Save it as plain text.")]) from None
    except RecursionError:
        raise InvalidInput([Problem(file, None, "", "is nested too deeply", "Flatten the file.")]) from None
    if root is None:
        return Source(file, None)
    reader = _Reader(file)
    reader.refuse_alias_bombs(root)
    data = reader.value(root, ())
    if reader.problems:
        raise InvalidInput(reader.problems)
    return Source(file, data, reader.lines)


class _Reader:
    def __init__(self, file: str) -> None:
        self.file = file
        self.lines: dict[Location, int] = {}
        self.problems: list[Problem] = []

    def problem(self, node: yaml.Node, where: str, problem: str, cure: str) -> None:
        self.problems.append(Problem(self.file, node.start_mark.line + 1, where, problem, cure))

    def refuse_alias_bombs(self, root: yaml.Node) -> None:
        sizes: dict[int, int] = {}
        open_nodes: set[int] = set()

        def size(node: yaml.Node) -> int:
            if id(node) in open_nodes:
                raise InvalidInput(
                    [Problem(self.file, node.start_mark.line + 1, "", "an alias contains itself", "Remove the alias.")]
                )
            if id(node) not in sizes:
                open_nodes.add(id(node))
                children: list[yaml.Node] = []
                if isinstance(node, yaml.MappingNode):
                    children = [child for pair in node.value for child in pair]
                elif isinstance(node, yaml.SequenceNode):
                    children = node.value
                sizes[id(node)] = 1 + sum(map(size, children))
                open_nodes.discard(id(node))
            return sizes[id(node)]

        if size(root) > MAX_VALUES:
            raise InvalidInput(
                [Problem(self.file, None, "", f"expands to more than {MAX_VALUES} values", "Write aliases out.")]
            )

    def value(self, node: yaml.Node, location: Location) -> Any:
        self.lines[location] = node.start_mark.line + 1
        if isinstance(node, yaml.MappingNode):
            return self.mapping(node, location)
        if isinstance(node, yaml.SequenceNode):
            return [self.value(child, (*location, index)) for index, child in enumerate(node.value)]
        constructed = _construct_scalar(node)
        if constructed is _UNKNOWN:
            self.problem(node, str(node.value), f"the tag {node.tag} is not read", "Write a plain value.")
            return None
        return constructed

    def mapping(self, node: yaml.MappingNode, location: Location) -> dict[str, Any]:
        result: dict[str, Any] = {}
        for key_node, value_node in node.value:
            if not isinstance(key_node, yaml.ScalarNode) or key_node.value == "<<":
                self.problem(key_node, "", "a key has to be a plain word", "Write the mapping out.")
                continue
            key = str(key_node.value)
            if key in result:
                self.problem(key_node, key, f"'{key}' stands twice", "Give every key once.")
                continue
            result[key] = self.value(value_node, (*location, key))
            self.lines[(*location, key)] = key_node.start_mark.line + 1
        return result


_UNKNOWN = object()
_SCALARS: dict[str, Callable[[str], Any]] = {
    "null": lambda text: None,
    "bool": lambda text: text.lower() == "true",
    "int": int,
    "float": float,
    "str": str,
}


def _construct_scalar(node: yaml.Node) -> Any:
    convert = _SCALARS.get(node.tag.removeprefix("tag:yaml.org,2002:"))
    return _UNKNOWN if convert is None else convert(node.value)
