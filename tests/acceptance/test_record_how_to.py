"""The how-to for recording a command can be followed as written, with PyTorch on XLA."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.how_to import Machine, read_steps
from tests.runner_process import ROOT

PAGE = (ROOT / "docs" / "how-to" / "record-a-command.md").read_text()
LIMIT_S = 900.0


@pytest.fixture
def machine(place: Path) -> Iterator[Machine]:
    machine = Machine(place / "reader", "")
    (machine.home / "examples").symlink_to(ROOT / "examples")
    yield machine
    machine.stop()


@pytest.mark.level(2)
def test_a_command_is_recorded_assessed_and_replayed(machine: Machine) -> None:
    steps = list(read_steps(PAGE))
    assert len(steps) == 4
    for step in steps:
        machine.follow(step, LIMIT_S)
    assert (machine.home / "training.bundle").exists()
