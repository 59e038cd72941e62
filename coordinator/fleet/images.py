"""Chooses the images that serve targets, and specifies the containers that run them."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from coordinator.errors import FleetError
from coordinator.fleet.inventory import Inventory, decide_access, is_allowed
from coordinator.fleet.scheduler import Image, Limits, RunnerSpec

FRAMEWORK = "org.portolan.framework"
VERSION = "org.portolan.version"
DEVICE = "org.portolan.device"

_TARGET = re.compile(r"(?P<framework>[A-Za-z_]\w*)(?:@(?P<version>[\w.+-]+))?/(?P<device>[A-Za-z_]\w*)")

_INCLUDED = {("tensorflow", "cpu"): ("xla",), ("torch", "xla"): ("cpu",)}
"""For a framework and the device on an image's label, the other devices that Portolan's image also serves."""


@dataclass(frozen=True)
class FleetTarget:
    """A target as a user writes it: ``torch/cpu``, or ``torch@2.9.0/cpu``."""

    framework: str
    device: str
    version: str | None = None

    @classmethod
    def parse(cls, text: str) -> FleetTarget:
        match = _TARGET.fullmatch(text)
        if match is None:
            raise FleetError(f"'{text}' is not a target to serve: write framework/device, such as torch/cpu")
        return cls(match["framework"], match["device"], match["version"])

    def served_by(self, image: Image) -> bool:
        framework, version = image.framework, image.version
        return self.framework == framework and self.device in image.devices and self.version in (None, version)

    def __str__(self) -> str:
        return f"{self.framework}{f'@{self.version}' if self.version else ''}/{self.device}"


def devices_of(framework: str, label: str) -> tuple[str, ...]:
    """Return the devices that an image serves: the devices on its label (one or several), and the devices that these
    include."""
    own_devices = label.replace(",", " ").split()
    included_devices = [device for name in own_devices for device in _INCLUDED.get((framework, name), ())]
    return tuple(dict.fromkeys([*own_devices, *included_devices]))


def parse_pins(pins: Sequence[str]) -> dict[str, str]:
    """Parse pins of the form ``TARGET=IMAGE``. Returns the image of each target."""
    image_by_target = {}
    for pin in pins:
        target, separator, image = pin.partition("=")
        if not separator or not image:
            raise FleetError(f"--image '{pin}': write TARGET=IMAGE, such as torch/cpu=portolan/torch-cpu:latest")
        image_by_target[str(FleetTarget.parse(target))] = image
    return image_by_target


def specify_runners(
    targets: Sequence[str],
    image_names: Mapping[str, str],
    images: Sequence[Image],
    find_image: Callable[[str], Image],
    inventory: Inventory,
    limits: Limits,
) -> dict[str, RunnerSpec]:
    """Return the specification for each target. Without targets and pinned images, for every target that the images and
    the host's devices allow.

    ``find_image`` returns an image by its name. Raises ``FleetError`` if a target cannot be served, and
    ``DeviceMissingError`` if the host lacks the target's device.
    """
    image_by_target = {}
    for text in [*targets, *image_names]:
        target = FleetTarget.parse(text)
        image = find_image(image_names[str(target)]) if str(target) in image_names else find_newest(images, target)
        if not target.served_by(image):
            raise FleetError(
                f"image '{image.name}' does not serve {target}, because it has "
                f"{image.framework}@{image.version} for {' and '.join(image.devices)}: name another image with --image"
            )
        image_by_target[target] = image
    image_by_target = image_by_target or choose_by_inventory(images, inventory)
    if not image_by_target:
        raise FleetError(
            "no image here fits the devices of this host: build some with `make images`, or name --targets"
        )
    return {
        str(target): RunnerSpec(
            target=str(target),
            framework=target.framework,
            device=target.device,
            image=image,
            limits=limits,
            access=decide_access(inventory, target.device),
        )
        for target, image in image_by_target.items()
    }


def choose_by_inventory(images: Sequence[Image], inventory: Inventory) -> dict[FleetTarget, Image]:
    """Return the newest image for each framework and device, for the devices that the host has."""
    pairs = {(image.framework, device) for image in images for device in image.devices if is_allowed(inventory, device)}
    targets = [FleetTarget(framework, device) for framework, device in sorted(pairs)]
    return {target: find_newest(images, target) for target in targets}


def find_newest(images: Sequence[Image], target: FleetTarget) -> Image:
    """Return the newest image that serves the target. If there is none, raises ``FleetError`` with a list of all
    images."""
    serving = [image for image in images if target.served_by(image)]
    if serving:
        made_for = target.device
        return max(serving, key=lambda image: (image.devices[0] == made_for, _numbers(image.version), image.created))
    target_names = sorted({f"{image.framework}/{device}" for image in images for device in image.devices})
    if not target_names:
        raise FleetError(f"no image here serves {target}: build some with `make images`, or name one with --image")
    any_version = FleetTarget(target.framework, target.device)
    if versions := sorted({image.version for image in images if any_version.served_by(image)}):
        close = [str(FleetTarget(target.framework, target.device, version)) for version in versions]
    else:
        close = difflib.get_close_matches(str(any_version), target_names, n=1, cutoff=0.7)
    hint = f"did you mean {' or '.join(close)}?" if close else f"choose one of {', '.join(target_names)}"
    raise FleetError(f"no image here serves {target}: {hint}")


def _numbers(version: str) -> list[int]:
    return [int(part) for part in re.findall(r"\d+", version)]
