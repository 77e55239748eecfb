"""Imports go one way through the rooms, and every public name is documented and has a home."""

import ast
import doctest
import importlib
import inspect
import pkgutil
from pathlib import Path

import pytest

import dodiag

ROOT = Path(dodiag.__file__).parent
BELOW = {"vocabulary", "problems", "folder_lock"}
MAY_IMPORT = {
    "vocabulary": {"problems"},
    "problems": set(),
    "folder_lock": {"problems"},
    "scm": BELOW | {"scm"},
    "interventions": BELOW | {"scm", "interventions"},
    "runners": BELOW | {"scm", "interventions", "runners"},
    "bounds": BELOW | {"bounds"},
    "benchmarks": BELOW | {"scm", "interventions", "benchmarks"},
    "evaluations": BELOW | {"scm", "interventions", "runners", "bounds", "benchmarks", "evaluations"},
    "proofs": BELOW | {"scm", "bounds", "proofs"},
    "report": BELOW | {"scm", "interventions", "bounds", "report"},
}
MODULES = sorted(m.name for m in pkgutil.walk_packages([str(ROOT)], "dodiag.") if m.name != "dodiag.__main__")


def room(module):
    return module.split(".")[1]


def imported(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("dodiag."):
            yield node.module
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.startswith("dodiag."))


@pytest.mark.parametrize("name", MODULES)
def test_a_room_imports_only_what_is_below_it(name):
    if room(name) not in MAY_IMPORT:
        return
    spec = importlib.util.find_spec(name)
    for target in imported(Path(spec.origin)):
        assert room(target) in MAY_IMPORT[room(name)], f"{name} imports {target}"


@pytest.mark.parametrize("name", MODULES)
def test_a_module_says_what_it_is_for(name):
    module = importlib.import_module(name)
    assert module.__doc__
    for public, value in vars(module).items():
        if public.startswith("_") or getattr(value, "__module__", None) != name:
            continue
        if inspect.isfunction(value) or inspect.isclass(value):
            assert inspect.getdoc(value), f"{name}.{public} has no docstring"


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_in_docstrings_are_right(name):
    result = doctest.testmod(importlib.import_module(name), optionflags=doctest.ELLIPSIS)
    assert result.failed == 0


def test_every_public_name_has_a_home():
    for name in dodiag.__all__:
        assert getattr(dodiag, name) is not None
    assert set(dir(dodiag)) >= {"load_task", "run", "contributions"}
    with pytest.raises(AttributeError, match="nothing_here"):
        getattr(dodiag, "nothing_here")  # noqa: B009
