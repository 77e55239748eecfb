"""Which configurations of a unit's prerequisites a plan asks: the one place that enumerates them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any, Literal

from dodiag.interventions.media import MediaRule
from dodiag.problems import UsageError
from dodiag.vocabulary import HOMOGENEOUS, METRICS, PAPER_CONTRASTS, Configuration, Contrast, State, arms, parse_state

History = Literal["full", "last"]


@dataclass(frozen=True, slots=True)
class Design:
    """What to ask, independent of any task.

    Attributes
    ----------
    contrasts : tuple of Contrast
        Contrasts whose N and S the target's runs have to serve.
    states : tuple of State
        Homogeneous configurations of every unit: NC, IC and RC for ∅, 1 and 0; the ablation states 1t and q work too.
    target_only : bool
        Ask the target alone, not the units on the way to it.
    factorial : bool
        Ask the target under every configuration over `states`, |states|^k of them.
    contexts : tuple of Configuration
        Further contexts for the contrasts (CADET Defs. A.1, A.2): for each prerequisite, the states of the others.
    draws : int
        Repetitions of every call.
    reruns : int
        Further repetitions of the target's homogeneous configurations, the baselines that all its prerequisites share.
        One rerun gives every prerequisite its rerun-corrected score, for few calls.
    history : {"full", "last"}
        What a chain step is given: the whole trajectory before it (CADET Appendix D.3), or only the Markov parent
        (Def. A.7).
    media : MediaRule
        How the files of the pack become what is sent.

    Raises
    ------
    UsageError
        If `draws` is not positive, `reruns` is negative, either is no whole number, or nothing is asked.
    """

    contrasts: tuple[Contrast, ...] = PAPER_CONTRASTS
    states: tuple[State, ...] = HOMOGENEOUS
    target_only: bool = False
    factorial: bool = False
    contexts: tuple[Configuration, ...] = ()
    draws: int = 1
    reruns: int = 0
    history: History = "full"
    media: MediaRule = field(default_factory=MediaRule)

    def __post_init__(self) -> None:
        for name, value in (("draws", self.draws), ("reruns", self.reruns)):
            if isinstance(value, bool) or not isinstance(value, int):
                raise UsageError(f"{name} is {value!r}", "Use a whole number.")
        if self.reruns < 0:
            raise UsageError(f"{self.reruns} reruns are asked for", "Ask for none or more.")
        if self.draws < 1:
            raise UsageError(f"{self.draws} draws are asked for", "Ask for at least one.")
        if not self.states and not self.contrasts:
            raise UsageError("the design asks nothing", "Name a contrast or a state.")
        if self.history not in ("full", "last"):
            raise UsageError(f"history '{self.history}' is unknown", "Use full or last.")
        object.__setattr__(self, "contrasts", tuple(dict.fromkeys(self.contrasts)))
        states = {parse_state(state) for state in self.states}
        object.__setattr__(self, "states", tuple(sorted(states, key=list(State).index)))

    def runs(self, configuration: Configuration, of_target: bool) -> int:
        """Return how often a configuration is run."""
        shared = of_target and len(set(configuration.states)) == 1
        return self.draws + self.reruns * shared

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Design:
        """Return the design that :meth:`to_dict` wrote."""
        return cls(
            contrasts=tuple(Contrast.parse(text) for text in values["contrasts"]),
            states=tuple(State(text) for text in values["states"]),
            target_only=values["target_only"],
            factorial=values["factorial"],
            contexts=tuple(Configuration.parse(text) for text in values["contexts"]),
            draws=values["draws"],
            reruns=values.get("reruns", 0),
            history=values["history"],
            media=MediaRule.from_dict(values.get("media", {})),
        )

    def to_dict(self) -> dict[str, object]:
        """Return the design as JSON values, the form that a plan hashes and a manifest stores."""
        return {
            "contrasts": [str(contrast) for contrast in self.contrasts],
            "states": [str(state) for state in self.states],
            "target_only": self.target_only,
            "factorial": self.factorial,
            "contexts": [str(context) for context in self.contexts],
            "draws": self.draws,
            "reruns": self.reruns,
            "history": self.history,
            "media": self.media.to_dict(),
        }


def make_design(
    *,
    contrasts: Iterable[Contrast | str] | None = None,
    states: Iterable[State | str] | None = None,
    quick: bool = False,
    target_only: bool | None = None,
    factorial: bool = False,
    contexts: Iterable[Configuration | str] = (),
    draws: int = 1,
    reruns: int = 0,
    history: History = "full",
    media: MediaRule | None = None,
) -> Design:
    """Return a design from what a user names.

    The default is the paper's full design: NC, IC and RC of every unit, and the four contrasts of the target, 3 + 6k
    runs an instance. `quick` is the practical one: the target only, contrast (1, ∅), 2 + 2k runs. Where contrasts are
    named and states are not, the states are those of the contrasts.
    """
    parsed = tuple(Contrast.parse(c) if isinstance(c, str) else c for c in contrasts) if contrasts is not None else None
    if parsed is None and quick:
        parsed = (Contrast.parse("1,n"),)
    if states is not None:
        chosen = tuple(parse_state(state) for state in states)
    elif parsed is None:
        chosen = HOMOGENEOUS
    else:
        chosen = tuple(state for contrast in parsed for state in (contrast.a, contrast.a_prime))
    return Design(
        contrasts=PAPER_CONTRASTS if parsed is None else parsed,
        states=chosen,
        target_only=quick if target_only is None else target_only,
        factorial=factorial,
        contexts=tuple(Configuration.parse(c) if isinstance(c, str) else c for c in contexts),
        draws=draws,
        reruns=reruns,
        history=history,
        media=media or MediaRule(),
    )


def homogeneous(
    prerequisites: Sequence[str], design: Design, absent: frozenset[str] = frozenset()
) -> Iterator[Configuration]:
    """Yield do(A_Pa = a) for each state of a design.

    A root has the empty configuration alone. Where every prerequisite is absent nothing can be injected, so only the
    natural configuration is asked: any other would count as IC or RC what is NC.
    """
    if not prerequisites:
        yield Configuration()
        return
    for state in design.states:
        if state is State.NATURAL or not absent.issuperset(prerequisites):
            yield Configuration.homogeneous(prerequisites, state)


def target_configurations(
    prerequisites: Sequence[str], design: Design, absent: frozenset[str] = frozenset()
) -> tuple[Configuration, ...]:
    """Return the distinct configurations that the target is asked under, homogeneous ones first.

    Each runs once and serves every score that reads it: 3, 9, 3 + 6k of them for k = 1, 2, ≥ 3 in the full design, and
    2, 4, 2 + 2k for one contrast.

    Parameters
    ----------
    prerequisites : sequence of str
        Pa(Y) in declared order.
    design : Design
    absent : frozenset of str
        Prerequisites without a question on this instance; no contrast is asked for them. Where all are absent there is
        nothing to inject, and the natural configuration is left alone.

    Examples
    --------
    >>> [len(target_configurations(["X1", "X2", "X3"][:k], Design())) for k in (1, 2, 3)]
    [3, 9, 21]
    """
    found = dict.fromkeys(homogeneous(prerequisites, design, absent))
    if absent.issuperset(prerequisites):
        if any(State.NATURAL in (contrast.a, contrast.a_prime) for contrast in design.contrasts):
            found[Configuration.homogeneous(prerequisites, State.NATURAL)] = None
        return tuple(found)
    if design.factorial:
        everything = product(design.states, repeat=len(prerequisites))
        found.update(dict.fromkeys(Configuration(tuple(zip(prerequisites, c, strict=True))) for c in everything))
    for unit in prerequisites:
        if unit in absent:
            continue
        for contrast, metric in product(design.contrasts, METRICS):
            pair = arms(metric, contrast, unit, prerequisites)
            found.update(dict.fromkeys((pair.active, pair.reference)))
    for context, contrast in product(design.contexts, design.contrasts):
        for unit in prerequisites:
            others = {name: state for name, state in context.items if name != unit}
            if unit not in absent and set(others) | {unit} == set(prerequisites):
                pair = arms("N", contrast, unit, prerequisites, others)
                found.update(dict.fromkeys((pair.active, pair.reference)))
    return tuple(found)


def nominal_count(k: int, design: Design) -> int:
    """Return the paper's count of runs per instance, which overlooks that deviations coincide for k ≤ 2.

    3 + 6k for the four contrasts of the paper, 2 + 2k for one; see :func:`target_configurations` for the true one.
    """
    if k == 0:
        return 1
    if design.factorial:
        return int(len(design.states) ** k)
    deviations = {(a, b) for c in design.contrasts for a, b in ((c.a, c.a_prime), (c.a_prime, c.a))}
    used = set(design.states) | {state for pair in deviations for state in pair}
    return len(used) + k * len(deviations)
