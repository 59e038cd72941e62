"""Lowers JAX's programs for a platform that is not available, in addition to running them on the host.

Every JAX program, from an operation called directly to a whole jitted function, is lowered by one function, once for
each shape. During the block, this function is also called for the other platform. ``jax.export`` is not used, because
it rejects more than a device does: it cannot serialize calls of Python and some custom calls. If a function chooses in
Python by the available platform, it chooses as for the host.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import jax
from jax._src.interpreters import pxla

from runners.jax.evidence import operation_of_error
from runners.suite.device import Lowerings, MissingLowering, Operation
from runners.suite.replacing import replacing

LOWER = "lower_sharding_computation"
"""The function of ``pxla`` that lowers every program, unless the program is cached."""


@contextmanager
def lower_beside(platform: str) -> Iterator[Lowerings]:
    """During the block, also lower every program for the platform. Cached programs are compiled again."""
    lowerings = Lowerings()
    lower = getattr(pxla, LOWER)

    def lower_twice(*arguments: Any, **options: Any) -> Any:
        if options["lowering_platforms"] is None:
            _lower(lowerings, platform, lambda: lower(*arguments, **{**options, "lowering_platforms": (platform,)}))
        return lower(*arguments, **options)

    jax.clear_caches()
    with replacing(pxla, LOWER, lower_twice):
        yield lowerings


def _lower(lowerings: Lowerings, platform: str, lower: Any) -> None:
    lowerings.programs += 1
    try:
        lower()
    except NotImplementedError as error:
        operation = operation_of_error(error, platform) or Operation("unknown")
        lowerings.missing.setdefault(operation.name, MissingLowering(operation, error))
    except Exception as error:
        # This is no missing lowering. For example, only the device's own client can lower a callback to Python.
        lowerings.untold.append(f"{type(error).__name__}: {error}")
