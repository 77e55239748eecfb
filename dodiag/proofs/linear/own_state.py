"""Own states beside injected ones: the combined bounds of Tian and Pearl, and one-sided consistency."""

from __future__ import annotations

from collections.abc import Callable

from dodiag.bounds.linear.bound import End
from dodiag.bounds.linear.response_types import Form, ResponseTypes
from dodiag.proofs.linear.claims import (
    MONOTONE,
    NOTHING,
    TIAN_PEARL,
    Affine,
    Margins,
    all_of,
    implied,
    mutant,
    region,
    sharp_end,
    statement,
    without,
)
from dodiag.proofs.statement import Finding, Statement


def own_state_statements() -> list[Statement]:
    """Return the claims about models whose own state of the prerequisite was recorded."""
    return [*_combined_statements(), *_one_sided_statements()]


def _combined_statements() -> list[Statement]:
    t = COMBINED.types
    pns = t.probability({"a": 1, "a'": 0})
    pn, ps = t.probability({"X": 1, "a": 1, "a'": 0}), t.probability({"X": 0, "a": 1, "a'": 0})
    ends: dict[str, tuple[Form, End, list[Affine], str]] = {
        "pns-lower": (
            pns,
            "min",
            [NOTHING, {"p": 1, "p'": -1}, {"xy": 1, "x'y": 1, "p'": -1}, {"p": 1, "xy": -1, "x'y": -1}],
            "the least PNS is max(0, p - p', y - p', p - y)",
        ),
        "pns-upper": (
            pns,
            "max",
            [{"p": 1}, {"": 1, "p'": -1}, {"xy": 1, "x'y'": 1}, {"p": 1, "p'": -1, "xy'": 1, "x'y": 1}],
            "the largest PNS is min(p, 1 - p', P(x,y) + P(x',y'), p - p' + P(x,y') + P(x',y))",
        ),
        "pn-lower": (
            pn,
            "min",
            [NOTHING, {"xy": 1, "x'y": 1, "p'": -1}],
            "the least PN·P(x,y) is max(0, y - p')",
        ),
        "pn-upper": (
            pn,
            "max",
            [{"xy": 1}, {"": 1, "p'": -1, "x'y'": -1}],
            "the largest PN·P(x,y) is min(P(x,y), 1 - p' - P(x',y'))",
        ),
        "ps-lower": (
            ps,
            "min",
            [NOTHING, {"p": 1, "xy": -1, "x'y": -1}],
            "the least PS·P(x',y') is max(0, p - y)",
        ),
        "ps-upper": (
            ps,
            "max",
            [{"x'y'": 1}, {"p": 1, "xy": -1}],
            "the largest PS·P(x',y') is min(P(x',y'), p - P(x,y))",
        ),
    }
    given = (
        "P(x,y), P(x,y'), P(x',y), P(x',y') of the own state X and the own outcome",
        "p = P(Y_a=1), p' = P(Y_a'=1)",
        "the own outcome is Y_a where X = 1 and Y_a' where X = 0",
    )

    def end_check(query: Form, end: End, claimed: list[Affine]) -> Callable[[], Finding]:
        return lambda: sharp_end(COMBINED, query, end, claimed)

    independent = without(COMBINED, "x'y'")
    last: Affine = {"xy": 1, "xy'": 1, "x'y": 1, "p'": -1}
    consistency: list[Affine] = [
        {"p": 1, "xy": -1},
        {"": 1, "xy'": -1, "p": -1},
        {"p'": 1, "x'y": -1},
        last,
        {"xy": 1},
        {"xy'": 1},
        {"x'y": 1},
        {"": 1, "xy": -1, "xy'": -1, "x'y": -1},
    ]
    never = (t.event({"a": 0, "a'": 1}),)
    monotone = without(COMBINED, never=never)
    y = COMBINED.forms["xy"] + COMBINED.forms["x'y"]
    p, p_prime = COMBINED.forms["p"], COMBINED.forms["p'"]
    return [
        *(
            statement(f"TP/{name}", goal, end_check(query, end, claimed), source=TIAN_PEARL, hypotheses=given)
            for name, (query, end, claimed, goal) in ends.items()
        ),
        statement(
            "TP/consistency",
            "the margins are possible if and only if P(x,y) ≤ p ≤ 1 - P(x,y') and P(x',y) ≤ p' ≤ 1 - P(x',y')",
            lambda: region(independent, consistency),
            source=TIAN_PEARL,
            hypotheses=given,
        ),
        statement(
            "TP/monotone",
            "PNS = p - p', PN·P(x,y) = y - p', PS·P(x',y') = p - y",
            lambda: implied(monotone, [], [pns == p - p_prime, pn == y - p_prime, ps == p - y]),
            source=TIAN_PEARL,
            hypotheses=(*given, MONOTONE),
        ),
        mutant("TP/mutant-swapped", "PNS ≥ p' - y", lambda: implied(COMBINED, [], [pns >= p_prime - y]), *given),
        mutant(
            "TP/mutant-experimental-only",
            "the least PNS is max(0, p - p') with own outcomes too",
            end_check(pns, "min", [NOTHING, {"p": 1, "p'": -1}]),
            *given,
        ),
        mutant(
            "TP/mutant-upper",
            "PNS ≤ P(x,y') + P(x',y)",
            lambda: implied(COMBINED, [], [pns <= COMBINED.forms["xy'"] + COMBINED.forms["x'y"]]),
            *given,
        ),
        mutant(
            "TP/mutant-consistency",
            "P(x,y) ≤ p ≤ 1 - P(x,y') and P(x',y) ≤ p' ≤ 1 are enough",
            lambda: region(independent, [*(a for a in consistency if a != last), {"": 1, "p'": -1}]),
            *given,
        ),
    ]


def _one_sided_statements() -> list[Statement]:
    t = ONE_SIDED.types
    benefit, harm = t.probability({"1": 1, "n": 0}), t.probability({"1": 0, "n": 1})
    independent = without(ONE_SIDED, "x'y'")
    given = (
        "P(x,y), P(x,y'), P(x',y), P(x',y') of the own state X and the natural outcome; p1 = P(Y_1=1)",
        "Y_n = Y_1 where X = 1",
    )
    wrong_own_answer = ONE_SIDED.forms["x'y"]
    free = Margins(ONE_SIDED.types, ONE_SIDED.forms)
    consistency: list[Affine] = [
        {"p1": 1, "xy": -1},
        {"": 1, "xy'": -1, "p1": -1},
        {"xy": 1},
        {"xy'": 1},
        {"x'y": 1},
        {"": 1, "xy": -1, "xy'": -1, "x'y": -1},
    ]
    return [
        statement(
            "one-sided/pns-lower",
            "the least PNS(1,n) is max(0, p1 - y), as without own answers",
            lambda: sharp_end(ONE_SIDED, benefit, "min", [NOTHING, {"p1": 1, "xy": -1, "x'y": -1}]),
            hypotheses=given,
        ),
        statement(
            "one-sided/pns-upper",
            "the largest PNS(1,n) is min(p1 - P(x,y), P(x',y'))",
            lambda: sharp_end(ONE_SIDED, benefit, "max", [{"p1": 1, "xy": -1}, {"x'y'": 1}]),
            hypotheses=given,
        ),
        statement(
            "one-sided/harm",
            "PNS(n,1) ≤ P(x',y)",
            lambda: implied(ONE_SIDED, [], [harm <= wrong_own_answer]),
            hypotheses=given,
        ),
        statement(
            "one-sided/harm-sharp",
            "the ends of PNS(n,1) are max(0, y - p1) and min(P(x',y), 1 - P(x,y') - p1)",
            lambda: all_of(
                [
                    sharp_end(ONE_SIDED, harm, "min", [NOTHING, {"xy": 1, "x'y": 1, "p1": -1}]),
                    sharp_end(ONE_SIDED, harm, "max", [{"x'y": 1}, {"": 1, "xy'": -1, "p1": -1}]),
                ]
            ),
            hypotheses=given,
        ),
        statement(
            "one-sided/consistency",
            "some distribution has these margins if and only if P(x,y) ≤ p1 ≤ 1 - P(x,y')",
            lambda: region(independent, consistency),
            hypotheses=given,
        ),
        mutant(
            "one-sided/mutant-lower-moves",
            "PNS(1,n) ≥ p1 - P(x,y)",
            lambda: implied(ONE_SIDED, [], [benefit >= ONE_SIDED.forms["p1"] - ONE_SIDED.forms["xy"]]),
            *given,
        ),
        mutant(
            "one-sided/mutant-upper-stays",
            "the largest PNS(1,n) is min(p1, 1 - y), as without own answers",
            lambda: sharp_end(ONE_SIDED, benefit, "max", [{"p1": 1}, {"": 1, "xy": -1, "x'y": -1}]),
            *given,
        ),
        mutant(
            "one-sided/mutant-unassumed",
            "PNS(n,1) ≤ P(x',y)",
            lambda: implied(free, [], [harm <= wrong_own_answer]),
            given[0],
        ),
    ]


def _combined() -> Margins:
    """Own state X with own outcome Y (x: X = 1, y: Y = 1) beside both experimental margins."""
    types = ResponseTypes(("a", "a'"), ("X",))
    observed = {"xy": {"X": 1, "a": 1}, "xy'": {"X": 1, "a": 0}, "x'y": {"X": 0, "a'": 1}, "x'y'": {"X": 0, "a'": 0}}
    forms = {name: types.probability(values) for name, values in observed.items()}
    forms |= {"p": types.probability({"a": 1}), "p'": types.probability({"a'": 1})}
    return Margins(types, forms)


def _one_sided() -> Margins:
    """Own state X and natural outcome Y_n; where the own state is correct, supplying it changes nothing."""
    types = ResponseTypes(("1", "n"), ("X",))
    observed = {"xy": {"X": 1, "n": 1}, "xy'": {"X": 1, "n": 0}, "x'y": {"X": 0, "n": 1}, "x'y'": {"X": 0, "n": 0}}
    forms = {name: types.probability(values) for name, values in observed.items()}
    forms["p1"] = types.probability({"1": 1})
    changed = types.event({"X": 1}) & (types.event({"1": 1}) ^ types.event({"n": 1}))
    return Margins(types, forms, (changed,))


COMBINED, ONE_SIDED = _combined(), _one_sided()
