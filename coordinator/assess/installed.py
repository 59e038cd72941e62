"""Finds the installed version of a framework in a project's environment. It reads the environment's folders and imports
nothing."""

from __future__ import annotations

import os
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, distributions, version
from pathlib import Path

PACKAGES = {"torch": ("torch",), "tensorflow": ("tensorflow", "tensorflow-cpu"), "jax": ("jax",)}
"""For each framework, the distributions that install it."""


def installed_version(framework: str, project: Path, environment: Path | None) -> str | None:
    """The framework's version in the active virtual environment, in the project's environment, or in the environment of
    this program. None if no environment contains the framework.

    The project's environment may also be in a folder above ``project``, because the code may be in a subfolder of the
    project, such as ``src``.
    """
    names = PACKAGES.get(framework, (framework,))
    for folder in _site_packages(project, environment):
        for distribution in distributions(path=[str(folder)]):
            if (distribution.metadata["Name"] or "").lower() in names:
                return distribution.version
    for name in names:
        try:
            return version(name)
        except PackageNotFoundError:
            continue
    return None


def _site_packages(project: Path, environment: Path | None) -> Iterator[Path]:
    home = project.resolve()
    own = (folder / name for folder in (home, *home.parents) for name in (".venv", "venv"))
    for folder in filter(None, (environment, *own)):
        if os.path.isfile(folder / "pyvenv.cfg"):
            yield from sorted(folder.glob("lib/python*/site-packages"))
