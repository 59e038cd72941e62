"""TensorFlow: which devices it can be forced to, and where its cases are. Imports nothing heavy.

How a device is forced, waited for and verified is in ``devices.py``; a new file in ``suites/paper/``
that defines ``FUNCTIONS`` is found without being registered.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from runners.suite.cases import Function, collected
from runners.suite.device import Device

NAME = "tensorflow"
_QUIET = {"TF_CPP_MIN_LOG_LEVEL": "2"}
_NO_CUDA = {"CUDA_VISIBLE_DEVICES": "", **_QUIET}
DEVICES: Mapping[str, Mapping[str, str]] = {
    "cpu": _NO_CUDA,
    "gpu": {"TF_FORCE_GPU_ALLOW_GROWTH": "true", **_QUIET},
    "tpu": _QUIET,
    "xla": _NO_CUDA,
}
"""Each device's word, and the environment variables that must be set before TensorFlow is imported."""


def device(name: str) -> Device:
    """The device of that word. Imports TensorFlow, and touches no device."""
    from runners.tensorflow import devices

    return devices.BY_NAME[name]()


def suites() -> Mapping[str, Sequence[Function]]:
    """Every suite with its functions, in an order that depends on the files alone."""
    from runners.tensorflow.suites import paper

    return {"paper": collected(paper)}
