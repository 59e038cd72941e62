"""Finds the first operation of a TensorFlow call whose compiled result differs from the host's for the same inputs.

The inside of a compiled function is not visible. So the call is repeated on the host, where TensorFlow reports every
operation that it executes eagerly, and each operation is compiled alone with the inputs that it had on the host. Errors
that occur only when operations are compiled together are not found.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from time import monotonic
from typing import Any

import tensorflow as tf
from tensorflow.python.framework import op_callbacks, op_def_registry

from runners.suite import divergence
from runners.suite.device import Operation

_UNDETERMINED = frozenset({"Empty", "Svd", "Qr", "SelfAdjointEigV2", "Eig"})
"""Operations whose result is not determined by their inputs: uninitialized memory, and factorizations that are not
unique."""

Compile = Callable[[Callable[[], Any]], Callable[[], Any]]


def diverging(on_host: Callable[[], object], compile_call: Compile, to_host: Callable[[Any], Any]) -> Operation | None:
    """Repeat a call on the host, and return the first operation whose result differs when ``compile_call`` compiles
    it."""
    comparison = _Comparison(compile_call, to_host)
    op_callbacks.add_op_callback(comparison.compare)
    try:
        on_host()
    except BaseException:  # the reference may be wrong on the host as well
        pass
    finally:
        op_callbacks.remove_op_callback(comparison.compare)
    return comparison.found


class _Comparison:
    """Compiles each operation that the host executes, until one differs or the time is up."""

    def __init__(self, compile_call: Compile, to_host: Callable[[Any], Any]) -> None:
        self.found: Operation | None = None
        self._compiled = compile_call
        self._to_host = to_host
        self._until = monotonic() + divergence.COMPARED_FOR_S
        self._busy = False

    def compare(
        self, name: str, inputs: Sequence[Any], attributes: Any, outputs: Sequence[Any], op_name: Any = None,
        graph: Any = None,
    ) -> None:  # fmt: skip
        """Compare an operation's result. TensorFlow calls this after each operation. If ``graph`` is given, TensorFlow
        only adds the operation to this graph, and nothing is compared."""
        if graph is not None or self._busy or self.found is not None or monotonic() > self._until:
            return
        self._busy = True
        try:
            if _is_comparable(name, inputs) and self._differs(name, inputs, attributes, outputs):
                self.found = Operation(name, tuple(tensor.dtype.name for tensor in inputs))
        except Exception:  # what cannot be compiled alone, or copied, counts as equal
            return
        finally:
            self._busy = False

    def _differs(self, name: str, inputs: Sequence[Any], attributes: Any, outputs: Sequence[Any]) -> bool:
        arguments = {**_arguments(name, inputs, attributes), **_options(name, attributes)}
        again = self._compiled(lambda: getattr(tf.raw_ops, name)(**arguments))()
        results = again if isinstance(again, (list, tuple)) else [again]
        return divergence.are_other(self._to_host(list(results)), self._to_host(list(outputs)))


def _is_comparable(name: str, inputs: Sequence[Any]) -> bool:
    """Whether the operation computes with numbers, is small enough to be copied, and is determined by its inputs."""
    definition = op_def_registry.get(name)
    if definition is None or definition.is_stateful or name in _UNDETERMINED:
        return False
    if any(tensor.dtype in (tf.string, tf.resource, tf.variant) for tensor in inputs):
        return False
    return sum(int(tf.size(tensor)) for tensor in inputs) <= divergence.MAX_ELEMENTS


def _pairs(attributes: Any) -> Mapping[str, Any]:
    return dict(zip(attributes[::2], attributes[1::2])) if attributes else {}


def _arguments(name: str, inputs: Sequence[Any], attributes: Any) -> Mapping[str, Any]:
    """Return the inputs, grouped by the names of the operation's arguments. An argument may have several inputs."""
    values, left = _pairs(attributes), iter(inputs)
    return {argument.name: _take_inputs(argument, values, left) for argument in op_def_registry.get(name).input_arg}


def _take_inputs(argument: Any, values: Mapping[str, Any], left: Iterator[Any]) -> Any:
    if argument.number_attr:
        return [next(left) for _ in range(values[argument.number_attr])]
    if argument.type_list_attr:
        return [next(left) for _ in values[argument.type_list_attr]]
    return next(left)


def _options(name: str, attributes: Any) -> Mapping[str, Any]:
    """Return the attributes that a call of the operation must name: all except those that follow from the inputs."""
    arguments = op_def_registry.get(name).input_arg
    argument_names = {
        attribute
        for argument in arguments
        for attribute in (argument.type_attr, argument.number_attr, argument.type_list_attr)
    }
    return {
        key: value for key, value in _pairs(attributes).items() if key not in argument_names and not key.startswith("_")
    }
