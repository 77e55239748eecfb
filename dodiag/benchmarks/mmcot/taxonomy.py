"""The kinds of distractors: eight fine types in two classes, and how the paper's set is made up of them."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Any

from dodiag.problems import UsageError, nearest


class Axis(StrEnum):
    """What a distractor violates: what the picture shows, or what follows from what."""

    VISUAL = "visual"
    LOGICAL = "logical"


class DistractorType(StrEnum):
    """The fine types of MM-CoT Table 7.

    The release labels no distractor; sets of your own may, in the optional field ``distractor_type`` of an item: a
    mapping from option labels to these names.
    """

    OBJECT_HALLUCINATION = "object_hallucination"
    ATTRIBUTE_ERROR = "attribute_error"
    SPATIAL_HALLUCINATION = "spatial_hallucination"
    ACTION_MISPERCEPTION = "action_misperception"
    CAUSAL_INVERSION = "causal_inversion"
    TEMPORAL_SHUFFLE = "temporal_shuffle"
    SPURIOUS_CORRELATION = "spurious_correlation"
    PHYSICAL_IMPOSSIBILITY = "physical_impossibility"

    @property
    def axis(self) -> Axis:
        """The class of the type."""
        return Axis.VISUAL if self in VISUAL_TYPES else Axis.LOGICAL


VISUAL_TYPES = (
    DistractorType.OBJECT_HALLUCINATION,
    DistractorType.ATTRIBUTE_ERROR,
    DistractorType.SPATIAL_HALLUCINATION,
    DistractorType.ACTION_MISPERCEPTION,
)
LOGICAL_TYPES = (
    DistractorType.CAUSAL_INVERSION,
    DistractorType.TEMPORAL_SHUFFLE,
    DistractorType.SPURIOUS_CORRELATION,
    DistractorType.PHYSICAL_IMPOSSIBILITY,
)

PUBLISHED_SHARES: Mapping[DistractorType, float] = MappingProxyType(
    {
        DistractorType.OBJECT_HALLUCINATION: 35.4,
        DistractorType.ATTRIBUTE_ERROR: 28.1,
        DistractorType.SPATIAL_HALLUCINATION: 12.5,
        DistractorType.ACTION_MISPERCEPTION: 24.0,
        DistractorType.CAUSAL_INVERSION: 32.6,
        DistractorType.TEMPORAL_SHUFFLE: 22.8,
        DistractorType.SPURIOUS_CORRELATION: 25.4,
        DistractorType.PHYSICAL_IMPOSSIBILITY: 19.2,
    }
)
"""Percent within each class (Table 7). Nothing released lets anybody count them again."""


def parsed_type(name: Any) -> DistractorType:
    """Return a type from its name.

    Raises
    ------
    UsageError
        If there is no such type.

    Examples
    --------
    >>> parsed_type("temporal_shuffle").axis
    <Axis.LOGICAL: 'logical'>
    """
    for kind in DistractorType:
        if name == kind.value:
            return kind
    raise UsageError(f"there is no distractor type '{name}'", nearest(str(name), [k.value for k in DistractorType]))
