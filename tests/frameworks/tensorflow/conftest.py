"""The devices under test. One process holds both: each is the host, and one compiles every call."""

from __future__ import annotations

import os

import pytest

from runners.suite.device import Device
from runners.tensorflow import FRAMEWORK
from tests.frameworks.common.subject import Subject, subject_of

os.environ.update(FRAMEWORK.devices["xla"].variables)

pytest_plugins = ["tests.levels", "tests.frameworks.common.plugin"]


@pytest.fixture(scope="session")
def subject() -> Subject:
    return subject_of("tensorflow")


@pytest.fixture(scope="session")
def cpu() -> Device:
    device = FRAMEWORK.load_device("cpu")
    device.prime()
    return device


@pytest.fixture(scope="session")
def xla(cpu: Device) -> Device:
    """Primed by ``cpu``: what priming forbids is forbidden once, before the runtime starts."""
    return FRAMEWORK.load_device("xla")


@pytest.fixture(scope="session")
def accelerator(cpu: Device) -> Device:
    """The first CPU as if it were no host: what TensorFlow calls back on it, or reads from it, leaves the device."""
    from tests.frameworks.tensorflow.accelerator import Accelerator  # not before the variables above are set

    return Accelerator()
