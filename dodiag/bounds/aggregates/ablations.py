"""What the ablation states change: the answer without the picture's annotation, the question without an answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dodiag.bounds.aggregates.averages import Average, Described
from dodiag.bounds.aggregates.capabilities import UnitMeans, average_of, unit_means
from dodiag.bounds.errors import NotAProbability
from dodiag.vocabulary import State

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True)
class AblationRow:
    """Capabilities of non-root units under the ablation states (CADET Figure 21).

    Attributes
    ----------
    model, category : str or None
        None for the mean over models, and for all categories.
    text, question : Average or None
        C(1t) and C(q).
    text_gap : Average or None
        IC − C(1t): what the annotation adds to the answer's text.
    question_gain : Average or None
        C(q) − NC: what naming the prerequisites helps.
    """

    model: str | None
    category: str | None
    text: Average | None
    question: Average | None
    text_gap: Average | None
    question_gain: Average | None


def ablation_averages(
    outcomes: pd.DataFrame, tasks: Sequence[Described], *, level: float = 0.95
) -> tuple[AblationRow, ...]:
    """Average what the ablation states change over units, by model and category, and over models.

    Parameters and errors as in :func:`dodiag.bounds.aggregates.capability_averages`; rows only where an ablation state
    was run.
    """
    if not 0 < level < 1:
        raise NotAProbability("level", level)
    found = unit_means(outcomes, tasks)
    rows = (_row(found, m, c, level) for m in (*found.models, None) for c in (None, *found.categories))
    return tuple(row for row in rows if row.text is not None or row.question is not None)


def _row(found: UnitMeans, model: str | None, category: str | None, level: float) -> AblationRow:
    keys = [key for key in found.means if model in (None, key[0]) and category in (None, found.category[key[1:]])]

    def averaged(plus: State, minus: State | None = None) -> Average | None:
        return average_of(found, keys, plus, minus, level, over_models=model is None)

    return AblationRow(
        model,
        category,
        averaged(State.CORRECT_TEXT),
        averaged(State.QUESTION_ONLY),
        averaged(State.CORRECT, State.CORRECT_TEXT),
        averaged(State.QUESTION_ONLY, State.NATURAL),
    )
