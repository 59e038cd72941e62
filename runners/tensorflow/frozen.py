"""A frozen call on TensorFlow: its arguments made from the case's arrays, compiled where the device demands it."""

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
    """Prepares a call: ``written`` is its parts, the first two its positional arguments and its options.

    An array is as the device gives it: in the case's precision, or of whole numbers in its own dtype, and contiguous.
    """

    written: str

    def __call__(self, context: Context, *arrays: Any) -> Callable[[], Any]:
        return context.compiled(self.way(context.function, *self.parts(arrays)))

    @property
    def way(self) -> Way:
        """The way in which the function is called."""
        return WAYS[json.loads(self.written).get(WAY, "call")]

    def parts(self, arrays: Sequence[Any]) -> Any:
        """The arguments of the way beside the function, with TensorFlow's own arrays in their places."""

        def array(slot: Slot) -> Any:
            if slot.dtype is not None or slot.strides is not None:
                raise UnfreezableError("an array of TensorFlow's has no other dtype or strides than its case gives it")
            return arrays[slot.number]

        return decode(json.loads(self.written), array)


@dataclass(frozen=True)
class CallOfArguments(FrozenCall):
    """Prepares a call whose arrays are arguments of the compiled function, which so sees every shape."""

    def __call__(self, context: Context, *arrays: Any) -> Callable[[], Any]:
        return partial(program(context.function, self.written, context.compiled), *arrays)


@lru_cache(maxsize=1)
def program(
    function: Any, written: str, compiled: Callable[[Callable[..., Any]], Callable[..., Any]]
) -> Callable[..., Any]:
    """A call as a function of the case's arrays that is compiled once; the last is kept."""
    call = FrozenCall(written)
    return compiled(lambda *arrays: call.way(function, *call.parts(arrays))())


def call_of_arguments(function: Function, call: FrozenCall) -> FrozenCall:
    """The call that sees every shape."""
    return CallOfArguments(call.written)
