"""Lists a framework's cases, and runs a case within the test process."""

from __future__ import annotations

from protocol.enums import DEFAULT_SUITE, TimingPolicy
from protocol.outcomes import Outcome
from runners.isolation.channel import encode
from runners.isolation.harness import FreeTimingLock, run_case
from runners.isolation.observations import as_message, as_storable
from runners.suite.cases import Case
from runners.suite.device import Device
from runners.suite.framework import Framework


def run(device: Device, case: Case, timing: TimingPolicy = TimingPolicy.off) -> Outcome:
    """Run a case. Returns the outcome as a supervisor reads it from the channel."""
    observation = run_case(device, case, timing, FreeTimingLock(), position=0, init_ms=0.0)
    return Outcome.model_validate_json(encode(as_message(as_storable(observation))))


def cases(framework: Framework, kind: str | None = None, suite: str = DEFAULT_SUITE) -> list[Case]:
    """The cases of a framework's suite: all of them, or those of one kind."""
    return [case for case in framework.load_suites()[suite].cases if kind in (None, case.kind)]
