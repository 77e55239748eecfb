"""A race for the prerequisite with the highest S(1, n), decided while a run is still going on.

All S(1, n) of one task share the baseline do(A = natural), so the highest S is the highest success probability p_i with
only prerequisite i supplied: a best-arm search among arms that answer the same instances in random order. The race
may be stopped, or looked at, after any instance without spoiling its guarantee; limits reported after it has stopped
have to be valid at any stopping time too.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dodiag.bounds.errors import NoData, NotAProbability, NotCounts, UnequalPairing
from dodiag.bounds.formulas import ROUNDING, confidence_level, probability
from dodiag.bounds.identified import Floats
from dodiag.problems import UsageError

BETS = np.linspace(0.05, 0.95, 19)
"""Shares of the wealth that the bets risk; the e-value is their mean, so that none has to be the right one."""


@dataclass(frozen=True, slots=True)
class Drop:
    """An arm that was ruled out as the best.

    Attributes
    ----------
    arm : int
        Its column.
    after : int
        Instances seen by then.
    by : int
        The arm that contributed most of the evidence; the lowest column if several did equally.
    log_e_value : float
        Natural logarithm of the e-value of "this arm is a best one"; infinite where the remaining instances of a
        finite benchmark could no longer save it.
    """

    arm: int
    after: int
    by: int
    log_e_value: float

    @property
    def e_value(self) -> float:
        """The e-value; infinite where it is too large to write down."""
        return math.exp(self.log_e_value) if self.log_e_value < 700 else math.inf


@dataclass(frozen=True, slots=True)
class RaceResult:
    """What a race has come to.

    Attributes
    ----------
    decided : bool
        Whether the race has winners.
    winners : tuple of int
        The arm shown to be the best; with an indifference zone all arms shown to be good enough; after the last
        instance of a finite benchmark all arms that tie for the best. Empty while undecided.
    alive : tuple of int
        Arms not ruled out as the best.
    leaders : tuple of int
        Arms among `alive` with the highest mean so far, whether or not that is conclusive.
    dropped : tuple of Drop
        In the order of dropping.
    seen : int
        Instances.
    calls, calls_without_race : int
        Outcomes that were needed, and what all arms would have taken on the same instances.
    level : float
        Chance, at least, that `winners` are right.
    indifference : float
        Difference in success probability below which arms count as equally good.
    population : int or None
        Size of the finite benchmark that the claim is about; None if it is about what the instances are sampled from.
    reason : str
        Why it is decided, or why not.
    """

    decided: bool
    winners: tuple[int, ...]
    alive: tuple[int, ...]
    leaders: tuple[int, ...]
    dropped: tuple[Drop, ...]
    seen: int
    calls: int
    calls_without_race: int
    level: float
    indifference: float
    population: int | None
    reason: str


@dataclass(frozen=True, eq=False)
class Race:
    """The state of a race, as a value: :meth:`seen` returns the next one.

    Start one with :meth:`start`, feed it one instance at a time, ask only the arms in :attr:`wanted` for the next
    instance, and stop when none is wanted.

    Notes
    -----
    For two arms the difference D_t = X_ti − X_tj on instance t has mean p_i − p_j. While "j is at least as good as i"
    holds, the wealth of a bet on D, E_ij = mean over λ of Π(1 + λ D_t), cannot be expected to grow (Ville's
    inequality). If j is a best arm this is so for all i at once, so the mean of E_ij over the other arms is an e-value,
    and j is dropped when it reaches 1/α: a best arm is dropped with a chance of at most α, at whatever time one looks.
    The rule drops no later than "some E_ij ≥ (k − 1)/α". A dropped arm's bets stop where they are.

    On a finite benchmark the instances are drawn without replacement, and the mean of what is left is known to be at
    most m_t = (0 − sum of past D)/(instances left) under the same hypothesis; the factors are 1 + λ_t (D_t − m_t), with
    λ_t = λ / max(1, 1 + m_t) so that no factor is negative (Waudby-Smith & Ramdas 2020).

    With an indifference zone ε, the arm i wins when for every other arm j alive the e-value of "j is better than i by
    at least ε" reaches (k − 1)/α. Dropping and winning then get half of α each.

    Examples
    --------
    >>> race = Race.start(2)
    >>> for _ in range(10):
    ...     race = race.seen([1, 0])
    >>> race.verdict.winners, race.wanted
    ((0,), ())
    """

    level: float
    population: int | None
    indifference: float
    alive: NDArray[np.bool_]
    instances: int
    calls: int
    sums: Floats
    """Sum of outcomes per arm; comparable among arms alive."""
    log_wealth: Floats
    """Per null hypothesis, pair (i, j) and bet, shape (1 or 2, k, k, bets): 0 is "i is not better than j", 1 is "j is
    better than i by the indifference zone"."""
    certain: NDArray[np.bool_]
    """Null hypotheses that the instances left cannot make true any more, shape (1 or 2, k, k)."""
    dropped: tuple[Drop, ...] = ()

    @classmethod
    def start(cls, k: int, level: float = 0.95, *, population: int | None = None, indifference: float = 0.0) -> Race:
        """Return the race of k arms before its first instance.

        Parameters
        ----------
        k : int
            Arms, at least 2.
        level : float
            Chance, at least, that the winner is right; in (0, 1).
        population : int, optional
            Instances of the whole benchmark, if the claim is to be about these alone.
        indifference : float
            ε in [0, 1): arms within ε of the best count as equally good.

        Raises
        ------
        UsageError
            If there are fewer than two arms.
        NotAProbability
            If the level or the indifference zone is out of range.
        NotCounts
            If the population is not a whole number above 0.
        """
        if not float(k).is_integer() or k < 2:
            raise UsageError(f"a race of {k} arms", "A race needs at least two prerequisites.")
        if not 0 <= indifference < 1:
            raise NotAProbability("indifference", indifference)
        if population is not None and (not float(population).is_integer() or population < 1):
            raise NotCounts("population", population)
        nulls = 2 if indifference else 1
        return cls(
            level=confidence_level(level),
            population=None if population is None else int(population),
            indifference=float(indifference),
            alive=np.ones(k, np.bool_),
            instances=0,
            calls=0,
            sums=np.zeros(k),
            log_wealth=np.zeros((nulls, k, k, BETS.size)),
            certain=np.zeros((nulls, k, k), np.bool_),
        )

    def seen(self, row: ArrayLike) -> Race:
        """Return the race after one more instance.

        Parameters
        ----------
        row : array_like, shape (k,)
            Outcome of each arm: 0 or 1, or the mean in [0, 1] over the questions of the instance. Entries of dropped
            arms are not read, and may be NaN.

        Raises
        ------
        UnequalPairing
            If there is not one entry per arm.
        NoData
            If an arm that is alive has no outcome: ask again, or leave the instance out for all arms. A finite
            benchmark that lacks an instance has to be started again with a smaller population.
        NotAProbability
            If an outcome is outside [0, 1].
        UsageError
            If the whole population has been seen already.
        """
        outcomes = np.asarray(row, dtype=np.float64)
        if outcomes.shape != self.alive.shape:
            raise UnequalPairing({"row": outcomes.shape, "arms": self.alive.shape})
        if self.population is not None and self.instances >= self.population:
            raise UsageError(f"instance {self.instances + 1} of a benchmark of {self.population}", "Check the size.")
        missing = self.alive & np.isnan(outcomes)
        if missing.any():
            raise NoData(f"outcome of arm {int(np.flatnonzero(missing)[0])}, which is still in the race")
        outcomes = np.where(self.alive, outcomes, 0.0)
        probability(outcomes, "outcome")

        racing = self.alive[:, None] & self.alive & ~np.eye(self.alive.size, dtype=np.bool_)
        past = self.sums[:, None] - self.sums
        gains = (outcomes[:, None] - outcomes)[..., None]
        log_wealth, certain = self.log_wealth.copy(), self.certain.copy()
        for null, mean in enumerate((0.0, -self.indifference)[: len(log_wealth)]):
            expected = self._expected(mean, past)[..., None]
            factor = np.log1p(BETS / np.maximum(1.0, 1.0 + expected) * (gains - expected))
            log_wealth[null] += np.where(racing[..., None], factor, 0.0)
            if self.population is not None:
                left = self.population - self.instances - 1
                surplus = past + gains[..., 0] - left - mean * self.population
                certain[null] |= racing & (surplus > ROUNDING * self.population)
        after = replace(
            self,
            instances=self.instances + 1,
            calls=self.calls + int(self.alive.sum()),
            sums=self.sums + outcomes,
            log_wealth=log_wealth,
            certain=certain,
        )
        return after._without_beaten()

    @property
    def wanted(self) -> tuple[int, ...]:
        """Arms whose outcome on the next instance is needed; none once the race is decided or over."""
        exhausted = self.population is not None and self.instances == self.population
        return () if exhausted or self._winners() else self._arms(self.alive)

    @property
    def leaders(self) -> tuple[int, ...]:
        """Arms among those alive with the highest mean so far."""
        return self._arms(self._leading())

    @property
    def verdict(self) -> RaceResult:
        """What the race has come to so far."""
        winners, alive = self._winners(), self._arms(self.alive)
        return RaceResult(
            decided=bool(winners),
            winners=winners,
            alive=alive,
            leaders=self.leaders,
            dropped=self.dropped,
            seen=self.instances,
            calls=self.calls,
            calls_without_race=self.instances * self.alive.size,
            level=self.level,
            indifference=self.indifference,
            population=self.population,
            reason=self._reason(winners),
        )

    def _expected(self, mean: float, past: Floats) -> Floats:
        """Return the largest mean that the null hypothesis leaves for the next difference."""
        if self.population is None:
            return np.full(past.shape, mean)
        # Below −1 the null hypothesis is refuted already; −1 keeps the factors finite, and `certain` records the rest.
        return np.maximum((mean * self.population - past) / (self.population - self.instances), -1.0)

    def _log_evidence(self, null: int) -> Floats:
        """Return log E_ij, shape (k, k), −∞ on the diagonal."""
        evidence: Floats = np.logaddexp.reduce(self.log_wealth[null], axis=-1) - math.log(BETS.size)
        evidence[self.certain[null]] = np.inf
        np.fill_diagonal(evidence, -np.inf)
        return evidence

    def _log_threshold(self) -> float:
        """Return log (k − 1)/α, with α the share of the error that each of dropping and winning may use."""
        alpha = (1 - self.level) / (2 if self.indifference else 1)
        return math.log((self.alive.size - 1) / alpha)

    def _leading(self) -> NDArray[np.bool_]:
        best = self.sums[self.alive].max()
        leading: NDArray[np.bool_] = self.alive & (self.sums >= best - ROUNDING * max(1, self.instances))
        return leading

    def _without_beaten(self) -> Race:
        evidence = self._log_evidence(0)
        total = np.logaddexp.reduce(evidence, axis=0)
        # An arm with the highest mean stays even if bets of arms dropped long ago would rule it out: someone has to.
        beaten = self.alive & (total >= self._log_threshold()) & ~self._leading()
        if not beaten.any():
            return self
        drops = tuple(
            Drop(arm, self.instances, int(np.argmax(evidence[:, arm])), float(total[arm] - math.log(beaten.size - 1)))
            for arm in self._arms(beaten)
        )
        return replace(self, alive=self.alive & ~beaten, dropped=self.dropped + drops)

    def _winners(self) -> tuple[int, ...]:
        if self.alive.sum() == 1:
            return self._arms(self.alive)
        if self.population is not None and self.instances == self.population:
            return self.leaders
        if not self.indifference:
            return ()
        beats = (self._log_evidence(1) >= self._log_threshold()) | ~self.alive | np.eye(self.alive.size, dtype=np.bool_)
        return self._arms(self.alive & beats.all(axis=1))

    def _reason(self, winners: tuple[int, ...]) -> str:
        left = int(self.alive.sum())
        if left == 1:
            return "every other arm was ruled out as the best"
        if self.population is not None and self.instances == self.population:
            return "every instance of the benchmark was seen"
        if winners:
            return f"within {self.indifference:g} of the best of {left} arms that are left"
        return f"{left} arms cannot be told apart after {self.instances} instances"

    @staticmethod
    def _arms(mask: NDArray[np.bool_]) -> tuple[int, ...]:
        return tuple(int(arm) for arm in np.flatnonzero(mask))


def race(outcomes: ArrayLike, level: float = 0.95, *, finite: bool = False, indifference: float = 0.0) -> RaceResult:
    """Race the columns of a finished table, as if each row had been seen in turn.

    Parameters
    ----------
    outcomes : array_like, shape (instances, k)
        Outcomes in [0, 1] with only prerequisite i supplied, rows in random order. Entries that come after an arm was
        dropped are not read, and may be NaN. Rows that come after the race was decided are not read either.
    level : float
        Chance, at least, that the winner is right.
    finite : bool
        Whether the claim is about these instances alone (the rows are the whole benchmark) and not about what they
        are sampled from.
    indifference : float
        ε in [0, 1): arms within ε of the best count as equally good.

    Raises
    ------
    UnequalPairing
        If `outcomes` is not a table.
    NoData
        If it has no row, or an arm that is alive has no outcome.
    UsageError, NotAProbability
        As :meth:`Race.start` and :meth:`Race.seen`.

    Examples
    --------
    >>> rows = np.random.default_rng(0).random((100, 3)) < [0.9, 0.3, 0.3]
    >>> verdict = race(rows)
    >>> verdict.winners, verdict.calls < 150
    ((0,), True)
    """
    table = np.asarray(outcomes, dtype=np.float64)
    if table.ndim != 2:
        raise UnequalPairing({"outcomes (instances, k)": table.shape})
    if not len(table):
        raise NoData("instance")
    state = Race.start(table.shape[1], level, population=len(table) if finite else None, indifference=indifference)
    for row in table:
        state = state.seen(row)
        if not state.wanted:
            break
    return state.verdict
