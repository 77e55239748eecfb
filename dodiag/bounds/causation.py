"""Bounds on probabilities of causation as objects: experimental data, combined with observations, under monotonicity.

The arrays of :mod:`dodiag.bounds.formulas` are the numbers; here they come with formulas, inputs and assumptions.
Everywhere p = P(Y_a = 1) and p' = P(Y_a' = 1) in one context, for one prerequisite and one ordered contrast (a, a').
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dodiag.bounds.errors import ImpossibleMargins, NoData
from dodiag.bounds.formulas import pn_bounds, pns_bounds, probability, ps_bounds
from dodiag.bounds.identified import BY_DESIGN, Assumption, Floats, Identified
from dodiag.bounds.pairs import PairedCounts
from dodiag.problems import UsageError

Quantity = Literal["PN", "PS", "PNS"]

_FRECHET: Mapping[Quantity, tuple[str, str]] = {
    "PN": ("max(0, p − p') / p", "min(p, 1 − p') / p"),
    "PS": ("max(0, p − p') / (1 − p')", "min(p, 1 − p') / (1 − p')"),
    "PNS": ("max(0, p − p')", "min(p, 1 − p')"),
}
_NEVER = {"PN": "Y = 1 under a has probability 0", "PS": "Y = 0 under a' has probability 0", "PNS": ""}


def experimental_bounds(quantity: Quantity, p: ArrayLike, p_prime: ArrayLike) -> Identified:
    """Bounds from the two interventional success rates alone (Tian & Pearl 2000; CADET Theorems A.3, A.4).

    The lower ends of PN and PS are the N-Score and the S-Score. Both ends are sharp: see the statements ``A.3`` and
    ``A.4`` of ``dodiag prove``.

    Parameters
    ----------
    quantity : {"PN", "PS", "PNS"}
    p, p_prime : array_like
        Success probabilities under a and a', broadcast against each other.

    Raises
    ------
    NotAProbability
        If one is NaN or outside [0, 1].
    UsageError
        If the quantity is none of the three; so do all functions here.

    Examples
    --------
    >>> print(experimental_bounds("PN", 0.7, 0.4))
    PN in [0.4286, 0.8571]
    >>> print(experimental_bounds("PN", 0.0, 0.4))
    PN undefined: Y = 1 under a has probability 0
    """
    function = {"PN": pn_bounds, "PS": ps_bounds, "PNS": pns_bounds}[_known(quantity)]
    ends = function(p, p_prime)
    undefined = np.isnan(ends.lower)
    return Identified(
        quantity,
        ends.lower,
        ends.upper,
        _FRECHET[quantity],
        {"p": probability(p, "p"), "p'": probability(p_prime, "p'")},
        undefined=undefined,
        reason=_NEVER[quantity] if undefined.any() else "",
    )


def counted_bounds(quantity: Quantity, counts: PairedCounts) -> Identified:
    """Fréchet bounds at the observed rates, with the counts as inputs.

    Pairing plays no part in these ends: what pairs identify under deterministic decoding is in
    :mod:`dodiag.bounds.within_instance`.
    """
    found = experimental_bounds(quantity, counts.p, counts.p_prime)
    inputs = {name: getattr(counts, name).astype(np.float64) for name in ("n11", "n10", "n01", "n00")}
    return replace(found, inputs=inputs, flags=("at the observed rates: no sampling error included",))


@dataclass(frozen=True)
class Observed:
    """Joint probabilities of a unit's own state X and its outcome Y without intervention, arrays of one shape.

    x stands for "own answer equals what a injects", x' for "own answer equals what a' injects"; they sum to 1.
    """

    x_y: Floats
    x_not_y: Floats
    not_x_y: Floats
    not_x_not_y: Floats

    @classmethod
    def of(cls, x_y: ArrayLike, x_not_y: ArrayLike, not_x_y: ArrayLike, not_x_not_y: ArrayLike) -> Observed:
        """Check four joint probabilities.

        Raises
        ------
        NotAProbability
            If one is NaN or outside [0, 1].
        ImpossibleMargins
            If they do not sum to 1.
        """
        names = ("P(x, y)", "P(x, y')", "P(x', y)", "P(x', y')")
        cells = [probability(v, name) for v, name in zip((x_y, x_not_y, not_x_y, not_x_not_y), names, strict=True)]
        cells = list(np.broadcast_arrays(*cells))
        total = np.sum(cells, axis=0)
        if (wrong := np.abs(total - 1) > 1e-9).any():
            raise ImpossibleMargins((f"P(x, y) + P(x, y') + P(x', y) + P(x', y') = {total[wrong].flat[0]:.6g}, not 1",))
        return cls(*cells)

    @property
    def y(self) -> Floats:
        """P(Y = 1)."""
        return np.asarray(self.x_y + self.not_x_y)


def inconsistencies(p: ArrayLike, p_prime: ArrayLike, observed: Observed, slack: float = 1e-9) -> tuple[str, ...]:
    """Return the constraints that experimental and observational probabilities break together.

    If injecting a state is the same as having it (:attr:`Assumption.OWN_ANSWER_IS_STATE`), then
    P(x, y) ≤ p ≤ 1 − P(x, y') and P(x', y) ≤ p' ≤ 1 − P(x', y'). A violation falsifies that, not the scores.

    Examples
    --------
    >>> inconsistencies(0.2, 0.4, Observed.of(0.3, 0.2, 0.2, 0.3))
    ('P(x, y) = 0.3 > p = 0.2',)
    """
    high, low = probability(p, "p"), probability(p_prime, "p'")
    checks = (
        ("P(x, y)", observed.x_y, "p", high),
        ("p", high, "1 − P(x, y')", 1 - observed.x_not_y),
        ("P(x', y)", observed.not_x_y, "p'", low),
        ("p'", low, "1 − P(x', y')", 1 - observed.not_x_not_y),
    )
    found = []
    for name, smaller, other, larger in checks:
        smaller, larger = np.broadcast_arrays(smaller, larger)
        wrong = smaller > larger + slack
        if wrong.any():
            found.append(f"{name} = {smaller[wrong].flat[0]:.6g} > {other} = {larger[wrong].flat[0]:.6g}")
    return tuple(found)


_COMBINED: Mapping[Quantity, tuple[str, str]] = {
    "PNS": (
        "max(0, p − p', P(y) − p', p − P(y))",
        "min(p, 1 − p', P(x, y) + P(x', y'), p − p' + P(x, y') + P(x', y))",
    ),
    "PN": ("max(0, P(y) − p') / P(x, y)", "min(P(x, y), 1 − p' − P(x', y')) / P(x, y)"),
    "PS": ("max(0, p − P(y)) / P(x', y')", "min(P(x', y'), p − P(x, y)) / P(x', y')"),
}


def combined_bounds(quantity: Quantity, p: ArrayLike, p_prime: ArrayLike, observed: Observed) -> Identified:
    """Tian–Pearl bounds from experimental and observational probabilities together (Tian & Pearl 2000).

    PN and PS are here P(Y_a' = 0 | x, y) and P(Y_a = 1 | x', y'), of units with that own state, which need not be
    exogenous.

    Parameters
    ----------
    quantity : {"PN", "PS", "PNS"}
    p, p_prime : array_like
    observed : Observed

    Raises
    ------
    NotAProbability
        If a probability is NaN or outside [0, 1].
    ImpossibleMargins
        If the two kinds of data contradict each other; see :func:`inconsistencies`.

    Examples
    --------
    >>> print(combined_bounds("PN", 0.7, 0.4, Observed.of(0.5, 0.1, 0.1, 0.3)))
    PN in [0.4, 0.6]
    """
    _known(quantity)
    high, low = probability(p, "p"), probability(p_prime, "p'")
    if broken := inconsistencies(high, low, observed):
        raise ImpossibleMargins(broken, "Then injecting a state is not the same as having it: use experimental_bounds.")
    y = observed.y
    zero = np.zeros(np.broadcast_shapes(high.shape, low.shape, y.shape))
    if quantity == "PNS":
        lower = _largest(zero, high - low, y - low, high - y)
        agree = observed.x_y + observed.not_x_not_y
        upper = _smallest(high, 1 - low, agree, high - low + (1 - agree))
        event = np.ones_like(zero)
    elif quantity == "PN":
        event = observed.x_y + zero
        lower = _largest(zero, y - low)
        upper = _smallest(event, 1 - low - observed.not_x_not_y)
    else:
        event = observed.not_x_not_y + zero
        lower = _largest(zero, high - y)
        upper = _smallest(event, high - observed.x_y)
    undefined = event <= 0
    with np.errstate(invalid="ignore", divide="ignore"):
        ends = [np.where(undefined, np.nan, np.clip(end / event, 0, 1)) for end in (lower, upper)]
    never = {"PN": "own state x with Y = 1 was never observed", "PS": "own state x' with Y = 0 was never observed"}
    return Identified(
        quantity,
        ends[0],
        np.maximum(ends[0], ends[1]),
        _COMBINED[quantity],
        {
            "p": high,
            "p'": low,
            "P(x, y)": observed.x_y,
            "P(x, y')": observed.x_not_y,
            "P(x', y)": observed.not_x_y,
            "P(x', y')": observed.not_x_not_y,
        },
        (*BY_DESIGN, Assumption.OWN_ANSWER_IS_STATE),
        undefined,
        never[quantity] if undefined.any() else "",
    )


def one_sided_bounds(
    p1: ArrayLike, own_correct_y: ArrayLike, own_wrong_y: ArrayLike, own_correct: ArrayLike
) -> Identified:
    """PNS(1, ∅) when the model's own answer to the prerequisite is recorded under ∅.

    Only one direction of consistency is taken for granted: where the own answer is correct, injecting the correct one
    changes nothing. The lower end does not move; the upper end falls from min(p_1, 1 − p_∅) to
    min(p_1 − P(X=1, Y=1), P(X=0, Y=0)).

    Parameters
    ----------
    p1 : array_like
        P(Y = 1 | do(A_i = 1)).
    own_correct_y, own_wrong_y : array_like
        P(X = 1, Y = 1) and P(X = 0, Y = 1) under ∅.
    own_correct : array_like
        P(X = 1).

    Raises
    ------
    ImpossibleMargins
        If P(X=1, Y=1) > P(X=1), P(X=0, Y=1) > P(X=0), or p_1 is outside what consistency allows.

    Examples
    --------
    >>> print(one_sided_bounds(0.8, own_correct_y=0.4, own_wrong_y=0.1, own_correct=0.5))
    PNS(1,∅) in [0.3, 0.4]
    """
    one, both = probability(p1, "p_1"), probability(own_correct_y, "P(X=1, Y=1)")
    lucky, share = probability(own_wrong_y, "P(X=0, Y=1)"), probability(own_correct, "P(X=1)")
    one, both, lucky, share = np.broadcast_arrays(one, both, lucky, share)
    ranges = (
        ("P(X=1, Y=1)", both, "P(X=1)", share),
        ("P(X=0, Y=1)", lucky, "P(X=0)", 1 - share),
        ("P(X=1, Y=1)", both, "p_1", one),
        ("p_1", one, "1 − P(X=1, Y=0)", 1 - share + both),
    )
    broken = [
        f"{name} = {small[wrong].flat[0]:.6g} > {other} = {large[wrong].flat[0]:.6g}"
        for name, small, other, large in ranges
        if (wrong := small > large + 1e-9).any()
    ]
    if broken:
        raise ImpossibleMargins(broken, "Then a correct own answer is not the same as the injected one.")
    lower = np.maximum(0.0, one - both - lucky)
    upper = np.maximum(lower, np.minimum(one - both, 1 - share - lucky))
    return Identified(
        "PNS(1,∅)",
        lower,
        upper,
        ("max(0, p_1 − P(Y=1))", "min(p_1 − P(X=1, Y=1), P(X=0, Y=0))"),
        {"p_1": one, "P(X=1, Y=1)": both, "P(X=0, Y=1)": lucky, "P(X=1)": share},
        (*BY_DESIGN, Assumption.OWN_CORRECT_IS_STATE_1),
        np.zeros(one.shape, dtype=bool),
    )


def monotone_value(
    quantity: Quantity, p: ArrayLike, p_prime: ArrayLike, observed: Observed | None = None
) -> Identified:
    """PN, PS or PNS under monotonicity, where they are identified (CADET Proposition A.5; Tian & Pearl 2000).

    From the rates alone they equal N, S and p − p'. With observations PN = (P(y) − p') / P(x, y) and
    PS = (p − P(y)) / P(x', y'), of units with that own state, as in :func:`combined_bounds`; PNS is p − p' still.

    Parameters
    ----------
    quantity : {"PN", "PS", "PNS"}
    p, p_prime : array_like
    observed : Observed, optional

    Raises
    ------
    NotAProbability
        If a probability is NaN or outside [0, 1].
    ImpossibleMargins
        If p < p' somewhere, or with observations p ≥ P(y) ≥ p' does not hold: no monotone model has these rates; or if
        the two kinds of data contradict each other.

    Examples
    --------
    >>> print(monotone_value("PN", 0.75, 0.25))
    PN in [0.6667, 0.6667]
    >>> print(monotone_value("PN", 0.7, 0.4, Observed.of(0.5, 0.1, 0.1, 0.3)))
    PN in [0.4, 0.4]
    """
    high, low = np.broadcast_arrays(probability(p, "p"), probability(p_prime, "p'"))
    ordered = [("p", high, "p'", low)]
    if observed is not None:
        ordered += [("p", high, "P(y)", observed.y), ("P(y)", observed.y, "p'", low)]
    for name, larger, other, smaller in ordered:
        larger, smaller = np.broadcast_arrays(larger, smaller)
        if (wrong := larger < smaller - 1e-12).any():
            message = f"{name} = {larger[wrong].flat[0]:.6g} < {other} = {smaller[wrong].flat[0]:.6g}"
            cure = "Monotonicity is refuted: use experimental_bounds or combined_bounds."
            raise ImpossibleMargins((message,), cure)
    if observed is None or quantity == "PNS":
        free = experimental_bounds(quantity, high, low)
        formula = free.formulas[0]
    else:
        free = combined_bounds(quantity, high, low, observed)
        formula = free.formulas[0].replace("max(0, ", "(")
    return replace(
        free,
        upper=free.lower,
        formulas=(formula, formula),
        assumptions=(*free.assumptions, Assumption.MONOTONE),
    )


@dataclass(frozen=True)
class MonotonicityTest:
    """Exact test of H0: p' ≤ p, whose rejection refutes monotonicity P(Y_a = 0, Y_a' = 1) = 0.

    Not rejecting proves nothing: harm can be there and be outweighed.

    Attributes
    ----------
    helped, harmed : array of int
        Pairs solved under a alone (n10), and under a' alone (n01).
    p_value : array
        P(Bin(n10 + n01, 1/2) ≥ n01).
    harm_at_least : array
        max(0, p̂' − p̂), what the rates alone say of the share that is harmed.
    """

    helped: NDArray[np.int64]
    harmed: NDArray[np.int64]
    p_value: Floats
    harm_at_least: Floats


def monotonicity_test(counts: PairedCounts) -> MonotonicityTest:
    """Try to refute monotonicity of a over a' by exact McNemar (CADET Property 3.6 in reverse).

    Under deterministic decoding a single harmed pair refutes it; with sampling noise only the rates can.

    Examples
    --------
    >>> monotonicity_test(PairedCounts.of(20, 1, 9, 20)).p_value.round(4).item()
    0.0107
    """
    return MonotonicityTest(
        counts.n10,
        counts.n01,
        exact_mcnemar(counts.n01, counts.n10),
        np.maximum(0.0, counts.p_prime - counts.p),
    )


def exact_mcnemar(wins: ArrayLike, losses: ArrayLike) -> Floats:
    """One-sided exact McNemar p-value of H0: no more wins than losses; P(Bin(wins + losses, 1/2) ≥ wins)."""
    from scipy.special import betainc

    won, lost = np.asarray(wins, np.float64), np.asarray(losses, np.float64)
    return np.where(won > 0, betainc(np.maximum(won, 1), lost + 1, 0.5), 1.0)


@dataclass(frozen=True)
class SensitivityCurve:
    """PN and PS as functions of the harm η = P(Y_a = 0, Y_a' = 1), the one thing that the rates leave open.

    PNS(η) = p − p' + η for η between `least` and `most`. Monotonicity is η = 0; at `least` PN is the N-Score (where
    p ≥ p'), at `most` it is the upper end.

    Attributes
    ----------
    p, p_prime : array
    least, most : array
        max(0, p' − p) and min(p', 1 − p).
    """

    p: Floats
    p_prime: Floats
    least: Floats
    most: Floats

    def pns(self, harm: ArrayLike) -> Floats:
        """Return p − p' + η.

        Raises
        ------
        ImpossibleMargins
            If η is outside [`least`, `most`].
        """
        eta = np.asarray(harm, dtype=np.float64)
        wrong = ~((eta >= self.least - 1e-12) & (eta <= self.most + 1e-12))
        if wrong.any():
            low, high, value = (np.broadcast_to(v, wrong.shape)[wrong].flat[0] for v in (self.least, self.most, eta))
            raise ImpossibleMargins((f"harm {value:.6g} is not in [{low:.6g}, {high:.6g}]",))
        return np.clip(self.p - self.p_prime + eta, 0, 1)

    def pn(self, harm: ArrayLike) -> Floats:
        """Return PN(η) = (p − p' + η) / p.

        Raises
        ------
        ImpossibleMargins
            If η is outside [`least`, `most`].
        NoData
            If p = 0, where PN is undefined.
        """
        if (self.p == 0).any():
            raise NoData("success under a, so PN is undefined")
        return np.minimum(1.0, self.pns(harm) / self.p)

    def ps(self, harm: ArrayLike) -> Floats:
        """Return PS(η) = (p − p' + η) / (1 − p'); raises as :meth:`pn`, here where p' = 1."""
        if (self.p_prime == 1).any():
            raise NoData("failure under a', so PS is undefined")
        return np.minimum(1.0, self.pns(harm) / (1 - self.p_prime))


def sensitivity(p: ArrayLike, p_prime: ArrayLike) -> SensitivityCurve:
    """Return the curve of PN, PS and PNS over the harm that the rates allow.

    Examples
    --------
    >>> curve = sensitivity(0.7, 0.4)
    >>> curve.least.item(), curve.most.round(4).item(), curve.pn([0.0, 0.1]).round(4).tolist()
    (0.0, 0.3, [0.4286, 0.5714])
    """
    high, low = np.broadcast_arrays(probability(p, "p"), probability(p_prime, "p'"))
    return SensitivityCurve(high, low, np.maximum(0.0, low - high), np.minimum(low, 1 - high))


def _largest(*terms: Floats) -> Floats:
    return np.asarray(np.max(np.broadcast_arrays(*terms), axis=0))


def _smallest(*terms: Floats) -> Floats:
    return np.asarray(np.min(np.broadcast_arrays(*terms), axis=0))


def _known(quantity: Quantity) -> Quantity:
    if quantity not in _FRECHET:
        raise UsageError(f"'{quantity}' is not a probability of causation", f"Use {', '.join(_FRECHET)}.")
    return quantity
