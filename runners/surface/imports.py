"""Finds the public modules of a framework, on disk and by attributes, and imports them with their output captured."""

from __future__ import annotations

import importlib
import os
import pkgutil
import sys
import types
import warnings
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from runners.suite.framework import PublicSurface
from runners.surface.rule import is_public, within

Say = Callable[[Mapping[str, Any]], None]
"""A function that sends a message to the process that supervises the walk."""


class ModuleImporter:
    """Imports modules one by one. Each is reported before it is imported, so that the parent process knows which module
    crashed."""

    def __init__(self, say: Say, reasons: Mapping[str, str]) -> None:
        self._say = say
        self._skipped = reasons

    def load(self, name: str) -> types.ModuleType | None:
        if name in self._skipped:
            self._say({"failed": name, "reason": self._skipped[name]})
            return None
        self._say({"importing": name})
        before = _printed_bytes()
        try:
            module = importlib.import_module(name)
        except BaseException as error:
            # A module that calls sys.exit raises SystemExit, which only BaseException includes.
            self._say({"failed": name, "reason": _reason(error)})
            return None
        finally:
            if (byte_count := _printed_bytes() - before) > 0:
                self._say({"printed": name, "bytes": byte_count})
        return module


def _printed_bytes() -> int:
    """Return the size of the file to which stdout and stderr are redirected."""
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    return os.fstat(1).st_size


def _reason(error: BaseException) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())}"[:200]


def public_modules(
    root: types.ModuleType, surface: PublicSurface, importer: ModuleImporter
) -> dict[str, types.ModuleType]:
    """Return all public modules by their public names. Of several names, the name with the fewest parts is used."""
    if not surface.generated:
        import_on_disk(root, surface, importer)
    by_name = {surface.name: root}
    names = {root.__name__}
    waiting = deque([surface.name])
    while waiting:
        name = waiting.popleft()
        for attribute, value in sorted(members(by_name[name]).items()):
            public = f"{name}.{attribute}"
            if not isinstance(value, types.ModuleType) or not is_public(attribute) or public in surface.excluded:
                continue
            own = getattr(value, "__name__", public)
            if own not in names and within(own, surface.homes) and _is_offered(public, own, surface):
                names.add(own)
                by_name[public] = value
                waiting.append(public)
    return by_name


def _is_offered(public: str, own: str, surface: PublicSurface) -> bool:
    """Whether the name is the module's own name, or another name under which the module is deliberately published."""
    return surface.generated or own == public


def import_on_disk(root: types.ModuleType, surface: PublicSurface, importer: ModuleImporter) -> None:
    """Import every public module below the root, so that each is an attribute of its package."""
    waiting = deque([root])
    while waiting:
        package = waiting.popleft()
        for name in sorted(_submodules(package)):
            if name in surface.excluded:
                continue
            module = importer.load(name)
            if module is not None and hasattr(module, "__path__"):
                waiting.append(module)


def _submodules(package: types.ModuleType) -> Iterator[str]:
    try:
        paths = [str(path) for path in package.__path__]
    except (AttributeError, TypeError):
        return
    for submodule in pkgutil.iter_modules(paths):
        if is_public(submodule.name):
            yield f"{package.__name__}.{submodule.name}"


def members(module: types.ModuleType) -> dict[str, Any]:
    """Return the values of a module by name, including those that the module creates only when they are read."""
    names = {*vars(module), *exports(module)}
    if hasattr(type(module), "__getattr__") or "__getattr__" in vars(module):
        names |= _declared_names(module)
    by_name = {}
    for name in names:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                by_name[name] = getattr(module, name)
            except BaseException:
                # A name that is listed but cannot be read is not a function.
                continue
    return by_name


def _declared_names(module: types.ModuleType) -> set[str]:
    try:
        return {name for name in dir(module) if isinstance(name, str)}
    except Exception:
        return set()


def exports(module: types.ModuleType) -> list[str]:
    """Return the names in ``__all__``; empty if it is missing or not a list of names."""
    names = getattr(module, "__all__", ())
    if not isinstance(names, (list, tuple)):
        return []
    return [name for name in names if isinstance(name, str)]
