"""The wheel is built from the tracked files, is complete, and works when it is installed away from the checkout."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.runner_process import environment

ROOT = Path(__file__).parents[2]
PACKAGES = ("portolan", "protocol", "coordinator", "runners", "migrations")
UV = Path(sys.executable).with_name("uv")
LIMIT_S = 300.0


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built from a copy of the checkout, so that files of an earlier build do not get into it."""
    source, dist = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("dist")
    for package in (*PACKAGES, "docker"):
        shutil.copytree(ROOT / package, source / package, ignore=shutil.ignore_patterns("__pycache__"))
    for file in ("pyproject.toml", "README.md"):
        shutil.copy(ROOT / file, source)
    subprocess.run([UV, "build", "--quiet", "--wheel", "--out-dir", dist, source], check=True)
    (wheel,) = dist.glob("*.whl")
    return wheel


@pytest.fixture(scope="module")
def installed_scripts(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The scripts of a new environment with the wheel and the locked versions of its dependencies."""
    place = tmp_path_factory.mktemp("installed") / "venv"
    subprocess.run([UV, "venv", "--quiet", "--python", sys.executable, place], check=True)
    constraints = ["--constraint", ROOT / "coordinator" / "lock.txt", "--no-verify-hashes"]
    subprocess.run(
        [UV, "pip", "install", "--quiet", "--python", place / "bin" / "python", wheel, *constraints], check=True
    )
    return place / "bin"


def call(program: Path, *arguments: str, within: Path) -> subprocess.CompletedProcess[str]:
    """Call a program that has no path to the checkout, without activating the environment."""
    variables = {name: value for name, value in environment().items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
    variables |= {"PORTOLAN_DATA": str(within / "data"), "PATH": os.defpath}
    return subprocess.run(
        [program, *arguments], env=variables, cwd=within, capture_output=True, text=True, timeout=LIMIT_S, check=False
    )


def test_the_wheel_holds_every_file_of_the_packages_and_no_other(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        members = {name for name in archive.namelist() if ".dist-info/" not in name}
    files = [file for package in PACKAGES for file in (ROOT / package).rglob("*") if file.is_file()]
    assert members == {str(file.relative_to(ROOT)) for file in files if "__pycache__" not in file.parts}
    assert {f"{package}/py.typed" for package in PACKAGES if package != "migrations"} <= members


@pytest.mark.level(2)
def test_an_installed_wheel_charts_a_framework_outside_the_checkout(installed_scripts: Path, place: Path) -> None:
    """The framework's environment is shared with the checkout, because its key is computed from the same lock."""
    ready = call(installed_scripts / "portolan-runner", "setup", "jax", within=place)
    assert ready.returncode == 0, ready.stderr
    here = [sys.executable, "-c", "from runners.cli.environments import path; print(path('jax'))"]
    assert ready.stdout == subprocess.check_output(here, text=True, env=environment())

    functions = ["--functions", "jax.lax.top_k", "--functions", "jax.numpy.compress"]
    demo = call(installed_scripts / "portolan", "demo", "--targets", "jax/cpu", "--all", *functions, within=place)
    assert demo.returncode == 0, demo.stderr
    assert "2 of 2 functions pass every case" in demo.stdout
    assert "jax.lax.top_k" in demo.stdout
    assert "jax.vjp" not in demo.stdout
    assert (place / "data").is_dir()


@pytest.mark.level(2)
def test_a_framework_sees_nothing_of_the_coordinators_packages(installed_scripts: Path, place: Path) -> None:
    """The coordinator's packages are installed beside the wheel. One of them on the path would hide the framework's own
    package, and so change the target."""
    fingerprints = []
    for number, program in enumerate((installed_scripts / "python", Path(sys.executable))):
        bundle = place / f"{number}.bundle"
        suite = ["--functions", "jax.lax.top_k", "--runs", "1", "--timing", "off", "--out", str(bundle)]
        chart_run = call(program, "-P", "-m", "runners", "run", "jax", "cpu", *suite, within=place)
        assert chart_run.returncode == 0, chart_run.stderr
        fingerprints.append(json.loads(bundle.read_text().splitlines()[0])["runner"]["fingerprint"])
    one, other = (
        {name: fingerprint[name] for name in ("environment", "libraries", "python")} for fingerprint in fingerprints
    )
    assert one == other
