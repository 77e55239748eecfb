"""Two arms on the same instances, as sums per instance: what every limit of a contrast is computed from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dodiag.bounds.errors import NoData, NotCounts, UnequalPairing
from dodiag.bounds.identified import Floats


@dataclass(frozen=True)
class PairedSums:
    """Outcomes of two arms, summed over the questions of each instance.

    An instance is the unit of sampling: its questions, and reruns of them, move together. Leading axes hold different
    contrasts; an instance that takes no part in one of them has size 0 there.

    Attributes
    ----------
    active, reference : array, shape (..., instances)
        Sum over questions of the mean of solved over draws, under a and under a'; between 0 and `sizes`.
    sizes : array, shape (..., instances)
        Questions of the instance that were scored under both arms.
    """

    active: Floats
    reference: Floats
    sizes: Floats

    @classmethod
    def of(cls, active: ArrayLike, reference: ArrayLike, sizes: ArrayLike | None = None) -> PairedSums:
        """Check two arms and pair them.

        Parameters
        ----------
        active, reference : array_like, shape (..., instances)
            Sums per instance; without `sizes`, one outcome or mean in [0, 1] per instance.
        sizes : array_like, optional
            Questions per instance; 1 for every instance by default.

        Raises
        ------
        UnequalPairing
            If the shapes differ.
        NotCounts
            If a sum is NaN, negative, or larger than the size of its instance.
        NoData
            If there is no instance.

        Examples
        --------
        >>> pairs = PairedSums.of([1, 1, 1, 0], [1, 0, 0, 0])
        >>> float(pairs.p), float(pairs.p_prime), pairs.n.item(), pairs.discordant.item()
        (0.75, 0.25, 4, 2)
        """
        a, r = np.asarray(active, np.float64), np.asarray(reference, np.float64)
        m = np.ones(a.shape) if sizes is None else np.asarray(sizes, np.float64)
        if not a.shape == r.shape == m.shape:
            raise UnequalPairing({"active": a.shape, "reference": r.shape, "sizes": m.shape})
        if not a.ndim or not a.shape[-1]:
            raise NoData("instance")
        _whole(m, "sizes")
        for name, sums in (("active", a), ("reference", r)):
            wrong = ~((sums >= 0) & (sums <= m + 1e-9))
            if wrong.any():
                raise NotCounts(name, float(sums[wrong].flat[0]), "It is between 0 and the size of the instance.")
        return cls(a, r, m)

    @classmethod
    def by_instance(cls, active: Floats, reference: Floats, instance: NDArray[np.int64], instances: int) -> PairedSums:
        """Sum means per question, shape (questions,) each, over `instances` instances; `instance` is their index."""
        totals = [np.bincount(instance, means, instances).astype(np.float64) for means in (active, reference)]
        return cls(totals[0], totals[1], np.bincount(instance, minlength=instances).astype(np.float64))

    @classmethod
    def stack(cls, pairs: Sequence[PairedSums]) -> PairedSums:
        """Put contrasts on the same instances along a new first axis."""
        return cls(*(np.stack([getattr(one, name) for one in pairs]) for name in ("active", "reference", "sizes")))

    @property
    def failures(self) -> PairedSums:
        """The same pairs with failure in place of success and the arms exchanged: S here is N there."""
        return PairedSums(self.sizes - self.reference, self.sizes - self.active, self.sizes)

    @property
    def reversed(self) -> PairedSums:
        """The contrast (a', a)."""
        return PairedSums(self.reference, self.active, self.sizes)

    @property
    def n(self) -> NDArray[np.int64]:
        """Instances that take part, shape (...)."""
        return np.asarray(np.count_nonzero(self.sizes, axis=-1), dtype=np.int64)

    @property
    def questions(self) -> NDArray[np.int64]:
        """Pairs of outcomes, shape (...)."""
        return np.asarray(self.sizes.sum(axis=-1).round(), dtype=np.int64)

    @property
    def discordant(self) -> NDArray[np.int64]:
        """Instances whose arms differ, shape (...)."""
        return np.asarray(np.count_nonzero(np.abs(self.active - self.reference) > 1e-9, axis=-1), dtype=np.int64)

    @property
    def p(self) -> Floats:
        """Mean over questions under a, shape (...); NaN where no instance takes part."""
        return self._mean(self.active)

    @property
    def p_prime(self) -> Floats:
        """Mean over questions under a', shape (...); NaN where no instance takes part."""
        return self._mean(self.reference)

    def _mean(self, sums: Floats) -> Floats:
        total = self.sizes.sum(axis=-1)
        with np.errstate(invalid="ignore"):
            return np.asarray(np.where(total > 0, sums.sum(axis=-1) / total, np.nan))


@dataclass(frozen=True)
class PairedCounts:
    """Pairs of single outcomes by response, arrays of one shape: n10 were solved under a and failed under a'."""

    n11: NDArray[np.int64]
    n10: NDArray[np.int64]
    n01: NDArray[np.int64]
    n00: NDArray[np.int64]

    @classmethod
    def of(cls, n11: ArrayLike, n10: ArrayLike, n01: ArrayLike, n00: ArrayLike) -> PairedCounts:
        """Check four counts and broadcast them.

        Raises
        ------
        NotCounts
            If an entry is NaN, negative or not whole.
        NoData
            If all four are 0 somewhere.
        """
        named = {"n11": n11, "n10": n10, "n01": n01, "n00": n00}
        for name, values in named.items():
            _whole(np.asarray(values, np.float64), name)
        counts = cls(*(np.asarray(v, np.int64) for v in np.broadcast_arrays(*named.values())))
        if not np.all(counts.n):
            raise NoData("pair")
        return counts

    @classmethod
    def from_outcomes(cls, active: ArrayLike, reference: ArrayLike) -> PairedCounts:
        """Count pairs of 0/1 outcomes along the last axis.

        Raises
        ------
        UnequalPairing
            If the shapes differ.
        NotCounts
            If an outcome is neither 0 nor 1.
        NoData
            If there is no pair.
        """
        pairs = PairedSums.of(active, reference)
        for name, sums in (("active", pairs.active), ("reference", pairs.reference)):
            wrong = (sums != 0) & (sums != 1)
            if wrong.any():
                raise NotCounts(name, float(sums[wrong].flat[0]), "Single outcomes are 0 or 1.")
        a, r = pairs.active == 1, pairs.reference == 1
        return cls(*((left & right).sum(axis=-1) for left, right in ((a, r), (a, ~r), (~a, r), (~a, ~r))))

    @property
    def n(self) -> NDArray[np.int64]:
        """Pairs."""
        return np.asarray(self.n11 + self.n10 + self.n01 + self.n00)

    @property
    def p(self) -> Floats:
        """Success rate under a."""
        return np.asarray((self.n11 + self.n10) / self.n)

    @property
    def p_prime(self) -> Floats:
        """Success rate under a'."""
        return np.asarray((self.n11 + self.n01) / self.n)


def _whole(values: Floats, name: str) -> None:
    wrong = ~((values >= 0) & (values == np.floor(values)) & np.isfinite(values))
    if wrong.any():
        raise NotCounts(name, float(values[wrong].flat[0]))
