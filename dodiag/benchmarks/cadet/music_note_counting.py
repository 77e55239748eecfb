"""Generator of the task Music Note Counting (CADET, arXiv:2609.38851, Tables 2 to 4).

The paper's scores and questions are not released; these are made afresh for the same graph, from other scores.

What it measures
    X1 names the notes and rests of one bar; there is one question per bar. X2 sorts the bars by whether they hold the
    kind of note that is counted. X3 checks a list of such notes for a bar that was left out. Y counts them in the whole
    picture.
How the truth is known
    A stretch of one part of a real score (``music_works``) is engraved on one staff, and each note and rest is read
    from the signs that were drawn (``music_page``); a page is kept only if that is what the score's encoding says. Bars
    with chords, grace notes, tuplets, several voices or an upbeat are not excerpted (``music_bars``), so that a note is
    one head. Nothing is labelled by hand.
What is drawn for state 1
    X1: a box around the head of each note and around each rest of the bar. X2: a box around the head of each note of
    the kind. X3: a box around the staff of the bar that was left out, nothing where none was.
Limits
    * Y and X2 follow from the right answers of X1, by adding up and by looking through.
    * X1 has one injected entry per bar, which tells a model how many bars there are.
    * The list that X3 quotes holds counts: injected with its right answer it gives Y, or all of it but one bar.
    * In one voice on one staff: no chords, piano textures or small notes. Slurs, words, dynamics and staccato dots of
      the score are not engraved.
    * Eleven works: in a large pack excerpts overlap, and some come twice with another font or the same.
    * Some rhythms are usual: a guess that knows how often each is right answers 32 % of X1 without the picture, where
      chance is 25 %; a model that also sees the options of the other bars can do a little better.
Licence
    The music is free; each encoding is in the public domain or under CC0, CC BY or CC BY-SA, as the instance's ``meta``
    says with whom to name. A picture made from a CC BY-SA encoding is under that licence.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, TypeVar

import numpy as np

from dodiag.benchmarks.cadet.music_bars import Bar, Pattern, Symbol, describe, excerpts, load, patterns, read_work
from dodiag.benchmarks.cadet.music_page import FONTS, DrawnSymbol, NoPage, Page, engrave
from dodiag.benchmarks.cadet.music_works import WORKS, Work
from dodiag.benchmarks.generators import Drawn
from dodiag.problems import DodiagError, UsageError, nearest
from dodiag.scm.files import load_task
from dodiag.scm.graph import TaskGraph
from dodiag.scm.pack import Annotation, Instance, Question

T = TypeVar("T")

VERSION = "1"
"""Of this generator; raised whenever the same seed gives another pack."""

INSTANCES = 114
"""The paper's number."""

SLUG = "music_note_counting"
PACKAGES = ("music21", "verovio", "resvg_py")

OPTIONS = 4
MIN_HOLDING, MIN_BARE = 2, 2
"""How many bars must hold the counted kind, and how many must not: X2 and X3 need as many to choose from."""

COMPLETE_SHARES: Mapping[int, float] = MappingProxyType({2: 0.5})
"""X3: how often the list is complete, by the number of bars that hold the kind; a quarter where it is not said.

A short list would else betray that a bar is missing.
"""

MEAN_SHARE = 0.4
"""How far the mean number of bars lies between the least and the most: 7.2 by default, as in the paper (821 of 114)."""

MAX_COUNT = 60
MAX_HEIGHT = 1600
"""Pixels; a taller page is rejected."""
TRIES = 400


@dataclass(frozen=True, slots=True)
class Knobs:
    """What makes instances harder or easier.

    Attributes
    ----------
    bars_min, bars_max : int
        How many bars are shown, 5 to 16; their number is binomial, 7.2 on average by default.
    count_min, count_max : int
        The least and the largest answer of Y, 2 to 60.
    staff_space : int
        Pixels between two lines of the staff, 6 to 20: the size of the print.
    width : int
        Pixels of the picture, 600 to 2400; the music is broken into lines of this width.
    font : str
        A music font of verovio, or ``mixed`` for another one each time.
    """

    bars_min: int = 6
    bars_max: int = 9
    count_min: int = 3
    count_max: int = 30
    staff_space: int = 9
    width: int = 1000
    font: str = "mixed"

    def __post_init__(self) -> None:
        ranges = {
            "bars_min": (5, 16),
            "bars_max": (self.bars_min, 16),
            "count_min": (2, MAX_COUNT),
            "count_max": (self.count_min, MAX_COUNT),
            "staff_space": (6, 20),
            "width": (600, 2400),
        }
        for name, (low, high) in ranges.items():
            if not low <= getattr(self, name) <= high:
                raise UsageError(f"{name} is {getattr(self, name)}", f"Use {low} to {high}.")
        if self.font != "mixed" and self.font not in FONTS:
            raise UsageError(f"there is no music font '{self.font}'", nearest(self.font, ("mixed", *FONTS)))


@dataclass(frozen=True, slots=True)
class Excerpt:
    """A stretch of one part of a work, the kind of note that is counted in it, and where it was found.

    Attributes
    ----------
    work : Work
    part, first : int
        1-based: the part of the work, and the bar of the part that the excerpt begins with.
    bars : tuple of Bar
    kind : Symbol
        What Y counts.
    """

    work: Work
    part: int
    first: int
    bars: tuple[Bar, ...]
    kind: Symbol

    @property
    def counts(self) -> tuple[int, ...]:
        """How many notes of the kind stand in each bar."""
        return tuple(bar.pattern.count(self.kind) for bar in self.bars)


class NoExcerpt(DodiagError):
    """No excerpt fits the knobs."""


def prepare() -> None:
    """Look for the packages that scores are made with.

    Raises
    ------
    MissingDependency
        If music21, verovio or resvg_py is not installed.
    """
    for package in PACKAGES:
        load(package)


def task(seed: int = 0, knobs: Knobs = Knobs()) -> TaskGraph:
    """Return the shipped graph with the range of Y's answers and the seed of the incorrect ones."""
    graph = load_task(SLUG)
    units = dict(graph.units)
    answer = units["Y"].answer.model_copy(update={"min": 1, "max": MAX_COUNT + 2})
    units["Y"] = units["Y"].model_copy(update={"answer": answer})
    return replace(graph, units=units, seed=seed)


def draw(seed: int, index: int, knobs: Knobs = Knobs()) -> Drawn:
    """Return one instance and its picture; they depend on the arguments alone.

    Raises
    ------
    NoExcerpt
        If no excerpt fits the knobs.
    MissingDependency
        If a package is not installed.
    """
    rng = np.random.default_rng((seed, index))
    font = FONTS[int(rng.integers(len(FONTS)))] if knobs.font == "mixed" else knobs.font
    rejected: Counter[str] = Counter()
    excerpt, page = _accepted(rng, font, knobs, rejected)
    medium = f"media/{index:04d}.png"
    instance = Instance(
        id=f"{SLUG}-s{seed}-{index:04d}",
        media=(medium,),
        questions=tuple(questions(excerpt, page, rng)),
        meta=_facts(excerpt, page, font, rejected),
    )
    return instance, {medium: page.picture}


def _accepted(rng: np.random.Generator, font: str, knobs: Knobs, rejected: Counter[str]) -> tuple[Excerpt, Page]:
    """Return the first excerpt drawn that can be asked about, and its page; `rejected` counts the others by reason."""
    for _ in range(TRIES):
        try:
            excerpt = draw_excerpt(rng, knobs)
            page = engrave(excerpt.bars, font=font, space=knobs.staff_space, width=knobs.width)
            if page.size[1] > MAX_HEIGHT:
                raise NoPage("taller than a screen")
        except (NoExcerpt, NoPage) as refused:
            rejected[refused.message] += 1
        else:
            return excerpt, page
    raise NoExcerpt(f"none of {TRIES} excerpts fits the knobs", "Widen count_min to count_max or bars_min to bars_max.")


def draw_excerpt(rng: np.random.Generator, knobs: Knobs) -> Excerpt:
    """Draw a stretch of a score and the kind of note to count.

    Raises
    ------
    NoExcerpt
        If the stretch drawn cannot be asked about.
    """
    length = knobs.bars_min + int(rng.binomial(knobs.bars_max - knobs.bars_min, MEAN_SHARE))
    shares = np.array([work.share for work in WORKS])
    work = WORKS[int(rng.choice(len(WORKS), p=shares / shares.sum()))]
    parts = read_work(work.path)
    places = excerpts(parts, length)
    if not places:
        raise NoExcerpt("no stretch is so long")
    part, first = places[int(rng.integers(len(places)))]
    bars = tuple(bar for bar in parts[part][first : first + length] if bar is not None)
    if len(patterns(parts, bars[0].time)) < OPTIONS:
        raise NoExcerpt("too few rhythms to choose from")
    kinds = [
        kind for kind in sorted({s for bar in bars for s in bar.pattern if not s.rest}) if _countable(kind, bars, knobs)
    ]
    if not kinds:
        raise NoExcerpt("no kind of note to count")
    # By their frequency, or nearly all counts would be small.
    totals = np.array([sum(bar.pattern.count(kind) for bar in bars) for kind in kinds], dtype=float)
    return Excerpt(work, part + 1, first + 1, bars, kinds[int(rng.choice(len(kinds), p=totals / totals.sum()))])


def _countable(kind: Symbol, bars: Sequence[Bar], knobs: Knobs) -> bool:
    counts = [bar.pattern.count(kind) for bar in bars]
    holding = sum(count > 0 for count in counts)
    enough = holding >= MIN_HOLDING and len(bars) - holding >= MIN_BARE
    return enough and knobs.count_min <= sum(counts) <= knobs.count_max


def questions(excerpt: Excerpt, page: Page, rng: np.random.Generator) -> Iterator[Question]:
    """Yield the questions of one excerpt."""
    kind = _plural(excerpt.kind)
    for number, bar in enumerate(excerpt.bars, start=1):
        rhythms = _shuffled([bar.pattern, *_other_patterns(bar.pattern, excerpt, rng)], rng)
        yield Question(
            id=f"X1-{number}",
            unit="X1",
            text=(
                f"Which notes and rests stand in measure {number}, from left to right? Measures are numbered above the "
                "staff."
            ),
            choices=tuple(describe(pattern) for pattern in rhythms),
            answer=describe(bar.pattern),
            annotations=tuple(_around(each, 1) for each in page.symbols if each.bar == number),
        )
    lists = _shuffled(_sets_of_bars(excerpt.counts, rng), rng)
    holding, _ = _holding(excerpt.counts)
    yield Question(
        id="X2",
        unit="X2",
        text=f"Sort the measures by whether they hold {kind}. Which measures hold at least one?",
        choices=tuple(_listed(numbers) for numbers in lists),
        answer=_listed(holding),
        annotations=tuple(_around(each, 4) for each in page.symbols if each.symbol == excerpt.kind),
    )
    yield _completeness(excerpt, page, rng)
    yield Question(
        id="Y",
        unit="Y",
        text=f"How many {kind} are in the picture? Notes that are tied together count one each; rests do not count.",
        answer=sum(excerpt.counts),
    )


def _plural(kind: Symbol) -> str:
    """Return what the counted notes are called, so that nobody can take dotted notes for plain ones."""
    words = kind.name(2).removeprefix("2 ")
    return words if kind.dots else f"{words} without a dot"


def _other_patterns(truth: Pattern, excerpt: Excerpt, rng: np.random.Generator) -> list[Pattern]:
    """Draw rhythms of other bars of this excerpt and of the work's bars of the same time.

    All fill a bar alike, so that arithmetic does not tell the right one. Usual rhythms are right more often, so they
    are offered more often too: by the square of their frequency, at which knowing all frequencies helps least.
    """
    pool = patterns(read_work(excerpt.work.path), excerpt.bars[0].time)
    near = Counter(bar.pattern for bar in excerpt.bars)
    others = sorted(pattern for pattern in pool if pattern != truth)
    shares = np.array([pool[pattern] / pool.total() + near[pattern] / near.total() for pattern in others]) ** 2
    chosen = rng.choice(len(others), size=OPTIONS - 1, replace=False, p=shares / shares.sum())
    return [others[place] for place in chosen]


def _sets_of_bars(counts: Sequence[int], rng: np.random.Generator) -> list[frozenset[int]]:
    """Return the right set of bars, and three in which one bar, another, or both are exchanged for bars that hold none.

    All are of one size, and seen from any of the four the other three look the same.
    """
    holding, bare = _holding(counts)
    (out_1, out_2), (in_1, in_2) = _picked(holding, 2, rng), _picked(bare, 2, rng)
    first, second = {out_1, in_1}, {out_2, in_2}
    return [holding, holding ^ first, holding ^ second, holding ^ first ^ second]


def _holding(counts: Sequence[int]) -> tuple[frozenset[int], frozenset[int]]:
    """Return the numbers of the bars that hold notes of the kind, and of those that hold none."""
    numbers = range(1, len(counts) + 1)
    holding = frozenset(number for number, count in zip(numbers, counts, strict=True) if count)
    return holding, frozenset(numbers) - holding


def _completeness(excerpt: Excerpt, page: Page, rng: np.random.Generator) -> Question:
    """Ask whether a list of the counted notes leaves out a bar; its answers are equally likely.

    The bars offered are three that the list does not name. Either one of them holds notes, or none does.
    """
    holding, bare = _holding(excerpt.counts)
    complete_share = 0.0 if len(bare) < OPTIONS - 1 else COMPLETE_SHARES.get(len(holding), 1 / OPTIONS)
    left_out = _picked(holding, int(rng.random() >= complete_share), rng)
    offered = [*left_out, *_picked(bare, OPTIONS - 1 - len(left_out), rng)]
    listed = ", ".join(f"measure {number}: {excerpt.counts[number - 1]}" for number in sorted(holding - set(left_out)))
    statements = {number: f"Measure {number} was left out" for number in offered}
    complete = "No measure was left out"
    kind = _plural(excerpt.kind)
    return Question(
        id="X3",
        unit="X3",
        text=(
            f"Somebody listed how many {kind} stand in each measure, naming only measures that hold at least one: "
            f"{listed}. The numbers are right, but one measure may have been left out of the list. Which is true?"
        ),
        choices=tuple(_shuffled([*statements.values(), complete], rng)),
        answer=statements[left_out[0]] if left_out else complete,
        annotations=tuple(Annotation(box=page.bars[number - 1]) for number in left_out),
    )


def _picked(numbers: frozenset[int], size: int, rng: np.random.Generator) -> list[int]:
    return [int(number) for number in rng.choice(sorted(numbers), size=size, replace=False)]


def _shuffled(items: Sequence[T], rng: np.random.Generator) -> list[T]:
    return [items[place] for place in rng.permutation(len(items))]


def _listed(numbers: frozenset[int]) -> str:
    return ", ".join(map(str, sorted(numbers)))


def _around(drawn: DrawnSymbol, margin: int) -> Annotation:
    """Return a box around a note's head or a rest; with another margin it is seen beside the one of another unit."""
    left, top, right, bottom = drawn.box
    return Annotation(box=(left - margin, top - margin, right + margin, bottom + margin))


def _facts(excerpt: Excerpt, page: Page, font: str, rejected: Counter[str]) -> dict[str, Any]:
    return {
        "generator": f"{SLUG} {VERSION}",
        "packages": {"music21": load("music21").__version__, "verovio": load("verovio").toolkit().getVersion()},
        "work": excerpt.work.path,
        "composer": excerpt.work.composer,
        "title": excerpt.work.title,
        "licence": excerpt.work.licence,
        "credit": excerpt.work.credit,
        "part": excerpt.part,
        "first_bar": excerpt.first,
        "time": excerpt.bars[0].time,
        "kind": excerpt.kind.code,
        "bars": [" ".join(symbol.code for symbol in bar.pattern) for bar in excerpt.bars],
        "font": font,
        "size": list(page.size),
        "rejected": dict(sorted(rejected.items())),
    }
