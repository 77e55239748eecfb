"""Plans: every call of a run, enumerated lazily in one fixed order, counted and hashed without enumerating them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import islice
from typing import TypedDict

from dodiag.interventions.design import (
    Design,
    History,
    homogeneous,
    make_design,
    nominal_count,
    target_configurations,
)
from dodiag.interventions.injection import prerequisites_of
from dodiag.interventions.media import MediaRule
from dodiag.interventions.media_check import check_media
from dodiag.interventions.prompts import TEMPLATE_VERSION, Assembler
from dodiag.problems import UsageError
from dodiag.scm.files import task_to_dict
from dodiag.scm.graph import TaskGraph
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
        Only the first instances of the pack.
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
        return _configurations(self.task, self.design, unit, step, absent)

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

    def calls(self) -> Iterator[Call]:
        """Yield every call: by instance, then unit, question, configuration, draw. Nothing is kept."""
        position = 0
        for instance in self.selected():
            for question, configurations, absent in self._asked(instance):
                for configuration in configurations:
                    for draw in range(self.runs(question.unit, configuration)):
                        yield Call(position, instance, question, configuration, draw, absent)
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
        return _run_count(self.design, unit == self.task.target, tuple(configurations))

    def _asked(self, instance: Instance) -> Iterator[tuple[Question, Sequence[Configuration], tuple[str, ...]]]:
        for unit in self.asked_units:
            for question in instance.by_unit.get(unit, ()):
                absent = self.absent(instance, question)
                yield question, self.configurations(unit, question.step, frozenset(absent)), absent

    def absent(self, instance: Instance, question: Question) -> tuple[str, ...]:
        """Return the prerequisites of a question that have no question of their own on its instance."""
        prerequisites = prerequisites_of(self.task, instance, question, self.design.history)
        return tuple(p.unit for p in prerequisites if not p.questions)

    @cached_property
    def counts(self) -> dict[str, int]:
        """The number of calls of each asked unit over the whole plan, in topological order."""
        counts = dict.fromkeys(self.asked_units, 0)
        for instance in self.selected():
            for question, configurations, _ in self._asked(instance):
                counts[question.unit] += self.run_count(question.unit, configurations)
        return counts

    @property
    def call_count(self) -> int:
        """The number of calls of the whole plan."""
        return sum(self.counts.values())

    @cached_property
    def digest(self) -> str:
        """SHA-256 of everything that decides which calls there are and what they show: the plan hash."""
        content = {
            "template": TEMPLATE_VERSION,
            "pack": None if self.pack is None else self.pack.digest,
            "task": task_to_dict(self.task),
            "design": _hashed(self.design),
            "units": self.asked_units,
            "instances": None if self.instances is None else sorted(self.instances),
            "limit": self.limit,
        }
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def _hashed(design: Design) -> dict[str, object]:
    """Return what a plan hash covers of a design; the default media rule adds nothing, as before there was one."""
    values = design.to_dict()
    if design.media == MediaRule():
        del values["media"]
    return values


@lru_cache(maxsize=4096)
def _run_count(design: Design, of_target: bool, configurations: tuple[Configuration, ...]) -> int:
    return sum(design.runs(configuration, of_target) for configuration in configurations)


@lru_cache(maxsize=4096)
def _cached_target(prerequisites: tuple[str, ...], design: Design, absent: frozenset[str]) -> tuple[Configuration, ...]:
    return target_configurations(prerequisites, design, absent)


@lru_cache(maxsize=4096)
def _cached_homogeneous(prerequisites: tuple[str, ...], states: tuple[State, ...]) -> tuple[Configuration, ...]:
    return tuple(homogeneous(prerequisites, states))


def _configurations(
    task: TaskGraph, design: Design, unit: str, step: int | None, absent: frozenset[str]
) -> tuple[Configuration, ...]:
    prerequisites = task.prerequisites(unit, step)
    if unit == task.target:
        return _cached_target(prerequisites, design, absent)
    if prerequisites and absent == frozenset(prerequisites):
        return (Configuration.homogeneous(prerequisites, State.NATURAL),)
    return _cached_homogeneous(prerequisites, design.states)


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
        If a unit, an instance or a context does not exist, or a count is not positive.
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
    if chosen is not None and pack is not None:
        unknown = [name for name in chosen if name not in pack.instance_ids]
        if unknown:
            raise UsageError(f"pack {pack.folder} has no instance '{unknown[0]}'", "Use ids of instances.jsonl.")
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
