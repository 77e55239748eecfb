"""Terminal tables of many runs: how well models do, where they lose, what to fix first, why, and whether they agree."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence

from rich.console import Group, RenderableType
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from dodiag.bounds.aggregates import HIGH, AblationRow, Average, CapabilityRow, Quadrant
from dodiag.bounds.chain_steps import ChainStep
from dodiag.bounds.diagnosis import Finding
from dodiag.report.call_view import harmless
from dodiag.report.numbers import limits, number, share, spread, with_limits
from dodiag.report.overview import Overview, ToFix, ordered
from dodiag.report.style import new_table
from dodiag.vocabulary import Contrast

ABREAST = 5
"""Models beside each other in one table of scores."""

MEAN = "mean of models"


def overview_report(found: Overview, notices: Sequence[str] = ()) -> RenderableType:
    """Return the whole terminal report; sections without data are not there."""
    parts: list[RenderableType] = [Text(harmless(line), style="yellow") for line in (*notices, *found.remarks)]
    sections: tuple[Callable[[Overview], Iterator[RenderableType]], ...] = (
        _models,
        _budget,
        _to_fix,
        _scores,
        _quadrants,
        _groups,
        _categories,
        _agreement,
        _steps,
        _ablations,
        _help,
    )
    for section in sections:
        content = list(section(found))
        if content:
            parts += [Text(""), *content]
    return Group(*parts)


def _text(text: str) -> str:
    """Return a name from elsewhere as text of a table."""
    return escape(harmless(text).replace("\n", "\\n"))


def _named(model: str | None) -> str:
    return f"[bold]{MEAN}[/bold]" if model is None else _text(model)


def _cell(found: Average | None, signed: bool = False) -> str:
    if found is None or found.value is None:
        return "–"
    beside = limits(found.lower, found.upper, signed)
    return "\n".join(filter(None, (number(found.value, signed), escape(beside), spread(found))))


def _models_and_mean(found: Overview) -> tuple[str | None, ...]:
    return (*found.models, None) if len(found.models) > 1 else found.models


def _models(found: Overview) -> Iterator[RenderableType]:
    table = new_table("How well the models do: units with prerequisites, and the roots")
    table.add_column("model", overflow="fold")
    for name in ("units", "NC of\nroots", "NC", "IC", "RC", "IC − NC", "1 − IC"):
        table.add_column(name, justify="right", no_wrap=True)
    for model in _models_and_mean(found):
        of_model = {row.role: row for row in found.capabilities if row.model == model and row.category is None}
        roots, rest = of_model.get("root"), of_model.get("nonroot")
        if not of_model:
            continue
        cells = [_cell(None if roots is None else roots.nc), *_capability_cells(rest)]
        table.add_row(_named(model), f"{sum(row.units for row in of_model.values()):,}", *cells)
    yield table


def _capability_cells(row: CapabilityRow | None) -> tuple[str, ...]:
    if row is None:
        return ("–",) * 5
    return _cell(row.nc), _cell(row.ic), _cell(row.rc), _cell(row.cascading, signed=True), _cell(row.residual)


def _budget(found: Overview) -> Iterator[RenderableType]:
    rows = [
        row
        for row in found.capabilities
        if row.role == "nonroot" and row.category is not None and (row.cascading or row.resilience)
    ]
    if not rows:
        return
    table = new_table("Where they lose, by category: solved, lost to prerequisites, lost even with them; wrong ones")
    for name in ("category", "model"):
        table.add_column(name, overflow="fold")
    for name in ("units", "NC", "IC − NC", "1 − IC", "share\ncascading", "RC − NC"):
        table.add_column(name, justify="right", no_wrap=True)
    for category in dict.fromkeys(row.category for row in rows):
        for index, row in enumerate(row for row in rows if row.category == category):
            table.add_row(
                _text(str(category)) if index == 0 else "",
                _named(row.model),
                f"{row.units:,}",
                _cell(row.nc),
                _cell(row.cascading, signed=True),
                _cell(row.residual),
                share(row.cascading_share),
                _cell(row.resilience, signed=True),
            )
        table.add_section()
    yield table


def _to_fix(found: Overview) -> Iterator[RenderableType]:
    if not found.to_fix:
        return
    table = new_table("What to fix first: S(1, ∅) of the target's prerequisites")
    for name in ("task", "model", "verdict"):
        table.add_column(name, overflow="fold")
    table.add_column("S(1, ∅)", justify="right", no_wrap=True)
    table.add_column("n", justify="right", no_wrap=True)
    for task, rows in itertools.groupby(found.to_fix, key=lambda row: row.task):
        for index, row in enumerate(rows):
            table.add_row(_text(found.task(task).title) if index == 0 else "", _text(row.model), *_fix_cells(row))
        table.add_section()
    yield table


def _fix_cells(row: ToFix) -> tuple[str, str, str]:
    best = row.best
    star = "*" if best.suppressed else ""
    score = f"{best.prerequisite} {with_limits(best.value, best.limit_lower, best.limit_upper)}{star}"
    return f"[bold]{', '.join(row.prerequisites)}[/bold] {escape(row.words)}", escape(score), f"{best.n:,}"


def _scores(found: Overview) -> Iterator[RenderableType]:
    for contrast, metric in itertools.product(ordered(found.contrasts), ("S", "N")):
        findings = found.findings.where(contrast=contrast, metric=metric)
        for models in _abreast(found.models):
            by_place = {(f.task, f.prerequisite, f.model): f for f in findings if f.model in models}
            if by_place:
                yield _score_table(found, metric, contrast, models, by_place)


def _abreast(models: Sequence[str]) -> Iterator[Sequence[str]]:
    for start in range(0, len(models), ABREAST):
        yield models[start : start + ABREAST]


def _score_table(
    found: Overview, metric: str, contrast: str, models: Sequence[str], by_place: dict[tuple[str, str, str], Finding]
) -> Table:
    means = {
        (row.task, row.prerequisite): row for row in found.means if (row.metric, row.contrast) == (metric, contrast)
    }
    table = new_table(f"{metric}{Contrast.parse(contrast).symbol} of every prerequisite")
    table.add_column("prerequisite", overflow="fold")
    for model in models:
        table.add_column(_text(model), justify="right", overflow="fold")
    table.add_column("n", justify="right", no_wrap=True)
    if means:
        table.add_column("mean", justify="right", no_wrap=True)
    for task in found.tasks:
        names = [u for u in task.prerequisites(task.target) if any((task.name, u, m) in by_place for m in models)]
        for name in names:
            findings = [by_place.get((task.name, name, model)) for model in models]
            counts = " / ".join(dict.fromkeys(f"{f.score.n:,}" for f in findings if f is not None))
            mean = means.get((task.name, name))
            more = (
                () if not means else ("–" if mean is None else f"{number(mean.average.value)}\n{spread(mean.average)}",)
            )
            label = f"{_text(task.title)}\n[bold]{name}[/bold] {_text(task.units[name].title)}"
            table.add_row(label, *map(_score_cell, findings), counts, *more)
        table.add_section()
    return table


def _score_cell(finding: Finding | None) -> str:
    if finding is None or finding.score.value is None:
        return "–"
    score = finding.score
    star = "*" if score.suppressed else ""
    return "\n".join(filter(None, (number(score.value) + star, escape(limits(score.limit_lower, score.limit_upper)))))


def _quadrants(found: Overview) -> Iterator[RenderableType]:
    drawn = [point for point in found.placed if point.quadrant is not None]
    if not drawn:
        return
    of_models = f", {MEAN}" if len(found.models) > 1 else ""
    table = new_table(
        f"Necessary, sufficient, both or neither{of_models}; high from {HIGH:g} on; ^ highest S of its task"
    )
    table.add_column("contrast")
    table.add_column("quadrant", no_wrap=True)
    table.add_column("prerequisites (N, S)")
    for contrast in ordered(found.contrasts):
        for quadrant in Quadrant:
            points = [p for p in drawn if p.contrast == contrast and p.quadrant is quadrant]
            if points:
                told = "; ".join(
                    f"{_text(p.task)} {p.prerequisite}{'^' if p.top else ''} ({number(p.n)}, {number(p.s)})"
                    for p in points
                )
                table.add_row(Contrast.parse(contrast).symbol, quadrant.value, told)
        table.add_section()
    yield table


def _groups(found: Overview) -> Iterator[RenderableType]:
    if not found.by_group:
        return
    rows = {(row.group, row.metric, row.contrast): row.average for row in found.by_group}
    members = (f"{name}: {', '.join(found.groups[name])}" for name in found.groups)
    yield _flat_table(
        "Groups of models: flat means over models and prerequisites", "group", list(found.groups), rows, found
    )
    yield from (Text(harmless(line)) for line in members)


def _categories(found: Overview) -> Iterator[RenderableType]:
    if not found.by_category:
        return
    rows = {(row.category, row.metric, row.contrast): row.average for row in found.by_category}
    names = list(dict.fromkeys(str(row.category) for row in found.by_category))
    yield _flat_table(
        "Categories of prerequisites: flat means over models and prerequisites", "category", names, rows, found
    )


def _flat_table(
    title: str, label: str, names: Sequence[str], rows: dict[tuple[str | None, str, str], Average], found: Overview
) -> Table:
    table = new_table(title)
    table.add_column(label)
    scores = [(metric, contrast) for metric in ("S", "N") for contrast in ordered(found.contrasts)]
    for metric, contrast in scores:
        table.add_column(f"{metric}\n{Contrast.parse(contrast).symbol}", justify="right", no_wrap=True)
    for name in names:
        cells = (rows.get((name, *score)) for score in scores)
        table.add_row(
            _text(name), *("–" if cell is None else f"{number(cell.value)}\n{spread(cell)}" for cell in cells)
        )
    return table


def _agreement(found: Overview) -> Iterator[RenderableType]:
    between = [each for each in found.agreements if each.contrast is not None]
    if not between:
        return
    table = new_table(
        "Whether the models rank the prerequisites alike: Spearman's correlation, mean over pairs of models"
    )
    for name in ("score", "mean", "± SD, pairs", "lowest", "highest", "prerequisites"):
        table.add_column(name, justify="left" if name == "score" else "right")
    for each in sorted(between, key=lambda each: ordered(found.contrasts).index(str(each.contrast))):
        known = [pair for pair in each.pairs if pair.rho is not None]
        low, high = min(known, key=lambda p: p.rho or 0.0), max(known, key=lambda p: p.rho or 0.0)
        counts = " / ".join(dict.fromkeys(f"{pair.count:,}" for pair in known))
        table.add_row(
            f"{each.metric}{Contrast.parse(str(each.contrast)).symbol}",
            number(each.mean.value),
            spread(each.mean),
            f"{number(low.rho)}\n{_text(low.first)}, {_text(low.second)}",
            f"{number(high.rho)}\n{_text(high.first)}, {_text(high.second)}",
            counts,
        )
    yield table


def _steps(found: Overview) -> Iterator[RenderableType]:
    for (task, unit), rows in itertools.groupby(
        sorted(found.steps, key=lambda s: (s.task, s.unit)), key=lambda s: (s.task, s.unit)
    ):
        graph, steps = found.task(task), list(rows)
        for model in dict.fromkeys(step.model for step in steps):
            title = f"{graph.title} · {unit} {graph.units[unit].title} along the chain · {model}"
            yield _step_table(_text(title), [step for step in steps if step.model == model])


def _step_table(title: str, steps: Sequence[ChainStep]) -> Table:
    table = new_table(title)
    table.add_column("step", justify="right")
    names = (("NC", None), ("IC", None), ("RC", None), ("NS", "1,n"), ("NS", "0,n"))
    for metric, contrast in names:
        symbol = "" if contrast is None else Contrast.parse(contrast).symbol
        table.add_column(f"{metric}{symbol}", justify="right", no_wrap=True)
    table.add_column("instances", justify="right")
    for step in steps:
        scores = [step.score(metric, contrast) for metric, contrast in names]
        cells = [
            "–"
            if score is None
            else with_limits(
                score.value,
                *((score.limit_lower, score.limit_upper) if score.metric == "NS" else (score.lower, score.upper)),
            )
            for score in scores
        ]
        table.add_row(step.label, *map(escape, cells), f"{step.instances:,}")
    return table


def _ablations(found: Overview) -> Iterator[RenderableType]:
    if not found.ablations:
        return
    table = new_table("What the annotation and the question alone do")
    for name in ("category", "model"):
        table.add_column(name, overflow="fold")
    columns: tuple[tuple[str, Callable[[AblationRow], Average | None], bool], ...] = (
        ("C(1t)", lambda row: row.text, False),
        ("IC − C(1t)", lambda row: row.text_gap, True),
        ("C(q)", lambda row: row.question, False),
        ("C(q) − NC", lambda row: row.question_gain, True),
    )
    for name, _, _ in columns:
        table.add_column(name, justify="right", no_wrap=True)
    for row in found.ablations:
        cells = (_cell(value(row), signed) for _, value, signed in columns)
        table.add_row(_text(row.category or "all"), _named(row.model), *cells)
    yield table


def _help(found: Overview) -> Iterator[RenderableType]:
    yield Text(
        f"[Limits] at {found.level:.0%}, the instance being the unit of sampling; ± is the standard deviation over"
        " units of a model, or over models, with how many were averaged. Means are unweighted over units, then models."
    )
    if any(finding.score.suppressed for finding in found.findings):
        yield Text(f"* set to 0: the denominator is below {found.min_denominator:g}.")
    if found.findings:
        yield Text("N and S are lower bounds of the probabilities of necessity and sufficiency.")
