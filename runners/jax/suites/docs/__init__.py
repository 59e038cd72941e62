"""The suite ``docs``: the examples in JAX's public docstrings, run and admitted once, and frozen.

``frozen.npz`` beside this file contains the cases, and ``left_out.json`` lists what was left out, each with its reason.
``python -m freezing.jax.docs FOLDER SURFACE`` draws both again from the installed JAX. Importing this package imports
no framework. The examples are JAX's, under its license: ``NOTICE.txt``.
"""

from __future__ import annotations

from protocol.enums import TimedCases, TimingPolicy
from runners.jax.examples import frozen_example
from runners.suite.frozen import frozen_functions

FUNCTIONS = frozen_functions(__name__, frozen_example)
TIMING = TimingPolicy.off
TIMED_CASES = TimedCases.representative
