"""The Coq sources, compiled by coqc where it is installed, and the axioms that their theorems rest on.

A theorem counts only with what ``Print Assumptions`` says of it, so that neither an axiom nor an unfinished proof can
slip in.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from collections.abc import Collection
from dataclasses import dataclass
from functools import partial
from importlib import resources
from pathlib import Path

from dodiag.problems import MissingDependency
from dodiag.proofs.statement import Finding, Method, Statement, Verdict

SECONDS = 120.0
"""What compiling one file may take."""

REAL_AXIOMS = frozenset(
    {
        "ClassicalDedekindReals.sig_forall_dec",
        "ClassicalDedekindReals.sig_not_dec",
        "FunctionalExtensionality.functional_extensionality_dep",
    }
)
"""What Coq's own real numbers rest on; nothing else is allowed."""

_THEOREM = re.compile(
    r"(?:^|\.)\s*(?:Theorem|Corollary|Lemma|Fact|Remark|Proposition|Property|Example)\s+([\w']+)", re.MULTILINE
)
_COMMENT_MARK = re.compile(r"\(\*|\*\)")


@dataclass(frozen=True, slots=True)
class Source:
    """A Coq file of this package.

    Attributes
    ----------
    file : str
    goal : str
        What its theorems say, in words.
    axioms : collection of str
        The axioms that they may rest on.
    """

    file: str
    goal: str
    axioms: Collection[str]


SOURCES = (
    Source(
        "Bounds.v",
        "over the reals: A.3 to A.6 with the regime as a variable, the converse of A.5, A.8, sharpness, strata, reruns",
        REAL_AXIOMS,
    ),
    Source(
        "BoundsQ.v",
        "over the rationals, without axioms: A.3 to A.6 with the regime as a variable, the converse of A.5, A.8,"
        " sharpness, strata, corrections",
        (),
    ),
)


def text_of(file: str) -> str:
    """Return the text of a Coq file of this package."""
    return (resources.files("dodiag.proofs") / "coq" / file).read_text(encoding="utf-8")


def theorems(text: str) -> tuple[str, ...]:
    """Return the names of the theorems of a Coq text, in whatever words they are announced; comments hold none.

    Examples
    --------
    >>> theorems("Theorem A3 : True. Proof. exact I. Qed. Remark A8 : True. (* Lemma none. *)")
    ('A3', 'A8')
    """
    return tuple(_THEOREM.findall(_without_comments(text)))


def _without_comments(text: str) -> str:
    """Return a Coq text without its comments, which may be nested."""
    kept, depth, start = [], 0, 0
    for mark in _COMMENT_MARK.finditer(text):
        if not depth:
            kept.append(text[start : mark.start()])
        depth += 1 if mark[0] == "(*" else -1
        start = mark.end()
    return " ".join([*kept, text[start:]])


def installed() -> bool:
    """Whether coqc is there."""
    return shutil.which("coqc") is not None


def compile_text(text: str, axioms: Collection[str]) -> Finding:
    """Compile a Coq text, and compare the axioms of its theorems with those that are allowed.

    Parameters
    ----------
    text : str
        Needs no other file but Coq's library.
    axioms : collection of str
        Full names of the axioms that the theorems may rest on.

    Returns
    -------
    Finding
        `PROVED`, or `UNKNOWN` with Coq's first complaint or the axioms that are not allowed.

    Raises
    ------
    MissingDependency
        If coqc is not installed.
    """
    coqc = shutil.which("coqc")
    if coqc is None:
        raise MissingDependency("coqc is not installed", "On Debian: apt-get install coq.")
    names = theorems(text)
    if not names:
        return Finding(Verdict.UNKNOWN, "there is no theorem in it")
    # One question about all theorems together: each one about the reals takes most of a second.
    everything = ", ".join(f"@{name}" for name in names)
    question = f"Definition every_theorem := ({everything}, I).\nPrint Assumptions every_theorem.\n"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "Checked.v"
        path.write_text(f"{text}\n{question}", encoding="utf-8")
        try:
            done = subprocess.run(
                [coqc, "-q", path.name], cwd=folder, capture_output=True, text=True, timeout=SECONDS, check=False
            )
        except subprocess.TimeoutExpired:
            return Finding(Verdict.UNKNOWN, f"coqc did not end within {SECONDS:g} s")
    if done.returncode:
        return Finding(Verdict.UNKNOWN, f"coqc: {' '.join(done.stderr.split())}")
    return _judged(len(names), done.stdout, axioms)


def _judged(theorem_count: int, printed: str, axioms: Collection[str]) -> Finding:
    # Every line that is not indented names something that was taken for granted: an axiom, a proof that was admitted,
    # or a definition whose termination or universes Coq was told not to check.
    lines = [line for line in printed.splitlines() if line[:1].strip()]
    closed = "Closed under the global context" in lines
    found = {
        line.split()[0].rstrip(":") for line in lines if line not in ("Axioms:", "Closed under the global context")
    }
    if not found and not closed:
        return Finding(Verdict.UNKNOWN, "coqc did not say what the theorems rest on")
    if unwanted := sorted(found - set(axioms)):
        return Finding(Verdict.UNKNOWN, f"rests on {', '.join(unwanted)}")
    shown = ", ".join(sorted(name.rpartition(".")[2] for name in found)) or "none"
    return Finding(Verdict.PROVED, f"{theorem_count} theorems; axioms: {shown}")


def check(source: Source) -> Finding:
    """Compile one of the package's Coq files."""
    return compile_text(text_of(source.file), source.axioms)


STATEMENTS: tuple[Statement, ...] = tuple(
    Statement(
        f"coq/{source.file.removesuffix('.v')}",
        "CADET Appendix A",
        (f"axioms allowed: {', '.join(sorted(source.axioms)) or 'none'}",),
        source.goal,
        Method.COQ,
        Verdict.PROVED,
        partial(check, source),
    )
    for source in SOURCES
)
"""One statement for each Coq file."""
