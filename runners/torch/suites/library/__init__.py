"""The suite ``library``: the inputs with which PyTorch tests its operators, modules and optimizers, drawn once and
frozen.

``frozen.npz`` beside this file contains the cases, ``variants.npz`` the same cases with other inputs, and
``by_hand.py`` a few handwritten cases. ``left_out.json`` and ``left_out_variants.json`` list what was left out, each
with its reason. ``python -m freezing.torch FOLDER`` and ``python -m freezing.torch.variants FOLDER`` draw the files
again from the installed torch. Importing this package imports no framework.
"""

from __future__ import annotations

from protocol.enums import TimedCases, TimingPolicy
from runners.suite.frozen import frozen_functions
from runners.suite.second_shapes import with_second_shapes
from runners.torch.module_ways import frozen_call_in_any_way

FUNCTIONS = with_second_shapes(frozen_functions(__name__, frozen_call_in_any_way))
TIMING = TimingPolicy.off
TIMED_CASES = TimedCases.representative
