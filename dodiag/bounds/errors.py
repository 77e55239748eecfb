"""What can be wrong with the input of a bound: typed errors that carry the offending values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dodiag.problems import DodiagError


class NotAProbability(DodiagError):
    """A value that should be a probability is NaN or outside [0, 1].

    Attributes
    ----------
    name : str
        Which argument.
    value : float
        The first offending value.
    """

    def __init__(self, name: str, value: float) -> None:
        super().__init__(f"{name} = {value} is not a probability", "Probabilities are between 0 and 1.")
        self.name = name
        self.value = value


class NotCounts(DodiagError):
    """Numbers that should count something are negative, not whole, or larger than the total they belong to.

    Attributes
    ----------
    name : str
        Which argument.
    value : float
        The first offending value.
    """

    def __init__(self, name: str, value: float, cure: str = "Counts are whole numbers, 0 or more.") -> None:
        super().__init__(f"{name} = {value} is not a count", cure)
        self.name = name
        self.value = value


class NoData(DodiagError):
    """There is nothing to estimate from (n = 0).

    Attributes
    ----------
    what : str
        What there is none of.
    """

    def __init__(self, what: str, cure: str = "Run the configurations that it needs.") -> None:
        super().__init__(f"there is no {what}", cure)
        self.what = what


class TooFewInstances(DodiagError):
    """A limit needs the variation between instances, and there are not enough of them.

    Attributes
    ----------
    found, needed : int
    """

    def __init__(self, found: int, needed: int = 2) -> None:
        noun = "instance says" if found == 1 else "instances say"
        super().__init__(f"{found} {noun} nothing about others", f"At least {needed} instances are needed.")
        self.found = found
        self.needed = needed


class UnequalPairing(DodiagError):
    """Two arms that should hold the same instances in the same order have different shapes.

    Attributes
    ----------
    shapes : mapping of str to tuple of int
        Shape of each argument.
    """

    def __init__(self, shapes: Mapping[str, Sequence[int]]) -> None:
        listed = ", ".join(f"{name} {tuple(shape)}" for name, shape in shapes.items())
        super().__init__(f"the arms do not pair: {listed}", "Give the same instances, in the same order, to every arm.")
        self.shapes = {name: tuple(shape) for name, shape in shapes.items()}


class ImpossibleMargins(DodiagError):
    """No joint distribution of the potential outcomes has these margins.

    Attributes
    ----------
    violated : tuple of str
        The inequalities that fail, with their values.
    """

    def __init__(self, violated: Sequence[str], cure: str = "Check that all margins come from the same units.") -> None:
        super().__init__(f"no joint distribution has these margins: {'; '.join(violated)}", cure)
        self.violated = tuple(violated)


class Undefined(DodiagError):
    """A single number was asked of a quantity that is undefined there.

    Attributes
    ----------
    quantity, reason : str
    """

    def __init__(self, quantity: str, reason: str) -> None:
        super().__init__(f"{quantity} is undefined: {reason}")
        self.quantity = quantity
        self.reason = reason
