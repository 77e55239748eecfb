"""The records of MM-CoT sets: picture items with three chains, and video items with a counterfactual."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

from dodiag.benchmarks.mmcot.notation import SLOTS, Chain, Links, chain_of, links_of, list_of, options_of
from dodiag.benchmarks.mmcot.taxonomy import DistractorType

IMAGE_FIELDS = ("set_A", "set_B", "set_C", "Right_answer", "img_path")
VIDEO_FIELDS = (
    "id",
    "input_video",
    "Key Elements",
    "Counterfactual Elements",
    "Counterfactual Outcome Pool",
    "Critical Conditions",
    "Counterfactual Causal Chain",
)
DISTRACTOR_TYPES = "distractor_type"
"""Our own optional field: a mapping from option labels to types."""

PUBLISHED_IMAGES, PUBLISHED_VIDEOS = 5615, 2100
"""Entries of the published files; the paper's introduction says 5,616 pictures once."""

Kind = Literal["image", "video"]


@dataclass(frozen=True)
class ImageItem:
    """A picture with three chains to complete.

    Attributes
    ----------
    id : str
        Its place in the file, from 0; the file has no other key.
    set_a, set_b, set_c, right_answer, path : str
        As written.
    types : mapping of str to DistractorType
        Of labelled distractors; empty in the release.
    raw : mapping
        The whole entry.
    """

    id: str
    set_a: str
    set_b: str
    set_c: str
    right_answer: str
    path: str
    types: Mapping[str, DistractorType] = field(default_factory=dict)
    raw: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)

    @cached_property
    def conditions(self) -> Mapping[str, str]:
        """The initiating conditions by label."""
        return options_of(self.set_a, "A")

    @cached_property
    def steps(self) -> Mapping[str, str]:
        """The mediating steps by label, distractors among them."""
        return options_of(self.set_b, "B")

    @cached_property
    def outcomes(self) -> Mapping[str, str]:
        """The outcomes by label, distractors among them."""
        return options_of(self.set_c, "C")

    @cached_property
    def links(self) -> Links:
        """The right chains."""
        return links_of(self.right_answer)

    @property
    def complete(self) -> bool:
        """Whether three different right chains lead through options that are there."""
        firsts, lasts = zip(*self.links.values(), strict=True) if self.links else ((), ())
        return (
            set(self.links) == set(SLOTS) == set(self.conditions)
            and len(set(firsts)) == len(SLOTS) == len(set(lasts))
            and set(firsts) <= set(self.steps)
            and set(lasts) <= set(self.outcomes)
        )


@dataclass(frozen=True)
class VideoItem:
    """A video with a counterfactual: which two elements matter, what replaces them, and what follows.

    Attributes
    ----------
    id, path : str
    key_elements, replacements, outcomes, critical, chain : str
        As written.
    length, difficulty : str or None
        ``length_category`` and ``difficulty``, where the file has them.
    raw : mapping
        The whole entry.
    """

    id: str
    path: str
    key_elements: str
    replacements: str
    outcomes: str
    critical: str
    chain: str
    length: str | None = None
    difficulty: str | None = None
    raw: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)

    @cached_property
    def elements(self) -> tuple[str, ...]:
        """The key elements, as the released code splits them."""
        return tuple(list_of(self.key_elements))

    @cached_property
    def replaced(self) -> tuple[str, ...]:
        """The counterfactual elements."""
        return tuple(list_of(self.replacements))

    @cached_property
    def pool(self) -> tuple[str, ...]:
        """The possible outcomes."""
        return tuple(list_of(self.outcomes))

    @cached_property
    def conditions(self) -> tuple[str, ...]:
        """The two elements that matter."""
        return tuple(list_of(self.critical))

    @cached_property
    def gold(self) -> Chain | None:
        """The right chain, None where it cannot be read."""
        return chain_of(self.chain)


@dataclass(frozen=True)
class ImageSet:
    """A checked set of picture items."""

    source: str
    items: tuple[ImageItem, ...]


@dataclass(frozen=True)
class VideoSet:
    """A checked set of video items."""

    source: str
    items: tuple[VideoItem, ...]


AnySet = ImageSet | VideoSet
