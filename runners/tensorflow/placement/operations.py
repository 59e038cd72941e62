"""Operations as TensorFlow executes them: those that Python starts, in any thread, and those in functions' bodies.

TensorFlow's own op callbacks belong to one thread. All eager execution passes three entry points of its binding, so
these are watched. What a function does inside passes none: its definition says what it holds and where.
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
"""A call for each operation that returned, with its type, or its function's name, and the arrays that it was given and
that it made."""

_ENTRY_POINTS = {"TFE_Py_FastPathExecute": 1, "TFE_Py_Execute": 2, "TFE_Py_ExecuteCancelable": 2}
"""How eager operations enter the runtime, and at which argument each entry point takes the operation's name."""

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
"""Operations that keep, name or carry values, or look at their shape, and compute none."""

PICKS = frozenset({"StridedSlice", "Slice", "Gather", "GatherV2", "GatherNd", "Unpack", "Split", "SplitV"})
"""Operations that may pick a single number out of an array."""

CALLS = ("PartitionedCall", "StatefulPartitionedCall")
MUST_COMPILE = "_XlaMustCompile"
_NUMBERS = frozenset({1, 2, 8, 14, 18, 19})
"""``DT_FLOAT``, ``DOUBLE``, ``COMPLEX64``, ``BFLOAT16``, ``COMPLEX128`` and ``HALF``."""


@contextmanager
def watch_operations(note: NoteOperation) -> Iterator[None]:
    """Note every eager operation, of whichever thread, as it returns."""
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
    """An operation in a function's body, nested functions' among them."""

    name: str
    device: str
    """The device that it asks for; empty where it takes its caller's."""
    compiled: bool
    """Whether it calls a function that runs compiled as a whole, or raises."""
    numeric: bool
    """Whether it computes with numbers other than whole ones, which may be shapes."""


def gives_first_values(name: str, inputs: list[Any], outputs: list[Any]) -> bool:
    """Whether a function does no more than give variables values that it computes out of nothing: it takes their
    handles alone, reads none, and returns nothing."""
    handles = bool(inputs) and all(array.dtype == dtypes.resource for array in inputs)
    return handles and not outputs and is_function(name) and not must_compile(name) and not _reads(name, set())


def _reads(name: str, visits: set[str]) -> bool:
    """Whether a function, or one that it calls, reads a variable."""
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
    """The operations of a function that do work, including those of functions that it calls or branches to."""
    return list(_body(name, set()))


def _body(name: str, visits: set[str]) -> Iterator[BodyOperation]:
    if name in visits or not is_function(name):
        return
    visits.add(name)
    for node in context.context().get_function_def(name).node_def:
        is_compiled = is_compiled_call(node)
        if is_compiled or node.op not in {*WITHOUT_WORK, *CALLS}:
            yield BodyOperation(node.op, node.device, is_compiled, _is_numeric(node))
        if not is_compiled:
            for callee in _functions_of(node):
                yield from _body(callee, visits)


def is_compiled_call(node: Any) -> bool:
    """Whether a node of a graph calls a function that runs compiled as a whole, or raises."""
    return bool(node.op in CALLS and node.attr[MUST_COMPILE].b) if MUST_COMPILE in node.attr else False


def _functions_of(node: Any) -> Iterable[str]:
    for attribute in node.attr.values():
        if attribute.HasField("func"):
            yield attribute.func.name
        for function in attribute.list.func:
            yield function.name


def _is_numeric(node: Any) -> bool:
    return any(attribute.type in _NUMBERS for attribute in node.attr.values())
