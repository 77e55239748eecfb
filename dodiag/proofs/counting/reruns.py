"""What estimates from repeated runs come to on average, by adding up every outcome."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import partial
from itertools import product
from math import comb

from dodiag.proofs.counting.cases import counting, every
from dodiag.proofs.statement import Statement, Verdict

Rates = tuple[Fraction, Fraction]
"""p and p' of one instance."""


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


def rerun_ratio_expectation(instances: Sequence[Rates]) -> Fraction:
    """Return the exact expectation of the rerun-corrected ratio of PS, given that it is defined.

    One run of each instance under a, two under a'; the ratio is Σ (1 − Z1)(Y − Z2) / Σ (1 − Z1), both sums over the
    instances and over both orders of Z1 and Z2.

    Examples
    --------
    >>> half, one = Fraction(1, 2), Fraction(1)
    >>> str(rerun_ratio_expectation([(one, 0 * one), (half, half)]))
    '11/16'
    """
    runs = list(product((0, 1), repeat=3))
    total = defined = Fraction(0)
    for case in product(runs, repeat=len(instances)):
        weight = Fraction(1)
        gained = failed = 0
        for (y, z1, z2), (p, p_prime) in zip(case, instances, strict=True):
            weight *= p if y else 1 - p
            for z in (z1, z2):
                weight *= p_prime if z else 1 - p_prime
            gained += (1 - z1) * (y - z2) + (1 - z2) * (y - z1)
            failed += (1 - z1) + (1 - z2)
        if failed:
            total += weight * Fraction(gained, failed)
            defined += weight
    return total / defined


def sharp_ps(instances: Sequence[Rates]) -> Fraction:
    """Return the sharp lower end of PS of equally weighted instances: Σ max(0, p − p') / Σ (1 − p')."""
    gains = sum((max(Fraction(0), p - p_prime) for p, p_prime in instances), Fraction(0))
    return gains / sum((1 - p_prime for _, p_prime in instances), Fraction(0))


def rerun_statements() -> list[Statement]:
    """What plug-in and leave-one-out estimates come to on average, by adding up every outcome."""
    halves = [Fraction(count, 2) for count in range(3)]
    one_instance = [(p, p_prime) for p in halves for p_prime in halves]
    couples = [(first, second) for first in one_instance for second in one_instance if first[1] + second[1] < 2]
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
            "rerun/mutant-ratio-on-average",
            "dodiag",
            ("two instances, p and p' multiples of 1/2", "one run under a, two under a'"),
            "the rerun-corrected PS, a ratio of two sums, is at most the sharp lower end on average",
            partial(
                every,
                couples,
                lambda couple: rerun_ratio_expectation(couple) <= sharp_ps(couple),
                lambda couple: (
                    f"{shown(couple[0])}; {shown(couple[1])}: {rerun_ratio_expectation(couple)} > {sharp_ps(couple)}"
                ),
            ),
            Verdict.REFUTED,
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
