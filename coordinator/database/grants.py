"""The three roles of the database, and the privileges of each role on each table and view.

This is the only declaration. Every upgrade applies it, and a test compares the whole catalog with it, so the test fails
if a table has no entry here. ``portolan_migration`` owns everything and needs no entries. Other roles keep the
privileges that a person gave them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from sqlalchemy import Connection, text

from coordinator.database.views import VIEWS

MIGRATION = "portolan_migration"
APPLICATION = "portolan_application"
READING = "portolan_reading"
ROLES = (MIGRATION, APPLICATION, READING)

Privileges = frozenset[str]
"""Privileges such as ``SELECT``, or ``SELECT (column)`` for tables with withheld columns."""


@dataclass(frozen=True)
class Grant:
    application: Privileges
    reading: Privileges = frozenset()

    def to(self, role: str) -> Privileges:
        return {APPLICATION: self.application, READING: self.reading}[role]


def _words(words: str) -> Privileges:
    return frozenset(words.split())


def _columns(*names: str) -> Privileges:
    return frozenset(f"SELECT ({name})" for name in names)


_SELECT = _words("SELECT")
_APPEND = _words("SELECT INSERT")
_STATE = _words("SELECT INSERT UPDATE")
"""Privileges on rows that are never deleted."""
_REPLACED = _words("SELECT INSERT DELETE")
_TIMED_SUITES = _REPLACED | {"UPDATE (timing)", "UPDATE (timed_cases)"}
"""Privileges on suites. Suites never change, except that runners update how they are timed."""
_KEPT = _words("SELECT INSERT UPDATE DELETE")
"""Privileges on rows that may be deleted: rows that can be recreated, and campaigns, which only
``coordinator/deletion`` deletes."""

GRANTS: Mapping[str, Grant] = {
    # Written only by migrations; the coordinator reads the revision to compare it.
    "alembic_version": Grant(_SELECT),
    "view_definitions": Grant(frozenset()),
    # Readers also need these tables, because no view contains raw samples or a job's history.
    "outcomes": Grant(_KEPT, _SELECT),
    "targets": Grant(_STATE, _SELECT),
    "fingerprints": Grant(_APPEND, _SELECT),
    "suites": Grant(_TIMED_SUITES, _SELECT),
    "cases": Grant(_REPLACED, _SELECT),
    "campaigns": Grant(_KEPT, _SELECT),
    "campaign_targets": Grant(_KEPT, _SELECT),
    "overrides": Grant(_KEPT, _SELECT),
    "signers": Grant(_STATE, _SELECT),
    # Readers may not read the lease token, with which they could forge a runner's report.
    "attempts": Grant(
        _KEPT,
        _columns(
            "job_id", "attempt", "runner_id", "boot_id", "leased_at", "started_at", "ended_at", "end", "reason",
            "late_outcome",
        ),
    ),
    "jobs": Grant(
        _KEPT,
        _columns(
            "id", "campaign_id", "target_id", "case_id", "run", "priority", "state", "attempt", "lost", "refused",
            "runner_id", "lease_until",
        ),
    ),
    # Holds the runners' secrets. Readers find the machine in the fingerprint of the outcomes.
    "runners": Grant(_STATE),
    "runner_suites": Grant(_REPLACED),
    "installation": Grant(_STATE),
    "matrices": Grant(_KEPT),
    "matrix_rows": Grant(_KEPT),
    "matrix_targets": Grant(_KEPT),
    "matrix_cells": Grant(_KEPT),
    "matrix_latencies": Grant(_KEPT),
    # Access control. The audit is append-only.
    "tokens": Grant(_STATE),
    "sessions": Grant(_REPLACED),
    "login_links": Grant(_REPLACED),
    "audit_entries": Grant(_APPEND),
    "signing_keys": Grant(_APPEND),
    "submissions": Grant(_REPLACED),
    # Published figures are loaded by upgrades.
    **{
        f"reference_{name}": Grant(_SELECT, _SELECT)
        for name in (
            "sources", "targets", "functions", "latencies", "counts", "rates", "failures", "speedups", "caveats",
        )
    },
    **{view.name: Grant(_SELECT, _SELECT) for view in VIEWS},
}  # fmt: skip

Held = Mapping[tuple[str, str], Privileges]
"""The privileges of a role on a relation, by (relation, role)."""

_HELD = text("""
SELECT c.relname AS relation, r.rolname AS role, a.privilege_type AS privilege
  FROM pg_class c CROSS JOIN LATERAL aclexplode(c.relacl) a JOIN pg_roles r ON r.oid = a.grantee
 WHERE c.relnamespace = current_schema()::regnamespace AND r.rolname = ANY(:roles)
 UNION ALL
SELECT c.relname, r.rolname, a.privilege_type || ' (' || t.attname || ')'
  FROM pg_class c JOIN pg_attribute t ON t.attrelid = c.oid AND NOT t.attisdropped
 CROSS JOIN LATERAL aclexplode(t.attacl) a JOIN pg_roles r ON r.oid = a.grantee
 WHERE c.relnamespace = current_schema()::regnamespace AND r.rolname = ANY(:roles)
""")


def read_privileges(connection: Connection) -> dict[tuple[str, str], Privileges]:
    """Read the privileges of the application role and the reading role from the catalog."""
    by_relation: dict[tuple[str, str], set[str]] = {}
    for relation, role, privilege in connection.execute(_HELD, {"roles": [APPLICATION, READING]}):
        by_relation.setdefault((relation, role), set()).add(privilege)
    return {key: frozenset(privileges) for key, privileges in by_relation.items()}


def statements(current: Held, roles: Iterable[str]) -> list[str]:
    """Return the statements that change the privileges of these roles to the declared ones."""
    changes = []
    for role in roles:
        for relation, grant in GRANTS.items():
            has, declared_privileges = current.get((relation, role), frozenset()), grant.to(role)
            if has - declared_privileges:
                changes.append(f"REVOKE ALL ON {relation} FROM {role}")
                has = frozenset()
            if declared_privileges - has:
                changes.append(f"GRANT {_grant_list(declared_privileges - has)} ON {relation} TO {role}")
    return changes


def apply(connection: Connection) -> None:
    """Grant the declared privileges to the roles that exist. Nothing is written if they already have them."""
    there = connection.execute(
        text("SELECT rolname FROM pg_roles WHERE rolname = ANY(:roles) ORDER BY 1"), {"roles": [APPLICATION, READING]}
    )
    for statement in statements(read_privileges(connection), there.scalars().all()):
        connection.exec_driver_sql(statement)


def _grant_list(privileges: Privileges) -> str:
    """The privileges in the syntax of GRANT: ``SELECT ("end")``."""
    return ", ".join(privilege.replace("(", '("').replace(")", '")') for privilege in sorted(privileges))
