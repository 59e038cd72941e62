"""Creates the three roles. Their privileges on tables are in ``grants.py``.

Only a superuser, or an owner of the database with CREATEROLE, can create the roles. The creation can be repeated; if
nothing has changed, it writes only the passwords.
"""

from __future__ import annotations

from collections.abc import Mapping

from sqlalchemy import Connection, text
from sqlalchemy.exc import DBAPIError

from coordinator.database import grants
from coordinator.database.connection import run_once
from coordinator.database.grants import APPLICATION, MIGRATION, READING, ROLES
from coordinator.database.outage import sqlstate
from coordinator.database.scram import verifier
from coordinator.errors import reason_of

SETTINGS: Mapping[str, Mapping[str, str]] = {
    READING: {
        # A session may change these. They are limits for forgotten sessions: an open notebook must not block an upgrade
        # forever.
        "default_transaction_read_only": "on",
        "statement_timeout": "5min",
        "idle_in_transaction_session_timeout": "5min",
        "lock_timeout": "10s",
    }
}
ENFORCED: Mapping[str, Mapping[str, str]] = {READING: {"temp_file_limit": "4GB"}}
"""Settings that only superusers can change, and sessions cannot. They prevent a sort from filling the disk."""
CONNECTIONS = {READING: 10}
"""The maximum number of connections. The embedded server has 50, and a coordinator needs 22."""

_DENIED = "42501"
"""SQLSTATE of a missing privilege."""
_LOCK_TIMEOUT = "4s"

_MISSING = text("SELECT name FROM unnest(CAST(:roles AS text[])) name WHERE to_regrole(name) IS NULL ORDER BY name")
_SELF = text("SELECT current_user, rolsuper, rolcreaterole FROM pg_roles WHERE rolname = current_user")
_UNSET = text("""
SELECT w.role, w.setting, w.value
  FROM unnest(CAST(:roles AS text[]), CAST(:settings AS text[]), CAST(:values AS text[])) w (role, setting, value)
 WHERE NOT EXISTS (SELECT FROM pg_db_role_setting s
                    WHERE s.setrole = to_regrole(w.role) AND s.setdatabase = 0
                      AND w.setting || '=' || w.value = ANY(s.setconfig))
""")
_UNDECLARED = text("""
SELECT r.rolname AS role, quote_ident(d.datname) AS database, quote_ident(split_part(c.setting, '=', 1)) AS setting
  FROM pg_db_role_setting s JOIN pg_roles r ON r.oid = s.setrole LEFT JOIN pg_database d ON d.oid = s.setdatabase
 CROSS JOIN LATERAL unnest(s.setconfig) c (setting)
  LEFT JOIN pg_settings known ON known.name = split_part(c.setting, '=', 1)
 WHERE r.rolname = ANY(:owners) AND coalesce(known.context, 'user') = 'user'
   AND (s.setdatabase <> 0
        OR (r.rolname, split_part(c.setting, '=', 1)) NOT IN
           (SELECT * FROM unnest(CAST(:roles AS text[]), CAST(:settings AS text[]))))
 ORDER BY 1, 2, 3
""")
_FOREIGN = text("""
SELECT c.relname, CASE c.relkind WHEN 'v' THEN 'VIEW' ELSE 'TABLE' END
  FROM pg_class c
 WHERE c.relnamespace = current_schema()::regnamespace AND c.relname = ANY(:ours) AND c.relkind IN ('r', 'v')
   AND c.relowner <> to_regrole(:owner)
 ORDER BY 1
""")
_FOREIGN_TRIGGERS = text("""
SELECT DISTINCT p.oid::regprocedure::text
  FROM pg_proc p JOIN pg_trigger t ON t.tgfoid = p.oid JOIN pg_class c ON c.oid = t.tgrelid
 WHERE c.relnamespace = current_schema()::regnamespace AND c.relname = ANY(:ours)
   AND NOT t.tgisinternal AND p.proowner <> to_regrole(:owner)
""")

# Advisory locks could stop dispatch; large objects and WAL messages can be written by anyone who may connect.
_FUNCTIONS = text("""
SELECT p.oid::regprocedure::text AS function, p.ours
  FROM (SELECT *, proname ~ 'advisory' AS ours FROM pg_proc) p
 WHERE p.pronamespace = 'pg_catalog'::regnamespace
   AND (p.proname ~ '^pg_(try_)?advisory_'
        OR p.proname IN ('lo_creat', 'lo_create', 'lo_from_bytea', 'lo_open', 'lo_put', 'lo_truncate',
                         'lo_truncate64', 'lo_unlink', 'lowrite', 'pg_logical_emit_message'))
   AND (EXISTS (SELECT FROM aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) a WHERE a.grantee = 0)
        OR p.ours AND NOT (has_function_privilege(:migration, p.oid, 'EXECUTE')
                           AND has_function_privilege(:application, p.oid, 'EXECUTE')))
""")
_OPEN_PLACES = text("""
SELECT EXISTS (SELECT FROM pg_database d
                CROSS JOIN LATERAL aclexplode(coalesce(d.datacl, acldefault('d', d.datdba))) a
                WHERE d.datname = current_database() AND a.grantee = 0 AND a.privilege_type = 'TEMPORARY') AS temporary,
       EXISTS (SELECT FROM pg_namespace n
                CROSS JOIN LATERAL aclexplode(coalesce(n.nspacl, acldefault('n', n.nspowner))) a
                WHERE n.nspname = current_schema() AND a.grantee = 0 AND a.privilege_type = 'CREATE') AS "create",
       (SELECT array_agg(name) FROM unnest(CAST(:roles AS text[])) name
         WHERE NOT has_schema_privilege(name, current_schema(), 'USAGE')) AS strangers,
       has_schema_privilege(:owner, current_schema(), 'CREATE') AS owned,
       quote_ident(current_schema()) AS schema, quote_ident(current_database()) AS database
""")
# In other databases of the server, a reader may create temporary tables and large objects, as every user may.
_OPEN_NEIGHBOURS = text("""
SELECT quote_ident(d.datname) FROM pg_database d
 WHERE d.datname IN ('postgres', 'template1') AND d.datname <> current_database()
   AND EXISTS (SELECT FROM aclexplode(coalesce(d.datacl, acldefault('d', d.datdba))) a WHERE a.grantee = 0)
   AND NOT EXISTS (SELECT FROM pg_database
                    WHERE datname NOT IN ('postgres', 'template0', 'template1', current_database()))
 ORDER BY 1
""")


async def provide(dsn: str, passwords: Mapping[str, str]) -> None:
    """Create the roles with these passwords. The user in the DSN is the superuser or the owner."""
    await run_once(dsn, lambda connection: make(connection, passwords))


def become_owner(connection: Connection) -> str | None:
    """Create the roles if this connection may, and act as the migration role until the transaction ends.

    Returns None on success. Otherwise the connection keeps its role, and the returned line says which role or privilege
    is missing.
    """
    user, superuser, creates_roles = connection.execute(_SELF).one()
    if superuser or creates_roles:
        try:
            # A savepoint is needed, so that the transaction can continue with its own role if a privilege is missing.
            with connection.begin_nested():
                make(connection, {})
                connection.exec_driver_sql(f"SET LOCAL ROLE {MIGRATION}")
            return None
        except DBAPIError as error:
            if sqlstate(error) != _DENIED:
                raise
            return _lacking(user, reason_of(error))
    if missing := connection.execute(_MISSING, {"roles": list(ROLES)}).scalars().all():
        return _lacking(user, f"there is no {', '.join(missing)}")
    return None


def make(connection: Connection, passwords: Mapping[str, str]) -> None:
    """Create or correct the roles, the owner of Portolan's objects, and the access to schemas and databases."""
    user, superuser, _ = connection.execute(_SELF).one()
    connection.exec_driver_sql(f"SET LOCAL lock_timeout = '{_LOCK_TIMEOUT}'")
    for role in connection.execute(_MISSING, {"roles": list(ROLES)}).scalars().all():
        limit = f" CONNECTION LIMIT {CONNECTIONS[role]}" if role in CONNECTIONS else ""
        connection.exec_driver_sql(f"CREATE ROLE {role} LOGIN{limit}")
    for role, password in passwords.items():
        connection.exec_driver_sql(f"ALTER ROLE {role} PASSWORD '{verifier(password)}'")
    declared_settings = [*_flat(SETTINGS), *(_flat(ENFORCED) if superuser else ())]
    columns = {name: [row[i] for row in declared_settings] for i, name in enumerate(("roles", "settings", "values"))}
    for role, setting, value in connection.execute(_UNSET, columns).all():
        connection.exec_driver_sql(f"ALTER ROLE {role} SET {setting} = '{value}'")
    _reset_undeclared(connection)
    if not superuser:
        _join(connection, user)
    _close_places(connection)
    if superuser:
        _close_functions(connection)
        _close_neighbours(connection)
    for relation, kind in connection.execute(_FOREIGN, {"ours": list(grants.GRANTS), "owner": MIGRATION}).all():
        connection.exec_driver_sql(f"ALTER {kind} {relation} OWNER TO {MIGRATION}")
    for function in connection.scalars(_FOREIGN_TRIGGERS, {"ours": list(grants.GRANTS), "owner": MIGRATION}).all():
        connection.exec_driver_sql(f"ALTER FUNCTION {function} OWNER TO {MIGRATION}")


def _reset_undeclared(connection: Connection) -> None:
    """Reset the settings of the roles that are not declared. A role may change its own defaults (including
    ``search_path``), which would affect later sessions."""
    declared_settings = _flat(SETTINGS)
    columns = {
        "roles": [role for role, _, _ in declared_settings],
        "settings": [setting for _, setting, _ in declared_settings],
    }
    for role, database, setting in connection.execute(_UNDECLARED, {"owners": list(ROLES), **columns}).all():
        place = f" IN DATABASE {database}" if database else ""
        connection.exec_driver_sql(f"ALTER ROLE {role}{place} RESET {setting}")


def _join(connection: Connection, user: str) -> None:
    """Make the user a member of the migration role. Without the membership, the user cannot transfer ownership to the
    role."""
    if not connection.scalar(text("SELECT pg_has_role(current_user, :role, 'USAGE')"), {"role": MIGRATION}):
        connection.exec_driver_sql(f"GRANT {MIGRATION} TO CURRENT_USER")


def _close_places(connection: Connection) -> None:
    """Allow only the migration role to create objects in the schema, and no role to create temporary tables."""
    place = connection.execute(_OPEN_PLACES, {"roles": list(ROLES), "owner": MIGRATION}).one()
    if place.temporary:
        connection.exec_driver_sql(f"REVOKE TEMPORARY ON DATABASE {place.database} FROM PUBLIC")
    if place.create:
        connection.exec_driver_sql(f"REVOKE CREATE ON SCHEMA {place.schema} FROM PUBLIC")
    if place.strangers:
        connection.exec_driver_sql(f"GRANT USAGE ON SCHEMA {place.schema} TO {', '.join(place.strangers)}")
    if not place.owned:
        connection.exec_driver_sql(f"GRANT CREATE ON SCHEMA {place.schema} TO {MIGRATION}")


def _close_functions(connection: Connection) -> None:
    for function, ours in connection.execute(_FUNCTIONS, {"migration": MIGRATION, "application": APPLICATION}).all():
        connection.exec_driver_sql(f"REVOKE EXECUTE ON FUNCTION {function} FROM PUBLIC")
        if ours:
            connection.exec_driver_sql(f"GRANT EXECUTE ON FUNCTION {function} TO {MIGRATION}, {APPLICATION}")


def _close_neighbours(connection: Connection) -> None:
    """If only Portolan uses the server, allow only superusers to connect to the databases that came with the server."""
    for database in connection.scalars(_OPEN_NEIGHBOURS).all():
        connection.exec_driver_sql(f"REVOKE ALL ON DATABASE {database} FROM PUBLIC")


def _flat(settings: Mapping[str, Mapping[str, str]]) -> list[tuple[str, str, str]]:
    return [(role, setting, value) for role, of in settings.items() for setting, value in of.items()]


def _lacking(user: str, reason: str) -> str:
    return (
        f"the coordinator connects as {user}, which can drop tables: {reason}; "
        "`portolan db roles` makes roles with fewer rights, "
        "as a superuser or as the owner of the database with CREATEROLE"
    )
