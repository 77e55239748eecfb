"""Read one number: an integer or a real.

After a cue the number at its head counts. Without a cue, the number of the last statement that has one; numbers that
only label, enumerate, are denied, or are the base of a share are not numbers of the answer, and an equation counts as
its result. Where unequal numbers are left, one of them has to be concluded (``so 7``, ``in total 7``, ``there are 7 in
2 rows``) or set in bold; otherwise there is no answer.
"""

from __future__ import annotations

import re
from bisect import bisect_right

from dodiag.runners.reading.cleaning import MARKERS, in_bold, plain
from dodiag.runners.reading.cues import TAKES_BACK, is_supposed
from dodiag.runners.reading.refusal import abstains
from dodiag.runners.reading.result import Found, nothing_valid, undecided
from dodiag.runners.reading.statements import Item, concluded, concludes, is_subordinate, resolve
from dodiag.runners.reading.tokens import BEYOND, Number, numbers_in
from dodiag.runners.reading.words import WordNumber, word_number_at, word_numbers
from dodiag.scm.answers import AnswerSpec, AnswerType

_WRAP = r"[\s\"'(\[{<*_`|=:>.,~#≈€£¥₹₩" + MARKERS + "]*+"
_LEAD = re.compile(
    rf"""{_WRAP}(?:(?:about|approximately|approx|around|roughly|exactly|only|just|simply|probably|likely|clearly
        |so|thus|therefore|hence|then|equal\ to|equals|equal|there\ (?:are|is|were|was)|there're|there's|it\ is|it's|its
        |that's|(?:that|which|this)\ (?:is|makes|gives)|we\ (?:have|get)
        |i\ (?:can\ )?(?:see|count|find|get|counted|think|believe)|(?:a|the)\ total\ (?:of|is)|in\ total|total
        |the\ (?:number|sum|count|result|value)\ is|is|are|be|usd|us|eur|[a-z]\ ?(?==))
        (?![\w']){_WRAP})*+""",
    re.IGNORECASE | re.VERBOSE,
)
"""What may stand before the number itself: wrapping, and words that only introduce it."""

_REST_OF_BARE = re.compile(r"[\s°]*+(?:[A-Za-z°/-]++[ .]*+){0,2}+[^\w]*+")
_ENUMERATOR = re.compile(r"^[ \t(\[-]{0,4}(\d{1,3})[.):](?=\s+\S)", re.MULTILINE)
_INLINE_ENUMERATOR = re.compile(r"(?:(?<=[\s:;,(])|^)(\d{1,2})[.)]\s(?=[A-Za-z(\"'])")
_STATEMENT_BREAK = re.compile(r"[.!?](?=\s)|\n")
_STATES = re.compile(
    r"""\b(?:there\ (?:are|is|were|was)|there're|there's|i\ (?:can\ )?(?:see|count|find|counted)|total(?:\ of|\ is)?
        |it\ is|it's|answer\ is)\ (?:only\ |exactly\ |just\ )?$""",
    re.IGNORECASE | re.VERBOSE,
)


_SOURCE = re.compile(r"(?:\b(?:of|from|by|adding|since|because|as|that is)|\(),?\s?$", re.IGNORECASE)
"""Before a group of numbers: they are what the answer was made from."""

_AFTER_EQUALS = re.compile(r"[=≈]\s?[(\[€£¥]?$")
_SIGN_OR_BULLET = re.compile(r"[-+] \d[^\n]*+")


def at_cue(content: str, spec: AnswerSpec, strong: bool, how: str) -> Found | None:
    """Read the number that stands after an answer cue.

    Parameters
    ----------
    content : str
        One line of cleaned text.
    spec : AnswerSpec
        Of type ``integer`` or ``number``.
    strong : bool
        Whether the cue is a label, so that a number anywhere in the line is the answer's.
    how : str
        The cue's name, kept in the finding.

    Returns
    -------
    Found or None
        None where no number stands here.
    """
    if _SIGN_OR_BULLET.match(content) and not _never_negative(spec):
        return nothing_valid(content, how, "ambiguous")
    numbers = numbers_in(content)
    if (by_lines := _by_bare_lines(content, numbers, spec)) is not None:
        return by_lines
    lead = _LEAD.match(content)
    start = lead.end() if lead else 0
    first = numbers[0] if numbers else None
    if first is not None and first.start <= start < first.end and (items := resolve(content, numbers, cued=True)):
        head = items[0]
        totals = [item for item in items if item.total and item.value is not None]
        if totals and not head.total and totals[-1].value != head.value:
            return _found(totals[-1], content, spec, how).flagged("several")
        results = [item for item in items[1:] if _AFTER_EQUALS.search(content, 0, item.start)]
        return _no_prose(_found(results[-1] if results else head, content, spec, how), content[: head.end])
    if (word := word_number_at(content, start)) is not None:
        return _word(word, content, spec, how)
    if not strong or abstains(content):
        return None
    if numbers:
        return _no_prose(_statement(content, numbers, spec, how), content)
    words = word_numbers(content)
    if len(words) == 1 and words[0].value is not None:
        return Found(words[0].value, content[words[0].start : words[0].end], how)
    return nothing_valid(content, how, "several" if words else "not_an_answer")


def _no_prose(found: Found | None, said: str) -> Found | None:
    """Call digits that are no number an unfinished answer where no words stand beside them, so that it stands."""
    if found is None or "not_an_answer" not in found.flags or _WORD.search(said):
        return found
    return found._replace(flags=frozenset({"expression"}))


def without_cue(text: str, spec: AnswerSpec) -> Found | None:
    """Read a reply without a cue; None where it has no number."""
    if _SIGN_OR_BULLET.fullmatch(text) and not _never_negative(spec):
        return undecided(text, "bare")
    numbers = [number for number in _candidates(text) if not number.ordinal]
    if not numbers:
        return _words_alone(text, spec)
    if (by_lines := _by_bare_lines(text, numbers, spec)) is not None:
        return by_lines
    breaks = [match.end() for match in _STATEMENT_BREAK.finditer(text)]
    while numbers:
        place = bisect_right(breaks, numbers[-1].start)
        start = breaks[place - 1] if place else 0
        end = breaks[place] if place < len(breaks) else len(text)
        first = next(i for i in range(len(numbers) - 1, -2, -1) if i < 0 or numbers[i].start < start) + 1
        statement = text[start:end]
        if not abstains(statement) and not is_supposed(statement):
            here = [n._replace(start=n.start - start, end=n.end - start) for n in numbers[first:]]
            found = _statement(statement, here, spec, "only_number")
            if found is not None:
                values = {number.value for number in numbers}
                if len(values) > 1 and found.value is not None and is_subordinate(statement, found.span):
                    return undecided(statement, "last_number").flagged("several")
                if len(values) > 1 and found.value is not None and _is_one_of_parts(text):
                    return undecided(statement, "last_number").flagged("several")
                return _named(found, text, values)
        del numbers[first:]
    return None


def by_emphasis(open_question: Found, visible: str, spec: AnswerSpec) -> Found | None:
    """Return the one number of a statement that the reply sets in bold, where nothing else tells which is the answer.

    Parameters
    ----------
    open_question : Found
        What the rules left undecided; its span is the statement.
    visible : str
        The reply without its reasoning, otherwise as written.
    spec : AnswerSpec
        Of type ``integer`` or ``number``.
    """
    stated = {number.value for number in numbers_in(open_question.span)}
    bold: dict[float, Found] = {}
    for text in map(plain, in_bold(visible)):
        numbers = numbers_in(text)
        if len(numbers) == 1 and numbers[0].value in stated and _is_bare(text, text[numbers[0].start : numbers[0].end]):
            found = _statement(text, numbers, spec, "bold")
            if found is not None and isinstance(found.value, (int, float)):
                bold[found.value] = found
    return next(iter(bold.values())).flagged("several") if len(bold) == 1 else None


def _by_bare_lines(text: str, numbers: list[Number], spec: AnswerSpec) -> Found | None:
    """Read a reply of several lines by those that are a number and no more.

    The first line, where a blank line and an explanation follow that do not take it back. Nothing but such lines are
    several answers.
    """
    if "\n" not in text:
        return None
    lines = [line for line in text.split("\n") if line]
    bare = [line for line in lines if not _WORD.search(line) and len(numbers_in(line)) == 1]
    if len(bare) == len(lines) and len({number.value for number in numbers}) > 1:
        return nothing_valid(text, "last_line", "several")
    first = lines[0]
    if bare != [first] or not text.startswith(first + "\n\n") or numbers[0].end > len(first):
        return None
    return None if TAKES_BACK.search(text, len(first)) else _statement(first, numbers[:1], spec, "first_line")


_WORD = re.compile(r"[A-Za-z]{2}")
_NAMED_LINE = re.compile(
    r"""^[^\w\n]{0,6}(?:\d{1,2}[.)]\ )?(?P<name>[A-Za-z_][^:=\n]{0,40})
        [:=]\ ?[^\w\n+-]{0,3}(?P<value>[-+]?\d[\d.,]{0,20})
        (?!\ ?[-+*/=×\d])[^:=\n]{0,20}$""",
    re.MULTILINE | re.VERBOSE,
)
_NAMES_THE_ANSWER = re.compile(
    r"total|sum\b|answer|result|count|number|overall|altogether|in all|final|solution|output|response|conclusion"
    r"|assistant|prediction",
    re.IGNORECASE,
)


def _is_one_of_parts(text: str) -> bool:
    """Return whether the last line gives one of several named numbers, none of which is called the answer."""
    *others, last = text.rstrip(" \n{}[]`").split("\n")
    line = _NAMED_LINE.match(last.strip(" {}"))
    named = [line, *map(_NAMED_LINE.match, others)] if line else []
    found = {(match["name"].strip().lower(), match["value"]) for match in named if match}
    called = {name for name, _ in found if _NAMES_THE_ANSWER.search(name)}
    return line is not None and len({value for _, value in found}) > 1 and called != {line["name"].strip().lower()}


def _never_negative(spec: AnswerSpec) -> bool:
    return spec.min is not None and spec.min >= 0


def _named(found: Found, text: str, values: set[int | float | None]) -> Found:
    """Name the rule that an uncued number was found by."""
    line = text.rpartition("\n")[2]
    if found.value is not None and _is_bare(line, found.span):
        found = found._replace(how="bare" if line == text else "last_line")
        return found if line == text or len(values) < 2 else found.flagged("several")
    if len(values) > 1:
        return found._replace(how="last_number", flags=found.flags | {"several"})
    return found


def _is_bare(line: str, span: str) -> bool:
    lead = _LEAD.match(line)
    end = lead.end() if lead else 0
    start = line.find(span, max(0, end - len(span)))
    return 0 <= start <= end and bool(_REST_OF_BARE.fullmatch(line, start + len(span)))


def _statement(text: str, numbers: list[Number], spec: AnswerSpec, how: str) -> Found | None:
    """Return what one statement says, by its last number."""
    items = resolve(text, numbers, cued=how != "only_number")
    if not items:
        return None
    items = [item for item in items if item.reason != "not_an_answer"] or items
    if _first_is_sum(text, [number for number in numbers if number.start >= items[0].start]):
        first = undecided(text, how) if concludes(text, items[1:]) else _found(items[0], text, spec, how)
        return first.flagged("several")
    last = items[-1]
    if len(items) > 1 and last.value is None and _SOURCE.search(text, max(0, last.start - 20), last.start):
        items = items[:-1]
    totals = [item for item in items if item.total and item.value is not None]
    values = {item.value for item in items if item.value is not None}
    last = totals[-1] if totals else items[-1]
    if not totals and len(values) > 1 and last.value is not None:
        decided = concluded(text, items)
        if decided is None:
            return undecided(text, how).flagged("several")
        last = decided
    found = _found(last, text, spec, how)
    if how == "only_number" and not totals and _in_words(text, found) and concluded(text, [last]) is None:
        return undecided(text, how)
    return found if len(values) < 2 else found.flagged("several")


def _in_words(text: str, found: Found) -> bool:
    """Return whether a statement has another number in words; ``one`` is mostly a pronoun."""
    return found.value is not None and any(
        word.value not in (None, 1, found.value) for word in word_numbers(text.replace(found.span, " ", 1))
    )


def _first_is_sum(text: str, numbers: list[Number]) -> bool:
    """Return whether the first number is broken down by the others, as in ``7 dice: 3 red, 2 blue, 2 white``."""
    values = [number.value for number in numbers]
    if len(values) < 3 or "=" in text or any(value is None for value in values):
        return False
    return values[0] == sum(value for value in values[1:] if value is not None)


def _found(item: Item, text: str, spec: AnswerSpec, how: str) -> Found:
    span = text[item.start : item.end]
    flags = item.flags
    value: int | float | None = item.value
    if value is None:
        return nothing_valid(span, how, "several" if item.reason in ("range", "listed") else item.reason)
    if abs(value) == BEYOND:
        return nothing_valid(span, how, "out_of_range")
    if _is_part(text, item.end, spec):
        return nothing_valid(text[item.start : item.end + 20], how, "ambiguous")
    opened = _REPEATED.match(text, item.end)
    if opened and (word := word_number_at(text, opened.end())) and word.value != value:
        return nothing_valid(text[item.start : word.end], how, "contradiction")
    if spec.type is AnswerType.INTEGER and "/" in span and isinstance(value, int):
        return nothing_valid(span, how, "expression")
    if spec.type is AnswerType.INTEGER and isinstance(value, float):
        if not value.is_integer() or "ambiguous" in flags:
            return nothing_valid(span, how, "not_integer", *flags)
        value = int(value)
    if spec.type is AnswerType.INTEGER:
        flags -= {"ambiguous"}
    return Found(value, span, how, flags)


_PART = re.compile(
    r"""[ -](?:(?:and\ )?(?:an?\ |one\ |two\ |three\ |1/)?
            (?:half|halves|thirds?|fourths|fifths|sixths|sevenths|eighths|ninths|tenths)
        |and\ (?:a|one|three)\ quarters?|(?P<quarters>quarters)
        |point\ (?=\d|zero|one|two|three|four|five|six|seven|eight|nine))\b""",
    re.IGNORECASE | re.VERBOSE,
)
"""After a number that is a part of a longer one: ``two thirds``, ``7 and a half``, ``three point five``."""
_REPEATED = re.compile(r"\s?[(\[=:]\s?(?=[\w+-])")
_JOINED = re.compile(r"\s?(?:[,;/&+-]|(?:or|and|to)\b)\s?", re.IGNORECASE)
_PRONOUN = re.compile(r"\s(?:of|can|could|should|has|would)\b|-", re.IGNORECASE)


def _is_part(text: str, end: int, spec: AnswerSpec) -> bool:
    """Return whether a number goes on as a fraction in words; ``3 quarters`` may be coins where a count is asked."""
    part = _PART.match(text, end)
    return part is not None and not (part["quarters"] and spec.type is AnswerType.INTEGER)


def _word(word: WordNumber, text: str, spec: AnswerSpec, how: str) -> Found | None:
    """Read a number in words at the head of a cue's content."""
    span, end = text[word.start : word.end], word.end
    if word.value is None or _is_part(text, end, spec):
        return nothing_valid(span, how, "several" if word.value is None else "ambiguous")
    if word.value == 1 and _PRONOUN.match(text, end):
        return None
    numbers = {number.start: number for number in numbers_in(text)}
    if (opened := _REPEATED.match(text, end)) and (repeated := numbers.get(opened.end())):
        if repeated.value != word.value:
            return nothing_valid(text, how, "contradiction")
        end = repeated.end + 1
    joined = _JOINED.match(text, end)
    if joined and (joined.end() in numbers or word_number_at(text, joined.end()) is not None):
        return nothing_valid(text, how, "several")
    return Found(word.value, span, how)


def _words_alone(text: str, spec: AnswerSpec) -> Found | None:
    """Return a number in words where it is the whole reply, or the only one and stated (``There are three dice.``)."""
    words = word_numbers(text)
    if len(words) != 1 or words[0].value is None or abstains(text):
        return None
    word = words[0]
    span = text[word.start : word.end]
    if (word.value == 1 and _PRONOUN.match(text, word.end)) or _is_part(text, word.end, spec):
        return None
    if "\n" not in text and _is_bare(text, span):
        return Found(word.value, span, "bare")
    return Found(word.value, span, "only_number") if _STATES.search(text, 0, word.start) else None


def _candidates(text: str) -> list[Number]:
    """Return the numbers of a text but for those that number its lines and list entries."""
    numbers = numbers_in(text)
    markers = _sequence(_ENUMERATOR, text) | _sequence(_INLINE_ENUMERATOR, text)
    return [number for number in numbers if number.start not in markers] if markers else numbers


def _sequence(pattern: re.Pattern[str], text: str) -> set[int]:
    """Return where the numbers 1, 2, … of a numbered list stand; a lone ``7.`` is no list."""
    markers: set[int] = set()
    expected = 1
    for match in pattern.finditer(text):
        number = int(match[1])
        if number in (1, expected):
            markers.add(match.start(1))
            expected = number + 1
    return markers
