"""Capability and contribution scores from an outcome table."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import TYPE_CHECKING, Any, Literal, cast

import numpy as np

from dodiag.bounds.comparisons import Comparison, compared
from dodiag.bounds.formulas import (
    PAPER_MIN_DENOMINATOR,
    Interval,
    confidence_level,
    n_score,
    ns_score,
    pn_bounds,
    pns_bounds,
    ps_bounds,
    s_score,
)
from dodiag.bounds.limits import Limits, clustered_wilson, difference_limits, end_limits, n_limits, s_limits
from dodiag.bounds.pairs import PairedSums
from dodiag.bounds.table import Paired, Structure, UnitOutcomes, WorstCase, by_model, checked, steps_of
from dodiag.problems import UsageError
from dodiag.vocabulary import METRICS, PAPER_CONTRASTS, Configuration, Contrast, State, arms, parse_state

if TYPE_CHECKING:
    import pandas as pd

STACK_CELLS = 1 << 22
"""Instances times comparisons that limits are computed for at once; bounds the memory of large tables."""

ONE_INSTANCE = "one instance says nothing about others"
"""The reason for giving no limits of what a single instance shows."""

Bounded = Literal["PN", "PS", "PNS"]

CAPABILITY = {State.NATURAL: "NC", State.CORRECT: "IC", State.INCORRECT: "RC"}


@dataclass(frozen=True, slots=True)
class Score:
    """One score with what it rests on.

    Attributes
    ----------
    model, task, unit : str
    metric : str
        NC, IC, RC; N, S, NS; PN, PS, PNS; ``C(1t)``, ``C(q)`` for the ablation states.
    prerequisite, contrast : str or None
        Of contribution scores and bounds.
    context : str or None
        States of the other prerequisites, as configuration text: N's context is all in a, S's all in a'.
    value : float or None
        The score; None for PN, PS, PNS, which are only bounded, and where there is no evidence.
    lower, upper : float or None
        Confidence limits (95 %, clustered by instance) of NC, IC, RC; the ends of the identified interval (plugging in
        the observed means) of PN, PS, PNS.
    n : int
        Outcomes of a capability; pairs of a contrast.
    missing : int
        Outcomes or pairs that are missing data.
    absent : int
        Questions whose instance does not have the prerequisite.
    denominator : float or None
        What the difference of N or S is divided by.
    suppressed : bool
        The denominator is below the least allowed one, so the value is 0 by convention.
    step : int or None
        Chain step; None over all steps.
    reason : str or None
        Why a value, an interval or its limits are None.
    limit_lower, limit_upper : float or None
        Confidence limits (95 %, clustered by instance): of the score for N, S, NS; of the whole identified interval for
        PN, PS, PNS. None where the score is suppressed or there is a single instance.
    method : str or None
        How the limits were made.
    worst_lower, worst_upper : float or None
        Least and most that the capability or score, or the ends of the interval, can be whatever the missing outcomes
        were; None where nothing was scored, and for PN and PS where they would be undefined whatever these were.
    """

    model: str
    task: str
    unit: str
    metric: str
    prerequisite: str | None = None
    contrast: str | None = None
    context: str | None = None
    value: float | None = None
    lower: float | None = None
    upper: float | None = None
    n: int = 0
    denominator: float | None = None
    suppressed: bool = False
    missing: int = 0
    absent: int = 0
    step: int | None = None
    reason: str | None = None
    limit_lower: float | None = None
    limit_upper: float | None = None
    method: str | None = None
    worst_lower: float | None = None
    worst_upper: float | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the row as JSON values."""
        return asdict(self)


class Scores(tuple[Score, ...]):
    """Rows of scores; a tuple that also becomes a table."""

    __slots__ = ()

    def to_frame(self) -> pd.DataFrame:
        """Return the rows as a pandas table with the columns of :class:`Score`."""
        import pandas as pd

        return pd.DataFrame([score.to_dict() for score in self], columns=[field.name for field in fields(Score)])

    def where(self, **fields_wanted: Any) -> Scores:
        """Return the rows whose fields have these values, such as ``metric="N"``."""
        return Scores(s for s in self if all(getattr(s, name) == value for name, value in fields_wanted.items()))


def capabilities(outcomes: pd.DataFrame, task: Structure, *, level: float = 0.95) -> Scores:
    """NC, IC and RC of every unit (CADET Def. 3.5), over all steps and by step for chain units.

    p̂ is the mean over the unit's questions of the mean of solved over draws, so that a question asked more often does
    not count for more; its limits are Wilson's with the instance as the unit of sampling. A root has NC alone. Ablation
    states give ``C(1t)`` and ``C(q)``.

    Parameters
    ----------
    outcomes : pandas.DataFrame
        An outcome table; `solved` is 1, 0 or missing.
    task : TaskGraph
        The task; rows of other tasks are ignored.
    level : float
        Two-sided confidence level.

    Raises
    ------
    UsageError
        If the table does not fit the task.
    NotAProbability
        If the level is not in (0, 1).
    """
    confidence_level(level)
    table = checked(outcomes, task)
    rows: list[Score] = []
    for model, of_model in by_model(table):
        for unit in task.units:
            of_unit = of_model[of_model["unit"] == unit]
            if of_unit.empty:
                continue
            rows += _unit_capabilities(model, task, unit, None, of_unit, level)
            if task.chain_of(unit) is not None:
                for step in steps_of(of_unit):
                    rows += _unit_capabilities(model, task, unit, step, of_unit[of_unit["step"] == step], level)
    return Scores(rows)


def _unit_capabilities(
    model: str, task: Structure, unit: str, step: int | None, rows: pd.DataFrame, level: float
) -> Iterator[Score]:
    states = {text: homogeneous_state(text) for text in rows["configuration"].unique()}
    for state in State:
        names = [text for text, found in states.items() if found is state]
        if not names:
            continue
        part = rows[rows["configuration"].isin(names)]
        metric = CAPABILITY.get(state, f"C({state.symbol})")
        yield _capability(Score(model, task.name, unit, metric, step=step), part, level)


def homogeneous_state(text: str) -> State | None:
    """Return the state that all prerequisites of a configuration are in, or None where they differ."""
    states = set(Configuration.parse(text).states)
    if len(states) > 1:
        return None
    return states.pop() if states else State.NATURAL


def _capability(row: Score, part: pd.DataFrame, level: float) -> Score:
    found = UnitOutcomes(part)
    row = replace(row, n=int(found.scored.sum()), missing=int(found.missing.sum()))
    if unscored := int(found.unscored.sum()):
        return replace(row, reason=waiting(unscored))
    if not row.n:
        return replace(row, reason="no outcome is scored")
    known, asked = found.scored > 0, found.scored + found.missing > 0
    instance = np.broadcast_to(found.instance[:, None], known.shape)[known]
    limits = clustered_wilson(
        np.bincount(instance, found.solved[known] / found.scored[known]), np.bincount(instance), level
    )
    draws = (found.scored + found.missing)[asked]
    least, most = found.solved[asked] / draws, (found.solved + found.missing)[asked] / draws
    return replace(
        row,
        value=limits.value,
        lower=limits.lower,
        upper=limits.upper,
        reason=limits.reason,
        worst_lower=float(least.mean()),
        worst_upper=float(most.mean()),
    )


def contributions(
    outcomes: pd.DataFrame,
    task: Structure,
    contrasts: Iterable[Contrast | str] | None = None,
    *,
    context: Mapping[str, State | str] | None = None,
    min_denominator: float = PAPER_MIN_DENOMINATOR,
    level: float = 0.95,
) -> Scores:
    """N and S of every prerequisite of the target (CADET Defs. 3.7, 3.8), with the interval of PN, PS, PNS.

    A contrast uses only the questions observed under both of its configurations. For chain units, NS by step
    (Remark A.8).

    Parameters
    ----------
    outcomes : pandas.DataFrame
        An outcome table.
    task : TaskGraph
    contrasts : iterable of Contrast or str, optional
        Default those of the paper's four that were run. A contrast that is named but was not run gives rows without a
        value.
    context : mapping of str to State, optional
        States of the other prerequisites instead of the main text's (Defs. A.1, A.2).
    min_denominator : float
        Scores with a smaller denominator are 0 and flagged; 0.10 is the paper's rule.
    level : float
        Two-sided confidence level of the limits, clustered by instance: of a score, and of the whole identified
        interval of PN, PS, PNS.

    Returns
    -------
    Scores
        Rows with metric N, S, PN, PS, and PNS once in N's context and once in S's; `context` tells them apart.
        ``lower`` and ``upper`` of PN, PS, PNS are the Fréchet ends at the observed means; PN and PS are not subject to
        `min_denominator`.

    Raises
    ------
    UsageError
        If the table does not fit the task, or the context names what is no state or no prerequisite.
    NotAProbability
        If `min_denominator` is not in [0, 1], or `level` not in (0, 1).
    """
    confidence_level(level)
    table = checked(outcomes, task)
    states = {name: parse_state(state) for name, state in (context or {}).items()}
    found = compared(table, task, contrasts_of(contrasts), states, keep_empty=contrasts is not None)
    return Scores(itertools.chain.from_iterable(score_rows(found, task.name, min_denominator, level)))


def score_rows(
    found: Sequence[Comparison], task: str, min_denominator: float = PAPER_MIN_DENOMINATOR, level: float = 0.95
) -> Iterator[Scores]:
    """Yield the rows of each comparison: its score, then the probabilities that it bounds.

    Limits are computed for many comparisons at a time. Parameters as in :func:`contributions`.
    """
    limits: dict[int, _Limits] = {}
    for metric in ("N", "S", "NS"):
        usable = [i for i, c in enumerate(found) if c.metric == metric and not no_evidence(c.paired)]
        for chunk in _chunks(usable, found):
            limits |= dict(zip(chunk, _limits_of(metric, [found[i] for i in chunk], level), strict=True))
    for index, comparison in enumerate(found):
        yield Scores(_contribution(comparison, task, limits.get(index), min_denominator))


def _chunks(indices: Sequence[int], found: Sequence[Comparison]) -> Iterator[list[int]]:
    """Split comparisons so that one stack of sums stays below `STACK_CELLS`."""
    chunk: list[int] = []
    widest = 0
    for index in indices:
        widest = max(widest, found[index].instances)
        if chunk and widest * (len(chunk) + 1) > STACK_CELLS:
            yield chunk
            chunk, widest = [], found[index].instances
        chunk.append(index)
    if chunk:
        yield chunk


@dataclass(frozen=True, slots=True)
class _Limits:
    """Lower and upper confidence limit of a score, and of the ends of the probabilities that it bounds."""

    score: tuple[float, float]
    bounded: tuple[float, float]
    joint: tuple[float, float]
    method: str


def _limits_of(metric: str, batch: Sequence[Comparison], level: float) -> Iterator[_Limits]:
    widest = max(comparison.instances for comparison in batch)
    pairs = PairedSums.stack([comparison.paired.sums(widest) for comparison in batch])
    side = (1 + level) / 2
    joint = end_limits("PNS", pairs, side)
    if metric == "NS":
        gap = difference_limits(pairs, side)
        score = Limits(np.maximum(0.0, gap.lower), np.maximum(0.0, gap.upper), side, gap.method)
        bounded = joint
    else:
        score = (n_limits if metric == "N" else s_limits)(pairs, side)
        bounded = end_limits("PN" if metric == "N" else "PS", pairs, side)
    for index in range(len(batch)):
        ends = [(float(found.lower[index]), float(found.upper[index])) for found in (score, bounded, joint)]
        yield _Limits(ends[0], ends[1], ends[2], str(score.method[index]))


def _contribution(comparison: Comparison, task: str, limits: _Limits | None, min_denominator: float) -> Iterator[Score]:
    pairs, metric = comparison.paired, comparison.metric
    row = Score(
        comparison.model,
        task,
        comparison.unit,
        metric,
        comparison.prerequisite,
        comparison.contrast.text,
        comparison.context,
        n=pairs.n,
        missing=pairs.missing,
        absent=pairs.absent,
        step=comparison.step,
    )
    if limits is None:
        yield from (replace(row, metric=name, reason=no_evidence(pairs)) for name in (metric, *_BOUNDED[metric]))
        return
    assert pairs.worst is not None
    p, p_prime = float(pairs.active.mean()), float(pairs.reference.mean())
    value = _value(metric, p, p_prime, min_denominator)
    worst = [
        _value(metric, *rates, min_denominator).value
        for rates in (
            (pairs.worst.active[0], pairs.worst.reference[1]),
            (pairs.worst.active[1], pairs.worst.reference[0]),
        )
    ]
    row = replace(row, denominator=value.denominator)
    scored = replace(
        row,
        value=value.value,
        suppressed=value.suppressed,
        worst_lower=min(worst),
        worst_upper=max(worst),
    )
    if value.suppressed:
        yield replace(scored, reason=f"0 by convention: the denominator is below {max(min_denominator, 0):g}")
    else:
        yield _with_limits(scored, limits.score, limits.method)
    for name in _BOUNDED[metric]:
        of_joint = name == "PNS"
        bounded = _interval(replace(row, metric=name, denominator=None if of_joint else row.denominator), p, p_prime)
        least, most = _worst_ends(name, pairs.worst)
        bounded = replace(bounded, worst_lower=least, worst_upper=most)
        yield _with_limits(bounded, limits.joint if of_joint else limits.bounded, limits.method)


_BOUNDED: Mapping[str, tuple[Bounded, ...]] = {"N": ("PN", "PNS"), "S": ("PS", "PNS"), "NS": ("PNS",)}
_ENDS: Mapping[Bounded, Callable[[float, float], Interval]] = {"PN": pn_bounds, "PS": ps_bounds, "PNS": pns_bounds}


def _worst_ends(name: Bounded, worst: WorstCase) -> tuple[float | None, float | None]:
    """Return the least lower and the greatest upper end over all that the missing outcomes could be.

    PN and PS only where they are defined; None where the event that they condition on cannot have happened.
    """
    (low, high), (low_prime, high_prime) = worst.active, worst.reference
    if (name == "PN" and high == 0) or (name == "PS" and low_prime == 1):
        return None, None
    if name == "PN":
        low = worst.grain[0] if low == 0 else low
        highest = low, low_prime
    elif name == "PS":
        high_prime = 1 - worst.grain[1] if high_prime == 1 else high_prime
        highest = high, high_prime
    else:
        highest = high, low_prime
    return float(_ENDS[name](low, high_prime).lower), float(_ENDS[name](*highest).upper)


@dataclass(frozen=True, slots=True)
class _Value:
    value: float
    denominator: float | None
    suppressed: bool


def _value(metric: str, p: float, p_prime: float, min_denominator: float) -> _Value:
    if metric == "NS":
        return _Value(float(ns_score(p, p_prime)), None, False)
    score = (n_score if metric == "N" else s_score)(p, p_prime, min_denominator)
    return _Value(float(score.value), float(score.denominator), bool(score.suppressed))


def _with_limits(row: Score, limits: tuple[float, float], method: str) -> Score:
    if row.reason:
        return row
    if math.isnan(limits[0]):
        return replace(row, reason=ONE_INSTANCE)
    return replace(row, limit_lower=limits[0], limit_upper=limits[1], method=method)


def _interval(row: Score, p: float, p_prime: float) -> Score:
    ends = _ENDS[cast("Bounded", row.metric)](p, p_prime)
    if np.isnan(ends.lower):
        event = "Y=1 under a" if row.metric == "PN" else "Y=0 under a'"
        return replace(row, reason=f"undefined: {event} was never observed")
    return replace(row, lower=float(ends.lower), upper=float(ends.upper))


def no_evidence(pairs: Paired) -> str:
    """Return why pairs give no score, or an empty text where they do."""
    if pairs.unscored:
        return waiting(pairs.unscored)
    return "" if pairs.n else "no question was scored under both configurations"


def contrasts_of(contrasts: Iterable[Contrast | str] | None) -> tuple[Contrast, ...]:
    """Return contrasts as values, each once; the paper's four by default."""
    if contrasts is None:
        return PAPER_CONTRASTS
    named = (Contrast.parse(contrast) if isinstance(contrast, str) else contrast for contrast in contrasts)
    return tuple(dict.fromkeys(named))


def waiting(unscored: int) -> str:
    """Return the reason for giving no value while answers wait for a judge."""
    return f"{unscored} answers wait for a judge"


def scores_from_probabilities(
    probabilities: Mapping[Configuration, float],
    prerequisites: tuple[str, ...],
    contrasts: Iterable[Contrast] = PAPER_CONTRASTS,
    *,
    min_denominator: float = PAPER_MIN_DENOMINATOR,
) -> dict[tuple[str, str, str], float]:
    """N and S from exact success probabilities of the target's configurations.

    Parameters
    ----------
    probabilities : mapping of Configuration to float
        p(configuration); every configuration that the contrasts read has to be there.
    prerequisites : tuple of str
        Pa(Y) in declared order.
    contrasts : iterable of Contrast
    min_denominator : float

    Returns
    -------
    dict
        (metric, prerequisite, contrast text) → score.

    Raises
    ------
    UsageError
        If a configuration is missing.
    """
    found: dict[tuple[str, str, str], float] = {}
    for prerequisite in prerequisites:
        for contrast in contrasts:
            for metric in METRICS:
                pair = arms(metric, contrast, prerequisite, prerequisites)
                try:
                    p, p_prime = probabilities[pair.active], probabilities[pair.reference]
                except KeyError as error:
                    raise UsageError(f"there is no probability of configuration '{error.args[0]}'") from None
                score = (n_score if metric == "N" else s_score)(p, p_prime, min_denominator)
                found[metric, prerequisite, contrast.text] = float(score.value)
    return found
