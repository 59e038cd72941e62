"""Processor: how another processor may compute a call of JAX, with the rounding that it would have.

The CPU's compiler joins the operations of a function and computes float16 and bfloat16 in float32 between them. Another
compiler may round the result of each operation. Both are right, so a case whose result does not survive it says nothing
about a device.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager

import jax


def other_processors() -> Sequence[AbstractContextManager[None]]:
    """All ways in which a call is computed once more: each operation alone."""
    return (jax.disable_jit(),)
