"""The device under test: the host, forced before JAX is imported."""

from __future__ import annotations

import os

import pytest

from runners.jax import FRAMEWORK
from runners.suite.device import Device

os.environ.update(FRAMEWORK.devices["cpu"].variables)

pytest_plugins = ["tests.frameworks.common.plugin"]


@pytest.fixture(scope="session")
def cpu() -> Device:
    device = FRAMEWORK.load_device("cpu")
    device.prime()
    return device
