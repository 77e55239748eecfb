"""One process at a time in a folder, by a lock that ends with its process, however that ends."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from dodiag.problems import UsageError

LOCK = "lock.sqlite"


class FolderLock:
    """Holds a folder for one process; released when the process ends, however it ends.

    The folder is made where it is missing. It is held by an exclusive transaction of an empty SQLite file, which every
    operating system ends with the process and on which no stale mark is left.

    Parameters
    ----------
    folder : Path

    Raises
    ------
    UsageError
        If another process holds the folder, or it cannot be written.
    """

    def __init__(self, folder: Path) -> None:
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._connection = sqlite3.connect(folder / LOCK, timeout=0, isolation_level=None)
        except (OSError, sqlite3.Error) as error:
            raise unwritable(folder, error) from None
        try:
            self._connection.execute("BEGIN EXCLUSIVE")
        except sqlite3.Error as error:
            self._connection.close()
            if error.sqlite_errorcode == sqlite3.SQLITE_BUSY:
                message = f"another process is running in {folder}"
                raise UsageError(message, "Wait for it, or stop it.") from None
            raise unwritable(folder, error) from None

    def release(self) -> None:
        """Let other processes have the folder."""
        self._connection.close()


def unwritable(folder: Path, error: Exception) -> UsageError:
    """Return the error of a folder that cannot be written."""
    return UsageError(f"{folder} cannot be written: {error}", "Choose another folder for --out.")
