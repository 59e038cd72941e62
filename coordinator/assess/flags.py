"""Flags: parameters and fields that are off by default, and that select a part of the code. This module does no I/O.

A mode that is off by default runs only in programs that switch it on. So a call in such a mode matters little if no
code switches the mode on. A flag is off if its default is False (``sparse=False``) or, for a parameter of a function
outside of classes, None (``edges=None``). Flags are compared by their names, across all files: if a call passes
``sparse=True`` to any function, no flag with the name ``sparse`` counts as off.
"""

from __future__ import annotations

import ast
from collections.abc import Container, Iterator
from functools import lru_cache

from coordinator.assess.arguments import defaults_of
from coordinator.assess.sites import Flag

RECENT_FLAGS = 4096
"""The number of remembered flags."""
LONGEST_MODE = 32
"""The maximum length of a text that selects a mode. Longer texts are messages and descriptions. A large package passes
many of them."""


def name_of(node: ast.expr) -> str:
    """The name of the flag that an expression reads: ``sparse`` for ``sparse``, ``self._sparse`` and ``config.sparse``;
    empty for other expressions."""
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name.lstrip("_")
        case _:
            return ""


def flags_under(test: ast.expr, own_flags: Container[Flag]) -> Iterator[Flag]:
    """The flags that must be on if a condition holds. ``own_flags`` are the parameters around the condition that are
    off by default. All fields count as flags, because other files may define them."""
    match test:
        case ast.Name() if Flag(name_of(test)) in own_flags:
            yield Flag(name_of(test))
        case ast.Attribute():
            yield Flag(name_of(test))
        case ast.BoolOp(op=ast.And(), values=parts):
            for part in parts:
                yield from flags_under(part, own_flags)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield from flags_under_else(operand, own_flags)
        case ast.Compare(left=left, ops=[ast.Is() | ast.Eq()], comparators=[ast.Constant(value=True)]):
            yield from flags_under(left, own_flags)
        case ast.Compare(left=ast.Name() as left, ops=[ast.IsNot()], comparators=[ast.Constant(value=None)]):
            if (flag := Flag(name_of(left), is_none=True)) in own_flags:
                yield flag


def flags_under_else(test: ast.expr, own_flags: Container[Flag]) -> Iterator[Flag]:
    """The flags that must be on if a condition does not hold."""
    match test:
        case ast.BoolOp(op=ast.Or(), values=parts):
            for part in parts:
                yield from flags_under_else(part, own_flags)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield from flags_under(operand, own_flags)
        case ast.Compare(left=ast.Name() as left, ops=[ast.Is()], comparators=[ast.Constant(value=None)]):
            if (flag := Flag(name_of(left), is_none=True)) in own_flags:
                yield flag


def flags_of(arguments: ast.arguments, *, is_method: bool) -> Iterator[tuple[str, Flag]]:
    """The parameters of a function that are off by default, with their flags."""
    for parameter, default in defaults_of(arguments):
        match default:
            case ast.Constant(value=False):
                yield parameter.arg, Flag(parameter.arg.lstrip("_"))
            case ast.Constant(value=None) if not is_method:
                yield parameter.arg, Flag(parameter.arg.lstrip("_"), is_none=True)


def text_flag(name: str, text: str) -> Flag:
    """The flag for a mode that a text selects: ``pool="max"``."""
    return Flag(f'{name.lstrip("_")}="{text}"')


def flags_set(name: str, value: ast.expr, own_flags: Container[Flag]) -> Iterator[Flag]:
    """The flags that may be on after a flag with this name got a value: ``f(sparse=True)``, ``self.sparse = True``, or
    the default in ``def f(sparse=True)``.

    A flag of an instance may be set from outside, so ``f(edges=self.edges)`` may give a value to ``edges``. But if
    ``sparse`` is a flag that is off, then ``f(sparse=self.sparse)`` leaves ``sparse`` off.
    """
    flag_name = name.lstrip("_")
    if type(value) is ast.Constant and type(value.value) is str and len(value.value) <= LONGEST_MODE:
        yield text_flag(flag_name, value.value)
    if is_off(value, own_flags):
        return
    by_none, by_false = _flags_named(flag_name)
    yield by_none
    if not (type(value) is ast.Attribute and name_of(value) == flag_name):
        yield by_false


@lru_cache(RECENT_FLAGS)
def _flags_named(name: str) -> tuple[Flag, Flag]:
    """The flag with this name whose default is None, and the one whose default is False. Equal flags share one object,
    because a large package sets the same few flags a million times."""
    return Flag(name, is_none=True), Flag(name)


def is_off(value: ast.expr, own_flags: Container[Flag]) -> bool:
    """Whether a flag with this value is off, as long as the flags around it are off."""
    match value:
        case ast.Constant(value=None | False):
            return True
        case ast.Name(id=name):
            return any(flag in own_flags for flag in _flags_named(name.lstrip("_")))
        case ast.BoolOp(op=ast.And(), values=parts):
            return any(is_off(part, own_flags) for part in parts)
        case ast.Call(func=ast.Name(id="bool"), args=[part], keywords=[]):
            return is_off(part, own_flags)
        case _:
            return False
