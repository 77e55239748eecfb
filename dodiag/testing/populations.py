"""Populations whose potential outcomes are known, in exact fractions: what the strategies draw.

A *response type* is one tuple of binary potential outcomes, one per regime. The regimes are states of one prerequisite
in one context, ``"1"``, ``"0"``, ``"n"``, or any other names. Every probability of causation is a sum over response
types, so a bound can be checked against the truth without rounding.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from numbers import Rational
from types import MappingProxyType

from dodiag.bounds.errors import NotAProbability, Undefined
from dodiag.problems import UsageError

Outcomes = tuple[int, ...]
ZERO, ONE = Fraction(0), Fraction(1)
NATURAL = "n"
"""The regime in which the model is left to its own answer."""


def _distribution(masses: Mapping[Outcomes, Fraction], length: int, what: str) -> Mapping[Outcomes, Fraction]:
    for outcomes, mass in masses.items():
        if not isinstance(mass, Rational):
            raise UsageError(f"the probability of {outcomes} is {mass!r}", "Give a Fraction; nothing here is rounded.")
        if not 0 <= mass <= 1:
            raise NotAProbability(f"P{outcomes}", float(mass))
        if len(outcomes) != length or not set(outcomes) <= {0, 1}:
            raise UsageError(f"{outcomes} is no {what}", f"Write {length} outcomes, each 0 or 1.")
    if (total := sum(masses.values(), ZERO)) != 1:
        raise UsageError(f"the probabilities sum to {total}", "Those of a distribution sum to 1.")
    return MappingProxyType({o: Fraction(masses[o]) for o in sorted(masses, reverse=True) if masses[o]})


def _regimes(names: Sequence[str]) -> tuple[str, ...]:
    regimes = tuple(map(str, names))
    if not regimes or len(set(regimes)) < len(regimes):
        raise UsageError(f"the regimes are {', '.join(regimes) or 'none'}", "Name each once, such as ('1', '0').")
    return regimes


def _ratio(part: Fraction, whole: Fraction, quantity: str, event: str) -> Fraction:
    if not whole:
        raise Undefined(quantity, f"{event} has probability 0")
    return part / whole


@dataclass(frozen=True, repr=False)
class ResponseTypes:
    """An exact distribution over response types.

    Parameters
    ----------
    probabilities : mapping of tuple of int to Fraction
        By response type: the outcomes (1 solved, 0 failed) in the order of `regimes`. Types without mass are left out.
    regimes : sequence of str
        Names of the regimes; the first two are the contrast (a, a').

    Raises
    ------
    NotAProbability
        If a value is outside [0, 1].
    UsageError
        If the values are not fractions that sum to 1, or a key is not one outcome per regime.

    Examples
    --------
    >>> half = Fraction(1, 2)
    >>> types = ResponseTypes({(1, 0): half, (0, 1): half})
    >>> types.margin("1"), types.PN("1", "0"), types.N("1", "0")
    (Fraction(1, 2), Fraction(1, 1), Fraction(0, 1))
    >>> print(types)
    1/2 of the units are solved under 1 and failed under 0; 1/2 solved under 0 and failed under 1
    """

    probabilities: Mapping[Outcomes, Fraction]
    regimes: tuple[str, ...] = ("1", "0")

    def __post_init__(self) -> None:
        object.__setattr__(self, "regimes", _regimes(self.regimes))
        masses = _distribution(self.probabilities, len(self.regimes), "response type")
        object.__setattr__(self, "probabilities", masses)

    @classmethod
    def comonotone(cls, margins: Mapping[str, Fraction]) -> ResponseTypes:
        """Return Y_r = 1{U ≤ p_r}, one uniform U for all regimes: the least PNS(s, t) for all pairs at once."""
        return cls._coupled(margins, {regime: (ZERO, margin) for regime, margin in margins.items()})

    @classmethod
    def countermonotone(cls, margins: Mapping[str, Fraction]) -> ResponseTypes:
        """Return Y_a = 1{U ≤ p}, Y_a' = 1{U > 1 − p'} of two regimes: the largest PNS of its margins.

        Raises
        ------
        UsageError
            If there are not two regimes: more cannot all be opposed to each other.
        """
        if len(margins) != 2:
            raise UsageError(f"{len(margins)} regimes cannot be opposed to each other", "Name two.")
        first, second = margins
        return cls._coupled(margins, {first: (ZERO, margins[first]), second: (1 - margins[second], ONE)})

    @classmethod
    def _coupled(
        cls, margins: Mapping[str, Fraction], solved: Mapping[str, tuple[Fraction, Fraction]]
    ) -> ResponseTypes:
        for regime, margin in margins.items():
            if not 0 <= margin <= 1:
                raise NotAProbability(f"P(Y_{regime}=1)", float(margin))
        cuts = sorted({ZERO, ONE, *(end for ends in solved.values() for end in ends)})
        masses: dict[Outcomes, Fraction] = {}
        for low, high in pairwise(cuts):
            outcomes = tuple(int(start <= low and high <= end) for start, end in solved.values())
            masses[outcomes] = masses.get(outcomes, ZERO) + high - low
        return cls(masses, tuple(margins))

    def probability(self, outcomes: Mapping[str, int]) -> Fraction:
        """Return P(Y_r = y for every r: y of `outcomes`); the empty mapping has probability 1.

        Raises
        ------
        UsageError
            If a regime is not one of this population's.
        """
        places = {self._place(regime): outcome for regime, outcome in outcomes.items()}
        return sum(
            (
                mass
                for response, mass in self.probabilities.items()
                if all(response[place] == outcome for place, outcome in places.items())
            ),
            ZERO,
        )

    def _place(self, regime: str) -> int:
        try:
            return self.regimes.index(regime)
        except ValueError:
            raise UsageError(f"'{regime}' is no regime here", f"There are {', '.join(self.regimes)}.") from None

    def margin(self, regime: str) -> Fraction:
        """Return P(Y_regime = 1)."""
        return self.probability({regime: 1})

    def evidence(self, a: str, a_prime: str) -> tuple[Fraction, Fraction]:
        """Return what an experiment can measure of the contrast: (p, p')."""
        return self.margin(a), self.margin(a_prime)

    def PNS(self, a: str, a_prime: str) -> Fraction:  # noqa: N802
        """Return P(Y_a = 1, Y_a' = 0)."""
        return self.probability({a: 1, a_prime: 0})

    def harm(self, a: str, a_prime: str) -> Fraction:
        """Return P(Y_a = 0, Y_a' = 1); 0 is monotonicity (CADET Proposition A.5)."""
        return self.probability({a: 0, a_prime: 1})

    def PN(self, a: str, a_prime: str) -> Fraction:  # noqa: N802
        """Return P(Y_a' = 0 | A = a, Y = 1) = PNS / p; the regime is assigned, so A is independent of the outcomes.

        Raises
        ------
        Undefined
            If p = 0.
        """
        return _ratio(self.PNS(a, a_prime), self.margin(a), "PN", f"Y = 1 under {a}")

    def PS(self, a: str, a_prime: str) -> Fraction:  # noqa: N802
        """Return P(Y_a = 1 | A = a', Y = 0) = PNS / (1 − p').

        Raises
        ------
        Undefined
            If p' = 1.
        """
        return _ratio(self.PNS(a, a_prime), 1 - self.margin(a_prime), "PS", f"Y = 0 under {a_prime}")

    def N(self, a: str, a_prime: str) -> Fraction:  # noqa: N802
        """Return max(0, p − p') / p, 0 by convention where p = 0 (CADET Def. A.1)."""
        p, p_prime = self.evidence(a, a_prime)
        return max(ZERO, p - p_prime) / p if p else ZERO

    def S(self, a: str, a_prime: str) -> Fraction:  # noqa: N802
        """Return max(0, p − p') / (1 − p'), 0 by convention where p' = 1 (CADET Def. A.2)."""
        p, p_prime = self.evidence(a, a_prime)
        return max(ZERO, p - p_prime) / (1 - p_prime) if p_prime != 1 else ZERO

    def __str__(self) -> str:
        first, *rest = (f"{mass}{{}} {self._words(response)}" for response, mass in self.probabilities.items())
        return "; ".join([first.format(" of the units are"), *(part.format("") for part in rest)])

    def _words(self, response: Outcomes) -> str:
        by_outcome = {
            word: [name for name, outcome in zip(self.regimes, response, strict=True) if outcome == wanted]
            for word, wanted in (("solved", 1), ("failed", 0))
        }
        return " and ".join(f"{word} under {' and '.join(names)}" for word, names in by_outcome.items() if names)

    def __repr__(self) -> str:
        return f"ResponseTypes({dict(self.probabilities)!r}, {self.regimes!r})"


@dataclass(frozen=True, repr=False)
class ObservedTypes:
    """Response types together with the model's own answer X (1 right, 0 wrong), as in Tian & Pearl (2000).

    Without ``n`` among the regimes, the natural outcome Y is Y_1 where X = 1 and Y_0 where X = 0 (the own answer acts
    as the injected one). With ``n``, Y is Y_n, and only a *right* own answer acts as the injected one: Y_n = Y_1 where
    X = 1.

    Parameters
    ----------
    joint : mapping of tuple of int to Fraction
        By (x, outcomes in the order of `regimes`).
    regimes : sequence of str
        With ``"1"``, and ``"0"`` or ``"n"``.

    Raises
    ------
    NotAProbability, UsageError
        As :class:`ResponseTypes`; and if the joint contradicts the own answer's effect.
    """

    joint: Mapping[Outcomes, Fraction]
    regimes: tuple[str, ...] = ("1", "0")

    def __post_init__(self) -> None:
        object.__setattr__(self, "regimes", _regimes(self.regimes))
        object.__setattr__(self, "joint", _distribution(self.joint, 1 + len(self.regimes), "own answer and type"))
        if "1" not in self.regimes or not {"0", NATURAL} & set(self.regimes):
            raise UsageError(f"the regimes are {', '.join(self.regimes)}", "Name 1, and 0 or n.")
        if wrong := [cell for cell in self.joint if not is_consistent(cell, self.regimes)]:
            raise UsageError(f"the own answer is right in {wrong[0]}, but Y_n is not Y_1", "Give it no mass.")

    @property
    def types(self) -> ResponseTypes:
        """The response types alone: what experiments know about."""
        masses: dict[Outcomes, Fraction] = {}
        for (_, *outcomes), mass in self.joint.items():
            masses[tuple(outcomes)] = masses.get(tuple(outcomes), ZERO) + mass
        return ResponseTypes(masses, self.regimes)

    def margin(self, regime: str) -> Fraction:
        """Return P(Y_regime = 1)."""
        return self.types.margin(regime)

    def observed(self, own: int, outcome: int) -> Fraction:
        """Return P(X = own, Y = outcome) where nothing is injected."""
        return self._sum(lambda cell: (cell[0], self._natural(cell)) == (own, outcome))

    @property
    def observations(self) -> dict[tuple[int, int], Fraction]:
        """P(x, y) by (x, y): all that is observed where nothing is injected."""
        return {(own, outcome): self.observed(own, outcome) for own in (1, 0) for outcome in (1, 0)}

    def evidence(self, a: str, a_prime: str) -> tuple[Fraction, Fraction, dict[tuple[int, int], Fraction]]:
        """Return what experiments and observation measure: (p, p', P(x, y) by (x, y))."""
        return self.margin(a), self.margin(a_prime), self.observations

    def PNS(self, a: str, a_prime: str) -> Fraction:  # noqa: N802
        """Return P(Y_a = 1, Y_a' = 0)."""
        return self.types.PNS(a, a_prime)

    def harm(self, a: str, a_prime: str) -> Fraction:
        """Return P(Y_a = 0, Y_a' = 1)."""
        return self.types.harm(a, a_prime)

    def PN(self, a: str, a_prime: str) -> Fraction:  # noqa: N802
        """Return P(Y_0 = 0 | X = 1, Y = 1): of those whose *own* answer is right, not of those who were assigned 1.

        Raises
        ------
        Undefined
            If P(X=1, Y=1) = 0.
        UsageError
            If the contrast is not (1, 0), or ``n`` is a regime: an own answer is then not the same as a state.
        """
        self._require_two_sided(a, a_prime)
        return self._given(1, 1, a_prime, "PN")

    def PS(self, a: str, a_prime: str) -> Fraction:  # noqa: N802
        """Return P(Y_1 = 1 | X = 0, Y = 0): of those whose *own* answer is wrong.

        Raises
        ------
        Undefined
            If P(X=0, Y=0) = 0.
        UsageError
            As :meth:`PN`.
        """
        self._require_two_sided(a, a_prime)
        return self._given(0, 0, a, "PS")

    def _given(self, own: int, outcome: int, regime: str, quantity: str) -> Fraction:
        place = 1 + self.regimes.index(regime)
        turned = self._sum(lambda cell: (cell[0], self._natural(cell), cell[place]) == (own, outcome, 1 - outcome))
        return _ratio(turned, self.observed(own, outcome), quantity, f"X = {own}, Y = {outcome}")

    def _require_two_sided(self, a: str, a_prime: str) -> None:
        if (a, a_prime) != ("1", "0") or NATURAL in self.regimes:
            raise UsageError(
                f"PN and PS of own answers are not defined for ({a}, {a_prime}) among {', '.join(self.regimes)}",
                "Use the contrast (1, 0) and the regimes 1 and 0 alone, or the PN and PS of .types.",
            )

    def _natural(self, cell: Outcomes) -> int:
        regime = NATURAL if NATURAL in self.regimes else "1" if cell[0] else "0"
        return cell[1 + self.regimes.index(regime)]

    def _sum(self, holds: Callable[[Outcomes], bool]) -> Fraction:
        return sum((mass for cell, mass in self.joint.items() if holds(cell)), ZERO)

    def __str__(self) -> str:
        right = sum((mass for cell, mass in self.joint.items() if cell[0]), ZERO)
        cells = "; ".join(f"P(x={x}, y={y}) = {mass}" for (x, y), mass in self.observations.items() if mass)
        return f"{self.types}; the own answer is right for {right} ({cells})"

    def __repr__(self) -> str:
        return f"ObservedTypes({dict(self.joint)!r}, {self.regimes!r})"


def is_consistent(cell: Outcomes, regimes: Sequence[str]) -> bool:
    """Return whether (x, outcomes) obeys: a right own answer acts as the injected right one."""
    own, *outcomes = cell
    if not own or NATURAL not in regimes or "1" not in regimes:
        return True
    return outcomes[regimes.index(NATURAL)] == outcomes[regimes.index("1")]


@dataclass(frozen=True, repr=False)
class Strata:
    """Several populations with weights: one per instance, whose noise is what its response types spread over.

    An instance is there before anything is injected, so it is a legitimate stratum.

    Parameters
    ----------
    weights : sequence of Fraction
        Share of each instance; they sum to 1.
    types : sequence of ResponseTypes
        Of each instance, with the same regimes.

    Raises
    ------
    UsageError
        If the weights are no distribution over the strata, or the regimes differ.
    """

    weights: tuple[Fraction, ...]
    types: tuple[ResponseTypes, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "weights", tuple(map(Fraction, self.weights)))
        object.__setattr__(self, "types", tuple(self.types))
        if (
            not self.types
            or len(self.weights) != len(self.types)
            or sum(self.weights, ZERO) != 1
            or min(self.weights) < 0
        ):
            listed = ", ".join(map(str, self.weights))
            raise UsageError(f"the weights of {len(self.types)} strata are {listed}", "Give each one; they sum to 1.")
        if len({part.regimes for part in self.types}) > 1:
            raise UsageError("the strata have different regimes", "Give all the same.")

    @property
    def regimes(self) -> tuple[str, ...]:
        """The regimes of every stratum."""
        return self.types[0].regimes

    @property
    def pooled(self) -> ResponseTypes:
        """The population as a whole."""
        masses: dict[Outcomes, Fraction] = {}
        for weight, part in zip(self.weights, self.types, strict=True):
            for response, mass in part.probabilities.items():
                masses[response] = masses.get(response, ZERO) + weight * mass
        return ResponseTypes(masses, self.regimes)

    def rates(self, regime: str) -> tuple[Fraction, ...]:
        """Return the success rate of each instance under one regime."""
        return tuple(part.margin(regime) for part in self.types)

    def mean(self, of_instance: Iterable[Fraction]) -> Fraction:
        """Return the weighted mean of one number per instance."""
        return sum((weight * value for weight, value in zip(self.weights, of_instance, strict=True)), ZERO)

    def margin(self, regime: str) -> Fraction:
        """Return P(Y_regime = 1) of the population."""
        return self.mean(self.rates(regime))

    def evidence(self, a: str, a_prime: str) -> tuple[tuple[Fraction, ...], tuple[Fraction, ...], tuple[Fraction, ...]]:
        """Return what endless reruns of every instance measure: (weights, rates under a, rates under a')."""
        return self.weights, self.rates(a), self.rates(a_prime)

    def PNS(self, a: str, a_prime: str) -> Fraction:  # noqa: N802
        """Return P(Y_a = 1, Y_a' = 0) of the population."""
        return self.pooled.PNS(a, a_prime)

    def harm(self, a: str, a_prime: str) -> Fraction:
        """Return P(Y_a = 0, Y_a' = 1) of the population."""
        return self.pooled.harm(a, a_prime)

    def PN(self, a: str, a_prime: str) -> Fraction:  # noqa: N802
        """Return PN of the population; Undefined where p = 0."""
        return self.pooled.PN(a, a_prime)

    def PS(self, a: str, a_prime: str) -> Fraction:  # noqa: N802
        """Return PS of the population; Undefined where p' = 1."""
        return self.pooled.PS(a, a_prime)

    def __str__(self) -> str:
        return " | ".join(
            f"of instance {number} (weight {weight}), {part}"
            for number, (weight, part) in enumerate(zip(self.weights, self.types, strict=True), start=1)
        )

    def __repr__(self) -> str:
        return f"Strata({self.weights!r}, {self.types!r})"
