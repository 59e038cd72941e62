"""A stand-in for an accelerator: the second of two host devices, which is not the host's own.

As on a machine whose one platform is an accelerator, arrays are made there unless a function asks for another
device; leaving it is possible, as the first device is there. For a process of its own.
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
    """The primed device; every array of this process is made on it by default."""
    os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=2"
    jax.config.update("jax_platforms", "cpu")
    device = Second()
    assert len(jax.devices()) == 2
    jax.config.update("jax_default_device", device.handle)
    device.prime()
    return device
