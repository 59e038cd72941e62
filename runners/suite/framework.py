"""The declaration of a framework: its name, its devices, and its suites.

Each framework's package has a declaration named ``FRAMEWORK``. ``runners/frameworks.py`` lists the frameworks of this
repository. A declaration imports nothing heavy: it only names the classes of its devices and the packages of its
suites. The runner imports these when it starts.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from runners.suite.device import Device
    from runners.suite.suites import Suite


@dataclass(frozen=True)
class DeviceDeclaration:
    """A device of a framework: the class that makes cases use it, and the environment that this class needs."""

    implementation: str
    """``package.module:Class``, a class without arguments that implements ``Device``."""
    variables: Mapping[str, str] = field(default_factory=dict)
    """The environment variables to set before the framework is imported."""
    own_environment: bool = False
    """Whether the device needs packages of its own, which ``lock-DEVICE.txt`` beside the framework pins."""


@dataclass(frozen=True)
class SparedPackages:
    """Packages that the framework's package requires, but only some of its devices use.

    Environments for the other devices do not install them.
    """

    packages: str
    """A regular expression for the full, normalized names of the packages (lower case, hyphens)."""
    used_by: frozenset[str]
    """The devices that use the packages."""
    stand_in: str
    """``package.module:function``. The function takes the folder of the installed packages. It adds the stubs that the
    framework needs to be imported without these packages. It returns a text about the stubs by the name of the replaced
    product (``CUDA``), or an empty mapping if no stub is needed. It raises ``StubError`` if it cannot make them."""


@dataclass(frozen=True)
class PublicSurface:
    """The public API of a framework, described for the enumeration of its functions and classes."""

    name: str
    """The first part of every public name: ``tf``."""
    homes: tuple[str, ...]
    """The packages whose objects are the framework's own."""
    generated: bool = False
    """Whether the framework generates its public modules. Then everything public is an attribute of them, and the names
    that they import are public too."""
    excluded: Mapping[str, str] = field(default_factory=dict)
    """Public names of modules that the enumeration does not enter, each with the reason."""


@dataclass(frozen=True)
class Framework:
    """A framework that a runner can serve."""

    name: str
    devices: Mapping[str, DeviceDeclaration]
    """Every device by its name in a target."""
    suites: Mapping[str, str]
    """Every suite's name, with the package or module of its cases."""
    unserved: Mapping[str, str] = field(default_factory=dict)
    """Devices of the framework that runners in this repository cannot serve, each with the reason."""
    surface: PublicSurface | None = None
    """The public API; None if it cannot be enumerated."""
    spared: SparedPackages | None = None
    """Packages that some environments leave out."""
    recorder: str | None = None
    """``package.module:function``: a context manager that records the calls in its block; None if the framework has no
    recorder."""
    spoken_devices: frozenset[str] = frozenset()
    """The devices that arrays can claim to be on while a program is recorded on the host."""
    watcher: str | None = None
    """``package.module:function``: a context manager that runs its block on a device and watches the calls; None if the
    framework has no watcher."""
    replay: str | None = None
    """``package.module:function``: makes a case from a recorded call."""

    def load_device(self, name: str) -> Device:
        """Import the framework and create the device object. Does not touch the device itself."""
        module, _, implementation = self.devices[name].implementation.partition(":")
        device: Device = getattr(import_module(module), implementation)()
        return device

    def load_suites(self) -> dict[str, Suite]:
        """Import the framework and the functions of all suites, always in the same order."""
        # Imported late: the declaration itself is also read where NumPy is not installed.
        from runners.suite.suites import load_suite

        return {name: load_suite(name, module) for name, module in self.suites.items()}


def suites_in(package: str) -> dict[str, str]:
    """Return the suites of a package: each module or package in it is a suite of that name. Imports none of them."""
    spec = find_spec(package)
    if spec is None or spec.submodule_search_locations is None:
        raise ValueError(f"there is no package {package!r} of suites; correct the framework's declaration")
    modules = pkgutil.iter_modules(spec.submodule_search_locations)
    return {module.name: f"{package}.{module.name}" for module in modules if not module.name.startswith("_")}
