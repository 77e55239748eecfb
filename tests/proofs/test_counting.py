"""Statements decided by looking at every case."""

from fractions import Fraction
from math import comb

import pytest

from dodiag.interventions.design import Design, nominal_count, target_configurations
from dodiag.proofs import counting
from dodiag.proofs.counting import cases, configurations, reruns
from dodiag.proofs.statement import Verdict
from dodiag.vocabulary import PAPER_CONTRASTS, Contrast

STATEMENTS = {statement.name: statement for statement in counting.STATEMENTS}


@pytest.mark.parametrize("name", STATEMENTS)
def test_the_verdict_is_the_one_that_must_come_out(name):
    finding = STATEMENTS[name].check()
    assert finding.verdict is STATEMENTS[name].expected, finding.detail


@pytest.mark.parametrize("k", range(1, 9))
def test_the_planner_asks_what_the_counts_say(k):
    assert len(target_configurations(configurations.names_of(k), Design())) == configurations.distinct(k)
    assert nominal_count(k, Design()) == configurations.nominal(k)
    for contrast in PAPER_CONTRASTS:
        alone = Design(contrasts=(contrast,), states=(contrast.a, contrast.a_prime))
        assert len(target_configurations(configurations.names_of(k), alone)) == configurations.distinct(k, [contrast])
        assert nominal_count(k, alone) == configurations.nominal(k, [contrast])


def test_the_counts_are_the_papers():
    one = [Contrast.parse("1,n")]
    assert [configurations.distinct(k) for k in (1, 2, 3, 4)] == [3, 9, 21, 27]
    assert [configurations.distinct(k, one) for k in (1, 2, 3, 4)] == [2, 4, 8, 10]


def test_no_case_is_no_proof():
    assert cases.every([], bool, str).verdict is Verdict.UNKNOWN


def test_the_first_failing_case_is_shown():
    finding = cases.every([1, 2, 3], lambda n: n != 2, lambda n: f"n = {n}")
    assert (finding.verdict, finding.detail) == (Verdict.REFUTED, "counterexample: n = 2")


@pytest.mark.parametrize(("total", "parts"), [(1, 1), (3, 2), (4, 8), (12, 4)])
def test_compositions_are_all_there_once(total, parts):
    found = list(cases.compositions(total, parts))
    assert len(found) == len(set(found)) == comb(total + parts - 1, parts - 1)
    assert {sum(one) for one in found} == {total}


@pytest.mark.parametrize(("r", "expected"), [(1, 0.25), (2, 0.188), (3, 0.156), (5, 0.123), (10, 0.088), (50, 0.040)])
def test_the_plug_in_finds_an_effect_where_there_is_none(r, expected):
    half = Fraction(1, 2)
    assert float(reruns.plug_in_expectation(r, half, half)) == pytest.approx(expected, abs=5.1e-4)


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
    assert reruns.leave_one_out_expectation(r, p, p_prime) == expected


def test_the_rerun_ratio_has_the_expectation_of_the_packages_own_estimator():
    """A ratio of two sums: its numerator and denominator are honest on average, and the ratio only nearly so."""
    from itertools import product

    from dodiag.bounds.within_instance import Repeats, rerun_corrected

    instances = [(Fraction(1), Fraction(0)), (Fraction(1, 2), Fraction(1, 2))]
    total = defined = 0.0
    for y, z in product(product((0, 1), repeat=2), product(product((0, 1), repeat=2), repeat=2)):
        weight = 1.0
        for solved, baseline, (p, p_prime) in zip(y, z, instances, strict=True):
            weight *= float(p if solved else 1 - p)
            weight *= float(p_prime if baseline[0] else 1 - p_prime) * float(p_prime if baseline[1] else 1 - p_prime)
        if weight and not all(map(all, z)):
            estimate = rerun_corrected(
                "PS", Repeats.from_runs([[outcome] for outcome in y], [list(pair) for pair in z])
            )
            total, defined = total + weight * float(estimate.value), defined + weight
    exact = reruns.rerun_ratio_expectation(instances)
    assert total / defined == pytest.approx(float(exact), rel=1e-12)
    assert (exact, reruns.sharp_ps(instances)) == (Fraction(11, 16), Fraction(2, 3))


def test_the_numerator_and_the_denominator_of_the_rerun_ratio_are_honest_on_average():
    half = Fraction(1, 2)
    for p in (Fraction(0), half, Fraction(1)):
        for p_prime in (Fraction(0), half):
            one = [(p, p_prime)]
            assert reruns.rerun_ratio_expectation(one) <= reruns.sharp_ps(one)
