"""The devices of a host, as seen from outside of containers, and the access that each device needs.

``find_devices`` reads the host, and ``decide_access`` decides. This module does not call the engine. The engine's
runtimes are a parameter.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from coordinator.errors import DeviceMissingError

GOOGLE = "0x1ae0"
"""Google's vendor id on the PCI bus. Its devices behind /dev/vfio are TPUs."""
CDI_NVIDIA = "nvidia.com/gpu=all"

_NVIDIA = re.compile(r"nvidia\d+")
_ACCEL = re.compile(r"accel\d+")
_VFIO = re.compile(r"\d+|vfio")
_ON_THE_CPU = {"cpu", "xla"}
_ON_NVIDIA = {"cuda", "gpu"}


@dataclass(frozen=True)
class Inventory:
    """The devices of a host, and the engine's support for them."""

    nvidia: tuple[str, ...] = ()
    """Paths of the GPUs, such as ``/dev/nvidia0``."""
    nvidia_runtime: bool = False
    """Whether the engine has NVIDIA's runtime, with which containers can use GPUs."""
    nvidia_cdi: bool = False
    """Whether the host describes its GPUs to the engine in the Container Device Interface."""
    tpu: tuple[str, ...] = ()
    """Paths of the TPUs: ``/dev/accel0``, or devices below ``/dev/vfio``."""
    tpu_groups: tuple[int, ...] = ()
    """The groups that may open the TPUs, besides root."""


@dataclass(frozen=True)
class DeviceAccess:
    """The parts of the host that a container needs in order to use its device."""

    gpus: bool = False
    """Whether to add all GPUs through NVIDIA's runtime."""
    cdi: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    groups: tuple[int, ...] = ()


def decide_access(inventory: Inventory, device: str) -> DeviceAccess:
    """The access that a runner of ``device`` needs. Raises ``DeviceMissingError`` if the host cannot provide it."""
    if device == "tpu":
        if not inventory.tpu:
            raise DeviceMissingError(
                f"this host shows no TPU for '{device}' (no /dev/accel* and none below /dev/vfio): check its driver"
            )
        return DeviceAccess(paths=inventory.tpu, groups=inventory.tpu_groups)
    if device not in _ON_NVIDIA:
        return DeviceAccess()
    if not inventory.nvidia:
        raise DeviceMissingError(f"this host shows no NVIDIA GPU for '{device}' (no /dev/nvidia0): check its driver")
    if not inventory.nvidia_runtime and not inventory.nvidia_cdi:
        raise DeviceMissingError(
            f"the engine cannot give containers the GPU for '{device}': "
            "install NVIDIA's Container Toolkit, restart Docker"
        )
    return DeviceAccess(gpus=True) if inventory.nvidia_runtime else DeviceAccess(cdi=(CDI_NVIDIA,))


def is_allowed(inventory: Inventory, device: str) -> bool:
    """Whether a runner of ``device`` may be started if the user does not name it.

    A device that Portolan does not know may need special access, so its runner is started only if the user names it.
    """
    try:
        decide_access(inventory, device)
    except DeviceMissingError:
        return False
    return device in {*_ON_THE_CPU, *_ON_NVIDIA, "tpu"}


def find_devices(runtimes: Collection[str], root: Path = Path("/")) -> Inventory:
    """The devices that are present now. ``runtimes`` are the engine's runtimes."""
    dev = root / "dev"
    vendors = root.glob("sys/bus/pci/devices/*/vendor")
    tpu = _matching_paths(dev, _ACCEL)
    if not tpu and any(vendor.read_text().strip() == GOOGLE for vendor in vendors):
        tpu = _matching_paths(dev / "vfio", _VFIO)
    return Inventory(
        nvidia=tuple(f"/{path.relative_to(root)}" for path in _matching_paths(dev, _NVIDIA)),
        nvidia_runtime="nvidia" in runtimes,
        nvidia_cdi=any(list((root / place / "cdi").glob("*nvidia*")) for place in ("etc", "var/run")),
        tpu=tuple(f"/{path.relative_to(root)}" for path in tpu),
        tpu_groups=tuple(sorted({path.stat().st_gid for path in tpu} - {0})),
    )


def _matching_paths(folder: Path, pattern: re.Pattern[str]) -> list[Path]:
    return sorted(path for path in folder.glob("*") if pattern.fullmatch(path.name))
