"""An installation is one database in one place. A copy, or a backup that is restored elsewhere, is another
installation.

The token of every lease begins with the mark of the installation. The mark shows to which installation a runner's job
belongs. Jobs of other installations are not touched. A copy begins without leases and without the runners on this
machine, because these work for the original.
"""

from __future__ import annotations

from secrets import token_hex
from typing import NamedTuple
from urllib.parse import urlsplit

from sqlalchemy import select, text
from sqlalchemy.ext.asyncio import AsyncConnection

from coordinator.database.connection import engine
from coordinator.database.tables import runners
from coordinator.registry import store
from coordinator.runner_requests.addresses import is_loopback

MARK_BYTES = 8

_CLUSTER = text("""
SELECT (SELECT system_identifier FROM pg_control_system()) || '/' || oid
  FROM pg_database WHERE datname = current_database()
""")
_ENTER = text("""
INSERT INTO installation (mark, cluster, directory) VALUES (:mark, :cluster, :directory) ON CONFLICT DO NOTHING
""")
# Locked, so that only one of two coordinators that start on a copy gives it a new mark.
_MARK = text("SELECT mark, cluster, directory FROM installation FOR UPDATE")
_MOVE = text("UPDATE installation SET mark = :mark, cluster = :cluster, directory = :directory")
_RETURN_ALL = text("""
WITH back AS (
    UPDATE jobs SET state = 'queued', runner_id = NULL, lease_until = NULL, token = NULL
     WHERE lease_until IS NOT NULL RETURNING id, attempt
)
UPDATE attempts a SET "end" = 'lost', ended_at = now(), reason = 'the database was copied or restored'
  FROM back WHERE a.job_id = back.id AND a.attempt = back.attempt
""")


class Installation(NamedTuple):
    mark: str
    note: str | None
    """A message for the log if the installation has just changed; None otherwise."""


async def settle_at(dsn: str, directory: str | None) -> Installation:
    """Call ``settle`` on a connection of its own."""
    pool = engine(dsn, pool_size=1)
    try:
        async with pool.begin() as connection:
            return await settle(connection, directory)
    finally:
        await pool.dispose()


async def settle(connection: AsyncConnection, directory: str | None = None) -> Installation:
    """Read the mark, the random text by which an installation recognizes its own jobs. If the database has moved to
    another place, first make a new mark.

    ``directory`` distinguishes an embedded database from its copies, whose content is identical.
    """
    cluster: str = (await connection.execute(_CLUSTER)).scalar_one()
    here = {"mark": token_hex(MARK_BYTES), "cluster": cluster, "directory": directory}
    await connection.execute(_ENTER, here)
    was = (await connection.execute(_MARK)).one()
    has_moved = directory is not None and was.directory is not None and was.directory != directory
    if cluster == was.cluster and not has_moved:
        if directory is not None and was.directory is None:
            await connection.execute(_MOVE, {**here, "mark": was.mark})
        return Installation(was.mark, None)
    await connection.execute(_MOVE, here)
    await connection.execute(_RETURN_ALL)
    runner_rows = await connection.execute(select(runners.c.id, runners.c.url).where(runners.c.state != "removed"))
    of_this_machine = [row.id for row in runner_rows if is_loopback(urlsplit(row.url).hostname or "")]
    for runner_id in of_this_machine:
        await store.remove_runner(
            connection, runner_id, "removed: it serves the database from which this one was copied"
        )
    return Installation(str(here["mark"]), _note(of_this_machine))


def _note(runner_ids: list[int]) -> str:
    sentence = "the database was copied, moved or restored: running jobs are queued again"
    if not runner_ids:
        return sentence
    ids = ", ".join(map(str, runner_ids))
    return (
        f"{sentence}, and the runners of this machine are removed ({ids}): register those that this instance should use"
    )
