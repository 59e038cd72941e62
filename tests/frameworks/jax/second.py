"""The second of two host devices, used in place of an accelerator.

Arrays are created on it unless a function names another device, as on a machine with only one platform. A call can
leave it, because the first device exists. Only for a separate process.
"""

from __future__ import annotations

import os

import jax

from protocol.enums import DeviceClass
from runners.jax.devices import JaxDevice


class Second(JaxDevice):
    name = "cpu"
    device_class = DeviceClass.other

    @property
    def handle(self) -> jax.Device:
        return jax.devices()[1]


def start() -> Second:
    """Return the primed device. By default, every array of this process is created on it."""
    os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=2"
    jax.config.update("jax_platforms", "cpu")
    device = Second()
    assert len(jax.devices()) == 2
    jax.config.update("jax_default_device", device.handle)
    device.prime()
    return device
