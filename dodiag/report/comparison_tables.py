"""Terminal tables of two models (or two runs of one model) on the same questions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from rich.console import Group, RenderableType
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from dodiag.bounds.model_differences import ModelDifference, ModelDifferences
from dodiag.bounds.table import checked
from dodiag.report.call_view import harmless
from dodiag.report.style import new_table
from dodiag.scm.graph import TaskGraph
from dodiag.vocabulary import Contrast

if TYPE_CHECKING:
    import pandas as pd

CALL = ["instance", "unit", "question", "step", "configuration", "draw"]
NO_STEP = -1
SENTENCES = 5


@dataclass(frozen=True, slots=True)
class ChangedCall:
    """A call that only one of two models solved.

    Attributes
    ----------
    instance, unit, question, configuration : str
    step : int or None
        Of a Markov chain.
    draw : int
    """

    instance: str
    unit: str
    question: str
    step: int | None
    configuration: str
    draw: int

    @property
    def text(self) -> str:
        """The call on one line, with a dash where nothing was done."""
        unit = self.unit if self.step is None else f"{self.unit} step {self.step}"
        return harmless(
            f"{self.instance}  {unit}  {self.question}  {self.configuration or '–'}  draw {self.draw}"
        ).replace("\n", "\\n")

    def to_dict(self) -> dict[str, Any]:
        """Return the call as JSON values."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Changes:
    """What became of the calls that both models answered.

    Attributes
    ----------
    both, neither : int
        Solved by both; by neither.
    first_only, second_only : sequence of ChangedCall
        Calls that only one of them solved.
    unmatched : int
        Scored calls of one that the other was not scored on.
    """

    both: int
    neither: int
    first_only: Sequence[ChangedCall]
    second_only: Sequence[ChangedCall]
    unmatched: int


def changes_between(outcomes: pd.DataFrame, task: TaskGraph, first: str, second: str) -> Changes:
    """Match the calls of two models on a task and count who solved which.

    Raises
    ------
    UsageError
        If the table does not fit the task.
    """
    table = checked(outcomes, task)
    # Missing steps equal each other in no join, so they stand as a number that no step has.
    table = table[table["solved"].notna()].assign(step=table["step"].fillna(NO_STEP))
    sides = [table[table["model"] == model].set_index(CALL)["solved"] for model in (first, second)]
    matched = sides[0].to_frame("a").join(sides[1].to_frame("b"), how="inner").sort_index()
    named = [_call(*index) for index in matched.index]
    one = (matched["a"] == 1).to_numpy(dtype=bool)
    other = (matched["b"] == 1).to_numpy(dtype=bool)
    return Changes(
        both=int((one & other).sum()),
        neither=int((~one & ~other).sum()),
        first_only=[name for name, yes in zip(named, one & ~other, strict=True) if yes],
        second_only=[name for name, yes in zip(named, ~one & other, strict=True) if yes],
        unmatched=len(sides[0]) + len(sides[1]) - 2 * len(matched),
    )


def _call(instance: str, unit: str, question: str, step: int, configuration: str, draw: int) -> ChangedCall:
    when = None if step == NO_STEP else int(step)
    return ChangedCall(str(instance), str(unit), str(question), when, str(configuration), int(draw))


def comparison_report(
    differences: ModelDifferences, changes: Changes, task: TaskGraph, first: str, second: str, level: float
) -> RenderableType:
    """Return the whole comparison: one sentence, the table, and how to read it."""
    parts: list[RenderableType] = [Text(harmless(f"{task.title}: A is {first}, B is {second}"), style="bold")]
    parts += [Text(line, style="bold green") for line in _sentences(differences, task, level)]
    parts.append(_table(differences, task, level))
    only = f"{len(changes.first_only):,} only by A, {len(changes.second_only):,} only by B"
    parts.append(Text(f"Calls solved: {changes.both:,} by both, {only}, {changes.neither:,} by neither."))
    if changes.unmatched:
        told = "scored call of one was" if changes.unmatched == 1 else "scored calls of one were"
        parts.append(Text(f"{changes.unmatched:,} {told} not scored for the other; left out."))
    parts.append(
        Text(
            "Paired on the questions that both were scored on; the instance is the unit of sampling. N and S are signed"
            " here, before they are clipped at 0. p: two-sided, adjusted over the rows of one metric (Holm)."
        )
    )
    return Group(*parts)


def _sentences(differences: ModelDifferences, task: TaskGraph, level: float) -> Iterator[str]:
    shown = [d for d in differences if d.adjusted is not None and d.adjusted <= 1 - level]
    if not shown:
        yield "No difference between A and B is shown by these data."
    ordered = sorted(shown, key=lambda d: (d.metric not in _WHERE, -abs(d.difference or 0.0)))
    for found in ordered[:SENTENCES]:
        yield _sentence(found, task)
    if (further := len(ordered) - SENTENCES) > 0:
        yield f"{further} further difference{'s' if further > 1 else ''} in the table."


def _sentence(found: ModelDifference, task: TaskGraph) -> str:
    assert found.difference is not None
    assert found.limit_lower is not None
    assert found.limit_upper is not None
    low, high, name = found.limit_lower, found.limit_upper, "A"
    if found.difference < 0:
        low, high, name = -high, -low, "B"
    size = f"+{abs(found.difference):.2f} [{low:.2f}, {high:.2f}]."
    if found.metric in _WHERE:
        return f"{name} is better at {found.unit} {task.units[found.unit].title} {_WHERE[found.metric]}: {size}"
    subject = found.prerequisite or found.unit
    return f"{name} has the larger {_metric(found)} of {subject} {task.units[subject].title}: {size}"


_WHERE = {"NC": "by itself", "IC": "with correct prerequisites", "RC": "with incorrect prerequisites"}


def _table(differences: ModelDifferences, task: TaskGraph, level: float) -> Table:
    table = new_table(f"Differences, A − B, with {level:.0%} limits")
    table.add_column("of")
    table.add_column("metric", no_wrap=True)
    for name in ("A", "B"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("A − B", justify="right")
    table.add_column("p", justify="right", no_wrap=True)
    table.add_column("n", justify="right", no_wrap=True)
    previous: str | None = ""
    for row in differences:
        subject = row.prerequisite or row.unit
        label = f"[bold]{subject}[/bold] {escape(task.units[subject].title)}"
        if row.prerequisite is not None and previous is None:
            table.add_section()
        table.add_row(label, _metric(row), _number(row.first_value), _number(row.second_value), *_gap(row), str(row.n))
        previous = row.prerequisite
    return table


def _metric(row: ModelDifference) -> str:
    return row.metric if row.contrast is None else f"{row.metric}{Contrast.parse(row.contrast).symbol}"


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"


def _gap(row: ModelDifference) -> tuple[str, str]:
    if row.difference is None:
        return escape(row.reason or "–"), "–"
    if row.limit_lower is None or row.limit_upper is None or row.adjusted is None:
        return f"{row.difference:+.2f}", "–"
    text = f"{row.difference:+.2f} [{row.limit_lower:+.2f},\u00a0{row.limit_upper:+.2f}]"
    return escape(text), "<0.001" if row.adjusted < 0.001 else f"{row.adjusted:.3f}"
