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
from typing import Any, TypeVar

from dodiag.folder_lock import LOCK, unwritable
from dodiag.problems import DodiagError, UsageError
from dodiag.runners.damage import PATIENCE, require_whole
from dodiag.runners.migration import SCHEMA_VERSION, build, migrate, stored_version
from dodiag.runners.protocol import Finish, Reply, Usage

LEDGER = "ledger.sqlite"
DRAFT = f".{LEDGER}.new"

_DAMAGE = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR)
"""Codes that speak of the content; the last one is that of a table that is not there."""


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
TABLE_OF = {cls: table for table, cls in TABLES.items()}
ORDER: Mapping[str, str] = {"replies": "key", "calls": "position", "failures": "id", "verdicts": "key"}
_R = TypeVar("_R", ReplyRow, CallRow, FailureRow, VerdictRow)
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
    return not folder.exists() or all(file.name.startswith((LOCK, DRAFT)) for file in folder.iterdir())


def _remove_drafts(folder: Path) -> None:
    for end in ("", "-wal", "-shm", "-journal"):
        (folder / f"{DRAFT}{end}").unlink(missing_ok=True)


@contextlib.contextmanager
def _writing(path: Path) -> Iterator[None]:
    """Name the file and the cure where it cannot be written."""
    try:
        yield
    except sqlite3.ProgrammingError:
        raise
    except sqlite3.Error as error:
        message = f"the ledger {path} cannot be written: {error}"
        cure = "End the other process that holds it" if _is_held(error) else "Free space or correct the permissions"
        raise DodiagError(message, f"{cure}, then continue the run; every reply before this one is kept.") from None


def _is_held(error: Exception) -> bool:
    """Return whether an error says that another process holds the ledger."""
    code = getattr(error, "sqlite_errorcode", None)
    return code is not None and code & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


def _stored(value: Any) -> Any:
    """Return a value as SQLite takes it: text with lone surrogates becomes bytes, and is read back equal."""
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError:
            return value.encode("utf-8", "surrogatepass")
    return value


def loaded(value: Any) -> Any:
    """Return a value that SQLite gave as it was before it was stored."""
    return value.decode("utf-8", "surrogatepass") if isinstance(value, bytes) else value


def _values(row: Row) -> tuple[Any, ...]:
    return tuple(_stored(getattr(row, name)) for name in COLUMNS[type(row)])


class DamagedLedger(UsageError):
    """A ledger that is there and cannot be read as it was written."""


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

    def __init__(self, folder: Path, *, name: str = LEDGER) -> None:
        self.folder = folder
        self.path = folder / name
        if not self.path.is_file():
            raise UsageError(f"{folder} is not a run directory (it has no {name})", "Name the folder given to --out.")
        with self._explained():
            require_whole(self.path)
            self._reader = sqlite3.connect(self.path, timeout=PATIENCE, check_same_thread=False)
            try:
                self._bring_up_to_date(stored_version(self._reader))
            except BaseException:
                self._reader.close()
                raise

    def _bring_up_to_date(self, version: Any) -> None:
        known = isinstance(version, int) and version >= 1
        if known and version < SCHEMA_VERSION:
            try:
                migrate(self._reader)
            except sqlite3.OperationalError as error:
                message = f"{self.path} has schema {version} and cannot be brought up to {SCHEMA_VERSION}: {error}"
                raise UsageError(message, "Make the folder writable, or use a copy of it.") from None
        elif version != SCHEMA_VERSION:
            newer = "A newer release of dodiag wrote it: update this one, which" if known else "This release"
            raise UsageError(
                f"{self.path} has schema {version}", f"{newer} reads schema {SCHEMA_VERSION} and older ones."
            )

    @classmethod
    def create(cls, folder: Path, manifest: Mapping[str, Any]) -> Ledger:
        """Make a run directory with an empty ledger and return it.

        Raises
        ------
        UsageError
            If the folder holds a ledger already, or cannot be written.
        """
        with cls.drafted(folder, manifest):
            pass
        return cls(folder)

    @classmethod
    @contextlib.contextmanager
    def drafted(cls, folder: Path, manifest: Mapping[str, Any]) -> Iterator[Ledger]:
        """Give an empty ledger to fill, which becomes the folder's when the block ends, whole or not at all.

        A process that is killed in between leaves a folder in which a run may start.

        Raises
        ------
        UsageError
            If the folder holds a ledger already, or cannot be written.
        """
        path, draft = folder / LEDGER, folder / DRAFT
        if path.exists():
            raise UsageError(f"{folder} already holds a run", f"Continue it with: dodiag resume {folder}")
        try:
            folder.mkdir(parents=True, exist_ok=True)
            _remove_drafts(folder)
            with contextlib.closing(sqlite3.connect(draft)) as connection:
                build(connection, {"manifest": dict(manifest)})
                connection.execute("PRAGMA journal_mode=WAL")
        except (OSError, sqlite3.Error) as error:
            raise unwritable(folder, error) from None
        try:
            with cls(folder, name=DRAFT) as ledger:
                yield ledger
                ledger._settle()
            draft.rename(path)
        except OSError as error:
            raise unwritable(folder, error) from None
        finally:
            _remove_drafts(folder)

    def _settle(self) -> None:
        """Bring the whole log into the file, so that the file alone is the ledger."""
        with _writing(self.path):
            busy, *_ = self._reader.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        if busy:
            raise DodiagError(f"the ledger {self.path} is held by another process", "Try again when it has ended.")

    def meta(self, name: str) -> Any:
        """Return one entry of the ledger's description, such as ``manifest``; None where there is none."""
        row = next(self._read("SELECT value FROM meta WHERE name = ?", (name,)), None)
        with self._explained():
            return None if row is None else json.loads(row[0])

    def all_meta(self) -> dict[str, Any]:
        """Return the ledger's whole description."""
        with self._explained():
            return {name: json.loads(value) for name, value in self._read("SELECT name, value FROM meta")}

    @property
    def manifest(self) -> dict[str, Any]:
        """What the run is: pack, plan, model, parameters, versions."""
        found = self.meta("manifest")
        if not isinstance(found, dict):
            raise DamagedLedger(f"{self.path} cannot be read: it does not say what the run is", self._recovery)
        return found

    def write_meta(self, name: str, value: Any) -> None:
        """Replace one entry of the ledger's description.

        Raises
        ------
        DodiagError
            If it cannot be written, for instance because the disk is full.
        """
        with _writing(self.path), self._reader:
            self._reader.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (name, json.dumps(value)))

    def shrink(self) -> None:
        """Give the space that nothing uses back to the disk.

        Raises
        ------
        DodiagError
            If there is no space for the copy that this takes, or another process holds the ledger.
        """
        with _writing(self.path):
            self._reader.execute("VACUUM")
        self._settle()

    def reply(self, key: str) -> ReplyRow | None:
        """Return the stored reply of a request, if there is one."""
        return next(self._of(ReplyRow, "WHERE key = ?", (key,)), None)

    def reply_to_prompt(self, digest: str, draw: int) -> ReplyRow | None:
        """Return the stored reply to a prompt, whatever model and parameters the key carries."""
        return next(self._of(ReplyRow, "WHERE prompt_digest = ? AND draw = ? LIMIT 1", (digest, draw)), None)

    def answered_positions(self) -> Iterator[int]:
        """Yield the positions of the plan that have an answer."""
        for (position,) in self._read("SELECT position FROM calls"):
            yield position

    def call(self, position: int) -> CallRow | None:
        """Return the answer to one line of the plan, if there is one."""
        return next(self._of(CallRow, "WHERE position = ?", (position,)), None)

    def calls(self) -> Iterator[CallRow]:
        """Yield the answered calls in plan order."""
        return self._of(CallRow, "ORDER BY position")

    def open_failures(self) -> Iterator[FailureRow]:
        """Yield, in plan order, the last failure of every call that has no answer."""
        where = """WHERE id IN (SELECT max(id) FROM failures GROUP BY position)
            AND position NOT IN (SELECT position FROM calls) ORDER BY position"""
        return self._of(FailureRow, where)

    def verdict(self, key: str) -> VerdictRow | None:
        """Return a stored judgement, if there is one."""
        return next(self._of(VerdictRow, "WHERE key = ?", (key,)), None)

    def verdicts(self) -> Iterator[VerdictRow]:
        """Yield all judgements, by key."""
        return self._of(VerdictRow, "ORDER BY key")

    def rows(self, table: str) -> Iterator[Row]:
        """Yield every row of a table of :data:`TABLES`, in the order of its key, on a connection of its own."""
        kind = TABLES[table]
        with self._explained(), contextlib.closing(sqlite3.connect(self.path, timeout=PATIENCE)) as reader:
            for row in reader.execute(f"SELECT {', '.join(COLUMNS[kind])} FROM {table} ORDER BY {ORDER[table]}"):
                yield kind(*map(loaded, row))

    def undecodable(self, table: str) -> set[str]:
        """Return the columns of a table in which there is text with lone surrogates."""
        names = COLUMNS[TABLES[table]]
        stored = ", ".join(f"max(typeof({name}) = 'blob')" for name in names)
        found = next(self._read(f"SELECT {stored} FROM {table}"))
        return {name for name, has in zip(names, found, strict=True) if has}

    @property
    def empty(self) -> bool:
        """Whether no reply has been stored yet."""
        return next(self._read("SELECT 1 FROM replies LIMIT 1"), None) is None

    def usage(self) -> tuple[int, int, int]:
        """Return the number of distinct replies and their input and output tokens, as far as reported."""
        query = "SELECT count(*), coalesce(sum(input_tokens), 0), coalesce(sum(output_tokens), 0) FROM replies"
        count, tokens_in, tokens_out = next(self._read(query))
        return count, tokens_in, tokens_out

    def _of(self, kind: type[_R], where: str, values: tuple[Any, ...] = ()) -> Iterator[_R]:
        for row in self._read(f"SELECT {', '.join(COLUMNS[kind])} FROM {TABLE_OF[kind]} {where}", values):
            yield kind(*row)

    def _read(self, query: str, values: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
        with self._explained():
            for row in self._reader.execute(query, values):
                yield tuple(map(loaded, row))

    @property
    def _recovery(self) -> str:
        return f"Restore it from a copy, or save what can be read: dodiag merge {self.folder} --out NEW_FOLDER"

    @contextlib.contextmanager
    def _explained(self) -> Iterator[None]:
        """Name the file and the cure where it cannot be read."""
        try:
            yield
        except sqlite3.ProgrammingError:
            raise
        except (sqlite3.Error, ValueError, OSError) as error:
            message, code = f"{self.path} cannot be read: {error}", getattr(error, "sqlite_errorcode", None)
            if _is_held(error):
                raise UsageError(message, "Another process holds it: try again when it has ended.") from None
            if isinstance(error, OSError) or (code is not None and code & 0xFF not in _DAMAGE):
                raise UsageError(message, "Make the folder writable and see that its disk works.") from None
            raise DamagedLedger(message, self._recovery) from None

    def close(self) -> None:
        """Close the reading connection."""
        self._reader.close()

    def __enter__(self) -> Ledger:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


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
        with _writing(self._path):
            self._connection = sqlite3.connect(path, timeout=PATIENCE, check_same_thread=False)
            self._connection.execute("PRAGMA synchronous=NORMAL")
            self._syncing = sqlite3.connect(path, timeout=PATIENCE, check_same_thread=False)
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
        """Write what waits; what cannot be written goes on waiting, and :meth:`close` tries once more."""
        with _writing(self._path), self._connection:
            for row in itertools.chain.from_iterable(self._waiting):
                self._connection.execute(_INSERT[type(row)], _values(row))
        self._waiting = []

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
        with _writing(self._path), self._connection:
            self._connection.executemany(_REPLACE_CALL, map(_values, rows))

    def sync(self) -> None:
        """Bring to the disk what the operating system holds of the ledger; may run in a thread beside the writer.

        A thread cannot be cancelled, so one may still be here, or not have begun, when the writer is closed. Closing a
        connection that another thread is using crashes the interpreter; hence the lock, and nothing after the close.
        """
        with self._syncing_lock, _writing(self._path):
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
