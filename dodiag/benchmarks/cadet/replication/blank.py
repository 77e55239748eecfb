"""Packs of CADET's structure and size without content: for simulators, which need nothing to look at."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from dodiag.problems import UsageError
from dodiag.scm.answers import AnswerType
from dodiag.scm.files import write_task
from dodiag.scm.graph import TaskGraph
from dodiag.scm.pack import INSTANCES, Instance, Question

OPTIONS = ("the first", "the second", "the third", "the fourth", "the fifth")


def write_blank_pack(
    out: Path, task: TaskGraph, *, instances: int | None = None, questions_per_unit: int | None = None
) -> Path:
    """Write a pack whose instances have as many questions of each unit as the publication's, and no media.

    Parameters
    ----------
    out : Path
        A folder; it is made if it is not there.
    task : TaskGraph
        One of CADET's, with the counts in its ``published``.
    instances : int, optional
        Default the published number.
    questions_per_unit : int, optional
        At most so many questions of a unit on an instance. The published counts are kept to where they are lower:
        Traffic Causation has 26 questions of X6 on 107 instances.

    Returns
    -------
    Path
        The folder.

    Raises
    ------
    UsageError
        If the task has no published counts, fewer than one instance or question is asked for, or the folder cannot be
        written.

    Examples
    --------
    >>> import tempfile, dodiag
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     pack = dodiag.load_pack(write_blank_pack(Path(folder), dodiag.load_task("traffic_causation")))
    ...     pack.instance_count, pack.question_count
    (107, 2974)
    """
    if not {"instances", "questions"} <= set(task.published):
        raise UsageError(f"task {task.name} has no published counts", "Use a task graph of CADET.")
    for name, asked in (("instances", instances), ("questions_per_unit", questions_per_unit)):
        if asked is not None and asked < 1:
            raise UsageError(f"{name} is {asked}", "Ask for at least 1, or leave it out.")
    try:
        out.mkdir(parents=True, exist_ok=True)
        (out / "task.yaml").write_text(write_task(task), encoding="utf-8")
        with (out / INSTANCES).open("w", encoding="utf-8", newline="\n") as lines:
            for index in range(int(task.published["instances"]) if instances is None else instances):
                questions = tuple(_questions(task, index, questions_per_unit))
                if questions:
                    instance = Instance(id=f"b{index:05d}", questions=questions)
                    lines.write(instance.model_dump_json(exclude_defaults=True) + "\n")
    except OSError as error:
        raise UsageError(f"cannot write {out}: {error.strerror or error}", "Name another folder.") from error
    return out


def _questions(task: TaskGraph, index: int, most: int | None) -> Iterator[Question]:
    of_benchmark = int(task.published["instances"])
    for unit in task.units:
        total = int(task.published["questions"][unit])
        # Spread evenly: the same share of every stretch of instances, whatever their number.
        count = (index + 1) * total // of_benchmark - index * total // of_benchmark
        in_chain = task.chain_of(unit) is not None
        for number in range(1, (count if most is None else min(count, most)) + 1):
            yield _question(task, unit, index, number, number if in_chain else None)


def _question(task: TaskGraph, unit: str, index: int, number: int, step: int | None) -> Question:
    text = f"What is number {number} of {task.units[unit].title} in case {index}?"
    place = index + number
    rotated = [*"ABCDE"[place % 5 :], *"ABCDE"[: place % 5]]
    name = f"{unit}.{number}"
    match task.units[unit].answer.type:
        case AnswerType.CHOICE:
            return Question(id=name, unit=unit, text=text, choices=OPTIONS[:4], answer="ABCD"[place % 4], step=step)
        case AnswerType.LETTER_LIST:
            return Question(id=name, unit=unit, text=text, choices=OPTIONS, answer=rotated, step=step)
        case AnswerType.INTEGER_LIST:
            return Question(id=name, unit=unit, text=text, answer=[place % 7, place % 5], step=step)
        case AnswerType.TEXT:
            answer, incorrect = f"event {place} happens", f"event {place + 1} happens"
            return Question(id=name, unit=unit, text=text, answer=answer, incorrect=incorrect, step=step)
        case _:
            return Question(id=name, unit=unit, text=text, answer=1 + place % 9, step=step)
