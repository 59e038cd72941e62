"""Packages that a case may need and that an environment need not have: SciPy, which computes references.

A suite is imported whole, so a package that is missing must cost only the cases that use it: they are skipped, and
their outcomes name the package.
"""

from __future__ import annotations

import importlib
from typing import Any

from runners.errors import MissingPackageError


class _Missing:
    """The stand-in for a missing module: any name can be looked up in it, and none can be called."""

    def __init__(self, package: str, name: str) -> None:
        self._package = package
        self._name = name

    def __getattr__(self, name: str) -> _Missing:
        if name.startswith("__"):
            raise AttributeError(name)
        return _Missing(self._package, f"{self._name}.{name}")

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        raise MissingPackageError(f"the case needs {self._name}, and this environment has no {self._package}")


def optional(module: str) -> Any:
    """The module, or what stands in for it where its package is not installed."""
    package = module.partition(".")[0]
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name != package:
            raise
        return _Missing(package, module)
