"""Restarts a freezing tool with fixed environment variables. For example, it needs a fixed hash seed, because sample
generators iterate over sets of names."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Mapping, Sequence

from runners.suite.framework import Framework

_VARIABLE, _FIXED = "PYTHONHASHSEED", "0"


def begin(framework: Framework, module: str, arguments: Sequence[str]) -> None:
    """Run ``python -m module`` with a fixed hash seed, with the variables of the framework's CPU, and without
    warnings."""
    fix_hashes(module, arguments)
    os.environ.update(framework.devices["cpu"].variables)
    warnings.simplefilter("ignore")


def fix_hashes(module: str, arguments: Sequence[str]) -> None:
    """Replace this process by ``python -m module`` with a fixed hash seed, unless the seed is fixed already.

    Python sets the seed at its start, before any code of ours runs, so a running process cannot change it.
    """
    restart_with({_VARIABLE: _FIXED}, module, arguments)


def restart_with(variables: Mapping[str, str], module: str, arguments: Sequence[str]) -> None:
    """Replace this process by ``python -m module`` with these environment variables, unless it has them already."""
    if not variables.items() <= os.environ.items():
        os.execve(sys.executable, [sys.executable, "-m", module, *arguments], {**os.environ, **variables})
