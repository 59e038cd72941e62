"""Environments installed for real: two frameworks that need different NumPys, side by side."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from runners.cli import environments

PYPROJECT = """\
[project]
name = "two-numpys"
version = "1"
dependencies = []
[project.optional-dependencies]
numpy = ["numpy"]
ml_dtypes = ["ml_dtypes", "numpy"]
probe = []
"""
TELL = """
import json, sys, numpy, importlib.util
print(json.dumps([numpy.__version__, numpy.__file__, sys.path, importlib.util.find_spec("ml_dtypes") is not None]))
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for framework, locked in (("numpy", "numpy==2.3.5\n"), ("ml_dtypes", "ml_dtypes==0.6.0\nnumpy==2.4.6\n")):
        (tmp_path / "runners" / framework).mkdir(parents=True)
        (tmp_path / "runners" / framework / "constraints.txt").write_text(locked)
    (tmp_path / "pyproject.toml").write_text(PYPROJECT)
    monkeypatch.setattr(environments, "PROJECT", tmp_path)
    monkeypatch.setenv("PORTOLAN_CACHE", str(tmp_path / "cache"))
    return tmp_path


def test_two_numpys_stand_side_by_side_and_neither_sees_the_other(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    places = {framework: environments.set_up(framework) for framework in ("numpy", "ml_dtypes")}
    # What stands on the path of whoever sets up or starts an environment is not for it.
    monkeypatch.setenv("VIRTUAL_ENV", str(places["ml_dtypes"]))
    told = {}
    for framework, place in places.items():
        answer = subprocess.check_output([place / "bin" / "python", "-P", "-c", TELL], cwd=project)
        version, file, paths, has_other = json.loads(answer)
        told[framework] = (version, has_other)
        assert Path(file).is_relative_to(place)
        assert not [path for path in paths if "site-packages" in path and not Path(path).is_relative_to(place)]
    assert told == {"numpy": ("2.3.5", False), "ml_dtypes": ("2.4.6", True)}
