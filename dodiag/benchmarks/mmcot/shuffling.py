"""Order of options and answers, and the quality filter: the parts of the construction that are rules."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dodiag.benchmarks.mmcot.data import DISTRACTOR_TYPES, ImageItem
from dodiag.benchmarks.mmcot.notation import SLOTS, Links
from dodiag.problems import UsageError

KEEP_FROM = 4.0
"""Quality score from which the released filter keeps an item."""

_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")


def answer_text(links: Links) -> str:
    """Return chains in the released notation.

    Examples
    --------
    >>> answer_text({"A1": ("B2", "C3"), "A2": ("B1", "C1")})
    'A1->B2->C3, A2->B1->C1'
    """
    return ", ".join(f"{slot}->{step}->{outcome}" for slot, (step, outcome) in links.items())


def in_order(answer: str) -> str:
    """Return a right answer as the released script orders it: A1's and A2's chains change places, once.

    That sorts A2, A1, A3 and nothing else; another order stays unordered, which scoring does not mind. Chains are
    separated by a comma and a blank.

    Raises
    ------
    UsageError
        If there is no chain of A1 or of A2.

    Examples
    --------
    >>> in_order("A2->B1->C2, A1->B2->C3, A3->B3->C1")
    'A1->B2->C3, A2->B1->C2, A3->B3->C1'
    """
    chains = answer.split(", ")
    places = {chain.split("->")[0].strip(): place for place, chain in enumerate(chains)}
    if list(places) == ["A1", "A2", "A3"]:
        return answer
    if "A1" not in places or "A2" not in places:
        raise UsageError(f"the answer '{answer}' has no chain of A1 or of A2", "Give all three chains.")
    first, second = places["A1"], places["A2"]
    chains[first], chains[second] = chains[second], chains[first]
    return ", ".join(chains)


def shuffled(item: ImageItem, rng: np.random.Generator) -> ImageItem:
    """Return an item with the contents of B and C under other labels, and its answer and distractor labels with them.

    Raises
    ------
    UsageError
        If two options of a set have the same content, for which the released script guesses, or the right answer is
        not three chains through options that are there.
    """
    if set(item.links) != set(SLOTS):
        said = f"entry {item.id}: of its right answer {', '.join(item.links) or 'no chain'} can be read"
        raise UsageError(said, f"Write the chains of {', '.join(SLOTS)}, separated by commas.")
    moved: dict[str, str] = {}
    texts = {}
    for letter, options in (("B", item.steps), ("C", item.outcomes)):
        if len(set(options.values())) < len(options):
            raise UsageError(f"entry {item.id}: two options of set {letter} are the same", "Make them differ.")
        labels, contents = list(options), list(options.values())
        order = rng.permutation(len(labels))
        moved |= {labels[old]: labels[new] for new, old in enumerate(order)}
        texts[letter] = "\n".join(f"{label}: {contents[old]}" for label, old in zip(labels, order, strict=True))
    absent = sorted({label for link in item.links.values() for label in link} - set(moved))
    if absent:
        raise UsageError(f"entry {item.id}: its answer names {', '.join(absent)}", "Name options that are there.")
    links = {slot: (moved[step], moved[outcome]) for slot, (step, outcome) in item.links.items()}
    types = {moved[label]: kind for label, kind in item.types.items()}
    raw: dict[str, Any] = {
        **item.raw,
        "set_B": texts["B"],
        "set_C": texts["C"],
        "Right_answer": answer_text(links),
        **({DISTRACTOR_TYPES: {label: kind.value for label, kind in sorted(types.items())}} if types else {}),
    }
    return replace(item, set_b=texts["B"], set_c=texts["C"], right_answer=answer_text(links), types=types, raw=raw)


def moved_labels(before: ImageItem, after: ImageItem) -> dict[str, str]:
    """Return where each option of B and C went in a shuffle: new labels by old ones, which tells the way back too."""
    moved: dict[str, str] = {}
    for old, new in ((before.steps, after.steps), (before.outcomes, after.outcomes)):
        places = {content: label for label, content in new.items()}
        moved |= {label: places[content] for label, content in old.items()}
    return moved


@dataclass(frozen=True, slots=True)
class Quality:
    """What a quality judge said: a score from 1 to 5, or 0 where none could be read."""

    score: float
    kept: bool


def quality_of(reply: str, keep_from: float = KEEP_FROM) -> Quality:
    """Read a quality judge's reply as the released filter does: the field ``score``, else the first number.

    Examples
    --------
    >>> quality_of('{"score": 3.9}'), quality_of("score is 4.5"), quality_of("7").score, quality_of("fine").score
    (Quality(score=3.9, kept=False), Quality(score=4.5, kept=True), 5.0, 0.0)
    """
    try:
        data = json.loads(reply)
    except (ValueError, RecursionError):
        data = None
    value = data.get("score") if isinstance(data, Mapping) else None
    if isinstance(value, bool) or not isinstance(value, int | float):
        matched = _NUMBER.search(reply)
        value = float(matched[0]) if matched is not None else None
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return Quality(0.0, False)
    score = float(min(5.0, max(1.0, value)))
    return Quality(score, score >= keep_from)
