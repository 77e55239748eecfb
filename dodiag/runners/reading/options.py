"""The options of one question as they stand in replies: by letter, and by their own text."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
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
    r"""(?:\b(?:not(?!\ only)|no|never|neither|nor|without|cannot|than|unlike|except|excluding|eliminate|exclude|isnt
        |arent)|n't|\b(?:instead|rather)\b)(?:\W+\w+){0,3}\W*$""",
    re.VERBOSE,
)
_NEGATED_AFTER = re.compile(
    r"""[\s"')]{0,3}\?\s{0,2}no(?:pe|t)?\b|\W{0,3}(?:(?:one|option|answer|choice)\ )?
        (?:(?:is|are|was|were|does|do|did|can|could|has|seems|looks)(?:n't|\ not)\b
        |(?:can\ be|is|are|was|were)\ (?:\w+\ )?(?:wrong|incorrect|ruled\ out|unlikely|excluded|eliminated|out)\b)""",
    re.VERBOSE,
)
_CLAUSE_BREAK = re.compile(r"[.;!?\n:,]|\bbut\b")
_SUPPOSED = re.compile(r"\bif\b")
_MIXED = re.compile(
    r"""(?<![a-z])(?:[a-z]{2,12}-ish
        |(?:blue?i|greeni|reddi|yellowi|browni|gre?yi|grayi|whiti|blacki|pinki|purpli|violeti|orang[ei]i?)sh)[ -]$""",
    re.VERBOSE,
)
"""Before an option that is then not said as it stands: ``bluish green``."""
_NARROWED = re.compile(
    r"""(?<![a-z-])(?:navy|sky|royal|baby|midnight|cobalt|azure|powder|lime|olive|forest|mint|emerald|hot|rose|wine|blood
        |brick|neon|pastel|dark|light|pale|deep|bright|dull|faded|off|almost|nearly|upper|lower|inner|outer)\ $""",
    re.VERBOSE,
)
"""Before an option that is then only a part of what is said: ``navy blue``, ``upper left``."""
_ARTICLE = re.compile(r"(?:a|an|the) (?=[a-z]{3,}$)")
_MANY_SENSES = frozenset(
    {"left", "right", "top", "bottom", "same", "other", "first", "second", "last", "back", "front"}
)


_OWN_LETTER = re.compile(r"(?:\(?([a-z])\)|([a-z])[.:])\s+(?=\S{2})")


def _variants(text: str, letter: str) -> set[str]:
    """Return other spellings of an option's folded text.

    Without its own letter, without its article, hyphens as spaces and the reverse.
    """
    own = _OWN_LETTER.match(text)
    if own and (own[1] or own[2]).upper() == letter:
        text = text[own.end() :]
        return {text} | _variants(text, "")
    found = {text.replace("-", " "), text.replace(" ", "-") if text.count(" ") == 1 else text}
    bare = _ARTICLE.sub("", text, count=1)
    if bare not in _MANY_SENSES | _FUNCTION_WORDS:
        found.add(bare)
    return found - {text}


_LETTER = re.compile(
    r"(?<![\w'-])(?<![\d°] )([B-HJ-Z](?!\w|['-]\w)|[AI](?=[\"')\]]{0,2}(?:$|[.!,;:)\n])))(?![\"')\]]{0,2}\?)"
)
_LETTER_DENIED = re.compile(
    r"(?:\b(?:not|neither|nor|than|instead of|cannot)|n't)\W+(?:(?:be|is|option|choice)\W+){0,2}$", re.IGNORECASE
)
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
        others = [(variant, letter) for text, letter in words for variant in _variants(text, letter)]
        said = Counter(variant for variant, _ in {*others, *words})
        words += [pair for pair in others if said[pair[0]] == 1]
        self._by_key = {key(text): letter for text, letter in words if said[text] == 1} | self._by_key
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
        named: set[str] = set()
        negated: set[str] = set()
        for start, end, option, letter in self._places(folded):
            if option in _FUNCTION_WORDS:
                if _own_clause(folded, start, end):
                    named.add(letter)
            elif not _is_supposed(folded, start) and not _MIXED.search(folded, max(0, start - _WINDOW), start):
                (negated if _is_negated(folded, start, end) else named).add(letter)
            if len(named) > 1:
                break
        return named, negated

    def narrowed(self, text: str, letter: str) -> bool:
        """Return whether an option stands in a text only as a part of a longer term: ``navy blue``, ``upper left``."""
        folded = fold(text)
        starts = [start for start, _, _, named in self._places(folded) if named == letter]
        return all(_NARROWED.search(folded, max(0, start - _WINDOW), start) for start in starts)

    def lettered(self, text: str) -> set[str]:
        """Return the options that a text names by a capital letter of its own, outside the options' texts.

        Neither denied nor asked about; ``A`` and ``I`` only where a clause ends after them: they are mostly words.
        """
        characters = list(text)
        for start, end, _, _ in self._places(fold(text)):
            characters[start:end] = " " * (end - start)
        rest = "".join(characters)
        letters = {
            match[1]
            for match in _LETTER.finditer(rest)
            if not _LETTER_DENIED.search(rest, max(0, match.start() - _WINDOW), match.start())
        }
        return letters & set(self.letters)

    def _places(self, folded: str) -> Iterator[tuple[int, int, str, str]]:
        """Yield where option texts stand in folded text, the longest option first: start, end, option, letter."""
        taken = bytearray(len(folded))
        for option, letter in self._texts:
            start = folded.find(option)
            while start >= 0:
                end = start + len(option)
                if _bounded(folded, start, end, option) and not any(taken[start:end]):
                    taken[start:end] = b"\1" * (end - start)
                    yield start, end, option, letter
                start = folded.find(option, end)


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


def _clause_before(text: str, start: int) -> str:
    before = text[max(0, start - _WINDOW) : start]
    breaks = [found.end() for found in _CLAUSE_BREAK.finditer(before)]
    return before[breaks[-1] :] if breaks else before


def _is_supposed(text: str, start: int) -> bool:
    """Return whether an option only stands in a condition: ``if it were red``."""
    return bool(_SUPPOSED.search(_clause_before(text, start)))


def _is_negated(text: str, start: int, end: int) -> bool:
    clause = _clause_before(text, start)
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
