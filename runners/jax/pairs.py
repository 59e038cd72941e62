"""Frozen pairs on JAX: a function, and another function that is called on the first function's result, under one
``jax.jit``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any

from runners.jax.frozen import FrozenCall
from runners.suite.cases import Context
from runners.suite.pairs import first_of


@dataclass(frozen=True)
class FrozenPair:
    """Prepares both calls. ``written`` is the second call, which contains the first."""

    written: str

    def __call__(self, context: Context, *arrays: Any) -> Callable[[], Any]:
        return self.program(context.function, arrays, context.device)

    def program(self, function: Any, arrays: Sequence[Any], device: Any) -> Callable[[], Any]:
        """Return a call of the first function, followed by a call of ``function`` with the result."""
        return partial(_compiled(function, self.written, device), *arrays)


@lru_cache(maxsize=1)
def _compiled(function: Any, written: str, device: Any) -> Callable[..., Any]:
    """Return both calls as one program. Only the case's arrays are arguments; everything else is static.

    The last program is cached, because one case is prepared several times, and JAX would compile each program again.
    """
    import jax

    from runners.jax.devices import Cpu

    first = first_of(written)
    first_function = Cpu().lookup(first.function)

    def whole(*arrays: Any) -> Any:
        arguments, options = FrozenCall(first.written).arguments(arrays, device)
        result = first_function(*arguments, **options)
        arguments, options = FrozenCall(written).arguments([*arrays, result], device)
        return function(*arguments, **options)

    return jax.jit(whole)  # type: ignore[no-any-return]
