"""Two regimes: A.3 to A.6 of CADET, the sharpness of the bounds, and harm."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from itertools import product

from dodiag.bounds.linear.bound import End, certify
from dodiag.bounds.linear.program import Program, rational
from dodiag.proofs.linear.claims import (
    MONOTONE,
    NOTHING,
    TIAN_PEARL,
    Affine,
    Ledger,
    all_of,
    benefit,
    implied,
    margins_of,
    mutant,
    region,
    sharp_end,
    statement,
    without,
)
from dodiag.proofs.statement import Finding, Statement, Verdict

PAIR = margins_of(("a", "a'"), ("p", "p'"))

LOW: tuple[Affine, ...] = (NOTHING, {"p": 1, "p'": -1})
UP: tuple[Affine, ...] = ({"p": 1}, {"": 1, "p'": -1})
TWO_ARMS = ("p = P(Y_a=1), p' = P(Y_a'=1)", "PNS = P(Y_a=1, Y_a'=0)")


def two_arm_statements() -> list[Statement]:
    """Return the claims about two regimes."""
    t = PAIR.types
    p, p_prime = PAIR.forms.values()
    pns, harm = benefit(PAIR, "a", "a'"), benefit(PAIR, "a'", "a")
    both, neither = t.probability({"a": 1, "a'": 1}), t.probability({"a": 0, "a'": 0})
    difference = p - p_prime
    monotone = [harm == 0]
    positive = [pns >= 0, pns >= difference]
    return [
        statement(
            "A.3",
            "max(0, p - p') ≤ PN·p, hence N ≤ PN where p > 0",
            lambda: implied(PAIR, [], positive),
            source="CADET Theorem A.3",
            hypotheses=(*TWO_ARMS, "PN·p = PNS"),
        ),
        statement(
            "A.3/sharp-lower",
            "the least PN·p is max(0, p - p')",
            lambda: sharp_end(PAIR, pns, "min", LOW),
            source=TIAN_PEARL,
            hypotheses=TWO_ARMS,
        ),
        statement(
            "A.3/sharp-upper",
            "the largest PN·p is min(p, 1 - p')",
            lambda: sharp_end(PAIR, pns, "max", UP),
            source=TIAN_PEARL,
            hypotheses=TWO_ARMS,
        ),
        statement(
            "A.3/ratio-grid",
            "N = max(0, p - p')/p and min(p, 1 - p')/p are the ends of PN at p, p' = 0, 1/8, ..., 1",
            lambda: _ratio_grid({"a'": 0}, {"a": 1}, {"p": 1}),
            source=TIAN_PEARL,
            hypotheses=(*TWO_ARMS, "p > 0"),
        ),
        mutant(
            "A.3/mutant-absolute",
            "PN·p ≥ |p - p'|",
            lambda: implied(PAIR, [], [pns >= difference, pns >= -difference]),
            *TWO_ARMS,
        ),
        mutant(
            "A.3/mutant-undivided", "PN·p ≥ p - p'/2", lambda: implied(PAIR, [], [pns >= p - p_prime / 2]), *TWO_ARMS
        ),
        mutant(
            "A.3/mutant-always-sharp",
            "the least PN·p is p - p' wherever that is 0 or more, and the largest too",
            lambda: implied(PAIR, [difference >= 0], [pns == difference]),
            *TWO_ARMS,
        ),
        mutant(
            "A.3/mutant-sharp-upper", "the largest PN·p is p", lambda: sharp_end(PAIR, pns, "max", UP[:1]), *TWO_ARMS
        ),
        statement(
            "A.4",
            "max(0, p - p') ≤ PS·(1 - p'), hence S ≤ PS where p' < 1",
            lambda: implied(PAIR, [], positive),
            source="CADET Theorem A.4",
            hypotheses=(*TWO_ARMS, "PS·(1 - p') = PNS"),
        ),
        statement(
            "A.4/sharp-lower",
            "the least PS·(1 - p') is max(0, p - p')",
            lambda: sharp_end(PAIR, pns, "min", LOW),
            source=TIAN_PEARL,
            hypotheses=TWO_ARMS,
        ),
        statement(
            "A.4/sharp-upper",
            "the largest PS·(1 - p') is min(p, 1 - p')",
            lambda: sharp_end(PAIR, pns, "max", UP),
            source=TIAN_PEARL,
            hypotheses=TWO_ARMS,
        ),
        statement(
            "A.4/ratio-grid",
            "S = max(0, p - p')/(1 - p') and min(p, 1 - p')/(1 - p') are the ends of PS at p, p' = 0, 1/8, ..., 1",
            lambda: _ratio_grid({"a": 1}, {"a'": 0}, {"": 1, "p'": -1}),
            source=TIAN_PEARL,
            hypotheses=(*TWO_ARMS, "p' < 1"),
        ),
        mutant(
            "A.4/mutant-denominator",
            "the ends of PS are max(0, p - p')/p and min(p, 1 - p')/p",
            lambda: _ratio_grid({"a": 1}, {"a'": 0}, {"p": 1}),
            *TWO_ARMS,
        ),
        mutant(
            "A.4/mutant-sharp-lower",
            "the least PS·(1 - p') is 0",
            lambda: sharp_end(PAIR, pns, "min", LOW[:1]),
            *TWO_ARMS,
        ),
        statement(
            "A.5",
            "PNS = p - p', hence N = PN and S = PS",
            lambda: implied(PAIR, monotone, [pns == difference]),
            source="CADET Proposition A.5",
            hypotheses=(*TWO_ARMS, MONOTONE),
        ),
        statement(
            "A.5/converse",
            "if PNS = p - p' then no unit is solved under a' and failed under a",
            lambda: implied(PAIR, [pns == difference], monotone),
            hypotheses=TWO_ARMS,
        ),
        statement(
            "A.5/possible",
            "margins are possible under monotonicity if and only if p' ≤ p",
            lambda: region(
                without(PAIR, never=(t.event({"a": 0, "a'": 1}),)),
                [{"": 1, "p": -1}, {"p'": 1}, {"p": 1, "p'": -1}],
            ),
            hypotheses=(*TWO_ARMS, MONOTONE),
        ),
        mutant(
            "A.5/mutant-without-monotonicity", "PNS = p - p'", lambda: implied(PAIR, [], [pns == difference]), *TWO_ARMS
        ),
        mutant(
            "A.5/mutant-other-direction",
            "PNS = p - p'",
            lambda: implied(PAIR, [pns == 0], [pns == difference]),
            *TWO_ARMS,
            "no unit is solved under a and failed under a'",
        ),
        statement(
            "A.6",
            "PN·p = P(Y_a=1) - P(both) = PNS = P(Y_a'=0) - P(neither) = PS·(1 - p') ≥ max(0, p - p')",
            lambda: implied(PAIR, [], [pns == p - both, pns == 1 - p_prime - neither, *positive]),
            source="CADET Proposition A.6 (its linear parts)",
            hypotheses=TWO_ARMS,
        ),
        mutant(
            "A.6/mutant-exact",
            "PNS ≤ p - p' where p ≥ p'",
            lambda: implied(PAIR, [difference >= 0], [pns <= difference]),
            *TWO_ARMS,
        ),
        statement(
            "harm",
            "PNS = p - p' + q01, with q01 = P(Y_a=0, Y_a'=1)",
            lambda: implied(PAIR, [], [pns == difference + harm]),
            hypotheses=TWO_ARMS,
        ),
        statement(
            "harm/sharp",
            "the ends of q01 are max(0, p' - p) and min(p', 1 - p)",
            lambda: all_of(
                [
                    sharp_end(PAIR, harm, "min", [NOTHING, {"p'": 1, "p": -1}]),
                    sharp_end(PAIR, harm, "max", [{"p'": 1}, {"": 1, "p": -1}]),
                ]
            ),
            hypotheses=TWO_ARMS,
        ),
    ]


def _ratio_grid(event: Mapping[str, int], given: Mapping[str, int], denominator: Affine, steps: int = 8) -> Finding:
    """Both ends of a conditional probability at every rational grid point, by certificates of the ratio itself."""
    ledger = Ledger()
    query = PAIR.types.conditional(event, given)
    p, p_prime = PAIR.forms.values()
    for high, low in product([Fraction(k, steps) for k in range(steps + 1)], repeat=2):
        at = {"": Fraction(1), "p": high, "p'": low}
        size = sum((weight * at[name] for name, weight in denominator.items()), Fraction(0))
        if not size:
            continue
        program = Program.of(PAIR.types, [p == high, p_prime == low])
        claims: dict[End, Fraction] = {"min": max(Fraction(0), high - low) / size, "max": min(high, 1 - low) / size}
        for end, claim in claims.items():
            sums = [[rational(w) for w in program.weights(f)] for f in (query.numerator, query.denominator)]
            certificate = ledger.add(certify(program, query, end), program, end, *sums)
            if certificate.value != claim:
                return Finding(
                    Verdict.REFUTED, f"{query} is {certificate.value}, not {claim}, at p = {high}, p' = {low}"
                )
    return Finding(Verdict.PROVED, ledger.text)
