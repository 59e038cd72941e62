"""The toy: a device of PyTorch in pure Python. Imports nothing heavy before ``device`` is called.

Its memory is NumPy's (``memory.py``) and so is its arithmetic (``kernels.py``). Some operations
are there, most are missing, and sorting is taken to the host without a word. PyTorch is told
of it in ``registration.py``; what Portolan wants to know of it is in ``device.py``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from runners.suite.device import Device

VARIABLES: Mapping[str, str] = {"CUDA_VISIBLE_DEVICES": ""}
"""Set before torch is imported. The toy needs none; a device that does names them here."""


def device() -> Device:
    """The device. Imports torch, and does nothing on the device yet."""
    from portolan_toy.device import Toy

    return Toy()
