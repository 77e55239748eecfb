"""What the tasks of the street share: shuffled options, parts of a picture, labelled pictures, facts for ``meta``."""

from __future__ import annotations

import io
import string
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dodiag.benchmarks.cadet.street.state import Layout, Snapshot
from dodiag.problems import DodiagError

JPEG_QUALITY = 86
THIRDS = ("the left third", "the middle third", "the right third")
THIRD_MARGIN = 0.04
"""Share of the width between an object's middle and the border of a third: nearer, and one cannot tell."""


class NoScene(DodiagError):
    """No acceptable scene was found; knobs may ask for too much."""


class Rejected(Exception):
    """A scene is not acceptable; the argument is the reason, which is counted."""


def balanced(seed: int, index: int, count: int, stream: int = 0) -> int:
    """Return a number below `count` for an instance, so that every run of `count` instances has each once.

    Parameters
    ----------
    seed, index : int
        Of the instance.
    count : int
    stream : int
        Different streams are shuffled independently.
    """
    order = np.random.default_rng((seed, index // count, 7919 + stream)).permutation(count)
    return int(order[index % count])


def choose(rng: np.random.Generator, right: str, wrong: Sequence[str]) -> tuple[tuple[str, ...], str]:
    """Return options in random order, and the letter of the right one."""
    options = [right, *wrong]
    order = rng.permutation(len(options))
    shuffled = tuple(options[place] for place in order)
    return shuffled, string.ascii_uppercase[shuffled.index(right)]


def third(x: float, width: int) -> int | None:
    """Return in which third of a picture a place is: 0, 1 or 2; None where it is too near to a border to tell."""
    share = x / width
    if min(abs(share - 1 / 3), abs(share - 2 / 3)) < THIRD_MARGIN:
        return None
    return int(share * 3)


def jpeg(picture: NDArray[np.uint8], label: str) -> bytes:
    """Return a picture as JPEG with a label on a plate in its upper left corner."""
    from PIL import Image, ImageDraw, ImageFont

    image = Image.fromarray(picture)
    pen = ImageDraw.Draw(image)
    font = ImageFont.load_default(22)
    left, top, right, bottom = pen.textbbox((0, 0), label, font=font)
    pen.rectangle((0, 0, right - left + 16, 30), fill="white", outline="black")
    pen.text((8 - left, 15 - (top + bottom) / 2), label, fill="black", font=font)
    buffer = io.BytesIO()
    image.save(buffer, "JPEG", quality=JPEG_QUALITY, optimize=True)
    return buffer.getvalue()


LABEL_BOX = (44, 32)
"""Width and height of the corner that a label may cover."""


def snapshot_facts(snapshot: Snapshot) -> list[dict[str, Any]]:
    """Return all things of a snapshot, rounded so that the last bits do not show in the text; lamps only if lit."""
    facts = [{"name": thing.name} | _rounded(asdict(thing)) for thing in snapshot]
    return [{key: value for key, value in fact.items() if value is not False} for fact in facts]


def layout_facts(layout: Layout) -> dict[str, Any]:
    """Return a layout as a mapping, rounded."""
    facts: dict[str, Any] = _rounded(asdict(layout))
    return facts


def _rounded(facts: Any) -> Any:
    if isinstance(facts, Mapping):
        return {key: _rounded(value) for key, value in facts.items()}
    if isinstance(facts, (list, tuple)):
        return [_rounded(entry) for entry in facts]
    return round(facts, 3) + 0.0 if isinstance(facts, float) else facts
