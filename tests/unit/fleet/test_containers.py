"""Which image serves which target, and what stands in a container's labels."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coordinator.errors import PortolanError
from coordinator.fleet import containers
from coordinator.fleet.containers import FleetError, Health, Image, Limits, Observed, State, Target, Wanted
from coordinator.fleet.inventory import Access, DeviceMissingError, Inventory

LIMITS = Limits(memory=6 << 30, cpus=2.0, pids=2048, scratch=1 << 30)
BARE = Inventory()
WITH_GPU = Inventory(nvidia=("/dev/nvidia0",), nvidia_runtime=True)


def image(framework: str, version: str, *devices: str, created: str = "1") -> Image:
    name = f"portolan/{framework}-{devices[0]}:{version}"
    return Image(f"sha256:{name}", name, f"sha256:{name}", framework, version, devices, created)


IMAGES = [
    image("jax", "0.10.2", "cpu"),
    image("tensorflow", "2.21.0", "cpu", "xla"),
    image("torch", "2.13.0", "cpu"),
    image("torch", "2.9.0", "xla", "cpu"),
    image("torch", "2.9.0", "cuda"),
    image("jax", "0.10.2", "tpu"),
    image("torch", "2.13.0", "toy"),
]


def chosen(inventory: Inventory) -> dict[str, str]:
    return {str(target): image.name for target, image in containers.chosen(IMAGES, inventory)}


def test_a_host_serves_unasked_what_its_devices_and_images_allow() -> None:
    on_the_cpu = {
        "jax/cpu": "portolan/jax-cpu:0.10.2",
        "tensorflow/cpu": "portolan/tensorflow-cpu:2.21.0",
        "tensorflow/xla": "portolan/tensorflow-cpu:2.21.0",
        "torch/cpu": "portolan/torch-cpu:2.13.0",
        "torch/xla": "portolan/torch-xla:2.9.0",
    }
    assert chosen(BARE) == on_the_cpu
    assert chosen(WITH_GPU) == on_the_cpu | {"torch/cuda": "portolan/torch-cuda:2.9.0"}
    assert chosen(Inventory(tpu=("/dev/accel0",))) == on_the_cpu | {"jax/tpu": "portolan/jax-tpu:0.10.2"}


def test_an_image_serves_the_devices_on_its_label_and_what_comes_with_them() -> None:
    assert containers.devices_of("jax", "cpu") == ("cpu",)
    assert containers.devices_of("mine", "npu, cpu") == ("npu", "cpu")
    assert (
        containers.devices_of("tensorflow", "cpu") == containers.devices_of("tensorflow", "cpu xla") == ("cpu", "xla")
    )
    assert containers.devices_of("torch", "xla") == ("xla", "cpu")


def test_a_device_that_nobody_knows_is_served_by_name_only() -> None:
    assert "torch/toy" not in chosen(WITH_GPU)
    toy = containers.newest(IMAGES, Target.parse("torch/toy"))
    assert containers.wanted_of(Target.parse("torch/toy"), toy, BARE, LIMITS).device == "toy"


def test_an_older_version_is_served_beside_the_newest_when_it_is_named() -> None:
    assert containers.newest(IMAGES, Target.parse("torch/cpu")).version == "2.13.0"
    assert containers.newest(IMAGES, Target.parse("torch@2.9.0/cpu")).name == "portolan/torch-xla:2.9.0"


def test_of_one_version_the_image_built_last_is_taken() -> None:
    older, newer = image("torch", "2.13.0", "cpu", created="1"), image("torch", "2.13.0", "cpu", created="2")
    assert containers.newest([newer, older], Target.parse("torch/cpu")) == newer
    assert containers.newest([image("torch", "2.9.1", "cpu", created="3"), older], Target.parse("torch/cpu")) == older


@pytest.mark.parametrize(
    ("target", "words"),
    [
        ("torhc/cpu", "did you mean torch/cpu?"),
        ("torch@2.8.0/cpu", "did you mean torch@2.13.0/cpu or torch@2.9.0/cpu?"),
        ("cobol/mainframe", "there are images for jax/cpu, jax/tpu"),
    ],
)
def test_a_target_that_no_image_serves_is_told_with_what_there_is(target: str, words: str) -> None:
    with pytest.raises(FleetError) as refused:
        containers.newest(IMAGES, Target.parse(target))
    assert words in str(refused.value)


def test_without_any_image_it_says_how_to_get_one() -> None:
    with pytest.raises(FleetError, match="make images"):
        containers.newest([], Target.parse("torch/cpu"))


@pytest.mark.parametrize("text", ["", "torch", "torch/", "/cpu", "torch/cpu/0", "torch cpu", "to rch/cpu", "../x/cpu"])
def test_what_is_no_target_is_refused(text: str) -> None:
    with pytest.raises(FleetError, match="write framework/device"):
        Target.parse(text)


@pytest.mark.parametrize("text", ["", "A", "a b", "-a", "a/b", "x" * 32])
def test_what_is_no_name_of_a_fleet_is_refused(text: str) -> None:
    with pytest.raises(FleetError, match="no name for a fleet"):
        containers.check_fleet_name(text)


def test_a_device_that_the_host_lacks_is_refused() -> None:
    cuda = containers.newest(IMAGES, Target.parse("torch/cuda"))
    with pytest.raises(DeviceMissingError, match="no NVIDIA GPU"):
        containers.wanted_of(Target.parse("torch/cuda"), cuda, BARE, LIMITS)


NAMES = st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=1, max_size=20)
WANTED = st.builds(
    Wanted,
    target=NAMES,
    image=NAMES,
    image_name=NAMES,
    image_digest=NAMES,
    framework=NAMES,
    device=NAMES,
    limits=st.builds(
        Limits,
        memory=st.integers(1, 1 << 50),
        cpus=st.floats(0.01, 512.0),
        pids=st.integers(1, 1 << 20),
        scratch=st.integers(1, 1 << 50),
    ),
    access=st.builds(
        Access,
        gpus=st.booleans(),
        cdi=st.lists(NAMES).map(tuple),
        paths=st.lists(NAMES).map(tuple),
        groups=st.lists(st.integers(0, 1 << 16)).map(tuple),
    ),
    secret=NAMES,
)


@given(wanted=WANTED)
def test_what_a_container_was_made_from_can_be_read_from_its_labels(wanted: Wanted) -> None:
    labels = containers.labels_of("main", wanted, 3, 8801)
    assert Wanted.loaded(labels[containers.WANTED]) == wanted


@given(wanted=WANTED, pids=st.integers(1, 1 << 20))
def test_another_limit_is_another_container(wanted: Wanted, pids: int) -> None:
    other = replace(wanted, limits=replace(wanted.limits, pids=pids))
    assert (Wanted.loaded(other.dumped()) == wanted) == (pids == wanted.limits.pids)


@pytest.mark.parametrize("text", ["", "{}", "[]", "null", '{"target": "torch/cpu"}', '{"access": {"more": 1}}'])
def test_what_another_version_wrote_reads_as_unknown(text: str) -> None:
    assert Wanted.loaded(text) is None


def test_every_generation_has_a_name_of_its_own() -> None:
    names = [containers.name_of("main", "torch@2.9.0/cpu", generation) for generation in (1, 2, 3)]
    assert names == [
        "portolan-main-torch-2.9.0-cpu",
        "portolan-main-torch-2.9.0-cpu-2",
        "portolan-main-torch-2.9.0-cpu-3",
    ]


def test_the_latest_generation_stands_for_a_target() -> None:
    def made(target: str, generation: int) -> Observed:
        return Observed(f"{target}{generation}", "", target, generation, 1, State.running, Health.healthy)

    there = [made("torch/cpu", 2), made("torch/cpu", 1), made("jax/cpu", 1)]
    standing = containers.current(there)
    assert {target: each.generation for target, each in standing.items()} == {"torch/cpu": 2, "jax/cpu": 1}
    assert containers.known_target("jax/cpu", standing, "main").id == "jax/cpu1"
    with pytest.raises(PortolanError, match="it has jax/cpu, torch/cpu"):
        containers.known_target("tensorflow/cpu", standing, "main")
