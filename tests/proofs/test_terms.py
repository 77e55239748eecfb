"""Terms and formulas: what is printed, what a solver reads and what is evaluated exactly are the same."""

import re
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dodiag.proofs.terms import (
    Constant,
    Named,
    both,
    either,
    equal,
    exists,
    is_not,
    maximum,
    minimum,
    rising,
    total,
    variables,
    where,
)

NAMES = ("a", "b", "c")
FRACTIONS = st.fractions(min_value=-3, max_value=3, max_denominator=6)
POINTS = st.fixed_dictionaries(dict.fromkeys(NAMES, FRACTIONS))
LEAVES = st.sampled_from(variables(" ".join(NAMES))) | FRACTIONS.map(Constant)
TERMS = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.tuples(inner, inner).map(lambda pair: pair[0] + pair[1]),
        st.tuples(inner, inner).map(lambda pair: pair[0] - pair[1]),
        st.tuples(inner, inner).map(lambda pair: pair[0] * pair[1]),
        inner.map(lambda one: -one),
        st.lists(inner, min_size=1, max_size=3).map(lambda several: maximum(*several)),
        st.lists(inner, min_size=1, max_size=3).map(lambda several: minimum(*several)),
        st.lists(inner, min_size=1, max_size=3).map(total),
    ),
    max_leaves=6,
)


def read_back(text, point):
    """Evaluate printed arithmetic with Python's own rules of precedence."""
    plain = text.replace("−", "-").replace("·", "*")
    plain = re.sub(r"\d+(/\d+)?", lambda found: f"Fraction('{found[0]}')", plain)
    largest, smallest = (lambda *values, f=f: f(values) for f in (max, min))
    return eval(plain, {"Fraction": Fraction, "max": largest, "min": smallest, **point})


@given(TERMS, POINTS)
def test_a_printed_term_has_the_value_of_the_term(term, point):
    assert read_back(term.text, point) == term.value(point)


@settings(max_examples=60)
@given(TERMS, POINTS)
def test_a_solver_gives_a_term_the_value_of_the_term(term, point):
    z3 = pytest.importorskip("z3", reason="z3-solver is not installed")
    lines = [
        "(define-fun dodiag.max ((x Real) (y Real)) Real (ite (>= x y) x y))",
        "(define-fun dodiag.min ((x Real) (y Real)) Real (ite (<= x y) x y))",
        *(f"(declare-const |{name}| Real)" for name in NAMES),
        *(f"(assert (= |{name}| {Constant(value).smtlib()}))" for name, value in point.items()),
        f"(assert (not (= {term.smtlib()} {Constant(term.value(point)).smtlib()})))",
    ]
    solver = z3.Solver(ctx=z3.Context())
    solver.from_string("\n".join(lines))
    assert solver.check() == z3.unsat


@given(TERMS, TERMS, POINTS)
def test_comparisons_follow_the_values(left, right, point):
    x, y = left.value(point), right.value(point)
    found = [f.holds(point) for f in (left <= right, left < right, left >= right, left > right, equal(left, right))]
    assert found == [x <= y, x < y, x >= y, x > y, x == y]


@given(FRACTIONS, FRACTIONS, FRACTIONS)
def test_a_rising_chain_compares_neighbours(a, b, c):
    assert rising(*variables("a b c")).holds({"a": a, "b": b, "c": c}) == (a <= b <= c)


@pytest.mark.parametrize("a", [0, 1])
@pytest.mark.parametrize("b", [0, 1])
def test_connectives_are_those_of_logic(a, b):
    first, second = (equal(variable, 1) for variable in variables("a b"))
    point = {"a": Fraction(a), "b": Fraction(b)}
    found = [f.holds(point) for f in (both(first, second), either(first, second), where(first, second), is_not(first))]
    assert found == [bool(a and b), bool(a or b), not a or bool(b), not a]


def test_python_chains_are_refused_instead_of_losing_a_half():
    (p,) = variables("p")
    with pytest.raises(TypeError, match="no truth value"):
        assert 0 <= p <= 1


def test_a_quantifier_is_not_decided_by_numbers():
    (p,) = variables("p")
    with pytest.raises(NotImplementedError):
        exists((p,), p > 0).holds({})


def test_a_quantifier_writes_named_terms_out_since_their_names_are_unknown_inside():
    x, y = variables("x y")
    assert "double" not in exists((x,), Named("double", x + x) > y).smtlib()


@pytest.mark.parametrize(
    ("term", "text"),
    [
        (1 - variables("z")[0] - variables("w")[0], "1 − z − w"),
        (2 * (variables("z")[0] - 1), "2·(z − 1)"),
        (variables("z")[0] - (variables("w")[0] - 1), "z − (w − 1)"),
        (Fraction(-1, 2) * variables("z")[0], "−1/2·z"),
    ],
)
def test_terms_print_as_people_write_them(term, text):
    assert term.text == text
