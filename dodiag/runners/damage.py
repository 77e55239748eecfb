"""Tell a ledger whose file was cut off from one that is whole, before a number is made of it.

SQLite reads bytes that a cut took away as zeros: the end of a long reply can turn into NULs without an error. And a log
that lost its end can hide newer pages of the file: rows vanish without an error. So the size of the file is held
against its own page count, and where a log is left over, the structure of the tables is walked through.
"""

from __future__ import annotations

import contextlib
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path

PATIENCE = 60.0
"""Seconds to wait for another process that holds a file."""

LOOKS, BETWEEN_LOOKS = 5, 0.1
"""How often, and at what interval in seconds, a file is looked at before it is called damaged."""

_WALKED: dict[Path, tuple[object, ...]] = {}
"""Files whose structure this process has found to be whole, and their state then: a command opens a ledger often."""

LOG_HEADER, FRAME_HEADER = 32, 24
"""Bytes, from SQLite's description of its write-ahead log."""


def log_of(path: Path) -> Path:
    """Return the write-ahead log that belongs to a database file."""
    return path.with_name(path.name + "-wal")


def require_whole(path: Path) -> None:
    """Raise if part of a database file is missing.

    The connection may not write: one that may would, when it is closed, bring the log into the damaged file, which
    would look whole from then on. An empty file is not opened at all: SQLite would throw its log away. The reading
    transaction keeps a writer from starting its log anew while it is looked at.

    Raises
    ------
    sqlite3.DatabaseError
        That names what is missing.
    """
    if not size_of(path):
        raise sqlite3.DatabaseError("the file is empty")
    uri = f"{path.resolve().as_uri()}?mode=ro"
    with contextlib.closing(sqlite3.connect(uri, timeout=PATIENCE, uri=True)) as connection:
        connection.execute("BEGIN")
        _require_pages(connection, path)
        if size_of(log_of(path)):
            _require_newer_log(connection, path)
        state = tuple((size_of(file), _changed(file)) for file in (path, log_of(path)))
        if _WALKED.get(path) != state:
            _require_structure(connection)
            _WALKED[path] = state


def _require_pages(connection: sqlite3.Connection, path: Path) -> None:
    connection.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone()
    (size,) = connection.execute("PRAGMA page_size").fetchone()
    (count,) = connection.execute("PRAGMA page_count").fetchone()
    there, rest = divmod(path.stat().st_size, size)
    missing = set(range(there + 1, count + 1))
    if missing and size_of(log_of(path)):
        missing -= {number for number, _ in frames_of(log_of(path), size)}
    if missing or rest:
        held = f"{path.stat().st_size:,} bytes of {count * size:,}"
        raise sqlite3.DatabaseError(f"the file was cut off ({held})")


def frames_of(log: Path, size: int) -> Iterator[tuple[int, int]]:
    """Yield, for every frame of a log in use, the number of its page and the pages of the database after it (or 0).

    SQLite keeps no locks on a log, so a file descriptor of our own does no harm to them.
    """
    with log.open("rb") as stream:
        salt = stream.read(LOG_HEADER)[16:24]
        while len(head := stream.read(FRAME_HEADER)) == FRAME_HEADER:
            if head[8:16] == salt:
                yield int.from_bytes(head[:4], "big"), int.from_bytes(head[4:8], "big")
            stream.seek(size, 1)


def _require_newer_log(connection: sqlite3.Connection, path: Path) -> None:
    """Raise if there are fewer rows with the log than without: a log that lost its end hides newer pages.

    While another process brings its log into the file, the file alone can be anything; so it is looked at again.
    """
    with_log = _extent(connection)
    for _ in range(LOOKS):
        try:
            uri = f"{path.resolve().as_uri()}?immutable=1"
            with contextlib.closing(sqlite3.connect(uri, uri=True)) as alone:
                without = _extent(alone)
        except sqlite3.DatabaseError:
            return
        if all(one <= other for one, other in zip(without, with_log, strict=True)):
            return
        time.sleep(BETWEEN_LOOKS)
    raise sqlite3.DatabaseError("its log was cut off, and lacks rows that the file has")


def _extent(connection: sqlite3.Connection) -> tuple[int, ...]:
    tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    kept = [name for name in ("calls", "failures", "verdicts") if name in tables]
    return tuple(connection.execute(f"SELECT count(*) FROM {name}").fetchone()[0] for name in kept)


def _require_structure(connection: sqlite3.Connection) -> None:
    (verdict,) = connection.execute("PRAGMA quick_check(1)").fetchone()
    if verdict != "ok":
        raise sqlite3.DatabaseError(f"its tables do not fit together ({' '.join(str(verdict).split())})")


def size_of(path: Path) -> int:
    """Return the bytes of a file, 0 if there is none."""
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


def _changed(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns
    except FileNotFoundError:
        return 0
