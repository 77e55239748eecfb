"""The three states of one prerequisite at once: what the arms 1, 0 and n of one context say about each other.

In one context c let p1, p0, pn = P(Y=1 | do(A_i=s, A_-i=c)) for s = 1, 0, n. Three arms have six probabilities
PNS(s, t) = P(Y_s=1, Y_t=0), but only three are free: PNS(s, t) − PNS(t, s) = p_s − p_t. The free ones are taken to be
(x, y, w) = (PNS(1,0), PNS(1,n), PNS(n,0)). With no more than the margins, the third arm never tightens a contrast; as
soon as one PNS is narrowed by something else (paired data, monotonicity) the others follow.

Everything here is about one population of units: the margins and what is known besides must come from the same units.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations, product
from numbers import Rational
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dodiag.bounds.errors import ImpossibleMargins, NotAProbability
from dodiag.bounds.formulas import ROUNDING, probability
from dodiag.bounds.identified import BY_DESIGN, Assumption, Floats, Identified
from dodiag.problems import UsageError
from dodiag.vocabulary import HOMOGENEOUS, Contrast, State

Number = float | Fraction
"""A probability: a float, or a Fraction (or int) where the arithmetic is to be exact."""

SIX_CONTRASTS = tuple(Contrast(a, b) for a in HOMOGENEOUS for b in HOMOGENEOUS if a != b)
"""All ordered pairs of the three states."""

COORDINATES = (Contrast.parse("1,0"), Contrast.parse("1,n"), Contrast.parse("n,0"))
"""The contrasts of the three free probabilities (x, y, w)."""

RESPONSE_TYPES = tuple(product((1, 0), repeat=3))
"""The eight values of (Y_1, Y_0, Y_n)."""

VERTEX_ROUNDING = 1e-9
"""Vertices of a region with float margins are one if they are no further apart than this."""

Known = Mapping[Contrast, tuple[ArrayLike, ArrayLike]]
"""What is known besides the margins: both ends of PNS(s, t) for some contrasts."""

Coordinate = ArrayLike | Fraction
"""A coordinate of one point or of many."""

_Values = NDArray[Any]
_Ends = dict[Contrast, tuple[_Values, _Values]]


def reversed_contrast(contrast: Contrast) -> Contrast:
    """Return (a', a) for (a, a')."""
    return Contrast(contrast.a_prime, contrast.a)


def pns_intervals(p1: ArrayLike, p0: ArrayLike, pn: ArrayLike) -> dict[Contrast, Identified]:
    """Return the identified intervals of all six PNS(s, t) from the three margins of one context.

    Each is the Fréchet interval [max(0, p_s − p_t), min(p_s, 1 − p_t)] of its own two arms: any joint distribution of
    two outcomes extends to any third margin, so the third arm never tightens a single contrast. All six lower ends
    are attained by one joint distribution (:func:`least_coupling`), the upper ends in general are not
    (:meth:`JointRegion.upper_ends_together`).

    Parameters
    ----------
    p1, p0, pn : array_like
        Success probabilities under the states 1, 0 and n; broadcast against each other.

    Returns
    -------
    dict of Contrast to Identified
        For each of :data:`SIX_CONTRASTS`, arrays of the common shape.

    Raises
    ------
    NotAProbability
        If an entry is NaN or outside [0, 1].

    Examples
    --------
    >>> intervals = pns_intervals(0.75, 0.25, 0.5)
    >>> print(intervals[Contrast.parse("1,0")])
    PNS(1,0) in [0.5, 0.75]
    """
    p = _float_margins(p1, p0, pn)
    found = {}
    for c, (lower, upper) in _frechet(p).items():
        inputs = {f"p{c.a}": p[c.a], f"p{c.a_prime}": p[c.a_prime]}
        found[c] = Identified(
            f"PNS({c})", lower, upper, _frechet_formulas(c), inputs, undefined=np.zeros(lower.shape, dtype=np.bool_)
        )
    return found


def tightened(
    p1: ArrayLike, p0: ArrayLike, pn: ArrayLike, *, known: Known | None = None, monotone: Iterable[Contrast] = ()
) -> dict[Contrast, Identified]:
    """Return what the margins imply for all six PNS once some of them are narrowed by something else.

    With L and U the ends known of each contrast (the Fréchet ends and `known`, in both directions), for distinct
    states s, t and the third state r:

    * PNS(s,t) ≥ max(L(s,t), L(s,r) − U(t,r), L(r,t) − U(r,s))
    * PNS(s,t) ≤ min(U(s,t), U(s,r) + U(r,t), 1 − L(t,r) − L(r,s))

    These are the triangle and cycle inequalities of the joint region (:func:`joint_region`) with two coordinates
    eliminated; one pass is sharp.

    Parameters
    ----------
    p1, p0, pn : array_like
        Success probabilities under the states 1, 0 and n.
    known : mapping of Contrast to (lower, upper), optional
        Ends of PNS(s, t) of the same units, such as (n10/n, n10/n) from paired instances under deterministic decoding.
        Like the margins they are taken as exact: what sampling adds to them is not in the result.
    monotone : iterable of Contrast
        Contrasts (a, a') without harm, P(Y_a=0, Y_a'=1) = 0: fixes PNS(a, a') = p_a − p_a'.

    Returns
    -------
    dict of Contrast to Identified

    Raises
    ------
    NotAProbability
        If a margin or an end is NaN or outside [0, 1].
    ImpossibleMargins
        If no joint distribution has these margins and ends; lists what they violate.

    Examples
    --------
    Half of the margins' interval of PNS(1,0) remains when two contrasts are known from paired instances.

    >>> pair, other = Contrast.parse("1,n"), Contrast.parse("n,0")
    >>> found = tightened(0.75, 0.25, 0.5, known={pair: (0.375, 0.375), other: (0.25, 0.25)})
    >>> print(found[Contrast.parse("1,0")])
    PNS(1,0) in [0.5, 0.625]
    """
    p = _float_margins(p1, p0, pn)
    harmless = tuple(monotone)
    ends = _known_ends(p, known or {}, harmless)
    implied = _implied(ends, exact=False)
    shape = np.broadcast_shapes(*(lower.shape for lower, _ in implied.values()))
    inputs: dict[str, Floats] = {f"p{s}": values for s, values in p.items()}
    for c, (lower, upper) in ends.items():
        inputs |= {f"L({c})": lower, f"U({c})": upper}
    assumptions = (*BY_DESIGN, Assumption.MONOTONE) if harmless else BY_DESIGN
    return {
        c: Identified(
            f"PNS({c})",
            np.broadcast_to(lower, shape),
            np.broadcast_to(upper, shape),
            _formulas(c),
            inputs,
            assumptions,
            np.zeros(shape, dtype=bool),
        )
        for c, (lower, upper) in implied.items()
    }


@dataclass(frozen=True)
class Inequality:
    """One side of a joint region: coefficients · (x, y, w) ≤ limit.

    Attributes
    ----------
    text : str
        What it says, in PNS(s, t) and margins.
    coefficients : tuple of int
        Of x = PNS(1,0), y = PNS(1,n) and w = PNS(n,0).
    limit : float or Fraction
    """

    text: str
    coefficients: tuple[int, int, int]
    limit: Number

    def left(self, x: Any, y: Any, w: Any) -> Any:
        """Return the left-hand side at a point, or at arrays of points."""
        return self.coefficients[0] * x + self.coefficients[1] * y + self.coefficients[2] * w

    def __str__(self) -> str:
        terms = zip(self.coefficients, ("x", "y", "w"), strict=True)
        left = " ".join(f"{'+' if c > 0 else '-'} {name}" for c, name in terms if c).removeprefix("+ ")
        return f"{self.text}: {left} <= {float(self.limit):.6g}"


@dataclass(frozen=True)
class Coupling:
    """A joint distribution of (Y_1, Y_0, Y_n).

    Attributes
    ----------
    probabilities : tuple of float or Fraction
        Of each of :data:`RESPONSE_TYPES`, in order; they are at least 0 and sum to 1.
    """

    probabilities: tuple[Number, ...]

    def probability(self, pattern: Mapping[State, int]) -> Number:
        """Return P(Y_s = pattern[s] for all s in the pattern)."""
        wanted = [(HOMOGENEOUS.index(state), value) for state, value in pattern.items()]
        found: Number = 0
        for outcomes, q in zip(RESPONSE_TYPES, self.probabilities, strict=True):
            if all(outcomes[place] == value for place, value in wanted):
                found = found + q
        return found

    def pns(self, contrast: Contrast) -> Number:
        """Return PNS(s, t) = P(Y_s=1, Y_t=0)."""
        return self.probability({contrast.a: 1, contrast.a_prime: 0})

    @property
    def margins(self) -> tuple[Number, Number, Number]:
        """(p1, p0, pn) of this distribution."""
        p1, p0, pn = (self.probability({state: 1}) for state in HOMOGENEOUS)
        return p1, p0, pn


@dataclass(frozen=True)
class JointRegion:
    """All (x, y, w) = (PNS(1,0), PNS(1,n), PNS(n,0)) that some joint distribution of (Y_1, Y_0, Y_n) has.

    The product of the three intervals, cut by three triangle inequalities and one cycle inequality. It is the
    correlation polytope of three events (Pitowsky 1991; Deza & Laurent 1997) at fixed margins. Made by
    :func:`joint_region`.

    Attributes
    ----------
    p1, p0, pn : float or Fraction
        The margins.
    exact : bool
        Whether all numbers are rational, and everything here is computed without rounding.
    ends : tuple of (lower, upper)
        What is known of each of :data:`SIX_CONTRASTS` without the third arm.
    """

    p1: Number
    p0: Number
    pn: Number
    exact: bool
    ends: tuple[tuple[Number, Number], ...]

    @cached_property
    def inequalities(self) -> tuple[Inequality, ...]:
        """The ten sides: two for each coordinate, three triangles, one cycle."""
        p = dict(zip(HOMOGENEOUS, (self.p1, self.p0, self.pn), strict=True))
        sides = []
        for place, c in enumerate(COORDINATES):
            lower, upper = self.ends[SIX_CONTRASTS.index(c)]
            frechet = (max(p[c.a] - p[c.a_prime], 0), min(p[c.a], 1 - p[c.a_prime]))
            texts = [
                formula if end == margins_alone else f"{float(end):.6g} (known)"
                for formula, end, margins_alone in zip(_frechet_formulas(c), (lower, upper), frechet, strict=True)
            ]
            unit = [int(i == place) for i in range(3)]
            sides.append(Inequality(f"PNS({c}) >= {texts[0]}", _triple(-u for u in unit), -lower))
            sides.append(Inequality(f"PNS({c}) <= {texts[1]}", _triple(unit), upper))
        return (
            *sides,
            Inequality("PNS(1,0) <= PNS(1,n) + PNS(n,0)", (1, -1, -1), self.p0 - self.p0),
            Inequality("PNS(1,n) <= PNS(1,0) + PNS(0,n)", (-1, 1, -1), self.p0 - self.pn),
            Inequality("PNS(n,0) <= PNS(n,1) + PNS(1,0)", (-1, -1, 1), self.pn - self.p1),
            Inequality("PNS(1,0) + PNS(0,n) + PNS(n,1) <= 1", (1, 1, 1), 1 + self.p1 - self.p0),
        )

    def contains(self, x: Coordinate, y: Coordinate, w: Coordinate, slack: Number | None = None) -> NDArray[np.bool_]:
        """Say which points lie in the region.

        Parameters
        ----------
        x, y, w : array_like
            PNS(1,0), PNS(1,n) and PNS(n,0), broadcast against each other.
        slack : float, optional
            How far a point may lie beyond an inequality; by default 0 for rational margins and points, else 1e-12.

        Raises
        ------
        NotAProbability
            If a coordinate is NaN. Other values outside [0, 1] are just not in the region.
        """
        point = [_numbers(value, name) for value, name in zip((x, y, w), "xyw", strict=True)]
        if slack is None:
            slack = 0 if self.exact and all(_is_rational(values) for values in point) else ROUNDING
        inside = np.ones(np.broadcast_shapes(*(values.shape for values in point)), dtype=np.bool_)
        for side in self.inequalities:
            inside &= np.asarray(side.left(*point) <= side.limit + slack, dtype=np.bool_)
        return inside

    def violated(self, x: Number, y: Number, w: Number, slack: Number | None = None) -> tuple[Inequality, ...]:
        """Return the inequalities that a point breaks; the slack is that of :meth:`contains`."""
        point = [_numbers(value, name) for value, name in zip((x, y, w), "xyw", strict=True)]
        if slack is None:
            slack = 0 if self.exact and all(_is_rational(values) for values in point) else ROUNDING
        return tuple(side for side in self.inequalities if not bool(side.left(*point) <= side.limit + slack))

    def interval(self, contrast: Contrast) -> tuple[Number, Number]:
        """Return the sharp ends of one PNS(s, t) over the region, exact if the region is."""
        dtype = object if self.exact else np.float64
        ends = {c: _pair(*both, dtype) for c, both in zip(SIX_CONTRASTS, self.ends, strict=True)}
        lower, upper = _implied(ends, exact=self.exact)[_one_of_six(contrast)]
        return lower.item(), upper.item()

    def upper_ends_together(self) -> bool:
        """Whether one joint distribution attains the upper ends of all six PNS; the lower ends always can be.

        Upper ends of opposite contrasts are attained together, so that three have to be checked. Inside the unit cube
        of margins they are attained together exactly if p1 + p0 + pn ≤ 1 or ≥ 2, unless more is known.

        Examples
        --------
        >>> joint_region(Fraction(1, 2), Fraction(1, 2), Fraction(1, 2)).upper_ends_together()
        False
        """
        x, y, w = [self.interval(c)[1] for c in COORDINATES]
        return bool(self.contains(x, y, w))

    def vertices(self) -> tuple[tuple[Number, Number, Number], ...]:
        """Return the corners (x, y, w) of the region, in lexicographic order.

        They are found exactly; for float margins they are rounded at the end, and those nearer to each other than
        1e-9, which only rounding tells apart, are given once.
        """
        sides = [(side.coefficients, Fraction(side.limit)) for side in self.inequalities]
        slack = Fraction(0) if self.exact else Fraction(ROUNDING)
        corners = set()
        for chosen in combinations(sides, 3):
            corner = _meeting_point(chosen)
            if corner is not None and all(_dot(a, corner) <= limit + slack for a, limit in sides):
                corners.add(corner)
        if self.exact:
            return tuple(sorted(corners))
        found: list[tuple[Number, Number, Number]] = []
        for corner in sorted(corners):
            x, y, w = (float(value) for value in corner)
            if all(max(abs(x - a), abs(y - b), abs(w - c)) > VERTEX_ROUNDING for a, b, c in found):
                found.append((x, y, w))
        return tuple(sorted(found, key=lambda corner: tuple(round(value, 9) for value in corner)))

    def coupling(self, x: Number, y: Number, w: Number) -> Coupling:
        """Return a joint distribution that has the region's margins and PNS(1,0)=x, PNS(1,n)=y, PNS(n,0)=w.

        One number remains free, P(Y_1=Y_0=Y_n=1); the middle of its possible interval is taken.

        Raises
        ------
        ImpossibleMargins
            If the point is outside the region; lists the inequalities that it breaks.

        Examples
        --------
        >>> region = joint_region(Fraction(3, 4), Fraction(1, 4), Fraction(1, 2))
        >>> q = region.coupling(Fraction(5, 8), Fraction(1, 2), Fraction(1, 4))
        >>> q.pns(Contrast.parse("1,0")), q.margins
        (Fraction(5, 8), (Fraction(3, 4), Fraction(1, 4), Fraction(1, 2)))
        """
        if broken := self.violated(x, y, w):
            raise ImpossibleMargins([f"{side} (here {float(side.left(x, y, w)):.6g})" for side in broken])
        p1, p0, pn = self.p1, self.p0, self.pn
        both10, both1n, both0n = p1 - x, p1 - y, pn - w
        least = max(0, both10 + both1n - p1, both10 + both0n - p0, both1n + both0n - pn)
        most = min(both10, both1n, both0n, 1 - p1 - p0 - pn + both10 + both1n + both0n)
        all_right = (least + most) / 2
        only: dict[tuple[int, ...], Number] = {
            (1, 1, 1): all_right,
            (1, 1, 0): both10 - all_right,
            (1, 0, 1): both1n - all_right,
            (0, 1, 1): both0n - all_right,
            (1, 0, 0): p1 - both10 - both1n + all_right,
            (0, 1, 0): p0 - both10 - both0n + all_right,
            (0, 0, 1): pn - both1n - both0n + all_right,
        }
        only[0, 0, 0] = 1 - sum(only.values())
        return Coupling(tuple(max(only[outcomes], 0 * all_right) for outcomes in RESPONSE_TYPES))

    def __str__(self) -> str:
        return "\n".join(str(side) for side in self.inequalities)


def joint_region(
    p1: Number, p0: Number, pn: Number, *, known: Known | None = None, monotone: Iterable[Contrast] = ()
) -> JointRegion:
    """Return the region of (PNS(1,0), PNS(1,n), PNS(n,0)) that the margins of one context leave.

    Parameters
    ----------
    p1, p0, pn : float or Fraction
        Success probabilities under the states 1, 0 and n. If these and all known ends are ints or Fractions, the
        region is exact.
    known, monotone
        As in :func:`tightened`.

    Raises
    ------
    NotAProbability
        If a margin or an end is NaN or outside [0, 1].
    ImpossibleMargins
        If nothing is left.

    Examples
    --------
    >>> region = joint_region(Fraction(1, 2), Fraction(1, 2), Fraction(1, 2))
    >>> [bool(region.contains(*point)) for point in ((0, 0, 0), (Fraction(1, 2),) * 3)]
    [True, False]
    >>> print(region.inequalities[-1])
    PNS(1,0) + PNS(0,n) + PNS(n,1) <= 1: x + y + w <= 1
    """
    given = known or {}
    exact = all(
        isinstance(value, Rational) for value in (p1, p0, pn, *(end for ends in given.values() for end in ends))
    )
    p = {state: _checked(value, f"p{state}", exact) for state, value in zip(HOMOGENEOUS, (p1, p0, pn), strict=True)}
    if several := [f"p{state}" for state, values in p.items() if values.ndim]:
        raise UsageError(f"{several[0]} is an array", "A region has one context; use tightened for many at once.")
    ends = _known_ends(p, given, tuple(monotone), exact)
    _implied(ends, exact)
    margins = [p[state].item() for state in HOMOGENEOUS]
    return JointRegion(
        margins[0], margins[1], margins[2], exact, tuple((low.item(), up.item()) for low, up in ends.values())
    )


def least_coupling(p1: Number, p0: Number, pn: Number) -> Coupling:
    """Return the one joint distribution that attains the lower ends of all six PNS at once.

    Y_s = 1{U ≤ p_s} with one uniform U: the stronger state solves whatever the weaker one solves. Hence reporting all
    six lower ends together claims no more than reporting one.

    Raises
    ------
    NotAProbability
        If a margin is NaN or outside [0, 1].

    Examples
    --------
    >>> q = least_coupling(0.75, 0.25, 0.5)
    >>> [q.pns(c) for c in SIX_CONTRASTS]
    [0.5, 0.25, 0, 0, 0, 0.25]
    """
    exact = all(isinstance(value, Rational) for value in (p1, p0, pn))
    margins = [_checked(value, f"p{s}", exact).item() for s, value in zip(HOMOGENEOUS, (p1, p0, pn), strict=True)]
    found: list[Number] = []
    for outcomes in RESPONSE_TYPES:
        solved_up_to = min((p for p, y in zip(margins, outcomes, strict=True) if y), default=1)
        failed_from = max((p for p, y in zip(margins, outcomes, strict=True) if not y), default=0)
        found.append(max(0, solved_up_to - failed_from))
    return Coupling(tuple(found))


def _float_margins(p1: ArrayLike, p0: ArrayLike, pn: ArrayLike) -> dict[State, Floats]:
    arrays = [probability(value, f"p{s}") for s, value in zip(HOMOGENEOUS, (p1, p0, pn), strict=True)]
    return dict(zip(HOMOGENEOUS, np.broadcast_arrays(*arrays), strict=True))


def _frechet(p: Mapping[State, _Values]) -> _Ends:
    return {c: (np.maximum(p[c.a] - p[c.a_prime], 0), np.minimum(p[c.a], 1 - p[c.a_prime])) for c in SIX_CONTRASTS}


def _known_ends(p: Mapping[State, _Values], known: Known, monotone: tuple[Contrast, ...], exact: bool = False) -> _Ends:
    """Return the best ends of every contrast that need no third state: Fréchet's, the given ones, and mirrored ones."""
    ends = {c: (np.asarray(low), np.asarray(up)) for c, (low, up) in _frechet(p).items()}
    given = [(_one_of_six(c), f"known for PNS({c})", *known[c]) for c in known]
    given += [
        (reversed_contrast(_one_of_six(c)), f"of PNS({reversed_contrast(c)}) as ({c}) is monotone", 0, 0)
        for c in monotone
    ]
    for c, why, *both in given:
        low, up = (_checked(end, f"{side}({c})", exact) for side, end in zip("LU", both, strict=True))
        _refuse_empty(low, up, f"lower end <= upper end {why}", exact)
        shift = p[c.a] - p[c.a_prime]
        for place, lower, upper in ((c, low, up), (reversed_contrast(c), low - shift, up - shift)):
            least, most = ends[place]
            _refuse_empty(least, upper, f"lower end of PNS({place}) so far <= upper end {why}", exact)
            _refuse_empty(lower, most, f"lower end {why} <= upper end of PNS({place}) so far", exact)
            ends[place] = (np.asarray(np.maximum(least, lower)), np.asarray(np.minimum(most, upper)))
    return ends


def _implied(ends: _Ends, exact: bool) -> _Ends:
    found: _Ends = {}
    for c in SIX_CONTRASTS:
        s, t = c.a, c.a_prime
        (r,) = (state for state in HOMOGENEOUS if state not in (s, t))
        low = {(a, b): ends[Contrast(a, b)][0] for a, b in ((s, t), (s, r), (r, t), (t, r), (r, s))}
        up = {(a, b): ends[Contrast(a, b)][1] for a, b in ((s, t), (s, r), (r, t), (t, r), (r, s))}
        lower = np.maximum(low[s, t], np.maximum(low[s, r] - up[t, r], low[r, t] - up[r, s]))
        upper = np.minimum(up[s, t], np.minimum(up[s, r] + up[r, t], 1 - low[t, r] - low[r, s]))
        lower, upper = np.asarray(lower), np.asarray(upper)
        lower_text, upper_text = _formulas(c)
        _refuse_empty(lower, upper, f"{lower_text} <= {upper_text}", exact)
        found[c] = (np.asarray(np.minimum(lower, upper)), upper)
    return found


def _refuse_empty(lower: _Values, upper: _Values, what: str, exact: bool) -> None:
    slack = 0 if exact else ROUNDING
    low, up = np.broadcast_arrays(lower, upper)
    empty = np.asarray(low > up + slack, dtype=np.bool_)
    if empty.any():
        numbers = f"{float(low[empty].flat[0]):.6g} > {float(up[empty].flat[0]):.6g}"
        raise ImpossibleMargins([f"{what} (here {numbers})"])


def _frechet_formulas(c: Contrast) -> tuple[str, str]:
    return f"max(0, p{c.a} - p{c.a_prime})", f"min(p{c.a}, 1 - p{c.a_prime})"


def _formulas(c: Contrast) -> tuple[str, str]:
    s, t = c.a, c.a_prime
    (r,) = (state for state in HOMOGENEOUS if state not in (s, t))
    lower = f"max(L({s},{t}), L({s},{r}) - U({t},{r}), L({r},{t}) - U({r},{s}))"
    return lower, f"min(U({s},{t}), U({s},{r}) + U({r},{t}), 1 - L({t},{r}) - L({r},{s}))"


def _one_of_six(contrast: Contrast) -> Contrast:
    if contrast not in SIX_CONTRASTS:
        raise UsageError(f"contrast {contrast} is not among the three states", "Use 1, 0 and n.")
    return contrast


def _checked(value: Any, name: str, exact: bool) -> _Values:
    if not exact:
        return probability(value, name)
    if not 0 <= value <= 1:
        raise NotAProbability(name, float(value))
    return np.asarray(Fraction(value), dtype=object)


def _numbers(value: Coordinate, name: str) -> _Values:
    array: _Values = np.asarray(value, dtype=object) if isinstance(value, Fraction) else np.asarray(value)
    if array.dtype != object:
        array = array.astype(np.float64) if not np.issubdtype(array.dtype, np.integer) else array.astype(object)
    wrong = np.asarray(array != array, dtype=np.bool_)
    if wrong.any():
        raise NotAProbability(name, float("nan"))
    return array


def _pair(lower: Number, upper: Number, dtype: Any) -> tuple[_Values, _Values]:
    return np.asarray(lower, dtype=dtype), np.asarray(upper, dtype=dtype)


def _is_rational(values: _Values) -> bool:
    return values.dtype == object and all(isinstance(value, Rational) for value in values.flat)


def _triple(values: Iterable[int]) -> tuple[int, int, int]:
    a, b, c = values
    return a, b, c


_Point = tuple[Fraction, Fraction, Fraction]


def _dot(a: tuple[int, int, int], b: tuple[Fraction, ...]) -> Fraction:
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


def _meeting_point(sides: Iterable[tuple[tuple[int, int, int], Fraction]]) -> _Point | None:
    """Return where three planes meet, by Cramer's rule; None if not in one point."""
    (a, d), (b, e), (c, f) = sides
    determinant = _determinant(a, b, c)
    if determinant == 0:
        return None
    columns = list(zip(a, b, c, strict=True))
    right = (d, e, f)
    x, y, w = (
        _determinant(*(right if i == place else columns[i] for i in range(3))) / determinant for place in range(3)
    )
    return x, y, w


def _determinant(a: tuple[Any, ...], b: tuple[Any, ...], c: tuple[Any, ...]) -> Any:
    return a[0] * (b[1] * c[2] - b[2] * c[1]) - a[1] * (b[0] * c[2] - b[2] * c[0]) + a[2] * (b[0] * c[1] - b[1] * c[0])
