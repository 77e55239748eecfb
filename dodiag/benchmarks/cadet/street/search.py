"""How the tasks of the street come to a scene: draw until one is acceptable, and count why others were not."""

from __future__ import annotations

import string
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from dodiag.benchmarks.cadet.street.asking import NoScene, Rejected, jpeg
from dodiag.benchmarks.rendering import load_mujoco

Plan = TypeVar("Plan")
Shots = TypeVar("Shots")


def prepare() -> None:
    """Check that MuJoCo and a GL library are there.

    Raises
    ------
    MissingDependency
        If not.
    """
    load_mujoco()


def search(
    propose: Callable[[], Plan], shoot: Callable[[Plan], Shots], proposals: int, drawings: int, failure: NoScene
) -> tuple[Plan, Shots, dict[str, int]]:
    """Propose scenes and draw them until one is acceptable.

    Parameters
    ----------
    propose : callable
        Returns a scene that is acceptable as far as geometry tells, or raises :class:`Rejected`; cheap.
    shoot : callable
        Returns the pictures of a scene and what they show, or raises :class:`Rejected`; costly.
    proposals, drawings : int
        How often either is tried at the most.
    failure : NoScene
        Raised where none was found.

    Returns
    -------
    (scene, what `shoot` returned, mapping of reason to int)
        The mapping counts what was rejected before.

    Raises
    ------
    NoScene
        `failure`.
    """
    rejected = Counter[str]()
    drawn = 0
    for _ in range(proposals):
        try:
            plan = propose()
            drawn += 1
            return plan, shoot(plan), dict(rejected)
        except Rejected as reason:
            rejected[str(reason)] += 1
        if drawn >= drawings:
            break
    raise failure


def labelled(index: int, pictures: Iterable[NDArray[np.uint8]], labels: Iterable[str]) -> Mapping[str, bytes]:
    """Return the files of an instance's pictures by their path in the pack, each with its label on it."""
    return {
        f"media/{index:04d}-{label}.jpg": jpeg(picture, label) for picture, label in zip(pictures, labels, strict=False)
    }


def letters_of(pictures: int) -> str:
    """Return the letters of so many pictures: ``ABC``."""
    return string.ascii_uppercase[:pictures]
