"""Numbers written as English words."""

from __future__ import annotations

import re
from typing import NamedTuple

_SMALL = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
    "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen",
)  # fmt: skip
_TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_VALUES = {word: number for number, word in enumerate(_SMALL)} | {word: 10 * n for n, word in enumerate(_TENS, 2)}
_SCALES = {"hundred": 100, "thousand": 1000, "million": 1_000_000}
_DOZEN = 12

_WORD = "|".join([*_VALUES, *_SCALES, "dozen"])
NUMBER_WORDS = re.compile(
    rf"(?<![\w-])(?P<sign>(?:minus|negative) )?(?:an? (?=hundred|thousand|million|dozen))?"
    rf"(?P<words>(?:{_WORD})(?![A-Za-z])(?:(?: and |[ -])(?:{_WORD})(?![A-Za-z])){{0,12}})",
    re.IGNORECASE,
)
"""A run of number words, with its sign."""


class WordNumber(NamedTuple):
    """A number in words: where it stands, and its value, None where the words make no number (``two three``)."""

    start: int
    end: int
    value: int | None


def word_numbers(text: str) -> list[WordNumber]:
    """Return the runs of number words of a text, in order."""
    return [_word_number(match) for match in NUMBER_WORDS.finditer(text)]


def word_number_at(text: str, position: int) -> WordNumber | None:
    """Return the number in words that starts at a position."""
    match = NUMBER_WORDS.match(text, position)
    return _word_number(match) if match else None


def _word_number(match: re.Match[str]) -> WordNumber:
    value = _value(re.split(r" and |[ -]", match["words"].lower()))
    return WordNumber(match.start(), match.end(), -value if value is not None and match["sign"] else value)


def _value(words: list[str]) -> int | None:
    if words[-1] == "dozen":
        count = 1 if len(words) == 1 else _value(words[:-1])
        return None if count is None else count * _DOZEN
    total, group, ceiling = 0, 0, 1000
    room = 1000  # what the next word has to stay below: after "twenty" only units fit, after a unit nothing
    for word in words:
        if word == "dozen":
            return None
        if word in _VALUES:
            number = _VALUES[word]
            if number >= room or (number == 0 and len(words) > 1):
                return None
            group += number
            room = 10 if number >= 20 else 1
        elif word == "hundred":
            if not 0 <= group < 100 or (group == 0 and (total or words[0] != "hundred")):
                return None
            group, room = max(group, 1) * 100, 100
        else:
            scale = _SCALES[word]
            if scale >= ceiling * 1000 and total:
                return None
            total, group, room = total + max(group, 1) * scale, 0, 1000
            ceiling = scale // 1000
    return total + group
