"""Samples in which the host let others run: on one core that is shared with a loop that never rests."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from runners.isolation import core_waits, timing
from runners.isolation.core_waits import CoreWaits, OthersOnCores

SLICE_S = 0.1
"""Longer than any scheduler leaves a core to one of two."""


@pytest.fixture
def shared_core() -> Iterator[None]:
    """This process and a loop on the same core."""
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(cores)})
    loop = subprocess.Popen([sys.executable, "-c", "print(flush=True)\nwhile True: pass"], stdout=subprocess.PIPE)
    try:
        assert loop.stdout is not None
        assert loop.stdout.readline()
        yield
    finally:
        loop.kill()
        loop.communicate()
        os.sched_setaffinity(0, cores)


def spinning(seconds: float) -> Callable[[], None]:
    """A call that computes for so long, whoever else runs."""

    def spin() -> None:
        until = time.thread_time() + seconds
        while time.thread_time() < until:
            pass

    return spin


def nothing(_: object) -> None:
    """Everything is ready at once."""


def test_a_call_that_never_has_the_core_to_itself_is_contended(shared_core: None) -> None:
    samples = timing.steady(spinning(SLICE_S), nothing, budget_s=0.2)
    assert samples.contended
    assert min(samples.milliseconds) > 1_100 * SLICE_S


def test_samples_that_waited_are_left_out_where_there_are_others(shared_core: None) -> None:
    """How many samples wait depends on the other processes of the machine, so their share is not compared."""
    samples = timing.steady(spinning(0.0005), nothing, budget_s=1.0)
    assert samples.contended_share < 1
    assert len(samples.milliseconds) >= timing.FEWEST_SAMPLES
    assert timing.quantile(samples.milliseconds, 0.9) < 1.0, "one in six or so meets the loop"


def test_waiting_for_something_else_is_no_waiting_for_a_core() -> None:
    """A thread that sleeps asks for none; what is left is its way back onto the core."""
    waits = CoreWaits()
    before, began = waits.total_ns(), time.perf_counter_ns()
    time.sleep(0.2)
    assert waits.total_ns() - before < 0.5 * (time.perf_counter_ns() - began)
    waits.close()
    assert waits.total_ns() == 0


def test_a_loop_on_the_same_core_has_half_of_it(shared_core: None) -> None:
    """What this process computes itself is not others'."""
    others = OthersOnCores()
    spinning(3 * SLICE_S)()
    assert others.cores() > timing.OTHERS
    assert others.cores() <= 1.1, "of one core, by a clock of ticks"


def test_a_kernel_that_does_not_count_is_taken_for_busy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(core_waits, "CORES", str(tmp_path / "nothing"))
    others = OthersOnCores()
    assert others.cores() == float("inf")
