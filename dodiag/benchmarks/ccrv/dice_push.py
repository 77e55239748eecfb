"""Which die stops a die that is slid across the table: the causal relation of dice scenes, by plane geometry.

A die is slid straight to the right or to the left as the picture shows it, along the table and without turning, until
it touches another die. Seen from above, dice at rest on the table are convex outlines, and a translation brings two of
them together exactly where the gap between them, measured along the way, is smallest. Slides in which a few millimetres
could change an answer are not used.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from dodiag.problems import UsageError
from dodiag.scm.pack import Instance

Floats = NDArray[np.float64]
Direction = Literal["right", "left"]
DIRECTIONS: tuple[Direction, ...] = ("right", "left")

CLEAR = 0.4
"""What has to lie between one answer and another, in edges of the smaller die: overlap, gap, and order of contact."""

_PLACED = re.compile(r"(left|right|middle|leftmost|rightmost)(?: one)? of the \w+ (\w+) dice")


@dataclass(frozen=True, slots=True, eq=False)
class TableDie:
    """A die as the table has it.

    Attributes
    ----------
    object_id : int
        Its place from left to right, from 1.
    name : str
        Such as ``red die`` or ``left yellow die``.
    value : int
        Pips on its top face.
    edge : float
        Millimetres.
    outline : array of shape (8, 2)
        Its vertices seen from above, millimetres.
    box : tuple of 4 floats
        Left, top, right, bottom in pixels.
    """

    object_id: int
    name: str
    value: int
    edge: float
    outline: Floats
    box: tuple[float, float, float, float]


@dataclass(frozen=True, slots=True, eq=False)
class Push:
    """A slide whose outcome is beyond doubt.

    Attributes
    ----------
    direction : {"right", "left"}
    moved, first, second : TableDie
        The die that is slid, the one that it touches first, and the one that it would touch first without that.
    gap : float
        How far it slides, in its own edges.
    """

    direction: Direction
    moved: TableDie
    first: TableDie
    second: TableDie
    gap: float


def table_dice(instance: Instance) -> tuple[TableDie, ...]:
    """Return the dice of an instance of the task ``dice_sum``, from the facts that its generator keeps.

    Raises
    ------
    UsageError
        If the instance has no such facts.
    """
    facts = instance.meta.get("dice")
    if not facts or "camera" not in instance.meta:
        cure = "Use a pack that was made by 'dodiag generate dice_sum'."
        raise UsageError(f"instance {instance.id} does not say where its dice are", cure)
    found = []
    for place, die in enumerate(facts, start=1):
        (annotation,) = instance.question(f"X3-{die['label']}").annotations
        assert annotation.box is not None
        signs = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], dtype=np.float64)
        turned = signs @ np.array(die["rotation"]).reshape(3, 3).T * die["edge_mm"] / 2
        outline = turned[:, :2] + np.array(die["position_mm"][:2])
        found.append(TableDie(place, short_name(die["name"]), die["value"], die["edge_mm"], outline, annotation.box))
    return tuple(found)


def short_name(name: str) -> str:
    """Return a die's name without its companions.

    Examples
    --------
    >>> short_name("left one of the two yellow dice"), short_name("rightmost of the three red dice")
    ('left yellow die', 'rightmost red die')
    """
    placed = _PLACED.fullmatch(name)
    return name if placed is None else f"{placed[1]} {placed[2]} die"


def pushes(instance: Instance, dice: Sequence[TableDie]) -> tuple[Push, ...]:
    """Return the slides of an instance whose first contact, cause and alternative are all beyond doubt.

    Parameters
    ----------
    instance : Instance
    dice : sequence of TableDie
        Its dice, of :func:`table_dice`; the slides are about these objects.
    """
    azimuth = np.radians(instance.meta["camera"]["azimuth"])
    right = np.array((np.sin(azimuth), -np.cos(azimuth)))
    found = []
    for direction in DIRECTIONS:
        along = right if direction == "right" else -right
        ways = {die.object_id: contacts(die, dice, along) for die in dice}
        for die in dice:
            first = _sure(ways[die.object_id])
            second = None if first is None else _sure([way for way in ways[die.object_id] if way.die is not first.die])
            if first is None or second is None:
                continue
            # Another die that may touch the same one first could be the cause as well: then who was slid is in doubt.
            rivals = (_possible(ways[other.object_id]) for other in dice if other is not die)
            if not any(way.die is first.die for rival in rivals for way in rival):
                found.append(Push(direction, die, first.die, second.die, first.distance / die.edge))
    return tuple(found)


@dataclass(frozen=True, slots=True, eq=False)
class Contact:
    """A die in the way of another: how far ahead in mm, whether surely so, and how near another answer may be."""

    die: TableDie
    distance: float
    sure: bool
    clear: float


def contacts(die: TableDie, dice: Sequence[TableDie], along: Floats) -> list[Contact]:
    """Return the dice that are or may be in the way of a slide, nearest first.

    Parameters
    ----------
    die : TableDie
        The one that is slid.
    dice : sequence of TableDie
    along : array of shape (2,)
        Unit vector of the slide.
    """
    found = []
    for other in dice:
        if other is die:
            continue
        clear = CLEAR * min(die.edge, other.edge)
        overlap, distance = way(die.outline, other.outline, along)
        if overlap <= -clear:
            continue
        if overlap < clear:
            # Grazing: it counts as possible from where it begins.
            distance = float((other.outline @ along).min() - (die.outline @ along).max())
        if distance > 0 or (overlap < clear and (other.outline @ along).max() > (die.outline @ along).max()):
            found.append(Contact(other, distance, overlap >= clear, clear))
    return sorted(found, key=lambda contact: contact.distance)


def _possible(ways: Sequence[Contact]) -> list[Contact]:
    """Return what may be touched first: everything up to the nearest sure contact, with what is too close to it."""
    reach = min((way.distance + way.clear for way in ways if way.sure), default=float("inf"))
    return [way for way in ways if way.distance < reach]


def _sure(ways: Sequence[Contact]) -> Contact | None:
    possible = _possible(ways)
    return possible[0] if len(possible) == 1 and possible[0].sure else None


def way(first: Floats, second: Floats, along: Floats) -> tuple[float, float]:
    """Return by how much two outlines overlap across a direction, and how far the first is from touching the second.

    The overlap is negative where they miss each other; then the distance is infinite. A negative distance means that
    the second lies behind the first.

    Parameters
    ----------
    first, second : array of shape (n, 2)
        Vertices; the outlines are their convex hulls.
    along : array of shape (2,)
        Unit vector in which the first is moved.
    """
    frame = np.array((along, (-along[1], along[0])))
    a, b = first @ frame.T, second @ frame.T
    low = max(a[:, 1].min(), b[:, 1].min())
    high = min(a[:, 1].max(), b[:, 1].max())
    if high <= low:
        return float(high - low), float("inf")
    # Front minus back is convex in the place across, so that its minimum is at a vertex or at an end of the overlap.
    places = [v for v in (*a[:, 1], *b[:, 1]) if low < v < high] + [low, high]
    return float(high - low), min(_edge(b, v, near=True) - _edge(a, v, near=False) for v in places)


def _edge(outline: Floats, place: float, *, near: bool) -> float:
    """Return where the hull's boundary is along the way at a place across it: its near side or its far side."""
    found: list[float] = []
    for (u1, v1), (u2, v2) in combinations(outline.tolist(), 2):
        if min(v1, v2) <= place <= max(v1, v2):
            if v1 == v2:
                found += [u1, u2]
            else:
                found.append(u1 + (u2 - u1) * (place - v1) / (v2 - v1))
    return min(found) if near else max(found)
