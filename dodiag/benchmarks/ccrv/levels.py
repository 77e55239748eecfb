"""Labels L1, L2, L3 from a run of the level chain, so that DCR and the planner's capabilities stand side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dodiag.benchmarks.ccrv.data import LEVELS
from dodiag.benchmarks.ccrv.scores import Labels
from dodiag.problems import UsageError

if TYPE_CHECKING:
    import pandas as pd

_NATURAL = {"L1": "", "L2": "L1=n", "L3": "L2=n"}


def level_labels(table: pd.DataFrame) -> list[Labels]:
    """Return the labels of every conclusion in an outcome table of the view ``levels``, with nothing injected.

    A conclusion ``L3-0-X2`` goes with the interaction ``L2-0`` and the entity ``L1-0`` of its own slide and draw. These
    are three answers to three questions, where the benchmark's judge labels one answer three times. A conclusion that
    lacks one of the three is left out.

    Parameters
    ----------
    table : pandas.DataFrame
        As ``dodiag.outcomes`` gives it.

    Raises
    ------
    UsageError
        If the table has no answer of a level with nothing injected.

    Examples
    --------
    >>> import pandas as pd
    >>> rows = [("i", "L1", "L1-0", "", 0, 1), ("i", "L2", "L2-0", "L1=n", 0, 1), ("i", "L3", "L3-0-X2", "L2=n", 0, 0)]
    >>> names = ["instance", "unit", "question", "configuration", "draw", "solved"]
    >>> level_labels(pd.DataFrame(rows, columns=names))
    [(1, 1, 0)]
    """
    found: dict[str, dict[tuple[str, str, int], int]] = {}
    for level, configuration in _NATURAL.items():
        rows = table[(table["unit"] == level) & (table["configuration"].fillna("") == configuration)]
        rows = rows[rows["solved"].notna()]
        if rows.empty:
            raise UsageError(f"the table has no answer of {level} with nothing injected", "Run the view levels whole.")
        places = zip(rows["instance"], rows["question"], rows["draw"], rows["solved"], strict=True)
        found[level] = {(instance, question, int(draw)): int(solved) for instance, question, draw, solved in places}
    labels = []
    for (instance, question, draw), conclusion in found["L3"].items():
        slide = question.split("-")[1]
        before = [found[level].get((instance, f"{level}-{slide}", draw)) for level in LEVELS[:2]]
        if before[0] is not None and before[1] is not None:
            labels.append((before[0], before[1], conclusion))
    return labels
