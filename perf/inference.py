"""Measures limits of many scores against a plain loop and scipy's bootstrap, tables of a million rows, the LP engine.

    python perf/inference.py [loop]

The cross-check is the percentile bootstrap by instance. The plain loop and ``scipy.stats.bootstrap`` work one score at
a time; they are timed on a few scores and scaled, unless ``loop`` asks for all of them. Everything runs in one process,
one after the other; peak memory is of the process so far.
"""

from __future__ import annotations

import resource
import sys
import time
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import partial
from itertools import combinations

import numpy as np
import pandas as pd

from dodiag.bounds.bootstrap import bootstrap_limits
from dodiag.bounds.diagnosis import diagnose
from dodiag.bounds.limits import end_limits, n_limits, s_limits
from dodiag.bounds.linear.bound import bound
from dodiag.bounds.linear.response_types import ResponseTypes
from dodiag.bounds.pairs import PairedSums
from dodiag.bounds.scores import capabilities, contributions
from dodiag.interventions.plan import make_plan
from dodiag.scm.files import load_task

MODELS, PREREQUISITES, SCORES, INSTANCES, REPLICATES = 12, 33, 8, 130, 10_000
SAMPLE = 20


def seconds(work: Callable[[], object]) -> float:
    """Return how long one call takes."""
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def peak() -> float:
    """Return the peak memory of this process in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def outcomes(generator: np.random.Generator) -> PairedSums:
    """Draw outcomes of two arms for every score, shape (scores, instances)."""
    rates = generator.beta(2, 2, size=(MODELS * PREREQUISITES * SCORES, 2))
    hard = generator.random((len(rates), INSTANCES))
    draw = 0.5 * hard + 0.5 * generator.random((2, len(rates), INSTANCES))
    active, reference = (draw < np.sort(rates, axis=1).T[::-1, :, None]).astype(np.float64)
    return PairedSums.of(active, reference)


def plain_loop(pairs: PairedSums, generator: np.random.Generator) -> Iterator[float]:
    """The bootstrap as one writes it first: a score at a time, a resample at a time."""
    for active, reference in zip(pairs.active, pairs.reference, strict=True):
        values = np.empty(REPLICATES)
        for index in range(REPLICATES):
            chosen = generator.integers(0, INSTANCES, INSTANCES)
            total = active[chosen].sum()
            values[index] = max(0.0, 1 - reference[chosen].sum() / total) if total else 0.0
        yield float(np.quantile(values, 0.05))


def scipy_bootstrap(pairs: PairedSums, generator: np.random.Generator) -> Iterator[float]:
    """The same by ``scipy.stats.bootstrap``, vectorised over resamples."""
    from scipy.stats import bootstrap

    def score(active: np.ndarray, reference: np.ndarray, axis: int = -1) -> np.ndarray:
        total = active.sum(axis=axis)
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.where(total > 0, np.maximum(0.0, 1 - reference.sum(axis=axis) / total), 0.0)

    for active, reference in zip(pairs.active, pairs.reference, strict=True):
        found = bootstrap(
            (active, reference),
            score,
            paired=True,
            n_resamples=REPLICATES,
            batch=1000,
            confidence_level=0.9,
            method="percentile",
            rng=generator,
        )
        yield float(found.confidence_interval.low)


def limits_of_many(everything: bool) -> None:
    """Print the time of the default limits, and of the bootstrap in three ways."""
    pairs = outcomes(np.random.default_rng(0))
    count = len(pairs.active)
    half = count // 2
    n, s = (PairedSums(pairs.active[part], pairs.reference[part], pairs.sizes[part]) for part in _halves(half))

    def default() -> None:
        n_limits(n), s_limits(s)
        for quantity, part in (("PN", n), ("PS", s), ("PNS", pairs)):
            end_limits(quantity, part)

    exact = seconds(default)
    ours = seconds(
        lambda: bootstrap_limits(
            pairs.active.T, pairs.reference.T, generator=np.random.default_rng(1), replicates=REPLICATES
        )
    )
    few = PairedSums(
        *(array[: count if everything else SAMPLE] for array in (pairs.active, pairs.reference, pairs.sizes))
    )
    scale = count / len(few.active)
    loop = scale * seconds(lambda: list(plain_loop(few, np.random.default_rng(1))))
    scipy = scale * seconds(lambda: list(scipy_bootstrap(few, np.random.default_rng(1))))
    print(
        f"{MODELS} models x {PREREQUISITES} prerequisites x {SCORES} scores x {INSTANCES} instances = {count:,} scores"
    )
    print("| limits | seconds | times ours |")
    print("|---|---|---|")
    print(f"| all scores and both ends of PN, PS, PNS, default rules | {exact:.1f} | – |")
    print(f"| bootstrap, {REPLICATES:,} replicates, dodiag | {ours:.1f} | 1 |")
    how = "" if everything else f" (scaled from {SAMPLE} scores)"
    print(f"| the same, scipy.stats.bootstrap{how} | {scipy:.0f} | {scipy / ours:.0f} |")
    print(f"| the same, plain loop{how} | {loop:.0f} | {loop / ours:.0f} |")
    agree = bootstrap_limits(
        few.active.T[:, :SAMPLE], few.reference.T[:, :SAMPLE], generator=np.random.default_rng(2), replicates=REPLICATES
    ).lower
    other = np.array([x for x, _ in zip(scipy_bootstrap(few, np.random.default_rng(3)), range(SAMPLE), strict=False)])
    gap = np.abs(agree - other).max()
    print(f"largest difference between our and scipy's lower limits over {SAMPLE} scores: {gap:.4f}")


def _halves(half: int) -> tuple[slice, slice]:
    return slice(0, half), slice(half, None)


def table_of(rows: int, models: int) -> pd.DataFrame:
    """Return an outcome table of Dice Sum's target with about so many rows."""
    task = load_task("dice_sum")
    configurations = [c.text for c in make_plan(task).configurations(task.target)]
    instances = rows // (models * len(configurations))
    m, i, c = (axis.ravel() for axis in np.indices((models, instances, len(configurations))))
    generator = np.random.default_rng(0)
    solved = generator.random(m.size) < 0.2 + 0.6 * (c % 7) / 7
    return pd.DataFrame(
        {
            "model": pd.Categorical.from_codes(m, [f"model-{k}" for k in range(models)]).astype(str),
            "task": "dice_sum",
            "instance": np.char.add("i", i.astype(str)),
            "unit": task.target,
            "question": "y",
            "step": None,
            "configuration": np.array(configurations)[c],
            "draw": 0,
            "outcome": "value",
            "solved": solved.astype(int),
        }
    )


def tables() -> None:
    """Print the time of everything that reads an outcome table."""
    task = load_task("dice_sum")
    print("\n| rows | models | capabilities, s | contributions, s | diagnosis, s | peak memory, MB |")
    print("|---|---|---|---|---|---|")
    for rows, models in ((350_000, 12), (1_000_000, 1), (1_000_000, 12)):
        table = table_of(rows, models)
        held = table.memory_usage(deep=True).sum() / 2**20
        spent = [seconds(partial(f, table, task)) for f in (capabilities, contributions, diagnose)]
        cells = " | ".join(f"{value:.1f}" for value in spent)
        print(f"| {len(table):,} | {models} | {cells} | {peak():.0f} (the table itself {held:.0f}) |")


def programmes() -> None:
    """Print the time of a bound by linear programming, both ends, floats and exact with certificates."""
    print("\n| response types | constraints | both ends, floats, ms | both ends, exact and certified, ms |")
    print("|---|---|---|---|")
    for regimes, pairs in ((2, False), (3, False), (6, False), (8, False), (12, False), (8, True), (12, True)):
        names = tuple(f"r{k}" for k in range(regimes))
        types = ResponseTypes(names)
        query = types.probability({names[0]: 1} | dict.fromkeys(names[1:], 0))
        rates = {name: Fraction(k + 2, 15) for k, name in enumerate(names)}
        known = [(types.probability({name: 1}), rate) for name, rate in rates.items()]
        for one, other in combinations(names, 2) if pairs else ():
            together = (rates[one] * rates[other] + min(rates[one], rates[other])) / 2
            known.append((types.probability({one: 1, other: 1}), together))
        spent = []
        for number in (float, Fraction):
            constraints = [form == number(rate) for form, rate in known]
            bound(query, constraints)
            spent.append(min(seconds(partial(bound, query, constraints)) for _ in range(3)) * 1e3)
        print(f"| {2**regimes:,} | {len(known)} | {spent[0]:.1f} | {spent[1]:.1f} |", flush=True)


def main() -> None:
    """Print all tables."""
    limits_of_many("loop" in sys.argv[1:])
    tables()
    programmes()


if __name__ == "__main__":
    main()
