"""A strategy for simulated models of a task, whose exact scores and probabilities of causation are known.

The truth of what is drawn comes from :func:`dodiag.scm.simulator.contributions` and
:func:`dodiag.scm.simulator.counterfactuals`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, get_args

from hypothesis import strategies as st

from dodiag.bounds.errors import NotAProbability
from dodiag.problems import UsageError, nearest
from dodiag.scm.graph import TaskGraph
from dodiag.scm.simulator.parameters import (
    OfPrerequisite,
    OfUnit,
    SimulatorParameters,
    UnitBehaviour,
    require_valid_for,
)

PARTS = 20
"""Probabilities are multiples of 1/20, so that sums of stances are exact enough and examples are readable."""

OF_UNIT: tuple[OfUnit, ...] = get_args(OfUnit)
FIELDS = (*OF_UNIT, *get_args(OfPrerequisite))

_PROBABILITIES = (st.sampled_from((0, PARTS)) | st.integers(0, PARTS)).map(lambda part: part / PARTS)


def structural_models(
    task: TaskGraph, *, monotone: bool = False, fixed: Mapping[str, float] | None = None
) -> st.SearchStrategy[SimulatorParameters]:
    """Parameters of a simulated model that answers the questions of a task.

    Shrinks towards a model without abilities whose units all behave alike.

    Parameters
    ----------
    task : TaskGraph
    monotone : bool
        No scaffold and no distraction: an outcome never gets worse from 0 to ∅ to 1 (CADET Property 3.6), so that the
        contrasts (1, 0), (1, ∅) and (∅, 0) have no harm.
    fixed : mapping of str to float, optional
        Fields of :class:`UnitBehaviour` with one value everywhere, such as ``{"trust": 0.0, "guess": 0.1}``.

    Raises
    ------
    NotAProbability
        If a value of `fixed` is none.
    UsageError
        If `fixed` names no field, contradicts `monotone`, or fixes trust and check at a sum above 1.
    """
    settled = {name: float(value) for name, value in (fixed or {}).items()}
    if unknown := [name for name in settled if name not in FIELDS]:
        raise UsageError(f"'{unknown[0]}' is not a field of a unit's behaviour", nearest(unknown[0], FIELDS))
    if wrong := [name for name, value in settled.items() if not 0 <= value <= 1]:
        raise NotAProbability(wrong[0], settled[wrong[0]])
    for name in ("scaffold", "distraction") if monotone else ():
        if settled.setdefault(name, 0.0):
            raise UsageError(f"a model with {name} {settled[name]:g} is not monotone", f"Leave {name} out.")
    if settled.get("trust", 0.0) + settled.get("check", 0.0) > 1:
        raise UsageError("trust and check sum to more than 1", "Lower one of them.")
    return _structural_models(task, settled)


@st.composite
def _structural_models(draw: st.DrawFn, task: TaskGraph, fixed: Mapping[str, float]) -> SimulatorParameters:
    defaults = draw(_behaviours((), fixed, whole=True))
    units = {}
    for unit in task.units:
        if draw(st.booleans()):
            known = tuple(dict.fromkeys((*task.prerequisites(unit, 1), *task.prerequisites(unit, 2))))
            units[unit] = draw(_behaviours(known, fixed, whole=False))
    parameters = SimulatorParameters(name="drawn", seed=draw(st.integers(0, 999)), defaults=defaults, units=units)
    require_valid_for(parameters, task)
    return parameters


@st.composite
def _behaviours(
    draw: st.DrawFn, prerequisites: tuple[str, ...], fixed: Mapping[str, float], whole: bool
) -> UnitBehaviour:
    """Behaviours that say every field (`whole`), or some, of which some by prerequisite."""

    def said() -> bool:
        return whole or draw(st.booleans())

    fields: dict[str, Any] = {name: fixed.get(name, draw(_PROBABILITIES)) for name in OF_UNIT if said()}
    by_prerequisite = bool(prerequisites) and draw(st.booleans())
    if said():
        drawn = {name: fixed.get("reliance", draw(_PROBABILITIES)) for name in prerequisites or ("",)}
        fields["reliance"] = drawn if by_prerequisite else next(iter(drawn.values()))
    # Trust and check are said together, so that no default of one can push their sum above 1.
    if said():
        stances = {name: draw(_stances(fixed)) for name in (prerequisites if by_prerequisite else ("",))}
        for place, field in enumerate(("trust", "check")):
            values = {name: stance[place] for name, stance in stances.items()}
            fields[field] = values if by_prerequisite else values[""]
    return UnitBehaviour(**fields)


@st.composite
def _stances(draw: st.DrawFn, fixed: Mapping[str, float]) -> tuple[float, float]:
    """Trust and check; what they leave of 1 is the chance of ignoring an injection."""
    trust, check = fixed.get("trust"), fixed.get("check")
    if trust is not None and check is not None:
        return trust, check
    settled = trust if trust is not None else check
    first = draw(_PROBABILITIES) if settled is None else settled
    second = draw(st.integers(0, PARTS)) * (1.0 - first) / PARTS
    return (second, first) if trust is None and check is not None else (first, second)
