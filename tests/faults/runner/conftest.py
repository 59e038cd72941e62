"""One runner serves all hazards of a module: each must leave it fit for the next."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.runner_process import RunnerProcess


@pytest.fixture(scope="module")
def note(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where hazards that leave processes behind write their ids."""
    return tmp_path_factory.mktemp("hazards") / "note"


@pytest.fixture(scope="module")
def runner(note: Path) -> Iterator[RunnerProcess]:
    running = RunnerProcess("--memory-limit", "600M", HAZARDS_NOTE=str(note))
    yield running
    assert running.stop() == 0
