"""Records calls on TensorFlow: the public functions pass their calls to the recorder, and ``tf.function`` runs eagerly.

Graphs and operation callbacks are not used. They contain operations, whose names differ from the functions that the
user called. A graph also has no values and, after AutoGraph has rewritten the user's code, no lines of this code. When
functions run eagerly, each call has its values, shapes, time and count. Two kinds of code are traced nevertheless and
not recorded: the functions of a data set, which run on the host for any target, and exported functions. If a gradient
tape watches a call, the program may go backward through it.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from functools import partial
from types import MappingProxyType
from typing import Any

import keras
import numpy as np
import tensorflow as tf
from tensorflow.python.eager import record
from tensorflow.python.framework.ops import EagerTensor
from tensorflow.python.ops.resource_variable_ops import BaseResourceVariable, ResourceVariable

from runners.errors import UnfreezableError
from runners.suite.device import Device
from runners.suite.frozen import BFLOAT16, Named, Slot
from runners.suite.recording import arrays as recorded_arrays
from runners.suite.recording.arrays import RecordedArray
from runners.suite.recording.book import Book
from runners.suite.recording.recorder import ClaimedDevice, Recorder, RecordingOptions
from runners.suite.recording.sites import Sites
from runners.suite.recording.watcher import Watcher
from runners.suite.recording.wrapping import FunctionLocation, Mode, wrap_functions
from runners.tensorflow.left_open import is_random
from runners.tensorflow.recordable import ASSIGNMENTS, OPERATORS, READS, TENSOR, VARIABLE, functions_in, modules

_TENSORFLOW, _KERAS = (os.path.dirname(os.path.abspath(module.__file__)) for module in (tf, keras))
FOLDERS = (_TENSORFLOW, _KERAS)
"""Folders whose code does not belong to a user. Keras calls TensorFlow as a user does, so the calls in its layers are
recorded."""
_EAGER_BASE = EagerTensor.__mro__[1]


@contextmanager
def recording(book: Book, folder: str, options: RecordingOptions) -> Iterator[Callable[[], None]]:
    """Record the calls of this process in the book. Yield a function that stops the recording."""
    recorder = Recorder(book, Sites(folder, FOLDERS), TensorFlowRecordingDialect(), options.with_values)
    with wrap_functions(_places(), recorder, Mode(is_on=tf.executing_eagerly)), _functions_run_eagerly(True):
        yield recorder.stop


@contextmanager
def watching(book: Book, folder: str, device: Device) -> Iterator[Callable[[], None]]:
    """Watch the calls of a program on the device. Yield a function that stops the watching.

    The user's functions run eagerly, so that each of their calls has its own line. If the device is a compiler, each
    call is compiled separately.
    """
    watcher = Watcher(book, Sites(folder, FOLDERS), device, READS)
    device.prime()
    # The setting is the one that programs have by default: operations that the device lacks run on the host, which is
    # recorded.
    tf.config.set_soft_device_placement(True)
    tf.config.experimental.set_device_policy("silent")
    places = [replace(place, as_called=_on(device, place)) for place in _places()]
    # During a call, TensorFlow's own functions, and the function that compiles the call, behave as usual.
    mode = Mode(lambda: _functions_run_eagerly(False), tf.executing_eagerly)
    with wrap_functions(places, watcher, mode), _functions_run_eagerly(True):
        yield watcher.stop


@contextmanager
def _functions_run_eagerly(are_eager: bool) -> Iterator[None]:
    """Set whether ``tf.function`` runs functions eagerly or puts them into graphs."""
    before = tf.config.functions_run_eagerly()
    tf.config.run_functions_eagerly(are_eager)
    try:
        yield
    finally:
        tf.config.run_functions_eagerly(before)


def _on(device: Device, place: FunctionLocation) -> Callable[..., Any]:
    """Return the function at this location, in a form that runs on the device."""
    function: Callable[..., Any] = getattr(place.owner, place.attribute)
    return function if place.attribute in READS else partial(_called_on, device, function)


def _called_on(device: Device, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Make a call on the device. The call is compiled if the device is a compiler.

    A compiled call can return only arrays, so other results are added afterwards. Calls with texts are not compiled,
    because programs process texts on the host.
    """
    results: list[Any] = []

    def arrays() -> list[Any]:
        results[:] = [function(*args, **kwargs)]
        return [leaf for leaf in tf.nest.flatten(results[0]) if _is_computed(leaf)]

    try:
        arrays_of_graph = iter(device.compiled(arrays)())
    except tf.errors.OpError:
        if any(map(_is_text, tf.nest.flatten((args, kwargs, results)))):
            return function(*args, **kwargs)
        raise
    return tf.nest.map_structure(lambda leaf: next(arrays_of_graph) if _is_computed(leaf) else leaf, results[0])


def _is_text(leaf: Any) -> bool:
    return _is_computed(leaf) and leaf.dtype == tf.string


def _is_computed(leaf: Any) -> bool:
    return isinstance(leaf, (tf.Tensor, tf.Variable, tf.RaggedTensor, tf.SparseTensor, tf.IndexedSlices))


def _places() -> Iterator[FunctionLocation]:
    for home, module in modules():
        for name in functions_in(home, module):
            yield FunctionLocation(module, name, f"{home}.{name}")
    # Subclasses of variables have their own copies of inherited methods.
    names = [*(f"{TENSOR}.{name}" for name in (*OPERATORS, *READS)), *(f"{VARIABLE}.{name}" for name in ASSIGNMENTS)]
    for owner in (tf.Tensor, _EAGER_BASE, BaseResourceVariable, ResourceVariable):
        for name in names:
            if name.rpartition(".")[2] in vars(owner):
                yield FunctionLocation(owner, name.rpartition(".")[2], name, own_folder=_TENSORFLOW)


def _have_no_layout(array: Any) -> bool:
    """Return True for every array, because arrays of one dtype and shape have the same layout."""
    return True


def _own(array: Any) -> Any:
    """Return the TensorFlow variable behind a Keras variable."""
    return array.value if isinstance(array, keras.Variable) else array


class TensorFlowRecordingDialect:
    """The TensorFlow-specific part of recording: tensors, variables (including Keras's variables), and NumPy arrays,
    which TensorFlow accepts."""

    quick_layouts: Mapping[type, Callable[[Any], Any]] = MappingProxyType(
        dict.fromkeys((EagerTensor, ResourceVariable, np.ndarray), _have_no_layout)
    )
    by_value = frozenset({type, np.dtype, tf.DType})
    reads = READS
    not_computing: frozenset[str] = frozenset()
    claimed_device: ClaimedDevice | None = None
    carriers = frozenset({"constant", "convert_to_tensor"})
    settle = None

    def layout(self, array: Any) -> None:
        """Return None for every array, because arrays of one dtype and shape have the same layout."""

    def form(self, value: Any) -> Any:
        if isinstance(value, tf.TensorShape):
            return str(value)
        return (value.dtype, value.shape) if self.is_array(value) else None

    def carries(self, last: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> bool:
        """Whether the call moves data from the host to the device. A single number does not count, because it is part
        of the program."""
        return any(isinstance(value, (np.ndarray, list, tuple)) for value in args[:1])

    def quiet(self) -> AbstractContextManager[Any]:
        return tf.init_scope()  # type: ignore[no-any-return]

    def is_array(self, value: Any) -> bool:
        return isinstance(value, (tf.Tensor, tf.Variable, keras.Variable, np.ndarray, np.generic))

    def refusal(self, arrays: Sequence[Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> str | None:
        return None

    def dtype_of(self, array: Any) -> str:
        dtype = tf.as_dtype(array.dtype)
        if not (dtype.is_bool or dtype.is_integer or dtype.is_floating or dtype.is_complex) or dtype.is_quantized:
            raise UnfreezableError(f"an array of {dtype.name}")
        return str(dtype.name)

    def describe(self, array: Any, *, with_values: bool) -> RecordedArray:
        dtype = self.dtype_of(array)
        values = np.asarray(array if isinstance(array, (np.ndarray, np.generic)) else array.numpy())
        if dtype == BFLOAT16:
            values = values.astype(np.float32)
        if values.dtype.kind not in "biufc":
            raise UnfreezableError(f"NumPy has no {dtype}")
        return recorded_arrays.describe(values, dtype, with_values=with_values)

    def slot(self, array: Any, number: int, dtype: str) -> Slot:
        return Slot(number, recorded_arrays.slot_dtype(self.dtype_of(array), dtype))

    def plain(self, tree: Any, leaf: Callable[[Any], Slot]) -> Any:
        if self.is_array(tree):
            return leaf(tree)
        if isinstance(tree, (tf.DType, type, np.dtype)):
            return Named("dtype", _dtype_name(tree))
        if isinstance(tree, tf.TensorShape):
            return tree.as_list()
        if isinstance(tree, (list, tuple)):
            members = [self.plain(member, leaf) for member in tree]
            return members if isinstance(tree, list) else tuple(members)
        if isinstance(tree, Mapping):
            return {key: self.plain(member, leaf) for key, member in tree.items()}
        return tree

    def content(self, array: Any) -> int | None:
        """Return a checksum of a variable; None for a tensor, which never changes."""
        return zlib.crc32(array.numpy().tobytes()) if isinstance(array, (tf.Variable, keras.Variable)) else None

    def draws(self, last: str, name: str | None) -> Callable[[], bool]:
        return lambda: is_random(name or last)

    def may_go_backward(self, result: Any) -> bool:
        return bool(record.could_possibly_record())

    def is_differentiated(self, array: Any) -> bool:
        own = _own(array)
        if not isinstance(own, (tf.Tensor, tf.Variable)) or not (own.dtype.is_floating or own.dtype.is_complex):
            return False
        return bool(record.should_record_backprop([own.handle if isinstance(own, tf.Variable) else own]))

    def on_backward(self, results: Sequence[Any], went: Callable[[], None]) -> None:
        """Call ``went``, which reports that the program goes backward, without waiting for the backward pass. The
        program is known to differentiate, because a tape watches the call."""
        went()


def _dtype_name(dtype: Any) -> str:
    try:
        return str(tf.as_dtype(dtype).name)
    except TypeError as error:
        raise UnfreezableError(f"a {dtype!r} has no written form") from error
