"""Host copies of arrays: the values that a call reads on the host, and goes on with on the device.

Every way to an array's values ends in one of a few members of JAX's array, so those are replaced while a call is
watched. A read by itself is no fallback: it is one when the device is given work, or values, after it.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

import jax
from jax._src.array import ArrayImpl

from runners.suite.device import Proof

_JAX = os.path.dirname(jax.__file__)
_COMPILE_TIME = "_array_mlir_constant_handler"
"""JAX's function that writes an array that a function closes over into the program: once, while it compiles."""
_DECISIONS = ("__bool__", "__index__")
"""Members that give Python a decision or a size, not a value to compute with."""
_GO_BETWEENS = tuple(
    os.path.join(_JAX, "_src", *path.split("/"))
    for path in ("array.py", "core.py", "tree_util.py", "profiler.py", "numpy/array_methods.py")
)
"""Files of JAX whose functions read on behalf of their caller (``item``, ``concrete_or_error``)."""
_READERS = ("device_get", "_device_get")
_HOST_MEMORY = 1
"""DLPack's number of memory that the host reads."""


class HostCopies:
    """The reads of a call, each with the member of the array by which it came."""

    def __init__(self, proof: Proof) -> None:
        self._proof = proof
        self._pending: Counter[str] = Counter()

    def carried_back(self) -> None:
        """The device goes on after these reads: its values, or what is done with them, went by the host."""
        while self._pending:
            with contextlib.suppress(KeyError):  # another thread was faster
                member, count = self._pending.popitem()
                self._proof.fell_back(f"host copy by {member}", count)

    def read(self, array: Any, caller: FrameType) -> None:
        """Note a read, unless it is a compiler's constant, a decision, or JAX's own look at a single number."""
        member = caller.f_code.co_name
        if member == _COMPILE_TIME or member in _DECISIONS:
            return
        if array.size > 1 or not _by_jax_itself(caller):
            self._pending[member] += 1

    def handed_over(self, array: Any, member: str) -> None:
        """Note that an array's memory was given away, if it is the host's: on a device of its own nothing reads it."""
        if all(device.platform == "cpu" for device in array.devices()):
            self._pending[member] += 1

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Replace, for so long, the members that give an array's values; in every thread."""
        value = vars(ArrayImpl)["_value"]
        dlpack = vars(ArrayImpl)["__dlpack__"]
        pointer = vars(ArrayImpl)["unsafe_buffer_pointer"]

        def read(array: Any) -> Any:
            self.read(array, sys._getframe(1))
            return value.fget(array)

        def export(array: Any, **options: Any) -> Any:
            self.handed_over(array, "__dlpack__")
            return dlpack(array, **options)

        def point(array: Any) -> Any:
            self.handed_over(array, "unsafe_buffer_pointer")
            return pointer.__get__(array)()

        with (
            replaced(ArrayImpl, "_value", property(read)),
            replaced(ArrayImpl, "__dlpack__", export),
            replaced(ArrayImpl, "unsafe_buffer_pointer", point),
            _without_buffers(),
        ):
            yield


def _by_jax_itself(frame: FrameType | None) -> bool:
    """Whether a function of JAX wanted the value, and not the caller of one that reads on request."""
    while frame is not None:
        code = frame.f_code
        numpys = f"{os.sep}numpy{os.sep}" in code.co_filename and not code.co_filename.startswith(_JAX)
        if not (code.co_filename in _GO_BETWEENS or code.co_name in _READERS or numpys):
            return code.co_filename.startswith(_JAX)
        frame = frame.f_back
    return False


@contextmanager
def replaced(owner: Any, name: str, replacement: Any) -> Iterator[None]:
    kept = vars(owner)[name]
    setattr(owner, name, replacement)
    try:
        yield
    finally:
        setattr(owner, name, kept)


_OFFSET_OF_BUFFERS = 160
"""Of ``tp_as_buffer`` in a type of 64-bit CPython, the same from 3.8 on."""


@contextmanager
def _without_buffers() -> Iterator[None]:
    """Let arrays offer no buffer meanwhile, so that NumPy asks ``__array__``, which is watched.

    Only memory that the host reads has one, which an accelerator's is not: nothing there can miss it.
    """
    slot = _buffer_slot(ArrayImpl)
    if slot is None or not slot.value:
        yield
        return
    kept = slot.value
    slot.value = None
    try:
        yield
    finally:
        slot.value = kept


def _buffer_slot(kind: type) -> ctypes.c_void_p | None:
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
