"""Finds the site of a call: the innermost line of the user's own code on the stack."""

from __future__ import annotations

import os
import sysconfig
from collections.abc import Sequence
from types import FrameType

Site = tuple[str, int]
"""A file and a line."""
NOWHERE: Site = ("", 0)
_OURS = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
MOST_FILES = 10_000
"""The maximum number of remembered file names. Generated code has a new name each time, such as ``<eval_with_key>.7``
of torch.fx."""
_PACKAGES = ("site-packages", "dist-packages")


class Sites:
    """Finds the user's line on the stack. Each file name is examined once."""

    def __init__(self, folder: str, frameworks: Sequence[str]) -> None:
        """``folder`` is the working directory. The folders ``frameworks`` contain no code of the user."""
        self._folder = folder + os.sep
        paths = sysconfig.get_paths()
        self._python = tuple(path + os.sep for path in (paths["stdlib"], paths["platstdlib"], _OURS))
        self._frameworks = tuple(path + os.sep for path in frameworks)
        self._names: dict[str, str | None] = {}

    def of(self, frame: FrameType | None) -> Site:
        """Return the line of the innermost frame in the user's code. Without such a frame, return the line of the
        innermost frame in an installed package."""
        in_package, names = NOWHERE, self._names
        while frame is not None:
            file = frame.f_code.co_filename
            try:
                name = names[file]
            except KeyError:
                name = self._shown_name(file)
                if len(names) < MOST_FILES:
                    names[file] = name
            if name:
                return name, frame.f_lineno
            if name is not None and in_package is NOWHERE:
                in_package = file, frame.f_lineno
            frame = frame.f_back
        return in_package

    def is_own(self, file: str) -> bool:
        """Whether a file that was seen on a stack is the user's."""
        return bool(self._names.get(file))

    def _shown_name(self, file: str) -> str | None:
        """Return the name under which reports show a file of the user.

        Empty for a file of an installed package. None for a file of Python, the framework or Portolan.
        """
        if file.startswith("<"):
            # The command of ``python -c``.
            return file if file == "<string>" else None
        path = os.path.abspath(file)
        if path.startswith(self._frameworks):
            return None
        if any(f"{os.sep}{part}{os.sep}" in path for part in _PACKAGES):
            return ""
        if path.startswith(self._python):
            return None
        return path[len(self._folder) :] if path.startswith(self._folder) else path
