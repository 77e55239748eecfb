"""Several prerequisites supplied at once: conjunctive bottlenecks, single repairs, patterns of any regimes."""

from __future__ import annotations

from collections.abc import Iterable

from dodiag.bounds.linear.certificate import Rational
from dodiag.proofs.linear.claims import (
    NOTHING,
    Affine,
    Margins,
    all_of,
    implied,
    margins_of,
    mutant,
    region,
    sharp_end,
    statement,
    without,
)
from dodiag.proofs.statement import Finding, Statement

REPAIRS = margins_of(("none", "i", "j", "ij"), ("v0", "vi", "vj", "vij"))


def repair_statements() -> list[Statement]:
    """Return the claims about sets of supplied prerequisites."""
    t = REPAIRS.types
    pair = t.probability({"ij": 1, "i": 0, "j": 0})
    fresh = t.probability({"ij": 1, "i": 0, "j": 0, "none": 0})
    single = t.probability(t.event({"none": 0}) & (t.event({"i": 1}) | t.event({"j": 1})))
    v0, vi, vj, vij = REPAIRS.forms.values()
    given = ("v(T) = P(Y=1 | the prerequisites in T supplied, the others natural), T = none, i, j, ij",)
    broken = tuple(t.event({"ij": 0, one: 1}) for one in ("i", "j"))
    growing = without(REPAIRS, "v0", never=broken)
    growing_all = without(REPAIRS, never=(*broken, *(t.event({"none": 1, one: 0}) for one in ("i", "j"))))
    singles = margins_of(("none", "i", "j", "l"), ("v0", "vi", "vj", "vl"))
    s = singles.types
    rescued = s.probability(s.event({"none": 0}) & (s.event({"i": 1}) | s.event({"j": 1}) | s.event({"l": 1})))
    three = margins_of(("ijk", "ij", "ik", "jk"), ("vijk", "vij", "vik", "vjk"))
    triple = three.types.probability({"ijk": 1, "ij": 0, "ik": 0, "jk": 0})
    return [
        statement(
            "conjunctive/pair",
            "P(Y_ij=1, Y_i=0, Y_j=0) has the ends max(0, vij - vi - vj) and min(vij, 1 - vi, 1 - vj)",
            lambda: all_of(
                [
                    sharp_end(without(REPAIRS, "v0"), pair, "min", [NOTHING, {"vij": 1, "vi": -1, "vj": -1}]),
                    sharp_end(without(REPAIRS, "v0"), pair, "max", [{"vij": 1}, {"": 1, "vi": -1}, {"": 1, "vj": -1}]),
                ]
            ),
            hypotheses=given,
        ),
        statement(
            "conjunctive/pair-none",
            "P(Y_ij=1, Y_i=Y_j=Y_none=0) has the ends max(0, vij - vi - vj - v0) and min(vij, 1 - vi, 1 - vj, 1 - v0)",
            lambda: all_of(
                [
                    sharp_end(REPAIRS, fresh, "min", [NOTHING, {"vij": 1, "vi": -1, "vj": -1, "v0": -1}]),
                    sharp_end(
                        REPAIRS, fresh, "max", [{"vij": 1}, {"": 1, "vi": -1}, {"": 1, "vj": -1}, {"": 1, "v0": -1}]
                    ),
                ]
            ),
            hypotheses=given,
        ),
        statement(
            "conjunctive/set-of-three",
            "P(Y_ijk=1, all pairs fail) has the lower end max(0, vijk - vij - vik - vjk)",
            lambda: sharp_end(three, triple, "min", [NOTHING, {"vijk": 1, "vij": -1, "vik": -1, "vjk": -1}]),
            hypotheses=given,
        ),
        statement(
            "conjunctive/single-repair",
            "P(Y_none=0, Y_i=1 or Y_j=1) has the ends max(0, vi - v0, vj - v0) and min(1 - v0, vi + vj)",
            lambda: all_of(
                [
                    sharp_end(
                        without(REPAIRS, "vij"), single, "min", [NOTHING, {"vi": 1, "v0": -1}, {"vj": 1, "v0": -1}]
                    ),
                    sharp_end(without(REPAIRS, "vij"), single, "max", [{"": 1, "v0": -1}, {"vi": 1, "vj": 1}]),
                ]
            ),
            hypotheses=given,
        ),
        statement(
            "conjunctive/single-repair-of-three",
            "P(Y_none=0, some of Y_i, Y_j, Y_l = 1) has the ends max(0, max v - v0) and min(1 - v0, vi + vj + vl)",
            lambda: all_of(
                [
                    sharp_end(
                        singles, rescued, "min", [NOTHING, *({name: 1, "v0": -1} for name in ("vi", "vj", "vl"))]
                    ),
                    sharp_end(singles, rescued, "max", [{"": 1, "v0": -1}, {"vi": 1, "vj": 1, "vl": 1}]),
                ]
            ),
            hypotheses=given,
        ),
        statement(
            "conjunctive/monotone-pair",
            "P(Y_ij=1, Y_i=Y_j=0) has the ends max(0, vij - vi - vj) and vij - max(vi, vj)",
            lambda: all_of(
                [
                    sharp_end(growing, pair, "min", [NOTHING, {"vij": 1, "vi": -1, "vj": -1}]),
                    sharp_end(growing, pair, "max", [{"vij": 1, "vi": -1}, {"vij": 1, "vj": -1}]),
                ]
            ),
            hypotheses=(*given, "no unit is solved under i or j and failed under ij"),
        ),
        statement(
            "conjunctive/monotone-pair-none",
            "P(Y_ij=1, Y_i=Y_j=Y_none=0) has the ends max(0, vij - vi - vj + v0) and vij - max(vi, vj)",
            lambda: all_of(
                [
                    sharp_end(growing_all, fresh, "min", [NOTHING, {"vij": 1, "vi": -1, "vj": -1, "v0": 1}]),
                    sharp_end(growing_all, fresh, "max", [{"vij": 1, "vi": -1}, {"vij": 1, "vj": -1}]),
                ]
            ),
            hypotheses=(
                *given,
                "no unit is solved under none and failed under i or j, or under i or j and not under ij",
            ),
        ),
        mutant(
            "conjunctive/mutant-monotone-pair-none",
            "the same lower end where i or j may break what none solves",
            lambda: sharp_end(
                Margins(t, REPAIRS.forms, broken), fresh, "min", [NOTHING, {"vij": 1, "vi": -1, "vj": -1, "v0": 1}]
            ),
            *given,
            "no unit is solved under i or j and failed under ij",
        ),
        statement(
            "pattern/any-margins",
            "regimes can have any success probabilities in [0, 1] together, |R| ≤ 4",
            _any_margins,
            hypotheses=("p_r = P(Y_r=1) for the regimes r in R",),
        ),
        statement(
            "pattern/frechet",
            "P(Y_r=y_r for all r in R) has the ends max(0, sum_r P(Y_r=y_r) - (|R| - 1)) and min_r P(Y_r=y_r), |R| ≤ 4",
            _patterns,
            source="Fréchet 1951",
        ),
        mutant(
            "conjunctive/mutant-pair",
            "P(Y_ij=1, Y_i=0, Y_j=0) ≥ vij - max(vi, vj) where vi = vj",
            lambda: implied(REPAIRS, [vi - vj == 0], [pair >= vij - vi]),
            *given,
        ),
        mutant(
            "conjunctive/mutant-none-for-free",
            "P(Y_ij=1, Y_i=Y_j=Y_none=0) ≥ vij - vi - vj",
            lambda: implied(REPAIRS, [], [fresh >= vij - vi - vj]),
            *given,
        ),
        mutant(
            "conjunctive/mutant-single-repair",
            "P(Y_none=0, Y_i=1 or Y_j=1) ≤ vi + vj - v0",
            lambda: implied(REPAIRS, [], [single <= vi + vj - v0]),
            *given,
        ),
    ]


def _any_margins() -> Finding:
    """The region of the margins is the whole cube: they do not restrict each other."""
    findings = []
    for size in (2, 3, 4):
        names = [f"p{place}" for place in range(size)]
        margins = margins_of([f"r{place}" for place in range(size)], names)
        cube: list[Affine] = []
        for name in names:
            cube += [{name: 1}, {"": 1, name: -1}]
        findings.append(region(margins, cube))
    return all_of(findings)


def _patterns() -> Finding:
    """Every pattern of two to four regimes; by exchanging 0 and 1 in a regime all are one pattern."""
    findings = []
    for size in (2, 3, 4):
        regimes = [f"r{place}" for place in range(size)]
        margins = margins_of(regimes, [f"p{place}" for place in range(size)])
        for ones in range(size + 1):
            pattern = {regime: int(place < ones) for place, regime in enumerate(regimes)}
            if size == 4 and ones != 2:
                continue
            share: list[Affine] = [
                {f"p{place}": 1} if value else {"": 1, f"p{place}": -1} for place, value in enumerate(pattern.values())
            ]
            lowest = _total([*share, {"": 1 - size}])
            query = margins.types.probability(pattern)
            findings.append(sharp_end(margins, query, "min", [NOTHING, lowest]))
            findings.append(sharp_end(margins, query, "max", share))
    return all_of(findings)


def _total(affines: Iterable[Affine]) -> Affine:
    total: dict[str, Rational] = {}
    for affine in affines:
        for name, weight in affine.items():
            total[name] = total.get(name, 0) + weight
    return total
