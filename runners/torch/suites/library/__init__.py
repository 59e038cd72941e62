"""The suite ``library``: the inputs with which PyTorch tests its operators, modules and optimizers, drawn once and
frozen.

``frozen.npz`` beside this file contains the cases, ``variants.npz`` the same cases with other inputs, and
``by_hand.py`` a few handwritten cases. ``left_out.json`` and ``left_out_variants.json`` list what was left out, each
with its reason. ``python -m freezing.torch FOLDER`` and ``python -m freezing.torch.variants FOLDER`` draw the files
again from the installed torch. Importing this package imports no framework.
"""

from __future__ import annotations

from protocol.enums import TimedCases, TimingPolicy
from runners.suite.first_uses import with_first_uses
from runners.suite.frozen import frozen_functions
from runners.suite.second_shapes import with_second_shapes
from runners.torch.module_ways import frozen_call_in_any_way

WITH_FIRST_USES = frozenset(
    {
        "torch.matmul",
        "torch.nn.Embedding",
        "torch.nn.LSTM",
        "torch.nn.functional.batch_norm",
        "torch.nn.functional.conv2d",
        "torch.nn.functional.cross_entropy",
        "torch.nn.functional.layer_norm",
        "torch.nn.functional.linear",
        "torch.nn.functional.scaled_dot_product_attention",
        "torch.softmax",
    }
)
"""Parts of most models. Each has cases that decide how their process first uses the device. A defect of the order of
use affects every function, so a few functions show it."""

FUNCTIONS = with_first_uses(with_second_shapes(frozen_functions(__name__, frozen_call_in_any_way)), WITH_FIRST_USES)
TIMING = TimingPolicy.off
TIMED_CASES = TimedCases.representative
