"""TensorFlow: the declaration of its devices and suites. This module does not import TensorFlow.

``devices.py`` forces calls onto each device, creates their inputs and waits for their results. ``placement/`` proves
where a call ran. A module or folder in ``suites/`` is a suite of the same name. In a folder, every file that defines
``FUNCTIONS`` belongs to the suite.
"""

from __future__ import annotations

from runners.suite.framework import DeviceDeclaration, Framework, PublicSurface, suites_in

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
    suites=suites_in("runners.tensorflow.suites"),
    surface=PublicSurface(
        "tf",
        homes=("tensorflow", "keras"),
        generated=True,
        excluded={
            "tf.compat.v1.compat": "the same names once more",
            "tf.compat.v2": "the same names once more",
            "tf.dtensor": "the implementation of tf.experimental.dtensor",
            "tf.security": "its fuzzers",
            "tf.tools": "programs for those who build it",
            "tf.python": "the implementation, which is declared private",
        },
    ),
    recorder="runners.tensorflow.recorder:recording",
    watcher="runners.tensorflow.recorder:watching",
    replay="runners.tensorflow.replay:case_of",
)
