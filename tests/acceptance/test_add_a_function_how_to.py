"""The how-to for adding a function shows the real output of its commands, with PyTorch on the CPU."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.how_to import Machine, read_steps
from tests.runner_process import ROOT

PAGE = (ROOT / "docs" / "how-to" / "add-a-function.md").read_text()
LIMIT_S = 300.0


@pytest.fixture
def machine(place: Path) -> Iterator[Machine]:
    """A home folder with the packages that the page's commands need in a checkout."""
    machine = Machine(place / "author", "")
    for package in ("protocol", "runners"):
        (machine.home / package).symlink_to(ROOT / package)
    yield machine
    machine.stop()


@pytest.mark.level(2)
def test_the_cases_of_the_page_run_as_it_shows(machine: Machine) -> None:
    steps = [step for step in read_steps(PAGE) if step.chapter == "Run it"]
    assert len(steps) == 2
    for step in steps:
        assert step.shown
        machine.follow(step, LIMIT_S)
