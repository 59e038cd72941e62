"""TensorFlow: the declaration of its devices and suites. Imports nothing heavy.

``devices.py`` forces, fills and waits for each device, and ``placement.py`` proves where a call ran. A new file in a
suite's folder that defines ``FUNCTIONS`` is found without being registered.
"""

from __future__ import annotations

from runners.suite.framework import DeviceDeclaration, Framework

_QUIET = {"TF_CPP_MIN_LOG_LEVEL": "2"}
_NO_CUDA = {"CUDA_VISIBLE_DEVICES": "", **_QUIET}

FRAMEWORK = Framework(
    name="tensorflow",
    devices={
        "cpu": DeviceDeclaration("runners.tensorflow.devices:Cpu", _NO_CUDA),
        "gpu": DeviceDeclaration(
            "runners.tensorflow.devices:Gpu",
            {"TF_FORCE_GPU_ALLOW_GROWTH": "true", **_QUIET},
            own_environment=True,
        ),
        "tpu": DeviceDeclaration("runners.tensorflow.devices:Tpu", _QUIET, own_environment=True),
        "xla": DeviceDeclaration("runners.tensorflow.devices:Xla", _NO_CUDA),
    },
    suites={"paper": "runners.tensorflow.suites.paper"},
)
