"""PostgreSQL's own catalog of rights agrees with the declared rights for each table and view."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import asyncpg
import pytest

from coordinator.database.embedded import EmbeddedPostgres, dsn_of
from coordinator.database.grants import APPLICATION, GRANTS, MIGRATION, READING, ROLES, statements
from coordinator.database.roles import provide
from coordinator.errors import DatabaseError
from coordinator.migration import upgrade
from tests.database_roles import as_role
from tests.integration.coordinator.database.release_dump import fill
from tests.integration.coordinator.database.test_released import rows_of_views

HELD = """
SELECT c.relname AS relation, p.privilege,
       CASE WHEN has_table_privilege($1, c.oid, p.privilege) THEN ARRAY['*'] ELSE
           ARRAY(SELECT a.attname::text FROM pg_attribute a
                  WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
                    AND p.privilege IN ('SELECT', 'INSERT', 'UPDATE', 'REFERENCES')
                    AND has_column_privilege($1, c.oid, a.attnum, p.privilege)) END AS columns
  FROM pg_class c
 CROSS JOIN unnest(ARRAY['SELECT', 'INSERT', 'UPDATE', 'DELETE', 'TRUNCATE', 'REFERENCES', 'TRIGGER']) p (privilege)
 WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'v', 'm', 'p', 'f')
"""


async def held_by(dsn: str, role: str) -> dict[str, set[str]]:
    """The rights of a role according to PostgreSQL, from all sources: the role itself, PUBLIC, and memberships."""
    connection = await asyncpg.connect(dsn)
    rows = await connection.fetch(HELD, role)
    await connection.close()
    privileges: dict[str, set[str]] = {row["relation"]: set() for row in rows}
    for row in rows:
        for column in row["columns"]:
            privileges[row["relation"]].add(row["privilege"] if column == "*" else f"{row['privilege']} ({column})")
    return privileges


@pytest.mark.parametrize("role", [APPLICATION, READING])
async def test_every_table_and_view_is_granted_as_declared(role: str, database: str) -> None:
    privileges = await held_by(database, role)
    assert sorted(privileges) == sorted(GRANTS), "coordinator/database/grants.py decides about every table and view"
    assert privileges == {relation: set(grant.to(role)) for relation, grant in GRANTS.items()}


async def test_an_upgrade_puts_right_what_was_changed_and_leaves_other_roles_alone(database: str) -> None:
    connection = await asyncpg.connect(database)
    await connection.execute("DO $$ BEGIN CREATE ROLE somebody; EXCEPTION WHEN duplicate_object THEN END $$")
    await connection.execute(f"""
        GRANT ALL ON runners TO {READING}; REVOKE ALL ON attempts FROM {READING};
        REVOKE INSERT ON jobs FROM {APPLICATION}; GRANT SELECT ON runners TO somebody
    """)
    assert await upgrade(database) is None
    for role in (APPLICATION, READING):
        assert await held_by(database, role) == {relation: set(grant.to(role)) for relation, grant in GRANTS.items()}
    assert await connection.fetchval("SELECT has_table_privilege('somebody', 'runners', 'SELECT')")
    await connection.execute("REVOKE SELECT ON runners FROM somebody")
    await connection.close()


def test_nothing_is_written_where_all_is_as_declared() -> None:
    grants = {(relation, READING): grant.reading for relation, grant in GRANTS.items()}
    assert statements(grants, [READING]) == []
    assert statements({**grants, ("runners", READING): frozenset({"SELECT"})}, [READING]) == [
        f"REVOKE ALL ON runners FROM {READING}"
    ]


def test_a_cluster_from_before_the_roles_gets_them_and_loses_nothing(directory: Path) -> None:
    """Everything in it belongs to the superuser. A person has made a view on Portolan's views and granted rights."""
    server = EmbeddedPostgres(directory)
    superuser = server.start()
    asyncio.run(make_old(superuser))
    before = asyncio.run(rows_of_views(superuser))
    server.stop()
    assert not list(directory.glob("password-*"))

    with server:
        dsns = server.provide_roles()
        assert sorted(dsns) == sorted(ROLES)
        assert asyncio.run(upgrade(dsns[MIGRATION], require_roles=True)) is None
        assert server.provide_roles() == dsns, "again, as each start does"
        assert asyncio.run(rows_of_views(superuser)) == before
        assert before["mine"]
        for role in (APPLICATION, READING):
            assert {
                name: privileges for name, privileges in asyncio.run(held_by(superuser, role)).items() if name != "mine"
            } == {relation: set(grant.to(role)) for relation, grant in GRANTS.items()}
        assert asyncio.run(fetch(dsns[READING], "SELECT count(*) FROM outcome_rows"))[0][0] > 0
        assert asyncio.run(fetch(superuser, "SELECT has_table_privilege('somebody', 'outcomes', 'SELECT')"))[0][0]
        for role in ROLES:
            file = directory / f"password-{role}"
            assert file.stat().st_mode & 0o077 == 0
            assert dsn_of(directory, role) == dsns[role]
    assert file.read_text() not in (directory / "postgres.log").read_text()


async def make_old(superuser: str) -> None:
    """A filled database from before the roles existed: migrated by the superuser, in a cluster without the roles."""
    await upgrade(superuser)
    await fill(superuser)
    connection = await asyncpg.connect(superuser)
    names = [row["relname"] for row in await connection.fetch(
        "SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'v')"
    )]  # fmt: skip
    for name in names:
        await connection.execute(f"ALTER TABLE {name} OWNER TO portolan")
    await connection.execute("ALTER FUNCTION refuse_audit_change() OWNER TO portolan")
    await connection.execute(f"DROP OWNED BY {', '.join(ROLES)}; DROP ROLE {', '.join(ROLES)}")
    await connection.execute("""
        GRANT TEMPORARY ON DATABASE portolan TO PUBLIC; GRANT CREATE ON SCHEMA public TO PUBLIC;
        CREATE VIEW mine AS SELECT job_id, verdict FROM outcome_rows;
        CREATE ROLE somebody; GRANT SELECT ON outcomes TO somebody
    """)
    await connection.close()


async def fetch(dsn: str, query: str) -> list[Any]:
    connection = await asyncpg.connect(dsn)
    try:
        return list(await connection.fetch(query))
    finally:
        await connection.close()


@pytest.fixture
def team(directory: Path) -> Any:
    """A team's server without Portolan's roles. Yields the superuser, and a function that returns a user with certain
    attributes."""
    with EmbeddedPostgres(directory) as superuser:

        def user(name: str, attributes: str) -> str:
            statements = (
                f"CREATE ROLE {name} LOGIN PASSWORD 'x' {attributes}",
                f"CREATE DATABASE of_{name} OWNER {name}",
            )
            for statement in statements:
                asyncio.run(fetch(superuser, statement))
            place = urlsplit(superuser)
            return urlunsplit(place._replace(netloc=f"{name}:x@{place.hostname}:{place.port}", path=f"/of_{name}"))

        yield superuser, user


def test_an_owner_who_may_make_no_roles_goes_on_with_the_one_it_has(team: Any) -> None:
    _, user = team
    owner = user("modest", "")
    lacking = asyncio.run(upgrade(owner))
    assert lacking is not None
    assert "\n" not in lacking
    assert "portolan_application" in lacking
    assert "portolan db roles" in lacking
    assert asyncio.run(fetch(owner, "SELECT count(*) FROM reference_sources"))[0][0] == 1
    with pytest.raises(DatabaseError, match="portolan db roles"):
        asyncio.run(upgrade(owner, require_roles=True))


def test_an_owner_who_may_make_roles_makes_them(team: Any) -> None:
    superuser, user = team
    owner = user("capable", "CREATEROLE")
    assert asyncio.run(upgrade(owner)) is None
    assert asyncio.run(upgrade(owner, require_roles=True)) is None
    asyncio.run(provide(owner, dict.fromkeys(ROLES, "the-same")))
    place = urlsplit(owner)
    for role in ROLES:
        dsn = urlunsplit(place._replace(netloc=f"{role}:the-same@{place.hostname}:{place.port}"))
        assert asyncio.run(fetch(dsn, "SELECT current_user::text"))[0][0] == role
    inside = urlunsplit(urlsplit(superuser)._replace(path=place.path))
    for role in (APPLICATION, READING):
        assert asyncio.run(held_by(inside, role)) == {
            relation: set(grant.to(role)) for relation, grant in GRANTS.items()
        }


def test_a_person_s_own_schema_is_where_a_reader_s_views_go(new_database: Callable[..., str]) -> None:
    """As ``docs/reference/database.md`` describes."""
    dsn = new_database(template="template1")
    asyncio.run(upgrade(dsn))
    for statement in (
        f"CREATE SCHEMA mine AUTHORIZATION {MIGRATION}",
        f"GRANT USAGE ON SCHEMA mine TO {READING}",
    ):
        asyncio.run(fetch(dsn, statement))
    migration = as_role(dsn, MIGRATION)
    asyncio.run(fetch(migration, "CREATE VIEW mine.failures AS SELECT * FROM outcome_rows WHERE verdict = 'failed'"))
    asyncio.run(fetch(migration, f"GRANT SELECT ON mine.failures TO {READING}"))
    assert asyncio.run(fetch(as_role(dsn, READING), "SELECT * FROM mine.failures")) == []
    assert asyncio.run(upgrade(migration)) is None
