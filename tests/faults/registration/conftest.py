"""Fixtures: a coordinator for the tests of a module, and for each test a framework whose runners serve the cases that
the test chooses."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.coordinator_process import CoordinatorProcess
from tests.faults.registration.runner_launcher import ENROLMENT_KEY, RunnerLauncher
from tests.short_times import SHORT_TIMES

NUMBERS = itertools.count(1)


@pytest.fixture(scope="module")
def dsn(new_database: Callable[..., str]) -> str:
    return new_database()


@pytest.fixture(scope="module")
def coordinator(dsn: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[CoordinatorProcess]:
    secret_file: Path = tmp_path_factory.mktemp("secrets") / "enrolment"
    secret_file.write_text(ENROLMENT_KEY)
    coordinator = CoordinatorProcess(dsn, times=SHORT_TIMES, PORTOLAN_ENROLMENT_KEY_FILE=str(secret_file))
    yield coordinator
    coordinator.stop()


@pytest.fixture
def place(coordinator: CoordinatorProcess) -> Iterator[RunnerLauncher]:
    place = RunnerLauncher(coordinator, f"listed-{next(NUMBERS)}")
    yield place
    place.close()
