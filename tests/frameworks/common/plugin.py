"""Fixtures of every framework's tests. Each ``conftest.py`` names this module as a plugin."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from protocol.enums import TimingPolicy
from protocol.outcomes import Outcome
from runners.suite.cases import Case, Function
from runners.suite.device import Device
from tests.frameworks.common.running import run
from tests.frameworks.common.selection import Selection

if TYPE_CHECKING:
    from tests.frameworks.common.subject import Subject

# Their assertions stand in plain modules, and are to be explained like those of a test.
pytest.register_assert_rewrite(
    "tests.frameworks.common.docs",
    "tests.frameworks.common.docs_claims",
    "tests.frameworks.common.host_work_claims",
    "tests.frameworks.common.keyword_claims",
    "tests.frameworks.common.library",
    "tests.frameworks.common.library_claims",
    "tests.frameworks.common.nans",
    "tests.frameworks.common.noticing",
    "tests.frameworks.common.refusals",
    "tests.frameworks.common.right",
)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--cases", metavar="WORD", help="ask the claims about the cases with WORD in their id, and about each of them"
    )


@pytest.fixture(scope="session")
def selection(subject: Subject, pytestconfig: pytest.Config) -> Selection:
    return Selection(subject.framework, pytestconfig.getoption("--cases"))


@pytest.fixture
def outcome_of() -> Callable[..., Outcome]:
    def outcome(device: Device, case: Case | Function, timing: TimingPolicy = TimingPolicy.off) -> Outcome:
        return run(device, case.cases[-1] if isinstance(case, Function) else case, timing)

    return outcome
