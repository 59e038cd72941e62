"""A device that TensorFlow has everywhere and that is no host: the first CPU, watched as an accelerator is."""

from __future__ import annotations

from runners.tensorflow.devices import Cpu
from runners.tensorflow.placement.watch import Watch


class Accelerator(Cpu):
    is_host = False
    watch_type = Watch
