"""Generators of task packs: which tasks have one, what it can be asked for, and what every one of them offers."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from types import MappingProxyType, ModuleType
from typing import Any, Protocol, cast

from dodiag.problems import UsageError, nearest
from dodiag.scm.graph import TaskGraph
from dodiag.scm.pack import Instance

CADET = (
    "music_note_counting",
    "dice_sum",
    "map_navigation",
    "maze",
    "surround_localization",
    "multi_view_sequencing",
    "street_view_ordering",
    "dashcam_counting",
    "traffic_causation",
    "multistep_reasoning",
)
GENERATORS: Mapping[str, str] = MappingProxyType(
    {slug: f"dodiag.benchmarks.cadet.{slug}" for slug in CADET} | {"mmcot_dice": "dodiag.benchmarks.mmcot.generator"}
)
"""The module of each task's generator; it is imported when asked for."""

MAX_INSTANCES = 100_000

Drawn = tuple[Instance, Mapping[str, bytes]]
"""An instance and the bytes of its media by their path in the pack."""


class Generator(Protocol):
    """What the module of every generator has; its docstring is the card of the task.

    Attributes
    ----------
    VERSION : str
        Raised whenever the same seed gives another pack.
    INSTANCES : int
        Instances that are made unless another number is asked for: the paper's.
    Knobs : type
        A frozen dataclass of what makes instances easier or harder, with defaults; it refuses values out of range.
    """

    VERSION: str
    INSTANCES: int
    Knobs: type[Any]

    def prepare(self) -> None:
        """Raise MissingDependency if something is not installed."""

    def task(self, seed: int, knobs: Any) -> TaskGraph:
        """Return the task graph of the packs of a seed."""

    def draw(self, seed: int, index: int, knobs: Any) -> Drawn:
        """Return instance `index` of a seed; it depends on nothing but the arguments."""


@dataclass(frozen=True)
class Order:
    """A pack that is asked for: everything that its content depends on.

    Attributes
    ----------
    slug : str
        The task.
    instances : int
        1 to 100,000; a longer pack begins with a shorter one.
    seed : int
        0 or more.
    knobs : mapping
        Values of the generator's knobs by name; the others keep their defaults.

    Raises
    ------
    UsageError
        If there is no such generator or knob, or a value is of another kind or out of range.
    """

    slug: str
    instances: int | None = None
    seed: int = 0
    knobs: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        module = self.generator
        if self.instances is None:
            object.__setattr__(self, "instances", module.INSTANCES)
        for what, number in (("number of instances", self.instances), ("seed", self.seed)):
            if isinstance(number, bool) or not isinstance(number, int):
                raise UsageError(f"the {what} is {number!r}", "Give a whole number, such as 100.")
        if not 1 <= self.count <= MAX_INSTANCES:
            raise UsageError(f"cannot generate {self.instances} instances", f"Ask for 1 to {MAX_INSTANCES:,}.")
        if self.seed < 0:
            raise UsageError(f"the seed {self.seed} is negative", "Use 0 or more.")
        known = {knob.name: knob for knob in fields(module.Knobs)}
        for name, value in self.knobs.items():
            if name not in known:
                raise UsageError(f"{self.slug} has no knob '{name}'", nearest(name, known) if known else "It has none.")
            default = known[name].default
            if not _fits(value, default):
                raise UsageError(f"knob {name} is {value!r}", f"Give {_KINDS[type(default)]}, such as {default!r}.")
        _ = self.chosen

    @property
    def count(self) -> int:
        """The number of instances."""
        return cast(int, self.instances)

    @property
    def generator(self) -> Generator:
        """The generator's module."""
        return generator(self.slug)

    @property
    def chosen(self) -> Any:
        """The generator's knobs with the asked values."""
        return self.generator.Knobs(**self.knobs)

    @property
    def task(self) -> TaskGraph:
        """The task graph of the pack."""
        return self.generator.task(self.seed, self.chosen)

    def draw(self, index: int) -> Drawn:
        """Return an instance and its media."""
        return self.generator.draw(self.seed, index, self.chosen)


_KINDS = {bool: "true or false", int: "a whole number", float: "a number", str: "a text"}


def _fits(value: Any, default: Any) -> bool:
    if isinstance(default, bool) or isinstance(value, bool):
        return isinstance(value, bool) and isinstance(default, bool)
    return isinstance(value, int | float) if isinstance(default, float) else isinstance(value, type(default))


def generator(slug: str) -> Generator:
    """Return the module of a task's generator.

    Raises
    ------
    UsageError
        If the task has none.
    """
    if slug not in GENERATORS:
        raise UsageError(f"there is no generator for a task '{slug}'", nearest(slug, sorted(GENERATORS)))
    module: ModuleType = importlib.import_module(GENERATORS[slug])
    return cast(Generator, module)
