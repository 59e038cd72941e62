"""Optional packages: a case may need them, but an environment may lack them (for example SciPy, for references).

All modules of a suite are imported together. A missing package must not break the import: only the cases that use the
package are skipped, and their outcomes name it.
"""

from __future__ import annotations

import importlib
from typing import Any

from runners.errors import MissingPackageError


class _Missing:
    """A stand-in for a missing module: any attribute can be read, but a call raises ``MissingPackageError``."""

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
    """Import a module. If the package of the module is not installed, return a stand-in for the module."""
    package = module.partition(".")[0]
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name != package:
            raise
        return _Missing(package, module)
