"""Frameworks and devices: how a device that a package brings is found, and what is said where it is not."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from runners import frameworks

TORCH = cast(Any, SimpleNamespace(NAME="torch", DEVICES={"cpu": {"A": "1"}}, device=lambda name: f"our {name}"))


@pytest.fixture
def bring(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Installs a package, as far as Python's own machinery can tell, with one entry point."""
    monkeypatch.syspath_prepend(tmp_path)

    def install(point: str, code: str) -> None:
        (tmp_path / "npu_package.py").write_text(code)
        information = tmp_path / "npu_package-0.dist-info"
        information.mkdir()
        (information / "METADATA").write_text("Metadata-Version: 2.1\nName: npu-package\nVersion: 0\n")
        (information / "entry_points.txt").write_text(f"[{frameworks.DEVICE_GROUP}]\n{point} = npu_package\n")

    yield install
    sys.modules.pop("npu_package", None)


def test_a_device_of_a_package_stands_behind_ours(bring: Any) -> None:
    bring("torch.npu", "VARIABLES = {'B': '2'}\ndef device(): return 'their npu'\n")
    assert frameworks.devices(TORCH) == ["cpu", "npu"]
    assert frameworks.variables(TORCH, "npu") == {"B": "2"}
    assert frameworks.device(TORCH, "npu") == "their npu"


def test_no_package_stands_in_for_a_device_of_ours(bring: Any) -> None:
    bring("torch.cpu", "VARIABLES = {'B': '2'}\ndef device(): return 'their cpu'\n")
    assert frameworks.devices(TORCH) == ["cpu"]
    assert frameworks.variables(TORCH, "cpu") == {"A": "1"}
    assert frameworks.device(TORCH, "cpu") == "our cpu"


def test_a_device_of_another_framework_is_none_of_this_one(bring: Any) -> None:
    bring("jax.npu", "VARIABLES = {}\ndef device(): return 'their npu'\n")
    with pytest.raises(
        frameworks.UnknownFrameworkError, match=r"has no device 'npu'; it has cpu, and .*--with PACKAGE"
    ):
        frameworks.device(TORCH, "npu")


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("import no_such_driver\n", r"device torch/npu: .* cannot be loaded \(No module named 'no_such_driver'\)"),
        ("VARIABLES = {}\n", r"device torch/npu: 'npu_package' has no device; what it must offer"),
        ("", r"has no VARIABLES and no device"),
    ],
)
def test_a_package_that_cannot_be_used_is_one_line(bring: Any, code: str, words: str) -> None:
    bring("torch.npu", code)
    with pytest.raises(frameworks.UnknownFrameworkError, match=words) as told:
        frameworks.variables(TORCH, "npu")
    assert "\n" not in str(told.value)
