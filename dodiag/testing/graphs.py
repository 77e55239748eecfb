"""A strategy for task graphs: whatever the package's own checks let pass, and nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, get_args

from hypothesis import strategies as st

from dodiag.problems import UsageError
from dodiag.scm.answers import AnswerType
from dodiag.scm.files import task_of
from dodiag.scm.graph import TaskGraph
from dodiag.scm.schema import CADET_CATEGORIES, SCHEMA_VERSION, Modality
from dodiag.scm.source import Source

Span = tuple[int, int]
OWN_CATEGORIES = ("seeing", "reckoning")
OPTIONS = ("red", "green", "blue", "yellow", "left of it", "42")
MAX_CHAINS = 2

_ODD_IDS = st.from_regex(r"[A-Za-z][A-Za-z0-9_.-]{0,7}", fullmatch=True)
_TITLES = st.just("Unit") | st.text(st.characters(exclude_categories=("Cs", "Cc")), min_size=1, max_size=12)


def task_graphs(
    k: int | None = None, *, min_units: int = 1, max_units: int = 6, chains: bool = True
) -> st.SearchStrategy[TaskGraph]:
    """Valid task graphs: any units, prerequisites, answer types, categories, and chains.

    Shrinks towards few units called X1, X2, … and Y, few edges, no chains.

    Parameters
    ----------
    k : int, optional
        Number of prerequisites of the target (at step 1, if it is in a chain); default any.
    min_units, max_units : int
        With the target.
    chains : bool
        Whether there may be Markov chains (CADET Def. A.7), also around the target; a target in a chain has NS by step
        instead of N and S.

    Raises
    ------
    UsageError
        If `max_units` leaves no room for `k` prerequisites, or `min_units` for a graph.
    """
    low = max(min_units, 1 if k is None else k + 1)
    if low > max_units or (k is not None and k < 0) or (k == 0 and min_units > 1):
        wanted = "" if k is None else f" and a target with {k} prerequisites"
        raise UsageError(f"{min_units} to {max_units} units{wanted} are asked for", "Every unit leads to the target.")
    return _task_graphs(k, low, 1 if k == 0 else max_units, chains)


@st.composite
def _task_graphs(draw: st.DrawFn, k: int | None, min_units: int, max_units: int, chains: bool) -> TaskGraph:
    # Units stand in topological order while edges are drawn; the last one is the target.
    last = draw(st.integers(min_units, max_units)) - 1
    spans = draw(_spans(last)) if chains else []
    pool = _possible_parents(last, spans)
    if k is not None and len(pool) < k:
        spans = [span for span in spans if span[1] != last]
        pool = _possible_parents(last, spans)
    parents = draw(_parents(last, spans, pool, k))
    names = draw(_names(last + 1))
    categories = draw(st.sampled_from((CADET_CATEGORIES, OWN_CATEGORIES)))
    units = {
        names[place]: {
            "title": draw(_TITLES),
            "category": draw(st.sampled_from(categories)),
            "answer": draw(_answers()),
            "parents": [names[parent] for parent in parents[place]],
        }
        for place in draw(st.permutations(range(last + 1)))
    }
    data: dict[str, Any] = {
        "schema": SCHEMA_VERSION,
        "name": "drawn",
        "title": "Drawn",
        "modality": draw(st.sampled_from(get_args(Modality))),
        "target": names[last],
        "seed": draw(st.integers(0, 9)),
        "units": units,
        "chains": [
            {
                "units": [names[place] for place in range(first, end + 1)],
                "steps": draw(st.none() | st.integers(1, 4)),
                "withhold_answers": draw(st.booleans()),
            }
            for first, end in spans
        ],
    }
    if categories is OWN_CATEGORIES:
        data["categories"] = list(categories)
    if draw(st.booleans()):
        data["category"] = draw(st.sampled_from(categories))
    return task_of(Source("drawn", data))


@st.composite
def _spans(draw: st.DrawFn, last: int) -> list[Span]:
    """Chains as stretches of the topological order: no path can leave such a chain and come back."""
    spans: list[Span] = []
    free = 0
    while free <= last and len(spans) < MAX_CHAINS and draw(st.booleans()):
        first = draw(st.integers(free, last))
        end = draw(st.integers(first, last))
        spans.append((first, end))
        free = end + 1
    return spans


def _possible_parents(last: int, spans: Sequence[Span]) -> list[int]:
    """Return what the target may depend on; of its own chain that is the unit before it alone."""
    first = next((first for first, end in spans if end == last), last)
    return list(range(last)) if first == last else [*range(first), last - 1]


@st.composite
def _parents(draw: st.DrawFn, last: int, spans: Sequence[Span], pool: Sequence[int], k: int | None) -> list[list[int]]:
    chained = {edge for first, end in spans for edge in pairwise(range(first, end + 1))}
    together = {place: span for span in spans for place in range(span[0], span[1] + 1)}
    parents: list[list[int]] = [[] for _ in range(last + 1)]
    if pool:
        # The unit before the target has no other way to lead to it.
        *others, before = pool
        count = draw(st.integers(1, len(pool))) if k is None else k
        size = count - 1
        chosen = draw(st.lists(st.sampled_from(others), min_size=size, max_size=size, unique=True)) if size else []
        parents[last] = [*chosen, *([] if (before, last) in chained else [before])]
    leading = {*parents[last], *(parent for parent, _ in chained)}
    for place in range(last):
        span = together.get(place)
        later = [child for child in range(place + 1, last) if span is None or together.get(child) != span]
        if later:
            children = draw(st.lists(st.sampled_from(later), min_size=int(place not in leading), unique=True))
            for child in children:
                parents[child].append(place)
    return parents


@st.composite
def _names(draw: st.DrawFn, size: int) -> list[str]:
    if draw(st.integers(0, 3)) < 3:
        return [*(f"X{number}" for number in range(1, size)), "Y"]
    return draw(st.lists(_ODD_IDS, min_size=size, max_size=size, unique=True))


@st.composite
def _answers(draw: st.DrawFn) -> dict[str, Any]:
    kind = draw(st.sampled_from(AnswerType))
    spec: dict[str, Any] = {"type": kind.value}
    if kind in (AnswerType.CHOICE, AnswerType.LETTER_LIST) and draw(st.booleans()):
        spec["choices"] = list(OPTIONS[: draw(st.integers(2, len(OPTIONS)))])
    if kind in (AnswerType.INTEGER, AnswerType.NUMBER, AnswerType.INTEGER_LIST) and draw(st.booleans()):
        spec["min"], spec["max"] = draw(st.sampled_from(((0, None), (0, 10), (-5, 5), (None, 100))))
    if kind in (AnswerType.INTEGER_LIST, AnswerType.LETTER_LIST) and draw(st.booleans()):
        spec["length"] = draw(st.integers(1, 3))
    if kind is AnswerType.NUMBER:
        spec["tolerance"] = draw(st.sampled_from((0, 0.5)))
    return {name: value for name, value in spec.items() if value is not None}
