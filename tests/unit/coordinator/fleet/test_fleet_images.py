"""The image for each target, and the specification of the container that is made from it."""

from __future__ import annotations

import pytest

from coordinator.errors import DeviceMissingError, FleetError
from coordinator.fleet.images import FleetTarget, devices_of, find_newest, parse_pins, specify_runners
from coordinator.fleet.inventory import Inventory
from coordinator.fleet.scheduler import Image, Limits, RunnerSpec

LIMITS = Limits(memory=6 << 30, cpus=2.0, pids=2048, scratch=1 << 30)
BARE = Inventory()
WITH_GPU = Inventory(nvidia=("/dev/nvidia0",), nvidia_runtime=True)


def image(framework: str, version: str, *devices: str, created_at: str = "1") -> Image:
    name = f"portolan/{framework}-{devices[0]}:{version}"
    return Image(f"sha256:{name}", name, f"sha256:{name}", framework, version, devices, created_at)


IMAGES = [
    image("jax", "0.10.2", "cpu"),
    image("tensorflow", "2.21.0", "cpu", "xla"),
    image("torch", "2.13.0", "cpu"),
    image("torch", "2.9.0", "xla", "cpu"),
    image("torch", "2.9.0", "cuda"),
    image("jax", "0.10.2", "tpu"),
    image("torch", "2.13.0", "toy"),
]


def specs(*targets: str, pins: tuple[str, ...] = (), inventory: Inventory = BARE) -> dict[str, RunnerSpec]:
    by_name = {image.name: image for image in IMAGES}
    return specify_runners(targets, parse_pins(pins), IMAGES, by_name.__getitem__, inventory, LIMITS)


def names(inventory: Inventory) -> dict[str, str]:
    return {target: spec.image.name for target, spec in specs(inventory=inventory).items()}


def test_a_host_serves_unasked_what_its_devices_and_images_allow() -> None:
    on_the_cpu = {
        "jax/cpu": "portolan/jax-cpu:0.10.2",
        "tensorflow/cpu": "portolan/tensorflow-cpu:2.21.0",
        "tensorflow/xla": "portolan/tensorflow-cpu:2.21.0",
        "torch/cpu": "portolan/torch-cpu:2.13.0",
        "torch/xla": "portolan/torch-xla:2.9.0",
    }
    assert names(BARE) == on_the_cpu
    assert names(WITH_GPU) == on_the_cpu | {"torch/cuda": "portolan/torch-cuda:2.9.0"}
    assert names(Inventory(tpu=("/dev/accel0",))) == on_the_cpu | {"jax/tpu": "portolan/jax-tpu:0.10.2"}


def test_an_image_serves_the_devices_on_its_label_and_what_comes_with_them() -> None:
    assert devices_of("jax", "cpu") == ("cpu",)
    assert devices_of("mine", "npu, cpu") == ("npu", "cpu")
    assert devices_of("tensorflow", "cpu") == devices_of("tensorflow", "cpu xla") == ("cpu", "xla")
    assert devices_of("torch", "xla") == ("xla", "cpu")


def test_a_device_that_nobody_knows_is_served_by_name_only() -> None:
    assert "torch/toy" not in names(WITH_GPU)
    assert specs("torch/toy")["torch/toy"].device == "toy"


def test_an_older_version_is_served_beside_the_newest_when_it_is_named() -> None:
    both = specs("torch/cpu", "torch@2.9.0/cpu")
    assert {target: (spec.device, spec.image.name) for target, spec in both.items()} == {
        "torch/cpu": ("cpu", "portolan/torch-cpu:2.13.0"),
        "torch@2.9.0/cpu": ("cpu", "portolan/torch-xla:2.9.0"),
    }


def test_a_pinned_image_serves_its_target_beside_those_that_are_named() -> None:
    both = specs("jax/cpu", pins=("torch/cpu=portolan/torch-xla:2.9.0",))
    assert {target: spec.image.version for target, spec in both.items()} == {"jax/cpu": "0.10.2", "torch/cpu": "2.9.0"}


def test_of_one_version_the_image_built_last_is_taken() -> None:
    older, newer = image("torch", "2.13.0", "cpu", created_at="1"), image("torch", "2.13.0", "cpu", created_at="2")
    assert find_newest([newer, older], FleetTarget.parse("torch/cpu")) is newer
    assert find_newest([image("torch", "2.9.1", "cpu", created_at="3"), older], FleetTarget.parse("torch/cpu")) is older


@pytest.mark.parametrize(
    ("target", "words"),
    [
        ("torhc/cpu", "did you mean torch/cpu?"),
        ("torch@2.8.0/cpu", "did you mean torch@2.13.0/cpu or torch@2.9.0/cpu?"),
        ("cobol/mainframe", "choose one of jax/cpu, jax/tpu"),
    ],
)
def test_a_target_that_no_image_serves_is_told_with_what_there_is(target: str, words: str) -> None:
    with pytest.raises(FleetError) as excinfo:
        specs(target)
    assert words in str(excinfo.value)


def test_without_any_image_it_says_how_to_get_one() -> None:
    with pytest.raises(FleetError, match="make images"):
        find_newest([], FleetTarget.parse("torch/cpu"))
    with pytest.raises(FleetError, match="make images"):
        specify_runners([], {}, [], IMAGES.__getitem__, BARE, LIMITS)  # type: ignore[arg-type]


@pytest.mark.parametrize("text", ["", "torch", "torch/", "/cpu", "torch/cpu/0", "torch cpu", "to rch/cpu", "../x/cpu"])
def test_what_is_no_target_is_refused(text: str) -> None:
    with pytest.raises(FleetError, match="write framework/device"):
        FleetTarget.parse(text)


def test_a_device_that_the_host_lacks_is_refused() -> None:
    with pytest.raises(DeviceMissingError, match="no NVIDIA GPU"):
        specs("torch/cuda")
