"""The suite ``pairs``: two functions that follow each other in programs, called in one program, drawn once and frozen.

``frozen.npz`` beside this file contains the cases, which are made from cases of ``library``. ``left_out.json`` lists
what was left out, each with its reason. ``python -m freezing.tensorflow.pairs FOLDER`` draws both again from the
installed TensorFlow. Importing this package imports no framework.
"""

from __future__ import annotations

from protocol.enums import TimedCases, TimingPolicy
from runners.suite.frozen import frozen_functions
from runners.tensorflow.pairs import FrozenPair

FUNCTIONS = frozen_functions(__name__, FrozenPair)
TIMING = TimingPolicy.off
TIMED_CASES = TimedCases.representative
