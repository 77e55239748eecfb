"""Response types, events and linear forms: what a query and a constraint are made of.

A unit's response type says what its outcome is under every named regime, and, where they were recorded, what its own
behaviour was (Balke & Pearl 1994). Everything that a linear program can bound is a linear form in the probabilities of
the types, written with values, never with text:

>>> from fractions import Fraction
>>> types = ResponseTypes(("1", "0", "n"))
>>> benefit = types.probability({"1": 1, "0": 0})
>>> str(benefit), str(benefit - types.probability({"1": 0, "0": 1}))
('P(Y_1=1, Y_0=0)', 'P(Y_1=1, Y_0=0) - P(Y_1=0, Y_0=1)')
>>> str(types.probability({"1": 1}) == Fraction(7, 10))
'P(Y_1=1) = 7/10'
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from typing import Literal

from dodiag.bounds.errors import NotAProbability
from dodiag.bounds.linear.errors import NotANumber, NotLinear, OpenParameter, OtherTypes, TooManyTypes, UnknownOutcome

Number = int | Fraction | float
"""Rationals stay exact; any float makes the result a float."""

MOST_OUTCOMES = 12
"""Regimes and recorded variables together; 12 make 4096 types."""


def number(value: object) -> Number:
    """Return a finite number: whole numbers, Fractions and Decimals exactly, other reals as float.

    Raises
    ------
    NotANumber
        If the value is NaN, infinite or not a real number.
    """
    if isinstance(value, numbers.Rational):
        exact = Fraction(int(value.numerator), int(value.denominator))
        return exact.numerator if exact.denominator == 1 else exact
    if isinstance(value, Decimal) and value.is_finite():
        return number(Fraction(value))
    if isinstance(value, numbers.Real) and math.isfinite(real := float(value)):
        return real
    raise NotANumber(value)


@dataclass(frozen=True)
class Parameter:
    """The name of a number that is not known yet, for the right-hand side of a constraint in a closed form."""

    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class ResponseTypes:
    """All ways in which one unit can respond to the regimes.

    Parameters
    ----------
    regimes : tuple of str
        Names of the regimes r; each has a potential outcome Y_r, 1 = solved. A state's letter or a configuration's
        text serves.
    recorded : tuple of str, optional
        Names of further binary variables of the unit, such as ``"X"`` for its own answer to a prerequisite.

    Raises
    ------
    TooManyTypes
        If there are more than 12 of both together.
    UnknownOutcome
        If a name stands twice, or there is none.
    """

    regimes: tuple[str, ...]
    recorded: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        names = tuple(map(str, (*self.regimes, *self.recorded)))
        if not names or len(set(names)) < len(names):
            raise UnknownOutcome(", ".join(names), "Every regime and recorded variable needs a name of its own.")
        if len(names) > MOST_OUTCOMES:
            raise TooManyTypes(2 ** len(names), 2**MOST_OUTCOMES, "Leave out the regimes that the query does not need.")

    @property
    def names(self) -> tuple[str, ...]:
        """Regimes and recorded variables, in the order of the digits of :attr:`types`."""
        return (*self.regimes, *self.recorded)

    @cached_property
    def types(self) -> tuple[str, ...]:
        """Every type as a text of binary digits, one per name."""
        width = len(self.names)
        return tuple(format(index, f"0{width}b") for index in range(2**width))

    @property
    def about(self) -> str:
        """What the digits of a type stand for."""
        return f"types are the values of ({', '.join(self.symbol(name) for name in self.names)})"

    def symbol(self, name: str) -> str:
        """Return the symbol of an outcome: Y_r for a regime r, the name itself for a recorded variable."""
        return f"Y_{name}" if name in self.regimes else name

    @cached_property
    def everything(self) -> Event:
        """The event that always happens."""
        return Event(self, 2**2 ** len(self.names) - 1, "everything")

    def event(self, values: Mapping[str, int]) -> Event:
        """Return the event that outcomes have given values.

        Parameters
        ----------
        values : mapping of str to {0, 1}
            Value of each outcome that matters; the empty mapping is the event that always happens.

        Raises
        ------
        UnknownOutcome
            If a name is not among the regimes and recorded variables, or a value is not 0 or 1.
        """
        event = self.everything
        for name, value in values.items():
            if name not in self.names:
                raise UnknownOutcome(str(name), f"They have {', '.join(self.names)}.")
            if value not in (0, 1):
                raise UnknownOutcome(f"{name}={value}", "Outcomes are 1 (solved) or 0.")
            place = len(self.names) - 1 - self.names.index(name)
            ones = _alternating(place, len(self.names))
            text = f"{self.symbol(name)}={int(value)}"
            event = event & Event(self, ones if value else self.everything.mask ^ ones, text)
        return event

    def probability(self, event: Event | Mapping[str, int]) -> Form:
        """Return the probability of an event, a linear form."""
        return Form(self, ((self._event(event), 1),))

    def conditional(self, event: Event | Mapping[str, int], given: Event | Mapping[str, int]) -> Ratio:
        """Return P(event | given), a ratio of two linear forms.

        Examples
        --------
        >>> types = ResponseTypes(("1", "0"))
        >>> str(types.conditional({"0": 0}, given={"1": 1}))
        'P(Y_0=0 | Y_1=1)'
        """
        inner, outer = self._event(event), self._event(given)
        text = f"P({inner.text} | {outer.text})"
        return Ratio(self.probability(inner & outer), self.probability(outer), text)

    def constant(self, value: object) -> Form:
        """Return a number as a linear form: itself times the probability of everything."""
        return Form(self, ((self.everything, number(value)),))

    def _event(self, event: Event | Mapping[str, int]) -> Event:
        made = event if isinstance(event, Event) else self.event(event)
        if made.types != self:
            raise OtherTypes
        return made


def _alternating(place: int, width: int) -> int:
    """Mask of the types whose digit of value 2**place is 1: runs of 2**place zeros and ones, doubled to full length."""
    run = 2**place
    mask: int = ((1 << run) - 1) << run
    length = 2 * run
    while length < 2**width:
        mask |= mask << length
        length *= 2
    return mask


@dataclass(frozen=True)
class Event:
    """A set of response types; ``&``, ``|``, ``^`` and ``~`` combine events as sets.

    Attributes
    ----------
    types : ResponseTypes
    mask : int
        Bit j is 1 where the j-th type belongs to the event.
    text : str
        How it is written in results; it does not count when events are compared.
    """

    types: ResponseTypes
    mask: int
    text: str = field(compare=False)

    def __and__(self, other: Event) -> Event:
        self._same(other)
        if self == self.types.everything:
            return other
        if other == self.types.everything:
            return self
        return Event(self.types, self.mask & other.mask, f"{self.text}, {other.text}")

    def __or__(self, other: Event) -> Event:
        self._same(other)
        return Event(self.types, self.mask | other.mask, f"({self.text} or {other.text})")

    def __xor__(self, other: Event) -> Event:
        self._same(other)
        return Event(self.types, self.mask ^ other.mask, f"(either {self.text} or {other.text})")

    def __invert__(self) -> Event:
        return Event(self.types, self.types.everything.mask ^ self.mask, f"not ({self.text})")

    def named(self, text: str) -> Event:
        """Return the same event under another text."""
        return Event(self.types, self.mask, text)

    def indicator(self) -> list[int]:
        """Return 1 for every type that belongs to the event and 0 for the others, in the order of the types."""
        digits = format(self.mask, f"0{2 ** len(self.types.names)}b")
        return [int(digit) for digit in reversed(digits)]

    def _same(self, other: Event) -> None:
        if self.types != other.types:
            raise OtherTypes


Relation = Literal["==", "<=", ">="]


@dataclass(frozen=True, eq=False)
class Form:
    """A weighted sum of probabilities: linear in the joint distribution.

    Sums, differences and multiples are forms, a quotient of two is a :class:`Ratio`, and ``==``, ``<=``, ``>=`` make a
    :class:`Constraint`; a product of two forms is refused.

    Attributes
    ----------
    types : ResponseTypes
    terms : tuple of (Event, number)
        Events with their weights, each event once.
    """

    types: ResponseTypes
    terms: tuple[tuple[Event, Number], ...]

    __array_ufunc__ = None
    __hash__ = None  # type: ignore[assignment]

    def weights(self) -> list[Number]:
        """Return the weight of every type."""
        if len(self.terms) == 1 and self.terms[0][1] == 1:
            return list(self.terms[0][0].indicator())
        total: list[Number] = [0] * len(self.types.types)
        for event, weight in self.terms:
            for index, inside in enumerate(event.indicator()):
                if inside:
                    total[index] += weight
        return total

    def __add__(self, other: object) -> Form:
        addend = self._form(other)
        merged: dict[Event, Number] = dict(self.terms)
        for event, weight in addend.terms:
            merged[event] = merged.get(event, 0) + weight
        return Form(self.types, tuple((event, weight) for event, weight in merged.items() if weight))

    __radd__ = __add__

    def __neg__(self) -> Form:
        return Form(self.types, tuple((event, -weight) for event, weight in self.terms))

    def __sub__(self, other: object) -> Form:
        return self + -self._form(other)

    def __rsub__(self, other: object) -> Form:
        return self._form(other) - self

    def __mul__(self, factor: object) -> Form:
        if isinstance(factor, (Form, Ratio)):
            raise NotLinear(f"the product of {self} and {factor}")
        scale = number(factor)
        return Form(self.types, tuple((event, weight * scale) for event, weight in self.terms if scale))

    __rmul__ = __mul__

    def __truediv__(self, other: object) -> Form | Ratio:
        if isinstance(other, Ratio):
            raise NotLinear(f"the quotient of {self} and {other}")
        if isinstance(other, Form):
            self._form(other)
            return Ratio(self, other, f"({self}) / ({other})")
        divisor = number(other)
        if divisor == 0:
            raise NotANumber(f"{self} / 0")
        return self * (Fraction(1) / divisor)

    def __rtruediv__(self, other: object) -> Ratio:
        return Ratio(self._form(other), self, f"({other}) / ({self})")

    def __pow__(self, power: object) -> Form:
        raise NotLinear(f"a power of {self}")

    def __eq__(self, other: object) -> Constraint:  # type: ignore[override]
        return self._compared("==", other)

    def __ne__(self, other: object) -> bool:
        raise NotLinear(f"{self} ≠ {other}")

    def __le__(self, other: object) -> Constraint:
        return self._compared("<=", other)

    def __ge__(self, other: object) -> Constraint:
        return self._compared(">=", other)

    def __lt__(self, other: object) -> Constraint:
        raise NotLinear(f"the strict inequality {self} < {other}")

    def __gt__(self, other: object) -> Constraint:
        raise NotLinear(f"the strict inequality {self} > {other}")

    def __str__(self) -> str:
        pieces = [
            (weight, "" if event == self.types.everything else f"P({event.text})") for event, weight in self.terms
        ]
        return weighted_sum(pieces)

    def __repr__(self) -> str:
        return f"<Form {self}>"

    def _form(self, other: object) -> Form:
        if isinstance(other, Form):
            if other.types != self.types:
                raise OtherTypes
            return other
        if isinstance(other, Ratio):
            raise NotLinear(f"the sum of {self} and {other}")
        return self.types.constant(other)

    def _compared(self, relation: Relation, other: object) -> Constraint:
        if isinstance(other, Ratio):
            raise NotLinear(f"the comparison of {self} with {other}")
        if isinstance(other, Form):
            return Constraint(self - other, relation, 0, f"{self} {_SIGN[relation]} {other}")
        right = other if isinstance(other, Parameter) else number(other)
        if self.is_probability and not isinstance(right, Parameter) and not 0 <= right <= 1:
            raise NotAProbability(str(self), float(right))
        return Constraint(self, relation, right, f"{self} {_SIGN[relation]} {right}")

    @property
    def is_probability(self) -> bool:
        """Whether this is the probability of one event."""
        return len(self.terms) == 1 and self.terms[0][1] == 1


_SIGN = {"==": "=", "<=": "≤", ">=": "≥"}


@dataclass(frozen=True, eq=False)
class Ratio:
    """A quotient of two linear forms, such as a conditional probability.

    Comparing it with a number makes the constraint numerator − number · denominator = 0 (<=, >=), which also holds
    where both are 0; its denominator is taken to be 0 or more.

    Attributes
    ----------
    numerator, denominator : Form
    text : str
    """

    numerator: Form
    denominator: Form
    text: str

    __array_ufunc__ = None
    __hash__ = None  # type: ignore[assignment]

    def __eq__(self, other: object) -> Constraint:  # type: ignore[override]
        return self._compared("==", other)

    def __ne__(self, other: object) -> bool:
        raise NotLinear(f"{self} ≠ {other}")

    def __le__(self, other: object) -> Constraint:
        return self._compared("<=", other)

    def __ge__(self, other: object) -> Constraint:
        return self._compared(">=", other)

    def _refuse(self, other: object) -> Form:
        raise NotLinear(f"arithmetic with the ratio {self} and {other}")

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = __pow__ = _refuse

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"<Ratio {self}>"

    def _compared(self, relation: Relation, other: object) -> Constraint:
        if isinstance(other, (Form, Ratio, Parameter)):
            raise NotLinear(f"the comparison of {self} with {other}")
        right = number(other)
        moved = self.numerator - right * self.denominator
        return Constraint(moved, relation, 0, f"{self} {_SIGN[relation]} {right}")


Query = Form | Ratio


@dataclass(frozen=True, eq=False)
class Constraint:
    """A linear form compared with a number or with a parameter.

    Attributes
    ----------
    form : Form
    relation : {"==", "<=", ">="}
    right : number or Parameter
    text : str
    """

    form: Form
    relation: Relation
    right: Number | Parameter
    text: str

    __hash__ = None  # type: ignore[assignment]

    def __bool__(self) -> bool:
        raise TypeError(f"the constraint {self} is no truth value; write two constraints instead of a chain")

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"<Constraint {self}>"

    def at(self, values: Mapping[str, object]) -> Constraint:
        """Return the constraint with its parameter replaced by a number.

        Raises
        ------
        OpenParameter
            If the mapping lacks the parameter.
        NotAProbability
            If a probability is compared with a number outside [0, 1].
        """
        if not isinstance(self.right, Parameter):
            return self
        if self.right.name not in values:
            raise OpenParameter([self.right.name])
        return self.form._compared(self.relation, values[self.right.name])


def weighted_sum(pieces: list[tuple[Number, str]]) -> str:
    """Return the text of a weighted sum of symbols; the empty symbol stands for the number 1.

    Examples
    --------
    >>> weighted_sum([(1, "p"), (-2, "q"), (-1, "")]), weighted_sum([])
    ('p - 2·q - 1', '0')
    """
    parts: list[str] = []
    for weight, symbol in pieces:
        if not weight:
            continue
        size = abs(weight)
        body = symbol if symbol and size == 1 else f"{size}·{symbol}" if symbol else str(size)
        sign = ("-" if weight < 0 else "") if not parts else (" - " if weight < 0 else " + ")
        parts.append(sign + body)
    return "".join(parts) or "0"
