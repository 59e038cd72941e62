"""Conditions in SQL that keep a promise. Each is removed or weakened by a listed replacement."""

from __future__ import annotations

from typing import NamedTuple

QUEUE = "coordinator/dispatch/queue.py"
FINISHES = "coordinator/dispatch/finishes.py"
OWNERSHIP = "coordinator/registry/ownership.py"


class Predicate(NamedTuple):
    """A piece of SQL and its replacement. The first occurrence after ``within`` is replaced."""

    file: str
    within: str
    text: str
    replacement: str = ""


PREDICATES = (
    Predicate(QUEUE, "_GIVE_BACK =", " AND j.token = u.token"),
    Predicate(QUEUE, "_GIVE_BACK =", " AND j.attempt = u.attempt"),
    Predicate(QUEUE, "_GIVE_BACK =", "IN ('leased', 'running')", "IN ('leased')"),
    Predicate(QUEUE, "_WELCOME_BACK =", " AND j.state = 'queued'"),
    Predicate(QUEUE, "_WELCOME_BACK =", " AND a.boot_id = :boot"),
    Predicate(QUEUE, "_WELCOME_BACK =", " AND j.attempt = a.attempt"),
    Predicate(QUEUE, "_START =", " AND j.token = u.token"),
    Predicate(QUEUE, "_START =", " AND j.attempt = u.attempt"),
    Predicate(QUEUE, "_CURSORS =", " AND r.boot_id = x.boot_id"),
    Predicate(QUEUE, "_CURSORS =", " AND r.cursor < x.n"),
    Predicate(QUEUE, "def _next", "WHERE state = 'queued' AND target_id = :target", "WHERE state = 'queued'"),
    Predicate(QUEUE, "def startable_campaigns", " AND c.state = 'running'"),
    Predicate(QUEUE, "_COMPLETE =", "t.done + t.cancelled < t.total", "t.done < t.total"),
    Predicate(FINISHES, "def _finish_statement", " AND j.token = u.f_token"),
    Predicate(FINISHES, "def _finish_statement", "AND j.runner_id = u.f_runner AND", "AND"),
    Predicate(FINISHES, "def _finish_statement", " AND j.attempt = u.attempt"),
    Predicate(FINISHES, "def _finish_statement", "IN ('leased', 'running')", "IN ('running')"),
    Predicate(FINISHES, "), cursors AS", " AND r.boot_id = x.boot_id"),
    Predicate(FINISHES, "), cursors AS", " AND r.cursor < x.n"),
    Predicate(FINISHES, "_RECLAIM =", " AND a.late_outcome IS NULL"),
    Predicate(FINISHES, "_RECLAIM =", " AND a.token = u.token"),
    Predicate(FINISHES, "_RECLAIM =", "IN ('queued', 'leased')", "IN ('queued', 'leased', 'running')"),
    Predicate(FINISHES, "_LATE =", " AND a.token = u.token"),
    Predicate(FINISHES, "_LATE =", "coalesce(a.late_outcome, u.body::jsonb)", "u.body::jsonb"),
    Predicate(OWNERSHIP, "async def own", " OR NOT {_OWNED}"),
    Predicate(OWNERSHIP, "async def own", "NOT {_OWNED}", "true"),
    Predicate(OWNERSHIP, "_OWNED =", "BETWEEN now() AND now() + make_interval(secs => 2 * :ownership_s)", "> now()"),
    Predicate(OWNERSHIP, "async def own", "state <> 'removed' AND ", ""),
    Predicate(OWNERSHIP, "async def own", " AND NOT {QUARANTINED}"),
    Predicate(OWNERSHIP, "async def renew", " AND owner = :me"),
    Predicate(OWNERSHIP, "async def renew", " AND state <> 'removed'"),
    Predicate(OWNERSHIP, "async def skip_to", ", runners.c.boot_id == boot_id"),
    Predicate(OWNERSHIP, "async def quarantine", " AND state <> 'removed'"),
)
