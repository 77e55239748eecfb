"""Minimal sufficient repair sets: which prerequisites have to be supplied correct so that failures go away.

Two questions, on the outcomes of one set of instances under several coalitions T (T supplied correct, rest natural):

* of the population of instances (:func:`sufficient_sets`): which smallest T repairs at least a share τ of the failures,
  with a bound on the probability of claiming it of a set that does not;
* of each instance, where decoding is deterministic (:func:`instance_repairs`): which minimal sets repair it, and which
  few sets together repair most instances (:func:`greedy_cover`, :func:`smallest_cover`).

A set that was not run is unknown, here and there; it never counts as failing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dodiag.bounds.coalitions import Coalition, by_coalition, coalitions, distinct, set_text
from dodiag.bounds.errors import NoData, NotAProbability, Undefined, UnequalPairing
from dodiag.bounds.formulas import confidence_level, probability
from dodiag.bounds.identified import Floats
from dodiag.problems import DodiagError, UsageError

Bools = NDArray[np.bool_]

LimitFunction = Callable[[Floats, Floats, float], float]
"""``limit(active, reference, level)``: a one-sided lower confidence limit, falling as the level rises."""

Outcomes = Mapping[Any, ArrayLike] | Callable[[Coalition], ArrayLike | None]
"""Success of each instance under T: a mapping from coalitions or configurations, or a function that may return None."""

COUNT_ROUNDING = 1e-9
"""Slack when a share of instances is turned into a number of them."""


class NotDeterministic(DodiagError):
    """Outcomes that should be 0 or 1, one per instance, are not.

    Attributes
    ----------
    name : str
    value : float
    """

    def __init__(self, name: str, value: float) -> None:
        super().__init__(
            f"{name} holds {value}, which is neither 0 nor 1",
            "Per instance a repair works or not; with several draws use limits for means.",
        )
        self.name = name
        self.value = value


class NoCover(DodiagError):
    """The integer program of the smallest cover was not solved.

    Attributes
    ----------
    status : str
        What the solver said.
    """

    def __init__(self, status: str) -> None:
        super().__init__(f"the smallest cover was not found: {status}", "Use greedy_cover.")
        self.status = status


def exact_repair_limit(active: ArrayLike, reference: ArrayLike, level: float) -> float:
    """Return the exact lower limit of PS = P(Y_a=1 | Y_a'=0) of paired instances under deterministic decoding.

    Deterministic decoding shows both potential outcomes of an instance, so PS is the share of the reference's failures
    that the active arm repairs, and its limit is the one-sided one of Clopper & Pearson (1934) for that conditional
    proportion. It is a limit of PS, which is at least S: repaired instances count, newly broken ones are not set off.

    Parameters
    ----------
    active, reference : array_like, shape (instances,)
        0 or 1.
    level : float
        One-sided confidence level in (0, 1).

    Raises
    ------
    NotDeterministic
        If an outcome is neither 0 nor 1.
    UnequalPairing
        If the arms differ in shape.
    Undefined
        If the reference has no failure.

    Examples
    --------
    >>> round(exact_repair_limit([1] * 9 + [0, 1], [0] * 10 + [1], 0.95), 4)
    0.6058
    """
    from scipy.stats import binomtest

    repaired, failed = _binary(active, "active"), ~_binary(reference, "reference")
    _same_shape(active=repaired, reference=failed)
    confidence_level(level)
    if not failed.any():
        raise Undefined("PS", "no instance fails under the reference")
    test = binomtest(int((repaired & failed).sum()), int(failed.sum()), alternative="greater")
    return float(test.proportion_ci(level, method="exact").low)


def exact_score_limit(active: ArrayLike, reference: ArrayLike, level: float) -> float:
    """Return an exact, conservative lower limit of S = max(0, p − p') / (1 − p') for one draw per instance and arm.

    1 − U/L, with U the upper limit of Clopper & Pearson for the failures of the active arm and L the lower one for
    those of the reference, each at half of 1 − level; whatever the dependence between the arms, so paired or not.

    Raises
    ------
    NotDeterministic
        If an outcome is neither 0 nor 1.
    NoData
        If an arm is empty.
    Undefined
        If the reference has no failure.

    Examples
    --------
    >>> round(exact_score_limit([1] * 90 + [0] * 10, [0] * 80 + [1] * 20, 0.95), 4)
    0.7512
    """
    from scipy.stats import binomtest

    failures = {"active": ~_binary(active, "active"), "reference": ~_binary(reference, "reference")}
    confidence_level(level)
    for name, failed in failures.items():
        if not failed.size:
            raise NoData(f"instance in the {name} arm")
    if not failures["reference"].any():
        raise Undefined("S", "no instance fails under the reference")
    each = 1 - (1 - level) / 2
    most = binomtest(int(failures["active"].sum()), failures["active"].size, alternative="less")
    least = binomtest(int(failures["reference"].sum()), failures["reference"].size, alternative="greater")
    ratio = most.proportion_ci(each, method="exact").high / least.proportion_ci(each, method="exact").low
    return float(max(0.0, 1 - ratio))


class SetVerdict(StrEnum):
    """What a search says of one set."""

    SUFFICIENT = "sufficient"
    NOT_SHOWN = "not shown to be sufficient"
    UNTESTED = "not tested"


@dataclass(frozen=True)
class SetTest:
    """The test of one set.

    Attributes
    ----------
    coalition : frozenset of str
    verdict : SetVerdict
    limit : float or None
        The lower limit that was last compared with τ; None if the set was not tested.
    level : float or None
        The confidence level of that limit.
    """

    coalition: Coalition
    verdict: SetVerdict
    limit: float | None = None
    level: float | None = None


@dataclass(frozen=True)
class SufficientSets:
    """What a search for sufficient repair sets found.

    Attributes
    ----------
    claim : str
        What is claimed of every set in `smallest`, such as ``"PS(T) >= 0.5"``.
    smallest : tuple of frozenset
        The sets of the smallest size at which some set was shown sufficient; empty if none was.
    tests : tuple of SetTest
        Every set of the planned sizes, smallest first, with its verdict.
    level : float
        With this probability or more, none of the claims is wrong.
    sizes : tuple of int
        The planned sizes; each may use up the same share of 1 − level.
    """

    claim: str
    smallest: tuple[Coalition, ...]
    tests: tuple[SetTest, ...]
    level: float
    sizes: tuple[int, ...]

    def __str__(self) -> str:
        if not self.smallest:
            return f"no tested set is shown to have {self.claim} (level {self.level:g})"
        listed = ", ".join("{" + ", ".join(sorted(t)) + "}" for t in self.smallest)
        return f"{self.claim} for {listed} (level {self.level:g} for all claims together)"


def sufficient_sets(
    outcomes: Outcomes,
    reference: ArrayLike,
    prerequisites: Sequence[str],
    tau: float,
    *,
    level: float = 0.95,
    limit: LimitFunction = exact_repair_limit,
    quantity: str | None = None,
    most: int | None = None,
) -> SufficientSets:
    """Search the smallest sets T that repair at least a share τ of the failures, by increasing size.

    Within one size the sets are tested by Holm's procedure (Holm 1979): with m of them left undecided, those whose
    lower limit at level 1 − α_s/m reaches τ are sufficient, and the rest is tested again with the smaller m. The search
    stops at the first size with a sufficient set.

    Guaranteed, if the limits hold: the probability that any set in `smallest` falls short of τ is at most 1 − level,
    whatever is true of the sets. For this, 1 − level is divided equally among the planned sizes. Testing every size at
    the full 1 − level would not do: a fixed sequence keeps its level by going on only after a rejection, whereas this
    search goes on after none, and so has a new chance of a false claim at every size.

    Not guaranteed: that no smaller set is sufficient. Smaller sets that were tested are not shown sufficient, which is
    no evidence against them, and sets that were not run are unknown.

    Parameters
    ----------
    outcomes : mapping or callable
        Success of each instance under T. A mapping has coalitions (frozensets or tuples of names, or configurations,
        also as text) as keys. A callable is asked for the sets of one size only after all smaller ones failed, so that
        runs can be saved; it returns None for a set that was not run.
    reference : array_like, shape (instances,)
        Success of the same instances with all prerequisites natural.
    prerequisites : sequence of str
    tau : float
        In (0, 1].
    level : float
        Confidence level of all claims together, in (0, 1).
    limit : callable
        One-sided lower confidence limit, see :data:`LimitFunction`. The default is exact for deterministic decoding;
        for means over draws pass one for S, such as
        ``lambda a, r, level: s_limits(PairedSums.of(a, r), level).ends()[0]`` of :mod:`dodiag.bounds.limits`.
    quantity : str, optional
        What the limit is of: "PS" for the default, "S" for others.
    most : int, optional
        The largest size to try; by default the largest in a mapping, or the number of prerequisites. It must not be
        chosen after looking at the outcomes.

    Returns
    -------
    SufficientSets

    Raises
    ------
    NotAProbability
        If τ is not in (0, 1] or the level not in (0, 1), or an outcome is NaN or outside [0, 1].
    NotDeterministic
        If an outcome is neither 0 nor 1 (from the default limit).
    UnequalPairing
        If a set has other instances than the reference.
    NoData
        If there is no instance or no set.
    Undefined
        If the reference has no failure (from the limit).
    UsageError
        If a set has unknown or no members or stands twice, a configuration leaves out a prerequisite, or `most` is no
        size.

    Examples
    --------
    >>> natural = [0] * 40 + [1] * 10
    >>> runs = {("X1",): [1] * 10 + [0] * 30 + [1] * 10, ("X1", "X2"): [1] * 38 + [0] * 2 + [1] * 10}
    >>> print(sufficient_sets(runs, natural, ["X1", "X2"], tau=0.75))
    PS(T) >= 0.75 for {X1, X2} (level 0.95 for all claims together)
    """
    if not 0 < tau <= 1:
        raise NotAProbability("tau", float(tau))
    confidence_level(level)
    baseline = _outcome(reference, "reference")
    names = distinct(prerequisites)
    fetch, sizes = _planned(outcomes, names, most)
    share = (1 - level) / len(sizes)
    tests: list[SetTest] = []
    smallest: tuple[Coalition, ...] = ()
    for size in sizes:
        sets = list(coalitions(names, [size]))
        if smallest:
            tests += [SetTest(t, SetVerdict.UNTESTED) for t in sets]
            continue
        arms = {t: _outcome(run, set_text(t, names)) for t in sets if (run := fetch(t)) is not None}
        for t, arm in arms.items():
            _same_shape(**{"reference": baseline, set_text(t, names): arm})
        decided = _holm({t: (arm, baseline) for t, arm in arms.items()}, tau, share, limit)
        tests += [decided.get(t, SetTest(t, SetVerdict.UNTESTED)) for t in sets]
        smallest = tuple(t for t, test in decided.items() if test.verdict == SetVerdict.SUFFICIENT)
    name = quantity or ("PS" if limit is exact_repair_limit else "S")
    return SufficientSets(f"{name}(T) >= {tau:g}", smallest, tuple(tests), level, sizes)


@dataclass(frozen=True)
class InstanceRepairs:
    """Which sets repair which instances, under deterministic decoding.

    Attributes
    ----------
    prerequisites : tuple of str
    sets : tuple of frozenset
        The sets that were run, smallest first.
    failing : array of bool, shape (instances,)
        Where the reference fails: what there is to repair.
    works : array of bool, shape (sets, instances)
        Where a set was run and the instance is solved.
    tested : array of bool, shape (sets, instances)
        Where it was run.
    """

    prerequisites: tuple[str, ...]
    sets: tuple[Coalition, ...]
    failing: Bools
    works: Bools
    tested: Bools

    @property
    def repairs(self) -> Bools:
        """Where a set solves an instance that fails in the reference, shape (sets, instances)."""
        return self.works & self.failing

    def up_to(self, size: int) -> InstanceRepairs:
        """Return the same without the sets of more than `size` members.

        Raises
        ------
        NoData
            If no set is left.
        """
        kept = [row for row, t in enumerate(self.sets) if len(t) <= size]
        if not kept:
            raise NoData(f"repair set of at most {size} members")
        sets = tuple(self.sets[row] for row in kept)
        return InstanceRepairs(self.prerequisites, sets, self.failing, self.works[kept], self.tested[kept])

    def minimal(self, instance: int) -> tuple[Coalition, ...]:
        """Return the sets that repair an instance and have no tested subset that does: an antichain.

        Empty if no tested set repairs it or nothing is to be repaired. A subset that was not run may repair it as well;
        see :meth:`surely_minimal`.
        """
        repairing = [t for t, works in zip(self.sets, self.repairs[:, instance], strict=True) if works]
        return tuple(t for t in repairing if not any(other < t for other in repairing))

    def surely_minimal(self, instance: int) -> tuple[Coalition, ...]:
        """Return those minimal sets all of whose proper subsets were run on the instance, and fail."""
        run = {t for t, tested in zip(self.sets, self.tested[:, instance], strict=True) if tested}
        return tuple(
            t
            for t in self.minimal(instance)
            if all(frozenset(r) in run for size in range(1, len(t)) for r in combinations(t, size))
        )

    def repaired_by(self) -> dict[Coalition, int]:
        """Return how many failing instances each set repairs."""
        return dict(zip(self.sets, self.repairs.sum(axis=1).tolist(), strict=True))

    def minimal_for(self) -> dict[Coalition, int]:
        """Return for how many failing instances each set is minimal."""
        counts = dict.fromkeys(self.sets, 0)
        for instance in np.flatnonzero(self.failing).tolist():
            for t in self.minimal(instance):
                counts[t] += 1
        return counts

    @property
    def repairable(self) -> Bools:
        """Failing instances that some tested set repairs."""
        return np.asarray(self.repairs.any(axis=0))

    @property
    def unrepaired(self) -> Bools:
        """Failing instances that no tested set repairs; sets that were not run might."""
        return self.failing & ~self.repairable

    @property
    def surely_unrepairable(self) -> Bools:
        """Unrepaired instances on which all sets of the prerequisites were run."""
        if len(self.sets) < (1 << len(self.prerequisites)) - 1:
            return np.zeros_like(self.failing)
        return self.unrepaired & self.tested.all(axis=0)

    @property
    def non_monotone(self) -> Bools:
        """Instances that a tested set solves, and a tested larger one does not; no set at all counts as a set.

        Supplying more correct answers should not hurt; where it does, minimal sets do not tell which sets repair.
        """
        return np.array([bool(self.reversals(i)) for i in range(self.failing.size)], dtype=np.bool_)

    def reversals(self, instance: int) -> tuple[tuple[Coalition, Coalition], ...]:
        """Return all pairs (set that solves the instance, larger set that fails it)."""
        solved = [] if self.failing[instance] else [frozenset[str]()]
        solved += [t for t, works in zip(self.sets, self.works[:, instance], strict=True) if works]
        fails = self.tested[:, instance] & ~self.works[:, instance]
        failed = [t for t, fail in zip(self.sets, fails, strict=True) if fail]
        return tuple((less, more) for less in solved for more in failed if less < more)


def instance_repairs(
    outcomes: Mapping[Any, ArrayLike],
    reference: ArrayLike,
    prerequisites: Sequence[str],
    tested: Mapping[Any, ArrayLike] | None = None,
) -> InstanceRepairs:
    """Return which sets repair which instances, under deterministic decoding.

    Parameters
    ----------
    outcomes : mapping to array_like, shape (instances,)
        0 or 1 under each set; keys are coalitions (frozensets or tuples of names) or configurations, also as text.
    reference : array_like, shape (instances,)
        0 or 1 with all prerequisites natural.
    prerequisites : sequence of str
    tested : mapping to array_like of bool, shape (instances,), optional
        On which instances a set was run; by default on all. Outcomes elsewhere are not read.

    Raises
    ------
    NotDeterministic
        If an outcome that is read is neither 0 nor 1.
    UnequalPairing
        If shapes differ.
    NoData
        If there is no instance or no set.
    UsageError
        If a set has unknown or no members or stands twice, a configuration leaves out a prerequisite, or `tested` is
        about a set without outcomes.

    Examples
    --------
    >>> found = instance_repairs({("X1",): [1, 0, 0], ("X1", "X2"): [1, 1, 0]}, [0, 0, 0], ["X1", "X2"])
    >>> [[sorted(t) for t in found.minimal(i)] for i in range(3)]
    [[['X1']], [['X1', 'X2']], []]
    >>> found.surely_minimal(1)
    ()
    """
    names = distinct(prerequisites)
    keyed, masks = _sets(outcomes, names), _sets(tested or {}, names)
    if not keyed:
        raise NoData("repair set")
    if extra := [t for t in masks if t not in keyed]:
        raise UsageError(f"{set_text(extra[0], names)} is said to be tested, but has no outcomes")
    sets = tuple(t for t in coalitions(names, range(1, len(names) + 1)) if t in keyed)
    solved = _binary(reference, "reference")
    if not solved.size:
        raise NoData("instance")
    works = np.zeros((len(sets), solved.size), dtype=np.bool_)
    run = np.ones_like(works)
    for row, t in enumerate(sets):
        name = set_text(t, names)
        arm = np.asarray(keyed[t])
        if t in masks:
            mask = np.asarray(masks[t], dtype=np.bool_)
            _same_shape(**{"reference": solved, name: arm, f"tested {name}": mask})
            run[row] = mask
            arm = np.where(mask, arm, 0)
        _same_shape(**{"reference": solved, name: arm})
        works[row] = _binary(arm, name)
    return InstanceRepairs(names, sets, ~solved, works, run)


@dataclass(frozen=True)
class Cover:
    """Sets of which each covered instance is repaired by at least one.

    Attributes
    ----------
    sets : tuple of frozenset
    covered, repairable, failing : int
        Failing instances that these sets repair, that any tested set repairs, and all.
    smallest : bool
        Whether it is known that no collection of fewer tested sets covers as much as was asked.
    """

    sets: tuple[Coalition, ...]
    covered: int
    repairable: int
    failing: int
    smallest: bool


def greedy_cover(repairs: InstanceRepairs, share: float = 1.0) -> Cover:
    """Return a small collection of sets that covers a share of the repairable instances, chosen greedily.

    Each step takes the set that repairs most of the instances still to be covered; of equal ones the one with fewest
    prerequisites, then the first. At most 1 + ln(instances to cover) times as many sets as needed (Chvátal 1979; Slavík
    1997 for a share). The share is about these instances: sets that were chosen to cover them cover fewer of others.

    Parameters
    ----------
    repairs : InstanceRepairs
    share : float
        In (0, 1], of the repairable instances.

    Raises
    ------
    NotAProbability
        If the share is not in (0, 1].
    Undefined
        If no tested set repairs any instance.
    """
    needed = _needed(repairs, share)
    left = repairs.repairs.copy()
    chosen: list[int] = []
    covered = 0
    while covered < needed:
        best = int(np.argmax(np.minimum(left.sum(axis=1), needed - covered)))
        covered += int(left[best].sum())
        chosen.append(best)
        left &= ~left[best]
    return _cover(repairs, chosen, smallest=len(chosen) == 1)


def smallest_cover(repairs: InstanceRepairs, share: float = 1.0, *, seconds: float = 60.0) -> Cover:
    """Return a smallest collection of sets that covers a share of the repairable instances.

    Of the smallest collections, one with fewest prerequisites in total. Found exactly, by integer programming over the
    distinct patterns of repair; meant for few prerequisites. Where supplying everything was run and repairs enough,
    that one set is the answer; :meth:`InstanceRepairs.up_to` leaves large sets out. Caution as in :func:`greedy_cover`.

    Parameters
    ----------
    repairs : InstanceRepairs
    share : float
        In (0, 1], of the repairable instances.
    seconds : float
        After this time the search is given up.

    Raises
    ------
    NotAProbability
        If the share is not in (0, 1].
    Undefined
        If no tested set repairs any instance.
    NoCover
        If the solver gives up, or time is up.
    """
    from scipy.optimize import Bounds, LinearConstraint, milp

    needed = _needed(repairs, share)
    patterns, counts = np.unique(repairs.repairs[:, repairs.repairable], axis=1, return_counts=True)
    sets, kinds = patterns.shape
    sizes = np.array([len(t) for t in repairs.sets])
    cost = np.concatenate([sizes.sum() + 1 + sizes, np.zeros(kinds)])
    covered_only_by_chosen = np.hstack([-patterns.T.astype(np.float64), np.eye(kinds)])
    enough = np.concatenate([np.zeros(sets), counts])[None, :]
    solution = milp(
        cost,
        integrality=np.ones(sets + kinds),
        bounds=Bounds(0, 1),
        constraints=[LinearConstraint(covered_only_by_chosen, ub=0), LinearConstraint(enough, lb=needed)],
        # HiGHS stops at a relative gap of 1e-4 by default, which may be one prerequisite too many.
        options={"mip_rel_gap": 0.0, "time_limit": seconds},
    )
    if not solution.success:
        raise NoCover(str(solution.message))
    found = _cover(repairs, np.flatnonzero(solution.x[:sets] > 0.5).tolist(), smallest=True)
    if found.covered < needed:
        raise NoCover(f"the solver's collection covers {found.covered} of {needed} instances")
    return found


def _holm(
    arms: Mapping[Coalition, tuple[Floats, Floats]], tau: float, alpha: float, limit: LimitFunction
) -> dict[Coalition, SetTest]:
    decided: dict[Coalition, SetTest] = {}
    undecided = list(arms)
    while undecided:
        level = 1 - alpha / len(undecided)
        for t in undecided:
            bound = float(limit(*arms[t], level))
            if math.isnan(bound):
                raise Undefined("the limit", f"the limit function gave NaN for {{{', '.join(sorted(t))}}}")
            decided[t] = SetTest(t, SetVerdict.SUFFICIENT if bound >= tau else SetVerdict.NOT_SHOWN, bound, level)
        rejected = [t for t in undecided if decided[t].verdict == SetVerdict.SUFFICIENT]
        if not rejected:
            break
        undecided = [t for t in undecided if t not in rejected]
    return {t: decided[t] for t in arms}


def _planned(
    outcomes: Outcomes, names: tuple[str, ...], most: int | None
) -> tuple[Callable[[Coalition], ArrayLike | None], tuple[int, ...]]:
    largest = len(names) if most is None else most
    if not float(largest).is_integer() or not 1 <= largest <= len(names):
        raise UsageError(f"the largest size {largest} is not between 1 and {len(names)}")
    if callable(outcomes):
        return outcomes, tuple(range(1, int(largest) + 1))
    keyed = _sets(outcomes, names)
    sizes = sorted({len(t) for t in keyed if len(t) <= largest})
    if not sizes:
        raise NoData("repair set")
    return keyed.get, tuple(sizes)


def _sets(outcomes: Mapping[Any, ArrayLike], names: tuple[str, ...]) -> dict[Coalition, ArrayLike]:
    found = by_coalition(outcomes, names)[1] if outcomes else {}
    if frozenset() in found:
        raise UsageError("the empty set repairs nothing", "Its outcomes are the reference.")
    return found


def _outcome(values: ArrayLike, name: str) -> Floats:
    array = probability(values, name)
    if array.ndim != 1:
        raise UnequalPairing({name: array.shape})
    if not array.size:
        raise NoData("instance")
    return array


def _binary(values: ArrayLike, name: str) -> Bools:
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1:
        raise UnequalPairing({name: array.shape})
    wrong = ~((array == 0) | (array == 1))
    if wrong.any():
        raise NotDeterministic(name, float(array[wrong][0]))
    return np.asarray(array == 1)


def _same_shape(**arrays: NDArray[Any]) -> None:
    if len({array.shape for array in arrays.values()}) > 1:
        raise UnequalPairing({name: array.shape for name, array in arrays.items()})


def _needed(repairs: InstanceRepairs, share: float) -> int:
    if not 0 < share <= 1:
        raise NotAProbability("share", float(share))
    repairable = int(repairs.repairable.sum())
    if not repairable:
        raise Undefined("a cover", "no tested set repairs any failing instance")
    return max(1, math.ceil(share * repairable - COUNT_ROUNDING))


def _cover(repairs: InstanceRepairs, chosen: Sequence[int], smallest: bool) -> Cover:
    covered = int(repairs.repairs[list(chosen)].any(axis=0).sum())
    return Cover(
        tuple(repairs.sets[row] for row in chosen),
        covered,
        int(repairs.repairable.sum()),
        int(repairs.failing.sum()),
        smallest,
    )
