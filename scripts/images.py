"""Builds the container images, and writes the variables of ``compose.yaml``. ``make images`` calls it.

``images.py [IMAGE …]`` builds these images, or all; ``images.py --for SERVICE …`` builds those that services of
compose.yaml need. For each image, ``.env`` gets its digest, which the runner includes in its fingerprint. For base
images, ``.env`` gets the registry's digest from the first build, so that later builds use the same base. Other lines of
``.env`` are not changed. This script runs in ``.venv``.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import secret_files

ROOT = Path(__file__).resolve().parent.parent
ENV = ROOT / ".env"
BASES = ("PORTOLAN_POSTGRES", "PORTOLAN_PYTHON")
"""Variables for the base images, and for other images that the services use."""
COMPOSE = ["docker", "compose", "-f", "compose.yaml", "--profile", "*", "config", "--format", "json"]


def main(arguments: list[str]) -> None:
    began = time.monotonic()
    variables = {**read_env(ENV), **os.environ, **labels()}
    services = read_compose(variables)
    image_names = find_needed(arguments[1:], services) if arguments[:1] == ["--for"] else arguments
    secret_files.make(secret_files.folder())
    bake = ["docker", "buildx", "bake", "-f", "docker/bake.hcl", *image_names]
    targets: dict[str, Any] = read_output([*bake, "--print"], variables, "docker buildx does not work here")["target"]
    begun_with = bases(targets, services)
    write_env(ENV, begun_with)
    variables |= begun_with
    print(f"images: building {', '.join(targets)}", flush=True)
    if subprocess.run(bake, cwd=ROOT, env=variables).returncode != 0:
        sys.exit("images: the build failed, for the reason above: correct this and repeat the command")
    digests = {}
    for name, target in targets.items():
        (tag, *_) = target["tags"]
        image = inspect_image(tag)
        digests[variable(name)] = digest(image)
        print(f"images: {tag}  {image['Size'] / 1e9:.2f} GB  {image['Id'][:19]}")
    write_env(ENV, digests)
    print(f"images: ready after {time.monotonic() - began:.0f} s; {ENV.name} has their digests")


def read_compose(variables: Mapping[str, str]) -> dict[str, Any]:
    """The services of compose.yaml with all profiles, using these variables."""
    return dict(read_output(COMPOSE, variables, "docker compose does not work here")["services"])


def find_needed(names: list[str], services: Mapping[str, Any]) -> list[str]:
    """The images of these services, and the coordinator's image, because every service depends on it."""
    images = {
        name: service["image"].partition("/")[2].partition(":")[0]
        for name, service in services.items()
        if "coordinator" in service.get("depends_on", ())
    }
    if unknown := [name for name in names if name not in images]:
        targets = ", ".join(name.replace("-", "/", 1) for name in images)
        sys.exit(f"images: compose.yaml has no runner for {unknown[0].replace('-', '/', 1)}: choose one of {targets}")
    return ["coordinator", *sorted({images[name] for name in names})]


def bases(targets: Mapping[str, Any], services: Mapping[str, Any]) -> dict[str, str]:
    """Return the base images of the services with their digests, as a dictionary whose keys are the build variables
    that name the images."""
    target = next(iter(targets.values()))
    base_of = dict(zip(BASES, (services["postgres"]["image"], target["args"]["PYTHON"]), strict=True))
    digests = {name: digest_of_registry(image) for name, image in base_of.items() if "@" not in image}
    return {name: f"{base_of[name]}@{digest}" for name, digest in digests.items() if digest}


def digest_of_registry(reference: str) -> str | None:
    """The registry's digest of the image to which the tag refers now; None for an image that was built on this
    machine."""
    if subprocess.run(["docker", "image", "inspect", reference], capture_output=True, check=False).returncode != 0:
        print(f"images: pulling {reference}", flush=True)
        if subprocess.run(["docker", "pull", "--quiet", reference], check=False).returncode != 0:
            sys.exit(f"images: {reference} cannot be pulled: correct the reason above, and repeat the command")
    for digest in inspect_image(reference)["RepoDigests"] or ():
        return str(digest.partition("@")[2])
    print(f"images: {reference} was built on this machine, so other machines cannot find it by a digest")
    return None


def read_output(command: list[str], variables: Mapping[str, str], otherwise: str) -> dict[str, Any]:
    """The JSON output of a Docker command that needs no engine."""
    try:
        completed_process = subprocess.run(
            command, cwd=ROOT, env=variables, capture_output=True, text=True, check=False
        )
    except FileNotFoundError:
        sys.exit("images: docker is not installed: install it, or use `make demo`, which needs no containers")
    if completed_process.returncode != 0:
        sys.exit(f"images: {(completed_process.stderr.strip().splitlines() or [otherwise])[-1]}")
    return dict(json.loads(completed_process.stdout))


def labels() -> dict[str, str]:
    """The labels for images that are built from this checkout: the version of Portolan."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return {"PORTOLAN_VERSION": project["version"]}


def variable(name: str) -> str:
    return f"PORTOLAN_IMAGE_{name.upper().replace('-', '_')}"


def inspect_image(tag: str) -> dict[str, Any]:
    (image,) = json.loads(
        subprocess.run(["docker", "image", "inspect", tag], stdout=subprocess.PIPE, check=True).stdout
    )
    return image


def digest(image: dict[str, Any]) -> str:
    """The image's digest in its registry, or the image's id if it has no such digest. Digest and id are each the
    SHA-256 of a manifest or configuration."""
    for reference in image["RepoDigests"] or ():
        return reference.partition("@")[2]
    return image["Id"]


def read_env(path: Path) -> dict[str, str]:
    """The images that earlier builds wrote to ``.env``. Other lines of this file are only for Compose."""
    lines = path.read_text().splitlines() if path.exists() else []
    return {name: value for name, _, value in (line.partition("=") for line in lines) if name in BASES}


def write_env(path: Path, new: dict[str, str]) -> None:
    """Write these variables to ``.env`` in place of their old lines, and keep all other lines."""
    lines = path.read_text().splitlines() if path.exists() else []
    kept_lines = [line for line in lines if line.partition("=")[0] not in new]
    draft = path.with_name(f"{path.name}.part")
    draft.write_text(
        "".join(f"{line}\n" for line in [*kept_lines, *(f"{name}={value}" for name, value in new.items())])
    )
    draft.replace(path)


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except KeyboardInterrupt:
        sys.exit("images: interrupted: call make again to continue")
