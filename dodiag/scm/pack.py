"""Task packs: a task graph file, one instance a line, and their media.

Instances are streamed: a pack is checked and read line by line and never held in memory.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from dodiag.problems import InvalidInput, Problem, UsageError
from dodiag.scm.files import find_task_file, load_task
from dodiag.scm.graph import TaskGraph
from dodiag.scm.instances import (
    INSTANCES,
    Annotation,
    Instance,
    Pixel,
    Point,
    Question,
    correct_answer,
    incorrect_answer,
    instance_lines,
    spec_of,
)
from dodiag.scm.media import Header
from dodiag.scm.pack_checks import Scan

__all__ = [
    "INSTANCES", "Annotation", "Instance", "Pack", "Pixel", "Point", "Question", "correct_answer", "incorrect_answer",
    "load_pack", "spec_of",
]  # fmt: skip


@dataclass(frozen=True)
class Pack:
    """A checked task pack; iterate over :meth:`instances` to read it.

    Attributes
    ----------
    folder : Path
    task : TaskGraph
    instance_count, question_count : int
    questions_per_unit : mapping of str to int
    digest : str
        SHA-256 of the task graph and of every instance line: the pack's content, not its place.
    headers : mapping of str to Header
        What the header of each medium says, by the medium's name.
    """

    folder: Path
    task: TaskGraph
    instance_count: int
    question_count: int
    questions_per_unit: Mapping[str, int]
    digest: str
    headers: Mapping[str, Header] = field(default_factory=dict, repr=False, compare=False)
    _offsets: dict[str, int] = field(default_factory=dict, repr=False, compare=False)
    _media: dict[str, tuple[str, ...]] = field(default_factory=dict, repr=False, compare=False)

    def instances(self) -> Iterator[Instance]:
        """Yield the instances in file order, reading one line at a time."""
        for _, _, text in instance_lines(self.folder / INSTANCES):
            yield Instance.model_validate_json(text)

    def instance(self, instance_id: str) -> Instance:
        """Return one instance by its id.

        Raises
        ------
        UsageError
            If the pack has no such instance.
        """
        if instance_id not in self._offsets:
            raise UsageError(f"pack {self.folder} has no instance '{instance_id}'")
        with (self.folder / INSTANCES).open("rb") as stream:
            stream.seek(self._offsets[instance_id])
            return Instance.model_validate_json(stream.readline())

    @property
    def instance_ids(self) -> tuple[str, ...]:
        """The ids of the instances, in file order."""
        return tuple(self._offsets)

    @property
    def media_kinds(self) -> Mapping[str, int]:
        """How many files of each MIME type the instances list."""
        return Counter(header.mime for header in self.headers.values())

    def media_of(self, instance_id: str) -> tuple[str, ...]:
        """Return the names of the media that an instance lists, without reading it again."""
        return self._media.get(instance_id, ())

    def medium(self, name: str) -> Path:
        """Return the path of one of the pack's media."""
        return self.folder / name


def load_pack(path: str | Path) -> Pack:
    """Read and check a task pack.

    Parameters
    ----------
    path : str or Path
        A folder with ``task.yaml`` (or ``task.json``) and ``instances.jsonl``.

    Raises
    ------
    InvalidInput
        With every problem of the graph file and of all instances.
    """
    folder = Path(path)
    file = find_task_file(path)
    if not folder.is_dir():
        cure = "A pack is a folder with task.yaml, instances.jsonl and media/."
        raise InvalidInput([Problem(str(path), None, "", "is a task graph, not a task pack", cure)])
    problems: list[Problem] = []
    task: TaskGraph | None = None
    try:
        task = load_task(file)
    except InvalidInput as error:
        problems += error.problems
    scan = Scan(folder, task)
    problems += scan.run() if (folder / INSTANCES).is_file() else [_no_instances(folder)]
    if problems or task is None:
        raise InvalidInput(problems)
    return Pack(
        folder=folder,
        task=task,
        instance_count=len(scan.offsets),
        question_count=scan.per_unit.total(),
        questions_per_unit={unit: scan.per_unit[unit] for unit in task.units},
        digest=scan.digest,
        headers=scan.headers,
        _offsets=scan.offsets,
        _media=scan.media,
    )


def _no_instances(folder: Path) -> Problem:
    return Problem(str(folder), None, "", f"has no {INSTANCES}", "Write one instance a line, as JSON.")
