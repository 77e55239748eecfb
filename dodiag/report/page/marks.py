"""Small pictures of scores on the scale from 0 to 1: value, confidence limits, identified interval."""

from __future__ import annotations

from collections.abc import Sequence

from dodiag.bounds.scores import Score
from dodiag.report.page.markup import Content, Element, tag
from dodiag.report.tables import interval, score_cell, with_limits

WIDTH, MARGIN, ROW = 190, 8, 18
NATURAL, CORRECT, INCORRECT, NECESSARY, SUFFICIENT = "#64748b", "#1d9a58", "#d64545", "#d9730d", "#3b6fd8"
COLOURS = {
    "NC": NATURAL,
    "IC": CORRECT,
    "RC": INCORRECT,
    "N": NECESSARY,
    "S": SUFFICIENT,
    "NS": "#8250c4",
}
BAND, RULE = 0.28, "#94a3b8"


def place(value: float) -> float:
    """Return where a value between 0 and 1 lies on the scale, in pixels."""
    return round(MARGIN + value * (WIDTH - 2 * MARGIN), 1)


def axis() -> Element:
    """Return the scale's labels, for a table's head."""
    labels = [
        tag("text", label, x=place(value), y=11, text_anchor="middle", font_size="10", fill="currentColor")
        for value, label in ((0.0, "0"), (0.5, "0.5"), (1.0, "1"))
    ]
    return tag("svg", *labels, viewBox=f"0 0 {WIDTH} 14", width=WIDTH, height=14, class_="mark", aria_hidden="true")


def capability_mark(scores: Sequence[Score]) -> Element:
    """Return NC, IC and RC of one unit below each other."""
    rows: list[Content] = []
    for index, score in enumerate(scores):
        middle = ROW * index + ROW / 2
        rows += _ticks(middle)
        rows += _dot(score.value, score.lower, score.upper, COLOURS[score.metric], middle)
    said = "; ".join(f"{score.metric} {with_limits(score)}" for score in scores)
    return _picture(rows, ROW * max(1, len(scores)), plain(said))


def score_mark(score: Score, bounded: Score) -> Element:
    """Return a contribution score over the identified interval of the probability that it bounds."""
    middle = ROW / 2
    rows = _ticks(middle)
    if bounded.lower is not None and bounded.upper is not None:
        start, end = place(bounded.lower), place(bounded.upper)
        rows.append(
            tag(
                "rect",
                x=start,
                y=middle - 5,
                width=max(1.0, round(end - start, 1)),
                height=10,
                rx=2,
                fill=COLOURS[score.metric],
                opacity=BAND,
            )
        )
    colour = COLOURS[score.metric]
    rows += _dot(score.value, score.limit_lower, score.limit_upper, colour, middle, hollow=score.suppressed)
    said = f"{score.metric} {score_cell(score)}; {bounded.metric} within {interval(bounded)}"
    return _picture(rows, ROW, plain(said))


def plain(text: str) -> str:
    """Return text of a terminal table without the terminal's escapes."""
    return text.replace("\\[", "[")


def _ticks(middle: float) -> list[Content]:
    line = tag("line", x1=place(0), x2=place(1), y1=middle, y2=middle, stroke=RULE, stroke_width=1, opacity=0.55)
    ends = [
        tag("line", x1=place(v), x2=place(v), y1=middle - 3, y2=middle + 3, stroke=RULE, stroke_width=1, opacity=0.55)
        for v in (0.0, 0.5, 1.0)
    ]
    return [line, *ends]


def _dot(
    value: float | None,
    lower: float | None,
    upper: float | None,
    colour: str,
    middle: float,
    hollow: bool = False,
) -> list[Content]:
    if value is None:
        return []
    marks: list[Content] = []
    if lower is not None and upper is not None:
        ends = {"x1": place(lower), "x2": place(upper), "y1": middle, "y2": middle}
        marks.append(tag("line", stroke=colour, stroke_width=2.4, stroke_linecap="round", **ends))
    inside = "none" if hollow else colour
    marks.append(tag("circle", cx=place(value), cy=middle, r=4, fill=inside, stroke=colour, stroke_width=1.6))
    return marks


def _picture(content: Sequence[Content], height: float, said: str) -> Element:
    box = f"0 0 {WIDTH} {height:g}"
    title = tag("title", said)
    return tag("svg", title, *content, viewBox=box, width=WIDTH, height=height, class_="mark", role="img")
