"""The frameworks and devices that a runner can serve: Portolan's own, and those of installed packages.

Portolan's own frameworks are listed in ``OURS``. Another package adds a framework by an entry point in the group
``portolan.frameworks`` that names its declaration. It adds a device to a framework by an entry point
``<framework>.<device>`` in the group ``portolan.devices``. No framework is imported before a device or the suites are
loaded.
"""

from __future__ import annotations

import difflib
import importlib.util
import sys
from collections.abc import Mapping, Sequence
from importlib import metadata
from typing import TYPE_CHECKING, Protocol, cast

from runners.errors import UnknownFrameworkError
from runners.jax import FRAMEWORK as JAX
from runners.suite.framework import Framework, SparedPackages
from runners.tensorflow import FRAMEWORK as TENSORFLOW
from runners.torch import FRAMEWORK as TORCH

if TYPE_CHECKING:
    from runners.suite.device import Device

GROUP = "portolan.frameworks"
DEVICE_GROUP = "portolan.devices"
OURS: Mapping[str, Framework] = {framework.name: framework for framework in (JAX, TENSORFLOW, TORCH)}


class Accelerator(Protocol):
    """The interface of a module that provides a device of a framework."""

    VARIABLES: Mapping[str, str]
    """The environment variables to set before the framework is imported."""

    def device(self) -> Device:
        """Import the framework and create the device object. The device itself is not used yet."""


def names() -> list[str]:
    """Return the name of every framework that can be loaded. Portolan's own frameworks come first."""
    return [*OURS, *sorted({entry.name for entry in entry_points(GROUP)})]


def roots() -> dict[str, str]:
    """Map the first part of public function names to the framework (``tf`` to ``tensorflow``). Imports nothing."""
    own = {framework.surface.name: name for name, framework in OURS.items() if framework.surface is not None}
    return {**{name: name for name in names()}, **own}


def load(name: str) -> Framework:
    """Return the framework's declaration. The framework itself is not imported."""
    require(name)
    if name in OURS:
        return OURS[name]
    entry = next(entry for entry in entry_points(GROUP) if entry.name == name)
    framework = _load(entry, f"framework {name!r}")
    if not isinstance(framework, Framework) or framework.name != name:
        raise UnknownFrameworkError(
            f"framework {name!r}: its entry point {entry.value!r} is not a Framework of this name; correct the entry "
            "point, or its Framework (runners.suite.framework)"
        )
    return framework


def variables(framework: Framework, device: str) -> Mapping[str, str]:
    """Return the environment variables to set before the framework is imported for this device."""
    if device in framework.devices:
        return framework.devices[device].variables
    return _accelerator(framework, device).VARIABLES


def load_device(framework: Framework, name: str) -> Device:
    """Import the framework and create the object of the device with this name. The device itself is not used yet."""
    if name in framework.devices:
        return framework.load_device(name)
    return _accelerator(framework, name).device()


def devices(framework: Framework) -> list[str]:
    """Return all devices for which a runner can be started, the framework's own devices first.

    This machine may not have all of them.
    """
    prefix = f"{framework.name}."
    devices_of_packages = {
        entry.name.removeprefix(prefix) for entry in entry_points(DEVICE_GROUP) if entry.name.startswith(prefix)
    }
    return [*framework.devices, *sorted(devices_of_packages - set(framework.devices))]


def packages_to_spare(framework: str, device: str = "", whole: bool = False) -> SparedPackages | None:
    """Return the packages that a device's environment omits; None if it omits none or is built whole."""
    packages = OURS[framework].spared if framework in OURS else None
    return None if packages is None or whole or device in packages.used_by else packages


def unknown_device(framework: str, device: str, devices: Sequence[str]) -> UnknownFrameworkError:
    """Make the error for a device that is not among the framework's ``devices``."""
    close = difflib.get_close_matches(device, devices, n=1)
    hint = f"; did you mean {close[0]}?" if close else ";"
    return UnknownFrameworkError(
        f"framework {framework!r} has no device {device!r}{hint} it has {', '.join(devices)}, and "
        f"'portolan-runner setup {framework} --with PACKAGE' adds the devices of a package"
    )


def _accelerator(framework: Framework, device: str) -> Accelerator:
    """Load the module that an installed package provides for a device."""
    known_devices = devices(framework)
    if device not in known_devices:
        reason = framework.unserved.get(device)
        if reason is not None:
            raise UnknownFrameworkError(
                f"{framework.name}/{device} cannot be served here: {reason}; choose one of: {', '.join(known_devices)}"
            )
        raise unknown_device(framework.name, device, known_devices)
    entry = next(entry for entry in entry_points(DEVICE_GROUP) if entry.name == f"{framework.name}.{device}")
    module = _load(entry, f"device {framework.name}/{device}")
    missing = [name for name in ("VARIABLES", "device") if not hasattr(module, name)]
    if missing:
        raise UnknownFrameworkError(
            f"device {framework.name}/{device}: {entry.value!r} has no {' and no '.join(missing)}; add what "
            "runners/frameworks.py asks of a device"
        )
    return cast(Accelerator, module)


def entry_points(group: str) -> list[metadata.EntryPoint]:
    """Return the entry points of installed packages in a group. Imports nothing."""
    if sys.version_info >= (3, 10):
        return list(metadata.entry_points(group=group))
    return list(metadata.entry_points().get(group, []))


def _load(entry: metadata.EntryPoint, name: str) -> object:
    try:
        declaration: object = entry.load()
    except (ImportError, AttributeError) as error:
        raise UnknownFrameworkError(
            f"{name}: its entry point {entry.value!r} cannot be loaded ({error}); reinstall it"
        ) from error
    return declaration


def is_importable(framework: str) -> bool:
    """Whether the framework is installed here. Checks without importing anything."""
    return framework not in OURS or importlib.util.find_spec(framework) is not None


def require(framework: str) -> None:
    """Raise ``UnknownFrameworkError`` if there is no framework with this name. Imports nothing."""
    known_names = names()
    if framework in known_names:
        return
    close = difflib.get_close_matches(framework, known_names, n=1)
    hint = f"did you mean {close[0]!r}?" if close else f"choose one of: {', '.join(known_names)}"
    raise UnknownFrameworkError(f"there is no framework {framework!r}; {hint}")


def require_served(framework: str, device: str) -> None:
    """Raise ``UnknownFrameworkError`` if the device is one of Portolan's own devices that no runner can serve. Imports
    nothing."""
    if framework in OURS and device in OURS[framework].unserved:
        _accelerator(OURS[framework], device)
