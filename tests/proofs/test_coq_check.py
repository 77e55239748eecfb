"""The Coq files compile, rest on nothing but what they may, and a false or unfinished theorem is noticed."""

import re

import pytest

from dodiag.problems import MissingDependency
from dodiag.proofs import coq_check
from dodiag.proofs.statement import Verdict

compiled = pytest.mark.skipif(not coq_check.installed(), reason="coqc, Coq's compiler, is not installed")
UNGUARDED = """
Unset Guard Checking.
Fixpoint loop (n : nat) : False := loop n.
Set Guard Checking.
Theorem three : 1 + 1 = 3. Proof. destruct (loop 0). Qed.
"""
REGIME = ("A3_regime", "A4_regime", "A5_regime", "A6_regime")
TRUE = "Theorem two : 1 + 1 = 2. Proof. reflexivity. Qed."


@compiled
@pytest.mark.parametrize("source", coq_check.SOURCES, ids=lambda source: source.file)
def test_every_theorem_is_proved_from_the_axioms_that_are_allowed(source):
    finding = coq_check.check(source)
    assert finding.verdict is Verdict.PROVED, finding.detail
    count = len(coq_check.theorems(coq_check.text_of(source.file)))
    axioms = {"Bounds.v": "functional_extensionality_dep, sig_forall_dec", "BoundsQ.v": "none"}[source.file]
    assert finding.detail == f"{count} theorems; axioms: {axioms}"


@compiled
def test_an_unguarded_proof_does_not_hide_among_allowed_axioms():
    real = "Require Import Reals Lra. Open Scope R_scope. Theorem real : forall x : R, x <= x. Proof. intro. lra. Qed."
    assert coq_check.compile_text(real, coq_check.REAL_AXIOMS).verdict is Verdict.PROVED
    finding = coq_check.compile_text(f"{real} Close Scope R_scope. {UNGUARDED}", coq_check.REAL_AXIOMS)
    assert finding.verdict is Verdict.UNKNOWN
    assert finding.detail == "rests on loop"


def test_no_axiom_is_allowed_for_the_rationals():
    assert [list(source.axioms) for source in coq_check.SOURCES if source.file == "BoundsQ.v"] == [[]]


@compiled
@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("Theorem three : 1 + 1 = 3. Proof. reflexivity. Qed.", "Unable to unify"),
        ("Theorem three : 1 + 1 = 3. Admitted.", "rests on three"),
        (f"{TRUE}\nAxiom wish : 1 + 1 = 3.\nTheorem three : 1 + 1 = 3. Proof. exact wish. Qed.", "rests on wish"),
        (f"{TRUE}\n  Remark three : 1 + 1 = 3. Admitted.", "rests on three"),
        (f"{TRUE} Fact three : 1 + 1 = 3. Admitted.", "rests on three"),
        (UNGUARDED, "rests on loop"),
        ("Definition two := 2. (* Theorem two : True. *)", "no theorem"),
    ],
)
def test_what_is_not_proved_is_not_called_proved(text, complaint):
    finding = coq_check.compile_text(text, ())
    assert finding.verdict is Verdict.UNKNOWN
    assert complaint in finding.detail


@compiled
@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("N p p' <= PN.", "PN <= N p p'."),
        ("low p p' / (1 - p').", "low p p' / p."),
        ("p * (p - p') <= low p p'.", "p * (1 - p') <= low p p'."),
        ("Rmin (p * (1 - p)) (p' * (1 - p')).", "Rmin (p * (1 - p)) (p' * (1 - p')) / 2."),
    ],
)
def test_a_theorem_that_is_made_false_no_longer_compiles(right, wrong):
    text = coq_check.text_of("Bounds.v")
    assert right in text
    finding = coq_check.compile_text(text.replace(right, wrong, 1), coq_check.REAL_AXIOMS)
    assert finding.verdict is Verdict.UNKNOWN


@pytest.mark.parametrize("source", coq_check.SOURCES, ids=lambda source: source.file)
def test_both_files_have_the_theorems_of_the_paper(source):
    names = coq_check.theorems(coq_check.text_of(source.file))
    assert len(names) == len(set(names))
    for theorem in ("A3", "A4", "A5", "A6", "A8", "sharp_low", "sharp_up", "strata", "selector", *REGIME):
        assert any(re.match(theorem, name) for name in names), theorem


def test_without_coqc_the_check_says_what_to_install(monkeypatch):
    monkeypatch.setenv("PATH", "")
    with pytest.raises(MissingDependency, match="apt-get install coq"):
        coq_check.compile_text(TRUE, ())
