"""Another build of a locked package is refused because of its hash. It is accepted if any build is allowed, and then
recorded."""

from __future__ import annotations

import subprocess
import zipfile
from pathlib import Path

import pytest

from runners.cli import environments


def wheel(folder: Path, package: str, requires: str = "") -> None:
    """A package with one empty module, in the form of a package index."""
    folder.mkdir(exist_ok=True)
    with zipfile.ZipFile(folder / f"{package}-1-py3-none-any.whl", "w") as archive:
        archive.writestr(f"{package}.py", "")
        about = f"{package}-1.dist-info"
        archive.writestr(f"{about}/METADATA", f"Metadata-Version: 2.1\nName: {package}\nVersion: 1\n{requires}")
        archive.writestr(f"{about}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{about}/RECORD", "")


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A framework whose lock has the hash of one build, which needs a second package, and an index with another
    build."""
    folder = tmp_path / "runners" / "pebble"
    folder.mkdir(parents=True)
    (folder / "requirements.txt").write_text("pebble\n")
    (folder / "lock.txt").write_text(
        f"gravel==1 \\\n    --hash=sha256:{'0' * 64}\npebble==1 --hash=sha256:{'0' * 64}\n"
    )
    wheel(tmp_path / "index", "gravel")
    wheel(tmp_path / "index", "pebble")
    monkeypatch.setattr(environments, "PROJECT", tmp_path)
    monkeypatch.setenv("PORTOLAN_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("UV_CACHE_DIR", str(tmp_path / "uv"))
    monkeypatch.setenv("UV_OFFLINE", "1")
    monkeypatch.setenv("UV_FIND_LINKS", str(tmp_path / "index"))
    return tmp_path


def test_another_build_is_refused_in_one_line_that_says_how_to_take_it(project: Path) -> None:
    with pytest.raises(environments.SetupFailedError, match=r"set PORTOLAN_ANY_BUILD=1 to take it") as refusal:
        environments.set_up("pebble")
    assert "\n" not in str(refusal.value)
    assert environments.find("pebble") is None


def test_any_build_is_taken_with_what_that_build_needs_and_is_recorded(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PORTOLAN_ANY_BUILD", "1")
    place = environments.set_up("pebble")
    assert environments.find("pebble") == place
    code = "import sys, pathlib, importlib.metadata as m; print(*sorted(d.name for d in m.distributions()))"
    assert subprocess.check_output([place / "bin" / "python", "-I", "-c", code], text=True).split() == ["pebble"]
    assert (place / environments.ANY_BUILD).exists()
