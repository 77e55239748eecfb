"""Certificates of linear programs over the rationals, and the checker that has to be trusted.

This file imports the standard library alone, so that a certificate can be checked without the rest of the package. A
certificate speaks of one program

    minimise (or maximise)  objective · x   subject to   row · x = right for every row,  x >= 0,

or of the ratio objective · x / denominator · x over the feasible x with denominator · x > 0. It holds a primal point,
which shows that the value is attained, and one multiplier per row (the dual point), which shows that nothing lies
beyond it. The certificate of an empty program holds multipliers only (Farkas' lemma).
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Literal

Rational = int | Fraction
Row = Mapping[str, Rational]

FORMAT = "linear-program-certificate/1"


class WrongCertificate(ValueError):
    """A certificate does not prove what it claims, or cannot be read.

    Attributes
    ----------
    reason : str
        The first thing that is wrong.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(f"the certificate proves nothing: {reason}")
        self.reason = reason


@dataclass(frozen=True)
class Certificate:
    """What shows that a linear program has a value, or no solution. Entries that are not named are 0.

    Attributes
    ----------
    sense : {"min", "max", "infeasible"}
        Which end `value` is; ``"infeasible"`` claims that no x satisfies the rows.
    columns : tuple of str
        Names of the variables, all of them 0 or more.
    rows : mapping of str to mapping of str to Fraction
        Coefficients of each equation, by column.
    right : mapping of str to Fraction
        Right-hand side of each equation.
    objective : mapping of str to Fraction
        Coefficients of the query (of its numerator, if it is a ratio).
    denominator : mapping of str to Fraction, or None
        Coefficients of the denominator; None if the query is linear.
    primal : mapping of str to Fraction
        A solution that attains the value.
    dual : mapping of str to Fraction
        One multiplier per row.
    value : Fraction
        The end that is claimed.
    about : str
        What rows and columns stand for, for people.
    """

    sense: Literal["min", "max", "infeasible"]
    columns: tuple[str, ...]
    rows: Mapping[str, Row]
    right: Row
    objective: Row = field(default_factory=dict)
    denominator: Row | None = None
    primal: Row = field(default_factory=dict)
    dual: Row = field(default_factory=dict)
    value: Rational = 0
    about: str = ""


def check(certificate: Certificate) -> None:
    """Return if a certificate proves its claim; only additions, products and comparisons of rationals are used.

    With A the rows, b the right-hand side, c the objective (c − value·d for a ratio with denominator d) and v the value
    (0 for a ratio), it compares: x >= 0; A x = b; c·x = v; d·x > 0 for a ratio; y·b = v; and c − A'y >= 0 in every
    column for a minimum, <= 0 for a maximum. For every feasible x then c·x >= y·A x = y·b = v (weak duality). An
    infeasible program has A'y <= 0 and y·b > 0, which no x >= 0 with A x = b allows.

    Raises
    ------
    WrongCertificate
        With the first comparison that fails.

    Examples
    --------
    >>> coin = {"total": {"heads": 1, "tails": 1}}
    >>> sides, one, heads = ("heads", "tails"), {"total": 1}, {"heads": 1}
    >>> check(Certificate("max", sides, coin, one, heads, primal={"heads": 1}, dual={"total": 1}, value=1))
    >>> check(Certificate("max", sides, coin, one, heads, primal={"heads": 1}, dual={"total": 2}, value=2))
    Traceback (most recent call last):
        ...
    dodiag.bounds.linear.certificate.WrongCertificate: the certificate proves nothing: the primal point misses the value
    """
    _check_names_and_types(certificate)
    ratio = certificate.denominator is not None
    target = 0 if ratio else certificate.value
    cost = dict.fromkeys(certificate.columns, 0) | dict(certificate.objective)
    for column, weight in (certificate.denominator or {}).items():
        cost[column] -= certificate.value * weight
    reduced = dict(cost)
    for name, row in certificate.rows.items():
        multiplier = certificate.dual.get(name, 0)
        if multiplier:
            for column, entry in row.items():
                reduced[column] -= multiplier * entry
    reached = _dot(certificate.dual, certificate.right)
    sign = -1 if certificate.sense == "max" else 1
    _require(all(sign * value >= 0 for value in reduced.values()), "the multipliers are not dual feasible")
    if certificate.sense == "infeasible":
        _require(not certificate.objective and not ratio, "an infeasible program has no objective")
        _require(reached > 0, "the multipliers do not contradict the rows")
        return
    _require(all(value >= 0 for value in certificate.primal.values()), "the primal point has a negative entry")
    for name, row in certificate.rows.items():
        _require(_dot(certificate.primal, row) == certificate.right.get(name, 0), f"the primal point violates '{name}'")
    _require(_dot(certificate.primal, cost) == target, "the primal point misses the value")
    _require(reached == target, "the multipliers miss the value")
    if certificate.denominator is not None:
        _require(_dot(certificate.primal, certificate.denominator) > 0, "the primal point has denominator 0")


def _dot(sparse: Row, other: Row) -> Rational:
    return sum((value * other[name] for name, value in sparse.items() if name in other), 0)


def _check_names_and_types(certificate: Certificate) -> None:
    columns, rows = set(certificate.columns), set(certificate.rows)
    _require(certificate.sense in ("min", "max", "infeasible"), f"'{certificate.sense}' is no sense")
    _require(len(columns) == len(certificate.columns), "a column stands twice")
    over_columns = [*certificate.rows.values(), certificate.objective, certificate.denominator or {}]
    for part, names in [*((p, columns) for p in [*over_columns, certificate.primal]), (certificate.dual, rows)]:
        _require(part.keys() <= names, "a name is neither a column nor a row")
    _require(certificate.right.keys() <= rows, "a right-hand side has no row")
    for part in [*over_columns, certificate.primal, certificate.dual, certificate.right, {"value": certificate.value}]:
        _require(all(type(value) in (int, Fraction) for value in part.values()), "an entry is not rational")


def _require(holds: bool, reason: str) -> None:
    if not holds:
        raise WrongCertificate(reason)


def to_json(certificate: Certificate) -> str:
    """Return a certificate as JSON text: rationals are strings such as ``"7/10"``, zeros are left out."""

    def text(part: Row) -> dict[str, str]:
        return {name: str(value) for name, value in part.items() if value}

    return json.dumps(
        {
            "format": FORMAT,
            "about": certificate.about,
            "sense": certificate.sense,
            "columns": list(certificate.columns),
            "rows": {name: text(row) for name, row in certificate.rows.items()},
            "right": text(certificate.right),
            "objective": text(certificate.objective),
            "denominator": None if certificate.denominator is None else text(certificate.denominator),
            "primal": text(certificate.primal),
            "dual": text(certificate.dual),
            "value": str(certificate.value),
        },
        ensure_ascii=False,
    )


def from_json(text: str) -> Certificate:
    """Read a certificate from JSON text; it is not checked.

    Raises
    ------
    WrongCertificate
        If the text is not of this format.
    """

    def number(value: Any) -> Rational:
        # Not all that Fraction reads: "1e999999999" has too many digits to be checked.
        if not isinstance(value, str) or not re.fullmatch(r"-?[0-9]+(/[0-9]+)?", value):
            raise WrongCertificate(f"{value!r} is not a rational in a string")
        exact = Fraction(value)
        return exact.numerator if exact.denominator == 1 else exact

    def row(part: Any) -> Row:
        return {str(name): number(value) for name, value in part.items()}

    try:
        data = json.loads(text)
        if data["format"] != FORMAT:
            raise WrongCertificate(f"its format is '{data['format']}', not '{FORMAT}'")
        if not isinstance(data["columns"], list) or not all(isinstance(name, str) for name in data["columns"]):
            raise WrongCertificate("its columns are not a list of names")
        return Certificate(
            sense=data["sense"],
            columns=tuple(data["columns"]),
            rows={name: row(part) for name, part in data["rows"].items()},
            right=row(data["right"]),
            objective=row(data["objective"]),
            denominator=None if data["denominator"] is None else row(data["denominator"]),
            primal=row(data["primal"]),
            dual=row(data["dual"]),
            value=number(data["value"]),
            about=data["about"],
        )
    except (KeyError, TypeError, AttributeError, ValueError, ZeroDivisionError) as error:
        if isinstance(error, WrongCertificate):
            raise
        raise WrongCertificate(f"it cannot be read ({type(error).__name__}: {error})") from error
