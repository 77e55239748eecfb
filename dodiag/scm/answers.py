"""Declared answer types: what a right answer looks like, when two answers are the same, what a wrong one may be.

This is the space of answers, not the reading of replies; a reply becomes an answer in ``dodiag.runners.reading``.
"""

from __future__ import annotations

import math
import random
import string
from collections.abc import Mapping
from enum import StrEnum
from functools import lru_cache
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, field_validator, model_validator

from dodiag.scm import coordinates
from dodiag.scm.coordinates import BOX, POINT, Scale, Shape

LETTERS = string.ascii_uppercase
NEIGHBOURHOOD = 2
"""Half-width of the range that incorrect numbers are drawn from (CADET Appendix B.3.2: within ±2)."""

YES, NO = "yes", "no"
FAR = {Scale.PIXEL: 20.0, Scale.FRACTION: 0.1, Scale.THOUSANDTH: 100.0}
"""Shortest distance that an incorrect point is moved by, where no tolerance is declared."""

Answer = str | int | float | tuple[int, ...] | tuple[str, ...] | tuple[float, ...]
Num = TypeVar("Num", int, float)
Entries = TypeVar("Entries", tuple[int, ...], tuple[str, ...], tuple[float, ...])


class AnswerType(StrEnum):
    """The declared type of a unit's answers; reading and comparing dispatch on it."""

    CHOICE = "choice"
    INTEGER = "integer"
    NUMBER = "number"
    INTEGER_LIST = "integer_list"
    LETTER_LIST = "letter_list"
    SET = "set"
    YES_NO = "yes_no"
    COORDINATE = "coordinate"
    TEXT = "text"


class Members(StrEnum):
    """What the members of a list or a set are."""

    INTEGER = "integer"
    NUMBER = "number"
    LETTER = "letter"


class AnswerSpec(BaseModel):
    """The ``answer`` mapping of a unit, with the choices of one question where it has them.

    Parameters
    ----------
    type : AnswerType
        Dispatches reading and comparing.
    choices : tuple of str, optional
        Options of ``choice``, and letters of ``letter_list`` and of a ``set`` of letters, lettered A, B, C, … in
        order. A mapping ``{A: …, B: …}`` is accepted when its letters are in order.
    min, max : float, optional
        Valid range of ``integer``, ``number``, ``coordinate`` and the numbers of lists and sets, both ends included.
    length : int, optional
        Number of entries of a list, of members of a set.
    tolerance : float
        Largest absolute difference at which two numbers, or the members of two sets of numbers, are the same; for a
        point the largest distance. 0 compares exactly.
    of : Members, optional
        What the members of a ``set`` are. Letters where it has choices, otherwise integers.
    true_false : bool
        The question is a statement: ``yes_no`` is asked for as true or false, and both wordings are read.
    shape : Shape
        What a ``coordinate`` gives. For ``point_in_box`` the truth is a box, and a reply is a point.
    scale : Scale
        What a ``coordinate`` is measured in; nothing is converted.
    iou : float
        Least intersection over union at which two boxes are the same, above 0 and at most 1.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    type: AnswerType
    choices: tuple[str, ...] | None = None
    min: float | None = None
    max: float | None = None
    length: int | None = None
    tolerance: float = 0.0
    of: Members | None = None
    true_false: bool = False
    shape: Shape = Shape.POINT
    scale: Scale = Scale.PIXEL
    iou: float = 0.5

    @field_validator("choices", mode="before")
    @classmethod
    def _choices_in_order(cls, value: Any) -> Any:
        if isinstance(value, Mapping):
            if list(value) != list(LETTERS[: len(value)]):
                raise ValueError("lettered choices must run A, B, C, … without a gap")
            value = list(value.values())
        if isinstance(value, (list, tuple)):
            return tuple(str(option) if isinstance(option, (int, float)) else option for option in value)
        return value

    @field_validator("choices")
    @classmethod
    def _choices_distinct(cls, value: tuple[str, ...] | None) -> tuple[str, ...] | None:
        if value is None:
            return None
        folded = [option.strip().casefold() for option in value]
        if len(value) < 2 or len(value) > len(LETTERS):
            raise ValueError(f"needs 2 to {len(LETTERS)} choices, has {len(value)}")
        if len(set(folded)) < len(folded) or "" in folded:
            raise ValueError("choices must be distinct and not empty")
        for letter, option in zip(LETTERS, value, strict=False):
            label = option.strip()
            if len(label) == 1 and label.upper() in LETTERS[: len(value)] and label.upper() != letter:
                raise ValueError(f"choice {letter} reads '{label}', which is the letter of another choice")
        return value

    @model_validator(mode="after")
    def _consistent(self) -> AnswerSpec:
        if self.min is not None and self.max is not None and self.min > self.max:
            raise ValueError(f"min {self.min:g} is above max {self.max:g}")
        if self.tolerance < 0 or not math.isfinite(self.tolerance):
            raise ValueError("tolerance must be finite and not negative")
        if self.length is not None and self.length < 1:
            raise ValueError("length must be at least 1")
        if not 0 < self.iou <= 1:
            raise ValueError("iou must be above 0 and at most 1")
        for name, kind in _BELONGS_TO.items():
            if self.type is not kind and getattr(self, name) != type(self).model_fields[name].default:
                raise ValueError(f"'{name}' belongs to the answer type {kind}")
        if self.type is AnswerType.SET and self.choices and self.of not in (None, Members.LETTER):
            raise ValueError(f"a set of {self.of}s has no choices")
        return self

    @property
    def letters(self) -> str:
        """The letters of the choices, ``"ABCD"`` for four; empty without choices."""
        return LETTERS[: len(self.choices)] if self.choices else ""

    @property
    def members(self) -> Members | None:
        """What the entries of a list or the members of a set are; None for every other type."""
        match self.type:
            case AnswerType.INTEGER_LIST:
                return Members.INTEGER
            case AnswerType.LETTER_LIST:
                return Members.LETTER
            case AnswerType.SET:
                return self.of or (Members.LETTER if self.choices else Members.INTEGER)
            case _:
                return None

    @property
    def lettered(self) -> bool:
        """Whether its answers are letters of choices, so that a question of this type has to have choices."""
        return self.type is AnswerType.CHOICE or self.members is Members.LETTER

    def with_choices(self, choices: tuple[str, ...] | None) -> AnswerSpec:
        """Return this type with the choices of one question; `choices` None keeps the unit's own.

        Raises
        ------
        ValueError
            If the choices are not distinct options.
        """
        return self if choices is None else _with_choices(self, choices)


_BELONGS_TO = {
    "of": AnswerType.SET,
    "true_false": AnswerType.YES_NO,
    "shape": AnswerType.COORDINATE,
    "scale": AnswerType.COORDINATE,
    "iou": AnswerType.COORDINATE,
}


@lru_cache(maxsize=4096)
def _with_choices(spec: AnswerSpec, choices: tuple[str, ...]) -> AnswerSpec:
    return AnswerSpec.model_validate(spec.model_dump(exclude_none=True) | {"choices": choices})


def normalise(value: Any, spec: AnswerSpec) -> Answer:
    """Return the canonical form of an author's answer.

    Parameters
    ----------
    value : Any
        As written in an instance file: a letter or the option's own text for ``choice``, a number, a list (or comma
        text) for lists, sets and coordinates, yes or no (or true or false), text.
    spec : AnswerSpec
        The question's answer type.

    Returns
    -------
    Answer
        Letter, int, float, tuple, ``yes`` or ``no``, or stripped text. A set is a tuple without repetitions in
        ascending order; a coordinate is two or four floats, of a box the left top corner first.

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
            return _with_length(_set(_entries(value), spec), spec)
        case AnswerType.YES_NO:
            return _yes_no(value, spec)
        case AnswerType.COORDINATE:
            numbers = tuple(_in_range(_number(entry), spec) for entry in _entries(value))
            return coordinates.canonical(numbers, _SIZES[spec.shape], spec.scale)
        case AnswerType.TEXT:
            if not isinstance(value, str) or not value.strip():
                raise ValueError("is not a text")
            return " ".join(value.split())


def same_answer(first: Answer, second: Answer, spec: AnswerSpec) -> bool:
    """Return whether two canonical answers are the same answer of this type.

    Numbers are the same within the declared tolerance (and 1e-9 relative, so that 0.1 + 0.2 equals 0.3), and so are
    sets of numbers, member by member in ascending order. Two points are the same at a distance of at most the
    tolerance, two boxes at an intersection over union of at least the declared one, a point and a box where the point
    lies inside. Text is compared without regard to case; a judge, not this function, decides whether two texts mean
    the same.
    """
    if spec.type is AnswerType.NUMBER:
        return _close(first, second, spec)
    if spec.type is AnswerType.SET and spec.members is Members.NUMBER:
        ours, theirs = _tuple(first), _tuple(second)
        return len(ours) == len(theirs) and all(_close(a, b, spec) for a, b in zip(ours, theirs, strict=True))
    if spec.type is AnswerType.COORDINATE:
        return _same_place(_tuple(first), _tuple(second), spec)
    if spec.type is AnswerType.TEXT:
        return str(first).casefold().strip(" .") == str(second).casefold().strip(" .")
    return first == second


def set_difference(answer: Answer, truth: Answer, spec: AnswerSpec) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """Return the members that a set answer lacks, and those that it has too many.

    Parameters
    ----------
    answer, truth : tuple
        Canonical sets.
    spec : AnswerSpec
        Of type ``set``; for numbers the tolerance counts.

    Examples
    --------
    >>> set_difference((1, 3), (1, 2), AnswerSpec(type="set"))
    ((2,), (3,))
    """
    ours, theirs = _tuple(answer), _tuple(truth)
    if spec.members is not Members.NUMBER:
        return tuple(m for m in theirs if m not in ours), tuple(m for m in ours if m not in theirs)
    missing = list(theirs)
    extra = []
    for member in ours:
        partner = next((other for other in missing if _close(member, other, spec)), None)
        if partner is None:
            extra.append(member)
        else:
            missing.remove(partner)
    return tuple(missing), tuple(extra)


def show_answer(answer: Answer, spec: AnswerSpec) -> str:
    """Return an answer as text for a prompt: ``C. red`` for a choice, ``1, 2`` for a list, a set or a point.

    A box that a point has to lie in is shown by its centre: it stands for an answer, and the answer is a point.
    """
    if spec.type is AnswerType.CHOICE and spec.choices:
        option = spec.choices[LETTERS.index(str(answer))]
        return str(answer) if option.strip().upper() == answer else f"{answer}. {option}"
    if spec.type is AnswerType.YES_NO and spec.true_false:
        return "true" if answer == YES else "false"
    if isinstance(answer, tuple):
        if spec.shape is Shape.POINT_IN_BOX and len(answer) == BOX:
            answer = coordinates.centre(_tuple(answer))
        return ", ".join(
            str(int(entry)) if isinstance(entry, float) and entry.is_integer() else str(entry) for entry in answer
        )
    if isinstance(answer, float) and answer.is_integer() and spec.type is AnswerType.NUMBER:
        return str(int(answer))
    return str(answer)


def draw_incorrect(truth: Answer, spec: AnswerSpec, seed: str) -> Answer:
    """Draw a valid answer that is not the truth, for state 0.

    Another option for choices, the neighbourhood ±2 within the declared range for numbers, another permutation for
    letter lists, one perturbed entry for integer lists (CADET Appendix B.3.2); a set with one other member, the other
    of yes and no, a point at some distance or a box beside the true one. Where no minimum is declared, the neighbour
    of a number that is not negative is not negative either: a model would rule out a count of −1 at once.

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
            return _other_set(_tuple(truth), spec, rng)
        case AnswerType.YES_NO:
            return NO if truth == YES else YES
        case AnswerType.COORDINATE:
            return _other_place(_tuple(truth), spec, rng)
        case AnswerType.TEXT:
            raise ValueError("an incorrect text has to be written by the author")


def _letter(value: Any, spec: AnswerSpec) -> str:
    if not spec.choices:
        raise ValueError("has no choices to choose from")
    text = str(value).strip()
    if text.upper() in list(spec.letters):
        return text.upper()
    for letter, option in zip(spec.letters, spec.choices, strict=True):
        if option.strip().casefold() == text.casefold():
            return letter
    raise ValueError(f"'{text}' is none of the choices {', '.join(spec.letters)}")


def _integer(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        raise ValueError(f"'{value}' is not an integer")
    try:
        number = float(value) if not isinstance(value, str) else int(value.strip())
    except ValueError:
        raise ValueError(f"'{value}' is not an integer") from None
    if not math.isfinite(number) or number != int(number):
        raise ValueError(f"'{value}' is not an integer")
    return int(value) if not isinstance(value, float) else int(number)


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        raise ValueError(f"'{value}' is not a number")
    try:
        number = float(value)
    except ValueError:
        raise ValueError(f"'{value}' is not a number") from None
    if not math.isfinite(number):
        raise ValueError(f"'{value}' is not a finite number")
    return number


def _tuple(answer: Answer) -> tuple[Any, ...]:
    if not isinstance(answer, tuple):
        raise TypeError(f"{answer!r} is not a canonical answer of several entries")
    return answer


def _close(first: Answer, second: Answer, spec: AnswerSpec) -> bool:
    return math.isclose(float(first), float(second), rel_tol=1e-9, abs_tol=spec.tolerance)  # type: ignore[arg-type]


def _set(entries: list[Any], spec: AnswerSpec) -> tuple[Any, ...]:
    match spec.members:
        case Members.LETTER:
            return tuple(sorted({_letter(entry, spec) for entry in entries}))
        case Members.NUMBER:
            return tuple(sorted({_in_range(_number(entry), spec) for entry in entries}))
        case _:
            return tuple(sorted({_in_range(_integer(entry), spec) for entry in entries}))


def _yes_no(value: Any, spec: AnswerSpec) -> str:
    if isinstance(value, bool):
        return YES if value else NO
    word = value.strip().casefold() if isinstance(value, str) else None
    if word == YES or (spec.true_false and word == "true"):
        return YES
    if word == NO or (spec.true_false and word == "false"):
        return NO
    raise ValueError(f"'{value}' is neither yes nor no")


_SIZES = {Shape.POINT: (POINT,), Shape.BOX: (BOX,), Shape.POINT_IN_BOX: (POINT, BOX)}


def _same_place(first: tuple[float, ...], second: tuple[float, ...], spec: AnswerSpec) -> bool:
    if len(first) != len(second):
        point, box = (first, second) if len(first) == POINT else (second, first)
        return coordinates.inside(point, box)
    if len(first) == BOX:
        return coordinates.overlap(first, second) >= spec.iou - 1e-9
    apart = coordinates.distance(first, second)
    return apart <= spec.tolerance or math.isclose(apart, spec.tolerance, rel_tol=1e-9, abs_tol=1e-9)


def _entries(value: Any) -> list[Any]:
    if isinstance(value, str):
        value = [part for part in value.strip("[](){} ").replace(";", ",").split(",") if part.strip()]
    if not isinstance(value, (list, tuple)) or not value:
        raise ValueError(f"'{value}' is not a list")
    return list(value)


def _in_range(number: Num, spec: AnswerSpec) -> Num:
    low, high = spec.min, spec.max
    if (low is not None and number < low) or (high is not None and number > high):
        bounds = f"{'-∞' if low is None else f'{low:g}'} to {'∞' if high is None else f'{high:g}'}"
        raise ValueError(f"{number} is outside {bounds}")
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
    return [truth + step for step in steps if low <= truth + step <= high and abs(step) > spec.tolerance]


def _other_set(truth: tuple[Any, ...], spec: AnswerSpec, rng: random.Random) -> Answer:
    """Return the truth with one member exchanged; where no other member exists, with one left out."""
    swaps: list[tuple[int, Any]] = []
    for place, member in enumerate(truth):
        others: list[Any]
        match spec.members:
            case Members.LETTER:
                others = list(spec.letters)
            case Members.NUMBER:
                others = _other_numbers(float(member), spec)
            case _:
                others = _neighbours(int(member), spec)
        swaps += [(place, other) for other in others if other not in truth]
    rng.shuffle(swaps)
    for place, other in swaps:
        changed = _set([*truth[:place], other, *truth[place + 1 :]], spec)
        if not same_answer(changed, truth, spec):
            return changed
    if len(truth) < 2 or spec.length is not None:
        raise ValueError("no other valid set is near it")
    left_out = rng.randrange(len(truth))
    return truth[:left_out] + truth[left_out + 1 :]


def _other_place(truth: tuple[float, ...], spec: AnswerSpec, rng: random.Random) -> Answer:
    """Return a point or a box near the true one that is valid and wrong; for a box around a point, a point."""
    start, reach = truth, max(FAR[spec.scale], 3 * spec.tolerance)
    if spec.shape is Shape.POINT_IN_BOX and len(truth) == BOX:
        start = coordinates.centre(truth)
        reach = max(truth[2] - truth[0], truth[3] - truth[1])
    for place in coordinates.other_places(start, spec.scale, reach, rng):
        try:
            wrong = normalise(place, spec)
        except ValueError:
            continue
        if not same_answer(wrong, truth, spec):
            return wrong
    raise ValueError("no other place near it is valid and wrong")
