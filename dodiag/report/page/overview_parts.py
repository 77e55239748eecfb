"""Words and cells that the sections of the overview share."""

from __future__ import annotations

from dodiag.bounds.aggregates import Average
from dodiag.report.numbers import limits, number, spread
from dodiag.report.overview import Overview
from dodiag.report.page.markup import Content, tag
from dodiag.vocabulary import Contrast

MEAN = "mean of models"
"""What the rows over models are called."""


def counted(count: int, word: str) -> str:
    """Return a number of things, ``1 task`` or ``4 tasks``."""
    return f"{count:,} {word}{'' if count == 1 else 's'}"


def average_cell(found: Average | None, signed: bool = False) -> Content:
    """Return an average with its limits, and below them its standard deviation and count."""
    if found is None or found.value is None:
        return "–"
    beside = limits(found.lower, found.upper, signed)
    return tag(
        "span",
        tag("b", number(found.value, signed)),
        None if not beside else tag("span", f" {beside}", class_="faint"),
        tag("small", spread(found)) if spread(found) else None,
        class_="average",
        **({"title": found.reason} if found.reason else {}),
    )


def named(model: str | None) -> Content:
    """Return a model's name, or what the mean over models is called."""
    return tag("b", MEAN) if model is None else model


def models_and_mean(found: Overview) -> tuple[str | None, ...]:
    """Return the models, and None for their mean where there are several."""
    return (*found.models, None) if len(found.models) > 1 else found.models


def capital(text: str) -> str:
    """Return text that starts with a capital letter."""
    return text[:1].upper() + text[1:]


def task_name(found: Overview, name: str) -> Content:
    """Return a task's title, with its name where two tasks have one title."""
    task = found.task(name)
    alone = [other.title for other in found.tasks].count(task.title) == 1
    return task.title if alone else tag("span", task.title, " ", tag("code", name))


def symbol(contrast: str) -> str:
    """Return a contrast in the paper's notation."""
    return Contrast.parse(contrast).symbol
