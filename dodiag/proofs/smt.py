"""Claims decided by an SMT solver (z3), with every refutation recomputed in exact fractions.

A claim is proved when what is given and the negated goal cannot hold together, and what is given can: a claim about
nothing proves nothing. It is refuted by numbers that are put into the claim without the solver. The scripts that z3
reads are the ones that :func:`export_smtlib` writes for other solvers.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import partial
from pathlib import Path

from dodiag.problems import MissingDependency, UsageError
from dodiag.proofs import claims_bounds, claims_instances, claims_paper
from dodiag.proofs.claim import Claim
from dodiag.proofs.premises import told
from dodiag.proofs.statement import Finding, Method, Statement, Verdict

SECONDS = 5.0
"""What one question to the solver may take; beyond it the verdict is `UNKNOWN`."""

CLAIMS: tuple[Claim, ...] = (*claims_paper.CLAIMS, *claims_bounds.CLAIMS, *claims_instances.CLAIMS)
"""All claims for the solver."""


def decide(claim: Claim, seconds: float = SECONDS, seed: int = 0) -> Finding:
    """Decide a claim with z3.

    Parameters
    ----------
    claim : Claim
    seconds : float
        Time limit of each of the two questions to the solver.
    seed : int
        Seed of the solver.

    Returns
    -------
    Finding
        `PROVED` if there is no counterexample and the hypotheses can hold; `REFUTED` with a rational counterexample
        that was recomputed in exact fractions; else `UNKNOWN` with the reason.

    Raises
    ------
    MissingDependency
        If z3 is not installed.
    """
    answer, point = _solve(claim, seconds, seed)
    if answer == "unsat":
        return _proved_unless_empty(claim, seconds, seed)
    if answer != "sat":
        return Finding(Verdict.UNKNOWN, f"the solver gave up: {answer}")
    if point is None:
        return Finding(Verdict.UNKNOWN, "the solver's counterexample is not rational")
    shown = describe(point)
    try:
        confirmed = claim.refuted_at(point)
    except NotImplementedError as error:
        return Finding(Verdict.UNKNOWN, f"the solver says that {shown} refutes it, but {error}")
    if not confirmed:
        return Finding(Verdict.UNKNOWN, f"the solver says that {shown} refutes it, and it does not")
    return Finding(Verdict.REFUTED, f"counterexample: {shown}")


def _proved_unless_empty(claim: Claim, seconds: float, seed: int) -> Finding:
    premises = claim.premises()
    answer, point = _solve(premises, seconds, seed)
    if answer == "unsat":
        return Finding(Verdict.UNKNOWN, "what is given cannot hold together, so the claim says nothing")
    if answer != "sat" or point is None or not premises.refuted_at(point):
        return Finding(Verdict.UNKNOWN, "no example was found in which everything that is given holds")
    return Finding(Verdict.PROVED, f"no counterexample; the premises hold at {describe(point)}")


def _solve(claim: Claim, seconds: float, seed: int) -> tuple[str, dict[str, Fraction] | None]:
    """Return the solver's answer, and its assignment to the claim's unknowns if it has a rational one."""
    try:
        import z3
    except ImportError:
        raise MissingDependency("z3 is not installed", "Run: pip install 'dodiag[proofs]'.") from None
    # A context of its own makes the answer independent of the claims before it.
    solver = z3.Solver(ctx=z3.Context())
    solver.set("timeout", int(seconds * 1000))
    solver.set("random_seed", seed)
    solver.from_string(claim.smtlib())
    answer = solver.check()
    if answer == z3.unknown:
        return solver.reason_unknown(), None
    if answer == z3.unsat:
        return "unsat", None
    model = solver.model()
    values = {declaration.name(): model[declaration] for declaration in model if declaration.arity() == 0}
    # What the model leaves open may have any value.
    point = dict.fromkeys(claim.unknowns, Fraction(0))
    for name in point.keys() & values.keys():
        if not z3.is_rational_value(values[name]):
            return "sat", None
        point[name] = Fraction(values[name].numerator_as_long(), values[name].denominator_as_long())
    return "sat", point


def describe(point: Mapping[str, Fraction]) -> str:
    """Return an exact point as text; many zeros are counted.

    Examples
    --------
    >>> describe({"p": Fraction(1, 2), "p'": Fraction(0)})
    "p = 1/2, p' = 0"
    """
    zeros = [name for name, value in point.items() if not value]
    counted = zeros if len(zeros) > 4 else ()
    shown = [f"{name} = {value}" for name, value in point.items() if name not in counted]
    return ", ".join([*shown, f"the other {len(counted)} are 0"] if counted else shown) or "no variables"


def statement(claim: Claim) -> Statement:
    """Return a claim as a statement that z3 checks."""
    return Statement(
        claim.name,
        claim.source,
        told(claim),
        claim.goal_text,
        Method.SMT,
        claim.expected,
        partial(decide, claim),
    )


STATEMENTS: tuple[Statement, ...] = tuple(statement(claim) for claim in CLAIMS)
"""All claims as statements."""


def export_smtlib(folder: Path, claims: Sequence[Claim] = CLAIMS) -> tuple[Path, ...]:
    """Write claims as SMT-LIB 2 scripts that any solver for real arithmetic can check; z3 is not needed.

    Parameters
    ----------
    folder : Path
        Made if it is not there.
    claims : sequence of Claim
        All by default.

    Returns
    -------
    tuple of Path
        One file for each claim: ``A.3--score-below-PN.smt2``. Its ``:status`` is the answer that is expected.

    Raises
    ------
    UsageError
        If the folder or a file in it cannot be written.
    """
    written = []
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for claim in claims:
            path = folder / f"{file_stem(claim.name)}.smt2"
            path.write_text(claim.smtlib(), encoding="utf-8")
            written.append(path)
    except OSError as error:
        raise UsageError(f"{folder} cannot be written: {error.strerror}", "Choose another place.") from None
    return tuple(written)


def file_stem(name: str) -> str:
    """Return the file name of a statement.

    Examples
    --------
    >>> file_stem("A.3/score-below-PN")
    'A.3--score-below-PN'
    """
    return re.sub(r"[^\w.()-]", "_", name.replace("/", "--"))
