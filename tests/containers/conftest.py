"""A real container engine for the tests of this folder. Without an engine they are skipped, unless a variable promises
one."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.levels import LEVEL

REQUIRED = "PORTOLAN_REQUIRE_ENGINE"
ROOT = Path(__file__).resolve().parents[2]
HAZARDS = "portolan/runner-hazards:test"
DEFAULT_IMAGES = {
    1: ("coordinator", "runner", "jax-cpu"),
    2: ("coordinator", "runner", "jax-cpu", "tensorflow-cpu", "torch-cpu", "torch-xla"),
}[LEVEL]


@pytest.fixture(scope="session")
def docker() -> list[str]:
    """The command of the Docker client, for the engine of this machine."""
    command = ["docker"]
    try:
        answer = subprocess.run([*command, "info"], capture_output=True, text=True, timeout=60, check=False)
        why = answer.stderr.strip().splitlines()[-1] if answer.returncode else None
    except (OSError, subprocess.TimeoutExpired) as error:
        why = str(error)
    if why is not None:
        if os.environ.get(REQUIRED) == "1":
            pytest.fail(f"an engine was promised with {REQUIRED}=1, and none answers: {why}")
        pytest.skip(f"no Docker Engine answers here: {why}")
    return command


@pytest.fixture(scope="session")
def images(docker: list[str]) -> None:
    """The small images of the coordinator, a runner without a framework, and the hazards."""
    subprocess.run([sys.executable, "scripts/images.py", "coordinator", "runner"], cwd=ROOT, check=True)
    build = ["build", "--quiet", "--tag", HAZARDS, "--file", "tests/containers/hazards.Dockerfile", "tests/hazards"]
    subprocess.run([*docker, *build], cwd=ROOT, check=True)
    inspect = [*docker, "image", "inspect", "--format", "{{.Id}}", HAZARDS]
    os.environ["PORTOLAN_IMAGE_HAZARDS"] = subprocess.run(
        inspect, capture_output=True, text=True, check=True
    ).stdout.strip()


@pytest.fixture(scope="session")
def default_images(docker: list[str]) -> None:
    """The images that compose.yaml starts without a profile; at level 1, only those of one framework."""
    subprocess.run([sys.executable, "scripts/images.py", *DEFAULT_IMAGES], cwd=ROOT, check=True)
