"""Watches reads of an array by the buffer protocol (``memoryview``, ``bytes``, NumPy), which no Python method shows.

A C type provides its buffer through a slot of its type object. During the watch the slot holds our function, which
notes the read and calls the original, so every reader gets the same result.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

_OFFSET_OF_BUFFERS = 20 * ctypes.sizeof(ctypes.c_void_p)
"""Of ``tp_as_buffer`` in a type of 64-bit CPython, the same from 3.8 on."""
_GET = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_void_p, ctypes.c_int)
"""``getbufferproc``: the object, the ``Py_buffer`` to fill and flags; 0, or -1 where it has no such buffer."""


@contextmanager
def noted_buffers(kind: type, note: Callable[[Any], None]) -> Iterator[None]:
    """Note each object of this type whose buffer was given away meanwhile, in every thread.

    Where types are laid out in another way, or the type has no buffer, nothing is noted.
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
            # The same refusal, without its words: a callback cannot leave an error behind. NumPy asks for an array
            # then, as it would have; who asks by ``memoryview`` gets a ``SystemError`` in the error's place.
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
    """The place of a type's ``bf_getbuffer``; None where types are laid out in another way."""

    def buffers(of: type) -> int | None:
        return ctypes.c_void_p.from_address(id(of) + _OFFSET_OF_BUFFERS).value

    gil_free = bool(getattr(sys, "_is_gil_enabled", None)) and not sys._is_gil_enabled()  # type: ignore[attr-defined]
    if sys.implementation.name != "cpython" or sys.maxsize < 2**32 or gil_free:
        return None
    if buffers(int) is not None or buffers(bytes) is None:
        return None
    table = buffers(kind)
    return None if table is None else ctypes.c_void_p.from_address(table)
