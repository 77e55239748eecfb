"""Which premises a claim needs: without a needed one it is false, and those that it could do without say so.

A premise that nothing depends on makes a theorem look weaker than it is. What is listed here stays among the premises
because a reader expects it: that cells are a distribution, or that a denominator is positive, without which a product
that holds anyway would define no quotient.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from dodiag.proofs.claim import Claim
from dodiag.proofs.statement import Verdict

_TYPES = "q11, q10, q01, q00: a distribution of (Y_a, Y_a')"
_SUCCESS, _FAILURE = "p > 0", "1 − p' > 0"
_RATES, _THREE_RATES = "p, p' in [0, 1]", "p1, p0, p∅ in [0, 1]"
_THREE_TYPES = "zijk = P(Y_1=i, Y_0=j, Y_∅=k): a distribution"

NOT_NEEDED: Mapping[str, tuple[str, ...]] = {
    "A.5/converse-N": (_TYPES, _SUCCESS),
    "A.5/converse-S": (_TYPES, _FAILURE),
    "A.6/counterfactual": (_TYPES, _SUCCESS, _FAILURE),
    "A.6/counterfactual-zero-denominators": ("PN, PS in [0, 1]",),
    "A.6/scores": (_SUCCESS, _FAILURE),
    "A.6/scores-zero-denominators": ("N = 0 where p = 0", "S = 0 where 1 − p' = 0"),
    "A.8/chain": (_SUCCESS, _FAILURE),
    "A.8/chain-zero-denominators": ("N = 0 where p = 0", "S = 0 where 1 − p' = 0"),
    "TP/between-exists": (_RATES,),
    "TP/combined-PN": ("P(x,y) > 0",),
    "TP/combined-PS": ("P(x',y') > 0",),
    "TP/combined-monotone": (
        "rjk = P(X=x, Y_a=j, Y_a'=k), sjk = P(X=x', Y_a=j, Y_a'=k): a distribution",
        "P(x,y) > 0",
        "P(x',y') > 0",
    ),
    "harm/PN": (_TYPES, _SUCCESS),
    "harm/PS": (_TYPES, _FAILURE),
    "harm/between-exists": (_RATES,),
    "rerun/average-step": ("x ≥ 0", "y ≥ 0"),
    "rerun/deterministic": (_RATES,),
    "rerun/selector": (_RATES,),
    "rerun/upper-from-lower": (_RATES,),
    "strata/N": ("u, u', v, v' in [0, 1]",),
    "symmetry/S-is-N": (_TYPES,),
    "three-state/opposite-contrasts": (_THREE_TYPES,),
    "three-state/opposite-upper-ends": (_THREE_TYPES,),
    "three-state/region-complete": (_THREE_RATES,),
    "three-state/tightened-attained": (_THREE_RATES,),
}
"""By name of a claim, or of several that go on with ``-(``: the premises that the goal follows without, each alone."""


def not_needed(claim: Claim) -> tuple[str, ...]:
    """Return the premises that the goal would follow without, as listed."""
    return tuple(
        text for name, texts in NOT_NEEDED.items() if claim.name == name or claim.name.startswith(f"{name}-(")
        for text in texts
    )  # fmt: skip


def without(claim: Claim, place: int) -> Claim:
    """Return a claim with one of its premises taken away: it must be refuted, or the premise is not needed.

    Parameters
    ----------
    claim : Claim
    place : int
        Of the premise in ``claim.given``, from 0.
    """
    given = (*claim.given[:place], *claim.given[place + 1 :])
    return replace(
        claim,
        name=f"{claim.name}/without-premise-{place + 1}",
        given=given,
        words=f"without {claim.given[place].text}",
        expected=Verdict.REFUTED,
    )


def told(claim: Claim) -> tuple[str, ...]:
    """Return what is given, for people, with a mark at premises that are not needed.

    Examples
    --------
    >>> from dodiag.proofs.claims_paper import CLAIMS
    >>> (scores,) = [claim for claim in CLAIMS if claim.name == "A.6/scores"]
    >>> told(scores)[-1], told(scores)[-2]
    ("S·(1 − p') = max(0, p − p')", "1 − p' > 0 (not needed)")
    """
    spare = not_needed(claim)
    return tuple(f"{text} (not needed)" if text in spare else text for text in claim.hypotheses)
