"""What a run is expected to cost, said before its first call and kept beside what it then did cost."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

from dodiag.interventions.plan import Plan
from dodiag.interventions.price import Assumptions, Price, duration, price
from dodiag.runners.progress import say
from dodiag.runners.protocol import Adapter
from dodiag.runners.runner import RunOptions


def estimate(plan: Plan, adapter: Adapter, options: RunOptions, parameters: Mapping[str, Any]) -> Price | None:
    """Return what a plan is expected to cost with a model; None for one that costs nothing.

    A reply is assumed to have 100 tokens, or as many as ``max_tokens`` allows if that is less.
    """
    if adapter.free:
        return None
    assumed, prices = Assumptions(), options.prices
    longest = parameters.get("max_completion_tokens") or parameters.get("max_tokens")
    output_tokens = min(assumed.output_tokens, longest) if isinstance(longest, int) else assumed.output_tokens
    given = Assumptions(
        output_tokens=output_tokens,
        concurrency=options.concurrency,
        input_price=None if prices is None else prices.input,
        output_price=None if prices is None else prices.output,
        with_media=adapter.sees_media,
    )
    return price(plan, given)


def announce(expected: Price | None, quiet: bool) -> None:
    """Say on standard error what a run is expected to cost."""
    if expected is None or quiet:
        return
    say(sys.stderr, f"expected: {estimate_text(expected.to_dict())}\n")


def estimate_text(expected: Mapping[str, Any]) -> str:
    """Return an estimate, as a manifest stores it, in words.

    Examples
    --------
    >>> stored = {"calls": 1200, "input_tokens": 50_000, "output_tokens": 120_000, "money": 1.5, "seconds": 150.0}
    >>> estimate_text({**stored, "assumptions": {"output_tokens": 100, "latency": 2.0}})
    '1,200 calls, 50,000 tokens in and 120,000 out (100 a reply), 1.5000 in money, 2 min 30 s at 2 s a call'
    """
    given = expected["assumptions"]
    money = "price unknown" if expected["money"] is None else f"{expected['money']:.4f} in money"
    time = f"{duration(expected['seconds'])} at {given['latency']:g} s a call"
    return (
        f"{expected['calls']:,} calls, {expected['input_tokens']:,} tokens in and {expected['output_tokens']:,} out"
        f" ({given['output_tokens']} a reply), {money}, {time}"
    )
