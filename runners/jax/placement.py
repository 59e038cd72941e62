"""Proof of placement on JAX: the host callbacks that ran.

A process of JAX has one platform, so a function can reach the host only by a callback. Each is counted as it runs,
independently of when its function was compiled.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import jax
from jax._src import callback, debugging

from runners.suite.device import Proof
from runners.suite.sequences import aligned

_CALLBACKS = (
    (callback, "pure_callback_impl", "pure_callback"),
    (callback, "io_callback_impl", "io_callback"),
    # The one for debug.print at once; the other for all that is compiled, and debug.callback at once.
    (debugging, "debug_callback_impl", "debug_callback"),
    (debugging.debug_callback_p, "impl", "debug_callback"),
)
"""The functions that every host callback goes through when it runs, on any backend, each with the callback's name."""


@contextmanager
def count_callbacks(proof: Proof) -> Iterator[None]:
    """Note in the proof every host callback that runs meanwhile, and that they were counted."""
    kept = [getattr(owner, attribute) for owner, attribute, _ in _CALLBACKS]

    def counted(name: str, implementation: Any) -> Any:
        def call(*arguments: Any, **options: Any) -> Any:
            proof.fallbacks[name] = proof.fallbacks.get(name, 0) + 1
            return implementation(*arguments, **options)

        return call

    for (owner, attribute, name), implementation in aligned(_CALLBACKS, kept):
        setattr(owner, attribute, counted(name, implementation))
    try:
        yield
        jax.effects_barrier()
        # With one platform in the process there is no other way to the host.
        proof.counted = True
    finally:
        for (owner, attribute, _), implementation in aligned(_CALLBACKS, kept):
            setattr(owner, attribute, implementation)
