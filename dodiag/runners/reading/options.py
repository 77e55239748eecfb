"""The options of one question as they stand in replies: by letter, and by their own text."""

from __future__ import annotations

import re
from functools import lru_cache

from dodiag.runners.reading.cleaning import MARKERS, plain
from dodiag.scm.answers import LETTERS

WRAPPERS = " \t\"'.,;:!?()[]{}*_`|<>=~#" + MARKERS
"""Characters around an answer that are not part of it."""

_FUNCTION_WORDS = frozenset({
    "yes", "no", "none", "all", "both", "a", "an", "i", "the", "in", "on", "it", "is", "one", "not", "other", "neither",
    "and", "or", "at", "of", "to", "this", "that", "same", "here", "there",
})  # fmt: skip
"""Options that stand in any prose; they count only as a clause of their own."""

_NEGATED_BEFORE = re.compile(
    r"""(?:\b(?:not|no|never|neither|nor|without|cannot|than|unlike|except|excluding|eliminate|exclude|isnt|arent)|n't
        |\b(?:instead|rather)\b)(?:\W+\w+){0,3}\W*$""",
    re.VERBOSE,
)
_NEGATED_AFTER = re.compile(
    r"""\W{0,3}(?:(?:one|option|answer|choice)\ )?
        (?:(?:is|are|was|were|does|do|did|can|could|has|seems|looks)(?:n't|\ not)\b
        |(?:can\ be|is|are|was|were)\ (?:\w+\ )?(?:wrong|incorrect|ruled\ out|unlikely|excluded|eliminated|out)\b)""",
    re.VERBOSE,
)
_CLAUSE_BREAK = re.compile(r"[.;!?\n:,]")
_WINDOW = 40
_CJK = "\u2e80"


class Options:
    """The options of one question, folded for comparison.

    Parameters
    ----------
    choices : tuple of str
        The option texts, lettered A, B, C, … in order.

    Attributes
    ----------
    letters : str
        ``"ABCD"`` for four options.
    """

    def __init__(self, choices: tuple[str, ...]) -> None:
        self.letters = LETTERS[: len(choices)]
        folded = [fold(plain(choice)).strip() for choice in choices]
        keys = [key(text) for text in folded]
        self._by_key = {k: letter for k, letter in zip(keys, self.letters, strict=True) if keys.count(k) == 1}
        words = [
            (text, letter)
            for text, letter in zip(folded, self.letters, strict=True)
            if len(text) > 1 or text.isdigit() or (text and not text.isascii())
        ]
        self._texts = sorted(words, key=lambda pair: -len(pair[0]))

    def exact(self, text: str) -> str | None:
        """Return the letter of the option that a text is, but for case and wrapping."""
        folded = key(fold(text))
        letter = self._by_key.get(folded)
        if letter is None and folded.startswith(("the ", "a ", "an ")):
            letter = self._by_key.get(folded.partition(" ")[2])
        return letter

    def at(self, folded: str, position: int) -> tuple[str, int] | None:
        """Return the letter and end of the longest option text that stands at a position of folded text."""
        for text, letter in self._texts:
            if folded.startswith(text, position) and _bounded(folded, position, position + len(text), text):
                return letter, position + len(text)
        return None

    def mentioned(self, text: str) -> tuple[set[str], set[str]]:
        """Return the options that stand in a text, and those that stand negated.

        Whole words, without regard to case, the longest option first: ``red`` does not stand in ``dark red`` where
        that is an option too. Options that are function words (``no``) count only as a clause of their own.
        """
        folded = fold(text)
        taken = bytearray(len(folded))
        named: set[str] = set()
        negated: set[str] = set()
        for option, letter in self._texts:
            start = folded.find(option)
            while start >= 0:
                end = start + len(option)
                if _bounded(folded, start, end, option) and not any(taken[start:end]):
                    taken[start:end] = b"\1" * (end - start)
                    if option not in _FUNCTION_WORDS:
                        (negated if _is_negated(folded, start, end) else named).add(letter)
                    elif _own_clause(folded, start, end):
                        named.add(letter)
                start = folded.find(option, end)
            if len(named) > 1:
                break
        return named, negated


@lru_cache(maxsize=4096)
def options_of(choices: tuple[str, ...]) -> Options:
    """Return the folded options of one question; remembered, since every configuration asks it again."""
    return Options(choices)


def fold(text: str) -> str:
    """Return text folded for comparison, character by character, so that positions keep their meaning."""
    lowered = text.lower()
    if len(lowered) == len(text):
        return lowered
    return "".join(low if len(low := char.lower()) == 1 else char for char in text)


def key(folded: str) -> str:
    """Return folded text without wrapping, as options are looked up."""
    return folded.strip(WRAPPERS) or folded


def _bounded(text: str, start: int, end: int, option: str) -> bool:
    first, last = option[0], option[-1]
    before, after = text[start - 1 : start], text[end : end + 1]
    if first.isdigit() and (before.isdigit() or (before in tuple(".,-+/:") and before)):
        return False
    if last.isdigit() and (after == "%" or (after in tuple(".,/:") and text[end + 1 : end + 2].isdigit())):
        return False
    return not (_joins(before, first) or _joins(after, last)) and not _hyphenated(text, start, end)


def _joins(neighbour: str, edge: str) -> bool:
    return bool(neighbour) and (neighbour.isalnum() or neighbour == "_") and edge.isalnum() and edge < _CJK


def _hyphenated(text: str, start: int, end: int) -> bool:
    before, after = text[max(0, start - 2) : start], text[end : end + 2]
    return (len(before) == 2 and before[1] == "-" and before[0].isalnum()) or (
        len(after) == 2 and after[0] == "-" and after[1].isalnum()
    )


def _is_negated(text: str, start: int, end: int) -> bool:
    before = text[max(0, start - _WINDOW) : start]
    breaks = [found.end() for found in _CLAUSE_BREAK.finditer(before)]
    clause = before[breaks[-1] :] if breaks else before
    return bool(_NEGATED_BEFORE.search(clause) or _NEGATED_AFTER.match(text, end, end + _WINDOW))


_CLAUSE_START = re.compile(
    r"(?:^|[.!?;:,\n\-—(])[\s\"']*(?:(?:so|the answer is|answer is|well|and|but|definitely)[ ,:]*)?$"
)
_CLAUSE_END = re.compile(r"[\s\"')]*(?:$|[.!?;:,\n—]|- )")
_ANSWERED = re.compile(r" (?:it|there|they|he|she|this|that|these|those|i|we|you)\b")


def _own_clause(text: str, start: int, end: int) -> bool:
    opens = bool(_CLAUSE_START.search(text, max(0, start - _WINDOW), start)) if start else True
    closes = bool(_CLAUSE_END.match(text, end, end + _WINDOW)) or (start == 0 and bool(_ANSWERED.match(text, end)))
    return opens and closes
