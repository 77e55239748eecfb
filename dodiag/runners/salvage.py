"""Save what can be read of a damaged ledger into a new one; the damaged files are left as they are."""

from __future__ import annotations

import contextlib
import json
import shutil
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from dodiag.folder_lock import FolderLock
from dodiag.problems import UsageError
from dodiag.runners.damage import frames_of, log_of, size_of
from dodiag.runners.ledger import COLUMNS, LEDGER, ORDER, TABLES, Ledger, LedgerWriter, Row, loaded

MAGIC = b"SQLite format 3\x00"
PAGE_SIZE_AT, PAGE_COUNT_AT, HEADER = 16, 28, 100
"""Places in the header of a database file, from SQLite's description of its format."""

FILLER = b"\xff"
"""Stands for what was cut off: no page and no text can be made of it, so that nothing invented is ever read."""

TOGETHER = 1000
"""Rows that make one transaction."""


def salvage(folder: Path, into: Path) -> None:
    """Make a run directory of the rows of a damaged ledger that can be read whole.

    The file is copied, with its log and without it, and filled up to its length; rows are read by their keys from both
    ends, and calls and their replies one by one as well.

    Parameters
    ----------
    folder : Path
        The run directory with the damaged ledger.
    into : Path
        The new run directory.

    Raises
    ------
    UsageError
        If not even the description of the run can be read, or a process is running in the directory.
    """
    into.mkdir(parents=True, exist_ok=True)
    with contextlib.ExitStack() as stack:
        views = [stack.enter_context(contextlib.closing(view)) for view in _views(folder, into)]
        meta: dict[str, Any] = next((found for view in views if (found := _meta(view))), {})
        if not meta:
            raise UsageError(f"{folder / LEDGER} is too damaged: it does not say what the run is", "Use a copy.")
        with Ledger.drafted(into, meta.pop("manifest")) as made:
            for name, value in meta.items():
                if name != "schema_version":
                    made.write_meta(name, value)
            writer = LedgerWriter(made.path, together=TOGETHER)
            try:
                for table in TABLES:
                    failures: set[int] = set()
                    for view in views:
                        for row in _readable(view, table, made, failures):
                            writer.add(row)
                    writer.flush()
            finally:
                writer.close()


def _views(folder: Path, into: Path) -> Iterator[sqlite3.Connection]:
    """Yield connections to filled-up copies of the file: with the log, if there is one, and the file alone."""
    file, log = folder / LEDGER, log_of(folder / LEDGER)
    lock = FolderLock(folder)
    try:
        copies = []
        for name, parts in (("with-log", (file, log)), ("alone", (file,))):
            if all(size_of(part) for part in parts):
                copies.append(into / name)
                for part in parts:
                    shutil.copyfile(part, into / part.name.replace(LEDGER, name))
    except OSError as error:
        raise UsageError(f"{into} cannot be written: {error}", "Choose another folder for --out.") from None
    finally:
        lock.release()
    for copy in copies:
        _fill_up(copy)
        connection = sqlite3.connect(copy)
        # Text that is not valid is to cost one row, not the rest of the table.
        connection.text_factory = bytes
        yield connection


def _fill_up(copy: Path) -> None:
    with copy.open("r+b") as stream:
        header = stream.read(HEADER)
        if not header.startswith(MAGIC) or len(header) < HEADER:
            return
        # The size is 1 for 65,536.
        size = int.from_bytes(header[PAGE_SIZE_AT : PAGE_SIZE_AT + 2], "big")
        size = 65536 if size == 1 else size
        counts = [int.from_bytes(header[PAGE_COUNT_AT : PAGE_COUNT_AT + 4], "big")]
        if size_of(log_of(copy)):
            counts += [count for _, count in frames_of(log_of(copy), size)]
        there = stream.seek(0, 2)
        stream.write(FILLER * (max(counts) * size - there))


def _meta(connection: sqlite3.Connection) -> dict[str, Any]:
    """Return the description of the run; empty if it cannot be read."""
    found: dict[str, Any] = {}
    with contextlib.suppress(sqlite3.Error, ValueError):
        found = {
            loaded(name): json.loads(loaded(value))
            for name, value in connection.execute("SELECT name, value FROM meta")
        }
    return found if isinstance(found.get("manifest"), dict) else {}


def _readable(connection: sqlite3.Connection, table: str, made: Ledger, failures: set[int]) -> Iterator[Row]:
    """Yield the rows of a table that can be read, some more than once; `failures` are the ids that were yielded."""
    kind = TABLES[table]
    extra = "id, " if table == "failures" else ""
    select = f"SELECT {extra}{', '.join(COLUMNS[kind])} FROM {table}"

    def rows(rest: str, *values: Any) -> Iterator[Row]:
        with contextlib.suppress(sqlite3.Error):
            for row in connection.execute(f"{select} {rest}", values):
                with contextlib.suppress(UnicodeDecodeError):
                    if extra and row[0] in failures:
                        continue
                    decoded = tuple(map(loaded, row))
                    if extra:
                        failures.add(row[0])
                    yield kind(*decoded[1:] if extra else decoded)

    yield from rows(f"ORDER BY {ORDER[table]}")
    yield from rows(f"ORDER BY {ORDER[table]} DESC")
    if table == "calls":
        for position in range(int(made.manifest.get("calls") or 0)):
            yield from rows("WHERE position = ?", position)
    elif table == "replies":
        for key in _keys_of_calls(connection):
            yield from rows("WHERE key = ?", key)


def _keys_of_calls(connection: sqlite3.Connection) -> Iterator[str]:
    for order in ("", "DESC"):
        with contextlib.suppress(sqlite3.Error, UnicodeDecodeError):
            for (key,) in connection.execute(f"SELECT key FROM calls ORDER BY position {order}"):
                yield loaded(key)
