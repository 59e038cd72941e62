"""Watches numbers that move between eager arrays and Python: reads of all kinds, and arrays created from Python
numbers.

``numpy()``, ``float()``, ``bool()`` and similar calls all read through one TensorFlow method; NumPy and ``memoryview``
use the buffer. Each read is an event of ``runners/suite/host_work.py``, in any thread.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import tensorflow as tf
from tensorflow.python.framework import constant_op, ops, tensor_util
from tensorflow.python.ops import resource_variable_ops
from tensorflow.python.util import numpy_compat

from runners.suite.buffers import noted_buffers
from runners.suite.host_work import Brought, Event, Read
from runners.suite.picks import Pick
from runners.suite.recording import watcher, wrapping

Note = Callable[[Event], None]
PicksBehind = Callable[[Any], frozenset[Pick]]
"""A function that returns the picks that produced an array with a single number. A *pick* is a number taken out of
another array."""

_PACKAGE = str(Path(tf.__file__).parent)
_WRITERS = {tensor_util.__file__, numpy_compat.__file__}
_READERS = {ops.__file__, resource_variable_ops.__file__, __file__, wrapping.__file__, watcher.__file__}
"""The files of the methods that read, and of what stands for these methods while a program is watched. The code that
called them is the reader."""


@contextmanager
def watch_reads(note: Note, picks_behind: PicksBehind) -> Iterator[None]:
    """During the block, record every read of numbers, and every array that is created from numbers on the host."""
    base = ops._EagerTensorBase
    read, export = base._numpy, ops.pywrap_tfe.TFE_ToDlpackCapsule
    convert, capture = constant_op.convert_to_eager_tensor, ops._create_graph_constant

    def event(tensor: Any, member: str, reader: FrameType | None) -> None:
        # A text array is always on the host, so reading it is no transfer.
        if tensor.dtype is not tf.string and not _is_of_a_graph(reader):
            size = int(tensor.shape.num_elements() or 0)
            own = reader is not None and reader.f_code.co_filename.startswith(_PACKAGE)
            note(Read(f"EagerTensor.{member}", size, tensor.dtype.name, own, picks_behind(tensor)))

    def noted_read(self: Any) -> Any:
        event(self, *_reader(sys._getframe(1)))
        return read(self)

    def noted_buffer(tensor: Any) -> None:
        event(tensor, "__buffer__", sys._getframe(2))

    def noted_export(tensor: Any, *arguments: Any) -> Any:
        event(tensor, "__dlpack__", None)
        return export(tensor, *arguments)

    def noted_conversion(value: Any, *arguments: Any, **options: Any) -> Any:
        tensor = convert(value, *arguments, **options)
        if tensor is not value:
            note(Brought(int(tensor.shape.num_elements() or 0), tensor.dtype.name))
        return tensor

    def noted_constant(value: Any, *arguments: Any, **options: Any) -> Any:
        constant = capture(value, *arguments, **options)
        note(Brought(int(constant.shape.num_elements() or 0), constant.dtype.name))
        return constant

    with ExitStack() as stack:
        for owner, name, replacement in (
            (base, "_numpy", noted_read),
            (ops.pywrap_tfe, "TFE_ToDlpackCapsule", noted_export),
            (constant_op, "convert_to_eager_tensor", noted_conversion),
            (ops, "_create_graph_constant", noted_constant),
        ):
            stack.callback(setattr, owner, name, getattr(owner, name))
            setattr(owner, name, replacement)
        stack.enter_context(noted_buffers(ops.EagerTensor, noted_buffer))
        yield


def _is_of_a_graph(reader: FrameType | None) -> bool:
    """Whether TensorFlow reads the array to write it into a graph as a constant. This happens once, while the graph is
    built."""
    while reader is not None and reader.f_code.co_filename in _WRITERS:
        if reader.f_code is tensor_util.make_tensor_proto.__code__:
            return not tf.executing_eagerly()
        reader = reader.f_back
    return False


def _reader(frame: FrameType | None) -> tuple[str, FrameType | None]:
    """Return the member of the array through which a read came, and the code that used this member."""
    name = "numpy"
    while frame is not None and frame.f_code.co_filename in _READERS:
        name = frame.f_code.co_name
        frame = frame.f_back
    return name, frame
