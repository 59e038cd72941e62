"""The enumeration of the installed torch has the expected entries, and uses no device."""

from __future__ import annotations

from typing import Any

import pytest

from tests.frameworks.common.surface import initialised_after, walk


@pytest.fixture(scope="module")
def surface() -> dict[str, Any]:
    return walk("torch")


def test_known_functions_classes_and_members_are_listed(surface: dict[str, Any]) -> None:
    entries = surface["entries"]
    assert entries["torch.add"]["kind"] == "function"
    assert entries["torch.nn.Linear"]["kind"] == "class"
    assert "torch.nn.Module" in entries["torch.nn.Linear"]["bases"]
    assert "torch.nn.modules.linear.Linear" in entries["torch.nn.Linear"]["aliases"]
    assert entries["torch.Tensor.view"]["kind"] == "method"
    assert entries["torch.set_grad_enabled"]["kind"] == "class"
    assert entries["torch.nn.Linear"]["signature"].startswith("(in_features: int")
    assert entries["torch.add"]["signature"].startswith("(input, other")


def test_no_device_is_initialised() -> None:
    assert initialised_after("torch", "print(root.cuda.is_initialized())") == "False"
