"""JAX: the declaration of its devices and suites. Imports nothing heavy.

``devices.py`` forces, fills and waits for each device, and ``placement.py`` proves where a call ran. A new file in a
suite's folder that defines ``FUNCTIONS`` is found without being registered.
"""

from __future__ import annotations

from runners.suite.framework import DeviceDeclaration, Framework

_ALLOCATED_AS_NEEDED = {"XLA_PYTHON_CLIENT_PREALLOCATE": "false"}

# One platform, never a list: with "cuda,cpu" JAX takes the host, silently, where CUDA is broken.
FRAMEWORK = Framework(
    name="jax",
    devices={
        "cpu": DeviceDeclaration("runners.jax.devices:Cpu", {"JAX_PLATFORMS": "cpu", "CUDA_VISIBLE_DEVICES": ""}),
        "cuda": DeviceDeclaration(
            "runners.jax.devices:Cuda", {"JAX_PLATFORMS": "cuda", **_ALLOCATED_AS_NEEDED}, own_environment=True
        ),
        "tpu": DeviceDeclaration("runners.jax.devices:Tpu", {"JAX_PLATFORMS": "tpu"}, own_environment=True),
    },
    suites={"paper": "runners.jax.suites.paper"},
)
