"""The desired state of a container is compared with its actual state: some containers are replaced, others are not
changed."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from coordinator.errors import FleetError
from coordinator.fleet.docker import DockerEngine
from coordinator.fleet.inventory import DeviceAccess
from coordinator.fleet.scheduler import Container, Image, Limits, RunnerSpec, parse_size

IMAGE = Image("sha256:1", "portolan/torch-cpu:latest", "sha256:2", "torch", "2.13.0", ("cpu",), "1")
SPEC = RunnerSpec(
    target="torch/cpu", framework="torch", device="cpu", image=IMAGE, limits=Limits(1 << 30, 1.0, 100, 1 << 20)
)
RUNNING = Container("c1", "c1", "torch/cpu", "http://127.0.0.1:8801", "running", "healthy", SPEC)


def test_a_container_that_fits_and_goes_on_by_itself_is_left_alone() -> None:
    for state, health in (("running", "starting"), ("running", "none"), ("restarting", "none"), ("paused", "healthy")):
        assert replace(RUNNING, state=state, health=health).flaw(SPEC) is None


def test_a_container_that_ended_for_good_or_is_unhealthy_is_replaced() -> None:
    for state in ("created", "exited", "dead"):
        assert replace(RUNNING, state=state, health="none").flaw(SPEC) == "it has ended"
    assert replace(RUNNING, health="unhealthy").flaw(SPEC) == "it is unhealthy"


def test_a_container_that_was_made_from_something_else_is_replaced() -> None:
    for other in (
        replace(RUNNING, spec=None),
        replace(RUNNING, spec=SPEC.model_copy(update={"image": replace(IMAGE, id="sha256:3")})),
        replace(RUNNING, spec=SPEC.model_copy(update={"secret": "another"})),
    ):
        assert other.flaw(SPEC) == "its image or limits have changed"


def test_another_name_of_the_same_image_is_the_same_image() -> None:
    renamed_spec = SPEC.model_copy(update={"image": replace(IMAGE, name="mine:latest", created="2026")})
    assert RUNNING.flaw(renamed_spec) is None


NAMES = st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=1, max_size=20)
SIZES = st.integers(1, 1 << 50)
SPECS = st.builds(
    RunnerSpec,
    target=NAMES,
    framework=NAMES,
    device=NAMES,
    image=st.builds(Image, NAMES, NAMES, NAMES, NAMES, NAMES, st.lists(NAMES).map(tuple), NAMES),
    limits=st.builds(Limits, SIZES, st.floats(0.01, 512.0), st.integers(1, 1 << 20), SIZES),
    access=st.builds(
        DeviceAccess,
        gpus=st.booleans(),
        cdi=st.lists(NAMES).map(tuple),
        paths=st.lists(NAMES).map(tuple),
        groups=st.lists(st.integers(0, 1 << 16)).map(tuple),
    ),
    secret=NAMES,
)


@given(spec=SPECS)
def test_a_specification_can_be_read_from_a_label(spec: RunnerSpec) -> None:
    assert RunnerSpec.model_validate_json(spec.model_dump_json()) == spec


@given(spec=SPECS, pids=st.integers(1, 1 << 20))
def test_another_limit_is_another_container(spec: RunnerSpec, pids: int) -> None:
    other = spec.model_copy(update={"limits": replace(spec.limits, pids=pids)})
    assert (other == spec) == (pids == spec.limits.pids)


@pytest.mark.parametrize("text", ["", "{}", "[]", "null", '{"target": "torch/cpu"}', '{"access": {"more": 1}}'])
def test_what_another_version_wrote_is_no_specification(text: str) -> None:
    with pytest.raises(ValidationError):
        RunnerSpec.model_validate_json(text)


@pytest.mark.parametrize("text", ["", "A", "a b", "-a", "a/b", "x" * 32])
def test_what_is_no_name_of_a_fleet_is_refused(text: str) -> None:
    with pytest.raises(FleetError, match="not a name for a fleet"):
        DockerEngine(text)


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("512", 512),
        ("512b", 512),
        ("2k", 2048),
        ("512m", 512 << 20),
        ("2G", 2 << 30),
        ("1.5GB", 3 << 29),
        ("1T", 1 << 40),
    ],
)
def test_a_size_in_bytes_is_read(text: str, size: int) -> None:
    assert parse_size(text) == size


@pytest.mark.parametrize("text", ["", "0", "-1G", "G", "much", "1X", "1GiB"])
def test_another_text_is_no_size(text: str) -> None:
    with pytest.raises(FleetError, match=f"'{text}' is not a size: write for example 512M or 8G"):
        parse_size(text)
