"""What a printed score says about the success rate of its deviating run, given the rates of the baselines."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from dodiag.benchmarks.cadet.replication import published
from dodiag.scm.simulator.responses import DEVIATIONS, Deviation
from dodiag.vocabulary import PAPER_CONTRASTS, State

Interval = tuple[float, float]
Baselines = Mapping[State, float]


@dataclass(frozen=True)
class Readings:
    """The printed scores of one task and model, read as success rates of deviating runs.

    With prerequisite i in d and the others in b, the score N(b, d) is (p_b - q) / p_b, and S(d, b) is (q - p_b) / (1
    - p_b), each 0 where that is negative. So a positive score gives q, and where both are 0, or the one that the
    paper has is, q is only known to be on one side of p_b: it is then taken to be p_b, no effect.

    Attributes
    ----------
    prerequisites : tuple of str
    lost, won : mapping of (str, Deviation) to float or None
        N(b, d) and S(d, b) by prerequisite and deviation ``d|b``; None where the paper does not have the contrast.
    """

    prerequisites: tuple[str, ...]
    lost: Mapping[tuple[str, Deviation], float | None]
    won: Mapping[tuple[str, Deviation], float | None]

    @classmethod
    def of(cls, task: str, prerequisites: Sequence[str], model: str) -> Readings:
        """Return the readings of the scores of one task and model."""
        lost: dict[tuple[str, Deviation], float | None] = {}
        won: dict[tuple[str, Deviation], float | None] = {}
        for name in prerequisites:
            for deviation in DEVIATIONS:
                own, rest = (State(letter) for letter in deviation.split("|"))
                lost[name, deviation] = won[name, deviation] = None
                for contrast in PAPER_CONTRASTS:
                    if (contrast.a, contrast.a_prime) == (rest, own):
                        lost[name, deviation] = published.scores()[published.ScoreKey(task, name, contrast, "N", model)]
                    if (contrast.a, contrast.a_prime) == (own, rest):
                        won[name, deviation] = published.scores()[published.ScoreKey(task, name, contrast, "S", model)]
        return cls(tuple(prerequisites), lost, won)

    def rate(self, name: str, deviation: Deviation, baselines: Baselines) -> float:
        """Return the success rate with a prerequisite deviating."""
        base = baselines[State(deviation[-1])]
        if lost := self.lost[name, deviation]:
            return base * (1 - lost)
        if won := self.won[name, deviation]:
            return base + won * (1 - base)
        return base

    def interval(self, name: str, deviation: Deviation, baselines: Baselines) -> Interval:
        """Return the rates that print as the scores do."""
        base = baselines[State(deviation[-1])]
        lost, won = self.lost[name, deviation], self.won[name, deviation]
        half = published.ROUNDING
        if lost:
            return base * (1 - lost - half), base * (1 - lost + half)
        if won:
            return base + (won - half) * (1 - base), base + (won + half) * (1 - base)
        return (
            0.0 if lost is None else base * (1 - half),
            1.0 if won is None else base + half * (1 - base),
        )

    def rates(self, baselines: Baselines) -> dict[str, dict[Deviation, float]]:
        """Return the success rates of all deviating runs.

        With two prerequisites, X1 in d and X2 in b is one run with two names. It then has the rate that is nearest to
        what both of its scores say.
        """
        if len(self.prerequisites) != 2:
            return {
                name: {deviation: self.rate(name, deviation, baselines) for deviation in DEVIATIONS}
                for name in self.prerequisites
            }
        first, second = self.prerequisites
        found: dict[str, dict[Deviation, float]] = {first: {}, second: {}}
        for deviation, other in _same_run():
            shared = _between(
                self.interval(first, deviation, baselines),
                self.interval(second, other, baselines),
                (self.rate(first, deviation, baselines) + self.rate(second, other, baselines)) / 2,
            )
            found[first][deviation] = found[second][other] = shared
        return found

    def ties(self, baselines: Baselines) -> Iterator[tuple[Interval, Interval]]:
        """Yield, for two prerequisites, what the two names of each run say about its rate."""
        first, second = self.prerequisites
        for deviation, other in _same_run():
            yield self.interval(first, deviation, baselines), self.interval(second, other, baselines)


def gap(one: Interval, other: Interval) -> float:
    """Return the distance between two intervals; 0 where they meet."""
    return max(0.0, one[0] - other[1], other[0] - one[1])


def _same_run() -> Iterator[tuple[Deviation, Deviation]]:
    reversed_name: dict[str, Deviation] = {deviation[::-1]: deviation for deviation in DEVIATIONS}
    for deviation in DEVIATIONS:
        yield deviation, reversed_name[deviation]


def _between(one: Interval, other: Interval, wish: float) -> float:
    """Return the value nearest to `wish` that is in both intervals, or the middle of the gap between them."""
    low, high = max(one[0], other[0]), min(one[1], other[1])
    return min(max(wish, low), high) if low <= high else (low + high) / 2
