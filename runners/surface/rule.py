"""The rules of enumeration: which names are public, which name of an object is canonical, and what is deprecated. Does
no I/O."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Sequence

_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")
_LONGEST_SIGNATURE = 1000
_THING = "(?:function|class|method|module|api|op|symbol|property|transform)"
_PARAGRAPHS = 4
"""The number of paragraphs at the beginning of a docstring in which a sentence about deprecation is searched."""


def is_public(name: str) -> bool:
    """Whether no part of a dotted name begins with an underscore."""
    return all(part and not part.startswith("_") for part in name.split("."))


def canonical(names: Iterable[str]) -> str:
    """Choose the canonical name of an object: the name with the fewest parts, then the shortest, then the
    alphabetically first."""
    return min(names, key=lambda name: (name.count("."), len(name), name))


def within(module: str | None, homes: Sequence[str]) -> bool:
    """Whether a module belongs to one of the packages in ``homes``."""
    return module is not None and module.partition(".")[0] in homes


def private_imports(source: str | bytes, module: str, *, is_package: bool) -> set[str]:
    """Return the names that a module imports only for its own use.

    As for type checkers, a name counts as exported if it is imported by ``import name as name`` or by a star. A package
    also exports names that it imports from its own submodules.
    """
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return set()
    own: set[str] = set()
    public_names: set[str] = set()
    for statement in _statements(tree.body):
        if isinstance(statement, ast.Import):
            for alias in statement.names:
                bound = alias.asname or alias.name.partition(".")[0]
                (public_names if alias.asname == alias.name else own).add(bound)
        elif isinstance(statement, ast.ImportFrom):
            below = is_package and _is_below(statement, module)
            for alias in statement.names:
                (public_names if below or alias.asname == alias.name else own).add(alias.asname or alias.name)
        else:
            public_names |= _bound(statement)
    return own - public_names - {"*"}


def _statements(body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield every statement that binds names of the module, including statements in branches."""
    for statement in body:
        yield statement
        for part in ("body", "orelse", "finalbody"):
            if not isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                yield from _statements(getattr(statement, part, ()))
        for handler in getattr(statement, "handlers", ()):
            yield from _statements(handler.body)


def _is_below(statement: ast.ImportFrom, package: str) -> bool:
    if statement.level:
        return statement.level == 1
    return statement.module is not None and f"{statement.module}.".startswith(f"{package}.")


def _bound(statement: ast.stmt) -> set[str]:
    if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return {statement.name}
    targets = statement.targets if isinstance(statement, ast.Assign) else [getattr(statement, "target", None)]
    return {node.id for target in targets if target is not None for node in ast.walk(target) if type(node) is ast.Name}


def is_deprecated(doc: str | None, name: str) -> bool:
    """Whether the documentation deprecates the object itself. Deprecated arguments do not count."""
    if not doc:
        return False
    if re.search(r"^[ \t]*\.\. deprecated::", doc, re.MULTILINE) or "(deprecated)" in doc.strip().partition("\n")[0]:
        return True
    start = " ".join(" ".join(re.split(r"\n\s*\n", doc.strip())[:_PARAGRAPHS]).split())
    own = re.escape(name.rpartition(".")[2])
    subject = rf"(?:this {_THING}|`*(?:\w+\.)*{own}(?:\([^)]*\))?`*)"
    pattern = rf"(?:^|[.:!`] ){subject} (?:is|has been|was|will be) (?:now )?deprecated"
    return bool(re.search(pattern, start, re.IGNORECASE))


def told_signature(text: str | None, doc: str | None, name: str) -> str | None:
    """Return the signature that Python reports or, if there is none, the signature at the beginning of the
    documentation. None if both are missing."""
    if text is None:
        own = re.escape(name.rpartition(".")[2])
        match = re.match(rf"\s*(?:[\w.]*\.)?{own}(\(.*?\)(?: ?-> ?[\w.\[\], ]+)?)\s*(?:\n|$)", doc or "")
        if match is None:
            return None
        text = match[1]
    return _ADDRESS.sub("", text)[:_LONGEST_SIGNATURE]
