"""Instance-level bounds: what paired runs of the same instances say that two success rates do not.

Pooled rates let helped and harmed instances cancel. Here every instance (more exactly: every question of it) is a
stratum of its own, with success probabilities p(I) under a and p'(I) under a' (Kuroki & Cai 2011; Mueller, Li & Pearl
2022). Under deterministic decoding PN, PS and PNS are identified; with sampling noise the sharp lower end of PNS is
E max(0, p(I) − p'(I)).

The plug-in mean of max(0, difference of observed rates) is biased upwards, badly so with few repeats: with p = p' = 1/2
and one run each it reads 0.25 where the truth is 0. It is not offered. What is offered rests on one line: for a
selector s in [0, 1] made from other runs than the difference, E s·(p − p') ≤ E max(0, p − p').
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dodiag.bounds.errors import NoData, NotCounts, UnequalPairing
from dodiag.bounds.formulas import confidence_level, probability
from dodiag.bounds.identified import BY_DESIGN, Assumption, Floats, Identified
from dodiag.bounds.limits import Limits, clopper_pearson
from dodiag.bounds.pairs import PairedCounts
from dodiag.bounds.within_instance_limits import instance_limits
from dodiag.problems import UsageError

Quantity = Literal["PN", "PS", "PNS"]


class InstanceMethod(StrEnum):
    """How an instance-level score was made."""

    RERUN = "rerun-corrected"
    SIGN = "leave-one-out sign (LOSS)"
    DETERMINISTIC = "deterministic decoding"


_MOST_LOST = {
    (InstanceMethod.RERUN, False): (0.5, 0.5),
    (InstanceMethod.RERUN, True): (0.5, 1.0),
    (InstanceMethod.SIGN, False): (1.0, 0.0),
    (InstanceMethod.SIGN, True): (1.25, 0.0),
    (InstanceMethod.DETERMINISTIC, False): (0.5, 0.5),
    (InstanceMethod.DETERMINISTIC, True): (0.5, 1.0),
}
"""What one question can lose a bet at the most, by method and whether every question weighs the same (PNS); see
:func:`dodiag.bounds.within_instance_limits.instance_limits`."""


@dataclass(frozen=True)
class Repeats:
    """Runs of both arms, by question: how many, and how many of them were solved.

    Attributes
    ----------
    active_solved, active_runs, reference_solved, reference_runs : array of int, shape (..., questions)
    instances : array of int, shape (questions,)
        Instance of each question, numbered from 0.
    """

    active_solved: Floats
    active_runs: Floats
    reference_solved: Floats
    reference_runs: Floats
    instances: NDArray[np.int64]

    @classmethod
    def of(
        cls,
        active_solved: ArrayLike,
        active_runs: ArrayLike,
        reference_solved: ArrayLike,
        reference_runs: ArrayLike,
        instances: ArrayLike | None = None,
    ) -> Repeats:
        """Check four arrays of counts and pair them.

        Parameters
        ----------
        instances : array_like, shape (questions,), optional
            A label per question; by default every question is an instance of its own.

        Raises
        ------
        UnequalPairing
            If the shapes differ.
        NotCounts
            If a count is NaN, negative or not whole, or more was solved than run.
        UsageError
            If there is no axis of questions.
        """
        arrays = [np.asarray(v, np.float64) for v in (active_solved, active_runs, reference_solved, reference_runs)]
        names = ("active_solved", "active_runs", "reference_solved", "reference_runs")
        shapes = {name: array.shape for name, array in zip(names, arrays, strict=True)}
        if () in shapes.values():
            raise UsageError("a single count is of no question", "Give shape (..., questions), one count per question.")
        labels = np.arange(arrays[0].shape[-1]) if instances is None else np.asarray(instances)
        if len(set(shapes.values())) > 1 or labels.shape != arrays[0].shape[-1:]:
            raise UnequalPairing(shapes | {"instances": labels.shape})
        for name, array in zip(names, arrays, strict=True):
            wrong = ~((array >= 0) & (array == np.floor(array)) & np.isfinite(array))
            if wrong.any():
                raise NotCounts(name, float(array[wrong].flat[0]))
        for solved, runs, name in ((arrays[0], arrays[1], names[0]), (arrays[2], arrays[3], names[2])):
            if (solved > runs).any():
                raise NotCounts(name, float(solved[solved > runs].flat[0]), "No more can be solved than was run.")
        codes = np.unique(labels, return_inverse=True)[1].reshape(labels.shape)
        return cls(arrays[0], arrays[1], arrays[2], arrays[3], codes.astype(np.int64))

    @classmethod
    def from_runs(cls, active: ArrayLike, reference: ArrayLike, instances: ArrayLike | None = None) -> Repeats:
        """Count 0/1 outcomes of shape (..., questions, runs) under a and under a'.

        Raises
        ------
        NotCounts
            If an outcome is neither 0 nor 1.
        UnequalPairing
            If the two arms have different questions.
        UsageError
            If an arm has no axis of questions or none of runs.
        """
        arms = [np.asarray(v, np.float64) for v in (active, reference)]
        for name, arm in zip(("active", "reference"), arms, strict=True):
            if arm.ndim < 2:
                cure = "Give (..., questions, runs), such as [[1], [0]] for one run of each of two questions."
                raise UsageError(f"the {name} arm has shape {arm.shape}", cure)
            wrong = (arm != 0) & (arm != 1)
            if wrong.any():
                raise NotCounts(name, float(arm[wrong].flat[0]), "Single outcomes are 0 or 1.")
        solved = [arm.sum(axis=-1) for arm in arms]
        runs = [np.full(arm.shape[:-1], arm.shape[-1]) for arm in arms]
        return cls.of(solved[0], runs[0], solved[1], runs[1], instances)

    @property
    def failures(self) -> Repeats:
        """The same runs with failure in place of success and the arms exchanged: PS here is PN there."""
        return Repeats(
            self.reference_runs - self.reference_solved,
            self.reference_runs,
            self.active_runs - self.active_solved,
            self.active_runs,
            self.instances,
        )

    @property
    def opposed(self) -> Repeats:
        """The same runs with success and failure exchanged under a'."""
        failed = self.reference_runs - self.reference_solved
        return Repeats(self.active_solved, self.active_runs, failed, self.reference_runs, self.instances)

    @property
    def active(self) -> Floats:
        """Share of runs solved under a, by question; NaN where there is no run."""
        return _share(self.active_solved, self.active_runs)

    @property
    def reference(self) -> Floats:
        """Share of runs solved under a', by question; NaN where there is no run."""
        return _share(self.reference_solved, self.reference_runs)


@dataclass(frozen=True)
class InstanceScore:
    """A lower bound of PN, PS or PNS at the level of instances, with its limits; arrays of one shape (...).

    Attributes
    ----------
    quantity : str
    method : InstanceMethod
    value : array
        The estimate, not clipped: near 0 it can be negative. NaN where it is undefined.
    limits : Limits or None
        One-sided limits of its expectation, in [−1, 1]; `lower`, clipped at 0, is what may be claimed. NaN where there
        is no value, and where only one instance takes part; None where there is no value at all.
    questions : array of int
        Questions with the runs that the method needs.
    assumptions : tuple of Assumption
    reason : str
        Why the first value that is NaN is; empty if none is.
    """

    quantity: str
    method: InstanceMethod
    value: Floats
    limits: Limits | None
    questions: NDArray[np.int64]
    assumptions: tuple[Assumption, ...]
    reason: str = ""


def deterministic_value(quantity: Quantity, counts: PairedCounts) -> Identified:
    """PN, PS, PNS under deterministic decoding, where pairs identify them.

    PN = n10/(n10 + n11), PS = n10/(n10 + n00), PNS = n10/n. Undefined where the event that is conditioned on never
    happened.

    Raises
    ------
    UsageError
        If the quantity is none of the three; so do all functions here.

    Examples
    --------
    >>> print(deterministic_value("PN", PairedCounts.of(30, 30, 10, 30)))
    PN in [0.5, 0.5]
    """
    trials = _trials(quantity, counts)
    undefined = np.asarray(trials == 0)
    with np.errstate(invalid="ignore", divide="ignore"):
        value = np.where(undefined, np.nan, counts.n10 / trials)
    formula = {"PN": "n10 / (n10 + n11)", "PS": "n10 / (n10 + n00)", "PNS": "n10 / n"}[quantity]
    never = {"PN": "nothing was solved under a", "PS": "nothing failed under a'", "PNS": ""}[quantity]
    inputs = {name: getattr(counts, name).astype(np.float64) for name in ("n11", "n10", "n01", "n00")}
    return Identified(
        quantity,
        value,
        value,
        (formula, formula),
        inputs,
        (*BY_DESIGN, Assumption.DETERMINISTIC),
        undefined,
        never if undefined.any() else "",
        ("of these instances: no sampling error included",),
    )


def deterministic_limits(quantity: Quantity, counts: PairedCounts, level: float = 0.975) -> Limits:
    """Exact limits of PN, PS or PNS over the population of instances, under deterministic decoding (Clopper–Pearson).

    Raises
    ------
    NoData
        If the event that is conditioned on never happened.
    """
    return clopper_pearson(counts.n10, _trials(quantity, counts), level)


def deterministic_score(quantity: Quantity, repeats: Repeats, level: float = 0.975) -> InstanceScore:
    """PN, PS or PNS under deterministic decoding, with limits clustered by instance.

    The share of :func:`deterministic_value` over questions. Its limits are exact (Clopper–Pearson) where every instance
    has one question, and those of :func:`dodiag.bounds.within_instance_limits.instance_limits` otherwise.

    Parameters
    ----------
    repeats : Repeats
        Runs of one question that disagree with each other refute the assumption: then there is no value, and the
        reason says in how many questions.
    """
    usable = (repeats.active_runs >= 1) & (repeats.reference_runs >= 1)
    active, reference = np.where(usable, repeats.active, 0.0), np.where(usable, repeats.reference, 0.0)
    mixed = np.asarray(np.count_nonzero(usable & ((active % 1 > 0) | (reference % 1 > 0)), axis=-1))
    terms = np.where(usable, active * (1 - reference), 0.0)
    weights = np.where(usable, _conditioned(quantity, active, reference), 0.0)
    needs = "a run under both configurations"
    found = _instance_score(quantity, InstanceMethod.DETERMINISTIC, repeats, terms, weights, usable, needs, level)
    found = replace(found, assumptions=(*BY_DESIGN, Assumption.DETERMINISTIC, Assumption.INSTANCES_SAMPLED))
    if found.limits is not None and np.unique(repeats.instances).size == repeats.instances.size:
        solved, trials = np.rint(terms.sum(axis=-1)), np.rint(weights.sum(axis=-1))
        known = (trials > 0) & (mixed == 0)
        exact = clopper_pearson(np.where(known, solved, 0), np.where(known, trials, 1), level)
        ends = [np.where(known, end, np.nan) for end in (exact.lower, exact.upper)]
        found = replace(found, limits=Limits(ends[0], ends[1], level, exact.method))
    if not mixed.any():
        return found
    first = np.unravel_index(int(np.argmax(mixed > 0)), mixed.shape)
    reason = f"not deterministic: reruns of {mixed[first]} of {found.questions[first]} questions disagree"
    return _without(found, mixed > 0, reason)


def _trials(quantity: Quantity, counts: PairedCounts) -> NDArray[np.int64]:
    others = {"PN": counts.n11, "PS": counts.n00, "PNS": counts.n - counts.n10}
    return np.asarray(counts.n10 + others[_known(quantity)])


def stratified_bounds(
    quantity: Quantity, p: ArrayLike, p_prime: ArrayLike, weights: ArrayLike | None = None
) -> Identified:
    """Sharp bounds from the success probabilities of every instance.

    E max(0, p(I) − p'(I)) ≤ PNS ≤ E min(p(I), 1 − p'(I)); PN and PS divide by E p(I) and 1 − E p'(I). Never wider than
    the pooled ones. These are for known probabilities (a simulator, or very many runs): with observed rates of few runs
    the lower end is biased upwards; use :func:`rerun_corrected` or :func:`loss`.

    Parameters
    ----------
    quantity : {"PN", "PS", "PNS"}
    p, p_prime : array_like, shape (..., instances)
        Leading axes broadcast against each other; the instances have to be the same.
    weights : array_like, shape (instances,), optional
        Shares of the instances, of any positive sum; equal by default.

    Raises
    ------
    NotAProbability
        If a probability is NaN or outside [0, 1].
    NoData
        If there is no instance, or all weights are 0.
    UnequalPairing
        If p, p' and the weights do not have the same instances, or the leading axes do not broadcast.
    NotCounts
        If a weight is NaN, infinite or negative.

    Examples
    --------
    >>> print(stratified_bounds("PNS", [1.0, 0.0], [0.0, 0.5]))
    PNS in [0.5, 0.5]
    """
    _known(quantity)
    high, low = probability(p, "p"), probability(p_prime, "p'")
    share = np.ones(high.shape[-1:]) if weights is None else np.asarray(weights, np.float64)
    if not high.ndim or not high.shape[-1]:
        raise NoData("instance")
    try:
        shape = np.broadcast_shapes(high.shape, low.shape)
    except ValueError:
        shape = ()
    if not high.shape[-1:] == low.shape[-1:] == share.shape == shape[-1:]:
        raise UnequalPairing({"p": high.shape, "p'": low.shape, "weights": share.shape})
    if (wrong := ~((share >= 0) & np.isfinite(share))).any():
        raise NotCounts("weights", float(share[wrong][0]), "Weights are 0 or more.")
    if not share.any():
        raise NoData("instance of weight above 0")
    share = share / share.sum()
    lower, upper = (np.asarray(v @ share) for v in (np.maximum(0.0, high - low), np.minimum(high, 1 - low)))
    event = np.broadcast_to({"PN": high @ share, "PS": (1 - low) @ share, "PNS": np.ones(())}[quantity], lower.shape)
    undefined = np.asarray(event <= 0)
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        ends = [np.where(undefined, np.nan, np.clip(end / event, 0, 1)) for end in (lower, upper)]
    divisor = {"PN": " / E p(I)", "PS": " / (1 − E p'(I))", "PNS": ""}[quantity]
    never = {"PN": "Y = 1 under a has probability 0", "PS": "Y = 0 under a' has probability 0", "PNS": ""}[quantity]
    return Identified(
        quantity,
        ends[0],
        ends[1],
        (f"E max(0, p(I) − p'(I)){divisor}", f"E min(p(I), 1 − p'(I)){divisor}"),
        {"p(I)": high, "p'(I)": low},
        undefined=undefined,
        reason=never if undefined.any() else "",
    )


def rerun_corrected(quantity: Quantity, repeats: Repeats, level: float = 0.975) -> InstanceScore:
    """The rerun-corrected lower bound: rescued minus spontaneously recovered, among the failures (the default).

    PS: Σ (1 − Z1)(Y − Z2) / Σ (1 − Z1), averaged over all ordered pairs of baseline runs Z1 ≠ Z2: the rescue rate among
    baseline failures minus the rate at which the same failures recover on a rerun. PN: Σ Y1 (Y2 − Z) / Σ Y1, the break
    rate among successes minus the spontaneous break rate. PNS takes the selector of PS without the division. It
    estimates E (1 − p')(p − p') / E (1 − p') (PS), which never exceeds the sharp lower end, and equals PS (PN) when
    decoding is deterministic. The numerator is unbiased; ratios of means, PS and PN have a bias of order 1/instances.

    PS and PNS need two runs of the reference arm and one of the active arm, PN the other way round.

    Parameters
    ----------
    quantity : {"PN", "PS", "PNS"}
    repeats : Repeats
        Questions without the runs that are needed take no part.
    level : float
        Level of each one-sided limit.

    Examples
    --------
    >>> import numpy as np
    >>> noise = Repeats.from_runs(np.ones((4, 1)), [[0, 1], [1, 0], [0, 0], [1, 1]])
    >>> rerun_corrected("PS", noise).value.item()
    0.5
    """
    runs = repeats.failures if _known(quantity) == "PN" else repeats
    usable = (runs.reference_runs >= 2) & (runs.active_runs >= 1)
    needs = "two runs under a and one under a'" if quantity == "PN" else "two runs under a' and one under a"
    solved, count = runs.reference_solved, np.where(usable, runs.reference_runs, 2)
    baseline = np.where(usable, solved / count, 0.0)
    lift = np.where(usable, np.nan_to_num(runs.active), 0.0)
    # Σ_{j≠k} (1 − Z_j) Z_k over the ordered pairs of runs, of which S solved and r − S failed.
    recovered = np.where(usable, solved * (count - solved) / (count * (count - 1)), 0.0)
    terms = lift * (1 - baseline) - recovered
    weights = np.ones_like(terms) if quantity == "PNS" else 1 - baseline
    return _instance_score(quantity, InstanceMethod.RERUN, runs, terms, weights, usable, needs, level)


def loss(quantity: Quantity, repeats: Repeats, level: float = 0.975) -> InstanceScore:
    """LOSS, the leave-one-out sign selector: Σ_j s_(−j) (Y_j − Z_j), where s says which arm the other runs favour.

    s = 1 if the other runs were solved more often under a, 1/2 if equally often, 0 otherwise. Needs the same number
    r ≥ 2 of runs under both arms. Its expectation rises to the sharp lower end as r grows; at r = 2 it is (d + d²)/2
    with d = p(I) − p'(I).

    Parameters and errors as in :func:`rerun_corrected`.
    """
    usable = (repeats.active_runs >= 2) & (repeats.active_runs == repeats.reference_runs)
    runs = np.where(usable, repeats.active_runs, 2)
    solved, other = np.where(usable, repeats.active_solved, 0), np.where(usable, repeats.reference_solved, 0)
    # All pairings of a run under a with one under a' are equally likely, so only the counts matter.
    terms = np.zeros(np.broadcast_shapes(solved.shape))
    for hit in (0, 1):
        for missed in (0, 1):
            chance = _draws(solved, runs, hit) * _draws(other, runs, missed)
            rest = np.sign((solved - hit) - (other - missed))
            terms = terms + chance * (1 + rest) / 2 * (hit - missed)
    terms = np.where(usable, terms, 0.0)
    weights = _conditioned(quantity, np.nan_to_num(repeats.active), np.nan_to_num(repeats.reference))
    needs = "the same number of runs, two or more, under both configurations"
    return _instance_score(quantity, InstanceMethod.SIGN, repeats, terms, weights, usable, needs, level)


def upper_from_lower(quantity: Quantity, repeats: Repeats, level: float = 0.975) -> InstanceScore:
    """Upper bound of PNS, PN or PS at the level of instances: E min(p, 1 − p') = p − E max(0, p − (1 − p')).

    The rerun-corrected bound of E max(0, p − (1 − p')), with success and failure exchanged in the reference arm, is
    subtracted. Runs as for :func:`rerun_corrected` of PNS and PS (two under a', one under a).
    """
    opposed = repeats.opposed
    usable = (opposed.reference_runs >= 2) & (opposed.active_runs >= 1)
    needs = "two runs under a' and one under a"
    solved, count = opposed.reference_solved, np.where(usable, opposed.reference_runs, 2)
    baseline = np.where(usable, solved / count, 0.0)
    active = np.where(usable, np.nan_to_num(opposed.active), 0.0)
    recovered = np.where(usable, solved * (count - solved) / (count * (count - 1)), 0.0)
    terms = active - (active * (1 - baseline) - recovered)
    weights = _conditioned(quantity, active, 1 - baseline)
    return _instance_score(quantity, InstanceMethod.RERUN, repeats, terms, weights, usable, needs, level)


def _instance_score(
    quantity: Quantity,
    method: InstanceMethod,
    repeats: Repeats,
    terms: Floats,
    weights: Floats,
    usable: NDArray[np.bool_],
    needs: str,
    level: float,
) -> InstanceScore:
    assumptions = (*BY_DESIGN, Assumption.INDEPENDENT_RERUNS, Assumption.INSTANCES_SAMPLED)
    confidence_level(level)
    weights = np.where(usable, weights, 0.0)
    count = np.asarray(np.count_nonzero(usable, axis=-1), dtype=np.int64)
    total = weights.sum(axis=-1)
    undefined = np.asarray(~(total > 0))
    with np.errstate(invalid="ignore", divide="ignore"):
        value = np.asarray(np.where(undefined, np.nan, terms.sum(axis=-1) / total))
    reason = ""
    if (count == 0).any():
        reason = f"no question has {needs}"
    elif undefined.any():
        reason = f"undefined: {'nothing was solved under a' if quantity == 'PN' else 'nothing failed'}"
    if undefined.all():
        return InstanceScore(quantity, method, value, None, count, assumptions, reason)
    by_instance = [_per_instance(array, repeats.instances) for array in (terms, weights, usable.astype(np.float64))]
    most_lost = _MOST_LOST[method, quantity == "PNS"]
    limits = instance_limits(by_instance[0], by_instance[1], by_instance[2], level, most_lost=most_lost)
    return InstanceScore(quantity, method, value, limits, count, assumptions, reason)


def _without(found: InstanceScore, refuted: NDArray[np.bool_], reason: str) -> InstanceScore:
    """Return the same scores without the value and the limits of those that are refuted."""
    value = np.where(refuted, np.nan, found.value)
    limits = None
    if found.limits is not None and not refuted.all():
        ends = [np.where(refuted, np.nan, end) for end in (found.limits.lower, found.limits.upper)]
        limits = replace(found.limits, lower=ends[0], upper=ends[1])
    return replace(found, value=value, limits=limits, reason=reason)


def _known(quantity: Quantity) -> Quantity:
    if quantity not in get_args(Quantity):
        raise UsageError(f"quantity '{quantity}' is not known here", f"Use one of {', '.join(get_args(Quantity))}.")
    return quantity


def _conditioned(quantity: Quantity, active: Floats, reference: Floats) -> Floats:
    """Return the chance of the event that a quantity conditions on: success under a, failure under a', or anything."""
    events = {"PN": active, "PS": 1 - reference, "PNS": np.ones_like(active)}
    return events[_known(quantity)]


def _per_instance(values: Floats, instances: NDArray[np.int64]) -> Floats:
    """Sum over the questions of each instance, along the last axis."""
    order = np.argsort(instances, kind="stable")
    starts = np.flatnonzero(np.r_[True, np.diff(instances[order]) > 0])
    return np.asarray(np.add.reduceat(values[..., order], starts, axis=-1))


def _draws(solved: Floats, runs: Floats, outcome: int) -> Floats:
    """Probability that a run drawn from `runs`, `solved` of which succeeded, has this outcome."""
    return np.asarray(solved / runs if outcome else 1 - solved / runs)


def _share(solved: Floats, runs: Floats) -> Floats:
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(solved / runs)
