"""Put partial runs together, and take a ledger out of SQLite and back: nothing is lost, nothing is paid for twice."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import islice
from pathlib import Path
from typing import Any

from dodiag.problems import UsageError
from dodiag.runners.ledger import COLUMNS, TABLES, CallRow, Ledger, LedgerWriter, ReplyRow, Row

SAME = ("plan_hash", "model", "endpoint", "sees_media", "parameters")
"""What runs have to share to be parts of one run."""

TOGETHER = 1000
"""Rows that make one transaction."""

MANIFEST = "manifest.json"


@dataclass(frozen=True, slots=True)
class Merged:
    """What a union came to.

    Attributes
    ----------
    replies, calls : int
        Of the new ledger.
    conflicts : int
        Requests that two runs sampled differently; the reply of the run named first is kept.
    """

    replies: int
    calls: int
    conflicts: int


def merge(sources: Sequence[str | Path], out: str | Path) -> Merged:
    """Make one run directory of several partial ones; the sources are left as they are.

    The union of replies by key and of answered calls by position. Where two runs have the same request with another
    reply, that of the run named first stands, with its reading.

    Raises
    ------
    UsageError
        If fewer than two runs are named, they are not parts of one run, or `out` holds a run already.
    """
    if len(sources) < 2:
        raise UsageError("one run needs no merging", "Name two or more.")
    ledgers = [Ledger(Path(source)) for source in sources]
    try:
        first = ledgers[0].manifest
        for other in ledgers[1:]:
            _refuse_other(first, other.manifest, ledgers[0].folder, other.folder)
        with Ledger.create(Path(out), first) as made:
            conflicts = _union(ledgers, made)
            return Merged(made.usage()[0], sum(1 for _ in made.answered_positions()), conflicts)
    finally:
        for ledger in ledgers:
            ledger.close()


def _refuse_other(first: Mapping[str, Any], other: Mapping[str, Any], one: Path, two: Path) -> None:
    for name in SAME:
        if first[name] != other[name]:
            what = name.replace("_", " ")
            raise UsageError(f"{one} and {two} are no parts of one run: they have another {what}", "Merge parts alone.")


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
        for name in ("judge", "judges"):
            if (value := next((v for v in (ledger.meta(name) for ledger in ledgers) if v), None)) is not None:
                made.write_meta(name, value)
    finally:
        writer.close()
    return conflicts


def export(run_dir: str | Path, folder: str | Path) -> dict[str, int]:
    """Write a ledger's tables as Parquet and its description as JSON, and return the rows of each table.

    Raises
    ------
    UsageError
        If the run directory holds no ledger, or the folder is not empty or cannot be written.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    target = Path(folder)
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise UsageError(f"{target} is not empty", "Choose another folder.")
    counts = {}
    with Ledger(Path(run_dir)) as ledger:
        try:
            target.mkdir(parents=True, exist_ok=True)
            for table in TABLES:
                schema = _schema(pa, table)
                counts[table] = 0
                with pq.ParquetWriter(target / f"{table}.parquet", schema) as out:
                    rows = ledger.rows(table)
                    while chunk := [_plain(row) for row in islice(rows, TOGETHER)]:
                        out.write_table(pa.Table.from_pylist(chunk, schema))
                        counts[table] += len(chunk)
            (target / MANIFEST).write_text(json.dumps(ledger.all_meta(), indent=2), encoding="utf-8")
        except OSError as error:
            raise UsageError(f"{target} cannot be written: {error.strerror}", "Choose another folder.") from None
    return counts


def restore(folder: str | Path, out: str | Path) -> dict[str, int]:
    """Make a run directory of what :func:`export` wrote; it scores and resumes as the run did.

    Raises
    ------
    UsageError
        If the folder is no export, or `out` holds a run already.
    """
    import pyarrow.parquet as pq

    source = Path(folder)
    try:
        meta = json.loads((source / MANIFEST).read_text(encoding="utf-8"))
        tables = {table: pq.ParquetFile(source / f"{table}.parquet") for table in TABLES}
    except (OSError, ValueError) as error:
        raise UsageError(
            f"{source} is no export of a run: {error}", "Name a folder that dodiag export wrote."
        ) from None
    counts = dict.fromkeys(TABLES, 0)
    with Ledger.create(Path(out), meta.pop("manifest")) as made:
        writer = LedgerWriter(made.path, together=TOGETHER)
        try:
            for table, file in tables.items():
                for batch in file.iter_batches(TOGETHER):
                    for values in batch.to_pylist():
                        writer.add(_row(table, values))
                        counts[table] += 1
        finally:
            writer.close()
        for name, value in meta.items():
            if name != "schema_version":
                made.write_meta(name, value)
    return counts


def _plain(row: Row) -> dict[str, Any]:
    """Return a row as values that Parquet takes: text with lone surrogates has no encoding, and becomes bytes."""
    found = {name: getattr(row, name) for name in COLUMNS[type(row)]}
    return {n: v.encode("utf-8", "surrogatepass") if isinstance(v, str) else v for n, v in found.items()}


def _row(table: str, values: Mapping[str, Any]) -> Row:
    read: dict[str, Any] = {
        n: v.decode("utf-8", "surrogatepass") if isinstance(v, bytes) else v for n, v in values.items()
    }
    return TABLES[table](**read)


def _schema(pa: Any, table: str) -> Any:
    kinds = {"int": pa.int64(), "int | None": pa.int64(), "float": pa.float64()}
    columns: Iterator[Any] = (pa.field(f.name, kinds.get(str(f.type), pa.binary())) for f in fields(TABLES[table]))
    return pa.schema(list(columns))
