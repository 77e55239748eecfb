"""Scene graphs, and which of their nodes a question is about: the seam at which scenes of any kind enter.

Whoever makes scenes (photographs with annotated graphs, rolled dice, streets) hands over a :class:`SceneGraph` for each
image and the baseline items; everything else is the same for all of them.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError, model_validator

from dodiag.benchmarks.ccrv.data import X_KEYS, Box, Node, Number, Text, Whole
from dodiag.benchmarks.ccrv.symbols import SYMBOLS, centre, corners
from dodiag.problems import InvalidInput, Problem, UsageError

NOT_CAUSAL = ("has", "of")
"""Predicates that make nobody a partner."""

DISTRACTORS = 2
SHOWN_EDGES = 40


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class SceneNode(_Record):
    """An object: ``bbox`` is left, top, width, height in pixels of the original picture."""

    object_id: Whole
    name: Text
    bbox: Box | None = None


class SceneEdge(_Record):
    """A relation: the source acts on the target, or has it, or is of it."""

    source_id: Whole
    target_id: Whole
    predicate: str


class SceneGraph(_Record):
    """Objects and relations of one picture.

    Raises
    ------
    ValueError
        If two objects have one id, a relation is of an object that is not there, or a box has no extent.
    """

    image_id: Whole
    image_width: Number
    image_height: Number
    nodes: tuple[SceneNode, ...]
    edges: tuple[SceneEdge, ...] = ()

    @model_validator(mode="after")
    def _whole(self) -> SceneGraph:
        ids = [node.object_id for node in self.nodes]
        if twice := [name for name, count in Counter(ids).items() if count > 1]:
            raise ValueError(f"object {twice[0]} stands twice")
        known = set(ids)
        ends = (end for edge in self.edges for end in (edge.source_id, edge.target_id))
        if (unknown := next((end for end in ends if end not in known), None)) is not None:
            raise ValueError(f"a relation names object {unknown}, which is not there")
        if flat := [node.object_id for node in self.nodes if node.bbox is not None and min(node.bbox[2:]) <= 0]:
            raise ValueError(f"the box of object {flat[0]} has no extent; it is left, top, width, height")
        return self

    def node(self, object_id: int) -> SceneNode | None:
        """Return the node with this id, or None."""
        return next((node for node in self.nodes if node.object_id == object_id), None)


@dataclass(frozen=True, slots=True)
class Focus:
    """The nodes that a question is about: its target, and what the target interacts with; either may be missing."""

    target: SceneNode | None
    partner: SceneNode | None

    def pointed_at(self, x: str) -> SceneNode | None:
        """Return the node that Y2 asks for: the partner where a cause is asked (X1, X3), else the target."""
        cause_first = x in (X_KEYS[0], X_KEYS[2])
        first, second = (self.partner, self.target) if cause_first else (self.target, self.partner)
        return first or second


def focus(graph: SceneGraph, target_object_id: int) -> Focus:
    """Return target and partner by the rule of the released set.

    The partner is the source of the first edge into the target, else the target of the first edge out of it; ``has``
    and ``of`` do not count.
    """
    causal = [edge for edge in graph.edges if edge.predicate not in NOT_CAUSAL]
    other = next((edge.source_id for edge in causal if edge.target_id == target_object_id), None)
    if other is None:
        other = next((edge.target_id for edge in causal if edge.source_id == target_object_id), None)
    return Focus(graph.node(target_object_id), None if other is None else graph.node(other))


def symbol_pool(graph: SceneGraph, about: Focus, chance: random.Random) -> dict[str, Node]:
    """Return the nodes behind Y1's symbols: those in focus and up to two others with boxes, in random order.

    Parameters
    ----------
    graph : SceneGraph
    about : Focus
    chance : random.Random
        Advances by one sample and one shuffle.
    """
    true = [node for node in (about.partner, about.target) if node is not None and node.bbox is not None]
    ids = {node.object_id for node in true}
    others = [node for node in graph.nodes if node.object_id not in ids and node.bbox is not None]
    pool = true + chance.sample(others, min(DISTRACTORS, len(others)))
    chance.shuffle(pool)
    return {symbol: _described(node) for symbol, node in zip(SYMBOLS, pool, strict=False)}


def _described(node: SceneNode) -> Node:
    assert node.bbox is not None
    return Node(
        object_id=node.object_id,
        true_name=node.name,
        bbox_xywh=node.bbox,
        bbox_xyxy=corners(node.bbox),
        center_xy=centre(node.bbox),
    )


def compact(graph: SceneGraph) -> dict[str, Any]:
    """Return what a writer is shown of a scene: all nodes, and at most 40 edges."""
    return {
        "image_width": graph.image_width,
        "image_height": graph.image_height,
        "nodes": [{"object_id": n.object_id, "name": n.name, "bbox": n.bbox} for n in graph.nodes],
        "edges": [[e.source_id, e.predicate, e.target_id] for e in graph.edges[:SHOWN_EDGES]],
    }


def read_scene_graphs(path: str | Path) -> Mapping[int, SceneGraph]:
    """Return the scene graphs of a JSON file (a list of graphs) by image id.

    Raises
    ------
    UsageError
        If the file cannot be read.
    InvalidInput
        With every problem of the file.
    """
    try:
        data = json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise UsageError(f"{path} cannot be read: {error}", "Name a JSON file with a list of scene graphs.") from None
    if not isinstance(data, list):
        raise UsageError(f"{path} is not a list", "Name a JSON file with a list of scene graphs.")
    problems: list[Problem] = []
    found: dict[int, SceneGraph] = {}
    for number, raw in enumerate(data):
        try:
            graph = SceneGraph.model_validate(raw)
        except ValidationError as error:
            where = f"entry {number}"
            for entry in error.errors(include_url=False):
                place = ".".join(map(str, entry["loc"]))
                message = entry["msg"].removeprefix("Value error, ")
                problems.append(
                    Problem(str(path), None, where, f"{place}: {message}" if place else message, "Correct the scene.")
                )
            continue
        if graph.image_id in found:
            problems.append(Problem(str(path), None, f"image {graph.image_id}", "stands twice", "Remove one."))
        found[graph.image_id] = graph
    if problems:
        raise InvalidInput(problems)
    return found
