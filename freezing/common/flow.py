"""Data flow in an example: which statements and variables depend on a statement. Pure, from the syntax alone.

The analysis is conservative: in doubt, a value is left out rather than compared.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from types import ModuleType
from typing import Any

from runners.suite.examples import Statement
from runners.suite.source import bound_names

_IMPORTS = (ast.Import, ast.ImportFrom)
_CPU = re.compile(r"/?(device:)?cpu(:\d+)?", re.IGNORECASE)
"""The CPU's name as calls take it: ``cpu``, ``cpu:0``, ``/device:CPU:0``."""


def find_reached(
    statements: Sequence[Statement], sources: Collection[int], labels_with_value: Collection[str]
) -> set[str]:
    """Return the labels of all values that are computed from the values of these statements (``sources``).

    If a source assigns no variable and its value is not compared (not in ``labels_with_value``), it is assumed to
    change the variables that it reads.
    """
    return _spread(statements, sources, lambda statement: str(statement.place) not in labels_with_value)


def find_touched(statements: Sequence[Statement], sources: Collection[int]) -> set[str]:
    """Like ``find_reached``, but every source is assumed to change the variables that it reads."""
    return _spread(statements, sources, lambda statement: True)


def _spread(
    statements: Sequence[Statement], sources: Collection[int], changes: Callable[[Statement], bool]
) -> set[str]:
    labels: set[str] = set()
    variables: set[str] = set()
    for statement in statements:
        tree = ast.parse(statement.source)
        loads = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
        bound = bound_names(tree.body)
        if statement.place in sources:
            labels |= {str(statement.place), *bound}
            if not bound and changes(statement):
                labels |= loads & variables
        elif loads & labels:
            labels |= {str(statement.place), *bound}
        else:
            # A rebound name has a new value, which does not depend on the sources.
            labels -= bound
        if not all(isinstance(node, _IMPORTS) for node in tree.body):
            variables |= bound
    return labels


def asks_for_cpu(statements: Iterable[Statement]) -> bool:
    """Whether a statement passes the CPU's name to a call, so that it uses the CPU on every target."""
    return any(
        isinstance(value, ast.Constant) and isinstance(value.value, str) and _CPU.fullmatch(value.value)
        for statement in statements
        for node in ast.walk(ast.parse(statement.source))
        if isinstance(node, ast.Call)
        for value in (*node.args, *(keyword.value for keyword in node.keywords))
    )


def last_names(statement: Statement) -> Iterator[str]:
    """Yield every name and attribute that a statement reads, without the part before the last dot."""
    for node in ast.walk(ast.parse(statement.source)):
        if isinstance(node, ast.Attribute):
            yield node.attr
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            yield node.id


def places_that_use(
    statements: Sequence[Statement], target: Any, attribute: str | None, names: dict[str, Any]
) -> list[int]:
    """Return the places of statements that use the object ``target`` by any name, or an attribute ``attribute``."""

    def uses(tree: ast.AST) -> bool:
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute) and node.attr == attribute:
                return True
            if isinstance(node, (ast.Name, ast.Attribute)) and _resolve(node, names) is target:
                return True
        return False

    return [statement.place for statement in statements if uses(ast.parse(statement.source))]


def _resolve(node: ast.AST, names: dict[str, Any]) -> Any:
    """Return the object of a dotted name. Only modules and classes are looked into, since others may run code."""
    if isinstance(node, ast.Name):
        return names.get(node.id)
    if isinstance(node, ast.Attribute):
        owner = _resolve(node.value, names)
        if isinstance(owner, (ModuleType, type)):
            try:
                return getattr(owner, node.attr, None)
            except Exception:  # a module with lazy attributes may raise anything
                return None
    return None
