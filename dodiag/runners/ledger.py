"""The ledger: one SQLite file per run directory, append-only truth about every reply that was paid for.

``replies`` holds each distinct request once, with the prompt that was sent and what came back. ``calls`` says which
line of the plan each reply answers and what it was read as. ``failures`` are infrastructure errors: rows with a
status, never answers. ``verdicts`` holds what judges said of replies. Every reply is committed before its place is
given to another call, so a run that is killed repeats at most the calls in flight.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import sqlite3
import threading
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from dodiag.problems import DodiagError, UsageError
from dodiag.runners.migration import SCHEMA_VERSION, build, migrate, stored_version
from dodiag.runners.protocol import Finish, Reply, Usage

LEDGER = "ledger.sqlite"
LOCK = "lock.sqlite"
DRAFT = f".{LEDGER}.new"
LEFTOVERS = (LOCK, DRAFT)


@dataclass(frozen=True, slots=True)
class ReplyRow:
    """One distinct request and its reply, in the order of the table's columns."""

    key: str
    prompt_digest: str
    draw: int
    prompt: str
    media: str
    reply: str | None
    reasoning: str | None
    finish: str
    provider_model: str | None
    input_tokens: int | None
    output_tokens: int | None
    cached_tokens: int | None
    reasoning_tokens: int | None
    attempts: int
    seconds: float
    finished_at: str

    def to_reply(self) -> Reply:
        """Return the reply as the adapter gave it."""
        usage = Usage(self.input_tokens, self.output_tokens, self.cached_tokens, self.reasoning_tokens)
        return Reply(self.reply, Finish(self.finish), self.reasoning, usage, self.provider_model)


@dataclass(frozen=True, slots=True)
class PlanLine:
    """A line of the plan, and the key of its request."""

    position: int
    instance: str
    unit: str
    question: str
    step: int | None
    configuration: str
    draw: int
    absent: str
    key: str


@dataclass(frozen=True, slots=True)
class CallRow(PlanLine):
    """An answered line of the plan, in the order of the table's columns."""

    outcome: str
    solved: int | None
    value: str | None
    how: str
    strict: int
    flags: str


@dataclass(frozen=True, slots=True)
class FailureRow(PlanLine):
    """A line of the plan that came to no reply, in the order of the table's columns after its id."""

    kind: str
    message: str
    attempts: int
    failed_at: str


@dataclass(frozen=True, slots=True)
class VerdictRow:
    """What a judge said about one reply, in the order of the table's columns.

    Attributes
    ----------
    key : str
        What makes two judgements the same; its own, apart from the reply's.
    reply_key : str
        The reply that was judged.
    judge : str
        The judge's model.
    verdict : str
        ``correct``, ``incorrect`` or ``unscored``.
    reason, explanation : str or None
        Why there is no verdict; what the judge gave as its grounds.
    prompt, reply, finish : str or None
        What the judge was sent, what came back, and why it ended.
    """

    key: str
    reply_key: str
    judge: str
    verdict: str
    reason: str | None
    explanation: str | None
    prompt: str
    reply: str | None
    finish: str | None
    input_tokens: int | None
    output_tokens: int | None
    attempts: int
    seconds: float
    finished_at: str


Row = ReplyRow | CallRow | FailureRow | VerdictRow
TABLES: Mapping[str, type[Row]] = {
    "replies": ReplyRow,
    "calls": CallRow,
    "failures": FailureRow,
    "verdicts": VerdictRow,
}
COLUMNS: Mapping[type[Row], tuple[str, ...]] = {
    cls: tuple(field.name for field in fields(cls)) for cls in TABLES.values()
}


def _insert(table: str, conflict: str) -> str:
    columns = COLUMNS[TABLES[table]]
    return f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({', '.join('?' * len(columns))}) {conflict}"


def _replacing(table: str) -> str:
    return ", ".join(f"{name} = excluded.{name}" for name in COLUMNS[TABLES[table]])


_INSERT: Mapping[type[Row], str] = {
    ReplyRow: _insert("replies", "ON CONFLICT DO NOTHING"),
    CallRow: _insert("calls", "ON CONFLICT DO NOTHING"),
    FailureRow: _insert("failures", "ON CONFLICT DO NOTHING"),
    VerdictRow: _insert(
        "verdicts", f"ON CONFLICT (key) DO UPDATE SET {_replacing('verdicts')} WHERE verdicts.verdict = 'unscored'"
    ),
}
_REPLACE_CALL = _insert("calls", f"ON CONFLICT (position) DO UPDATE SET {_replacing('calls')}")


def is_unused(folder: Path) -> bool:
    """Return whether a run may start in a folder: it is missing, or holds only what a start that was killed left."""
    return not folder.exists() or all(file.name.removesuffix("-journal") in LEFTOVERS for file in folder.iterdir())


def _unwritable(folder: Path, error: Exception) -> UsageError:
    return UsageError(f"{folder} cannot be written: {error}", "Choose another folder for --out.")


def _stored(value: Any) -> Any:
    """Return a value as SQLite takes it: text with lone surrogates becomes bytes, and is read back equal."""
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError:
            return value.encode("utf-8", "surrogatepass")
    return value


def _loaded(value: Any) -> Any:
    return value.decode("utf-8", "surrogatepass") if isinstance(value, bytes) else value


def _values(row: Row) -> tuple[Any, ...]:
    return tuple(_stored(getattr(row, name)) for name in COLUMNS[type(row)])


class Ledger:
    """A run directory's ledger, open for reading and appending.

    Parameters
    ----------
    folder : Path
        The run directory; it has to hold a ledger (see :meth:`create`).

    Raises
    ------
    UsageError
        If there is no ledger, it is damaged, or a newer release wrote it.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.path = folder / LEDGER
        if not self.path.is_file():
            raise UsageError(f"{folder} is not a run directory (it has no {LEDGER})", "Name the folder given to --out.")
        try:
            self._reader = sqlite3.connect(self.path, check_same_thread=False, timeout=60)
            version = stored_version(self._reader)
            if isinstance(version, int) and 1 <= version < SCHEMA_VERSION:
                version = self._brought_up(version)
        except sqlite3.Error as error:
            raise UsageError(f"{self.path} cannot be read: {error}", "Restore it from a copy.") from None
        if version != SCHEMA_VERSION:
            cure = f"This release reads schema {SCHEMA_VERSION} and older ones."
            raise UsageError(f"{self.path} has schema {version}", cure)

    def _brought_up(self, version: int) -> Any:
        try:
            migrate(self._reader)
        except sqlite3.OperationalError as error:
            message = f"{self.path} has schema {version} and cannot be brought up to {SCHEMA_VERSION}: {error}"
            raise UsageError(message, "Make the folder writable, or use a copy of it.") from None
        return stored_version(self._reader)

    @classmethod
    def create(cls, folder: Path, manifest: Mapping[str, Any]) -> Ledger:
        """Make a run directory with an empty ledger and return it.

        Raises
        ------
        UsageError
            If the folder holds a ledger already, or cannot be written.
        """
        path = folder / LEDGER
        if path.exists():
            raise UsageError(f"{folder} already holds a run", f"Continue it with: dodiag resume {folder}")
        draft = folder / DRAFT
        try:
            folder.mkdir(parents=True, exist_ok=True)
            draft.unlink(missing_ok=True)
            connection = sqlite3.connect(draft)
            build(connection, {"manifest": dict(manifest)})
            connection.execute("PRAGMA journal_mode=WAL")
            connection.close()
            draft.rename(path)
        except (OSError, sqlite3.Error) as error:
            raise _unwritable(folder, error) from None
        return cls(folder)

    def meta(self, name: str) -> Any:
        """Return one entry of the ledger's description, such as ``manifest``; None where there is none."""
        row = self._reader.execute("SELECT value FROM meta WHERE name = ?", (name,)).fetchone()
        return None if row is None else json.loads(row[0])

    @property
    def manifest(self) -> dict[str, Any]:
        """What the run is: pack, plan, model, parameters, versions."""
        return dict(self.meta("manifest"))

    def write_meta(self, name: str, value: Any) -> None:
        """Replace one entry of the ledger's description."""
        with self._reader:
            self._reader.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (name, json.dumps(value)))

    def reply(self, key: str) -> ReplyRow | None:
        """Return the stored reply of a request, if there is one."""
        return self._one_reply("key = ?", (key,))

    def reply_to_prompt(self, digest: str, draw: int) -> ReplyRow | None:
        """Return the stored reply to a prompt, whatever model and parameters the key carries."""
        return self._one_reply("prompt_digest = ? AND draw = ?", (digest, draw))

    def _one_reply(self, where: str, values: tuple[Any, ...]) -> ReplyRow | None:
        columns = ", ".join(COLUMNS[ReplyRow])
        row = self._reader.execute(f"SELECT {columns} FROM replies WHERE {where} LIMIT 1", values).fetchone()
        return None if row is None else ReplyRow(*map(_loaded, row))

    def answered_positions(self) -> Iterator[int]:
        """Yield the positions of the plan that have an answer."""
        for (position,) in self._reader.execute("SELECT position FROM calls"):
            yield position

    def calls(self) -> Iterator[CallRow]:
        """Yield the answered calls in plan order."""
        query = f"SELECT {', '.join(COLUMNS[CallRow])} FROM calls ORDER BY position"
        for row in self._reader.execute(query):
            yield CallRow(*map(_loaded, row))

    def open_failures(self) -> Iterator[FailureRow]:
        """Yield, in plan order, the last failure of every call that has no answer."""
        query = f"""
            SELECT {", ".join(COLUMNS[FailureRow])} FROM failures
            WHERE id IN (SELECT max(id) FROM failures GROUP BY position)
            AND position NOT IN (SELECT position FROM calls) ORDER BY position"""
        for row in self._reader.execute(query):
            yield FailureRow(*map(_loaded, row))

    def rows(self, table: str) -> Iterator[Row]:
        """Yield every row of a table of :data:`TABLES`, in the order of its key, on a connection of its own."""
        row_class = TABLES[table]
        reader = sqlite3.connect(self.path, timeout=60)
        try:
            for row in reader.execute(f"SELECT {', '.join(COLUMNS[row_class])} FROM {table} ORDER BY 1"):
                yield row_class(*map(_loaded, row))
        finally:
            reader.close()

    def all_meta(self) -> dict[str, Any]:
        """Return the ledger's whole description."""
        return {name: json.loads(value) for name, value in self._reader.execute("SELECT name, value FROM meta")}

    def call(self, position: int) -> CallRow | None:
        """Return the answer to one line of the plan, if there is one."""
        query = f"SELECT {', '.join(COLUMNS[CallRow])} FROM calls WHERE position = ?"
        row = self._reader.execute(query, (position,)).fetchone()
        return None if row is None else CallRow(*map(_loaded, row))

    def verdict(self, key: str) -> VerdictRow | None:
        """Return a stored judgement, if there is one."""
        query = f"SELECT {', '.join(COLUMNS[VerdictRow])} FROM verdicts WHERE key = ?"
        row = self._reader.execute(query, (key,)).fetchone()
        return None if row is None else VerdictRow(*map(_loaded, row))

    def verdicts(self) -> Iterator[VerdictRow]:
        """Yield all judgements, by key."""
        for row in self._reader.execute(f"SELECT {', '.join(COLUMNS[VerdictRow])} FROM verdicts ORDER BY key"):
            yield VerdictRow(*map(_loaded, row))

    @property
    def empty(self) -> bool:
        """Whether no reply has been stored yet."""
        return self._reader.execute("SELECT 1 FROM replies LIMIT 1").fetchone() is None

    def usage(self) -> tuple[int, int, int]:
        """Return the number of distinct replies and their input and output tokens, as far as reported."""
        query = "SELECT count(*), coalesce(sum(input_tokens), 0), coalesce(sum(output_tokens), 0) FROM replies"
        count, tokens_in, tokens_out = self._reader.execute(query).fetchone()
        return count, tokens_in, tokens_out

    def close(self) -> None:
        """Close the reading connection."""
        self._reader.close()

    def __enter__(self) -> Ledger:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class RunLock:
    """Holds a run directory for one process; released when the process ends, however it ends.

    The folder is made where it is missing. The lock is taken before the ledger is looked for, so that two processes
    that start at once cannot both make one.

    Raises
    ------
    UsageError
        If another process holds the directory, or it cannot be written.
    """

    def __init__(self, folder: Path) -> None:
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._connection = sqlite3.connect(folder / LOCK, timeout=0, isolation_level=None)
        except (OSError, sqlite3.Error) as error:
            raise _unwritable(folder, error) from None
        try:
            self._connection.execute("BEGIN EXCLUSIVE")
        except sqlite3.Error as error:
            self._connection.close()
            if error.sqlite_errorcode == sqlite3.SQLITE_BUSY:
                message = f"another process is running in {folder}"
                raise UsageError(message, "Wait for it, or stop it.") from None
            raise _unwritable(folder, error) from None

    def release(self) -> None:
        """Let other processes have the directory."""
        self._connection.close()


class LedgerWriter:
    """Appends rows: each hand-over is one transaction, so a process that is killed loses none of them.

    The transaction reaches the operating system at once (WAL, ``synchronous=NORMAL``), and :meth:`sync` brings it to
    the disk itself; the runner calls it every second, so a machine that loses power loses that much at the most.

    Only SQLite ever opens the ledger's files: a file descriptor of our own would, when closed, drop the locks of every
    connection in this process (POSIX), and the next reader from outside would take the log away from under the writer.

    Parameters
    ----------
    path : Path
        The ledger.
    together : int
        Hand-overs that make one transaction. More than 1 is for replies that cost nothing: a crash loses that many.

    Raises
    ------
    DodiagError
        If the ledger cannot be opened for writing.
    """

    def __init__(self, path: Path, together: int = 1) -> None:
        self._path = path
        self._together = together
        self._waiting: list[tuple[Row, ...]] = []
        with self._explained():
            self._connection = sqlite3.connect(path, timeout=60, check_same_thread=False)
            self._connection.execute("PRAGMA synchronous=NORMAL")
            self._syncing = sqlite3.connect(path, timeout=60, check_same_thread=False)
            self._syncing.execute("PRAGMA synchronous=NORMAL")
        self._syncing_lock = threading.Lock()
        self._closed = False

    def add(self, *rows: Row) -> None:
        """Append rows in one transaction.

        Raises
        ------
        DodiagError
            If they cannot be written, for instance because the disk is full.
        """
        self._waiting.append(rows)
        if len(self._waiting) >= self._together:
            self._commit()

    def _commit(self) -> None:
        waiting, self._waiting = self._waiting, []
        with self._explained(), self._connection:
            for row in itertools.chain.from_iterable(waiting):
                self._connection.execute(_INSERT[type(row)], _values(row))

    def flush(self) -> None:
        """Write what waits for its transaction."""
        self._commit()

    def replace_calls(self, rows: Iterable[CallRow]) -> None:
        """Write what replies were read as anew, in one transaction: readings are derived, replies are not touched.

        Raises
        ------
        DodiagError
            If they cannot be written; then all are as they were.
        """
        self._commit()
        with self._explained(), self._connection:
            self._connection.executemany(_REPLACE_CALL, map(_values, rows))

    def sync(self) -> None:
        """Bring to the disk what the operating system holds of the ledger; may run in a thread beside the writer.

        A thread cannot be cancelled, so one may still be here, or not have begun, when the writer is closed. Closing a
        connection that another thread is using crashes the interpreter; hence the lock, and nothing after the close.
        """
        with self._syncing_lock, self._explained():
            if not self._closed:
                self._syncing.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()

    def close(self) -> None:
        """Bring everything to the disk and close the connection."""
        try:
            self._commit()
            self.sync()
        finally:
            with self._syncing_lock:
                self._closed = True
                self._syncing.close()
            self._connection.close()

    @contextlib.contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            message = f"the ledger {self._path} cannot be written: {error}"
            cure = "Free space or correct the permissions; every reply before this one is kept."
            raise DodiagError(message, cure) from None
