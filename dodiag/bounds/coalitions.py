"""Repairing several prerequisites at once: how their effects add up, and a set as one treatment.

A coalition is a set T of prerequisites that are supplied correct while the rest stays natural, and
v(T) = P(Y=1 | do(A_T=1, rest natural)). Harsanyi dividends, Shapley values and interaction indices are linear summaries
of the 2^k values v(T). They are descriptive: each is a fixed average of differences between regimes that were run, and
none bounds a probability of causation. What does is the set T as one treatment (:func:`set_scores`).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations
from numbers import Rational
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dodiag.bounds.causation import Quantity, experimental_bounds
from dodiag.bounds.errors import NoData, NotAProbability, NotCounts, TooFewInstances, UnequalPairing
from dodiag.bounds.formulas import (
    PAPER_MIN_DENOMINATOR,
    ScoreArray,
    n_score,
    probability,
    s_score,
)
from dodiag.bounds.identified import Floats, Identified
from dodiag.problems import DodiagError, UsageError, nearest
from dodiag.vocabulary import Configuration, State

Coalition = frozenset[str]
"""The prerequisites that are supplied correct; all others are natural."""

Members = Coalition | Configuration | Iterable[str]
"""A coalition, the configuration that runs it (also as text, ``X1=1,X2=n``), or the names of its members."""

Number = float | Fraction
"""A probability: a float, or a Fraction (or int) where the arithmetic is to be exact."""

MOST_PREREQUISITES = 12
"""Summaries over all 2^k coalitions are refused beyond this k."""

NAMED_AT_MOST = 8
"""How many missing configurations an error message names; its payload has them all."""

SPREAD_ROUNDING = 1e-12
"""A standard error below this is rounding, not variation between instances."""


class MissingConfigurations(DodiagError):
    """A quantity needs coalitions that were not run, so the design does not identify it.

    Attributes
    ----------
    quantity : str
    missing : tuple of Configuration
        What has to be run besides, smallest coalitions first.
    """

    def __init__(self, quantity: str, missing: Sequence[Configuration]) -> None:
        named = "; ".join(str(configuration) for configuration in missing[:NAMED_AT_MOST])
        more = f" and {len(missing) - NAMED_AT_MOST} more" if len(missing) > NAMED_AT_MOST else ""
        super().__init__(f"{quantity} is not identified: no outcome under {named}{more}", "Run these configurations.")
        self.quantity = quantity
        self.missing = tuple(missing)


def coalition_of(configuration: Configuration | str) -> Coalition:
    """Return the prerequisites that a configuration supplies correct, all others being natural.

    Raises
    ------
    UsageError
        If the text is no configuration, or some prerequisite has a state other than 1 and n.

    Examples
    --------
    >>> sorted(coalition_of("X1=1,X2=n,X3=1"))
    ['X1', 'X3']
    """
    read = Configuration.parse(configuration) if isinstance(configuration, str) else configuration
    for unit, state in read.items:
        if state not in (State.CORRECT, State.NATURAL):
            raise UsageError(
                f"{unit}={state} in '{read}' is no part of a coalition", "Coalitions have the states 1 and n only."
            )
    return frozenset(unit for unit, state in read.items if state == State.CORRECT)


def configuration_of(coalition: Iterable[str], prerequisites: Sequence[str]) -> Configuration:
    """Return do(A_T=1, rest natural), in the order of the prerequisites.

    Raises
    ------
    UsageError
        If a member is not a prerequisite.

    Examples
    --------
    >>> str(configuration_of({"X3", "X1"}, ["X1", "X2", "X3"]))
    'X1=1,X2=n,X3=1'
    """
    members = _coalition(coalition, prerequisites)
    return Configuration(tuple((unit, State.CORRECT if unit in members else State.NATURAL) for unit in prerequisites))


def coalitions(prerequisites: Sequence[str], orders: Iterable[int] | None = None) -> Iterator[Coalition]:
    """Yield the coalitions of the given sizes (all by default), smallest first, in the order of the prerequisites."""
    for size in range(len(prerequisites) + 1) if orders is None else orders:
        yield from map(frozenset, combinations(prerequisites, size))


@dataclass(frozen=True)
class ValueFunction:
    """v(T) = P(Y=1 | do(A_T=1, rest natural)) for the coalitions T that were run.

    Attributes
    ----------
    prerequisites : tuple of str
        Pa(Y), in declared order.
    values : mapping of frozenset to float or Fraction
        v(T); Fractions (and ints) are kept exact.
    """

    prerequisites: tuple[str, ...]
    values: Mapping[Coalition, Number]

    @classmethod
    def of(cls, values: Mapping[Any, Any], prerequisites: Sequence[str] | None = None) -> Self:
        """Return the value function of a mapping.

        Parameters
        ----------
        values : mapping
            Keys are coalitions as frozensets or tuples of names, or configurations (also as text, such as
            ``"X1=1,X2=n"``); values are probabilities.
        prerequisites : sequence of str, optional
            Pa(Y). By default all that the keys name, in order of appearance.

        Raises
        ------
        NotAProbability
            If a value is NaN, None or outside [0, 1].
        NoData
            If the mapping is empty.
        UsageError
            If a coalition stands twice, or names what is not a prerequisite.

        Examples
        --------
        >>> v = ValueFunction.of({(): 0.25, ("X1",): 0.5, ("X2",): 0.25, ("X1", "X2"): 1.0})
        >>> v["X1=1,X2=n"], v.complete
        (0.5, True)
        """
        names, keyed = by_coalition(values, prerequisites)
        checked: dict[Coalition, Number] = {}
        for coalition, value in keyed.items():
            if np.ndim(value):
                raise UsageError(f"{_v(coalition, names)} is an array", "Outcomes of instances are InstanceValues.")
            if value is None or not 0 <= value <= 1:
                raise NotAProbability(_v(coalition, names), math.nan if value is None else float(value))
            checked[coalition] = Fraction(value) if isinstance(value, Rational) else float(value)
        return cls(names, checked)

    def __getitem__(self, coalition: Members) -> Number:
        members = _coalition(coalition, self.prerequisites)
        if members not in self.values:
            raise MissingConfigurations(
                _v(members, self.prerequisites), [configuration_of(members, self.prerequisites)]
            )
        return self.values[members]

    @property
    def complete(self) -> bool:
        """Whether all 2^k coalitions were run."""
        return len(self.values) == 1 << len(self.prerequisites)


@dataclass(frozen=True)
class InstanceValues:
    """The outcomes of the same instances under several coalitions.

    Attributes
    ----------
    prerequisites : tuple of str
    values : mapping of frozenset to array, shape (instances,)
        Success of each instance: 0 or 1, or its mean over questions or draws.
    weights : array, shape (instances,)
        How many questions of each instance its mean is over; v(T) is the weighted mean.
    """

    prerequisites: tuple[str, ...]
    values: Mapping[Coalition, Floats]
    weights: Floats

    @classmethod
    def of(
        cls,
        values: Mapping[Any, ArrayLike],
        prerequisites: Sequence[str] | None = None,
        weights: ArrayLike | None = None,
    ) -> Self:
        """Return the outcomes of a mapping with keys as in :meth:`ValueFunction.of`.

        Parameters
        ----------
        values : mapping to array_like, shape (instances,)
            In [0, 1], the same instances in the same order for every coalition.
        prerequisites : sequence of str, optional
        weights : array_like, shape (instances,), optional
            Above 0; all 1 by default.

        Raises
        ------
        NotAProbability
            If a value is NaN or outside [0, 1].
        NoData
            If there is no coalition or no instance.
        UnequalPairing
            If the arrays differ in shape.
        NotCounts
            If a weight is not a positive number.
        UsageError
            If a coalition stands twice, or names what is not a prerequisite.
        """
        names, keyed = by_coalition(values, prerequisites)
        arrays = {coalition: probability(value, _v(coalition, names)) for coalition, value in keyed.items()}
        shapes = {_v(coalition, names): array.shape for coalition, array in arrays.items()}
        first = next(iter(shapes.values()))
        if any(shape != first for shape in shapes.values()) or len(first) != 1:
            raise UnequalPairing(shapes)
        if first == (0,):
            raise NoData("instance")
        counts = np.ones(first) if weights is None else np.asarray(weights, dtype=np.float64)
        if counts.shape != first:
            raise UnequalPairing(shapes | {"weights": counts.shape})
        if (wrong := ~((counts > 0) & np.isfinite(counts))).any():
            raise NotCounts("weights", float(counts[wrong][0]), "Every instance has at least one question.")
        return cls(names, arrays, counts)

    def mean(self) -> ValueFunction:
        """Return v, the (weighted) mean over instances."""
        means = {t: float(np.average(values, weights=self.weights)) for t, values in self.values.items()}
        return ValueFunction(self.prerequisites, {t: min(max(value, 0.0), 1.0) for t, value in means.items()})


@dataclass(frozen=True)
class LinearSummary:
    """A fixed linear combination of v(T): what it is called, and what it needs.

    Descriptive: it summarises regimes that were run, and bounds no probability of causation.

    Attributes
    ----------
    quantity : str
        Such as ``"Shapley value of X1"``.
    prerequisites : tuple of str
    weights : mapping of frozenset to Fraction
        Weight of each v(T); those not listed are 0.
    """

    quantity: str
    prerequisites: tuple[str, ...]
    weights: Mapping[Coalition, Fraction]

    def missing(self, run: Iterable[Members]) -> tuple[Configuration, ...]:
        """Return the configurations that it needs besides those run, smallest coalitions first."""
        present = {_coalition(t, self.prerequisites) for t in run}
        return tuple(configuration_of(t, self.prerequisites) for t in self._ordered() if t not in present)

    def value(self, v: ValueFunction) -> Number:
        """Return its value, exact if v is.

        Raises
        ------
        MissingConfigurations
            If v lacks a coalition that it needs.
        """
        if missing := self.missing(v.values):
            raise MissingConfigurations(self.quantity, missing)
        if all(isinstance(v.values[t], Rational) for t in self.weights):
            return sum((weight * v.values[t] for t, weight in self.weights.items()), Fraction(0))
        return math.fsum(float(weight) * float(v.values[t]) for t, weight in self.weights.items())

    def interval(self, v: ValueFunction) -> Identified:
        """Bound its value when some coalitions were not run: every missing v(T) may be anything in [0, 1].

        Sharp, as the success probabilities of different regimes do not restrict each other. The lower end puts a
        missing v(T) at 1 where its weight is negative and at 0 elsewhere, the upper end the other way round.
        """
        listed = [t for t in self._ordered() if t in v.values]
        free = [float(w) for t, w in self.weights.items() if t not in v.values]
        known = math.fsum(float(self.weights[t]) * float(v.values[t]) for t in listed)
        least, most = math.fsum(w for w in free if w < 0), math.fsum(w for w in free if w > 0)
        terms = [f"{'-' if self.weights[t] < 0 else '+'} {abs(self.weights[t])} {self._name(t)}" for t in listed]
        formulas = [
            " ".join([*terms, f"{'-' if end < 0 else '+'} {abs(end):.6g}"] if end or not terms else terms)
            for end in (least, most)
        ]
        inputs = {self._name(t): np.asarray(float(v.values[t])) for t in listed}
        flags = ("descriptive", f"{len(free)} of {len(self.weights)} configurations were not run")
        return Identified(
            self.quantity,
            np.asarray(known + least),
            np.asarray(known + most),
            (formulas[0].removeprefix("+ "), formulas[1].removeprefix("+ ")),
            inputs,
            flags=flags if free else flags[:1],
        )

    def _name(self, coalition: Coalition) -> str:
        return _v(coalition, self.prerequisites)

    def _ordered(self) -> list[Coalition]:
        place = {unit: i for i, unit in enumerate(self.prerequisites)}
        return sorted(self.weights, key=lambda t: (len(t), sorted(place[unit] for unit in t)))


def dividend(coalition: Members, prerequisites: Sequence[str]) -> LinearSummary:
    """Harsanyi dividend m(T) = Σ_{R ⊆ T} (−1)^{|T∖R|} v(R): what T does beyond all of its parts (Harsanyi 1963).

    m(∅) = v(∅), and the dividends of all subsets of T sum to v(T). Needs the coalitions within T only.

    Examples
    --------
    >>> v = ValueFunction.of({(): 0.25, ("X1",): 0.5, ("X2",): 0.25, ("X1", "X2"): 1.0})
    >>> dividend(["X1", "X2"], v.prerequisites).value(v)
    0.5
    """
    names = distinct(prerequisites)
    members = _coalition(coalition, names)
    inside = [unit for unit in names if unit in members]
    _refuse_many(inside)
    weights = {r: Fraction((-1) ** (len(members) - len(r))) for r in coalitions(inside)}
    return LinearSummary(f"dividend of {set_text(members, names)}", names, weights)


def shapley(prerequisite: str, prerequisites: Sequence[str]) -> LinearSummary:
    """Shapley value φ_i = Σ_{T ∌ i} |T|! (k−|T|−1)! / k! · (v(T ∪ i) − v(T)) (Shapley 1953).

    The mean gain of supplying i over all orders in which the prerequisites may be supplied. Needs all 2^k coalitions.

    Examples
    --------
    >>> v = ValueFunction.of({(): 0.25, ("X1",): 0.5, ("X2",): 0.25, ("X1", "X2"): 1.0})
    >>> [shapley(i, v.prerequisites).value(v) for i in v.prerequisites]
    [0.5, 0.25]
    """
    found = interaction([prerequisite], prerequisites)
    return LinearSummary(f"Shapley value of {prerequisite}", found.prerequisites, found.weights)


def interaction(coalition: Members, prerequisites: Sequence[str]) -> LinearSummary:
    """Shapley interaction index of a set S of prerequisites (Grabisch & Roubens 1999).

    I(S) = Σ_{T ⊆ Pa∖S} |T|! (k−|T|−|S|)! / (k−|S|+1)! · Σ_{R ⊆ S} (−1)^{|S∖R|} v(T ∪ R), for a pair the mean of
    v(T∪ij) − v(T∪i) − v(T∪j) + v(T). Positive: the members help more together than apart. For a single member it is the
    Shapley value. Needs all 2^k coalitions.

    Raises
    ------
    UsageError
        If the set is empty or a member is not a prerequisite.
    """
    names = distinct(prerequisites)
    members = _coalition(coalition, names)
    if not members:
        raise UsageError("the empty set has no interaction", "Give one prerequisite or more.")
    _refuse_many(names)
    k, size = len(names), len(members)
    rest = [unit for unit in names if unit not in members]
    weights = {}
    for t in coalitions(rest):
        share = Fraction(math.factorial(len(t)) * math.factorial(k - len(t) - size), math.factorial(k - size + 1))
        for r in coalitions([unit for unit in names if unit in members]):
            weights[t | r] = share * (-1) ** (size - len(r))
    return LinearSummary(f"interaction of {set_text(members, names)}", names, weights)


def higher_order(prerequisites: Sequence[str], order: int = 2) -> LinearSummary:
    """Return the sum of all dividends of sets larger than `order`: what effects of at most that order leave of v(Pa).

    v(Pa) − Σ_{|T| ≤ order} m(T). It needs the coalitions up to that size and the full one, hence is identified by the
    pairs design (1 + k + C(k,2) + 1 configurations), which identifies no Shapley value for k > 3. Near 0 it does not
    prove that higher dividends vanish, as they may cancel.

    Raises
    ------
    UsageError
        If the order is below 0 or not below the number of prerequisites.
    """
    names = distinct(prerequisites)
    k = len(names)
    if not 0 <= order < k:
        raise UsageError(f"order {order} leaves nothing of {k} prerequisites", "Take an order below their number.")
    weights = {frozenset(names): Fraction(1)}
    for t in coalitions(names, range(order + 1)):
        rest = k - len(t)
        alternating = sum((-1) ** extra * math.comb(rest, extra) for extra in range(order - len(t) + 1))
        weights[t] = weights.get(t, Fraction(0)) - alternating
    return LinearSummary(f"dividends beyond order {order}", names, {t: w for t, w in weights.items() if w})


def harsanyi_dividends(v: ValueFunction, order: int | None = None) -> dict[Coalition, Number]:
    """Return the dividends m(T) of all sets, or of those up to a size (:func:`dividend`); exact if v is.

    Descriptive. With all coalitions it is the Möbius transform of v, in k·2^k subtractions.

    Raises
    ------
    MissingConfigurations
        If a coalition is missing; with `order`, only those up to that size are needed.
    UsageError
        If the order is negative, or there are too many prerequisites for all coalitions.

    Examples
    --------
    >>> v = ValueFunction.of({(): Fraction(1, 4), ("X1",): Fraction(1, 2), ("X2",): Fraction(1, 4)})
    >>> {", ".join(sorted(t)): str(m) for t, m in harsanyi_dividends(v, order=1).items()}
    {'': '1/4', 'X1': '1/4', 'X2': '0'}
    """
    names = v.prerequisites
    if order is not None:
        if order < 0:
            raise UsageError(f"no set has {order} members", "Take an order of 0 or more.")
        sizes = range(min(order, len(names)) + 1)
        _refuse_missing(v, f"dividends up to order {order}", coalitions(names, sizes))
        return {t: dividend(t, names).value(v) for t in coalitions(names, sizes)}
    table = _moebius(v, "Harsanyi dividends")
    return {t: table[_place(t, names)] for t in coalitions(names)}


def shapley_values(v: ValueFunction) -> dict[str, Number]:
    """Return the Shapley value of every prerequisite (:func:`shapley`); exact if v is. They sum to v(Pa) − v(∅).

    Descriptive.

    Raises
    ------
    MissingConfigurations
        If a coalition is missing; :meth:`LinearSummary.interval` then says what is still known.
    """
    _refuse_missing(v, "Shapley values", coalitions(_few(v.prerequisites)))
    return {unit: shapley(unit, v.prerequisites).value(v) for unit in v.prerequisites}


def interaction_indices(v: ValueFunction) -> dict[Coalition, Number]:
    """Return the interaction index of every pair of prerequisites (:func:`interaction`); exact if v is. Descriptive.

    Raises
    ------
    MissingConfigurations
        If a coalition is missing.
    """
    _refuse_missing(v, "interaction indices", coalitions(_few(v.prerequisites)))
    return {pair: interaction(pair, v.prerequisites).value(v) for pair in coalitions(v.prerequisites, [2])}


@dataclass(frozen=True)
class SummaryEstimate:
    """A linear summary estimated from instances.

    Attributes
    ----------
    quantity : str
    value : float
    standard_error : float
        Clustered by instance.
    lower, upper : float or None
        Limits at the asked level, each summary on its own; None where they cannot be had.
    level : float
    instances : int
    reason : str or None
        Why there are no limits.
    """

    quantity: str
    value: float
    standard_error: float
    lower: float | None
    upper: float | None
    level: float
    instances: int
    reason: str | None = None


def estimate(
    outcomes: InstanceValues, summaries: Sequence[LinearSummary], level: float = 0.95
) -> tuple[SummaryEstimate, ...]:
    """Estimate linear summaries of v with t limits clustered by instance.

    With ψ_i = Σ_T w(T) Y_i(T) and weights g_i (questions), the value is Σ g_i ψ_i / Σ g_i, its standard error
    √(n/(n−1) Σ (g_i (ψ_i − value))²) / Σ g_i, and the limits value ± t_{n−1} standard errors. They are about a larger
    population of instances, approximate, and poor where few instances deviate from the rest; where all instances have
    the same ψ there are none.

    Parameters
    ----------
    outcomes : InstanceValues
    summaries : sequence of LinearSummary
    level : float
        Two-sided confidence level in (0, 1), for each summary on its own.

    Returns
    -------
    tuple of SummaryEstimate
        In the order of the summaries.

    Raises
    ------
    MissingConfigurations
        If a coalition is missing that a summary needs.
    TooFewInstances
        If there is one instance only.
    UsageError
        If the level is not in (0, 1), or a summary is of other prerequisites.

    Examples
    --------
    >>> outcomes = InstanceValues.of({(): [0, 0, 1, 0], ("X1",): [1, 0, 1, 1]})
    >>> found = estimate(outcomes, [shapley("X1", ["X1"])])[0]
    >>> found.value, round(found.standard_error, 4)
    (0.5, 0.2887)
    """
    from scipy.stats import t as student

    if not 0 < level < 1:
        raise UsageError(f"level {level} is no confidence level", "Give a number between 0 and 1.")
    for summary in summaries:
        if set(summary.prerequisites) != set(outcomes.prerequisites):
            raise UsageError(f"{summary.quantity} is about {', '.join(summary.prerequisites)}")
        if missing := summary.missing(outcomes.values):
            raise MissingConfigurations(summary.quantity, missing)
    n = len(outcomes.weights)
    if n < 2:
        raise TooFewInstances(n)
    order = list(outcomes.values)
    success = np.stack([outcomes.values[t] for t in order])
    combination = np.array([[float(s.weights.get(t, 0)) for t in order] for s in summaries]).reshape(-1, len(order))
    psi = combination @ success
    total = outcomes.weights.sum()
    values = psi @ outcomes.weights / total
    errors = np.sqrt(n / (n - 1) * ((outcomes.weights * (psi - values[:, None])) ** 2).sum(axis=1)) / total
    half = float(student.ppf(0.5 + level / 2, n - 1)) * errors
    flat = errors <= SPREAD_ROUNDING
    why = "all instances agree, which says nothing about how much others would differ"
    return tuple(
        SummaryEstimate(summary.quantity, value, 0.0, None, None, level, n, why)
        if same
        else SummaryEstimate(summary.quantity, value, error, value - width, value + width, level, n)
        for summary, value, error, width, same in zip(
            summaries, values.tolist(), errors.tolist(), half.tolist(), flat.tolist(), strict=True
        )
    )


@dataclass(frozen=True)
class SetScores:
    """Scores and bounds of a set of prerequisites as one treatment; all the theorems of one prerequisite hold.

    Attributes
    ----------
    n, s : ScoreArray
        N and S of the set in this context (CADET Defs. A.1, A.2).
    pns, pn, ps : Identified
        Fréchet intervals; N and S are the lower ends of those of PN and PS (Theorems A.3, A.4).
    """

    n: ScoreArray
    s: ScoreArray
    pns: Identified
    pn: Identified
    ps: Identified


def treatment_scores(
    p: ArrayLike, p_prime: ArrayLike, *, of: str = "", min_denominator: float = PAPER_MIN_DENOMINATOR
) -> SetScores:
    """Return N, S and the intervals of PNS, PN and PS of one treatment, be it one prerequisite or a set.

    Parameters
    ----------
    p, p_prime : array_like
        Success probabilities with all members of the set in a and all in a', the other prerequisites alike.
    of : str
        What is treated, for the names of the quantities.
    min_denominator : float
        As in :func:`dodiag.bounds.formulas.n_score`.

    Raises
    ------
    NotAProbability
        If an entry is NaN or outside [0, 1].
    """

    def bounded(quantity: Quantity) -> Identified:
        found = experimental_bounds(quantity, p, p_prime)
        return replace(found, quantity=f"{quantity}({of})") if of else found

    return SetScores(
        n_score(p, p_prime, min_denominator),
        s_score(p, p_prime, min_denominator),
        bounded("PNS"),
        bounded("PN"),
        bounded("PS"),
    )


def set_scores(
    v: ValueFunction,
    coalition: Members,
    context: Members = (),
    min_denominator: float = PAPER_MIN_DENOMINATOR,
) -> SetScores:
    """Return the scores of supplying a set T correctly against leaving it natural: the contrast (1, ∅) of T.

    p = v(T ∪ C) and p' = v(C), where C are the other prerequisites supplied correct in both arms. For S as in the main
    text C is empty; for N it is all prerequisites outside T.

    Raises
    ------
    MissingConfigurations
        If one of the two arms was not run.
    UsageError
        If T is empty, overlaps the context, or names what is not a prerequisite.

    Examples
    --------
    >>> v = ValueFunction.of({(): 0.25, ("X1", "X2"): 0.625}, ["X1", "X2"])
    >>> print(set_scores(v, ["X1", "X2"]).ps)
    PS(X1, X2) in [0.5, 0.8333]
    """
    names = v.prerequisites
    members, others = _coalition(coalition, names), _coalition(context, names)
    if not members:
        raise UsageError("the empty set is no treatment", "Give one prerequisite or more.")
    if both := members & others:
        raise UsageError(f"{set_text(both, names)} is in the set and in its context", "The context holds the others.")
    arms = (members | others, others)
    if missing := [configuration_of(t, names) for t in arms if t not in v.values]:
        raise MissingConfigurations(f"the scores of {set_text(members, names)}", missing)
    p, p_prime = (float(v.values[t]) for t in arms)
    return treatment_scores(p, p_prime, of=set_text(members, names).strip("{}"), min_denominator=min_denominator)


def _coalition(members: Members, prerequisites: Sequence[str]) -> Coalition:
    if isinstance(members, str | Configuration):
        read = Configuration.parse(members) if isinstance(members, str) else members
        found, named = coalition_of(read), tuple(read)
    else:
        listed = list(members)
        found, named = frozenset(listed), tuple(listed)
    if unknown := [unit for unit in named if unit not in prerequisites]:
        raise UsageError(f"'{unknown[0]}' is not among the prerequisites", nearest(str(unknown[0]), prerequisites))
    return found


def by_coalition(
    values: Mapping[Any, Any], prerequisites: Sequence[str] | None = None
) -> tuple[tuple[str, ...], dict[Coalition, Any]]:
    """Return the prerequisites, and the values by coalition.

    Parameters
    ----------
    values : mapping
        Keys are coalitions as frozensets or tuples of names, or configurations (also as text).
    prerequisites : sequence of str, optional
        By default all that the keys name, in order of appearance.

    Raises
    ------
    NoData
        If the mapping is empty.
    UsageError
        If a coalition or a prerequisite stands twice, or a key names what is no prerequisite or leaves one out.
    """
    if not values:
        raise NoData("coalition")
    readable = {key: Configuration.parse(key) if isinstance(key, str) else key for key in values}
    named = [unit for key in readable.values() for unit in (sorted(key) if isinstance(key, frozenset) else key)]
    names = distinct(dict.fromkeys(named) if prerequisites is None else prerequisites)
    found: dict[Coalition, Any] = {}
    for key, members in readable.items():
        coalition = _coalition(members, names)
        if isinstance(members, Configuration) and set(members) != set(names):
            raise UsageError(f"configuration '{members}' leaves out a prerequisite", f"There are {', '.join(names)}.")
        if coalition in found:
            raise UsageError(f"{set_text(coalition, names)} stands twice", "Give every coalition one value.")
        found[coalition] = values[key]
    return names, found


def distinct(prerequisites: Iterable[str]) -> tuple[str, ...]:
    """Return the names of prerequisites.

    Raises
    ------
    UsageError
        If one stands twice.
    """
    names = tuple(prerequisites)
    if twice := [unit for place, unit in enumerate(names) if unit in names[:place]]:
        raise UsageError(f"prerequisite '{twice[0]}' stands twice", "Name every prerequisite once.")
    return names


def set_text(coalition: Iterable[str], prerequisites: Sequence[str]) -> str:
    """Return how messages write a coalition: ``{X1, X3}``, in the order of the prerequisites."""
    members = set(coalition)
    return "{" + ", ".join(unit for unit in prerequisites if unit in members) + "}"


def _v(coalition: Iterable[str], prerequisites: Sequence[str]) -> str:
    return f"v({set_text(coalition, prerequisites)})"


def _few(prerequisites: Sequence[str]) -> Sequence[str]:
    _refuse_many(prerequisites)
    return prerequisites


def _refuse_many(prerequisites: Sequence[str]) -> None:
    if len(prerequisites) > MOST_PREREQUISITES:
        raise UsageError(
            f"{len(prerequisites)} prerequisites have 2^{len(prerequisites)} coalitions",
            f"At most {MOST_PREREQUISITES} are summed over.",
        )


def _refuse_missing(v: ValueFunction, quantity: str, needed: Iterable[Coalition]) -> None:
    if missing := [configuration_of(t, v.prerequisites) for t in needed if t not in v.values]:
        raise MissingConfigurations(quantity, missing)


def _place(coalition: Coalition, prerequisites: Sequence[str]) -> tuple[int, ...]:
    return tuple(int(unit in coalition) for unit in prerequisites)


def _moebius(v: ValueFunction, quantity: str) -> NDArray[Any]:
    """Return the dividends in a table with one axis of length 2 for each prerequisite."""
    names = _few(v.prerequisites)
    _refuse_missing(v, quantity, coalitions(names))
    exact = all(isinstance(value, Rational) for value in v.values.values())
    table: NDArray[Any] = np.empty((2,) * len(names), dtype=object if exact else np.float64)
    for t, value in v.values.items():
        table[_place(t, names)] = value
    for axis in range(len(names)):
        supplied = np.moveaxis(table, axis, 0)
        supplied[1] = supplied[1] - supplied[0]
    return table if exact else table.astype(object)
