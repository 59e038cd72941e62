"""The suite ``library``: what PyTorch ships to test its operators, modules and optimizers, drawn once and frozen.

The cases stand in ``frozen.npz`` beside this file, a few by hand in ``by_hand.py``, and what was left out, with its
reason, in ``left_out.json``. ``python -m freezing.torch FOLDER`` draws both files anew from the torch that is
installed. Importing this package imports no framework.
"""

from __future__ import annotations

from runners.suite.frozen import frozen_functions
from runners.torch.frozen import FrozenCall

FUNCTIONS = frozen_functions(__name__, FrozenCall)
