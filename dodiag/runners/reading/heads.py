"""The letter, or the option's text, that a line begins with, and what follows it."""

from __future__ import annotations

import re
from typing import NamedTuple

from dodiag.runners.reading.options import WRAPPERS, Options, fold
from dodiag.runners.reading.result import Found, nothing_valid

_WRAP = r"[\s\"'(\[{<*_`|=:>.,~#\-–—" + "\ue000-\ue003]*+"

_LEAD = re.compile(
    rf"""{_WRAP}(?:是|选)?(?:(?:so|thus|therefore|hence|then|and|the|is|its|it's|it\ is|it|this|that's|that|must|should
        |would|be|la|el|a\ letra|letra|lettre|lettera|opción|opção|opzione
        |option|choice|letter|answer|response|reply|output|assistant|result|solution|correct|right|best|final|my
        |maybe|perhaps|definitely|probably|possibly|likely|most|clearly|simply|just|either|indeed|yes|actually
        |i\ (?:would\ |will\ |'ll\ )?(?:think|believe|choose|pick|select|guess|say|go\ (?:with|for))
        |i'(?:d|ll)\ (?:say|choose|pick|select|guess|go\ (?:with|for)))
        (?![\w']){_WRAP})*+""",
    re.IGNORECASE | re.VERBOSE,
)
"""What may stand before the letter itself: wrapping, and words that only introduce it."""

_LETTER = re.compile(r"([A-Za-z])(?:(?!\w|'\w)|(?=[\u3000-\u9fff\uac00-\ud7af]))(?!-\w|\.[A-Za-z](?![A-Za-z]))")
_LETTERS = re.compile(r"[A-Za-z]{2,26}(?!\w|'\w)")
_CLOSERS = re.compile(r"[)\]}\"'*_`>|" + "\ue001\ue003]*+")
_CLOSED = re.compile(r"\s*(?:$|[.,;:!?()\[\]/&+|\n\-–—=<>\"\u3000-\u9fff\uac00-\ud7af]|and\b|or\b|are\b|both\b)")
_AFTER_ANY = re.compile(r"\s+(?:because|since|as|is|due|given|based|and|or|but|for|so|rather than|instead of)\b")
_AFTER_NOT_WORD = re.compile(
    r"\s+(?:in|at|on|from|with|which|where|that|the|it|this|by|if|not|here|seems|matches|shows|corresponds|represents)\b"
)
_ANOTHER = re.compile(
    r"(?:\s|\.\.+)*(?:,|/|&|\+|\||;|>|and\b|or\b)\s*(?:(?:or|and|also|maybe|possibly|perhaps|option|choice|letter)\b\s*){0,3}"
    r"[\"'(\[*]{0,3}([A-Za-z])(?!\w|['-]\w)"
)
_SECOND_AT_END = re.compile(r"[.):]\s*([A-Z])\W*$")
_SEPARATORS = re.compile(r"[\s.):,;\-–—=>\"'(\[*_|]*+")
_ARTICLE = re.compile(r"(?:(?:the|a|an|option|is|namely|i\.e\.)(?![\w'])[\s:\"'(]*)+")
_OR_TEXT = re.compile(r"[\s,]*(?:or\b|and\b|/|&|,)\s*(?:the |a |an )?")
_CONTRADICTION_END = re.compile(r"(?: (?:one|option|choice|answer))?[\s\"')\]]*(?:$|[.,;:!?\n]|because\b|since\b|as\b)")


class Head(NamedTuple):
    """A letter, or an option's text, at the head of a line.

    Attributes
    ----------
    found : Found
        The letter, or why it is none.
    tail : str
        What follows it: ``nothing``, ``own`` (its option's text) or ``free`` (other text).
    rest : str
        The text that follows.
    """

    found: Found
    tail: str
    rest: str = ""


def read_head(line: str, options: Options, how: str) -> Head | None:
    """Read the letter, or the option's text, at the head of a line.

    Parameters
    ----------
    line : str
        One line of cleaned text.
    options : Options
        The question's options.
    how : str
        The rule's name, kept in the finding.

    Returns
    -------
    Head or None
        None where the line begins with neither; an article or a pronoun is no letter.
    """
    folded = fold(line)
    lead = _LEAD.match(line)
    start = lead.end() if lead else 0
    for place in sorted({len(line) - len(line.lstrip(WRAPPERS)), start}):
        if (here := options.at(folded, place)) is not None:
            return _head_text(line, folded, place, here, options, how)
    if run := _LETTERS.match(line, start):
        alone = not line[run.end() :].strip(WRAPPERS)
        if not set(run[0].upper()) <= set(options.letters) or not (run[0].isupper() or alone):
            return None
        return Head(nothing_valid(run[0], how, "several"), "nothing" if alone else "free")
    match = _LETTER.match(line, start)
    return None if match is None else _head_letter(line, folded, match, options, how)


def _head_text(line: str, folded: str, place: int, here: tuple[str, int], options: Options, how: str) -> Head | None:
    letter, end = here
    if not line[end:].strip(WRAPPERS):
        return Head(Found(letter, line[place:end], how), "own")
    connective = _OR_TEXT.match(folded, end)
    if connective and (other := options.at(folded, connective.end())) and other[0] != letter:
        ends = not line[other[1] :].strip(WRAPPERS)
        return Head(nothing_valid(line, how, "several"), "nothing" if ends else "free")
    if not _CONTRADICTION_END.match(line, end):
        return None
    return Head(Found(letter, line[place:end], how), "free", line[end:])


def _head_letter(line: str, folded: str, match: re.Match[str], options: Options, how: str) -> Head | None:
    letter, end = match[1].upper(), match.end()
    if closers := _CLOSERS.match(line, end):
        end = closers.end()
    rest = line[end:]
    alone = not rest.strip(WRAPPERS + "-–—")
    own, contradicted = (False, False) if alone else _text_after(line, folded, end, letter, options)
    wrapped = end > match.end()
    closed = alone or bool(_CLOSED.match(rest))
    word = letter in "AI"
    if own and word and not (closed or wrapped or _ends_with_text(line, folded, end, options)):
        return None
    if not (closed or own or contradicted):
        goes_on = _AFTER_ANY.match(rest) or (not word and _AFTER_NOT_WORD.match(rest))
        if match[1].islower() or not goes_on:
            return None
    tail = "nothing" if alone else "own" if own else "free"
    if _goes_on(line, folded, end, letter, options):
        return Head(nothing_valid(line[match.start() :], how, "several"), "nothing")
    if other := _other_letter(rest, match[1]):
        second, ends = other
        if second == letter:
            return Head(Found(letter, match[1], how, frozenset({"duplicates"})), tail)
        return Head(nothing_valid(line[match.start() :], how, "several"), "nothing" if ends else "free")
    if contradicted:
        return Head(nothing_valid(line[match.start() :], how, "contradiction"), "own")
    if letter not in options.letters:
        if (letter == "I" and not alone) or not (alone or rest[:1] in (".", ")", ":")):
            return None
        return Head(nothing_valid(match[1], how, "out_of_range"), tail)
    return Head(Found(letter, match[1], how), tail, line[match.end() :])


_ENUMERATED_LETTER = re.compile(r"(?<![\w'-])\(?([A-Z])[.):]\)?\s*")
_OR = re.compile(r"\s*,?\s*or\b")
_ANY_LETTER = re.compile(r"(?<![\w'-])([A-Z])(?!\w|['-]\w)")


def _goes_on(line: str, folded: str, end: int, letter: str, options: Options) -> bool:
    """Return whether another letter follows with its own text (``A. red, B. green``) or after ``or``."""
    for match in _ENUMERATED_LETTER.finditer(line, end):
        if match[1] != letter and (here := options.at(folded, match.end())) and here[0] == match[1]:
            return True
    if not _OR.match(line, end):
        return False
    return any(
        match[1] != letter and match[1] in options.letters and _CLOSED.match(line, match.end())
        for match in _ANY_LETTER.finditer(line, end)
    )


def _other_letter(rest: str, first: str) -> tuple[str, bool] | None:
    """Return the second letter where one is asked, as in ``A or B``, and whether the line ends there.

    An article or a pronoun is no letter.
    """
    match = _ANOTHER.match(rest) or _SECOND_AT_END.match(rest)
    if match is None or match[1].isupper() != first.isupper() or not _CLOSED.match(rest, match.end()):
        return None
    return match[1].upper(), not rest[match.end() :].strip(WRAPPERS)


def _ends_with_text(line: str, folded: str, end: int, options: Options) -> bool:
    """Return whether nothing follows the option's text: ``A red`` is letter and text, ``A red car`` may be prose."""
    start = end + len(line[end:]) - len(line[end:].lstrip())
    here = options.at(folded, start)
    return here is not None and bool(_CONTRADICTION_END.match(line, here[1]))


def _text_after(line: str, folded: str, end: int, letter: str, options: Options) -> tuple[bool, bool]:
    """Return whether the letter's own option text follows it, and whether another option's text does."""
    start = separators.end() if (separators := _SEPARATORS.match(line, end)) else end
    article = _ARTICLE.match(folded, start)
    for place in (end, start, article.end() if article else start):
        if (here := options.at(folded, place)) is None:
            continue
        if here[0] == letter:
            return True, False
        if _CONTRADICTION_END.match(line, here[1]):
            return False, letter not in "AI" or bool(line[end:place].strip())
    return False, False
