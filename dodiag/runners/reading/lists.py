"""Read a list of integers or an order of letters, and text that is nothing but the members of a set."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from dodiag.runners.reading.cues import CUT, TAKES_BACK
from dodiag.runners.reading.options import WRAPPERS, Options, fold, options_of
from dodiag.runners.reading.refusal import abstains
from dodiag.runners.reading.result import Found, nothing_valid, undecided
from dodiag.runners.reading.tokens import (
    MAX_DIGITS,
    may_be_one_number,
    may_part_thousands,
    numbers_in,
    points_may_part_thousands,
)
from dodiag.scm.answers import AnswerSpec, AnswerType, Members

_LEAD = re.compile(
    r"""[\s"'*_`|=:.,~#"""
    + "\ue000-\ue003"
    + r"""]*+(?:(?:so|thus|therefore|hence|then|the|it|is|are|it's|that|be|should|would|must|correct|right|final
        |order|sequence|list|set|ordering|ranking|answer|letters|numbers|values|positions?|coordinates?|at|both|only
        |(?:options?|choices?)(?!\ are)
        |first(?:ly)?(?=,?\ \(?[A-Za-z]\b[^\n]{1,200}\b(?:finally|lastly)\b)
        |from\ (?:left\ to\ right|top\ to\ bottom|right\ to\ left|bottom\ to\ top)
        |from\ (?:first\ to\ last|earliest\ to\ latest|smallest\ to\ largest|largest\ to\ smallest)
        |i\ (?:think|believe|get|would\ say|would\ order\ them|would\ choose))
        (?![\w'])[\s"'*_`|=:.,~#]*+)*+""",
    re.IGNORECASE | re.VERBOSE,
)
_SEPARATOR = re.compile(
    r"\s?(?:->|=>|[,;>/|&\n和与及と]|(?<=[A-Za-z])\+(?=[A-Za-z])|\b(?:and|then|followed by)\b"
    r"|\b(?:next|finally|lastly)\b(?=,?\s\(?[A-Za-z]\b))\s?",
    re.IGNORECASE,
)
_DASHED = re.compile(r"\w(?:\s?-\s?\w)+")
_ENUMERATOR = re.compile(r"(?:^|(?<=[\s,;]))\(?(\d{1,2})(?:\.(?!\d)|[):])\s*(?=[\w\"'(\[-])")
"""The number of an entry; in ``1.305`` it is a part of the entry."""
_BRACKETED = re.compile(r"[\[({]([^\[\](){}\n]{1,400}+)[\])}]")
_INTEGER = re.compile(r"[-+]?\d++(?:\.0++)?")
_REAL = re.compile(r"[-+]?\d*\.\d++")
_SPACED_INTEGERS = re.compile(r"[-+]?\d++(?: [-+]?\d++)++")
_RUN_OF_INTEGERS = re.compile(r"(?<![\w.,-])[-+]?\d++(?:\s?(?:,|;|>|->|\band\b|, ?and\b)\s?[-+]?\d++)+(?![\w])(?!\.\d)")
_RUN_OF_NUMBERS = re.compile(
    r"(?<![\w.,-])[-+]?\d++(?:\.\d++)?(?:\s?(?:,|;|\band\b|, ?and\b)\s?[-+]?\d++(?:\.\d++)?)+(?![\w])(?!\.\d)"
)
_RUN_OF_LETTERS = re.compile(
    r"(?<![\w'-])[A-Z](?:\s?(?:,|;|>|->|-|/|\band\b|, ?and\b|\bthen\b|, ?then\b)\s?[A-Z])+(?![\w'-])"
)
_SENTENCE_BREAK = re.compile(r"[.!?](?=\s)|\n")
_HEAD_END = re.compile(
    r"[.!?](?=\s|$)|,?\s(?:because|since|as|which|where|with|(?:but\s)?not|rather than|-|—)\s|\n|\s\("
)
_OPEN_END = re.compile(r"\.\.|(?:^|[,;\s\[({])[?_]+(?=\s*(?:$|[,;\])}]))|\betc\b", re.IGNORECASE)
"""Entries that are not given: ``1, 2, ...`` and ``1, 2, ?``."""
_EITHER = re.compile(r"\d\s?/\s?\d")
_ALTERNATIVE = re.compile(r"[\s,]*(?:or|and)\b", re.IGNORECASE)
_DENIED = re.compile(r"(?:\bnot|n't|\bnever|\binstead of|\brather than)\s(?:\w+\s){0,2}\W?$", re.IGNORECASE)
_ORDERED = re.compile(
    r"\b(?:order\w*|sequen\w+|chronolog\w+|first|earliest|then|arrang\w+|sort\w*|rank\w*|follow\w*)\b|>", re.IGNORECASE
)
"""What a sentence has to speak of for letters in it to be an order, and not a mention of the options."""
_GROUPS = re.compile(r"[\])}]\s?[,;>-]*\s?[\[({]")
_LIMIT = 2000
"""Characters of a reply's end that are searched for a run of entries."""

Entries = tuple[int, ...] | tuple[float, ...] | tuple[str, ...]
Parser = Callable[[str, AnswerSpec], "Entries | str | None"]
"""Turns text that is nothing but a list into entries, a flag that says why it is not allowed, or None."""


def at_cue(content: str, block: str, spec: AnswerSpec, strong: bool, how: str) -> Found | None:
    """Read the list that stands after an answer cue.

    Parameters
    ----------
    content : str
        The line after the cue, or what stands in a tag or a box.
    block : str
        The lines after the cue up to an empty one, for a list with one entry a line.
    spec : AnswerSpec
        Of type ``integer_list`` or ``letter_list``.
    strong : bool
        Whether the cue is a label, so that text that is no list is an invalid answer rather than prose.
    how : str
        The cue's name, kept in the finding.

    Returns
    -------
    Found or None
        None where no list stands here.
    """
    parse = _parser(spec)
    if "\n" in content:
        block = content
    if (rows := _rows(content.partition("\n")[0], block, spec, parse, how)) is not None:
        return rows
    found = _read(block, spec, parse, how) if block != content else None
    if found is not None and (found.value is not None or block.endswith(CUT)):
        return found
    if (found := _read(content, spec, parse, how)) is not None:
        return found
    lead = _LEAD.match(content)
    start = lead.end() if lead else 0
    head = content[start : end.start()] if (end := _HEAD_END.search(content, start)) else content[start:]
    group = _BRACKETED.match(content, start)
    if group and _ALTERNATIVE.match(content, group.end()):
        return nothing_valid(content, how, "several")
    for text in (group[0] if group else "", head):
        if text and (found := _read(text, spec, parse, how)) is not None and found.value is not None:
            return found
    groups = {group[0] for group in _BRACKETED.finditer(content)}
    if len(groups) == 1 and (found := _read(groups.pop(), spec, parse, how)) is not None:
        return found
    if not strong or abstains(content):
        return None
    return nothing_valid(content, how, "not_an_answer")


def _rows(content: str, block: str, spec: AnswerSpec, parse: Parser, how: str) -> Found | None:
    """Read a line that is a list where more lines with entries follow: the same again, or several answers.

    None where the lines are one list together: one entry a line, or of the declared length only all in all.
    """
    line = _read(content, spec, parse, how)
    if line is None or len(_members(line)) < 2 or content.endswith(","):
        return None
    full = _full_length(spec)
    whole = _read(block, spec, parse, how)
    if whole is None or (full is not None and len(_members(line)) != full == len(_members(whole))):
        return None
    following = [_read(other, spec, parse, how) for other in block.split("\n")[1:] if other]
    return (
        line
        if all(row is None or row.value == line.value for row in following)
        else nothing_valid(block, how, "several")
    )


def without_cue(text: str, spec: AnswerSpec) -> Found | None:
    """Read a reply without a cue.

    The whole reply, its last line, or the only list in the last sentence that has one.
    """
    parse = _parser(spec)
    if "\n" in text and (rows := _rows(text.partition("\n")[0], text, spec, parse, "bare")) is not None:
        return rows
    if (found := _read(text, spec, parse, "bare")) is not None:
        return found
    last = text.rpartition("\n")[2]
    if last != text and (found := _read(last, spec, parse, "last_line")) is not None and len(_members(found)) > 1:
        return found
    return _at_head(text, spec, parse) or _last_run(text[-_LIMIT:], spec, parse)


def _full_length(spec: AnswerSpec) -> int | None:
    """Return how many entries an answer has to have; None where that is open."""
    return spec.length or (len(spec.letters) if spec.type is AnswerType.LETTER_LIST else None)


def _run_pattern(spec: AnswerSpec) -> re.Pattern[str]:
    return _RUN_OF_LETTERS if spec.type is AnswerType.LETTER_LIST else _RUN_OF_INTEGERS


def _at_head(text: str, spec: AnswerSpec, parse: Parser) -> Found | None:
    """Return the list of full length that a line begins with, where a reason follows: ``B, A because …``."""
    end = _HEAD_END.search(text)
    if end is None or "\n" in text or "?" in text or TAKES_BACK.search(text, end.start()):
        return None
    if _run_pattern(spec).search(text, end.start()) or _BRACKETED.search(text, end.end()):
        return None
    found = _read(text[: end.start()], spec, parse, "head")
    return found if found is not None and len(_members(found)) == _full_length(spec) else None


def _members(found: Found) -> tuple[object, ...]:
    return found.value if isinstance(found.value, tuple) else ()


def _last_run(text: str, spec: AnswerSpec, parse: Parser) -> Found | None:
    """Return the only list of the last sentence that has one; a list in prose has to be of full length."""
    letters = spec.type is AnswerType.LETTER_LIST
    full = _full_length(spec)
    pattern = _run_pattern(spec)
    for sentence in reversed(_sentences(text)):
        lists: dict[Entries, str] = {}
        for match in (*_BRACKETED.finditer(sentence), *pattern.finditer(sentence)):
            entries = parse(match[0].strip(WRAPPERS), spec)
            bracketed = match.re is _BRACKETED
            whole = isinstance(entries, tuple) and (len(entries) == full or (full is None and bracketed))
            if isinstance(entries, tuple) and whole and not _DENIED.search(sentence, 0, match.start()):
                lists.setdefault(entries, match[0])
        if lists and not (letters and not _ORDERED.search(sentence)):
            if len(lists) > 1 or sentence.rstrip().endswith("?") or abstains(text):
                return undecided(sentence, "run")
            entries, span = next(iter(lists.items()))
            return Found(entries, span, "run")
    return None


def _sentences(text: str) -> list[str]:
    ends = [match.end() for match in _SENTENCE_BREAK.finditer(text)]
    return [text[start:end] for start, end in zip([0, *ends], [*ends, len(text)], strict=True)]


def _read(text: str, spec: AnswerSpec, parse: Parser, how: str) -> Found | None:
    """Read text that is nothing but a list, with or without brackets, enumeration and introduction."""
    lead = _LEAD.match(text)
    body = _without_enumeration(text[lead.end() if lead else 0 :]).strip(WRAPPERS)
    if _GROUPS.search(body):
        if spec.type is AnswerType.INTEGER_LIST:
            return nothing_valid(text, how, "several") if parse(_GROUPS.sub(",", body), spec) else None
        body = _GROUPS.sub(",", body)
    entries = parse(body, spec)
    if entries is None:
        return None
    if isinstance(entries, str):
        return nothing_valid(text, how, entries)
    if _OPEN_END.search(text, 0, text.rfind("]") + 1 or len(text)):
        return nothing_valid(text, how, "ambiguous")
    found = Found(_once(entries) if spec.type is AnswerType.SET else entries, text, how)
    if parse is _numbers and points_may_part_thousands(body):
        found = found.flagged("ambiguous")
    return found.flagged("duplicates") if len(set(entries)) < len(entries) else found


def _once(entries: Entries) -> Entries:
    """Return the members of a set in order, each once."""
    members: list[Any] = sorted(set(entries))
    return tuple(members)


def _without_enumeration(text: str) -> str:
    """Return ``1. B 2. A`` as ``B, A``; numbers that do not run 1, 2, … are entries."""
    markers = list(_ENUMERATOR.finditer(text))
    if len(markers) < 2 or [int(marker[1]) for marker in markers] != list(range(1, len(markers) + 1)):
        lines = text.split("\n")
        bullets = len(lines) > 1
        return "\n".join(line.lstrip("-* ") if bullets and line[:2] in ("- ", "* ") else line for line in lines)
    if text[: markers[0].start()].strip(WRAPPERS):
        return text
    ends = [marker.start() for marker in markers[1:]] + [len(text)]
    return ", ".join(text[marker.end() : end].strip(" ,;\n") for marker, end in zip(markers, ends, strict=True))


def read(text: str, spec: AnswerSpec, how: str) -> Found | None:
    """Read text that is nothing but a list, or the members of a set; None where it is not."""
    return _read(text, spec, _parser(spec), how)


def only_run(sentence: str, spec: AnswerSpec) -> tuple[tuple[float, ...], int, int] | None:
    """Return the entries of the one list of numbers in a sentence, and where it stands; None where there is not one."""
    parse = _parser(spec)
    found: dict[tuple[float, ...], tuple[int, int]] = {}
    for match in (*_BRACKETED.finditer(sentence), *_RUN_OF_NUMBERS.finditer(sentence)):
        entries = parse(match[0].strip(WRAPPERS), spec)
        if isinstance(entries, tuple):
            found.setdefault(tuple(map(float, entries)), match.span())
    if len(found) != 1:
        return None
    (entries, (start, end)) = next(iter(found.items()))
    return entries, start, end


def _parser(spec: AnswerSpec) -> Parser:
    if spec.type is AnswerType.SET and spec.of_members is Members.NUMBER:
        return _numbers
    return _letters if spec.needs_choices else _integers


def _parts(text: str) -> list[str]:
    return [part for part in (piece.strip(WRAPPERS) for piece in _SEPARATOR.split(text)) if part]


def _integers(text: str, spec: AnswerSpec) -> Entries | str | None:
    """Return integers; a comma that may part thousands, or one of two (``3, 5/6, 2``), leaves open which ones."""
    parts = _parts(text)
    if may_part_thousands(text) or ("," in text and _EITHER.search(text)):
        return "ambiguous"
    if len(parts) == 1:
        if _SPACED_INTEGERS.fullmatch(parts[0]):
            parts = parts[0].split()
        elif _DASHED.fullmatch(parts[0]) and parts[0].count("-") + 1 == spec.length:
            parts = [part.strip() for part in parts[0].split("-")]
    if not parts or not all(_INTEGER.fullmatch(part) or _REAL.fullmatch(part) for part in parts):
        return None
    if not all(_INTEGER.fullmatch(part) for part in parts):
        return "not_integer"
    if any(len(part) > MAX_DIGITS for part in parts):
        return "out_of_range"
    return tuple(int(part.partition(".")[0]) for part in parts)


_NUMBER_SEPARATOR = re.compile(r"\s?(?:[;|\n]|,(?!\d)|\band\b)\s?", re.IGNORECASE)


def _numbers(text: str, spec: AnswerSpec) -> Entries | str | None:
    """Return real numbers, a point as the decimal point.

    A comma without a space may be part of a number only where other separators stand, and then it is open which.
    """
    if re.search(r"[;|\n]", text) is None and not re.search(r",\s", text):
        if may_be_one_number(text):
            return "ambiguous"
        text = text.replace(",", ", ")
    members: list[float] = []
    for part in filter(None, (piece.strip(WRAPPERS.replace(".", "")) for piece in _NUMBER_SEPARATOR.split(text))):
        numbers = numbers_in(part)
        if len(numbers) != 1 or part[numbers[0].end :].strip(WRAPPERS) or part[: numbers[0].start].strip(WRAPPERS):
            return None
        number = numbers[0]
        if number.value is None or "percent" in number.flags:
            return "percent" if "percent" in number.flags else "not_an_answer"
        if "ambiguous" in number.flags and "," in part:
            return "ambiguous"
        members.append(float(number.value))
    return tuple(members) or None


_NAMED_LETTER = re.compile(
    r"(?:image|frame|photo|picture|option|view|panel|clip|video|event|scene|letter|choice)\s\(?([A-Za-z])\)?",
    re.IGNORECASE,
)
_LETTER_WITH_REMARK = re.compile(r"([A-Z])\s?\([^()]*")
_TEXT_WITH_LETTER = re.compile(r"([^()]+?)\s?\(([A-Za-z])\)?")
_LETTER_WITH_TEXT = re.compile(r"([A-Za-z])[\s.):,\-–—=(]+(.+)", re.DOTALL)


def _letters(text: str, spec: AnswerSpec) -> Entries | str | None:
    options = options_of(spec.choices or ())
    if "=" in text and re.search(r"(?<![-=])=(?![>=])", text):
        return None
    ascending = text.count("<")
    if ascending:
        if ">" in text:
            return "ambiguous"
        text = text.replace("<", ",")
    parts = _parts(text)
    if len(parts) == 1:
        parts = _split_run(parts[0], spec, options)
    letters = []
    for part in parts:
        letter = _entry(part, options)
        if letter is None:
            return None
        if letter == "":
            return "contradiction"
        letters.append(letter)
    if not letters:
        return None
    if not set(letters) <= set(options.letters):
        return "out_of_range"
    repeated = spec.type is AnswerType.LETTER_LIST and len(set(letters)) < len(letters)
    return "duplicates" if repeated else tuple(letters)


def _split_run(part: str, spec: AnswerSpec, options: Options) -> list[str]:
    """Split ``BAC``, ``B A C`` and ``B-A-C``."""
    if options.exact(part):
        return [part]
    if re.fullmatch(r"[A-Za-z](?:\s?-\s?[A-Za-z])+|[A-Za-z](?: [A-Za-z])+", part):
        return re.findall(r"[A-Za-z]", part)
    run = part.upper()
    if part.isascii() and part.isalpha() and len(part) > 1 and set(run) <= set(options.letters):
        whole = len(run) == (spec.length or len(options.letters))
        if part.isupper() or (whole and len(set(run)) == len(run)):
            return list(run)
    return [part]


def _entry(part: str, options: Options) -> str | None:
    """Return the letter of one entry; empty where letter and text name different options, None where it is none."""
    if len(part) == 1 and part.isascii() and part.isalpha():
        return part.upper()
    if letter := options.exact(part):
        return letter
    if match := _LETTER_WITH_TEXT.fullmatch(part):
        named = options.exact(fold(match[2]))
        if named is not None:
            return named if named == match[1].upper() else ""
    if (match := _TEXT_WITH_LETTER.fullmatch(part)) and (named := options.exact(match[1])) is not None:
        return named if named == match[2].upper() else ""
    if match := _NAMED_LETTER.fullmatch(part) or _LETTER_WITH_REMARK.fullmatch(part):
        return match[1].upper()
    return None
