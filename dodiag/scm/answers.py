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

LETTERS = string.ascii_uppercase
NEIGHBOURHOOD = 2
"""Half-width of the range that incorrect numbers are drawn from (CADET Appendix B.3.2: within ±2)."""

Answer = str | int | float | tuple[int, ...] | tuple[str, ...]
Num = TypeVar("Num", int, float)
Entries = TypeVar("Entries", tuple[int, ...], tuple[str, ...])


class AnswerType(StrEnum):
    """The declared type of a unit's answers; reading and comparing dispatch on it."""

    CHOICE = "choice"
    INTEGER = "integer"
    NUMBER = "number"
    INTEGER_LIST = "integer_list"
    LETTER_LIST = "letter_list"
    TEXT = "text"


class AnswerSpec(BaseModel):
    """The ``answer`` mapping of a unit, with the choices of one question where it has them.

    Parameters
    ----------
    type : AnswerType
        Dispatches reading and comparing.
    choices : tuple of str, optional
        Options of ``choice`` and letters of ``letter_list``, lettered A, B, C, … in order. A mapping
        ``{A: …, B: …}`` is accepted when its letters are in order.
    min, max : float, optional
        Valid range of ``integer``, ``number`` and the entries of ``integer_list``, both ends included.
    length : int, optional
        Number of entries of a list.
    tolerance : float
        Largest absolute difference at which two ``number`` answers are the same; 0 compares them exactly.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    type: AnswerType
    choices: tuple[str, ...] | None = None
    min: float | None = None
    max: float | None = None
    length: int | None = None
    tolerance: float = 0.0

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
        return self

    @property
    def letters(self) -> str:
        """The letters of the choices, ``"ABCD"`` for four; empty without choices."""
        return LETTERS[: len(self.choices)] if self.choices else ""

    def with_choices(self, choices: tuple[str, ...] | None) -> AnswerSpec:
        """Return this type with the choices of one question; `choices` None keeps the unit's own.

        Raises
        ------
        ValueError
            If the choices are not distinct options.
        """
        return self if choices is None else _with_choices(self, choices)


@lru_cache(maxsize=4096)
def _with_choices(spec: AnswerSpec, choices: tuple[str, ...]) -> AnswerSpec:
    return AnswerSpec.model_validate(spec.model_dump(exclude_none=True) | {"choices": choices})


def normalise(value: Any, spec: AnswerSpec) -> Answer:
    """Return the canonical form of an author's answer.

    Parameters
    ----------
    value : Any
        As written in an instance file: a letter or the option's own text for ``choice``, a number, a list (or comma
        text) for lists, text.
    spec : AnswerSpec
        The question's answer type.

    Returns
    -------
    Answer
        Letter, int, float, tuple or stripped text.

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
        case AnswerType.TEXT:
            if not isinstance(value, str) or not value.strip():
                raise ValueError("is not a text")
            return " ".join(value.split())


def same_answer(first: Answer, second: Answer, spec: AnswerSpec) -> bool:
    """Return whether two canonical answers are the same answer of this type.

    Numbers are the same within the declared tolerance (and 1e-9 relative, so that 0.1 + 0.2 equals 0.3); text is
    compared without regard to case. A judge, not this function, decides whether two texts mean the same.
    """
    if spec.type is AnswerType.NUMBER:
        return math.isclose(float(first), float(second), rel_tol=1e-9, abs_tol=spec.tolerance)  # type: ignore[arg-type]
    if spec.type is AnswerType.TEXT:
        return str(first).casefold().strip(" .") == str(second).casefold().strip(" .")
    return first == second


def show_answer(answer: Answer, spec: AnswerSpec) -> str:
    """Return an answer as text for a prompt: ``C. red`` for a choice, ``1, 2`` for a list."""
    if spec.type is AnswerType.CHOICE and spec.choices:
        option = spec.choices[LETTERS.index(str(answer))]
        return str(answer) if option.strip().upper() == answer else f"{answer}. {option}"
    if isinstance(answer, tuple):
        return ", ".join(map(str, answer))
    if isinstance(answer, float) and answer.is_integer() and spec.type is AnswerType.NUMBER:
        return str(int(answer))
    return str(answer)


def draw_incorrect(truth: Answer, spec: AnswerSpec, seed: str) -> Answer:
    """Draw a valid answer that is not the truth, for state 0.

    Another option for choices, the neighbourhood ±2 within the declared range for numbers, another permutation for
    letter lists, one perturbed entry for integer lists (CADET Appendix B.3.2). Where no minimum is declared, the
    neighbour of a number that is not negative is not negative either: a model would rule out a count of −1 at once.

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


def _entries(value: Any) -> list[Any]:
    if isinstance(value, str):
        value = [part for part in value.strip("[]() ").replace(";", ",").split(",") if part.strip()]
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
    steps = [step / 4 for step in range(-4 * NEIGHBOURHOOD, 4 * NEIGHBOURHOOD + 1) if step]
    low = (0 if truth >= 0 else -math.inf) if spec.min is None else spec.min
    high = math.inf if spec.max is None else spec.max
    candidates = [truth + step for step in steps if low <= truth + step <= high and abs(step) > spec.tolerance]
    if not candidates:
        raise ValueError(f"no other number within ±{NEIGHBOURHOOD} of {truth:g} is in range and beyond the tolerance")
    return rng.choice(candidates)
