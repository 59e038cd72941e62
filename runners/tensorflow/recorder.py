"""Recording on TensorFlow: the public functions hand their calls to the recorder, and ``tf.function`` runs eagerly.

Graphs and callbacks of operations are not used. They hold operations, which have other names than what the user
called, and a graph has neither values nor lines of the user's once AutoGraph has rewritten them. With functions run
eagerly each call has its values, its shapes, its time and its count. What is traced all the same is not recorded: the
functions of a data set, which run on the host whatever the target is, and what is exported. That a program may go
backward through a call a tape says that watches it.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from types import MappingProxyType
from typing import Any

import keras
import numpy as np
import tensorflow as tf
from tensorflow.python.eager import record
from tensorflow.python.framework.ops import EagerTensor
from tensorflow.python.ops.resource_variable_ops import BaseResourceVariable, ResourceVariable

from runners.errors import UnfreezableError
from runners.suite.frozen import BFLOAT16, Named, Slot
from runners.suite.recording import arrays as recorded_arrays
from runners.suite.recording.arrays import RecordedArray
from runners.suite.recording.book import Book
from runners.suite.recording.recorder import Recorder, RecordingOptions, StandIn
from runners.suite.recording.sites import Sites
from runners.suite.recording.wrapping import FunctionLocation, Mode, wrapped
from runners.tensorflow.left_open import is_random
from runners.tensorflow.recordable import ASSIGNMENTS, OPERATORS, READS, TENSOR, VARIABLE, functions_in, modules

_TENSORFLOW, _KERAS = (os.path.dirname(os.path.abspath(module.__file__)) for module in (tf, keras))
FOLDERS = (_TENSORFLOW, _KERAS)
"""In these nobody is a user. Keras calls TensorFlow as a user does: what a layer calls is recorded."""
_EAGER_BASE = EagerTensor.__mro__[1]


@contextmanager
def recording(book: Book, folder: str, options: RecordingOptions) -> Iterator[Callable[[], None]]:
    """Record the calls of this process into the book; gives the way to stop."""
    recorder = Recorder(book, Sites(folder, FOLDERS), TensorFlowRecordingDialect(), options.with_values)
    before = tf.config.functions_run_eagerly()
    with wrapped(_places(), recorder, Mode(is_on=tf.executing_eagerly)):
        tf.config.run_functions_eagerly(True)
        try:
            yield recorder.stop
        finally:
            tf.config.run_functions_eagerly(before)


def _places() -> Iterator[FunctionLocation]:
    for home, module in modules():
        for name in functions_in(home, module):
            yield FunctionLocation(module, name, f"{home}.{name}")
    # A class of variables has copies of what it inherits.
    names = [*(f"{TENSOR}.{name}" for name in (*OPERATORS, *READS)), *(f"{VARIABLE}.{name}" for name in ASSIGNMENTS)]
    for owner in (tf.Tensor, _EAGER_BASE, BaseResourceVariable, ResourceVariable):
        for name in names:
            if name.rpartition(".")[2] in vars(owner):
                yield FunctionLocation(owner, name.rpartition(".")[2], name, own_folder=_TENSORFLOW)


def _form(array: Any) -> Any:
    return array.dtype, array.shape


def _own(array: Any) -> Any:
    """The variable of TensorFlow's behind one of Keras's."""
    return array.value if isinstance(array, keras.Variable) else array


class TensorFlowRecordingDialect:
    """Tensors and variables, also Keras's, and NumPy's arrays, which TensorFlow takes for its own."""

    forms: Mapping[type, Callable[[Any], Any]] = MappingProxyType(
        {EagerTensor: _form, ResourceVariable: _form, np.ndarray: _form}
    )
    by_value = frozenset({type, np.dtype, tf.DType})
    reads = READS
    not_computing: frozenset[str] = frozenset()
    stand_in: StandIn | None = None
    carriers = frozenset({"constant", "convert_to_tensor"})

    def form(self, value: Any) -> Any:
        if isinstance(value, tf.TensorShape):
            return str(value)
        return _form(value) if self.is_array(value) else None

    def carries(self, last: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> bool:
        """Data that are on the host; a number by itself goes into the program."""
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

    def described(self, array: Any, *, with_values: bool) -> RecordedArray:
        dtype = self.dtype_of(array)
        values = np.asarray(array if isinstance(array, (np.ndarray, np.generic)) else array.numpy())
        if dtype == BFLOAT16:
            values = values.astype(np.float32)
        if values.dtype.kind not in "biufc":
            raise UnfreezableError(f"NumPy has no {dtype}")
        return recorded_arrays.described(values, dtype, with_values=with_values)

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
        """A checksum of a variable; a tensor never changes."""
        return zlib.crc32(array.numpy().tobytes()) if isinstance(array, (tf.Variable, keras.Variable)) else None

    def draws(self, last: str, name: str | None) -> Callable[[], bool]:
        return lambda: is_random(name or last)

    def settle(self, result: Any) -> None:
        """On the CPU a call returns when it is done."""

    def may_go_backward(self, result: Any) -> bool:
        return bool(record.could_possibly_record())

    def is_differentiated(self, array: Any) -> bool:
        own = _own(array)
        if not isinstance(own, (tf.Tensor, tf.Variable)) or not (own.dtype.is_floating or own.dtype.is_complex):
            return False
        return bool(record.should_record_backprop([own.handle if isinstance(own, tf.Variable) else own]))

    def on_backward(self, results: Sequence[Any], went: Callable[[], None]) -> None:
        """A tape watches because the program differentiates."""
        went()


def _dtype_name(dtype: Any) -> str:
    try:
        return str(tf.as_dtype(dtype).name)
    except TypeError as error:
        raise UnfreezableError(f"a {dtype!r} has no written form") from error
