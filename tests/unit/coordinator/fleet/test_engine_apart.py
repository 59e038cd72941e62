"""Only the command line uses the container engine, and the folder ``docker/`` is never imported in place of the SDK."""

from __future__ import annotations

import subprocess
import sys
from importlib import metadata
from pathlib import Path

ROOT = Path(__file__).resolve().parents[4]


def _loaded_with(module: str) -> set[str]:
    code = f"import sys, {module}; print(*sys.modules, sep='\\n')"
    return set(
        subprocess.run(
            [sys.executable, "-c", code], cwd=ROOT, capture_output=True, check=True, text=True
        ).stdout.split()
    )


def test_neither_the_coordinator_nor_the_command_line_loads_the_engines_sdk_unasked() -> None:
    for module in ("coordinator.app", "coordinator.cli"):
        loaded_modules = _loaded_with(module)
        assert module in loaded_modules
        assert not loaded_modules & {"docker", "requests", "coordinator.fleet.docker"}


def test_docker_is_the_wheel() -> None:
    """This holds also if the project's folder, which contains ``docker/``, is first on the import path."""
    code = "import docker, docker.client; print(docker.__file__, docker.__version__)"
    output = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, check=True, text=True).stdout
    file, version = output.split()
    assert (ROOT / "docker").is_dir()
    assert Path(file).is_relative_to(metadata.distribution("docker").locate_file("docker"))
    assert version == metadata.version("docker")


def test_where_the_sdk_is_not_installed_as_in_the_coordinators_image_one_line_says_so() -> None:
    without = "import sys; sys.modules['requests'] = None; "
    code = f"{without}from coordinator.cli import main; sys.exit(main(['fleet', 'status']))"
    process = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, check=False, text=True)
    assert (process.returncode, process.stdout) == (2, "")
    assert (
        process.stderr == "portolan: requests is not installed here: run this command on the host, not in a container\n"
    )
