"""The terminal table of a plan: what is asked, and what it costs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.markup import escape
from rich.text import Text

from dodiag.interventions.price import duration
from dodiag.report.style import new_table

if TYPE_CHECKING:
    from dodiag.interventions.plan import Plan
    from dodiag.interventions.price import Price


def plan_table(plan: Plan, cost: Price) -> RenderableType:
    """Return what a plan asks and costs."""
    table = new_table(f"Plan of {plan.task.title} ({plan.task.name})")
    table.add_column("unit")
    table.add_column("prerequisites")
    table.add_column("configurations\nper question", justify="right")
    table.add_column("calls", justify="right")
    for unit in plan.asked_units:
        label = f"[bold]{unit}[/bold] {escape(plan.task.units[unit].title)}"
        steps = (None,) if plan.task.chain_of(unit) is None else (1, 2)
        prerequisites = _first_and_later([", ".join(plan.task.prerequisites(unit, step)) or "none" for step in steps])
        count = _first_and_later([str(len(plan.configurations(unit, step))) for step in steps])
        table.add_row(label, prerequisites, count, f"{cost.calls_per_unit[unit]:,}")
    return Group(table, *[Text(line) for line in _plan_lines(plan, cost)])


def _first_and_later(said: Sequence[str]) -> str:
    """Return what is said of a chain's step 1, with what is said of step 2 and later where that differs."""
    return said[0] if said[-1] == said[0] else f"{said[0]}; from step 2 {said[-1]}"


def _plan_lines(plan: Plan, cost: Price) -> Iterator[str]:
    nominal, distinct = plan.nominal_per_instance, plan.distinct_per_instance
    same = "" if nominal == distinct else f" (the paper's count is {nominal}; some coincide)"
    yield f"{plan.task.target} is asked under {distinct} distinct configurations per question{same}."
    source = "assumed, since a task graph has none" if cost.assumed else "of the pack"
    yield f"{cost.calls:,} calls on {cost.instances:,} instances ({source})."
    given = cost.assumptions
    if cost.input_tokens is not None:
        yield (
            f"About {cost.input_tokens:,} tokens in and {cost.output_tokens:,} out ({given.output_tokens} a reply"
            " assumed)."
        )
    if cost.money is not None:
        yield f"About {cost.money:,.2f} at {given.input_price:g} and {given.output_price:g} per million tokens."
    elif given.input_price is None:
        yield "No price is known; name one with --price IN,OUT (per million tokens)."
    else:
        yield "No cost is known, since a task graph has no questions to measure; plan a task pack."
    yield (
        f"About {duration(cost.seconds)} at {given.concurrency} calls in flight and {given.latency:g} s a call"
        " (assumed)."
    )
    yield f"plan {plan.digest[:16]}"
