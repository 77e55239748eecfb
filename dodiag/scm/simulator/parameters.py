"""What a simulated model can do: probabilities per unit, from a preset or from a small YAML or JSON file."""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Iterable, Iterator, Mapping
from importlib import resources
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

from pydantic import BaseModel, ConfigDict, Discriminator, Field, Tag, ValidationError, model_validator

from dodiag.problems import InvalidInput, Problem, UsageError, nearest
from dodiag.scm.graph import TaskGraph
from dodiag.scm.schema import SLUG, UnitId
from dodiag.scm.simulator.responses import Probability, TaskResponses, UnitResponses
from dodiag.scm.source import Location, Source, read_source

PREFIX = "sim:"
"""What stands before a simulator's name where models are named."""

PRESETS = ("scm/simulator/presets/*.yaml", "benchmarks/*/replication/presets/*.json")
"""Where the package keeps parameter files: structural models, and those calibrated to a publication."""

ROUNDING = 1e-9
"""How far trust + check may exceed 1 by rounding."""

SHAPES = ("number", "mapping")
"""How a field that may differ by prerequisite is written."""


def _shape(value: Any) -> str:
    return SHAPES[isinstance(value, Mapping)]


PerPrerequisite = Annotated[
    Annotated[Probability, Tag(SHAPES[0])] | Annotated[Mapping[UnitId, Probability], Tag(SHAPES[1])],
    Discriminator(_shape),
]

OfUnit = Literal["skill", "guess", "scaffold", "distraction"]
OfPrerequisite = Literal["reliance", "trust", "check"]
BY_PREREQUISITE: tuple[OfPrerequisite, ...] = get_args(OfPrerequisite)

NEUTRAL: Mapping[str, float] = {
    "skill": 1.0,
    "guess": 0.0,
    "reliance": 1.0,
    "check": 0.0,
    "scaffold": 0.0,
    "distraction": 0.0,
}
"""What holds where nothing is said: a model that makes no mistake of its own, needs every prerequisite, and trusts
whatever it is told and does not check (trust 1 − check)."""


class UnitBehaviour(BaseModel):
    """How a simulated model answers the questions of one unit; every field is a probability.

    A field that is left out takes the simulator's ``defaults``, and after those :data:`NEUTRAL`.

    Parameters
    ----------
    skill : float, optional
        That the unit's own mechanism works when every prerequisite that it relies on is believed right.
    guess : float, optional
        That the question is solved regardless of everything else.
    reliance : float or mapping of str to float, optional
        That a wrong belief about a prerequisite spoils the answer; one number, or one per prerequisite.
    trust, check : float or mapping of str to float, optional
        That an injected answer about a prerequisite is taken as it is, and that it is checked: a right one is
        accepted, a wrong one is replaced by the model's own answer. With the rest, 1 − trust − check, it is ignored.
    scaffold : float, optional
        That the structure of an injected block alone makes the model solve the unit, whatever the block says.
    distraction : float, optional
        That an injected block confuses the model, so that it fails unless it guesses.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    skill: Probability | None = None
    guess: Probability | None = None
    reliance: PerPrerequisite | None = None
    trust: PerPrerequisite | None = None
    check: PerPrerequisite | None = None
    scaffold: Probability | None = None
    distraction: Probability | None = None

    def said(self, field: str, prerequisite: str | None = None) -> float | None:
        """Return the probability that is said here for a field (and a prerequisite), or None."""
        value: float | Mapping[str, float] | None = getattr(self, field)
        if isinstance(value, Mapping):
            return None if prerequisite is None else value.get(prerequisite)
        return value

    def prerequisites_named(self, *fields: str) -> tuple[str, ...]:
        """Return the prerequisites that a mapping of one of the fields names, each once."""
        mappings = [value for field in fields if isinstance(value := getattr(self, field), Mapping)]
        return tuple(dict.fromkeys(unit for mapping in mappings for unit in mapping))


class _Excess(ValueError):
    """Stances that sum to more than 1: where they stand, and what is wrong."""

    def __init__(self, places: tuple[tuple[Location, str], ...]) -> None:
        super().__init__("; ".join(f"{_where(location)}: {message}" for location, message in places))
        self.places = places


class SimulatorParameters(BaseModel):
    """A structural simulator: the defaults of every unit, and what is different for single units.

    Parameters
    ----------
    name : str
        A slug; the simulated model is called ``sim:NAME``.
    seed : int
        Fixes the noise; the same seed gives the same replies on any machine.
    defaults : UnitBehaviour
        Of every unit.
    units : mapping of str to UnitBehaviour
        By unit id, replacing the defaults field by field.
    description : str
        What people read about it, such as which publication it is calibrated to.
    tasks : mapping of str to TaskResponses
        Response tables by task name, instead of `defaults` and `units`. A simulator that has them answers these tasks
        alone.

    Examples
    --------
    >>> careless = SimulatorParameters(name="careless", defaults=UnitBehaviour(skill=0.7, trust=0.5))
    >>> careless.of_unit("skill", "X1"), careless.of_prerequisite("check", "Y", "X1")
    (0.7, 0.0)
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str = Field(pattern=SLUG, max_length=100)
    seed: int = Field(default=0, strict=True)
    defaults: UnitBehaviour = UnitBehaviour()
    units: Mapping[UnitId, UnitBehaviour] = Field(default_factory=dict)
    description: str = Field(default="", max_length=1000)
    tasks: Mapping[str, TaskResponses] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _says_one_thing(self) -> SimulatorParameters:
        if self.tasks and (self.units or self.defaults != UnitBehaviour()):
            raise ValueError("gives response tables and the behaviour of units as well")
        return self

    @model_validator(mode="after")
    def _stances_sum_to_one(self) -> SimulatorParameters:
        if places := tuple(self._excesses()):
            raise _Excess(places)
        return self

    def _excesses(self) -> Iterator[tuple[Location, str]]:
        by_default = self.defaults.prerequisites_named("trust", "check")
        for unit, behaviour in (("", self.defaults), *self.units.items()):
            location: Location = ("units", unit) if unit else ("defaults",)
            for prerequisite in dict.fromkeys(("", *behaviour.prerequisites_named("trust", "check"), *by_default)):
                trust = self.of_prerequisite("trust", unit, prerequisite)
                check = self.of_prerequisite("check", unit, prerequisite)
                if trust + check > 1 + ROUNDING:
                    about = f" about {prerequisite}" if prerequisite else ""
                    yield location, f"trust {trust:g} and check {check:g}{about} sum to more than 1"

    def of_unit(self, field: OfUnit, unit: str) -> float:
        """Return one of a unit's own probabilities."""
        for behaviour in (self.units.get(unit), self.defaults):
            if behaviour is not None and (value := behaviour.said(field)) is not None:
                return value
        return NEUTRAL[field]

    def of_prerequisite(self, field: OfPrerequisite, unit: str, prerequisite: str) -> float:
        """Return one of the probabilities of a unit that concern one of its prerequisites."""
        for behaviour in (self.units.get(unit), self.defaults):
            if behaviour is not None and (value := behaviour.said(field, prerequisite)) is not None:
                return value
        return 1.0 - self.of_prerequisite("check", unit, prerequisite) if field == "trust" else NEUTRAL[field]

    @property
    def model(self) -> str:
        """The simulated model's name, ``sim:NAME``."""
        return PREFIX + self.name

    @property
    def digest(self) -> str:
        """SHA-256 of everything that is said here, as 64 hexadecimal digits; it changes when a reply may change."""
        said = self.model_dump(mode="json", exclude_none=True, exclude={"description"})
        if not self.tasks:
            del said["tasks"]
        return hashlib.sha256(json.dumps(said, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def presets() -> dict[str, Path]:
    """Return the parameter files that come with the package, by name."""
    with resources.as_file(resources.files("dodiag")) as root:
        files = itertools.chain.from_iterable(sorted(root.glob(pattern)) for pattern in PRESETS)
        return {file.stem: file for file in files}


def load_parameters(name_or_path: str | Path) -> SimulatorParameters:
    """Read and check a simulator's parameters.

    Parameters
    ----------
    name_or_path : str or Path
        A preset such as ``default`` (or ``sim:default``), or a YAML or JSON file. A file that gives no ``name`` is
        called by its stem.

    Raises
    ------
    UsageError
        If there is no such preset or file.
    InvalidInput
        With every problem of the file.

    Examples
    --------
    >>> load_parameters("oracle").of_unit("guess", "Y")
    1.0
    """
    name = str(name_or_path).removeprefix(PREFIX)
    shipped = presets()
    if not name:
        raise UsageError(f"'{name_or_path}' names no simulator", f"Use one of {', '.join(shipped)}, or name a file.")
    path = shipped.get(name, Path(name))
    if not _exists(path):
        named_as_file = path.suffix in (".yaml", ".yml", ".json") or len(path.parts) > 1
        what = f"there is no file '{name}'" if named_as_file else f"there is no simulator '{name}'"
        raise UsageError(what, f"{nearest(name, shipped)} Or name a YAML or JSON file of parameters.")
    source = read_source(path)
    data = source.data
    if not isinstance(data, dict):
        cure = "Start with 'name:' and 'defaults:'."
        raise InvalidInput([source.problem((), "", "is not a mapping of simulator parameters", cure)])
    try:
        return SimulatorParameters.model_validate({"name": path.stem} | data)
    except ValidationError as error:
        found = (problem for item in error.errors(include_url=False) for problem in _problems(item, source))
        raise InvalidInput(sorted(dict.fromkeys(found), key=lambda problem: problem.line or 0)) from None


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:  # too long for a name, or in a folder that may not be searched
        return False


def require_valid_for(parameters: SimulatorParameters, task: TaskGraph) -> None:
    """Raise unless everything that the parameters name is there in a task.

    Raises
    ------
    InvalidInput
        With every unit that the task does not have, and every prerequisite that its unit does not have; for response
        tables, if the task is none of theirs or has another structure.
    """
    if problems := list((_other_structure if parameters.tasks else _foreign_names)(parameters, task)):
        raise InvalidInput(problems)


def _foreign_names(parameters: SimulatorParameters, task: TaskGraph) -> Iterator[Problem]:
    def problem(where: str, message: str, word: str, known: Iterable[str], nothing: str) -> Problem:
        options = list(known)
        return Problem(parameters.model, None, where, message, nearest(word, options) if options else nothing)

    for name in parameters.defaults.prerequisites_named(*BY_PREREQUISITE):
        if name not in task.units:
            yield problem("defaults", f"task {task.name} has no unit '{name}'", name, task.units, "")
    for unit, behaviour in parameters.units.items():
        if unit not in task.units:
            yield problem(f"unit {unit}", f"task {task.name} has no unit '{unit}'", unit, task.units, "")
            continue
        known = dict.fromkeys((*task.prerequisites(unit, 1), *task.prerequisites(unit, 2)))
        for name in behaviour.prerequisites_named(*BY_PREREQUISITE):
            if name not in known:
                message = f"'{name}' is no prerequisite of {unit} in task {task.name}"
                yield problem(f"unit {unit}", message, name, known, f"{unit} has none; remove it.")


def _other_structure(parameters: SimulatorParameters, task: TaskGraph) -> Iterator[Problem]:
    def problem(where: str, message: str, cure: str) -> Problem:
        return Problem(parameters.model, None, where, message, cure)

    if task.name not in parameters.tasks:
        message = f"is calibrated to published scores of other tasks, and has no answers to task {task.name}"
        cure = f"It answers {', '.join(parameters.tasks)}; a structural simulator such as sim:default answers any task."
        yield problem("", message, cure)
        return
    for where, difference in parameters.tasks[task.name].differences(task):
        yield problem(f"task {task.name}, {where}", difference, "Use the task graph that comes with the package.")


def _problems(item: Any, source: Source) -> Iterator[Problem]:
    error = item.get("ctx", {}).get("error")
    if isinstance(error, _Excess):
        for place, message in error.places:
            yield source.problem(place, _where(place), message, "Lower one of them.")
        return
    # Pydantic names the alternative it tried after a field that may be one number or a mapping.
    parts = [part for part in item["loc"] if part != "[key]"]
    before = [None, *parts]
    location: Location = tuple(
        part for part, field in zip(parts, before, strict=False) if not (field in BY_PREREQUISITE and part in SHAPES)
    )
    yield source.problem(location, _where(location), *_explain(item, location))


def _where(location: Location) -> str:
    if len(location) > 1 and location[0] == "units":
        return ", ".join([f"unit {location[1]}", *([".".join(map(str, location[2:]))] if location[2:] else [])])
    return ".".join(map(str, location))


def _fields(location: Location) -> type[BaseModel]:
    """Return what an unknown field at a location should have been a field of."""
    if len(location) == 1:
        return SimulatorParameters
    if location[0] != "tasks":
        return UnitBehaviour
    return TaskResponses if len(location) == 3 else UnitResponses


def _example(location: Location) -> str:
    """Return what a mapping at a location may look like."""
    if location[0] != "tasks":
        return "{Y: {skill: 0.9}}" if location == ("units",) else "{skill: 0.9}"
    of_tables = (
        "{dice_sum: {target: Y, units: {Y: {NC: 0.5}}}}",
        "{target: Y, units: {Y: {NC: 0.5}}}",
        "{Y: {NC: 0.5}}",
        "{NC: 0.5}",
        "{X1: {1|0: 0.5}}",
        "{1|0: 0.5}",
    )
    return of_tables[len(location) - 1]


def _explain(item: Any, location: Location) -> tuple[str, str]:
    match item["type"]:
        case "extra_forbidden":
            return f"'{location[-1]}' is not a field", nearest(str(location[-1]), _fields(location).model_fields)
        case "float_type" | "greater_than_equal" | "less_than_equal" | "finite_number":
            return f"{item['input']!r} is not a probability", "Write a number from 0 to 1."
        case "int_type":
            return f"{item['input']!r} is not a whole number", "Write one, such as 0."
        case "string_pattern_mismatch":
            letters = "lower-case letters" if location == ("name",) else "letters"
            return f"'{item['input']}' is not a valid name", f"Use {letters}, digits, '_', '-' and '.', letter first."
        case "dict_type" | "model_type" | "mapping_type" | "is_instance_of":
            return f"{item['input']!r} is not a mapping", f"Write one, such as '{location[-1]}: {_example(location)}'."
        case "tuple_type":
            return f"{item['input']!r} is not a list", "Write one, such as [X1]."
        case "missing":
            return "is missing", "Add it."
        case _:
            return f"{item['msg'][0].lower()}{item['msg'][1:]} (found {item['input']!r})", "Correct the value."
