"""Records calls on JAX: the public functions pass their calls to the recorder, and the user's functions are not
compiled.

Jaxprs are not used. They contain primitives, whose names differ from the functions that the user called. They also
contain neither values nor the number of executions. Instead, ``jit`` is turned off, so that the user's functions and
their loops run uncompiled. The recorder then sees the values, time and number of each call, and tracers show which
calls the program differentiates. During a recorded call ``jit`` is on, so that JAX's own functions behave as usual.
Exception: a function that the user compiled runs uncompiled twice for each signature, and compiled from then on
(``compiled_functions.py``).
"""

from __future__ import annotations

import enum
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from operator import attrgetter
from types import MappingProxyType
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax._src import config, core
from jax._src.array import ArrayImpl
from jax._src.interpreters.ad import JVPTracer, LinearizeTracer

from runners.errors import UnfreezableError
from runners.jax.compiled_functions import compiling
from runners.jax.devices import update
from runners.jax.recordable import (
    ARRAY,
    AT,
    DEVICE_PUT,
    METHODS,
    READS,
    UPDATES,
    functions_in,
    modules,
    value_classes,
)
from runners.jax.writing import KEY, plain
from runners.suite.device import Device
from runners.suite.frozen import BFLOAT16, Slot
from runners.suite.recording import arrays as recorded_arrays
from runners.suite.recording.arrays import RecordedArray
from runners.suite.recording.book import Book
from runners.suite.recording.recorder import ClaimedDevice, Recorder, RecordingOptions
from runners.suite.recording.sites import Sites
from runners.suite.recording.watcher import Watcher
from runners.suite.recording.wrapping import FunctionLocation, Mode, wrap_functions

FOLDERS = (os.path.dirname(os.path.abspath(jax.__file__)),)
"""Code in these folders does not belong to a user."""
WEAK = "an array of a weak type beside one of another dtype"

_Index = type(jnp.zeros(1).at[0])
_WRITTEN = frozenset(
    {"bool", *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64))}
    | {BFLOAT16, "float16", "float32", "float64", "complex64", "complex128"}
)


@contextmanager
def recording(book: Book, folder: str, options: RecordingOptions) -> Iterator[Callable[[], None]]:
    """Record the calls of this process in the book. Yield a function that stops the recording."""
    recorder = Recorder(book, Sites(folder, FOLDERS), JaxRecordingDialect(), options.with_values)
    before = jax.config.jax_disable_jit
    with wrap_functions(places(), recorder, Mode(_with_compilation, is_on=_is_eager)), compiling(book):
        jax.config.update("jax_disable_jit", True)
        try:
            yield recorder.stop
        finally:
            jax.config.update("jax_disable_jit", before)


@contextmanager
def watching(book: Book, folder: str, device: Device) -> Iterator[Callable[[], None]]:
    """Watch the calls of a program on the device. JAX has no other device in this process. Yield a function that stops
    the watching."""
    watcher = Watcher(book, Sites(folder, FOLDERS), device, READS)
    device.prime()
    # While JAX traces code, nothing is recorded, because traced code does not run yet.
    with wrap_functions(places(), watcher, Mode(is_on=core.trace_state_clean)):
        yield watcher.stop


def _with_compilation() -> AbstractContextManager[Any]:
    # ``jax.disable_jit`` is not used, because it takes three times as long in every call.
    return config.disable_jit(False)  # type: ignore[no-any-return]


def _is_eager() -> bool:
    """Whether the user's functions run uncompiled."""
    return bool(config.disable_jit.value)


def places() -> Iterator[FunctionLocation]:
    """Yield the locations of the public functions that a recorder wraps."""
    for module in modules():
        for name in functions_in(module):
            yield FunctionLocation(module, name, f"{module.__name__}.{name}")
    yield FunctionLocation(jax, "device_put", DEVICE_PUT)
    yield FunctionLocation(jax, "device_get", "jax.device_get")
    for owner in (ArrayImpl, core.Tracer):
        for name in (*METHODS, *READS):
            if hasattr(owner, name):
                yield FunctionLocation(owner, name, f"{ARRAY}.{name}")
    for name in UPDATES:
        yield FunctionLocation(
            _Index, name, f"{AT}.{name}", update(name), lambda given: (given[0].array, given[0].index, *given[1:])
        )


class JaxRecordingDialect:
    """The JAX-specific part of recording: arrays, tracers, and NumPy arrays, which JAX accepts."""

    quick_layouts: Mapping[type, Callable[[Any], Any]] = MappingProxyType({ArrayImpl: attrgetter("weak_type")})
    by_value = frozenset({type, type(jnp.float32), np.dtype})
    reads = READS
    not_computing: frozenset[str] = frozenset()
    claimed_device: ClaimedDevice | None = None
    carriers = frozenset({"array", "asarray", "device_put"})

    def layout(self, array: Any) -> bool:
        """Return False, because a concrete array has no weak type."""
        return False

    def form(self, value: Any) -> Any:
        if isinstance(value, core.Tracer):
            return value.dtype, value.shape, value.weak_type
        if isinstance(value, np.ndarray):
            return value.dtype, value.shape
        return value if isinstance(value, enum.Enum) else None

    def carries(self, last: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> bool:
        """Whether the call moves data from the host to the device. A single number does not count, because it is part
        of the program."""
        return any(isinstance(value, (np.ndarray, list, tuple, dict)) for value in args[:1])

    def quiet(self) -> AbstractContextManager[Any]:
        return nullcontext()

    def is_array(self, value: Any) -> bool:
        return isinstance(value, (jax.Array, np.ndarray, np.generic))

    def refusal(self, arrays: Sequence[Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> str | None:
        dtypes = [(_numpy_dtype(array), getattr(array, "weak_type", False)) for array in arrays]
        for dtype, is_weak in dtypes:
            if is_weak and any(other != dtype and _kind(other) == _kind(dtype) for other, _ in dtypes):
                return WEAK
        return None

    def dtype_of(self, array: Any) -> str:
        dtype = str(_numpy_dtype(array))
        if dtype not in _WRITTEN:
            raise UnfreezableError(f"NumPy has no {dtype}")
        return dtype

    def describe(self, array: Any, *, with_values: bool) -> RecordedArray:
        dtype = self.dtype_of(array)
        data = jax.random.key_data(array) if _is_key(array) else array
        values = _values(data)
        if values is None:
            return RecordedArray(dtype, tuple(data.shape))
        as_numpy = values.astype(np.float32 if dtype == BFLOAT16 else dtype)
        return recorded_arrays.describe(as_numpy, dtype, with_values=with_values)

    def slot(self, array: Any, number: int, dtype: str) -> Slot:
        if _is_key(array):
            return Slot(number, f"{KEY}{jax.random.key_impl(array)}>")
        return Slot(number, recorded_arrays.slot_dtype(self.dtype_of(array), dtype))

    def plain(self, tree: Any, leaf: Callable[[Any], Slot]) -> Any:
        return plain(tree, leaf, {id(kind): name for name, kind in value_classes().items()})

    def content(self, array: Any) -> None:
        """Return an empty content for every array, because no call changes a JAX array."""

    def draws(self, last: str, name: str | None) -> Callable[[], bool]:
        """Return a function that always returns False, because random numbers in JAX depend only on the keys that are
        passed."""
        return lambda: False

    def settle(self, result: Any) -> None:
        if type(result) is ArrayImpl:
            result.block_until_ready()
        elif isinstance(result, (list, tuple)):
            for member in result:
                self.settle(member)

    def may_go_backward(self, result: Any) -> bool:
        return type(result) is not ArrayImpl

    def is_differentiated(self, array: Any) -> bool:
        return isinstance(array, (JVPTracer, LinearizeTracer)) and _kind(_numpy_dtype(array)) in "fc"

    def on_backward(self, results: Sequence[Any], went: Callable[[], None]) -> None:
        """Call ``went``, which reports that the program goes backward, without waiting for the backward pass. The
        program is known to differentiate, because JAX passes these tracers only then."""
        went()


def _is_key(array: Any) -> bool:
    return bool(jax.dtypes.issubdtype(array.dtype, jax.dtypes.prng_key))


def _numpy_dtype(array: Any) -> np.dtype[Any]:
    """Return the dtype in which JAX computes. This dtype may be narrower than the NumPy array's dtype. For a random
    key, it is the dtype of the key's integers."""
    if _is_key(array):
        return np.dtype("uint32")
    dtype: np.dtype[Any] = np.dtype(jax.dtypes.canonicalize_dtype(array.dtype))
    return dtype


def _kind(dtype: np.dtype[Any]) -> str:
    """Return the kind of a dtype. NumPy itself does not recognize as numbers the float types that it lacks, such as
    bfloat16."""
    return "f" if jnp.issubdtype(dtype, jnp.floating) else str(dtype.kind)


def _values(array: Any) -> np.ndarray[Any, Any] | None:
    """Return the values; None for an array that is only traced, as inside of ``vmap``."""
    concrete = array.to_concrete_value() if isinstance(array, core.Tracer) else array
    return None if concrete is None else np.asarray(concrete)
