"""What a name on the command line stands for: a folder, a shipped sample, a shipped task graph."""

from __future__ import annotations

from pathlib import Path

from dodiag.problems import UsageError
from dodiag.scm.files import load_task, shipped_tasks
from dodiag.scm.graph import TaskGraph
from dodiag.scm.pack import Pack, load_pack


def open_pack(path: str | Path) -> Pack:
    """Return the pack in a folder, or the sample pack of that name.

    Raises
    ------
    InvalidInput
        If there is neither, or the pack has problems.
    UsageError
        If it is the name of a shipped task that has a generator and no sample.
    """
    sample = _sample(path)
    if sample is None and not Path(path).exists() and str(path) in shipped_tasks():
        cure = f"Make one: dodiag generate {path} --out packs/{path}"
        raise UsageError(f"the shipped task {path} has no sample pack", cure)
    return load_pack(sample or path)


def open_subject(path: str | Path) -> Pack | TaskGraph:
    """Return what a plan can be made of: the pack that :func:`open_pack` would open, or else a task graph.

    Raises
    ------
    InvalidInput
        If there is neither, or it has problems.
    """
    sample = _sample(path)
    if sample is not None or (Path(path) / "instances.jsonl").is_file():
        return load_pack(sample or path)
    return load_task(path)


def _sample(path: str | Path) -> Path | None:
    from dodiag.benchmarks.samples import sample_packs

    return None if Path(path).exists() else sample_packs().get(str(path))
