"""The suite ``library``: TensorFlow's public functions on inputs derived from their parameters, drawn once and frozen.

The cases stand in ``frozen.npz`` beside this file, the same with other inputs in ``variants.npz``, and what was left
out, with its reason, in ``left_out.json`` and ``left_out_variants.json``. ``python -m freezing.tensorflow SURFACE
FOLDER`` and ``python -m freezing.tensorflow.variants FOLDER`` draw them anew from the TensorFlow that is installed.
Importing this package imports no framework.
"""

from __future__ import annotations

from protocol.enums import TimedCases, TimingPolicy
from runners.suite.frozen import frozen_functions
from runners.suite.second_shapes import earlier_pairs_of, with_second_shapes
from runners.tensorflow.frozen import FrozenCall, call_of_arguments

FUNCTIONS = with_second_shapes(
    frozen_functions(__name__, FrozenCall), call_of_arguments, earlier_pairs=earlier_pairs_of(__name__)
)
TIMING = TimingPolicy.off
TIMED_CASES = TimedCases.representative
