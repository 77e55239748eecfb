"""Generators of task packs: which tasks have one, and how a pack comes to its folder whole or not at all."""

from __future__ import annotations

import difflib
import importlib
import tempfile
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Protocol, cast

from dodiag.problems import UsageError
from dodiag.scm.files import write_task
from dodiag.scm.graph import TaskGraph
from dodiag.scm.pack import INSTANCES, Instance

GENERATORS: Mapping[str, str] = MappingProxyType({"dice_sum": "dodiag.benchmarks.cadet.dice_sum"})
"""The module of each task's generator; it has a function ``generate`` and is imported when asked for."""

MAX_INSTANCES = 100_000

Drawn = tuple[Instance, Mapping[str, bytes]]
"""An instance and the bytes of its media by their path in the pack."""


class Generate(Protocol):
    """What every generator is: writes a pack of `instances` instances to the new folder `out`."""

    def __call__(
        self,
        out: Path,
        *,
        instances: int = 130,
        seed: int = 0,
        progress: Callable[[int], None] | None = None,
    ) -> None:
        """Write the pack; `progress` is told after each instance how many are done."""


def generator(slug: str) -> Generate:
    """Return the generator of a task.

    Raises
    ------
    UsageError
        If the task has none.
    """
    if slug not in GENERATORS:
        near = difflib.get_close_matches(slug, GENERATORS, n=1)
        hint = f"Did you mean {near[0]}?" if near else f"Tasks with a generator: {', '.join(sorted(GENERATORS))}."
        raise UsageError(f"there is no generator for a task '{slug}'", hint)
    return cast(Generate, importlib.import_module(GENERATORS[slug]).generate)


def check_request(out: Path, instances: int, seed: int) -> None:
    """Check what a generator is asked for, before it starts to work.

    Raises
    ------
    UsageError
        If `out` is anything but a new or empty folder, `instances` is not 1 to 100,000, or `seed` is negative.
    """
    if not 1 <= instances <= MAX_INSTANCES:
        raise UsageError(f"cannot generate {instances} instances", f"Ask for 1 to {MAX_INSTANCES:,}.")
    if seed < 0:
        raise UsageError(f"the seed {seed} is negative", "Use 0 or more.")
    if out.is_dir():
        if any(out.iterdir()):
            raise UsageError(f"the folder {out} is not empty", "Name a new one; a pack is never written over another.")
    elif out.exists() or out.is_symlink():
        raise UsageError(f"{out} is a file", "Name a new folder.")


def write_pack(
    out: Path, task: TaskGraph, drawn: Iterable[Drawn], progress: Callable[[int], None] | None = None
) -> None:
    """Write a pack whole or not at all: in a hidden folder beside `out`, which takes its name when it is complete.

    Whatever ends it, an interrupt included, `out` is then what it was before.

    Parameters
    ----------
    out : Path
        A new or empty folder; its parents are made.
    task : TaskGraph
    drawn : iterable of (Instance, media)
        Read one by one, so that a pack may be larger than memory.
    progress : callable, optional
        Told after each instance how many are done.

    Raises
    ------
    UsageError
        If the file system does not let it.
    """
    try:
        target = out.absolute()
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=target.parent, prefix=f".{target.name}.", suffix=".partial") as work:
            staged = Path(work) / target.name
            staged.mkdir()
            (staged / "task.yaml").write_text(write_task(task), encoding="utf-8")
            with (staged / INSTANCES).open("w", encoding="utf-8", newline="\n") as lines:
                for done, (instance, media) in enumerate(drawn, start=1):
                    for name, data in media.items():
                        path = staged / name
                        path.parent.mkdir(exist_ok=True)
                        path.write_bytes(data)
                    lines.write(instance.model_dump_json(exclude_defaults=True) + "\n")
                    if progress is not None:
                        progress(done)
            if target.is_dir():
                target.rmdir()
            staged.rename(target)
    except OSError as error:
        raise UsageError(
            f"cannot write {out}: {error.strerror or error}", "Name a folder that can be written."
        ) from error
