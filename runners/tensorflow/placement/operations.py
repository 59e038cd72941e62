"""Watches the operations that TensorFlow executes: those started from Python, in any thread, and those in function
bodies.

All eager execution passes through three functions of TensorFlow's binding, so these are watched. TensorFlow's own op
callbacks cannot be used, because they belong to one thread. Operations inside a function body do not pass through these
functions. They are read, with their devices, from the function's definition.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from tensorflow.python import pywrap_tfe
from tensorflow.python.eager import context
from tensorflow.python.framework import dtypes, ops

NoteOperation = Callable[[str, "list[Any]", "list[Any]"], None]
"""A callback for each operation that returned: its type or function name, its input arrays and its result arrays."""

_ENTRY_POINTS = {"TFE_Py_FastPathExecute": 1, "TFE_Py_Execute": 2, "TFE_Py_ExecuteCancelable": 2}
"""The functions that start eager operations, with the position of the argument that contains the operation's name."""

IS_INITIALIZED, READ = "VarIsInitializedOp", "ReadVariableOp"

WITHOUT_WORK = frozenset(
    {
        *("Const", "Placeholder", "PlaceholderWithDefault", "_Arg", "_Retval"),
        *("NoOp", "Identity", "IdentityN", "StopGradient", "PreventGradient"),
        *("VarHandleOp", IS_INITIALIZED, READ, "AssignVariableOp", "DestroyResourceOp"),
        *("VariableV2", "IsVariableInitialized"),
        *("Shape", "ShapeN", "Size", "Rank"),
    }
)
"""Operations that store, name or move values, or read their shape, without computing."""

PICKS = frozenset({"StridedSlice", "Slice", "Gather", "GatherV2", "GatherNd", "Unpack", "Split", "SplitV"})
"""Operations that may pick a single number out of an array."""

CALLS = ("PartitionedCall", "StatefulPartitionedCall")
MUST_COMPILE = "_XlaMustCompile"
_NUMBERS = frozenset({1, 2, 8, 14, 18, 19})
"""The enumeration values of ``DT_FLOAT``, ``DOUBLE``, ``COMPLEX64``, ``BFLOAT16``, ``COMPLEX128`` and ``HALF``."""


@contextmanager
def watch_operations(note: NoteOperation) -> Iterator[None]:
    """Call ``note`` for every eager operation in any thread when it returns."""
    originals = {name: getattr(pywrap_tfe, name) for name in _ENTRY_POINTS}
    for name, place in _ENTRY_POINTS.items():
        setattr(pywrap_tfe, name, _noting(originals[name], place, note))
    try:
        yield
    finally:
        for name, original in originals.items():
            setattr(pywrap_tfe, name, original)


def _noting(execute: Callable[..., Any], place: int, note: NoteOperation) -> Callable[..., Any]:
    def execute_and_note(*arguments: Any) -> Any:
        result = execute(*arguments)
        name = arguments[place]
        inputs = [part for part in _arrays(arguments[place + 1 :]) if isinstance(part, ops.EagerTensor)]
        note(name.decode() if isinstance(name, bytes) else name, inputs, list(_arrays(result)))
        return result

    return execute_and_note


def _arrays(result: Any) -> Iterator[Any]:
    if isinstance(result, (list, tuple)):
        for part in result:
            yield from _arrays(part)
    elif result is not None:
        yield result


@dataclass(frozen=True)
class BodyOperation:
    """An operation in a function's body, including nested functions."""

    name: str
    device: str
    """The device that the operation requests; empty if it uses its caller's device."""
    compiled: bool
    """Whether the operation calls a function that either runs compiled as a whole or raises an error."""
    numeric: bool
    """Whether the operation computes with numbers other than integers. Integers do not count, because they may be
    shapes."""


def gives_first_values(name: str, inputs: list[Any], outputs: list[Any]) -> bool:
    """Whether a function only initializes variables: its arguments are only their handles, it reads no variable, and it
    returns nothing."""
    handles = bool(inputs) and all(array.dtype == dtypes.resource for array in inputs)
    return handles and not outputs and is_function(name) and not must_compile(name) and not _reads(name, set())


def _reads(name: str, visits: set[str]) -> bool:
    """Whether a function, or a function that it calls, reads a variable."""
    if name in visits or not is_function(name):
        return False
    visits.add(name)
    nodes = context.context().get_function_def(name).node_def
    return any(node.op == READ or any(_reads(callee, visits) for callee in _functions_of(node)) for node in nodes)


def is_function(name: str) -> bool:
    return bool(context.context().has_function(name))


def must_compile(name: str) -> bool:
    return bool(context.context().get_function_def(name).attr[MUST_COMPILE].b)


def body(name: str) -> list[BodyOperation]:
    """Return a function's operations that do work, including those in functions that it calls or branches to."""
    return list(_body(name, set()))


def _body(name: str, visits: set[str]) -> Iterator[BodyOperation]:
    if name in visits or not is_function(name):
        return
    visits.add(name)
    for node in context.context().get_function_def(name).node_def:
        is_compiled = is_compiled_call(node)
        if is_compiled or node.op not in {*WITHOUT_WORK, *CALLS}:
            yield BodyOperation(
                node.op, node.device, is_compiled, any(attribute.type in _NUMBERS for attribute in node.attr.values())
            )
        if not is_compiled:
            for callee in _functions_of(node):
                yield from _body(callee, visits)


def is_compiled_call(node: Any) -> bool:
    """Whether a graph node calls a function that either runs compiled as a whole or raises an error."""
    return bool(node.op in CALLS and node.attr[MUST_COMPILE].b) if MUST_COMPILE in node.attr else False


def _functions_of(node: Any) -> Iterable[str]:
    for attribute in node.attr.values():
        if attribute.HasField("func"):
            yield attribute.func.name
        for function in attribute.list.func:
            yield function.name
