"""Proof of placement on TensorFlow: the operations that ran, eagerly or in a session, and the Python that was called.

A session returns NumPy arrays, which by themselves have no device. ``fetched`` keeps with each the device on which
its operation stands; ``watch_sessions`` asks the session itself, at run time, for the graph as it was placed and cut
into partitions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
import tensorflow as tf
from tensorflow.core.protobuf import config_pb2
from tensorflow.python.client import pywrap_tf_session
from tensorflow.python.client import session as sessions
from tensorflow.python.ops import script_ops
from tensorflow.python.ops.script_ops import FuncRegistry

from runners.suite.device import Proof
from runners.suite.sequences import aligned

Note = Callable[[str, str], None]
"""A call for each operation that ran, with its type and its device (``CPU:0``)."""


class Fetched(np.ndarray[Any, Any]):
    """The host copy of what a session fetched, and the device of the operation that made it."""

    placed: str = "host"


def fetched(values: Any, fetches: Any) -> Any:
    """The values that ``run`` returned for ``fetches``, every array with the device that its tensor has in the graph.

    Soft placement must be off in that session: then an operation is where its graph says, or nothing runs.
    """
    if isinstance(fetches, Mapping):
        return {key: fetched(values[key], fetch) for key, fetch in fetches.items()}
    if isinstance(fetches, (list, tuple)):
        return [fetched(value, fetch) for value, fetch in aligned(values, fetches)]
    if values is None:
        return None
    array = np.asarray(values).view(Fetched)
    array.placed = device_of(fetches.device)
    return array


def device_of(name: str | None) -> str:
    """``CPU:0`` of a full device name, ``host`` where there is none."""
    return (name or "").rpartition("device:")[2] or "host"


@contextmanager
def watch_sessions(note: Note) -> Iterator[None]:
    """Every session that runs meanwhile is asked for its partitions, unless its caller asks for something itself."""
    original = sessions.BaseSession._call_tf_sessionrun

    def run(self: Any, options: Any, feed_dict: Any, fetch_list: Any, target_list: Any, run_metadata: Any) -> Any:
        if options is not None or run_metadata is not None:
            return original(self, options, feed_dict, fetch_list, target_list, run_metadata)
        wanted = config_pb2.RunOptions(output_partition_graphs=True).SerializeToString()
        request, answer = pywrap_tf_session.TF_NewBufferFromString(wanted), pywrap_tf_session.TF_NewBuffer()
        try:
            result = original(self, request, feed_dict, fetch_list, target_list, answer)
            metadata = config_pb2.RunMetadata.FromString(pywrap_tf_session.TF_GetBuffer(answer))
        finally:
            pywrap_tf_session.TF_DeleteBuffer(request)
            pywrap_tf_session.TF_DeleteBuffer(answer)
        for partition in metadata.partition_graphs:
            for node in partition.node:
                # What begins with _ carries feeds, fetches and copies between partitions.
                if not node.op.startswith("_") or node.op.startswith("_Mkl"):
                    note(node.op, device_of(node.device))
        return result

    sessions.BaseSession._call_tf_sessionrun = run
    try:
        yield
    finally:
        sessions.BaseSession._call_tf_sessionrun = original


def unsoftened() -> Any:
    """A session's config: what has no kernel on the device raises, and is not taken elsewhere."""
    return tf.compat.v1.ConfigProto(allow_soft_placement=False)


@contextmanager
def count_python(proof: Proof) -> Iterator[None]:
    """Count the bodies of ``numpy_function`` and ``py_function``: Python on the host, on any device."""
    registry, eagerly = FuncRegistry.__call__, script_ops.py_func_common

    def note(name: str) -> None:
        proof.fallbacks[name] = proof.fallbacks.get(name, 0) + 1

    def called(self: Any, token: Any, device: Any, arguments: Any) -> Any:
        note("EagerPyFunc" if isinstance(self.get(token), script_ops.EagerFunc) else "PyFunc")
        return registry(self, token, device, arguments)

    def common(*arguments: Any, **options: Any) -> Any:
        if tf.executing_eagerly():
            # No operation is made of it then: the body is just called.
            note("PyFunc")
        return eagerly(*arguments, **options)

    FuncRegistry.__call__, script_ops.py_func_common = called, common
    try:
        yield
        # With soft placement off, what the device lacks raises.
        proof.counted = True
    finally:
        FuncRegistry.__call__, script_ops.py_func_common = registry, eagerly


class OperationWatch:
    """Sees every operation as it runs, eagerly or in a session, and notes those that were not on the device."""

    def __init__(self, on_device: Callable[[str], bool], proof: Proof) -> None:
        self._on_device = on_device
        self._proof = proof

    def __call__(
        self, op_type: Any, inputs: Any, attrs: Any, outputs: Any, op_name: Any = None, graph: Any = None
    ) -> None:
        name = op_type.decode() if isinstance(op_type, bytes) else str(op_type)
        self.note(
            name, *{device_of(str(output.device)) for output in outputs if graph is None and output.shape.rank != 0}
        )

    def note(self, name: str, *devices: str) -> None:
        """An operation that ran, and the devices where it did."""
        self._proof.devices.update(devices)
        if not all(map(self._on_device, devices)):
            self._proof.fallbacks[name] = self._proof.fallbacks.get(name, 0) + 1
