"""The truth of dice chains, found again from text and scene facts, without the code that wrote them."""

from __future__ import annotations

import re
from typing import Any

DIE = r"(?:The |the )([a-z ]+ die)"
CONDITION = re.compile(
    rf"{DIE} (rests flat on a face, |is balanced on an edge, )?lies (further left|further right|higher up|lower down)"
    rf" than {DIE}, shows (\d), and is turned upside down\."
)
FOLLOWS = re.compile(rf"{DIE} then shows (\d), as opposite faces add up to 7\.")
BECAUSE = re.compile(rf"{DIE} then shows (\d), because {DIE} shows (\d)\.")
STILL = re.compile(rf"{DIE} then still shows (\d), as turning it leaves its top face where it is\.")
TOTAL = re.compile(rf"{DIE} and {DIE}, which shows (\d), then make (\d+) together\.")


def scene_of(meta: dict[str, Any]) -> dict[str, tuple[int, float, float]]:
    """Return value and centre of every die by its short name."""
    found = {}
    for die in meta["dice"]:
        words = die["name"].split()
        name = die["name"] if words[-1] == "die" else f"{words[0]} {words[-2]} die"
        found[name] = (die["value"], *die["centre"])
    return found


def violations(text: str, scene: dict[str, tuple[int, float, float]]) -> tuple[set[str], set[str]]:
    """Return what a chain says falsely of the picture, and where its logic breaks."""
    steps = text.split(" → ")
    (condition,) = [m for m in map(CONDITION.fullmatch, steps) if m]
    (total,) = [m for m in map(TOTAL.fullmatch, steps) if m]
    (middle,) = [m for step in steps for form in (FOLLOWS, BECAUSE, STILL) if (m := form.fullmatch(step))]
    subject, pose, relation, reference, value = condition.groups()
    visual, logical = set(), set()
    if subject not in scene:
        visual.add("object_hallucination")
    else:
        if scene[subject][0] != int(value):
            visual.add("attribute_error")
        (_, x, y), (_, other_x, other_y) = scene[subject], scene[reference]
        gap = {
            "further left": other_x - x,
            "further right": x - other_x,
            "higher up": other_y - y,
            "lower down": y - other_y,
        }[relation]
        assert abs(gap) > 20, "too close to call"
        if gap < 0:
            visual.add("spatial_hallucination")
    if pose == "is balanced on an edge, ":
        visual.add("action_misperception")
    if scene[reference][0] != int(total[3]):
        visual.add("attribute_error")
    kinds = [next(k for k, m in (("A", condition), ("B", middle), ("C", total)) if m.string == s) for s in steps]
    if kinds == ["B", "A", "C"]:
        logical.add("causal_inversion")
    elif kinds == ["A", "C", "B"]:
        logical.add("temporal_shuffle")
    else:
        assert kinds == ["A", "B", "C"]
    if middle.re is BECAUSE:
        logical.add("spurious_correlation")
        assert scene[middle[3]][0] == int(middle[4]), "a spurious cause is true"
    if middle.re is STILL:
        logical.add("physical_impossibility")
    shown = int(value) if middle.re is STILL else 7 - int(value)
    assert int(middle[2]) == shown
    assert (middle[1], total[1], total[2]) == (subject, subject, reference)
    assert int(total[4]) == shown + int(total[3]), "the sum follows from what is said"
    return visual, logical
