"""The figures of CCRV-Bench from labelled answers: DCR, CSR, eDCR, CDI and eCDI under three denominators.

All values are shares between 0 and 1; the papers print them times 100. Positive CDI means that constraints cost.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

from dodiag.benchmarks.ccrv.data import LEVELS, Dataset, ItemKey
from dodiag.problems import UsageError, nearest

BASELINE = "base"
"""What stands in the place of a constraint for an unconstrained item."""


class Denominator(StrEnum):
    """Over what a figure is averaged."""

    FIXED = "fixed"
    AVAILABLE = "available"
    MATCHED = "matched"


Labels = tuple[int, int, int]
"""Binary labels of L1, L2, L3."""


def cascade(labels: Labels) -> Labels:
    """Return the labels of which each counts only where those before it hold.

    Examples
    --------
    >>> cascade((1, 0, 1)), cascade((0, 1, 1))
    ((1, 0, 0), (0, 0, 0))
    """
    first, second, third = labels
    if any(label not in (0, 1) for label in labels):
        raise UsageError(f"labels {labels} are not 0 or 1", "A judge says yes or no to each level.")
    return first, first * second, first * second * third


def dcr(labels: Labels, *, rounded: bool = False) -> float:
    """Return the depth of causal reasoning of one answer: the mean of the cascaded labels, 0 to 1.

    Parameters
    ----------
    labels : tuple of 3 ints
    rounded : bool
        To 3 decimals, as the released code stores it before it averages; a mean differs by at most 0.00034.

    Examples
    --------
    >>> dcr((1, 1, 0), rounded=True)
    0.667
    """
    value = sum(cascade(labels)) / 3
    return round(value, 3) if rounded else value


@dataclass(frozen=True, slots=True)
class Record:
    """One answer as it was labelled.

    Attributes
    ----------
    item : ItemKey
    constraint : str
        ``base`` or Y1 to Y4.
    labels : tuple of 3 ints
        Raw labels, before the cascade.
    csr : int or None
        Whether the constraint is kept; None for an unconstrained item.
    cluster : str
        Of the image.
    """

    item: ItemKey
    constraint: str
    labels: Labels
    csr: int | None = None
    cluster: str = "other"

    @property
    def x(self) -> str:
        """The causal task."""
        return self.item.x


@dataclass(frozen=True)
class Design:
    """The items that a set has by causal task, and the constraints: what fixed denominators count.

    Attributes
    ----------
    items : frozenset of ItemKey
    constraints : tuple of str
    """

    items: frozenset[ItemKey]
    constraints: tuple[str, ...]

    @classmethod
    def of(cls, dataset: Dataset) -> Design:
        """Return the design of a set.

        Raises
        ------
        UsageError
            If some items lack a constraint that others have: fixed denominators need a full design.
        """
        found = {item.key: frozenset(variant.family for variant in item.variants.values()) for item in dataset.items()}
        union = sorted(set().union(*found.values()))
        short = [key for key, had in found.items() if had != frozenset(union)]
        if short:
            message = f"{dataset.source}: {short[0]} and {len(short) - 1} more items lack a constraint that others have"
            raise UsageError(message, "Complete the set, or leave those items out.")
        return cls(frozenset(found), tuple(union))


@dataclass(frozen=True, slots=True)
class Figures:
    """The figures of one group; a value is None where nothing defines it.

    Attributes
    ----------
    x, y : str
        The group's causal task and constraint, ``all`` for every one.
    denominator : str
    n, missing : int
        Constrained answers that were scored, and those of the design that were not.
    base_n, base_missing : int
        The same of the unconstrained items of the group.
    pairs : int
        Items and constraints scored both with and without the constraint.
    base_levels, levels : tuple of 3 floats
        Cascaded pass rates without and with the constraint.
    base_dcr, dcr, csr, edcr, cdi, ecdi : float or None
    compliant_n : int
        Constrained answers that keep their constraint.
    compliant_dcr : float or None
        Their mean DCR.
    """

    x: str
    y: str
    denominator: str
    n: int
    missing: int
    base_n: int
    base_missing: int
    pairs: int
    base_levels: tuple[float | None, float | None, float | None]
    levels: tuple[float | None, float | None, float | None]
    base_dcr: float | None
    dcr: float | None
    csr: float | None
    edcr: float | None
    cdi: float | None
    ecdi: float | None
    compliant_n: int
    compliant_dcr: float | None

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as JSON values."""
        return asdict(self)


ALL = "all"


@dataclass(frozen=True)
class Scores:
    """Labelled answers of one model on one set.

    Attributes
    ----------
    design : Design
    baseline : mapping of ItemKey to Record
    constrained : mapping of (ItemKey, str) to Record
    rounded : bool
        Round every answer's DCR to 3 decimals first, as the released code does.
    """

    design: Design
    baseline: Mapping[ItemKey, Record]
    constrained: Mapping[tuple[ItemKey, str], Record]
    rounded: bool = False

    @classmethod
    def of(cls, design: Design, records: Iterable[Record], *, rounded: bool = False) -> Scores:
        """Return the scores of records.

        Raises
        ------
        UsageError
            If a record is of no item of the design, stands twice, or has no CSR where it needs one.
        """
        baseline: dict[ItemKey, Record] = {}
        constrained: dict[tuple[ItemKey, str], Record] = {}
        for record in records:
            where = f"the record of {record.item}, {record.constraint}"
            if record.item not in design.items:
                raise UsageError(f"{where} is of no item of the set", "Score it with the set that was asked.")
            if record.constraint == BASELINE:
                twice = record.item in baseline
                baseline[record.item] = record
            else:
                if record.constraint not in design.constraints:
                    raise UsageError(f"{where} has a constraint that the set lacks", "Use the set that was asked.")
                if record.csr not in (0, 1):
                    raise UsageError(f"{where} does not say whether the constraint is kept", "Judge it first.")
                twice = (record.item, record.constraint) in constrained
                constrained[record.item, record.constraint] = record
            if twice:
                raise UsageError(f"{where} stands twice", "Choose one draw.")
        return cls(design, baseline, constrained, rounded)

    def figures(
        self, x: str | None = None, y: str | None = None, denominator: Denominator | str = Denominator.FIXED
    ) -> Figures:
        """Return the figures of a group.

        Parameters
        ----------
        x, y : str, optional
            One causal task, one constraint; None is all of them.
        denominator : {"fixed", "available", "matched"}
            ``fixed`` (v2 of the paper, the default) divides sums by the size of the design, a missing answer counting
            as 0; a group without any answer has no figures. ``available`` (v1, and the released code) averages over
            the constrained answers that exist and over their own items' baselines, so that an item's baseline counts
            once for each of its constrained answers. ``matched`` (v1's special field for Y2) does so over the pairs
            that have both.
        """
        rule = Denominator(denominator)
        self._require(x, y)
        items = [key for key in self.design.items if x in (None, key.x)]
        kinds = [kind for kind in self.design.constraints if y in (None, kind)]
        rows = [r for (key, kind), r in self.constrained.items() if x in (None, key.x) and kind in kinds]
        bases = [r for key, r in self.baseline.items() if x in (None, key.x)]
        linked = [self.baseline[r.item] for r in rows if r.item in self.baseline]
        paired = [r for r in rows if r.item in self.baseline]
        size = len(items) * len(kinds)
        if rule is Denominator.MATCHED:
            con, con_size, base, base_size = paired, len(paired), linked, len(linked)
        elif rule is Denominator.AVAILABLE:
            con, con_size, base, base_size = rows, len(rows), linked, len(linked)
        else:
            con, con_size, base, base_size = rows, size, bases, len(items)
        if not kinds:
            base, base_size = bases, len(items) if rule is Denominator.FIXED else len(bases)
        # Nothing at all is no score, whatever is divided by.
        con_size, base_size = con_size if con else 0, base_size if base else 0
        mean_dcr = _mean(map(self.dcr, con), con_size)
        effective = _mean((self.dcr(r) * (r.csr or 0) for r in con), con_size)
        base_dcr = _mean(map(self.dcr, base), base_size)
        compliant = [r for r in con if r.csr]
        return Figures(
            x=x or ALL,
            y=y or ALL,
            denominator=rule.value,
            n=len(rows),
            missing=size - len(rows),
            base_n=len(bases),
            base_missing=len(items) - len(bases),
            pairs=len(paired),
            base_levels=_levels(base, base_size),
            levels=_levels(con, con_size),
            base_dcr=base_dcr,
            dcr=mean_dcr,
            csr=_mean((r.csr or 0 for r in con), con_size),
            edcr=effective,
            cdi=_minus(base_dcr, mean_dcr),
            ecdi=_minus(base_dcr, effective),
            compliant_n=len(compliant),
            compliant_dcr=_mean(map(self.dcr, compliant), len(compliant)),
        )

    def _require(self, x: str | None, y: str | None) -> None:
        if x is not None and x not in (known := {key.x for key in self.design.items}):
            raise UsageError(f"the set has no causal task '{x}'", nearest(x, sorted(known)))
        if y is not None and y not in self.design.constraints:
            raise UsageError(f"the set has no constraint '{y}'", nearest(y, self.design.constraints or ("none",)))

    def dcr(self, record: Record) -> float:
        """Return the DCR of an answer, rounded where the scores are."""
        return dcr(record.labels, rounded=self.rounded)

    def table(self, denominator: Denominator | str = Denominator.FIXED) -> list[Figures]:
        """Return the figures overall, by causal task, by constraint, and by both."""
        xs = sorted({key.x for key in self.design.items})
        ys = self.design.constraints
        groups: list[tuple[str | None, str | None]] = [(None, None), *((x, None) for x in xs)]
        groups += [(None, y) for y in ys] + [(x, y) for x in xs for y in ys]
        return [self.figures(x, y, denominator) for x, y in groups]

    def by_cluster(self) -> dict[str, tuple[int, float]]:
        """Return the number and the mean DCR of unconstrained answers by the image's action word."""
        return _grouped(self.baseline.values(), lambda r: r.cluster, self.dcr)


def raw_levels(records: Sequence[Record]) -> dict[str, float | None]:
    """Return the pass rates of the levels before the cascade, as the controls of the paper report them."""
    return {name: _mean((r.labels[i] for r in records), len(records)) for i, name in enumerate(LEVELS)}


def _levels(records: Sequence[Record], size: int) -> tuple[float | None, float | None, float | None]:
    found = [cascade(record.labels) for record in records]
    return (
        _mean((labels[0] for labels in found), size),
        _mean((labels[1] for labels in found), size),
        _mean((labels[2] for labels in found), size),
    )


def _mean(values: Iterable[float], size: int) -> float | None:
    total = sum(values)
    return total / size if size else None


def _minus(first: float | None, second: float | None) -> float | None:
    return None if first is None or second is None else first - second


def _grouped(
    records: Iterable[Record], key: Callable[[Record], str], value: Callable[[Record], float]
) -> dict[str, tuple[int, float]]:
    groups: dict[str, list[float]] = {}
    for record in records:
        groups.setdefault(key(record), []).append(value(record))
    return {name: (len(found), sum(found) / len(found)) for name, found in sorted(groups.items())}
