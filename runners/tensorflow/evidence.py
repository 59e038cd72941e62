"""Finds the operation at which a TensorFlow call fails, and the kernels in TensorFlow's registry for it.

An operation starts in one of three functions: eagerly in ``TFE_Py_FastPathExecute`` or ``TFE_Py_Execute`` (which also
calls compiled functions), in a graph in ``_apply_op_helper``. If a function runs as a whole, the reported operation is
the first operation in the function's graph for whose dtypes the registry has no kernel.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

import tensorflow as tf
from tensorflow.python import pywrap_tfe
from tensorflow.python.eager import context, core
from tensorflow.python.framework import kernels as registry
from tensorflow.python.framework import op_def_library, op_def_registry

from protocol.enums import Kernels
from runners.suite.device import Operation

_CALLS = frozenset(
    {"PartitionedCall", "StatefulPartitionedCall", "While", "StatelessWhile", "If", "StatelessIf", "Case",
     "StatelessCase", "NoOp", "Const", "Placeholder"}
)  # fmt: skip
"""Operations that a compiler replaces with the functions that they call or contain."""
_NODE = re.compile(r"\{\{node ([^{}\s]+)\}\}")
MUST_COMPILE = "_XlaMustCompile"


@dataclass(frozen=True)
class Begun:
    """An operation that has started, with the types of its attributes, which follow from its arrays."""

    name: str
    dtypes: tuple[str, ...]
    types: Mapping[str, tuple[int, ...]]


def failing(call: Callable[[], object], kind: str, compiled_kind: str | None) -> Operation | None:
    """Return the operation at which ``call`` fails on devices of a kind. ``compiled_kind`` is the kind of the
    compiler's device."""
    failures: list[Begun] = []
    error: BaseException | None = None
    with _watch(failures):
        try:
            call()
        except BaseException as raised:
            error = raised
    if not failures:
        return None
    operation = failures[0]
    function = _function(operation.name)
    if function is not None:
        return _culprit(function, str(error), kind, compiled_kind)
    return _operation(operation.name, operation.dtypes, operation.types, kind)


@contextmanager
def _watch(failures: list[Begun]) -> Iterator[None]:
    """During the block, keep in ``failures`` the operation that failed last, with the innermost operation first. An
    operation that starts later clears the list."""

    def watching(original: Callable[..., Any], describe_operation: Callable[..., Begun]) -> Callable[..., Any]:
        def call(*arguments: Any, **options: Any) -> Any:
            failures.clear()
            try:
                return original(*arguments, **options)
            except core._FallbackException:
                raise
            except BaseException:
                with suppress(Exception):  # the form of the call is unknown
                    failures.append(describe_operation(*arguments, **options))
                raise

        return call

    places: tuple[tuple[Any, str, Callable[..., Begun]], ...] = (
        (pywrap_tfe, "TFE_Py_FastPathExecute", _from_fast_path),
        (pywrap_tfe, "TFE_Py_Execute", _from_execute),
        (pywrap_tfe, "TFE_Py_ExecuteCancelable", _from_execute),
        (op_def_library, "_apply_op_helper", _from_graph),
    )
    originals = [getattr(owner, name) for owner, name, _ in places]
    for index, (owner, name, describe_operation) in enumerate(places):
        setattr(owner, name, watching(originals[index], describe_operation))
    try:
        yield
    finally:
        for index, (owner, name, _) in enumerate(places):
            setattr(owner, name, originals[index])


def _from_fast_path(_: Any, name: str, __: Any, *arguments: Any) -> Begun:
    definition = op_def_registry.get(name)
    count = len(definition.input_arg) if definition else 0
    return _operation_of(name, arguments[:count], arguments[count:])


def _from_execute(_: Any, __: Any, name: Any, inputs: Sequence[Any], attributes: Any, *___: Any) -> Begun:
    text = name.decode() if isinstance(name, bytes) else str(name)
    return _operation_of(text, _group_inputs(text, inputs), attributes or ())


def _from_graph(op: str, /, *_: Any, **given: Any) -> Begun:
    definition = op_def_registry.get(op)
    inputs = [given.get(argument.name) for argument in definition.input_arg] if definition else []
    return _operation_of(op, inputs, [part for pair in given.items() for part in pair])


def _group_inputs(name: str, inputs: Sequence[Any]) -> Sequence[Any]:
    """Return the inputs grouped by argument. If one argument takes several arrays, the grouping is unknown, and its
    first array is used."""
    definition = op_def_registry.get(name)
    single = definition is not None and not any(arg.number_attr or arg.type_list_attr for arg in definition.input_arg)
    return inputs if single or definition is None else inputs[: len(definition.input_arg)]


def _operation_of(name: str, inputs: Sequence[Any], attributes: Sequence[Any]) -> Begun:
    definition = op_def_registry.get(name)
    types: dict[str, tuple[int, ...]] = {}
    dtypes: list[str] = []
    for index, value in enumerate(inputs):
        own_dtypes = [dtype for member in _members(value) if (dtype := _dtype(member)) is not None]
        dtypes += [dtype.name for dtype in own_dtypes]
        if definition and index < len(definition.input_arg):
            argument = definition.input_arg[index]
            if own_dtypes and (argument.type_attr or argument.type_list_attr):
                enums = tuple(dtype.as_datatype_enum for dtype in own_dtypes)
                types[argument.type_attr or argument.type_list_attr] = enums[:1] if argument.type_attr else enums
    type_attributes = {attr.name for attr in definition.attr if attr.type == "type"} if definition else set()
    for key, value in zip(attributes[::2], attributes[1::2]):
        if key in type_attributes and value is not None:
            types[key] = (tf.dtypes.as_dtype(value).as_datatype_enum,)
    return Begun(name, tuple(dtypes) or tuple(_names(types.values())), types)


def _members(value: Any) -> Iterable[Any]:
    return value if isinstance(value, (list, tuple)) else (value,)


def _dtype(value: Any) -> tf.DType | None:
    try:
        return tf.dtypes.as_dtype(value.dtype).base_dtype
    except (AttributeError, TypeError):
        return None


def _names(groups: Iterable[Sequence[int]]) -> Iterator[str]:
    for group in groups:
        for enum in group:
            yield tf.dtypes.as_dtype(enum).name


def _operation(name: str, dtypes: Sequence[str], types: Mapping[str, Sequence[int]], kind: str) -> Operation:
    state, others = kernels(name, types, kind)
    return Operation(name, tuple(dtypes), state, others)


def kernels(name: str, types: Mapping[str, Sequence[int]], kind: str) -> tuple[Kernels | None, tuple[str, ...]]:
    """Whether devices of a kind have kernels of an operation for its dtypes, and all dtypes for which they have
    kernels."""
    there = [
        kernel
        for kernel in registry.get_registered_kernels_for_op(name).kernel
        # A kernel that is registered for any device (DEFAULT) is not a kernel of the compiler.
        if (kernel.device_type == kind or (kernel.device_type == "DEFAULT" and not kind.endswith("_JIT")))
        and not kernel.label
    ]
    if not there:
        return (Kernels.none if op_def_registry.get(name) else None), ()
    allowed_types: set[int] = set()
    for kernel in there:
        refusing = [
            constraint
            for constraint in kernel.constraint
            if any(
                enum_value not in constraint.allowed_values.list.type for enum_value in types.get(constraint.name, ())
            )
        ]
        if not refusing:
            return Kernels.this_dtype, ()
        allowed_types.update(enum for constraint in refusing for enum in constraint.allowed_values.list.type)
    return Kernels.other_dtypes, tuple(sorted(_names([sorted(allowed_types)])))


def _function(name: str) -> Any:
    """Return the definition of the function with this name; None if the name is an operation's name. A graph calls
    functions and operations in the same way, by their names."""
    if op_def_registry.get(name) is not None:
        return None
    try:
        return context.context().get_function_def(name)
    except Exception:  # there is no function with this name
        return None


def _culprit(function: Any, message: str, kind: str, compiled_kind: str | None) -> Operation | None:
    """Return the node that failed. This is the first node without a kernel for its dtypes. Without such a node, it is
    the node that the error message names, and otherwise the only node."""
    nodes = list(_nodes(function, kind, compiled_kind, set()))
    operations = [_operation(node.op, *_types_of(node), where) for node, where in nodes]
    for operation in operations:
        if operation.kernels in (Kernels.none, Kernels.other_dtypes):
            return operation
    node_names = set(_NODE.findall(message))
    for (node, _), operation in zip(nodes, operations):
        if node.name in node_names:
            return operation
    return operations[0] if len({operation.name for operation in operations}) == 1 else None


def _nodes(function: Any, kind: str, compiled_kind: str | None, visits: set[str]) -> Iterator[tuple[Any, str]]:
    """Yield the nodes of a function and of functions that it calls, each with its kind of device. Nodes that only call
    functions are left out."""
    name = function.signature.name
    if name in visits:
        return
    visits.add(name)
    where = compiled_kind if compiled_kind and function.attr[MUST_COMPILE].b else kind
    for node in function.node_def:
        callees = [value.func.name for value in node.attr.values() if value.func.name]
        callees += [reference.name for value in node.attr.values() for reference in value.list.func]
        inner = [inner_function for callee in (*callees, node.op) if (inner_function := _function(callee)) is not None]
        for definition in inner:
            yield from _nodes(definition, where, compiled_kind, visits)
        if not inner and node.op not in _CALLS:
            yield node, where


def _types_of(node: Any) -> tuple[tuple[str, ...], dict[str, tuple[int, ...]]]:
    """Return the dtypes of a node's inputs, and of all of its type attributes."""
    types = {
        name: (value.type,) if value.type else tuple(value.list.type)
        for name, value in node.attr.items()
        if value.type or value.list.type
    }
    definition = op_def_registry.get(node.op)
    type_names = [arg.type_attr or arg.type_list_attr for arg in definition.input_arg] if definition else []
    of_inputs = [types[name] for name in type_names if name in types]
    return tuple(_names(of_inputs or types.values())), types
