"""Read YAML and JSON so that every value keeps the line it stood on.

YAML is read by its 1.2 core rules: only ``true`` and ``false`` are booleans, so ``choices: [yes, no]`` stays text, and
``010`` or ``1:30`` are what they look like. Where a format wants text, a number or a truth value is the text that was
written: ``version: 1.10`` is not 1.1. Aliases are counted before anything is expanded.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from dodiag.problems import InvalidInput, Problem, shortened, shown

Location = tuple[str | int, ...]
TextPlace = Callable[[Location], bool]
"""Whether a format wants text at a location."""

MAX_BYTES = 20_000_000
MAX_VALUES = 200_000
MAX_DEPTH = 100

_TAG = "tag:yaml.org,2002:"


class _CoreLoader(yaml.SafeLoader):
    """PyYAML's safe loader with the scalar rules of YAML 1.2's core schema."""


_CoreLoader.yaml_implicit_resolvers = {}
for _tag, _pattern, _first in (
    ("bool", r"^(?:true|True|TRUE|false|False|FALSE)$", "tTfF"),
    ("int", r"^[-+]?[0-9]+$", "-+0123456789"),
    ("float", r"^[-+]?(?:[0-9]+\.[0-9]*|\.[0-9]+|[0-9]+(?=[eE]))(?:[eE][-+]?[0-9]+)?$", "-+.0123456789"),
    ("null", r"^(?:~|null|Null|NULL|)$", ["~", "n", "N", ""]),
):
    _CoreLoader.add_implicit_resolver(f"{_TAG}{_tag}", re.compile(_pattern), list(_first))


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
    """A parsed file: its data, and the 1-based line of every value by its location in the data.

    Attributes
    ----------
    file : str
        As the user named it.
    data : Any
        Mappings, lists, text, numbers, truth values and None.
    lines : dict of tuple to int
        Empty where the format has no lines.
    problems : tuple of Problem
        What is wrong with the file but does not hide what else is: keys that stand twice.
    """

    file: str
    data: Any
    lines: dict[Location, int] = field(default_factory=dict)
    problems: tuple[Problem, ...] = ()

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
    """Return a file's text, without a byte order mark.

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
        content = bytearray()
        with path.open("rb") as stream:
            while len(content) <= MAX_BYTES and (piece := stream.read(2**16)):
                content += piece
        if len(content) > MAX_BYTES:
            raise refuse(f"is larger than {MAX_BYTES // 1_000_000} MB", "A task graph file is a few kilobytes.")
        return content.decode("utf-8-sig")
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
    source = scan_source(path)
    if source.problems:
        raise InvalidInput(source.problems)
    return source


def scan_source(path: Path, is_text: TextPlace = lambda location: False) -> Source:
    """Read a YAML or JSON file whose ``problems`` are still to be reported, together with those that its data has.

    Parameters
    ----------
    path : Path
    is_text : callable
        Tells of a location whether the format wants text there; what YAML would read as a number or a truth value is
        then the text that was written. JSON says itself what is text.

    Raises
    ------
    InvalidInput
        If it cannot be read or parsed, holds a number that is none, or expands aliases without end.
    """
    text = read_text(path)
    return _scan_json(text, str(path)) if path.suffix.lower() == ".json" else _scan_yaml(text, str(path), is_text)


def _too_deep(file: str, line: int | None = None) -> InvalidInput:
    problem = f"is nested too deeply (more than {MAX_DEPTH} levels)"
    return InvalidInput([Problem(file, line, "", problem, "Flatten the file.")])


def _repeated(file: str, line: int | None, key: str) -> Problem:
    return Problem(file, line, shortened(key), f"{shown(key)} stands twice", "Give every key once.")


def _scan_json(text: str, file: str) -> Source:
    """Parse JSON; only syntax errors have a line."""
    problems: list[Problem] = []

    def pairs(items: list[tuple[str, Any]]) -> dict[str, Any]:
        counts = Counter(key for key, _ in items)
        problems.extend(_repeated(file, None, key) for key, count in counts.items() if count > 1)
        return dict(items)

    def refuse(number: str) -> InvalidInput:
        what = f"holds {shortened(number)}, which is no number that can be used"
        return InvalidInput([Problem(file, None, "", what, "Write a finite number.")])

    def constant(name: str) -> float:
        raise refuse(name)

    def fraction(digits: str) -> float:
        if not math.isfinite(number := float(digits)):
            raise refuse(digits)
        return number

    def whole(digits: str) -> int:
        try:
            return int(digits)
        except ValueError:
            raise refuse(digits) from None

    try:
        data = json.loads(text, object_pairs_hook=pairs, parse_constant=constant, parse_float=fraction, parse_int=whole)
    except json.JSONDecodeError as error:
        raise InvalidInput(
            [Problem(file, error.lineno, "", f"is not JSON: {error.msg}", "Correct the syntax.")]
        ) from None
    except RecursionError:
        raise _too_deep(file) from None
    _refuse_deep(data, file)
    if "\\u" in text and not _is_text(data):
        what = "holds one half of a surrogate pair (\\ud800 to \\udfff)"
        raise InvalidInput([Problem(file, None, "", what, "Write the character itself.")])
    return Source(file, data, problems=tuple(problems))


def _is_text(data: Any) -> bool:
    try:
        json.dumps(data, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return False
    return True


def _refuse_deep(data: Any, file: str) -> None:
    level = [data]
    for _ in range(MAX_DEPTH):
        containers = (value.values() if isinstance(value, dict) else value for value in level)
        level = [child for values in containers for child in values if isinstance(child, (dict, list))]
        if not level:
            return
    raise _too_deep(file)


def _scan_yaml(text: str, file: str, is_text: TextPlace) -> Source:
    """Parse YAML, keeping lines; refuse merge keys, tags and alias bombs."""

    def refuse(line: int | None, problem: str, cure: str) -> InvalidInput:
        return InvalidInput([Problem(file, line, "", f"is not YAML: {problem}", cure)])

    try:
        loader = _CoreLoader(text)
        try:
            root = loader.get_single_node()
        finally:
            loader.dispose()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        message = str(error.problem or error.context)
        cure = next((cure for part, cure in _CURES.items() if part in message), "Correct the syntax.")
        raise refuse(None if mark is None else mark.line + 1, message, cure) from None
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        raise refuse(line, f"it holds the character #x{error.character:04x}", "Save it as plain text.") from None
    except yaml.YAMLError as error:
        raise refuse(None, str(error), "Save it as plain text.") from None
    except RecursionError:
        raise _too_deep(file) from None
    if root is None:
        return Source(file, None)
    reader = _Reader(file, is_text)
    reader.refuse_bombs(root)
    data = reader.value(root, ())
    if reader.problems:
        raise InvalidInput(sorted([*reader.problems, *reader.repeated], key=lambda problem: problem.line or 0))
    return Source(file, data, reader.lines, tuple(reader.repeated))


_CURES = {
    "'\\t'": "Indent with spaces, not with tabs.",
    "mapping values are not allowed": "Put a text with ': ' in it into quotes, and every field on a line of its own.",
    "found character": "Put the text into quotes.",
    "another document": "Write one task a file, without '---' between.",
}
"""Cures of PyYAML's messages, by a part of the message."""


class _Reader:
    def __init__(self, file: str, is_text: TextPlace) -> None:
        self.file = file
        self.is_text = is_text
        self.lines: dict[Location, int] = {}
        self.problems: list[Problem] = []
        self.repeated: list[Problem] = []

    def problem(self, node: yaml.Node, where: str, problem: str, cure: str) -> None:
        self.problems.append(Problem(self.file, node.start_mark.line + 1, where, problem, cure))

    def refuse_bombs(self, root: yaml.Node) -> None:
        """Refuse aliases that contain themselves, or that expand to too many values or too many levels."""
        extents: dict[int, tuple[int, int]] = {}
        open_nodes: set[int] = set()

        def extent(node: yaml.Node) -> tuple[int, int]:
            """Return how many values and levels a node expands to."""
            if id(node) in open_nodes:
                raise InvalidInput(
                    [Problem(self.file, node.start_mark.line + 1, "", "an alias contains itself", "Remove the alias.")]
                )
            if id(node) not in extents:
                open_nodes.add(id(node))
                children: list[yaml.Node] = []
                if isinstance(node, yaml.MappingNode):
                    children = [child for pair in node.value for child in pair]
                elif isinstance(node, yaml.SequenceNode):
                    children = node.value
                inner = [extent(child) for child in children]
                depth = 1 + max((levels for _, levels in inner), default=0)
                if depth > MAX_DEPTH:
                    raise _too_deep(self.file, node.start_mark.line + 1)
                extents[id(node)] = 1 + sum(size for size, _ in inner), depth
                open_nodes.discard(id(node))
            return extents[id(node)]

        if extent(root)[0] > MAX_VALUES:
            raise InvalidInput(
                [Problem(self.file, None, "", f"expands to more than {MAX_VALUES} values", "Write aliases out.")]
            )

    def value(self, node: yaml.Node, location: Location) -> Any:
        self.lines[location] = node.start_mark.line + 1
        if isinstance(node, yaml.MappingNode):
            return self.mapping(node, location)
        if isinstance(node, yaml.SequenceNode):
            return [self.value(child, (*location, index)) for index, child in enumerate(node.value)]
        return self.scalar(node, location)

    def scalar(self, node: yaml.Node, location: Location) -> Any:
        kind, written = node.tag.removeprefix(_TAG), str(node.value)
        if kind not in _SCALARS:
            self.problem(node, shown(written), f"the tag {node.tag} is not read", "Write a plain value.")
            return None
        if kind != "null" and self.is_text(location):
            kind = "str"
        try:
            return _SCALARS[kind](written)
        except ValueError:
            self.problem(node, "", f"{shown(written)} is no {_KINDS[kind]} that can be read", "Write another value.")
            return None

    def mapping(self, node: yaml.MappingNode, location: Location) -> dict[str, Any]:
        result: dict[str, Any] = {}
        for key_node, value_node in node.value:
            if not isinstance(key_node, yaml.ScalarNode) or key_node.value == "<<":
                self.problem(key_node, "", "a key has to be a plain word", "Write the mapping out.")
                continue
            key = str(key_node.value)
            line = key_node.start_mark.line + 1
            if key in result:
                self.repeated.append(_repeated(self.file, line, key))
                continue
            result[key] = self.value(value_node, (*location, key))
            self.lines[(*location, key)] = line
        return result


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text} is not finite")
    return number


def _truth(text: str) -> bool:
    if text.lower() not in ("true", "false"):
        raise ValueError(f"{text} is neither true nor false")
    return text.lower() == "true"


def _text(text: str) -> str:
    text.encode()
    return text


_SCALARS: dict[str, Callable[[str], Any]] = {
    "null": lambda text: None,
    "bool": _truth,
    "int": int,
    "float": _finite,
    "str": _text,
}
_KINDS = {"bool": "truth value", "int": "whole number", "float": "number", "str": "text"}
