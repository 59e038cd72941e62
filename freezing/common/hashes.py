"""Fix Python's hash seed while a suite is frozen, because frameworks' sample generators iterate over sets of names."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

_VARIABLE, _FIXED = "PYTHONHASHSEED", "0"


def fix_hashes(module: str, arguments: Sequence[str]) -> None:
    """Replace this process by ``python -m module`` with a fixed hash seed, unless the seed is fixed already.

    Python sets the seed at its start, before any code of ours runs, so a running process cannot change it.
    """
    if os.environ.get(_VARIABLE) != _FIXED:
        os.execve(sys.executable, [sys.executable, "-m", module, *arguments], {**os.environ, _VARIABLE: _FIXED})
