"""The algebra of events and forms: linear expressions are values, and everything else is refused."""

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dodiag.bounds.errors import NotAProbability
from dodiag.bounds.linear.errors import NotANumber, NotLinear, OpenParameter, OtherTypes, TooManyTypes, UnknownOutcome
from dodiag.bounds.linear.response_types import Parameter, ResponseTypes, number

F = Fraction
types = ResponseTypes(("1", "0", "n"), ("X",))
NAMES = types.names
p1, p0 = types.probability({"1": 1}), types.probability({"0": 1})
pn = types.conditional({"0": 0}, given={"1": 1})

patterns = st.dictionaries(st.sampled_from(NAMES), st.integers(0, 1))
weights = st.fractions(-3, 3, max_denominator=5)


@given(patterns)
def test_an_event_holds_the_types_with_its_digits(pattern):
    inside = [all(kind[NAMES.index(name)] == str(value) for name, value in pattern.items()) for kind in types.types]
    assert types.event(pattern).indicator() == [int(value) for value in inside]


@given(patterns, patterns)
def test_events_combine_as_sets(a, b):
    left, right = types.event(a), types.event(b)
    pairs = list(zip(left.indicator(), right.indicator(), strict=True))
    assert (left & right).indicator() == [x & y for x, y in pairs]
    assert (left | right).indicator() == [x | y for x, y in pairs]
    assert (left ^ right).indicator() == [x ^ y for x, y in pairs]
    assert (~left).indicator() == [1 - x for x, _ in pairs]
    assert ~(left & right) == (~left | ~right)


@given(patterns, patterns, weights, weights, weights)
@settings(max_examples=100, deadline=None)
def test_forms_are_a_vector_space(a, b, u, v, c):
    left, right = types.probability(a), types.probability(b)
    mixed = u * left - right * v + c
    expected = [u * x - v * y + c for x, y in zip(left.weights(), right.weights(), strict=True)]
    assert mixed.weights() == expected
    assert (c - mixed).weights() == [c - value for value in expected]
    assert (mixed / 2).weights() == [value / 2 for value in expected]
    assert sum([left, right]).weights() == (left + right).weights()


@pytest.mark.parametrize(
    "operation",
    [
        lambda: p1 * p0,
        lambda: p1 * pn,
        lambda: pn * 2,
        lambda: 2 * pn,
        lambda: pn + pn,
        lambda: p1 + pn,
        lambda: p1 - pn,
        lambda: 1 - pn,
        lambda: pn - 1,
        lambda: p1 / pn,
        lambda: pn / p1,
        lambda: pn / 2,
        lambda: p1**2,
        lambda: pn**2,
        lambda: p1 < p0,
        lambda: p1 > p0,
        lambda: p1 != p0,
        lambda: p1 == pn,
        lambda: pn == p1,
        lambda: pn == pn,
        lambda: pn <= Parameter("b"),
    ],
)
def test_what_is_not_linear_is_refused_and_says_so(operation):
    with pytest.raises(NotLinear, match="not linear"):
        operation()


@pytest.mark.parametrize(
    ("operation", "error"),
    [
        (lambda: p1 == 1.2, NotAProbability),
        (lambda: p1 <= -0.1, NotAProbability),
        (lambda: p1 == float("nan"), NotANumber),
        (lambda: p1 + float("inf"), NotANumber),
        (lambda: p1 * float("nan"), NotANumber),
        (lambda: p1 / 0, NotANumber),
        (lambda: p1 == "0.5", NotANumber),
        (lambda: p1 == Decimal("NaN"), NotANumber),
        (lambda: p1 + None, NotANumber),
        (lambda: types.event({"2": 1}), UnknownOutcome),
        (lambda: types.event({"1": 2}), UnknownOutcome),
        (lambda: types.event({"1": float("nan")}), UnknownOutcome),
        (lambda: ResponseTypes(("1", "1")), UnknownOutcome),
        (lambda: ResponseTypes(("1",), ("1",)), UnknownOutcome),
        (lambda: ResponseTypes(()), UnknownOutcome),
        (lambda: ResponseTypes(tuple(map(str, range(13)))), TooManyTypes),
        (lambda: p1 + ResponseTypes(("1",)).probability({"1": 1}), OtherTypes),
        (lambda: p1 <= ResponseTypes(("1",)).probability({"1": 1}), OtherTypes),
        (lambda: types.event({}) & ResponseTypes(("1",)).event({}), OtherTypes),
        (lambda: types.probability(ResponseTypes(("1",)).event({})), OtherTypes),
        (lambda: (p1 == Parameter("p")).at({}), OpenParameter),
        (lambda: (p1 == Parameter("p")).at({"p": 1.5}), NotAProbability),
    ],
)
def test_bad_input_gives_its_typed_error(operation, error):
    with pytest.raises(error):
        operation()


def test_a_chain_of_comparisons_is_refused_instead_of_losing_its_first_half():
    with pytest.raises(TypeError, match="chain"):
        0 <= p1 <= 1  # noqa: B015


def test_numpy_scalars_are_numbers_on_either_side():
    assert (np.float64(0.5) * p1).weights() == (p1 * 0.5).weights()
    assert (np.int64(2) * p1).weights() == (p1 * 2).weights()
    assert str(np.float64(0.5) >= p1) == "P(Y_1=1) ≤ 0.5"


@pytest.mark.parametrize(
    ("given_number", "expected"),
    [(1, 1), (F(4, 2), 2), (F(1, 2), F(1, 2)), (Decimal("0.7"), F(7, 10)), (np.int64(3), 3), (0.5, 0.5), (True, 1)],
)
def test_rationals_stay_exact(given_number, expected):
    made = number(given_number)
    assert made == expected
    assert type(made) is type(expected)


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        (types.probability({"1": 1, "X": 0}), "P(Y_1=1, X=0)"),
        (p1 - 2 * p0 + F(1, 2), "P(Y_1=1) - 2·P(Y_0=1) + 1/2"),
        (p1 - p1, "0"),
        (pn, "P(Y_0=0 | Y_1=1)"),
        (pn >= F(1, 2), "P(Y_0=0 | Y_1=1) ≥ 1/2"),
        (p1 / (p1 + p0), "(P(Y_1=1)) / (P(Y_1=1) + P(Y_0=1))"),
        (types.probability(types.event({"n": 0}) & ~types.event({"1": 0}).named("broken")), "P(Y_n=0, not (broken))"),
        (p1 == Parameter("p"), "P(Y_1=1) = p"),
    ],
)
def test_expressions_print_as_they_are_written(expression, text):
    assert str(expression) == text


def test_a_conditional_constraint_is_its_cross_product():
    constraint = pn >= F(1, 3)
    expected = types.probability({"1": 1, "0": 0}) - F(1, 3) * p1
    assert constraint.form.weights() == expected.weights()
    assert (constraint.relation, constraint.right) == (">=", 0)
