"""The devices under test. One process holds both: torch_xla is forced to the host before it is imported."""

from __future__ import annotations

import os

import pytest

from runners import torch as framework
from runners.suite.device import Device

os.environ.update(framework.DEVICES["xla"])

pytest_plugins = ["tests.framework.plugin"]


@pytest.fixture(scope="session")
def cpu() -> Device:
    return framework.device("cpu")


@pytest.fixture(scope="session")
def xla() -> Device:
    pytest.importorskip("torch_xla")
    device = framework.device("xla")
    device.prime()
    return device
