"""Deciding a statement by looking at every case, in exact numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from dodiag.proofs.statement import Finding, Method, Statement, Verdict

Case = TypeVar("Case")


def every(cases: Iterable[Case], holds: Callable[[Case], bool], shown: Callable[[Case], str]) -> Finding:
    """Look at all cases; the first that fails refutes.

    Parameters
    ----------
    cases : iterable
    holds : callable
        Whether the claim holds in a case.
    shown : callable
        A failing case as text.

    Examples
    --------
    >>> every(range(5), lambda n: n < 3, str)
    Finding(verdict=<Verdict.REFUTED: 'refuted'>, detail='counterexample: 3')
    """
    count = 0
    for case in cases:
        if not holds(case):
            return Finding(Verdict.REFUTED, f"counterexample: {shown(case)}")
        count += 1
    return Finding(Verdict.PROVED, f"all {count:,} cases") if count else Finding(Verdict.UNKNOWN, "there was no case")


def compositions(total: int, parts: int) -> Iterator[tuple[int, ...]]:
    """Yield all ways to share a total among ordered parts.

    Examples
    --------
    >>> list(compositions(2, 2))
    [(0, 2), (1, 1), (2, 0)]
    """
    if parts == 1:
        yield (total,)
        return
    for first in range(total + 1):
        for rest in compositions(total - first, parts - 1):
            yield (first, *rest)


def counting(
    name: str,
    source: str,
    hypotheses: tuple[str, ...],
    goal: str,
    check: Callable[[], Finding],
    expected: Verdict = Verdict.PROVED,
) -> Statement:
    """Return a statement that is decided by looking at every case."""
    return Statement(name, source, hypotheses, goal, Method.COUNT, expected, check)
