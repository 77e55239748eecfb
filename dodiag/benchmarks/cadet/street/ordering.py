"""What the two tasks share that ask for the order of pictures: the length of the answer, and questions about pairs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import combinations

from dodiag.benchmarks.cadet.street.search import letters_of
from dodiag.scm.files import load_task
from dodiag.scm.graph import TaskGraph
from dodiag.scm.pack import Question


def ordering_task(slug: str, seed: int, frames: int) -> TaskGraph:
    """Return a shipped graph with the length of Y, and the seed of the incorrect answers."""
    shipped = load_task(slug)
    units = dict(shipped.units)
    answer = units["Y"].answer.model_copy(update={"length": frames})
    units["Y"] = units["Y"].model_copy(update={"answer": answer})
    return replace(shipped, units=units, seed=seed)


def pair_questions(
    unit: str,
    pictures: int,
    text: Callable[[str, str], str],
    first: Callable[[int, int], bool | None],
    required: Sequence[str] = ("X1-{0}", "X1-{1}"),
) -> Iterator[Question]:
    """Yield a question for every pair of pictures: for which of the two something holds.

    Parameters
    ----------
    unit : str
    pictures : int
        How many there are.
    text : callable
        Given the letters of two pictures, what is asked.
    first : callable
        Given the places of two pictures, from 0, whether it holds for the first of them; None where it is not asked.
    required : sequence of str
        Ids of the questions that it needs; ``{0}`` and ``{1}`` stand for the letters.
    """
    letters = letters_of(pictures)
    for one, other in combinations(range(pictures), 2):
        holds = first(one, other)
        if holds is not None:
            pair = letters[one], letters[other]
            yield Question(
                id=f"{unit}-{pair[0]}{pair[1]}",
                unit=unit,
                text=text(*pair),
                choices=tuple(f"picture {letter}" for letter in pair),
                answer="A" if holds else "B",
                requires=tuple(name.format(*pair) for name in required),
            )


def order_question(text: str, order: Sequence[int]) -> Question:
    """Return the question of Y.

    Parameters
    ----------
    text : str
    order : sequence of int
        The moment of each picture as shown.
    """
    letters = letters_of(len(order))
    return Question(
        id="Y",
        unit="Y",
        text=text,
        choices=tuple(f"picture {letter}" for letter in letters),
        answer=[letters[order.index(moment)] for moment in range(len(order))],
    )
