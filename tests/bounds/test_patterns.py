"""Patterns over several regimes: sharp by linear programming over the response types, for any margins."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from dodiag.bounds.errors import ImpossibleMargins, NotAProbability, Undefined
from dodiag.bounds.formulas import pn_bounds, pns_bounds, ps_bounds
from dodiag.bounds.identified import Assumption
from dodiag.bounds.patterns import (
    conjunctive_bottleneck,
    only_correct_works,
    pattern_bounds,
    single_repair_rescues,
)
from dodiag.problems import UsageError

laws = settings(max_examples=80, deadline=None)
P = st.integers(0, 16).map(lambda k: k / 16)


def by_linear_program(margins, event, possible=lambda y: True):
    """Both ends of P(event) over all distributions of response types with these margins; None if there is none."""
    types = [y for y in product((0, 1), repeat=len(margins)) if possible(y)]
    equal = [[1] * len(types), *[[y[r] for y in types] for r in range(len(margins))]]
    cost = np.array([float(event(y)) for y in types])
    programs = [linprog(sign * cost, A_eq=equal, b_eq=[1, *margins]) for sign in (1, -1)]
    if any(program.status == 2 for program in programs):
        return None
    assert all(program.status == 0 for program in programs)
    return programs[0].fun, -programs[1].fun


def close(ends):
    return tuple(pytest.approx(end, abs=1e-9) for end in ends)


@laws
@given(st.lists(st.tuples(P, st.integers(0, 1)), min_size=1, max_size=5))
def test_pattern_bounds_are_sharp(regimes):
    success = {f"r{k}": p for k, (p, _) in enumerate(regimes)}
    pattern = {f"r{k}": outcome for k, (_, outcome) in enumerate(regimes)}
    wanted = tuple(pattern.values())
    ends = by_linear_program(list(success.values()), lambda y: y == wanted)
    assert pattern_bounds(success, pattern).ends() == close(ends)


@laws
@given(st.lists(st.tuples(P, st.integers(0, 1)), min_size=2, max_size=4), st.data())
def test_conditional_pattern_bounds_are_sharp_or_undefined(regimes, data):
    success = {f"r{k}": p for k, (p, _) in enumerate(regimes)}
    pattern = {f"r{k}": outcome for k, (_, outcome) in enumerate(regimes)}
    given_regime = data.draw(st.sampled_from(list(pattern)))
    share = success[given_regime] if pattern[given_regime] else 1 - success[given_regime]
    found = pattern_bounds(success, pattern, given=given_regime)
    if share == 0:
        assert np.isnan(found.lower)
        with pytest.raises(Undefined, match="probability"):
            found.ends()
        return
    wanted = tuple(pattern.values())
    lower, upper = by_linear_program(list(success.values()), lambda y: y == wanted)
    assert found.ends() == close((lower / share, upper / share))


@laws
@given(P, P)
def test_pns_pn_and_ps_are_patterns_of_two_regimes(p, p_prime):
    success, pattern = {"a": p, "a'": p_prime}, {"a": 1, "a'": 0}
    for regime, bounds in ((None, pns_bounds), ("a", pn_bounds), ("a'", ps_bounds)):
        found, expected = pattern_bounds(success, pattern, given=regime), bounds(p, p_prime)
        assert found.lower == pytest.approx(float(expected.lower), nan_ok=True)
        assert found.upper == pytest.approx(float(expected.upper), nan_ok=True)


@laws
@given(P, P, P)
def test_only_the_correct_answer_works(p1, p0, pn):
    lower, upper = only_correct_works(p1, p0, pn).ends()
    assert lower == pytest.approx(max(0, p1 - p0 - pn), abs=1e-12)
    assert (lower, upper) == close(by_linear_program([p1, p0, pn], lambda y: y == (1, 0, 0)))


@laws
@given(P, st.lists(P, min_size=1, max_size=4), st.none() | P)
def test_conjunctive_bottleneck_is_sharp(together, parts, none):
    none = none if len(parts) > 1 else None
    without_one = {f"X{i}": v for i, v in enumerate(parts)}
    margins = [together, *parts, *([] if none is None else [none])]
    found = conjunctive_bottleneck(together, without_one, none).ends()
    assert found[0] == pytest.approx(max(0, together - sum(margins[1:])), abs=1e-12)
    assert found == close(by_linear_program(margins, lambda y: y[0] and not any(y[1:])))


@laws
@given(P, st.lists(P, min_size=2, max_size=3), P, st.booleans())
def test_conjunctive_bottleneck_under_monotonicity_is_sharp(together, parts, none, with_none):
    members = len(parts)
    margins = [together, *parts, *([none] if with_none else [])]

    def monotone(y):
        return all(part <= y[0] for part in y[1 : members + 1]) and all(
            y[members + 1 :] <= (part,) or not with_none for part in y[1 : members + 1]
        )

    ends = by_linear_program(margins, lambda y: y[0] and not any(y[1:]), monotone)
    without_one = {f"X{i}": v for i, v in enumerate(parts)}
    if ends is None:
        with pytest.raises(ImpossibleMargins) as caught:
            conjunctive_bottleneck(together, without_one, none if with_none else None, monotone=True)
        assert all(" <= " in text for text in caught.value.violated)
        return
    found = conjunctive_bottleneck(together, without_one, none if with_none else None, monotone=True)
    assert found.ends() == close(ends)
    assert Assumption.MONOTONE in found.assumptions


def test_monotonicity_narrows_the_conjunctive_bottleneck():
    parts = {"X1": 0.5, "X2": 0.5}
    assert conjunctive_bottleneck(0.75, parts, 0.375).ends() == (0, 0.5)
    assert conjunctive_bottleneck(0.75, parts, 0.375, monotone=True).ends() == (0.125, 0.25)


@laws
@given(P, st.lists(P, min_size=1, max_size=4))
def test_single_repair_rescues_is_sharp(none, singles):
    named = {f"X{i}": v for i, v in enumerate(singles)}
    ends = by_linear_program([none, *singles], lambda y: not y[0] and any(y[1:]))
    assert single_repair_rescues(none, named).ends() == close(ends)
    among = single_repair_rescues(none, named, among_failures=True)
    if none == 1:
        assert among.undefined
        assert "1 - p_none" in among.reason
    else:
        assert among.ends() == close((ends[0] / (1 - none), ends[1] / (1 - none)))


@laws
@given(st.lists(st.integers(0, 5), min_size=16, max_size=16).filter(sum))
def test_intervals_hold_the_truth_of_any_joint_distribution(counts):
    q = [Fraction(c, sum(counts)) for c in counts]
    types = list(product((0, 1), repeat=4))

    def share(event):
        return float(sum(w for w, y in zip(q, types, strict=True) if event(y)))

    v = [share(lambda y, r=r: y[r]) for r in range(4)]
    cases = [
        (conjunctive_bottleneck(v[3], {"i": v[2], "j": v[1]}, v[0]), share(lambda y: y == (0, 0, 0, 1))),
        (conjunctive_bottleneck(v[3], {"i": v[2], "j": v[1]}), share(lambda y: y[1:] == (0, 0, 1))),
        (single_repair_rescues(v[0], {"i": v[1], "j": v[2]}), share(lambda y: not y[0] and (y[1] or y[2]))),
    ]
    for found, truth in cases:
        assert found.lower - 1e-12 <= truth <= found.upper + 1e-12


def test_arrays_broadcast_and_each_entry_is_the_single_result():
    rng = np.random.default_rng(2)
    together, one, other, none = rng.random((3, 1)), rng.random(4), rng.random((3, 4)), 0.25
    for function in (
        lambda a, b, c, d: conjunctive_bottleneck(a, {"i": b, "j": c}, d),
        lambda a, b, c, d: single_repair_rescues(d, {"i": b, "j": c, "k": a}, among_failures=True),
        lambda a, b, c, d: pattern_bounds({"r": a, "s": b, "t": c}, {"r": 1, "s": 1, "t": 0}, given="t"),
        lambda a, b, c, d: pattern_bounds({"r": a, "s": b, "t": c}, {"r": 1, "s": 1, "t": 0}),
        lambda a, b, c, d: single_repair_rescues(d, {"i": b, "j": c, "k": a}),
        lambda a, b, c, d: conjunctive_bottleneck(
            np.maximum(a, np.maximum(b, c)), {"i": np.minimum(b, a), "j": np.minimum(c, a)}, monotone=True
        ),
    ):
        found = function(together, one, other, none)
        assert found.lower.shape == found.upper.shape == found.undefined.shape == (3, 4)
        assert (found.lower[2, 3], found.upper[2, 3]) == function(together[2, 0], one[3], other[2, 3], none).ends()
        assert all(np.shape(value) == (3, 4) for value in found.inputs.values())


def test_undefined_entries_are_marked_one_by_one():
    found = pattern_bounds({"a": [0.5, 0.5], "b": [0.5, 1.0]}, {"a": 1, "b": 0}, given="b")
    assert found.undefined.tolist() == [False, True]
    assert np.isnan(found.upper).tolist() == [False, True]


@laws
@given(st.lists(st.tuples(P, st.integers(0, 1)), min_size=1, max_size=4))
def test_printed_formulas_give_the_ends(regimes):
    success = {f"r{k}": p for k, (p, _) in enumerate(regimes)}
    pattern = {f"r{k}": outcome for k, (_, outcome) in enumerate(regimes)}
    cases = [
        pattern_bounds(success, pattern),
        single_repair_rescues(0.25, success),
        single_repair_rescues(0.25, success, among_failures=True),
    ]
    share = success["r0"] if pattern["r0"] else 1 - success["r0"]
    if share > 0 and len(regimes) > 1:
        cases.append(pattern_bounds(success, pattern, given="r0"))
    for found in cases:
        names = {"max": max, "min": lambda *a: min(a), **{k: float(v) for k, v in found.inputs.items()}}
        values = [eval(formula, {"__builtins__": {}}, names) for formula in found.formulas]
        assert values == [pytest.approx(end, abs=1e-12) for end in found.ends()]


@pytest.mark.parametrize("wrong", [-0.1, 1.1, float("nan")])
def test_what_is_no_probability_is_an_error(wrong):
    for call in (
        lambda: pattern_bounds({"a": wrong, "b": 0.5}, {"a": 1, "b": 0}),
        lambda: only_correct_works(0.5, wrong, 0.5),
        lambda: conjunctive_bottleneck(0.5, {"i": [0.5, wrong]}),
        lambda: conjunctive_bottleneck(0.5, {"i": 0.5, "j": 0.5}, wrong, monotone=True),
        lambda: single_repair_rescues(0.5, {"i": wrong}),
    ):
        with pytest.raises(NotAProbability):
            call()


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: pattern_bounds({"a": 0.5}, {}), "empty"),
        (lambda: pattern_bounds({"a": 0.5}, {"a": 2}), "says 2"),
        (lambda: pattern_bounds({"a": 0.5}, {"b": 1}), "regime b"),
        (lambda: pattern_bounds({"a": 0.5, "b": 0.5}, {"a": 1}, given="b"), "not in the pattern"),
        (lambda: pattern_bounds({"a": 0.5, "b": 0.5}, {"a": 1}, given="a"), "regime a alone"),
        (lambda: conjunctive_bottleneck(0.5, {}), "empty"),
        (lambda: conjunctive_bottleneck(0.5, {"i": 0.5}, 0.2), "set of one"),
        (lambda: single_repair_rescues(0.5, {}), "no single repair"),
        (lambda: single_repair_rescues(0.5, {"none": 0.5}), "called 'none'"),
    ],
)
def test_meaningless_questions_are_refused(call, says):
    with pytest.raises(UsageError, match=says):
        call()


def test_a_set_of_one_is_the_pns_of_its_member():
    found, alone = conjunctive_bottleneck(0.7, {"X1": 0.4}), pns_bounds(0.7, 0.4)
    assert found.ends() == (alone.lower, alone.upper)
