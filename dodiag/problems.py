"""What is wrong with a user's input, as values: where, what, and how to cure it.

Every error a user can cause is a :class:`DodiagError`; the command line prints it without a traceback.
"""

from __future__ import annotations

import difflib
import reprlib
import unicodedata
from collections.abc import Iterable
from dataclasses import asdict, dataclass


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong in one place.

    Parameters
    ----------
    file : str
        The file the user wrote, as she named it.
    line : int or None
        1-based line in that file, where the format has lines.
    where : str
        The place in the user's own words: a unit id, ``instance i3, question X1``, a field.
    problem, cure : str
        What is wrong, and what to do about it.
    """

    file: str
    line: int | None
    where: str
    problem: str
    cure: str

    def __str__(self) -> str:
        place = self.file if self.line is None else f"{self.file}:{self.line}"
        where = f" {self.where}:" if self.where else ""
        return _on_one_line(f"{place}:{where} {self.problem}. {self.cure}")

    def to_dict(self) -> dict[str, str | int | None]:
        """Return ``{file, line, where, problem, cure}``, the form of ``dodiag check --json``."""
        return asdict(self)


class DodiagError(Exception):
    """Base of every error that a user's input or environment can cause.

    Parameters
    ----------
    message : str
        What went wrong, naming the place.
    cure : str, optional
        What the user can do about it.
    """

    def __init__(self, message: str, cure: str = "") -> None:
        super().__init__(f"{message}. {cure}" if cure else message)
        self.message = message
        self.cure = cure


class InvalidInput(DodiagError):
    """Raised once for all the problems of a task graph file or a task pack.

    Attributes
    ----------
    problems : tuple of Problem
        Everything that was found, in file order.
    """

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(str(problem) for problem in self.problems))


class UsageError(DodiagError):
    """An option or argument that cannot be honoured."""


class MissingDependency(DodiagError):
    """A library or a system package that an optional part needs is not there."""


def shown(value: object, width: int = 120) -> str:
    """Return a value for a message, cut in its middle where it is longer than `width` characters.

    Examples
    --------
    >>> shown("x" * 1000, width=20)
    "'xxxxxxx...xxxxxxx'"
    """
    if isinstance(value, str) and len(value) > 2 * width:
        value = value[:width] + value[-width:]
    short = reprlib.Repr()
    short.maxstring = short.maxother = short.maxlong = width
    short.maxlevel, short.maxdict, short.maxlist, short.maxtuple = 3, 4, 4, 4
    return shortened(short.repr(value), width)


def shortened(text: str, width: int = 120) -> str:
    """Return a text for a message as it is, cut in its middle where it is longer than `width` characters."""
    return text if len(text) <= width else f"{text[: width // 2]}...{text[-width // 2 :]}"


def quoted(value: object) -> str:
    """Return a value for a message as :func:`shown` does, in quotes whatever it is."""
    return shown(value) if isinstance(value, str) else f"'{shown(value)}'"


def _on_one_line(text: str) -> str:
    """Return a message with line breaks and control characters written out, which a user's file may put into it."""
    return "".join(c.encode("unicode_escape").decode("ascii") if is_control(c) else c for c in text)


def is_control(character: str) -> bool:
    """Return whether a character breaks a line, steers a terminal or is half of a pair: no part of readable text."""
    return unicodedata.category(character) in ("Cc", "Cs")


def nearest(word: str, known: Iterable[str]) -> str:
    """Return the cure for a word that is not known: the nearest known one, or all of them."""
    options = list(known)
    if not options:
        return "There is none to name; remove it."
    near = difflib.get_close_matches(word, options, n=1, cutoff=0.5)
    return f"Did you mean '{near[0]}'?" if near else f"Use one of {', '.join(options)}."
