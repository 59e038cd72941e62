"""Watches reads of arrays through the buffer protocol (``memoryview``, ``bytes``, NumPy), which call no Python method.

A C type provides its buffer through a slot of its type object. During the watch, the slot holds a function of this
module, which records the read and calls the original, so every reader gets the same result.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

_OFFSET_OF_BUFFERS = 20 * ctypes.sizeof(ctypes.c_void_p)
"""The offset of ``tp_as_buffer`` in a type object of 64-bit CPython, the same since 3.8."""
_GET = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_void_p, ctypes.c_int)
"""``getbufferproc``: takes the object, the ``Py_buffer`` to fill, and flags. Returns 0, or -1 for an error."""


@contextmanager
def noted_buffers(kind: type, note: Callable[[Any], None]) -> Iterator[None]:
    """Call ``note`` with each object of this type whose buffer is read during the block, in any thread.

    Does nothing if this Python lays out type objects differently, or if the type has no buffer.
    """
    slot = _slot(kind)
    original = None if slot is None else slot.value
    if slot is None or original is None:
        yield
        return
    get = _GET(original)

    def get_and_note(exporter: Any, view: int, flags: int) -> int:
        try:
            status = get(exporter, view, flags)
        except Exception:
            # Refuse without the error's message, because a callback cannot pass on an exception. NumPy then tries
            # other ways to get an array, as it would after the error; ``memoryview`` raises a ``SystemError`` instead.
            return -1
        note(exporter)
        return int(status)

    callback = _GET(get_and_note)
    slot.value = ctypes.cast(callback, ctypes.c_void_p).value
    try:
        yield
    finally:
        slot.value = original


def _slot(kind: type) -> ctypes.c_void_p | None:
    """Find the slot of a type's ``bf_getbuffer``; None if this Python lays out type objects differently."""

    def buffers(of: type) -> int | None:
        return ctypes.c_void_p.from_address(id(of) + _OFFSET_OF_BUFFERS).value

    gil_free = bool(getattr(sys, "_is_gil_enabled", None)) and not sys._is_gil_enabled()  # type: ignore[attr-defined]
    if sys.implementation.name != "cpython" or sys.maxsize < 2**32 or gil_free:
        return None
    if buffers(int) is not None or buffers(bytes) is None:
        return None
    table = buffers(kind)
    return None if table is None else ctypes.c_void_p.from_address(table)
