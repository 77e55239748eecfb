"""Identified intervals as claims: ends, sharpness, harm, combined data, and the three states at once.

Names as in :mod:`dodiag.proofs.claims_paper`. That a bound is sharp is shown twice: by a joint distribution that
attains it, written out, and by a quantifier.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from itertools import permutations, product

from dodiag.proofs.claim import Claim, FourTypes, distribution, probabilities, quotient
from dodiag.proofs.claims_paper import HARM, N_DEFINED, PN, PN_DEFINED, PNS, PS, PS_DEFINED, N, S, q, regime
from dodiag.proofs.statement import Verdict
from dodiag.proofs.terms import (
    Formula,
    Named,
    Said,
    Term,
    both,
    either,
    equal,
    exists,
    is_not,
    maximum,
    minimum,
    rising,
    term,
    total,
    variables,
)

TIAN_PEARL = "Tian & Pearl 2000"
HALF = Fraction(1, 2)


def sharpness() -> list[Claim]:
    """Both ends of PNS, and everything between them."""
    p, p_prime, value = variables("p p' v")
    low, up = Named("low", maximum(0, p - p_prime)), Named("up", minimum(p, 1 - p_prime))
    margins = (probabilities(p, p_prime),)

    def attained(types: FourTypes, end: Term) -> Formula:
        return both(
            types.given,
            equal(types.both_solved + types.only_a, p),
            equal(types.both_solved + types.only_a_prime, p_prime),
            equal(types.only_a, end),
        )

    some = FourTypes.named("t")
    (upper,) = variables("U")
    alike = FourTypes.of((minimum(p, p_prime), low, maximum(0, p_prime - p), 1 - maximum(p, p_prime)))
    opposed = FourTypes.of((p - up, up, p_prime - p + up, 1 - p_prime - up))
    return [
        Claim("TP/PNS-interval", TIAN_PEARL, (q.given,), rising(q.low, PNS, q.up)),
        Claim(
            "TP/PN-interval",
            TIAN_PEARL,
            (q.given, *PN_DEFINED, *quotient(upper, q.up, q.p)[1:], *N_DEFINED[1:]),
            both(rising(N, PN, upper), upper <= 1, upper * q.p <= 1 - q.p_prime),
            "N ≤ PN ≤ U = min(1, (1 − p')/p)",
        ),
        Claim(
            "TP/PS-interval",
            TIAN_PEARL,
            (q.given, *PS_DEFINED, *quotient(upper, q.up, 1 - q.p_prime)[1:], equal(S * (1 - q.p_prime), q.low)),
            both(rising(S, PS, upper), upper <= 1, upper * (1 - q.p_prime) <= q.p),
            "S ≤ PS ≤ U = min(1, p/(1 − p'))",
        ),
        Claim("TP/lower-end-witness", TIAN_PEARL, margins, attained(alike, low)),
        Claim("TP/upper-end-witness", TIAN_PEARL, margins, attained(opposed, up)),
        Claim("TP/lower-end-exists", TIAN_PEARL, margins, exists(some.cells, attained(some, low))),
        Claim("TP/upper-end-exists", TIAN_PEARL, margins, exists(some.cells, attained(some, up))),
        Claim(
            "TP/between-exists",
            TIAN_PEARL,
            (*margins, rising(low, value, up)),
            exists(some.cells, attained(some, value)),
            "every value between the ends is possible",
        ),
        Claim(
            "TP/mutant-independent",
            "dodiag",
            (q.given,),
            rising(PNS, q.p * (1 - q.p_prime)),
            "the rate of two independent runs as an upper end",
            Verdict.REFUTED,
        ),
    ]


def harm() -> list[Claim]:
    """What is added to N by the units that a' helps: PN is N before clipping, plus harm / p."""
    p, p_prime, value = variables("p p' v")
    low, up = Named("low", maximum(0, p_prime - p)), Named("up", minimum(p_prime, 1 - p))
    mirrored = Named("1 − p'", 1 - q.p_prime), Named("1 − p", 1 - q.p)
    other = FourTypes.named("t")
    return [
        Claim(
            "symmetry/S-is-N",
            "dodiag",
            (
                q.given,
                equal(S * (1 - q.p_prime), q.low),
                *quotient(N, maximum(0, mirrored[0] - mirrored[1]), mirrored[0]),
            ),
            equal(S, N),
            "S(p, p') = N(1 − p', 1 − p)",
        ),
        Claim(
            "symmetry/mutant-same-rates",
            "dodiag",
            (q.given, *quotient(S, q.low, 1 - q.p_prime), *N_DEFINED),
            equal(S, N),
            "S(p, p') = N(p, p')",
            Verdict.REFUTED,
        ),
        Claim("harm/PN", "dodiag", (q.given, *PN_DEFINED), equal(PN * q.p, q.p - q.p_prime + HARM)),
        Claim(
            "harm/PS",
            "dodiag",
            (q.given, *PS_DEFINED),
            equal(PS * (1 - q.p_prime), q.p - q.p_prime + HARM),
        ),
        Claim(
            "harm/interval",
            "dodiag",
            (q.given,),
            rising(maximum(0, q.p_prime - q.p), HARM, minimum(q.p_prime, 1 - q.p)),
        ),
        Claim(
            "harm/between-exists",
            "dodiag",
            (probabilities(p, p_prime), rising(low, value, up)),
            exists(
                other.cells,
                both(
                    other.given,
                    equal(other.both_solved + other.only_a, p),
                    equal(other.both_solved + other.only_a_prime, p_prime),
                    equal(other.only_a_prime, value),
                ),
            ),
            "every amount of harm between the ends is possible",
        ),
        Claim(
            "harm/mutant-none-on-average",
            "dodiag",
            (q.given, q.p >= q.p_prime),
            equal(HARM, 0),
            "no harm where a is better than a' on average",
            Verdict.REFUTED,
        ),
    ]


def combined_data() -> list[Claim]:
    """Tian and Pearl's bounds from experimental and observational data together; X need not be exogenous."""
    (r11, r10, r01, r00, s11, s10, s01, s00), joint = regime("r", "s", "X=x", "X=x'")
    p, p_prime = Named("p", r11 + r10 + s11 + s10), Named("p'", r11 + r01 + s11 + s01)
    xy, xy_prime = Named("P(x,y)", r11 + r10), Named("P(x,y')", r01 + r00)
    x_prime_y, x_prime_y_prime = Named("P(x',y)", s11 + s01), Named("P(x',y')", s10 + s00)
    y = Named("P(y)", xy + x_prime_y)
    joint_success = Named("PNS", r10 + s10)
    pn, ps = quotient(PN, r10, xy), quotient(PS, s10, x_prime_y_prime)
    monotone = Said("no harm: r01 = s01 = 0", both(equal(r01, 0), equal(s01, 0)))
    return [
        Claim(
            "TP/combined-PNS-from-below",
            TIAN_PEARL,
            (joint,),
            maximum(0, p - p_prime, y - p_prime, p - y) <= joint_success,
        ),
        Claim(
            "TP/combined-PNS-from-above",
            TIAN_PEARL,
            (joint,),
            joint_success <= minimum(p, 1 - p_prime, xy + x_prime_y_prime, p - p_prime + xy_prime + x_prime_y),
        ),
        Claim(
            "TP/combined-PN",
            TIAN_PEARL,
            (joint, *pn),
            rising(maximum(0, y - p_prime), PN * xy, minimum(xy, 1 - p_prime - x_prime_y_prime)),
        ),
        Claim(
            "TP/combined-PS",
            TIAN_PEARL,
            (joint, *ps),
            rising(maximum(0, p - y), PS * x_prime_y_prime, minimum(x_prime_y_prime, p - xy)),
        ),
        Claim(
            "TP/combined-consistency",
            TIAN_PEARL,
            (joint,),
            both(rising(xy, p, 1 - xy_prime), rising(x_prime_y, p_prime, 1 - x_prime_y_prime)),
        ),
        Claim(
            "TP/combined-monotone",
            TIAN_PEARL,
            (joint, *pn, *ps, monotone),
            both(
                equal(joint_success, p - p_prime),
                equal(PN * xy, y - p_prime),
                equal(PS * x_prime_y_prime, p - y),
            ),
            "identified where there is no harm",
        ),
        Claim(
            "TP/combined-without-monotonicity",
            TIAN_PEARL,
            (joint, *pn),
            equal(PN * xy, y - p_prime),
            "PN identified although there may be harm",
            Verdict.REFUTED,
        ),
        Claim(
            "TP/mutant-observed-alone",
            "dodiag",
            (joint,),
            joint_success <= minimum(xy, x_prime_y_prime),
            "PNS bounded by each observed cell instead of their sum",
            Verdict.REFUTED,
        ),
    ]


def own_answer() -> list[Claim]:
    """One-sided consistency: where the model's own answer is correct, injecting the correct one changes nothing."""
    (r11, r10, r01, _r00, s11, s10, s01, s00), joint = regime("r", "s", "X̂=1", "X̂=0", ("Y_1", "Y_∅"))
    p1 = Named("p1", r11 + r10 + s11 + s10)
    y = Named("P(y)", r11 + r01 + s11 + s01)
    solved = Named("P(X̂=1,y)", r11 + r01)
    wrong_failed, wrong_solved = Named("P(X̂=0,y')", s10 + s00), Named("P(X̂=0,y)", s11 + s01)
    joint_success, hurt = Named("PNS(1,∅)", r10 + s10), Named("harm", r01 + s01)
    consistent = Said("Y_∅ = Y_1 where X̂=1: r10 = r01 = 0", both(equal(r10, 0), equal(r01, 0)))
    bounds = rising(maximum(0, p1 - y), joint_success, minimum(p1 - solved, wrong_failed))
    return [
        Claim("one-sided/PNS-interval", "dodiag", (joint, consistent), bounds),
        Claim("one-sided/harm-limit", "dodiag", (joint, consistent), hurt <= wrong_solved),
        Claim(
            "one-sided/without-consistency",
            "dodiag",
            (joint,),
            bounds,
            "the same interval when a correct own answer may act otherwise than an injected one",
            Verdict.REFUTED,
        ),
    ]


class ThreeStates:
    """The joint distribution of (Y_1, Y_0, Y_∅) in one context: eight response types.

    Parameters
    ----------
    letter : str
        The types are z111, z110, …, or those of another letter.
    """

    states = ("1", "0", "∅")

    def __init__(self, letter: str = "z") -> None:
        keys = tuple(product((1, 0), repeat=3))
        names = variables(" ".join(f"{letter}{i}{j}{k}" for i, j, k in keys))
        self.cells: Mapping[tuple[int, ...], Term] = dict(zip(keys, names, strict=True))
        words = f"{letter}ijk = P(Y_1=i, Y_0=j, Y_∅=k): a distribution"
        self.given = distribution(names, words)

    def solved(self, *, by: str = "", not_by: str = "") -> Term:
        """Return the share of units that are solved in all states of `by` and failed in all states of `not_by`."""
        chosen = [
            cell
            for key, cell in self.cells.items()
            if all(key[self.states.index(s)] == 1 for s in by) and all(key[self.states.index(s)] == 0 for s in not_by)
        ]
        return total(chosen)

    def rate(self, state: str) -> Named:
        """Return p_s."""
        return Named(f"p{state}", self.solved(by=state))

    def pns(self, first: str, second: str) -> Named:
        """Return PNS(s, t) = P(Y_s = 1, Y_t = 0)."""
        return Named(f"PNS({first},{second})", self.solved(by=first, not_by=second))


def three_states() -> list[Claim]:
    """What the states 1, 0 and ∅ say about each other in one context."""
    z = ThreeStates()
    p1, p0, pn = (z.rate(state) for state in z.states)
    pns = z.pns
    given = (z.given,)
    at_half = Said("p1 = p0 = p∅ = 1/2", both(*(equal(rate, HALF) for rate in (p1, p0, pn))))
    only_one = Named("P(Y_1=1, Y_0=0, Y_∅=0)", z.solved(by="1", not_by="0∅"))
    all_solved = Named("P(Y_1=Y_0=Y_∅=1)", z.solved(by="10∅"))
    any_repair = Named("P(Y_1=1 or Y_0=1, Y_∅=0)", total([z.cells[1, 1, 0], z.cells[1, 0, 0], z.cells[0, 1, 0]]))
    cyclic = (("1", "0"), ("0", "∅"), ("∅", "1"))
    return [
        Claim(
            "three-state/triangle-inequality",
            "Pitowsky 1991",
            given,
            both(*(pns(a, c) <= pns(a, b) + pns(b, c) for a, b, c in permutations(z.states))),
        ),
        Claim(
            "three-state/opposite-contrasts",
            "dodiag",
            given,
            both(*(equal(pns(a, b) - pns(b, a), z.rate(a) - z.rate(b)) for a, b in cyclic)),
        ),
        Claim(
            "three-state/cycle-sum",
            "dodiag",
            given,
            equal(total([pns(a, b) for a, b in cyclic]), 1 - z.cells[1, 1, 1] - z.cells[0, 0, 0]),
        ),
        Claim(
            "three-state/transferred-bound",
            "dodiag",
            given,
            both(pns("1", "0") >= pns("1", "∅") - pns("0", "∅"), pns("1", "0") >= pns("∅", "0") - pns("∅", "1")),
        ),
        Claim(
            "three-state/links-compose",
            "dodiag",
            (*given, equal(pns("∅", "1"), 0), equal(pns("0", "∅"), 0)),
            equal(pns("0", "1"), 0),
            "two monotone links make a third",
        ),
        Claim(
            "three-state/mutant-one-link",
            "dodiag",
            (*given, equal(pns("∅", "1"), 0)),
            equal(pns("0", "1"), 0),
            "one monotone link is enough",
            Verdict.REFUTED,
        ),
        Claim(
            "three-state/mutant-additive",
            "dodiag",
            given,
            equal(pns("1", "0"), pns("1", "∅") + pns("∅", "0")),
            "",
            Verdict.REFUTED,
        ),
        Claim(
            "three-state/mutant-upper-ends-combine",
            "dodiag",
            (*given, at_half, equal(pns("1", "0"), HALF), equal(pns("0", "∅"), HALF)),
            pns("∅", "1") > 0,
            "two upper ends leave room for the third contrast of the cycle",
            Verdict.REFUTED,
        ),
        Claim(
            "three-state/upper-ends-conflict",
            "dodiag",
            (*given, at_half),
            is_not(both(*(equal(pns(a, b), minimum(z.rate(a), 1 - z.rate(b))) for a, b in cyclic))),
            "the upper ends of a cycle are not attained together",
        ),
        Claim(
            "three-state/only-the-correct-answer",
            "Fréchet 1935",
            given,
            rising(maximum(0, p1 - p0 - pn), only_one, minimum(p1, 1 - p0, 1 - pn)),
        ),
        Claim(
            "three-state/pattern",
            "Fréchet 1935",
            given,
            rising(maximum(0, p1 + p0 + pn - 2), all_solved, minimum(p1, p0, pn)),
        ),
        Claim(
            "three-state/some-repair",
            "dodiag",
            given,
            rising(maximum(0, p1 - pn, p0 - pn), any_repair, minimum(1 - pn, p1 + p0)),
            "the share that one of two repairs rescues",
        ),
        Claim(
            "three-state/mutant-best-repair",
            "dodiag",
            given,
            any_repair <= maximum(0, p1 - pn, p0 - pn),
            "what the better repair gains, as an upper bound",
            Verdict.REFUTED,
        ),
    ]


def repairs() -> list[Claim]:
    """Units that two repairs rescue together although neither does alone."""
    keys = tuple(product((1, 0), repeat=4))
    names = variables(" ".join("u" + "".join(map(str, key)) for key in keys))
    cells = dict(zip(keys, names, strict=True))
    joint = distribution(names, "uabcd = P(Y_ij=a, Y_i=b, Y_j=c, Y_∅=d): a distribution")
    v_ij, v_i, v_j, v_none = (
        Named(name, total([cell for key, cell in cells.items() if key[place] == 1]))
        for place, name in enumerate(("v_ij", "v_i", "v_j", "v_∅"))
    )
    together = Named("P(Y_ij=1, Y_i=Y_j=0)", total([cells[1, 0, 0, 0], cells[1, 0, 0, 1]]))
    needed = Named("P(Y_ij=1, Y_i=Y_j=Y_∅=0)", cells[1, 0, 0, 0])
    return [
        Claim(
            "conjunctive/only-together",
            "Fréchet 1935",
            (joint,),
            rising(maximum(0, v_ij - v_i - v_j), together, minimum(v_ij, 1 - v_i, 1 - v_j)),
        ),
        Claim(
            "conjunctive/only-together-and-needed",
            "Fréchet 1935",
            (joint,),
            rising(maximum(0, v_ij - v_i - v_j - v_none), needed, minimum(v_ij, 1 - v_i, 1 - v_j, 1 - v_none)),
        ),
        Claim(
            "conjunctive/mutant-interaction",
            "dodiag",
            (joint,),
            v_ij - v_i - v_j + v_none <= together,
            "the interaction v_ij − v_i − v_j + v_∅ as a lower bound",
            Verdict.REFUTED,
        ),
    ]


def coupled(x: Term, y: Term, w: Term, p1: Term, p0: Term, pn: Term) -> Formula:
    """The four inequalities of x = PNS(1,0), y = PNS(1,∅), w = PNS(∅,0): three triangles and a cycle."""
    return both(x <= y + w, y <= x + w - (pn - p0), w <= x + y - (p1 - pn), x + y + w <= 1 + p1 - p0)


def three_states_jointly() -> list[Claim]:
    """Which values of several contrasts are possible together, given the three success rates."""
    z = ThreeStates("y")
    rates = dict(zip(z.states, variables("p1 p0 p∅"), strict=True))
    margins = tuple(equal(z.solved(by=state), rate) for state, rate in rates.items())
    given = (probabilities(*rates.values()),)
    every_type = tuple(z.cells.values())

    def possible(*further: Formula) -> Formula:
        return exists(every_type, both(z.given, Said("margins p1, p0, p∅", both(*margins)), *further))

    pairs = tuple(permutations(z.states, 2))
    alike = {
        key: maximum(
            0,
            minimum(*(rates[s] for s, solved in zip(z.states, key, strict=True) if solved), 1)
            - maximum(*(rates[s] for s, solved in zip(z.states, key, strict=True) if not solved), 0),
        )
        for key in z.cells
    }

    def among(first: str, second: str) -> Term:
        at, without = z.states.index(first), z.states.index(second)
        return total([cell for key, cell in alike.items() if key[at] == 1 and key[without] == 0])

    x, y, w = variables("x y w")
    p1, p0, pn = rates.values()
    boxes = both(
        rising(maximum(0, p1 - p0), x, minimum(p1, 1 - p0)),
        rising(maximum(0, p1 - pn), y, minimum(p1, 1 - pn)),
        rising(maximum(0, pn - p0), w, minimum(pn, 1 - p0)),
    )
    region = coupled(x, y, w, p1, p0, pn)
    contrasts = (
        equal(z.solved(by="1", not_by="0"), x),
        equal(z.solved(by="1", not_by="∅"), y),
        equal(z.solved(by="∅", not_by="0"), w),
    )
    free = ThreeStates()
    f1, f0, fn = (free.rate(state) for state in free.states)
    fx, fy, fw = free.pns("1", "0"), free.pns("1", "∅"), free.pns("∅", "0")
    return [
        Claim(
            "three-state/lower-ends-witness",
            "dodiag",
            given,
            both(
                Said("Y_s = 1 where U ≤ p_s, U uniform, is a distribution", distribution(tuple(alike.values()), "")),
                Said(
                    "its rates are p1, p0, p∅",
                    both(
                        *(
                            equal(total([c for key, c in alike.items() if key[z.states.index(s)] == 1]), rate)
                            for s, rate in rates.items()
                        )
                    ),
                ),
                Said(
                    "PNS(s,t) = max(0, p_s − p_t) in all six contrasts",
                    both(*(equal(among(s, t), maximum(0, rates[s] - rates[t])) for s, t in pairs)),
                ),
            ),
        ),
        Claim(
            "three-state/lower-ends-exist",
            "dodiag",
            given,
            possible(
                Said(
                    "PNS(s,t) = max(0, p_s − p_t) in all six contrasts",
                    both(*(equal(z.solved(by=s, not_by=t), maximum(0, rates[s] - rates[t])) for s, t in pairs)),
                )
            ),
        ),
        *(
            Claim(
                f"three-state/upper-end-exists-({s},{t})",
                "dodiag",
                given,
                possible(
                    Said(
                        f"PNS({s},{t}) = min(p{s}, 1 − p{t})",
                        equal(z.solved(by=s, not_by=t), minimum(rates[s], 1 - rates[t])),
                    )
                ),
                "whatever the third rate is",
            )
            for s, t in pairs
        ),
        Claim(
            "three-state/region-valid",
            "Deza & Laurent 1997",
            (free.given,),
            coupled(fx, fy, fw, f1, f0, fn),
        ),
        Claim(
            "three-state/region-complete",
            "Deza & Laurent 1997",
            (*given, Said("x, y, w between the ends of PNS(1,0), PNS(1,∅), PNS(∅,0)", boxes), region),
            possible(Said("PNS(1,0) = x, PNS(1,∅) = y, PNS(∅,0) = w", both(*contrasts))),
        ),
    ]


def upper_ends_together() -> list[Claim]:
    """When one joint distribution has the upper ends of all six contrasts of three states."""
    z = ThreeStates()
    rates = {state: z.rate(state) for state in z.states}
    pairs = tuple(permutations(z.states, 2))

    def upper(first: str, second: str) -> Term:
        return minimum(rates[first], 1 - rates[second])

    everywhere = Said(
        "PNS(s,t) = min(p_s, 1 − p_t) in all six contrasts", both(*(equal(z.pns(s, t), upper(s, t)) for s, t in pairs))
    )
    inside = Said("0 < p1, p0, p∅ < 1", both(*(both(rate > 0, rate < 1) for rate in rates.values())))
    together = Named("p1 + p0 + p∅", total(list(rates.values())))
    few_or_many = either(together <= 1, together >= 2)
    margins = dict(zip(z.states, variables("p1 p0 p∅"), strict=True))
    least, most = total(list(margins.values())), total([1 - margin for margin in margins.values()])

    def one_type_each(key: tuple[int, ...], alone: int) -> Term:
        """Return the share of a type if each state has one type in which it, alone, ends as `alone`."""
        share = margins if alone else {state: 1 - margin for state, margin in margins.items()}
        if len(set(key)) == 1:
            return 1 - total(list(share.values())) if key[0] != alone else term(0)
        if key.count(alone) > 1:
            return term(0)
        return share[z.states[key.index(alone)]]

    def attains(alone: int) -> Formula:
        cells = {key: one_type_each(key, alone) for key in z.cells}

        def share(first: str, second: str | None = None) -> Term:
            at = z.states.index(first)
            without = None if second is None else z.states.index(second)
            chosen = [c for key, c in cells.items() if key[at] == 1 and (without is None or key[without] == 0)]
            return total(chosen)

        return both(
            distribution(tuple(cells.values()), ""),
            *(equal(share(state), margin) for state, margin in margins.items()),
            *(equal(share(s, t), minimum(margins[s], 1 - margins[t])) for s, t in pairs),
        )

    return [
        Claim(
            "three-state/opposite-upper-ends",
            "dodiag",
            (z.given, equal(z.pns("1", "0"), upper("1", "0"))),
            equal(z.pns("0", "1"), upper("0", "1")),
            "the upper ends of a contrast and its reverse are attained together",
        ),
        Claim(
            "three-state/upper-ends-need",
            "dodiag",
            (z.given, inside, everywhere),
            few_or_many,
            "upper ends attained together leave p1 + p0 + p∅ ≤ 1 or ≥ 2",
        ),
        Claim(
            "three-state/upper-ends-without-inside",
            "dodiag",
            (z.given, everywhere),
            few_or_many,
            "the same where a rate may be 0 or 1",
            Verdict.REFUTED,
        ),
        Claim(
            "three-state/upper-ends-few",
            "dodiag",
            (probabilities(*margins.values()), least <= 1),
            Said("each state solves units that no other solves: all six upper ends", attains(1)),
        ),
        Claim(
            "three-state/upper-ends-many",
            "dodiag",
            (probabilities(*margins.values()), most <= 1),
            Said("each state fails units that no other fails: all six upper ends", attains(0)),
        ),
    ]


def tightened_intervals() -> list[Claim]:
    """What knowledge of some contrasts of three states says of the others: one pass over the third state is sharp."""
    z = ThreeStates()
    pairs = tuple(permutations(z.states, 2))
    third = {(s, t): next(r for r in z.states if r not in (s, t)) for s, t in pairs}
    Ends = Mapping[tuple[str, str], Term]

    def implied(low: Ends, up: Ends, s: str, t: str) -> tuple[Term, Term]:
        r = third[s, t]
        return (
            maximum(low[s, t], low[s, r] - up[t, r], low[r, t] - up[r, s]),
            minimum(up[s, t], up[s, r] + up[r, t], 1 - low[t, r] - low[r, s]),
        )

    free_low, free_up = ({(s, t): variables(f"{side}({s},{t})")[0] for s, t in pairs} for side in "LU")
    known = Said(
        "L(s,t) ≤ PNS(s,t) ≤ U(s,t) in all six contrasts",
        both(*(rising(free_low[c], z.pns(*c), free_up[c]) for c in pairs)),
    )
    bounded = []
    for s, t in pairs:
        lower, upper = implied(free_low, free_up, s, t)
        bounded.append(rising(lower, z.pns(s, t), upper))
    rates = dict(zip(z.states, variables("p1 p0 p∅"), strict=True))
    own = (("1", "0"), ("1", "∅"), ("∅", "0"))
    low: dict[tuple[str, str], Term] = {(s, t): variables(f"L({s},{t})")[0] for s, t in own}
    up: dict[tuple[str, str], Term] = {(s, t): variables(f"U({s},{t})")[0] for s, t in own}
    for s, t in own:
        for ends in (low, up):
            ends[t, s] = ends[s, t] - (rates[s] - rates[t])
    boxes = Said(
        "max(0, p_s − p_t) ≤ L(s,t) ≤ U(s,t) ≤ min(p_s, 1 − p_t)",
        both(
            *(
                rising(maximum(0, rates[s] - rates[t]), low[s, t], up[s, t], minimum(rates[s], 1 - rates[t]))
                for s, t in own
            )
        ),
    )
    not_empty = Said("no implied interval is empty", both(*(rising(*implied(low, up, s, t)) for s, t in pairs)))
    point: dict[tuple[str, str], Term] = dict(zip(own, variables("x y w"), strict=True))
    for s, t in own:
        point[t, s] = point[s, t] - (rates[s] - rates[t])
    x, y, w = (point[contrast] for contrast in own)
    p1, p0, pn = rates.values()
    region = both(*(rising(low[c], point[c], up[c]) for c in own), coupled(x, y, w, p1, p0, pn))

    def attained(s: str, t: str, end: Term) -> Formula:
        return exists((x, y, w), both(region, equal(point[s, t], end)))

    return [
        Claim(
            "three-state/tightened-valid",
            "dodiag",
            (z.given, known),
            Said(
                "max(L(s,t), L(s,r) − U(t,r), L(r,t) − U(r,s)) ≤ PNS(s,t) ≤ "
                "min(U(s,t), U(s,r) + U(r,t), 1 − L(t,r) − L(r,s)), r the third state",
                both(*bounded),
            ),
        ),
        *(
            Claim(
                f"three-state/tightened-attained-({s},{t})-{side}",
                "dodiag",
                (probabilities(*rates.values()), boxes, not_empty),
                Said(
                    f"a point of the joint region (three-state/region-complete) within the known ends"
                    f" has the {side} end of the implied PNS({s},{t})",
                    attained(s, t, end),
                ),
            )
            for s, t in pairs
            for side, end in zip(("lower", "upper"), implied(low, up, s, t), strict=True)
        ),
        Claim(
            "three-state/mutant-tightened-one-path",
            "dodiag",
            (z.given, known),
            z.pns("1", "0") <= minimum(free_up["1", "0"], free_up["1", "∅"]),
            "what one link allows, as an upper end of both",
            Verdict.REFUTED,
        ),
    ]


CLAIMS = (
    *sharpness(),
    *harm(),
    *combined_data(),
    *own_answer(),
    *three_states(),
    *repairs(),
    *three_states_jointly(),
    *upper_ends_together(),
    *tightened_intervals(),
)
"""The claims of this module."""
