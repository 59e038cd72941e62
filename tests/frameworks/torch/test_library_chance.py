"""Handwritten cases of random numbers: a function fails because of its own errors, and not because the seed has no
effect."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
import torch

from protocol.enums import Ending, Verdict
from protocol.outcomes import Outcome
from runners.suite.device import Device
from runners.torch import FRAMEWORK
from tests.frameworks.common.running import run

CASES = {case.id: case for case in FRAMEWORK.load_suites()["library"].cases if "by-hand" in case.tags}


@pytest.fixture
def unseeded_device(monkeypatch: pytest.MonkeyPatch) -> None:
    """A device whose generator ignores the seed, so that every draw has other numbers."""
    generators = itertools.count()

    def rand(*shape: int, **options: Any) -> torch.Tensor:
        return torch.empty(shape).uniform_(generator=torch.Generator().manual_seed(next(generators)))

    monkeypatch.setattr(torch, "rand", rand)
    return


def outcome(cpu: Device, case: str) -> Outcome:
    return run(cpu, CASES[f"{case}/float32-3x4"])


@pytest.mark.usefixtures("unseeded_device")
def test_only_what_seeds_is_charged_with_numbers_that_do_not_come_again(cpu: Device) -> None:
    assert outcome(cpu, "torch.manual_seed").verdict is Verdict.failed
    assert outcome(cpu, "torch.rand").verdict is Verdict.passed
    assert outcome(cpu, "torch.cuda.manual_seed").ending is Ending.not_applicable


def test_they_pass_where_a_seed_holds(cpu: Device) -> None:
    for case in ("torch.manual_seed", "torch.rand", "torch.cuda.manual_seed", "torch.cuda.manual_seed_all"):
        assert outcome(cpu, case).verdict is Verdict.passed, case


def test_numbers_that_come_again_unasked_are_charged_to_the_function(
    cpu: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch, "rand", lambda *shape, **options: torch.linspace(0, 0.9, 12).reshape(shape))
    assert outcome(cpu, "torch.rand").verdict is Verdict.failed
