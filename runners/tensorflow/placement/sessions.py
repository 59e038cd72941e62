"""Watches sessions: which operations ran in a session, on which devices, and where the fetched values were computed.

A session returns NumPy arrays, which have no device. ``fetched`` adds to each array the device of its operation in the
graph. ``watch_sessions`` asks the session for the graph that it really ran, after placement and partitioning.
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

from runners.suite.sequences import aligned

Note = Callable[[Any], None]
"""A callback for each operation that ran, with its node from the partition of its device."""


class Fetched(np.ndarray[Any, Any]):
    """The host copy of a fetched value, with the device of the operation that produced it."""

    placed: str = "host"


def fetched(values: Any, fetches: Any) -> Any:
    """Return the values that ``run`` returned for ``fetches``, each array with the device of its tensor in the graph.

    Soft placement must be off in the session. Then an operation runs on the device that the graph names, or fails.
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
    """Return ``CPU:0`` from a full device name; ``host`` if the name has no device."""
    return (name or "").rpartition("device:")[2] or "host"


@contextmanager
def watch_sessions(note: Note) -> Iterator[None]:
    """During the block, ask every session for its partitions, unless the caller of the session requests metadata
    itself."""
    original = sessions.BaseSession._call_tf_sessionrun

    def run(self: Any, options: Any, feed_dict: Any, fetch_list: Any, target_list: Any, run_metadata: Any) -> Any:
        if options is not None or run_metadata is not None:
            return original(self, options, feed_dict, fetch_list, target_list, run_metadata)
        request_options = config_pb2.RunOptions(output_partition_graphs=True).SerializeToString()
        request, answer = pywrap_tf_session.TF_NewBufferFromString(request_options), pywrap_tf_session.TF_NewBuffer()
        try:
            result = original(self, request, feed_dict, fetch_list, target_list, answer)
            metadata = config_pb2.RunMetadata.FromString(pywrap_tf_session.TF_GetBuffer(answer))
        finally:
            pywrap_tf_session.TF_DeleteBuffer(request)
            pywrap_tf_session.TF_DeleteBuffer(answer)
        for partition in metadata.partition_graphs:
            for node in partition.node:
                # Operations whose names begin with _ move feeds, fetches and copies between partitions.
                if not node.op.startswith("_") or node.op.startswith("_Mkl"):
                    note(node)
        return result

    sessions.BaseSession._call_tf_sessionrun = run
    try:
        yield
    finally:
        sessions.BaseSession._call_tf_sessionrun = original


def unsoftened() -> Any:
    """Return a session configuration with which an operation without a kernel on the device raises an error. Otherwise
    the operation would run on another device."""
    return tf.compat.v1.ConfigProto(allow_soft_placement=False)
