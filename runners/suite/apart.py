"""Apart: the expressions of an example's statement that are not the call of its function.

``shift(fft(x)).tolist()`` has three calls. Where ``shift`` is charted, its receiver and its arguments are computed
before it, and what is called on its result comes after. Each such expression becomes a function of its own, so a run
can pause the watch for it, and a traceback names it. Pure.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

ASIDE = "__aside__"
"""The name under which a run finds what evaluates an argument or a receiver before the call that takes it."""
AROUND = "__around__"
"""The name under which a run finds what evaluates the rest of an expression after the function's call in it."""
_VALUE = "__value__"
"""The parameter of such a rest: the result of the function's call."""
_SHOWING = frozenset({"print", "__shown__", "__moved__"})
"""The calls of the harness, which compute nothing."""
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
"""Code with names of its own, which is left as it is."""
_BINDING = (ast.NamedExpr, ast.Await, ast.Yield, ast.YieldFrom)
_COMPUTING = (ast.Call, ast.BinOp, ast.UnaryOp, ast.Compare, ast.Subscript)


def set_apart(tree: ast.Module, name: str, place: int) -> ast.Module:
    """The statement with all that is not the call of the function set apart, by the function's last name."""
    expressions = _Expressions(place)
    statement = _Rest(name, expressions).visit(tree)
    return ast.fix_missing_locations(ast.Module([*expressions.functions, *statement.body], type_ignores=[]))


def is_apart(scope: str) -> bool:
    """Whether the name of a function's code is that of an expression which is set apart."""
    return scope.startswith("__expression_")


def words_of(tree: ast.Module) -> dict[str, str]:
    """The source of each expression that was set apart, by the name of its function."""
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef) and is_apart(node.name)]
    returned = {function.name: function.body[0] for function in functions}
    return {name: ast.unparse(node.value or node) for name, node in returned.items() if isinstance(node, ast.Return)}


def named_in(tree: ast.AST) -> Iterator[str]:
    """The names that code speaks of. Those of arguments are the callee's, and in texts and comments nothing is used."""
    return _names_of(ast.walk(tree))


def read_by(tree: ast.AST) -> Iterator[str]:
    """The names whose values a statement reads."""
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
    """The functions made from the expressions of a statement; the statement's number is part of their names."""

    def __init__(self, place: int) -> None:
        self._place = place
        self.functions: list[ast.stmt] = []

    def add(self, parameters: str, expression: ast.expr) -> ast.Name:
        """Make a function that returns an expression, and give its name."""
        name = f"__expression_{self._place}_{len(self.functions) + 1}__"
        function = ast.parse(f"def {name}({parameters}): return None").body[0]
        assert isinstance(function, ast.FunctionDef)
        function.body = [ast.copy_location(ast.Return(expression), expression)]
        self.functions.append(ast.copy_location(function, expression))
        return ast.Name(name, ast.Load())


class _Arguments(ast.NodeTransformer):
    """Sets apart what the function's calls take, and what the calls around them take beside."""

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
    """Sets apart what an expression computes of the result of the function's call: the rest, after the call."""

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
        """The outermost call of the function; what is computed before it, beside what it takes itself, is added."""
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
    """Puts the parameters of a rest in place of the expressions whose values they are; ``but`` stays."""

    def __init__(self, expressions: Mapping[str, ast.expr], but: ast.expr | None = None) -> None:
        self._names = {id(node): name for name, node in expressions.items() if node is not but}

    def visit(self, node: ast.AST) -> Any:
        if id(node) in self._names:
            return ast.copy_location(ast.Name(self._names[id(node)], ast.Load()), node)
        return super().visit(node)


def _parts_in_order(node: ast.expr) -> list[ast.expr]:
    """The parts of an expression that are all evaluated, in the order in which Python does; none of any other kind."""
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
    """The nodes of an expression that are not in a call within it."""
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
    """Whether an expression computes something of more than numbers that are written there."""
    nodes = list(ast.walk(node))
    return any(isinstance(one, _COMPUTING) for one in nodes) and any(isinstance(one, ast.Name) for one in nodes)


def _binds(node: ast.AST) -> bool:
    return any(isinstance(one, _BINDING) for one in ast.walk(node))


def _names_read(node: ast.AST) -> ast.Tuple:
    return ast.Tuple([ast.Constant(name) for name in sorted(set(read_by(node)))], ast.Load())


def _call(name: str, *arguments: ast.expr) -> ast.Call:
    return ast.Call(ast.Name(name, ast.Load()), list(arguments), [])
