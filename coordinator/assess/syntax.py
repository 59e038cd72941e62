"""Syntax: questions about expressions and statements that their syntax trees alone answer. This module does no I/O."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from coordinator.assess.arguments import defaults_of
from coordinator.assess.guards import guard_of
from coordinator.assess.operators import HOST_VALUES

TO_PYTHON = frozenset({"cpu", "item", "numpy", "tolist"})
"""Methods that move an array to the host."""
_TAKES_TO_PYTHON = frozenset({"print", *HOST_VALUES})
"""Python functions that move an array to the host."""
_LOGGER = re.compile(r"_*log(?:ger|ging)?_*", re.IGNORECASE)
_LOG_LEVELS = frozenset({"critical", "debug", "error", "exception", "info", "warning"})
_SUMMARIES = re.compile(r"add_(?:audio|figure|histogram|image|images|scalar|scalars|video)")
"""Matches the methods of TensorBoard's writer, which writes values into a file."""
_PARTS = frozenset({"values", "indices", "data"})
"""Attributes of a function's result that are a part of the result or the whole result, as in ``x.max(0).values``."""
_VIEWS = frozenset({"detach", "flatten", "ravel", "reshape", "squeeze", "unsqueeze", "view"})
"""Methods that return the same values in another shape."""
_SETTERS = frozenset({"setter", "deleter"})
"""The names of decorators of functions that set or delete a property: ``@scale.setter``."""
_SELECTING = frozenset({ast.Attribute, ast.Subscript, ast.Call})
"""The kinds of expressions that may select a part or make a view."""


def split_lines(source: str) -> list[str]:
    """The lines of a source in Python's syntax. ``str.splitlines`` also splits at form feeds and other characters."""
    return source.replace("\r\n", "\n").replace("\r", "\n").split("\n")


def selections(node: ast.expr) -> Iterator[ast.expr]:
    """An expression, and the values of which it is a part or a view: ``x.max(0)`` in ``x.max(0).values.detach()``."""
    while True:
        yield node
        if type(node) not in _SELECTING:
            return
        match node:
            case ast.Attribute(value=value, attr=name) if name in _PARTS:
                node = value
            case ast.Subscript(value=value, slice=ast.Constant() | ast.UnaryOp(operand=ast.Constant())):
                node = value
            case ast.Call(func=ast.Attribute(value=value, attr=name)) if name in _VIEWS:
                node = value
            case _:
                return


def local_names(targets: Sequence[ast.expr]) -> Sequence[str]:
    """The names that an assignment binds; empty if it also assigns to something else."""
    if len(targets) != 1:
        return ()
    match targets:
        case [ast.Name(id=name)]:
            return (name,)
        case [ast.Tuple(elts=parts) | ast.List(elts=parts)]:
            names = [part.id for part in parts if isinstance(part, ast.Name)]
            return names if len(names) == len(parts) else ()
        case _:
            return ()


def leaves(body: Sequence[ast.stmt]) -> bool:
    return bool(body) and isinstance(body[-1], ast.Return | ast.Raise | ast.Continue | ast.Break)


def test_behind(node: ast.AST) -> tuple[ast.expr, bool] | None:
    """The condition for the statements behind a statement, and whether the condition must hold or must not hold; None
    if the statements run in any case. For example, after ``if x is None: return`` the condition must not hold."""
    if type(node) is ast.If:
        if leaves(node.body):
            return (node.test, False)
        return (node.test, True) if leaves(node.orelse) else None
    return (node.test, True) if type(node) is ast.Assert else None


def test_of_case(subject: ast.expr, case: ast.match_case) -> ast.expr | None:
    """The condition ``subject == text`` or ``subject in (text, …)`` under which a ``match`` takes a case; None for
    other patterns."""
    patterns = case.pattern.patterns if isinstance(case.pattern, ast.MatchOr) else [case.pattern]
    options = [pattern.value for pattern in patterns if isinstance(pattern, ast.MatchValue)]
    if len(options) < len(patterns):
        return None
    operator, other = (ast.Eq(), options[0]) if len(options) == 1 else (ast.In(), ast.Tuple(options, ast.Load()))
    test = ast.Compare(subject, [operator], [other])
    return ast.fix_missing_locations(ast.copy_location(test, case.pattern))


class TextChoice(NamedTuple):
    """A condition that compares a value with texts."""

    value: str
    """The source of the value: ``pool`` for ``pool == "max"``."""
    texts: tuple[str, ...]
    is_equal: bool = True
    """Whether the condition holds for these texts, and not for all other texts."""


def choice_of(test: ast.expr) -> TextChoice | None:
    """The value that a condition compares with texts, and these texts: ``pool`` and ``max`` for ``pool == "max"`` and
    ``pool in ("max",)``. None if the condition depends on the device, or on something else."""
    if type(test) is not ast.Compare:
        return None  # Most conditions are of other kinds, and this comparison is much faster than a match statement.
    match test:
        case ast.Compare(
            left=ast.Name() | ast.Attribute() as value,
            ops=[ast.Eq() | ast.NotEq() as operator],
            comparators=[ast.Constant(value=str(text))],
        ) if guard_of(test) is None:
            return TextChoice(ast.unparse(value), (text,), isinstance(operator, ast.Eq))
        case ast.Compare(
            left=ast.Name() | ast.Attribute() as value,
            ops=[ast.In() | ast.NotIn() as operator],
            comparators=[ast.Set(elts=options) | ast.Tuple(elts=options) | ast.List(elts=options)],
        ) if options and all(map(is_text, options)) and guard_of(test) is None:
            return TextChoice(ast.unparse(value), tuple(texts(options)), isinstance(operator, ast.In))
        case _:
            return None


def default_texts(arguments: ast.arguments) -> Iterator[tuple[str, str]]:
    """The parameters whose defaults are texts, with their defaults."""
    for parameter, default in defaults_of(arguments):
        if isinstance(default, ast.Constant) and isinstance(default.value, str):
            yield parameter.arg, default.value


def with_text_keys(node: ast.Dict) -> Iterator[tuple[str, ast.expr]]:
    for key, value in zip(node.keys, node.values, strict=True):
        if isinstance(key, ast.Constant) and isinstance(key.value, str):
            yield key.value, value


def is_number(node: ast.expr | None) -> bool:
    """Whether a node is a literal number. A parameter like ``b1: ArrayLike = 0.9`` accepts an array but hardly ever
    gets one."""
    return isinstance(node, ast.Constant) and isinstance(node.value, int | float)


def is_text(node: ast.expr) -> bool:
    """Whether a node is a literal text. A value that is compared with a text (``label == "muon"``) is not an array."""
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def texts(nodes: Iterable[ast.expr]) -> Iterator[str]:
    """The literal texts among some nodes."""
    for node in nodes:
        match node:
            case ast.Constant(value=str(text)):
                yield text


def callee_of(decorator: ast.expr) -> ast.expr:
    """The function of a decorator with arguments, or the decorator itself."""
    return decorator.func if isinstance(decorator, ast.Call) else decorator


def last_name(node: ast.expr) -> str:
    """The last part of a dotted name; empty for other expressions."""
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


def is_setter(decorator: ast.expr) -> bool:
    """Whether a decorator has the form ``@scale.setter``."""
    return isinstance(decorator, ast.Attribute) and decorator.attr in _SETTERS


def is_partial(decorator: ast.expr) -> bool:
    """Whether a decorator has the form ``@partial(function, …)``."""
    callee = callee_of(decorator)
    return (callee.id if isinstance(callee, ast.Name) else getattr(callee, "attr", "")) == "partial"


def is_to_cpu(node: ast.Call) -> bool:
    """Whether a call is ``x.to("cpu")`` or ``x.to(device="cpu")``."""
    if not (isinstance(node.func, ast.Attribute) and node.func.attr == "to"):
        return False
    match node:
        case ast.Call(args=[ast.Constant(value="cpu"), *_]):
            return True
        case ast.Call(args=[], keywords=[ast.keyword("device", ast.Constant("cpu"))]):
            return True
        case _:
            return False


def writes_text(function: ast.expr) -> bool:
    """Whether a function takes values to Python or writes them as text: ``float``, ``print``, ``logger.info``,
    ``"{}".format``, ``writer.add_scalar``."""
    if isinstance(function, ast.Name):
        return function.id in _TAKES_TO_PYTHON
    if not isinstance(function, ast.Attribute):
        return False
    if function.attr == "format":
        return isinstance(function.value, ast.Constant) and isinstance(function.value.value, str)
    if function.attr in _LOG_LEVELS:
        return _LOGGER.fullmatch(last_name(function.value)) is not None
    return function.attr.startswith("add_") and _SUMMARIES.fullmatch(function.attr) is not None
