"""Premises: each is needed, or said not to be; and what is given can hold together."""

import pytest

from dodiag.proofs.premises import NOT_NEEDED, not_needed, told, without
from dodiag.proofs.smt import CLAIMS, STATEMENTS, decide
from dodiag.proofs.statement import Verdict

PROVED = [claim for claim in CLAIMS if claim.expected is Verdict.PROVED]


@pytest.mark.parametrize("claim", PROVED, ids=lambda claim: claim.name)
def test_without_a_premise_a_claim_is_false_or_the_premise_is_said_not_to_be_needed(claim):
    pytest.importorskip("z3", reason="z3-solver is not installed")
    spare = []
    for place, premise in enumerate(claim.given):
        weaker = without(claim, place)
        finding = decide(weaker)
        if finding.verdict is Verdict.PROVED:
            spare.append(premise.text)
        else:
            # A counterexample to a claim with a quantifier cannot be put in; the solver's word is taken for it here.
            refuted = finding.verdict is Verdict.REFUTED or (claim.quantified and "refutes it" in finding.detail)
            assert refuted, f"{weaker.name}: {finding.detail}"
            assert finding.verdict is not Verdict.REFUTED or "counterexample: " in finding.detail
    assert sorted(spare) == sorted(not_needed(claim))


def test_every_name_in_the_list_is_a_claim():
    for name in NOT_NEEDED:
        assert any(claim.name == name or claim.name.startswith(f"{name}-(") for claim in PROVED), name


def test_what_is_not_needed_is_told():
    told_by_name = {statement.name: statement.hypotheses for statement in STATEMENTS}
    for claim in CLAIMS:
        assert told_by_name[claim.name] == told(claim)
        marked = [text.removesuffix(" (not needed)") for text in told(claim) if text.endswith(" (not needed)")]
        assert sorted(marked) == sorted(not_needed(claim)), claim.name


def test_a_claim_without_a_premise_keeps_the_others_and_says_which_is_gone():
    claim = next(claim for claim in PROVED if claim.name == "A.3/score-below-PN")
    weaker = without(claim, 0)
    assert weaker.given == claim.given[1:]
    assert weaker.goal is claim.goal
    assert weaker.goal_text == f"without {claim.given[0].text}: N ≤ PN"
