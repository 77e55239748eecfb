"""Capabilities of every unit that agree with everything CADET printed about them, by a small constrained fit.

Means and deviations over units are printed (Tables 6, 7 and 9), single units are not. For the targets the scores add
the denominator rule, what their rounding says about their denominators, and how much of IC - NC the best single
repair is said to recover; for Map Navigation, with its two prerequisites, also that two scores read one run. What
then remains free is chosen: units are spread evenly about the printed mean, in the order of the files, which means
nothing.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dodiag.benchmarks.cadet.replication import published
from dodiag.benchmarks.cadet.replication.denominators import LOW, Block, positive_scores, weights
from dodiag.benchmarks.cadet.replication.published import CAPABILITIES
from dodiag.benchmarks.cadet.replication.readings import Readings, gap
from dodiag.benchmarks.cadet.replication.solver import Demand, least_cost
from dodiag.scm.graph import TaskGraph
from dodiag.vocabulary import Contrast, State

Unit = tuple[str, str]
"""A task and a unit of it."""

Array = NDArray[np.float64]

STATE_OF = {"NC": State.NATURAL, "IC": State.CORRECT, "RC": State.INCORRECT}

LEAST, MOST = 0.02, 0.99
"""No unit is solved never or always."""

NOT_ZEROED = 0.11
"""Least that a denominator can be from which a positive score was printed."""

REPAIR_GAIN = {1: 0.92, 2: 0.76}
"""Share of IC - NC that the prerequisite of the highest S(1, n) recovers, by task pattern. Section 5.3 prints 0.84 over
all tasks and 0.76 for Pattern 2; with four tasks of either pattern that leaves 0.92 for Pattern 1."""

# Standard deviations of what is soft: probabilities, except for KERNEL, which smooths the likelihood of the counts.
FREE, SCORED, GAIN, ORDER, TIE, KERNEL = 0.15, 0.20, 0.05, 0.02, 0.003, 0.02

STEP = 1e-6
"""Of the numerical gradient."""

ROUNDED_MEAN = 6e-4
"""Table 6 and Table 7 contradict each other by no more."""

BELIEF = 0.8
"""Weight of the counts' likelihood beside a uniform one: some scores cannot come from one run of one set of
instances, so nothing that rounding says is certain."""


@dataclass(frozen=True)
class Target:
    """What the scores of one task and model say about the baselines of its target."""

    weights: Mapping[str, Array]
    bounds: Mapping[str, tuple[float, float]]
    best_repair: float
    gain: float
    readings: Readings

    def likeliest(self) -> Array:
        """Return NC, IC and RC to start from: the likeliest counts, or where two runs are one, the best agreement."""
        if len(self.readings.prerequisites) != 2:
            counts = [self.weights[name] for name in CAPABILITIES]
            flat = [known.max() == known.min() for known in counts]
            return np.array([0.5 if f else k.argmax() / (len(k) - 1) for f, k in zip(flat, counts, strict=True)])
        axes = [np.arange(low, high, 0.03) for low, high in (self.bounds[name] for name in CAPABILITIES)]
        return np.array(min(itertools.product(*axes), key=self.disagreement))

    def disagreement(self, rates: Iterable[float]) -> float:
        """Return the sum of squared distances between what the two names of one run say (two prerequisites)."""
        baselines = {STATE_OF[name]: rate for name, rate in zip(CAPABILITIES, rates, strict=True)}
        return sum(gap(*pair) ** 2 for pair in self.readings.ties(baselines))


def target_of(task: TaskGraph, model: str, zeroed: frozenset[Block]) -> Target:
    """Return what is known about the target's baselines of one task and model."""
    instances = int(task.published["instances"])
    names = task.parents(task.target)
    bounds = {}
    for capability, state in STATE_OF.items():
        by_success, by_failure = positive_scores(task.name, model, state)
        low = NOT_ZEROED if by_success or (task.name, model, state) not in zeroed else LEAST
        high = 1 - NOT_ZEROED if by_failure else MOST
        bounds[capability] = (low, LOW if (task.name, model, state) in zeroed else high)
    values = published.scores()
    repair = Contrast.parse("1,n")
    return Target(
        weights={name: np.array(weights(task.name, model, state, instances)) for name, state in STATE_OF.items()},
        bounds=bounds,
        best_repair=max(values[published.ScoreKey(task.name, name, repair, "S", model)] for name in names),
        gain=REPAIR_GAIN[task.published["pattern"]],
        readings=Readings.of(task.name, names, model),
    )


def fit_nonroot(tasks: Sequence[TaskGraph], model: str, zeroed: frozenset[Block]) -> dict[Unit, dict[str, float]]:
    """Return NC, IC and RC of every non-root unit of a model.

    Table 9's means and deviations over the units of each category hold exactly.

    Parameters
    ----------
    tasks : sequence of TaskGraph
        The ten tasks.
    model : str
        A preset's name.
    zeroed : frozenset of Block
        Baselines that are below 0.10.

    Raises
    ------
    DodiagError
        If the fit does not converge.
    """
    units = [(task.name, unit) for task in tasks for unit in task.units if unit not in task.roots]
    by_name = {task.name: task for task in tasks}
    scored = {
        index: target_of(by_name[name], model, zeroed)
        for index, (name, unit) in enumerate(units)
        if name in published.prerequisites() and unit == by_name[name].target
    }
    shape = len(units), len(CAPABILITIES)
    cells = np.arange(len(units) * len(CAPABILITIES)).reshape(shape)
    prior, demands = np.empty(shape), []
    for name in published.CATEGORIES:
        members = [index for index, (task, unit) in enumerate(units) if by_name[task].units[unit].category == name]
        for place, capability in enumerate(CAPABILITIES):
            spread = published.nonroot()[model, name, capability]
            prior[members, place] = _spread_evenly(spread, len(members))
            demands.append(Demand(np.eye(cells.size)[cells[members, place]], spread))
    start, low, high = prior.copy(), np.full(shape, LEAST), np.full(shape, MOST)
    for index, (name, unit) in enumerate(units):
        if index in scored:
            category = by_name[name].units[unit].category
            prior[index] = [published.nonroot()[model, category, capability].mean for capability in CAPABILITIES]
            low[index], high[index] = np.array([scored[index].bounds[name] for name in CAPABILITIES]).T
            start[index] = scored[index].likeliest()
    free = np.array([index not in scored for index in range(len(units))])
    grids = {index: [_smoothed(target.weights[name]) for name in CAPABILITIES] for index, target in scored.items()}

    def by_unit(x: Array) -> Array:
        """Return the cost of each unit, as each concerns its own three rates alone."""
        costs = np.maximum(0.0, x[:, 0] - x[:, 1]) ** 2 / (2 * ORDER**2)
        costs += ((x - prior) ** 2).sum(axis=1) / (2 * np.where(free, FREE, SCORED) ** 2)
        for index, target in scored.items():
            costs[index] += _target_cost(target, x[index], grids[index])
        return costs

    def cost(flat: Array) -> tuple[float, Array]:
        x = flat.reshape(shape)
        costs = by_unit(x)
        gradient = np.empty(shape)
        for place in range(shape[1]):
            moved = x.copy()
            moved[:, place] += STEP
            gradient[:, place] = (by_unit(moved) - costs) / STEP
        return float(costs.sum()), gradient.ravel()

    bounds = low.ravel(), high.ravel()
    solution = least_cost(cost, start.ravel(), bounds, demands, f"capabilities of {model}").reshape(shape)
    return {
        unit: {name: float(value) for name, value in zip(CAPABILITIES, row, strict=True)}
        for unit, row in zip(units, solution, strict=True)
    }


def fit_root(tasks: Sequence[TaskGraph]) -> dict[str, dict[Unit, float]]:
    """Return NC of every root unit by model and unit.

    Table 7's mean and deviation over the roots of each model hold exactly; Table 6's mean and deviation over models
    of each category to the last printed digit, as the two tables contradict each other in the digit after it.

    Raises
    ------
    DodiagError
        If the fit does not converge.
    """
    units = [(task.name, unit) for task in tasks for unit in task.roots]
    by_name = {task.name: task for task in tasks}
    category = np.array([by_name[name].units[unit].category for name, unit in units])
    spreads = list(published.root().values())
    across = published.root_categories()
    overall = float(np.mean([spread.mean for spread in spreads]))
    prior = np.array([_spread_evenly(spread, len(units)) for spread in spreads])
    for name, spread in across.items():
        members = category == name
        shift = spread.mean - overall
        prior[:, members] = np.array([[s.mean for s in spreads]]).T + shift
    for row, spread in enumerate(spreads):
        noise = _spread_evenly(spread, len(units)) - spread.mean
        prior[row] = np.clip(prior[row] + 0.8 * noise, LEAST, MOST)

    cells = np.arange(prior.size).reshape(prior.shape)
    demands = [Demand(np.eye(prior.size)[row], spread) for row, spread in zip(cells, spreads, strict=True)]
    for name, spread in across.items():
        means = np.array([np.eye(prior.size)[row[category == name]].mean(axis=0) for row in cells])
        demands.append(Demand(means, spread, tolerance=ROUNDED_MEAN))

    def cost(flat: Array) -> tuple[float, Array]:
        away = flat - prior.ravel()
        return float(away @ away), 2 * away

    bounds = np.full(prior.size, LEAST), np.full(prior.size, MOST)
    solution = least_cost(cost, prior.ravel(), bounds, demands, "capabilities of root units").reshape(prior.shape)
    return {
        model: {unit: float(value) for unit, value in zip(units, row, strict=True)}
        for model, row in zip(published.root(), solution, strict=True)
    }


def _target_cost(target: Target, rates: Array, grids: Sequence[tuple[Array, Array]]) -> float:
    natural, correct, _ = rates
    total = -sum(float(np.log(np.interp(rate, *grid))) for rate, grid in zip(rates, grids, strict=True))
    gained = target.best_repair * (1 - natural) - target.gain * (correct - natural)
    total += gained**2 / (2 * GAIN**2)
    if len(target.readings.prerequisites) == 2:
        total += target.disagreement(rates) / (2 * TIE**2)
    return float(total)


def _spread_evenly(spread: published.Spread, count: int) -> Array:
    """Return evenly spaced values of this mean and sample deviation, within the range that is allowed."""
    steps = np.linspace(-1.0, 1.0, count)
    return np.asarray(np.clip(spread.mean + spread.sd * steps / steps.std(ddof=1), LEAST, MOST))


def _smoothed(chances: Array) -> tuple[Array, Array]:
    """Return a grid of rates, and the density that the counts' likelihood has there."""
    rates = np.linspace(0.0, 1.0, 401)
    counts = np.arange(len(chances)) / (len(chances) - 1)
    kernel = np.exp(-((rates[:, None] - counts) ** 2) / (2 * KERNEL**2)) / (KERNEL * np.sqrt(2 * np.pi))
    return rates, BELIEF * kernel @ chances + (1 - BELIEF)
