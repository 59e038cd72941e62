"""Flow: which statements of an example, and which of its variables, a call reaches. Pure, by syntax alone.

It errs on the side of reaching too much where that leaves a value out, and too little where that lets one in.
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
"""A device's name, as calls take it."""


def find_reached(
    statements: Sequence[Statement], sources: Collection[int], labels_with_value: Collection[str]
) -> set[str]:
    """The labels of all that is computed of what these statements give.

    A source that gives no value changes what it is called with.
    """
    return _spread(statements, sources, lambda statement: str(statement.place) not in labels_with_value)


def find_touched(statements: Sequence[Statement], sources: Collection[int]) -> set[str]:
    """The same, where any variable that a source is called with may be changed by it."""
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
            # What is bound anew is another value.
            labels -= bound
        if not all(isinstance(node, _IMPORTS) for node in tree.body):
            variables |= bound
    return labels


def asks_for_cpu(statements: Iterable[Statement]) -> bool:
    """Whether a statement calls something with the CPU's name: it wants that device, whatever the target."""
    return any(
        isinstance(value, ast.Constant) and isinstance(value.value, str) and _CPU.fullmatch(value.value)
        for statement in statements
        for node in ast.walk(ast.parse(statement.source))
        if isinstance(node, ast.Call)
        for value in (*node.args, *(keyword.value for keyword in node.keywords))
    )


def last_names(statement: Statement) -> Iterator[str]:
    """Every name and attribute that a statement reads, whatever stands before its last dot."""
    for node in ast.walk(ast.parse(statement.source)):
        if isinstance(node, ast.Attribute):
            yield node.attr
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            yield node.id


def places_that_use(
    statements: Sequence[Statement], target: Any, attribute: str | None, names: dict[str, Any]
) -> list[int]:
    """The places of statements that use an object by some name, or, of a member of a class, its attribute."""

    def uses(tree: ast.AST) -> bool:
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute) and node.attr == attribute:
                return True
            if isinstance(node, (ast.Name, ast.Attribute)) and _resolve(node, names) is target:
                return True
        return False

    return [statement.place for statement in statements if uses(ast.parse(statement.source))]


def _resolve(node: ast.AST, names: dict[str, Any]) -> Any:
    """The object behind a dotted name, through modules and classes alone: to look at others may compute something."""
    if isinstance(node, ast.Name):
        return names.get(node.id)
    if isinstance(node, ast.Attribute):
        owner = _resolve(node.value, names)
        if isinstance(owner, (ModuleType, type)):
            try:
                return getattr(owner, node.attr, None)
            except Exception:  # of a module that makes its attributes when they are asked for
                return None
    return None
