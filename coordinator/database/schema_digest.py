"""The digest of the migrations that made a database's tables. It is stored as the comment of ``alembic_version``.

Until the first release, the first migration is edited in place. So a revision alone does not identify the tables.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import cast

from alembic.script import ScriptDirectory
from sqlalchemy import Connection, text

from coordinator.errors import DatabaseError

VERSION_TABLE = "alembic_version"


def digest_of(scripts: ScriptDirectory, revision: str) -> str:
    """Return the digest of every migration up to the revision."""
    texts = (Path(script.path).read_bytes() for script in scripts.iterate_revisions(revision, "base"))
    return hashlib.sha256(b"\n".join(texts)).hexdigest()


def read_digest(connection: Connection) -> str | None:
    comment = connection.scalar(text(f"SELECT obj_description(to_regclass('{VERSION_TABLE}'), 'pg_class')"))
    return cast("str | None", comment)


def keep(connection: Connection, digest: str) -> None:
    """Store the digest. Takes no lock if the digest is already stored."""
    if read_digest(connection) != digest:
        connection.exec_driver_sql(f"COMMENT ON TABLE {VERSION_TABLE} IS '{digest}'")


def require_same(connection: Connection, scripts: ScriptDirectory, revision: str) -> None:
    """Raise ``DatabaseError`` if other migrations than these made the tables of the revision."""
    if read_digest(connection) != digest_of(scripts, revision):
        raise DatabaseError(
            f"the tables of the database do not match revision {revision}, because a version from before the first "
            "release created the database: continue with that version, or use another database "
            "(--data-dir, PORTOLAN_DATABASE_URL). Nothing was changed"
        )
