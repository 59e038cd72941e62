"""Reads those parts of a suite's source that can change a result: no comments, docstrings, annotations or layout.

``SourceModule`` finds the syntax tree of a function and the statements that bind a name of the module. ``syntax_text``
turns a tree into a text that is the same in every version of Python, and ``free_names`` lists the names that a tree
takes from outside it. This module imports and executes nothing of what it reads.
"""

from __future__ import annotations

import ast
import linecache
from collections import defaultdict
from collections.abc import Iterable, Iterator
from types import CodeType, FunctionType
from typing import Any

_UNDECISIVE = frozenset({"annotation", "ctx", "kind", "returns", "type_comment", "type_params"})
"""The fields of a syntax node that have no effect on a result, or exist only in some versions of Python."""
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_SCOPES = (*_FUNCTIONS, ast.ClassDef, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


class SourceModule:
    """The syntax tree of one module, with its functions by line and the statements that bind each name."""

    def __init__(self, name: str, path: str, namespace: dict[str, Any] | None = None) -> None:
        lines = linecache.getlines(path, namespace)
        if not lines:
            raise OSError(
                f"the source of {name} is not at {path}, but the revision of a suite is computed from it: "
                "install the package with its source files"
            )
        self.name = name
        self.path = path
        self.bindings: dict[str, list[ast.AST]] = defaultdict(list)
        self.classes: dict[str, list[ast.AST]] = defaultdict(list)
        self._functions: dict[int, list[ast.AST]] = defaultdict(list)
        tree = ast.parse("".join(lines))
        self._imports = [
            node
            for node in tree.body
            if isinstance(node, (ast.Import, ast.ImportFrom)) and getattr(node, "module", None) != "__future__"
        ]
        for statement in tree.body:
            self._bind(statement)
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                self.classes[node.name].append(node)
            elif isinstance(node, _FUNCTIONS):
                decorators = getattr(node, "decorator_list", ())
                self._functions[decorators[0].lineno if decorators else node.lineno].append(node)

    def function(self, function: FunctionType) -> ast.AST:
        """Return the tree of a function of this module. Of several on one line, return the one with the same code."""
        code = function.__code__
        candidates = [
            node
            for node in self._functions[code.co_firstlineno]
            if getattr(node, "name", "<lambda>") == code.co_name and _takes(node, code)
        ]
        if len(candidates) > 1:
            candidates = [node for node in candidates if _same_code(self._compile_lambda(node, code), code)]
        if not candidates:
            raise OSError(
                f"{function.__qualname__} is not at line {code.co_firstlineno} of {self.path}: "
                "the file has changed since it was imported, so start again"
            )
        return candidates[0]

    def _compile_lambda(self, node: Any, like: CodeType) -> CodeType:
        """Compile a lambda inside a function that has the lambda's free variables as parameters."""
        names = [ast.arg(arg=name) for name in like.co_freevars]
        arguments = ast.arguments(posonlyargs=[], args=names, kwonlyargs=[], kw_defaults=[], defaults=[])
        around = ast.FunctionDef(name="around", args=arguments, body=[ast.Return(value=node)], decorator_list=[])
        around.type_params = []  # type: ignore[attr-defined]  # read by Python 3.12 and later
        # Python compiles attribute access differently for imported names.
        tree = ast.Module(body=[*self._imports, around], type_ignores=[])
        code = compile(ast.fix_missing_locations(tree), like.co_filename, "exec")
        for _ in range(2):
            code = next(constant for constant in code.co_consts if isinstance(constant, CodeType))
        return code

    def _bind(self, statement: ast.AST) -> None:
        nested_statements = [
            child for field in ("body", "orelse", "finalbody", "handlers") for child in getattr(statement, field, ())
        ]
        if nested_statements and not isinstance(statement, (*_FUNCTIONS, ast.ClassDef)):
            # Only the header: the nested statements bind names of their own.
            header = [child for child in children(statement) if child not in nested_statements]
            for child in header:
                for name in bound_names([child]):
                    self.bindings[name] += header
            for child in nested_statements:
                self._bind(child)
            return
        for name in bound_names([statement]) | _changed_names(statement):
            self.bindings[name].append(statement)


def syntax_text(node: Any) -> str:
    """Write a tree as a text without positions. Every version of Python writes the same text for the same source."""
    if isinstance(node, ast.Constant):
        return f"{type(node.value).__name__}:{node.value!r}"
    if isinstance(node, ast.JoinedStr):
        return f"JoinedStr({','.join(_pieces(node))})"
    if isinstance(node, ast.AST):
        parts = (
            f"{field}={syntax_text(value)}"
            for field, value in ast.iter_fields(node)
            if field not in _UNDECISIVE and value is not None and value != []
        )
        return f"{type(node).__name__}({','.join(parts)})"
    if isinstance(node, list):
        return f"[{','.join(syntax_text(member) for member in node if not _is_docstring(member))}]"
    return repr(node)


def _pieces(node: ast.JoinedStr) -> Iterator[str]:
    """Yield the parts of an f-string, with adjacent texts joined: versions of Python split them differently."""
    text = ""
    for value in node.values:
        if isinstance(value, ast.Constant):
            text += str(value.value)
            continue
        if text:
            yield repr(text)
        text = ""
        yield syntax_text(value)
    if text:
        yield repr(text)


def _is_docstring(node: Any) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def children(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the direct children of a node that can change a result."""
    for field, value in ast.iter_fields(node):
        if field in _UNDECISIVE:
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST) and not _is_docstring(child):
                yield child


def free_names(node: ast.AST, *, defaults: bool = True) -> frozenset[str]:
    """Return the names that a tree takes from outside it, with their attributes: ``np.linalg.inv``, ``rounded``.

    With ``defaults=False``, names in a function's default values are left out: the caller has the values themselves.
    """
    around: list[ast.AST] = []
    inside: Iterable[ast.AST] = [node]
    parameters: set[str] = set()
    if isinstance(node, _FUNCTIONS):
        arguments = node.args
        around = list(getattr(node, "decorator_list", ()))
        if defaults:
            around += [*arguments.defaults, *filter(None, arguments.kw_defaults)]
        declarations = [
            *arguments.posonlyargs,
            *arguments.args,
            *arguments.kwonlyargs,
            arguments.vararg,
            arguments.kwarg,
        ]
        parameters = {argument.arg for argument in declarations if argument is not None}
        inside = node.body if isinstance(node.body, list) else [node.body]
    elif isinstance(node, ast.ClassDef):
        around = [*node.bases, *node.keywords, *node.decorator_list]
        inside = node.body
    elif isinstance(node, _SCOPES):
        inside = list(children(node))
    inside = list(inside)
    used_names: set[str] = set()
    nested_names: set[str] = set()
    outer: set[str] = set()
    for child in _in_scope(inside):
        if isinstance(child, _SCOPES):
            nested_names |= free_names(child)
        elif isinstance(child, (ast.Global, ast.Nonlocal)):
            outer.update(child.names)
        elif (name := _dotted(child)) is not None:
            used_names.add(name)
    bound = (bound_names(inside) | parameters) - outer
    candidates = used_names if isinstance(node, ast.ClassDef) else used_names | nested_names
    free = {name for name in candidates if name.partition(".")[0] not in bound}
    # Methods do not see the names in the body of their class.
    free |= nested_names if isinstance(node, ast.ClassDef) else set()
    return frozenset(free.union(*(free_names(other) for other in around)))


def bound_names(nodes: Iterable[ast.AST]) -> set[str]:
    """Return the names that these nodes bind in their own scope."""
    bound: set[str] = set()
    for node in _in_scope(nodes):
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            bound.add(node.id)
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            bound.update(alias.asname or alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ExceptHandler) or type(node).__name__ in ("MatchAs", "MatchStar"):
            bound.add(getattr(node, "name", None) or "")
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            bound.add(node.name)
    return bound - {""}


def _changed_names(statement: ast.AST) -> set[str]:
    """Return the names whose objects a statement changes: ``table["a"] = 1``, ``table.update(other)``."""
    targets: list[ast.AST] = []
    if isinstance(statement, ast.Assign):
        targets = [target.value for target in statement.targets if isinstance(target, (ast.Subscript, ast.Attribute))]
    elif isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        callee = statement.value.func
        targets = [callee.value] if isinstance(callee, ast.Attribute) else []
    return {node.id for node in targets if isinstance(node, ast.Name)}


def _in_scope(nodes: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """Yield every node in the scope of these nodes. Nested scopes are yielded but not entered."""
    pending = list(nodes)
    while pending:
        node = pending.pop()
        yield node
        if not isinstance(node, _SCOPES) and _dotted(node) is None:
            pending.extend(children(node))


def _dotted(node: ast.AST) -> str | None:
    """Return a name that is read, with its attributes (``np.linalg.inv``), or None for any other node."""
    attributes: list[str] = []
    while isinstance(node, ast.Attribute):
        attributes.append(node.attr)
        node = node.value
    if isinstance(node, ast.Name) and (attributes or isinstance(node.ctx, ast.Load)):
        return ".".join([node.id, *reversed(attributes)])
    return None


def _takes(node: Any, code: CodeType) -> bool:
    """Whether a function has the same parameters as the code, which is cheaper to check than compiling it."""
    arguments = node.args
    names = [argument.arg for argument in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)]
    return tuple(names) == code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]


def _same_code(one: CodeType, other: CodeType) -> bool:
    attributes = ("co_code", "co_names", "co_varnames", "co_freevars", "co_cellvars")
    if any(getattr(one, name) != getattr(other, name) for name in attributes):
        return False
    return len(one.co_consts) == len(other.co_consts) and all(map(_same_constant, one.co_consts, other.co_consts))


def _same_constant(one: Any, other: Any) -> bool:
    if isinstance(one, CodeType) and isinstance(other, CodeType):
        return _same_code(one, other)
    # The type too: True, 1 and 1.0 are equal.
    return type(one) is type(other) and repr(one) == repr(other)
