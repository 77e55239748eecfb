"""dodiag: find out where and why a multimodal model fails on a compositional task.

The names below are the public interface. They are imported when they are first used, so that ``import dodiag`` and
``dodiag --help`` are instant.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_HOMES = {
    "Configuration": "dodiag.vocabulary",
    "Contrast": "dodiag.vocabulary",
    "Outcome": "dodiag.vocabulary",
    "State": "dodiag.vocabulary",
    "DodiagError": "dodiag.problems",
    "InvalidInput": "dodiag.problems",
    "TaskGraph": "dodiag.scm.graph",
    "load_task": "dodiag.scm.files",
    "write_task": "dodiag.scm.files",
    "Pack": "dodiag.scm.pack",
    "load_pack": "dodiag.scm.pack",
    "Plan": "dodiag.interventions.plan",
    "make_plan": "dodiag.interventions.plan",
    "price": "dodiag.interventions.price",
    "run": "dodiag.api",
    "resume": "dodiag.api",
    "outcomes": "dodiag.runners.outcomes",
    "read_outcomes": "dodiag.runners.outcomes",
    "read_answer": "dodiag.runners.reading",
    "capabilities": "dodiag.bounds.scores",
    "contributions": "dodiag.bounds.scores",
    "diagnose": "dodiag.bounds.diagnosis",
    "Diagnosis": "dodiag.bounds.diagnosis",
    "model_differences": "dodiag.bounds.model_differences",
    "repair_gains": "dodiag.bounds.instance_means",
    "rescore": "dodiag.runners.rescoring",
    "generate": "dodiag.api",
    "open_pack": "dodiag.opening",
}

__all__ = ["__version__", *sorted(_HOMES)]

if TYPE_CHECKING:
    from dodiag.api import generate, resume, run
    from dodiag.bounds.diagnosis import Diagnosis, diagnose
    from dodiag.bounds.instance_means import repair_gains
    from dodiag.bounds.model_differences import model_differences
    from dodiag.bounds.scores import capabilities, contributions
    from dodiag.interventions.plan import Plan, make_plan
    from dodiag.interventions.price import price
    from dodiag.opening import open_pack
    from dodiag.problems import DodiagError, InvalidInput
    from dodiag.runners.outcomes import outcomes, read_outcomes
    from dodiag.runners.reading import read_answer
    from dodiag.runners.rescoring import rescore
    from dodiag.scm.files import load_task, write_task
    from dodiag.scm.graph import TaskGraph
    from dodiag.scm.pack import Pack, load_pack
    from dodiag.vocabulary import Configuration, Contrast, Outcome, State


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'dodiag' has no attribute '{name}'")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
