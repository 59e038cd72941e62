"""The deployed stack has the content of compose.yaml, in the format that Swarm reads."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import pytest

from scripts import stack

PAGE = (Path(__file__).parents[3] / "docs/how-to/run-on-several-machines.md").read_text()
RUNNER: dict[str, Any] = {
    "image": "portolan/jax-cpu",
    "command": None,
    "read_only": True,
    "cap_drop": ["ALL"],
    "security_opt": ["no-new-privileges:true"],
    "mem_limit": "4294967296",
    "cpus": 2,
    "pids_limit": 512,
    "tmpfs": ["/tmp:size=1g,mode=1777"],
    "depends_on": {"coordinator": {"condition": "service_healthy"}},
    "restart": "unless-stopped",
    "volumes": [{"type": "volume", "source": "timing", "target": "/timing", "volume": {}}],
}


def test_limits_are_the_same_numbers_in_other_words() -> None:
    limits = stack.service(RUNNER)["deploy"]["resources"]["limits"]
    assert limits == {"memory": "4294967296", "cpus": "2", "pids": 512}


def test_a_limit_of_the_stack_wins_over_that_of_one_machine() -> None:
    definition = RUNNER | {"deploy": {"resources": {"limits": {"cpus": 8}}}}
    assert stack.service(definition)["deploy"]["resources"]["limits"]["cpus"] == "8"


def test_scratch_space_keeps_its_size() -> None:
    volumes = stack.service(RUNNER)["volumes"]
    assert volumes[1:] == [{"type": "tmpfs", "target": "/tmp", "tmpfs": {"size": 1 << 30}}]
    long = RUNNER | {"tmpfs": [], "volumes": [{"type": "tmpfs", "target": "/tmp", "tmpfs": {"size": "1048576"}}]}
    assert stack.service(long)["volumes"] == [{"type": "tmpfs", "target": "/tmp", "tmpfs": {"size": 1 << 20}}]


def test_scratch_space_without_a_size_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as excinfo:
        stack.service(RUNNER | {"tmpfs": ["/tmp"]})
    assert excinfo.value.code == 2
    assert "the tmpfs on /tmp has no size" in capsys.readouterr().err


def test_what_swarm_does_not_read_is_left_out_and_the_rest_is_kept() -> None:
    service = stack.service(RUNNER)
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert set(service) == {"image", "read_only", "cap_drop", "volumes", "deploy"}


def test_a_port_for_this_host_alone_is_never_opened_to_the_network() -> None:
    port = {"mode": "ingress", "target": 8642, "published": "8642", "protocol": "tcp"}
    for address in ("127.0.0.1", "::1"):
        assert "ports" not in stack.service({"image": "x", "ports": [port | {"host_ip": address}]})
    assert stack.service({"image": "x", "ports": [port]})["ports"] == [port | {"published": 8642}]


def test_devices_are_left_to_the_node_and_other_reservations_stay() -> None:
    resources = {"reservations": {"devices": [{"driver": "nvidia", "count": 1}], "memory": "1048576"}}
    service = stack.service({"image": "x", "deploy": {"resources": resources}})
    assert service["deploy"]["resources"] == {"reservations": {"memory": "1048576"}}


def test_a_secret_with_new_content_is_another_secret(tmp_path: Path) -> None:
    file = tmp_path / "secret"
    file.write_bytes(b"one")
    first = stack.with_content_in_name("enrolment", {"name": "portolan_enrolment", "file": str(file)})
    file.write_bytes(b"two")
    second = stack.with_content_in_name("enrolment", {"name": "portolan_enrolment", "file": str(file)})
    assert first["name"] == f"portolan_enrolment-{hashlib.sha256(b'one').hexdigest()[:12]}"
    assert first["name"] != second["name"]
    assert first["file"] == second["file"] == str(file)


def test_a_missing_secret_is_named_with_its_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as excinfo:
        stack.with_content_in_name("enrolment", {"file": str(tmp_path / "gone")})
    assert excinfo.value.code == 2
    message = capsys.readouterr().err
    assert message.startswith(f"stack: secret enrolment: No such file or directory ({tmp_path / 'gone'});")
    assert message.count("\n") == 1


def test_what_waits_for_a_node_is_said_once_for_each_label() -> None:
    def service_on(label: str) -> dict[str, Any]:
        return {"deploy": {"placement": {"constraints": [f"node.labels.{label} == true", "node.role == worker"]}}}

    services = {
        "postgres": service_on("portolan.database"),
        "torch-cpu": service_on("portolan.cpu"),
        "jax-cpu": service_on("portolan.cpu"),
        "coordinator": {"deploy": {}},
    }
    assert stack.waiting(services, [{}, {"portolan.database": "true"}]) == [
        "torch-cpu, jax-cpu waits for a node: docker node update --label-add portolan.cpu=true NODE"
    ]
    assert stack.waiting(services, [{"portolan.database": "true"}, {"portolan.cpu": "true"}]) == []


def test_what_waits_for_a_node_is_said_as_the_how_to_shows() -> None:
    placement = {"constraints": ["node.labels.portolan.tensorflow-cpu == true"]}
    (line,) = stack.waiting({"tensorflow-cpu": {"deploy": {"placement": placement}}}, [{"portolan.jax-cpu": "true"}])
    assert f"\n{line}\n" in PAGE
