"""The state of a count that can be interrupted: an SQLite file with the counts, and the digests of the contents counted
so far."""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Self

from coordinator.catalogue.usage.counts import FORMAT, Tally
from coordinator.errors import CatalogueError


class CountState:
    """The tally, the position in the corpus, and the digests of the files that were counted so far. All three are
    always written in one transaction."""

    def __init__(self, path: Path | None, corpus: Path) -> None:
        self._path = path
        self._identity = json.dumps({"rule": FORMAT, "corpus": str(corpus.resolve())})
        try:
            self._connection = sqlite3.connect(path or "")
            self._open()
        except sqlite3.Error as error:
            raise CatalogueError(
                f"{path} cannot hold the state of a count ({error}): delete it, or choose another --state"
            ) from error

    def _open(self) -> None:
        with self._connection as connection:
            # Synchronous writes are not needed: if the last batches are lost, they are counted again.
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = OFF")
            connection.execute("CREATE TABLE IF NOT EXISTS digests (digest BLOB PRIMARY KEY) WITHOUT ROWID")
            connection.execute("CREATE TABLE IF NOT EXISTS state (identity TEXT, position INTEGER, tally TEXT)")
            row = connection.execute("SELECT identity, position, tally FROM state").fetchone()
            if row is None:
                row = self._identity, 0, "{}"
                connection.execute("INSERT INTO state VALUES (?, ?, ?)", row)
        if row[0] != self._identity:
            raise CatalogueError(
                f"{self._path} belongs to another corpus or another counting rule: delete it, or choose another --state"
            )
        self.position: int = row[1]
        self._tally: str = row[2]

    def tally(self) -> Tally:
        """The counts so far."""
        tally = Tally()
        for name, value in json.loads(self._tally).items():
            setattr(tally, name, value if name == "examples" else Counter(value))
        return tally

    def knows(self, digest: bytes) -> bool:
        row = self._connection.execute("SELECT 1 FROM digests WHERE digest = ?", (digest,))
        return row.fetchone() is not None

    def write(self, tally: Tally, digests: Sequence[bytes], position: int) -> None:
        """Store the state after a batch, completely or not at all."""
        with self._connection as connection:
            connection.executemany("INSERT OR IGNORE INTO digests VALUES (?)", [(digest,) for digest in digests])
            connection.execute("UPDATE state SET position = ?, tally = ?", (position, json.dumps(vars(tally))))

    def forget(self) -> None:
        """Delete the state of a completed count."""
        self._connection.close()
        if self._path is None:
            return
        for suffix in ("", "-wal", "-shm"):
            self._path.with_name(self._path.name + suffix).unlink(missing_ok=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()
