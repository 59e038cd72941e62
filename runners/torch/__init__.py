"""PyTorch: which devices it can be forced to, and where its cases are. Imports nothing heavy.

How a device is forced, waited for and verified is in ``devices.py``; a new file in ``suites/paper/``
that defines ``FUNCTIONS`` is found without being registered.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from runners.suite.cases import Function, collected
from runners.suite.device import Device

NAME = "torch"
# Asked whether CUDA is there (importing torch_xla asks), torch looks by NVML: its other way would
# have every forked child refused CUDA, and a CUDA-only call fail for our forking.
_FORKABLE = {"PYTORCH_NVML_BASED_CUDA_CHECK": "1"}
_NO_CUDA = {"CUDA_VISIBLE_DEVICES": "", **_FORKABLE}
DEVICES: Mapping[str, Mapping[str, str]] = {
    "cpu": _NO_CUDA,
    "cuda": _FORKABLE,
    # What Metal lacks fails there, where torch can be told to take it to the host.
    "mps": {"PYTORCH_ENABLE_MPS_FALLBACK": "0", **_NO_CUDA},
    "tpu": {"PJRT_DEVICE": "TPU", **_NO_CUDA},
    "xla": {"PJRT_DEVICE": "CPU", **_NO_CUDA},
}
"""Each device's word, and the environment variables that must be set before torch is imported."""


def device(name: str) -> Device:
    """The device of that word. Imports torch, and touches no device."""
    from runners.torch import devices

    return devices.BY_NAME[name]()


def suites() -> Mapping[str, Sequence[Function]]:
    """Every suite with its functions, in an order that depends on the files alone."""
    from runners.torch.suites import paper

    return {"paper": collected(paper)}
