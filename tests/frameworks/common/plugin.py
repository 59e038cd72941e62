"""Fixtures of every framework's tests; a ``conftest.py`` names this module as its plugin."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from protocol.enums import TimingPolicy
from protocol.outcomes import Outcome
from runners.suite.cases import Case, Function
from runners.suite.device import Device
from tests.frameworks.common.running import run

# Their assertions stand in plain modules, and are to be explained like those of a test.
pytest.register_assert_rewrite(
    "tests.frameworks.common.keywords",
    "tests.frameworks.common.library",
    "tests.frameworks.common.nans",
    "tests.frameworks.common.noticing",
    "tests.frameworks.common.right",
)


@pytest.fixture
def outcome_of() -> Callable[..., Outcome]:
    def outcome(device: Device, case: Case | Function, timing: TimingPolicy = TimingPolicy.off) -> Outcome:
        return run(device, case.cases[-1] if isinstance(case, Function) else case, timing)

    return outcome
