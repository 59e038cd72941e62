"""The first CPU, watched like an accelerator, because every TensorFlow has this device."""

from __future__ import annotations

from runners.tensorflow.devices import Cpu
from runners.tensorflow.placement.watch import Watch


class Accelerator(Cpu):
    is_host = False
    watch_type = Watch
