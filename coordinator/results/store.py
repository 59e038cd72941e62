"""The stored matrix in the database: finds rows by a query, and reads cells."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any, cast

from sqlalchemy import Row, text
from sqlalchemy.ext.asyncio import AsyncConnection

from coordinator.database.tables import matrix_cells
from coordinator.figures.counting import ANYWHERE, ON_DEVICE, CountingRule, counts_of
from coordinator.results.models import Cell, FunctionKey
from coordinator.results.query import (
    CauseTerm,
    CountTerm,
    NameTerm,
    OnTarget,
    Query,
    RatioTerm,
    VerdictTerm,
    like_pattern,
    matching_ids,
)
from coordinator.targets.models import Target


def columns(names: Iterable[str]) -> str:
    """SQL for columns of ``matrix_cells m``. The counts are read as text, so that equal counts are parsed only once."""
    return ", ".join("CAST(m.counts AS text) AS counts" if name == "counts" else f"m.{name}" for name in names)


_CELL = columns(matrix_cells.columns.keys())


async def keys(
    connection: AsyncConnection,
    campaign_id: int,
    query: Query,
    targets: Sequence[Target],
    rule: CountingRule,
    *,
    of_all: bool,
) -> tuple[list[FunctionKey], int]:
    """The rows that match the query, in the order of the matrix, and the number of all rows.

    Unless ``of_all``, ``targets`` are only some of the campaign's targets, and rows without a cell on any of them are
    not included.
    """
    condition, values = _condition(query, targets, rule)
    there = "true"
    if not of_all:
        there = (
            "(framework, function) IN (SELECT framework, function FROM matrix_cells"
            " WHERE campaign_id = :campaign AND target_id = ANY(CAST(:targets AS int[])))"
        )
        values["targets"] = [target.id for target in targets]
    result = await connection.execute(
        text(
            f"SELECT framework, module, function FROM matrix_rows WHERE campaign_id = :campaign AND {there}"
            f' AND {condition} ORDER BY framework COLLATE "C", module COLLATE "C", function COLLATE "C"'
        ),
        {"campaign": campaign_id, **values},
    )
    count = await connection.execute(
        text("SELECT count(*) FROM matrix_rows WHERE campaign_id = :campaign"), {"campaign": campaign_id}
    )
    return [FunctionKey._make(row) for row in result], count.scalar_one()


# OFFSET 0 keeps one index scan per function. As a plain join, PostgreSQL reads the whole campaign while its statistics
# are older than the matrix: 226 ms instead of 9 for 100 functions of 5,000.
_CELLS = text(f"""
SELECT {_CELL}
  FROM unnest(CAST(:frameworks AS text[]), CAST(:functions AS text[])) u (framework, function)
 CROSS JOIN LATERAL (SELECT * FROM matrix_cells
                      WHERE campaign_id = :campaign AND framework = u.framework AND function = u.function
                     OFFSET 0) m
""")


async def cells(connection: AsyncConnection, campaign_id: int, rows: Sequence[FunctionKey]) -> list[Cell]:
    result = await connection.execute(
        _CELLS,
        {
            "campaign": campaign_id,
            "frameworks": [row.framework for row in rows],
            "functions": [row.function for row in rows],
        },
    )
    return [cell_of(row) for row in result]


def cell_of(row: Row[Any]) -> Cell:
    """The cell of a row of ``matrix_cells``."""
    return Cell.model_construct(**{**row._mapping, "counts": counts_of(row.counts)})


async def campaign_cells(connection: AsyncConnection, campaign_id: int) -> list[Cell]:
    """All cells of a campaign at once, for a campaign with few functions."""
    result = await connection.execute(
        text(f"SELECT {_CELL} FROM matrix_cells m WHERE campaign_id = :campaign ORDER BY function, target_id"),
        {"campaign": campaign_id},
    )
    return [cell_of(row) for row in result]


async def made_at(connection: AsyncConnection, campaign_id: int) -> datetime | None:
    """The time at which the cells were computed; None if there are no cells."""
    result = await connection.execute(
        text("SELECT made_at FROM matrices WHERE campaign_id = :campaign"), {"campaign": campaign_id}
    )
    return cast("datetime | None", result.scalar_one_or_none())


async def charted_functions(
    connection: AsyncConnection, campaign_id: int, frameworks: Sequence[str]
) -> Sequence[Row[Any]]:
    """The functions of these frameworks with a case that counts or was lowered, by version of the target."""
    result = await connection.execute(
        text(
            "SELECT DISTINCT t.framework, t.version, c.function"
            "  FROM matrix_cells c JOIN targets t ON t.id = c.target_id"
            " WHERE c.campaign_id = :campaign AND c.framework = ANY(CAST(:frameworks AS text[]))"
            f" AND ({count_of(ANYWHERE, 'total')} <> '0' OR c.lowering IS NOT NULL)"
        ),
        {"campaign": campaign_id, "frameworks": list(frameworks)},
    )
    return result.all()


async def all_cells(connection: AsyncConnection, campaign_id: int, target_id: int) -> list[Cell]:
    """All cells of one target, by function."""
    result = await connection.execute(
        text(
            f"SELECT {_CELL} FROM matrix_cells m WHERE campaign_id = :campaign AND target_id = :target"
            " ORDER BY function"
        ),
        {"campaign": campaign_id, "target": target_id},
    )
    return [cell_of(row) for row in result]


def count_of(rule: CountingRule, figure: str) -> str:
    """SQL for one of a rule's counts in a row of ``matrix_cells``, as text. It is null if there is no verdict by the
    rule."""
    return f"counts -> '{rule.name}' ->> '{figure}'"


CASES_DIGEST = """\
CASE WHEN bool_and(c.digest IS NOT NULL)
     THEN encode(sha256(convert_to(string_agg(c.name || ' ' || c.digest, E'\\n' ORDER BY c.name), 'UTF8')), 'hex')
END"""
"""SQL for a digest of the cases ``c`` of a function. It is equal for equal cases, also in two revisions of their suite.
"""


async def history(connection: AsyncConnection, framework: str, function: str) -> list[Row[Any]]:
    """Every cell of the function in any campaign, newest campaign first."""
    result = await connection.execute(
        text(f"""
        SELECT {_CELL}, p.name AS campaign, p.created_at, t.id, t.version, t.device, t.device_class, t.hardware,
               t.environment, t.simulated, t.notes, s.name AS suite, s.revision AS suite_revision,
               (SELECT {CASES_DIGEST} FROM cases c
                 WHERE c.suite_id = s.id AND c.function = m.function) AS cases_digest
          FROM matrix_cells m
          JOIN campaigns p ON p.id = m.campaign_id
          JOIN targets t ON t.id = m.target_id
          JOIN campaign_targets ct ON ct.campaign_id = m.campaign_id AND ct.target_id = m.target_id
          JOIN suites s ON s.id = ct.suite_id
         WHERE m.framework = :framework AND m.function = :function
         ORDER BY m.campaign_id DESC, t.device, t.version_numbers, t.version, t.id
         LIMIT 2000
        """),
        {"framework": framework, "function": function},
    )
    return list(result.all())


def _condition(query: Query, targets: Sequence[Target], rule: CountingRule) -> tuple[str, dict[str, Any]]:
    """The SQL condition that selects the rows, and its parameters."""
    conditions = ["true"]
    values: dict[str, Any] = {}
    for number, term in enumerate(query):
        if isinstance(term, NameTerm):
            values[f"v{number}"] = pattern(term)
            holds = f"{'module' if term.of == 'module' else 'function'} ILIKE :v{number}"
        else:
            cell, value = _on_target(term, rule, f"v{number}")
            if value is not None:
                values[f"v{number}"] = value
            values[f"t{number}"] = matching_ids(term, targets)
            holds = (
                "(framework, function) IN (SELECT framework, function FROM matrix_cells"
                f" WHERE campaign_id = :campaign AND target_id = ANY(CAST(:t{number} AS int[])) AND {cell})"
            )
        conditions.append(f"NOT ({holds})" if term.excluded else holds)
    return " AND ".join(conditions), values


def _on_target(term: OnTarget, rule: CountingRule, name: str) -> tuple[str, Any]:
    match term:
        case VerdictTerm(words=words):
            return f"{count_of(rule, 'verdict')} = ANY(CAST(:{name} AS text[]))", list(words)
        case CauseTerm(word=word):
            # Cases that are not counted have their cause in a separate column.
            cause = (
                f"CASE WHEN {count_of(ANYWHERE, 'total')} = '0' THEN not_counted_cause"
                f" ELSE {count_of(rule, 'cause')} END"
            )
            return f"{cause} = CAST(:{name} AS text)", word
        case CountTerm(column="unknown_placement"):
            return f"{count_of(ON_DEVICE, 'unknown')} <> '0'", None
        case CountTerm(column=column):
            return f"{column} > 0", None
        case RatioTerm(than=than, over=over):
            return f"ratio_to_cpu {'>' if over else '<'} CAST(:{name} AS float8)", than


def pattern(term: NameTerm) -> str:
    """The LIKE pattern for a name term. A word without a wildcard matches anywhere in the name."""
    bare = term.of == "bare" and "*" not in term.glob and "?" not in term.glob
    return like_pattern(f"*{term.glob}*" if bare else term.glob)
