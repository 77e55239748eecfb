"""The tables of a ledger, as the steps that made them: a new ledger takes all of them, an older one those it lacks.

A step is never edited once released; a change of the tables is a further step.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping
from typing import Any

_STEPS: Mapping[int, str] = {
    1: """
CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE replies (
    key TEXT PRIMARY KEY, prompt_digest TEXT NOT NULL, draw INTEGER NOT NULL, prompt TEXT NOT NULL, media TEXT NOT NULL,
    reply TEXT, reasoning TEXT, finish TEXT NOT NULL, provider_model TEXT,
    input_tokens INTEGER, output_tokens INTEGER, cached_tokens INTEGER, reasoning_tokens INTEGER,
    attempts INTEGER NOT NULL, seconds REAL NOT NULL, finished_at TEXT NOT NULL
) WITHOUT ROWID;
CREATE INDEX replies_by_prompt ON replies (prompt_digest, draw);
CREATE TABLE calls (
    position INTEGER PRIMARY KEY, instance TEXT NOT NULL, unit TEXT NOT NULL, question TEXT NOT NULL, step INTEGER,
    configuration TEXT NOT NULL, draw INTEGER NOT NULL, absent TEXT NOT NULL, key TEXT NOT NULL,
    outcome TEXT NOT NULL, solved INTEGER, value TEXT, how TEXT NOT NULL, strict INTEGER NOT NULL, flags TEXT NOT NULL
);
CREATE TABLE failures (
    id INTEGER PRIMARY KEY, position INTEGER NOT NULL, instance TEXT NOT NULL, unit TEXT NOT NULL,
    question TEXT NOT NULL, step INTEGER, configuration TEXT NOT NULL, draw INTEGER NOT NULL, absent TEXT NOT NULL,
    key TEXT NOT NULL, kind TEXT NOT NULL, message TEXT NOT NULL, attempts INTEGER NOT NULL, failed_at TEXT NOT NULL
);
CREATE INDEX failures_by_position ON failures (position);
""",
    2: """
CREATE TABLE verdicts (
    key TEXT PRIMARY KEY, reply_key TEXT NOT NULL, judge TEXT NOT NULL, verdict TEXT NOT NULL, reason TEXT,
    explanation TEXT, prompt TEXT NOT NULL, reply TEXT, finish TEXT, input_tokens INTEGER, output_tokens INTEGER,
    attempts INTEGER NOT NULL, seconds REAL NOT NULL, finished_at TEXT NOT NULL
) WITHOUT ROWID;
CREATE INDEX verdicts_by_reply ON verdicts (reply_key);
""",
}

SCHEMA_VERSION = max(_STEPS)
VERSION = "schema_version"
"""The entry of the table ``meta`` that holds the version."""


def build(connection: sqlite3.Connection, meta: Mapping[str, Any], version: int = SCHEMA_VERSION) -> None:
    """Make the tables of a version in an empty database, and describe it, in one transaction."""
    with connection:
        connection.execute("BEGIN IMMEDIATE")
        for number in range(1, version + 1):
            _take(connection, number)
        rows = [(name, json.dumps(value)) for name, value in {VERSION: version, **meta}.items()]
        connection.executemany("INSERT INTO meta VALUES (?, ?)", rows)


def stored_version(connection: sqlite3.Connection) -> Any:
    """Return the version that a database says it has; None where it says none."""
    row = connection.execute("SELECT value FROM meta WHERE name = ?", (VERSION,)).fetchone()
    return None if row is None else json.loads(row[0])


def migrate(connection: sqlite3.Connection) -> None:
    """Bring a database of an older version up to this one: all of it or nothing, whenever the process is killed.

    Processes that do so at once wait for each other, and the second finds nothing left to do.
    """
    with connection:
        connection.execute("BEGIN IMMEDIATE")
        for number in range(int(stored_version(connection)) + 1, SCHEMA_VERSION + 1):
            _take(connection, number)
        connection.execute("UPDATE meta SET value = ? WHERE name = ?", (json.dumps(SCHEMA_VERSION), VERSION))


def _take(connection: sqlite3.Connection, number: int) -> None:
    """Take one step inside the transaction that is open; ``executescript`` would end it."""
    for statement in _STEPS[number].split(";"):
        if statement.strip():
            connection.execute(statement)
