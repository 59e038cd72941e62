"""The how-to for a user's own suite can be followed as written, with PyTorch, JAX and a coordinator."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.coordinator_process import free_port
from tests.how_to import Machine, Step, read_steps
from tests.runner_process import ROOT

PAGE = (ROOT / "docs" / "how-to" / "bring-your-own-suite.md").read_text()
SETUP_LIMIT_S = 1_200.0
VENDOR = "A vendor's kernel"


@pytest.fixture
def machine(place: Path) -> Iterator[Machine]:
    machine = Machine(place / "reader", "")
    (machine.home / "examples").symlink_to(ROOT / "examples")
    yield machine
    machine.stop()


def _steps() -> list[Step]:
    """The steps of the page, with ports that no other test uses."""
    page = PAGE.replace("8790", str(free_port())).replace('up --targets ""', 'up --targets "" --port 0')
    return list(read_steps(page))


@pytest.mark.level(2)
def test_a_team_charts_its_layers(machine: Machine) -> None:
    steps = [step for step in _steps() if step.chapter != VENDOR]
    assert len(steps) == 8
    for step in steps:
        machine.follow(step, SETUP_LIMIT_S)
    assert (machine.home / "team.bundle").exists()


@pytest.mark.level(2)
def test_a_vendor_charts_its_kernel(machine: Machine) -> None:
    """The vendor of the how-to builds a package and an environment."""
    steps = [step for step in _steps() if step.chapter == VENDOR]
    assert len(steps) == 3
    for step in steps:
        machine.follow(step, SETUP_LIMIT_S)
    assert (machine.home / "vendor.bundle").exists()


@pytest.mark.parametrize("language", ["python", "toml"])
def test_the_code_on_the_page_is_that_of_the_examples(language: str) -> None:
    blocks = re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    examples = ROOT / "examples"
    files = [*examples.glob("team-layers/**/*.py"), *examples.glob("vendor-kernels/*.toml")]
    sources = [file.read_text() for file in files]
    assert blocks
    assert [block for block in blocks if not any(block in source for source in sources)] == []
