"""The suite ``docs``: the examples of TensorFlow's public docstrings, run and admitted once, and frozen.

The cases stand in ``frozen.npz`` beside this file, and all that is left out, with its reason, in ``left_out.json``.
``python -m freezing.tensorflow.docs FOLDER SURFACE`` draws both anew from the TensorFlow that is installed.
Importing this package imports no framework. The examples are TensorFlow's and Keras's, under their licence:
``NOTICE.txt``.
"""

from __future__ import annotations

from protocol.enums import TimedCases, TimingPolicy
from runners.suite.frozen import frozen_functions
from runners.tensorflow.examples import frozen_example

FUNCTIONS = frozen_functions(__name__, frozen_example)
TIMING = TimingPolicy.off
TIMED_CASES = TimedCases.representative
