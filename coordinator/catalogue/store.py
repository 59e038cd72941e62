"""Reads suites, functions and cases from the database."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Row, text
from sqlalchemy.ext.asyncio import AsyncConnection


async def offered_functions(connection: AsyncConnection) -> Sequence[Row[Any]]:
    """The functions of the suites that registered runners serve, with the number of cases of each function."""
    rows = await connection.execute(
        text("""
        SELECT s.id AS suite_id, s.name AS suite, s.framework, s.revision, c.function, max(c.host_only) AS host_only,
               count(*) AS cases, min(c.position) AS position
          FROM suites s JOIN cases c ON c.suite_id = s.id
         WHERE s.id IN (SELECT rs.suite_id FROM runner_suites rs JOIN runners r ON r.id = rs.runner_id
                         WHERE r.state <> 'removed')
         GROUP BY s.id, c.function ORDER BY s.name, s.framework, s.id, position
        """)
    )
    return rows.all()


async def suite_cases(
    connection: AsyncConnection, suite_id: int, function: str | None, *, offset: int, limit: int
) -> tuple[Row[Any] | None, Sequence[Row[Any]]]:
    """The suite, and the cases of one function, or of all functions if ``function`` is None, in the suite's order. The
    suite is None if it does not exist."""
    suite = await connection.execute(
        text("SELECT id AS suite_id, name AS suite, framework, revision FROM suites WHERE id = :suite"),
        {"suite": suite_id},
    )
    cases = await connection.execute(
        text("""
        SELECT name AS "case", function, host_only, judged_by, inputs AS input_kinds, options
          FROM cases WHERE suite_id = :suite AND function = coalesce(CAST(:function AS text), function)
         ORDER BY position, id OFFSET CAST(:offset AS int) LIMIT CAST(:limit AS int)
        """),
        {"suite": suite_id, "function": function, "offset": offset, "limit": limit},
    )
    return suite.one_or_none(), cases.all()


async def charted_names(connection: AsyncConnection) -> Sequence[Row[Any]]:
    """The functions of all suites that registered runners serve. The functions of all revisions of a suite are
    combined."""
    rows = await connection.execute(
        text("""
        SELECT DISTINCT s.name AS suite, s.framework, c.function
          FROM suites s JOIN cases c ON c.suite_id = s.id
         WHERE s.id IN (SELECT rs.suite_id FROM runner_suites rs JOIN runners r ON r.id = rs.runner_id
                         WHERE r.state <> 'removed')
        """)
    )
    return rows.all()


async def serving_targets(connection: AsyncConnection) -> Sequence[Row[Any]]:
    rows = await connection.execute(
        text("""
        SELECT DISTINCT rs.suite_id, t.framework, t.version, t.version_numbers, t.device
          FROM runner_suites rs JOIN runners r ON r.id = rs.runner_id JOIN targets t ON t.id = r.target_id
         WHERE r.state <> 'removed' ORDER BY t.framework, t.version_numbers, t.version, t.device
        """)
    )
    return rows.all()
