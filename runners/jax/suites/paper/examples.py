"""Small functions for JAX to trace, their NumPy references, and a check of their results.

They are for functions whose arguments are functions: ``tracing.py``, ``programs.py``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from runners.suite.cases import Check
from runners.suite.checks import TOLERANCES, compare


def equal_to(reference: Callable[..., Any], dtype: str = "float32") -> Check:
    """Return a check that compares every value with a reference, for results that do not only contain arrays."""

    def check(observed: Any, *arguments: Any) -> None:
        compare(observed, reference(*arguments), dtype, TOLERANCES[dtype])

    return check


def layer(x: Any, weights: Any) -> Any:
    return jnp.tanh(x @ weights) - x.sum()


def layer_by_numpy(x: Any, weights: Any) -> Any:
    return np.tanh(x @ weights) - x.sum()


def looped(x: Any) -> Any:
    return jax.lax.scan(lambda total, row: (0.5 * total + row, total), jnp.zeros_like(x[0]), x)[0]


def looped_by_numpy(x: Any) -> Any:
    return [0.5 ** np.arange(len(x))[::-1] @ x]
