"""The protocol behind ``portolan fleet``: where runners can run, and how they are created, listed and removed.

``docker.py`` implements it for the Docker Engine of this host. A module for Slurm or Kubernetes implements the same
members and declares which capabilities it has. A scheduler starts a runner again that ends, at the same URL, without
being asked.
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
    """An image with a runner in it, as its labels describe it."""

    id: str
    name: str = field(compare=False)
    """A tag, or else the id; a tag that was moved to another image is another image."""
    digest: str
    """The registry digest, else the image id; part of the fingerprint."""
    framework: str
    version: str
    devices: tuple[str, ...]
    """The devices that it is made for, then those that it serves besides."""
    created: str = field(default="", compare=False)


@dataclass(frozen=True)
class Limits:
    """The most that a container may take of its host. Sizes are in bytes."""

    memory: int
    cpus: float
    pids: int
    scratch: int
    """Size of the one folder that it can write to, which is in memory and counts as memory."""


def parse_size(text: str) -> int:
    """``512m``, ``2G`` → bytes."""
    match = _SIZE.fullmatch(text.strip())
    size = int(float(match[1]) * _FACTORS[match[2].lower()]) if match else 0
    if size <= 0:
        raise FleetError(f"'{text}' is not a size: write for example 512M or 8G")
    return size


class RunnerSpec(BaseModel):
    """The desired state of one container. A container with an equal specification needs no replacing."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    target: str
    framework: str
    device: str
    image: Image
    limits: Limits
    access: DeviceAccess = DeviceAccess()
    secret: str = ""
    """A fingerprint of the runner's secret, so that a container whose secret was lost is replaced."""


@dataclass(frozen=True)
class Container:
    """The actual state of one container."""

    id: str
    name: str
    target: str
    url: str
    state: str
    """The scheduler's word; ``running`` and ``restarting`` need no action."""
    health: str
    """``none``, ``starting``, ``healthy`` or ``unhealthy``."""
    spec: RunnerSpec | None
    """None if another release made it, which wrote its specification in another form."""
    restarts: int | None = None
    memory_bytes: int | None = None

    @property
    def trouble(self) -> str | None:
        """The reason why it will not serve; None while it may. A paused container may: whoever paused it has a
        reason."""
        if self.health == "unhealthy":
            return "it is unhealthy"
        return None if self.state in ("running", "restarting", "paused") else "it has ended"

    def flaw(self, specification: RunnerSpec) -> str | None:
        """The reason to replace it; None where it can stay."""
        return self.trouble if self.spec == specification else "its image or limits have changed"


class Capability(StrEnum):
    """An ability that not every scheduler has. Its value completes the sentence "it cannot …"."""

    follow_logs = "follow a log while it is written"
    """``logs`` with ``follow`` yields what is logged later."""
    remove_volume = "remove a volume"
    """The fleet has storage of its own, which ``dissolve`` can remove."""


class Scheduler(Protocol):
    @property
    def fleet(self) -> str:
        """The name of the fleet, which separates its containers from those of other fleets."""

    @property
    def capabilities(self) -> frozenset[Capability]:
        """The abilities that it has besides those of every scheduler."""

    @property
    def cpus(self) -> int:
        """The number of processors for all containers."""

    def inventory(self) -> Inventory:
        """Return the devices that containers can be given."""

    def images(self) -> Sequence[Image]:
        """Return every image that holds a runner."""

    def image(self, name: str) -> Image:
        """Return the image of this name. Raises ``FleetError`` if there is none, or if it holds no runner."""

    def create(self, spec: RunnerSpec, secret_file: Path, url: str | None = None) -> Container:
        """Create and start a container, at this URL if that is still free. On an error nothing is left behind."""

    def list(self, *, usage: bool = False) -> Sequence[Container]:
        """Return every container of the fleet, with restarts and memory on request."""

    def remove(self, container: Container) -> None:
        """Stop and remove the container; one that is gone is as good.

        Raises ``StuckError`` if it does not end.
        """

    def logs(self, container: Container, *, follow: bool = False, tail: int | None = None) -> Iterator[bytes]:
        """Yield what its runner has logged: all, or the last lines."""

    def dissolve(self, *, volume: bool) -> None:
        """Remove what the fleet used besides containers, and its volume on request. No container may be left."""


def require(scheduler: Scheduler, capability: Capability, option: str) -> None:
    """Raise ``FleetError`` if the scheduler lacks the capability that this option of a command needs."""
    if capability not in scheduler.capabilities:
        raise FleetError(f"the scheduler of fleet '{scheduler.fleet}' cannot {capability}: omit {option}")
