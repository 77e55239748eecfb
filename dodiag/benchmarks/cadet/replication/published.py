"""What CADET published, as data: the 3,168 scores of Figures 23-30 and the tables and figures beside them.

The tables lie in ``published/``; values are as printed. Contrasts are written as everywhere in the package (``1,n``).
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import NamedTuple

from dodiag.vocabulary import Contrast

SOURCE = "CADET (arXiv:2609.38851v1)"
CATEGORIES = ("perception", "spatial", "temporal", "cognitive")
CAPABILITIES = ("NC", "IC", "RC")

ROUNDING = 0.005
"""Half a unit of the last printed digit of a score."""


@dataclass(frozen=True, slots=True)
class Model:
    """A model of the publication: the preset that simulates its scores, its names there, and its group."""

    preset: str
    short_name: str
    full_name: str
    group: str


class ScoreKey(NamedTuple):
    """What a contribution score of a target is about; `model` is the preset's name."""

    task: str
    prerequisite: str
    contrast: Contrast
    metric: str
    model: str


class Spread(NamedTuple):
    """A published mean and sample standard deviation."""

    mean: float
    sd: float


@cache
def models() -> tuple[Model, ...]:
    """Return the twelve models in the publication's order."""
    return tuple(Model(**row) for row in _rows("models"))


@cache
def scores() -> Mapping[ScoreKey, float]:
    """Return the scores of Figures 23-30.

    Examples
    --------
    >>> len(scores())
    3168
    >>> scores()[ScoreKey("dice_sum", "X3", Contrast.parse("1,n"), "S", "gpt-5.4")]
    0.92
    """
    return {
        ScoreKey(row["task"], row["prerequisite"], Contrast.parse(row["contrast"]), row["metric"], model.preset): float(
            row[model.preset]
        )
        for row in _rows("scores")
        for model in models()
    }


@cache
def categories() -> Mapping[tuple[str, str], str]:
    """Return the category of each scored prerequisite by (task, prerequisite)."""
    return {(row["task"], row["prerequisite"]): row["category"] for row in _rows("scores")}


@cache
def prerequisites() -> Mapping[str, tuple[str, ...]]:
    """Return the prerequisites of the target of each of the eight scored tasks."""
    found: dict[str, tuple[str, ...]] = {}
    for task, prerequisite in categories():
        found[task] = (*found.get(task, ()), prerequisite)
    return found


@cache
def figure_20() -> Mapping[tuple[str, str, Contrast, str], float]:
    """Return the means over models by (task, prerequisite, contrast, metric)."""
    return {
        (row["task"], row["prerequisite"], Contrast.parse(row["contrast"]), row["metric"]): float(row["figure_20"])
        for row in _rows("scores")
    }


@cache
def figure_9() -> Mapping[tuple[str, Contrast, str], float]:
    """Return the means by category of the prerequisite, by (metric, contrast, category)."""
    return {
        (row["metric"], Contrast.parse(row["contrast"]), category): float(row[category])
        for row in _rows("figure_9")
        for category in CATEGORIES
    }


@cache
def figure_21() -> Mapping[tuple[str, str, str], float]:
    """Return accuracies under RC, NC, q, 1t and IC by (preset or ``mean``, category or ``overall``, state)."""
    return {(row["preset"], row["category"], row["state"]): float(row["accuracy"]) for row in _rows("figure_21")}


@cache
def nonroot() -> Mapping[tuple[str, str, str], Spread]:
    """Return Table 9, capabilities of non-root units, by (preset, category or ``overall``, metric)."""
    return {
        (row["preset"], row["category"], row["metric"]): Spread(float(row["mean"]), float(row["sd"]))
        for row in _rows("nonroot")
    }


@cache
def root() -> Mapping[str, Spread]:
    """Return the root columns of Table 7, NC over a model's 16 root units, by preset."""
    return {row["preset"]: Spread(float(row["mean"]), float(row["sd"])) for row in _rows("root")}


@cache
def root_categories() -> Mapping[str, Spread]:
    """Return the root columns of Table 6, mean and deviation over models of the root NC, by category."""
    return {row["category"]: Spread(float(row["mean"]), float(row["sd"])) for row in _rows("root_categories")}


def _rows(name: str) -> Iterator[dict[str, str]]:
    file = resources.files("dodiag.benchmarks.cadet.replication") / "published" / f"{name}.csv"
    yield from csv.DictReader(file.read_text(encoding="utf-8").splitlines())
