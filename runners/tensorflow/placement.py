"""Graph mode: what a session handed back and from where, and which operations it really ran, and where.

A session returns NumPy arrays, which by themselves say nothing of a device. ``fetched`` keeps with
each the device on which its operation stands; ``watched`` asks the session itself, at run time, for
the graph as it was placed and cut into partitions.
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

Note = Callable[[str, str], None]
"""Told of one operation: its type, and its device (``CPU:0``)."""


class Fetched(np.ndarray[Any, Any]):
    """The host copy of what a session fetched, and the device of the operation that made it."""

    placed: str = "host"


def fetched(values: Any, fetches: Any) -> Any:
    """What ``run`` returned for ``fetches``, every array with the device that its tensor has in the graph.

    Soft placement must be off in that session: then an operation is where its graph says, or nothing runs.
    """
    if isinstance(fetches, Mapping):
        return {key: fetched(values[key], each) for key, each in fetches.items()}
    if isinstance(fetches, (list, tuple)):
        return [fetched(one, each) for one, each in aligned(values, fetches)]
    if values is None:
        return None
    array = np.asarray(values).view(Fetched)
    array.placed = device_of(fetches.device)
    return array


def device_of(name: str | None) -> str:
    """``CPU:0`` of a full device name, ``host`` where there is none."""
    return (name or "").rpartition("device:")[2] or "host"


@contextmanager
def watched(note: Note) -> Iterator[None]:
    """Every session that runs meanwhile is asked for its partitions, unless its caller asks for something itself."""
    original = sessions.BaseSession._call_tf_sessionrun

    def run(self: Any, options: Any, feed_dict: Any, fetch_list: Any, target_list: Any, run_metadata: Any) -> Any:
        if options is not None or run_metadata is not None:
            return original(self, options, feed_dict, fetch_list, target_list, run_metadata)
        wanted = config_pb2.RunOptions(output_partition_graphs=True).SerializeToString()
        asked, told = pywrap_tf_session.TF_NewBufferFromString(wanted), pywrap_tf_session.TF_NewBuffer()
        try:
            result = original(self, asked, feed_dict, fetch_list, target_list, told)
            metadata = config_pb2.RunMetadata.FromString(pywrap_tf_session.TF_GetBuffer(told))
        finally:
            pywrap_tf_session.TF_DeleteBuffer(asked)
            pywrap_tf_session.TF_DeleteBuffer(told)
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
