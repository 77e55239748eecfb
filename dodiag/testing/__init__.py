"""Strategies of hypothesis and assertions, for property tests of your own metrics, simulators and reports.

Strategies generate valid things alone: exact distributions of potential outcomes, task graphs, simulated models,
outcome tables. Assertions search them for a counterexample and tell it in words. See ``docs/testing.md``.
"""

from __future__ import annotations

from importlib.util import find_spec

from dodiag.problems import MissingDependency

if find_spec("hypothesis") is None:
    raise MissingDependency("hypothesis is not installed", "Install it with: pip install 'dodiag[testing]'")

from dodiag.testing.assertions import (
    Quantity,
    Refuted,
    assert_between,
    assert_lower_bound,
    assert_monotone_equality,
)
from dodiag.testing.distributions import margins, probabilities, response_types, strata
from dodiag.testing.graphs import task_graphs
from dodiag.testing.models import structural_models
from dodiag.testing.populations import ObservedTypes, ResponseTypes, Strata
from dodiag.testing.tables import outcome_tables

__all__ = [
    "ObservedTypes",
    "Quantity",
    "Refuted",
    "ResponseTypes",
    "Strata",
    "assert_between",
    "assert_lower_bound",
    "assert_monotone_equality",
    "margins",
    "outcome_tables",
    "probabilities",
    "response_types",
    "strata",
    "structural_models",
    "task_graphs",
]
