"""Fixtures: the devices under test. One process has both: the host, and the host with every call compiled."""

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
    """The XLA device. ``cpu`` has primed the process, because settings can be made only once, before the runtime
    starts."""
    return FRAMEWORK.load_device("xla")


@pytest.fixture(scope="session")
def accelerator(cpu: Device) -> Device:
    """The first CPU, treated as if it were no host: a callback of TensorFlow on it, or a read from it, leaves the
    device."""
    from tests.frameworks.tensorflow.accelerator import Accelerator  # not before the variables above are set

    return Accelerator()
