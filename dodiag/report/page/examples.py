"""Calls that show a score: the same question failed without an answer injected, and solved with it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dodiag.vocabulary import Configuration, Contrast, arms

if TYPE_CHECKING:
    import pandas as pd

    from dodiag.scm.graph import TaskGraph


@dataclass(frozen=True, slots=True)
class Pair:
    """A question whose outcome changed with the state of one prerequisite.

    Attributes
    ----------
    model, prerequisite, instance, question : str
    draw : int
    before, after : Configuration
        Under the first it was not solved, under the second it was.
    """

    model: str
    prerequisite: str
    instance: str
    question: str
    draw: int
    before: Configuration
    after: Configuration


@dataclass(frozen=True, slots=True)
class Reply:
    """What one call came to.

    Attributes
    ----------
    configuration : Configuration
    text : str
        The model's reply.
    read : str
        The answer that was read from it, or the outcome.
    solved : bool
    """

    configuration: Configuration
    text: str
    read: str
    solved: bool


@dataclass(frozen=True, slots=True)
class Example:
    """A pair with what was asked and answered.

    Attributes
    ----------
    pair : Pair
    question, truth : str
    replies : tuple of Reply
        Before, then after.
    picture : tuple of (str, bytes) or None
        MIME type and bytes of a small copy of the instance's first picture, with what state 1 draws on it.
    shown : bool
        Whether the model was sent pictures.
    """

    pair: Pair
    question: str
    truth: str
    replies: tuple[Reply, ...]
    picture: tuple[str, bytes] | None = None
    shown: bool = True


def repaired_pairs(outcomes: pd.DataFrame, task: TaskGraph, contrast: Contrast, of_each: int = 1) -> Iterator[Pair]:
    """Yield questions of the target that one prerequisite repaired: not solved with all in a', solved with it in a.

    Parameters
    ----------
    outcomes : pandas.DataFrame
        The outcome table of one model.
    task : TaskGraph
        Its target is no chain unit.
    contrast : Contrast
    of_each : int
        How many of each prerequisite, the first ones in the order of the table.
    """
    prerequisites = task.prerequisites(task.target)
    of_target = outcomes[(outcomes["task"] == task.name) & (outcomes["unit"] == task.target)]
    keys = ["model", "instance", "question", "draw"]
    for prerequisite in prerequisites:
        pair = arms("S", contrast, prerequisite, prerequisites)
        after, before = pair.active, pair.reference
        failed = of_target[(of_target["configuration"] == before.text) & (of_target["solved"] == 0)]
        solved = of_target[(of_target["configuration"] == after.text) & (of_target["solved"] == 1)]
        repaired = failed.merge(solved, on=keys)[keys].head(of_each)
        for model, instance, question, draw in repaired.itertuples(index=False, name=None):
            yield Pair(model, prerequisite, str(instance), str(question), int(draw), before, after)
