"""A coordinator in a process of its own, and runners that a test can have list what it likes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.coordinator_process import CoordinatorProcess
from tests.faults.registration.listing_runner import Case, ListingRunner

ENROLMENT_SECRET = "the-secret-of-today"


@pytest.fixture
def coordinator(database: str, tmp_path: Path) -> Iterator[CoordinatorProcess]:
    secret_file = tmp_path / "enrolment"
    secret_file.write_text(ENROLMENT_SECRET)
    coordinator = CoordinatorProcess(database, PORTOLAN_ENROLMENT_SECRET_FILE=str(secret_file))
    yield coordinator
    coordinator.stop()


@pytest.fixture
def listing() -> Iterator[Callable[..., ListingRunner]]:
    """Starts a runner that lists these cases; what is left of it is stopped."""
    started: list[ListingRunner] = []

    def start(listed: list[Case], **options: str) -> ListingRunner:
        runner = ListingRunner(listed, **options)
        started.append(runner)
        return runner

    yield start
    for runner in started:
        runner.stop()
