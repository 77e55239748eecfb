"""The figures of video items: the released score, its strata, and partial scores that are kept apart from it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from dodiag.benchmarks.mmcot.data import VideoItem
from dodiag.benchmarks.mmcot.image_scores import Denominator
from dodiag.benchmarks.mmcot.lenient import Parts, lenient_parts
from dodiag.benchmarks.mmcot.notation import cleaned, is_correct
from dodiag.problems import UsageError

PARTS = ("conditions", "replacements", "result", "chain")


@dataclass(frozen=True, slots=True)
class VideoAnswer:
    """What a model said of one item.

    Attributes
    ----------
    item : VideoItem
    text : str or None
        The reply as it came; None where the call failed.
    visible : str or None
        The reply without its reasoning, for the lenient reader; None where nothing was cut.
    stored : bool
        Whether it is an entry of a result file. The released runner leaves failed calls out; one that stands there all
        the same counts as wrong in the released score.
    """

    item: VideoItem
    text: str | None
    visible: str | None = None
    stored: bool = False

    @property
    def failed(self) -> bool:
        """Whether there is no answer of the model."""
        return self.text is None


@dataclass(frozen=True, slots=True)
class VideoScores:
    """Figures of video items.

    Attributes
    ----------
    total, correct : int
        Items, and those that the released rule finds correct.
    lenient : int
        Those whose conditions, replacements and result are right in substance.
    parts : mapping of str to int
        Items with each part right in substance; the chain's is a question of form.
    unread : int
        Answers in which nothing could be read.
    strata : mapping of (str, str) to (int, int)
        Correct and total by length and difficulty; items that lack one of the two are in none.
    failed, absent : int
        Failed calls among the answers, and items of the set without one.
    """

    total: int
    correct: int
    lenient: int
    parts: Mapping[str, int]
    unread: int
    strata: Mapping[tuple[str, str], tuple[int, int]] = field(default_factory=dict)
    failed: int = 0
    absent: int = 0

    @property
    def accuracy(self) -> float | None:
        """The released score."""
        return self.correct / self.total if self.total else None

    @property
    def lenient_accuracy(self) -> float | None:
        """The share that is right in substance."""
        return self.lenient / self.total if self.total else None

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as JSON values."""
        return {
            "total": self.total,
            "correct": self.correct,
            "accuracy": self.accuracy,
            "lenient_correct": self.lenient,
            "lenient_accuracy": self.lenient_accuracy,
            "parts_right": dict(self.parts),
            "unread": self.unread,
            "strata": [
                {"length": length, "difficulty": tier, "correct": correct, "total": total}
                for (length, tier), (correct, total) in self.strata.items()
            ],
            "failed_calls": self.failed,
            "absent": self.absent,
        }


def is_strictly_correct(answer: VideoAnswer) -> bool:
    """Return whether the released script finds an answer correct."""
    item = answer.item
    return answer.text is not None and is_correct(item.critical, item.chain, cleaned(answer.text))


def parts_said(answer: VideoAnswer) -> Parts:
    """Return which parts of an answer are right in substance."""
    text = answer.text if answer.visible is None else answer.visible
    return lenient_parts(answer.item.critical, answer.item.chain, text)


def video_scores(
    answers: Sequence[VideoAnswer],
    *,
    denominator: Denominator = Denominator.RELEASED,
    size: Sequence[VideoItem] | None = None,
) -> VideoScores:
    """Return the figures of some answers, strict and in substance.

    Under ``available`` failed calls are left out, under ``released`` as well unless a result file has them stored.

    Parameters
    ----------
    answers : sequence of VideoAnswer
    denominator : Denominator
    size : sequence of VideoItem, optional
        The whole set; needed for ``fixed``.

    Raises
    ------
    UsageError
        If the whole set is needed and not given.
    """
    if denominator is Denominator.FIXED and size is None:
        raise UsageError("the fixed denominator needs the whole set", "Name the file of its items.")
    failed = sum(answer.failed for answer in answers)
    here = Counter(answer.item for answer in answers if not answer.failed)
    stored = denominator is Denominator.RELEASED
    counted = [answer for answer in answers if not answer.failed or (stored and answer.stored)]
    everything = Counter(size) if size is not None else Counter(answer.item for answer in answers)
    missing = list((everything - here).elements())
    if denominator is Denominator.FIXED:
        counted += [VideoAnswer(item, None) for item in missing]
    correct = lenient = unread = 0
    parts: Counter[str] = Counter()
    strata: dict[tuple[str, str], tuple[int, int]] = {}
    for answer in counted:
        item = answer.item
        strict = is_strictly_correct(answer)
        found = parts_said(answer)
        correct, lenient, unread = correct + strict, lenient + found.correct, unread + (not found.read)
        parts.update(name for name in PARTS if getattr(found, name))
        if item.length and item.difficulty:
            right, total = strata.get((item.length, item.difficulty), (0, 0))
            strata[item.length, item.difficulty] = (right + strict, total + 1)
    absent = max(0, len(missing) - failed)
    ordered = dict(sorted(strata.items()))
    return VideoScores(
        len(counted), correct, lenient, {name: parts[name] for name in PARTS}, unread, ordered, failed, absent
    )
