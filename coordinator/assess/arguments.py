"""The arguments of a call, as far as its source shows them: their number, literals and dtypes; and the defaults of a
function's parameters. This module does no I/O."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

from coordinator.assess.values import Items, Thing, is_mask
from coordinator.catalogue.usage.resolver import OTHER, Binding
from coordinator.results.conditions import UNKNOWN_VALUE, CallSite

DTYPES = frozenset(
    """bfloat16 bool bool_ cdouble cfloat complex128 complex32 complex64 double float float16 float32 float64
    float8_e4m3fn float8_e5m2 half int int16 int32 int4 int64 int8 long short uint16 uint32 uint64 uint8""".split()  # noqa: SIM905
)
DTYPE_NAMES: Mapping[str, str] = {
    "bool_": "bool", "cdouble": "complex128", "cfloat": "complex64", "double": "float64", "float": "float32",
    "half": "float16", "int": "int32", "long": "int64", "short": "int16",
}  # fmt: skip
BASIC = "basic"
"""The kind of an index without arrays."""
USUAL_DTYPE = "float32"
MOST_SHARED_CALLS = 10_000
_NO_LITERALS = frozenset({ast.Name, ast.Attribute, ast.Call, ast.BinOp, ast.Subscript})
"""The most frequent kinds of expressions that are no literals."""
CASTS = frozenset({"half", "float", "double", "bfloat16", "long", "int", "short", "bool"})
"""Methods of PyTorch's arrays that are named after the dtype that they return."""


def parameter_names(arguments: ast.arguments) -> tuple[str, ...]:
    return tuple(argument.arg for argument in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs))


def index_kind(node: ast.expr, value: Binding) -> str:
    """``basic`` for an index that has only numbers and slices; otherwise an empty string, because the kind is
    unknown."""
    parts = node.elts if isinstance(node, ast.Tuple) else [node]
    values = value.values if isinstance(value, Items) and len(value.values) == len(parts) else [value] * len(parts)
    plain = all(
        isinstance(part, ast.Slice | ast.Constant)
        or (isinstance(part, ast.UnaryOp) and isinstance(part.operand, ast.Constant))
        or getattr(part, "attr", "") == "newaxis"
        or part_value is OTHER
        for part, part_value in zip(parts, values, strict=True)
    )
    return BASIC if plain else ""


def index_dtypes(kind: str, array: Binding, index: Binding) -> set[str]:
    """The dtypes that decide with which cases an indexing call is compared.

    They are the dtypes of the index, because a mask selects elements in another way than integers do, whatever the
    array's dtype is. An index without arrays has no dtype, so the array's dtype is used. If the array's dtype is bool,
    as in ``mask[:, None]``, the usual dtype is used instead.
    """
    if kind != BASIC:
        parts = index.values if isinstance(index, Items) else (index,)
        return dtypes_of(parts) | ({"bool"} if any(map(is_mask, parts)) else set())
    return dtypes_of((array,)) - {"bool"} or {USUAL_DTYPE}


def call_site(node: ast.Call, positional: Sequence[Binding], keywords: Mapping[str, Binding]) -> CallSite | None:
    if "**" in keywords:
        return None
    arguments: dict[int, Any] = {}
    for number, argument in enumerate(node.args, 1):
        if type(argument) is ast.Starred:
            return None
        if type(argument) not in _NO_LITERALS:
            value = _literal(argument)
            if value is not UNKNOWN_VALUE:
                arguments[number] = value
    if not keywords and not node.keywords and not any(isinstance(value, list) for value in arguments.values()):
        # With the type, because True equals 1.
        return _plain_call(len(positional), *((number, type(value), value) for number, value in arguments.items()))
    options = {keyword.arg: _literal(keyword.value) for keyword in node.keywords if keyword.arg is not None}
    return CallSite(len(positional), options, arguments)


@lru_cache(maxsize=MOST_SHARED_CALLS)
def _plain_call(positional: int, *arguments: tuple[int, type[Any], Any]) -> CallSite:
    """A call without keywords and lists. Most calls are of this form, so equal calls share one object."""
    return CallSite(positional, {}, {number: value for number, _, value in arguments})


def _literal(node: ast.expr) -> Any:
    """The value of a literal, as a JSON type. ``ast.literal_eval`` is not used, because each of its calls leaves
    functions in memory."""
    if type(node) in _NO_LITERALS:
        return UNKNOWN_VALUE
    match node:
        case ast.Constant(value=None | bool() | int() | float() | str()):
            return node.value
        case ast.List() | ast.Tuple():
            parts = [_literal(part) for part in node.elts]
            return UNKNOWN_VALUE if any(part is UNKNOWN_VALUE for part in parts) else parts
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as number)):
            return UNKNOWN_VALUE if isinstance(number, bool) else -number
        case ast.UnaryOp(op=ast.UAdd(), operand=ast.Constant(value=int() | float() as number)):
            return UNKNOWN_VALUE if isinstance(number, bool) else number
        case _:
            return UNKNOWN_VALUE


def dtype_of(value: Binding) -> str | None:
    """The dtype for a framework's name such as ``torch.float16``; None if the name is not a dtype."""
    if type(value) is not str or value.count(".") > 2:
        return None
    last = value.rpartition(".")[2]
    return DTYPE_NAMES.get(last, last) if last in DTYPES else None


def first_dtype(values: Iterable[Binding]) -> str | None:
    """The first of the values that is the name of a dtype, as a dtype."""
    for value in values:
        if type(value) is str and (dtype := dtype_of(value)) is not None:
            return dtype
    return None


def dtypes_of(values: Iterable[Binding]) -> set[str]:
    dtypes = set[str]()
    for value in values:
        if isinstance(value, (Thing, str)):
            dtype = value.dtype if isinstance(value, Thing) else dtype_of(value)
            if dtype is not None:
                dtypes.add(dtype)
    return dtypes


def parameters_with_defaults(arguments: ast.arguments) -> Iterator[tuple[ast.arg, ast.expr | None]]:
    """The parameters of a function in their order, each with its default; None if it has no default."""
    positional = [*arguments.posonlyargs, *arguments.args]
    defaults = [None] * (len(positional) - len(arguments.defaults)) + list(arguments.defaults)
    return zip([*positional, *arguments.kwonlyargs], [*defaults, *arguments.kw_defaults], strict=True)


def defaults_of(arguments: ast.arguments) -> Iterator[tuple[ast.arg, ast.expr]]:
    """The parameters with defaults, and their defaults. Most functions have none, and this is the fastest test."""
    if not arguments.defaults and not arguments.kw_defaults:
        return iter(())
    return ((parameter, default) for parameter, default in parameters_with_defaults(arguments) if default is not None)
