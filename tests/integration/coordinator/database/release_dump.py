"""Writes a database of this version as SQL. The file is kept for every release, so that upgrades from it can be tested.

``python -m tests.integration.coordinator.database.release_dump > 0.1.0.sql`` makes the file of a release.
"""

from __future__ import annotations

import asyncio
import random
import subprocess
import sys
import tempfile
from pathlib import Path

import asyncpg

from coordinator.database.binaries import installations
from coordinator.database.embedded import EmbeddedPostgres
from coordinator.migration import upgrade
from tests.integration.coordinator.database.test_views import draw_outcomes, store

CAMPAIGNS, TARGETS = 2, 2


async def fill(dsn: str) -> None:
    """Store two campaigns on two targets, whose outcomes have every verdict, cause and placement."""
    connection = await asyncpg.connect(dsn)
    await store(connection, draw_outcomes(random.Random(1), CAMPAIGNS, TARGETS), CAMPAIGNS, TARGETS)
    await connection.execute(
        "insert into campaign_targets (campaign_id, target_id, suite_id, total, done)"
        " select campaign_id, target_id, 1, count(*), count(*) from outcomes group by campaign_id, target_id"
    )
    await connection.close()


def dump(dsn: str) -> str:
    """The whole database as SQL statements, without the published figures, which an upgrade loads."""
    newest = max(installations(), key=lambda installation: installation.major)
    command = [newest.bin / "pg_dump", "--inserts", "--no-owner", "--no-privileges", "--restrict-key=portolan"]
    answer = subprocess.run(
        [*command, "--exclude-table-data=reference_*", dsn], capture_output=True, text=True, timeout=120, check=False
    )
    if answer.returncode != 0:
        raise RuntimeError(answer.stderr)
    # What begins with a backslash is for psql alone.
    return "".join(line for line in answer.stdout.splitlines(keepends=True) if not line.startswith("\\"))


async def restore(dsn: str, statements: str) -> None:
    connection = await asyncpg.connect(dsn)
    await connection.execute(statements)
    await connection.close()


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o711)
        with EmbeddedPostgres(Path(folder) / "postgres") as dsn:
            asyncio.run(upgrade(dsn))
            asyncio.run(fill(dsn))
            sys.stdout.write(dump(dsn))


if __name__ == "__main__":
    main()
