"""The records of a CCRV-Bench set: images, baseline items, and each item's constrained variants."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, model_validator

X_KEYS = ("X1_discovery", "X2_prediction", "X3_diagnosis", "X4_intervention")
"""The causal tasks, in the order of the files."""

Y_IDS = ("Y1", "Y2", "Y3", "Y4")
"""The constraints: entity symbolisation, spatial grounding, false premise, minimal output."""

CONSTRAINT_NAMES: Mapping[str, str] = {
    "Y1": "entity_symbolization",
    "Y2": "spatial_grounded_causal_explanation",
    "Y3": "contradiction_block",
    "Y4": "strict_grammar_bottleneck",
}

LEVELS = ("L1", "L2", "L3")
"""What a judge says of an answer: entities grounded, mechanism right, causal conclusion right."""

QUESTIONS_PER_X = 2
DEFAULT_MARGIN = 0.075

Number = Annotated[float, Field(strict=True, allow_inf_nan=False)]
Whole = Annotated[int, Field(strict=True)]
Text = Annotated[str, Field(strict=True, min_length=1)]
Box = tuple[Number, Number, Number, Number]
Point = tuple[Number, Number]


class ItemKey(NamedTuple):
    """What identifies a baseline item: never its target object or its text, which may repeat."""

    image_id: int
    x: str
    q_idx: int

    def __str__(self) -> str:
        return f"image {self.image_id}, {self.x} {self.q_idx}"


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="allow", populate_by_name=True)


class Rubric(_Record):
    """The three yes/no questions by which a judge labels an answer, verbatim."""

    perception: Text = Field(alias="L1_perception_check")
    interaction: Text = Field(alias="L2_interaction_check")
    causal: Text = Field(alias="L3_causal_check")

    @property
    def levels(self) -> dict[str, str]:
        """The questions by level, L1 to L3."""
        return dict(zip(LEVELS, (self.perception, self.interaction, self.causal), strict=True))


class Node(_Record):
    """An object behind a symbol of Y1: ``bbox_xywh`` and ``bbox_xyxy`` are pixels of the original picture."""

    object_id: Whole
    true_name: Text
    bbox_xywh: Box
    bbox_xyxy: Box
    center_xy: Point


class SymbolSpec(_Record):
    """Y1: no term of the list may be used."""

    csr_rule: Literal["forbidden_term_scan"]
    symbol_map: dict[str, Node]
    forbidden_terms: Annotated[tuple[str, ...], Field(min_length=1)]


class PointSpec(_Record):
    """Y2: a point inside the (expanded) box, and an explanation.

    Older spellings of the box, ``target_bbox`` or ``target_bbox_metadata`` with ``xyxy``, ``xywh`` or ``x1`` to ``y2``,
    are read as well.
    """

    csr_rule: Literal["grounded_causal_explanation"]
    target_object_id: Whole
    target_true_name: Text
    target_bbox_xyxy: Box
    target_bbox_xywh: Box | None = None
    target_center_xy: Point | None = None
    csr_bbox_margin_fraction: Any = DEFAULT_MARGIN

    @model_validator(mode="before")
    @classmethod
    def _older_boxes(cls, value: Any) -> Any:
        if not isinstance(value, Mapping) or value.get("target_bbox_xyxy") is not None:
            return value
        for name in ("target_bbox", "target_bbox_metadata"):
            if isinstance(old := value.get(name), Mapping) and (box := _box_of(old)) is not None:
                return {**value, "target_bbox_xyxy": box}
        return value


def _box_of(old: Mapping[str, Any]) -> Any:
    """Return a box as left, top, right, bottom from an older spelling, unchecked, or None where there is none."""
    corners = ("x1", "y1", "x2", "y2")
    if "xyxy" in old:
        return old["xyxy"]
    if "xywh" in old:
        try:
            x, y, width, height = old["xywh"]
            return [x, y, x + width, y + height]
        except (TypeError, ValueError):
            return old["xywh"]
    return [old[name] for name in corners] if all(name in old for name in corners) else None


class PremiseSpec(_Record):
    """Y3: the false premise has to be rejected before anything is concluded."""

    csr_rule: Literal["contradiction_refusal"]
    original_ground_truth: str
    expected_behavior: str | None = None
    false_premise: str | None = None


class LimitSpec(_Record):
    """Y4: few words and no punctuation. A limit that is no number fails the answer, not the file."""

    csr_rule: Literal["dynamic_word_limit"]
    allowed_max_words: Any = None
    forbid_punctuation: bool = True
    forbid_extra_text: bool = True


Spec = SymbolSpec | PointSpec | PremiseSpec | LimitSpec
SPECS: Mapping[str, type[Spec]] = {"Y1": SymbolSpec, "Y2": PointSpec, "Y3": PremiseSpec, "Y4": LimitSpec}


class Variant(_Record):
    """A constrained rewrite of an item: ``constrained_question`` is what a model sees.

    ``family`` is the constraint without a version, ``Y2`` of ``Y2.1``.
    """

    constraint_id: Text
    constraint_name: str
    x_dimension: str
    constrained_question: Text
    adapted_ground_truth: Text
    constraint_spec: Annotated[Any, Field(exclude=True)]
    spec: Spec
    rubric: Rubric | None = Field(default=None, alias="evaluation_rubric_main_set")

    @property
    def family(self) -> str:
        """The constraint without a version."""
        return self.constraint_id.partition(".")[0]


class Item(_Record):
    """One unconstrained question with its reference, and its variants by constraint."""

    key: ItemKey
    question_text: Text
    ground_truth_answer: Text
    target_object_id: Whole
    rationale: str
    rubric: Rubric | None = None
    variants: dict[str, Variant] = Field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ImageRecord:
    """An image and its items.

    Attributes
    ----------
    image_id : int
        Of Visual Genome in the released set.
    path : str or None
        ``image_path_relative``, where the file has it.
    cluster : str
        The action word of the scene, ``other`` where none is given.
    items : tuple of Item
        In the order X1 to X4, and by position.
    """

    image_id: int
    path: str | None
    cluster: str
    items: tuple[Item, ...]


@dataclass(frozen=True)
class Dataset:
    """A checked CCRV-Bench set.

    Attributes
    ----------
    source : str
        The file it was read from, or what made it.
    images : tuple of ImageRecord
    document : list
        The parsed file, untouched, for writing it again.
    """

    source: str
    images: tuple[ImageRecord, ...]
    document: list[Any] = field(default_factory=list, repr=False, compare=False)

    def items(self) -> Iterator[Item]:
        """Yield every baseline item in file order."""
        for image in self.images:
            yield from image.items

    def variants(self) -> Iterator[tuple[Item, Variant]]:
        """Yield every variant with its item."""
        for item in self.items():
            for variant in item.variants.values():
                yield item, variant

    @cached_property
    def by_key(self) -> Mapping[ItemKey, Item]:
        """The items by key."""
        return {item.key: item for item in self.items()}

    @cached_property
    def image(self) -> Mapping[int, ImageRecord]:
        """The images by id."""
        return {image.image_id: image for image in self.images}
