"""Real installations: two frameworks that need different versions of NumPy, next to each other."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from runners.cli import environments

TELL = """
import json, sys, numpy, importlib.util
print(json.dumps([numpy.__version__, numpy.__file__, sys.path, importlib.util.find_spec("ml_dtypes") is not None]))
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for framework, packages in (("numpy", ["numpy==2.3.5"]), ("ml_dtypes", ["ml_dtypes==0.6.0", "numpy==2.4.6"])):
        folder = tmp_path / "runners" / framework
        folder.mkdir(parents=True)
        (folder / "requirements.txt").write_text("\n".join(packages))
        command = [Path(sys.executable).with_name("uv"), "pip", "compile", "--quiet", "--generate-hashes"]
        subprocess.run([*command, "requirements.txt", "--output-file", "lock.txt"], cwd=folder, check=True)
    monkeypatch.setattr(environments, "PROJECT", tmp_path)
    monkeypatch.setenv("PORTOLAN_CACHE", str(tmp_path / "cache"))
    return tmp_path


def test_two_numpys_stand_side_by_side_and_neither_sees_the_other(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    places = {framework: environments.set_up(framework) for framework in ("numpy", "ml_dtypes")}
    # What stands on the path of whoever sets up or starts an environment is not for it.
    monkeypatch.setenv("VIRTUAL_ENV", str(places["ml_dtypes"]))
    answers = {}
    for framework, place in places.items():
        answer = subprocess.check_output([place / "bin" / "python", "-P", "-c", TELL], cwd=project)
        version, file, paths, has_other = json.loads(answer)
        answers[framework] = (version, has_other)
        assert Path(file).is_relative_to(place)
        assert not [path for path in paths if "site-packages" in path and not Path(path).is_relative_to(place)]
    assert answers == {"numpy": ("2.3.5", False), "ml_dtypes": ("2.4.6", True)}
