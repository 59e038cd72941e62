"""The first stage of an image contains only the runners' code, and uses it to list the packages that the image
installs."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize(("framework", "device"), [("", ""), ("torch", "cpu")])
def test_the_packages_of_an_image_are_listed_without_the_rest_of_the_project(
    framework: str, device: str, tmp_path: Path
) -> None:
    shutil.copytree(ROOT / "runners", tmp_path / "runners", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "docker" / "locked.py", tmp_path)
    lock = tmp_path / "runners" / framework / "lock.txt"
    # Without site-packages, as the image's Python has none yet.
    subprocess.run(
        [sys.executable, "-S", tmp_path / "locked.py", framework, device, lock, tmp_path / "packages"],
        check=True,
        cwd=tmp_path,
        env={},
    )
    pins = (tmp_path / "packages" / "pins.txt").read_text().splitlines()
    assert pins
    assert all("==" in pin for pin in pins)
