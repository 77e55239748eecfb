"""The shape of a task graph file, before anything is known about its graph."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator

from dodiag.scm.answers import AnswerSpec

UNIT_ID = r"^[A-Za-z][A-Za-z0-9_.-]*$"
SLUG = r"^[a-z0-9][a-z0-9_.-]*$"
SCHEMA_VERSION = 1

UnitId = Annotated[str, Field(pattern=UNIT_ID, max_length=64)]
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

    title: str = Field(min_length=1)
    category: str = Field(min_length=1)
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
    steps: int | None = Field(default=None, ge=1, le=10_000)
    withhold_answers: bool = False

    @property
    def period(self) -> int:
        """Number of units in one step."""
        return len(self.units)


class TaskFile(_Strict):
    """The fields of a task graph file (``task.yaml``)."""

    schema_version: Literal[1] = Field(alias="schema")
    name: str = Field(pattern=SLUG, max_length=100)
    title: str = Field(min_length=1)
    version: str = "1"
    modality: Modality
    category: str | None = None
    categories: tuple[str, ...] | None = None
    target: UnitId
    seed: int = 0
    units: dict[UnitId, Unit] = Field(min_length=1)
    chains: tuple[Chain, ...] = ()
    published: dict[str, Any] = Field(default_factory=dict)

    @field_validator("version", mode="before")
    @classmethod
    def _version_is_text(cls, value: Any) -> Any:
        return str(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else value
