"""Making a pack: several processes at once, interrupted and continued, and whole or not there at all."""

from __future__ import annotations

import contextlib
import json
import multiprocessing
import os
import shutil
import signal
import sys
import threading
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

    Until then it grows in a hidden folder beside it. Whatever ends this, the same order goes on from there, also with
    another number of instances; any other order for the same place starts anew.

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
        If `out` is anything but a new or empty folder (not a link, a mount point or the current folder), another
        process is making it, or it cannot be written.
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
    """Refuse now what a finished pack could not take the place of."""
    if out.is_dir():
        if any(out.iterdir()):
            raise UsageError(f"the folder {out} is not empty", "Name a new one; a pack is never written over another.")
        if special := _special_folder(out):
            cure = f"Name a new folder, such as {out / 'pack'}."
            raise UsageError(f"{out} is {special}, which a pack cannot take the place of", cure)
    elif out.exists() or out.is_symlink():
        raise UsageError(f"{out} is a file", "Name a new folder.")


def _special_folder(folder: Path) -> str | None:
    """Return what an empty folder is that cannot be removed to make room, or None."""
    if folder.is_symlink():
        return "a link"
    if os.path.ismount(folder):
        return "a mount point"
    return "the current folder" if folder.samefile(Path.cwd()) else None


def _identity(order: Order) -> dict[str, Any]:
    """Return everything that an instance depends on, so all but their number."""
    return {
        "task": order.slug,
        "version": order.generator.VERSION,
        "seed": order.seed,
        "knobs": dict(sorted(order.knobs.items())),
    }


def _continued(staged: Path, order: Order) -> int:
    """Make the staged folder ready and return how many instances it holds already: nothing else stays in it."""
    identity = json.dumps(_identity(order))
    mark, lines = staged / ORDER, staged / INSTANCES
    if not mark.exists() or mark.read_text(encoding="utf-8") != identity:
        for entry in staged.iterdir():
            if entry.is_dir():
                shutil.rmtree(entry)
            elif not entry.name.startswith(LOCK):
                entry.unlink()
        mark.write_text(identity, encoding="utf-8")
    done, length = 0, 0
    media: set[Path] = set()
    if lines.exists():
        for line in lines.read_bytes().splitlines(keepends=True)[: order.count]:
            found = _media_of(staged, line)
            if found is None:
                break
            done, length = done + 1, length + len(line)
            media.update(found)
        os.truncate(lines, length)  # not written anew: who is killed in between would lose what is finished
    for file in staged.glob("*/**/*"):
        if file.is_file() and file not in media:
            file.unlink()
    return done


def _media_of(staged: Path, line: bytes) -> list[Path] | None:
    """Return the media of a line, or None unless it is a complete instance whose media are all there."""
    try:
        media = [staged / name for name in Instance.model_validate_json(line).media] if line.endswith(b"\n") else None
    except ValueError:
        return None
    return media if media is not None and all(file.is_file() and file.stat().st_size for file in media) else None


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
    pool = ProcessPoolExecutor(min(workers, len(missing)), multiprocessing.get_context("spawn"), _end_with_parent)
    waiting: deque[Future[Drawn]] = deque()
    try:
        for index in missing:
            with _unheard_ctrl_c():
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


@contextlib.contextmanager
def _unheard_ctrl_c() -> Iterator[None]:
    """Let processes that are started in here not hear Ctrl-C: this one does, and ends them.

    They would else print a traceback each, most of all while they are importing. This process loses no Ctrl-C by it;
    one that comes now is heard at the end of the block.
    """
    if sys.platform == "win32":
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _end_with_parent() -> None:
    """Let this process end when the one that started it is killed; it would else wait for work for ever."""
    parent = multiprocessing.parent_process()

    def follow() -> None:
        if parent is not None:
            parent.join()
            os._exit(1)

    threading.Thread(target=follow, daemon=True).start()


def _finish(staged: Path, order: Order) -> None:
    task = order.task
    (staged / "task.yaml").write_text(write_task(task), encoding="utf-8", newline="\n")
    (staged / CARD).write_text(card(order), encoding="utf-8", newline="\n")


def card(order: Order) -> str:
    """Return what a pack measures, how its truth is known, its limits and its licence, and how it was made."""
    return f"# {order.task.title}\n\n{_origin(order)}\n\n```text\n{cleandoc(order.generator.__doc__ or '')}\n```\n"


def _origin(order: Order) -> str:
    """Return the line of the card that says by what the pack was made: no two packs have the same."""
    command = f"dodiag generate {order.slug} --instances {order.count} --seed {order.seed}"
    command += "".join(f" --knob {name}={json.dumps(value)}" for name, value in order.knobs.items())
    return f"Made by version {order.generator.VERSION} of its generator, with: `{command}`"


def is_pack_of(order: Order, folder: Path) -> bool:
    """Return whether a folder holds the pack that is ordered, by its card."""
    file = folder / CARD
    return file.is_file() and _origin(order) in file.read_text(encoding="utf-8").splitlines()


def _move(staged: Path, out: Path) -> None:
    if out.is_dir():
        out.rmdir()
    staged.rename(out.absolute())
    for entry in (out / ORDER, *out.glob(f"{LOCK}*")):
        entry.unlink()
