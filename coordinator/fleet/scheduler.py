"""The protocol for ``portolan fleet``: where runners can run, and how they are created, listed and removed.

``docker.py`` implements the protocol for the Docker Engine of this host. A module for Slurm or Kubernetes implements
the same members and declares its capabilities. If a runner ends, the scheduler itself restarts it at the same URL.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Protocol

from pydantic import BaseModel, ConfigDict

from coordinator.errors import FleetError
from coordinator.fleet.inventory import DeviceAccess, Inventory

_SIZE = re.compile(r"(\d+(?:\.\d+)?)([kmgt]?)b?", re.IGNORECASE)
_FACTORS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}


@dataclass(frozen=True)
class Image:
    """An image with a runner, as described by its labels."""

    id: str
    name: str = field(compare=False)
    """A tag if the image has one, otherwise its id. A tag can later name another image."""
    digest: str
    """The registry digest, or the image id if there is none. It is part of the fingerprint."""
    framework: str
    version: str
    devices: tuple[str, ...]
    """The devices that the image is made for, followed by the other devices that it serves."""
    created: str = field(default="", compare=False)


@dataclass(frozen=True)
class Limits:
    """The maximum resources that a container may use. Sizes are in bytes."""

    memory: int
    cpus: float
    pids: int
    scratch: int
    """The size of the only writable folder. The folder is in memory and counts as memory."""


def parse_size(text: str) -> int:
    """Parse a size such as ``512m`` or ``2G`` to bytes."""
    match = _SIZE.fullmatch(text.strip())
    size = int(float(match[1]) * _FACTORS[match[2].lower()]) if match else 0
    if size <= 0:
        raise FleetError(f"'{text}' is not a size: write for example 512M or 8G")
    return size


class RunnerSpec(BaseModel):
    """The desired state of one container. A container with an equal specification is not replaced."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    target: str
    framework: str
    device: str
    image: Image
    limits: Limits
    access: DeviceAccess = DeviceAccess()
    secret: str = ""
    """A fingerprint of the runner's secret. If the secret is lost, the fingerprint changes, and the container is
    replaced."""


@dataclass(frozen=True)
class Container:
    """The actual state of one container."""

    id: str
    name: str
    target: str
    url: str
    state: str
    """The state as the scheduler names it. ``running`` and ``restarting`` need no action."""
    health: str
    """``none``, ``starting``, ``healthy`` or ``unhealthy``."""
    spec: RunnerSpec | None
    """The specification; None if another release created the container and stored it in another format."""
    restarts: int | None = None
    memory_bytes: int | None = None

    @property
    def trouble(self) -> str | None:
        """The reason why the container will not serve; None if it may. A paused container may serve later, because
        somebody paused it on purpose."""
        if self.health == "unhealthy":
            return "it is unhealthy"
        return None if self.state in ("running", "restarting", "paused") else "it has ended"

    def flaw(self, specification: RunnerSpec) -> str | None:
        """The reason to replace the container; None if it can stay."""
        return self.trouble if self.spec == specification else "its image or limits have changed"


class Capability(StrEnum):
    """An ability that not every scheduler has. The value completes the sentence "the scheduler cannot …"."""

    follow_logs = "follow a log while it is written"
    """``logs`` with ``follow`` also yields later lines."""
    remove_volume = "remove a volume"
    """The fleet has its own storage, which ``dissolve`` can remove."""


class Scheduler(Protocol):
    @property
    def fleet(self) -> str:
        """The name of the fleet. It separates the fleet's containers from those of other fleets."""

    @property
    def capabilities(self) -> frozenset[Capability]:
        """The optional abilities that this scheduler has."""

    @property
    def cpus(self) -> int:
        """The number of processors for all containers."""

    def inventory(self) -> Inventory:
        """Return the devices that containers can use."""

    def images(self) -> Sequence[Image]:
        """Return every image that contains a runner."""

    def image(self, name: str) -> Image:
        """Return the image with this name. Raises ``FleetError`` if it does not exist, or contains no runner."""

    def create(self, spec: RunnerSpec, secret_file: Path, url: str | None = None) -> Container:
        """Create and start a container, at this URL if it is still free. If this fails, nothing is left behind."""

    def list(self, *, usage: bool = False) -> Sequence[Container]:
        """Return every container of the fleet. With ``usage``, include restarts and memory."""

    def remove(self, container: Container) -> None:
        """Stop and remove the container. Does nothing if it does not exist. Raises ``StuckError`` if it does not
        end."""

    def logs(self, container: Container, *, follow: bool = False, tail: int | None = None) -> Iterator[bytes]:
        """Yield the runner's log: all of it, or the last ``tail`` lines."""

    def dissolve(self, *, volume: bool) -> None:
        """Remove the fleet's other resources, and on request its volume. Call this only after the last container was
        removed."""


def require(scheduler: Scheduler, capability: Capability, option: str) -> None:
    """Raise ``FleetError`` if the scheduler lacks the capability that this command line option needs."""
    if capability not in scheduler.capabilities:
        raise FleetError(f"the scheduler of fleet '{scheduler.fleet}' cannot {capability}: omit {option}")
