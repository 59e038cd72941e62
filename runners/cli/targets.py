"""Targets by name: which ones a runner can be started for here. No framework is imported."""

from __future__ import annotations

from collections.abc import Sequence

from runners import frameworks
from runners.cli import environments
from runners.errors import UnknownFrameworkError


def target_names() -> list[str]:
    """Every target that a runner can be started for; this machine may lack its device or environment."""
    return [f"{framework}/{device}" for framework in frameworks.names() for device in _devices(framework)]


def require_targets(targets: Sequence[str]) -> None:
    """Raise ``UnknownFrameworkError`` for the first target whose framework or device has an unknown name."""
    for target in targets:
        framework, _, device = target.partition("/")
        try:
            require_target(framework, device)
        except UnknownFrameworkError as error:
            raise UnknownFrameworkError(f"{target}: {error}") from error


def require_target(framework: str, device: str) -> None:
    """Raise ``UnknownFrameworkError`` if the framework or the device has an unknown name."""
    frameworks.require(framework)
    devices = _devices(framework)
    if device not in devices:
        frameworks.require_served(framework, device)
        raise frameworks.unknown_device(framework, device, devices)


def _devices(framework: str) -> list[str]:
    """Its own devices, then those of packages that are installed here or in one of its environments."""
    devices = frameworks.devices(frameworks.load(framework))
    return list(dict.fromkeys([*devices, *environments.devices_of_packages(framework)]))
