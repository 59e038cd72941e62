"""The declaration of a framework: its name, the devices it can be forced to, and its suites.

Each framework's package declares one, named ``FRAMEWORK``, and ``runners/frameworks.py`` lists ours. A declaration
imports nothing heavy: it names the classes of its devices and the packages of its suites, which are imported when
a runner starts.
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
    """A device of a framework: the class that forces it, and the environment that this class needs."""

    implementation: str
    """``package.module:Class``, a class without arguments that implements ``Device``."""
    variables: Mapping[str, str] = field(default_factory=dict)
    """The environment variables to set before the framework is imported."""
    own_environment: bool = False
    """Whether the device needs packages of its own, locked beside the framework in ``lock-DEVICE.txt``."""


@dataclass(frozen=True)
class SparedPackages:
    """Packages that the framework's own package asks for, and that only some of its devices use.

    An environment for the other devices goes without them.
    """

    packages: str
    """A pattern of their whole names, normalized (lower case, hyphens)."""
    used_by: frozenset[str]
    """The devices that use them."""
    stand_in: str
    """``package.module:function``. It takes the folder of the installed packages, puts there what the framework needs
    to be imported without these, and returns what that is, by the name of what the packages are of; nothing if nothing
    is needed. It raises ``StubError`` where it cannot."""


@dataclass(frozen=True)
class PublicSurface:
    """The declaration of what a framework offers to its users, for the enumeration of its functions and classes."""

    name: str
    """The first part of every public name: ``tf``."""
    homes: tuple[str, ...]
    """The packages whose objects are the framework's own."""
    generated: bool = False
    """Whether its modules are made for its users: then all is reached by attributes, and imports are exports."""
    excluded: Mapping[str, str] = field(default_factory=dict)
    """Public names of modules that are not entered, each with the reason."""


@dataclass(frozen=True)
class Framework:
    """A framework as a runner serves it."""

    name: str
    devices: Mapping[str, DeviceDeclaration]
    """Every device by the word that names it in a target."""
    suites: Mapping[str, str]
    """Every suite's name, with the package or module of its cases."""
    unserved: Mapping[str, str] = field(default_factory=dict)
    """Devices of the framework that no runner of ours can serve, each with the reason."""
    surface: PublicSurface | None = None
    """Its public surface; None where it cannot be enumerated."""
    spared: SparedPackages | None = None
    """Packages that an environment may go without."""
    recorder: str | None = None
    """``package.module:function``, a context that records the calls made within; None where that cannot be done."""
    spoken_devices: frozenset[str] = frozenset()
    """The devices for which a recorder has arrays say that they are there."""
    watcher: str | None = None
    """``package.module:function``, a context that runs what is made within on a device, and watches its calls; None
    where that cannot be done."""
    replay: str | None = None
    """``package.module:function``, which makes the case of a recorded call."""

    def load_device(self, name: str) -> Device:
        """Import the framework and make the device, which stays untouched."""
        module, _, implementation = self.devices[name].implementation.partition(":")
        device: Device = getattr(import_module(module), implementation)()
        return device

    def load_suites(self) -> dict[str, Suite]:
        """Import the framework and every suite's functions, in an order that depends on the files alone."""
        # The declaration itself is read where NumPy is not installed.
        from runners.suite.suites import load_suite

        return {name: load_suite(name, module) for name, module in self.suites.items()}


def suites_in(package: str) -> dict[str, str]:
    """The suites of a package: every module or package in it is one, by its name. Imports none of them."""
    spec = find_spec(package)
    if spec is None or spec.submodule_search_locations is None:
        raise ValueError(f"there is no package {package!r} of suites; mend the framework's declaration")
    modules = pkgutil.iter_modules(spec.submodule_search_locations)
    return {module.name: f"{package}.{module.name}" for module in modules if not module.name.startswith("_")}
