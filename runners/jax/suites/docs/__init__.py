"""The suite ``docs``: the examples of JAX's public docstrings, run and admitted once, and frozen.

The cases stand in ``frozen.npz`` beside this file, and all that is left out, with its reason, in ``left_out.json``.
``python -m freezing.jax.docs FOLDER SURFACE`` draws both anew from the JAX that is installed. Importing
this package imports no framework. The examples are JAX's, under its licence: ``NOTICE.txt``.
"""

from __future__ import annotations

from protocol.enums import TimedCases, TimingPolicy
from runners.jax.examples import frozen_example
from runners.suite.frozen import frozen_functions

FUNCTIONS = frozen_functions(__name__, frozen_example)
TIMING = TimingPolicy.off
TIMED_CASES = TimedCases.representative
