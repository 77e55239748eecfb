"""What the rounding of printed scores says about the success rates that they were divided by.

CADET prints N and S but not p. Yet N = (c - d) / c for counts c and d of the task's instances, and S the same of
failures, so the two decimals of the scores that share a baseline fit few of the counts c it may have been. For one
baseline the publication prints the rate as well (0.27 in Figure 1: GPT-5.4, Multi-View Sequencing, natural), and
there the likeliest count is the printed one.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from functools import cache

import numpy as np
from numpy.typing import NDArray

from dodiag.benchmarks.cadet.replication import published
from dodiag.problems import DodiagError
from dodiag.scm.graph import TaskGraph
from dodiag.vocabulary import PAPER_CONTRASTS, State

Block = tuple[str, str, State]
"""A task, a model and the baseline of its target."""

LOW = 0.09
"""Most that a baseline taken to be below the denominator rule's 0.10 is."""

ROOM = 0.9
"""Share of a printed deviation that low baselines may use up: other units have bounds as well."""

PRINTED = {("multi_view_sequencing", "gpt-5.4", State.NATURAL): 0.27}
"""The one baseline of a target that the publication prints."""


def positive_scores(task: str, model: str, state: State) -> tuple[list[float], list[float]]:
    """Return the positive scores that are divided by p, and those divided by 1 - p, of the all-`state` baseline.

    N(a, a') is divided by p_a, S(a, a') by 1 - p_a'. A score of 0 does not say what it was divided by.
    """
    by_success: list[float] = []
    by_failure: list[float] = []
    for prerequisite in published.prerequisites()[task]:
        for contrast in PAPER_CONTRASTS:
            for metric, baseline, kept in (("N", contrast.a, by_success), ("S", contrast.a_prime, by_failure)):
                key = published.ScoreKey(task, prerequisite, contrast, metric, model)
                if baseline is state and (value := published.scores()[key]) > 0:
                    kept.append(value)
    return by_success, by_failure


@cache
def weights(task: str, model: str, state: State, instances: int) -> tuple[float, ...]:
    """Return how likely each count of successes under a baseline is, from 0 to `instances`, before anything else.

    Every count of the deviating run is taken as equally likely. Uniform where no count fits all the scores (runs that
    were averaged, say, or run on other instances).
    """
    if (printed := PRINTED.get((task, model, state))) is not None:
        only = np.zeros(instances + 1)
        only[round(printed * instances)] = 1.0
        return tuple(only)
    by_success, by_failure = positive_scores(task, model, state)
    total = _log_likelihood(by_success, instances) + _log_likelihood(by_failure, instances)[::-1]
    if not np.isfinite(total).any():
        total = np.zeros(instances + 1)
    likelihood = np.exp(total - total.max())
    return tuple(likelihood / likelihood.sum())


def _log_likelihood(values: Sequence[float], instances: int) -> NDArray[np.float64]:
    found = np.zeros(instances + 1)
    for count in range(instances + 1):
        fractions = np.arange(count + 1) / max(count, 1)
        fitting = [np.count_nonzero(np.abs(fractions - value) <= published.ROUNDING + 1e-9) for value in values]
        if values and (count == 0 or not all(fitting)):
            found[count] = -np.inf
        else:
            found[count] = sum(np.log(number / count) for number in fitting)
    return found


def zeroed_blocks(target: int, tasks: Sequence[TaskGraph]) -> frozenset[Block]:
    """Return baselines taken to be below 0.10, so that the denominator rule sets exactly `target` scores to 0.

    The rule zeroes N(0, n) or N(n, 0) of all prerequisites of a task and model at once. Only blocks that are printed
    as all zeros can have been zeroed, and only as many of them as Table 9's mean and deviation over the units of
    their category have room for; not in Map Navigation, whose two prerequisites tie its baselines to each other. Of
    what is left this is the likeliest choice by :func:`weights` with `target` scores in all; the publication does not
    say which they are.

    Parameters
    ----------
    target : int
        94 in the publication (Appendix D.2).
    tasks : sequence of TaskGraph
        The ten tasks.

    Raises
    ------
    DodiagError
        If no choice has `target` scores.
    """
    best: dict[int, tuple[float, tuple[Block, ...]]] = {0: (0.0, ())}
    for options in _options(tasks):
        extended = dict[int, tuple[float, tuple[Block, ...]]]()
        for (size, (value, chosen)), (gain, blocks) in itertools.product(best.items(), options):
            total = size + sum(len(published.prerequisites()[task]) for task, _, _ in blocks)
            if total not in extended or value + gain > extended[total][0]:
                extended[total] = (value + gain, chosen + blocks)
        best = extended
    if target not in best:
        raise DodiagError(f"no choice of baselines below 0.10 zeroes exactly {target} scores")
    return frozenset(best[target][1])


def _options(tasks: Sequence[TaskGraph]) -> Iterator[list[tuple[float, tuple[Block, ...]]]]:
    """Yield, by model, state and category of the target, the sets of blocks that may be low, with their log odds."""
    by_category: dict[str, list[TaskGraph]] = {}
    for task in tasks:
        if len(published.prerequisites().get(task.name, ())) > 2:
            by_category.setdefault(task.units[task.target].category, []).append(task)
    for model, (state, capability) in itertools.product(
        published.models(), ((State.INCORRECT, "RC"), (State.NATURAL, "NC"))
    ):
        for category, members in by_category.items():
            units = sum(
                unit not in task.roots and task.units[unit].category == category
                for task in tasks
                for unit in task.units
            )
            spread = published.nonroot()[model.preset, category, capability]
            candidates = [task for task in members if not positive_scores(task.name, model.preset, state)[0]]
            yield [
                (
                    sum(_log_odds(task, model.preset, state) for task in chosen),
                    tuple((task.name, model.preset, state) for task in chosen),
                )
                for size in range(len(candidates) + 1)
                for chosen in itertools.combinations(candidates, size)
                if _has_room(spread, units, size)
            ]


def _log_odds(task: TaskGraph, model: str, state: State) -> float:
    instances = int(task.published["instances"])
    chances = weights(task.name, model, state, instances)
    low = sum(chance for count, chance in enumerate(chances) if count < 0.10 * instances)
    return float(np.log(max(low, 1e-6)) - np.log(max(1 - low, 1e-6)))


def _has_room(spread: published.Spread, units: int, low: int) -> bool:
    """Return whether so many of the units can be at :data:`LOW` with this mean and deviation over all of them."""
    if not low:
        return True
    others = (units * spread.mean - low * LOW) / (units - low)
    least = ((low * (LOW - spread.mean) ** 2 + (units - low) * (others - spread.mean) ** 2) / (units - 1)) ** 0.5
    return others <= 1 and least <= ROOM * spread.sd
