"""What somebody with the DSN of a lesser role tries: to destroy, to write, to see secrets, to leave the database."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, TypeAlias

import asyncpg
import pytest

from coordinator.database.grants import APPLICATION, MIGRATION, READING, ROLES
from coordinator.database.tables import metadata
from coordinator.database.views import VIEWS
from coordinator.migration import upgrade
from tests.database_roles import as_role

Connection: TypeAlias = "asyncpg.Connection[Any]"

DENIED = asyncpg.InsufficientPrivilegeError
SECRET = "the-runners-own-secret"
TABLES = sorted(metadata.tables)


@pytest.fixture
def own(new_database: Callable[..., str]) -> str:
    """An upgraded database that was not copied: the rights on a database itself are in no template."""
    dsn = new_database(template="template1")
    assert asyncio.run(upgrade(dsn)) is None
    return dsn


@asynccontextmanager
async def role(dsn: str, name: str, **settings: str) -> AsyncIterator[Connection]:
    connection = await asyncpg.connect(as_role(dsn, name), server_settings=settings)
    try:
        yield connection
    finally:
        await connection.close()


async def refused(connection: Connection, statement: str) -> None:
    with pytest.raises(DENIED):
        await connection.execute(statement)


async def test_none_of_the_three_may_do_what_concerns_the_server(own: str) -> None:
    for name in ROLES:
        async with role(own, name, default_transaction_read_only="off") as connection:
            attributes: Any = await connection.fetchrow(
                "SELECT rolsuper, rolcreaterole, rolcreatedb, rolreplication, rolbypassrls"
                " FROM pg_roles WHERE rolname = current_user"
            )
            assert not any(attributes), name
            memberships = "SELECT count(*) FROM pg_auth_members WHERE member = current_user::regrole"
            assert await connection.fetchval(memberships) == 0, name
            for statement in (
                "COPY (SELECT 1) TO PROGRAM 'true'",
                "COPY outcomes FROM PROGRAM 'echo 1'",
                "SELECT pg_read_file('/etc/passwd')",
                "SELECT pg_read_file('PG_VERSION')",
                "SELECT pg_ls_dir('.')",
                "SELECT lo_import('/etc/passwd')",
                "COPY (SELECT 1) TO '/tmp/written-by-the-database'",
                "ALTER SYSTEM SET fsync = off",
                "SELECT rolpassword FROM pg_authid",
                "CREATE ROLE another SUPERUSER",
                f"ALTER ROLE {name} SUPERUSER",
                "SET ROLE portolan",
                "CREATE EXTENSION plpython3u",
                "CREATE DATABASE another",
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'portolan'",
            ):
                if "EXTENSION" in statement:
                    with pytest.raises((DENIED, asyncpg.FeatureNotSupportedError)):
                        await connection.execute(statement)
                else:
                    await refused(connection, statement)


@pytest.mark.parametrize("name", [APPLICATION, READING])
async def test_neither_the_application_nor_a_reader_changes_what_a_table_is(own: str, name: str) -> None:
    async with role(own, name, default_transaction_read_only="off") as connection:
        for table in TABLES:
            await refused(connection, f"DROP TABLE {table} CASCADE")
            await refused(connection, f"ALTER TABLE {table} ADD COLUMN extra integer")
            await refused(connection, f"TRUNCATE {table} CASCADE")
            await refused(connection, f"CREATE INDEX ON {table} ((1))")
            await refused(connection, f"CREATE TRIGGER t AFTER INSERT ON {table} EXECUTE FUNCTION now()")
            await refused(
                connection, f"GRANT SELECT ON {table} TO PUBLIC; SELECT secret FROM runners; DROP TABLE {table}"
            )
        for view in VIEWS:
            await refused(connection, f"DROP VIEW {view.name} CASCADE")
            await refused(connection, f"CREATE OR REPLACE VIEW {view.name} AS SELECT 1")
        for statement in (
            "DROP SCHEMA public CASCADE",
            "CREATE SCHEMA mine",
            "CREATE TABLE mine (n int)",
            "CREATE TEMPORARY TABLE mine (n int)",
            "CREATE FUNCTION mine() RETURNS int LANGUAGE sql AS 'SELECT 1'",
            "UPDATE alembic_version SET version_num = 'later'",
            "SELECT lo_create(0)",
            "SELECT lo_from_bytea(0, 'x')",
        ):
            await refused(connection, statement)


async def test_the_application_deletes_nothing_that_was_measured(own: str) -> None:
    async with role(own, APPLICATION) as connection:
        for table in (
            "campaigns",
            "jobs",
            "attempts",
            "outcomes",
            "cases",
            "suites",
            "targets",
            "fingerprints",
            "runners",
        ):
            await refused(connection, f"DELETE FROM {table}")
        for table in ("cases", "suites", "fingerprints", "reference_sources"):
            await refused(connection, f"UPDATE {table} SET {'name' if table != 'fingerprints' else 'id'} = 'another'")


async def test_a_reader_writes_nothing_even_in_a_transaction_that_may(own: str) -> None:
    async with role(own, READING) as connection:
        with pytest.raises(asyncpg.ReadOnlySQLTransactionError):
            await connection.execute("CREATE TABLE mine (n int)")
        await connection.execute("SET default_transaction_read_only = off")
        for table in TABLES:
            await refused(connection, f"DELETE FROM {table}")
            await refused(connection, f"INSERT INTO {table} DEFAULT VALUES")
            await refused(connection, f"BEGIN; LOCK TABLE {table} IN ROW EXCLUSIVE MODE")
            await connection.execute("ROLLBACK")
        for view in VIEWS:
            assert not await connection.fetchval("SELECT has_table_privilege($1, 'DELETE')", view.name)
            await refused(connection, f"BEGIN; LOCK TABLE {view.name} IN ROW EXCLUSIVE MODE")
            await connection.execute("ROLLBACK")
        await refused(connection, "SELECT * FROM outcomes FOR UPDATE")
        await refused(connection, "SELECT pg_advisory_lock(1)")
        await refused(connection, "SELECT pg_try_advisory_xact_lock(1, 1)")


async def test_a_reader_sees_no_secret(own: str) -> None:
    superuser = await asyncpg.connect(own)
    await superuser.execute(f"""
        INSERT INTO targets (framework, version, device, device_class, hardware, environment)
        VALUES ('torch', '1', 'cpu', 'cpu', 'h', 'e');
        INSERT INTO fingerprints (id, body) VALUES ('f', '{{}}');
        INSERT INTO runners (url, secret, target_id, fingerprint_id, device_count, slots, queue_limit, state, boot_id)
        SELECT 'http://127.0.0.1:' || n, '{SECRET}', 1, 'f', 1, 1, 1, 'online', 'b' || n FROM generate_series(1, 100) n;
        ANALYZE
    """)
    assert SECRET in str(
        await superuser.fetchval("SELECT most_common_vals::text FROM pg_stats WHERE attname = 'secret'")
    )
    async with role(own, READING) as connection:
        for secret in ("secret FROM runners", "* FROM runners", "runners FROM runners", "token FROM jobs",
                       "token FROM attempts", "* FROM jobs", "* FROM attempts", "jobs FROM jobs"):  # fmt: skip
            await refused(connection, f"SELECT {secret}")
        await refused(connection, "COPY runners TO STDOUT")
        statistics = "SELECT count(*) FROM pg_stats WHERE attname IN ('secret', 'token')"
        assert await connection.fetchval(statistics) == 0
        await connection.fetch("SELECT state, attempt, lost FROM jobs")
    await superuser.close()


async def test_what_a_reader_forgets_ends_by_itself(own: str) -> None:
    """The limits are the role's, and hold for who connects with psql; the coordinator still gets in beside many."""
    async with role(own, READING) as connection:
        for name in ("statement_timeout", "idle_in_transaction_session_timeout"):
            assert await connection.fetchval(f"SHOW {name}") == "5min"
        await refused(connection, "SET temp_file_limit = -1")
        assert await connection.fetchval("SHOW temp_file_limit") == "4GB"
    superuser = await asyncpg.connect(own)
    readers = [await asyncpg.connect(as_role(own, READING)) for _ in range(10)]
    with pytest.raises(asyncpg.TooManyConnectionsError):
        await asyncpg.connect(as_role(own, READING))
    assert await superuser.fetchval("SELECT 1") == 1
    for reader in readers:
        await reader.close()
    await superuser.close()


async def test_the_migration_role_owns_all_that_is_ours_and_nothing_else(own: str) -> None:
    async with role(own, MIGRATION) as connection:
        others = await connection.fetch(
            "SELECT relname FROM pg_class"
            " WHERE relnamespace = 'public'::regnamespace AND relowner <> current_user::regrole"
        )
        assert others == []
        await refused(connection, "CREATE SCHEMA mine")
        await refused(connection, "ALTER DATABASE portolan SET work_mem = '1GB'")
    assert await upgrade(as_role(own, MIGRATION)) is None
