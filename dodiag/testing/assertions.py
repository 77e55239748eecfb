"""Assertions about a metric of your own: searched for a counterexample, which is told in words.

The metric is called with exact fractions. What it returns is compared exactly where it is a fraction or an integer, and
up to `tolerance` where it is a float.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from numbers import Rational
from typing import Any, Literal, Protocol, get_args

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from dodiag.bounds.errors import Undefined
from dodiag.problems import UsageError, nearest
from dodiag.testing.distributions import response_types

Quantity = Literal["PN", "PS", "PNS"]
TOLERANCE = 1e-9
Number = Fraction | float


class Population(Protocol):
    """What an assertion needs of a population: its truth, and what can be measured of it."""

    @property
    def regimes(self) -> tuple[str, ...]: ...
    def evidence(self, a: str, a_prime: str) -> tuple[Any, ...]: ...
    def PN(self, a: str, a_prime: str) -> Fraction: ...  # noqa: N802
    def PS(self, a: str, a_prime: str) -> Fraction: ...  # noqa: N802
    def PNS(self, a: str, a_prime: str) -> Fraction: ...  # noqa: N802
    def harm(self, a: str, a_prime: str) -> Fraction: ...


class Refuted(AssertionError):
    """A claim about a metric fails, and this is where.

    Attributes
    ----------
    counterexample : Population
        The smallest population that was found.
    quantity : str
    truth : Fraction
        The quantity's value there.
    answer : object
        What the metric returned there.
    """

    def __init__(
        self, claim: str, counterexample: Population, quantity: Quantity, truth: Fraction, answer: Any
    ) -> None:
        a, a_prime = counterexample.regimes[:2]
        measured = _measured(counterexample.evidence(a, a_prime))
        super().__init__(
            f"{claim}: it gives {_shown(answer)} where {quantity}({a}, {a_prime}) = {truth}. "
            f"Counterexample: {counterexample}{measured}."
        )
        self.counterexample = counterexample
        self.quantity = quantity
        self.truth = truth
        self.answer = answer


def assert_lower_bound(
    score: Callable[..., Any],
    quantity: Quantity,
    *,
    over: st.SearchStrategy[Any] | None = None,
    examples: int = 200,
    tolerance: float = TOLERANCE,
) -> None:
    """Assert that a metric never exceeds a probability of causation.

    Parameters
    ----------
    score : callable
        From what can be measured to a number: ``score(p, p_prime)`` by default. Over :func:`strata` it gets ``(weights,
        rates, rates_prime)``, over ``response_types(observed=True)`` ``(p, p_prime, observations)``; that is what the
        population's ``evidence`` returns.
    quantity : {"PN", "PS", "PNS"}
        For the contrast of the first two regimes. Populations in which it is undefined are passed over.
    over : strategy, optional
        Populations to search; default ``response_types()``, any distribution of the four response types.
    examples : int
        How many to try. The same ones every time.
    tolerance : float
        Slack for floats.

    Raises
    ------
    Refuted
        With the smallest counterexample that was found.
    UsageError
        If there is no such quantity, or it is undefined in every population, so that nothing was compared.

    Examples
    --------
    >>> assert_lower_bound(lambda p, p_prime: max(0, p - p_prime), "PN")
    >>> assert_lower_bound(lambda p, p_prime: p * (1 - p_prime), "PNS")
    Traceback (most recent call last):
    ...
    dodiag.testing.assertions.Refuted: the score is no lower bound of PNS: it gives 1/4 where PNS(1, 0) = 0. ...
    """

    def judge(answer: Any, truth: Fraction) -> str | None:
        bound = _number(answer)
        if bound is not None and bound <= truth + _slack(bound, tolerance):
            return None
        return f"{_name(score)} is no lower bound of {quantity}"

    _search(score, quantity, judge, over, examples)


def assert_between(
    interval: Callable[..., tuple[Any, Any]],
    quantity: Quantity,
    *,
    over: st.SearchStrategy[Any] | None = None,
    examples: int = 200,
    tolerance: float = TOLERANCE,
) -> None:
    """Assert that an interval of your own always holds a probability of causation.

    `interval` returns (lower, upper); the rest as in :func:`assert_lower_bound`.

    Raises
    ------
    Refuted
        With the smallest counterexample that was found.
    """

    def judge(answer: Any, truth: Fraction) -> str | None:
        low, high = answer
        lower, upper = _number(low), _number(high)
        if (
            lower is not None
            and upper is not None
            and lower <= truth + _slack(lower, tolerance)
            and truth - _slack(upper, tolerance) <= upper
        ):
            return None
        return f"{_name(interval)} does not hold {quantity}"

    _search(interval, quantity, judge, over, examples)


def assert_monotone_equality(
    score: Callable[..., Any],
    quantity: Quantity,
    *,
    over: st.SearchStrategy[Any] | None = None,
    examples: int = 200,
    tolerance: float = TOLERANCE,
) -> None:
    """Assert that a metric equals a probability of causation under monotonicity, as N, S and NS do.

    That they do is CADET Proposition A.5. Parameters as in :func:`assert_lower_bound`; `over` is by default
    ``response_types(monotone=("1", "0"))``. Populations with harm, of which the claim says nothing, are passed over.

    Raises
    ------
    Refuted
        With the smallest counterexample that was found.
    UsageError
        If every population that was tried has harm or leaves the quantity undefined.
    """

    def judge(answer: Any, truth: Fraction) -> str | None:
        value = _number(answer)
        if value is not None and truth - _slack(value, tolerance) <= value <= truth + _slack(value, tolerance):
            return None
        return f"{_name(score)} is not {quantity} under monotonicity"

    searched = response_types(monotone=("1", "0")) if over is None else over
    _search(score, quantity, judge, searched, examples, monotone=True)


def _search(
    metric: Callable[..., Any],
    quantity: Quantity,
    judge: Callable[[Any, Fraction], str | None],
    over: st.SearchStrategy[Any] | None,
    examples: int,
    monotone: bool = False,
) -> None:
    if quantity not in get_args(Quantity):
        raise UsageError(f"'{quantity}' is no probability of causation", nearest(quantity, get_args(Quantity)))
    if examples < 1:
        raise UsageError(f"{examples} examples are asked for", "Use at least 1.")
    judged = 0

    @settings(
        max_examples=examples,
        deadline=None,
        database=None,
        derandomize=True,
        report_multiple_bugs=False,
        print_blob=False,
        phases=(Phase.generate, Phase.shrink),
        suppress_health_check=(HealthCheck.too_slow, HealthCheck.filter_too_much),
    )
    @given(response_types() if over is None else over)
    def holds(population: Population) -> None:
        nonlocal judged
        if len(population.regimes) < 2:
            raise UsageError(f"{population.regimes[0]} is the only regime", "A contrast needs two; name both.")
        a, a_prime = population.regimes[:2]
        if monotone and population.harm(a, a_prime):
            return
        try:
            truth: Fraction = getattr(population, quantity)(a, a_prime)
        except Undefined:
            return
        judged += 1
        answer = metric(*population.evidence(a, a_prime))
        if (claim := judge(answer, truth)) is not None:
            raise Refuted(claim, population, quantity, truth, answer)

    holds()
    if not judged:
        harmed = " or there is harm" if monotone else ""
        raise UsageError(f"{quantity} is undefined{harmed} in every population that was tried", "Search others.")


def _number(answer: Any) -> Number | None:
    """Return an answer as a number, or None where it is none. NaN stays: it fails every comparison, as it should."""
    if isinstance(answer, Rational):
        return Fraction(answer)
    if isinstance(answer, (str, bytes)):
        return None
    try:
        return float(answer)
    except (TypeError, ValueError):
        return None


def _slack(value: Number, tolerance: float) -> Number:
    return Fraction(0) if isinstance(value, Fraction) else tolerance


def _name(metric: Callable[..., Any]) -> str:
    name = getattr(metric, "__name__", "<lambda>")
    return "the score" if name == "<lambda>" else name


def _shown(answer: Any) -> str:
    if isinstance(answer, tuple):
        return f"[{', '.join(map(_shown, answer))}]"
    return f"{answer:.6g}" if isinstance(answer, float) else str(answer)


def _measured(evidence: tuple[Any, ...]) -> str:
    if len(evidence) < 2 or not all(isinstance(value, Fraction) for value in evidence[:2]):
        return ""
    return f"; so p = {evidence[0]} and p' = {evidence[1]}"
