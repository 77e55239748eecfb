"""Two models on the same questions: paired differences of capabilities and scores, with limits."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dodiag.bounds.formulas import confidence_level
from dodiag.bounds.identified import Floats
from dodiag.bounds.limits import FEW_DISCORDANT, difference_limits, ratio_limits
from dodiag.bounds.multiplicity import holm
from dodiag.bounds.pairs import PairedSums
from dodiag.bounds.scores import CAPABILITY, ONE_INSTANCE, homogeneous_state, no_evidence, waiting
from dodiag.bounds.superiority import superiority
from dodiag.bounds.table import Shared, Structure, UnitOutcomes, by_model, checked
from dodiag.problems import UsageError
from dodiag.vocabulary import METRICS, PAPER_CONTRASTS, arms

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True)
class ModelDifference:
    """One capability or score of two models, on what both were scored on.

    Attributes
    ----------
    first, second : str
        The models.
    task, unit, metric : str
        NC, IC, RC; N, S.
    prerequisite, contrast : str or None
    first_value, second_value : float or None
        On the shared questions; N and S here are the signed ratios, before they are clipped at 0.
    difference : float or None
        First minus second.
    limit_lower, limit_upper : float or None
        Two-sided limits of the difference, clustered by instance.
    p_value, adjusted : float or None
        Two-sided, of no difference; adjusted over all rows of the same metric (Holm).
    n : int
        Shared questions.
    reason : str or None
        Why there is no difference, or no limits.
    """

    first: str
    second: str
    task: str
    unit: str
    metric: str
    prerequisite: str | None = None
    contrast: str | None = None
    first_value: float | None = None
    second_value: float | None = None
    difference: float | None = None
    limit_lower: float | None = None
    limit_upper: float | None = None
    p_value: float | None = None
    adjusted: float | None = None
    n: int = 0
    reason: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the row as JSON values."""
        return asdict(self)


class ModelDifferences(tuple[ModelDifference, ...]):
    """Rows of differences; a tuple that also becomes a table."""

    __slots__ = ()

    def to_frame(self) -> pd.DataFrame:
        """Return the rows as a pandas table with the columns of :class:`ModelDifference`."""
        import pandas as pd

        return pd.DataFrame([row.to_dict() for row in self], columns=[f.name for f in fields(ModelDifference)])

    def where(self, **wanted: Any) -> ModelDifferences:
        """Return the rows whose fields have these values."""
        return ModelDifferences(r for r in self if all(getattr(r, name) == value for name, value in wanted.items()))


def model_differences(
    outcomes: pd.DataFrame, task: Structure, first: str, second: str, *, level: float = 0.95
) -> ModelDifferences:
    """Compare two models: NC, IC, RC of every unit, N and S of every prerequisite and contrast.

    Only questions that both models were scored on count, so that the difficulty of the instances cancels. Capabilities
    have the limits of :func:`dodiag.bounds.limits.difference_limits`; differences of N and S those of their
    linearisation, with Student's quantile. Where N or S of either model rests on fewer than `FEW_DISCORDANT` instances
    (those whose arms differ, or those that its denominator counts), they come from the separate limits of both
    scores, which is wider and holds.

    Raises
    ------
    UsageError
        If the table does not fit the task, a model is not in it, or both names are the same.
    NotAProbability
        If the level is not in (0, 1).
    """
    confidence_level(level)
    if first == second:
        raise UsageError(f"model '{first}' is compared with itself", "Name two models.")
    table = checked(outcomes, task)
    tables = dict(by_model(table))
    for name in (first, second):
        if name not in tables:
            raise UsageError(f"the outcome table has no model '{name}'", f"Its models are {', '.join(tables)}.")
    pair = tables[first], tables[second]
    rows = [*_capabilities(pair, task, first, second, level), *_scores(pair, task, first, second, level)]
    return ModelDifferences(_adjusted(rows))


def _adjusted(rows: list[ModelDifference]) -> Iterator[ModelDifference]:
    adjusted: dict[int, float] = {}
    for metric in dict.fromkeys(row.metric for row in rows):
        family = [(i, row.p_value) for i, row in enumerate(rows) if row.metric == metric and row.p_value is not None]
        if family:
            values = holm([p for _, p in family])
            adjusted |= {index: float(value) for (index, _), value in zip(family, values, strict=True)}
    for index, row in enumerate(rows):
        yield replace(row, adjusted=adjusted.get(index))


def _of_both(pair: tuple[pd.DataFrame, pd.DataFrame], unit: str) -> UnitOutcomes:
    """Return both models' outcomes of one unit in one table of counts, the model standing before the configuration."""
    import pandas as pd

    rows = [rows[rows["unit"] == unit] for rows in pair]
    tagged = [part.assign(configuration=f"{tag}:" + part["configuration"]) for tag, part in enumerate(rows)]
    return UnitOutcomes(pd.concat(tagged, ignore_index=True))


def _capabilities(
    pair: tuple[pd.DataFrame, pd.DataFrame], task: Structure, first: str, second: str, level: float
) -> Iterator[ModelDifference]:
    for unit in task.units:
        found = _of_both(pair, unit)
        ran = [(homogeneous_state(text[2:]), text[2:]) for text in found.configurations if text.startswith("0:")]
        order = list(CAPABILITY)
        for state, text in sorted((order.index(state), text) for state, text in ran if state in CAPABILITY):
            if not found.has(f"1:{text}"):
                continue
            row = ModelDifference(first, second, task.name, unit, CAPABILITY[order[state]])
            paired = found.paired(f"0:{text}", f"1:{text}", "")
            if reason := no_evidence(paired):
                yield replace(row, reason=reason)
                continue
            pairs = paired.sums(len(found.instances))
            p, q = float(pairs.p), float(pairs.p_prime)
            row = replace(row, first_value=p, second_value=q, difference=p - q, n=paired.n)
            yield _with_limits(row, pairs, paired.single, level)


def _with_limits(row: ModelDifference, pairs: PairedSums, single: bool, level: float) -> ModelDifference:
    if pairs.n < 2:
        return replace(row, reason=ONE_INSTANCE)
    low, high = difference_limits(pairs, (1 + level) / 2).ends()
    smaller = min(superiority(pairs, single).p_value, superiority(pairs.reversed, single).p_value)
    return replace(row, limit_lower=low, limit_upper=high, p_value=min(1.0, 2 * smaller))


def _scores(
    pair: tuple[pd.DataFrame, pd.DataFrame], task: Structure, first: str, second: str, level: float
) -> Iterator[ModelDifference]:
    if task.chain_of(task.target) is not None:
        return
    found = _of_both(pair, task.target)
    prerequisites = task.prerequisites(task.target)
    for prerequisite, contrast, metric in itertools.product(prerequisites, PAPER_CONTRASTS, METRICS):
        compared = arms(metric, contrast, prerequisite, prerequisites)
        texts = [f"{tag}:{arm.text}" for tag in (0, 1) for arm in (compared.active, compared.reference)]
        if not all(found.has(text) for text in texts):
            continue
        row = ModelDifference(first, second, task.name, task.target, metric, prerequisite, contrast.text)
        shared = found.shared(texts, prerequisite)
        if shared.unscored:
            yield replace(row, reason=waiting(shared.unscored))
        elif not shared.n:
            yield replace(row, reason="no question was scored under both configurations by both models")
        else:
            yield _ratio_difference(replace(row, n=shared.n), shared, metric, level)


def _ratio_difference(row: ModelDifference, shared: Shared, metric: str, level: float) -> ModelDifference:
    """Difference of two signed ratios 1 − ρ: linearised, or with few instances from separate limits of both ratios."""
    sums, sizes = shared.sums(), shared.sizes().astype(np.float64)
    both = PairedSums(sums[0], sums[1], sizes), PairedSums(sums[2], sums[3], sizes)
    if metric == "S":
        both = both[0].failures, both[1].failures
    first, second = both
    if not (first.p > 0 and second.p > 0):
        event = "Y=1 under a" if metric == "N" else "Y=0 under a'"
        return replace(row, reason=f"undefined: {event} was never observed")
    values = [float(1 - pairs.p_prime / pairs.p) for pairs in both]
    gap = values[0] - values[1]
    row = replace(row, first_value=values[0], second_value=values[1], difference=gap)
    if sizes.size < 2:
        return replace(row, reason=ONE_INSTANCE)
    influence = _influence(second) - _influence(first)
    error = float(np.sqrt(sizes.size / (sizes.size - 1) * np.sum(influence**2)))
    if error == 0 or min(map(_telling, both)) < FEW_DISCORDANT:
        low, high = _separate_limits(both, 1 - level)
        if not (np.isfinite(low) and np.isfinite(high)):
            return replace(row, reason="too few instances for limits")
        return replace(row, limit_lower=low, limit_upper=high, p_value=_separate_p_value(both))
    from scipy.special import stdtr, stdtrit

    reach = float(stdtrit(sizes.size - 1, (1 + level) / 2)) * error
    p_value = 2 * float(stdtr(sizes.size - 1, -abs(gap) / error))
    return replace(row, limit_lower=gap - reach, limit_upper=gap + reach, p_value=min(1.0, p_value))


def _influence(pairs: PairedSums) -> Floats:
    """Influence of each instance on the ratio ρ = R/A: r/A − ρ a/A."""
    total = pairs.active.sum()
    return np.asarray((pairs.reference - pairs.reference.sum() / total * pairs.active) / total)


def _telling(pairs: PairedSums) -> int:
    """Instances that a ratio rests on: those whose arms differ, or those that its denominator counts, if fewer."""
    return min(int(pairs.discordant), int(np.count_nonzero(pairs.active)))


def _separate_limits(both: tuple[PairedSums, PairedSums], alpha: float) -> tuple[float, float]:
    """Limits of ρ₂ − ρ₁ that err with chance `alpha` at most, from limits of each ratio at a quarter of it a side."""
    first, second = (ratio_limits(pairs.reference, pairs.active, pairs.sizes, 1 - alpha / 4) for pairs in both)
    return float(second.lower - first.upper), float(second.upper - first.lower)


def _separate_p_value(both: tuple[PairedSums, PairedSums]) -> float:
    """Return the least α at which the limits of :func:`_separate_limits` exclude 0, found to 1 % from above."""

    def excluded(exponent: float) -> bool:
        low, high = _separate_limits(both, math.exp(exponent))
        return low > 0 or high < 0

    kept, out = math.log(1e-9), 0.0
    if not excluded(-1e-9):
        return 1.0
    if excluded(kept):
        return 1e-9
    while out - kept > 0.01:
        middle = (kept + out) / 2
        kept, out = (kept, middle) if excluded(middle) else (middle, out)
    return math.exp(out)
