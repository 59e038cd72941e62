"""JAX's public functions under the gate, and the list of those whose values are not determined."""

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
"""Cases of a function in the first dtype that it takes, and in the second."""
OF_HARNESSES = (1, 1)
"""The same of calls that JAX's own harnesses made."""

RANDOM = ("jax.random.", "jax.nn.initializers.")
"""Modules whose functions give random numbers; and some of another module."""
RANDOM_FUNCTIONS = frozenset({"jax.lax.rng_bit_generator", "jax.lax.rng_uniform"})
DETERMINISTIC = frozenset({"jax.nn.initializers.ones", "jax.nn.initializers.zeros"})
WIDER = {"jax.scipy.linalg.funm": Tolerance(1e-4, 1e-4)}
"""Functions that lose digits on the way: ``funm`` divides by differences of eigenvalues, and processors differ in what
is left. Drawn on one, a value of 2.1 was 4e-5 off on another."""


TAILS: Mapping[str, Tolerance] = {
    "float32": Tolerance(1e-4, float(np.finfo(np.float32).tiny)),
    "float64": Tolerance(1e-8, float(np.finfo(np.float64).tiny)),
}
"""At the tails of a dtype a result is right to so many digits, or flushed to zero where it has no normal number."""


class JaxFunction(GatedFunction):
    """A public function or method of JAX."""

    of_tails = False
    """Whether its results are compared as those at the tails are."""

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
        return tolerance_of(dtype, result, [WIDER[self.name]] if self.name in WIDER else [])

    def references(self, dtype: str, fresh: Callable[[], Arguments]) -> Iterator[tuple[str, Reference]]:
        return references.rank(self.name, fresh, self.call)
