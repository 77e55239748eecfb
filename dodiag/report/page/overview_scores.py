"""Sections of the overview on N and S: what to fix first, every prerequisite, quadrants, groups, agreement."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping

from dodiag.bounds.aggregates import HIGH, ContributionRow
from dodiag.bounds.diagnosis import Diagnosis, Finding, Verdict
from dodiag.report.numbers import limits, number, p_value, spread, with_limits
from dodiag.report.overview import Agreements, Overview, ToFix, has_value, ordered
from dodiag.report.page.elements import Row, faint, legend, on_demand, table, wide
from dodiag.report.page.figures_curves import bar_picture
from dodiag.report.page.figures_heat import Cell, heat_table
from dodiag.report.page.figures_quadrants import COLOURS as TASK_COLOURS
from dodiag.report.page.figures_quadrants import Plane, marker, quadrant_picture
from dodiag.report.page.markup import Content, Element, tag
from dodiag.report.page.overview_parts import MEAN, capital, counted, symbol, task_name
from dodiag.vocabulary import Contrast, State

_ALL_IN = {
    State.CORRECT: "all prerequisites correct",
    State.INCORRECT: "all prerequisites incorrect",
    State.NATURAL: "nothing injected",
    State.CORRECT_TEXT: "all prerequisites correct as text alone",
    State.QUESTION_ONLY: "all prerequisites asked without an answer",
}


_ONE_TO = {
    State.CORRECT: "is made correct",
    State.INCORRECT: "is made incorrect",
    State.NATURAL: "is no longer injected",
    State.CORRECT_TEXT: "is made correct as text alone",
    State.QUESTION_ONLY: "is asked without an answer",
}


_TONE = {
    Verdict.FIRST: "first",
    Verdict.AMONG_FIRST: "among",
    Verdict.HARMS: "harms",
}


def to_fix_section(found: Overview) -> Iterator[Content]:
    """Yield the section on what to fix first; nothing where there are no data."""
    if not found.to_fix:
        return
    by_place = {(row.task, row.model): row for row in found.to_fix}
    asked = [task for task in found.tasks if any(row.task == task.name for row in found.to_fix)]
    cells = [[_fix_cell(found, by_place.get((task.name, model))) for model in found.models] for task in asked]
    across: list[Content] = list(found.models)
    down = [task_name(found, task.name) for task in asked]
    if len(across) > max(5, len(down)):
        across, down, cells = down, across, [list(column) for column in zip(*cells, strict=True)]
    rows: list[Row] = [(name, *row) for name, row in zip(down, cells, strict=True)]
    yield faint(
        "The prerequisite of the target whose correct answer, alone, repairs most: S(1, ∅), with what these data allow"
        f" to say of it. Limits at {found.level:.0%}; n: questions under both configurations."
    )
    yield wide(tag("div", table(("", *across), [(None, rows)]), class_="verdicts"))
    if without := [task.title for task in found.tasks if task not in asked]:
        yield faint(f"Not asked, or with a chain as its target: {', '.join(without)}.")


def _fix_cell(found: Overview, row: ToFix | None) -> Content:
    if row is None:
        return "–"
    units = found.task(row.task).units
    names = ", ".join(row.prerequisites)
    titles = "; ".join(f"{name} {units[name].title}" for name in row.prerequisites)
    best = row.best
    score = f"S\u00a0{with_limits(best.value, best.limit_lower, best.limit_upper)}{'*' if best.suppressed else ''}"
    if len(row.prerequisites) > 1:
        score = f"{best.prerequisite}: {score}"
    tone = _TONE.get(row.verdict)
    return tag(
        "td",
        tag("b", names if tone else "–", title=titles),
        f" {row.words}",
        tag("small", f"{score}, n\u00a0{best.n:,}"),
        title=row.sentence,
        class_=f"words verdict {tone or 'open'}",
    )


def _question(metric: str, contrast: str) -> str:
    parsed = Contrast.parse(contrast)
    if metric == "S":
        return f"Of what fails with {_ALL_IN[parsed.a_prime]}: repaired at least when this one {_ONE_TO[parsed.a]}."
    return f"Of what is solved with {_ALL_IN[parsed.a]}: lost at least when this one {_ONE_TO[parsed.a_prime]}."


def scores_section(found: Overview) -> Iterator[Content]:
    """Yield the section on N and S of every prerequisite; nothing where there are no data."""
    for contrast in ordered(found.contrasts):
        of_contrast = found.findings.where(contrast=contrast)
        yield tag("h3", f"Contrast {symbol(contrast)}")
        figures = [
            tag(
                "figure",
                tag("figcaption", tag("b", f"{metric}{symbol(contrast)}"), f" {_question(metric, contrast)}"),
                wide(heat),
            )
            for metric in ("S", "N")
            if (heat := _heat(found, of_contrast.where(metric=metric), metric, contrast)) is not None
        ]
        yield tag("div", *figures, class_="side")
        yield on_demand(f"All numbers of contrast {symbol(contrast)}", wide(_score_numbers(found, of_contrast)))
    if found.findings:
        star = (
            f" * set to 0: the denominator is below {found.min_denominator:g}."
            if _any_suppressed(found.findings)
            else ""
        )
        yield faint(f"Bold: the highest score of a model on a task. Limits and counts show under the pointer.{star}")


def _any_suppressed(findings: Diagnosis) -> bool:
    return any(finding.score.suppressed for finding in findings)


def _heat(found: Overview, findings: Diagnosis, metric: str, contrast: str) -> Element | None:
    if not has_value(findings):
        return None
    means = {
        (row.task, row.prerequisite): row for row in found.means if (row.metric, row.contrast) == (metric, contrast)
    }
    by_place = {(f.task, f.prerequisite, f.model): f for f in findings}
    best = _highest(findings)
    models = [model for model in found.models if findings.where(model=model)]
    groups = []
    for task in found.tasks:
        names = [u for u in task.prerequisites(task.target) if any((task.name, u, m) in by_place for m in models)]
        rows = []
        for name in names:
            cells = [_score_cell(by_place.get((task.name, name, model)), best) for model in models]
            if means:
                cells.append(_mean_cell(means.get((task.name, name))))
            rows.append((tag("span", tag("b", name), f" {task.units[name].title}"), cells))
        if rows:
            groups.append((task_name(found, task.name), rows))
    return heat_table(metric, [*models, *(["mean"] if means else [])], groups, last_apart=bool(means))


def _highest(findings: Diagnosis) -> dict[tuple[str, str], float]:
    """Return the highest score of each task and model, where it is above 0."""
    best: dict[tuple[str, str], float] = {}
    for f in findings:
        if f.score.value:
            best[f.task, f.model] = max(f.score.value, best.get((f.task, f.model), 0.0))
    return best


def _score_cell(finding: Finding | None, best: Mapping[tuple[str, str], float]) -> Cell | None:
    if finding is None:
        return None
    score = finding.score
    if score.value is None:
        return Cell(None, f"{finding.model}: {score.reason}")
    shown = with_limits(score.value, score.limit_lower, score.limit_upper)
    bounded = finding.bounded
    within = f"; {bounded.metric} within {limits(bounded.lower, bounded.upper)}" if bounded.lower is not None else ""
    why = f"; {score.reason}" if score.suppressed and score.reason else ""
    said = f"{finding.model}: {shown}{within}; n {score.n:,}; {finding.words}{why}"
    return Cell(score.value, said, score.suppressed, score.value == best.get((finding.task, finding.model)))


def _mean_cell(row: ContributionRow | None) -> Cell | None:
    if row is None or row.average.value is None:
        return None
    few = f"; {row.suppressed:,} of them set to 0" if row.suppressed else ""
    return Cell(row.average.value, f"mean over models: {number(row.average.value)}, {spread(row.average)} models{few}")


def _score_numbers(found: Overview, findings: Diagnosis) -> Element:
    head = ("score", "prerequisite", "model", "value", "bounds", "denominator", "p", "n", "missing", "verdict")
    groups = []
    for (metric, task), members in itertools.groupby(
        sorted(findings, key=lambda f: (f.metric != "S", [t.name for t in found.tasks].index(f.task), f.prerequisite)),
        key=lambda f: (f.metric, f.task),
    ):
        rows = [_number_row(found, finding) for finding in members]
        rows += [
            (
                tag("b", row.metric),
                f"{row.prerequisite} {found.task(task).units[str(row.prerequisite)].title}",
                tag("b", MEAN),
                f"{number(row.average.value)} ({spread(row.average)})",
                "",
                "",
                "",
                "",
                "",
                f"{row.suppressed:,} set to 0" if row.suppressed else "",
            )
            for row in found.means
            if (row.metric, row.task, row.contrast) == (metric, task, findings[0].contrast.text)
        ]
        groups.append((tag("b", f"{metric} · {found.task(task).title}"), rows))
    return table(head, groups, numbers=(5, 6, 7, 8), words=(9,))


def _number_row(found: Overview, finding: Finding) -> Row:
    score, bounded = finding.score, finding.bounded
    reason = finding.reason or score.reason
    return (
        tag("b", finding.metric),
        f"{finding.prerequisite} {found.task(finding.task).units[finding.prerequisite].title}",
        finding.model,
        with_limits(score.value, score.limit_lower, score.limit_upper) + ("*" if score.suppressed else ""),
        f"{bounded.metric} {limits(bounded.lower, bounded.upper)}" if bounded.lower is not None else "–",
        number(score.denominator),
        p_value(finding.adjusted),
        f"{score.n:,}",
        f"{score.missing:,}",
        f"{finding.words}{f': {reason}' if reason else ''}",
    )


def quadrants_section(found: Overview) -> Iterator[Content]:
    """Yield the section on the plane of N and S; nothing where there are no data."""
    drawn = [point for point in found.placed if point.quadrant is not None]
    if not drawn:
        return
    order = {task.name: index for index, task in enumerate(found.tasks)}
    titles = {task.name: task.title for task in found.tasks}
    plane = Plane.of(drawn)
    of_models = f", {MEAN}" if len(found.models) > 1 else ""
    yield faint(
        f"N and S of each prerequisite{of_models}, on square-root axes; high from {HIGH:g} on (dashed). Ringed: the"
        " highest S of its task. Labels are prerequisites; colour and shape tell the tasks apart:"
    )
    there = [task for task in found.tasks if any(point.task == task.name for point in drawn)]
    yield tag("p", *(_task_key(task.title, order[task.name]) for task in there), class_="legend")
    figures = [
        tag(
            "figure",
            tag("figcaption", tag("b", f"Contrast {symbol(contrast)}")),
            quadrant_picture([p for p in drawn if p.contrast == contrast], order, titles, plane),
        )
        for contrast in ordered(found.contrasts)
        if any(point.contrast == contrast for point in drawn)
    ]
    yield tag("div", *figures, class_="side")
    yield on_demand("All numbers of the figures", wide(_quadrant_numbers(found)))


def _task_key(title: str, index: int) -> Element:
    mark = tag("svg", marker(index, 8, 8), viewBox="0 0 16 16", width=16, height=16, class_="key", aria_hidden="true")
    return tag("span", mark, title)


def _quadrant_numbers(found: Overview) -> Element:
    rows = [
        (
            symbol(point.contrast),
            task_name(found, point.task),
            f"{point.prerequisite} {found.task(point.task).units[point.prerequisite].title}",
            number(point.n),
            number(point.s),
            "–" if point.quadrant is None else point.quadrant.value,
            "highest S of its task" if point.top else "",
        )
        for point in found.placed
    ]
    return table(("contrast", "task", "prerequisite", "N", "S", "quadrant", ""), [(None, rows)], numbers=(3, 4))


def groups_section(found: Overview) -> Iterator[Content]:
    """Yield the section on groups of models; nothing where there are no data."""
    if not found.by_group:
        return
    names = list(found.groups)
    colours = {name: TASK_COLOURS[index % len(TASK_COLOURS)] for index, name in enumerate(names)}
    members = [(colours[name], f"{name}: {', '.join(found.groups[name])}") for name in names]
    yield legend(members)
    contrasts = ordered(tuple(dict.fromkeys(row.contrast for row in found.by_group)))
    figures = []
    for metric in ("S", "N"):
        of = {(row.group, row.contrast): row for row in found.by_group if row.metric == metric}
        series = [
            (name, colours[name], [of[name, c].average.value if (name, c) in of else None for c in contrasts])
            for name in names
        ]
        picture = bar_picture([f"{metric}{symbol(c)}" for c in contrasts], series, f"{metric} by group and contrast")
        figures.append(tag("figure", picture))
    yield tag("div", *figures, class_="side")
    yield faint("Flat means over models and prerequisites.")
    rows = [(row.group, f"{row.metric}{symbol(row.contrast)}", *_flat_mean(row)) for row in found.by_group]
    yield on_demand(
        "All numbers of the figures", wide(table(("group", "score", *_FLAT), [(None, rows)], numbers=(2, 3, 4, 5)))
    )


_FLAT = ("mean", "SD", "scores", "set to 0")


def _flat_mean(row: ContributionRow) -> tuple[str, ...]:
    return number(row.average.value), number(row.average.sd), f"{row.average.count:,}", f"{row.suppressed:,}"


def categories_section(found: Overview) -> Iterator[Content]:
    """Yield the section on categories of prerequisites; nothing where there are no data."""
    if not found.by_category:
        return
    contrasts = ordered(tuple(dict.fromkeys(row.contrast for row in found.by_category)))
    categories = list(dict.fromkeys(str(row.category) for row in found.by_category))
    figures = []
    for metric in ("S", "N"):
        of = {(str(row.category), row.contrast): row for row in found.by_category if row.metric == metric}
        rows = [(capital(c), [_category_cell(of.get((c, contrast))) for contrast in contrasts]) for c in categories]
        columns = [f"{metric}{symbol(contrast)}" for contrast in contrasts]
        figures.append(tag("figure", wide(heat_table(metric, columns, [(None, rows)]))))
    yield faint("By the category of the prerequisite: flat means over models and prerequisites.")
    yield tag("div", *figures, class_="side")
    numbers = [
        (capital(str(row.category)), f"{row.metric}{symbol(row.contrast)}", *_flat_mean(row))
        for row in found.by_category
    ]
    content = table(("category", "score", *_FLAT), [(None, numbers)], numbers=(2, 3, 4, 5))
    yield on_demand("All numbers of the tables", wide(content))


def _category_cell(row: ContributionRow | None) -> Cell | None:
    if row is None or row.average.value is None:
        return None
    few = f"; {row.suppressed:,} of them set to 0" if row.suppressed else ""
    return Cell(row.average.value, f"{number(row.average.value)}, {spread(row.average)} scores{few}")


def agreement_section(found: Overview) -> Iterator[Content]:
    """Yield the section on whether models and contrasts rank prerequisites alike; nothing where there are no data."""
    if not found.agreements:
        return
    yield faint(
        "Spearman's rank correlation of scores over prerequisites: 1 is the same order. Counts show under the pointer."
    )
    for heading, wanted in (("Between models", True), ("Between contrasts, scores averaged over models", False)):
        chosen = [each for each in found.agreements if (each.contrast is not None) is wanted]
        order = ordered(found.contrasts)
        chosen.sort(key=lambda each: (order.index(each.contrast) if each.contrast else 0, each.metric != "S"))
        if chosen:
            yield tag("h3", heading)
            yield tag("div", *map(_agreement_figure, chosen), class_="side")
    rows = [
        (
            f"{each.metric}{'' if each.contrast is None else symbol(each.contrast)}",
            _told(each, pair.first),
            _told(each, pair.second),
            number(pair.rho),
            f"{pair.count:,}",
            pair.reason or "",
        )
        for each in found.agreements
        for pair in each.pairs
    ]
    head = ("score", "one", "other", "rho", "prerequisites", "")
    yield on_demand("All numbers of the tables", wide(table(head, [(None, rows)], numbers=(3, 4), words=(5,))))


def _told(each: Agreements, name: str) -> str:
    return name if each.contrast is not None else symbol(name)


def _agreement_figure(each: Agreements) -> Element:
    pairs = {frozenset((pair.first, pair.second)): pair for pair in each.pairs}
    rows = []
    for index, one in enumerate(each.names[1:], start=1):
        cells: list[Cell | None] = []
        for other in each.names[:index]:
            pair = pairs.get(frozenset((one, other)))
            said = "" if pair is None else pair.reason or f"over {counted(pair.count, 'prerequisite')}"
            cells.append(None if pair is None else Cell(pair.rho, f"{_told(each, one)}, {_told(each, other)}: {said}"))
        rows.append((_told(each, one), [*cells, *([None] * (len(each.names) - 1 - index))]))
    caption = f"{each.metric}{'' if each.contrast is None else symbol(each.contrast)}"
    mean = f" mean {number(each.mean.value)} ({spread(each.mean)}{' pair' if each.mean.count == 1 else ' pairs'})"
    return tag(
        "figure",
        tag("figcaption", tag("b", caption), mean),
        wide(heat_table("plus", [_told(each, name) for name in each.names[:-1]], [(None, rows)])),
    )
