"""Fixtures: the device under test, the toy accelerator. It is found like every device of an installed package."""

from __future__ import annotations

import os

import pytest

from runners import frameworks
from runners.suite.device import Device

pytest_plugins = ["tests.levels", "tests.frameworks.common.plugin"]

torch = frameworks.load("torch")
os.environ.update(frameworks.variables(torch, "toy"))


@pytest.fixture(scope="session")
def toy() -> Device:
    device = frameworks.load_device(torch, "toy")
    device.prime()
    return device
