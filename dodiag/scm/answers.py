"""Declared answer types: what a right answer looks like, when two answers are the same, what a wrong one may be.

This is the space of answers, not the reading of replies; a reply becomes an answer in ``dodiag.runners.reading``.
"""

from __future__ import annotations

import math
import random
import re
from collections.abc import Iterator
from decimal import Decimal
from typing import Any, TypeVar

from dodiag.problems import quoted, shown
from dodiag.scm.answer_spec import IOU, LETTERS, AnswerSpec, AnswerType, Members, Shape, Units
from dodiag.scm.coordinates import Coordinate, centre, decimals, iou, other_boxes, other_points, same_point

__all__ = [
    "LETTERS", "Answer", "AnswerSpec", "AnswerType", "Members", "Shape", "Units", "draw_incorrect", "normalise",
    "plain_number", "same_answer", "set_difference", "show_answer", "surely_has_others", "unwrapped",
]  # fmt: skip

NEIGHBOURHOOD = 2
"""Half-width of the range that incorrect numbers are drawn from (CADET Appendix B.3.2: within ±2)."""

DIGITS = 12
"""Significant digits of a written number: too few for the noise of binary fractions (0.43799999999999994), and more
than two answers can share and still be different ones (1e-9 of their size)."""

PLACES = 30
"""Most places that a number without an exponent is written with."""

YES, NO = "yes", "no"
_WORDS = {YES: YES, NO: NO, "true": YES, "false": NO}

Answer = str | int | float | tuple[int, ...] | tuple[float, ...] | tuple[str, ...]
Num = TypeVar("Num", int, float)
Entries = TypeVar("Entries", tuple[int, ...], tuple[float, ...], tuple[str, ...])


def normalise(value: Any, spec: AnswerSpec) -> Answer:
    """Return the canonical form of an author's answer.

    Parameters
    ----------
    value : Any
        As written in an instance file: a letter or the option's own text for ``choice``, a number, a list (or comma
        text) for lists, sets and coordinates, ``yes`` or ``no`` (or a truth value) for ``yes_no``, text.
    spec : AnswerSpec
        The question's answer type.

    Returns
    -------
    Answer
        Letter, int, float, tuple or stripped text. Sets are sorted and have each member once; ``yes_no`` is ``yes``
        or ``no``; a point has two numbers, or the four of the box that it has to lie in, and a box four.

    Raises
    ------
    ValueError
        If the value is not a valid answer of this type.
    """
    match spec.type:
        case AnswerType.CHOICE:
            return _letter(value, spec)
        case AnswerType.INTEGER:
            return _in_range(_integer(value), spec)
        case AnswerType.NUMBER:
            return _in_range(_number(value), spec)
        case AnswerType.INTEGER_LIST:
            return _with_length(tuple(_in_range(_integer(entry), spec) for entry in _entries(value)), spec)
        case AnswerType.LETTER_LIST:
            letters = tuple(_letter(entry, spec) for entry in _entries(value))
            if len(set(letters)) < len(letters):
                raise ValueError("names a letter twice")
            return _with_length(letters, spec)
        case AnswerType.SET:
            return _with_length(_members(value, spec), spec)
        case AnswerType.YES_NO:
            return _yes_no(value, spec)
        case AnswerType.COORDINATE:
            return _coordinate(value, spec)
        case AnswerType.TEXT:
            if not isinstance(value, str) or not value.strip():
                raise ValueError("is not a text")
            if not unwrapped(value):
                raise ValueError("is nothing but quotation marks or markup")
            return " ".join(value.split())


def same_answer(first: Answer, second: Answer, spec: AnswerSpec) -> bool:
    """Return whether two canonical answers are the same answer of this type.

    Numbers are the same within the declared tolerance (and 1e-9 relative, so that 0.1 + 0.2 equals 0.3); sets where
    their members are; points within the tolerance, or inside the box that the truth is; boxes from the declared
    intersection over union; text without regard to case and to what it is wrapped in. A judge, not this function,
    decides whether two texts mean the same.
    """
    if spec.type is AnswerType.NUMBER:
        return _close(float(first), float(second), spec)  # type: ignore[arg-type]
    if spec.type is AnswerType.SET and spec.of_members is Members.NUMBER:
        pairs = zip(first, second, strict=False)  # type: ignore[arg-type]
        return len(first) == len(second) and all(_close(a, b, spec) for a, b in pairs)  # type: ignore[arg-type]
    if spec.type is AnswerType.COORDINATE:
        one, other = _numbers(first), _numbers(second)
        if spec.of_shape is Shape.BOX:
            return iou(one, other) >= (IOU if spec.iou is None else spec.iou)
        return same_point(one, other, spec.tolerance)
    if spec.type is AnswerType.TEXT:
        return _folded(str(first)) == _folded(str(second))
    return first == second


def set_difference(answer: Answer, truth: Answer, spec: AnswerSpec) -> frozenset[str]:
    """Return what a set answer has wrong: ``missing`` members of the truth, ``surplus`` ones that are not in it.

    Examples
    --------
    >>> sorted(set_difference((1, 3), (1, 2), AnswerSpec(type="set")))
    ['missing', 'surplus']
    """
    if same_answer(answer, truth, spec):
        return frozenset()
    found = {"missing": _without(truth, answer, spec), "surplus": _without(answer, truth, spec)}
    return frozenset(name for name, members in found.items() if members)


def show_answer(answer: Answer, spec: AnswerSpec) -> str:
    """Return an answer as text for a prompt: ``C. red`` for a choice, ``1, 2`` for a list.

    A box in which a point has to lie is shown as its middle, which is an answer to what was asked.
    """
    if spec.type is AnswerType.YES_NO and spec.true_false:
        return "true" if answer == YES else "false"
    if spec.type is AnswerType.COORDINATE and spec.of_shape is Shape.POINT:
        answer = centre(_numbers(answer))
    if spec.type is AnswerType.CHOICE and spec.choices:
        option = spec.choices[LETTERS.index(str(answer))]
        return str(answer) if option.strip().upper() == answer else f"{answer}. {option}"
    return ", ".join(map(_shown, answer)) if isinstance(answer, tuple) else _shown(answer)


def _shown(entry: str | float) -> str:
    return plain_number(entry) if isinstance(entry, float) else str(entry)


def plain_number(number: float) -> str:
    """Return a number in decimal notation, without the noise of binary fractions.

    Whole numbers are written in full, others with at most ``DIGITS`` significant digits; only those that would have
    more than ``PLACES`` places before or after the point are written with an exponent.

    Examples
    --------
    >>> plain_number(0.1 + 0.2), plain_number(1e-7), plain_number(40.0), plain_number(1e23)
    ('0.3', '0.0000001', '40', '100000000000000000000000')
    """
    written = Decimal(repr(number) if number.is_integer() else f"{number:.{DIGITS}g}")
    if number and abs(written.adjusted()) > PLACES:
        return f"{number:.{DIGITS}g}"
    text = f"{written:f}"
    if "." in text:
        text = text.rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


_FENCE = re.compile(r"\A```(?:\w{0,12}\n)?|(?:\n[ \t]{0,8})?```\Z")
_EMPHASIS = re.compile(r"(?<![\w*])\*{1,3}(?=[^\s*])|(?<=[^\s*])\*{1,3}(?![\w*])")
_BOX = re.compile(r"\$*\s*\\boxed\s?\{\s*(?:\\(?:text|textbf|mathrm)\s?\{)?([^{}]*)\}?\s*\}\s*\$*\.?")
_QUOTES = ('""', "''", "“”", "‘’", "``")
_NESTING = 8
"""Wrappings inside wrappings that are taken off."""


def unwrapped(text: str) -> str:
    """Return a text without a code fence, emphasis, box or quotation marks around it, and with single spaces.

    Examples
    --------
    >>> unwrapped('**"Stop"**')
    'Stop'
    """
    for _ in range(_NESTING):
        before = text
        text = _EMPHASIS.sub("", _FENCE.sub("", text.strip())).strip()
        if (box := _BOX.fullmatch(text)) is not None:
            text = box[1].replace("\\ ", " ").strip()
        if len(text) > 1 and text[0] + text[-1] in _QUOTES and text.count(text[0]) <= 2:
            text = text[1:-1]
        if text == before:
            break
    return " ".join(text.split())


def _folded(text: str) -> str:
    """Return a text as two that are the same are compared: unwrapped, without case and the full stop at its end."""
    return unwrapped(unwrapped(text).strip(" .")).casefold().strip(" .")


def surely_has_others(truth: Answer, spec: AnswerSpec) -> bool:
    """Return whether it is plain, without a draw, that an incorrect answer can be drawn; False leaves it open."""
    if spec.type is AnswerType.CHOICE:
        return len(spec.letters) > 1
    return spec.type is AnswerType.INTEGER and bool(_neighbours(int(truth), spec))  # type: ignore[arg-type]


def draw_incorrect(truth: Answer, spec: AnswerSpec, seed: str) -> Answer:
    """Draw a valid answer that is not the truth, for state 0.

    Another option for choices, the neighbourhood ±2 within the declared range for numbers, another permutation for
    letter lists, one perturbed entry for integer lists (CADET Appendix B.3.2). In a set one member is exchanged, or
    where there is none to exchange it for, one letter is added or left out; the other word for yes and no; a point or a
    box beside the true one. Where no minimum is declared, a number that is not negative gets no negative neighbour: a
    model would rule out a count of −1 at once.

    Parameters
    ----------
    truth : Answer
        The canonical correct answer.
    spec : AnswerSpec
        The question's answer type.
    seed : str
        Fixes the draw; the same seed gives the same answer on any machine.

    Raises
    ------
    ValueError
        If the space has no other answer, or the type is ``text`` (an author has to write it).
    """
    rng = random.Random(seed)
    match spec.type:
        case AnswerType.CHOICE:
            others = [letter for letter in spec.letters if letter != truth]
            return rng.choice(others)
        case AnswerType.INTEGER:
            return _neighbour(int(truth), spec, rng)  # type: ignore[arg-type]
        case AnswerType.NUMBER:
            return _other_number(float(truth), spec, rng)  # type: ignore[arg-type]
        case AnswerType.INTEGER_LIST:
            entries = [int(entry) for entry in truth]  # type: ignore[union-attr]
            movable = [i for i, entry in enumerate(entries) if _neighbours(entry, spec)]
            if not movable:
                raise ValueError("no entry has another valid value")
            place = rng.choice(movable)
            entries[place] = _neighbour(entries[place], spec, rng)
            return tuple(entries)
        case AnswerType.LETTER_LIST:
            letters = [str(letter) for letter in truth]  # type: ignore[union-attr]
            if len(letters) < 2:
                raise ValueError("a list of one letter has no other order")
            shuffled = letters[:]
            while shuffled == letters:
                rng.shuffle(shuffled)
            return tuple(shuffled)
        case AnswerType.SET:
            return _other_set(truth, spec, rng)
        case AnswerType.YES_NO:
            return NO if truth == YES else YES
        case AnswerType.COORDINATE:
            return _other_coordinate(_numbers(truth), spec, seed)
        case AnswerType.TEXT:
            raise ValueError("an incorrect text has to be written by the author")


def _letter(value: Any, spec: AnswerSpec) -> str:
    if not spec.choices:
        raise ValueError("has no choices to choose from")
    if not isinstance(value, (str, int, float)):
        raise ValueError(f"{shown(value)} is no letter and no option")
    text = str(value).strip()
    if text.upper() in list(spec.letters):
        return text.upper()
    for letter, option in zip(spec.letters, spec.choices, strict=True):
        if option.strip().casefold() == text.casefold():
            return letter
    raise ValueError(f"{shown(text)} is none of the choices {', '.join(spec.letters)}")


def _integer(value: Any) -> int:
    number = _number(value, "an integer")
    if not number.is_integer():
        raise ValueError(f"{quoted(value)} is not an integer")
    try:
        return int(value)
    except ValueError:
        raise ValueError(f"{quoted(value)} is not an integer") from None


def _number(value: Any, what: str = "a number") -> float:
    """Return a number as a float; a whole number beyond the range of floats is none that can be compared."""
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        raise ValueError(f"{quoted(value)} is not {what}")
    try:
        number = float(value)
    except ValueError:
        raise ValueError(f"{quoted(value)} is not {what}") from None
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise ValueError(f"{quoted(value)} is not {what if what != 'a number' else 'a finite number'}")
    return number


def _entries(value: Any) -> list[Any]:
    if isinstance(value, str):
        value = [part for part in value.strip("[]() ").replace(";", ",").split(",") if part.strip()]
    if not isinstance(value, (list, tuple)) or not value:
        raise ValueError(f"{quoted(value)} is not a list")
    return list(value)


def _yes_no(value: Any, spec: AnswerSpec) -> str:
    if isinstance(value, bool):
        return YES if value else NO
    word = value.strip().casefold() if isinstance(value, str) else ""
    if word not in _WORDS or (word not in (YES, NO) and not spec.true_false):
        raise ValueError(f"{quoted(value)} is neither {'true nor false' if spec.true_false else 'yes nor no'}")
    return _WORDS[word]


def _members(value: Any, spec: AnswerSpec) -> tuple[Any, ...]:
    read = {Members.LETTER: _letter, Members.INTEGER: _ranged_integer, Members.NUMBER: _ranged_number}[spec.of_members]
    members = [read(entry, spec) for entry in _entries(value)]
    if len(set(members)) < len(members):
        raise ValueError("names a member twice")
    return tuple(sorted(members))


def _ranged_integer(value: Any, spec: AnswerSpec) -> int:
    return _in_range(_integer(value), spec)


def _ranged_number(value: Any, spec: AnswerSpec) -> float:
    return _in_range(_number(value), spec)


def _coordinate(value: Any, spec: AnswerSpec) -> Coordinate:
    numbers = tuple(_ranged_number(entry, spec) for entry in _entries(value))
    if len(numbers) != 4 and not (len(numbers) == 2 and spec.of_shape is Shape.POINT):
        asked = "two for a point (or four for the box around it)" if spec.of_shape is Shape.POINT else "four for a box"
        raise ValueError(f"has {len(numbers)} numbers instead of {asked}")
    if len(numbers) == 4 and not (numbers[0] < numbers[2] and numbers[1] < numbers[3]):
        raise ValueError("is no box: it is written left, top, right, bottom")
    within_one = all(0 <= number <= 1 for number in numbers)
    if spec.in_units is Units.FRACTIONS and not within_one:
        raise ValueError("is outside 0 to 1, where fractions of a picture lie")
    if spec.in_units is Units.PIXELS and within_one and any(number % 1 for number in numbers):
        raise ValueError("looks like fractions, but pixels are declared; declare units fractions or plain")
    return numbers


def _numbers(answer: Answer) -> Coordinate:
    return tuple(map(float, answer))  # type: ignore[arg-type]


def _close(first: float, second: float, spec: AnswerSpec) -> bool:
    return math.isclose(first, second, rel_tol=1e-9, abs_tol=spec.tolerance)


def _without(first: Answer, second: Answer, spec: AnswerSpec) -> list[Any]:
    """Return the members of the first set that the second has not."""
    if spec.of_members is Members.NUMBER:
        return [a for a in _numbers(first) if not any(_close(a, b, spec) for b in _numbers(second))]
    return [member for member in first if member not in second]  # type: ignore[union-attr, operator]


def _in_range(number: Num, spec: AnswerSpec) -> Num:
    low, high = spec.min, spec.max
    if (low is not None and number < low) or (high is not None and number > high):
        bounds = f"{'-∞' if low is None else f'{low:g}'} to {'∞' if high is None else f'{high:g}'}"
        raise ValueError(f"{shown(number)} is outside {bounds}")
    return number


def _with_length(entries: Entries, spec: AnswerSpec) -> Entries:
    if spec.length is not None and len(entries) != spec.length:
        raise ValueError(f"has {len(entries)} entries instead of {spec.length}")
    return entries


def _neighbours(truth: int, spec: AnswerSpec) -> list[int]:
    floor = (0 if truth >= 0 else truth - NEIGHBOURHOOD) if spec.min is None else math.ceil(spec.min)
    low = max(truth - NEIGHBOURHOOD, floor)
    high = truth + NEIGHBOURHOOD if spec.max is None else min(truth + NEIGHBOURHOOD, math.floor(spec.max))
    return [number for number in range(low, high + 1) if number != truth]


def _neighbour(truth: int, spec: AnswerSpec, rng: random.Random) -> int:
    candidates = _neighbours(truth, spec)
    if not candidates:
        raise ValueError(f"no other integer within ±{NEIGHBOURHOOD} of {truth} is in range")
    return rng.choice(candidates)


def _other_number(truth: float, spec: AnswerSpec, rng: random.Random) -> float:
    candidates = _other_numbers(truth, spec)
    if not candidates:
        raise ValueError(f"no other number within ±{NEIGHBOURHOOD} of {truth:g} is in range and beyond the tolerance")
    return rng.choice(candidates)


def _other_numbers(truth: float, spec: AnswerSpec) -> list[float]:
    steps = [step / 4 for step in range(-4 * NEIGHBOURHOOD, 4 * NEIGHBOURHOOD + 1) if step]
    low = (0 if truth >= 0 else -math.inf) if spec.min is None else spec.min
    high = math.inf if spec.max is None else spec.max
    places = max(2, decimals(truth))
    others = [round(truth + step, places) for step in steps]
    return [other for other in others if low <= other <= high and not _close(other, truth, spec)]


def _other_set(truth: Answer, spec: AnswerSpec, rng: random.Random) -> Answer:
    members: list[Any] = list(truth)  # type: ignore[arg-type]
    found = [other for other in _exchanged(members, spec) if not _same_as_any(other, members, spec)]
    if not found and spec.length is None and spec.of_members is Members.LETTER:
        found = [[*members, letter] for letter in spec.letters if letter not in members]
        found = found or [members[:i] + members[i + 1 :] for i in range(len(members)) if len(members) > 1]
    if not found:
        raise ValueError("no other set is within the declared range")
    return tuple(sorted(rng.choice(found)))


def _exchanged(members: list[Any], spec: AnswerSpec) -> Iterator[list[Any]]:
    """Yield the sets in which one member is another one: another letter, or a number nearby."""
    for place, member in enumerate(members):
        others: list[Any]
        if spec.of_members is Members.LETTER:
            others = [letter for letter in spec.letters if letter not in members]
        else:
            others = _neighbours(member, spec) if spec.of_members is Members.INTEGER else _other_numbers(member, spec)
        for other in others:
            if other not in members:
                yield [*members[:place], other, *members[place + 1 :]]


def _same_as_any(other: list[Any], members: list[Any], spec: AnswerSpec) -> bool:
    return same_answer(tuple(sorted(other)), tuple(members), spec)


def _other_coordinate(truth: Coordinate, spec: AnswerSpec, seed: str) -> Coordinate:
    low, high = (0.0, 1.0) if spec.in_units is Units.FRACTIONS else (spec.min, spec.max)
    low = (0.0 if min(truth) >= 0 else -math.inf) if low is None else low
    high = math.inf if high is None else high
    if spec.of_shape is Shape.BOX:
        candidates = other_boxes(truth, low, high, seed)
    else:
        candidates = other_points(truth, spec.tolerance, low, high, seed)
    for candidate in candidates:
        try:
            wrong = _coordinate(candidate, spec)
        except ValueError:
            continue
        if not same_answer(wrong, truth, spec):
            return wrong
    raise ValueError(f"no other {spec.of_shape} is within the declared range")
