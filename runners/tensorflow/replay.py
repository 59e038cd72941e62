"""Replay on TensorFlow: makes a recorded call, on the device and on the CPU in float64."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import tensorflow as tf

from runners.suite.cases import Case, Context
from runners.suite.frozen import Named, Slot, decode
from runners.suite.recording import replay
from runners.suite.recording.reading import RecordedCall
from runners.suite.recording.replay import CHANGES, WAY, Openness, arrays_in
from runners.tensorflow.devices import Cpu
from runners.tensorflow.left_open import FIRST_OF_EQUALS, NOT_UNIQUE, UNINITIALISED, normalised
from runners.tensorflow.recordable import VARIABLE, recordable
from runners.tensorflow.ways import gradient

_ARRAYS = (tf.Tensor, tf.Variable)
_WIDE = {tf.float16: tf.float64, tf.bfloat16: tf.float64, tf.float32: tf.float64, tf.complex64: tf.complex128}


def case_of(call: RecordedCall) -> Case:
    """Return the case that makes a recorded call."""
    own = normalised(call.function)
    owner, _, last = call.function.rpartition(".")
    return replay.case_of(
        call,
        ReplayedCall(replay.with_changes(call), last if owner == VARIABLE else None),
        Openness(call.is_random or own in NOT_UNIQUE | UNINITIALISED, own in FIRST_OF_EQUALS),
        framework="tensorflow",
        recordable=recordable(),
    )


@dataclass(frozen=True)
class ReplayedCall:
    """Prepares a recorded call. If the program passed the same array object twice, the replay also passes one object
    twice, and not two equal arrays."""

    written: str
    method: str | None
    """The name of the method of the variable that is the first argument. The method is looked up in the variable
    itself, because the public class is abstract."""

    def __call__(self, context: Context, *arrays: Any) -> Callable[[], Any]:
        return context.compiled(self._call(context.function, self._parts(arrays, lambda dtype: dtype)))

    def on_host(self, function: str, dtype: str, arrays: Sequence[Any], *, is_wide: bool) -> Any:
        host = Cpu()
        with host.scope(dtype):
            own = host.to_device(list(arrays), dtype)
            parts = self._parts(own, _widened if is_wide else lambda dtype: dtype)
            return host.to_host(self._call(host.lookup(function), parts)())

    def _parts(self, arrays: Sequence[Any], dtype: Callable[[tf.DType], tf.DType]) -> Any:
        made: dict[int, Any] = {}

        def leaf(slot: Slot) -> Any:
            if slot.number not in made:
                array = arrays[slot.number]
                wanted = dtype(array.dtype if slot.dtype is None else tf.as_dtype(slot.dtype))
                made[slot.number] = array if array.dtype == wanted else tf.cast(array, wanted)
            return made[slot.number]

        def named(value: Named) -> Any:
            return dtype(tf.as_dtype(value.name))

        arguments, *others = decode(json.loads(self.written), leaf, named)
        if self.method is not None:
            arguments[0] = tf.Variable(arguments[0])
        return arguments, *others

    def _call(self, function: Any, parts: Sequence[Any]) -> Callable[[], Any]:
        called = function if self.method is None else partial(_assigned, self.method)
        kind = json.loads(self.written).get(WAY)
        if kind == "gradient":
            return gradient(called, *parts)
        if kind == CHANGES:
            return changes(called, *parts)
        arguments, options = parts
        return partial(called, *arguments, **options)


def _assigned(method: str, variable: tf.Variable, *arguments: Any, **options: Any) -> Any:
    return getattr(variable, method)(*arguments, **options)


def changes(
    function: Any, arguments: Sequence[Any], options: Mapping[str, Any], places: Sequence[int]
) -> Callable[[], Any]:
    """Return the call with a larger result, which also contains the variables at these positions. The call changes
    these variables."""
    given = list({id(array): array for array in arrays_in((arguments, options), _ARRAYS)}.values())

    def call() -> Any:
        return [function(*arguments, **options), [tf.identity(given[place]) for place in places]]

    return call


def _widened(dtype: tf.DType) -> tf.DType:
    return _WIDE.get(dtype, dtype)
