"""Sections of the overview on capabilities: how well models do, where they lose, what wrong prerequisites do."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from dodiag.bounds.aggregates import AblationRow, Average, CapabilityRow
from dodiag.report.numbers import number, share
from dodiag.report.overview import Overview
from dodiag.report.page import figures_budget as budget
from dodiag.report.page.elements import Row, faint, legend, on_demand, table, wide
from dodiag.report.page.marks import COLOURS
from dodiag.report.page.markup import Content, Element, tag
from dodiag.report.page.overview_parts import MEAN, average_cell, capital, models_and_mean, named

Rows = tuple[Content, list[tuple[Content, CapabilityRow]]]
"""A heading, or None, and rows with what they are called."""


def whole_row(rows: Sequence[CapabilityRow], model: str | None, category: str | None = None) -> CapabilityRow | None:
    """Return the row of the units with prerequisites of a model, or of all models, where there is one."""
    wanted = (row for row in rows if row.role == "nonroot" and row.model == model and row.category == category)
    return next(wanted, None)


def models_section(found: Overview) -> Iterator[Content]:
    """Yield the section on how well the models do; nothing where there are no data."""
    rows = []
    for model in models_and_mean(found):
        roots = next((r for r in found.capabilities if (r.model, r.category, r.role) == (model, None, "root")), None)
        rest = whole_row(found.capabilities, model)
        if roots is None and rest is None:
            continue
        units = sum(row.units for row in (roots, rest) if row is not None)
        rows.append(
            (
                named(model),
                f"{units:,}",
                average_cell(None if roots is None else roots.nc),
                *_capability_cells(rest),
            )
        )
    if rows:
        head = ("model", "units", "NC of roots", "NC", "IC", "RC", "IC − NC", "1 − IC")
        yield wide(table(head, [(None, rows)], numbers=(1,)))
        yield faint(
            f"All but the roots: units with prerequisites. NC: nothing injected; IC: all prerequisites correct; RC: all"
            f" incorrect. [Limits] at {found.level:.0%}; small: ± standard deviation, and how many were averaged."
        )
        yield on_demand("Every average: categories, roots and the rest", wide(_averages(found)))


def _averages(found: Overview) -> Element:
    head = ("model", "category", "units", "NC", "IC", "RC", "IC − NC", "1 − IC", "RC − NC", "share")
    roles = (("root", "Roots: units without a prerequisite"), ("nonroot", "Units with prerequisites"))
    groups: list[tuple[Content, list[Row]]] = []
    for role, heading in roles:
        rows: list[Row] = [
            (
                named(row.model),
                capital(row.category or "all"),
                f"{row.units:,}",
                average_cell(row.nc),
                average_cell(row.ic),
                average_cell(row.rc),
                average_cell(row.cascading, signed=True),
                average_cell(row.residual),
                average_cell(row.resilience, signed=True),
                _cascading_share(row),
            )
            for row in found.capabilities
            if row.role == role
        ]
        if rows:
            groups.append((tag("b", heading), rows))
    return table(head, groups, numbers=(2, 9))


def _capability_cells(row: CapabilityRow | None) -> tuple[Content, ...]:
    if row is None:
        return ("–",) * 5
    shares = (average_cell(row.nc), average_cell(row.ic), average_cell(row.rc))
    return *shares, average_cell(row.cascading, signed=True), average_cell(row.residual)


def _grouped(found: Overview, kept: Callable[[CapabilityRow], bool]) -> list[tuple[str | None, list[CapabilityRow]]]:
    """Return the non-root rows that are kept, by category (None: all), the mean over models first in each."""
    rows = [row for row in found.capabilities if row.role == "nonroot" and kept(row)]
    order = {model: index for index, model in enumerate(found.models)}
    categories = dict.fromkeys(row.category for row in rows)
    return [
        (name, sorted((r for r in rows if r.category == name), key=lambda r: -1 if r.model is None else order[r.model]))
        for name in categories
    ]


def budget_section(found: Overview) -> Iterator[Content]:
    """Yield the section on the error budget; nothing where there are no data."""
    groups = _grouped(found, lambda row: row.cascading is not None)
    if not groups:
        return
    entries = [
        (budget.SOLVED, "NC: solved with nothing injected"),
        (budget.CASCADING, "IC − NC: cascading, lost to the prerequisites"),
        (budget.RESIDUAL, "1 − IC: residual, lost even with all of them correct"),
    ]
    if any((row.cascading is not None and (row.cascading.value or 0) < 0) for _, rows in groups for row in rows):
        entries.append((budget.HARMED, "NC − IC: lost by supplying them"))
    yield legend(entries)
    shown, rest = _split(groups, len(found.models))
    yield wide(_budget_table(shown))
    yield faint(
        "The thin lines are the limits of NC (above) and IC (below). Share: the cascading part of all that is lost."
        " Bars are left out where units were not asked under both states."
    )
    if rest:
        yield on_demand("Each category, model by model", wide(_budget_table(rest)))


def _split(groups: Sequence[tuple[str | None, list[CapabilityRow]]], models: int) -> tuple[list[Rows], list[Rows]]:
    """Return what is shown at once, all models and the mean of each category, and the models of each category."""
    whole = next((rows for category, rows in groups if category is None), [])
    by_category = [(category, rows) for category, rows in groups if category is not None]
    if models == 1:
        alone: list[tuple[Content, CapabilityRow]] = [
            (capital(category or "all units"), row) for category, rows in groups for row in rows
        ]
        return [(None, alone)], []
    means: list[tuple[Content, CapabilityRow]] = [
        (capital(category), rows[0]) for category, rows in by_category if rows[0].model is None
    ]
    overall: list[tuple[Content, CapabilityRow]] = [(named(row.model), row) for row in whole]
    each: list[Rows] = [
        (tag("b", capital(category)), [(named(row.model), row) for row in rows]) for category, rows in by_category
    ]
    return [(tag("b", "All units with prerequisites"), overall), (tag("b", f"Categories, {MEAN}"), means)], each


def _budget_table(groups: Sequence[Rows]) -> Element:
    head = ("", budget.budget_axis(), "NC", "IC − NC", "1 − IC", "share", "units")
    return table(
        head,
        [
            (
                heading,
                [
                    (
                        label,
                        budget.budget_bar(row),
                        average_cell(row.nc),
                        average_cell(row.cascading, signed=True),
                        average_cell(row.residual),
                        _cascading_share(row),
                        f"{row.units:,}",
                    )
                    for label, row in rows
                ],
            )
            for heading, rows in groups
        ],
        numbers=(5, 6),
    )


def _cascading_share(row: CapabilityRow) -> Content:
    if row.cascading_share is None:
        return "–"
    return tag("span", share(row.cascading_share), title=number(row.cascading_share, signed=True))


def resilience_section(found: Overview) -> Iterator[Content]:
    """Yield the section on what wrong prerequisites do; nothing where there are no data."""
    groups = _grouped(found, lambda row: row.resilience is not None)
    if not groups:
        return
    scale = budget.Differences(row.resilience for _, rows in groups for row in rows)
    shown, rest = _split(groups, len(found.models))
    yield faint(
        "Below 0: wrong answers of the prerequisites are taken over. Around 0: the unit does not rely on what it is"
        f" told. Dots with {found.level:.0%} limits."
    )
    yield wide(_resilience_table(shown, scale))
    if rest:
        yield on_demand("Each category, model by model", wide(_resilience_table(rest, scale)))


def _resilience_table(groups: Sequence[Rows], scale: budget.Differences) -> Element:
    head = ("", scale.axis(), "RC − NC", "RC", "NC", "units")
    return table(
        head,
        [
            (
                heading,
                [
                    (
                        label,
                        scale.mark(row.resilience, COLOURS["RC"], "RC − NC"),
                        average_cell(row.resilience, signed=True),
                        average_cell(row.rc),
                        average_cell(row.nc),
                        f"{row.units:,}",
                    )
                    for label, row in rows
                ],
            )
            for heading, rows in groups
        ],
        numbers=(5,),
    )


def ablations_section(found: Overview) -> Iterator[Content]:
    """Yield the section on what the ablation states change; nothing where there are no data."""
    if not found.ablations:
        return
    parts: list[tuple[str, str, Callable[[AblationRow], Average | None]]] = [
        ("IC − C(1t)", "what the annotation on the picture adds to the answer's text", lambda row: row.text_gap),
        ("C(q) − NC", "what naming the prerequisites' questions helps", lambda row: row.question_gain),
    ]
    for name, meaning, gap in parts:
        rows = [row for row in found.ablations if gap(row) is not None]
        if not rows:
            continue
        scale = budget.Differences(map(gap, rows))
        rate = "C(1t)" if name.endswith("1t)") else "C(q)"
        yield tag("h3", f"{name}: {meaning}")
        content = table(
            ("category", "model", scale.axis(), name, rate),
            [
                (
                    None,
                    [
                        (
                            capital(row.category or "all"),
                            named(row.model),
                            scale.mark(gap(row), COLOURS["IC"], name),
                            average_cell(gap(row), signed=True),
                            average_cell(row.text if rate == "C(1t)" else row.question),
                        )
                        for row in rows
                    ],
                )
            ],
        )
        yield wide(content)
    alone = [row for row in found.ablations if row.text_gap is None and row.question_gain is None]
    if alone:
        cells = [
            (capital(row.category or "all"), named(row.model), average_cell(row.text), average_cell(row.question))
            for row in alone
        ]
        yield wide(table(("category", "model", "C(1t)", "C(q)"), [(None, cells)]))
