"""The lines of statements. This module does no I/O."""

from __future__ import annotations

import ast
from bisect import bisect_right
from collections.abc import Sequence
from typing import NamedTuple


class StatementLines(NamedTuple):
    """The first and the last line of a statement."""

    first: int
    last: int
    """The last line of the statement itself, without the lines of a block inside it."""


def statements_of(content: bytes) -> list[StatementLines] | None:
    """The statements of a source, sorted by their first lines; None if the source cannot be parsed."""
    try:
        tree = ast.parse(content)
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return None
    return sorted(
        StatementLines(node.lineno, _last_line(node)) for node in ast.walk(tree) if isinstance(node, ast.stmt)
    )


def statement_at(line: int, statements: Sequence[StatementLines]) -> StatementLines | None:
    """The last statement that begins on a line or before it."""
    number = bisect_right(statements, line, key=lambda statement: statement.first)
    return statements[number - 1] if number else None


def _last_line(node: ast.stmt) -> int:
    body = getattr(node, "body", None)
    last: int = body[0].lineno - 1 if body else (node.end_lineno or node.lineno)
    return max(last, node.lineno)
