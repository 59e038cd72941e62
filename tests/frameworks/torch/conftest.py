"""Fixtures: the devices under test. One process has both. torch_xla is forced onto the host before it is imported."""

from __future__ import annotations

import os
from importlib.util import find_spec

import pytest
import torch

from runners.suite.device import Device
from runners.torch import FRAMEWORK
from tests.frameworks.common.subject import Subject, subject_of

os.environ.update(FRAMEWORK.devices["xla"].variables)

pytest_plugins = ["tests.levels", "tests.frameworks.common.plugin"]


@pytest.fixture(scope="session", autouse=True)
def _every_device_has_gradients() -> None:
    """Import torch_xla before the first backward pass, because autograd serves only devices that exist at that time."""
    if find_spec("torch_xla"):
        FRAMEWORK.load_device("xla").prime()


@pytest.fixture(autouse=True)
def _torch_without_torch_xla(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Restore torch's own objects that torch_xla replaces, because a runner of the CPU does not import torch_xla."""
    if "xla" not in request.fixturenames:
        for module, name in ((torch.nn, "GRU"), (torch.nn.utils, "clip_grad_norm_")):
            ours = getattr(module, name)
            monkeypatch.setattr(module, name, getattr(ours, "_orig", ours))


@pytest.fixture(scope="session")
def subject() -> Subject:
    return subject_of("torch")


@pytest.fixture(scope="session")
def cpu() -> Device:
    return FRAMEWORK.load_device("cpu")


@pytest.fixture(scope="session")
def xla() -> Device:
    pytest.importorskip("torch_xla")
    device = FRAMEWORK.load_device("xla")
    device.prime()
    return device
