"""Checks of an instance file: every line, every question, every medium, all problems in one pass."""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Collection, Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from dodiag.problems import Problem, shortened, shown
from dodiag.scm.answers import Answer, AnswerSpec, draw_incorrect, normalise, same_answer, surely_has_others
from dodiag.scm.field_errors import explain
from dodiag.scm.files import task_to_dict
from dodiag.scm.graph import TaskGraph
from dodiag.scm.instances import INSTANCES, MAX_LINE, Annotation, Instance, Question, draw_seed, instance_lines, spec_of
from dodiag.scm.media import Header, MediumError, check_medium

Trouble = tuple[str, str]
"""What is wrong, and the cure."""

ONE_A_LINE = "Write one instance a line, as JSON."


class Scan:
    """One pass over the instance file that collects problems, offsets and the digest.

    Without a task, because its graph file has problems, what depends on the task is not checked.

    Attributes
    ----------
    offsets : dict of str to int
        Where the line of each instance begins, in bytes.
    media : dict of str to tuple of str
        The media that each instance lists, of those that list any.
    per_unit : Counter of str
        How many questions each unit has.
    """

    def __init__(self, folder: Path, task: TaskGraph | None) -> None:
        self.task = task
        self.file = folder / INSTANCES
        self.root = folder.resolve()
        self.offsets: dict[str, int] = {}
        self.media: dict[str, tuple[str, ...]] = {}
        self.per_unit: Counter[str] = Counter()
        self._media: dict[str, Header | Trouble] = {}
        self._hash = hashlib.sha256()

    @property
    def digest(self) -> str:
        """SHA-256 of the task graph and of every instance line."""
        return self._hash.hexdigest()

    @property
    def headers(self) -> dict[str, Header]:
        """What the header of each medium says, by the medium's name."""
        return {name: header for name, header in self._media.items() if isinstance(header, Header)}

    def run(self) -> list[Problem]:
        """Read the file and return every problem of it."""
        problems: list[Problem] = []
        graph = None if self.task is None else task_to_dict(self.task)
        self._hash.update(json.dumps(graph, sort_keys=True, ensure_ascii=True).encode())
        try:
            for number, offset, text in instance_lines(self.file):
                if len(text) > MAX_LINE:
                    what = f"is longer than {MAX_LINE // 1_000_000} MB; nothing after it was read"
                    problems.append(self._problem(number, "", (what, ONE_A_LINE)))
                    break
                self._hash.update(b"\n" + text)
                problems += self._line(number, text, offset)
        except OSError as error:
            what = f"cannot be read: {error.strerror}"
            problems.append(self._problem(None, "", (what, "Check the file and its permissions.")))
        if not self.offsets and not problems:
            problems.append(self._problem(None, "", ("has no instances", ONE_A_LINE)))
        return problems

    def _problem(self, number: int | None, where: str, trouble: Trouble) -> Problem:
        return Problem(str(self.file), number, where, *trouble)

    def _line(self, number: int, text: bytes, offset: int) -> list[Problem]:
        try:
            instance = Instance.model_validate_json(text)
        except ValidationError as error:
            try:
                data = json.loads(text.decode())
            except (ValueError, RecursionError) as reason:
                return [self._problem(number, "", _why_not_json(reason))]
            found = [self._problem(number, *place) for place in _field_troubles(error, data)]
            readable = _readable(error, data)
            asked = data["questions"] if readable is not None else []
            others = {str(q["id"]) for q in asked if isinstance(q, dict) and "id" in q}
            return found + ([] if readable is None else self._instance(number, readable, offset, others))
        found = [
            self._problem(number, f"instance {instance.id}", (f"{shown(key)} stands twice", "Give every key once."))
            for key in ([] if _keys_stand_once(text, instance) else _repeated_keys(text))
        ]
        return found + self._instance(number, instance, offset, ())

    def _instance(self, number: int, instance: Instance, offset: int, unread: Collection[str]) -> list[Problem]:
        """Return the problems of an instance; `unread` are questions that it also has, but that cannot be read."""
        where = f"instance {instance.id}"
        found: list[tuple[str, Trouble]] = []
        if instance.id in self.offsets:
            found.append((where, ("this id stands twice", "Give every instance its own id.")))
        self.offsets.setdefault(instance.id, offset)
        if instance.media:
            self.media.setdefault(instance.id, instance.media)
        found += [(where, got) for name in instance.media if isinstance(got := self._medium(name), tuple)]
        for name, count in Counter(instance.media).items():
            if count > 1:
                found.append((where, (f"lists medium {name} twice", "List it once.")))
        for name, count in Counter(question.id for question in instance.questions).items():
            if count > 1:
                cure = "Give every question of an instance its own id."
                found.append((f"{where}, question {name}", ("this id stands twice", cure)))
        for question in instance.questions:
            self.per_unit[question.unit] += 1
            place = f"{where}, question {question.id}"
            if self.task is not None:
                found += [(place, trouble) for trouble in self._question(self.task, instance, question, unread)]
            found += [(place, trouble) for trouble in self._annotations(instance, question)]
        if self.task is not None and self._shared_titles:
            found += [(where, trouble) for trouble in _twin_troubles(self.task, instance)]
        return [self._problem(number, *one) for one in found]

    def _question(
        self, task: TaskGraph, instance: Instance, question: Question, unread: Collection[str]
    ) -> Iterator[Trouble]:
        if question.unit not in task.units:
            yield f"unit {shown(question.unit)} is not in the task", f"Its units are {', '.join(task.units)}."
            return
        yield from _answer_troubles(task, instance, question, question.unit in self._injected)
        in_chain = task.chain_of(question.unit) is not None
        if in_chain and question.step is None:
            yield f"unit {question.unit} is in a chain, but the question has no step", "Add 'step': 1, 2, …"
        if not in_chain and question.step is not None:
            yield f"unit {question.unit} is in no chain, but the question has a step", "Remove 'step'."
        if question.requires:
            yield from _requires_troubles(task, instance, question, unread)

    @cached_property
    def _injected(self) -> frozenset[str]:
        """The units that are a prerequisite of another one or of a later step."""
        task = self.task
        if task is None:
            return frozenset()
        parents = {parent for unit in task.units for parent in task.parents(unit)}
        return frozenset(unit for unit in task.units if unit in parents or task.chain_of(unit) is not None)

    @cached_property
    def _shared_titles(self) -> bool:
        """Whether two units have the same title."""
        titles = [] if self.task is None else [unit.title for unit in self.task.units.values()]
        return len(set(titles)) < len(titles)

    def _medium(self, name: str) -> Header | Trouble:
        if name not in self._media:
            self._media[name] = self._header(name)
        return self._media[name]

    def _header(self, name: str) -> Header | Trouble:
        cure = "Put it into the pack's media/ folder."
        path = Path(name)
        if path.is_absolute() or ".." in path.parts or "\0" in name:
            return f"medium {name} is outside the pack", cure
        try:
            resolved = (self.root / path).resolve()
            if not resolved.is_relative_to(self.root):
                return f"medium {name} is outside the pack", cure
            if not resolved.is_file():
                return f"medium {shortened(name)} is missing", cure
        except OSError as error:
            return f"medium {shortened(name)} cannot be looked up: {error.strerror}", cure
        except RuntimeError:
            return f"medium {name} is a symbolic link that leads back to itself", cure
        try:
            return check_medium(resolved, name)
        except MediumError as error:
            return error.message, error.cure

    def _annotations(self, instance: Instance, question: Question) -> Iterator[Trouble]:
        """Yield the annotations that could not be seen: on no medium, on a video, or wholly outside their picture."""
        for annotation in question.annotations:
            name = annotation.medium or (instance.media[0] if len(instance.media) == 1 else None)
            if name is None:
                yield "an annotation does not say which medium it is on", "Add 'medium', a path of the media list."
                continue
            if name not in instance.media:
                yield f"an annotation is on {shown(name)}, which the instance does not list", "Correct it."
                continue
            header = self._medium(name)
            if not isinstance(header, Header):
                continue
            if header.size is None:
                what = f"an annotation is on the video {name}, and nothing is drawn on videos"
                yield what, "Remove it: a mark has no moment in time."
            elif not _touches(annotation, *header.size):
                what = f"an annotation lies outside {name}, which has {header.size[0]} x {header.size[1]} pixels"
                yield what, "Give pixels of the picture held upright."


def _why_not_json(reason: ValueError | RecursionError) -> Trouble:
    if isinstance(reason, RecursionError):
        return "is nested too deeply", "Flatten the line."
    if isinstance(reason, UnicodeDecodeError):
        return f"is not UTF-8 text (byte {reason.start} of the line)", "Save the file as UTF-8."
    if isinstance(reason, json.JSONDecodeError):
        return f"is not JSON: {reason.msg} (column {reason.colno})", ONE_A_LINE
    return "holds a number with too many digits", "Write it as text, or shorter."


def _field_troubles(error: ValidationError, data: Any) -> Iterator[tuple[str, Trouble]]:
    """Yield where and what is wrong with the fields of a line that is JSON but no instance."""
    if not isinstance(data, dict):
        yield "", (f"is no instance, a mapping of fields (found {shown(data)})", ONE_A_LINE)
        return
    for item in error.errors(include_url=False):
        location = field = item["loc"]
        places = [f"instance {_name(data['id'])}"] if "id" in data else []
        if len(location) > 1 and location[0] == "questions" and isinstance(location[1], int):
            asked = data["questions"][location[1]]
            known = isinstance(asked, dict) and "id" in asked
            places.append(f"question {_name(asked['id']) if known else f'number {location[1] + 1}'}")
            field = location[2:]
        named_by_itself = item["type"] in ("missing", "extra_forbidden")
        places.append(".".join(map(str, field[:-1] if named_by_itself else field)))
        where = ", ".join(filter(None, places))
        if item["type"] == "extra_forbidden":
            fields: type[BaseModel] = Question if "questions" in location else Instance
            fields = Annotation if "annotations" in location else fields
            trouble = f"{shown(location[-1])} is not a field", f"Use one of {', '.join(fields.model_fields)}."
        elif item["type"] == "json_invalid":
            trouble = f"is not JSON that can be read: {item['ctx']['error']}", "Correct the line."
        else:
            trouble = explain(item, location)
        yield where, trouble


def _name(given: Any) -> str:
    return shortened(given) if isinstance(given, str) else shown(given)


def _readable(error: ValidationError, data: Any) -> Instance | None:
    """Return what can be read of a line in which some questions or some surplus fields are wrong, to check the rest."""
    dropped: set[int] = set()
    surplus: set[str] = set()
    for item in error.errors(include_url=False, include_input=False, include_context=False):
        match item["loc"]:
            case ("questions", int(place), str(name)) if item["type"] == "extra_forbidden":
                data["questions"][place].pop(name)
            case ("questions", int(place), *_):
                dropped.add(place)
            case (str(name),) if item["type"] == "extra_forbidden":
                surplus.add(name)
            case _:
                return None
    questions = [question for place, question in enumerate(data["questions"]) if place not in dropped]
    kept = {name: value for name, value in data.items() if name not in surplus} | {"questions": questions}
    try:
        return Instance.model_validate_json(json.dumps(kept))
    except ValidationError:
        return None


_SPACED = re.compile(rb'"\s+:')


def _keys_stand_once(text: bytes, instance: Instance) -> bool:
    """Return whether it is plain that no key of a line stands twice; False leaves it open.

    Without escapes a quotation mark before a colon ends a key, so that the keys of the text can be counted; what was
    read has as many where none was lost.
    """
    if b"\\" in text or _SPACED.search(text):
        return False
    read = len(instance.model_fields_set) + _keys(instance.meta)
    for question in instance.questions:
        read += len(question.model_fields_set) + _keys(question.answer) + _keys(question.incorrect)
        read += sum(len(annotation.model_fields_set) for annotation in question.annotations)
    return text.count(b'":') == read


def _keys(value: Any) -> int:
    if isinstance(value, dict):
        return len(value) + sum(map(_keys, value.values()))
    return sum(map(_keys, value)) if isinstance(value, (list, tuple)) else 0


def _repeated_keys(text: bytes) -> list[str]:
    """Return the keys of a JSON text that stand twice in one object, where only the last one would count."""
    repeated: list[str] = []

    def pairs(items: list[tuple[str, Any]]) -> None:
        if len(dict(items)) < len(items):
            repeated.extend(key for key, count in Counter(key for key, _ in items).items() if count > 1)

    json.loads(text, object_pairs_hook=pairs)
    return repeated


def _touches(annotation: Annotation, width: int, height: int) -> bool:
    """Return whether any part of an annotation's frame is on a picture of this size."""
    points = annotation.path or ()
    if annotation.box is not None:
        points = (annotation.box[:2], annotation.box[2:])
    elif annotation.point is not None:
        points = (annotation.point,)
    xs, ys = [x for x, _ in points], [y for _, y in points]
    return max(xs) >= 0 and min(xs) <= width and max(ys) >= 0 and min(ys) <= height


def _requires_troubles(
    task: TaskGraph, instance: Instance, question: Question, unread: Collection[str]
) -> Iterator[Trouble]:
    """Yield what a question names in `requires` that is not injected for it."""
    chain = task.chain_of(question.unit)
    allowed = set(task.prerequisites(question.unit, question.step))
    if chain is not None and (question.step or 1) > 1:
        allowed |= set(chain.units)
    named = {other.id: other for other in instance.questions}
    for name in question.requires or ():
        if name not in named:
            if name not in unread:
                yield f"requires {shown(name)}, which the instance does not have", "Name questions of this instance."
            continue
        other = named[name]
        if other.unit not in allowed:
            cure = f"It can require questions of {', '.join(sorted(allowed)) or 'no unit: it is a root'}."
            yield f"requires '{name}' of unit {other.unit}, which is no prerequisite of {question.unit}", cure
        elif chain is not None and other.unit in chain.units:
            moments = [((q.step or 1), chain.units.index(q.unit)) for q in (other, question)]
            if moments[0] >= moments[1]:
                yield (
                    f"requires '{name}', which does not come before it in the chain",
                    "Name questions of steps before.",
                )


def _twin_troubles(task: TaskGraph, instance: Instance) -> Iterator[Trouble]:
    """Yield the questions of two prerequisites that look the same where they are injected.

    A prompt shows the unit's title, the step and the question's text, so that injecting the one and not the other, and
    the reverse, would be one prompt for two configurations.
    """
    twins: dict[tuple[str, str], str] = {}
    for asked in instance.questions:
        if asked.unit not in task.units:
            continue
        shown_as: dict[tuple[str, int | None, str], Question] = {}
        for unit in task.prerequisites(asked.unit, asked.step):
            for question in instance.by_unit.get(unit, ()):
                if asked.requires is not None and question.id not in asked.requires:
                    continue
                key = (task.units[unit].title, question.step, question.text)
                other = shown_as.setdefault(key, question)
                if other.unit != unit:
                    twins.setdefault((other.id, question.id), asked.unit)
    for (first, second), unit in twins.items():
        yield (
            f"'{first}' and '{second}' are injected for {unit} under one title with one text, "
            "so a model could not tell which of the two units is given",
            "Give the units different titles, or the questions different texts.",
        )


def _answer_troubles(task: TaskGraph, instance: Instance, question: Question, injected: bool) -> Iterator[Trouble]:
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
    if question.incorrect is not None:
        yield from _incorrect_troubles(question.incorrect, truth, spec)
    elif injected and not surely_has_others(truth, spec):
        try:
            draw_incorrect(truth, spec, draw_seed(task, instance, question))
        except ValueError as error:
            one = spec.min is not None and spec.min == spec.max
            cure = "Set 'min' and 'max' apart: no other answer is in range." if one else "Add 'incorrect'."
            yield f"has no incorrect answer, and {error}", cure


def _incorrect_troubles(written: Any, truth: Answer, spec: AnswerSpec) -> Iterator[Trouble]:
    try:
        wrong = normalise(written, spec)
    except ValueError as error:
        yield f"the incorrect answer {error}", f"Write a valid {spec.type}."
        return
    if same_answer(wrong, truth, spec) or same_answer(truth, wrong, spec):
        yield "the incorrect answer equals the correct one", "Give a different one, or leave it out to have it drawn."
