"""Put partial runs together, and take a ledger out of SQLite and back: nothing is lost, nothing is paid for twice."""

from __future__ import annotations

import contextlib
import json
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import islice, pairwise
from pathlib import Path
from typing import Any

from dodiag.folder_lock import FolderLock
from dodiag.problems import UsageError
from dodiag.runners.budget import ACCOUNT, TERMS, broken_off_together
from dodiag.runners.ledger import (
    COLUMNS,
    DRAFT,
    LEDGER,
    TABLES,
    CallRow,
    DamagedLedger,
    Ledger,
    LedgerWriter,
    ReplyRow,
    Row,
    is_unused,
)
from dodiag.runners.migration import SCHEMA_VERSION
from dodiag.runners.salvage import TOGETHER, salvage

SAME = ("plan_hash", "model", "endpoint", "sees_media", "parameters")
"""What runs have to share to be parts of one run."""

SAVED = f"{DRAFT}-saved-"
"""Begin of the names of folders with what was saved of damaged ledgers, while the union is made."""

MANIFEST = "manifest.json"
FORMATS = ("parquet", "jsonl")


@dataclass(frozen=True, slots=True)
class Merged:
    """What a union came to.

    Attributes
    ----------
    replies, calls : int
        Of the new ledger.
    conflicts : int
        Requests that two runs sampled differently; the reply of the run named first is kept.
    damaged : tuple of str
        Runs whose ledger was damaged, of which only the rows that can be read whole were taken.
    """

    replies: int
    calls: int
    conflicts: int
    damaged: tuple[str, ...] = ()


def merge(sources: Sequence[str | Path], out: str | Path) -> Merged:
    """Make one run directory of several partial ones; the sources are left as they are.

    The union of replies by key and of answered calls by position. Where two runs have the same request with another
    reply, that of the run named first stands, with its reading. Of a damaged ledger, what can be read whole is taken;
    one alone may be named for that.

    Raises
    ------
    UsageError
        If fewer than two runs are named, they are not parts of one run, or `out` holds a run already.
    """
    folders = [Path(source) for source in sources]
    target = Path(out)
    with contextlib.ExitStack() as stack:
        whole = {folder: _opened(stack, folder) for folder in folders}
        damaged = tuple(str(folder) for folder, ledger in whole.items() if ledger is None)
        if len(folders) < 2 and not damaged:
            raise UsageError("one run needs no merging", "Name two or more.")
        sound = {folder: ledger for folder, ledger in whole.items() if ledger is not None}
        _require_one_run({folder: ledger.manifest for folder, ledger in sound.items()})
        stack.enter_context(_new_run(target))
        for number, folder in enumerate(whole):
            if whole[folder] is None:
                saved = target / f"{SAVED}{number}"
                salvage(folder, saved)
                sound[folder] = stack.enter_context(Ledger(saved))
        _require_one_run({folder: sound[folder].manifest for folder in folders})
        ledgers = [sound[folder] for folder in folders]
        with Ledger.drafted(target, ledgers[0].manifest) as made:
            conflicts = _union(ledgers, made)
            return Merged(made.usage()[0], sum(1 for _ in made.answered_positions()), conflicts, damaged)


def _opened(stack: contextlib.ExitStack, folder: Path) -> Ledger | None:
    """Return a run's ledger; None if it is there and damaged."""
    try:
        ledger = stack.enter_context(Ledger(folder))
        for table in TABLES:
            for _ in ledger.rows(table):
                pass
    except DamagedLedger:
        return None
    return ledger


@contextlib.contextmanager
def _new_run(folder: Path) -> Iterator[None]:
    """Hold a folder in which a run may start."""
    if (folder / LEDGER).exists():
        raise UsageError(f"{folder} already holds a run", "Choose another folder for --out.")
    if folder.exists() and not (folder.is_dir() and is_unused(folder)):
        raise UsageError(f"{folder} is not empty", "Choose another folder for --out.")
    lock = FolderLock(folder)
    try:
        _remove_saved(folder)
        yield
    finally:
        _remove_saved(folder)
        lock.release()


def _remove_saved(folder: Path) -> None:
    for saved in folder.glob(f"{SAVED}*"):
        shutil.rmtree(saved)


def _require_one_run(manifests: Mapping[Path, Mapping[str, Any]]) -> None:
    for (one, first), (two, other) in pairwise(manifests.items()):
        for name in SAME:
            if first[name] != other[name]:
                what = name.replace("_", " ")
                message = f"{one} and {two} are no parts of one run: they have another {what}"
                raise UsageError(message, "Merge parts alone.")


def _union(ledgers: Sequence[Ledger], made: Ledger) -> int:
    conflicts = 0
    writer = LedgerWriter(made.path, together=TOGETHER)
    try:
        for ledger in ledgers:
            for row in ledger.rows("replies"):
                assert isinstance(row, ReplyRow)
                known = made.reply(row.key)
                conflicts += known is not None and known.reply != row.reply
                writer.add(row)
            writer.flush()
        for ledger in ledgers:
            for row in ledger.rows("calls"):
                assert isinstance(row, CallRow)
                # A reading belongs to the reply that it was read from.
                kept, own = made.reply(row.key), ledger.reply(row.key)
                if kept is not None and own is not None and kept.reply == own.reply:
                    writer.add(row)
            writer.flush()
        for ledger in ledgers:
            for table in ("failures", "verdicts"):
                for row in ledger.rows(table):
                    writer.add(row)
        for name in ("judge", "judges", TERMS):
            if (value := next((v for v in (ledger.meta(name) for ledger in ledgers) if v), None)) is not None:
                made.write_meta(name, value)
        made.write_meta(ACCOUNT, broken_off_together([ledger.meta(ACCOUNT) or {} for ledger in ledgers]))
    finally:
        writer.close()
    return conflicts


def export(run_dir: str | Path, folder: str | Path, form: str = "parquet") -> dict[str, int]:
    """Write a ledger's tables and its description as plain files, and return the rows of each table.

    Parameters
    ----------
    run_dir, folder : str or Path
        The run directory, and a new or empty folder.
    form : str
        ``parquet`` or ``jsonl``. In Parquet a column of text is of binary type (UTF-8) where one of its texts has lone
        surrogates, which no encoding allows.

    Raises
    ------
    UsageError
        If the run directory holds no ledger, or the folder is not empty or cannot be written.
    """
    if form not in FORMATS:
        raise UsageError(f"format '{form}' is unknown", f"Use one of {', '.join(FORMATS)}.")
    target = Path(folder)
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise UsageError(f"{target} is not empty", "Choose another folder.")
    write = _write_parquet if form == "parquet" else _write_jsonl
    with Ledger(Path(run_dir)) as ledger:
        try:
            target.mkdir(parents=True, exist_ok=True)
            counts = {table: write(ledger, table, target / f"{table}.{form}") for table in TABLES}
            # Last, so that an export that was cut off is none.
            described = {"format": form, "rows": counts, "ledger": ledger.all_meta()}
            (target / MANIFEST).write_text(json.dumps(described, indent=2), encoding="utf-8")
        except OSError as error:
            raise UsageError(f"{target} cannot be written: {error}", "Choose another folder.") from None
    return counts


def _write_parquet(ledger: Ledger, table: str, path: Path) -> int:
    import pyarrow as pa
    import pyarrow.parquet as pq

    kind = TABLES[table]
    binary = ledger.undecodable(table)
    schema = pa.schema([pa.field(f.name, _arrow_type(pa, str(f.type), f.name in binary)) for f in fields(kind)])
    rows, count = ledger.rows(table), 0
    with pq.ParquetWriter(path, schema) as out:
        while chunk := list(islice(rows, TOGETHER)):
            columns = [
                pa.array([_parquet(getattr(row, f.name), f.name in binary) for row in chunk], schema.field(f.name).type)
                for f in fields(kind)
            ]
            out.write_batch(pa.record_batch(columns, schema=schema))
            count += len(chunk)
    return count


def _arrow_type(pa: Any, kind: str, binary: bool) -> Any:
    if kind.startswith("int"):
        return pa.int64()
    if kind.startswith("float"):
        return pa.float64()
    return pa.binary() if binary else pa.string()


def _parquet(value: Any, binary: bool) -> Any:
    return value.encode("utf-8", "surrogatepass") if binary and isinstance(value, str) else value


def _write_jsonl(ledger: Ledger, table: str, path: Path) -> int:
    count = 0
    with path.open("w", encoding="ascii") as out:
        for row in ledger.rows(table):
            out.write(json.dumps({name: getattr(row, name) for name in COLUMNS[type(row)]}) + "\n")
            count += 1
    return count


def restore(folder: str | Path, out: str | Path) -> dict[str, int]:
    """Make a run directory of what :func:`export` wrote; it scores and resumes as the run did.

    Raises
    ------
    UsageError
        If the folder is no export, is not whole, or is of another release, or `out` holds a run already.
    """
    source = Path(folder)
    described = _description(source)
    meta, expected = dict(described["ledger"]), described["rows"]
    if (version := meta.pop("schema_version", None)) != SCHEMA_VERSION:
        cure = f"This release restores schema {SCHEMA_VERSION}; restore it with the release that wrote it."
        raise UsageError(f"{source} has schema {version}", cure)
    read = _read_parquet if described["format"] == "parquet" else _read_jsonl
    counts = dict.fromkeys(TABLES, 0)
    with _new_run(Path(out)), Ledger.drafted(Path(out), meta.pop("manifest")) as made:
        writer = LedgerWriter(made.path, together=TOGETHER)
        try:
            for table in TABLES:
                path = source / f"{table}.{described['format']}"
                for values in _told(path, read(path)):
                    counts[table] += 1
                    writer.add(_row(table, values, f"{path}, row {counts[table]:,}"))
                if counts[table] != expected[table]:
                    message = f"{path} has {counts[table]:,} rows of {expected[table]:,}"
                    raise UsageError(message, "Export the run again, or copy the whole export.")
        finally:
            writer.close()
        for name, value in meta.items():
            made.write_meta(name, value)
    return counts


def _description(source: Path) -> dict[str, Any]:
    cure = "Name a folder that dodiag export wrote."
    try:
        found = json.loads((source / MANIFEST).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UsageError(f"{source} is no export of a run: {error}", cure) from None
    whole = (
        isinstance(found, dict)
        and found.get("format") in FORMATS
        and isinstance(found.get("ledger"), dict)
        and isinstance(found["ledger"].get("manifest"), dict)
        and isinstance(found.get("rows"), dict)
        and found["rows"].keys() == TABLES.keys()
    )
    if not whole:
        raise UsageError(f"{source / MANIFEST} does not describe an export", cure)
    return dict(found)


def _told(path: Path, rows: Iterator[Any]) -> Iterator[Any]:
    """Name the file where one of its rows cannot be read."""
    import pyarrow as pa

    try:
        yield from rows
    except (OSError, ValueError, pa.ArrowException) as error:
        raise UsageError(f"{path} cannot be read: {error}", "Export the run again, or copy it again.") from None


def _read_parquet(path: Path) -> Iterator[Any]:
    import pyarrow.parquet as pq

    with pq.ParquetFile(path) as file:
        for batch in file.iter_batches(TOGETHER):
            yield from batch.to_pylist()


def _read_jsonl(path: Path) -> Iterator[Any]:
    with path.open(encoding="ascii") as stream:
        yield from map(json.loads, stream)


def _row(table: str, values: Any, where: str) -> Row:
    """Return a row of a table, every value of the type that its column has."""
    kind = TABLES[table]
    if not isinstance(values, dict) or values.keys() != set(COLUMNS[kind]):
        raise UsageError(f"{where}: it has not the columns of {table}", f"They are {', '.join(COLUMNS[kind])}.")
    read: dict[str, Any] = {}
    for column in fields(kind):
        value = values[column.name]
        if isinstance(value, bytes):
            value = value.decode("utf-8", "surrogatepass")
        declared, _, optional = str(column.type).partition(" | ")
        fits = isinstance(value, _TYPES[declared]) and not isinstance(value, bool)
        if not (fits or (optional and value is None)) or (isinstance(value, int) and abs(value) >= 2**63):
            raise UsageError(f"{where}: {column.name} is {value!r}", f"It has to be of type {column.type}.")
        read[column.name] = value
    return kind(**read)


_TYPES: Mapping[str, tuple[type, ...]] = {"str": (str,), "int": (int,), "float": (float, int)}


def vacuum(run_dir: str | Path) -> tuple[int, int]:
    """Give unused space of a ledger back to the disk, and return its bytes before and after.

    No row is removed: every reply was paid for. Runs store no pictures, only the hashes of what was sent.

    Raises
    ------
    UsageError
        If the folder holds no run, or a process is running in it.
    DodiagError
        If there is no space for the copy that this takes.
    """
    folder = Path(run_dir)
    with Ledger(folder) as ledger:
        lock = FolderLock(folder)
        try:
            before = _bytes(folder)
            ledger.shrink()
            return before, _bytes(folder)
        finally:
            lock.release()


def _bytes(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.glob(f"{LEDGER}*"))
