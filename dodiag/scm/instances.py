"""What an instance file holds: instances, their questions and annotations, and what states 1 and 0 inject for them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, model_validator

from dodiag.scm.answers import Answer, AnswerSpec, draw_incorrect, normalise
from dodiag.scm.graph import TaskGraph

INSTANCES = "instances.jsonl"
MAX_LINE = 50_000_000
"""Most bytes of one instance."""

UTF8_MARK = b"\xef\xbb\xbf"

Id = Annotated[str, Field(min_length=1, max_length=200, pattern=r"^\P{Cc}+$")]
Pixel = Annotated[float, Field(ge=-1e6, le=1e6, allow_inf_nan=False)]
Point = tuple[Pixel, Pixel]


class Annotation(BaseModel):
    """Where in a picture a question's truth is, in pixel coordinates (x right, y down).

    They refer to the picture held upright, as its EXIF orientation says and viewers show it, in the size of the file.

    Parameters
    ----------
    box : tuple of 4 floats, optional
        Left, top, right, bottom.
    point : tuple of 2 floats, optional
    path : tuple of points, optional
        At least two.
    label : str, optional
        Text drawn beside it.
    medium : str, optional
        The medium's path as listed by the instance; may be left out where the instance has one.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    box: tuple[Pixel, Pixel, Pixel, Pixel] | None = None
    point: Point | None = None
    path: tuple[Point, ...] | None = None
    label: str | None = None
    medium: str | None = None

    @model_validator(mode="after")
    def _one_shape(self) -> Annotation:
        shapes = [shape for shape in (self.box, self.point, self.path) if shape is not None]
        if len(shapes) != 1:
            raise ValueError("an annotation has one of box, point, path")
        if self.box is not None and (self.box[0] >= self.box[2] or self.box[1] >= self.box[3]):
            raise ValueError("a box is left, top, right, bottom, with right > left and bottom > top")
        if self.path is not None and len(self.path) < 2:
            raise ValueError("a path has at least two points")
        return self


class Question(BaseModel):
    """One question of one unit on one instance.

    Parameters
    ----------
    id : str
        Unique within the instance.
    unit : str
        The unit it belongs to.
    text : str
        The question itself, without options and output format.
    choices : tuple of str, optional
        Options, lettered A, B, C, … in order.
    answer, incorrect : answer of the unit's declared type
        The truth, and what state 0 injects; where `incorrect` is left out it is drawn.
    annotations : tuple of Annotation
        Drawn on the picture when state 1 injects this question.
    step : int, optional
        1-based chain step; needed for units of a chain.
    requires : tuple of str, optional
        Ids of the prerequisite questions that matter for it; default all questions of its prerequisites.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: Id
    unit: str
    text: str = Field(min_length=1)
    answer: Any
    choices: tuple[str, ...] | None = None
    incorrect: Any = None
    annotations: tuple[Annotation, ...] = ()
    step: int | None = Field(default=None, ge=1)
    requires: tuple[str, ...] | None = None


class Instance(BaseModel):
    """One concrete problem of a task: its media and its questions.

    Parameters
    ----------
    id : str
        The instance's own, unique within the pack.
    media : tuple of str
        Paths inside the pack, in the order in which a model sees them.
    questions : tuple of Question
    meta : mapping
        Anything the author wants to keep beside it; never shown to a model.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: Id
    media: tuple[str, ...] = ()
    questions: tuple[Question, ...] = Field(min_length=1)
    meta: dict[str, Any] = Field(default_factory=dict)

    @cached_property
    def by_unit(self) -> Mapping[str, tuple[Question, ...]]:
        """The questions of each unit that has any, in file order."""
        grouped: dict[str, list[Question]] = {}
        for question in self.questions:
            grouped.setdefault(question.unit, []).append(question)
        return {unit: tuple(questions) for unit, questions in grouped.items()}

    def question(self, question_id: str) -> Question:
        """Return the question with this id.

        Raises
        ------
        KeyError
            If there is none.
        """
        for question in self.questions:
            if question.id == question_id:
                return question
        raise KeyError(question_id)


def spec_of(task: TaskGraph, question: Question) -> AnswerSpec:
    """Return the answer type of a question: its unit's, with the question's own choices."""
    return task.units[question.unit].answer.with_choices(question.choices)


def correct_answer(task: TaskGraph, question: Question) -> Answer:
    """Return the canonical truth of a question, what state 1 injects."""
    return normalise(question.answer, spec_of(task, question))


def incorrect_answer(task: TaskGraph, instance: Instance, question: Question) -> Answer:
    """Return what state 0 injects: the author's incorrect answer, or one drawn from the valid answer space.

    The draw depends only on the task's seed, the instance and the question, so every model gets the same one.

    Raises
    ------
    ValueError
        If none is given and none can be drawn.
    """
    spec = spec_of(task, question)
    if question.incorrect is not None:
        return normalise(question.incorrect, spec)
    return draw_incorrect(normalise(question.answer, spec), spec, draw_seed(task, instance, question))


def draw_seed(task: TaskGraph, instance: Instance, question: Question) -> str:
    """Return what fixes the incorrect answer that is drawn for a question."""
    return "\x1f".join((str(task.seed), task.name, instance.id, question.id))


def instance_lines(file: Path) -> Iterator[tuple[int, int, bytes]]:
    """Yield the number, the offset in bytes and the text of every line that is not blank, without a byte order mark.

    A line is read in pieces where it is longer than ``MAX_LINE``.
    """
    with file.open("rb") as stream:
        offset = stream.tell() if stream.read(len(UTF8_MARK)) == UTF8_MARK else stream.seek(0)
        number = 0
        while line := stream.readline(MAX_LINE + 1):
            number += 1
            if text := line.strip():
                yield number, offset, text
            offset += len(line)
