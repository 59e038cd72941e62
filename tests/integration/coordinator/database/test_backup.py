"""A backup contains every table and view, and can be restored into an empty database of any owner."""

from __future__ import annotations

import asyncio
import subprocess
from collections.abc import Callable
from pathlib import Path

from coordinator.database import backup
from coordinator.database.binaries import installations
from coordinator.database.grants import GRANTS, MIGRATION
from coordinator.migration import upgrade
from tests.database_roles import as_role
from tests.integration.coordinator.database.release_dump import fill
from tests.integration.coordinator.database.test_grants import fetch

OWNED = f"""
SELECT relname FROM pg_class
 WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'v') AND relowner = '{MIGRATION}'::regrole ORDER BY 1
"""


def test_what_the_migration_role_dumps_is_whole_and_can_be_restored(
    new_database: Callable[..., str], tmp_path: Path
) -> None:
    dsn, empty = new_database(), new_database(template="template1")
    asyncio.run(fill(as_role(dsn, MIGRATION)))
    dump = tmp_path / "dump"
    with open(dump, "wb") as stream:
        backup.dump(as_role(dsn, MIGRATION), stream)
    newest = max(installations(), key=lambda installation: installation.major)
    listing = subprocess.run([newest.bin / "pg_restore", "--list", dump], check=True, capture_output=True, text=True)
    assert {name for name in GRANTS if f" {name} " in listing.stdout} == set(GRANTS)

    asyncio.run(backup.restore(empty, dump))
    assert asyncio.run(upgrade(empty)) is None
    assert asyncio.run(fetch(empty, OWNED)) == asyncio.run(fetch(dsn, OWNED))
    # The mean of a view adds up rows in the order in which they lie, so that its last digits are not the same.
    digits = "extra_float_digits=-3"
    empty, dsn = (f"{one}{'&' if '?' in one else '?'}options=-c%20{digits}" for one in (empty, dsn))
    for table in sorted(GRANTS):
        rows = f'SELECT t::text FROM "{table}" t ORDER BY 1'
        assert asyncio.run(fetch(empty, rows)) == asyncio.run(fetch(dsn, rows)), table
