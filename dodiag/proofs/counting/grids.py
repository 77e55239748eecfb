"""The theorems at every distribution on a grid of fractions, and the joint region of three contrasts."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from functools import partial
from itertools import product

from dodiag.proofs.counting.cases import compositions, counting, every
from dodiag.proofs.statement import Finding, Statement, Verdict

PARTS = 12
"""Distributions of four types are looked at in units of 1/12, of eight types in units of 1/4."""

Types = tuple[Fraction, Fraction, Fraction, Fraction]


def four_types() -> list[Types]:
    """Return all distributions of (Y_a, Y_a') in units of 1/12, in the order q11, q10, q01, q00."""
    return [
        (Fraction(a, PARTS), Fraction(b, PARTS), Fraction(c, PARTS), Fraction(d, PARTS))
        for a, b, c, d in compositions(PARTS, 4)
    ]


def shown_types(types: Types) -> str:
    """Return a distribution of four types as text."""
    return ", ".join(f"{name} = {value}" for name, value in zip(("q11", "q10", "q01", "q00"), types, strict=True))


def rates(types: Types) -> tuple[Fraction, Fraction]:
    """Return p and p'."""
    return types[0] + types[1], types[0] + types[2]


def n_exactly(p: Fraction, p_prime: Fraction) -> Fraction:
    """Return N, 0 by convention where p = 0."""
    return max(Fraction(0), p - p_prime) / p if p else Fraction(0)


def s_exactly(p: Fraction, p_prime: Fraction) -> Fraction:
    """Return S, 0 by convention where p' = 1."""
    return max(Fraction(0), p - p_prime) / (1 - p_prime) if p_prime < 1 else Fraction(0)


def _bounded(types: Types) -> bool:
    p, p_prime = rates(types)
    return (not p or n_exactly(p, p_prime) <= types[1] / p) and (
        p_prime == 1 or s_exactly(p, p_prime) <= types[1] / (1 - p_prime)
    )


def _upper(types: Types) -> bool:
    p, p_prime = rates(types)
    return not p or n_exactly(p, p_prime) >= types[1] / p


def _equal_where_monotone(types: Types) -> bool:
    p, p_prime = rates(types)
    if not p or p_prime == 1 or p < p_prime:
        return True
    equality = n_exactly(p, p_prime) == types[1] / p and s_exactly(p, p_prime) == types[1] / (1 - p_prime)
    return equality == (types[2] == 0)


def _coupled(types: Types) -> bool:
    p, p_prime = rates(types)
    low = max(Fraction(0), p - p_prime)
    return n_exactly(p, p_prime) * p == s_exactly(p, p_prime) * (1 - p_prime) == low <= types[1]


def _every_value_attained() -> Finding:
    found: dict[tuple[int, int], set[int]] = defaultdict(set)
    for q11, q10, q01, _ in compositions(PARTS, 4):
        found[q11 + q10, q11 + q01].add(q10)

    def attained(margins: tuple[int, int]) -> bool:
        p, p_prime = margins
        return found[margins] == set(range(max(0, p - p_prime), min(p, PARTS - p_prime) + 1))

    margins = product(range(PARTS + 1), range(PARTS + 1))
    return every(margins, attained, lambda m: f"p = {Fraction(m[0], PARTS)}, p' = {Fraction(m[1], PARTS)}")


def _code_agrees(types: Types) -> bool:
    from dodiag.bounds import formulas

    p, p_prime = rates(types)
    low, up = max(Fraction(0), p - p_prime), min(p, 1 - p_prime)
    given = float(p), float(p_prime)
    joint, necessity, sufficiency = formulas.pns_bounds(*given), formulas.pn_bounds(*given), formulas.ps_bounds(*given)
    pairs = [
        (formulas.n_score(*given, min_denominator=0).value, n_exactly(p, p_prime)),
        (formulas.s_score(*given, min_denominator=0).value, s_exactly(p, p_prime)),
        (formulas.ns_score(*given), low),
        (joint.lower, low),
        (joint.upper, up),
    ]
    if p:
        pairs += [(necessity.lower, low / p), (necessity.upper, up / p)]
    if p_prime < 1:
        pairs += [(sufficiency.lower, low / (1 - p_prime)), (sufficiency.upper, up / (1 - p_prime))]
    return all(abs(float(computed) - float(exact)) <= 1e-12 for computed, exact in pairs)


def grids_of_four() -> list[Statement]:
    """The theorems of one context, at every distribution in units of 1/12."""
    setting = ("q11, q10, q01, q00: multiples of 1/12 with sum 1",)
    at = four_types()

    def claim(
        name: str, source: str, goal: str, holds: Callable[[Types], bool], expected: Verdict = Verdict.PROVED
    ) -> Statement:
        return counting(name, source, setting, goal, partial(every, at, holds, shown_types), expected)

    return [
        claim("A.3/grid", "CADET Theorems A.3, A.4", "N ≤ PN where p > 0, and S ≤ PS where p' < 1", _bounded),
        claim("A.3/mutant-grid", "CADET Theorem A.3", "N ≥ PN where p > 0", _upper, Verdict.REFUTED),
        claim(
            "A.5/grid",
            "CADET Proposition A.5",
            "where p ≥ p': N = PN and S = PS exactly if q01 = 0",
            _equal_where_monotone,
        ),
        claim(
            "A.6/grid",
            "CADET Proposition A.6",
            "N·p = S·(1 − p') = max(0, p − p') ≤ PNS, with both conventions",
            _coupled,
        ),
        claim(
            "code/formulas",
            "dodiag",
            "dodiag.bounds.formulas gives N, S, NS and the ends of PN, PS, PNS to 1e-12",
            _code_agrees,
        ),
        counting(
            "TP/grid",
            "Tian & Pearl 2000",
            ("p, p' and the types: multiples of 1/12",),
            "PNS takes exactly the values from max(0, p − p') to min(p, 1 − p')",
            _every_value_attained,
        ),
    ]


QUARTERS = 4
Region = tuple[int, int, int, int, int, int]
"""(p1, p0, p∅, PNS(1,0), PNS(1,∅), PNS(∅,0)), all in quarters."""


def region_inequalities(at: Region) -> tuple[bool, ...]:
    """Return whether each of the four inequalities of the joint region holds."""
    p1, p0, pn, x, y, w = at
    return (x <= y + w, y <= x + w - (pn - p0), w <= x + y - (p1 - pn), x + y + w <= QUARTERS + p1 - p0)


def within_ends(at: Region) -> bool:
    """Whether each of the three values lies between the ends that its own two rates give."""
    p1, p0, pn, x, y, w = at
    return all(
        max(0, first - second) <= value <= min(first, QUARTERS - second)
        for value, first, second in ((x, p1, p0), (y, p1, pn), (w, pn, p0))
    )


def possible_regions() -> set[Region]:
    """Return what the distributions of (Y_1, Y_0, Y_∅) in quarters come to.

    One free number remains of the eight types once these six are given, and every type is a whole number of quarters
    plus or minus it; so what is possible at all is possible in quarters.
    """
    found: set[Region] = set()
    for a111, a110, a101, a100, a011, a010, a001, _ in compositions(QUARTERS, 8):
        p1, p0, pn = a111 + a110 + a101 + a100, a111 + a110 + a011 + a010, a111 + a101 + a011 + a001
        found.add((p1, p0, pn, a101 + a100, a110 + a100, a101 + a001))
    return found


def _region_exact(used: Sequence[int]) -> Finding:
    possible = possible_regions()
    cases: Iterable[tuple[int, ...]] = product(range(QUARTERS + 1), repeat=6)

    def agrees(case: tuple[int, ...]) -> bool:
        at: Region = (case[0], case[1], case[2], case[3], case[4], case[5])
        inequalities = region_inequalities(at)
        return (at in possible) == (within_ends(at) and all(inequalities[number] for number in used))

    def shown(case: tuple[int, ...]) -> str:
        names = ("p1", "p0", "p∅", "PNS(1,0)", "PNS(1,∅)", "PNS(∅,0)")
        return ", ".join(f"{name} = {Fraction(v, QUARTERS)}" for name, v in zip(names, case, strict=True))

    return every(cases, agrees, shown)


def joint_region() -> list[Statement]:
    """The joint region of three contrasts, in quarters: the ends and four inequalities, and none can be left out."""
    setting = ("p1, p0, p∅, x = PNS(1,0), y = PNS(1,∅), w = PNS(∅,0): multiples of 1/4",)
    left_out = ("x ≤ y + w", "y ≤ x + w − (p∅ − p0)", "w ≤ x + y − (p1 − p∅)", "x + y + w ≤ 1 + p1 − p0")
    return [
        counting(
            "three-state/grid-region",
            "Deza & Laurent 1997",
            setting,
            "possible together exactly if within their ends and with all four inequalities of the joint region",
            partial(_region_exact, range(4)),
        ),
        *(
            counting(
                f"three-state/mutant-grid-region-{number + 1}",
                "Deza & Laurent 1997",
                setting,
                f"the joint region without {text}",
                partial(_region_exact, [other for other in range(4) if other != number]),
                Verdict.REFUTED,
            )
            for number, text in enumerate(left_out)
        ),
    ]
