"""Structural simulators: a generative model of an answering model over a task graph, with exact ground truth.

``parameters`` says what a simulated model can do, ``mechanism`` holds the structural equations, ``truth`` computes
exact capabilities, scores and probabilities of causation from them (through the networks of ``network``), and
``answering`` evaluates them on drawn noise and writes replies.
"""

from dodiag.scm.simulator.answering import Simulator
from dodiag.scm.simulator.parameters import (
    SimulatorParameters,
    UnitBehaviour,
    load_parameters,
    presets,
    require_valid_for,
)
from dodiag.scm.simulator.truth import (
    Counterfactuals,
    TrueCapabilities,
    TrueContribution,
    capabilities,
    chain_contribution,
    contributions,
    counterfactuals,
    probabilities,
    probability,
)

__all__ = [
    "Counterfactuals",
    "Simulator",
    "SimulatorParameters",
    "TrueCapabilities",
    "TrueContribution",
    "UnitBehaviour",
    "capabilities",
    "chain_contribution",
    "contributions",
    "counterfactuals",
    "load_parameters",
    "presets",
    "probabilities",
    "probability",
    "require_valid_for",
]
