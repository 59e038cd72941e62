"""The device under test: the host, forced before JAX is imported."""

from __future__ import annotations

import os

import pytest

from runners import jax as framework
from runners.suite.device import Device

os.environ.update(framework.DEVICES["cpu"])

pytest_plugins = ["tests.framework.plugin"]


@pytest.fixture(scope="session")
def cpu() -> Device:
    device = framework.device("cpu")
    device.prime()
    return device
