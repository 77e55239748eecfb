"""The task graphs in which CCRV-Bench is asked, so that capabilities and contributions come from the common planner."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import resources
from types import MappingProxyType

from dodiag.benchmarks.ccrv.data import X_KEYS
from dodiag.problems import UsageError, nearest
from dodiag.scm.answers import AnswerType
from dodiag.scm.files import load_task, task_of, task_to_dict
from dodiag.scm.graph import TaskGraph
from dodiag.scm.source import Source

LADDERS: Mapping[str, str] = MappingProxyType(
    {"prediction": X_KEYS[1], "diagnosis": X_KEYS[2], "intervention": X_KEYS[3]}
)
"""The causal tasks that need the relation that X1 discovers, by view."""

VIEWS = ("items", *LADDERS, "levels")


def view_graph(view: str, answers: Mapping[str, AnswerType] | None = None) -> TaskGraph:
    """Return the task graph of a view.

    Parameters
    ----------
    view : str
        ``items`` (causal content E, answer A), ``prediction``, ``diagnosis``, ``intervention`` (discovery X1, then X2,
        X3 or X4), or ``levels`` (L1, L2, L3).
    answers : mapping of str to AnswerType, optional
        Answer types of units where they are not those of the file: scenes with known truth need no judge.

    Raises
    ------
    UsageError
        If there is no such view.

    Examples
    --------
    >>> view_graph("levels").parents("L3")
    ('L2',)
    """
    if view not in VIEWS:
        raise UsageError(f"there is no view '{view}'", nearest(view, VIEWS))
    with resources.as_file(resources.files("dodiag.benchmarks.ccrv") / "views" / f"{view}.yaml") as path:
        task = load_task(path)
    if not answers:
        return task
    data = task_to_dict(task)
    for unit, kind in answers.items():
        data["units"][unit]["answer"] = {"type": kind.value}
    return task_of(Source(view, data))
