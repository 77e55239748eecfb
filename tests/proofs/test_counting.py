"""Statements decided by looking at every case."""

from fractions import Fraction
from math import comb

import pytest

from dodiag.interventions.design import Design, nominal_count, target_configurations
from dodiag.proofs import counting
from dodiag.proofs.statement import Verdict
from dodiag.vocabulary import PAPER_CONTRASTS, Contrast

STATEMENTS = {statement.name: statement for statement in counting.STATEMENTS}


@pytest.mark.parametrize("name", STATEMENTS)
def test_the_verdict_is_the_one_that_must_come_out(name):
    finding = STATEMENTS[name].check()
    assert finding.verdict is STATEMENTS[name].expected, finding.detail


@pytest.mark.parametrize("k", range(1, 9))
def test_the_planner_asks_what_the_counts_say(k):
    assert len(target_configurations(counting.names_of(k), Design())) == counting.distinct(k)
    assert nominal_count(k, Design()) == counting.nominal(k)
    for contrast in PAPER_CONTRASTS:
        alone = Design(contrasts=(contrast,), states=(contrast.a, contrast.a_prime))
        assert len(target_configurations(counting.names_of(k), alone)) == counting.distinct(k, [contrast])
        assert nominal_count(k, alone) == counting.nominal(k, [contrast])


def test_the_counts_are_the_papers():
    one = [Contrast.parse("1,n")]
    assert [counting.distinct(k) for k in (1, 2, 3, 4)] == [3, 9, 21, 27]
    assert [counting.distinct(k, one) for k in (1, 2, 3, 4)] == [2, 4, 8, 10]


def test_no_case_is_no_proof():
    assert counting.every([], bool, str).verdict is Verdict.UNKNOWN


def test_the_first_failing_case_is_shown():
    finding = counting.every([1, 2, 3], lambda n: n != 2, lambda n: f"n = {n}")
    assert (finding.verdict, finding.detail) == (Verdict.REFUTED, "counterexample: n = 2")


@pytest.mark.parametrize(("total", "parts"), [(1, 1), (3, 2), (4, 8), (12, 4)])
def test_compositions_are_all_there_once(total, parts):
    found = list(counting.compositions(total, parts))
    assert len(found) == len(set(found)) == comb(total + parts - 1, parts - 1)
    assert {sum(one) for one in found} == {total}


@pytest.mark.parametrize(("r", "expected"), [(1, 0.25), (2, 0.188), (3, 0.156), (5, 0.123), (10, 0.088), (50, 0.040)])
def test_the_plug_in_finds_an_effect_where_there_is_none(r, expected):
    half = Fraction(1, 2)
    assert float(counting.plug_in_expectation(r, half, half)) == pytest.approx(expected, abs=5.1e-4)


def test_the_leave_one_out_expectation_is_that_of_adding_up_all_outcomes():
    from itertools import product

    r, p, p_prime = 3, Fraction(2, 3), Fraction(1, 6)
    expected = Fraction(0)
    for outcome in product((0, 1), repeat=2 * r):
        y, z = outcome[:r], outcome[r:]
        weight = Fraction(1)
        for value, rate in (*((v, p) for v in y), *((v, p_prime) for v in z)):
            weight *= rate if value else 1 - rate
        chosen = []
        for j in range(r):
            others = sum(y) - y[j] - (sum(z) - z[j])
            chosen.append(Fraction((others > 0) * 2 + (others == 0), 2) * (y[j] - z[j]))
        expected += weight * sum(chosen) / r
    assert counting.leave_one_out_expectation(r, p, p_prime) == expected
