"""Making a pack: several processes at once, interrupted and continued, and whole or not there at all."""

from __future__ import annotations

import contextlib
import json
import multiprocessing
import shutil
from collections import deque
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from inspect import cleandoc
from pathlib import Path
from typing import Any

from dodiag.benchmarks.generators import Drawn, Order
from dodiag.folder_lock import LOCK, FolderLock
from dodiag.problems import DodiagError, UsageError
from dodiag.scm.files import write_task
from dodiag.scm.pack import INSTANCES, Instance

ORDER = "order.json"
CARD = "CARD.md"
AHEAD = 2
"""Instances that may be under way or waiting for each process."""


def staging_folder(out: Path) -> Path:
    """Return the hidden folder beside `out` in which a pack grows until it is complete."""
    target = out.absolute()
    return target.parent / f".{target.name}.partial"


def make_pack(order: Order, out: Path, *, workers: int = 1, progress: Callable[[int], None] | None = None) -> None:
    """Write a pack to a new or empty folder, which it enters when it is complete.

    Until then it grows in a hidden folder beside it. Whatever ends this, the same order goes on from there; another
    order for the same place starts anew.

    Parameters
    ----------
    order : Order
    out : Path
        A new or empty folder; its parents are made.
    workers : int
        Processes; with more than one, a script has to start from ``if __name__ == "__main__":``.
    progress : callable, optional
        Told after each instance how many are done.

    Raises
    ------
    UsageError
        If `out` is anything but a new or empty folder, another process is making it, or it cannot be written.
    MissingDependency
        If the generator needs something that is not installed.
    DodiagError
        If a process ends without a word, for want of memory for instance.
    """
    _refuse_taken(out)
    if workers < 1:
        raise UsageError(f"{workers} processes are asked for", "Use at least 1.")
    order.generator.prepare()
    staged = staging_folder(out)
    try:
        lock = FolderLock(staged)
        try:
            done = _continued(staged, order)
            with contextlib.closing(_drawn(order, done, workers)) as instances:
                _append(staged, instances, done, progress)
            _finish(staged, order)
        finally:
            lock.release()
            if not (staged / INSTANCES).exists() or not (staged / INSTANCES).stat().st_size:
                shutil.rmtree(staged, ignore_errors=True)
        _move(staged, out)
    except OSError as error:
        cure = "Free space or name another folder; what is finished is kept, and the same command goes on."
        raise UsageError(f"cannot write {out}: {error.strerror or error}", cure) from error


def _refuse_taken(out: Path) -> None:
    if out.is_dir():
        if any(out.iterdir()):
            raise UsageError(f"the folder {out} is not empty", "Name a new one; a pack is never written over another.")
    elif out.exists() or out.is_symlink():
        raise UsageError(f"{out} is a file", "Name a new folder.")


def _identity(order: Order) -> dict[str, Any]:
    """Return everything that an instance depends on, so all but their number."""
    return {
        "task": order.slug,
        "version": order.generator.VERSION,
        "seed": order.seed,
        "knobs": dict(sorted(order.knobs.items())),
    }


def _continued(staged: Path, order: Order) -> int:
    """Make the staged folder ready and return how many instances it holds already."""
    identity = json.dumps(_identity(order))
    mark, lines = staged / ORDER, staged / INSTANCES
    if not mark.exists() or mark.read_text(encoding="utf-8") != identity:
        for entry in staged.iterdir():
            if entry.is_dir():
                shutil.rmtree(entry)
            elif not entry.name.startswith(LOCK):
                entry.unlink()
        mark.write_text(identity, encoding="utf-8")
    kept: list[bytes] = []
    if lines.exists():
        for line in lines.read_bytes().splitlines(keepends=True)[: order.count]:
            if not _is_whole(staged, line):
                break
            kept.append(line)
    lines.write_bytes(b"".join(kept))
    return len(kept)


def _is_whole(staged: Path, line: bytes) -> bool:
    """Return whether a line is a complete instance whose media are all there."""
    try:
        media = Instance.model_validate_json(line).media if line.endswith(b"\n") else None
    except ValueError:
        return False
    return media is not None and all((staged / name).is_file() and (staged / name).stat().st_size for name in media)


def _append(staged: Path, drawn: Iterator[Drawn], done: int, progress: Callable[[int], None] | None) -> None:
    with (staged / INSTANCES).open("a", encoding="utf-8", newline="\n") as lines:
        for count, (instance, media) in enumerate(drawn, start=done + 1):
            for name, data in media.items():
                path = staged / name
                path.parent.mkdir(exist_ok=True)
                path.write_bytes(data)
            lines.write(instance.model_dump_json(exclude_defaults=True) + "\n")
            lines.flush()
            if progress is not None:
                progress(count)


def _drawn(order: Order, done: int, workers: int) -> Generator[Drawn, None, None]:
    """Yield the instances that are missing, in order."""
    missing = range(done, order.count)
    if workers == 1 or len(missing) < 2:
        yield from map(order.draw, missing)
        return
    # A process that was forked shares the parent's GL context, so they start afresh.
    pool = ProcessPoolExecutor(min(workers, len(missing)), multiprocessing.get_context("spawn"))
    waiting: deque[Future[Drawn]] = deque()
    try:
        for index in missing:
            waiting.append(pool.submit(order.draw, index))
            if len(waiting) > AHEAD * workers:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    except BrokenProcessPool:
        cure = "Memory may be short: try with --workers 1. What is finished is kept, and the same command goes on."
        raise DodiagError(f"a process that made {order.slug} instances ended without a word", cure) from None
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _finish(staged: Path, order: Order) -> None:
    task = order.task
    (staged / "task.yaml").write_text(write_task(task), encoding="utf-8")
    (staged / CARD).write_text(card(order), encoding="utf-8")


def card(order: Order) -> str:
    """Return what a pack measures, how its truth is known, its limits and its licence, and how it was made."""
    command = f"dodiag generate {order.slug} --instances {order.count} --seed {order.seed}"
    command += "".join(f" --knob {name}={json.dumps(value)}" for name, value in order.knobs.items())
    made = f"Made by version {order.generator.VERSION} of its generator, with: `{command}`"
    return f"# {order.task.title}\n\n{made}\n\n```text\n{cleandoc(order.generator.__doc__ or '')}\n```\n"


def _move(staged: Path, out: Path) -> None:
    if out.is_dir():
        out.rmdir()
    staged.rename(out.absolute())
    for entry in (out / ORDER, *out.glob(f"{LOCK}*")):
        entry.unlink()
