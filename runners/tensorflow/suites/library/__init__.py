"""The suite ``library``: TensorFlow's public functions on inputs derived from their parameters, drawn once and frozen.

``frozen.npz`` beside this file contains the cases, and ``variants.npz`` the same cases with other inputs.
``left_out.json`` and ``left_out_variants.json`` list what was left out, each with its reason. ``python -m
freezing.tensorflow SURFACE FOLDER`` and ``python -m freezing.tensorflow.variants FOLDER`` draw these files again from
the installed TensorFlow. Importing this package imports no framework.
"""

from __future__ import annotations

from pathlib import Path

from protocol.enums import TimedCases, TimingPolicy
from runners.suite.frozen import frozen_functions
from runners.suite.second_shapes import KEPT, kept_pairs, with_second_shapes
from runners.tensorflow.frozen import FrozenCall, call_of_arguments

FUNCTIONS = with_second_shapes(
    frozen_functions(__name__, FrozenCall), call_of_arguments, kept_pairs(Path(__file__).with_name(KEPT))
)
TIMING = TimingPolicy.off
TIMED_CASES = TimedCases.representative
