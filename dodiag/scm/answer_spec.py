"""The ``answer`` mapping of a unit: the declared type of its answers and what belongs to the type."""

from __future__ import annotations

import math
import re
import string
from collections.abc import Mapping
from enum import StrEnum
from functools import lru_cache
from typing import Annotated, Any, Self

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from dodiag.problems import shown

LETTERS = string.ascii_uppercase
Bound = Annotated[float, Field(allow_inf_nan=False)]
IOU = 0.5
"""Intersection over union from which two boxes are the same one, where none is declared."""


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
    """What a ``set`` is made of."""

    LETTER = "letter"
    INTEGER = "integer"
    NUMBER = "number"


class Shape(StrEnum):
    """What a ``coordinate`` is: a point x, y or a box left, top, right, bottom."""

    POINT = "point"
    BOX = "box"

    @property
    def size(self) -> int:
        """How many numbers it has."""
        return 2 if self is Shape.POINT else 4


class Units(StrEnum):
    """What the numbers of a ``coordinate`` count.

    ``pixels``; ``fractions`` of the picture's width and height, from 0 to 1; ``plain`` numbers, as on a plot's axes.
    """

    PIXELS = "pixels"
    FRACTIONS = "fractions"
    PLAIN = "plain"


class AnswerSpec(BaseModel):
    """The ``answer`` mapping of a unit, with the choices of one question where it has them.

    Parameters
    ----------
    type : AnswerType
        Dispatches reading and comparing.
    choices : tuple of str, optional
        Options of ``choice``, letters of ``letter_list`` and of a ``set``, lettered A, B, C, … in order. A mapping
        ``{A: …, B: …}`` is accepted when its letters are in order.
    min, max : float, optional
        Valid range of ``integer``, ``number`` and the numbers of lists, sets and coordinates, both ends included.
    length : int, optional
        Number of entries of a list, of members of a set.
    tolerance : float
        Largest absolute difference at which two ``number`` answers, or members of a set of numbers, are the same; the
        largest distance of two points. 0 compares exactly.
    members : Members, optional
        What a ``set`` is made of; by default letters where there are choices, and whole numbers elsewhere.
    true_false : bool
        A ``yes_no`` question asks for true or false; both pairs of words are read.
    shape : Shape, optional
        What a ``coordinate`` is, a point by default.
    units : Units, optional
        What the numbers of a ``coordinate`` count, pixels by default.
    iou : float, optional
        Intersection over union from which two boxes are the same one, in (0, 1]; 0.5 by default.
    instruction : str, optional
        What the prompt says of the form, in place of the type's own sentence; empty for nothing. Replies are read as
        ever, so it should ask for a form that the type reads.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    type: AnswerType
    choices: tuple[str, ...] | None = None
    min: Bound | None = None
    max: Bound | None = None
    length: int | None = None
    tolerance: float = 0.0
    members: Members | None = None
    true_false: bool = False
    shape: Shape | None = None
    units: Units | None = None
    iou: float | None = Field(default=None, gt=0, le=1)
    instruction: str | None = Field(default=None, max_length=2000)

    @field_validator("choices", mode="before")
    @classmethod
    def _choices_in_order(cls, value: Any) -> Any:
        if isinstance(value, Mapping):
            if list(value) != list(LETTERS[: len(value)]):
                raise ValueError("lettered choices must run A, B, C, … without a gap")
            value = list(value.values())
        if isinstance(value, (list, tuple)):
            return tuple(_option_text(option) for option in value)
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
        for letter, option, named in zip(LETTERS, value, _letters_of_their_own(value), strict=False):
            if named not in ("", letter):
                raise ValueError(
                    f"choice {letter} reads {shown(option.strip())}, and '{named}' is the letter of another choice; "
                    "write choices without letters of their own"
                )
        return value

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.min is not None and self.max is not None and self.min > self.max:
            raise ValueError(f"min {self.min:g} is above max {self.max:g}")
        if self.type in _WHOLE and _holds_no_whole_number(self.min, self.max):
            raise ValueError(f"no whole number lies between min {self.min:g} and max {self.max:g}")
        if self.tolerance < 0 or not math.isfinite(self.tolerance):
            raise ValueError("tolerance must be finite and not negative")
        if self.length is not None and self.length < 1:
            raise ValueError("length must be at least 1")
        for name, owner in _OWNERS.items():
            if getattr(self, name) not in (None, False) and self.type is not owner:
                raise ValueError(f"{name} belongs to the answer type {owner}, not to {self.type}")
        if self.type is AnswerType.SET and self.choices and self.members not in (None, Members.LETTER):
            raise ValueError(f"a set of {self.members}s has no choices")
        if self.type is AnswerType.COORDINATE:
            self._require_consistent_coordinate()
        return self

    def _require_consistent_coordinate(self) -> None:
        if self.iou is not None and self.of_shape is Shape.POINT:
            raise ValueError("iou compares boxes; give a point a tolerance")
        if self.tolerance and self.of_shape is Shape.BOX:
            raise ValueError("tolerance compares points; give a box an iou")
        if self.length is not None:
            raise ValueError("length belongs to lists and sets; a coordinate has a shape")
        if self.in_units is Units.FRACTIONS and (self.min is not None or self.max is not None):
            raise ValueError("fractions run from 0 to 1, without min and max")

    @property
    def letters(self) -> str:
        """The letters of the choices, ``"ABCD"`` for four; empty without choices."""
        return LETTERS[: len(self.choices)] if self.choices else ""

    @property
    def of_members(self) -> Members:
        """What a set is made of."""
        return self.members or (Members.LETTER if self.choices else Members.INTEGER)

    @property
    def of_shape(self) -> Shape:
        """What a coordinate is."""
        return self.shape or Shape.POINT

    @property
    def in_units(self) -> Units:
        """What the numbers of a coordinate count."""
        return self.units or Units.PIXELS

    @property
    def needs_choices(self) -> bool:
        """Whether an answer of this type names options by letter."""
        letters = (AnswerType.CHOICE, AnswerType.LETTER_LIST)
        return self.type in letters or (self.type is AnswerType.SET and self.of_members is Members.LETTER)

    def with_choices(self, choices: tuple[str, ...] | None) -> AnswerSpec:
        """Return this type with the choices of one question; `choices` None keeps the unit's own.

        Raises
        ------
        ValueError
            If the choices are not distinct options.
        """
        return self if choices is None else _with_choices(self, choices)


_LABEL = re.compile(
    r"\s*(?:[(\[]\s*([a-z])\s*[)\]]|([a-z])\s*(?:[)\]]|\.?\s*$)|((?-i:[A-Z]))\s*:)(?!\s*(?:and\b|or\b|[,&+/]))",
    re.IGNORECASE,
)
"""What an option begins with, or is, that reads as the letter of one: ``(B) red``, ``B: red``, ``B``."""
_INITIAL = re.compile(r"\s*([a-z])\.", re.IGNORECASE)
"""A letter where every option begins with one of theirs; otherwise it may be an initial: ``B. subtilis``."""


def _letters_of_their_own(choices: tuple[str, ...]) -> list[str]:
    """Return the letter of the choices that each one is labelled with in its own text; empty where it is with none."""
    letters = LETTERS[: len(choices)]

    def named(pattern: re.Pattern[str], option: str) -> str:
        label = pattern.match(option)
        letter = label[label.lastindex or 0].upper() if label else ""
        return letter if letter in letters else ""

    initials = [named(_INITIAL, option) for option in choices]
    return initials if all(initials) else [named(_LABEL, option) for option in choices]


def _option_text(option: Any) -> Any:
    if isinstance(option, bool):
        return "true" if option else "false"
    return str(option) if isinstance(option, (int, float)) else option


def _holds_no_whole_number(low: float | None, high: float | None) -> bool:
    return low is not None and high is not None and math.ceil(low) > math.floor(high)


_WHOLE = (AnswerType.INTEGER, AnswerType.INTEGER_LIST)
_OWNERS = {
    "members": AnswerType.SET,
    "true_false": AnswerType.YES_NO,
    "shape": AnswerType.COORDINATE,
    "units": AnswerType.COORDINATE,
    "iou": AnswerType.COORDINATE,
}
"""Fields that only one type has; the other ones are older than the rule and are ignored where they say nothing."""


@lru_cache(maxsize=4096)
def _with_choices(spec: AnswerSpec, choices: tuple[str, ...]) -> AnswerSpec:
    return AnswerSpec.model_validate(spec.model_dump(exclude_none=True) | {"choices": choices})
