"""Whether an answer keeps its constraint: Y1, Y2 and Y4 by rule; Y3 needs a judge (see ``judging``).

The rules are those of the released scorer, figure for figure. Where the papers state something else, both are here and
a result says which one it is.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from dodiag.benchmarks.ccrv.data import LimitSpec, PointSpec, SymbolSpec, Variant
from dodiag.benchmarks.ccrv.pixels import harmonised, strict

HYPHENS = frozenset("-‐‑‒–—−")
"""Characters that join words under Y4: they separate words and are no punctuation."""

PUNCTUATION = frozenset("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")
"""The 32 punctuation characters of ASCII; no other character is punctuation to Y4."""

Y2Mode = Literal["harmonised", "strict"]


@dataclass(frozen=True, slots=True)
class Compliance:
    """Whether an answer keeps its constraint.

    Attributes
    ----------
    csr : int or None
        1, 0, or None where a judge has to say (Y3) and has not.
    reason : str
        Why it is 0; empty for 1.
    mode : str
        The rule that was applied.
    notes : tuple of str
        What could not be tested, or how a point was understood.
    """

    csr: int | None
    reason: str
    mode: str
    notes: tuple[str, ...] = ()


def comply(
    variant: Variant,
    answer: str,
    *,
    size: tuple[int, int] | None = None,
    y2: Y2Mode = "harmonised",
    strict_hyphen: bool = False,
) -> Compliance:
    """Apply the constraint of a variant to an answer.

    Parameters
    ----------
    variant : Variant
    answer : str
        The reply as the model wrote it.
    size : tuple of 2 ints, optional
        Width and height of the original picture; only the harmonised rule of Y2 needs it.
    y2 : {"harmonised", "strict"}
        The papers' figures for Y2 come from the harmonised rule; the released code has the strict one.
    strict_hyphen : bool
        Y4 as the paper words it: hyphens are allowed inside words alone.
    """
    match variant.spec:
        case SymbolSpec() as spec:
            used = used_terms(answer, spec.forbidden_terms)
            return Compliance(int(not used), f"uses {', '.join(used)}" if used else "", "forbidden_term_scan")
        case PointSpec() as spec:
            if y2 == "strict":
                passed, reason = strict(answer, spec)
                return Compliance(int(passed), reason, "strict")
            found = harmonised(answer, spec, size)
            return Compliance(int(found.passed), found.reason, "harmonised", found.notes)
        case LimitSpec() as spec:
            reason = why_not_minimal(answer, spec, strict_hyphen)
            return Compliance(int(not reason), reason, "word_limit" + ("_strict_hyphen" if strict_hyphen else ""))
        case _:
            return Compliance(None, "a judge has to say", "judge")


def used_terms(answer: str, terms: tuple[str, ...]) -> tuple[str, ...]:
    """Return the forbidden terms that an answer uses (Y1).

    A term is used where it stands literally, in any case, with no ASCII letter, digit or underscore right before or
    after it. Nothing else is looked at: plurals that the list lacks are free, and an answer without content passes.

    Examples
    --------
    >>> used_terms("The MAN (Node_C) stops Node_A", ("man", "frisbee"))
    ('man',)
    >>> used_terms("Node_man and a snowman", ("man",))
    ()
    """
    folded = answer.lower()
    cleaned = (term.strip().lower() for term in terms)
    return tuple(
        term
        for term in dict.fromkeys(cleaned)
        if term and re.search(rf"(?<![A-Za-z0-9_]){re.escape(term)}(?![A-Za-z0-9_])", folded)
    )


def words_of(answer: str) -> list[str]:
    """Return the words of an answer as Y4 counts them: hyphens separate, other ASCII punctuation vanishes.

    Examples
    --------
    >>> words_of("coffee-cup falls off table")
    ['coffee', 'cup', 'falls', 'off', 'table']
    """
    spaced = "".join(" " if character in HYPHENS else character for character in answer)
    return "".join(character for character in spaced if character not in PUNCTUATION).split()


def why_not_minimal(answer: str, spec: LimitSpec, strict_hyphen: bool = False) -> str:
    """Return why an answer breaks Y4, or an empty text.

    The tests come in the released order: empty, limit, line break, number of words, punctuation.
    """
    text = answer.strip()
    if not text:
        return "is empty"
    limit = spec.allowed_max_words
    if isinstance(limit, bool) or not isinstance(limit, int) or limit < 1:
        return f"the limit '{limit}' is no whole number of at least 1"
    if spec.forbid_extra_text and "\n" in text:
        return "has more than one line"
    words = words_of(text)
    if not words:
        return "has no words"
    if len(words) > limit:
        return f"has {len(words)} words instead of at most {limit}"
    if spec.forbid_punctuation:
        marks = sorted({c for c in text if c in PUNCTUATION and c not in HYPHENS})
        if marks:
            return f"has punctuation {' '.join(marks)}"
        if strict_hyphen and re.search(rf"(?<!\w)[{re.escape(''.join(sorted(HYPHENS)))}]|[{_class()}](?!\w)", text):
            return "has a hyphen outside a word"
    return ""


def _class() -> str:
    return re.escape("".join(sorted(HYPHENS)))
