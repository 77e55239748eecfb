"""Chains of cause and effect over dice at rest, and distractors that violate exactly one thing, with known truth.

A chain turns one die upside down: what the picture shows of it (A), what it shows then (B), what it makes together with
another die then (C). All numbers that a chain needs are in its text, so that its logic can be judged without the
picture and its claims about the picture without the logic.

Options are about different dice. If distractors were altered copies of the right chain, what most options have in
common would give it away without the picture. For the same reason the right chain and the visual distractors are drawn
alike, in all that can be read without the picture:

* Left and right are told only of dice whose names do not tell them too: a "left" die lies further left more often than
  not.
* Where one option turns a die in a colour that is not there, no such option turns a die in a colour that another
  option mentions: a colour that stands in two options would show that its die is there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from dodiag.benchmarks.cadet.dice_model import BODY_COLOURS, CONFUSABLE
from dodiag.benchmarks.ccrv.dice_push import TableDie
from dodiag.benchmarks.mmcot.taxonomy import (
    LOGICAL_TYPES,
    PUBLISHED_SHARES,
    VISUAL_TYPES,
    Axis,
    DistractorType,
)
from dodiag.problems import UsageError

ARROW = " → "
CLEAR = 40.0
"""Pixels by which the middles of two dice differ where a chain says which one lies further left or higher up."""
TRIES = 200
OPPOSITE = 7
"""What opposite faces of a die add up to."""

RELATIONS: Mapping[str, str] = {
    "further left than": "further right than",
    "further right than": "further left than",
    "higher up than": "lower down than",
    "lower down than": "higher up than",
}
"""Where a die lies in the picture, and the contrary."""

Generator = np.random.Generator


@dataclass(frozen=True, slots=True)
class Recipe:
    """How many distractors there are, and whether a die's pose is told.

    Attributes
    ----------
    visual, logical : int
        Distractors of each class, together K.
    poses : bool
        Tell in every chain that the die rests on a face, so that there can be action misperceptions. A still shows no
        actions: such a distractor says that the die is balanced on an edge, which can be doubted without the picture.

    Raises
    ------
    UsageError
        If there are none, or too many for the dice of a scene.
    """

    visual: int = 2
    logical: int = 2
    poses: bool = False

    def __post_init__(self) -> None:
        if self.visual < 0 or self.logical < 0 or not 1 <= self.visual + self.logical <= 8:
            said = f"{self.visual} visual and {self.logical} logical distractors are asked for"
            raise UsageError(said, "Use 0 or more of each, and 1 to 8 together.")

    @property
    def needed(self) -> int:
        """The dice that a scene has to have."""
        return self.visual + self.logical + 1


@dataclass(frozen=True, slots=True)
class Claims:
    """What a chain says of the picture.

    Attributes
    ----------
    subject, reference : str
        Names of the die that is turned, and of the one that it is compared with.
    relation : str
        Where the subject lies, from :data:`RELATIONS`.
    value, other : int
        Pips on the two top faces.
    flat : bool or None
        Whether the subject rests on a face; None where it is not told.
    """

    subject: str
    reference: str
    relation: str
    value: int
    other: int
    flat: bool | None = None

    @property
    def turned(self) -> int:
        """Pips of the subject once it is turned upside down."""
        return OPPOSITE - self.value


@dataclass(frozen=True, slots=True)
class Option:
    """A chain to choose.

    Attributes
    ----------
    steps : tuple of str
        In the order in which they are written.
    type : DistractorType or None
        None for the right chain.
    claims : Claims
    false : str or None
        A die that is there and of which a false number is said.
    cause : str or None
        The unrelated die of a spurious correlation; what is said of it is true.
    """

    steps: tuple[str, ...]
    type: DistractorType | None
    claims: Claims
    false: str | None = None
    cause: str | None = None

    @property
    def text(self) -> str:
        """The chain in one line."""
        return ARROW.join(self.steps)


def condition(claims: Claims) -> str:
    """Return step A."""
    pose = {None: "", True: "rests flat on a face, ", False: "is balanced on an edge, "}[claims.flat]
    where = f"lies {claims.relation} the {claims.reference}"
    return f"The {claims.subject} {pose}{where}, shows {claims.value}, and is turned upside down."


def mediation(claims: Claims) -> str:
    """Return step B."""
    return f"The {claims.subject} then shows {claims.turned}, as opposite faces add up to {OPPOSITE}."


def outcome(claims: Claims, shown: int | None = None) -> str:
    """Return step C."""
    total = (claims.turned if shown is None else shown) + claims.other
    return f"The {claims.subject} and the {claims.reference}, which shows {claims.other}, then make {total} together."


def true_claims(dice: Sequence[TableDie], poses: bool = False) -> list[Claims]:
    """Return everything true that a chain can say: a die, another one, and where the one lies."""
    found = []
    for subject in dice:
        for reference in dice:
            for relation in _relations(subject, reference):
                claims = Claims(subject.name, reference.name, relation, subject.value, reference.value)
                found.append(replace(claims, flat=True) if poses else claims)
    return found


def colour_of(name: str) -> str:
    """Return the colour in a die's name.

    Examples
    --------
    >>> colour_of("left yellow die")
    'yellow'
    """
    return name.split()[-2]


def draw_options(dice: Sequence[TableDie], recipe: Recipe, rng: Generator) -> tuple[Option, ...] | None:
    """Return the right chain and its distractors in random order, or None where the dice do not allow them.

    Every option turns another die. What a distractor says falsely of a die is contradicted by no other option.
    """
    if len(dice) < recipe.needed:
        return None
    claims: dict[str, list[Claims]] = {die.name: [] for die in dice}
    for found in true_claims(dice, recipe.poses):
        claims[found.subject].append(found)
    known = [kind for kind in DistractorType if kind is not DistractorType.OBJECT_HALLUCINATION]
    for kinds in (list(DistractorType), known) if _free(dice) else (known,):
        types: list[DistractorType | None] = [None, *_types(recipe, kinds, rng)]
        for _ in range(TRIES):
            options = _attempt(dice, claims, types, rng)
            if options is not None:
                return tuple(options[place] for place in rng.permutation(len(options)))
    return None


def _attempt(
    dice: Sequence[TableDie],
    claims: Mapping[str, Sequence[Claims]],
    types: Sequence[DistractorType | None],
    rng: Generator,
) -> list[Option] | None:
    drawn = _subjects([die.name for die in dice], types, rng)
    if drawn is None:
        return None
    subjects, reserved = drawn
    others = [die for die in dice if die.name not in subjects and colour_of(die.name) not in reserved]
    near = {die.name for die in others}
    options = []
    for name, kind in zip(subjects, types, strict=True):
        about = [found for found in claims[name] if found.reference in near]
        option = _option(about[rng.integers(len(about))], kind, dice, others, rng) if about else None
        if option is None:
            return None
        options.append(option)
    return options if _consistent(options) else None


def _subjects(
    names: Sequence[str], types: Sequence[DistractorType | None], rng: Generator
) -> tuple[list[str], set[str]] | None:
    """Return the dice that options turn, and the colours that no other option may mention; None if too few are left.

    Colours are reserved where a colour that is not there would stand out otherwise: those of the right chain and of the
    visual distractors, which are drawn alike.
    """
    mixed = [names[place] for place in rng.permutation(len(names))]
    if DistractorType.OBJECT_HALLUCINATION not in types:
        return mixed[: len(types)], set()
    seen = [kind is None or kind.axis is Axis.VISUAL for kind in types]
    by_colour = {colour_of(name): name for name in mixed}
    reserved = [str(colour) for colour in rng.permutation(list(by_colour))[: sum(seen)]]
    free = [name for name in mixed if colour_of(name) not in reserved]
    if len(reserved) < sum(seen) or len(free) <= seen.count(False):
        return None
    sources = {True: iter([by_colour[colour] for colour in reserved]), False: iter(free)}
    return [next(sources[kind]) for kind in seen], set(reserved)


def _consistent(options: Sequence[Option]) -> bool:
    """Return whether no option tells anything of another one: what is said falsely of a die stands alone.

    A die that is turned stands in its own option alone, whatever its type: one that does not exist could not stand in
    another one either, nor could its colour.
    """
    absent = [colour_of(o.claims.subject) for o in options if o.type is DistractorType.OBJECT_HALLUCINATION]
    if len(set(absent)) < len(absent):
        return False
    mentions = Counter(name for option in options for name in (option.claims.subject, option.claims.reference))
    mentions.update(option.cause for option in options if option.cause is not None)
    alone = [option.claims.subject for option in options] + [option.false for option in options if option.false]
    return all(mentions[name] == 1 for name in alone)


def _option(
    claims: Claims, kind: DistractorType | None, dice: Sequence[TableDie], others: Sequence[TableDie], rng: Generator
) -> Option | None:
    """Return an option of a type, or None where none of the dice that are not turned can be a spurious cause."""
    false: str | None = None
    cause: TableDie | None = None
    shown: int | None = None
    match kind:
        case DistractorType.OBJECT_HALLUCINATION:
            claims = replace(claims, subject=_absent(claims.subject, dice, rng), value=int(rng.integers(1, OPPOSITE)))
        case DistractorType.ATTRIBUTE_ERROR if rng.integers(2):
            claims, false = replace(claims, value=_other(claims.value, rng)), claims.subject
        case DistractorType.ATTRIBUTE_ERROR:
            claims, false = replace(claims, other=_other(claims.other, rng)), claims.reference
        case DistractorType.SPATIAL_HALLUCINATION:
            claims = replace(claims, relation=RELATIONS[claims.relation])
        case DistractorType.ACTION_MISPERCEPTION:
            claims = replace(claims, flat=False)
        case _:
            pass
    first, second = condition(claims), mediation(claims)
    if kind is DistractorType.SPURIOUS_CORRELATION:
        unrelated = [die for die in others if die.name != claims.reference]
        if not unrelated:
            return None
        cause = unrelated[rng.integers(len(unrelated))]
        second = f"The {claims.subject} then shows {claims.turned}, because the {cause.name} shows {cause.value}."
    elif kind is DistractorType.PHYSICAL_IMPOSSIBILITY:
        shown = claims.value
        second = f"The {claims.subject} then still shows {shown}, as turning it leaves its top face where it is."
    steps = (first, second, outcome(claims, shown))
    if kind is DistractorType.CAUSAL_INVERSION:
        steps = (steps[1], steps[0], steps[2])
    elif kind is DistractorType.TEMPORAL_SHUFFLE:
        steps = (steps[0], steps[2], steps[1])
    return Option(steps, kind, claims, false, None if cause is None else cause.name)


def _types(recipe: Recipe, possible: Sequence[DistractorType], rng: Generator) -> Iterator[DistractorType]:
    """Yield fine types, each once before any twice, in the published proportions."""
    visual = [kind for kind in VISUAL_TYPES if kind in possible]
    if not recipe.poses:
        visual.remove(DistractorType.ACTION_MISPERCEPTION)
    for count, kinds in ((recipe.visual, visual), (recipe.logical, LOGICAL_TYPES)):
        weights = np.array([PUBLISHED_SHARES[kind] for kind in kinds])
        left = count
        while left:
            taken = min(left, len(kinds))
            places = rng.choice(len(kinds), size=taken, replace=False, p=weights / weights.sum())
            yield from (kinds[place] for place in places)
            left -= taken


def _absent(name: str, dice: Sequence[TableDie], rng: Generator) -> str:
    """Return a name of the same form in a colour that no die has."""
    free = _free(dice)
    words = name.split()
    words[-2] = free[rng.integers(len(free))]
    return " ".join(words)


def _tells_its_place(name: str) -> bool:
    """Return whether a die has companions of its colour, so that its name tells it apart by its place."""
    return len(name.split()) > 2


def _free(dice: Sequence[TableDie]) -> list[str]:
    """Return the colours that no die has, nor one that looks alike."""
    here = {colour_of(die.name) for die in dice}
    near = {colour for pair in CONFUSABLE if pair & here for colour in pair}
    return sorted(set(BODY_COLOURS) - here - near)


def _other(value: int, rng: Generator) -> int:
    return int(rng.choice([pips for pips in range(1, OPPOSITE) if pips != value]))


def _relations(subject: TableDie, reference: TableDie) -> Iterator[str]:
    dx, dy = ((reference.box[i] + reference.box[i + 2] - subject.box[i] - subject.box[i + 2]) / 2 for i in (0, 1))
    if abs(dx) >= CLEAR and not any(_tells_its_place(die.name) for die in (subject, reference)):
        yield "further left than" if dx > 0 else "further right than"
    if abs(dy) >= CLEAR:
        yield "higher up than" if dy > 0 else "lower down than"
