"""Watches a call: what ran on the device, and what ran on the host instead.

One ``Watch`` belongs to one case. It sees operations (``operations.py``), sessions (``sessions.py``), reads
(``reads.py``) and Python functions that TensorFlow calls, and reports them as events of ``runners/suite/host_work.py``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import tensorflow as tf
from tensorflow.python.ops import script_ops
from tensorflow.python.ops.script_ops import FuncRegistry

from runners.suite.device import Proof
from runners.suite.host_work import WORKED, CallRecord, Elsewhere, fallbacks
from runners.suite.picks import Picks
from runners.tensorflow.placement.operations import (
    CALLS,
    IS_INITIALIZED,
    PICKS,
    WITHOUT_WORK,
    body,
    gives_first_values,
    is_compiled_call,
    is_function,
    must_compile,
    watch_operations,
)
from runners.tensorflow.placement.reads import watch_reads
from runners.tensorflow.placement.sessions import device_of, watch_sessions


class Watch:
    """The watch for TensorFlow's own devices. It distinguishes operations that ran on the device from those that ran
    elsewhere."""

    def __init__(self, on_device: Callable[[str], bool], proof: Proof) -> None:
        self.proof = proof
        self.record = CallRecord()
        self._on_device = on_device
        self._elsewhere_in: dict[str, list[str]] = {}
        self._picks = Picks(_size)

    @contextmanager
    def watching(self, *, sessions: bool = False) -> Iterator[None]:
        """Watch the calls in the block. Sessions are asked for their graphs only if the call is not timed."""
        self.proof.executions(0)
        self.record = CallRecord()
        self._picks = Picks(_size)
        with (
            watch_operations(self._operation),
            watch_reads(self.record.add, self._picks.behind),
            watch_python(self.elsewhere),
        ):
            if sessions:
                with watch_sessions(self.node):
                    yield
            else:
                yield
        # Soft placement is off, so the call raises an error if the device lacks an operation.
        self.proof.counted = True
        self.finish()

    def finish(self) -> None:
        """Judge the call after it has ended."""
        self.proof.judge(self.record.events)

    def elsewhere(self, name: str) -> None:
        """Record an operation, or a Python function called by TensorFlow, that did not run on the device."""
        self.record.add(Elsewhere(name))

    def _operation(self, name: str, inputs: list[Any], outputs: list[Any]) -> None:
        # A compiled function that returns as many numbers as its input has only takes an array apart.
        if inputs and (name in PICKS or 1 < len(outputs) == _size(inputs[0])):
            self._picks.note_parts(inputs[0], outputs)
        else:
            self._picks.note_results(inputs, outputs)
        self.operation(name, outputs)

    def operation(self, name: str, arrays: list[Any]) -> None:
        """Record an eager operation or function that returned, judged by its result arrays."""
        places = {device_of(array.device) for array in arrays if not _is_of_host(array)}
        self.proof.devices.update(places)
        elsewhere = self._elsewhere(name)
        for inner in elsewhere:
            self.elsewhere(inner)
        if not all(map(self._on_device, places)) and not elsewhere:
            self.elsewhere(name)
        # Ask where the array's memory is. If only the host has a kernel, the result is in host memory for any device.
        elif any(self._on_device(device_of(array.backing_device)) for array in arrays):
            self.proof.executions(1)
            if name not in WITHOUT_WORK | PICKS:
                self.record.add(WORKED)

    def node(self, node: Any) -> None:
        """Record an operation of a session's graph."""
        place = device_of(node.device)
        self.proof.devices.add(place)
        if not self._on_device(place):
            self.elsewhere(node.op)
        elif node.op not in WITHOUT_WORK:
            self.proof.executions(1)
            self.record.add(WORKED)

    def _elsewhere(self, name: str) -> list[str]:
        """Return the operations in a function that request another device. There are none if the function is compiled
        as a whole, because it then has one device."""
        if name not in self._elsewhere_in:
            inner = body(name) if is_function(name) and not must_compile(name) else []
            self._elsewhere_in[name] = [
                operation.name
                for operation in inner
                if operation.numeric and operation.device and not self._on_device(device_of(operation.device))
            ]
        return self._elsewhere_in[name]


class HostWatch(Watch):
    """The watch for a target that is the host. Nothing can fall back to the host, and everything that returned ran on
    it."""

    @contextmanager
    def watching(self, *, sessions: bool = False) -> Iterator[None]:
        with watch_operations(self._operation):
            yield
        self.proof.counted = True

    def operation(self, name: str, arrays: list[Any]) -> None:
        self.proof.devices.update(device_of(array.device) for array in arrays if not _is_of_host(array))


class CompiledWatch(Watch):
    """The watch for a device on which only programs compiled as a whole run. Everything else ran on the host. A case
    that never runs a compiled program has not fallen back, because it was never on the device.
    """

    def __init__(self, on_device: Callable[[str], bool], proof: Proof) -> None:
        super().__init__(on_device, proof)
        self._beside: Counter[str] = Counter()
        self._holds: dict[str, tuple[int, Counter[str]]] = {}
        self._initialized: list[Any] = []
        """The tensors that say whether a variable already has a value."""

    def finish(self) -> None:
        events = self.record.events
        if self.proof.goes_on:
            # A constructor may create arrays on the host for the device. Only values that it reads back are a fallback.
            events = [event for event in events if not isinstance(event, Elsewhere)]
        self._beside += Counter(fallbacks(events, returned=self.proof.returned, goes_on=self.proof.goes_on))
        if self.proof.executed or self.proof.goes_on:
            for name, count in self._beside.items():
                self.proof.fell_back(name, count)
            self._beside.clear()

    def _operation(self, name: str, inputs: list[Any], outputs: list[Any]) -> None:
        if name == IS_INITIALIZED:
            self._initialized += outputs
        if not self._is_initialization(name, inputs, outputs):
            super()._operation(name, inputs, outputs)

    def _is_initialization(self, name: str, inputs: list[Any], outputs: list[Any]) -> bool:
        """Whether ``tf.function`` assigns first values to variables created during tracing, such as the state of a
        random generator.

        These values are created on the host for the device, so they are no fallback.
        """
        ids = set(map(id, self._initialized))
        asks = name == "Pack" and bool(inputs) and all(id(array) in ids for array in inputs)
        return asks or gives_first_values(name, inputs, outputs)

    def operation(self, name: str, arrays: list[Any]) -> None:
        self.proof.devices.update(device_of(array.device) for array in arrays if not _is_of_host(array))
        if name not in self._holds:
            self._holds[name] = self._count_work(name)
        executions, beside = self._holds[name]
        for operation, count in beside.items():
            self.record.add(Elsewhere(operation, count))
        if executions:
            self.proof.executions(executions)
            self.record.add(WORKED)

    def node(self, node: Any) -> None:
        self.proof.devices.add(device_of(node.device))
        if is_compiled_call(node):
            self.proof.executions(1)
            self.record.add(WORKED)
        elif node.op not in WITHOUT_WORK:
            self.elsewhere(node.op)

    def _count_work(self, name: str) -> tuple[int, Counter[str]]:
        """Return the number of compiled executions in an operation or function, and the operations that it runs on the
        host."""
        if not is_function(name):
            return 0, Counter([name] if name not in {*WITHOUT_WORK, *CALLS} else [])
        if must_compile(name):
            return 1, Counter()
        inner = body(name)
        return sum(operation.compiled for operation in inner), Counter(
            operation.name for operation in inner if not operation.compiled
        )


@contextmanager
def watch_python(note: Callable[[str], None]) -> Iterator[None]:
    """Call ``note`` for each call of a ``numpy_function`` or ``py_function`` body, which is Python on the host for any
    device."""
    registry, eagerly = FuncRegistry.__call__, script_ops.py_func_common

    def call_and_note(self: Any, token: Any, device: Any, arguments: Any) -> Any:
        note("EagerPyFunc" if isinstance(self.get(token), script_ops.EagerFunc) else "PyFunc")
        return registry(self, token, device, arguments)

    def common(*arguments: Any, **options: Any) -> Any:
        if tf.executing_eagerly():
            # In eager execution there is no operation. TensorFlow just calls the body.
            note("PyFunc")
        return eagerly(*arguments, **options)

    FuncRegistry.__call__, script_ops.py_func_common = call_and_note, common
    try:
        yield
    finally:
        FuncRegistry.__call__, script_ops.py_func_common = registry, eagerly


def _size(array: Any) -> int:
    return int(array.shape.num_elements() or 0)


def _is_of_host(array: Any) -> bool:
    """Whether an array belongs to the host for any device: a handle, a text, a predicate or a size."""
    return bool(array.shape.rank == 0 and not (array.dtype.is_floating or array.dtype.is_complex))
