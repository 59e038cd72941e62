"""Frameworks: finding the module that forces a framework's devices and holds its cases.

A framework is a package ``runners.<name>``, or else an entry point of that name in the
group ``portolan.frameworks``. Its module imports nothing heavy until ``device`` or
``suites`` is called, and offers what ``Framework`` says.
"""

from __future__ import annotations

import difflib
import importlib
import importlib.util
import pkgutil
from collections.abc import Mapping, Sequence
from importlib import metadata
from typing import TYPE_CHECKING, Protocol, cast

if TYPE_CHECKING:
    from runners.cases import Function
    from runners.devices import Device

GROUP = "portolan.frameworks"


class Framework(Protocol):
    """What a framework's module offers."""

    NAME: str
    DEVICES: Mapping[str, Mapping[str, str]]
    """Each device's word, with the environment variables to set before the framework is imported."""
    __file__: str

    def device(self, name: str) -> Device:
        """One device, forced. Imports the framework and must not touch the device yet."""

    def suites(self) -> Mapping[str, Sequence[Function]]:
        """The suites and their functions. Imports the framework."""


class UnknownFrameworkError(Exception):
    """There is no framework, or no device of it, by this name; the message is one line."""


def names() -> list[str]:
    """Every framework that can be loaded, ours first."""
    return [*_packages(), *sorted({entry.name for entry in metadata.entry_points(group=GROUP)})]


def load(framework: str) -> Framework:
    """The framework's module, with nothing heavy imported."""
    require(framework)
    if is_ours(framework):
        return cast(Framework, importlib.import_module(f"runners.{framework}"))
    (entry, *_) = metadata.entry_points(group=GROUP, name=framework)
    try:
        return cast(Framework, entry.load())
    except (ImportError, AttributeError) as error:
        raise UnknownFrameworkError(
            f"framework {framework!r}: its entry point {entry.value!r} cannot be loaded ({error}); reinstall it"
        ) from error


def variables(framework: Framework, device: str) -> Mapping[str, str]:
    """What the environment must say before the framework is imported for this device."""
    if device not in framework.DEVICES:
        raise UnknownFrameworkError(
            f"framework {framework.NAME!r} has no device {device!r}; it has {', '.join(framework.DEVICES)}"
        )
    return framework.DEVICES[device]


def is_ours(framework: str) -> bool:
    """Whether the project ships it, and so knows how to set up its environment."""
    return framework in _packages()


def is_importable(framework: str) -> bool:
    """Whether the framework itself is installed here; looks for it without importing anything."""
    return not is_ours(framework) or importlib.util.find_spec(framework) is not None


def require(framework: str) -> None:
    """Raise ``UnknownFrameworkError`` if there is no framework of this name. Imports nothing."""
    known = names()
    if framework in known:
        return
    close = difflib.get_close_matches(framework, known, n=1)
    hint = f"did you mean {close[0]!r}?" if close else f"there are: {', '.join(known) or 'none'}"
    raise UnknownFrameworkError(f"no framework {framework!r}; {hint}")


def _packages() -> list[str]:
    import runners

    return [module.name for module in pkgutil.iter_modules(runners.__path__) if module.ispkg]
