"""Public functions of JAX under ``jax.jit``, called or differentiated, as ``GatedFunction`` objects."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

import jax
from freezing.common import differences, limits
from freezing.common.agreement import Reference
from freezing.common.differences import MOST_ELEMENTS
from freezing.common.gate import Arguments
from freezing.jax import references
from freezing.jax.functions import JaxFunction
from runners.errors import UnjudgedError
from runners.jax.frozen import FrozenCall, program
from runners.jax.ways import SECOND_ORDER, WAYS
from runners.suite.checks import Tolerance
from runners.suite.recording.replay import arrays_in, changed
from runners.suite.sequences import aligned

TAILS = Tolerance(1e-4, 1e-12)
"""The tolerance of gradients for ``tails``. Gradients in float64 have four right digits down to 1e-12, even if those in
float32 have none."""


class Program(JaxFunction):
    """A public function whose call is compiled as one program. Subclasses may add to the program."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.function = self.call
        self.call = self._run

    def arguments(self, call: str, arrays: Sequence[Any]) -> Arguments:
        return [call, arrays], {}

    def references(self, dtype: str, fresh: Callable[[], Arguments]) -> Iterator[tuple[str, Reference]]:
        return references.rank(self.name, lambda: self._parts(fresh), self.function)

    def _run(self, call_text: str, arrays: Sequence[Any]) -> Any:
        return program(self.function, call_text, self.device.handle)(*arrays)

    def _parts(self, fresh: Callable[[], Arguments]) -> Any:
        """Return the parts of the written call, with the arrays in their places."""
        (call_text, arrays), _ = fresh()
        return FrozenCall(call_text).arguments(arrays, self.device.handle)


class Gradient(Program):
    """The gradients of a public function, or the gradients of its gradients, depending on ``way``."""

    def __init__(self, name: str, way: str, *, at_limits: bool = False) -> None:
        """With ``at_limits``, inputs may be NaN or infinite, and only differences judge the gradients."""
        super().__init__(name)
        self._at_limits = at_limits
        self._way = WAYS[way]
        self._is_second = way == SECOND_ORDER
        self._wide: dict[str, Callable[..., Any]] = {}
        """The compiled programs in float64, by written call."""

    def tolerance(self, dtype: str, result: Any) -> Tolerance:
        return TAILS if self.of_tails else super().tolerance(dtype, result)

    def references(self, dtype: str, fresh: Callable[[], Arguments]) -> Iterator[tuple[str, Reference]]:
        """Yield differences if there are few inputs, else float64.

        If a gradient disagrees with the differences, no other reference is tried, because the function is probably not
        differentiable there.
        """
        if self._at_limits:
            yield "differences", lambda: self._by_limits(self._parts(fresh))
        elif not self.of_tails and are_few(self._parts(fresh)):
            yield "differences", lambda: self._by_differences(self._parts(fresh))
        else:
            yield "float64", lambda: references.flat(self._in_float64(fresh))

    def _in_float64(self, fresh: Callable[[], Arguments]) -> Any:
        (call_text, _), _ = fresh()
        with jax.enable_x64(True):
            parts = references.widen(self._parts(fresh))
            if call_text not in self._wide:

                def wide(*arrays: Any) -> Any:
                    members = iter(arrays)
                    return self._way(self.function, *changed(parts, lambda _: next(members), jax.Array))

                self._wide[call_text] = jax.jit(wide)
            return self._wide[call_text](*arrays_in(parts, jax.Array))

    def _by_differences(self, parts: Any) -> list[Any]:
        with jax.enable_x64(True):
            parts = references.widen(parts)
            results, inputs = self._weighted(parts)
            compiled_loss = jax.jit(lambda *arrays: sum(map(jax.numpy.sum, results(*arrays))))

            def loss(arrays: Sequence[Any]) -> float:
                return float(compiled_loss(*arrays))

            if self._is_second:
                return differences.second_order(loss, inputs, [np.asarray(direction) for direction in parts[4]])
            return differences.gradients(loss, inputs)

    def _by_limits(self, parts: Any) -> list[Any]:
        with jax.enable_x64(True):
            results, inputs = self._weighted(references.widen(parts))
            if sum(array.size for array in inputs) > limits.MOST_ELEMENTS:
                raise UnjudgedError("it has too many elements for differences")
            compiled = jax.jit(results)
            return limits.gradients(lambda arrays: list(map(np.asarray, compiled(*arrays))), inputs)

    def _weighted(self, parts: Any) -> tuple[Callable[..., list[Any]], list[Any]]:
        """Return a function that computes the real parts of the weighted results from its inputs, and the inputs."""
        arguments, options, places, weights, *_ = parts
        all_arrays = list(arrays_in((arguments, options), jax.Array))

        def results(*inputs: Any) -> list[Any]:
            arrays = iter([dict(aligned(places, inputs)).get(place, array) for place, array in enumerate(all_arrays)])
            positional, keywords = changed((arguments, options), lambda _: next(arrays), jax.Array)
            own = arrays_in(self.function(*positional, **keywords), jax.Array)
            return [(one * weight).real for one, weight in aligned(own, weights) if weight is not None]

        return results, [np.asarray(all_arrays[place]) for place in places]


def are_few(parts: Sequence[Any]) -> bool:
    """Whether a gradient has few enough input elements for differences, and all of them are finite."""
    arguments, options, places, *_ = parts
    arrays = list(arrays_in((arguments, options), jax.Array))
    inputs = [np.asarray(arrays[place]) for place in places]
    return sum(array.size for array in inputs) <= MOST_ELEMENTS and all(np.isfinite(array).all() for array in inputs)
