"""The numbers that stand in a text, with their values, units and places."""

from __future__ import annotations

import math
import re
from decimal import Decimal
from typing import NamedTuple

MAX_DIGITS = 300
"""Longer digit runs are no answers to any question, and slow to turn into numbers."""

BEYOND = math.inf
"""The value of a number that is too large, too small or too long to compare: it is no answer, but it stands there."""


class Number(NamedTuple):
    """One number in cleaned text.

    Attributes
    ----------
    start, end : int
        Where it stands, sign and percent sign included.
    value : int, float or None
        ``BEYOND`` where it cannot be compared. None where digits stand that are no single number: a time, a date, a
        version, a recurring decimal (``0.(3)``), or a part of an expression with a root, π, a function or an unknown
        (``√2``, ``2π``, ``sin(30°)``, ``|-7|``, ``2x``).
    flags : frozenset of str
        ``percent``, ``ambiguous`` (a separator that may mean thousands or decimals).
    ordinal : bool
        Whether it counts places, as ``3rd``.
    """

    start: int
    end: int
    value: int | float | None
    flags: frozenset[str] = frozenset()
    ordinal: bool = False


_NUMBER = re.compile(
    r"""(?<![A-Za-z0-9_^])(?<!\d\.)
        (?:(?<![A-Za-z0-9_)\]%-])(?P<sign>[-+±])[€£¥₹₩]?|(?<![A-Za-z]\.))
        (?:(?P<clock>\d++(?::\d++)++)
          |(?P<mixed>\d++)\ (?=\d++/\d)(?P<numerator>\d++)/(?P<denominator>\d++)
          |(?P<over>\d++)\ ?/\ ?(?P<under>\d++)
          |(?P<body>\d++(?:[.,']\d++)*+|(?<![.\d])\.\d++)(?P<exponent>[eE][-+]?\d{1,4}(?!\w|\.\d))?)
        (?P<percent>\ ?(?:%|percent\b|per\ cent\b|percentage\ points?\b))?""",
    re.VERBOSE,
)

_THOUSANDS = re.compile(r"(?<![\d,.])\d{1,3}(?:,\d{3})+(?![\d,])")
_LOOSE = re.compile(r",\s|[;|\n]|\band\b|->")
_LEADING_ZEROS = re.compile(r"(?<=\d,)0\d\d(?!\d)")


def may_part_thousands(text: str) -> bool:
    """Return whether commas in a list of integers may stand inside its numbers: ``1,000, 2,000``, but not ``1,234``."""
    if "," not in text:
        return False
    return bool(_LEADING_ZEROS.search(text) or (_THOUSANDS.search(text) and _LOOSE.search(text)))


_SMALL_GROUP = re.compile(r"[1-9]\d{0,2}\.\d{3}")
_WITH_POINT = re.compile(r"(?<!\d)\d++\.\d++(?!\.?\d)")


def points_may_part_thousands(text: str) -> bool:
    """Return whether a point in a list of numbers may stand inside one: ``1.234, 2``, but not ``1.234, 2.5``."""
    written = _WITH_POINT.findall(text)
    return bool(written) and all(_SMALL_GROUP.fullmatch(number) for number in written)


def may_be_one_number(text: str) -> bool:
    """Return whether a list whose commas have no spaces may be a number with both separators: ``1.234,5``."""
    if "," not in text or "." not in text or ", " in text:
        return False
    numbers = numbers_in(text)
    written = text[numbers[0].start : numbers[0].end] if len(numbers) == 1 and numbers[0].value is not None else ""
    return "," in written and "." in written


_UNIT = re.compile(r"[A-Za-z]{1,5}")
_UNITS = frozenset({
    "mm", "cm", "dm", "m", "km", "in", "ft", "yd", "mi", "g", "kg", "mg", "t", "lb", "lbs", "oz", "s", "sec", "secs",
    "min", "mins", "h", "hr", "hrs", "ms", "am", "pm", "px", "pt", "l", "ml", "cl", "kw", "V", "W", "hz", "khz", "mph",
    "kmh", "kph", "deg", "rad", "C", "F", "usd", "eur", "gbp", "pcs", "pc",
})  # fmt: skip
_ORDINALS = frozenset({"st", "nd", "rd", "th"})
_UNKNOWN = re.compile(r"[xyzn](?![A-Za-z0-9])")
_ARGUMENT = re.compile(
    r"(?:[√∛π⌊⌈]|(?<![A-Za-z])\\?(?:sqrt|log|ln|sin|cos|tan|exp)(?:_?\d{1,2})?)\s?[(\[{]?\s?$"
    r"|[√π][()\d.]{0,12}\s?[-+*/×·^]\s?$|(?:(?<![\w'])[xyzn]|\^\{?\d{1,9}\}?)\s?[-+*/×·^]\s?$"
)
_FACTOR = re.compile(r"\s?[(\[]?\s?[√∛π]|\s?[-+*/×·]\s?[(\[]?\s?(?:\d{1,9}\s?)?[√∛π]|\s?\\?(?:sqrt|pi\b)")
_BESIDE = 20
"""Characters before a number that can make it a part of an expression."""
_GOES_ON = re.compile(r"[eE][-+]?\d[\w.]*+|\.?\(\d++\)|\.?\d*+\\(?:overline|bar|dot)\b[{\d}]*+|[\u0300-\u036f]++")
"""After digits that are not the whole of what is written: ``1e99999``, ``3.(3)``, ``0.1\\overline{6}``."""
_JOINED = re.compile(r"(?<=[A-Za-z])[-+]$")
"""Between a letter and digits that are a part of its name (``F-16``) or are added to it (``x+5``)."""
_EXPONENT = re.compile(r"[eE][-+]?\d++")


def numbers_in(text: str) -> list[Number]:
    """Return every number of a text, in order.

    Thousands separators, decimal commas, fractions, mixed numbers, percent and exponents are read; digits inside names
    (``X1``), powers (``m^2``) and dimensions (``3D``) are not numbers.
    """
    found: list[Number] = []
    taken = 0
    for match in _NUMBER.finditer(text):
        if match.start() < taken:
            continue
        end = match.end()
        if not match["percent"] and (rest := _GOES_ON.match(text, end)):
            taken = rest.end()
            found.append(Number(match.start(), taken, BEYOND if _EXPONENT.fullmatch(rest[0]) else None))
            continue
        ordinal = False
        if (joined := _JOINED.search(text, max(0, match.start() - 2), match.start())) is not None:
            if joined[0] == "+":
                found.append(Number(match.start(), end, None))
            continue
        if not match["percent"] and (unit := _UNIT.match(text, end)):
            word = unit[0]
            ordinal = word.lower() in _ORDINALS
            if not (ordinal or word in _UNITS or (len(word) > 1 and word.lower() in _UNITS)):
                if _UNKNOWN.match(text, end):
                    found.append(Number(match.start(), unit.end(), None))
                continue
            if text[unit.end() : unit.end() + 1].isdigit():
                found.append(Number(match.start(), unit.end(), None))
                continue
        runs_on = match["under"] and text[end : end + 1] in ("/", ".") and text[end + 1 : end + 2].isdigit()
        power = text[end : end + 1] == "^"
        if match["clock"] or match["sign"] == "±" or runs_on or power or _in_expression(text, match, end):
            found.append(Number(match.start(), end, None))
        elif match["body"]:
            found.extend(_plain(match, ordinal))
        else:
            found.append(Number(match.start(), end, _fraction(match), _percent(match)))
    found = [_scaled(text, number) for number in found]
    return [_signed(text, number, before) for before, number in zip([None, *found], found, strict=False)]


def _in_expression(text: str, match: re.Match[str], end: int) -> bool:
    """Return whether a number is an argument or a factor beside a root, π, a function or an unknown."""
    start = match.start()
    if _FACTOR.match(text, end) or _ARGUMENT.search(text, max(0, start - _BESIDE), start):
        return True
    return text[end : end + 1] == "|" == text[start - 1 : start] and _is_absolute(text, start, end, match["sign"])


def _is_absolute(text: str, start: int, end: int, sign: str | None) -> bool:
    """Return whether the bars around a number change it: ``|-7|`` and ``-|7|``, but not the cell in ``|X1|-7|``."""
    before = text[max(0, start - 1 - _BESIDE) : start - 1].rpartition("\n")[2]
    after = text[end + 1 : end + 1 + _BESIDE].partition("\n")[0]
    return "|" not in before + after and (sign == "-" or before.endswith("-"))


_SCALE = re.compile(r"[ -](hundred|thousand|million|billion)\b", re.IGNORECASE)
_SCALES = {"hundred": 100, "thousand": 1000, "million": 10**6, "billion": 10**9}


def _scaled(text: str, number: Number) -> Number:
    """Read ``2 million``."""
    scale = _SCALE.match(text, number.end)
    if scale is None or number.value is None:
        return number
    value = number.value * _SCALES[scale[1].lower()]
    if abs(value) < 2**53 and math.isclose(value, round(value), rel_tol=1e-12):
        value = round(value)
    return number._replace(end=scale.end(), value=value)


_SIGN_WORD = re.compile(r"(?<![A-Za-z])(?:minus|negative) $", re.IGNORECASE)
_SIGN_WORD_LENGTH = len(" negative ")


def _signed(text: str, number: Number, before: Number | None) -> Number:
    """Read ``minus 5``, which is not a sign where another number stands before it."""
    word = _SIGN_WORD.search(text, max(0, number.start - _SIGN_WORD_LENGTH), number.start)
    if word is None or number.value is None or (before is not None and not text[before.end : word.start()].strip()):
        return number
    return number._replace(start=word.start(), value=-number.value)


def _percent(match: re.Match[str]) -> frozenset[str]:
    return frozenset({"percent"}) if match["percent"] else frozenset()


def _fraction(match: re.Match[str]) -> int | float | None:
    whole = match["mixed"] or "0"
    over, under = (match["numerator"], match["denominator"]) if match["mixed"] else (match["over"], match["under"])
    if max(len(whole), len(over), len(under)) > MAX_DIGITS:
        return BEYOND
    if not int(under):
        return None
    top, bottom = int(whole) * int(under) + int(over), int(under)
    value = top // bottom if top % bottom == 0 else top / bottom
    return -value if match["sign"] == "-" else value


def _plain(match: re.Match[str], ordinal: bool) -> list[Number]:
    body, exponent = match["body"], match["exponent"] or ""
    flags = _percent(match)
    value, ambiguous = _parse(body, exponent)
    if value is not None:
        value = -value if match["sign"] == "-" else value
        return [Number(match.start(), match.end(), value, flags | {"ambiguous"} if ambiguous else flags, ordinal)]
    if "," in body and "." not in body and "'" not in body:
        return _listed(match)
    return [Number(match.start(), match.end(), None)]


def _listed(match: re.Match[str]) -> list[Number]:
    """Return the members of a comma run that is no single number, such as ``1,2,3``."""
    start = match.start("body")
    members: list[Number] = []
    for part in match["body"].split(","):
        members.append(Number(start, start + len(part), int(part) if len(part) <= MAX_DIGITS else BEYOND))
        start += len(part) + 1
    first = members[0]
    if match["sign"] and first.value is not None:
        members[0] = Number(match.start(), first.end, -first.value if match["sign"] == "-" else first.value)
    return members


def _parse(body: str, exponent: str) -> tuple[int | float | None, bool]:
    """Return the value of digits with separators, and whether the separator could mean something else.

    An int where the number is whole whatever the separator means, or where the separator is a comma that English
    reads as thousands; otherwise a float.
    """
    text, ambiguous = _without_separators(body)
    if text is None:
        return None, False
    if len(text) > MAX_DIGITS:
        return BEYOND, False
    if not exponent:
        whole, _, decimals = text.partition(".")
        if not decimals.strip("0") and not (ambiguous and decimals):
            return int(whole or "0"), ambiguous
        if ambiguous:
            return float(text), True
    value = float(text + exponent)
    if not math.isfinite(value) or (value == 0 and text.strip("0.")):
        return BEYOND, False
    top, bottom = Decimal(text + exponent).as_integer_ratio()
    return (top, ambiguous) if bottom == 1 else (value, ambiguous)


def _without_separators(body: str) -> tuple[str | None, bool]:
    """Return digits with at most a decimal point; None where they are no single number."""
    commas, points = body.count(","), body.count(".")
    if "'" in body:
        groups = body.partition(".")[0].split("'")
        return (body.replace("'", ""), False) if not commas and points < 2 and _grouped(groups) else (None, False)
    if not commas and points < 2:
        whole, _, decimals = body.partition(".")
        return body, points == 1 and _grouped([whole, decimals])
    if commas and points:
        decimal = max(",.", key=body.rfind)
        other = "," if decimal == "." else "."
        whole, _, decimals = body.partition(decimal)
        if body.count(decimal) > 1 or other in decimals or not _grouped(whole.split(other)):
            return None, False
        return f"{whole.replace(other, '')}.{decimals}", False
    separator = "," if commas else "."
    groups = body.split(separator)
    if _grouped(groups):
        return "".join(groups), commas == 1
    if commas == 1:
        return body.replace(",", "."), True
    return None, False


def _grouped(groups: list[str]) -> bool:
    """Return whether digit groups are those of a number with thousands separators."""
    return 1 <= len(groups[0]) <= 3 and groups[0] != "0" and all(len(group) == 3 for group in groups[1:])
