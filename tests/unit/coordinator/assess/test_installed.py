"""The installed version of a framework is read from a project's environment."""

from __future__ import annotations

from pathlib import Path

import pytest

from coordinator.assess.installed import installed_version


@pytest.fixture
def project(tmp_path: Path) -> Path:
    _install(tmp_path / "project" / ".venv", "2.7.1+cpu")
    (tmp_path / "project" / "src" / "package").mkdir(parents=True)
    (tmp_path / "project" / "src" / "train.py").write_text("import torch")
    return tmp_path / "project"


def _install(environment: Path, version: str) -> None:
    information = environment / "lib" / "python3.11" / "site-packages" / f"torch-{version}.dist-info"
    information.mkdir(parents=True)
    (information / "METADATA").write_text(f"Metadata-Version: 2.1\nName: torch\nVersion: {version}\n")
    (environment / "pyvenv.cfg").touch()


@pytest.mark.parametrize("path", [".", "src", "src/train.py", "src/package", "not_there.py"])
def test_the_environment_may_be_in_a_folder_above_the_code(
    project: Path, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(project)
    assert installed_version("torch", Path(path), None) == "2.7.1+cpu"


def test_the_nearest_environment_counts_and_the_active_one_before_it(project: Path, tmp_path: Path) -> None:
    _install(project / "src" / "venv", "2.8.0")
    assert installed_version("torch", project / "src", None) == "2.8.0"
    _install(tmp_path / "active", "2.9.0")
    assert installed_version("torch", project / "src", tmp_path / "active") == "2.9.0"
