"""Frozen calls of TensorFlow: their arguments are made from the case's arrays, and compiled if the device requires
it."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any

from runners.errors import UnfreezableError
from runners.suite.cases import Context, Function
from runners.suite.frozen import Slot, decode
from runners.suite.recording.replay import WAY
from runners.tensorflow.ways import WAYS, Way


@dataclass(frozen=True)
class FrozenCall:
    """Prepares a stored call. The first two parts of ``written`` are its positional arguments and its keyword
    arguments.

    Arrays are contiguous. Floating-point arrays have the case's dtype, integer arrays their own.
    """

    written: str

    def __call__(self, context: Context, *arrays: Any) -> Callable[[], Any]:
        return context.compiled(self.way(context.function, *self.parts(arrays)))

    @property
    def way(self) -> Way:
        """The way to call the function: plainly, or for its first or second derivative."""
        return WAYS[json.loads(self.written).get(WAY, "call")]

    def parts(self, arrays: Sequence[Any]) -> Any:
        """The arguments of the way, except the function, with TensorFlow arrays in place of slots."""

        def array(slot: Slot) -> Any:
            if slot.dtype is not None or slot.strides is not None:
                raise UnfreezableError("an array of TensorFlow's has no other dtype or strides than its case gives it")
            return arrays[slot.number]

        return decode(json.loads(self.written), array)


@dataclass(frozen=True)
class CallOfArguments(FrozenCall):
    """Prepares a call whose arrays are arguments of the compiled function, so that the function sees each new shape."""

    def __call__(self, context: Context, *arrays: Any) -> Callable[[], Any]:
        return partial(program(context.function, self.written, context.compiled), *arrays)


@lru_cache(maxsize=1)
def program(
    function: Any, written: str, compiled: Callable[[Callable[..., Any]], Callable[..., Any]]
) -> Callable[..., Any]:
    """Return a compiled function of the case's arrays that makes the call. The function that was returned last is
    cached, so it is compiled only once."""
    call = FrozenCall(written)
    return compiled(lambda *arrays: call.way(function, *call.parts(arrays))())


def call_of_arguments(function: Function, call: FrozenCall) -> FrozenCall:
    """Return the same call, but with the arrays as arguments of the compiled function."""
    return CallOfArguments(call.written)
