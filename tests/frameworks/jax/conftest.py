"""The device under test: the host, forced before JAX is imported."""

from __future__ import annotations

import os

import pytest

from runners.jax import FRAMEWORK
from runners.suite.device import Device
from tests.frameworks.common.subject import Subject, subject_of

os.environ.update(FRAMEWORK.devices["cpu"].variables)

pytest_plugins = ["tests.levels", "tests.frameworks.common.plugin"]


@pytest.fixture(scope="session")
def subject() -> Subject:
    return subject_of("jax")


@pytest.fixture(scope="session")
def cpu() -> Device:
    device = FRAMEWORK.load_device("cpu")
    device.prime()
    return device
