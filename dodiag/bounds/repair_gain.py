"""CADET's repair gain: how much of the distance from NC to IC the repair of one well-chosen prerequisite captures.

The gain of prerequisite i is (p_i − NC)/(IC − NC), p_i the success probability with i correct and the others natural.
A rule picks the prerequisite. Picked and scored on the same instances the gain reads too high, because the luckiest one
is picked; here every instance is scored with a pick made without it, and the limits hold for whatever was picked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dodiag.bounds.errors import NoData, NotAProbability, NotCounts, TooFewInstances, Undefined, UnequalPairing
from dodiag.bounds.formulas import ROUNDING, confidence_level, probability
from dodiag.bounds.identified import BY_DESIGN, Assumption, Floats
from dodiag.bounds.multiplicity import bonferroni_level
from dodiag.problems import UsageError

SAME_DATA = "selected and scored on the same data"
"""Flag of a plug-in gain whose pick depended on the outcomes that it is scored on."""

FEW_CHANGED = 10
"""With fewer instances that an intervention changes, normal limits are not to be trusted (as in the scores' limits)."""


@dataclass(frozen=True)
class Part:
    """The instances that a rule may look at when it picks.

    Attributes
    ----------
    instances : array of int, shape (m,)
        Their positions in the arrays given to :func:`repair_gain`; to look up other measurements of them.
    single : array, shape (m, k)
        Outcomes with one prerequisite correct and the others natural.
    baseline, full : array, shape (m,)
        Outcomes with all prerequisites natural, and all correct.
    sizes : array, shape (m,)
        Questions per instance.
    """

    instances: NDArray[np.intp]
    single: Floats
    baseline: Floats
    full: Floats
    sizes: Floats


@dataclass(frozen=True)
class Rule:
    """How the prerequisite to be repaired is picked.

    Attributes
    ----------
    name : str
    pick : callable
        Maps a :class:`Part` to a column, or to the chances (k,) with which each column is picked (ties, random picks).
    looks : bool
        Whether the pick depends on outcomes of the instances; if not, nothing has to be corrected.
    """

    name: str
    pick: Callable[[Part], int | ArrayLike]
    looks: bool = True


def highest(values: ArrayLike, name: str = "highest", sizes: ArrayLike | None = None) -> Rule:
    """Pick the prerequisite whose measurements have the highest mean over the instances that may be looked at.

    The rule "max IC − NC" is ``highest(correct − natural)``, of each prerequisite's own outcomes.

    Parameters
    ----------
    values : array_like, shape (instances, k)
        A measurement of each prerequisite on each instance; NaN where there is none.
    name : str
    sizes : array_like, shape (instances, k), optional
        Questions behind each measurement, which it is weighted by.

    Raises
    ------
    UnequalPairing
        If the shapes differ, or `values` is no table.
    NoData
        When the rule is applied: if a prerequisite has no measurement in the part.
    """
    table, weights = _weighted(values, sizes)

    def pick(part: Part) -> Floats:
        if len(table) <= part.instances.max():
            raise UnequalPairing({"values": table.shape, "instances": (int(part.instances.max()) + 1,)})
        total = weights[part.instances].sum(axis=0)
        if not total.all():
            raise NoData(f"measurement of prerequisite {int(np.flatnonzero(total == 0)[0])} to pick by")
        return _ties((table[part.instances] * weights[part.instances]).sum(axis=0) / total)

    return Rule(name, pick)


def lowest(values: ArrayLike, name: str = "lowest", sizes: ArrayLike | None = None) -> Rule:
    """Pick the prerequisite whose measurements have the lowest mean; parameters and errors as :func:`highest`.

    The rules "min NC" and "min IC" are those of each prerequisite's own outcomes; "max N" of the contrast (1, n) is the
    lowest outcome of the target with one prerequisite natural and the others correct, since all share IC.
    """
    return highest(-np.asarray(values, dtype=np.float64), name, sizes)


def fixed(column: int) -> Rule:
    """Pick one prerequisite that was named beforehand."""
    return Rule(f"prerequisite {column}", lambda part: column, looks=False)


MAX_S = Rule("max S", lambda part: _ties((part.sizes[:, None] * part.single).sum(axis=0)))
"""The highest S(1, n), that is the highest p_i, since all share the baseline."""

AT_RANDOM = Rule("random", lambda part: np.full(part.single.shape[1], 1 / part.single.shape[1]), looks=False)
"""Every prerequisite with the same chance."""


@dataclass(frozen=True)
class Gain:
    """A share of IC − NC with confidence limits.

    Attributes
    ----------
    value, lower, upper : float or None
        None where undefined. Not clipped: below 0 a repair does harm, above 1 it does better than all together.
        `lower` and `upper` each hold at the level asked for.
    weights : array, shape (k,)
        How often each prerequisite was picked; the limits are for the gain of this mixture.
    reason : str
        Why `value` or the limits are undefined; empty if they are not.
    flags : tuple of str
        What a reader has to know besides.
    """

    value: float | None
    lower: float | None
    upper: float | None
    weights: Floats
    reason: str = ""
    flags: tuple[str, ...] = ()

    def number(self) -> float:
        """Return the value.

        Raises
        ------
        Undefined
            If there is none.
        """
        if self.value is None:
            raise Undefined("the repair gain", self.reason)
        return self.value


@dataclass(frozen=True)
class RepairGain:
    """The repair gain of one rule.

    Attributes
    ----------
    rule : str
    plug_in : Gain
        Picked and scored on all instances; flagged :data:`SAME_DATA` if the rule looks at them. Its limits are honest
        all the same, its value is not.
    cross_fitted : Gain
        Every instance scored with a pick made without it. The one to report.
    nc, ic : float
        Means of `baseline` and `full`.
    singles : array, shape (k,)
        Means of `single`, p_i.
    spread : float or None
        Standard deviation of the cross-fitted value over repeats of the split; None without repeats.
    level : float
        Of each limit.
    n : int
        Instances.
    assumptions : tuple of Assumption
    """

    rule: str
    plug_in: Gain
    cross_fitted: Gain
    nc: float
    ic: float
    singles: Floats
    spread: float | None
    level: float
    n: int
    assumptions: tuple[Assumption, ...] = (*BY_DESIGN, Assumption.INSTANCES_SAMPLED)


def repair_gain(
    single: ArrayLike,
    baseline: ArrayLike,
    full: ArrayLike,
    rule: Rule | Callable[[Part], int | ArrayLike] = MAX_S,
    *,
    generator: np.random.Generator | None = None,
    folds: int = 5,
    repeats: int = 20,
    level: float = 0.95,
    sizes: ArrayLike | None = None,
) -> RepairGain:
    """Estimate the gain of repairing the prerequisite that a rule picks, without the winner's curse.

    Parameters
    ----------
    single : array_like, shape (instances, k)
        Outcomes in [0, 1] with one prerequisite correct and the others natural.
    baseline, full : array_like, shape (instances,)
        Outcomes of the same instances with all prerequisites natural (NC), and all correct (IC).
    rule : Rule or callable
        :data:`MAX_S`, :func:`highest`, :func:`lowest`, :func:`fixed`, :data:`AT_RANDOM`, or any callable as in
        :class:`Rule`; it sees only the instances that are not scored with its pick.
    generator : numpy.random.Generator, optional
        Draws `repeats` splits of the instances into `folds` balanced parts. Without it each instance is left out alone,
        which needs no random numbers but varies more where prerequisites tie.
    folds, repeats : int
        As above.
    level : float
        Of each limit, in (0, 1); an interval of both has at least 2 · level − 1.
    sizes : array_like, shape (instances,), optional
        Questions per instance, which the outcomes are weighted by; 1 each by default.

    Raises
    ------
    UnequalPairing
        If the arrays do not hold the same instances.
    NotAProbability
        If an outcome is NaN or outside [0, 1], the level not in (0, 1), or a rule's chances are none.
    NotCounts
        If a size is not above 0, or `folds` or `repeats` is no usable number.
    TooFewInstances
        If there are fewer instances than two or than folds.
    UsageError
        If the rule names a column that is not there.

    Notes
    -----
    The pick of a part is independent of the instances it is scored on, so the cross-fitted numerator
    mean of w_i · (single_i − baseline_i), w_i the pick made without i, has exactly the expectation of the picks' true
    p − NC. Repeats average the arbitrariness of a split away. What is left is the bias of any ratio of means, of
    order 1/instances: −.02 with 130 instances at NC .6, IC .9 and no gain.

    Limits are simultaneous over the k prerequisites: each prerequisite has a Fieller interval at the Bonferroni
    level, and on the event that all hold, so does the mixture of them for whatever weights the data chose. They cover
    the gain of the mixture in `weights`. A rule that does not look at the outcomes gets one interval, at `level`.
    Intervals of cross-validated scores that treat the parts as independent are not honest near ties: two halves
    that pick for each other are positively correlated there.
    Where fewer than :data:`FEW_CHANGED` instances change, the exact Clopper-Pearson limits of the shares that change
    up and down take the place of the normal ones.

    References
    ----------
    Fieller (1954). Bates, Hastie & Tibshirani (2023) on the dependence of cross-validated scores.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> outcomes = rng.random((200, 5)) < [0.3, 0.8, 0.6, 0.4, 0.4]
    >>> found = repair_gain(outcomes[:, 2:], outcomes[:, 0], outcomes[:, 1])
    >>> found.cross_fitted.lower < found.cross_fitted.value < found.cross_fitted.upper
    True
    >>> found.plug_in.flags
    ('selected and scored on the same data',)
    """
    part = _checked(single, baseline, full, sizes)
    n = len(part.single)
    confidence_level(level)
    picked = rule if isinstance(rule, Rule) else Rule(getattr(rule, "__name__", "rule"), rule)
    numerator = part.sizes[:, None] * (part.single - part.baseline[:, None])
    denominator = part.sizes * (part.full - part.baseline)
    everyone = _chances(picked, part)
    if picked.looks:
        scored = [_scored(picked, part, numerator, parts) for parts in _splits(n, folds, repeats, generator)]
    else:
        scored = [(float((numerator @ everyone).sum()), everyone)]
    numerators = np.array([total for total, _ in scored])
    mixture = np.mean([weights for _, weights in scored], axis=0)

    nc, ic = (float(np.average(arm, weights=part.sizes)) for arm in (part.baseline, part.full))
    refused = _no_distance(float(denominator.sum()), nc, ic)
    if refused:
        nothing = [Gain(None, None, None, weights, refused) for weights in (everyone, mixture)]
        return RepairGain(picked.name, nothing[0], nothing[1], nc, ic, _means(part), None, level, n)
    total = float(denominator.sum())
    limits = _Limits.of(numerator if picked.looks else numerator @ everyone[:, None], denominator, part.sizes, level)
    values = numerators / total
    plug_in = limits.gain(float((numerator @ everyone).sum() / total), everyone, picked.looks)
    cross_fitted = limits.gain(float(values.mean()), mixture, picked.looks)
    flags = (SAME_DATA,) if picked.looks else ()
    plug_in = Gain(plug_in.value, plug_in.lower, plug_in.upper, everyone, plug_in.reason, flags)
    spread = float(values.std(ddof=1)) if len(values) > 1 else None
    return RepairGain(picked.name, plug_in, cross_fitted, nc, ic, _means(part), spread, level, n)


@dataclass(frozen=True)
class _Limits:
    """Limits of one gain per column, that hold together."""

    lower: Floats
    upper: Floats
    reasons: tuple[str, ...]

    @classmethod
    def of(cls, numerator: Floats, denominator: Floats, sizes: Floats, level: float) -> _Limits:
        k = numerator.shape[1]
        each = bonferroni_level(level, k)
        lower, upper, reasons = np.full(k, np.nan), np.full(k, np.nan), [""] * k
        for column in range(k):
            found = _interval(numerator[:, column], denominator, sizes, each)
            if isinstance(found, str):
                reasons[column] = found
            else:
                lower[column], upper[column] = found
        return cls(lower, upper, tuple(reasons))

    def gain(self, value: float, weights: Floats, looks: bool) -> Gain:
        mixed = weights if looks else np.ones(1)
        used = mixed > 0
        reason = next((why for why, use in zip(self.reasons, used, strict=True) if use and why), "")
        if reason:
            return Gain(value, None, None, weights, reason)
        return Gain(value, float(mixed[used] @ self.lower[used]), float(mixed[used] @ self.upper[used]), weights)


def _interval(top: Floats, bottom: Floats, sizes: Floats, level: float) -> tuple[float, float] | str:
    """Return limits of mean top / mean bottom, each at `level`, or why there are none."""
    from scipy.special import stdtrit

    n = len(top)
    if np.count_nonzero(np.abs(bottom) > ROUNDING) < FEW_CHANGED:
        return f"fewer than {FEW_CHANGED} instances change when all prerequisites are supplied"
    if np.count_nonzero(np.abs(top) > ROUNDING) < FEW_CHANGED:
        return _interval_of_few(top, bottom, sizes, level)
    critical = float(stdtrit(n - 1, level))
    covariance = np.cov(top, bottom) * critical**2 / n
    a = bottom.mean() ** 2 - covariance[1, 1]
    b = top.mean() * bottom.mean() - covariance[0, 1]
    c = top.mean() ** 2 - covariance[0, 0]
    if a <= 0:
        return f"IC − NC cannot be told from 0 with {n} instances"
    half = np.sqrt(max(0.0, b * b - a * c))
    return float((b - half) / a), float((b + half) / a)


def _interval_of_few(top: Floats, bottom: Floats, sizes: Floats, level: float) -> tuple[float, float] | str:
    """Return limits where hardly any instance changes: a mean change is at most the share of changes upwards."""
    from scipy.special import betaincinv, stdtrit

    n = len(top)
    if np.ptp(sizes) > 0:
        return f"fewer than {FEW_CHANGED} instances change, and they hold different numbers of questions"
    half = (1 + level) / 2
    up, down = np.count_nonzero(top > ROUNDING), np.count_nonzero(top < -ROUNDING)
    most, least = float(betaincinv(up + 1, n - up, half)), -float(betaincinv(down + 1, n - down, half))
    gap = bottom / sizes
    distance = float(gap.mean() - stdtrit(n - 1, half) * gap.std(ddof=1) / np.sqrt(n))
    if distance <= 0:
        return f"IC − NC cannot be told from 0 with {n} instances"
    return least / distance, most / distance


def _no_distance(total: float, nc: float, ic: float) -> str:
    if total > ROUNDING:
        return ""
    if total < -ROUNDING:
        return f"supplying all prerequisites lowers success: IC − NC = {ic - nc:.3g}"
    return "supplying all prerequisites changes nothing: IC − NC = 0"


def _scored(rule: Rule, part: Part, numerator: Floats, parts: Sequence[NDArray[np.intp]]) -> tuple[float, Floats]:
    """Return the sum of the numerator under picks made without each instance, and how often each column was picked."""
    n, k = numerator.shape
    total, share = 0.0, np.zeros(k)
    questions = part.sizes.sum()
    for held_out in parts:
        training = np.ones(n, np.bool_)
        training[held_out] = False
        rows = np.flatnonzero(training)
        chances = _chances(rule, Part(rows, part.single[rows], part.baseline[rows], part.full[rows], part.sizes[rows]))
        total += float((numerator[held_out] @ chances).sum())
        share += chances * part.sizes[held_out].sum() / questions
    return total, share


def _splits(
    n: int, folds: int, repeats: int, generator: np.random.Generator | None
) -> Iterator[list[NDArray[np.intp]]]:
    if generator is None:
        yield np.array_split(np.arange(n), n)
        return
    if not float(folds).is_integer() or folds < 2:
        raise NotCounts("folds", folds, "At least two are needed.")
    if not float(repeats).is_integer() or repeats < 1:
        raise NotCounts("repeats", repeats, "At least one is needed.")
    if n < folds:
        raise TooFewInstances(n, int(folds))
    for _ in range(int(repeats)):
        yield np.array_split(generator.permutation(n), int(folds))


def _chances(rule: Rule, part: Part) -> Floats:
    """Return what a rule picks as chances per column."""
    k = part.single.shape[1]
    found = np.asarray(rule.pick(part))
    if found.ndim == 0:
        picked = np.asarray(np.arange(k) == found, dtype=np.float64)
        if not picked.any():
            raise UsageError(f"rule '{rule.name}' picked column {found}", f"There are columns 0 to {k - 1}.")
        return picked
    chances = probability(found, f"a chance of rule '{rule.name}'")
    if chances.shape != (k,):
        raise UnequalPairing({f"rule '{rule.name}'": chances.shape, "prerequisites": (k,)})
    if abs(chances.sum() - 1) > 1e-9:
        raise NotAProbability(f"the sum of the chances of rule '{rule.name}'", float(chances.sum()))
    return chances


def _ties(scores: Floats) -> Floats:
    """Return equal chances for all that share the highest score, so that the order of columns plays no part."""
    best = scores >= scores.max() - ROUNDING * max(1.0, float(np.abs(scores).max()))
    return np.asarray(best / best.sum(), dtype=np.float64)


def _weighted(values: ArrayLike, sizes: ArrayLike | None) -> tuple[Floats, Floats]:
    table = np.asarray(values, dtype=np.float64)
    weights = np.ones(table.shape) if sizes is None else np.asarray(sizes, dtype=np.float64)
    if table.ndim != 2 or table.shape != weights.shape:
        raise UnequalPairing({"values (instances, k)": table.shape, "sizes": weights.shape})
    wrong = ~((weights >= 0) & np.isfinite(weights)) | np.isinf(table)
    if wrong.any():
        raise NotCounts("sizes", float(weights[wrong].flat[0]))
    missing = np.isnan(table)
    return np.where(missing, 0.0, table), np.where(missing, 0.0, weights)


def _means(part: Part) -> Floats:
    return np.asarray(np.average(part.single, axis=0, weights=part.sizes), dtype=np.float64)


def _checked(single: ArrayLike, baseline: ArrayLike, full: ArrayLike, sizes: ArrayLike | None) -> Part:
    table = probability(single, "single")
    natural, correct = probability(baseline, "baseline"), probability(full, "full")
    weights = np.ones(natural.shape) if sizes is None else np.asarray(sizes, dtype=np.float64)
    shapes = {"single": table.shape, "baseline": natural.shape, "full": correct.shape, "sizes": weights.shape}
    if table.ndim != 2 or any(shape != table.shape[:1] for name, shape in shapes.items() if name != "single"):
        raise UnequalPairing(shapes)
    if not table.shape[1]:
        raise NoData("prerequisite")
    if len(table) < 2:
        raise TooFewInstances(len(table))
    wrong = ~((weights > 0) & np.isfinite(weights))
    if wrong.any():
        raise NotCounts("sizes", float(weights[wrong].flat[0]), "Every instance has at least one question.")
    return Part(np.arange(len(table)), table, natural, correct, weights)
