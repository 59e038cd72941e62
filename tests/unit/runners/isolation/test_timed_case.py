"""From its first input to its last check, a timed case runs alone among the cases of its host."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

from protocol.enums import TimingPolicy, Verdict
from runners.isolation.harness import run_case
from runners.suite.cases import Case, Context, Function
from tests.unit.runners.isolation.test_attribution import Array, device


class RecordingProcess:
    """A process of cases that notes at each step of a case whether the timing lock is held."""

    def __init__(self) -> None:
        self.is_locked = False
        self.locks = 0
        self.steps: list[tuple[str, bool]] = []

    @contextmanager
    def timing_lock(self) -> Iterator[float]:
        self.is_locked, self.locks = True, self.locks + 1
        yield 40.0
        self.is_locked = False

    def note(self, step: str) -> None:
        self.steps.append((step, self.is_locked))

    def case(self) -> Case:
        def inputs(random: Any) -> Sequence[Any]:
            self.note("inputs")
            return [np.ones(3, np.float32)]

        def reference(values: Any) -> Any:
            self.note("reference")
            return values + 1

        def prepare(context: Context, values: Any) -> Callable[[], Any]:
            def call() -> Array:
                self.note("call")
                return Array(values + 1, "npu:0")

            return call

        function = Function("arrays.plus_one")
        function.value("three", inputs, prepare=prepare, reference=reference)
        return function.cases[0]


@pytest.mark.parametrize("timing", [TimingPolicy.quick, TimingPolicy.steady])
def test_a_timed_case_holds_the_lock_once_and_in_all_its_steps(timing: TimingPolicy) -> None:
    process = RecordingProcess()
    observation = run_case(device("npu:0"), process.case(), timing, process, position=0, init_ms=0.0)
    assert observation.verdict is Verdict.passed, observation.evidence
    assert {step for step, _ in process.steps} == {"inputs", "reference", "call"}
    assert all(is_locked for _, is_locked in process.steps)
    assert process.locks == 1
    assert observation.timing.lock_wait_ms == 40.0


def test_an_untimed_case_waits_for_nobody() -> None:
    process = RecordingProcess()
    observation = run_case(device("npu:0"), process.case(), TimingPolicy.off, process, position=0, init_ms=0.0)
    assert observation.verdict is Verdict.passed, observation.evidence
    assert process.locks == 0
