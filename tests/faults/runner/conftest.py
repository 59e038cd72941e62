"""Fixtures: one runner serves all hazards of a module. After each hazard it must be able to run the next case."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from protocol.enums import Verdict
from tests.runner_process import RunnerProcess, alive
from tests.waiting import until


@pytest.fixture(scope="module")
def note(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file to which hazards that leave processes behind write process ids."""
    return tmp_path_factory.mktemp("hazards") / "note"


@pytest.fixture(scope="module")
def slots() -> int:
    return 1


@pytest.fixture(scope="module")
def runner(note: Path, slots: int) -> Iterator[RunnerProcess]:
    running = RunnerProcess("--slots", str(slots), "--memory-limit", "600M", HAZARDS_NOTE=str(note))
    yield running
    assert running.stop() == 0


@pytest.fixture
def fit_for_the_next(runner: RunnerProcess, note: Path, slots: int) -> Iterator[None]:
    """After each test, check that the runner's next job passes and that no process is left."""
    note.unlink(missing_ok=True)
    yield
    assert runner.run("add/0").verdict is Verdict.passed
    # The zygote and the child of the last job, which waits for another of its function; several slots keep theirs, too,
    # and a spare that another slot's turn made needless.
    kept_processes = 2 if slots == 1 else 1 + 2 * slots
    until(lambda: len(runner.below()) <= kept_processes, "only the zygote and what the slots keep are left")
    if note.exists():
        left = [int(line) for line in note.read_text().split()]
        assert not [pid for pid in left if alive(pid)]
