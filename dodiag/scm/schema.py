"""The shape of a task graph file, before anything is known about its graph."""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, field_validator
from pydantic_core import PydanticCustomError

from dodiag.problems import is_control
from dodiag.scm.answers import AnswerSpec
from dodiag.scm.source import Location

UNIT_ID = r"^[A-Za-z][A-Za-z0-9_.-]*$"
SLUG = r"^[a-z0-9][a-z0-9_.-]*$"
SCHEMA_VERSION = 1
MAX_STEPS = 10_000
"""Most steps of a chain."""


def _on_one_line(text: str) -> str:
    if any(map(is_control, text)):
        raise PydanticCustomError("control_character", "holds a line break or a control character")
    return text


UnitId = Annotated[str, Field(pattern=UNIT_ID, max_length=64)]
Line = Annotated[str, Field(min_length=1), AfterValidator(_on_one_line)]
"""Text for people, which tables, prompts and drawings show on one line."""
Modality = Literal["image", "images", "video", "text"]

CADET_CATEGORIES = ("perception", "spatial", "temporal", "cognitive")


class _Strict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Unit(_Strict):
    """A node of the task graph: one capability, tested by its own questions.

    Parameters
    ----------
    title : str
        What people read.
    category : str
        The capability's category; CADET's are perception, spatial, temporal, cognitive.
    answer : AnswerSpec
        Declared type of its answers.
    parents : tuple of str
        Prerequisites Pa(X_i) in declared order, the order of configuration text.
    """

    title: Line
    category: Line
    answer: AnswerSpec
    parents: tuple[UnitId, ...] = ()


class Chain(_Strict):
    """One cycle of a Markov chain, in order (CADET Def. A.7); its length is the period p.

    Parameters
    ----------
    units : tuple of str
        The p units of one step. Each depends on the one before it, the first on the last of the previous step.
    steps : int, optional
        Usual number of steps, the default of ``unfold``.
    withhold_answers : bool
        State 1 injects the questions and the annotations of the steps before, without their textual answers: for
        chains in which every step asks the same question (Maze, CADET Appendix D.3).
    """

    units: tuple[UnitId, ...] = Field(min_length=1)
    steps: int | None = Field(default=None, ge=1, le=MAX_STEPS)
    withhold_answers: bool = False

    @property
    def period(self) -> int:
        """Number of units in one step."""
        return len(self.units)


class TaskFile(_Strict):
    """The fields of a task graph file (``task.yaml``)."""

    schema_version: Literal[1] = Field(alias="schema")
    name: str = Field(pattern=SLUG, max_length=100)
    title: Line
    version: str = "1"
    modality: Modality
    category: Line | None = None
    categories: Annotated[tuple[Line, ...], Field(min_length=1)] | None = None
    target: UnitId
    seed: int = 0
    units: dict[UnitId, Unit] = Field(min_length=1)
    chains: tuple[Chain, ...] = ()
    published: dict[str, Any] = Field(default_factory=dict)

    @field_validator("published")
    @classmethod
    def _published_can_be_written(cls, value: dict[str, Any]) -> dict[str, Any]:
        try:
            json.dumps(value, allow_nan=False)
        except (TypeError, ValueError) as error:
            raise ValueError(f"holds what a file cannot hold: {error}") from None
        return value

    @field_validator("version", mode="before")
    @classmethod
    def _version_is_text(cls, value: Any) -> Any:
        return str(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else value


_TEXT_PLACES: frozenset[Location] = frozenset(
    {
        ("name",),
        ("title",),
        ("version",),
        ("category",),
        ("categories", "*"),
        ("target",),
        ("units", "*", "title"),
        ("units", "*", "category"),
        ("units", "*", "parents", "*"),
        ("units", "*", "answer", "choices", "*"),
        ("units", "*", "answer", "instruction"),
        ("chains", "*", "units", "*"),
    }
)


def wants_text(location: Location) -> bool:
    """Return whether a task graph file has text at a location: ``version: 1.10`` there is no number."""
    return any(
        len(place) == len(location) and all(name in ("*", part) for name, part in zip(place, location, strict=True))
        for place in _TEXT_PLACES
    )
