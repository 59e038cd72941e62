"""JAX: which devices it can be forced to, and where its cases are. Imports nothing heavy.

How a device is forced, waited for and verified is in ``devices.py``; a new file in ``suites/paper/``
that defines ``FUNCTIONS`` is found without being registered.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from runners.suite.cases import Function, collected
from runners.suite.device import Device

NAME = "jax"
# One platform, never a list: with "cuda,cpu" JAX takes the host, silently, where CUDA is broken.
DEVICES: Mapping[str, Mapping[str, str]] = {
    "cpu": {"JAX_PLATFORMS": "cpu", "CUDA_VISIBLE_DEVICES": ""},
    "cuda": {"JAX_PLATFORMS": "cuda", "XLA_PYTHON_CLIENT_PREALLOCATE": "false"},
    "tpu": {"JAX_PLATFORMS": "tpu"},
}
"""Each device's word, and the environment variables that must be set before JAX is imported."""


def device(name: str) -> Device:
    """The device of that word. Imports JAX, and touches no device."""
    from runners.jax import devices

    return devices.BY_NAME[name]()


def suites() -> Mapping[str, Sequence[Function]]:
    """Every suite with its functions, in an order that depends on the files alone."""
    from runners.jax.suites import paper

    return {"paper": collected(paper)}
