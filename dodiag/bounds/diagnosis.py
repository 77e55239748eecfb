"""The entry point from an outcome table to a decision: scores, bounds, limits, tests, and a verdict in plain words."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from dodiag.bounds.comparisons import Comparison, Metric, compared
from dodiag.bounds.errors import NotAProbability
from dodiag.bounds.formulas import PAPER_MIN_DENOMINATOR
from dodiag.bounds.limits import difference_limits, n_limits, s_limits, wilson_limits
from dodiag.bounds.multiplicity import bonferroni_level, holm
from dodiag.bounds.pairs import PairedSums
from dodiag.bounds.scores import ONE_INSTANCE, Score, Scores, contrasts_of, no_evidence, score_rows
from dodiag.bounds.superiority import PairedTest, instances_needed, superiority
from dodiag.bounds.table import Paired, Structure, checked
from dodiag.bounds.within_instance import (
    InstanceScore,
    Repeats,
    deterministic_score,
    loss,
    rerun_corrected,
    upper_from_lower,
)
from dodiag.vocabulary import Contrast, State

if TYPE_CHECKING:
    import pandas as pd

NEGLIGIBLE = 0.05
"""A score whose upper limit is below it is called little, unless asked otherwise."""


class Verdict(StrEnum):
    """What the data allow to say of one prerequisite, contrast and score."""

    FIRST = "first"
    AMONG_FIRST = "among the first"
    MATTERS = "matters"
    LITTLE = "little"
    HARMS = "harms"
    NO_ROOM = "no room"
    UNDECIDED = "undecided"
    NO_EVIDENCE = "no evidence"


@dataclass(frozen=True, slots=True)
class InstanceLevel:
    """Bounds of PN (or PS, PNS) from paired runs of the same instances; see :mod:`dodiag.bounds.within_instance`.

    Attributes
    ----------
    lower : InstanceScore
        The rerun-corrected score by default; the conditional share under deterministic decoding.
    upper : InstanceScore or None
    loss : InstanceScore or None
        The leave-one-out sign selector, where both arms were run equally often, at least twice.
    """

    lower: InstanceScore
    upper: InstanceScore | None = None
    loss: InstanceScore | None = None


@dataclass(frozen=True, slots=True)
class Finding:
    """What is known of one score of one prerequisite and contrast.

    Attributes
    ----------
    model, task, unit, prerequisite : str
    step : int or None
        Of a chain unit.
    contrast : Contrast
    metric : {"N", "S", "NS"}
        What is lost when X_i alone goes from a to a' (N), what is repaired when it alone goes from a' to a (S), or the
        plain difference along a chain (NS).
    scores : Scores
        The score's row, then the rows of the probabilities that it bounds, with limits and worst cases.
    simultaneous : tuple of float or None
        Lower and upper limit of the score that hold for all prerequisites of the task at once (Bonferroni); None where
        the score is suppressed, as its own limits are.
    p_value, adjusted : float or None
        Of H0: p ≤ p', and the same adjusted over the prerequisites (Holm).
    p_value_reversed, adjusted_reversed : float or None
        Of H0: p ≥ p', whose rejection says that a harms.
    test : PairedTest or None
    instance_level : InstanceLevel or None
        None where there is no evidence.
    instances : int
        Instances that were scored under both configurations.
    instances_needed : int or None
        Where it is undecided: about how many such instances would show the observed effect, if it is the true one.
    verdict : Verdict
    words : str
        The verdict as a practitioner says it.
    reason : str
        Why there is no evidence, or what stands in the way of a verdict.
    """

    model: str
    task: str
    unit: str
    step: int | None
    prerequisite: str
    contrast: Contrast
    metric: Metric
    scores: Scores
    simultaneous: tuple[float, float] | None
    p_value: float | None
    adjusted: float | None
    p_value_reversed: float | None
    adjusted_reversed: float | None
    test: PairedTest | None
    instance_level: InstanceLevel | None
    instances: int
    instances_needed: int | None
    verdict: Verdict
    words: str
    reason: str = ""

    @property
    def score(self) -> Score:
        """The row of the score itself."""
        return self.scores[0]

    @property
    def bounded(self) -> Score:
        """The row of PN for N, of PS for S, of PNS for NS."""
        return self.scores[1]

    def to_dict(self) -> dict[str, Any]:
        """Return the finding as one flat row of JSON values."""
        score, bounded, inner = self.score, self.bounded, self.instance_level
        limits = inner.lower.limits if inner else None
        return {
            "model": self.model,
            "task": self.task,
            "unit": self.unit,
            "step": self.step,
            "prerequisite": self.prerequisite,
            "contrast": self.contrast.text,
            "metric": self.metric,
            "value": score.value,
            "limit_lower": score.limit_lower,
            "limit_upper": score.limit_upper,
            "simultaneous_lower": self.simultaneous[0] if self.simultaneous else None,
            "simultaneous_upper": self.simultaneous[1] if self.simultaneous else None,
            "denominator": score.denominator,
            "suppressed": score.suppressed,
            "worst_lower": score.worst_lower,
            "worst_upper": score.worst_upper,
            "bounded": bounded.metric,
            "bound_lower": bounded.lower,
            "bound_upper": bounded.upper,
            "bound_limit_lower": bounded.limit_lower,
            "bound_limit_upper": bounded.limit_upper,
            "instance_method": inner.lower.method.value if inner else None,
            "instance_value": _plain(inner.lower.value) if inner else None,
            "instance_limit_lower": max(0.0, limits.lower.item()) if limits and limits.known else None,
            "instance_upper": _plain(inner.upper.value) if inner and inner.upper else None,
            "p_value": self.p_value,
            "adjusted": self.adjusted,
            "test": self.test.value if self.test else None,
            "n": score.n,
            "instances": self.instances,
            "instances_needed": self.instances_needed,
            "missing": score.missing,
            "absent": score.absent,
            "verdict": self.verdict.value,
            "words": self.words,
            "reason": self.reason or score.reason or (inner.lower.reason if inner else None) or None,
        }


class Diagnosis(tuple[Finding, ...]):
    """Findings in the order of the scores; a tuple that also becomes a table and sentences."""

    __slots__ = ()

    def to_frame(self) -> pd.DataFrame:
        """Return one row per finding; the columns are the keys of :meth:`Finding.to_dict`."""
        import pandas as pd

        return pd.DataFrame([finding.to_dict() for finding in self])

    @property
    def scores(self) -> Scores:
        """The rows of :func:`dodiag.bounds.scores.contributions`, in its order."""
        return Scores(itertools.chain.from_iterable(finding.scores for finding in self))

    def where(self, **wanted: Any) -> Diagnosis:
        """Return the findings whose fields have these values; contrasts may be given as text."""
        if isinstance(wanted.get("contrast"), str):
            wanted["contrast"] = Contrast.parse(wanted["contrast"])
        return Diagnosis(f for f in self if all(getattr(f, name) == value for name, value in wanted.items()))

    def headline(self, model: str, contrast: str = "1,n") -> str:
        """Return one sentence about what to fix first for a model, or about why that cannot be said.

        Raises
        ------
        ValueError
            If there is no finding on S for this model and contrast.
        """
        found = self.where(model=model, metric="S", contrast=contrast)
        if not found:
            raise ValueError(f"nothing was found on S({contrast}) of {model}")
        first = [f for f in found if f.verdict is Verdict.FIRST]
        among = [f for f in found if f.verdict is Verdict.AMONG_FIRST]
        if first:
            return f"Fix {first[0].prerequisite} first: {_repairs(first[0])}."
        if len(among) == 1:
            return f"Fix {among[0].prerequisite} first, if anything: {_repairs(among[0])}; others may do as well."
        if among:
            names = ", ".join(f.prerequisite for f in among)
            return f"{names} are the first to fix; these data do not tell them apart."
        harms = [f.prerequisite for f in found if f.verdict is Verdict.HARMS]
        if harms:
            return f"Supplying {', '.join(harms)} hurts; nothing is shown to help."
        return _nothing_leads(found)


def diagnose(
    outcomes: pd.DataFrame,
    task: Structure,
    contrasts: Iterable[Contrast | str] | None = None,
    *,
    level: float = 0.95,
    min_denominator: float = PAPER_MIN_DENOMINATOR,
    negligible: float = NEGLIGIBLE,
    deterministic: bool = False,
) -> Diagnosis:
    """Say, for every prerequisite and contrast, what the outcomes allow to say.

    For each score: its value with limits, both ends of what it bounds, worst cases over missing outcomes, the bound at
    the level of instances, a test adjusted over the prerequisites, and a verdict.

    Parameters
    ----------
    outcomes : pandas.DataFrame
        An outcome table.
    task : TaskGraph
    contrasts : iterable of Contrast or str, optional
        By default those of the paper's four that were run.
    level : float
        Two-sided confidence level of limits; claims are made at a family-wise error of 1 − level per model, contrast
        and score.
    min_denominator : float
        As in :func:`dodiag.bounds.scores.contributions`.
    negligible : float
        A score is called little if its simultaneous upper limit is below this.
    deterministic : bool
        Whether the model answers the same prompt the same way every time (temperature 0 alone does not make sure of
        that), so that single runs identify PN and PS.

    Returns
    -------
    Diagnosis
        One finding per model, prerequisite (or chain step), contrast and score.

    Raises
    ------
    UsageError
        If the table does not fit the task.
    NotAProbability
        If `level` or `negligible` is not in (0, 1).

    Notes
    -----
    *First*: the test of the score is significant after Holm, and the prerequisite beats every other one in a paired
    comparison at (1 − level) / (k − 1), so that a wrong one is named first with at most that error. *Among the first*:
    significant, and not beaten by the one with the highest score. *Matters*: significant, and beaten. *Harms*: the
    reversed test is significant after Holm, whatever the denominator. *Little*: the simultaneous upper limit is below
    `negligible`, significant or not. *No room*: the denominator is below `min_denominator`, and so is its own
    simultaneous upper limit (or below `negligible`, if that is larger). Otherwise *undecided*.
    """
    for name, value in (("level", level), ("negligible", negligible)):
        if not 0 < value < 1:
            raise NotAProbability(name, value)
    table = checked(outcomes, task)
    found = compared(table, task, contrasts_of(contrasts), keep_empty=contrasts is not None)
    rows = list(score_rows(found, task.name, min_denominator, level))
    findings: dict[int, Finding] = {}
    for family in _families(found):
        members = [(found[index], rows[index]) for index in family]
        judged = _judge(members, level, min_denominator, negligible, deterministic)
        findings |= dict(zip(family, judged, strict=True))
    return Diagnosis(findings[index] for index in range(len(found)))


def _families(found: Sequence[Comparison]) -> list[list[int]]:
    """Group what is claimed together: one model, unit, contrast and score, over prerequisites or steps."""
    families: dict[tuple[object, ...], list[int]] = {}
    for index, c in enumerate(found):
        families.setdefault((c.model, c.unit, c.contrast, c.metric), []).append(index)
    return list(families.values())


def _judge(
    members: Sequence[tuple[Comparison, Scores]],
    level: float,
    min_denominator: float,
    negligible: float,
    deterministic: bool,
) -> Iterator[Finding]:
    alpha = 1 - level
    comparisons = [comparison for comparison, _ in members]
    usable = [not no_evidence(c.paired) and int(c.sums.n) >= 2 for c in comparisons]
    tested = np.array(usable)
    tests = [superiority(c.sums, c.paired.single) if ok else None for c, ok in zip(comparisons, usable, strict=True)]
    reverse = [
        superiority(c.sums.reversed, c.paired.single) if ok else None for c, ok in zip(comparisons, usable, strict=True)
    ]
    adjusted = _adjusted([t.p_value if t else np.nan for t in tests], tested)
    adjusted_reversed = _adjusted([t.p_value if t else np.nan for t in reverse], tested)
    together, rooms = _simultaneous(comparisons, usable, level)
    least_room = max(min_denominator, negligible)
    significant = [bool(ok and p <= alpha) for ok, p in zip(usable, adjusted, strict=True)]
    ranks = _ranks(members, significant, alpha)
    for index, (comparison, scores) in enumerate(members):
        test, other = tests[index], reverse[index]
        if usable[index]:
            room = rooms.get(index)
            verdict, reason = _verdict(
                scores[0],
                ranks[index],
                bool(adjusted_reversed[index] <= alpha),
                little=together[index][1] < negligible,
                no_room=room is not None and room < least_room,
            )
        else:
            verdict = Verdict.NO_EVIDENCE
            reason = no_evidence(comparison.paired) or ONE_INSTANCE
        yield Finding(
            model=comparison.model,
            task=scores[0].task,
            unit=comparison.unit,
            step=comparison.step,
            prerequisite=comparison.prerequisite,
            contrast=comparison.contrast,
            metric=comparison.metric,
            scores=scores,
            simultaneous=None if scores[0].suppressed else together.get(index),
            p_value=test.p_value if test else None,
            adjusted=float(adjusted[index]) if test else None,
            p_value_reversed=other.p_value if other else None,
            adjusted_reversed=float(adjusted_reversed[index]) if other else None,
            test=test.test if test else None,
            instance_level=_instance_level(comparison, deterministic, (1 + level) / 2) if usable[index] else None,
            instances=int(comparison.sums.n),
            instances_needed=(
                _needed(comparison.sums, alpha / len(members))
                if verdict is Verdict.UNDECIDED and not scores[0].suppressed
                else None
            ),
            verdict=verdict,
            words=in_words(verdict, comparison.metric, comparison.contrast),
            reason=reason,
        )


def _verdict(score: Score, rank: Verdict | None, harms: bool, *, little: bool, no_room: bool) -> tuple[Verdict, str]:
    if harms:
        return Verdict.HARMS, ""
    if score.suppressed:
        return (Verdict.NO_ROOM if no_room else Verdict.UNDECIDED), score.reason or ""
    if little:
        return Verdict.LITTLE, ""
    if rank is not None:
        return rank, ""
    return Verdict.UNDECIDED, f"the score lies between {score.limit_lower:.2f} and {score.limit_upper:.2f}"


def _adjusted(p_values: Sequence[float], tested: Any) -> Any:
    return holm(p_values, tested) if tested.any() else np.full(len(p_values), np.nan)


def _simultaneous(
    comparisons: Sequence[Comparison], usable: Sequence[bool], level: float
) -> tuple[dict[int, tuple[float, float]], dict[int, float]]:
    """Return, by index, limits of the scores that hold together, and upper limits of what N and S divide by."""
    indices = [index for index, ok in enumerate(usable) if ok]
    if not indices:
        return {}, {}
    metric = comparisons[0].metric
    widest = max(comparisons[index].instances for index in indices)
    pairs = PairedSums.stack([comparisons[index].paired.sums(widest) for index in indices])
    side = bonferroni_level((1 + level) / 2, len(indices))
    limits = _LIMITS[metric](pairs, side)
    ends = zip(limits.lower.tolist(), limits.upper.tolist(), strict=True)
    found = {index: (max(0.0, low), max(0.0, high)) for index, (low, high) in zip(indices, ends, strict=True)}
    if metric == "NS":
        return found, {}
    baseline = wilson_limits((pairs if metric == "N" else pairs.failures).active, pairs.sizes, side).upper
    return found, dict(zip(indices, baseline.tolist(), strict=True))


_LIMITS: Mapping[Metric, Any] = {"N": n_limits, "S": s_limits, "NS": difference_limits}


def _ranks(
    members: Sequence[tuple[Comparison, Scores]], significant: Sequence[bool], alpha: float
) -> list[Verdict | None]:
    """Tell which significant members lead; None for those that are not significant."""
    candidates = [index for index, yes in enumerate(significant) if yes]
    ranks: list[Verdict | None] = [Verdict.MATTERS if yes else None for yes in significant]
    if not candidates or members[0][0].metric == "NS":
        return ranks
    others = [index for index, (c, _) in enumerate(members) if not no_evidence(c.paired)]
    leader = max(candidates, key=lambda index: _effect(members[index][0]))
    threshold = alpha / max(len(others) - 1, 1)
    beaten = {o for o in others if o != leader and _better(members[leader][0], members[o][0]) <= threshold}
    if len(others) == len(members) and beaten == set(others) - {leader}:
        ranks[leader] = Verdict.FIRST
        return ranks
    for index in candidates:
        if index == leader or index not in beaten:
            ranks[index] = Verdict.AMONG_FIRST
    return ranks


def _effect(comparison: Comparison) -> float:
    return float(comparison.paired.active.mean() - comparison.paired.reference.mean())


def _better(one: Comparison, other: Comparison) -> float:
    """P-value of H0: `one` has no larger effect than `other`.

    All prerequisites share the baseline (the reference arm for S, the active arm for N), so the arms that are not
    shared are compared, on the questions that both were scored on.
    """
    _, left, right = np.intersect1d(one.paired.question, other.paired.question, return_indices=True)
    if not len(left):
        return 1.0
    if one.metric == "S":
        active, reference = one.paired.active[left], other.paired.active[right]
        once = one.paired.active_runs[left].max() == 1 == other.paired.active_runs[right].max()
    else:
        active, reference = other.paired.reference[right], one.paired.reference[left]
        once = one.paired.reference_runs[left].max() == 1 == other.paired.reference_runs[right].max()
    instance = one.paired.instance[left]
    pairs = PairedSums.by_instance(active, reference, instance, one.instances)
    if pairs.n < 2:
        return 1.0
    return superiority(pairs, bool(once and pairs.sizes.max() == 1)).p_value


def _instance_level(comparison: Comparison, deterministic: bool, level: float) -> InstanceLevel:
    runs = repeats_of(comparison.paired)
    quantity: Literal["PN", "PS", "PNS"] = _QUANTITY[comparison.metric]
    if deterministic:
        return InstanceLevel(deterministic_score(quantity, runs, level))
    upper = (
        upper_from_lower("PS", runs.failures, level) if quantity == "PN" else upper_from_lower(quantity, runs, level)
    )
    upper = replace(upper, quantity=quantity)
    sign = loss(quantity, runs, level)
    return InstanceLevel(
        rerun_corrected(quantity, runs, level),
        None if upper.reason else upper,
        None if sign.reason else sign,
    )


_QUANTITY: Mapping[Metric, Literal["PN", "PS", "PNS"]] = {"N": "PN", "S": "PS", "NS": "PNS"}


def repeats_of(paired: Paired) -> Repeats:
    """Return the runs of a comparison, for the functions of :mod:`dodiag.bounds.within_instance`."""
    return Repeats.of(
        paired.active_solved, paired.active_runs, paired.reference_solved, paired.reference_runs, paired.instance
    )


def in_words(verdict: Verdict, metric: Metric, contrast: Contrast) -> str:
    """Return a verdict as a practitioner says it.

    Examples
    --------
    >>> in_words(Verdict.FIRST, "S", Contrast.parse("1,n")), in_words(Verdict.MATTERS, "N", Contrast.parse("1,0"))
    ('fix this first', 'corrupting it costs success')
    """
    if verdict is Verdict.UNDECIDED:
        return "not enough data to say"
    if verdict is Verdict.NO_EVIDENCE:
        return "no evidence"
    if metric != "S":
        return _COST[verdict].format(_doing(contrast.a, contrast.a_prime))
    if contrast.a is State.CORRECT and contrast.a_prime is not State.CORRECT_TEXT:
        return _FIX[verdict]
    subject = "a wrong answer" if contrast.a is State.INCORRECT else _doing(contrast.a_prime, contrast.a)
    return _HELP[verdict].format(subject)


def _doing(before: State, after: State) -> str:
    """Return what is done to a prerequisite when it goes from one state to another."""
    if after is State.NATURAL:
        return _UNDOING[before]
    if (before, after) == (State.CORRECT_TEXT, State.CORRECT):
        return "marking it on the picture"
    if (before, after) == (State.CORRECT, State.CORRECT_TEXT):
        return "unmarking it on the picture"
    return _INJECTING[after]


_INJECTING = {
    State.CORRECT: "supplying it",
    State.CORRECT_TEXT: "supplying it as text",
    State.INCORRECT: "corrupting it",
    State.QUESTION_ONLY: "asking it without an answer",
}
_UNDOING = {
    State.CORRECT: "withdrawing it",
    State.CORRECT_TEXT: "withdrawing it",
    State.INCORRECT: "removing its wrong answer",
    State.QUESTION_ONLY: "leaving its question out",
}


_FIX = {
    Verdict.FIRST: "fix this first",
    Verdict.AMONG_FIRST: "among the first to fix",
    Verdict.MATTERS: "worth fixing, after others",
    Verdict.LITTLE: "little to gain",
    Verdict.HARMS: "supplying it hurts",
    Verdict.NO_ROOM: "hardly any failure to repair",
}
_HELP = {
    Verdict.FIRST: "{} helps most",
    Verdict.AMONG_FIRST: "{} is among the most helpful",
    Verdict.MATTERS: "{} helps",
    Verdict.LITTLE: "{} helps little",
    Verdict.HARMS: "{} hurts",
    Verdict.NO_ROOM: "hardly any failure to repair",
}
_COST = {
    Verdict.FIRST: "{} costs most",
    Verdict.AMONG_FIRST: "{} is among the costliest",
    Verdict.MATTERS: "{} costs success",
    Verdict.LITTLE: "{} costs little",
    Verdict.HARMS: "{} helps",
    Verdict.NO_ROOM: "hardly any success to lose",
}


def _needed(pairs: PairedSums, alpha: float) -> int | None:
    """Return how many instances would decide what these did not, so more than there are."""
    needed = instances_needed(pairs, alpha)
    return None if needed is None else max(needed, int(pairs.n) + 1)


def _nothing_leads(found: Sequence[Finding]) -> str:
    """Return one sentence about findings of which none is to be fixed first, nor hurts."""
    of: dict[Verdict, list[Finding]] = {}
    for finding in found:
        of.setdefault(finding.verdict, []).append(finding)
    if undecided := of.get(Verdict.UNDECIDED):
        return _undecided(undecided)
    if helpful := of.get(Verdict.MATTERS):
        return f"Supplying {', '.join(f.prerequisite for f in helpful)} helps; none is shown to be the first to fix."
    if unknown := of.get(Verdict.NO_EVIDENCE):
        if len(unknown) == len(found):
            return f"No evidence: {unknown[0].reason}."
        names = ", ".join(f.prerequisite for f in unknown)
        return f"No evidence on {names} ({unknown[0].reason}); no other prerequisite is worth fixing."
    if Verdict.LITTLE in of:
        return "No single prerequisite is worth fixing: each repairs little of what fails."
    return "No single prerequisite is worth fixing: hardly anything fails without them."


def _undecided(found: Sequence[Finding]) -> str:
    said = f"{max(f.instances for f in found)} instances are not enough to say what to fix first."
    hopeful = [f for f in found if f.instances_needed is not None]
    if not hopeful:
        return said
    best = min(hopeful, key=lambda finding: finding.instances_needed or 0)
    return (
        f"{said} If {best.prerequisite} helps as much as it seems to, about {best.instances_needed:,} such instances"
        " would show it."
    )


def _repairs(finding: Finding) -> str:
    score = finding.score
    evidence = f"(S = {score.value:.2f}, n = {score.n})"
    # Rounded down: the sentence must not claim more than the limit.
    if score.limit_lower and (least := math.floor(100 * score.limit_lower)):
        return f"supplying it alone repairs at least {least}% of the failures {evidence}"
    return f"supplying it alone repairs failures, how many is open {evidence}"


def _plain(value: Any) -> float | None:
    return None if np.isnan(value).any() else float(value)
