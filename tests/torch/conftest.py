"""The devices under test. One process holds both: torch_xla is forced to the host before it is imported."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext

import pytest

from protocol.outcomes import Outcome
from protocol.words import TimingPolicy
from runners import torch as framework
from runners.cases import Case, Function
from runners.devices import Device
from runners.harness import run_case

os.environ.update(framework.DEVICES["xla"])


class Alone:
    """The report of a process that shares its host with no other target."""

    def timing_lock(self) -> AbstractContextManager[float]:
        return nullcontext(0.0)


@pytest.fixture(scope="session")
def cpu() -> Device:
    return framework.device("cpu")


@pytest.fixture(scope="session")
def xla() -> Device:
    pytest.importorskip("torch_xla")
    device = framework.device("xla")
    device.prime()
    return device


@pytest.fixture
def outcome_of() -> Callable[..., Outcome]:
    def run(device: Device, case: Case | Function, timing: TimingPolicy = TimingPolicy.off) -> Outcome:
        one = case.cases[-1] if isinstance(case, Function) else case
        return run_case(device, one, timing, Alone(), position=0, init_ms=0.0)

    return run
