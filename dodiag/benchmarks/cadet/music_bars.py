"""Bars of real scores as plain values: which notes and rests stand in them, and which stretches may be excerpted.

A bar is taken only where everything in it can be named and counted without a doubt: one voice, single notes, filled to
its time signature. See :data:`REFUSALS` for what is left out.
"""

from __future__ import annotations

import importlib
import importlib.util
import warnings
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType, ModuleType
from typing import Any

from dodiag.problems import MissingDependency

KINDS: Mapping[str, str] = MappingProxyType(
    {"1": "whole", "2": "half", "4": "quarter", "8": "eighth", "16": "sixteenth", "32": "thirty-second"}
)
"""Values of notes and rests by the number that engravers write for them."""

_TYPES = MappingProxyType({"whole": "1", "half": "2", "quarter": "4", "eighth": "8", "16th": "16", "32nd": "32"})

REFUSALS = MappingProxyType(
    {
        "voices": "more than one voice: which of two heads on one stem is meant?",
        "chord": "a chord: one note or as many as it has heads?",
        "grace": "a grace note: counted or not?",
        "tuplet": "a tuplet: its notes look like values they do not have",
        "value": "a value that is not in KINDS, or two dots",
        "hidden": "something that is not printed",
        "empty": "nothing, or rests alone: one sign stands for a whole bar of any length",
        "unfilled": "an upbeat or another bar that is not filled to its time signature",
    }
)
"""Why a bar is left out."""

INSTALL = "Install it with: pip install 'dodiag[music]'"


def load(package: str) -> ModuleType:
    """Import one of the packages that read, engrave and draw scores.

    Raises
    ------
    MissingDependency
        If it is not installed.
    """
    if importlib.util.find_spec(package) is None:
        raise MissingDependency(f"making scores needs the package {package}, which is not installed", INSTALL)
    return importlib.import_module(package)


@dataclass(frozen=True, slots=True, order=True)
class Symbol:
    """A note or a rest.

    Attributes
    ----------
    value : str
        A key of :data:`KINDS`.
    dots : int
        0 or 1.
    rest : bool
    """

    value: str
    dots: int = 0
    rest: bool = False

    @property
    def code(self) -> str:
        """A short form: ``8`` is an eighth note, ``4.`` a dotted quarter note, ``r2`` a half rest."""
        return "r" * self.rest + self.value + "." * self.dots

    def name(self, count: int = 1) -> str:
        """Return what it is called.

        >>> Symbol("4", dots=1).name()
        'dotted quarter note'
        >>> Symbol("8", rest=True).name(2)
        '2 eighth rests'
        """
        words = "dotted " * self.dots + KINDS[self.value] + (" rest" if self.rest else " note")
        return words if count == 1 else f"{count} {words}s"


Pattern = tuple[Symbol, ...]


def describe(pattern: Iterable[Symbol]) -> str:
    """Return symbols in their order, in words; equal neighbours are told as one run.

    >>> describe([Symbol("4"), Symbol("8"), Symbol("8"), Symbol("2", rest=True)])
    'quarter note, 2 eighth notes, half rest'
    """
    runs: list[tuple[Symbol, int]] = []
    for symbol in pattern:
        if runs and runs[-1][0] == symbol:
            runs[-1] = (symbol, runs[-1][1] + 1)
        else:
            runs.append((symbol, 1))
    return ", ".join(symbol.name(count) for symbol, count in runs)


@dataclass(frozen=True, slots=True)
class Bar:
    """One bar of one part that may be excerpted.

    Attributes
    ----------
    time : str
        Its time signature, ``3/4``.
    pattern : tuple of Symbol
        In reading order.
    changes : bool
        Whether clef, key or time changes in it: an excerpt may begin with such a bar but not hold one.
    source : music21.stream.Measure
    clef, key : music21.clef.Clef, music21.key.KeySignature
        In force in it; None where the part has none.
    """

    time: str
    pattern: Pattern
    changes: bool
    source: Any
    clef: Any
    key: Any


Part = tuple[Bar | None, ...]
"""The bars of a part; None where a bar is left out."""


@cache
def read_work(path: str) -> tuple[Part, ...]:
    """Return the parts of a work of the corpus of music21.

    Raises
    ------
    MissingDependency
        If music21 is not installed.
    """
    music21: Any = load("music21")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the corpus has bars that are too full; they are left out here
        # forceSource: music21's own cache of parsed files is a pickle that parallel workers would write at once.
        score = music21.corpus.parse(path, forceSource=True)
    return tuple(tuple(_bars(part)) for part in score.parts)


def _bars(part: Any) -> Iterable[Bar | None]:
    time = clef = key = None
    for measure in part.getElementsByClass("Measure"):
        new = [_first(measure, sign) for sign in ("TimeSignature", "Clef", "KeySignature")]
        time, clef, key = new[0] or time, new[1] or clef, new[2] or key
        if time is None:
            yield None
            continue
        pattern = pattern_of(measure, float(time.barDuration.quarterLength))
        yield None if isinstance(pattern, str) else Bar(time.ratioString, pattern, any(new), measure, clef, key)


def _first(measure: Any, sign: str) -> Any:
    return measure.recurse().getElementsByClass(sign).first()


def pattern_of(measure: Any, quarters: float) -> Pattern | str:
    """Return the symbols of a bar, or the key of :data:`REFUSALS` that says why it is left out.

    Parameters
    ----------
    measure : music21.stream.Measure
    quarters : float
        Its length by the time signature, in quarter notes.
    """
    if len(measure.voices) > 1:
        return "voices"
    symbols: list[Symbol] = []
    length = 0.0
    for element in elements(measure):
        if element.isChord:
            return "chord"
        if element.duration.isGrace:
            return "grace"
        if element.duration.tuplets:
            return "tuplet"
        if element.duration.type not in _TYPES or element.duration.dots > 1:
            return "value"
        if element.style.hideObjectOnPrint or getattr(element, "noteheadFill", None) is not None:
            return "hidden"
        length += float(element.duration.quarterLength)
        symbols.append(Symbol(_TYPES[element.duration.type], element.duration.dots, element.isRest))
    if all(symbol.rest for symbol in symbols):
        return "empty"
    return tuple(symbols) if length == quarters else "unfilled"


def elements(measure: Any) -> list[Any]:
    """Return the notes, chords and rests of a bar in their order, without chord symbols."""
    return [each for each in measure.recurse().notesAndRests if "ChordSymbol" not in each.classes]


def excerpts(parts: Sequence[Part], length: int) -> list[tuple[int, int]]:
    """Return where excerpts of so many bars may begin: (index of the part, index of the bar)."""
    return [
        (index, first)
        for index, part in enumerate(parts)
        for first in range(len(part) - length + 1)
        if _whole(part[first : first + length])
    ]


def _whole(bars: Sequence[Bar | None]) -> bool:
    kept = [bar for bar in bars if bar is not None]
    return len(kept) == len(bars) and not any(bar.changes for bar in kept[1:])


def patterns(parts: Sequence[Part], time: str) -> Counter[Pattern]:
    """Return how often each pattern stands in the bars of one time signature."""
    return Counter(bar.pattern for part in parts for bar in part if bar is not None and bar.time == time)
