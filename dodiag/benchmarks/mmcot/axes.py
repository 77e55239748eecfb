"""Dual-axis diagnosis: of what kind the options are that a model takes instead of the right one.

A choice among options of both classes shows one failure and hides the others: who took a logical distractor may have
fallen for a visual one as well. So a class has a failure rate between the share that took it and the share that was not
right; both ends are counted here, and limits of sampling come on top (``dodiag.evaluations.mmcot_axes``).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from dodiag.benchmarks.mmcot.data import ImageItem
from dodiag.benchmarks.mmcot.notation import Links
from dodiag.benchmarks.mmcot.taxonomy import Axis, DistractorType


class Taken(StrEnum):
    """What was taken: the right option, a distractor, a true option in the wrong place, or nothing legible."""

    RIGHT = "right"
    VISUAL = "visual"
    LOGICAL = "logical"
    MISPLACED = "misplaced"
    UNLABELLED = "unlabelled"
    UNREAD = "unread"


@dataclass(frozen=True, slots=True)
class Pick:
    """One choice.

    Attributes
    ----------
    instance : str
        What choices are clustered by.
    taken : Taken
    type : DistractorType or None
        Of a labelled distractor.
    visual, logical : int
        Distractors of each class that were on offer.
    """

    instance: str
    taken: Taken
    type: DistractorType | None
    visual: int
    logical: int

    def offered(self, axis: Axis) -> int:
        """Return how many distractors of a class were on offer."""
        return self.visual if axis is Axis.VISUAL else self.logical


@dataclass(frozen=True, slots=True)
class AxisCounts:
    """Choices in which a class was on offer.

    Attributes
    ----------
    axis : Axis
    n : int
        Choices.
    right, failed : int
        Those that took the right option, and those that took a distractor of this class.
    chance : float
        What :attr:`against_right` would be if all options were equally likely: the mean of 1 / (1 + options of this
        class) over the choices that it counts, over all choices where it counts none.
    """

    axis: Axis
    n: int
    right: int
    failed: int
    chance: float

    @property
    def shown(self) -> float | None:
        """The share that took this class: no less of the choices fail on this axis."""
        return self.failed / self.n if self.n else None

    @property
    def possible(self) -> float | None:
        """The share that was not right: no more of the choices fail on this axis."""
        return (self.n - self.right) / self.n if self.n else None

    @property
    def against_right(self) -> float | None:
        """The share of right choices among those that took the right option or this class."""
        return self.right / (self.right + self.failed) if self.right + self.failed else None


def axis_counts(picks: Sequence[Pick], axis: Axis) -> AxisCounts:
    """Return the counts of a class.

    Examples
    --------
    >>> picks = [Pick("i", Taken.RIGHT, None, 1, 1), Pick("j", Taken.LOGICAL, None, 1, 1)]
    >>> found = axis_counts(picks, Axis.VISUAL)
    >>> found.shown, found.possible, found.against_right, found.chance
    (0.0, 0.5, 1.0, 0.5)
    """
    offered = [pick for pick in picks if pick.offered(axis)]
    taken = Counter(pick.taken for pick in offered)
    decided = [pick for pick in offered if pick.taken in (Taken.RIGHT, Taken(axis.value))]
    expected = [1 / (1 + pick.offered(axis)) for pick in decided or offered]
    chance = sum(expected) / len(expected) if expected else 0.0
    return AxisCounts(axis, len(offered), taken[Taken.RIGHT], taken[Taken(axis.value)], chance)


def type_counts(picks: Iterable[Pick]) -> dict[DistractorType, int]:
    """Return how often each fine type was taken, in the order of the taxonomy."""
    found = Counter(pick.type for pick in picks if pick.type is not None)
    return {kind: found[kind] for kind in DistractorType if found[kind]}


def picks_of_links(item: ImageItem, said: Links, instance: str | None = None) -> list[Pick]:
    """Return the choices in an answer to a picture item: two for each right chain, its step and its outcome.

    An option that belongs to another chain is misplaced; a distractor without a label is ``unlabelled``.
    """
    options = (item.steps, item.outcomes)
    right = [{link[place] for link in item.links.values()} for place in (0, 1)]
    picks = []
    for slot, gold in item.links.items():
        answer = said.get(slot)
        for place in (0, 1):
            kinds = [item.types[label].axis for label in options[place] if label in item.types]
            label = None if answer is None else answer[place]
            kind = item.types.get(label) if label is not None else None
            taken = _taken(label, gold[place], right[place], kind, label in options[place])
            picks.append(Pick(instance or item.id, taken, kind, kinds.count(Axis.VISUAL), kinds.count(Axis.LOGICAL)))
    return picks


def _taken(label: str | None, gold: str, right: set[str], kind: DistractorType | None, there: bool) -> Taken:
    if label is None or not there:
        return Taken.UNREAD
    if label == gold:
        return Taken.RIGHT
    if label in right:
        return Taken.MISPLACED
    return Taken.UNLABELLED if kind is None else Taken(kind.axis.value)
