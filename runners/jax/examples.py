"""Examples from JAX's docstrings: the names that they can use, and the settings that they may change.

A process has only one platform, so only the default device is forced.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import partial
from typing import Any

from runners.suite.cases import Context
from runners.suite.examples import Setting, Text, no_plain_form
from runners.suite.frozen_example import FrozenExample


class JaxDialect:
    """The JAX-specific part of running docstring examples."""

    def names(self, device: Any) -> Mapping[str, Any]:
        import jax
        from jax import lax, numpy

        return {"jax": jax, "jnp": numpy, "lax": lax, "partial": partial}

    def forced(self, device: Any) -> AbstractContextManager[Any]:
        import jax

        found: AbstractContextManager[Any] = jax.default_device(device)
        return found

    def rewritten(self, tree: ast.Module) -> ast.Module:
        return tree

    def settings(self) -> Sequence[Setting]:
        return [Setting("the configuration of JAX", _configuration, _set_configuration)]

    def is_array(self, value: Any) -> bool:
        import jax

        return isinstance(value, jax.Array)

    def is_changeable(self, value: Any) -> bool:
        return not self.is_array(value)

    def plain(self, value: Any) -> Any:
        import numpy as np

        if isinstance(value, np.dtype):
            return Text(str(value))
        raise no_plain_form(value)

    def compiled(self, context: Context, call: Callable[[], Any]) -> Callable[[], Any]:
        return context.compiled(call)


def _configuration() -> dict[str, Any]:
    """Return the process's settings, without the values that a context manager has set for now. Those values would hide
    that an example changed a setting."""
    import jax

    holders = jax.config._value_holders.items()
    return {name: holder.get_global() if hasattr(holder, "get_global") else holder.value for name, holder in holders}


def _set_configuration(before: Mapping[str, Any]) -> None:
    import jax

    for name, value in _configuration().items():
        if value != before[name]:
            jax.config.update(name, before[name])


def frozen_example(written: str) -> FrozenExample:
    """Prepare a docstring example of JAX from its stored form."""
    return FrozenExample(written, JaxDialect())
