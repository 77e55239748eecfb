"""Read a set of letters or numbers: as a list is read, but in any order, and a repeated member counts once."""

from __future__ import annotations

import re
from typing import Any

from dodiag.runners.reading import lists
from dodiag.runners.reading.options import WRAPPERS, options_of
from dodiag.runners.reading.refusal import abstains
from dodiag.runners.reading.result import Found, nothing_valid, undecided
from dodiag.runners.reading.tokens import numbers_in, points_may_part_thousands
from dodiag.scm.answers import AnswerSpec, Members

_PREDICATE = re.compile(
    r"""\s(?:only|(?:(?:are|is)(?:\ (?:all|both|the|only))*\ (?:correct|right|true|valid)
            (?:\ (?:answers?|options?|choices?|ones?))?)
        |(?:both\ |all\ )?(?:apply|applies|match|matches))[\s.!)]*$""",
    re.IGNORECASE | re.VERBOSE,
)
"""What may follow the letters: ``A and C are correct``."""
_DENIED_REST = re.compile(r",?\s(?:(?:but|and)\s)?not\s(?:\(?[A-Z]\)?(?:,\s|\sor\s|\sand\s|\snor\s|/)?){1,9}[.!]?$")
"""What a set is told not to have: ``A, C but not B``."""
_EVERYTHING = re.compile(
    r"(?:all|both)(?: (?:of (?:them|the above|these)|four|three|options|choices|the options))?", re.IGNORECASE
)
_SAYS_SO = re.compile(
    r"\b(?:correct|right|true|apply|applies|match(?:es)?|select|choose|chosen|answers?)\b", re.IGNORECASE
)
_ADDS = re.compile(r"\balso\b", re.IGNORECASE)
_DENIAL = re.compile(
    r"\b(?:not|nor|neither|never|wrong|incorrect|false|except|without|unlike|but|or|between|from|eliminate|exclude)\b|n't\b",
    re.IGNORECASE,
)
"""Where one of these stands, the letters or numbers of a sentence in prose may be anything."""
_LETTER = re.compile(
    r"(?<![\w'-])([A-Z])(?!\w|['-]\w)(?:(?<![AI])|(?! (?!is\b|are\b|and\b|apply|applies|both\b|match)[a-z]))"
)
"""A letter, and no article or pronoun."""
_MORE = re.compile(r",\s?(?:\.\.|…|etc\b)|\band so on\b", re.IGNORECASE)
_GROUP = re.compile(r"[\[({]([^\[\](){}\n]{1,200})[\])}]")
_SENTENCE_BREAK = re.compile(r"[.!?;](?=\s)|\n|,?\s(?:while|whereas)\s")
_LIMIT = 2000


def at_cue(content: str, block: str, spec: AnswerSpec, strong: bool, how: str) -> Found | None:
    """Read the set that stands after an answer cue.

    Parameters
    ----------
    content, block : str
        The line after the cue, and the lines after it up to an empty one.
    spec : AnswerSpec
        Of type ``set``.
    strong : bool
        Whether the cue is a label, so that text that is no set is an invalid answer rather than prose.
    how : str
        The cue's name, kept in the finding.

    Returns
    -------
    Found or None
        None where no set stands here.
    """
    if (found := _everything(content, spec, how) or _open(content, how)) is not None:
        return found
    return lists.at_cue(_members(content), _members(block), spec, strong, how)


def without_cue(text: str, spec: AnswerSpec) -> Found | None:
    """Read a reply without a cue.

    The whole reply, its last lines, or the members that the last sentence with any of them calls right.
    """
    if (found := _everything(text, spec, "bare") or _open(text.rpartition("\n")[2], "bare")) is not None:
        return found
    blocks = [(text, "bare"), (text.rpartition("\n\n")[2], "last_line"), (text.rpartition("\n")[2], "last_line")]
    for part, how in blocks:
        found = lists.read(_members(part), spec, how)
        if found is not None and (how == "bare" or part == blocks[1][0] or _size(found) > 1):
            return found
    return _in_prose(text[-_LIMIT:], spec)


def _open(text: str, how: str) -> Found | None:
    """Refuse text that says that there are more members (``1, 2, …``), and several sets where one is asked."""
    if _MORE.search(text):
        return nothing_valid(text, how, "ambiguous")
    groups = _GROUP.findall(text)
    if len(groups) > 1 and any("," in group for group in groups):
        return nothing_valid(text, how, "several")
    return None


def names_more(after: str, found: Found, spec: AnswerSpec) -> bool:
    """Return whether a sentence after an answer calls letters right that are not in it."""
    if spec.of_members is not Members.LETTER or not isinstance(found.value, tuple):
        return False
    return not _called_right(after[:_LIMIT], spec) <= set(found.value)


def _called_right(text: str, spec: AnswerSpec) -> set[str]:
    """Return the letters that the sentences of a text call right, but for those that also deny something."""
    called: set[str] = set()
    for sentence in _SENTENCE_BREAK.split(text):
        if not _DENIAL.search(sentence):
            called |= set(_letters(sentence, spec, adds=True) or ())
    return called


def _members(text: str) -> str:
    """Return text without what is said of the members, and with ``+`` between them as the comma that it is."""
    return _DENIED_REST.sub("", _PREDICATE.sub("", text)).replace(" + ", ", ")


def _size(found: Found) -> int:
    return len(found.value) if isinstance(found.value, tuple) else 0


def _everything(text: str, spec: AnswerSpec, how: str) -> Found | None:
    """Read ``all of the above``; ``both`` of two options."""
    if spec.of_members is not Members.LETTER:
        return None
    words = text.strip(WRAPPERS)
    if not _EVERYTHING.fullmatch(words) or options_of(spec.choices or ()).exact(words):
        return None
    named = {"both": 2, "three": 3, "four": 4}
    counts = {count for word, count in named.items() if word in words.lower()}
    if counts - {len(spec.letters)}:
        return nothing_valid(text, how, "ambiguous")
    return Found(tuple(spec.letters), text, how)


def _in_prose(text: str, spec: AnswerSpec) -> Found | None:
    ends = [match.end() for match in _SENTENCE_BREAK.finditer(text)]
    for start, end in reversed(list(zip([0, *ends], [*ends, len(text)], strict=True))):
        sentence = text[start:end]
        members: tuple[Any, ...] | None = (
            _letters(sentence, spec) if spec.of_members is Members.LETTER else _numbers(sentence, spec)
        )
        if members is None:
            continue
        if not members or _DENIAL.search(sentence) or sentence.rstrip().endswith("?") or abstains(text):
            return undecided(sentence, "run")
        if spec.of_members is Members.LETTER and not _called_right(text, spec) <= set(members):
            return undecided(sentence, "run")
        found = Found(tuple(sorted(set(members))), sentence, "run")
        if spec.of_members is Members.NUMBER and points_may_part_thousands(sentence):
            found = found.flagged("ambiguous")
        return found.flagged("duplicates") if len(set(members)) < len(members) else found
    return None


def _letters(sentence: str, spec: AnswerSpec, *, adds: bool = False) -> tuple[str, ...] | None:
    """Return the letters of a sentence that says which are right, or that more are; None where it does not."""
    if not (_SAYS_SO.search(sentence) or (adds and _ADDS.search(sentence))):
        return None
    letters = {match[1] for match in _LETTER.finditer(sentence)}
    if not letters & set(spec.letters):
        return None
    return tuple(sorted(letters)) if letters <= set(spec.letters) else ()


def _numbers(sentence: str, spec: AnswerSpec) -> tuple[float, ...] | None:
    """Return the numbers of a sentence whose only numbers are one list; empty where there are more, None where none."""
    run = lists.only_run(sentence, spec)
    if run is None:
        return None
    entries, start, end = run
    if any(number.start < start or number.start >= end for number in numbers_in(sentence)):
        return ()
    return entries
