"""Run machine-checked statements: all of them, or those of a name or a method, and say what came of each."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from time import perf_counter

from dodiag.problems import MissingDependency, UsageError, nearest
from dodiag.proofs.statement import Method, Statement, Verdict

HOMES = {
    Method.LINEAR: "dodiag.proofs.linear",
    Method.COUNT: "dodiag.proofs.counting",
    Method.SMT: "dodiag.proofs.smt",
    Method.COQ: "dodiag.proofs.coq_check",
}
"""The module that holds the statements of each method, under the name STATEMENTS."""


@dataclass(frozen=True, slots=True)
class Result:
    """What came of one statement.

    Attributes
    ----------
    statement : Statement
    verdict : Verdict or None
        None if the statement was not run.
    seconds : float
        Time of the check.
    detail : str
        What the check found, or why it was not run.
    """

    statement: Statement
    verdict: Verdict | None
    seconds: float
    detail: str

    @property
    def ran(self) -> bool:
        """Whether the statement was checked."""
        return self.verdict is not None

    @property
    def as_expected(self) -> bool | None:
        """Whether the verdict is the one that must come out; None if the statement was not run."""
        return self.verdict is self.statement.expected if self.ran else None

    def to_dict(self) -> dict[str, object]:
        """Return the result as JSON values, the form of ``dodiag prove --json``."""
        return {
            **described(self.statement),
            "verdict": self.verdict,
            "as_expected": self.as_expected,
            "seconds": round(self.seconds, 6),
            "detail": self.detail,
        }


def described(statement: Statement) -> dict[str, object]:
    """Return what a statement says as JSON values, without checking it."""
    return {
        "name": statement.name,
        "source": statement.source,
        "hypotheses": list(statement.hypotheses),
        "goal": statement.goal,
        "method": statement.method.name.lower(),
        "expected": statement.expected,
    }


def statements(methods: Iterable[Method] | None = None, names: Iterable[str] | None = None) -> tuple[Statement, ...]:
    """Return the statements of some methods and names; the libraries that check them need not be there.

    Parameters
    ----------
    methods : iterable of Method, optional
        All if left out.
    names : iterable of str, optional
        Names of statements; a name also stands for all that begin with it and a slash, so that ``A.3`` gives every
        statement about Theorem A.3. All if left out.

    Raises
    ------
    UsageError
        If a name fits no statement of these methods.

    Examples
    --------
    >>> [s.name for s in statements([Method.COUNT], ["A.8"])]
    ['A.8/same-arms', 'A.8/single-parent']
    """
    wanted = list(Method) if methods is None else list(methods)
    found: tuple[Statement, ...] = tuple(
        statement for method in Method if method in wanted for statement in import_module(HOMES[method]).STATEMENTS
    )
    if names is None:
        return found
    asked = list(names)
    for name in asked:
        if not any(_fits(statement, name) for statement in found):
            known = dict.fromkeys(s.name.partition("/")[0] for s in found) | dict.fromkeys(s.name for s in found)
            raise UsageError(f"no statement is called '{name}'", nearest(name, known))
    return tuple(statement for statement in found if any(_fits(statement, name) for name in asked))


def _fits(statement: Statement, name: str) -> bool:
    return statement.name == name or statement.name.startswith(f"{name}/")


def missing(method: Method) -> MissingDependency | None:
    """Return what a method lacks on this machine, with the cure; None if it can run."""
    if method is Method.SMT and find_spec("z3") is None:
        return MissingDependency("z3 is not installed", "Run: pip install 'dodiag[proofs]'.")
    if method is Method.COQ and shutil.which("coqc") is None:
        return MissingDependency("coqc is not installed", "On Debian: apt-get install coq.")
    return None


def prove(
    methods: Iterable[Method] | None = None,
    names: Iterable[str] | None = None,
    progress: Callable[[int, int, Statement], None] | None = None,
) -> list[Result]:
    """Check statements one after the other.

    Parameters
    ----------
    methods, names : optional
        As in :func:`statements`.
    progress : callable, optional
        Called before each statement with its number from 1, how many there are, and the statement.

    Returns
    -------
    list of Result
        Statements whose method cannot run here are in it as not run, unless that method was asked for.

    Raises
    ------
    MissingDependency
        If a method that was asked for, or every method that the names need, cannot run here.
    UsageError
        If a name fits no statement.
    """
    named = None if methods is None else list(methods)
    chosen = statements(named, names)
    lacking = {method: missing(method) for method in Method if any(s.method is method for s in chosen)}
    for problem in lacking.values():
        if problem is not None and (named is not None or all(lacking[s.method] for s in chosen)):
            raise problem
    results = []
    for number, statement in enumerate(chosen, start=1):
        if (problem := lacking[statement.method]) is not None:
            results.append(Result(statement, None, 0.0, f"not run: {problem.message}"))
            continue
        if progress is not None:
            progress(number, len(chosen), statement)
        start = perf_counter()
        finding = statement.check()
        results.append(Result(statement, finding.verdict, perf_counter() - start, finding.detail))
    return results
