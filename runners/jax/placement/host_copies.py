"""Host copies of arrays: the numbers that a call reads on the host, as events of ``runners/suite/host_work.py``.

Every access to an array's values uses one of a few members of JAX's array class, so these are replaced while a call is
watched.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from types import FrameType
from typing import Any

import jax
from jax._src.array import ArrayImpl

from runners.suite.buffers import noted_buffers
from runners.suite.host_work import WORKED, CallRecord, Read
from runners.suite.picks import Picks
from runners.suite.replacing import replacing

_JAX = os.path.dirname(jax.__file__)
_PICKS = frozenset(
    {
        *("dynamic_slice", "slice", "gather", "split", "unstack", "squeeze", "reshape", "ravel", "transpose"),
        *("take", "_take", "_squeeze", "dynamic_index_in_dim"),
    }
)
"""Programs of JAX's own functions that pick numbers out of an array, or change its form, without computing."""
_COMPILE_TIME = "_array_mlir_constant_handler"
"""JAX's function that writes an array into a program if the compiled function closes over this array. This happens
once, while the program is compiled."""
_GO_BETWEENS = tuple(
    os.path.join(_JAX, "_src", *path.split("/"))
    for path in ("array.py", "core.py", "tree_util.py", "profiler.py", "numpy/array_methods.py")
)
"""JAX files whose functions read values for their callers (``item``, ``concrete_or_error``)."""
_READERS = ("device_get", "_device_get")


class HostCopies:
    """The reads of a call, each with the member of the array through which it came."""

    def __init__(self, record: CallRecord) -> None:
        self._record = record
        self._picks = Picks(lambda array: int(array.size))
        self._picking = threading.local()

    @property
    def is_picking(self) -> bool:
        """Whether this thread is picking numbers out of an array. JAX runs programs of its own for this."""
        return getattr(self._picking, "now", False)

    def note_program(self, program: str, inputs: Sequence[Any], outputs: Sequence[Any]) -> None:
        """Record a program that ran.

        A program that only takes numbers out of an array is recorded as a pick. Any other program is recorded as work
        of the device, and its result as computed from its inputs, which may be picked numbers.
        """
        if self.is_picking:
            return
        inputs = [array for array in inputs if isinstance(array, ArrayImpl)]
        # A program that returns as many numbers as its input has only takes an array apart.
        apart = len(outputs) > 1 and any(array.size == len(outputs) for array in inputs)
        if apart or program.removeprefix("jit(").removesuffix(")") in _PICKS:
            if inputs:
                self._picks.note_parts(max(inputs, key=lambda array: int(array.size)), outputs)
            return
        self._picks.note_results(inputs, outputs)
        self._record.add(WORKED)

    def read(self, array: Any, caller: FrameType) -> None:
        """Record a read, unless a compiler reads a constant."""
        member = caller.f_code.co_name
        if member != _COMPILE_TIME:
            self._record.add(self._event(array, member, by_jax=_by_jax_itself(caller)))

    def handed_over(self, array: Any, member: str, *, by_jax: bool = False) -> None:
        """Record that Python got access to an array's memory, if the memory is the host's. The memory of another device
        cannot be read this way."""
        if all(device.platform == "cpu" for device in array.devices()):
            self._record.add(self._event(array, member, by_jax=by_jax))

    def _event(self, array: Any, member: str, *, by_jax: bool) -> Read:
        picks = self._picks.behind(array)
        return Read(member, array.size, str(array.dtype), by_framework=by_jax, picks=picks)

    @contextmanager
    def watch(self) -> Iterator[None]:
        """In the ``with`` block, replace the members that return an array's values with members that record the access,
        in all threads."""
        value, dlpack, pointer, entry, entries = (vars(ArrayImpl)[name] for name in _MEMBERS)

        def read(array: Any) -> Any:
            self.read(array, sys._getframe(1))
            return value.fget(array)

        def export(array: Any, **options: Any) -> Any:
            self.handed_over(array, "__dlpack__")
            return dlpack(array, **options)

        def point(array: Any) -> Any:
            self.handed_over(array, "unsafe_buffer_pointer")
            return pointer.__get__(array)()

        def pick(array: Any, place: Any) -> Any:
            with self._picking_now():
                part = entry(array, place)
            self._note_part(array, part)
            return part

        def pick_all(array: Any) -> Iterator[Any]:
            return self._picking_from(array, entries(array))

        def give(array: Any) -> None:
            # The reader is two frames up, because NumPy's own functions are written in C and have no frames.
            self.handed_over(array, "__buffer__", by_jax=_by_jax_itself(sys._getframe(2)))

        replacements = (property(read), export, point, pick, pick_all)
        with ExitStack() as stack:
            for name, replacement in zip(_MEMBERS, replacements):
                stack.enter_context(replacing(ArrayImpl, name, replacement))
            stack.enter_context(noted_buffers(ArrayImpl, give))
            yield

    def _picking_from(self, array: Any, entries: Iterator[Any]) -> Iterator[Any]:
        while True:
            with self._picking_now():
                part = next(entries, None)
            if part is None:
                return
            self._note_part(array, part)
            yield part

    @contextmanager
    def _picking_now(self) -> Iterator[None]:
        before, self._picking.now = self.is_picking, True
        try:
            yield
        finally:
            self._picking.now = before

    def _note_part(self, array: Any, part: Any) -> None:
        """Record a part of an array. For a tracer, for example inside a transformation, there is nothing to record."""
        if isinstance(part, ArrayImpl):
            self._picks.note_parts(array, [part])


_MEMBERS = ("_value", "__dlpack__", "unsafe_buffer_pointer", "__getitem__", "__iter__")


def _by_jax_itself(frame: FrameType | None) -> bool:
    """Whether a JAX function needed the value for itself, and did not read it for its caller."""
    while frame is not None:
        code = frame.f_code
        numpys = f"{os.sep}numpy{os.sep}" in code.co_filename and not code.co_filename.startswith(_JAX)
        if not (code.co_filename in _GO_BETWEENS or code.co_name in _READERS or numpys):
            return code.co_filename.startswith(_JAX)
        frame = frame.f_back
    return False
