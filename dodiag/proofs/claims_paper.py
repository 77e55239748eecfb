"""The paper's theorems (CADET Appendix A) as claims, what each dropped assumption does, and false variants.

Names: q_jk = P(Y_a = j, Y_a' = k) in the submodel do(A_-i = c); p = P(Y_a = 1), p' = P(Y_a' = 1).
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from dodiag.proofs.claim import Claim, FourTypes, distribution, probabilities, quotient, quotient_or_zero
from dodiag.proofs.statement import Verdict
from dodiag.proofs.terms import (
    Formula,
    Named,
    Said,
    Term,
    both,
    equal,
    maximum,
    rising,
    term,
    total,
    variables,
    where,
)

q = FourTypes.named()
N, S, PN, PS, NS = variables("N S PN PS NS")
PNS = Named("PNS", q.only_a)
HARM = Named("harm", q.only_a_prime)
N_DEFINED = quotient(N, q.low, q.p)
S_DEFINED = quotient(S, q.low, 1 - q.p_prime)
PN_DEFINED = quotient(PN, PNS, q.p)
PS_DEFINED = quotient(PS, PNS, 1 - q.p_prime)
SCORES = (q.given, *N_DEFINED, *S_DEFINED)
EVERYTHING = (*SCORES, *PN_DEFINED[1:], *PS_DEFINED[1:])
ONLY_N = (q.given, *N_DEFINED, *PN_DEFINED[1:])
ONLY_S = (q.given, *S_DEFINED, *PS_DEFINED[1:])
LEAST = Fraction(1, 10)


def least_denominator(variable: Term, numerator: Term, denominator: Term) -> tuple[Formula, Formula]:
    """The variable is the quotient, and 0 where the denominator is below 0.10 (CADET Appendix D.2)."""
    return (
        where(denominator >= LEAST, equal(variable * denominator, numerator)),
        where(denominator < LEAST, equal(variable, 0)),
    )


def definitions() -> list[Claim]:
    """Definitions A.1 and A.2: ranges and directions."""
    u, v, forward, back = variables("u v N(a,a') S(a',a)")
    opposite = (probabilities(u, v), *quotient_or_zero(forward, maximum(0, u - v), u))
    return [
        Claim("A.1/range", "CADET Definition A.1", (q.given, *N_DEFINED), rising(0, N, 1)),
        Claim("A.2/range", "CADET Definition A.2", (q.given, *S_DEFINED), rising(0, S, 1)),
        Claim(
            "A.1/opposite-directions",
            "dodiag",
            (*opposite, *quotient_or_zero(back, maximum(0, v - u), 1 - u)),
            equal(forward * back, 0),
            "of N(0,∅) and S(∅,0), and of N(∅,0) and S(0,∅), at most one is positive",
        ),
        Claim(
            "A.1/mutant-same-direction",
            "dodiag",
            SCORES,
            equal(N * S, 0),
            "of N and S of one contrast at most one is positive",
            Verdict.REFUTED,
        ),
    ]


def regime(
    first: str, second: str, when: str = "A=a", otherwise: str = "A=a'", outcomes: tuple[str, str] = ("Y_a", "Y_a'")
) -> tuple[tuple[Term, ...], Formula]:
    """Return the eight cells of a variable and two potential outcomes, and that they are a distribution.

    Nothing is assumed about how the variable and the outcomes depend on each other. The first four cells have the
    variable as `when` says, the last four as `otherwise`; `first` and `second` are their letters.
    """
    cells = (*FourTypes.named(first).cells, *FourTypes.named(second).cells)
    shape = f"{outcomes[0]}=j, {outcomes[1]}=k"
    words = f"{first}jk = P({when}, {shape}), {second}jk = P({otherwise}, {shape}): a distribution"
    return cells, distribution(cells, words)


def assigned(
    types: FourTypes, letter: str = "q", context: str = ""
) -> tuple[Formula, tuple[Formula, ...], tuple[Formula, ...]]:
    """Return that the regime A is independent of (Y_a, Y_a'), and PN and PS by their definitions.

    w = P(A=a) and v = P(A=a'); what is left of 1 goes to the other regimes. The definitions are
    PN = P(Y_a'=0 | A=a, Y=1) and PS = P(Y_a=1 | A=a', Y=0), with what they condition on possible; by consistency Y is
    Y_a where A=a, and Y_a' where A=a'. Only the four cells that PN and PS are made of occur: r of A=a, s of A=a'.
    `context` is appended to all names.
    """
    names = " ".join(f"{name}{context}" for name in ("w", "v", "r11", "r10", "s10", "s00"))
    w, v, r11, r10, s10, s00 = variables(names)
    words = (
        f"exogeneity: P(A=a, Y_a=j, Y_a'=k) is rjk{context} = w{context}·{letter}jk,"
        f" P(A=a', Y_a=j, Y_a'=k) is sjk{context} = v{context}·{letter}jk"
    )
    independent = both(
        equal(r11, w * types.both_solved),
        equal(r10, w * types.only_a),
        equal(s10, v * types.only_a),
        equal(s00, v * types.neither),
    )
    return (
        Said(words, independent),
        quotient(PN, r10, Named(f"P(A=a, Y=1){context}", r11 + r10)),
        quotient(PS, s10, Named(f"P(A=a', Y=0){context}", s10 + s00)),
    )


class MarginallyExogenous:
    """Equation 2 of the paper and no more: P(Y = 1 | A = x) is P(Y_x = 1) for x = a and x = a'.

    The proofs of A.3, A.4 and A.6 read Assumption 3.3 as independence of A from the pair (Y_a, Y_a'). Here the pair may
    depend on A, in any way that leaves its two margins alone.

    Attributes
    ----------
    given : tuple of Formula
    p, p_prime, pns, harm : Named
        Of all units, whatever A is.
    pn, ps : tuple of Formula
        PN and PS by their definitions.
    """

    def __init__(self, *, other_regimes: bool = False) -> None:
        w, v = variables("w v")
        under_a, under_a_prime, under_other = (FourTypes.named(letter) for letter in "fgh")
        parts = [(w, under_a), (v, under_a_prime), *([(1 - w - v, under_other)] if other_regimes else [])]

        def overall(name: str, share: Callable[[FourTypes], Term]) -> Named:
            return Named(name, total([weight * share(types) for weight, types in parts]))

        self.p = overall("p", lambda types: types.both_solved + types.only_a)
        self.p_prime = overall("p'", lambda types: types.both_solved + types.only_a_prime)
        self.pns = overall("PNS", lambda types: types.only_a)
        self.harm = overall("harm", lambda types: types.only_a_prime)
        shares = both(w > 0, v > 0, w + v <= 1) if other_regimes else both(w > 0, v > 0, equal(w + v, 1))
        letters = "f, g, h" if other_regimes else "f, g"
        said = "some further regime may occur" if other_regimes else "there is no further regime"
        self.given: tuple[Formula, ...] = (
            Said(
                f"{letters}: the types where A is a, a'{', another' if other_regimes else ''}: distributions",
                both(*(types.given for _, types in parts)),
            ),
            Said(f"w = P(A=a) > 0, v = P(A=a') > 0; {said}", shares),
            Said("P(Y=1 | A=a) = p", equal(under_a.both_solved + under_a.only_a, self.p)),
            Said("P(Y=1 | A=a') = p'", equal(under_a_prime.both_solved + under_a_prime.only_a_prime, self.p_prime)),
        )
        self.pn = quotient(PN, under_a.only_a, under_a.both_solved + under_a.only_a)
        self.ps = quotient(PS, under_a_prime.only_a, under_a_prime.only_a + under_a_prime.neither)

    @property
    def low(self) -> Term:
        """max(0, p − p')."""
        return maximum(0, self.p - self.p_prime)


def lower_bounds() -> list[Claim]:
    """Theorems A.3, A.4 and 3.9."""
    source_n, source_s = "CADET Theorem A.3", "CADET Theorem A.4"
    below_n, below_s = N <= PN, S <= PS
    exogenous, pn_by_regime, ps_by_regime = assigned(q)
    elsewhere = FourTypes.named("t", "p(c2)", "p'(c2)")
    exogenous_elsewhere, _, ps_elsewhere = assigned(elsewhere, "t", "(c2)")
    marginal, three_regimes = MarginallyExogenous(), MarginallyExogenous(other_regimes=True)

    cells, joint = regime("r", "s")
    r11, r10, r01, _r00, s11, s10, s01, s00 = cells
    p_any = Named("p", r11 + r10 + s11 + s10)
    p_prime_any = Named("p'", r11 + r01 + s11 + s01)
    low_any = maximum(0, p_any - p_prime_any)
    success_any, failure_any = Named("P(A=a, Y=1)", r11 + r10), Named("P(A=a', Y=0)", s10 + s00)
    (other,) = variables("p'-elsewhere")
    other_low = maximum(0, q.p - other)
    return [
        Claim("A.3/score-below-PN", source_n, ONLY_N, below_n),
        Claim("A.4/score-below-PS", source_s, ONLY_S, below_s),
        Claim(
            "A.3/regime-variable",
            source_n,
            (q.given, exogenous, N_DEFINED[1], *pn_by_regime),
            below_n,
            "with the regime A as a variable, PN = P(Y_a'=0 | A=a, Y=1)",
        ),
        Claim(
            "A.4/regime-variable",
            source_s,
            (q.given, exogenous, S_DEFINED[1], *ps_by_regime),
            below_s,
            "with the regime A as a variable, PS = P(Y_a=1 | A=a', Y=0)",
        ),
        Claim(
            "A.3/marginal-exogeneity",
            source_n,
            (*marginal.given, *quotient(N, marginal.low, marginal.p)[1:], *marginal.pn),
            below_n,
            "from eq. 2 alone, P(Y | A=x) = P(Y | do(A=x)), with two regimes",
        ),
        Claim(
            "A.4/marginal-exogeneity",
            source_s,
            (*marginal.given, *quotient(S, marginal.low, 1 - marginal.p_prime)[1:], *marginal.ps),
            below_s,
            "from eq. 2 alone, P(Y | A=x) = P(Y | do(A=x)), with two regimes",
        ),
        Claim(
            "A.3/without-joint-exogeneity",
            source_n,
            (*three_regimes.given, *quotient(N, three_regimes.low, three_regimes.p), *three_regimes.pn[1:]),
            below_n,
            "from eq. 2 alone, where A has a third state",
            Verdict.REFUTED,
        ),
        Claim(
            "A.4/without-joint-exogeneity",
            source_s,
            (*three_regimes.given, *quotient(S, three_regimes.low, 1 - three_regimes.p_prime), *three_regimes.ps),
            below_s,
            "from eq. 2 alone, where A has a third state",
            Verdict.REFUTED,
        ),
        Claim(
            "A.3/zero-denominator",
            source_n,
            (q.given, *quotient_or_zero(N, q.low, q.p), where(q.p > 0, equal(PN * q.p, PNS)), probabilities(PN)),
            below_n,
            "whatever PN is taken to be where p = 0",
        ),
        Claim(
            "A.4/zero-denominator",
            source_s,
            (
                q.given,
                *quotient_or_zero(S, q.low, 1 - q.p_prime),
                where(q.p_prime < 1, equal(PS * (1 - q.p_prime), PNS)),
                probabilities(PS),
            ),
            below_s,
            "whatever PS is taken to be where p' = 1",
        ),
        Claim(
            "A.3/least-denominator",
            "CADET Appendix D.2",
            (q.given, *PN_DEFINED, *least_denominator(N, q.low, q.p)),
            below_n,
            "also with the rule that N = 0 where p < 0.10",
        ),
        Claim(
            "A.4/least-denominator",
            "CADET Appendix D.2",
            (q.given, *PS_DEFINED, *least_denominator(S, q.low, 1 - q.p_prime)),
            below_s,
            "also with the rule that S = 0 where 1 − p' < 0.10",
        ),
        Claim(
            "3.9/main-text",
            "CADET Theorem 3.9",
            (
                *ONLY_N,
                elsewhere.given,
                *quotient(S, elsewhere.low, 1 - elsewhere.p_prime),
                *quotient(PS, elsewhere.only_a, 1 - elsewhere.p_prime)[1:],
            ),
            both(below_n, below_s),
            "N in its context (all others a) and S in another (c2: all others a')",
        ),
        Claim(
            "3.9/regime-variable",
            "CADET Theorem 3.9",
            (
                q.given,
                exogenous,
                N_DEFINED[1],
                *pn_by_regime,
                elsewhere.given,
                equal(S * (1 - elsewhere.p_prime), elsewhere.low),
                exogenous_elsewhere,
                *ps_elsewhere,
            ),
            both(below_n, below_s),
            "the same with the regime A as a variable in both contexts",
        ),
        Claim(
            "A.3/without-exogeneity",
            source_n,
            (joint, *quotient(N, low_any, p_any), *quotient(PN, r10, success_any), s11 + s10 > 0),
            below_n,
            "when A may depend on (Y_a, Y_a')",
            Verdict.REFUTED,
        ),
        Claim(
            "A.4/without-exogeneity",
            source_s,
            (joint, *quotient(S, low_any, 1 - p_prime_any), *quotient(PS, s10, failure_any), r11 + r10 > 0),
            below_s,
            "when A may depend on (Y_a, Y_a')",
            Verdict.REFUTED,
        ),
        Claim(
            "A.3/without-same-units",
            source_n,
            (q.given, probabilities(other), *quotient(N, other_low, q.p), *PN_DEFINED[1:]),
            below_n,
            "when the rate under a' comes from other units",
            Verdict.REFUTED,
        ),
        Claim(
            "A.4/without-same-units",
            source_s,
            (q.given, probabilities(other), *quotient(S, other_low, 1 - other), *PS_DEFINED),
            below_s,
            "when the rate under a' comes from other units",
            Verdict.REFUTED,
        ),
        Claim(
            "A.3/without-same-context",
            source_n,
            (q.given, elsewhere.given, *N_DEFINED, *quotient(PN, elsewhere.only_a, elsewhere.p)),
            below_n,
            "N of one context and PN of another (c2)",
            Verdict.REFUTED,
        ),
        Claim(
            "A.3/mutant-divided-by-failure",
            source_n,
            (q.given, *quotient(N, q.low, 1 - q.p_prime), *PN_DEFINED),
            below_n,
            "with the denominator of S in N",
            Verdict.REFUTED,
        ),
        Claim(
            "A.4/mutant-divided-by-success",
            source_s,
            (q.given, *quotient(S, q.low, q.p), *PS_DEFINED),
            below_s,
            "with the denominator of N in S",
            Verdict.REFUTED,
        ),
        Claim("A.3/mutant-upper", source_n, ONLY_N, N >= PN, "N as an upper bound", Verdict.REFUTED),
        Claim("A.4/mutant-upper", source_s, ONLY_S, S >= PS, "S as an upper bound", Verdict.REFUTED),
        Claim(
            "A.3/mutant-swapped-arms",
            source_n,
            (q.given, *quotient(N, maximum(0, q.p_prime - q.p), q.p_prime), *PN_DEFINED),
            below_n,
            "with a and a' exchanged in N",
            Verdict.REFUTED,
        ),
    ]


def monotonicity() -> list[Claim]:
    """Property 3.6 and Proposition A.5, its converse, and what fails without."""
    source = "CADET Proposition A.5"
    monotone = equal(q.only_a_prime, 0)
    exogenous, pn_by_regime, ps_by_regime = assigned(q)
    marginal = MarginallyExogenous()
    (r11, r10, r01, _r00, s11, s10, s01, _s00), joint = regime("r", "s")
    p_any, p_prime_any = Named("p", r11 + r10 + s11 + s10), Named("p'", r11 + r01 + s11 + s01)
    low_any = maximum(0, p_any - p_prime_any)
    ordered = q.p >= q.p_prime
    names = tuple(f"z{i}{j}{k}" for i in "10" for j in "10" for k in "10")
    z = dict(zip(((i, j, k) for i in (1, 0) for j in (1, 0) for k in (1, 0)), variables(" ".join(names)), strict=True))
    types = distribution(tuple(z.values()), "zijk = P(Y_1=i, Y_∅=j, Y_0=k): a distribution")
    p1, pn, p0 = (
        Named(name, total([cell for key, cell in z.items() if key[place] == 1]))
        for place, name in enumerate(("p1", "p∅", "p0"))
    )
    decreasing = Said(
        "no unit is solved under 0 but not ∅, or under ∅ but not 1",
        both(*(equal(cell, 0) for key, cell in z.items() if list(key) != sorted(key, reverse=True))),
    )
    return [
        Claim("A.5/equality-N", source, (*ONLY_N, monotone), equal(N, PN), "also where p' = 1"),
        Claim("A.5/equality-S", source, (*ONLY_S, monotone), equal(S, PS), "also where p = 0"),
        Claim(
            "A.5/regime-variable",
            source,
            (q.given, exogenous, *pn_by_regime, *ps_by_regime, N_DEFINED[1], S_DEFINED[1], monotone),
            both(equal(N, PN), equal(S, PS)),
            "with the regime A as a variable, PN = P(Y_a'=0 | A=a, Y=1), PS = P(Y_a=1 | A=a', Y=0)",
        ),
        Claim(
            "A.5/marginal-exogeneity",
            source,
            (
                *marginal.given,
                *quotient(N, marginal.low, marginal.p)[1:],
                *quotient(S, marginal.low, 1 - marginal.p_prime)[1:],
                *marginal.pn,
                *marginal.ps,
                equal(marginal.harm, 0),
            ),
            both(equal(N, PN), equal(S, PS)),
            "from eq. 2 alone, with two regimes",
        ),
        Claim(
            "A.5/without-exogeneity",
            source,
            (joint, *quotient(N, low_any, p_any), *quotient(PN, r10, r11 + r10), equal(r01 + s01, 0)),
            equal(N, PN),
            "when A may depend on (Y_a, Y_a')",
            Verdict.REFUTED,
        ),
        Claim("A.5/converse-N", "dodiag", (*ONLY_N, equal(N, PN), ordered), monotone),
        Claim("A.5/converse-S", "dodiag", (*ONLY_S, equal(S, PS), ordered), monotone),
        Claim(
            "A.5/converse-without-order",
            "dodiag",
            (*EVERYTHING, equal(N, PN), equal(S, PS)),
            monotone,
            "the converse when p may be below p'",
            Verdict.REFUTED,
        ),
        Claim(
            "A.5/without-monotonicity",
            source,
            EVERYTHING,
            both(equal(N, PN), equal(S, PS)),
            "equality without monotonicity",
            Verdict.REFUTED,
        ),
        Claim(
            "A.5/mutant-order",
            source,
            (*EVERYTHING, ordered),
            both(equal(N, PN), equal(S, PS)),
            "equality from the order of the rates alone",
            Verdict.REFUTED,
        ),
        Claim(
            "3.6/monotone-orders-rates",
            "CADET Property 3.6",
            (types, decreasing),
            rising(p0, pn, p1),
            "monotonicity implies the order of the rates, so RC > NC refutes it",
        ),
        Claim(
            "3.6/mutant-order-is-monotone",
            "CADET Property 3.6",
            (types, rising(p0, pn, p1)),
            decreasing,
            "the order of the rates implies monotonicity",
            Verdict.REFUTED,
        ),
    ]


def coupling() -> list[Claim]:
    """Proposition A.6, its conventions, and the asymmetric contexts."""
    source = "CADET Proposition A.6"
    elsewhere = FourTypes.named("t", "p(a')", "p'(a')")
    exogenous, pn_by_regime, ps_by_regime = assigned(q)
    marginal = MarginallyExogenous()
    (r11, r10, _r01, _r00, s11, s10, _s01, s00), joint = regime("r", "s")
    p_any = Named("p", r11 + r10 + s11 + s10)
    n, s = variables("n s")
    here = FourTypes.of((1 - n, n, term(0), term(0)), "p(a)", "p'(a)")
    there = FourTypes.of((term(0), s, term(0), 1 - s), "p(a')", "p'(a')")
    return [
        Claim(
            "A.6/counterfactual",
            f"{source}, eq. 11",
            (q.given, *PN_DEFINED, *PS_DEFINED),
            equal(PN * q.p, PS * (1 - q.p_prime), PNS),
            "where PN and PS are PNS / p and PNS / (1 − p'), which A.6/regime-variable shows",
        ),
        Claim(
            "A.6/regime-variable",
            f"{source}, eq. 11",
            (q.given, exogenous, *pn_by_regime, *ps_by_regime),
            equal(PN * q.p, PS * (1 - q.p_prime), PNS),
            "with the regime A as a variable, PN = P(Y_a'=0 | A=a, Y=1), PS = P(Y_a=1 | A=a', Y=0)",
        ),
        Claim(
            "A.6/without-exogeneity",
            f"{source}, eq. 11",
            (joint, *quotient(PN, r10, r11 + r10), *quotient(PS, s10, s10 + s00)),
            equal(PN * p_any, r10 + s10),
            "when A may depend on (Y_a, Y_a')",
            Verdict.REFUTED,
        ),
        Claim(
            "A.6/without-joint-exogeneity",
            f"{source}, eq. 11",
            (*marginal.given, *marginal.pn, *marginal.ps),
            equal(PN * marginal.p, marginal.pns),
            "from eq. 2 alone, P(Y | A=x) = P(Y | do(A=x)), with two regimes",
            Verdict.REFUTED,
        ),
        Claim(
            "A.6/scores",
            f"{source}, eq. 12",
            SCORES,
            both(equal(N * q.p, S * (1 - q.p_prime), q.low), q.low <= PNS),
        ),
        Claim(
            "A.6/scores-zero-denominators",
            f"{source}, eq. 12",
            (q.given, *quotient_or_zero(N, q.low, q.p), *quotient_or_zero(S, q.low, 1 - q.p_prime)),
            both(equal(N * q.p, S * (1 - q.p_prime), q.low), q.low <= PNS),
            "with N = 0 where p = 0, and S = 0 where p' = 1",
        ),
        Claim(
            "A.6/counterfactual-zero-denominators",
            f"{source}, eq. 11",
            (
                q.given,
                probabilities(PN, PS),
                where(q.p > 0, equal(PN * q.p, PNS)),
                where(q.p_prime < 1, equal(PS * (1 - q.p_prime), PNS)),
            ),
            equal(PN * q.p, PS * (1 - q.p_prime), PNS),
            "whatever PN is taken to be where p = 0, and PS where p' = 1",
        ),
        Claim(
            "A.6/without-small-denominators",
            "CADET Appendix D.2",
            (q.given, *least_denominator(N, q.low, q.p), *least_denominator(S, q.low, 1 - q.p_prime)),
            equal(N * q.p, S * (1 - q.p_prime)),
            "the coupling with the rule that a score is 0 where its denominator is below 0.10",
            Verdict.REFUTED,
        ),
        Claim(
            "A.6/asymmetric-independence",
            "CADET Appendix A.3.2",
            (probabilities(n, s),),
            both(
                here.given,
                there.given,
                *quotient(n, here.low, here.p),
                *quotient(s, there.low, 1 - there.p_prime),
            ),
            "in two contexts N and S take every pair of values (n, s)",
        ),
        Claim(
            "A.6/mutant-across-contexts",
            source,
            (q.given, elsewhere.given, *N_DEFINED, *quotient(S, elsewhere.low, 1 - elsewhere.p_prime)),
            equal(N * q.p, S * (1 - elsewhere.p_prime)),
            "the coupling of the main text's N (others a) and S (others a')",
            Verdict.REFUTED,
        ),
        Claim(
            "A.6/mutant-absolute",
            source,
            (q.given,),
            maximum(q.p - q.p_prime, q.p_prime - q.p) <= PNS,
            "|p − p'| as a lower bound of PNS",
            Verdict.REFUTED,
        ),
        Claim("A.6/mutant-same", source, (q.given, *PN_DEFINED, *PS_DEFINED), equal(PN, PS), "", Verdict.REFUTED),
        Claim("A.6/mutant-sum", source, EVERYTHING, PN <= N + PS, "", Verdict.REFUTED),
        Claim("A.6/mutant-identified", source, (q.given,), equal(q.low, PNS), "", Verdict.REFUTED),
    ]


def chains() -> list[Claim]:
    """Remark A.8: one prerequisite, so no context."""
    source = "CADET Remark A.8, eq. 18"
    scored = (*SCORES, equal(NS, q.low))
    return [
        Claim(
            "A.8/chain",
            source,
            scored,
            both(equal(NS, N * q.p, S * (1 - q.p_prime), q.low), NS <= PNS),
        ),
        Claim(
            "A.8/chain-zero-denominators",
            source,
            (
                q.given,
                *quotient_or_zero(N, q.low, q.p),
                *quotient_or_zero(S, q.low, 1 - q.p_prime),
                equal(NS, q.low),
            ),
            both(equal(NS, N * q.p, S * (1 - q.p_prime)), NS <= PNS),
        ),
        Claim("A.8/chain-monotone", source, (q.given, equal(NS, q.low), equal(HARM, 0)), equal(NS, PNS)),
        Claim("A.8/mutant-product", source, scored, equal(NS, N * S), "", Verdict.REFUTED),
        Claim("A.8/mutant-least", source, scored, N <= NS, "", Verdict.REFUTED),
    ]


CLAIMS = (*definitions(), *lower_bounds(), *monotonicity(), *coupling(), *chains())
"""The claims of this module, in the paper's order."""
