"""Difficulty tiers: a field of the data, and what the printed counts show it to be.

The paper describes tiers by duration and motion. Its counts contradict that: in every stratum below Easy the numbers of
videos that five models solved add up to exactly 0, 1 or 2 times the number of videos. So a tier is almost certainly how
many of the five solved the video. It cannot be computed from a video, and scores of those five by tier are circular.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType

from dodiag.problems import UsageError


class Tier(StrEnum):
    """The four tiers, easiest first."""

    EASY = "Easy"
    MEDIUM = "Medium"
    HARD = "Hard"
    EXTREME = "Extreme"


LENGTHS = ("short", "medium", "long")

REFERENCE_MODELS = (
    "Qwen2.5-VL-72B",
    "LLaMA-3.2-90B",
    "Gemini-2.5-Pro",
    "Claude-Sonnet-4",
    "Grok-2-Vision-1212",
)
"""The five models whose successes make the tiers."""

STRATUM_SIZES: Mapping[tuple[str, Tier], int] = MappingProxyType(
    {
        (length, tier): size
        for length, sizes in (
            ("short", (111, 154, 252, 484)),
            ("medium", (65, 97, 173, 325)),
            ("long", (48, 49, 121, 221)),
        )
        for tier, size in zip(Tier, sizes, strict=True)
    }
)
"""Videos by length and tier. Derived from the printed percentages, not published; 2,100 together."""


def tier_of(solved: int, models: int = len(REFERENCE_MODELS)) -> Tier:
    """Return the tier of a video from how many of the reference models solved it.

    Raises
    ------
    UsageError
        If there are not 0 to `models` of them.

    Examples
    --------
    >>> [tier_of(k).value for k in range(6)]
    ['Extreme', 'Hard', 'Medium', 'Easy', 'Easy', 'Easy']
    """
    if not 0 <= solved <= models:
        raise UsageError(f"{solved} of {models} models solved it", f"Give 0 to {models}.")
    return {0: Tier.EXTREME, 1: Tier.HARD, 2: Tier.MEDIUM}.get(solved, Tier.EASY)
