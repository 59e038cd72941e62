"""Names and docstrings keep to the field's language, as far as a program can tell."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from tests.each import check_each

ROOT = Path(__file__).resolve().parents[3]
SOURCES = [
    path
    for folder in ("protocol", "coordinator", "runners", "freezing")
    for path in sorted((ROOT / folder).rglob("*.py"))
]
RIDDLE = re.compile(r"(What|Whatever|Who|Whoever|Whose)\b(?!.*\?$)")
"""A docstring that begins so names no thing; a question may."""


def bound_in_loops(tree: ast.Module) -> Iterator[ast.Name]:
    """Every name that a loop or a comprehension binds."""
    for node in ast.walk(tree):
        if isinstance(node, ast.For | ast.AsyncFor | ast.comprehension):
            yield from (name for name in ast.walk(node.target) if isinstance(name, ast.Name))


def docstrings(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """The first lines of the docstrings of the module, its classes and functions, and of what stands under a name."""
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        for statement in body if isinstance(body, list) else ():
            match statement:
                case ast.Expr(value=ast.Constant(value=str(text))):
                    yield statement.lineno, text.strip().partition("\n")[0]


def test_a_loop_variable_says_what_it_holds_and_a_docstring_what_it_is_of() -> None:
    check_each(SOURCES, check_names_and_docstrings, name=lambda path: str(path.relative_to(ROOT)))


def check_names_and_docstrings(path: Path) -> None:
    tree = ast.parse(path.read_text())
    empty_names = [
        f"{name.lineno}: {name.id}" for name in bound_in_loops(tree) if name.id in ("each", "thing", "stuff")
    ]
    riddles = [f"{line}: {text}" for line, text in docstrings(tree) if RIDDLE.match(text)]
    assert not empty_names + riddles
