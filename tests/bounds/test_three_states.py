"""The three states at once: what the margins leave, what pinned contrasts imply, and couplings that attain it."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from dodiag.bounds.errors import ImpossibleMargins, NotAProbability
from dodiag.bounds.formulas import pns_bounds
from dodiag.bounds.identified import Assumption
from dodiag.bounds.three_states import (
    COORDINATES,
    RESPONSE_TYPES,
    SIX_CONTRASTS,
    joint_region,
    least_coupling,
    pns_intervals,
    reversed_contrast,
    tightened,
)
from dodiag.problems import UsageError
from dodiag.vocabulary import HOMOGENEOUS, Contrast, State

laws = settings(max_examples=100, deadline=None)
ONE_ZERO, ONE_NONE, NONE_ZERO = COORDINATES
HALF = Fraction(1, 2)


@st.composite
def joints(draw):
    """Exact probabilities of the eight response types."""
    counts = draw(st.lists(st.integers(0, 6), min_size=8, max_size=8).filter(sum))
    return [Fraction(count, sum(counts)) for count in counts]


rationals = st.integers(0, 12).map(lambda k: Fraction(k, 12))


def true_pns(q, contrast):
    a, b = HOMOGENEOUS.index(contrast.a), HOMOGENEOUS.index(contrast.a_prime)
    return sum(share for outcomes, share in zip(RESPONSE_TYPES, q, strict=True) if outcomes[a] and not outcomes[b])


def margins_of(q):
    return [sum(share for y, share in zip(RESPONSE_TYPES, q, strict=True) if y[i]) for i in range(3)]


def by_linear_program(margins, contrast, known):
    """Both ends of PNS(s, t) by minimising over the eight response types; None where nothing is feasible."""
    row = {c: [float(true_pns(np.eye(8)[k], c)) for k in range(8)] for c in SIX_CONTRASTS}
    equal = [[1] * 8, *[[y[i] for y in RESPONSE_TYPES] for i in range(3)]]
    above = [row[c] for c in known] + [[-v for v in row[c]] for c in known]
    limits = [float(up) for _, up in known.values()] + [-float(low) for low, _ in known.values()]
    found = []
    for sign in (1, -1):
        program = linprog(
            [sign * v for v in row[contrast]],
            A_eq=equal,
            b_eq=[1, *map(float, margins)],
            A_ub=above or None,
            b_ub=limits or None,
        )
        if program.status == 2:
            return None
        assert program.status == 0
        found.append(sign * program.fun)
    return found


@laws
@given(rationals, rationals, rationals)
def test_the_third_arm_never_tightens_a_single_contrast(p1, p0, pn):
    intervals = pns_intervals(p1, p0, pn)
    region = joint_region(p1, p0, pn)
    p = dict(zip(HOMOGENEOUS, (p1, p0, pn), strict=True))
    for c in SIX_CONTRASTS:
        alone = pns_bounds(p[c.a], p[c.a_prime])
        assert intervals[c].ends() == (alone.lower, alone.upper)
        assert region.interval(c) == (max(0, p[c.a] - p[c.a_prime]), min(p[c.a], 1 - p[c.a_prime]))


@laws
@given(joints())
def test_every_joint_distribution_lies_in_the_region(q):
    region = joint_region(*margins_of(q))
    assert region.exact
    assert region.contains(*(true_pns(q, c) for c in COORDINATES))


@laws
@given(joints())
def test_antisymmetry_and_the_cycle(q):
    region = joint_region(*margins_of(q))
    point = [true_pns(q, c) for c in COORDINATES]
    coupling = region.coupling(*point)
    p = dict(zip(HOMOGENEOUS, region.coupling(*point).margins, strict=True))
    for c in SIX_CONTRASTS:
        assert coupling.pns(c) - coupling.pns(reversed_contrast(c)) == p[c.a] - p[c.a_prime]
    cycle = sum(coupling.pns(Contrast.parse(text)) for text in ("1,0", "0,n", "n,1"))
    assert cycle == 1 - coupling.probabilities[0] - coupling.probabilities[-1]


@laws
@given(*[rationals] * 6)
def test_a_point_is_in_the_region_exactly_if_a_coupling_has_it(p1, p0, pn, x, y, w):
    region = joint_region(p1, p0, pn)
    feasible = (
        by_linear_program((p1, p0, pn), ONE_ZERO, dict(zip(COORDINATES, ((x, x), (y, y), (w, w)), strict=True)))
        is not None
    )
    assert bool(region.contains(x, y, w)) is feasible
    assert (not region.violated(x, y, w)) is feasible
    if feasible:
        coupling = region.coupling(x, y, w)
        assert min(coupling.probabilities) >= 0
        assert sum(coupling.probabilities) == 1
        assert coupling.margins == (p1, p0, pn)
        assert [coupling.pns(c) for c in COORDINATES] == [x, y, w]
    else:
        with pytest.raises(ImpossibleMargins) as caught:
            region.coupling(x, y, w)
        assert len(caught.value.violated) == len(region.violated(x, y, w))


def test_the_region_is_right_on_a_grid_of_points():
    """Points on a grid of twelfths against the eight inequalities q ≥ 0 with their one free number, exactly."""
    rng = np.random.default_rng(3)
    in_boxes_only = 0
    for p1, p0, pn in rng.integers(0, 13, size=(60, 3)).tolist():
        x, y, w = np.meshgrid(*[np.arange(13)] * 3, indexing="ij")
        both10, both1n, both0n = p1 - x, p1 - y, pn - w
        least = np.max(np.broadcast_arrays(0, both10 + both1n - p1, both10 + both0n - p0, both1n + both0n - pn), axis=0)
        most = np.min([both10, both1n, both0n, 12 - p1 - p0 - pn + both10 + both1n + both0n], axis=0)
        region = joint_region(p1 / 12, p0 / 12, pn / 12)
        found = region.contains(x / 12, y / 12, w / 12)
        assert (found == (least <= most)).all()
        boxes = np.ones_like(found)
        for values, c in zip((x, y, w), COORDINATES, strict=True):
            lower, upper = region.interval(c)
            boxes &= (values / 12 >= lower - 1e-12) & (values / 12 <= upper + 1e-12)
        in_boxes_only += (boxes & ~found).sum()
    assert in_boxes_only > 100


@laws
@given(rationals, rationals, rationals)
def test_one_coupling_attains_all_six_lower_ends(p1, p0, pn):
    coupling = least_coupling(p1, p0, pn)
    assert sum(coupling.probabilities) == 1
    assert min(coupling.probabilities) >= 0
    assert coupling.margins == (p1, p0, pn)
    region = joint_region(p1, p0, pn)
    for c in SIX_CONTRASTS:
        assert coupling.pns(c) == region.interval(c)[0]


@laws
@given(*[st.integers(1, 11).map(lambda k: Fraction(k, 12))] * 3)
def test_upper_ends_are_in_general_not_attained_together(p1, p0, pn):
    together = joint_region(p1, p0, pn).upper_ends_together()
    assert together is (p1 + p0 + pn <= 1 or p1 + p0 + pn >= 2)


def known_ends(draw_width):
    """Margins of a joint distribution and ends around some of its PNS, in either direction."""

    @st.composite
    def strategy(draw):
        q = draw(joints())
        which = draw(st.lists(st.sampled_from(SIX_CONTRASTS), max_size=3, unique=True))
        known = {}
        for c in which:
            value = true_pns(q, c)
            below, above = draw(draw_width), draw(draw_width)
            known[c] = (max(Fraction(0), value - below), min(Fraction(1), value + above))
        return q, known

    return strategy()


@settings(max_examples=60, deadline=None)
@given(known_ends(st.sampled_from([Fraction(0), Fraction(1, 20), Fraction(1, 5)])))
def test_what_known_ends_imply_is_sharp(case):
    q, known = case
    margins = margins_of(q)
    region = joint_region(*margins, known=known)
    found = tightened(*map(float, margins), known={c: (float(a), float(b)) for c, (a, b) in known.items()})
    for c in SIX_CONTRASTS:
        lower, upper = by_linear_program(margins, c, known)
        assert region.interval(c) == (pytest.approx(lower, abs=1e-9), pytest.approx(upper, abs=1e-9))
        assert found[c].ends() == (pytest.approx(lower, abs=1e-9), pytest.approx(upper, abs=1e-9))
        assert region.interval(c)[0] <= true_pns(q, c) <= region.interval(c)[1]


@settings(max_examples=40, deadline=None)
@given(known_ends(st.sampled_from([Fraction(0), Fraction(1, 20), Fraction(1, 5)])))
def test_vertices_are_the_extremes_of_the_region(case):
    q, known = case
    region = joint_region(*margins_of(q), known=known)
    corners = region.vertices()
    assert corners
    for corner in corners:
        assert region.contains(*corner, slack=0)
        assert sum(side.left(*corner) == side.limit for side in region.inequalities) >= 3
    for place, c in enumerate(COORDINATES):
        values = [corner[place] for corner in corners]
        assert (min(values), max(values)) == region.interval(c)


def test_vertices_with_rounded_margins_are_those_of_the_exact_ones():
    exact = joint_region(Fraction(7, 10), Fraction(2, 5), Fraction(1, 2)).vertices()
    rounded = joint_region(0.7, 0.4, 0.5).vertices()
    assert len(rounded) == len(exact)
    assert np.allclose(np.array(rounded), np.array(exact, dtype=float), atol=1e-9)


@laws
@given(joints(), st.permutations(HOMOGENEOUS))
def test_two_monotone_links_compose(q, states):
    strong, middle, weak = states
    place = {state: HOMOGENEOUS.index(state) for state in HOMOGENEOUS}
    kept = [
        share if y[place[strong]] >= y[place[middle]] >= y[place[weak]] else 0
        for y, share in zip(RESPONSE_TYPES, q, strict=True)
    ]
    if not sum(kept):
        return
    p = [share / sum(kept) for share in kept]
    margins = margins_of(p)
    region = joint_region(*margins, monotone=[Contrast(strong, middle), Contrast(middle, weak)])
    assert region.interval(Contrast(weak, strong)) == (0, 0)
    identified = margins[place[strong]] - margins[place[weak]]
    assert region.interval(Contrast(strong, weak)) == (identified, identified)
    found = tightened(*map(float, margins), monotone=[Contrast(strong, middle), Contrast(middle, weak)])
    assert found[Contrast(strong, weak)].identified
    assert Assumption.MONOTONE in found[Contrast(strong, weak)].assumptions


def test_transfer_of_a_known_contrast():
    """PNS(1,0) ≥ PNS(1,n) − PNS(0,n): no effect on average, yet half of the units need the correct answer."""
    margins = (HALF, HALF, HALF)
    assert joint_region(*margins).interval(ONE_ZERO) == (0, HALF)
    known = {ONE_NONE: (HALF, HALF), NONE_ZERO: (0, 0)}
    assert joint_region(*margins, known=known).interval(ONE_ZERO) == (HALF, HALF)


def test_margins_and_known_ends_broadcast():
    rng = np.random.default_rng(5)
    q = rng.dirichlet(np.ones(8) * 0.4, size=(4, 3))
    p1, p0, pn = (q[..., [y[i] == 1 for y in RESPONSE_TYPES]].sum(-1) for i in range(3))
    truth = {c: np.array([[true_pns(q[i, j], c) for j in range(3)] for i in range(4)]) for c in SIX_CONTRASTS}
    known = {ONE_NONE: (truth[ONE_NONE], truth[ONE_NONE]), NONE_ZERO: (0.0, truth[NONE_ZERO])}
    found = tightened(p1, p0, pn, known=known)
    narrowed = 0
    for c in SIX_CONTRASTS:
        assert found[c].lower.shape == found[c].upper.shape == found[c].undefined.shape == (4, 3)
        assert (found[c].lower <= truth[c] + 1e-12).all()
        assert (found[c].upper >= truth[c] - 1e-12).all()
        one = {k: (np.broadcast_to(a, (4, 3))[2, 1], b[2, 1]) for k, (a, b) in known.items()}
        single = tightened(p1[2, 1], p0[2, 1], pn[2, 1], known=one)[c].ends()
        assert (found[c].lower[2, 1], found[c].upper[2, 1]) == single
        assert pns_intervals(p1, p0, pn)[c].undefined.shape == (4, 3)
        narrowed += (found[c].width < pns_intervals(p1, p0, pn)[c].width - 1e-9).sum()
    assert narrowed > 12


@pytest.mark.parametrize(
    ("known", "monotone", "says"),
    [
        ({ONE_ZERO: (0.9, 0.95)}, (), "known for PNS(1,0)"),
        ({ONE_ZERO: (0.4, 0.3)}, (), "lower end <= upper end known for PNS(1,0) (here 0.4 > 0.3)"),
        ({}, [Contrast.parse("0,1")], "PNS(1,0) as (0,1) is monotone"),
        ({ONE_ZERO: (0.6, 0.6), ONE_NONE: (0.2, 0.2), NONE_ZERO: (0.3, 0.3)}, (), "here 0.6 > 0.5"),
    ],
)
def test_a_contradiction_is_an_error_that_names_it(known, monotone, says):
    for function in (tightened, joint_region):
        with pytest.raises(ImpossibleMargins) as caught:
            function(0.7, 0.4, 0.5, known=known, monotone=monotone)
        assert says in caught.value.violated[0]


@pytest.mark.parametrize("wrong", [-0.1, 1.2, float("nan"), Fraction(3, 2)])
def test_what_is_no_probability_is_an_error(wrong):
    for function in (pns_intervals, tightened, joint_region, least_coupling):
        for place, name in enumerate(("p1", "p0", "pn")):
            margins = [HALF, HALF, HALF]
            margins[place] = wrong
            with pytest.raises(NotAProbability) as caught:
                function(*margins)
            assert caught.value.name == name
    with pytest.raises(NotAProbability):
        joint_region(0.5, 0.5, 0.5, known={ONE_ZERO: (0.2, wrong)})


def test_a_point_that_is_no_number_is_an_error_and_one_outside_is_not_contained():
    region = joint_region(0.5, 0.5, 0.5)
    with pytest.raises(NotAProbability):
        region.contains(0.1, float("nan"), 0.2)
    assert region.contains([-0.1, 0.1, 2.0], 0.1, 0.1).tolist() == [False, True, False]


def test_other_states_and_arrays_are_refused_where_they_have_no_meaning():
    with pytest.raises(UsageError, match="not among the three states"):
        joint_region(0.5, 0.5, 0.5).interval(Contrast(State.CORRECT_TEXT, State.NATURAL))
    with pytest.raises(UsageError, match="p0 is an array"):
        joint_region(0.5, np.array([0.5, 0.4]), 0.5)


def test_slack_moves_every_side():
    region = joint_region(Fraction(3, 4), Fraction(1, 4), HALF)
    beyond = (HALF - Fraction(1, 1000), Fraction(1, 4), Fraction(1, 4))
    assert not region.contains(*beyond)
    assert region.contains(*beyond, slack=Fraction(1, 1000))


def test_a_region_prints_its_inequalities_in_the_papers_terms():
    text = str(joint_region(0.75, 0.25, 0.5, known={ONE_NONE: (0.25, 0.3)}))
    assert text.splitlines() == [
        "PNS(1,0) >= max(0, p1 - p0): - x <= -0.5",
        "PNS(1,0) <= min(p1, 1 - p0): x <= 0.75",
        "PNS(1,n) >= max(0, p1 - pn): - y <= -0.25",
        "PNS(1,n) <= 0.3 (known): y <= 0.3",
        "PNS(n,0) >= max(0, pn - p0): - w <= -0.25",
        "PNS(n,0) <= min(pn, 1 - p0): w <= 0.5",
        "PNS(1,0) <= PNS(1,n) + PNS(n,0): x - y - w <= 0",
        "PNS(1,n) <= PNS(1,0) + PNS(0,n): - x + y - w <= -0.25",
        "PNS(n,0) <= PNS(n,1) + PNS(1,0): - x - y + w <= -0.25",
        "PNS(1,0) + PNS(0,n) + PNS(n,1) <= 1: x + y + w <= 1.5",
    ]


def test_only_what_was_told_is_printed_as_known():
    assert "known" not in str(joint_region(0.2, 0.9, 0.6))
    assert str(joint_region(0.2, 0.9, 0.6, known={ONE_ZERO: (0.1, 0.2)})).count("known") == 1


def test_float_couplings_are_distributions_everywhere_in_the_region():
    rng = np.random.default_rng(7)
    for p1, p0, pn in rng.random((20, 3)):
        region = joint_region(p1, p0, pn)
        corners = np.array(region.vertices())
        for point in [*corners, *(rng.dirichlet(np.ones(len(corners)), size=5) @ corners)]:
            coupling = region.coupling(*point)
            assert min(coupling.probabilities) >= 0
            assert sum(coupling.probabilities) == pytest.approx(1)
            assert [coupling.pns(c) for c in COORDINATES] == pytest.approx(point.tolist(), abs=1e-11)


def test_response_types_are_all_outcomes_of_the_three_states():
    assert set(RESPONSE_TYPES) == set(product((0, 1), repeat=3))
    coupling = least_coupling(1, 0, 1)
    assert coupling.probability({State.CORRECT: 1, State.INCORRECT: 0, State.NATURAL: 1}) == 1
