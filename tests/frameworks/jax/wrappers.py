"""Makes JAX classes wrong whose instances do the work, because they are no plain functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax

from tests.frameworks.common.mutants import Mutant, swap


def wrapper_of(function: Any) -> Callable[[Any, Mutant], Any] | None:
    return partial_swapped if function is jax.tree_util.Partial else None


def partial_swapped(partial: Any, mutant: Mutant) -> Any:
    """Alter the results of the function inside the object. The object stays a tree that JAX knows."""
    return lambda function, *arguments, **options: partial(swap(function, mutant), *arguments, **options)
