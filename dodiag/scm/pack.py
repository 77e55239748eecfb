"""Task packs: a task graph file, one instance a line, and their media.

Instances are streamed: a pack is checked and read line by line and never held in memory.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from dodiag.problems import InvalidInput, Problem, UsageError
from dodiag.scm.answers import Answer, AnswerSpec, draw_incorrect, normalise, same_answer
from dodiag.scm.field_errors import explain
from dodiag.scm.files import find_task_file, load_task, task_to_dict
from dodiag.scm.graph import TaskGraph
from dodiag.scm.media import Header, MediumError, check_medium

INSTANCES = "instances.jsonl"
MAX_LINE = 50_000_000

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

    id: str = Field(min_length=1, max_length=200)
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

    id: str = Field(min_length=1, max_length=200)
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
    seed = "\x1f".join((str(task.seed), task.name, instance.id, question.id))
    return draw_incorrect(normalise(question.answer, spec), spec, seed)


@dataclass(frozen=True)
class Pack:
    """A checked task pack; iterate over :meth:`instances` to read it.

    Attributes
    ----------
    folder : Path
    task : TaskGraph
    instance_count, question_count : int
    questions_per_unit : mapping of str to int
    digest : str
        SHA-256 of the task graph and of every instance line: the pack's content, not its place.
    media_kinds : mapping of str to int
        How many files of each MIME type the instances list.
    """

    folder: Path
    task: TaskGraph
    instance_count: int
    question_count: int
    questions_per_unit: Mapping[str, int]
    digest: str
    media_kinds: Mapping[str, int] = field(default_factory=dict, compare=False)
    _offsets: dict[str, int] = field(default_factory=dict, repr=False, compare=False)

    def instances(self) -> Iterator[Instance]:
        """Yield the instances in file order, reading one line at a time."""
        with (self.folder / INSTANCES).open("rb") as stream:
            for line in stream:
                if line.strip():
                    yield Instance.model_validate_json(line)

    def instance(self, instance_id: str) -> Instance:
        """Return one instance by its id.

        Raises
        ------
        UsageError
            If the pack has no such instance.
        """
        if instance_id not in self._offsets:
            raise UsageError(f"pack {self.folder} has no instance '{instance_id}'")
        with (self.folder / INSTANCES).open("rb") as stream:
            stream.seek(self._offsets[instance_id])
            return Instance.model_validate_json(stream.readline())

    @property
    def instance_ids(self) -> tuple[str, ...]:
        """The ids of the instances, in file order."""
        return tuple(self._offsets)

    def medium(self, name: str) -> Path:
        """Return the path of one of the pack's media."""
        return self.folder / name


def load_pack(path: str | Path) -> Pack:
    """Read and check a task pack.

    Parameters
    ----------
    path : str or Path
        A folder with ``task.yaml`` (or ``task.json``) and ``instances.jsonl``.

    Raises
    ------
    InvalidInput
        With every problem of the graph file and of all instances.
    """
    folder = Path(path)
    file = find_task_file(path)
    if not folder.is_dir():
        cure = "A pack is a folder with task.yaml, instances.jsonl and media/."
        raise InvalidInput([Problem(str(path), None, "", "is a task graph, not a task pack", cure)])
    problems: list[Problem] = []
    task: TaskGraph | None = None
    try:
        task = load_task(file)
    except InvalidInput as error:
        problems += error.problems
    scan = _Scan(folder, task)
    problems += scan.run() if (folder / INSTANCES).is_file() else [_no_instances(folder)]
    if problems or task is None:
        raise InvalidInput(problems)
    return Pack(
        folder=folder,
        task=task,
        instance_count=len(scan.offsets),
        question_count=scan.per_unit.total(),
        questions_per_unit={unit: scan.per_unit[unit] for unit in task.units},
        digest=scan.digest,
        media_kinds=scan.media_kinds,
        _offsets=scan.offsets,
    )


def _no_instances(folder: Path) -> Problem:
    return Problem(str(folder), None, "", f"has no {INSTANCES}", "Write one instance a line, as JSON.")


Trouble = tuple[str, str]
"""What is wrong, and the cure."""


class _Scan:
    """One pass over the instance file that collects problems, offsets and the digest.

    Without a task, because its graph file has problems, what depends on the task is not checked.
    """

    def __init__(self, folder: Path, task: TaskGraph | None) -> None:
        self.folder = folder
        self.task = task
        self.file = str(folder / INSTANCES)
        self.offsets: dict[str, int] = {}
        self.per_unit: Counter[str] = Counter()
        self.media: dict[str, Header | Trouble] = {}
        self.root = folder.resolve()
        self.hash = hashlib.sha256()

    @property
    def digest(self) -> str:
        return self.hash.hexdigest()

    @property
    def media_kinds(self) -> Mapping[str, int]:
        return Counter(header.mime for header in self.media.values() if isinstance(header, Header))

    def run(self) -> list[Problem]:
        problems: list[Problem] = []
        graph = None if self.task is None else task_to_dict(self.task)
        self.hash.update(json.dumps(graph, sort_keys=True, ensure_ascii=True).encode())
        offset = 0
        with (self.folder / INSTANCES).open("rb") as stream:
            for number, line in enumerate(stream, start=1):
                text = line.strip()
                if text:
                    self.hash.update(b"\n" + text)
                    problems += self._line(number, text, offset)
                offset += len(line)
        if not self.offsets and not problems:
            problems.append(Problem(self.file, None, "", "has no instances", "Write one instance a line, as JSON."))
        return problems

    def _line(self, number: int, text: bytes, offset: int) -> list[Problem]:
        def problem(where: str, message: str, cure: str) -> Problem:
            return Problem(self.file, number, where, message, cure)

        try:
            instance = Instance.model_validate_json(text)
        except ValidationError as error:
            return list(self._field_problems(error, text, number))
        if instance.id in self.offsets:
            return [problem(f"instance {instance.id}", "this id stands twice", "Give every instance its own id.")]
        self.offsets[instance.id] = offset
        where = f"instance {instance.id}"
        found = [problem(where, *got) for name in instance.media if isinstance(got := self._medium(name), tuple)]
        twice = [name for name, count in Counter(instance.media).items() if count > 1]
        found += [problem(where, f"lists medium {name} twice", "List it once.") for name in twice]
        ids = Counter(question.id for question in instance.questions)
        found += [
            problem(
                f"{where}, question {name}", "this id stands twice", "Give every question of an instance its own id."
            )
            for name, count in ids.items()
            if count > 1
        ]
        for question in instance.questions:
            self.per_unit[question.unit] += 1
            place = f"{where}, question {question.id}"
            if self.task is not None:
                checks = _question_troubles(self.task, instance, question, ids)
                found += [problem(place, *trouble) for trouble in checks]
            found += [problem(place, *trouble) for trouble in self._misplaced(instance, question)]
        return found

    def _field_problems(self, error: ValidationError, text: bytes, number: int) -> Iterator[Problem]:
        try:
            data = json.loads(text)
        except ValueError:
            yield Problem(self.file, number, "", "is not JSON", "Write one JSON object a line.")
            return
        except RecursionError:
            yield Problem(self.file, number, "", "is nested too deeply", "Flatten the line.")
            return
        for item in error.errors(include_url=False):
            location = item["loc"]
            where = f"instance {data['id']}" if isinstance(data, dict) and "id" in data else ""
            if len(location) > 1 and location[0] == "questions" and isinstance(location[1], int):
                asked = data["questions"][location[1]]
                name = asked.get("id", f"number {location[1] + 1}") if isinstance(asked, dict) else location[1] + 1
                where += f", question {name}"
            if item["type"] == "extra_forbidden":
                fields: type[BaseModel] = Question if "questions" in location else Instance
                fields = Annotation if "annotations" in location else fields
                trouble = f"'{location[-1]}' is not a field", f"Use one of {', '.join(fields.model_fields)}."
            else:
                trouble = explain(item, location)
            yield Problem(self.file, number, where, *trouble)

    def _medium(self, name: str) -> Header | Trouble:
        if name not in self.media:
            self.media[name] = self._header(name)
        return self.media[name]

    def _header(self, name: str) -> Header | Trouble:
        cure = "Put it into the pack's media/ folder."
        path = Path(name)
        if path.is_absolute() or ".." in path.parts or "\0" in name:
            return f"medium {name} is outside the pack", cure
        resolved = (self.root / path).resolve()
        if not resolved.is_relative_to(self.root):
            return f"medium {name} is outside the pack", cure
        if not resolved.is_file():
            return f"medium {name} is missing", cure
        try:
            return check_medium(resolved, name)
        except MediumError as error:
            return error.message, error.cure

    def _misplaced(self, instance: Instance, question: Question) -> Iterator[Trouble]:
        """Yield the annotations that could not be seen: on a video, or wholly outside their picture."""
        for annotation in question.annotations:
            name = annotation.medium or (instance.media[0] if len(instance.media) == 1 else None)
            header = None if name is None or name not in instance.media else self._medium(name)
            if not isinstance(header, Header):
                continue
            if header.size is None:
                what = f"an annotation is on the video {name}, and nothing is drawn on videos"
                yield what, "Remove it: a mark has no moment in time."
            elif not _touches(annotation, *header.size):
                what = f"an annotation lies outside {name}, which has {header.size[0]} x {header.size[1]} pixels"
                yield what, "Give pixels of the picture held upright."


def _touches(annotation: Annotation, width: int, height: int) -> bool:
    """Return whether any part of an annotation's frame is on a picture of this size."""
    points = annotation.path or ()
    if annotation.box is not None:
        points = (annotation.box[:2], annotation.box[2:])
    elif annotation.point is not None:
        points = (annotation.point,)
    xs, ys = [x for x, _ in points], [y for _, y in points]
    return max(xs) >= 0 and min(xs) <= width and max(ys) >= 0 and min(ys) <= height


def _question_troubles(
    task: TaskGraph, instance: Instance, question: Question, ids: Mapping[str, int]
) -> Iterator[Trouble]:
    if question.unit not in task.units:
        yield f"unit '{question.unit}' is not in the task", f"Its units are {', '.join(task.units)}."
        return
    yield from _answer_troubles(task, instance, question)
    in_chain = task.chain_of(question.unit) is not None
    if in_chain and question.step is None:
        yield f"unit {question.unit} is in a chain, but the question has no step", "Add 'step': 1, 2, …"
    if not in_chain and question.step is not None:
        yield f"unit {question.unit} is in no chain, but the question has a step", "Remove 'step'."
    allowed = set(task.prerequisites(question.unit, question.step))
    if in_chain and (question.step or 1) > 1:
        allowed |= set(task.chain_of(question.unit).units)  # type: ignore[union-attr]
    for name in question.requires or ():
        if name not in ids:
            yield f"requires '{name}', which the instance does not have", "Name questions of this instance."
        elif (unit := instance.question(name).unit) not in allowed:
            cure = f"It can require questions of {', '.join(sorted(allowed)) or 'no unit: it is a root'}."
            yield f"requires '{name}' of unit {unit}, which is no prerequisite of {question.unit}", cure
    for annotation in question.annotations:
        if annotation.medium is None and len(instance.media) != 1:
            yield "an annotation does not say which medium it is on", "Add 'medium', a path of the media list."
        elif annotation.medium is not None and annotation.medium not in instance.media:
            yield f"an annotation is on '{annotation.medium}', which the instance does not list", "Correct it."


def _answer_troubles(task: TaskGraph, instance: Instance, question: Question) -> Iterator[Trouble]:
    try:
        spec = spec_of(task, question)
    except ValidationError as error:
        yield str(error.errors()[0]["ctx"]["error"]), "Correct 'choices'."
        return
    if spec.needs_choices and spec.choices is None:
        yield f"unit {question.unit} asks for a {spec.type}, but there are no choices", "Add 'choices'."
        return
    try:
        truth = normalise(question.answer, spec)
    except ValueError as error:
        yield f"the answer {error}", f"Write a valid {spec.type}."
        return
    try:
        wrong = incorrect_answer(task, instance, question)
    except ValueError as error:
        needed = _is_injected(task, question.unit)
        if question.incorrect is not None:
            yield f"the incorrect answer {error}", f"Write a valid {spec.type}."
        elif needed:
            yield f"has no incorrect answer, and {error}", "Add 'incorrect'."
        return
    if same_answer(truth, wrong, spec):
        yield (
            "the incorrect answer equals the correct one",
            "Give a different one, or leave it out to have it drawn.",
        )


def _is_injected(task: TaskGraph, unit: str) -> bool:
    chain = task.chain_of(unit)
    return chain is not None or any(unit in task.parents(other) for other in task.units)
