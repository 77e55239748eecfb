"""Three states of one prerequisite at once: what their contrasts share, and what they do not."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import permutations, product

from dodiag.bounds.linear.bound import certify
from dodiag.bounds.linear.errors import ImpossibleProgram
from dodiag.bounds.linear.program import Program
from dodiag.proofs.linear.claims import (
    NOTHING,
    Affine,
    Ledger,
    Margins,
    all_of,
    benefit,
    implied,
    margins_of,
    mutant,
    region,
    sharp_end,
    statement,
)
from dodiag.proofs.statement import Finding, Statement, Verdict

STATES = margins_of(("1", "0", "n"), ("p1", "p0", "pn"))
THREE = ("ps = P(Y_s=1) for the states s = 1, 0, n of one prerequisite in one context",)
JOINT = Margins(
    STATES.types,
    {
        **STATES.forms,
        "x": benefit(STATES, "1", "0"),
        "y": benefit(STATES, "1", "n"),
        "w": benefit(STATES, "n", "0"),
    },
)
"""Three margins together with PNS(1,0) = x, PNS(1,n) = y, PNS(n,0) = w."""

BOXES: tuple[Affine, ...] = tuple(
    affine
    for name, s, t in (("x", "p1", "p0"), ("y", "p1", "pn"), ("w", "pn", "p0"))
    for affine in ({name: 1}, {name: 1, s: -1, t: 1}, {s: 1, name: -1}, {"": 1, t: -1, name: -1})
)
"""The Fréchet bounds of the three, as functions that are 0 or more."""

FOUR: dict[str, Affine] = {
    "x ≤ y + w": {"y": 1, "w": 1, "x": -1},
    "y ≤ x + w - (pn - p0)": {"x": 1, "w": 1, "pn": -1, "p0": 1, "y": -1},
    "w ≤ x + y - (p1 - pn)": {"x": 1, "y": 1, "p1": -1, "pn": 1, "w": -1},
    "x + y + w ≤ 1 + p1 - p0": {"": 1, "p1": 1, "p0": -1, "x": -1, "y": -1, "w": -1},
}
"""The inequalities that couple the three."""


def three_state_statements() -> list[Statement]:
    """Return the claims about the contrasts of three states."""
    x, y, w = (JOINT.forms[name] for name in "xyw")
    p1, p0, pn = STATES.forms.values()
    harm_zero_natural = benefit(STATES, "0", "n")
    t = STATES.types
    cycle = x + harm_zero_natural + benefit(STATES, "n", "1")
    same = t.probability({"1": 1, "0": 1, "n": 1}) + t.probability({"1": 0, "0": 0, "n": 0})
    four = list(FOUR.values())
    named = (*THREE, "x = PNS(1,0), y = PNS(1,n), w = PNS(n,0)")
    gaps: list[Affine] = [{f"p{s}": 1, f"p{r}": -1} for s, r in permutations("10n", 2)]
    only = t.probability({"1": 1, "0": 0, "n": 0})
    return [
        statement(
            "three-state/third-arm",
            "PNS(s,t) has the ends max(0, ps - pt) and min(ps, 1 - pt), whatever the third margin",
            _third_arm,
            hypotheses=THREE,
        ),
        statement(
            "three-state/one-coupling",
            "one distribution attains all six lower ends at once, for every margin",
            _one_coupling,
            hypotheses=THREE,
        ),
        statement(
            "three-state/antisymmetry",
            "PNS(s,t) - PNS(t,s) = ps - pt",
            lambda: implied(
                STATES,
                [],
                [
                    benefit(STATES, s, r) - benefit(STATES, r, s) == STATES.forms[f"p{s}"] - STATES.forms[f"p{r}"]
                    for s, r in permutations("10n", 2)
                ],
            ),
            hypotheses=THREE,
        ),
        statement(
            "three-state/triangle",
            "PNS(r,t) ≤ PNS(r,s) + PNS(s,t) for all states",
            lambda: implied(
                STATES,
                [],
                [
                    benefit(STATES, r, u) <= benefit(STATES, r, s) + benefit(STATES, s, u)
                    for r, s, u in permutations("10n", 3)
                ],
            ),
            hypotheses=THREE,
        ),
        statement(
            "three-state/transfer",
            "PNS(1,0) ≥ PNS(1,n) - PNS(0,n)",
            lambda: implied(STATES, [], [x >= y - harm_zero_natural]),
            hypotheses=THREE,
        ),
        statement(
            "three-state/cycle",
            "PNS(1,0) + PNS(0,n) + PNS(n,1) = 1 - q111 - q000",
            lambda: implied(STATES, [], [cycle == 1 - same]),
            hypotheses=THREE,
        ),
        statement(
            "three-state/cycle-sharp",
            "the ends of that sum are max |ps - pt| and min(1, p1 + p0 + pn, 3 - p1 - p0 - pn)",
            lambda: all_of(
                [
                    sharp_end(STATES, cycle, "min", gaps),
                    sharp_end(
                        STATES,
                        cycle,
                        "max",
                        [{"": 1}, {"p1": 1, "p0": 1, "pn": 1}, {"": 3, "p1": -1, "p0": -1, "pn": -1}],
                    ),
                ]
            ),
            hypotheses=THREE,
        ),
        statement(
            "three-state/region",
            f"p1, p0, pn, x, y, w are possible if and only if the boxes and {', '.join(FOUR)} hold",
            lambda: region(JOINT, [*BOXES, *four]),
            source="Pitowsky 1991; Deza & Laurent 1997",
            hypotheses=named,
        ),
        statement(
            "three-state/region-grid",
            "the same at every point with coordinates 0, 1/4, ..., 1, by filling the types",
            _region_on_grid,
            hypotheses=named,
        ),
        statement(
            "three-state/only-correct",
            "P(Y_1=1, Y_0=0, Y_n=0) has the ends max(0, p1 - p0 - pn) and min(p1, 1 - p0, 1 - pn)",
            lambda: all_of(
                [
                    sharp_end(STATES, only, "min", [NOTHING, {"p1": 1, "p0": -1, "pn": -1}]),
                    sharp_end(STATES, only, "max", [{"p1": 1}, {"": 1, "p0": -1}, {"": 1, "pn": -1}]),
                ]
            ),
            hypotheses=THREE,
        ),
        statement(
            "monotone/compose",
            "if nothing breaks from 0 to n and from n to 1, nothing breaks from 0 to 1",
            lambda: implied(
                STATES, [harm_zero_natural == 0, benefit(STATES, "n", "1") == 0], [benefit(STATES, "0", "1") == 0]
            ),
            hypotheses=("P(Y_0=1, Y_n=0) = 0", "P(Y_n=1, Y_1=0) = 0"),
        ),
        mutant(
            "three-state/mutant-triangle",
            "PNS(1,0) ≥ PNS(1,n) + PNS(n,0)",
            lambda: implied(STATES, [], [x >= y + w]),
            *THREE,
        ),
        mutant("three-state/mutant-transfer", "PNS(1,0) ≥ PNS(1,n)", lambda: implied(STATES, [], [x >= y]), *THREE),
        mutant(
            "three-state/mutant-third-arm", "PNS(1,0) ≥ p1 - pn", lambda: implied(STATES, [], [x >= p1 - pn]), *THREE
        ),
        mutant("three-state/mutant-boxes", "the boxes alone are enough", lambda: region(JOINT, BOXES), *named),
        *(
            mutant(
                f"three-state/mutant-without-{number}",
                f"the boxes and the four without {text} are enough",
                _region_check([*BOXES, *(affine for affine in four if affine is not left_out)]),
                *named,
            )
            for number, (text, left_out) in enumerate(FOUR.items(), start=1)
        ),
        mutant(
            "three-state/mutant-upper-ends-together",
            "one distribution attains the upper ends x = y = w = 1/2 at p1 = p0 = pn = 1/2",
            _upper_ends_together,
            *named,
        ),
        mutant(
            "three-state/mutant-only-correct",
            "P(Y_1=1, Y_0=0, Y_n=0) ≥ p1 - max(p0, pn) where p0 = pn",
            lambda: implied(STATES, [p0 - pn == 0], [only >= p1 - p0]),
            *THREE,
        ),
        mutant(
            "monotone/mutant-one-link",
            "if nothing breaks from 0 to n, nothing breaks from 0 to 1",
            lambda: implied(STATES, [harm_zero_natural == 0], [benefit(STATES, "0", "1") == 0]),
            "P(Y_0=1, Y_n=0) = 0",
        ),
    ]


def _region_check(claimed: Sequence[Affine]) -> Callable[[], Finding]:
    return lambda: region(JOINT, claimed)


def _third_arm() -> Finding:
    """All six contrasts of three states have the bounds of their own two arms."""
    findings = []
    for s, t in permutations(STATES.types.regimes, 2):
        query = benefit(STATES, s, t)
        findings.append(sharp_end(STATES, query, "min", [NOTHING, {f"p{s}": 1, f"p{t}": -1}]))
        findings.append(sharp_end(STATES, query, "max", [{f"p{s}": 1}, {"": 1, f"p{t}": -1}]))
    return all_of(findings)


def _region_on_grid(steps: int = 4) -> Finding:
    """Every grid point of (p1, p0, pn, x, y, w): the inequalities hold if and only if the eight types can be filled.

    With the three margins and the three pair probabilities given, the eight types depend on one number, P(111), alone.
    All quantities are counted in units of 1/steps.
    """
    names = ("p1", "p0", "pn", "x", "y", "w")
    inequalities = [*BOXES, *FOUR.values()]
    inside = coupled = 0
    for values in product(range(steps + 1), repeat=6):
        at = {"": steps, **dict(zip(names, values, strict=True))}
        held = [sum(weight * at[name] for name, weight in affine.items()) >= 0 for affine in inequalities]
        p1, p0, pn, x, y, w = values
        one_zero, one_natural, zero_natural = p1 - x, p1 - y, pn - w
        least = max(0, one_zero + one_natural - p1, one_zero + zero_natural - p0, one_natural + zero_natural - pn)
        alone = p1 + p0 + pn - one_zero - one_natural - zero_natural
        most = min(one_zero, one_natural, zero_natural, steps - alone)
        if all(held) != (least <= most):
            point = ", ".join(f"{name} = {Fraction(value, steps)}" for name, value in zip(names, values, strict=True))
            return Finding(Verdict.REFUTED, f"the inequalities are wrong at {point}")
        inside += all(held[: len(BOXES)])
        coupled += all(held[: len(BOXES)]) and not all(held)
    return Finding(
        Verdict.PROVED, f"{(steps + 1) ** 6} points; {inside} inside the boxes, of which {coupled} jointly infeasible"
    )


def _one_coupling() -> Finding:
    """With monotone types in every order of the margins, all lower ends hold at once and all margins are possible."""
    findings = []
    for high, middle, low in permutations(STATES.types.regimes):
        never = tuple(STATES.types.event({b: 0, c: 1}) for b, c in ((high, middle), (middle, low)))
        chain = Margins(STATES.types, STATES.forms, never)
        attained = [
            (benefit(STATES, s, t) == (STATES.forms[f"p{s}"] - STATES.forms[f"p{t}"]))
            for s, t in ((high, middle), (middle, low), (high, low))
        ]
        attained += [benefit(STATES, t, s) == 0 for s, t in ((high, middle), (middle, low), (high, low))]
        findings.append(implied(chain, [], attained))
        order: list[Affine] = [
            {"": 1, f"p{high}": -1},
            {f"p{high}": 1, f"p{middle}": -1},
            {f"p{middle}": 1, f"p{low}": -1},
            {f"p{low}": 1},
        ]
        findings.append(region(chain, order))
    return all_of(findings)


def _upper_ends_together() -> Finding:
    """Whether a distribution with all success probabilities 1/2 attains all three upper ends."""
    half = Fraction(1, 2)
    together = Program.of(STATES.types, [form == half for form in JOINT.forms.values()])
    try:
        certify(together, STATES.types.constant(0), "min")
    except ImpossibleProgram as error:
        Ledger().add(error.certificate, together, "infeasible")
        return Finding(Verdict.REFUTED, f"no distribution has p1 = p0 = pn = x = y = w = 1/2: {error.message}")
    return Finding(Verdict.PROVED, "1 certificate checked")
