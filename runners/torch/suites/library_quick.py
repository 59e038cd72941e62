"""The suite ``library_quick``: of each function of ``library`` about half of its cases, those that differ most."""

from __future__ import annotations

from runners.suite.frozen import quick_functions
from runners.torch.suites import library
from runners.torch.suites.library import by_hand, modes, training

FUNCTIONS = quick_functions([*library.FUNCTIONS, *by_hand.FUNCTIONS, *modes.FUNCTIONS, *training.FUNCTIONS])
