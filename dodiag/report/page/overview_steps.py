"""The section of the overview on Markov chains: curves along their steps."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

from dodiag.bounds.chain_steps import ChainStep
from dodiag.bounds.scores import Score
from dodiag.report.numbers import with_limits
from dodiag.report.overview import Overview
from dodiag.report.page.elements import faint, legend, on_demand, table, wide
from dodiag.report.page.figures_curves import Curve, Point, curve_picture
from dodiag.report.page.marks import COLOURS
from dodiag.report.page.markup import Content, Element, tag
from dodiag.report.page.overview_parts import symbol

_CURVES = ("NC", "IC", "RC")


_NS_COLOURS = {"1,n": "#8250c4", "0,n": "#b8860b"}


def steps_section(found: Overview) -> Iterator[Content]:
    """Yield the section on chains; nothing where none was asked."""
    if not found.steps:
        return
    yield legend(
        (
            *(
                (COLOURS[name], text)
                for name, text in (("NC", "NC"), ("IC", "IC: history correct"), ("RC", "RC: history incorrect"))
            ),
            *((colour, f"NS{symbol(contrast)}") for contrast, colour in _NS_COLOURS.items()),
        )
    )
    yield faint(
        f"Success by step with {found.level:.0%} limits, and below it NS, what the step before does. Later steps have"
        " fewer instances, and not the same ones; a last step marked + pools all later ones."
    )
    for (task, unit), members in itertools.groupby(
        sorted(found.steps, key=lambda s: ([t.name for t in found.tasks].index(s.task), _unit_place(found, s))),
        key=lambda s: (s.task, s.unit),
    ):
        of_unit = list(members)
        graph = found.task(task)
        yield tag("h3", f"{graph.title} · {unit} {graph.units[unit].title}")
        figures = [
            tag("figure", tag("figcaption", model), *_step_pictures([s for s in of_unit if s.model == model], model))
            for model in dict.fromkeys(step.model for step in of_unit)
        ]
        yield tag("div", *figures, class_="side panels")
        yield on_demand(f"All numbers of {graph.title} · {unit}", wide(_step_numbers(of_unit)))


def _unit_place(found: Overview, step: ChainStep) -> int:
    return list(found.task(step.task).units).index(step.unit)


def _step_pictures(steps: Sequence[ChainStep], model: str) -> Iterator[Element]:
    ticks = [(step.step, step.label) for step in steps]
    capabilities = [_curve(name, COLOURS[name], steps, name, width=4.5 if name == "NC" else 2.0) for name in _CURVES]
    yield curve_picture([c for c in capabilities if c.points], ticks, f"{model}: NC, IC and RC by step")
    along = [
        _curve(f"NS{symbol(contrast)}", colour, steps, "NS", contrast, dashed=contrast == "0,n")
        for contrast, colour in _NS_COLOURS.items()
    ]
    if any(curve.points for curve in along):
        yield curve_picture([c for c in along if c.points], ticks, f"{model}: NS by step")


def _curve(
    name: str,
    colour: str,
    steps: Sequence[ChainStep],
    metric: str,
    contrast: str | None = None,
    dashed: bool = False,
    width: float = 2.0,
) -> Curve:
    points = []
    for step in steps:
        score = step.score(metric, contrast)
        if score is not None and score.value is not None:
            points.append(Point(step.step, score.value, *_ends(score)))
    return Curve(name, colour, tuple(points), dashed, width)


def _ends(score: Score) -> tuple[float | None, float | None]:
    return (score.limit_lower, score.limit_upper) if score.metric == "NS" else (score.lower, score.upper)


def _step_numbers(steps: Sequence[ChainStep]) -> Element:
    contrasts = tuple(_NS_COLOURS)
    head = ("model", "step", "NC", "IC", "RC", *(f"NS{symbol(c)}" for c in contrasts), "n", "instances")
    rows = []
    for step in steps:
        scores = [step.score(name) for name in _CURVES] + [step.score("NS", contrast) for contrast in contrasts]
        counts = ", ".join(dict.fromkeys(f"{score.n:,}" for score in scores if score is not None))
        cells = ("–" if score is None else with_limits(score.value, *_ends(score)) for score in scores)
        rows.append((step.model, step.label, *cells, counts, f"{step.instances:,}"))
    return table(head, [(None, rows)], numbers=(1, 7, 8))
