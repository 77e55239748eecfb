"""Write a pack that comes from somebody's files: whole or not at all."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path

from dodiag.problems import UsageError
from dodiag.scm.files import write_task
from dodiag.scm.graph import TaskGraph
from dodiag.scm.pack import INSTANCES, Instance

Drawn = tuple[Instance, Mapping[str, bytes]]
"""An instance and the bytes of its media by their path in the pack."""


def write_pack(out: Path, task: TaskGraph, drawn: Iterable[Drawn]) -> None:
    """Write a pack to a new or empty folder, in a hidden folder beside it that takes its name when it is complete.

    Raises
    ------
    UsageError
        If `out` is anything but a new or empty folder, or the file system does not let it.
    """
    refuse_taken(out)
    try:
        target = out.absolute()
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=target.parent, prefix=f".{target.name}.", suffix=".partial") as work:
            staged = Path(work) / target.name
            staged.mkdir()
            (staged / "task.yaml").write_text(write_task(task), encoding="utf-8")
            with (staged / INSTANCES).open("w", encoding="utf-8", newline="\n") as lines:
                for instance, media in drawn:
                    for name, data in media.items():
                        path = staged / name
                        path.parent.mkdir(exist_ok=True)
                        path.write_bytes(data)
                    lines.write(instance.model_dump_json(exclude_defaults=True) + "\n")
            if target.is_dir():
                target.rmdir()
            staged.rename(target)
    except OSError as error:
        raise UsageError(
            f"cannot write {out}: {error.strerror or error}", "Name a folder that can be written."
        ) from error


def refuse_taken(out: Path) -> None:
    """Raise unless a folder is new or empty."""
    if out.is_dir():
        if any(out.iterdir()):
            raise UsageError(f"the folder {out} is not empty", "Name a new one; a pack is never written over another.")
    elif out.exists() or out.is_symlink():
        raise UsageError(f"{out} is a file", "Name a new folder.")
