"""Somebody with the DSN of a restricted role tries to destroy, to write, to read secrets, and to leave the database."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeAlias

import asyncpg
import pytest

from coordinator.database.embedded import EmbeddedPostgres
from coordinator.database.grants import APPLICATION, MIGRATION, READING, ROLES
from coordinator.database.roles import ENFORCED, SETTINGS
from coordinator.database.tables import metadata
from coordinator.database.views import VIEWS
from coordinator.migration import upgrade
from tests.database_roles import as_role

Connection: TypeAlias = "asyncpg.Connection[Any]"

DENIED = asyncpg.InsufficientPrivilegeError
_NOT_SO = (
    asyncpg.FeatureNotSupportedError,
    asyncpg.WrongObjectTypeError,
    asyncpg.ActiveSQLTransactionError,
    asyncpg.UndefinedObjectError,
)
"""The errors with which PostgreSQL refuses statements in these tests."""
SECRET = "the-runners-own-secret"
TABLES = sorted(metadata.tables)


@pytest.fixture
def own(new_database: Callable[..., str]) -> str:
    """An upgraded database that is no copy, because a copy does not contain the rights on the database itself."""
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


async def assert_denied(connection: Connection, statement: str) -> None:
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
                    await assert_denied(connection, statement)


@pytest.mark.parametrize("name", [APPLICATION, READING])
async def test_neither_the_application_nor_a_reader_changes_what_a_table_is(own: str, name: str) -> None:
    async with role(own, name, default_transaction_read_only="off") as connection:
        for table in TABLES:
            await assert_denied(connection, f"DROP TABLE {table} CASCADE")
            await assert_denied(connection, f"ALTER TABLE {table} ADD COLUMN extra integer")
            await assert_denied(connection, f"TRUNCATE {table} CASCADE")
            await assert_denied(connection, f"CREATE INDEX ON {table} ((1))")
            await assert_denied(connection, f"CREATE TRIGGER t AFTER INSERT ON {table} EXECUTE FUNCTION now()")
            await assert_denied(
                connection, f"GRANT SELECT ON {table} TO PUBLIC; SELECT secret FROM runners; DROP TABLE {table}"
            )
        for view in VIEWS:
            await assert_denied(connection, f"DROP VIEW {view.name} CASCADE")
            await assert_denied(connection, f"CREATE OR REPLACE VIEW {view.name} AS SELECT 1")
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
            await assert_denied(connection, statement)


async def test_the_application_alters_no_content_of_a_suite_and_deletes_no_target(own: str) -> None:
    """It may delete whole campaigns and suites, for an operator."""
    async with role(own, APPLICATION) as connection:
        for table in ("targets", "fingerprints", "runners", "tokens", "audit_entries", "reference_sources"):
            await assert_denied(connection, f"DELETE FROM {table}")
        for table in ("cases", "suites", "fingerprints", "reference_sources"):
            await assert_denied(
                connection, f"UPDATE {table} SET {'name' if table != 'fingerprints' else 'id'} = 'another'"
            )


async def test_a_reader_writes_nothing_even_in_a_transaction_that_may(own: str) -> None:
    async with role(own, READING) as connection:
        with pytest.raises(asyncpg.ReadOnlySQLTransactionError):
            await connection.execute("CREATE TABLE mine (n int)")
        await connection.execute("SET default_transaction_read_only = off")
        for table in TABLES:
            await assert_denied(connection, f"DELETE FROM {table}")
            await assert_denied(connection, f"INSERT INTO {table} DEFAULT VALUES")
            await assert_denied(connection, f"BEGIN; LOCK TABLE {table} IN ROW EXCLUSIVE MODE")
            await connection.execute("ROLLBACK")
        for view in VIEWS:
            assert not await connection.fetchval("SELECT has_table_privilege($1, 'DELETE')", view.name)
            await assert_denied(connection, f"BEGIN; LOCK TABLE {view.name} IN ROW EXCLUSIVE MODE")
            await connection.execute("ROLLBACK")
        await assert_denied(connection, "SELECT * FROM outcomes FOR UPDATE")
        await assert_denied(connection, "SELECT pg_advisory_lock(1)")
        await assert_denied(connection, "SELECT pg_try_advisory_xact_lock(1, 1)")


WRITES = (
    *(f"DELETE FROM {table}" for table in ("outcomes", "campaigns", "alembic_version")),
    "SELECT pg_logical_emit_message(false, 'p', repeat('x', 1000))",
    "SELECT pg_logical_emit_message(true, 'p', repeat('x', 1000)::bytea)",
    *(f"CREATE {temporary} mine (n int)" for temporary in ("TEMPORARY TABLE", "TEMP TABLE", "LOCAL TEMPORARY TABLE")),
    "CREATE TEMPORARY SEQUENCE mine",
    "SELECT 1 AS n INTO TEMPORARY mine",
    "CREATE TEMPORARY TABLE mine AS SELECT 1",
    *(f"CREATE {kind}" for kind in (
        "TABLE mine (n int)", "UNLOGGED TABLE mine (n int)", "SEQUENCE mine", "TYPE mine AS (n int)",
        "DOMAIN mine AS int", "VIEW mine AS SELECT 1",
        "MATERIALIZED VIEW mine AS SELECT 1", "SCHEMA mine", "EXTENSION hstore",
        "FUNCTION mine() RETURNS int LANGUAGE sql AS 'SELECT 1'",
        "AGGREGATE mine (int) (SFUNC = int4pl, STYPE = int)",
        "OPERATOR === (LEFTARG = int, RIGHTARG = int, FUNCTION = int4eq)", "COLLATION mine (LOCALE = 'C')",
        "PUBLICATION mine", "SUBSCRIPTION mine CONNECTION 'dbname=x' PUBLICATION p",
        "SERVER mine FOREIGN DATA WRAPPER f",
        "EVENT TRIGGER mine ON ddl_command_start EXECUTE FUNCTION f()", "ROLE mine", "DATABASE mine",
        "TABLESPACE mine LOCATION '/tmp'", "RULE r AS ON SELECT TO outcomes DO INSTEAD SELECT 1",
        "POLICY p ON outcomes", "STATISTICS s ON id, job_id FROM outcomes",
    )),
    *(f"SELECT {call}" for call in (
        "lo_creat(-1)", "lo_create(0)", "lo_from_bytea(0, 'x')", "lo_put(1, 0, 'x')", "lo_open(1, 131072)",
        "lo_truncate(0, 0)", "lo_truncate64(0, 0)", "lo_unlink(1)", "lowrite(0, 'x')", "lo_import('/etc/passwd')",
        "lo_export(1, '/tmp/x')", "pg_advisory_lock(1)", "pg_advisory_lock_shared(1)", "pg_advisory_xact_lock(1)",
        "pg_try_advisory_lock(1)", "pg_try_advisory_lock(1, 1)", "pg_try_advisory_xact_lock_shared(1)",
        "pg_create_restore_point('p')", "pg_switch_wal()", "pg_create_physical_replication_slot('s', true)",
        "pg_create_logical_replication_slot('s', 'pgoutput')", "pg_drop_replication_slot('s')",
        "pg_replication_origin_create('o')", "pg_reload_conf()", "pg_rotate_logfile()", "pg_stat_reset()",
        "pg_stat_reset_shared('bgwriter')", "pg_promote()", "pg_read_file('PG_VERSION')",
        "pg_read_binary_file('PG_VERSION')",
        "pg_stat_file('PG_VERSION')", "pg_ls_dir('.')", "pg_ls_logdir()", "pg_ls_waldir()",
        "pg_log_backend_memory_contexts(1)",
    )),
    "TRUNCATE outcomes",
    "COPY outcomes TO '/tmp/outcomes'",
    "COPY outcomes FROM '/tmp/outcomes'",
    "COPY outcomes TO PROGRAM 'true'",
    "ALTER SYSTEM SET fsync = off",
    "ALTER DATABASE postgres SET work_mem = '1GB'",
    "ALTER ROLE portolan_application PASSWORD 'mine'",
    "ALTER ROLE portolan_reading CONNECTION LIMIT 1000",
    "ALTER ROLE portolan_reading SET temp_file_limit = -1",
    "ALTER ROLE ALL SET search_path = pg_temp",
    "SET ROLE portolan_application",
    "SET SESSION AUTHORIZATION portolan_application",
    "GRANT SELECT ON runners TO portolan_reading",
    "REASSIGN OWNED BY portolan_migration TO portolan_reading",
    "COMMENT ON TABLE outcomes IS 'mine'",
    "REFRESH MATERIALIZED VIEW outcome_rows",
    "REINDEX TABLE outcomes",
    "CLUSTER outcomes",
    "CHECKPOINT",
    "SELECT * FROM outcomes FOR UPDATE",
    "SELECT * FROM outcomes FOR KEY SHARE",
    "LOCK TABLE outcomes",
)  # fmt: skip


async def test_a_reader_leaves_nothing_on_the_server(own: str) -> None:
    """Each of these statements writes, locks or stops something beyond the reader's own session."""
    assert len(WRITES) > 80
    async with role(own, READING, default_transaction_read_only="off") as connection:
        for statement in WRITES:
            assert not await _carried_out(connection, statement), statement


async def _carried_out(connection: Connection, statement: str) -> bool:
    transaction = connection.transaction()
    await transaction.start()
    try:
        await connection.execute(statement)
    except (DENIED, *_NOT_SO):
        return False
    finally:
        await transaction.rollback()
    return True


@pytest.fixture
def server(directory: Path) -> Iterator[EmbeddedPostgres]:
    """A running server for one test, without databases of other tests."""
    server = EmbeddedPostgres(directory)
    with server:
        yield server


async def test_what_a_reader_changes_of_its_own_role_is_undone_at_the_next_start(server: EmbeddedPostgres) -> None:
    """PostgreSQL lets every role change its own password and defaults. At the next start, the other readers can connect
    and see the tables again."""
    dsn = (await asyncio.to_thread(server.provide_roles))[READING]
    connection = await asyncpg.connect(dsn)
    await connection.execute("SET default_transaction_read_only = off")
    for setting in ("search_path = pg_temp", "statement_timeout = '1ms'", "work_mem = '1GB'"):
        await connection.execute(f"ALTER ROLE portolan_reading SET {setting}")
    database = await connection.fetchval("SELECT quote_ident(current_database())")
    await connection.execute(f"ALTER ROLE portolan_reading IN DATABASE {database} SET search_path = pg_temp")
    await connection.execute("ALTER ROLE portolan_reading PASSWORD 'mine'")
    await connection.close()
    with pytest.raises(asyncpg.InvalidPasswordError):
        await asyncpg.connect(dsn)

    await asyncio.to_thread(server.provide_roles)

    connection = await asyncpg.connect(dsn)
    settings = "SELECT unnest(setconfig) FROM pg_db_role_setting WHERE setrole = 'portolan_reading'::regrole"
    assert sorted(row[0] for row in await connection.fetch(settings)) == sorted(
        f"{name}={value}" for of in (SETTINGS, ENFORCED) for name, value in of[READING].items()
    )
    await connection.close()


async def test_a_reader_enters_no_other_database_of_a_server_that_is_portolans_alone(server: EmbeddedPostgres) -> None:
    """In another database, every role could create temporary tables and large objects."""
    reading = (await asyncio.to_thread(server.provide_roles))[READING]
    connection = await asyncpg.connect(reading)
    names = [row[0] for row in await connection.fetch("SELECT datname FROM pg_database")]
    own = await connection.fetchval("SELECT current_database()")
    await connection.close()
    assert {"template0", "template1"} < {*names}
    for name in names:
        if name != own:
            with pytest.raises((DENIED, asyncpg.ObjectNotInPrerequisiteStateError)):
                await asyncpg.connect(reading, database=name)


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
            await assert_denied(connection, f"SELECT {secret}")
        await assert_denied(connection, "COPY runners TO STDOUT")
        statistics = "SELECT count(*) FROM pg_stats WHERE attname IN ('secret', 'token')"
        assert await connection.fetchval(statistics) == 0
        await connection.fetch("SELECT state, attempt, lost FROM jobs")
    await superuser.close()


async def test_what_a_reader_forgets_ends_by_itself(own: str) -> None:
    """The limits belong to the role, so they also hold for connections with psql. The coordinator can still connect
    next to many readers."""
    async with role(own, READING) as connection:
        for name in ("statement_timeout", "idle_in_transaction_session_timeout"):
            assert await connection.fetchval(f"SHOW {name}") == "5min"
        await assert_denied(connection, "SET temp_file_limit = -1")
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
        await assert_denied(connection, "CREATE SCHEMA mine")
        await assert_denied(connection, "ALTER DATABASE portolan SET work_mem = '1GB'")
    assert await upgrade(as_role(own, MIGRATION)) is None
