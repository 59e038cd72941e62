"""The protocol behind ``portolan fleet``: runners in containers are created, listed, removed, and their logs read.

``docker.py`` fills it for the Docker Engine of this host. A module for Slurm or Kubernetes fills the
same four methods. A scheduler starts a runner again that ends, at the same URL, without being asked.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from pydantic import BaseModel, ConfigDict

from coordinator.fleet.inventory import DeviceAccess


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


class Scheduler(Protocol):
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
