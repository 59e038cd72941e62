"""The toy as Portolan sees it: what it is, and how it is seeded and waited for.

It counts nothing of its own: its kernels are registered with torch, which shows those that executed, and its sorting
goes to the host by way of torch, and is seen there.
"""

from __future__ import annotations

from typing import Any

from portolan_toy import kernels, registration
from runners.suite.device import Description, DeviceClass
from runners.suite.host import libraries
from runners.torch.devices import TorchDevice, version


class Toy(TorchDevice):
    """Arrays come, go and are compared as on every device of torch; only what differs stands here."""

    name = registration.NAME
    handle_name = f"{registration.NAME}:0"

    def __init__(self) -> None:
        registration.register()
        kernels.register()

    def describe(self) -> Description:
        # A real one looks for its hardware here, and raises DeviceUnavailableError if there is none.
        return Description(
            version=version(),
            device_class=DeviceClass.other,
            device_count=1,
            hardware="toy accelerator",
            libraries=libraries("torch", "numpy", "portolan-toy"),
            notes=("NumPy on the host behind a device of its own",),
            simulated=True,
        )

    def wait(self, tree: Any) -> None:
        """Nothing to wait for: a kernel returns when it is done. A device with a queue waits for it here."""

    def seed(self, seed: int) -> None:
        super().seed(seed)
        kernels.seed(seed)
