"""How many runs an instance needs, which scores share them, and what an unfolded chain looks like.

The configurations come from the definition of the scores (:func:`dodiag.vocabulary.arms`), not from the planner.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import product
from typing import Literal

from dodiag.proofs.counting.cases import counting, every
from dodiag.proofs.statement import Finding, Statement, Verdict
from dodiag.vocabulary import PAPER_CONTRASTS, Arms, Configuration, Contrast, State, arms

METRICS: tuple[Literal["N", "S"], ...] = ("N", "S")
PREREQUISITES = range(1, 9)


def names_of(k: int) -> tuple[str, ...]:
    """Return k prerequisites."""
    return tuple(f"X{number}" for number in range(1, k + 1))


def scored_arms(
    k: int, contrasts: Sequence[Contrast] = PAPER_CONTRASTS
) -> Iterator[tuple[Literal["N", "S"], Contrast, str, Arms]]:
    """Yield what every N and S of the contrasts reads, for k prerequisites."""
    for unit, contrast, metric in product(names_of(k), contrasts, METRICS):
        yield metric, contrast, unit, arms(metric, contrast, unit, names_of(k))


def distinct(k: int, contrasts: Sequence[Contrast] = PAPER_CONTRASTS) -> int:
    """Return how many configurations the scores of the contrasts read."""
    return len({c for *_, pair in scored_arms(k, contrasts) for c in (pair.active, pair.reference)})


def nominal(k: int, contrasts: Sequence[Contrast] = PAPER_CONTRASTS) -> int:
    """Return how many pairs of own state and background the scores read: equal ones once, others per prerequisite."""
    found: set[tuple[str, State, State]] = set()
    for metric, contrast, unit, pair in scored_arms(k, contrasts):
        background = contrast.a if metric == "N" else contrast.a_prime
        for configuration in (pair.active, pair.reference):
            own = configuration[unit]
            found.add(("" if own == background else unit, own, background))
    return len(found)


def counted(count: Callable[[int], int], formula: Callable[[int], int], sizes: Iterable[int]) -> Finding:
    """Compare a count with a formula for several numbers of prerequisites."""
    return every(sizes, lambda k: count(k) == formula(k), lambda k: f"k = {k}: {count(k)}, not {formula(k)}")


def configuration_counts() -> list[Statement]:
    """How many runs of the target one instance needs."""
    setting = ("k = |Pa(Y)| prerequisites, k = 1, …, 8", "N and S of the contrasts (1,0), (1,∅), (∅,0), (0,∅)")
    alone = (setting[0], "N and S of one contrast")

    def full(k: int) -> int:
        return {1: 3, 2: 9}.get(k, 3 + 6 * k)

    def one(k: int) -> int:
        return {1: 2, 2: 4}.get(k, 2 + 2 * k)

    source = "CADET, evaluation cost"
    return [
        counting(
            "counts/nominal",
            source,
            setting,
            "3 + 6k pairs of own state and background",
            partial(counted, nominal, full_formula, PREREQUISITES),
        ),
        counting(
            "counts/distinct",
            "dodiag",
            setting,
            "3 distinct configurations for k = 1, 9 for k = 2, 3 + 6k from k = 3 on",
            partial(counted, distinct, full, PREREQUISITES),
        ),
        counting(
            "counts/one-contrast-nominal",
            source,
            alone,
            "2 + 2k pairs of own state and background",
            partial(
                every,
                list(product(PREREQUISITES, PAPER_CONTRASTS)),
                lambda c: nominal(c[0], [c[1]]) == 2 + 2 * c[0],
                str,
            ),
        ),
        counting(
            "counts/one-contrast",
            "dodiag",
            alone,
            "2 distinct configurations for k = 1, 4 for k = 2, 2 + 2k from k = 3 on",
            partial(
                every, list(product(PREREQUISITES, PAPER_CONTRASTS)), lambda c: distinct(c[0], [c[1]]) == one(c[0]), str
            ),
        ),
        counting(
            "counts/mutant-two-prerequisites",
            "dodiag",
            setting,
            "3 + 6k distinct configurations also for k = 2",
            partial(counted, distinct, full_formula, range(2, 9)),
            Verdict.REFUTED,
        ),
        counting(
            "counts/mutant-one-prerequisite",
            "dodiag",
            setting,
            "3 + 6k distinct configurations also for k = 1",
            partial(counted, distinct, full_formula, (1, 3, 4)),
            Verdict.REFUTED,
        ),
        counting(
            "counts/mutant-one-contrast",
            "dodiag",
            (setting[0], "N and S of (1,∅)"),
            "2 + 2k distinct configurations also for k = 2",
            partial(counted, partial(distinct, contrasts=[Contrast.parse("1,n")]), lambda k: 2 + 2 * k, range(2, 9)),
            Verdict.REFUTED,
        ),
    ]


def full_formula(k: int) -> int:
    """Return 3 + 6k."""
    return 3 + 6 * k


def shared_arms() -> list[Statement]:
    """Which scores read the same runs."""
    setting = ("k prerequisites, k = 1, …, 8", "every prerequisite")
    places = [(k, unit) for k in PREREQUISITES for unit in names_of(k)]

    def opposed(place: tuple[int, str], n_contrast: str, s_contrast: str) -> bool:
        k, unit = place
        n = arms("N", Contrast.parse(n_contrast), unit, names_of(k))
        s = arms("S", Contrast.parse(s_contrast), unit, names_of(k))
        return (n.active, n.reference) == (s.reference, s.active)

    def alike(contrast: Contrast, unit: str, k: int) -> set[Configuration]:
        pairs = [arms(metric, contrast, unit, names_of(k)) for metric in METRICS]
        return {configuration for pair in pairs for configuration in (pair.active, pair.reference)}

    def count_is(number: int) -> Callable[[tuple[tuple[int, str], Contrast]], bool]:
        return lambda case: len(alike(case[1], case[0][1], case[0][0])) == number

    def told(case: tuple[tuple[int, str], Contrast]) -> str:
        return f"k = {case[0][0]}, {case[0][1]}, contrast {case[1].symbol}"

    def cases(least: int, most: int) -> list[tuple[tuple[int, str], Contrast]]:
        return [(place, contrast) for place in places if least <= place[0] <= most for contrast in PAPER_CONTRASTS]

    return [
        counting(
            "counts/opposite-directions",
            "dodiag",
            setting,
            "N(0,∅) and S(∅,0) compare the same two configurations in opposite directions; so do N(∅,0) and S(0,∅)",
            partial(
                every,
                places,
                lambda place: opposed(place, "0,n", "n,0") and opposed(place, "n,0", "0,n"),
                lambda place: f"k = {place[0]}, {place[1]}",
            ),
        ),
        counting(
            "A.8/same-arms",
            "CADET Remark A.8",
            ("one prerequisite",),
            "N and S of one contrast read the same two configurations",
            partial(every, cases(1, 1), count_is(2), told),
        ),
        counting(
            "A.6/different-arms",
            "CADET Appendix A.3.2",
            ("k ≥ 2 prerequisites",),
            "N and S of one contrast read four different configurations",
            partial(every, cases(2, 8), count_is(4), told),
        ),
        counting(
            "A.6/mutant-different-arms",
            "CADET Appendix A.3.2",
            ("k ≥ 1 prerequisites",),
            "N and S of one contrast read four different configurations also for k = 1",
            partial(every, cases(1, 8), count_is(4), told),
            Verdict.REFUTED,
        ),
    ]


def chain_parents(period: int, steps: int) -> dict[str, tuple[str, ...]]:
    """Return the parents of every unit of an unfolded Markov chain without external prerequisites (CADET eq. 14)."""
    parents: dict[str, tuple[str, ...]] = {}
    for step, place in product(range(1, steps + 1), range(1, period + 1)):
        if place > 1:
            parents[f"X{place}@{step}"] = (f"X{place - 1}@{step}",)
        else:
            parents[f"X{place}@{step}"] = (f"X{period}@{step - 1}",) if step > 1 else ()
    return parents


def unfolded_chains() -> list[Statement]:
    """Definition A.7 and the structural half of Remark A.8."""
    setting = ("cycles of p = 1, …, 4 units over T = 1, …, 5 steps",)
    sizes = list(product(range(1, 5), range(1, 6)))

    def one_path(size: tuple[int, int]) -> bool:
        parents = chain_parents(*size)
        order = [f"X{place}@{step}" for step in range(1, size[1] + 1) for place in range(1, size[0] + 1)]
        return [*parents] == order and [*parents.values()] == [(), *((before,) for before in order[:-1])]

    def code_agrees(size: tuple[int, int]) -> bool:
        from dodiag.scm.files import task_of
        from dodiag.scm.source import Source

        period, steps = size
        names = [f"X{place}" for place in range(1, period + 1)]
        unit = {"title": "A unit", "category": "perception", "answer": {"type": "integer"}}
        graph = task_of(
            Source(
                "chain",
                {
                    "schema": 1,
                    "name": "chain",
                    "title": "Chain",
                    "modality": "image",
                    "target": "Y",
                    "units": {**dict.fromkeys(names, unit), "Y": {**unit, "parents": [names[-1]]}},
                    "chains": [{"units": names}],
                },
            )
        ).unfold(steps)
        wanted = chain_parents(period, steps)
        return all(tuple(graph.predecessors(node)) == parents for node, parents in wanted.items())

    def told(size: tuple[int, int]) -> str:
        return f"p = {size[0]}, T = {size[1]}"

    return [
        counting(
            "A.8/single-parent",
            "CADET Definition A.7, Remark A.8",
            setting,
            "the unfolded chain is one path: every unit but the first has exactly one prerequisite, the unit before it",
            partial(every, sizes, one_path, told),
        ),
        counting(
            "code/unfolded-chain",
            "dodiag",
            setting,
            "TaskGraph.unfold gives these prerequisites",
            partial(every, sizes, code_agrees, told),
        ),
    ]
