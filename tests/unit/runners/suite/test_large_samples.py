"""The gate takes a large sample if its arrays and its result repeat, and rejects others by one call each."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from freezing.common import gate as gates
from freezing.common.gate import SampleGate
from freezing.common.samples import Sample
from freezing.common.variants import LARGE_ELEMENTS
from runners.suite.frozen import PackWriter
from tests.unit.runners.suite.test_undetermined_samples import Array, Called

RISING = np.arange(LARGE_ELEMENTS, dtype=np.float32)


def samples_of(pack: PackWriter) -> Iterator[Sample]:
    values = np.tile(np.array([1, 2, 4, 8], np.float32), LARGE_ELEMENTS)
    yield Sample("float32-0-large", "float32", "{}", (pack.add(values, "float32"),), ("plain",), values.size)


def sift(call: Callable[[Array], Any]) -> tuple[list[Sample], list[str]]:
    """The samples that pass the first look at a function, and the reasons why the others do not."""
    pack = PackWriter()
    gate = SampleGate(Called(call), pack, large=True)
    return list(gate.with_small_results(samples_of(pack))), [kind for _, kind, _ in gate.left_out]


def test_a_result_that_repeats_is_small() -> None:
    samples, reasons = sift(np.negative)
    assert len(samples) == 1
    assert reasons == []


def test_a_large_result_is_rejected_after_one_call() -> None:
    calls: list[Array] = []

    def scatter(values: Array) -> Array:
        calls.append(values)
        return np.sin(RISING)

    assert sift(scatter) == ([], ["large result"])
    assert len(calls) == 1


def test_a_slow_call_is_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gates, "LONGEST_CALL_S", 0.001)

    def wait(values: Array) -> Array:
        time.sleep(0.01)
        return values

    assert sift(wait) == ([], ["slow"])


def test_a_call_that_raises_is_rejected() -> None:
    def refuse(values: Array) -> Array:
        raise ValueError("too large")

    assert sift(refuse) == ([], ["raises on the CPU"])
