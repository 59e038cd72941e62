"""The containers of a fleet as values: what is wanted, what is there, which images serve a target.

A *fleet* is the containers of runners on one host that carry its name. All that has to be
known of one stands in its labels, so that any later call, on whatever was left, goes on.
Nothing here does anything: the engine is in ``docker.py``, the decisions in ``tending.py``.
"""

from __future__ import annotations

import difflib
import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any

from coordinator.errors import PortolanError
from coordinator.fleet.inventory import Access, Inventory, access, allowed

FLEET = "org.portolan.fleet"
TARGET = "org.portolan.fleet.target"
GENERATION = "org.portolan.fleet.generation"
PORT = "org.portolan.fleet.port"
WANTED = "org.portolan.fleet.wanted"

FRAMEWORK = "org.portolan.framework"
VERSION = "org.portolan.version"
DEVICE = "org.portolan.device"

_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,30}")
_TARGET = re.compile(r"(?P<framework>[A-Za-z_]\w*)(?:@(?P<version>[\w.+-]+))?/(?P<device>[A-Za-z_]\w*)")

_ALSO = {("tensorflow", "cpu"): ("xla",), ("torch", "xla"): ("cpu",)}
"""What our images serve besides the device on their label, with nothing else in them."""


class FleetError(PortolanError):
    """The fleet cannot be brought to what was asked for."""


class State(StrEnum):
    """Of a container, in the engine's words."""

    created = "created"
    running = "running"
    restarting = "restarting"
    paused = "paused"
    removing = "removing"
    exited = "exited"
    dead = "dead"


class Health(StrEnum):
    none = "none"
    starting = "starting"
    healthy = "healthy"
    unhealthy = "unhealthy"


@dataclass(frozen=True)
class Target:
    """What a container serves, as it was asked for: ``torch/cpu``, or ``torch@2.9.0/cpu``."""

    framework: str
    device: str
    version: str | None = None

    @classmethod
    def parse(cls, text: str) -> Target:
        match = _TARGET.fullmatch(text)
        if match is None:
            raise FleetError(f"'{text}' is not a target to serve: write framework/device, such as torch/cpu")
        return cls(match["framework"], match["device"], match["version"])

    def __str__(self) -> str:
        return f"{self.framework}{f'@{self.version}' if self.version else ''}/{self.device}"


@dataclass(frozen=True)
class Image:
    """One image of the engine with a runner in it, as its labels say."""

    id: str
    name: str
    """As a person knows it: a tag, else the id."""
    digest: str
    """What reaches the fingerprint: the digest of its registry, else the id."""
    framework: str
    version: str
    devices: tuple[str, ...]
    """What it is made for, then what it serves besides."""
    created: str = ""

    def serves(self, target: Target) -> bool:
        return (
            self.framework == target.framework
            and target.device in self.devices
            and target.version in (None, self.version)
        )


@dataclass(frozen=True)
class Limits:
    """What a container may take of its host. Sizes are in bytes."""

    memory: int
    cpus: float
    pids: int
    scratch: int
    """Of the folder in memory that is all it can write to; counts as memory."""


@dataclass(frozen=True)
class Wanted:
    """All that a container is made from. Two that are equal need no replacing."""

    target: str
    image: str
    """Its id: a tag that was moved to another image is another image."""
    image_name: str
    image_digest: str
    framework: str
    device: str
    limits: Limits
    access: Access = field(default_factory=Access)
    secret: str = ""
    """A fingerprint of the secret that it was given."""

    def dumped(self) -> str:
        return json.dumps(asdict(self), sort_keys=True)

    @classmethod
    def loaded(cls, text: str) -> Wanted | None:
        """None for what another version wrote: it reads as a container that is to be replaced."""
        try:
            values: dict[str, Any] = json.loads(text)
            reach = {name: _frozen(value) for name, value in values.pop("access").items()}
            return cls(**values | {"limits": Limits(**values["limits"]), "access": Access(**reach)})
        except (ValueError, KeyError, TypeError, AttributeError):
            return None


@dataclass(frozen=True)
class Observed:
    """One container of the fleet, as the engine shows it."""

    id: str
    name: str
    target: str
    generation: int
    """Counts up when one that cannot be ended is replaced: both are there for a time."""
    port: int
    state: State
    health: Health = Health.none
    wanted: Wanted | None = None
    """What it was made from."""

    @property
    def url(self) -> str:
        return url_of(self.port)

    @property
    def ready(self) -> bool:
        return self.state is State.running and self.health is Health.healthy


def url_of(port: int) -> str:
    return f"http://127.0.0.1:{port}"


def name_of(fleet: str, target: str, generation: int) -> str:
    """The container's name; it is taken once, so two who make the same one cannot both succeed."""
    slug = target.replace("/", "-").replace("@", "-")
    return f"portolan-{fleet}-{slug}" + (f"-{generation}" if generation > 1 else "")


def labels_of(fleet: str, wanted: Wanted, generation: int, port: int) -> dict[str, str]:
    return {
        FLEET: fleet,
        TARGET: wanted.target,
        GENERATION: str(generation),
        PORT: str(port),
        WANTED: wanted.dumped(),
    }


def fingerprint_of(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()[:16]


def devices_of(framework: str, label: str) -> tuple[str, ...]:
    """What an image serves: the devices on its label, one or several, and what comes with them."""
    named = label.replace(",", " ").split()
    return tuple(dict.fromkeys([*named, *(also for each in named for also in _ALSO.get((framework, each), ()))]))


def check_fleet_name(name: str) -> str:
    if not _NAME.fullmatch(name):
        raise FleetError(f"'{name}' is no name for a fleet: up to 31 of a-z, 0-9 and -, such as 'main'")
    return name


def current(observed: Sequence[Observed]) -> dict[str, Observed]:
    """Of every target the container that stands for it: the latest generation."""
    return {each.target: each for each in sorted(observed, key=lambda each: each.generation)}


def chosen(images: Sequence[Image], inventory: Inventory) -> list[tuple[Target, Image]]:
    """What a host serves unasked: each framework and device of its images that it has, in the newest version."""
    found = {(each.framework, device) for each in images for device in each.devices if allowed(inventory, device)}
    targets = [Target(framework, device) for framework, device in sorted(found)]
    return [(target, newest(images, target)) for target in targets]


def newest(images: Sequence[Image], target: Target) -> Image:
    """Raises ``FleetError`` if none serves the target, saying which there are."""
    serving = [each for each in images if each.serves(target)]
    if serving:
        made_for = target.device
        return max(serving, key=lambda each: (each.devices[0] == made_for, _numbers(each.version), each.created))
    known = sorted({f"{each.framework}/{device}" for each in images for device in each.devices})
    if not known:
        raise FleetError(f"no image here serves {target}: build some with `make images`, or name one with --image")
    unversioned = Target(target.framework, target.device)
    if others := sorted({each.version for each in images if each.serves(unversioned)}):
        close = [str(Target(target.framework, target.device, version)) for version in others]
    else:
        close = difflib.get_close_matches(str(unversioned), known, n=1, cutoff=0.7)
    hint = f"did you mean {' or '.join(close)}?" if close else f"there are images for {', '.join(known)}"
    raise FleetError(f"no image here serves {target}: {hint}")


def wanted_of(target: Target, image: Image, inventory: Inventory, limits: Limits) -> Wanted:
    """Raises ``DeviceMissingError`` where the host lacks the device."""
    return Wanted(
        target=str(target),
        image=image.id,
        image_name=image.name,
        image_digest=image.digest,
        framework=target.framework,
        device=target.device,
        limits=limits,
        access=access(inventory, target.device),
    )


def known_target(given: str, observed: Mapping[str, Observed], fleet: str) -> Observed:
    """The container of a target that a command names; raises ``FleetError`` if there is none."""
    target = str(Target.parse(given))
    if target in observed:
        return observed[target]
    there = f"it has {', '.join(sorted(observed))}" if observed else "it has none: `portolan fleet up` starts some"
    raise FleetError(f"fleet '{fleet}' has no container of {target}; {there}")


def _numbers(version: str) -> list[int]:
    return [int(part) for part in re.findall(r"\d+", version)]


def _frozen(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value
