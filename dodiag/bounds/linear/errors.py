"""What can be wrong with a linear program over response types: typed errors that carry the offending values."""

from __future__ import annotations

from collections.abc import Sequence

from dodiag.bounds.errors import ImpossibleMargins, Undefined
from dodiag.bounds.linear.certificate import Certificate
from dodiag.problems import DodiagError


class NotLinear(DodiagError):
    """A query or a constraint is neither linear in the joint distribution nor a ratio of two linear forms.

    Attributes
    ----------
    operation : str
        What was tried.
    """

    def __init__(self, operation: str) -> None:
        super().__init__(
            f"{operation} is not linear in the joint distribution of the potential outcomes",
            "Linear programming bounds weighted sums of probabilities, and ratios of two such sums.",
        )
        self.operation = operation


class NotExact(DodiagError):
    """An exact result was asked of a number that is not a rational.

    Attributes
    ----------
    name : str
        Where the number stands.
    value : float
    """

    def __init__(self, name: str, value: float) -> None:
        super().__init__(
            f"{value!r} in '{name}' is a binary float, which rarely is the number that was meant",
            f"Give a Fraction, such as {_nearby(value)}, or leave exactness off.",
        )
        self.name = name
        self.value = value


class NotANumber(DodiagError):
    """A weight or a right-hand side is not a finite number.

    Attributes
    ----------
    value : object
    """

    def __init__(self, value: object) -> None:
        super().__init__(f"{value!r} is not a finite number")
        self.value = value


class UnknownOutcome(DodiagError):
    """An event names an outcome that these response types do not have, or gives it a value that is not 0 or 1.

    Attributes
    ----------
    name : str
    """

    def __init__(self, name: str, cure: str) -> None:
        super().__init__(f"'{name}' is no outcome of these response types", cure)
        self.name = name


class TooManyTypes(DodiagError):
    """There are more response types than the method can handle.

    Attributes
    ----------
    found, most : int
    """

    def __init__(self, found: int, most: int, cure: str) -> None:
        super().__init__(f"{found} response types are more than {most}", cure)
        self.found = found
        self.most = most


class NoClosedForm(DodiagError):
    """A bound has too many terms to be found as a formula.

    Attributes
    ----------
    terms : int
        Dual vertices and rays when the search stopped.
    """

    def __init__(self, terms: int) -> None:
        super().__init__(
            f"the search for a formula stopped at {terms} terms", "Ask for the bound at given numbers instead."
        )
        self.terms = terms


class OtherTypes(DodiagError):
    """Two expressions speak of different response types."""

    def __init__(self) -> None:
        super().__init__("two expressions speak of different response types", "Make both from the same ResponseTypes.")


class OpenParameter(DodiagError):
    """A number was asked where a constraint still holds a parameter, or a parameter was left out or unknown.

    Attributes
    ----------
    names : tuple of str
    """

    def __init__(self, names: Sequence[str], problem: str = "no value") -> None:
        super().__init__(f"{problem} for {', '.join(names)}")
        self.names = tuple(names)


class ImpossibleProgram(ImpossibleMargins):
    """No joint distribution satisfies the constraints.

    Attributes
    ----------
    certificate : Certificate
        Exact multipliers of the constraints that contradict each other (Farkas' lemma).
    """

    def __init__(self, violated: Sequence[str], certificate: Certificate) -> None:
        super().__init__(violated, "Check that all constraints speak of the same units.")
        self.certificate = certificate


class UndefinedRatio(Undefined):
    """A ratio's denominator is 0 under every distribution that the constraints allow.

    Attributes
    ----------
    certificate : Certificate or None
        Shows that the denominator cannot exceed 0, if the numbers are rational.
    """

    def __init__(self, quantity: str, reason: str, certificate: Certificate | None) -> None:
        super().__init__(quantity, reason)
        self.certificate = certificate


class UnboundedRatio(DodiagError):
    """A ratio has no finite end, because its denominator can come near 0 while its numerator does not.

    Attributes
    ----------
    quantity : str
    """

    def __init__(self, quantity: str) -> None:
        super().__init__(f"{quantity} has no finite bound: its denominator can be 0 while its numerator is not")
        self.quantity = quantity


class NotSolved(DodiagError):
    """The floating-point solver did not reach a solution that passes the checks.

    Attributes
    ----------
    reason : str
    """

    def __init__(self, reason: str) -> None:
        super().__init__(f"the linear program was not solved: {reason}", "Give Fractions for an exact solution.")
        self.reason = reason


def _nearby(value: float) -> str:
    from fractions import Fraction

    near = Fraction(value).limit_denominator(10_000)
    return f"Fraction({near.numerator}, {near.denominator})"
