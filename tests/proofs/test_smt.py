"""The claims that z3 decides: every verdict, what it rests on, and that a wrong claim or a wrong solver is noticed."""

import os
import re
import shutil
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from dodiag.proofs import claims_paper as paper
from dodiag.proofs.claim import Claim, probabilities, quotient
from dodiag.proofs.smt import CLAIMS, decide, describe, export_smtlib, file_stem
from dodiag.proofs.statement import Verdict
from dodiag.proofs.terms import Named, Variable, equal, exists, maximum, rising, total, variables

BY_NAME = {claim.name: claim for claim in CLAIMS}
NAMES = list(BY_NAME)


@pytest.fixture(scope="module")
def z3():
    return pytest.importorskip("z3", reason="z3-solver is not installed")


@pytest.mark.parametrize("name", NAMES)
def test_the_verdict_is_the_one_that_must_come_out(name, z3):
    finding = decide(BY_NAME[name])
    assert finding.verdict is BY_NAME[name].expected, finding.detail


@pytest.mark.parametrize("seed", [1, 2])
def test_no_verdict_hangs_on_the_seed(seed, z3):
    assert [c.name for c in CLAIMS if decide(c, seed=seed).verdict is not c.expected] == []


@pytest.mark.parametrize("theorem", ["A.1", "A.3", "A.4", "A.5", "A.6", "A.8", "3.6", "TP", "three-state", "rerun"])
def test_every_theorem_is_proved_and_has_false_variants_that_are_refuted(theorem):
    expected = {claim.expected for claim in CLAIMS if claim.name.startswith(f"{theorem}/")}
    assert expected == {Verdict.PROVED, Verdict.REFUTED}


def test_what_must_be_refuted_says_so_in_its_name():
    for claim in CLAIMS:
        false = "/mutant-" in claim.name or "/without-" in claim.name or "-without-" in claim.name
        assert false == (claim.expected is Verdict.REFUTED), claim.name
    assert sum("/mutant-" in name for name in NAMES) >= 12


POSITIVE = st.integers(1, 12)


@given(POSITIVE, POSITIVE, POSITIVE, POSITIVE, st.integers(1, 6), st.integers(1, 6))
def test_the_papers_own_quantities_satisfy_the_premises_and_the_goals(a, b, c, d, w, v):
    """A premise that the true quantities break would make a claim weaker than the theorem it stands for."""
    whole = a + b + c + d
    q11, q10, q01, q00 = (Fraction(cell, whole) for cell in (a, b, c, d))
    p, p_prime = q11 + q10, q11 + q01
    low = max(Fraction(0), p - p_prime)
    share, other_share = Fraction(w, 12), Fraction(v, 12)
    point = {"q11": q11, "q10": q10, "q01": q01, "q00": q00}
    point |= {"w": share, "r11": share * q11, "r10": share * q10}
    point |= {"v": other_share, "s10": other_share * q10, "s00": other_share * q00}
    point |= {"N": low / p, "S": low / (1 - p_prime), "PN": q10 / p, "PS": q10 / (1 - p_prime), "NS": low}
    without_extra_premises = [
        "A.1/range",
        "A.2/range",
        "A.3/score-below-PN",
        "A.4/score-below-PS",
        "A.3/zero-denominator",
        "A.4/zero-denominator",
        "A.6/counterfactual",
        "A.6/scores",
        "A.6/scores-zero-denominators",
        "A.6/counterfactual-zero-denominators",
        "A.8/chain",
        "A.8/chain-zero-denominators",
        "TP/PNS-interval",
        "harm/PN",
        "harm/PS",
        "harm/interval",
        "A.3/regime-variable",
        "A.4/regime-variable",
        "A.6/regime-variable",
    ]
    for name in without_extra_premises:
        assert BY_NAME[name].possible_at(point), name
        assert BY_NAME[name].goal.holds(point), name


@given(POSITIVE, POSITIVE, POSITIVE, POSITIVE)
def test_the_scores_of_the_claims_are_those_of_the_package(a, b, c, d):
    from dodiag.bounds.formulas import n_score, s_score

    whole = a + b + c + d
    point = {name: Fraction(cell, whole) for name, cell in zip(("q11", "q10", "q01", "q00"), (a, b, c, d), strict=True)}
    p, p_prime = paper.q.p.value(point), paper.q.p_prime.value(point)
    n = Fraction(float(n_score(float(p), float(p_prime), 0).value)).limit_denominator(10**6)
    s = Fraction(float(s_score(float(p), float(p_prime), 0).value)).limit_denominator(10**6)
    assert all(formula.holds(point | {"N": n, "S": s}) for formula in (*paper.N_DEFINED, *paper.S_DEFINED))


@given(st.lists(st.integers(0, 6), min_size=8, max_size=8), st.integers(1, 6))
def test_dropped_assumptions_are_those_of_the_theorem_and_no_more(cells, size):
    """Where A happens to be independent of the outcomes, the claims without exogeneity have no counterexample."""
    assume(sum(cells[:4]) > 0)
    names = [f"{letter}{jk}" for letter in "rs" for jk in ("11", "10", "01", "00")]
    half = [Fraction(cell, 2 * sum(cells[:4])) for cell in cells[:4]]
    point = dict(zip(names, half * 2, strict=True))
    p, p_prime = 2 * (half[0] + half[1]), 2 * (half[0] + half[2])
    assume(p > 0)
    point |= {"N": max(Fraction(0), p - p_prime) / p, "PN": half[1] / (half[0] + half[1])}
    assert not BY_NAME["A.3/without-exogeneity"].refuted_at(point)


@given(POSITIVE, POSITIVE, POSITIVE, POSITIVE, st.integers(1, 11))
def test_independence_of_the_pair_is_a_case_of_independence_of_each(a, b, c, d, w):
    """What the proofs of the paper assume satisfies the premises that are made of its eq. 2 alone."""
    whole = a + b + c + d
    q11, q10, q01, q00 = (Fraction(cell, whole) for cell in (a, b, c, d))
    p, p_prime = q11 + q10, q11 + q01
    low = max(Fraction(0), p - p_prime)
    cells = zip(("11", "10", "01", "00"), (q11, q10, q01, q00), strict=True)
    point = {f"{letter}{jk}": value for jk, value in cells for letter in "fg"}
    point |= {"w": Fraction(w, 12), "v": 1 - Fraction(w, 12)}
    point |= {"N": low / p, "S": low / (1 - p_prime), "PN": q10 / p, "PS": q10 / (1 - p_prime)}
    for name in ("A.3/marginal-exogeneity", "A.4/marginal-exogeneity"):
        assert BY_NAME[name].possible_at(point), name
        assert BY_NAME[name].goal.holds(point), name
    assert BY_NAME["A.6/without-joint-exogeneity"].possible_at(point)
    assert not BY_NAME["A.6/without-joint-exogeneity"].refuted_at(point)


(x, y) = variables("x y")


def test_a_claim_about_nothing_is_not_called_proved(z3):
    finding = decide(Claim("empty", "", (x > 1, x < 0), equal(x, 5)))
    assert finding.verdict is Verdict.UNKNOWN
    assert "cannot hold together" in finding.detail


def test_a_counterexample_that_is_no_fraction_is_not_called_a_refutation(z3):
    finding = decide(Claim("irrational", "", (equal(x * x, 2),), x * x <= 1))
    assert finding.verdict is Verdict.UNKNOWN
    assert "not rational" in finding.detail


def test_a_counterexample_that_cannot_be_recomputed_is_not_called_a_refutation(z3):
    finding = decide(Claim("quantified", "", (probabilities(x),), exists((y,), equal(x + y * 0, 2))))
    assert finding.verdict is Verdict.UNKNOWN
    assert "quantifier" in finding.detail


class Misread(Variable):
    """A variable that the solver reads as one less than it is: a stand-in for a solver that is wrong."""

    def value(self, point):
        return point[self.name] + 1


@pytest.mark.parametrize(
    ("given", "goal"),
    [((), Misread("x") >= 1), ((Misread("x") <= 0,), x >= 1)],
    ids=["the goal holds there", "a premise fails there"],
)
def test_a_counterexample_that_is_none_is_not_called_a_refutation(given, goal, z3):
    finding = decide(Claim("misread", "", (*given, rising(0, x, 0)), goal))
    assert finding.verdict is Verdict.UNKNOWN
    assert "it does not" in finding.detail


def test_premises_that_only_the_solver_sees_fulfilled_prove_nothing(z3):
    finding = decide(Claim("misread", "", (Misread("x") <= 0, x >= 0), x <= 0))
    assert finding.verdict is Verdict.UNKNOWN
    assert "no example" in finding.detail


def test_a_point_that_breaks_a_premise_refutes_nothing():
    claim = Claim("premise", "", (x > 0,), x > 1)
    assert claim.refuted_at({"x": Fraction(1)})
    assert not claim.refuted_at({"x": Fraction(0)})
    assert not claim.refuted_at({"x": Fraction(2)})


def test_a_solver_that_runs_out_of_time_leaves_the_claim_open(z3):
    a, b, c, d = names = variables("a b c d")
    goal = total([one * one * one * one for one in names]) >= 4 * (a * b * c * d) * (1 + a * b * c * d)
    finding = decide(
        Claim("hard", "", (a * b * c * d * a >= 1, goal), equal(a * b * b * c, d * d * d + c)), seconds=0.001
    )
    assert finding.verdict is Verdict.UNKNOWN


@pytest.mark.parametrize("left_out", range(4))
def test_the_joint_region_of_three_contrasts_needs_each_inequality(left_out, z3):
    complete = BY_NAME["three-state/region-complete"]
    inequalities = complete.given[2].formulas
    kept = [f for number, f in enumerate(inequalities) if number != left_out]
    weaker = Claim("weaker", "", (*complete.given[:2], *kept), complete.goal)
    finding = decide(weaker)
    assert finding.verdict is Verdict.UNKNOWN
    assert "refutes it" in finding.detail


def test_one_name_for_two_terms_is_refused():
    claim = Claim("twice", "", (Named("p", x) > 0,), Named("p", y) > 0)
    with pytest.raises(ValueError, match="two terms"):
        claim.smtlib()


def test_names_of_terms_are_told_before_the_premises_that_use_them():
    n, n_defined = variables("N")[0], quotient(variables("N")[0], maximum(0, Named("d", x - y)), x)
    claim = Claim("told", "", n_defined, n <= 1)
    assert claim.hypotheses == ("d = x − y", "x > 0", "N·x = max(0, d)")


def test_no_script_divides_by_anything_but_a_number():
    for claim in CLAIMS:
        quotients = re.findall(r"\(/ \S+ \S+", claim.smtlib())
        assert all(re.fullmatch(r"\(/ \d+\.0 \d+\.0\)+", quotient) for quotient in quotients), claim.name


def test_an_exported_script_is_what_the_status_in_it_says(tmp_path, z3):
    paths = export_smtlib(tmp_path / "claims")
    assert len(paths) == len({path.name.lower() for path in paths}) == len(CLAIMS)
    for path, claim in zip(paths, CLAIMS, strict=True):
        text = path.read_text(encoding="utf-8")
        assert text == claim.smtlib()
        solver = z3.Solver(ctx=z3.Context())
        solver.set("timeout", 5000)
        solver.from_file(str(path))
        assert f"(set-info :status {solver.check()})" in text, claim.name


def test_another_process_of_z3_gives_every_exported_script_its_status():
    z3 = shutil.which("z3", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    if z3 is None:
        pytest.skip("the program z3 is not installed")
    together = "(reset)\n".join(claim.smtlib() for claim in CLAIMS)
    done = subprocess.run([z3, "-in", "-T:60"], input=together, capture_output=True, text=True, check=True)
    wanted = ["unsat" if claim.expected is Verdict.PROVED else "sat" for claim in CLAIMS]
    assert dict(zip(NAMES, done.stdout.split(), strict=True)) == dict(zip(NAMES, wanted, strict=True))


def test_an_export_that_cannot_be_written_is_a_users_error(tmp_path):
    from dodiag.problems import UsageError

    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="cannot be written"):
        export_smtlib(tmp_path / "file")


def test_file_names_are_plain():
    assert all(re.fullmatch(r"[\w.()-]+", file_stem(name)) for name in NAMES)


def test_many_zeros_are_counted_and_few_are_shown():
    assert describe({"a": Fraction(0), "b": Fraction(1, 3)}) == "a = 0, b = 1/3"
    assert describe(dict.fromkeys("abcde", Fraction(0)) | {"z": Fraction(2)}) == "z = 2, the other 5 are 0"


def test_without_z3_claims_are_listed_and_exported_but_not_decided(tmp_path):
    code = f"""
import sys
sys.modules["z3"] = None
from pathlib import Path
from dodiag.problems import MissingDependency
from dodiag.proofs import smt
assert len(smt.STATEMENTS) == len(smt.export_smtlib(Path({str(tmp_path)!r})))
try:
    smt.STATEMENTS[0].check()
except MissingDependency as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "z3 is not installed. Run: pip install 'dodiag[proofs]'.\n"
