"""The suite ``library``: what PyTorch ships to test its operators, modules and optimizers, drawn once and frozen.

The cases are in ``frozen.npz`` beside this file, the same with other inputs in ``variants.npz``, and a few by hand in
``by_hand.py``. What was left out is, with its reason, in ``left_out.json`` and ``left_out_variants.json``. ``python -m
freezing.torch FOLDER`` and ``python -m freezing.torch.variants FOLDER`` draw the files anew from the torch that is
installed. Importing this package imports no framework.
"""

from __future__ import annotations

from protocol.enums import TimedCases, TimingPolicy
from runners.suite.frozen import frozen_functions
from runners.suite.second_shapes import LARGE, with_second_shapes
from runners.torch.frozen import frozen_call

FUNCTIONS = with_second_shapes(frozen_functions(__name__, frozen_call), without=LARGE)
TIMING = TimingPolicy.off
TIMED_CASES = TimedCases.representative
