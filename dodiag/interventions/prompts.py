"""Assemble what one call shows to a model: the injected block, the question, its options, the output format, the media.

The template is the same for state 1 and state 0; only the answers differ. Under ∅ the block is absent. State 1 also
draws the annotations of the injected questions on copies of the pictures; no other state touches a picture
(CADET Section 5.1 and Appendix C).
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from dodiag.interventions.annotate import Drawing, annotated, colour_of
from dodiag.interventions.answer_format import format_instruction
from dodiag.interventions.design import History
from dodiag.interventions.injection import Injection, Prerequisite
from dodiag.interventions.media import MediaRule
from dodiag.interventions.media import Medium as Medium
from dodiag.interventions.pictures import Picture, prepare
from dodiag.interventions.videos import Clip, clip
from dodiag.scm.answers import LETTERS, AnswerSpec, AnswerType, show_answer
from dodiag.scm.graph import TaskGraph
from dodiag.scm.media import HEAD, MediumError, kind_of, refuse_size
from dodiag.scm.pack import Instance, Pack, Question, correct_answer, incorrect_answer, spec_of
from dodiag.vocabulary import BLOCK_END, BLOCK_START, WITHHELD, Configuration, State

TEMPLATE_VERSION = 2
"""Part of every plan hash: a changed template, or another way to draw, is a changed experiment."""

INTRODUCTION = "These questions about the same input have been answered before. Use them to answer the question below."


_JSON = json.JSONEncoder(ensure_ascii=False)


@dataclass(frozen=True, slots=True)
class Prompt:
    """What one call shows to a model: its text, and its media in order."""

    text: str
    media: tuple[Medium, ...] = ()


class Assembler:
    """Makes the prompts of one pack; keeps the pictures of the instance it is at.

    Parameters
    ----------
    pack : Pack
    history : {"full", "last"}
        What a chain step is given.
    with_media : bool
        False leaves all media out, for models that see none.
    rule : MediaRule, optional
        How the files of the pack become what is sent.
    """

    def __init__(
        self, pack: Pack, history: History = "full", with_media: bool = True, rule: MediaRule | None = None
    ) -> None:
        self.pack = pack
        self.task = pack.task
        self.history: History = history
        self.with_media = with_media
        self.rule = rule or MediaRule()
        self._injection: Injection | None = None
        self._files: dict[str, Picture | Clip] = {}
        self._drawn: dict[tuple[str, tuple[Drawing, ...]], Medium] = {}
        self._entries: dict[tuple[str, State, bool], str] = {}

    def prompt(self, instance: Instance, question: Question, configuration: Configuration) -> Prompt:
        """Return the prompt of one question of one instance under a configuration.

        Raises
        ------
        MediumError
            If a medium cannot be read, brought within the rule, or annotated.
        MissingDependency
            If it is a video, and PyAV is not installed.
        KeyError
            If the configuration does not name a prerequisite of the question.
        """
        injection = self._injection
        if injection is None or instance is not injection.instance:
            injection = self._injection = Injection(self.task, instance, self.history)
            self._files, self._drawn, self._entries = {}, {}, {}
        prerequisites = injection.prerequisites(question)
        active = [(p, configuration[p.unit]) for p in prerequisites if configuration[p.unit] is not State.NATURAL]
        text = self._text(instance, question, active)
        if not self.with_media:
            return Prompt(text)
        media = tuple(self._media(instance, prerequisites, configuration))
        return Prompt("\n".join([*self._notes(instance), text]), media)

    def _text(self, instance: Instance, question: Question, active: list[tuple[Prerequisite, State]]) -> str:
        entries = [
            self._entry(instance, injected, state, prerequisite.withheld)
            for prerequisite, state in active
            for injected in prerequisite.questions
        ]
        asked = ask(question, spec_of(self.task, question))
        if not entries:
            return asked
        return "\n".join([INTRODUCTION, BLOCK_START, "[", ",\n".join(entries), "]", BLOCK_END, "", asked])

    def _entry(self, instance: Instance, question: Question, state: State, withheld: bool) -> str:
        key = (question.id, state, withheld)
        if key not in self._entries:
            self._entries[key] = entry(self.task, instance, question, state, withheld)
        return self._entries[key]

    def _media(
        self, instance: Instance, prerequisites: tuple[Prerequisite, ...], configuration: Configuration
    ) -> Iterator[Medium]:
        drawings: dict[str, list[Drawing]] = {name: [] for name in instance.media}
        for index, prerequisite in enumerate(prerequisites):
            if configuration[prerequisite.unit] is State.CORRECT:
                for question in prerequisite.questions:
                    for annotation in question.annotations:
                        drawings[annotation.medium or instance.media[0]].append((colour_of(index), annotation))
        for name, drawn in drawings.items():
            shown = self._prepared(name)
            if isinstance(shown, Picture):
                yield self._annotated(shown, tuple(drawn)) if drawn else shown.medium
            elif drawn:
                where = f"instance {instance.id}: medium {name}"
                raise MediumError(f"{where} is no picture, so nothing can be drawn on it", "Remove its annotations.")
            else:
                yield from shown.media

    def _prepared(self, name: str) -> Picture | Clip:
        if name not in self._files:
            self._files[name] = self._prepare(self.pack.medium(name))
        return self._files[name]

    def _prepare(self, path: Path) -> Picture | Clip:
        try:
            with path.open("rb") as stream:
                head = stream.read(HEAD)
                if kind_of(head, str(path)).startswith("video/"):
                    return clip(path, str(path), self.rule)
                refuse_size(path.stat().st_size, str(path))
                data = head + stream.read()
        except OSError as error:
            raise MediumError(f"medium {path} cannot be read: {error.strerror}", "Restore the file.") from None
        return prepare(data, str(path), self.rule)

    def _annotated(self, ready: Picture, drawn: tuple[Drawing, ...]) -> Medium:
        key = (ready.name, drawn)
        if key not in self._drawn:
            self._drawn[key] = annotated(ready, drawn, self.rule)
        return self._drawn[key]

    def _notes(self, instance: Instance) -> Iterator[str]:
        """Yield which pictures are frames of a video, where the instance has one."""
        first = 1
        for name in instance.media:
            shown = self._prepared(name)
            if isinstance(shown, Clip) and shown.times:
                yield shown.note(first)
            first += len(shown.media) if isinstance(shown, Clip) else 1


def lettered(spec: AnswerSpec) -> list[str]:
    """Return the options as they are shown, each behind its letter; none where an answer names no option.

    Examples
    --------
    >>> lettered(AnswerSpec(type="choice", choices=["red", "B"]))
    ['A. red', 'B']
    """
    if not spec.choices or not spec.needs_choices:
        return []
    labelled = zip(LETTERS, spec.choices, strict=False)
    return [letter if option.strip().upper() == letter else f"{letter}. {option}" for letter, option in labelled]


def ask(question: Question, spec: AnswerSpec) -> str:
    """Return a question with its options and the output format: the whole text under the natural state."""
    lines = [question.text, *lettered(spec)]
    form = format_instruction(spec)
    return "\n".join([*lines, "", form] if form else lines)


def entry(task: TaskGraph, instance: Instance, question: Question, state: State, withheld: bool = False) -> str:
    """Return one injected question as a line of the JSON block.

    Its fields are the same in every state, but for the answer. A choice's answer says its option (``C. red``); where an
    answer is several letters, the options stand beside the question, since letters alone would say nothing.
    """
    spec = spec_of(task, question)
    fields: dict[str, object] = {"prerequisite": task.units[question.unit].title}
    if question.step is not None:
        fields["step"] = question.step
    fields["question"] = question.text
    if spec.type is not AnswerType.CHOICE and (options := lettered(spec)) != list(spec.letters):
        fields["options"] = options
    match state:
        case State.CORRECT if withheld:
            fields["answer"] = WITHHELD
        case State.CORRECT_TEXT if withheld:
            pass
        case State.CORRECT | State.CORRECT_TEXT:
            fields["answer"] = show_answer(correct_answer(task, question), spec)
        case State.INCORRECT:
            fields["answer"] = show_answer(incorrect_answer(task, instance, question), spec)
        case State.QUESTION_ONLY | State.NATURAL:
            pass
    return "  " + _JSON.encode(fields)
