"""Plans: every call of a run, enumerated lazily in one fixed order, counted and hashed without enumerating them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import NamedTuple, TypedDict

from dodiag.interventions.design import (
    Design,
    History,
    homogeneous,
    make_design,
    nominal_count,
    target_configurations,
)
from dodiag.interventions.injection import Injection, Prerequisite
from dodiag.interventions.media import MediaRule
from dodiag.interventions.media_check import check_media
from dodiag.interventions.prompts import TEMPLATE_VERSION, Assembler
from dodiag.problems import UsageError
from dodiag.scm.files import task_to_dict
from dodiag.scm.graph import TaskGraph
from dodiag.scm.media import MediumError
from dodiag.scm.pack import Instance, Pack, Question
from dodiag.vocabulary import Configuration, Contrast, State


@dataclass(frozen=True, slots=True)
class Call:
    """One line of a plan.

    Attributes
    ----------
    position : int
        Index in the plan, the order of outcome tables.
    instance, question : Instance, Question
    configuration : Configuration
    draw : int
        Index of the repetition, from 0.
    absent : tuple of str
        Prerequisites that have no question on this instance; no contrast of theirs can use the call.
    """

    position: int
    instance: Instance
    question: Question
    configuration: Configuration
    draw: int
    absent: tuple[str, ...]


@dataclass(frozen=True)
class Schedule:
    """The configurations that a question is asked under, in canonical order, and how often each.

    Attributes
    ----------
    configurations : tuple of Configuration
    runs : tuple of int
        Repetitions of each configuration.
    """

    configurations: tuple[Configuration, ...]
    runs: tuple[int, ...]

    @cached_property
    def calls(self) -> int:
        """The number of calls of one question."""
        return sum(self.runs)

    @cached_property
    def injecting(self) -> int:
        """In how many of the calls anything is injected."""
        return sum(runs for states, runs in self._rows if any(state is not State.NATURAL for state in states))

    @cached_property
    def active(self) -> tuple[int, ...]:
        """In how many of the calls each prerequisite is injected, in declared order."""
        k = len(self.configurations[0].items) if self.configurations else 0
        return tuple(sum(runs for states, runs in self._rows if states[i] is not State.NATURAL) for i in range(k))

    @property
    def _rows(self) -> Iterator[tuple[tuple[State, ...], int]]:
        return ((c.states, runs) for c, runs in zip(self.configurations, self.runs, strict=True))


class Asked(NamedTuple):
    """One question that a plan asks, with what can be injected for it, what of it is absent, and its schedule."""

    question: Question
    prerequisites: tuple[Prerequisite, ...]
    absent: tuple[str, ...]
    schedule: Schedule


@dataclass(frozen=True)
class Plan:
    """The calls of a design on a task pack, or on a task graph alone.

    Attributes
    ----------
    task : TaskGraph
    design : Design
    pack : Pack or None
        None for a plan of a graph file; it is counted per instance but has no calls.
    units, instances : tuple of str or None
        Restrictions; None is all.
    limit : int or None
        Only the first instances of the pack; of a graph file, so many instances at most are priced.
    """

    task: TaskGraph
    design: Design
    pack: Pack | None = None
    units: tuple[str, ...] | None = None
    instances: tuple[str, ...] | None = None
    limit: int | None = None

    @cached_property
    def asked_units(self) -> tuple[str, ...]:
        """The units that are asked, in topological order."""
        target_only = self.design.target_only and self.units is None
        chosen = (self.task.target,) if target_only else self.units or self.task.order
        return tuple(unit for unit in self.task.order if unit in chosen)

    def configurations(
        self, unit: str, step: int | None = None, absent: frozenset[str] = frozenset()
    ) -> tuple[Configuration, ...]:
        """Return the distinct configurations that a unit is asked under, in canonical order."""
        return self.schedule(unit, step, absent).configurations

    def schedule(self, unit: str, step: int | None = None, absent: frozenset[str] = frozenset()) -> Schedule:
        """Return how a unit's questions are asked; `absent` prerequisites have no question on the instance."""
        key = unit, step in (None, 1), absent
        if key not in self._schedules:
            prerequisites = self.task.prerequisites(unit, step)
            if unit == self.task.target:
                configurations = target_configurations(prerequisites, self.design, absent)
            else:
                configurations = tuple(homogeneous(prerequisites, self.design, absent))
            runs = tuple(self.runs(unit, configuration) for configuration in configurations)
            self._schedules[key] = Schedule(configurations, runs)
        return self._schedules[key]

    @cached_property
    def _schedules(self) -> dict[tuple[str, bool, frozenset[str]], Schedule]:
        return {}

    @property
    def nominal_per_instance(self) -> int:
        """The paper's count of target runs per instance and draw, 3 + 6k in the full design."""
        return nominal_count(len(self.task.prerequisites(self.task.target)), self.design)

    @property
    def distinct_per_instance(self) -> int:
        """The true count of target runs per instance and draw."""
        return len(self.configurations(self.task.target))

    def selected(self) -> Iterator[Instance]:
        """Yield the instances that the plan asks, in the pack's order.

        Raises
        ------
        UsageError
            If the plan is of a task graph alone.
        """
        if self.pack is None:
            raise UsageError(f"task {self.task.name} has no instances", "Plan a task pack to get its calls.")
        if self.instances is not None:
            wanted = frozenset(self.instances)
            return islice((i for i in self.pack.instances() if i.id in wanted), self.limit)
        return islice(self.pack.instances(), self.limit)

    def _selected_ids(self) -> Iterator[str]:
        ids = () if self.pack is None else self.pack.instance_ids
        wanted = None if self.instances is None else frozenset(self.instances)
        return islice((i for i in ids if wanted is None or i in wanted), self.limit)

    def calls(self) -> Iterator[Call]:
        """Yield every call: by instance, then unit, question, configuration, draw. Nothing is kept."""
        position = 0
        for instance in self.selected():
            for asked in self.asked(instance):
                schedule = asked.schedule
                for configuration, runs in zip(schedule.configurations, schedule.runs, strict=True):
                    for draw in range(runs):
                        yield Call(position, instance, asked.question, configuration, draw, asked.absent)
                        position += 1

    def assembler(self, with_media: bool = True) -> Assembler:
        """Return what makes the prompts of this plan, under its history and its media rule.

        Parameters
        ----------
        with_media : bool
            False leaves all media out, for models that see none.

        Raises
        ------
        UsageError
            If the plan is of a task graph alone.
        """
        if self.pack is None:
            raise UsageError(f"task {self.task.name} has no instances", "Plan a task pack to get its prompts.")
        return Assembler(self.pack, self.design.history, with_media, self.design.media)

    def runs(self, unit: str, configuration: Configuration) -> int:
        """Return how often each question of a unit is asked under a configuration."""
        return self.design.runs(configuration, unit == self.task.target)

    def run_count(self, unit: str, configurations: Sequence[Configuration]) -> int:
        """Return how many calls one question of a unit makes."""
        return sum(self.runs(unit, configuration) for configuration in configurations)

    def asked(self, instance: Instance) -> Iterator[Asked]:
        """Yield the questions that are asked on an instance, by unit."""
        injection = Injection(self.task, instance, self.design.history)
        for unit in self.asked_units:
            for question in instance.by_unit.get(unit, ()):
                prerequisites = injection.prerequisites(question)
                absent = tuple(p.unit for p in prerequisites if not p.questions)
                yield Asked(question, prerequisites, absent, self.schedule(unit, question.step, frozenset(absent)))

    @cached_property
    def counts(self) -> dict[str, int]:
        """The number of calls of each asked unit over the whole plan, in topological order."""
        counts = dict.fromkeys(self.asked_units, 0)
        for instance in self.selected():
            for asked in self.asked(instance):
                counts[asked.question.unit] += asked.schedule.calls
        return counts

    @property
    def call_count(self) -> int:
        """The number of calls of the whole plan."""
        return sum(self.counts.values())

    @cached_property
    def digest(self) -> str:
        """SHA-256 of everything that decides which calls there are and what they show: the plan hash.

        The bytes of the media of the selected instances belong to it: a run that was started with other pictures is
        another run, and the two do not mix.

        Raises
        ------
        MediumError
            If a medium cannot be read.
        """
        content = {
            "template": TEMPLATE_VERSION,
            "pack": None if self.pack is None else self.pack.digest,
            "media": None if self.pack is None else _media_digests(self.pack, self._selected_ids()),
            "task": task_to_dict(self.task),
            "design": _hashed_design(self),
            "units": self.asked_units,
            **_hashed_selection(self),
        }
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def _hashed_design(plan: Plan) -> dict[str, object]:
    """Return what a plan hash covers of a design: no media rule without media, and no history without chains.

    The default media rule adds nothing. The order of the contrasts counts, since it is that of the calls.
    """
    values = plan.design.to_dict()
    if plan.design.media == MediaRule() or (plan.pack is not None and not plan.pack.media_kinds):
        del values["media"]
    if not plan.task.chains:
        values["history"] = "full"
    return values


def _hashed_selection(plan: Plan) -> dict[str, object]:
    """Return what a plan hash covers of a selection: nothing where it leaves no instance out."""
    named, limit = plan.instances, plan.limit
    if plan.pack is not None:
        if named is not None and len(named) == plan.pack.instance_count:
            named = None
        if limit is not None and limit >= (plan.pack.instance_count if named is None else len(named)):
            limit = None
    return {"instances": None if named is None else sorted(named), "limit": limit}


def _media_digests(pack: Pack, instances: Iterable[str]) -> dict[str, str]:
    """Return SHA-256 of every medium of some instances, by its name in the pack."""
    names = dict.fromkeys(name for instance in instances for name in pack.media_of(instance))
    return {name: _file_digest(pack, name) for name in names}


def _file_digest(pack: Pack, name: str) -> str:
    try:
        with pack.medium(name).open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as error:
        raise MediumError(f"medium {name} cannot be read: {error.strerror}", "Restore the file.") from None


class PlanOptions(TypedDict, total=False):
    """The options of :func:`make_plan`, for everything that plans on a user's behalf."""

    contrasts: Iterable[Contrast | str] | None
    states: Iterable[State | str] | None
    quick: bool
    target_only: bool | None
    factorial: bool
    contexts: Iterable[Configuration | str]
    units: Iterable[str] | None
    instances: Iterable[str] | None
    limit: int | None
    draws: int
    reruns: int
    history: History
    media: MediaRule | None


def make_plan(
    pack_or_task: Pack | TaskGraph,
    *,
    contrasts: Iterable[Contrast | str] | None = None,
    states: Iterable[State | str] | None = None,
    quick: bool = False,
    target_only: bool | None = None,
    factorial: bool = False,
    contexts: Iterable[Configuration | str] = (),
    units: Iterable[str] | None = None,
    instances: Iterable[str] | None = None,
    limit: int | None = None,
    draws: int = 1,
    reruns: int = 0,
    history: History = "full",
    media: MediaRule | None = None,
) -> Plan:
    """Plan the calls of a task pack, or count those of a task graph.

    Parameters
    ----------
    pack_or_task : Pack or TaskGraph
    contrasts : iterable of Contrast or str, optional
        Contrasts of the target, such as ``"1,n"``; default the paper's four.
    states : iterable of State or str, optional
        Homogeneous configurations of every unit; default 1, 0, n, or the states of `contrasts` where those are named.
    quick : bool
        The target only, contrast (1, ∅): 2 + 2k runs an instance.
    target_only : bool, optional
        Ask the target alone; default False, or True with `quick`.
    factorial : bool
        Every configuration of the target over `states`.
    contexts : iterable of Configuration or str
        Further contexts of the contrasts, such as ``"X1=1,X2=n,X3=0"``.
    units, instances : iterable of str, optional
        Ask these units, these instances only, by their ids.
    limit : int, optional
        Ask the first instances only.
    draws : int
        Repetitions of every call.
    reruns : int
        Further repetitions of the target's homogeneous configurations, for the rerun-corrected scores of
        :func:`dodiag.diagnose`.
    history : {"full", "last"}
        What a chain step is given.
    media : MediaRule, optional
        How pictures and videos become what is sent: limits, ground of transparent pictures, frames of videos.

    Raises
    ------
    UsageError
        If a unit, an instance or a context does not exist, or a count is not a positive whole number.
    InvalidInput
        With every picture and video of the asked instances that the media rule refuses, as far as headers say.

    Examples
    --------
    >>> from dodiag import load_task
    >>> plan = make_plan(load_task("dice_sum"))
    >>> plan.nominal_per_instance, plan.distinct_per_instance
    (21, 21)
    >>> make_plan(load_task("map_navigation")).distinct_per_instance
    9
    """
    task, pack = (pack_or_task.task, pack_or_task) if isinstance(pack_or_task, Pack) else (pack_or_task, None)
    design = make_design(
        contrasts=contrasts,
        states=states,
        quick=quick,
        target_only=target_only,
        factorial=factorial,
        contexts=contexts,
        draws=draws,
        reruns=reruns,
        history=history,
        media=media,
    )
    chosen_units = None if units is None else tuple(dict.fromkeys(units))
    for unit in chosen_units or ():
        task.require(unit)
    if chosen_units == ():
        raise UsageError("no unit is asked", f"Name one of {', '.join(task.units)}.")
    chosen = None if instances is None else tuple(dict.fromkeys(instances))
    if chosen is not None and pack is None:
        raise UsageError(f"task {task.name} has no instances to choose from", "Plan a task pack.")
    if chosen is not None and pack is not None:
        known = frozenset(pack.instance_ids)
        unknown = [name for name in chosen if name not in known]
        if unknown:
            raise UsageError(f"pack {pack.folder} has no instance '{unknown[0]}'", "Use ids of instances.jsonl.")
    if limit is not None and (isinstance(limit, bool) or not isinstance(limit, int)):
        raise UsageError(f"limit is {limit!r}", "Use a whole number of instances.")
    if limit is not None and limit < 1:
        raise UsageError(f"{limit} instances are asked for", "Ask for at least one.")
    for context in design.contexts:
        _check_context(task, context)
    plan = Plan(task, design, pack, chosen_units, chosen, limit)
    if pack is not None:
        check_media(pack, design.media, plan.selected())
    return plan


def _check_context(task: TaskGraph, context: Configuration) -> None:
    prerequisites = task.prerequisites(task.target)
    if unknown := [unit for unit in context if unit not in prerequisites]:
        cure = f"Its prerequisites are {', '.join(prerequisites)}."
        raise UsageError(f"context '{context}' names {unknown[0]}, no prerequisite of {task.target}", cure)
    missing = [unit for unit in prerequisites if unit not in list(context)]
    if len(missing) > 1:
        raise UsageError(f"context '{context}' leaves out {', '.join(missing)}", "Give a state to all but one.")
