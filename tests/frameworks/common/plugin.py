"""Fixtures of every framework's tests; a ``conftest.py`` names this module as its plugin."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from protocol.enums import TimingPolicy
from protocol.outcomes import Outcome
from runners.suite.cases import Case, Function
from runners.suite.device import Device
from tests.framework.running import run

# Their assertions stand in plain modules, and are to be explained like those of a test.
pytest.register_assert_rewrite(
    "tests.framework.keywords",
    "tests.framework.library",
    "tests.framework.nans",
    "tests.framework.noticing",
    "tests.framework.right",
)


@pytest.fixture
def outcome_of() -> Callable[..., Outcome]:
    def outcome(device: Device, case: Case | Function, timing: TimingPolicy = TimingPolicy.off) -> Outcome:
        return run(device, case.cases[-1] if isinstance(case, Function) else case, timing)

    return outcome
