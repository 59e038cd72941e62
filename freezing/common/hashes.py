"""Hashes of texts, fixed while a suite is frozen: frameworks' own generators of samples iterate over sets of names."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

_VARIABLE, _FIXED = "PYTHONHASHSEED", "0"


def fix_hashes(module: str, arguments: Sequence[str]) -> None:
    """Start ``python -m module`` in this process's place with a fixed seed, unless that is so already.

    Python draws the seed before anything of ours runs, so nothing else would make two drawings equal.
    """
    if os.environ.get(_VARIABLE) != _FIXED:
        os.execve(sys.executable, [sys.executable, "-m", module, *arguments], {**os.environ, _VARIABLE: _FIXED})
