"""Frameworks and devices: how a device of an installed package is found, and the message if it is not found."""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from protocol.exit_codes import UNKNOWN_TARGET
from runners import frameworks
from runners.errors import UnknownFrameworkError
from runners.suite.framework import DeviceDeclaration, Framework

ROOT = Path(__file__).parents[3]
CPU = DeviceDeclaration("builtins:str", {"A": "1"})
TORCH = Framework("torch", {"cpu": CPU}, suites={}, unserved={"gone": "it needs another system"})


@pytest.fixture
def bring(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Simulates the installation of a package with one entry point, as far as Python's metadata shows."""
    monkeypatch.syspath_prepend(tmp_path)

    def install(point: str, code: str, group: str = frameworks.DEVICE_GROUP) -> None:
        (tmp_path / "npu_package.py").write_text(code)
        information = tmp_path / "npu_package-0.dist-info"
        information.mkdir()
        (information / "METADATA").write_text("Metadata-Version: 2.1\nName: npu-package\nVersion: 0\n")
        (information / "entry_points.txt").write_text(f"[{group}]\n{point} = npu_package\n")

    yield install
    sys.modules.pop("npu_package", None)


def test_a_device_of_a_package_stands_behind_ours(bring: Any) -> None:
    bring("torch.npu", "VARIABLES = {'B': '2'}\ndef device(): return 'their npu'\n")
    assert frameworks.devices(TORCH) == ["cpu", "npu"]
    assert frameworks.variables(TORCH, "npu") == {"B": "2"}
    assert frameworks.load_device(TORCH, "npu") == "their npu"


def test_no_package_stands_in_for_a_device_of_ours(bring: Any) -> None:
    bring("torch.cpu", "VARIABLES = {'B': '2'}\ndef device(): return 'their cpu'\n")
    assert frameworks.devices(TORCH) == ["cpu"]
    assert frameworks.variables(TORCH, "cpu") == {"A": "1"}
    assert frameworks.load_device(TORCH, "cpu") == ""


def test_a_device_of_another_framework_is_none_of_this_one(bring: Any) -> None:
    bring("jax.npu", "VARIABLES = {}\ndef device(): return 'their npu'\n")
    with pytest.raises(UnknownFrameworkError, match=r"has no device 'npu'; .* it has cpu, and .*--with PACKAGE"):
        frameworks.load_device(TORCH, "npu")


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("import no_such_driver\n", r"device torch/npu: .* cannot be loaded \(No module named 'no_such_driver'\)"),
        (
            "VARIABLES = {}\n",
            r"device torch/npu: 'npu_package' has no device; add what runners/frameworks.py asks of a device",
        ),
        ("", r"has no VARIABLES and no device"),
    ],
)
def test_a_package_that_cannot_be_used_is_one_line(bring: Any, code: str, words: str) -> None:
    bring("torch.npu", code)
    with pytest.raises(UnknownFrameworkError, match=words) as excinfo:
        frameworks.variables(TORCH, "npu")
    assert "\n" not in str(excinfo.value)


def _runner(place: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-P", "-m", "runners", *arguments],
        env={**os.environ, "PYTHONPATH": str(place)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_a_folder_in_runners_makes_no_framework(tmp_path: Path) -> None:
    for folder in ("protocol", "runners"):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "runners" / "abacus").mkdir()
    (tmp_path / "runners" / "abacus" / "__init__.py").touch()
    for folder in ("abacus", "http", "suite"):
        process = _runner(tmp_path, "cases", folder)
        assert (process.returncode, process.stdout) == (2, "")
        complaint = f"there is no framework {folder!r}; choose one of: jax, tensorflow, torch"
        assert process.stderr == f"portolan-runner: {complaint}\n"


@pytest.mark.parametrize("arguments", [["serve"], ["run"], ["cases"], ["setup"]], ids=lambda arguments: arguments[0])
def test_a_device_that_no_runner_can_serve_is_refused_with_the_reason(arguments: list[str]) -> None:
    process = _runner(ROOT, *arguments, "torch", "mps")
    # Who starts a runner learns that starting it again is no use.
    assert (process.returncode, process.stdout) == (UNKNOWN_TARGET if arguments == ["serve"] else 2, "")
    (line,) = process.stderr.splitlines()
    assert line.startswith("portolan-runner: torch/mps cannot be served here: ")
    assert "needs Linux" in line
    assert line.endswith("; choose one of: cpu, cuda, tpu, xla")


def test_a_device_that_is_not_served_is_not_offered_either() -> None:
    assert "gone" not in frameworks.devices(TORCH)
    with pytest.raises(UnknownFrameworkError, match="torch/gone cannot be served here: it needs another"):
        frameworks.variables(TORCH, "gone")


def test_an_entry_point_that_names_no_declaration_is_one_line(bring: Any) -> None:
    bring("abacus", "NAME = 'abacus'\n", group=frameworks.GROUP)
    with pytest.raises(
        UnknownFrameworkError, match=r"framework 'abacus': .* is not a Framework of this name"
    ) as excinfo:
        frameworks.load("abacus")
    assert "\n" not in str(excinfo.value)


@pytest.mark.parametrize("framework", frameworks.OURS.values(), ids=lambda framework: framework.name)
def test_a_declaration_names_what_is_there(framework: Framework) -> None:
    home = ROOT / "runners" / framework.name
    locks = {path.stem for path in home.glob("lock*.txt") if "." not in path.stem}
    own = {f"lock-{name}" for name, device in framework.devices.items() if device.own_environment}
    assert locks == {"lock", *own}
    for device in framework.devices.values():
        module, _, implementation = device.implementation.partition(":")
        tree = ast.parse((ROOT / f"{module.replace('.', '/')}.py").read_text())
        assert implementation in {node.name for node in tree.body if isinstance(node, ast.ClassDef)}
    for package in framework.suites.values():
        place = ROOT / package.replace(".", "/")
        assert (place / "__init__.py").exists() or place.with_suffix(".py").exists()


@pytest.mark.parametrize("name", frameworks.OURS)
def test_every_framework_has_the_same_names(name: str) -> None:
    """Exceptions are locks of devices and versions, and features of one framework. Only JAX lowers for missing devices
    and records compiled functions. Only torch has arrays with layouts that claim to be on a device, packages that are
    left out, and cases of modules."""
    entries = {entry.name for entry in (ROOT / "runners" / name).iterdir()}
    assert {entry for entry in entries if "-" not in entry and entry != "__pycache__"} == {
        *("__init__.py", "devices.py", "divergence.py", "evidence.py", "examples.py", "placement", "suites"),
        *("lock.txt", "requirements.txt"),
        *(("lowering.py", "compiled_functions.py") if name == "jax" else ()),
        *("frozen.py", "pairs.py", "ways.py"),
        *(
            ("layouts.py", "module_curvature.py", "module_ways.py", "spoken_device.py", "stubs")
            if name == "torch"
            else ()
        ),
        *("left_open.py", "recordable.py", "recorder.py", "replay.py"),
        *(("writing.py",) if name != "tensorflow" else ()),
        *(("widening.py",) if name == "torch" else ()),
    }
