"""Read a choice: one letter, or the text of exactly one option."""

from __future__ import annotations

import re
from typing import NamedTuple

from dodiag.runners.reading.cues import TAKES_BACK
from dodiag.runners.reading.options import WRAPPERS, Options, fold, options_of
from dodiag.runners.reading.refusal import abstains
from dodiag.runners.reading.result import Found, nothing_valid, undecided
from dodiag.scm.answers import AnswerSpec

_WRAP = r"[\s\"'(\[{<*_`|=:>.,~#\-–—" + "\ue000-\ue003]*+"

_LEAD = re.compile(
    rf"""{_WRAP}(?:(?:so|thus|therefore|hence|then|and|the|is|its|it's|it\ is|it|this|that's|that|must|should|would|be
        |option|choice|letter|answer|correct|right|best|final|my|definitely|probably|possibly|likely|most|clearly|simply|just|either|indeed|yes|actually
        |i\ (?:would\ |will\ |'ll\ )?(?:think|believe|choose|pick|select|guess|say|go\ with)
        |i'(?:d|ll)\ (?:say|choose|pick|select|guess|go\ with))
        (?![\w']){_WRAP})*+""",
    re.IGNORECASE | re.VERBOSE,
)
"""What may stand before the letter itself: wrapping, and words that only introduce it."""

_LETTER = re.compile(r"([A-Za-z])(?:(?!\w|'\w)|(?=[\u3000-\u9fff\uac00-\ud7af]))(?!-\w|\.[A-Za-z](?![A-Za-z]))")
_LETTERS = re.compile(r"[A-Za-z]{2,26}(?!\w|'\w)")
_CLOSERS = re.compile(r"[)\]}\"'*_`>|" + "\ue001\ue003]*+")
_CLOSED = re.compile(r"\s*(?:$|[.,;:!?()\[\]/&+|\n\-–—=<>\"]|and\b|or\b|are\b|both\b)")
_AFTER_ANY = re.compile(r"\s+(?:because|since|as|is|due|given|based|and|or|but|for|so)\b")
_AFTER_NOT_WORD = re.compile(
    r"\s+(?:in|at|on|from|with|which|where|that|the|it|this|by|if|not|here|seems|matches|shows|corresponds|represents)\b"
)
_ANOTHER = re.compile(
    r"\s*(?:,|/|&|\+|\||;|>|and\b|or\b)\s*(?:(?:or|and|also|maybe|possibly|perhaps|option|choice|letter)\b\s*){0,3}"
    r"[\"'(\[*]{0,3}([A-Za-z])(?!\w|['-]\w)"
)
_SECOND_AT_END = re.compile(r"[.):]\s*([A-Z])\W*$")
_SEPARATORS = re.compile(r"[\s.):,;\-–—=>\"'(\[*_|]*+")
_ARTICLE = re.compile(r"(?:(?:the|a|an|option|is|namely|i\.e\.)(?![\w'])[\s:\"'(]*)+")
_ENUMERATED = re.compile(r"\s*[.):,;\-–—]|\W*(?:because|since|as)\b")
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
    """

    found: Found
    tail: str


def at_cue(content: str, spec: AnswerSpec, strong: bool, how: str) -> Found | None:
    """Read what stands after an answer cue.

    Parameters
    ----------
    content : str
        One line of cleaned text.
    spec : AnswerSpec
        With choices.
    strong : bool
        Whether the cue is a label, so that text which names no option is an invalid answer rather than prose.
    how : str
        The cue's name, kept in the finding.

    Returns
    -------
    Found or None
        None where nothing here can be taken for an answer.
    """
    options = options_of(spec.choices or ())
    if letter := options.exact(content):
        return Found(letter, content, how)
    if (head := _head(content, options, how)) is not None:
        return head.found
    if not strong or abstains(content):
        return None
    named, negated = options.mentioned(content)
    if len(named) == 1 and not named & negated:
        return Found(named.pop(), content, how)
    return nothing_valid(content, how, "several" if len(named) > 1 else "not_an_answer")


def without_cue(text: str, spec: AnswerSpec) -> Found | None:
    """Read a reply without a cue.

    The whole reply, a last line that is a letter, one line that is a letter with or without its option's text, one
    lettered option named throughout, or the text of exactly one option. An article in prose is never a letter.
    """
    options = options_of(spec.choices or ())
    lines = [line for line in text.split("\n") if line.strip(WRAPPERS)]
    if not lines:
        return None
    if (found := _whole(lines[0], options) if len(lines) == 1 else _by_lines(lines, options)) is not None:
        return found
    return _by_option_letter(text, options) or _by_option_text(text, options)


def _whole(line: str, options: Options) -> Found | None:
    if letter := options.exact(line):
        return Found(letter, line, "bare")
    head = _head(line, options, "bare")
    if head is None:
        return None
    if head.tail != "free":
        return head.found
    rest = line[line.find(head.found.span) + len(head.found.span) :]
    if head.found.value is None or not _ENUMERATED.match(rest) or abstains(rest):
        return None
    if head.found.span == "I" and rest.startswith(","):
        return None
    return head.found._replace(how="head")


_WORD = re.compile(r"[A-Za-z]{2}")
_HEADED_LINES = 400
"""Lines at each end of a reply that are looked at for a letter."""


def _by_lines(lines: list[str], options: Options) -> Found | None:
    """Read a reply of several lines by those that are a letter, or a letter and its option's text, and no more."""
    looked_at = lines if len(lines) <= 2 * _HEADED_LINES else lines[:_HEADED_LINES] + lines[-_HEADED_LINES:]
    heads = [_line_head(line, options) for line in looked_at]
    last = heads[-1]
    if last is not None and (last.tail == "nothing" or options.exact(lines[-1])):
        before = heads[-2]
        alike = {head.found.value for head in heads if head is not None and head.tail == last.tail}
        if before is not None and before.tail == last.tail and len(alike) > 1 and not _WORD.search(lines[-1]):
            return nothing_valid(lines[-1], "last_line", "several") if len(heads) == len(alike) else None
        found = last.found._replace(how="last_line")
        return found.flagged("revised") if len(alike) > 1 and found.value is not None else found
    letters = {head.found.value for head in heads if head is not None}
    if len(letters) != 1 or None in letters:
        return None
    place = next(i for i, head in enumerate(heads) if head is not None)
    head = heads[place]
    return None if head is None or TAKES_BACK.search("\n".join(looked_at[place + 1 :])) else head.found


def _line_head(line: str, options: Options) -> Head | None:
    if letter := options.exact(line):
        return Head(Found(letter, line, "line"), "own")
    head = _head(line, options, "line")
    return None if head is None or head.tail == "free" or _DENIAL.search(line) else head


_NAMED_LETTER = re.compile(r"(?:\b(?:[Oo]ption|[Cc]hoice|[Ll]etter) \(?|\()([A-Z])(?!\w|['-]\w)\)?")
_DENIAL = re.compile(
    r"\b(?:not|nor|neither|never|wrong|incorrect|except|unlike|ruled out|eliminate|exclude)\b|n't\b", re.IGNORECASE
)


def _by_option_letter(text: str, options: Options) -> Found | None:
    """Return the one letter that the reply ever names as an option, unless it denies it or names another by text."""
    named: str | None = None
    place = (0, 0)
    for match in _NAMED_LETTER.finditer(text):
        if named not in (None, match[1]):
            return None
        named, place = match[1], match.span()
    if named is None or named not in options.letters or abstains(text):
        return None
    if _DENIAL.search(text, max(0, place[0] - 60), place[1] + 60) or options.mentioned(text)[0] - {named}:
        return None
    return Found(named, text[place[0] : place[1]], "option_letter")


def _by_option_text(text: str, options: Options) -> Found | None:
    named, negated = options.mentioned(text)
    if not named:
        return _yes_or_no(text, options)
    if abstains(text):
        return None
    if len(named) == 1 and not named & negated:
        return Found(named.pop(), text, "option_text")
    return undecided(text, "option_text")


_YES = frozenset({"yes", "yep", "yeah", "yup", "absolutely", "definitely", "certainly", "of course", "indeed"})
_NO = frozenset({
    "no", "nope", "nah", "not at all", "absolutely not", "definitely not", "certainly not", "of course not",
    "not really",
})  # fmt: skip


def _yes_or_no(text: str, options: Options) -> Found | None:
    yes, no = options.exact("yes"), options.exact("no")
    if not (yes and no):
        return None
    words = " ".join(text.strip(WRAPPERS).lower().split())
    if words in _YES:
        return Found(yes, text, "bare")
    return Found(no, text, "bare") if words in _NO else None


def _head(line: str, options: Options, how: str) -> Head | None:
    """Read the letter, or the option's text, at the head of a line; None where it begins with neither."""
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
    return Head(Found(letter, line[place:end], how), "free")


def _head_letter(line: str, folded: str, match: re.Match[str], options: Options, how: str) -> Head | None:
    letter, end = match[1].upper(), match.end()
    if closers := _CLOSERS.match(line, end):
        end = closers.end()
    rest = line[end:]
    alone = not rest.strip(WRAPPERS + "-–—")
    own, contradicted = (False, False) if alone else _text_after(line, folded, end, letter, options)
    if not (alone or own or contradicted or _CLOSED.match(rest)):
        word = letter in "AI"
        if match[1].islower() or not (_AFTER_ANY.match(rest) or (not word and _AFTER_NOT_WORD.match(rest))):
            return None
    tail = "nothing" if alone else "own" if own else "free"
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
    return Head(Found(letter, match[1], how), tail)


def _other_letter(rest: str, first: str) -> tuple[str, bool] | None:
    """Return the second letter where one is asked, as in ``A or B``, and whether the line ends there.

    An article or a pronoun is no letter.
    """
    match = _ANOTHER.match(rest) or _SECOND_AT_END.match(rest)
    if match is None or match[1].isupper() != first.isupper() or not _CLOSED.match(rest, match.end()):
        return None
    return match[1].upper(), not rest[match.end() :].strip(WRAPPERS)


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
