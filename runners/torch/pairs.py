"""Frozen pairs on torch: a function, and another function that is called on the first function's result. Portolan does
not wait for the device between the two calls."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from runners.suite.cases import Context
from runners.suite.pairs import FIRST_RESULT, first_of, with_result
from runners.torch.frozen import FrozenCall


@dataclass(frozen=True)
class FrozenPair:
    """Prepares the two calls of a pair: the first function, and the second function with the first one's result as an
    argument.

    ``written`` is the stored second call. It contains the stored first call.
    """

    written: str

    def __call__(self, context: Context, *arrays: Any) -> Callable[[], Any]:
        return context.compiled(self.program(context.function, arrays, context.device))

    def program(self, function: Any, arrays: Sequence[Any], device: Any) -> Callable[[], Any]:
        """Return a call of the first function, followed by a call of ``function`` with the result."""
        from runners.torch.devices import Cpu

        first = first_of(self.written)
        first_function = Cpu().lookup(first.function)
        arguments, options = FrozenCall(first.written).parts(arrays, device)
        second_parts = FrozenCall(self.written).parts([*arrays, FIRST_RESULT], device)

        def call() -> Any:
            positional, named = with_result(second_parts, first_function(*arguments, **options))
            return function(*positional, **named)

        return call
