"""The suite ``library``: JAX's own test harnesses, and calls drawn by recipes, judged by references and frozen.

``frozen.npz`` beside this file contains the cases, and ``left_out.json`` lists what was left out, each with its reason.
``python -m freezing.jax FOLDER SURFACE`` draws both again from the installed JAX. Importing this package imports no
framework.
"""

from __future__ import annotations

from pathlib import Path

from protocol.enums import TimedCases, TimingPolicy
from runners.jax.frozen import FrozenCall, under_jit_if_possible
from runners.suite.frozen import frozen_functions
from runners.suite.second_shapes import KEPT, kept_pairs, with_second_shapes

FUNCTIONS = with_second_shapes(
    frozen_functions(__name__, FrozenCall), under_jit_if_possible, kept_pairs(Path(__file__).with_name(KEPT))
)
TIMING = TimingPolicy.off
TIMED_CASES = TimedCases.representative
