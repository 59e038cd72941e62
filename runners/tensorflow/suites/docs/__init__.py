"""The suite ``docs``: the examples in TensorFlow's public docstrings, run and admitted once, and frozen.

``frozen.npz`` beside this file contains the cases, and ``left_out.json`` lists what was left out, each with its reason.
``python -m freezing.tensorflow.docs FOLDER SURFACE`` draws both again from the installed TensorFlow. Importing this
package imports no framework. The examples are TensorFlow's and Keras's, under their license: ``NOTICE.txt``.
"""

from __future__ import annotations

from protocol.enums import TimedCases, TimingPolicy
from runners.suite.frozen import frozen_functions
from runners.tensorflow.examples import frozen_example

FUNCTIONS = frozen_functions(__name__, frozen_example)
TIMING = TimingPolicy.off
TIMED_CASES = TimedCases.representative
