"""What the data identify of a quantity: both ends, where they come from, and what they take for granted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from dodiag.bounds.errors import Undefined

Floats = NDArray[np.float64]


class Assumption(StrEnum):
    """What a result takes for granted; the value is the sentence that reports show."""

    SAME_UNITS = "every instance, with its sampling noise, exists under all regimes"
    NO_CARRY_OVER = "one call does not influence another"
    WRONG_ANSWER_IN_NOISE = "state 0 is one random incorrect answer per question, and belongs to the noise"
    INJECTED_AS_GIVEN = "the injected answers are the intervention, whether or not the model believes them"
    MONOTONE = "no unit is solved under a' and failed under a"
    OWN_ANSWER_IS_STATE = "a unit whose own answer equals the injected one behaves as if it had been injected"
    OWN_CORRECT_IS_STATE_1 = "where the own answer is correct, injecting the correct one changes nothing"
    DETERMINISTIC = "the model answers the same prompt the same way every time"
    INDEPENDENT_RERUNS = "reruns of one instance are independent draws"
    INSTANCES_SAMPLED = "the instances are a random sample of those that the claim is about"


BY_DESIGN = (Assumption.SAME_UNITS, Assumption.NO_CARRY_OVER, Assumption.WRONG_ANSWER_IN_NOISE)
"""What every comparison of two regimes rests on; the regime itself is assigned by us, hence exogenous."""


@dataclass(frozen=True)
class Identified:
    """An identified interval: no narrower one follows from the inputs and the assumptions, unless flagged.

    All arrays have one shape, () for a single contrast. Where `undefined` holds, the ends are NaN and `reason` says
    why; :meth:`ends` never returns those.

    Attributes
    ----------
    quantity : str
        Such as ``"PN"``.
    lower, upper : array
        Ends of the interval.
    formulas : tuple of str
        Formulas of the lower and of the upper end, in the names of `inputs`.
    inputs : mapping of str to array
        Probabilities, or counts where the bound was made from counts.
    assumptions : tuple of Assumption
    undefined : array of bool
    reason : str
        Why the quantity is undefined where it is; empty if it is defined everywhere.
    flags : tuple of str
        What a reader has to know besides, such as ``"not sharp"``.
    """

    quantity: str
    lower: Floats
    upper: Floats
    formulas: tuple[str, str]
    inputs: Mapping[str, Floats]
    assumptions: tuple[Assumption, ...] = BY_DESIGN
    undefined: NDArray[np.bool_] = field(default_factory=lambda: np.array(False))
    reason: str = ""
    flags: tuple[str, ...] = ()

    def ends(self) -> tuple[float, float]:
        """Return both ends of a single interval as numbers.

        Raises
        ------
        Undefined
            If the quantity is undefined.
        ValueError
            If this holds more than one interval.
        """
        if self.lower.size != 1:
            raise ValueError(f"this holds {self.lower.size} intervals; read .lower and .upper")
        if self.undefined.any():
            raise Undefined(self.quantity, self.reason)
        return self.lower.item(), self.upper.item()

    @property
    def width(self) -> Floats:
        """Upper minus lower end."""
        return self.upper - self.lower

    @property
    def identified(self) -> NDArray[np.bool_]:
        """Where both ends agree to 1e-12, so that the quantity is known from the inputs."""
        return ~self.undefined & (np.abs(self.width) <= 1e-12)

    def __str__(self) -> str:
        if self.lower.size != 1:
            return f"{self.quantity} in [{self.formulas[0]}, {self.formulas[1]}], shape {self.lower.shape}"
        if self.undefined.any():
            return f"{self.quantity} undefined: {self.reason}"
        return f"{self.quantity} in [{self.lower.item():.4g}, {self.upper.item():.4g}]"
