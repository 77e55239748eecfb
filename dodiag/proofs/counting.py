"""Statements decided by looking at every case: how many runs an instance needs, and theorems on grids of fractions.

Nothing here uses a solver or rounds a number, and the configurations come from the definition of the scores
(:func:`dodiag.vocabulary.arms`), not from the planner.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction
from functools import partial
from itertools import product
from math import comb
from typing import Literal, TypeVar

from dodiag.proofs.statement import Finding, Method, Statement, Verdict
from dodiag.vocabulary import PAPER_CONTRASTS, Arms, Configuration, Contrast, State, arms

Case = TypeVar("Case")
METRICS: tuple[Literal["N", "S"], ...] = ("N", "S")
PREREQUISITES = range(1, 9)
PARTS = 12
"""Distributions of four types are looked at in units of 1/12, of eight types in units of 1/4."""


def every(cases: Iterable[Case], holds: Callable[[Case], bool], shown: Callable[[Case], str]) -> Finding:
    """Look at all cases; the first that fails refutes.

    Parameters
    ----------
    cases : iterable
    holds : callable
        Whether the claim holds in a case.
    shown : callable
        A failing case as text.

    Examples
    --------
    >>> every(range(5), lambda n: n < 3, str)
    Finding(verdict=<Verdict.REFUTED: 'refuted'>, detail='counterexample: 3')
    """
    count = 0
    for case in cases:
        if not holds(case):
            return Finding(Verdict.REFUTED, f"counterexample: {shown(case)}")
        count += 1
    return Finding(Verdict.PROVED, f"all {count:,} cases") if count else Finding(Verdict.UNKNOWN, "there was no case")


def names_of(k: int) -> tuple[str, ...]:
    """Return k prerequisites."""
    return tuple(f"X{number}" for number in range(1, k + 1))


def scored_arms(
    k: int, contrasts: Sequence[Contrast] = PAPER_CONTRASTS
) -> Iterator[tuple[Literal["N", "S"], Contrast, str, Arms]]:
    """Yield what every N and S of the contrasts reads, for k prerequisites."""
    for unit, contrast, metric in product(names_of(k), contrasts, METRICS):
        yield metric, contrast, unit, arms(metric, contrast, unit, names_of(k))


def distinct(k: int, contrasts: Sequence[Contrast] = PAPER_CONTRASTS) -> int:
    """Return how many configurations the scores of the contrasts read."""
    return len({c for *_, pair in scored_arms(k, contrasts) for c in (pair.active, pair.reference)})


def nominal(k: int, contrasts: Sequence[Contrast] = PAPER_CONTRASTS) -> int:
    """Return how many pairs of own state and background the scores read: equal ones once, others per prerequisite."""
    found: set[tuple[str, State, State]] = set()
    for metric, contrast, unit, pair in scored_arms(k, contrasts):
        background = contrast.a if metric == "N" else contrast.a_prime
        for configuration in (pair.active, pair.reference):
            own = configuration[unit]
            found.add(("" if own == background else unit, own, background))
    return len(found)


def counted(count: Callable[[int], int], formula: Callable[[int], int], sizes: Iterable[int]) -> Finding:
    """Compare a count with a formula for several numbers of prerequisites."""
    return every(sizes, lambda k: count(k) == formula(k), lambda k: f"k = {k}: {count(k)}, not {formula(k)}")


def configuration_counts() -> list[Statement]:
    """How many runs of the target one instance needs."""
    setting = ("k = |Pa(Y)| prerequisites, k = 1, …, 8", "N and S of the contrasts (1,0), (1,∅), (∅,0), (0,∅)")
    alone = (setting[0], "N and S of one contrast")

    def full(k: int) -> int:
        return {1: 3, 2: 9}.get(k, 3 + 6 * k)

    def one(k: int) -> int:
        return {1: 2, 2: 4}.get(k, 2 + 2 * k)

    source = "CADET, evaluation cost"
    return [
        counting(
            "counts/nominal",
            source,
            setting,
            "3 + 6k pairs of own state and background",
            partial(counted, nominal, full_formula, PREREQUISITES),
        ),
        counting(
            "counts/distinct",
            "dodiag",
            setting,
            "3 distinct configurations for k = 1, 9 for k = 2, 3 + 6k from k = 3 on",
            partial(counted, distinct, full, PREREQUISITES),
        ),
        counting(
            "counts/one-contrast-nominal",
            source,
            alone,
            "2 + 2k pairs of own state and background",
            partial(
                every,
                list(product(PREREQUISITES, PAPER_CONTRASTS)),
                lambda c: nominal(c[0], [c[1]]) == 2 + 2 * c[0],
                str,
            ),
        ),
        counting(
            "counts/one-contrast",
            "dodiag",
            alone,
            "2 distinct configurations for k = 1, 4 for k = 2, 2 + 2k from k = 3 on",
            partial(
                every, list(product(PREREQUISITES, PAPER_CONTRASTS)), lambda c: distinct(c[0], [c[1]]) == one(c[0]), str
            ),
        ),
        counting(
            "counts/mutant-two-prerequisites",
            "dodiag",
            setting,
            "3 + 6k distinct configurations also for k = 2",
            partial(counted, distinct, full_formula, range(2, 9)),
            Verdict.REFUTED,
        ),
        counting(
            "counts/mutant-one-prerequisite",
            "dodiag",
            setting,
            "3 + 6k distinct configurations also for k = 1",
            partial(counted, distinct, full_formula, (1, 3, 4)),
            Verdict.REFUTED,
        ),
        counting(
            "counts/mutant-one-contrast",
            "dodiag",
            (setting[0], "N and S of (1,∅)"),
            "2 + 2k distinct configurations also for k = 2",
            partial(counted, partial(distinct, contrasts=[Contrast.parse("1,n")]), lambda k: 2 + 2 * k, range(2, 9)),
            Verdict.REFUTED,
        ),
    ]


def full_formula(k: int) -> int:
    """Return 3 + 6k."""
    return 3 + 6 * k


def shared_arms() -> list[Statement]:
    """Which scores read the same runs."""
    setting = ("k prerequisites, k = 1, …, 8", "every prerequisite")
    places = [(k, unit) for k in PREREQUISITES for unit in names_of(k)]

    def opposed(place: tuple[int, str], n_contrast: str, s_contrast: str) -> bool:
        k, unit = place
        n = arms("N", Contrast.parse(n_contrast), unit, names_of(k))
        s = arms("S", Contrast.parse(s_contrast), unit, names_of(k))
        return (n.active, n.reference) == (s.reference, s.active)

    def alike(contrast: Contrast, unit: str, k: int) -> set[Configuration]:
        pairs = [arms(metric, contrast, unit, names_of(k)) for metric in METRICS]
        return {configuration for pair in pairs for configuration in (pair.active, pair.reference)}

    def count_is(number: int) -> Callable[[tuple[tuple[int, str], Contrast]], bool]:
        return lambda case: len(alike(case[1], case[0][1], case[0][0])) == number

    def told(case: tuple[tuple[int, str], Contrast]) -> str:
        return f"k = {case[0][0]}, {case[0][1]}, contrast {case[1].symbol}"

    def cases(least: int, most: int) -> list[tuple[tuple[int, str], Contrast]]:
        return [(place, contrast) for place in places if least <= place[0] <= most for contrast in PAPER_CONTRASTS]

    return [
        counting(
            "counts/opposite-directions",
            "dodiag",
            setting,
            "N(0,∅) and S(∅,0) compare the same two configurations in opposite directions; so do N(∅,0) and S(0,∅)",
            partial(
                every,
                places,
                lambda place: opposed(place, "0,n", "n,0") and opposed(place, "n,0", "0,n"),
                lambda place: f"k = {place[0]}, {place[1]}",
            ),
        ),
        counting(
            "A.8/same-arms",
            "CADET Remark A.8",
            ("one prerequisite",),
            "N and S of one contrast read the same two configurations",
            partial(every, cases(1, 1), count_is(2), told),
        ),
        counting(
            "A.6/different-arms",
            "CADET Appendix A.3.2",
            ("k ≥ 2 prerequisites",),
            "N and S of one contrast read four different configurations",
            partial(every, cases(2, 8), count_is(4), told),
        ),
        counting(
            "A.6/mutant-different-arms",
            "CADET Appendix A.3.2",
            ("k ≥ 1 prerequisites",),
            "N and S of one contrast read four different configurations also for k = 1",
            partial(every, cases(1, 8), count_is(4), told),
            Verdict.REFUTED,
        ),
    ]


def compositions(total: int, parts: int) -> Iterator[tuple[int, ...]]:
    """Yield all ways to share a total among ordered parts.

    Examples
    --------
    >>> list(compositions(2, 2))
    [(0, 2), (1, 1), (2, 0)]
    """
    if parts == 1:
        yield (total,)
        return
    for first in range(total + 1):
        for rest in compositions(total - first, parts - 1):
            yield (first, *rest)


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


def binomial(r: int, p: Fraction) -> list[Fraction]:
    """Return the exact probabilities of 0, …, r successes."""
    return [comb(r, count) * p**count * (1 - p) ** (r - count) for count in range(r + 1)]


def plug_in_expectation(r: int, p: Fraction, p_prime: Fraction) -> Fraction:
    """Return the exact expectation of max(0, ȳ − z̄) with r runs of one instance under each regime.

    Examples
    --------
    >>> [str(plug_in_expectation(r, Fraction(1, 2), Fraction(1, 2))) for r in (1, 2, 3)]
    ['1/4', '3/16', '5/32']
    """
    y, z = binomial(r, p), binomial(r, p_prime)
    return sum((y[i] * z[j] * Fraction(i - j, r) for i in range(r + 1) for j in range(i)), Fraction(0))


def leave_one_out_expectation(r: int, p: Fraction, p_prime: Fraction) -> Fraction:
    """Return the exact expectation of s·(y − z), with the sign selector s made from the r − 1 other pairs of runs."""
    y, z = binomial(r - 1, p), binomial(r - 1, p_prime)
    chosen = sum((y[i] * z[j] * Fraction((i > j) * 2 + (i == j), 2) for i in range(r) for j in range(r)), Fraction(0))
    return chosen * (p - p_prime)


def reruns() -> list[Statement]:
    """What plug-in and leave-one-out estimates come to on average, by adding up every outcome."""
    sixths = [Fraction(count, 6) for count in range(7)]
    half = Fraction(1, 2)
    pairs = list(product(sixths, sixths))

    def shown(case: tuple[Fraction, Fraction]) -> str:
        return f"p = {case[0]}, p' = {case[1]}"

    def loss_bounded(case: tuple[Fraction, Fraction]) -> bool:
        low = max(Fraction(0), case[0] - case[1])
        values = [leave_one_out_expectation(r, *case) for r in range(2, 7)]
        return values == sorted(values) and values[-1] <= low

    def loss_at_two(case: tuple[Fraction, Fraction]) -> bool:
        d = case[0] - case[1]
        return leave_one_out_expectation(2, *case) == (d + d * d) / 2

    return [
        counting(
            "rerun/plug-in-bias",
            "dodiag",
            ("no effect: p = p' = 1/2", "r runs under each regime, r = 1, …, 40"),
            "the plug-in max(0, ȳ − z̄) has the expectation C(2r, r) / (2·4^r), above 0",
            partial(
                every,
                range(1, 41),
                lambda r: plug_in_expectation(r, half, half) == Fraction(comb(2 * r, r), 2 * 4**r),
                lambda r: f"r = {r}",
            ),
        ),
        counting(
            "rerun/mutant-plug-in-runs",
            "dodiag",
            ("p, p': multiples of 1/6",),
            "with two runs the plug-in is at most max(0, p − p') on average",
            partial(every, pairs, lambda c: plug_in_expectation(2, *c) <= max(Fraction(0), c[0] - c[1]), shown),
            Verdict.REFUTED,
        ),
        counting(
            "rerun/leave-one-out-runs",
            "dodiag",
            ("p, p': multiples of 1/6", "r runs under each regime, r = 2, …, 6"),
            "the leave-one-out estimate rises with r on average, and stays at most max(0, p − p')",
            partial(every, pairs, loss_bounded, shown),
        ),
        counting(
            "rerun/leave-one-out-two-runs",
            "dodiag",
            ("p, p': multiples of 1/6", "two runs under each regime"),
            "the leave-one-out estimate is (d + d²)/2 on average, d = p − p'",
            partial(every, pairs, loss_at_two, shown),
        ),
    ]


def counting(
    name: str,
    source: str,
    hypotheses: tuple[str, ...],
    goal: str,
    check: Callable[[], Finding],
    expected: Verdict = Verdict.PROVED,
) -> Statement:
    """Return a statement that is decided by looking at every case."""
    return Statement(name, source, hypotheses, goal, Method.COUNT, expected, check)


STATEMENTS: tuple[Statement, ...] = (
    *configuration_counts(),
    *shared_arms(),
    *grids_of_four(),
    *joint_region(),
    *reruns(),
)
"""All statements of this module."""
