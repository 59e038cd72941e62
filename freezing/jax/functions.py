"""The public functions of JAX as ``GatedFunction`` objects, and lists of those with undetermined values."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from freezing.common.agreement import Reference, tolerance_of
from freezing.common.gate import Arguments, GatedFunction
from freezing.jax import references
from runners.jax.devices import Cpu
from runners.jax.frozen import FrozenCall
from runners.jax.left_open import NOT_UNIQUE, UNINITIALISED
from runners.suite.checks import Tolerance

KEPT = (3, 1)
"""The maximum numbers of cases of a function: in the first dtype that it accepts, and in the second."""
OF_HARNESSES = (1, 1)
"""These numbers for the calls from JAX's own harnesses."""

RANDOM = ("jax.random.", "jax.nn.initializers.")
"""Modules whose functions return random numbers. ``RANDOM_FUNCTIONS`` are such functions of other modules."""
RANDOM_FUNCTIONS = frozenset({"jax.lax.rng_bit_generator", "jax.lax.rng_uniform"})
DETERMINISTIC = frozenset({"jax.nn.initializers.ones", "jax.nn.initializers.zeros"})
WIDER_TOLERANCES = {"jax.scipy.linalg.funm": Tolerance(1e-4, 1e-4)}
"""Functions with a wider tolerance, because they lose digits. ``funm`` divides by differences of eigenvalues, and its
result depends on the processor: a value of 2.1 differed by 4e-5 between two processors."""


TAILS: Mapping[str, Tolerance] = {
    "float32": Tolerance(1e-4, float(np.finfo(np.float32).tiny)),
    "float64": Tolerance(1e-8, float(np.finfo(np.float64).tiny)),
}
"""The tolerances for ``tails``, by dtype. They are relative, so that errors of small results count. The absolute part
is the smallest normal number, because results below it may be flushed to zero."""


class JaxFunction(GatedFunction):
    """A public function or method of JAX."""

    of_tails = False
    """Whether results are compared with the tolerances in ``TAILS``."""

    def __init__(self, name: str) -> None:
        device = Cpu()
        super().__init__(name, device.lookup(name), device)
        own = name.rpartition(".")[2]
        is_random = name.startswith(RANDOM) or name in RANDOM_FUNCTIONS
        if is_random and name not in DETERMINISTIC:
            self.left_open = "random"
        elif name in UNINITIALISED:
            self.left_open = "uninitialised"
        elif own in NOT_UNIQUE:
            self.left_open = "not-unique"

    def arguments(self, call: str, arrays: Sequence[Any]) -> Arguments:
        parts: Arguments = FrozenCall(call).arguments(arrays, self.device.handle)
        return parts

    def tolerance(self, dtype: str, result: Any) -> Tolerance:
        if self.of_tails and dtype in TAILS:
            return TAILS[dtype]
        return tolerance_of(dtype, result, [WIDER_TOLERANCES[self.name]] if self.name in WIDER_TOLERANCES else [])

    def references(self, dtype: str, fresh: Callable[[], Arguments]) -> Iterator[tuple[str, Reference]]:
        return references.rank(self.name, fresh, self.call)
