"""Which pairs of arms an outcome table has: one comparison per model, prerequisite, contrast and context."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from dodiag.bounds.pairs import PairedSums
from dodiag.bounds.table import Paired, Structure, UnitOutcomes, by_model, steps_of
from dodiag.vocabulary import METRICS, Contrast, State, arms

if TYPE_CHECKING:
    import pandas as pd

Metric = Literal["N", "S", "NS"]


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two configurations that differ in one prerequisite, and the questions that were scored under both.

    Attributes
    ----------
    model, unit, prerequisite : str
    step : int or None
        Of a chain unit.
    contrast : Contrast
    metric : {"N", "S", "NS"}
        Which score's context it is: N keeps the others in a, S in a' (unless a context was asked for); NS has none.
    context : str
        States of the other prerequisites, as configuration text.
    paired : Paired
    instances : int
        Instances of the unit, the length of :meth:`sums`.
    """

    model: str
    unit: str
    step: int | None
    prerequisite: str
    contrast: Contrast
    metric: Metric
    context: str
    paired: Paired
    instances: int

    @property
    def sums(self) -> PairedSums:
        """The pairs as sums per instance, shape (instances,)."""
        return self.paired.sums(self.instances)


def compared(
    table: pd.DataFrame,
    task: Structure,
    contrasts: Iterable[Contrast],
    context: Mapping[str, State] | None = None,
    keep_empty: bool = False,
) -> list[Comparison]:
    """Return all comparisons of a checked table, model by model: those of the target, then those of chain units.

    Parameters
    ----------
    table : pandas.DataFrame
        As :func:`dodiag.bounds.table.checked` returns it.
    context : mapping of str to State, optional
        States of the other prerequisites instead of the main text's (CADET Defs. A.1, A.2).
    keep_empty : bool
        Whether to keep comparisons without data.
    """
    contrasts = tuple(contrasts)
    found: list[Comparison] = []
    for model, rows in by_model(table):
        found += _of_target(model, rows, task, contrasts, context or {}, keep_empty)
        found += _of_chains(model, rows, task, contrasts, keep_empty)
    return found


def _of_target(
    model: str,
    rows: pd.DataFrame,
    task: Structure,
    contrasts: Sequence[Contrast],
    context: Mapping[str, State],
    keep_empty: bool,
) -> Iterator[Comparison]:
    """Yield what N and S read; a target that belongs to a chain has neither."""
    if task.chain_of(task.target) is not None:
        return
    prerequisites = task.prerequisites(task.target)
    unit = UnitOutcomes(rows[rows["unit"] == task.target])
    for prerequisite in prerequisites:
        others = {name: state for name, state in context.items() if name != prerequisite}
        for contrast, metric in itertools.product(contrasts, METRICS):
            pair = arms(metric, contrast, prerequisite, prerequisites, others)
            active, reference = pair.active.text, pair.reference.text
            if not keep_empty and not (unit.has(active) and unit.has(reference)):
                continue
            yield Comparison(
                model,
                task.target,
                None,
                prerequisite,
                contrast,
                metric,
                pair.active.without(prerequisite).text,
                unit.paired(active, reference, prerequisite),
                len(unit.instances),
            )


def _of_chains(
    model: str, rows: pd.DataFrame, task: Structure, contrasts: Sequence[Contrast], keep_empty: bool
) -> Iterator[Comparison]:
    """Yield what NS reads: chain units at the steps where they have a single prerequisite (CADET Def. A.7)."""
    for unit in task.units:
        if task.chain_of(unit) is None:
            continue
        of_unit = rows[rows["unit"] == unit]
        for step in steps_of(of_unit):
            prerequisites = task.prerequisites(unit, step)
            if len(prerequisites) != 1:
                continue
            found = UnitOutcomes(of_unit[of_unit["step"] == step])
            for contrast in contrasts:
                pair = arms("N", contrast, prerequisites[0], prerequisites)
                active, reference = pair.active.text, pair.reference.text
                if not keep_empty and not (found.has(active) and found.has(reference)):
                    continue
                paired = found.paired(active, reference, prerequisites[0])
                yield Comparison(model, unit, step, prerequisites[0], contrast, "NS", "", paired, len(found.instances))
