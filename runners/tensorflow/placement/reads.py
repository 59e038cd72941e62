"""Host reads: values of eager arrays that Python takes to the host, by whichever of its ways, in any thread.

``numpy()``, ``float()``, ``bool()`` and the like all read through one method of TensorFlow's. NumPy itself asks for
the buffer first, which no Python sees; without that slot it calls ``__array__``.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import tensorflow as tf
from tensorflow.python.framework import ops
from tensorflow.python.ops import resource_variable_ops

Note = Callable[[str], None]
"""A call for each read, with its name (``EagerTensor.numpy``)."""

_PACKAGE = str(Path(tf.__file__).parent)
_READERS = {ops.__file__, resource_variable_ops.__file__, __file__}
_NO_VALUES = {"numpy_text", "__repr__", "__str__", "__format__", "__index__"}
"""Reads for a text, and of what can only be a place or a size."""
_BUFFER_SLOT = 20 * ctypes.sizeof(ctypes.c_void_p)
"""Where CPython keeps ``tp_as_buffer`` in a type; ``_without_buffer`` makes sure of it."""
_GETBUFFER = 1
"""``Py_bf_getbuffer``, as ``PyType_GetSlot`` knows it."""


@contextmanager
def watch_reads(note: Note) -> Iterator[None]:
    """Note every read of values meanwhile, but TensorFlow's own of shapes and predicates."""
    base = ops._EagerTensorBase
    read, as_array, exported = base._numpy, base.__array__, ops.pywrap_tfe.TFE_ToDlpackCapsule

    def noted_read(self: Any) -> Any:
        _judge(self, sys._getframe(1), note)
        return read(self)

    def __array__(self: Any, dtype: Any = None, copy: bool | None = None) -> Any:  # noqa: N807
        # Of no dimension TensorFlow gives a scalar, which NumPy refuses here; by the buffer it would not have met it.
        return np.asarray(as_array(self, dtype))

    def noted_export(*arguments: Any) -> Any:
        note("EagerTensor.__dlpack__")
        return exported(*arguments)

    base._numpy, base.__array__, ops.pywrap_tfe.TFE_ToDlpackCapsule = noted_read, __array__, noted_export
    try:
        with _without_buffer():
            yield
    finally:
        base._numpy, base.__array__, ops.pywrap_tfe.TFE_ToDlpackCapsule = read, as_array, exported


def _judge(tensor: Any, reader: FrameType | None, note: Note) -> None:
    """Note a read unless it is TensorFlow's own of whole numbers: shapes, axes and predicates are the host's."""
    name = "numpy"
    while reader is not None and reader.f_code.co_filename in _READERS:
        name = reader.f_code.co_name
        reader = reader.f_back
    own = reader is not None and reader.f_code.co_filename.startswith(_PACKAGE)
    computed = tensor.dtype.is_floating or tensor.dtype.is_complex
    if name not in _NO_VALUES and (computed or not own):
        note(f"EagerTensor.{name}")


@contextmanager
def _without_buffer() -> Iterator[None]:
    """Meanwhile NumPy finds no buffer in an eager array, and asks for it by ``__array__``."""
    slot = ctypes.c_void_p.from_address(id(ops.EagerTensor) + _BUFFER_SLOT)
    kept = slot.value
    function = ctypes.pythonapi.PyType_GetSlot
    function.restype, function.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_int]
    if kept is None or ctypes.c_void_p.from_address(kept).value != function(ops.EagerTensor, _GETBUFFER):
        # Another layout of types, or within another watch: the slot is not ours to touch.
        yield
        return
    slot.value = None
    try:
        yield
    finally:
        slot.value = kept
