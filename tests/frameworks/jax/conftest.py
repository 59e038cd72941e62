"""Fixtures: the device under test, which is the host. It is selected before JAX is imported."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from runners.jax import FRAMEWORK
from runners.suite.device import Device
from tests.frameworks.common.subject import Subject, subject_of

os.environ.update(FRAMEWORK.devices["cpu"].variables)

pytest_plugins = ["tests.levels", "tests.frameworks.common.plugin"]


@pytest.fixture(scope="session")
def subject() -> Subject:
    return subject_of("jax")


XLA_CACHE = Path(sys.prefix) / "compiled-for-tests"
"""The folder for XLA's compiled programs of earlier runs. It is deleted with its environment. Compilation takes more
than half of the time of these tests. A new or changed program is compiled as usual."""


@pytest.fixture(scope="session")
def cpu() -> Device:
    import jax

    jax.config.update("jax_compilation_cache_dir", str(XLA_CACHE))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
    jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
    device = FRAMEWORK.load_device("cpu")
    device.prime()
    return device
