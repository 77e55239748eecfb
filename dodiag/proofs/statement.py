"""What a machine-checked statement is: hypotheses, a goal, a way of checking, and the verdict that must come out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum


class Method(StrEnum):
    """How a statement is checked."""

    LINEAR = "exact linear programming"
    COUNT = "exhaustive count"
    SMT = "SMT (z3)"
    COQ = "Coq"


class Verdict(StrEnum):
    """What a check came to."""

    PROVED = "proved"
    REFUTED = "refuted"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Finding:
    """What a check found.

    Attributes
    ----------
    verdict : Verdict
    detail : str
        One line for people: the size of the certificate, or the counterexample.
    """

    verdict: Verdict
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Statement:
    """A claim that a machine decides.

    Attributes
    ----------
    name : str
        Unique, such as ``"A.3"``; variants and mutants of one theorem share its name as a prefix, ``"A.3/mutant-..."``.
    source : str
        Where the claim comes from: ``"CADET Theorem A.3"``, ``"Tian & Pearl 2000"``, ``"dodiag"``.
    hypotheses : tuple of str
        In words and formulas, for people.
    goal : str
        In words and formulas, for people.
    method : Method
    expected : Verdict
        `REFUTED` for mutants: false variants that the check must be able to tell from the theorem.
    check : callable
        Decides the claim, deterministically.
    """

    name: str
    source: str
    hypotheses: tuple[str, ...]
    goal: str
    method: Method
    expected: Verdict
    check: Callable[[], Finding]
