"""Strategies for probabilities, margins and exact distributions of potential outcomes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from itertools import product
from typing import Literal, overload

from hypothesis import strategies as st

from dodiag.problems import UsageError
from dodiag.testing.populations import ObservedTypes, Outcomes, ResponseTypes, Strata, is_consistent
from dodiag.vocabulary import Contrast

MAX_WEIGHT = 12
"""Largest usual weight of a response type or stratum: denominators stay small enough to read."""

HEAVY = 400
"""The weight that a type or stratum seldom has instead, so that success rates come as near to 0 and 1 as 1/400."""

EDGES = (Fraction(0), Fraction(1), Fraction(1, 2))

_WEIGHTS = st.integers(1, MAX_WEIGHT + 4).map(lambda weight: weight if weight <= MAX_WEIGHT else HEAVY)


def probabilities(max_denominator: int = 100) -> st.SearchStrategy[Fraction]:
    """Fractions in [0, 1], with 0, 1 and 1/2 often; they shrink towards 0 and small denominators.

    Parameters
    ----------
    max_denominator : int
        At least 2.

    Raises
    ------
    UsageError
        If `max_denominator` is below 2.
    """
    if max_denominator < 2:
        raise UsageError(f"max_denominator is {max_denominator}", "Use at least 2.")
    return st.sampled_from(EDGES) | st.fractions(0, 1, max_denominator=max_denominator)


def margins(regimes: Sequence[str] = ("1", "0"), max_denominator: int = 100) -> st.SearchStrategy[dict[str, Fraction]]:
    """P(Y_r = 1) by regime r, any values: every combination of margins has a joint distribution."""
    return st.fixed_dictionaries({str(regime): probabilities(max_denominator) for regime in regimes})


@overload
def response_types(
    regimes: Sequence[str] = ...,
    *,
    zero: Iterable[Mapping[str, int]] = ...,
    monotone: Contrast | tuple[str, str] | None = ...,
    deterministic: bool = ...,
    observed: Literal[False] = ...,
) -> st.SearchStrategy[ResponseTypes]: ...
@overload
def response_types(
    regimes: Sequence[str] = ...,
    *,
    zero: Iterable[Mapping[str, int]] = ...,
    monotone: Contrast | tuple[str, str] | None = ...,
    deterministic: bool = ...,
    observed: Literal[True],
) -> st.SearchStrategy[ObservedTypes]: ...
def response_types(
    regimes: Sequence[str] = ("1", "0"),
    *,
    zero: Iterable[Mapping[str, int]] = (),
    monotone: Contrast | tuple[str, str] | None = None,
    deterministic: bool = False,
    observed: bool = False,
) -> st.SearchStrategy[ResponseTypes] | st.SearchStrategy[ObservedTypes]:
    """Exact distributions over the response types of some regimes.

    Faces of the simplex are drawn often, and success rates close to 0 and 1 without being 0 or 1 now and then. Shrinks
    towards few types, small denominators and units that fail everywhere.

    Parameters
    ----------
    regimes : sequence of str
        Names; the first two are the contrast that assertions look at.
    zero : iterable of mapping of str to int
        Patterns such as ``{"1": 0, "n": 1}``: types that match one have no mass.
    monotone : (a, a') or Contrast, optional
        No mass on Y_a = 0, Y_a' = 1 (CADET Proposition A.5).
    deterministic : bool
        All mass on one type: one instance whose answers do not vary.
    observed : bool
        Draw :class:`ObservedTypes`, with the model's own answer.

    Raises
    ------
    UsageError
        If a pattern names an unknown regime or another outcome than 0 and 1, the contrast of `monotone` is none, or no
        type is left to have mass.
    """
    names = tuple(map(str, regimes))
    patterns = [dict(pattern) for pattern in zero]
    if monotone is not None:
        pair = (monotone.a, monotone.a_prime) if isinstance(monotone, Contrast) else tuple(monotone)
        if len({*map(str, pair)}) != 2 or len(pair) != 2:
            raise UsageError(f"monotone is {monotone!r}, no contrast", "Name two distinct regimes, such as ('1', '0').")
        patterns.append({str(pair[0]): 0, str(pair[1]): 1})
    if unknown := [regime for pattern in patterns for regime in pattern if regime not in names]:
        raise UsageError(f"'{unknown[0]}' is no regime here", f"There are {', '.join(names)}.")
    if odd := [(regime, y) for pattern in patterns for regime, y in pattern.items() if y not in (0, 1)]:
        raise UsageError(f"a pattern says {odd[0][1]!r} for '{odd[0][0]}'", "Write 1 for solved and 0 for failed.")
    support = [
        response
        for response in product((0, 1), repeat=len(names))
        if not any(all(response[names.index(r)] == y for r, y in pattern.items()) for pattern in patterns)
    ]
    if not support:
        raise UsageError("no response type is left to have mass", "Exclude less.")
    if observed:
        cells = [(own, *response) for own in (0, 1) for response in support]
        allowed = [cell for cell in cells if is_consistent(cell, names)]
        return _masses(allowed, deterministic).map(lambda masses: ObservedTypes(masses, names))
    return _masses(support, deterministic).map(lambda masses: ResponseTypes(masses, names))


def strata(
    regimes: Sequence[str] = ("1", "0"),
    *,
    min_size: int = 1,
    max_size: int = 5,
    zero: Iterable[Mapping[str, int]] = (),
    monotone: Contrast | tuple[str, str] | None = None,
    deterministic: bool = False,
) -> st.SearchStrategy[Strata]:
    """Instances with weights, each with response types of its own; see :func:`response_types` for the options.

    ``deterministic=True`` gives instances whose answers do not vary, so that the population's PN is identified.

    Raises
    ------
    UsageError
        As :func:`response_types`, and if the sizes are not 1 ≤ `min_size` ≤ `max_size`.
    """
    if not 1 <= min_size <= max_size:
        raise UsageError(f"{min_size} to {max_size} strata are asked for", "Use 1 ≤ min_size ≤ max_size.")
    one = response_types(regimes, zero=zero, monotone=monotone, deterministic=deterministic)

    def weighted(types: list[ResponseTypes]) -> st.SearchStrategy[Strata]:
        positive = st.lists(_WEIGHTS, min_size=len(types), max_size=len(types))
        return positive.map(lambda drawn: Strata(tuple(Fraction(w, sum(drawn)) for w in drawn), tuple(types)))

    return st.lists(one, min_size=min_size, max_size=max_size).flatmap(weighted)


def _masses(cells: Sequence[Outcomes], deterministic: bool) -> st.SearchStrategy[dict[Outcomes, Fraction]]:
    if deterministic:
        return st.sampled_from(cells).map(lambda cell: {cell: Fraction(1)})
    weight = st.just(0) | _WEIGHTS

    def normalised(weights: list[int]) -> dict[Outcomes, Fraction]:
        # Without any weight the first cell takes all, so that no draw is thrown away.
        total = sum(weights)
        if not total:
            return {cells[0]: Fraction(1)}
        return {cell: Fraction(w, total) for cell, w in zip(cells, weights, strict=True) if w}

    return st.lists(weight, min_size=len(cells), max_size=len(cells)).map(normalised)
