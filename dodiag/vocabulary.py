"""The words that several rooms share: states, configurations, contrasts, outcomes.

Nothing here imports another part of the package, so the mathematics and the planner can speak of the same
configuration without knowing each other.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

from dodiag.problems import UsageError


class State(StrEnum):
    """What is injected for one prerequisite (CADET Def. 3.2, and the ablation states of its Appendix D.4).

    The value is the letter used in configuration text: ``1``, ``0``, ``n``, ``t``, ``q``.
    """

    CORRECT = "1"
    INCORRECT = "0"
    NATURAL = "n"
    CORRECT_TEXT = "t"
    QUESTION_ONLY = "q"

    @property
    def symbol(self) -> str:
        """The paper's symbol, for people to read: 1, 0, ∅, 1t, q."""
        return {"n": "∅", "t": "1t"}.get(self.value, self.value)


HOMOGENEOUS = (State.CORRECT, State.INCORRECT, State.NATURAL)
"""The three states of the paper, in canonical order."""


def parse_state(text: str) -> State:
    """Return the state written as ``1``, ``0``, ``n`` (or ``∅``, ``none``), ``t`` (or ``1t``), ``q``.

    A state is returned as it is.

    Raises
    ------
    UsageError
        If the text names no state.
    """
    if isinstance(text, State):
        return text
    aliases = {"∅": "n", "none": "n", "natural": "n", "1t": "t", "correct": "1", "incorrect": "0"}
    word = text.strip().lower()
    try:
        return State(aliases.get(word, word))
    except ValueError:
        raise UsageError(f"'{text}' is not a state", "Use 1, 0, n (natural), t (correct, text only) or q.") from None


@dataclass(frozen=True, slots=True)
class Configuration:
    """One state per prerequisite of the asked unit, in the order of its declared parents.

    Hashable, and written ``X1=1,X2=0,X3=n``; a root's configuration is empty and written as the empty string. States
    may be given as their letters. Every configuration reads back from its text.

    Raises
    ------
    UsageError
        If a unit stands twice or has a name that the text cannot hold, or a state is none.

    Examples
    --------
    >>> c = Configuration.parse("X1=1,X2=0")
    >>> c["X2"]
    <State.INCORRECT: '0'>
    >>> str(c.replace("X2", State.NATURAL))
    'X1=1,X2=n'
    """

    items: tuple[tuple[str, State], ...] = ()

    def __post_init__(self) -> None:
        units = [unit for unit, _ in self.items]
        if unwritable := [unit for unit in units if not unit or unit != unit.strip() or "," in unit or "=" in unit]:
            cure = "A unit has a name without commas, equals signs and blanks around it."
            raise UsageError(f"'{unwritable[0]}' in a configuration cannot be the name of a unit", cure)
        if len(set(units)) < len(units):
            raise UsageError(f"configuration '{self}' names a unit twice", "Give every unit one state.")
        object.__setattr__(self, "items", tuple((unit, parse_state(state)) for unit, state in self.items))

    @classmethod
    def homogeneous(cls, prerequisites: Sequence[str], state: State) -> Configuration:
        """Return do(A_Pa = state): every prerequisite in the same state."""
        return cls(tuple((unit, state) for unit in prerequisites))

    @classmethod
    def of(cls, states: Mapping[str, State]) -> Configuration:
        """Return the configuration of a mapping, in the mapping's order."""
        return cls(tuple(states.items()))

    @classmethod
    def parse(cls, text: str) -> Configuration:
        """Read configuration text.

        Raises
        ------
        UsageError
            If an entry is not ``UNIT=STATE`` or a unit stands twice.
        """
        items: list[tuple[str, State]] = []
        for part in filter(None, (p.strip() for p in text.split(","))):
            unit, equals, state = part.partition("=")
            if not equals:
                raise UsageError(f"'{part}' in configuration '{text}' has no state", "Write UNIT=STATE, such as X1=1.")
            items.append((unit.strip(), parse_state(state)))
        return cls(tuple(items))

    def __getitem__(self, unit: str) -> State:
        for name, state in self.items:
            if name == unit:
                return state
        raise KeyError(unit)

    def __iter__(self) -> Iterator[str]:
        return (unit for unit, _ in self.items)

    def __str__(self) -> str:
        return ",".join(f"{unit}={state}" for unit, state in self.items)

    @property
    def text(self) -> str:
        """The canonical text, as it stands in outcome tables."""
        return str(self)

    @property
    def states(self) -> tuple[State, ...]:
        """The states alone, in order."""
        return tuple(state for _, state in self.items)

    def without(self, unit: str) -> Configuration:
        """Return the states of the other units: the context of a contrast of `unit`."""
        return Configuration(tuple((name, state) for name, state in self.items if name != unit))

    def replace(self, unit: str, state: State) -> Configuration:
        """Return the configuration that differs in one unit.

        Raises
        ------
        KeyError
            If the unit is not a prerequisite here.
        """
        self[unit]
        return Configuration(tuple((u, state if u == unit else s) for u, s in self.items))


@dataclass(frozen=True, slots=True)
class Contrast:
    """An ordered pair of distinct states (a, a'), written ``1,n``; states may be given as their letters."""

    a: State
    a_prime: State

    def __post_init__(self) -> None:
        object.__setattr__(self, "a", parse_state(self.a))
        object.__setattr__(self, "a_prime", parse_state(self.a_prime))
        if self.a == self.a_prime:
            raise UsageError(f"contrast '{self.a},{self.a_prime}' compares a state with itself", "Use distinct states.")

    @classmethod
    def parse(cls, text: str) -> Contrast:
        """Read a contrast such as ``1,n``, ``(1,∅)`` or ``1n``.

        Raises
        ------
        UsageError
            If the text is not two distinct states.
        """
        body = text.strip().strip("()")
        parts = body.split(",") if "," in body else list(body)
        if len(parts) != 2:
            raise UsageError(f"'{text}' is not a contrast", "Write two states, such as 1,n or 0,n.")
        return cls(parse_state(parts[0]), parse_state(parts[1]))

    def __str__(self) -> str:
        return f"{self.a},{self.a_prime}"

    @property
    def text(self) -> str:
        """The canonical text, as it stands in score tables."""
        return str(self)

    @property
    def symbol(self) -> str:
        """The paper's notation, for people to read: (1, ∅)."""
        return f"({self.a.symbol}, {self.a_prime.symbol})"


PAPER_CONTRASTS = tuple(Contrast.parse(text) for text in ("1,0", "1,n", "n,0", "0,n"))
"""The four contrasts of CADET Section 3.4, in the paper's order."""


METRICS: tuple[Literal["N", "S"], ...] = ("N", "S")
"""The contribution scores of CADET Defs. 3.7 and 3.8."""


@dataclass(frozen=True, slots=True)
class Arms:
    """The two configurations that one score compares: X_i in a, and X_i in a', the rest alike."""

    active: Configuration
    reference: Configuration


def arms(
    metric: Literal["N", "S"],
    contrast: Contrast,
    prerequisite: str,
    prerequisites: Sequence[str],
    context: Mapping[str, State] | None = None,
) -> Arms:
    """Return the configurations that a contribution score reads.

    Parameters
    ----------
    metric : {"N", "S"}
        N keeps the other prerequisites in a (CADET Def. 3.7), S in a' (Def. 3.8).
    contrast : Contrast
        The ordered pair (a, a').
    prerequisite : str
        X_i, one of `prerequisites`.
    prerequisites : sequence of str
        Pa(Y) in declared order.
    context : mapping of str to State, optional
        States of the other prerequisites, replacing the main text's choice (Defs. A.1, A.2). Prerequisites that it
        leaves out keep the main text's state.

    Returns
    -------
    Arms
        ``active`` has X_i in a, ``reference`` has X_i in a'; both have the others in the context.

    Raises
    ------
    UsageError
        If the metric is neither N nor S, or a unit is not among the prerequisites.

    Examples
    --------
    >>> pair = arms("N", Contrast.parse("1,0"), "X1", ["X1", "X2"])
    >>> str(pair.active), str(pair.reference)
    ('X1=1,X2=1', 'X1=0,X2=1')
    """
    if metric not in METRICS:
        raise UsageError(f"'{metric}' does not compare configurations", f"Use {' or '.join(METRICS)}.")
    background = contrast.a if metric == "N" else contrast.a_prime
    others = dict.fromkeys(prerequisites, background) | dict(context or {})
    if prerequisite not in others:
        raise UsageError(f"'{prerequisite}' is not among the prerequisites {', '.join(prerequisites)}")
    if unknown := [unit for unit in others if unit not in prerequisites]:
        raise UsageError(f"the context names {', '.join(unknown)}", f"It can name {', '.join(prerequisites)}.")
    base = Configuration.of(others)
    return Arms(base.replace(prerequisite, contrast.a), base.replace(prerequisite, contrast.a_prime))


BLOCK_START, BLOCK_END = "<prerequisites>", "</prerequisites>"
"""Lines around the injected questions and answers of a prompt."""

WITHHELD = "(drawn on the picture)"
"""Stands for the answer of an injected question whose truth is shown on the picture alone (Maze rule)."""


class Outcome(StrEnum):
    """What one answered call came to.

    Only ``value`` can be right. ``none`` (nothing extractable), ``invalid`` (something, but not allowed), ``refused``
    and ``truncated`` are failures of the model; ``unscored`` (a judge's verdict is missing) and ``error`` (the
    infrastructure failed) are missing data, never wrong.
    """

    VALUE = "value"
    NONE = "none"
    INVALID = "invalid"
    REFUSED = "refused"
    TRUNCATED = "truncated"
    UNSCORED = "unscored"
    ERROR = "error"

    @property
    def missing(self) -> bool:
        """Whether the call says nothing about the model."""
        return self in (Outcome.UNSCORED, Outcome.ERROR)


OUTCOME_COLUMNS = (
    "model",
    "task",
    "instance",
    "unit",
    "question",
    "step",
    "configuration",
    "draw",
    "outcome",
    "solved",
)
"""The columns that every outcome table has at least, in order."""
