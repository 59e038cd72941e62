"""The suite ``pairs``: functions that follow each other in programs, in one program, drawn once and frozen.

The cases are in ``frozen.npz`` beside this file, made of those of ``library``; what was left out is, with its reason,
in ``left_out.json``. ``python -m freezing.tensorflow.pairs FOLDER`` draws both anew from the TensorFlow that is
installed. Importing this package imports no framework.
"""

from __future__ import annotations

from protocol.enums import TimedCases, TimingPolicy
from runners.suite.frozen import frozen_functions
from runners.tensorflow.pairs import FrozenPair

FUNCTIONS = frozen_functions(__name__, FrozenPair)
TIMING = TimingPolicy.off
TIMED_CASES = TimedCases.representative
