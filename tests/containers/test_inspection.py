"""The inspection, on which other tests rely, reports hardening that is in force and hardening that is missing."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.containers.inspection import look_inside, shortcomings

IMAGE = "python:3.11-slim-bookworm"
WORD = "open sesame"
STRICT = [
    "--user=10001:10001",
    "--read-only",
    "--tmpfs=/tmp:size=16m",
    "--cap-drop=ALL",
    "--security-opt=no-new-privileges:true",
    "--memory=256m",
    "--memory-swap=320m",
    "--cpus=0.5",
    "--pids-limit=64",
    "--network=none",
]


@pytest.fixture
def secret(place: Path) -> Path:
    file = place / "runner_secret"
    file.write_text(WORD)
    file.chmod(0o444)
    return file


@pytest.fixture
def containers(docker: list[str]) -> Iterator[list[str]]:
    """Containers that are removed at the end."""
    names: list[str] = []
    yield names
    if names:
        subprocess.run([*docker, "rm", "--force", *names], capture_output=True, check=True)


def run(docker: list[str], containers: list[str], *options: str) -> str:
    answer = subprocess.run(
        [*docker, "run", "--detach", *options, IMAGE, "sleep", "infinity"], capture_output=True, text=True, check=True
    )
    containers.append(answer.stdout.strip())
    return containers[-1]


def test_a_hardened_container_lacks_nothing(docker: list[str], containers: list[str], secret: Path) -> None:
    container = run(docker, containers, *STRICT, f"--volume={secret}:/run/secrets/{secret.name}:ro")
    inside = look_inside(docker, container, "192.0.2.1:80")
    assert shortcomings(inside) == []
    assert (inside.memory, inside.swap, inside.cpus, inside.pids) == (256 << 20, 64 << 20, 0.5, 64)
    assert inside.scratch == {"/tmp": True}
    assert inside.is_mounted("/run/secrets/runner_secret")


def test_a_container_as_it_comes_lacks_all_but_seccomp(docker: list[str], containers: list[str], secret: Path) -> None:
    """The container has its secret in the environment, scratch space without a size, and access to a server."""
    listener = run(docker, containers, "--user=0")
    address = subprocess.run(
        [*docker, "inspect", "--format", "{{.NetworkSettings.IPAddress}}", listener],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()
    serve = [*docker, "exec", "--detach", listener, "python3", "-m", "http.server", "8000"]
    subprocess.run(serve, capture_output=True, check=True)
    container = run(
        docker,
        containers,
        "--tmpfs=/tmp",
        f"--volume={secret}:/run/secrets/{secret.name}:ro",
        f"--env=SECRET={WORD}",
    )
    listens = f"import socket, time\nwhile socket.socket().connect_ex(('{address}', 8000)): time.sleep(0.05)"
    subprocess.run([*docker, "exec", container, "python3", "-c", listens], timeout=30, check=True)
    inside = look_inside(docker, container, f"{address}:8000")
    assert inside.reached == {f"{address}:8000": True}
    assert shortcomings(inside) == [
        "a process is root",
        "a process has capabilities, or could get some",
        "a process could gain privileges",
        "the root is writable",
        "scratch space has no size",
        "memory has no limit",
        "processors have no limit",
        "the number of processes has no limit",
        "a secret stands in the environment",
        "there is a way out",
        "an address that it must not reach answers",
    ]


def test_a_container_without_seccomp_is_seen(docker: list[str], containers: list[str]) -> None:
    container = run(docker, containers, *STRICT, "--security-opt=seccomp=unconfined")
    assert shortcomings(look_inside(docker, container)) == [
        "a process runs without seccomp",
        "there is no secret in a file",
    ]
