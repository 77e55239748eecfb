"""Numbers as reports write them: two decimals, limits in brackets, a sign where it is a difference."""

from __future__ import annotations

from dodiag.bounds.aggregates import Average


def number(value: float | None, signed: bool = False) -> str:
    """Return a number with two decimals, or a dash where there is none.

    Examples
    --------
    >>> number(0.125), number(-0.001, signed=True), number(None)
    ('0.12', '0.00', '–')
    """
    if value is None:
        return "–"
    text = f"{value:+.2f}" if signed else f"{value:.2f}"
    return "0.00" if text in ("-0.00", "+0.00") else text


def limits(lower: float | None, upper: float | None, signed: bool = False) -> str:
    """Return ``[0.53, 0.70]``, which does not break; empty where there are none."""
    if lower is None or upper is None:
        return ""
    return f"[{number(lower, signed)},\u00a0{number(upper, signed)}]"


def with_limits(value: float | None, lower: float | None, upper: float | None, signed: bool = False) -> str:
    """Return ``0.62 [0.53, 0.70]``."""
    return " ".join(filter(None, (number(value, signed), limits(lower, upper, signed))))


def average(found: Average | None, signed: bool = False) -> str:
    """Return an average with its limits."""
    return "–" if found is None else with_limits(found.value, found.lower, found.upper, signed)


def spread(found: Average | None) -> str:
    """Return the standard deviation of an average and how many values it is of, ``± 0.12 over 6``."""
    if found is None or found.value is None:
        return ""
    return f"over {found.count:,}" if found.sd is None else f"± {found.sd:.2f} over {found.count:,}"


def share(value: float | None) -> str:
    """Return a share of a whole in percent."""
    return "–" if value is None else f"{value:.0%}"


def p_value(value: float | None) -> str:
    """Return a p-value with three decimals."""
    if value is None:
        return "–"
    return "<0.001" if value < 0.001 else f"{value:.3f}"
