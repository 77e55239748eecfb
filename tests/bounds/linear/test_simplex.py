"""The exact simplex method: always right, whatever it is told to start from."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dodiag.bounds.linear.floating import likely_basis, minimise_floats
from dodiag.bounds.linear.program import Program
from dodiag.bounds.linear.response_types import ResponseTypes
from dodiag.bounds.linear.simplex import minimise

F = Fraction
WHOLE = st.integers(-3, 3)


@st.composite
def programs(draw):
    """Draw small programs of all kinds: redundant rows, degenerate corners, empty and unbounded ones."""
    rows, columns = draw(st.integers(1, 4)), draw(st.integers(1, 6))
    matrix = draw(st.lists(st.lists(WHOLE, min_size=columns, max_size=columns), min_size=rows, max_size=rows))
    right = draw(st.lists(WHOLE, min_size=rows, max_size=rows))
    cost = draw(st.lists(WHOLE, min_size=columns, max_size=columns))
    guess = draw(st.lists(st.integers(0, columns + rows - 1), max_size=columns + rows, unique=True))
    return matrix, right, cost, guess


def sparse(matrix):
    return [[(i, entry) for i, entry in enumerate(column) if entry] for column in zip(*matrix, strict=True)]


@given(programs())
@settings(max_examples=200, deadline=None)
def test_the_outcome_proves_itself_and_agrees_with_highs(program):
    from scipy.optimize import linprog

    matrix, right, cost, guess = program
    outcome = minimise(sparse(matrix), right, cost, guess)
    floats = linprog(cost, A_eq=np.array(matrix), b_eq=right, bounds=(0, None), method="highs")
    if outcome.status == "optimal":
        x = [outcome.primal.get(j, 0) for j in range(len(cost))]
        assert all(value >= 0 for value in x)
        assert [sum(a * b for a, b in zip(row, x, strict=True)) for row in matrix] == right
        value = sum(c * b for c, b in zip(cost, x, strict=True))
        assert value == sum(y * b for y, b in zip(outcome.dual, right, strict=True))
        for j, column in enumerate(zip(*matrix, strict=True)):
            assert sum(y * a for y, a in zip(outcome.dual, column, strict=True)) <= cost[j]
        assert floats.status == 0
        assert floats.fun == pytest.approx(float(value), abs=1e-7)
    elif outcome.status == "infeasible":
        for column in zip(*matrix, strict=True):
            assert sum(y * a for y, a in zip(outcome.dual, column, strict=True)) <= 0
        assert sum(y * b for y, b in zip(outcome.dual, right, strict=True)) > 0
        assert floats.status in (2, 4)
    else:
        assert floats.status in (3, 4)


def test_bland_ends_where_the_largest_coefficient_rule_cycles():
    """Beale's example (1955)."""
    matrix = [
        [F(1, 4), -60, F(-1, 25), 9, 1, 0, 0],
        [F(1, 2), -90, F(-1, 50), 3, 0, 1, 0],
        [0, 0, 1, 0, 0, 0, 1],
    ]
    outcome = minimise(sparse(matrix), [0, 0, 1], [F(-3, 4), 150, F(-1, 50), 6, 0, 0, 0], guess=[4, 5, 6])
    assert outcome.status == "optimal"
    assert outcome.primal == {0: F(1, 25), 2: 1, 4: F(3, 100)}


def test_a_right_guess_needs_no_more_pivots_than_rows():
    matrix = [[1] * 8, [1, 1, 1, 1, 0, 0, 0, 0], [1, 1, 0, 0, 1, 1, 0, 0]]
    right, cost = [1, F(1, 3), F(1, 2)], [0, 1, 0, 1, 1, 0, 0, 1]
    first = minimise(sparse(matrix), right, cost)
    again = minimise(sparse(matrix), right, cost, guess=sorted(first.primal))
    assert (again.primal, again.pivots) == (first.primal, 3)


def test_a_right_guess_saves_pivots_also_where_there_is_no_solution():
    """All pairs of six regimes, and a triple likelier than a pair that holds it; the guess violates least."""
    types = ResponseTypes(tuple("abcdef"))
    known = [types.probability({name: 1}) == F(place + 2, 11) for place, name in enumerate(types.regimes)]
    known += [types.probability({one: 1, other: 1}) == F(1, 8) for one, other in itertools.combinations("abcdef", 2)]
    program = Program.of(types, [*known, types.probability({"a": 1, "b": 1, "c": 1}) >= F(1, 7)])
    right, columns = program.numbers(), len(program.columns)
    matrix = np.hstack([np.array(program.matrix, float), np.eye(len(right))])
    cost = np.r_[np.zeros(columns), np.ones(len(right))]
    nearest = minimise_floats(matrix, np.array(right, float), cost)
    basis = likely_basis(matrix, cost, nearest)
    guess = [j for j in basis if j < columns or nearest.primal[j] > 1e-9]
    alone, guided = (minimise(program.sparse_columns, right, [0] * columns, start) for start in ([], guess))
    assert guided.pivots < len(right) < alone.pivots
    for outcome in (alone, guided):
        assert outcome.status == "infeasible"
        assert sum(y * b for y, b in zip(outcome.dual, right, strict=True)) > 0
        for column in program.sparse_columns:
            assert sum(outcome.dual[row] * entry for row, entry in column) <= 0
