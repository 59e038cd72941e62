"""Separates the call of the function under test from the other expressions of a statement.

``shift(fft(x)).tolist()`` has three calls. If ``shift`` is the function under test, ``fft(x)`` is computed before it
and ``.tolist()`` after it. Each such expression becomes a function of its own, so that a run can pause the watch for
it, and a traceback names it. Pure.

Below, the functions that are made from expressions are called *helpers*, to tell them from the function under test.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

ASIDE = "__aside__"
"""Generated code calls this name to evaluate an argument or receiver before the function's call."""
AROUND = "__around__"
"""Generated code calls this name to evaluate the rest of an expression after the function's call."""
_VALUE = "__value__"
"""The parameter of a helper that holds the result of the function's call."""
_SHOWING = frozenset({"print", "__shown__", "__moved__"})
"""``print``, and functions that the harness adds to examples. Their calls compute nothing."""
_SCOPES = (
    ast.FunctionDef,
    ast.AsyncFunctionDef,
    ast.ClassDef,
    ast.Lambda,
    ast.ListComp,
    ast.SetComp,
    ast.DictComp,
    ast.GeneratorExp,
)
"""Code with a scope of its own. It is not changed."""
_BINDING = (ast.NamedExpr, ast.Await, ast.Yield, ast.YieldFrom)
_COMPUTING = (ast.Call, ast.BinOp, ast.UnaryOp, ast.Compare, ast.Subscript)


def set_apart(tree: ast.Module, name: str, place: int) -> ast.Module:
    """Rewrite a statement so that every expression except the function's call becomes a helper.

    ``name`` is the function's last name, and ``place`` the position of the statement in the example.
    """
    expressions = _Expressions(place)
    statement = _Rest(name, expressions).visit(tree)
    return ast.fix_missing_locations(ast.Module([*expressions.functions, *statement.body], type_ignores=[]))


def is_apart(scope: str) -> bool:
    """Whether the name of a code object is the name of a helper."""
    return scope.startswith("__expression_")


def words_of(tree: ast.Module) -> dict[str, str]:
    """Return the source of the expression of each helper, by the helper's name."""
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef) and is_apart(node.name)]
    returned = {function.name: function.body[0] for function in functions}
    return {name: ast.unparse(node.value or node) for name, node in returned.items() if isinstance(node, ast.Return)}


def named_in(tree: ast.AST) -> Iterator[str]:
    """Yield the names and attributes that code uses. Names of keyword arguments, texts and comments do not count."""
    return _names_of(ast.walk(tree))


def read_by(tree: ast.AST) -> Iterator[str]:
    """Yield the names whose values a statement reads."""
    for node in ast.walk(tree):
        if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            yield node.target.id
        elif isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Store):
            yield node.id


def _names_of(nodes: Iterable[ast.AST]) -> Iterator[str]:
    for node in nodes:
        if isinstance(node, ast.Name):
            yield node.id
        elif isinstance(node, ast.Attribute):
            yield node.attr
        elif isinstance(node, ast.alias):
            yield node.name.rpartition(".")[2]
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            yield node.name


class _Expressions:
    """The helpers made from the expressions of a statement. Their names contain the number of the statement."""

    def __init__(self, place: int) -> None:
        self._place = place
        self.functions: list[ast.stmt] = []

    def add(self, parameters: str, expression: ast.expr) -> ast.Name:
        """Make a helper that evaluates an expression. Returns the helper's name as a syntax node."""
        name = f"__expression_{self._place}_{len(self.functions) + 1}__"
        function = ast.parse(f"def {name}({parameters}): return None").body[0]
        assert isinstance(function, ast.FunctionDef)
        function.body = [ast.copy_location(ast.Return(expression), expression)]
        self.functions.append(ast.copy_location(function, expression))
        return ast.Name(name, ast.Load())


class _Arguments(ast.NodeTransformer):
    """Makes helpers from the arguments of the function's calls, and from other arguments of the calls around them."""

    def __init__(self, name: str, expressions: _Expressions) -> None:
        self._name = name
        self._expressions = expressions

    def visit(self, node: ast.AST) -> Any:
        return node if isinstance(node, _SCOPES) else super().visit(node)

    def visit_Call(self, node: ast.Call) -> ast.Call:
        if self._name in named_in(node):
            if isinstance(node.func, ast.Attribute) and node.func.attr == self._name:
                node.func.value = self.apart(node.func.value)
            else:
                node.func = self.visit(node.func)
            node.args = [self.apart(argument) for argument in node.args]
            for keyword in node.keywords:
                keyword.value = self.apart(keyword.value)
        return node

    def apart(self, argument: ast.expr) -> ast.expr:
        if isinstance(argument, ast.Starred):
            argument.value = self.apart(argument.value)
            return argument
        if self._name in named_in(argument):
            expression: ast.expr = self.visit(argument)
            return expression
        if not _computes(argument) or isinstance(argument, ast.Lambda) or _binds(argument):
            return argument
        function = self._expressions.add("", argument)
        return ast.copy_location(_call(ASIDE, _names_read(argument), function), argument)


class _Rest(ast.NodeTransformer):
    """Makes a helper from the rest: the part of an expression that uses the result of the function's call."""

    def __init__(self, name: str, expressions: _Expressions) -> None:
        self._name = name
        self._expressions = expressions
        self._arguments = _Arguments(name, expressions)

    def visit(self, node: ast.AST) -> Any:
        if isinstance(node, _SCOPES):
            return node
        if isinstance(node, ast.expr) and isinstance(getattr(node, "ctx", ast.Load()), ast.Load):
            return self._expression(node)
        return super().visit(node)

    def _expression(self, node: ast.expr) -> ast.expr:
        if self._name not in named_in(node):
            return node
        if isinstance(node, (ast.Tuple, ast.List)):
            node.elts = list(map(self._member, node.elts))
            return node
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _SHOWING:
            node.args = list(map(self._member, node.args))
            return node
        earlier: list[ast.expr] = []
        call = self._call_of(node, earlier)
        has_rest = call is not None and call is not node and not _binds(node)
        if call is None or not has_rest or self._name in _names_of(_nodes_beside(node, call)):
            expression: ast.expr = self._arguments.visit(node)
            return expression
        names = _names_read(node)
        parameters = {_VALUE: call, **{f"__earlier_{number}__": part for number, part in enumerate(earlier, 1)}}
        earlier_values = ast.Tuple(list(map(self._arguments.apart, earlier)), ast.Load())
        rest = _Replacing(parameters).visit(self._arguments.visit(_Replacing(parameters, but=call).visit(node)))
        function = self._expressions.add(", ".join(parameters), rest)
        return ast.copy_location(_call(AROUND, names, function, earlier_values, call), node)

    def _member(self, node: ast.expr) -> ast.expr:
        return self._expression(node) if self._name in named_in(node) else self._arguments.apart(node)

    def _call_of(self, node: ast.expr, earlier: list[ast.expr]) -> ast.Call | None:
        """Return the outermost call of the function, or None.

        Adds to ``earlier`` the parts that are computed before the call and are not its arguments.
        """
        if isinstance(node, ast.Call) and _last_name(node.func) == self._name:
            return node
        for part in _parts_in_order(node):
            if self._name in named_in(part):
                return self._call_of(part, earlier)
            if _computes(part):
                if isinstance(part, ast.Starred):
                    return None
                earlier.append(part)
        return None


class _Replacing(ast.NodeTransformer):
    """Replaces expressions in a helper with the parameters that hold their values. The expression ``but`` stays."""

    def __init__(self, expressions: Mapping[str, ast.expr], but: ast.expr | None = None) -> None:
        self._names = {id(node): name for name, node in expressions.items() if node is not but}

    def visit(self, node: ast.AST) -> Any:
        if id(node) in self._names:
            return ast.copy_location(ast.Name(self._names[id(node)], ast.Load()), node)
        return super().visit(node)


def _parts_in_order(node: ast.expr) -> list[ast.expr]:
    """Return the parts of an expression in the order of evaluation.

    Returns no parts for kinds of expressions in which some parts may not be evaluated.
    """
    if isinstance(node, ast.Call):
        return [node.func, *node.args, *(keyword.value for keyword in node.keywords)]
    if isinstance(node, (ast.Attribute, ast.Starred, ast.Subscript)):
        return [node.value]
    if isinstance(node, ast.BinOp):
        return [node.left, node.right]
    if isinstance(node, ast.UnaryOp):
        return [node.operand]
    if isinstance(node, ast.Compare):
        return [node.left, node.comparators[0]]
    return []


def _nodes_beside(node: ast.AST, call: ast.Call) -> Iterator[ast.AST]:
    """Yield the nodes of an expression that are outside this call."""
    if node is call:
        return
    yield node
    for child in ast.iter_child_nodes(node):
        yield from _nodes_beside(child, call)


def _last_name(function: ast.expr) -> str | None:
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else None


def _computes(node: ast.AST) -> bool:
    """Whether an expression computes something from at least one name, and not only from literals."""
    nodes = list(ast.walk(node))
    return any(isinstance(one, _COMPUTING) for one in nodes) and any(isinstance(one, ast.Name) for one in nodes)


def _binds(node: ast.AST) -> bool:
    return any(isinstance(one, _BINDING) for one in ast.walk(node))


def _names_read(node: ast.AST) -> ast.Tuple:
    return ast.Tuple([ast.Constant(name) for name in sorted(set(read_by(node)))], ast.Load())


def _call(name: str, *arguments: ast.expr) -> ast.Call:
    return ast.Call(ast.Name(name, ast.Load()), list(arguments), [])
