"""Read a choice: one letter, or the text of exactly one option."""

from __future__ import annotations

import re

from dodiag.runners.reading.cues import TAKES_BACK, WITHDRAWAL
from dodiag.runners.reading.heads import Head, read_head
from dodiag.runners.reading.options import WRAPPERS, Options, options_of
from dodiag.runners.reading.refusal import abstains
from dodiag.runners.reading.result import Found, nothing_valid, undecided
from dodiag.scm.answers import AnswerSpec

_ENUMERATED = re.compile(r"\s*[.):,;\-–—]|\W*(?:because|since|as|not|rather than|instead of)\b|です|입니다")
_DENIED_FIRST = re.compile(r"\W{0,4}(?:it(?:'s| is) )?(?:\w{1,12}ly )?not (?:option )?\(?([A-Z])\)?,? but (?:rather )?")
"""What may stand before the letter: ``not A but B``."""
_GOES_ON = re.compile(r"\s?+[,;-]\s?+(?!(?:since|because|as|while|whereas|not|rather|instead|unlike|but not)\b)")
_BUT_NO = re.compile(r"^\W*\bno\b[,.]?\s", re.IGNORECASE)


_NOT_AVAILABLE = re.compile(r"\W*n/a\W*", re.IGNORECASE)


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
    content = _without_denial(content)
    if letter := options.exact(content):
        return Found(letter, content, how)
    if _NOT_AVAILABLE.fullmatch(content):
        return None
    if "\n" in content and _differ(content, options):
        return nothing_valid(content, how, "several")
    if (head := read_head(content, options, how)) is not None:
        return head.found
    if not strong or abstains(content):
        return None
    named, negated = options.mentioned(content)
    if len(named) == 1 and not named & negated:
        return _named(named.pop(), content, options, how)
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
    return _by_last_sentence(text, options) or _by_option_letter(text, options) or _by_option_text(text, options)


_NUMBERING = re.compile(r"\W{0,3}\d{1,2}[.)]\s+(?=\S)")


def _without_denial(line: str) -> str:
    denied = _DENIED_FIRST.match(line)
    return line[denied.end() :] if denied else line


def _whole(line: str, options: Options) -> Found | None:
    if line.endswith("?") and _WORD.search(line):
        return None
    line = _NUMBERING.sub("", line, count=1)
    line = _without_denial(line)
    if letter := options.exact(line):
        return Found(letter, line, "bare")
    head = read_head(line, options, "bare")
    if head is None:
        return None
    if head.tail != "free":
        return head.found
    if head.found.value is None or not _ENUMERATED.match(head.rest) or abstains(head.rest):
        return None
    if head.found.span == "I" and head.rest.startswith(","):
        return None
    if len(head.found.span) > 1 and _GOES_ON.match(head.rest) and options.mentioned(head.rest)[0] - {head.found.value}:
        return undecided(line, "head")
    if _BUT_NO.match(head.rest) or WITHDRAWAL.search(head.rest):
        return undecided(line, "head")
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
        stated = last.tail == "nothing" and _WORD.search(lines[-1])
        if before is not None and before.tail == last.tail and len(alike) > 1 and not stated:
            return nothing_valid(lines[-1], "last_line", "several") if len(heads) == len(alike) else None
        found = last.found._replace(how="last_line")
        return found.flagged("revised") if len(alike) > 1 and found.value is not None else found
    letters = {head.found.value for head in heads if head is not None}
    if len(letters) != 1 or None in letters:
        return None
    place = next(i for i, head in enumerate(heads) if head is not None)
    head = heads[place]
    return None if head is None or TAKES_BACK.search("\n".join(looked_at[place + 1 :])) else head.found


def _differ(content: str, options: Options) -> bool:
    """Return whether every line of a text is an answer of its own, and not all are the same."""
    heads = [_line_head(line, options) for line in content.split("\n") if line.strip(WRAPPERS)]
    return None not in heads and len({head.found.value for head in heads if head is not None}) > 1


def _line_head(line: str, options: Options) -> Head | None:
    if letter := options.exact(line):
        return Head(Found(letter, line, "line"), "own")
    head = read_head(line, options, "line")
    return None if head is None or head.tail == "free" or _DENIAL.search(line) else head


_SENTENCE_END = re.compile(r"(?:(?<=[a-z]{2})|(?<=[^\w'][A-Z])|(?<=[)\"']))[.!?]\s+|\n")


def _sentences(text: str) -> list[str]:
    """Return the sentences of a text, each with its end mark; ``A. red`` is no end."""
    ends = [match.end() for match in _SENTENCE_END.finditer(text)]
    pieces = [text[start:end].strip() for start, end in zip([0, *ends], [*ends, len(text)], strict=True)]
    return [piece for piece in pieces if piece] or [text]


def _by_last_sentence(text: str, options: Options) -> Found | None:
    """Return the letter that the last of several sentences states and no other one: ``It is not A. It's B.``"""
    *before, last = _sentences(text)
    head = read_head(last, options, "last_line") if before and _WORD.search(last) else None
    if head is None or head.tail != "nothing" or head.found.value is None or last.endswith("?"):
        return None
    heads = [read_head(sentence, options, "line") for sentence in before if not sentence.endswith("?")]
    others = {other.found.value for other in heads if other is not None and other.tail != "free"}
    return head.found if others <= {head.found.value} else undecided(last, "last_line")


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
    if len(named) == 1 and not named & negated and options.lettered(text) <= named:
        return _named(named.pop(), text, options, "option_text")
    return undecided(text, "option_text")


def _named(letter: str, text: str, options: Options, how: str) -> Found:
    found = Found(letter, text, how)
    return found.flagged("ambiguous") if options.narrowed(text, letter) else found


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
