"""Frameworks and devices: finding the module that forces a framework's devices and holds its cases.

A framework is a package ``runners.<name>``, or else an entry point of that name in the
group ``portolan.frameworks``. A device of it is one of its module's ``DEVICES``, or else an
entry point ``<framework>.<device>`` in the group ``portolan.devices``. Modules import nothing
heavy until they are called, and offer what ``Framework`` and ``Accelerator`` say.
"""

from __future__ import annotations

import difflib
import importlib
import importlib.util
import sys
from collections.abc import Mapping, Sequence
from importlib import metadata
from typing import TYPE_CHECKING, Protocol, cast

if TYPE_CHECKING:
    from runners.suite.cases import Function
    from runners.suite.device import Device

GROUP = "portolan.frameworks"
DEVICE_GROUP = "portolan.devices"
OURS = ("jax", "tensorflow", "torch")


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


class Accelerator(Protocol):
    """What the module of a device that is not the framework's own offers."""

    VARIABLES: Mapping[str, str]
    """The environment variables to set before the framework is imported."""

    def device(self) -> Device:
        """The device, forced. Imports the framework and must not touch the device yet."""


class UnknownFrameworkError(Exception):
    """There is no framework, or no device of it, by this name; the message is one line."""


def names() -> list[str]:
    """Every framework that can be loaded, ours first."""
    return [*OURS, *sorted({entry.name for entry in _entries(GROUP)})]


def load(framework: str) -> Framework:
    """The framework's module, with nothing heavy imported."""
    require(framework)
    if is_ours(framework):
        return cast(Framework, importlib.import_module(f"runners.{framework}"))
    entry = next(each for each in _entries(GROUP) if each.name == framework)
    return cast(Framework, _loaded(entry, f"framework {framework!r}"))


def variables(framework: Framework, device: str) -> Mapping[str, str]:
    """What the environment must say before the framework is imported for this device."""
    if device in framework.DEVICES:
        return framework.DEVICES[device]
    return _accelerator(framework, device).VARIABLES


def device(framework: Framework, name: str) -> Device:
    """The device of that word. Imports the framework, and touches no device."""
    if name in framework.DEVICES:
        return framework.device(name)
    return _accelerator(framework, name).device()


def devices(framework: Framework) -> list[str]:
    """Every device that can be asked for, the framework's own first. Whether it is there is another question."""
    prefix = f"{framework.NAME}."
    added = {entry.name.removeprefix(prefix) for entry in _entries(DEVICE_GROUP) if entry.name.startswith(prefix)}
    return [*framework.DEVICES, *sorted(added - set(framework.DEVICES))]


def _accelerator(framework: Framework, device: str) -> Accelerator:
    """The module of a device that a package adds."""
    known = devices(framework)
    if device not in known:
        raise UnknownFrameworkError(
            f"framework {framework.NAME!r} has no device {device!r}; it has {', '.join(known)}, and "
            f"'portolan-runner setup {framework.NAME} --with PACKAGE' adds what a package brings"
        )
    entry = next(each for each in _entries(DEVICE_GROUP) if each.name == f"{framework.NAME}.{device}")
    module = _loaded(entry, f"device {framework.NAME}/{device}")
    missing = [name for name in ("VARIABLES", "device") if not hasattr(module, name)]
    if missing:
        raise UnknownFrameworkError(
            f"device {framework.NAME}/{device}: {entry.value!r} has no {' and no '.join(missing)}; "
            "what it must offer stands in runners/frameworks.py"
        )
    return cast(Accelerator, module)


def _entries(group: str) -> list[metadata.EntryPoint]:
    if sys.version_info >= (3, 10):
        return list(metadata.entry_points(group=group))
    return list(metadata.entry_points().get(group, []))


def _loaded(entry: metadata.EntryPoint, what: str) -> object:
    try:
        found: object = entry.load()
    except (ImportError, AttributeError) as error:
        raise UnknownFrameworkError(
            f"{what}: its entry point {entry.value!r} cannot be loaded ({error}); reinstall it"
        ) from error
    return found


def is_ours(framework: str) -> bool:
    """Whether the project ships it, and so knows how to set up its environment."""
    return framework in OURS


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
