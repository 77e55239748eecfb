"""Patterns of outcomes over several regimes: in what share of units does the one work and the other fail?

A pattern says for some regimes r whether Y_r is 1 or 0. Its probability is not identified from the success
probabilities of the regimes, but has a Fréchet interval that is sharp at both ends. PNS, PN and PS are patterns of two
regimes; bottlenecks that only show when several prerequisites are repaired at once are patterns of more.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike

from dodiag.bounds.errors import ImpossibleMargins
from dodiag.bounds.formulas import ROUNDING, probability
from dodiag.bounds.identified import BY_DESIGN, Assumption, Floats, Identified
from dodiag.problems import UsageError


def pattern_bounds(
    success: Mapping[str, ArrayLike], pattern: Mapping[str, int], given: str | None = None
) -> Identified:
    """Bound P(Y_r = y_r for all r of a pattern) by the success probabilities of its regimes (Fréchet).

    With P(Y_r = y_r) = p_r or 1 − p_r, the interval is [max(0, Σ_r P(Y_r = y_r) − (|R| − 1)), min_r P(Y_r = y_r)].
    Both ends are sharp: some joint distribution with these margins attains each.

    Parameters
    ----------
    success : mapping of str to array_like
        P(Y_r = 1) of each regime r, broadcast against each other. Regimes outside the pattern are ignored: they tighten
        nothing.
    pattern : mapping of str to {0, 1}
        The outcome of each regime.
    given : str, optional
        A regime of the pattern on whose outcome to condition: P(pattern | Y_given = y_given). Undefined where that has
        probability 0. PS(a, a') is the pattern {a: 1, a': 0} given a', and PN(a, a') the same given a.

    Returns
    -------
    Identified

    Raises
    ------
    NotAProbability
        If an entry is NaN or outside [0, 1].
    UsageError
        If the pattern is empty, holds something other than 0 and 1, or names a regime that is not in `success`; or if
        `given` is not in the pattern, or all of it.

    Examples
    --------
    >>> print(pattern_bounds({"1": 0.7, "0": 0.4}, {"1": 1, "0": 0}))
    P(Y_1=1, Y_0=0) in [0.3, 0.6]
    >>> print(pattern_bounds({"1": 0.7, "0": 0.4}, {"1": 1, "0": 0}, given="0"))
    P(Y_1=1 | Y_0=0) in [0.5, 1]
    """
    if not pattern:
        raise UsageError("the pattern is empty", "Give the outcome of at least one regime.")
    if wrong := [regime for regime, outcome in pattern.items() if outcome not in (0, 1)]:
        raise UsageError(f"the pattern says {pattern[wrong[0]]!r} for {wrong[0]}", "An outcome is 0 or 1.")
    if unknown := [regime for regime in pattern if regime not in success]:
        raise UsageError(f"there is no success probability for regime {unknown[0]}")
    if given is not None and given not in pattern:
        raise UsageError(f"regime {given} is not in the pattern", "Condition on one of the pattern's own regimes.")
    if given is not None and len(pattern) == 1:
        raise UsageError(f"the pattern is about regime {given} alone", "Give the outcome of another regime besides.")
    p = dict(zip(pattern, _broadcast([(success[r], f"p_{r}") for r in pattern]), strict=True))
    shares = {r: p[r] if outcome else 1 - p[r] for r, outcome in pattern.items()}
    names = {r: f"p_{r}" if outcome else f"(1 - p_{r})" for r, outcome in pattern.items()}
    stacked = np.stack(list(shares.values()))
    lower, upper = np.maximum(0.0, _lower(p, pattern)), stacked.min(axis=0)
    texts = [f"max(0, {_lower_text(pattern)})", f"min({', '.join(names.values())})"]
    if given is None:
        return _everywhere(f"P({_listed(pattern)})", lower, upper, (texts[0], texts[1]), _inputs(p))
    rest = {r: outcome for r, outcome in pattern.items() if r != given}
    quantity = f"P({_listed(rest)} | {_listed({given: pattern[given]})})"
    return _conditional(quantity, lower, upper, texts, shares[given], names[given], _inputs(p))


def only_correct_works(p1: ArrayLike, p0: ArrayLike, pn: ArrayLike) -> Identified:
    """Bound the share of units that only the correct answer solves: P(Y_1=1, Y_0=0, Y_n=0) in one context.

    The lower end is max(0, p1 − p0 − pn).

    Raises
    ------
    NotAProbability
        If an entry is NaN or outside [0, 1].

    Examples
    --------
    >>> print(only_correct_works(0.875, 0.125, 0.25))
    P(Y_1=1, Y_0=0, Y_n=0) in [0.5, 0.75]
    """
    return pattern_bounds({"1": p1, "0": p0, "n": pn}, {"1": 1, "0": 0, "n": 0})


def conjunctive_bottleneck(
    together: ArrayLike,
    without_one: Mapping[str, ArrayLike],
    none: ArrayLike | None = None,
    *,
    monotone: bool = False,
) -> Identified:
    """Bound the share of units that repairing a set T solves and repairing it without any one member does not.

    P(Y_T=1, Y_{T∖i}=0 for all i in T), and Y_none=0 as well if `none` is given. It needs no assumption about how
    repairs add up. For a pair T = {i, j}, T∖i = {j}, and the interval is [max(0, v_ij − v_i − v_j),
    min(v_ij, 1 − v_i, 1 − v_j)].

    Parameters
    ----------
    together : array_like
        v(T) = P(Y=1 | do(A_T=1, rest natural)).
    without_one : mapping of str to array_like
        v(T∖i) for each prerequisite i of T.
    none : array_like, optional
        v(∅), to ask for failure without any repair too. A set of one member has T∖i = ∅ already.
    monotone : bool
        Assume that a unit solved under none is solved under each T∖i, and one solved under some T∖i under T. The
        interval becomes [max(0, v(T) − Σ v(T∖i) + (|T|−1) v(∅)), v(T) − max_i v(T∖i)], with v(∅) = 0 if not given.

    Returns
    -------
    Identified

    Raises
    ------
    NotAProbability
        If an entry is NaN or outside [0, 1].
    ImpossibleMargins
        If the means contradict the assumed monotonicity.
    UsageError
        If the set is empty, or `none` is given for a set of one.

    Examples
    --------
    >>> print(conjunctive_bottleneck(0.75, {"X1": 0.25, "X2": 0.125}))
    P(Y_T=1, Y_T∖X1=0, Y_T∖X2=0) in [0.375, 0.75]
    """
    if not without_one:
        raise UsageError("the set of prerequisites is empty", "Give v(T∖i) for each member of T.")
    if len(without_one) == 1 and none is not None:
        raise UsageError("a set of one without its member is no repair at all", "Leave out `none`: it is v(T∖i).")
    success = {"T": together, **{f"T∖{i}": v for i, v in without_one.items()}}
    if none is not None:
        success["none"] = none
    pattern = {regime: int(regime == "T") for regime in success}
    if not monotone:
        return pattern_bounds(success, pattern)
    p = dict(zip(success, _broadcast([(v, f"p_{r}") for r, v in success.items()]), strict=True))
    members = [f"T∖{i}" for i in without_one]
    _refuse_decrease(p, [(r, "T") for r in members])
    parts = np.stack([p[r] for r in members])
    base = p["none"] if none is not None else np.zeros_like(p["T"])
    if none is not None:
        _refuse_decrease(p, [("none", r) for r in members])
    lower = np.maximum(0.0, p["T"] - parts.sum(axis=0) + (len(members) - 1) * base)
    upper = np.maximum(0.0, p["T"] - parts.max(axis=0))
    total = " - ".join(f"p_{r}" for r in ["T", *members])
    formulas = (
        f"max(0, {total}{f' + {len(members) - 1} p_none' if none is not None else ''})",
        f"p_T - max({', '.join(f'p_{r}' for r in members)})",
    )
    assumptions = (*BY_DESIGN, Assumption.MONOTONE)
    return _everywhere(f"P({_listed(pattern)})", np.minimum(lower, upper), upper, formulas, _inputs(p), assumptions)


def single_repair_rescues(
    none: ArrayLike, singles: Mapping[str, ArrayLike], *, among_failures: bool = False
) -> Identified:
    """Bound the share of units that fail, and that repairing some single prerequisite would solve.

    P(Y_none=0, Y_i=1 for some i) in [max_i max(0, v_i − v_none), min(1 − v_none, Σ_i v_i)], sharp at both ends.

    Parameters
    ----------
    none : array_like
        v(∅) = P(Y=1) with all prerequisites natural.
    singles : mapping of str to array_like
        v({i}) of each prerequisite that was repaired alone.
    among_failures : bool
        Divide by P(Y_none=0): the share of the failures. Undefined where nothing fails.

    Returns
    -------
    Identified

    Raises
    ------
    NotAProbability
        If an entry is NaN or outside [0, 1].
    UsageError
        If there is no single repair.

    Examples
    --------
    >>> print(single_repair_rescues(0.25, {"X1": 0.5, "X2": 0.375}))
    P(Y_none=0, some of Y_X1, Y_X2 = 1) in [0.25, 0.75]
    """
    if not singles:
        raise UsageError("there is no single repair", "Give v({i}) of at least one prerequisite.")
    success = {"none": none, **singles}
    if len(success) == len(singles):
        raise UsageError("a prerequisite is called 'none'", "That name stands for no repair.")
    p = dict(zip(success, _broadcast([(v, f"p_{r}") for r, v in success.items()]), strict=True))
    parts = np.stack([p[i] for i in singles])
    lower = np.maximum(0.0, parts.max(axis=0) - p["none"])
    upper = np.minimum(1 - p["none"], parts.sum(axis=0))
    names = [f"p_{i}" for i in singles]
    event = f"some of {', '.join(f'Y_{i}' for i in singles)} = 1"
    texts = [f"max(0, {_maximum(names)} - p_none)", f"min(1 - p_none, {' + '.join(names)})"]
    if not among_failures:
        return _everywhere(f"P(Y_none=0, {event})", lower, upper, (texts[0], texts[1]), _inputs(p))
    quantity = f"P({event} | Y_none=0)"
    return _conditional(quantity, lower, upper, texts, 1 - p["none"], "(1 - p_none)", _inputs(p))


def _everywhere(
    quantity: str,
    lower: Floats,
    upper: Floats,
    formulas: tuple[str, str],
    inputs: dict[str, Floats],
    assumptions: tuple[Assumption, ...] = BY_DESIGN,
) -> Identified:
    """Return bounds of a quantity that is defined for all margins."""
    return Identified(quantity, lower, upper, formulas, inputs, assumptions, np.zeros(lower.shape, dtype=np.bool_))


def _conditional(
    quantity: str,
    lower: Floats,
    upper: Floats,
    texts: Sequence[str],
    share: Floats,
    name: str,
    inputs: dict[str, Floats],
) -> Identified:
    undefined = np.asarray(share <= 0)
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        ends = [np.where(undefined, np.nan, np.clip(end / share, 0.0, 1.0)) for end in (lower, upper)]
    reason = f"what it conditions on has probability {name} = 0" if undefined.any() else ""
    formulas = (f"{texts[0]} / {name}", f"{texts[1]} / {name}")
    return Identified(quantity, ends[0], ends[1], formulas, inputs, BY_DESIGN, undefined, reason)


def _broadcast(values: Iterable[tuple[ArrayLike, str]]) -> list[Floats]:
    return [np.array(array) for array in np.broadcast_arrays(*(probability(value, name) for value, name in values))]


def _inputs(p: Mapping[str, Floats]) -> dict[str, Floats]:
    return {f"p_{regime}": values for regime, values in p.items()}


def _listed(pattern: Mapping[str, int]) -> str:
    return ", ".join(f"Y_{regime}={outcome}" for regime, outcome in pattern.items())


def _lower(p: Mapping[str, Floats], pattern: Mapping[str, int]) -> Floats:
    """Return Σ P(Y_r = y_r) − (|R| − 1), with as few roundings as the margins allow."""
    failures = [r for r, outcome in pattern.items() if not outcome]
    right = [p[r] for r, outcome in pattern.items() if outcome]
    total = right[0] if right else 1 - p[failures.pop(0)]
    for share in right[1:]:
        total = total - (1 - share)
    for regime in failures:
        total = total - p[regime]
    return np.asarray(total)


def _lower_text(pattern: Mapping[str, int]) -> str:
    right = [f"p_{r}" for r, outcome in pattern.items() if outcome]
    failures = [f"p_{r}" for r, outcome in pattern.items() if not outcome]
    start = " + ".join(right) or "1"
    return f"{' - '.join([start, *failures])}{f' - {len(right) - 1}' if len(right) > 1 else ''}"


def _maximum(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"max({', '.join(names)})"


def _refuse_decrease(p: Mapping[str, Floats], steps: Iterable[tuple[str, str]]) -> None:
    broken = []
    for less, more in steps:
        decrease = np.asarray(p[less] > p[more] + ROUNDING)
        if decrease.any():
            broken.append(
                f"p_{less} <= p_{more} (here {p[less][decrease].flat[0]:.6g} > {p[more][decrease].flat[0]:.6g})"
            )
    if broken:
        raise ImpossibleMargins(broken, "Repairs that lower the success cannot be monotone; leave that assumption out.")
