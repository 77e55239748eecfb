"""The figures of picture items: Multi, the three slots, and Single, which no released code defines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from dodiag.benchmarks.mmcot.lenient import lenient_links
from dodiag.benchmarks.mmcot.notation import SLOTS, Links, links_of
from dodiag.problems import UsageError

FAILED = ("ERROR", "ERROR_LOADING_IMAGE")
"""How the released script stores a call that failed; it counts such a text as a wrong answer."""

SINGLE = "Single (assumed)"
"""The pooled share of right chains. The paper prints Single without a definition, and its values decide none."""


class Denominator(StrEnum):
    """What a figure is divided by.

    ``released``: stored answers, texts of failed calls among them as wrong. ``available``: answers without those.
    ``fixed``: the size of the set, whatever is missing being wrong.
    """

    RELEASED = "released"
    AVAILABLE = "available"
    FIXED = "fixed"


@dataclass(frozen=True, slots=True)
class ImageAnswer:
    """What a model said of one item.

    Attributes
    ----------
    id : str
    gold : mapping
        The right chains, by condition.
    text : str or None
        The reply as it came; None where the call failed.
    visible : str or None
        The reply without its reasoning, for the lenient reader; None where nothing was cut.
    """

    id: str
    gold: Links
    text: str | None
    visible: str | None = None

    @property
    def failed(self) -> bool:
        """Whether there is no answer of the model."""
        return self.text is None


@dataclass(frozen=True, slots=True)
class ImageScores:
    """Figures of picture items under one reading and one denominator; shares are None where nothing is counted.

    Attributes
    ----------
    total, correct : int
        Items, and those with all chains right.
    slots : mapping of str to (int, int)
        Right chains and items that have the slot, by A1, A2, A3.
    chains : tuple of (int, int)
        Right chains and chains of each item, for limits of sampling.
    failed, absent : int
        Failed calls among the answers, and items of the set without one.
    """

    total: int
    correct: int
    slots: Mapping[str, tuple[int, int]]
    chains: tuple[tuple[int, int], ...] = ()
    failed: int = 0
    absent: int = 0

    @property
    def multi(self) -> float | None:
        """The share of items with all three chains right; the paper's Multi, the script's sample accuracy."""
        return self.correct / self.total if self.total else None

    @property
    def single(self) -> float | None:
        """The pooled share of right chains; see :data:`SINGLE`."""
        right, total = (sum(column) for column in zip(*self.slots.values(), strict=True))
        return right / total if total else None

    def slot(self, name: str) -> float | None:
        """Return the share of right chains of one condition."""
        right, total = self.slots[name]
        return right / total if total else None

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as JSON values, with the names of the released script."""
        return {
            "total_samples": self.total,
            "correct_samples_fully_matched": self.correct,
            "sample_accuracy_full_match": self.multi,
            "single_assumed": self.single,
            "per_slot": {
                name: {"total": total, "correct": right, "accuracy": self.slot(name)}
                for name, (right, total) in self.slots.items()
            },
            "failed_calls": self.failed,
            "absent": self.absent,
        }


def links_said(answer: ImageAnswer, *, lenient: bool) -> dict[str, tuple[str, str]]:
    """Return the chains of an answer, as the released script reads it or leniently."""
    if not lenient:
        return links_of(answer.text)
    return lenient_links(answer.text if answer.visible is None else answer.visible)


def image_scores(
    answers: Sequence[ImageAnswer],
    *,
    lenient: bool = False,
    denominator: Denominator = Denominator.RELEASED,
    size: Mapping[str, Links] | None = None,
) -> ImageScores:
    """Return the figures of some answers.

    Parameters
    ----------
    answers : sequence of ImageAnswer
    lenient : bool
        Read replies as a person would, not as the released script does.
    denominator : Denominator
    size : mapping of str to links, optional
        The right chains of the whole set by id; needed for ``fixed``.

    Raises
    ------
    UsageError
        If the whole set is needed and not given.

    Examples
    --------
    >>> gold = {"A1": ("B1", "C1"), "A2": ("B2", "C2"), "A3": ("B3", "C3")}
    >>> right, bare = "A1->B1->C1, A2->B2->C2, A3->B3->C3", "A1->B1->C1"
    >>> found = image_scores([ImageAnswer("0", gold, right), ImageAnswer("1", gold, bare)])
    >>> found.multi, found.slot("A1"), round(found.single, 3)
    (0.5, 1.0, 0.667)
    """
    if denominator is Denominator.FIXED and size is None:
        raise UsageError("the fixed denominator needs the whole set", "Name the file of its items.")
    failed = sum(answer.failed for answer in answers)
    counted = list(answers)
    absent = 0 if size is None else len(set(size) - {answer.id for answer in answers})
    if denominator is Denominator.AVAILABLE:
        counted = [answer for answer in answers if not answer.failed]
    elif size is not None and denominator is Denominator.FIXED:
        here = {answer.id for answer in answers}
        counted += [ImageAnswer(name, gold, None) for name, gold in size.items() if name not in here]
    correct, right, total = 0, dict.fromkeys(SLOTS, 0), dict.fromkeys(SLOTS, 0)
    chains: list[tuple[int, int]] = []
    for answer in counted:
        said = {} if answer.failed else links_said(answer, lenient=lenient)
        correct += bool(answer.gold) and said == dict(answer.gold)
        solved = [slot for slot in answer.gold if said.get(slot) == answer.gold[slot]]
        chains.append((len(solved), len(answer.gold)))
        for slot in answer.gold:
            total[slot] += 1
            right[slot] += slot in solved
    slots = {slot: (right[slot], total[slot]) for slot in SLOTS}
    return ImageScores(len(counted), correct, slots, tuple(chains), failed, absent)
