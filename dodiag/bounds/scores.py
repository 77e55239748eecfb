"""Capability and contribution scores from an outcome table."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from dodiag.bounds.formulas import (
    PAPER_MIN_DENOMINATOR,
    Interval,
    n_score,
    ns_score,
    pn_bounds,
    pns_bounds,
    ps_bounds,
    s_score,
)
from dodiag.bounds.limits import clustered_wilson
from dodiag.bounds.table import Paired, Structure, UnitOutcomes, by_model, checked, paired, steps_of
from dodiag.problems import UsageError
from dodiag.vocabulary import PAPER_CONTRASTS, Configuration, Contrast, Outcome, State, arms

if TYPE_CHECKING:
    import pandas as pd

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
        Why a value or an interval is None.
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

    p̂ is the mean of solved over the unit's outcomes; its limits are Wilson's with the instance as the unit of
    sampling. A root has NC alone. Ablation states give ``C(1t)`` and ``C(q)``.

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
    """
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
    states = {text: _homogeneous_state(text) for text in rows["configuration"].unique()}
    for state in State:
        names = [text for text, found in states.items() if found is state]
        if not names:
            continue
        part = rows[rows["configuration"].isin(names)]
        metric = CAPABILITY.get(state, f"C({state.symbol})")
        yield _capability(Score(model, task.name, unit, metric, step=step), part, level)


def _homogeneous_state(text: str) -> State | None:
    states = set(Configuration.parse(text).states)
    if len(states) > 1:
        return None
    return states.pop() if states else State.NATURAL


def _capability(row: Score, part: pd.DataFrame, level: float) -> Score:
    scored = part[part["solved"].notna()]
    missing = len(part) - len(scored)
    row = replace(row, missing=missing)
    if unscored := int((part["outcome"] == Outcome.UNSCORED).sum()):
        return replace(row, n=len(scored), reason=waiting(unscored))
    if scored.empty:
        return replace(row, reason="no outcome is scored")
    grouped = scored.groupby("instance", sort=False, observed=True)["solved"].agg(["sum", "count"])
    limits = clustered_wilson(grouped["sum"].to_numpy(float), grouped["count"].to_numpy(float), level)
    return replace(row, value=limits.value, lower=limits.lower, upper=limits.upper, n=limits.n, reason=limits.reason)


def contributions(
    outcomes: pd.DataFrame,
    task: Structure,
    contrasts: Iterable[Contrast | str] | None = None,
    *,
    context: Mapping[str, State | str] | None = None,
    min_denominator: float = PAPER_MIN_DENOMINATOR,
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

    Returns
    -------
    Scores
        Rows with metric N, S, PN, PS, and PNS once in N's context and once in S's; `context` tells them apart.
        ``lower`` and ``upper`` of PN, PS, PNS are the Fréchet ends at the observed means; PN and PS are not subject to
        `min_denominator`.

    Raises
    ------
    UsageError
        If the table does not fit the task.
    """
    table = checked(outcomes, task)
    asked = PAPER_CONTRASTS if contrasts is None else tuple(_contrast(c) for c in contrasts)
    states = {name: State(state) for name, state in (context or {}).items()}
    rows: list[Score] = []
    for model, of_model in by_model(table):
        rows += _target_contributions(model, task, of_model, asked, states, contrasts is not None, min_denominator)
        rows += _chain_contributions(model, task, of_model, asked)
    return Scores(rows)


def _contrast(contrast: Contrast | str) -> Contrast:
    return Contrast.parse(contrast) if isinstance(contrast, str) else contrast


def _target_contributions(
    model: str,
    task: Structure,
    rows: pd.DataFrame,
    contrasts: Iterable[Contrast],
    context: Mapping[str, State],
    keep_empty: bool,
    min_denominator: float,
) -> Iterator[Score]:
    prerequisites = task.prerequisites(task.target)
    if task.chain_of(task.target) is not None:
        return
    unit = UnitOutcomes(rows[rows["unit"] == task.target])
    for prerequisite in prerequisites:
        others = {name: state for name, state in context.items() if name != prerequisite}
        for contrast in contrasts:
            for metric in _METRICS:
                pair = arms(metric, contrast, prerequisite, prerequisites, others)
                arm, reference = unit.arm(pair.active.text), unit.arm(pair.reference.text)
                if not keep_empty and (arm is None or reference is None):
                    continue
                matched = paired(arm, reference, prerequisite)
                row = Score(
                    model,
                    task.name,
                    task.target,
                    metric,
                    prerequisite,
                    contrast.text,
                    pair.active.without(prerequisite).text,
                    n=matched.n,
                    missing=matched.missing,
                    absent=matched.absent,
                )
                yield from _contribution(row, matched, min_denominator)


_METRICS: tuple[Literal["N", "S"], ...] = ("N", "S")


def _contribution(row: Score, pairs: Paired, min_denominator: float) -> Iterator[Score]:
    bounded = {"N": "PN", "S": "PS"}[row.metric]
    metrics = (row.metric, bounded, "PNS")
    if reason := _no_evidence(pairs):
        yield from (replace(row, metric=metric, reason=reason) for metric in metrics)
        return
    p, p_prime = float(pairs.active.mean()), float(pairs.reference.mean())
    score = (n_score if row.metric == "N" else s_score)(p, p_prime, min_denominator)
    denominator = float(score.denominator)
    yield replace(row, value=float(score.value), denominator=denominator, suppressed=bool(score.suppressed))
    interval = (pn_bounds if row.metric == "N" else ps_bounds)(p, p_prime)
    yield _bounded(replace(row, metric=bounded, denominator=denominator), interval)
    yield _bounded(replace(row, metric="PNS"), pns_bounds(p, p_prime))


def waiting(unscored: int) -> str:
    """Return the reason for giving no value while answers wait for a judge."""
    return f"{unscored} answers wait for a judge"


def _no_evidence(pairs: Paired) -> str | None:
    """Return why pairs give no score, or None where they do."""
    if pairs.unscored:
        return waiting(pairs.unscored)
    return None if pairs.n else "no question was scored under both configurations"


def _bounded(row: Score, interval: Interval) -> Score:
    if np.isnan(interval.lower):
        event = "Y=1 under a" if row.metric == "PN" else "Y=0 under a'"
        return replace(row, reason=f"undefined: {event} was never observed")
    return replace(row, lower=float(interval.lower), upper=float(interval.upper))


def _chain_contributions(
    model: str, task: Structure, rows: pd.DataFrame, contrasts: Iterable[Contrast]
) -> Iterator[Score]:
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
                yield from _chain_score(model, task, unit, step, contrast, prerequisites[0], found, pair)


def _chain_score(
    model: str,
    task: Structure,
    unit: str,
    step: int,
    contrast: Contrast,
    prerequisite: str,
    found: UnitOutcomes,
    pair: Any,
) -> Iterator[Score]:
    arm, reference = found.arm(pair.active.text), found.arm(pair.reference.text)
    if arm is None and reference is None:
        return
    matched = paired(arm, reference, prerequisite)
    row = Score(
        model,
        task.name,
        unit,
        "NS",
        prerequisite,
        contrast.text,
        "",
        n=matched.n,
        missing=matched.missing,
        absent=matched.absent,
        step=step,
    )
    if reason := _no_evidence(matched):
        yield replace(row, reason=reason)
        return
    p, p_prime = float(matched.active.mean()), float(matched.reference.mean())
    yield replace(row, value=float(ns_score(p, p_prime)))
    yield _bounded(replace(row, metric="PNS"), pns_bounds(p, p_prime))


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
            for metric in _METRICS:
                pair = arms(metric, contrast, prerequisite, prerequisites)
                try:
                    p, p_prime = probabilities[pair.active], probabilities[pair.reference]
                except KeyError as error:
                    raise UsageError(f"there is no probability of configuration '{error.args[0]}'") from None
                score = (n_score if metric == "N" else s_score)(p, p_prime, min_denominator)
                found[metric, prerequisite, contrast.text] = float(score.value)
    return found
