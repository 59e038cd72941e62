"""The names of targets for which this machine can start a runner. No framework is imported."""

from __future__ import annotations

from collections.abc import Sequence

from runners import frameworks
from runners.cli import environments
from runners.errors import UnknownFrameworkError


def target_names() -> list[str]:
    """Return the names of all targets. This machine may lack a target's device or environment."""
    return [f"{framework}/{device}" for framework in frameworks.names() for device in _devices(framework)]


def require_targets(targets: Sequence[str]) -> None:
    """Raise ``UnknownFrameworkError`` for the first target with an unknown framework or device."""
    for target in targets:
        framework, _, device = target.partition("/")
        try:
            require_target(framework, device)
        except UnknownFrameworkError as error:
            raise UnknownFrameworkError(f"{target}: {error}") from error


def require_target(framework: str, device: str) -> None:
    """Raise ``UnknownFrameworkError`` if the framework or the device is unknown."""
    frameworks.require(framework)
    devices = _devices(framework)
    if device not in devices:
        frameworks.require_served(framework, device)
        raise frameworks.unknown_device(framework, device, devices)


def _devices(framework: str) -> list[str]:
    """Return the framework's own devices, then the devices of packages.

    These packages are installed here or in one of the framework's environments.
    """
    devices = frameworks.devices(frameworks.load(framework))
    return list(dict.fromkeys([*devices, *environments.devices_of_packages(framework)]))
