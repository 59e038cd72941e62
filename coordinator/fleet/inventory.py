"""What a host has: its devices as they can be seen from outside a container, and what each lets in.

``look`` finds it, ``access`` decides. Nothing here speaks to the engine: what that one says of
itself is handed in.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from coordinator.errors import PortolanError

GOOGLE = "0x1ae0"
"""The vendor on the PCI bus whose devices behind /dev/vfio are TPUs."""
CDI_NVIDIA = "nvidia.com/gpu=all"

_NVIDIA = re.compile(r"nvidia\d+")
_ACCEL = re.compile(r"accel\d+")
_VFIO = re.compile(r"\d+|vfio")
_ON_EVERY_HOST = {"cpu": "the CPU", "xla": "XLA on the CPU"}
_OF_NVIDIA = {"cuda", "gpu"}
_OF_GOOGLE = {"tpu"}


class DeviceMissingError(PortolanError):
    """This host has no such device."""


@dataclass(frozen=True)
class Inventory:
    """The devices of a host, and what its engine can do with them."""

    nvidia: tuple[str, ...] = ()
    """Paths of the GPUs, such as ``/dev/nvidia0``."""
    nvidia_runtime: bool = False
    """The engine has NVIDIA's runtime, which gives GPUs to containers."""
    nvidia_cdi: bool = False
    """The host describes its GPUs to the engine in the Container Device Interface."""
    tpu: tuple[str, ...] = ()
    """Paths through which TPUs are reached: ``/dev/accel0``, or those below ``/dev/vfio``."""
    tpu_groups: tuple[int, ...] = ()
    """Who may open them besides root."""


@dataclass(frozen=True)
class Access:
    """What of the host a container gets to reach its device."""

    gpus: bool = False
    """All GPUs, through NVIDIA's runtime."""
    cdi: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    groups: tuple[int, ...] = ()


def access(inventory: Inventory, device: str) -> Access:
    """What a runner of ``device`` needs; raises ``DeviceMissingError`` where the host cannot give it."""
    if device in _OF_NVIDIA:
        return _nvidia(inventory, device)
    if device in _OF_GOOGLE:
        if not inventory.tpu:
            raise DeviceMissingError(
                f"this host shows no TPU for '{device}' (no /dev/accel* and none below /dev/vfio): check its driver"
            )
        return Access(paths=inventory.tpu, groups=inventory.tpu_groups)
    return Access()


def allowed(inventory: Inventory, device: str) -> bool:
    """Whether a runner of ``device`` is started unasked.

    A device that is not known here may need what nobody has said: it is started only by name.
    """
    if device not in {*_ON_EVERY_HOST, *_OF_NVIDIA, *_OF_GOOGLE}:
        return False
    try:
        access(inventory, device)
    except DeviceMissingError:
        return False
    return True


def look(runtimes: Collection[str], root: Path = Path("/")) -> Inventory:
    """What is there at this moment. ``runtimes`` are those of the engine."""
    dev = root / "dev"
    tpu = _named(dev, _ACCEL)
    if not tpu and _has_google(root / "sys" / "bus" / "pci" / "devices"):
        tpu = _named(dev / "vfio", _VFIO)
    return Inventory(
        nvidia=tuple(_seen(each, root) for each in _named(dev, _NVIDIA)),
        nvidia_runtime="nvidia" in runtimes,
        nvidia_cdi=any(list((root / place / "cdi").glob("*nvidia*")) for place in ("etc", "var/run")),
        tpu=tuple(_seen(each, root) for each in tpu),
        tpu_groups=tuple(sorted({each.stat().st_gid for each in tpu} - {0})),
    )


def _nvidia(inventory: Inventory, device: str) -> Access:
    if not inventory.nvidia:
        raise DeviceMissingError(f"this host shows no NVIDIA GPU for '{device}' (no /dev/nvidia0): check its driver")
    if inventory.nvidia_runtime:
        return Access(gpus=True)
    if inventory.nvidia_cdi:
        return Access(cdi=(CDI_NVIDIA,))
    raise DeviceMissingError(
        f"the engine cannot give containers the GPU for '{device}': install NVIDIA's Container Toolkit, restart Docker"
    )


def _named(folder: Path, pattern: re.Pattern[str]) -> list[Path]:
    try:
        return sorted(each for each in folder.iterdir() if pattern.fullmatch(each.name))
    except OSError:
        return []


def _has_google(devices: Path) -> bool:
    for vendor in devices.glob("*/vendor"):
        try:
            if vendor.read_text().strip() == GOOGLE:
                return True
        except OSError:
            continue
    return False


def _seen(path: Path, root: Path) -> str:
    return f"/{path.relative_to(root)}"
