"""Strata, and reruns of one instance, as claims: what survives the averaging over instances.

For one instance, p and p' are its success rates under a and a' over its own noise, and d = p − p'. Runs of one instance
are independent of each other. Claims hold instance by instance, hence on average.
"""

from __future__ import annotations

from fractions import Fraction

from dodiag.proofs.claim import Claim, probabilities, quotient
from dodiag.proofs.statement import Verdict
from dodiag.proofs.terms import Named, both, either, equal, maximum, minimum, rising, variables

HALF = Fraction(1, 2)
p, p_prime = variables("p p'")
RATES = probabilities(p, p_prime)
D = Named("d", p - p_prime)
LOW, UP = Named("low", maximum(0, D)), Named("up", minimum(p, 1 - p_prime))
PAIRED = Named("paired", p * (1 - p_prime))
DISAGREE, DISAGREE_PRIME = Named("δ", 2 * (p * (1 - p))), Named("δ'", 2 * (p_prime * (1 - p_prime)))


def strata() -> list[Claim]:
    """Bounds made stratum by stratum, against those of the pooled rates."""
    a, b, c, d, w = variables("a b c d w")
    u, u_prime, v, v_prime, N, L = variables("u u' v v' N L")
    weight = probabilities(w)
    rates = probabilities(u, u_prime, v, v_prime)
    pooled, pooled_prime = Named("p", w * u + (1 - w) * v), Named("p'", w * u_prime + (1 - w) * v_prime)
    low = Named("low", w * maximum(0, u - u_prime) + (1 - w) * maximum(0, v - v_prime))
    up = Named("up", w * minimum(u, 1 - u_prime) + (1 - w) * minimum(v, 1 - v_prime))
    return [
        Claim("strata/lower-step", "dodiag", (), maximum(0, a + b) <= maximum(0, a) + maximum(0, b)),
        Claim("strata/upper-step", "dodiag", (), minimum(a, b) + minimum(c, d) <= minimum(a + c, b + d)),
        Claim(
            "strata/two",
            "dodiag",
            (weight, rates),
            both(maximum(0, pooled - pooled_prime) <= low, low <= up, up <= minimum(pooled, 1 - pooled_prime)),
            "the interval of two strata lies within that of the pooled rates",
        ),
        Claim(
            "strata/N",
            "dodiag",
            (weight, rates, *quotient(N, maximum(0, pooled - pooled_prime), pooled), equal(L * pooled, low)),
            N <= L,
            "the pooled N is no larger than the lower end L of PN from two strata",
        ),
        Claim(
            "strata/mutant-pooled-is-larger",
            "dodiag",
            (weight, rates),
            low <= maximum(0, pooled - pooled_prime),
            "",
            Verdict.REFUTED,
        ),
    ]


def reruns() -> list[Claim]:
    """What reruns of the same instance say about its PNS."""
    s, x, y = variables("s x y")
    selector = probabilities(s)
    deterministic = (either(equal(p, 0), equal(p, 1)), either(equal(p_prime, 0), equal(p_prime, 1)))
    wins = Named("wins", PAIRED + HALF * (p * p_prime + (1 - p) * (1 - p_prime)))
    return [
        Claim("rerun/paired-rate-inside", "dodiag", (RATES,), rising(LOW, PAIRED, UP)),
        Claim("rerun/gap", "dodiag", (RATES,), rising(PAIRED - LOW, minimum(HALF * DISAGREE, HALF * DISAGREE_PRIME))),
        Claim(
            "rerun/gap-above", "dodiag", (RATES,), rising(UP - PAIRED, minimum(HALF * DISAGREE, HALF * DISAGREE_PRIME))
        ),
        Claim("rerun/width", "dodiag", (RATES,), rising(UP - LOW, minimum(DISAGREE, DISAGREE_PRIME))),
        Claim(
            "rerun/average-step",
            "dodiag",
            (x >= 0, y >= 0),
            minimum(x, p) + minimum(y, p_prime) <= minimum(x + y, p + p_prime),
            "the least of sums is no smaller than the sum of the least, so gap and width bounds hold on average",
        ),
        Claim("rerun/selector", "dodiag", (RATES, selector), s * D <= LOW, "a selector made from other runs"),
        Claim(
            "rerun/mutant-selector",
            "dodiag",
            (RATES, rising(-1, s, 1)),
            s * D <= LOW,
            "a selector that may also change the sign",
            Verdict.REFUTED,
        ),
        Claim(
            "rerun/leave-one-out",
            "dodiag",
            (RATES,),
            both(equal(wins * D, HALF * (D + D * D)), HALF * (D + D * D) <= LOW),
            "the leave-one-out selector at two repeats, wins = P(Y>Z) + P(Y=Z)/2",
        ),
        Claim(
            "rerun/PS-correction",
            "dodiag",
            (RATES,),
            (1 - p_prime) * D <= LOW,
            "rescued, minus recovered on a rerun, among failures under a'",
        ),
        Claim(
            "rerun/PN-correction",
            "dodiag",
            (RATES,),
            p * D <= LOW,
            "broken, minus broken on a rerun, among successes under a",
        ),
        Claim(
            "rerun/upper-correction",
            "dodiag",
            (RATES,),
            p - p_prime * (p - (1 - p_prime)) >= UP,
            "p minus the correction with success and failure exchanged under a', as an upper end",
        ),
        Claim(
            "rerun/mutant-upper-correction",
            "dodiag",
            (RATES,),
            p - (1 - p_prime) * D >= UP,
            "p minus the correction itself, as an upper end",
            Verdict.REFUTED,
        ),
        Claim(
            "rerun/deterministic",
            "dodiag",
            (RATES, *deterministic),
            equal(PAIRED, LOW, UP, (1 - p_prime) * D, p * D),
            "where every run of an instance ends alike, all of them are PNS",
        ),
        Claim(
            "rerun/upper-from-lower",
            "dodiag",
            (RATES,),
            equal(UP, p - maximum(0, p - (1 - p_prime))),
            "an upper end is p minus a lower end with 1 − p' for p'",
        ),
        Claim(
            "rerun/mutant-plug-in",
            "dodiag",
            (RATES,),
            PAIRED <= LOW,
            "the naive paired rate, which is the plug-in at one run, as a lower bound",
            Verdict.REFUTED,
        ),
        Claim(
            "rerun/mutant-plug-in-no-effect",
            "dodiag",
            (RATES, equal(p, p_prime)),
            equal(PAIRED, 0),
            "the naive paired rate is 0 where nothing has an effect",
            Verdict.REFUTED,
        ),
        Claim(
            "rerun/mutant-gap",
            "dodiag",
            (RATES,),
            PAIRED - LOW <= HALF * HALF * DISAGREE,
            "half the gap bound",
            Verdict.REFUTED,
        ),
        Claim("rerun/mutant-width", "dodiag", (RATES,), UP - LOW <= HALF * DISAGREE, "half the width", Verdict.REFUTED),
        Claim(
            "rerun/mutant-correction-exact",
            "dodiag",
            (RATES,),
            equal((1 - p_prime) * D, LOW),
            "the rerun correction reaches the lower end without deterministic runs",
            Verdict.REFUTED,
        ),
    ]


CLAIMS = (*strata(), *reruns())
"""The claims of this module."""
